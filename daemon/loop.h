/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The event loop, and with it the order of what the daemon does. */

#include "daemon_state.h"

/* Waits for everything but the groups (daemon_groups_changed()).  Needs the street, the worker and the
 * recovery.  The callbacks use d->loop: set it before the loop runs.  0 or -errno. */
int loop_new(struct daemon *d, struct loop **ret);
/* Accepts NULL. */
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop, loop_free);

/* Tells the service manager's watchdog, if it has one for us, as long as the street moves. */
void loop_start_watchdog(struct daemon *d);
struct sd_event *loop_event(const struct loop *l);
/* Until the stop: the exit status asked for, or -errno. */
int loop_run(struct loop *l);
