/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * One fanotify group: the only fanotify_init(2), fanotify_mark(2) and read(2) of
 * its descriptor.
 */

#include <sys/types.h>

#include "markdiff.h"

struct fan_group;

/* Returns 0; -EPERM (fan_group_missing_capability() names it), -ENOSYS (kernel
 * without fanotify), -EMFILE (group limit), other negative errno. */
int fan_group_open(const struct group_key *key, const struct kernel_abilities *kernel, bool queue_unlimited,
                   struct fan_group **ret);
void fan_group_free(struct fan_group *g);
DEFINE_CLEANUP(struct fan_group, fan_group_free);

int fan_group_fd(const struct fan_group *g);
const struct group_key *fan_group_key(const struct fan_group *g);
/* Exactly one fanotify_mark call.  Returns 0, -ESTALE (op->where leads to
 * another object now), or the call's negative errno. */
int fan_group_mark(struct fan_group *g, const struct mark_op *op);
/* Bytes read (≥ 1), 0 when the queue is empty, or a negative errno. */
ssize_t fan_group_read(struct fan_group *g, void *buffer, size_t size);
/* The group's marks as /proc/self/fdinfo shows them.  Returns 0 or -errno. */
int fan_group_read_marks(struct fan_group *g, struct markset *ret);
/* "CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", or NULL when both are there. */
const char *fan_group_missing_capability(void);
