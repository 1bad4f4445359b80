/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A fanotify group twice: the kernel's, and its model with the queue of events
 * that the model expects, merged as fanotify_merge() would.  Reading compares the two.
 */

#include "fsmodel.h"

struct queued {
        struct interest_delivery delivery;
        char name[FS_NAME_MAX], new_name[FS_NAME_MAX];
        struct entry *entry; /* of a descriptor */
        unsigned mount;
};

struct fanqueue {
        struct interest_group group;
        int fd;
        struct queued *events;
        size_t n, cap;
        uint64_t n_delivered; /* over its life */
};

/* Makes both; *ret must stay where it is.  Returns 0 or a negative errno of fanotify_init(2). */
int fanqueue_open(struct fanqueue *q, unsigned init_flags);
void fanqueue_close(struct fanqueue *q, struct fsmodel *fs);

/* The event's names come from the hook: of the entry, and of a rename's new entry. */
void fanqueue_add(struct fanqueue *q, const struct interest_delivery *d, const char *name,
                  const char *new_name, struct entry *entry, unsigned mount);
/*
 * Reads all groups until they are quiet and compares with the model's queues.
 * Returns the number of events read, or -1 after printing the first difference.
 */
long fanqueue_compare(struct fsmodel *fs);
/* Compares the group's marks with /proc/self/fdinfo.  Returns whether they agree; prints where not. */
bool fanqueue_compare_marks(struct fsmodel *fs, struct fanqueue *q);
