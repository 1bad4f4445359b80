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
/*
 * The group behind a descriptor from elsewhere (taken over, also on failure).
 * *ret_flags: what it was made with; *ret_marks: what it holds.  Returns 0, -EBADMSG (it is
 * no group), -EAGAIN (its marks cannot be told now), other negative errno.
 */
int fan_group_adopt(const struct group_key *key, int fd, unsigned *ret_flags, struct markset *ret_marks,
                    struct fan_group **ret);
void fan_group_free(struct fan_group *g);
DEFINE_CLEANUP(struct fan_group, fan_group_free);

int fan_group_fd(const struct fan_group *g);
const struct group_key *fan_group_key(const struct fan_group *g);
/*
 * Exactly one fanotify_mark call.  The object is reached by op->where, seen from
 * here or from PID 1, else by any mount of the same filesystem; what is found there
 * is compared with op->object first, since mounts come and go.  With op->may_hang it
 * waits at most two seconds.  Returns 0, -ESTALE (no path leads to the object now),
 * -ETIMEDOUT, or the call's negative errno.
 */
int fan_group_mark(struct fan_group *g, const struct mark_op *op);
/* The same call on the object behind a descriptor, which may be O_PATH. */
int fan_group_mark_at(struct fan_group *g, const struct mark_op *op, int fd);
/* Bytes read (≥ 1), 0 when the queue is empty, or a negative errno. */
ssize_t fan_group_read(struct fan_group *g, void *buffer, size_t size);
/* What waits in the queue: events, and about the memory they take.  The kernel walks the queue
 * for it, under the lock that writers need: not often.  Returns 0 or -errno. */
int fan_group_queued(struct fan_group *g, uint64_t *ret_events, uint64_t *ret_bytes);
/* The group's marks as /proc/self/fdinfo shows them.  Not of a group with evictable marks: a kernel may never
 * come back from it (doc/decisions/0003-a-crash-and-the-marks.md).  Returns 0 or -errno. */
int fan_group_read_marks(struct fan_group *g, struct markset *ret);
/* For probing: fanotify_init(2) → a descriptor to close, and fanotify_mark(2)
 * below dirfd → 0; both a negative errno on failure. */
int fan_init(unsigned flags);
int fan_mark(int fd, unsigned flags, uint64_t mask, int dirfd, const char *path);
/* The init flags of our groups on a kernel with these abilities. */
unsigned fan_group_flags(const struct kernel_abilities *kernel, bool queue_unlimited);

/* "CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", or NULL when both are there. */
const char *fan_group_missing_capability(void);
