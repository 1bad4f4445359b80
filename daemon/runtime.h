/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * $RUNTIME_DIRECTORY (/run/fawatchd): the lock that keeps a second service out,
 * the place of the control socket, and the world-readable status file.
 */

#include "counters.h"

struct runtime;

/* Returns 0; -EBUSY when another daemon holds the directory; other -errno. */
int runtime_open(struct runtime **ret);
/* Removes the status file and gives up the lock; accepts NULL. */
void runtime_free(struct runtime *r);
DEFINE_CLEANUP(struct runtime, runtime_free);

/* "/run/fawatchd" */
const char *runtime_dir(const struct runtime *r);
/* "/run/fawatchd/control" */
const char *runtime_control_path(const struct runtime *r);

struct runtime_status {
        const struct counters *counters;
        uint64_t generation, seq, waiting;
        size_t rules, marks;
};
/* Replaces the status file: "name: value" lines, numbers only.  0 or -errno. */
int runtime_write_status(struct runtime *r, const struct runtime_status *status);
