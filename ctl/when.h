/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Points in time as people write them, and as journalctl takes them (systemd.time(7)). */

#include "base.h"

uint64_t when_now_usec(void);
/*
 * "2026-05-01 12:00:00", "2026-05-01 12:00", "2026-05-01", "12:00" (local time), "now",
 * "today", "yesterday", "tomorrow", "@SECONDS", "+5min", or how long ago: "2h",
 * "1h 30min", "-2h", "2h ago".  False when it is none.
 */
bool when_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec);
