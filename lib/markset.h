/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A set of fanotify marks: the same type for what is wanted and what is placed.
 * One mark per (group, object), as in the kernel.
 */

#include "world.h"

/* Which fanotify group a mark belongs to. */
struct group_key {
        enum group_kind { GROUP_MAIN, GROUP_MOUNT, GROUP_FILESYSTEM } kind;
        /* GROUP_MOUNT: the mount whose marks it holds.  GROUP_FILESYSTEM: the filesystem whose fsid says
         * nothing, by its device number as the kernel holds it (20 bits of minor). */
        int mount_id;
};
static inline struct group_key group_key_filesystem(uint32_t sdev_major, uint32_t sdev_minor)
{
        return (struct group_key){ .kind = GROUP_FILESYSTEM,
                                   .mount_id = (int)(sdev_major << 20 | (sdev_minor & 0xfffff)) };
}
/* The fsid that its events are to be read with, world_own_fsid(); 0: the one that they carry. */
static inline uint64_t group_key_fsid(const struct group_key *k)
{
        return k->kind != GROUP_FILESYSTEM
                       ? 0
                       : world_own_fsid((uint32_t)k->mount_id >> 20, (uint32_t)k->mount_id & 0xfffff);
}

struct mark_object {
        enum mark_kind { MARK_FILESYSTEM, MARK_MOUNT, MARK_INODE } kind;
        uint32_t sdev_major, sdev_minor; /* FILESYSTEM, INODE */
        int mount_id;                    /* MOUNT */
        struct handle handle;            /* INODE */
};

struct mark {
        struct group_key group;
        struct mark_object object;
        uint64_t mask;        /* FAN_ event bits with FAN_ONDIR, FAN_EVENT_ON_CHILD */
        uint64_t ignore_mask;
        bool ignore_surv;     /* survives modification */
        bool ignore_new;      /* placed by FAN_MARK_IGNORE, not the legacy FAN_MARK_IGNORED_MASK */
        bool evictable;
        bool may_hang; /* the call may wait for another machine or process: it is made with a time limit */
        char *where;   /* a path that leads to the object, for the call and for people; owned by the set */
};

struct markset {
        struct mark *marks; /* sorted by (group, object) */
        size_t n, cap;
};
#define MARKSET_NULL ((struct markset){})
void markset_done(struct markset *s);
#define _cleanup_markset_ _cleanup_(markset_done)

int group_key_compare(const struct group_key *a, const struct group_key *b) _pure_;
int mark_object_compare(const struct mark_object *a, const struct mark_object *b) _pure_;
/* The mark, or NULL. */
struct mark *markset_find(const struct markset *s, const struct group_key *group,
                          const struct mark_object *object);
/* Finds or inserts (mask and ignore_mask 0 when new; where is copied).
 * Returns 0 or -ENOMEM. */
int markset_get(struct markset *s, const struct group_key *group, const struct mark_object *object,
                const char *where, struct mark **ret);
/* For many at once: appends copies in any order, where included, then sorts; of equal ones one stays. */
int markset_append(struct markset *s, const struct mark *mark);
void markset_sort(struct markset *s);
void markset_remove(struct markset *s, struct mark *mark);
int markset_copy(const struct markset *from, struct markset *ret);
struct strbuf;
/* "create,delete,ondir" */
void mark_print_mask(uint64_t mask, struct strbuf *out);
/* "filesystem 8:1 at /srv: mask create,delete,rename,ondir" one a line, for --print-plan and marks. */
void mark_print(const struct mark *m, struct strbuf *out);
