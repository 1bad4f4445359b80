/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * News of the mount table, and when to look at it: at once where it was quiet, at a
 * share of the machine's time where mounts come and go quickly.
 *
 * /proc/PID/mountinfo wakes whoever polls it at every change, remounts included.
 * Where the kernel has mount events (FAN_REPORT_MNT, Linux 6.15) they tell in addition
 * how many mounts came and went: also of those that are gone again when we look.
 */

#include "world_collect.h"

struct mount_monitor;

struct mount_news { /* since the monitor was made */
        bool counted;                /* the kernel has mount events: the numbers mean something */
        uint64_t attached, detached; /* a mount that is moved is both */
        uint64_t overflows;          /* times that the kernel could not count */
};

/* Watches the mounts of the view's namespace: PID 1's, or our own where that is refused.
 * Returns 0 or -errno. */
int mount_monitor_new(enum mount_view view, struct mount_monitor **ret);
void mount_monitor_free(struct mount_monitor *m);
DEFINE_CLEANUP(struct mount_monitor, mount_monitor_free);
int mount_monitor_fd(const struct mount_monitor *m);

/*
 * Call when fd is readable.  Returns 1 when the mounts are to be looked at now, 0, or -errno.
 * After 1 it is silent until mount_monitor_looked() tells that they were, and then for a
 * while that depends on how long that took.
 */
int mount_monitor_next(struct mount_monitor *m);
void mount_monitor_looked(struct mount_monitor *m);
const struct mount_news *mount_monitor_news(const struct mount_monitor *m);
