/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the service manager is told (sd_notify(3)); nothing without one. */

#include "base.h"

void notify_ready(const char *status);
/* Always followed by notify_ready(): without it the unit hangs in "reloading". */
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *status);
/* Whether the manager wants signs of life, and how often at the least. */
bool notify_watchdog_interval(uint64_t *ret_usec);
void notify_watchdog(void);
/* A copy of fd is kept under this name while we are gone, or no longer. */
void notify_store(const char *name, int fd);
void notify_unstore(const char *name);
