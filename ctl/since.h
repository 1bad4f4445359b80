/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A point in time as journalctl takes it (systemd.time(7)). */

#include "base.h"

/*
 * "2026-05-01 12:00:00", "2026-05-01", "12:00", "now", "today", "yesterday",
 * "tomorrow", "-2h", "2h ago", "@1767225600"; local time.  Returns 0 or -EINVAL.
 */
int since_parse(const char *text, uint64_t now_usec, uint64_t *ret_usec);
