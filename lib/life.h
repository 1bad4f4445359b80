/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The last sign of life, as it stands in a file for a start that finds nothing else. */

#include "strbuf.h"

struct life {
        char machine[33], boot[33]; /* 32 hex digits each */
        char stream[33];
        uint64_t seq;               /* the last number given in it */
        uint64_t realtime_usec;     /* until then everything was watched; the same moment */
        uint64_t boottime_usec;     /* on CLOCK_BOOTTIME, which nobody sets; 0 = not known */
};

void life_print(const struct life *l, struct strbuf *out);
/* Returns 0 or -EBADMSG. */
int life_parse(const char *text, struct life *ret);
/*
 * Since when nothing was watched, on the clock as it is now (realtime): where that was set back
 * meanwhile, files that were changed since have earlier times than the last sign of life.
 * boottime_usec: now, when it is the same boot; else 0.
 */
uint64_t life_since_usec(const struct life *l, uint64_t realtime_usec, uint64_t boottime_usec) _pure_;
