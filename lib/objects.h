/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Which object each path of a file or directory rule leads to, by file handle.
 *
 * The kernel tells some events by the object alone (delete_self, a changed link
 * count), and others under the name that was used, which may be another hard link:
 * this table brings both back to the rule's path.  It follows the path by the
 * events that change what the path leads to.
 *
 * The object that a path led to before is kept, too: its own end (delete_self) is told
 * behind the rename that replaced it, or when the last process closes it.
 */

#include "event.h"

struct objects;

/* A path inside a filesystem; fsid as fanotify reports it. */
struct object_path {
        uint64_t fsid;
        const char *path;
        size_t len;
};
struct object_handle { /* the handle's part beyond the fsid */
        int32_t type;
        uint32_t len; /* 0 = the path leads nowhere, or it is not known where */
        const uint8_t *bytes;
};

int objects_new(struct objects **ret);
void objects_free(struct objects *o);
DEFINE_CLEANUP(struct objects, objects_free);

/* Begins a new set of paths: all are unmarked, and keep what is known of them. */
void objects_begin(struct objects *o);
/* Marks a path, added when it is new.  *ret_known: where it leads is known from
 * before.  Returns 0 or -ENOMEM. */
int objects_mark(struct objects *o, const struct object_path *p, bool *ret_known);
/* Removes what was not marked. */
void objects_end(struct objects *o);

/* Is it the path of a rule? */
bool objects_has(const struct objects *o, const struct object_path *p);
/* The handle a path of a rule leads to; false when it is not known (or no such path). */
bool objects_get(const struct objects *o, const struct object_path *p, struct object_handle *ret);
/* What the path leads to from now on.  A path that is no rule's is left alone. */
void objects_set(struct objects *o, const struct object_path *p, const struct object_handle *h);

/*
 * A rule's path that leads to this object, and is not other_than.  With that NULL, for
 * an event without a name: whichever, and one that led to it before will do.  Returns
 * false when there is none.  *ret is valid until the next change.
 */
bool objects_find(const struct objects *o, uint64_t fsid, const struct object_handle *h,
                  const struct object_path *other_than, struct object_path *ret);
/* Calls fn for each path below a directory; it may call objects_set() and no more. */
void objects_foreach_below(struct objects *o, const struct object_path *dir,
                           void (*fn)(void *userdata, const struct object_path *p), void *userdata);
/* The object is no more. */
void objects_gone(struct objects *o, uint64_t fsid, const struct object_handle *h);
size_t objects_count(const struct objects *o) _pure_;
