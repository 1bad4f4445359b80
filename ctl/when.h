/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Points in time as people write them. */

#include "base.h"

/* "2026-05-01", "2026-05-01 12:00", "2026-05-01 12:00:00" (local time), "12:00", "today",
 * "yesterday", "@SECONDS", or how long ago: "2h", "1h 30min", "-2h".  False when it is none. */
bool when_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec);
