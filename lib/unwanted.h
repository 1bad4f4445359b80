/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Which events of a directory or of an object can no rule want?  The other
 * direction of the matcher: not "who wants this event" but "what may the kernel
 * leave out here, whatever happens".  What it calls unwanted the matcher never
 * reports; it may call less unwanted than really is.
 *
 * An ignore mask on a directory acts on the directory's own events, on those of
 * its entries (create, delete) and, with FAN_EVENT_ON_CHILD, on what happens to
 * its direct children.  So one set of bits must do for all three.
 */

#include "match.h"

/* What a directory itself raises, as an object. */
#define UNWANTED_SELF (EV_ATTRIB | EV_ACCESS | EV_OPEN | EV_CLOSE_NOWRITE | EV_DELETE_SELF)
/* What names its entries. */
#define UNWANTED_ENTRY (EV_CREATE | EV_DELETE)
/* What FAN_EVENT_ON_CHILD brings of a child (FS_EVENTS_POSS_ON_CHILD in the kernel). */
#define UNWANTED_CHILD                                                                                       \
        (EV_MODIFY | EV_CLOSE_WRITE | EV_ATTRIB | EV_ACCESS | EV_OPEN | EV_OPEN_EXEC | EV_CLOSE_NOWRITE)
/* Never renames: an ignore mask with FAN_RENAME on either directory kills the event for both
 * (fanotify_group_event_mask() takes the union over the slots); nor move_self, which is wanted by the name
 * that the object gets as well. */
#define UNWANTED_ALL (UNWANTED_SELF | UNWANTED_ENTRY | UNWANTED_CHILD)

enum unwanted_reason {
        UNWANTED_FREE,     /* what is not in the set is wanted there, or by a condition only userspace sees */
        UNWANTED_ANCESTOR, /* a rule's path, existing or not, or a link on one lies below: nothing is left out
                            */
};
struct unwanted {
        uint32_t events; /* EV_ bits of UNWANTED_ALL */
        enum unwanted_reason reason;
};

/* Of a directory in the main group.  Uses the matcher's scratch memory.  0 or -ENOMEM. */
int unwanted_in_dir(const struct matcher *m, const struct match_path *dir, struct unwanted *ret);
/* Of one object that is no directory and has this one name.  The same. */
int unwanted_of_file(const struct matcher *m, const struct match_path *path, struct unwanted *ret);
/* Of a file under an ignore until it is modified, as long as that holds. */
int unwanted_until_modified(const struct matcher *m, const struct match_path *path, struct unwanted *ret);
/* Does an unconditional ignore name this very path as a file? */
bool unwanted_is_named_file(const struct matcher *m, const struct match_path *path);
/* Can it be that some of these events are unwanted somewhere on a filesystem?  Conservative: yes. */
bool unwanted_somewhere(const struct matcher *m, uint32_t fs, uint32_t events);
/* Of everything on a filesystem: what its mark need not ask for. */
uint32_t unwanted_on_fs(const struct matcher *m, uint32_t fs);
/* Of what is reached through a mount, in that mount's own group. */
uint32_t unwanted_on_mount(const struct matcher *m, int mount_id);
/* Child events that a rule on this path's object wants also when they happen under another name of it:
 * while it has several names, no directory of the filesystem may leave them out.  0 or -ENOMEM. */
int unwanted_not_by_alias(const struct matcher *m, const struct match_path *path, uint32_t *ret_wanted);

/* The union of that over the paths of the rules that have, or may have, other names on this filesystem. */
int unwanted_linked(const struct matcher *m, uint32_t fs, uint32_t *ret_wanted);

/* Is there something a rule names at this path or below?  Conservative. */
bool unwanted_is_above_rule(const struct matcher *m, const struct match_path *dir);
