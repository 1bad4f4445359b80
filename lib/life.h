/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The last sign of life, as it stands in a file for a start that finds nothing else. */

#include "strbuf.h"

struct life {
        char machine[33], boot[33]; /* 32 hex digits each */
        char stream[33];
        uint64_t seq;               /* the last number given in it */
        uint64_t realtime_usec;     /* until then everything was watched */
};

void life_print(const struct life *l, struct strbuf *out);
/* Returns 0 or -EBADMSG. */
int life_parse(const char *text, struct life *ret);
