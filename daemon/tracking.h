/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The setting process_tracking: the tracker comes and goes with it. */

#include "street.h"

/* Starts or stops the tracker as the settings say.  Where it cannot start, /proc alone
 * is used, and the reason is kept for the status. */
void tracking_apply(struct street *s, const struct settings *settings);
void tracking_stop(struct street *s);
/* The main group, if there is one, is the queue whose order counts.  since_ns: it was
 * empty then (CLOCK_MONOTONIC); 0 = not known. */
void tracking_watch_groups(struct street *s, uint64_t since_ns);
/* In words, for people: "process events", "/proc: REASON", "off". */
void tracking_describe(const struct street *s, const struct settings *settings, struct strbuf *out);
