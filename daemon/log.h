/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The daemon's own messages (not the event log): one line each to standard
 * error, with the priority prefix of sd-daemon(3) when the journal reads it.
 * Only daemon/ logs, and only at the outermost place; libraries return.
 */

#include <syslog.h>

#include "diag.h"

/* Looks once whether standard error leads to the journal. */
void log_open(void);
void log_message(int priority, const char *format, ...) _printf_(2, 3);
/* Every finding as one message. */
void log_diag(const struct diag *d);
