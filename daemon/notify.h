/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the service manager is told (sd_notify(3)); nothing without one. */

void notify_ready(const char *status);
/* Always followed by notify_ready(): without it the unit hangs in "reloading". */
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *status);
