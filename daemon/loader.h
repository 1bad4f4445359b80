/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Reloads: requests are queued while one runs, answered when done; a refused
 * one leaves everything as it was.
 */

#include "daemon_state.h"

/* Watches the mounts; before the first generation looks at them, so that what is mounted meanwhile
 * is news.  Returns 0, or a negative errno after logging why. */
int loader_watch_mounts(struct daemon *d);
/* Call when the monitor's descriptor is readable. */
void loader_mounts_changed(struct daemon *d);

/*
 * The first generation, before there is a loop: from the files, else from the
 * last good rules.  On success d->generation and d->texts are set (not yet in
 * force).  Returns 0, or a negative errno after logging why.
 */
int loader_first(struct daemon *d);
/* Takes the first generation into force and records that.  0 or -errno. */
int loader_begin(struct daemon *d);

/* request is copied.  Never blocks. */
void loader_request(struct daemon *d, const struct reload_request *request);
/* The mount table, or a directory or link on a rule's path, changed: plan again, same rules. */
void loader_world_changed(struct daemon *d);
void loader_done(struct loader *l);
