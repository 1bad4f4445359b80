/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The way of one event: a hook decides whether the parent directory and the name
 * come into it, fsnotify() lines up the marks it meets, and each group there
 * decides for itself: send_to_group(), fanotify_group_event_mask(),
 * fanotify_alloc_event().
 */

#include "interest.h"

#define FID_BITS (FAN_REPORT_FID | FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_REPORT_TARGET_FID)

/* An event as it arrives in fsnotify(). */
struct arrival {
        uint32_t mask;          /* with FAN_ONDIR, and FAN_EVENT_ON_CHILD when the parent wants it */
        const struct interest_event *event;
        bool is_entry;          /* its inode is told by the directory entry: the hook gave none */
        struct interest_object *dir; /* the directory that is told of it, or NULL */
        bool named;             /* the name in dir is told */
};

/* The marks of one group among the slots: iter_info with its report_mask. */
struct line {
        struct interest_mark *marks[N_SLOTS]; /* NULL: not of this group, or not to be asked */
};

static bool is_directory(const struct interest_object *o)
{
        return o->type == TYPE_DIRECTORY;
}

static bool is_dirent(uint32_t mask)
{
        return mask & INTEREST_DIRENT;
}

/* ---- which of a group's records tell it: fanotify_alloc_event() ---- */

/* fanotify_report_child_fid(): whether the object's own handle comes beside the directory's. */
static bool reports_child(unsigned init_flags, uint32_t mask)
{
        if (is_dirent(mask))
                return init_flags & FAN_REPORT_TARGET_FID;
        return (init_flags & FAN_REPORT_FID) && !(mask & FAN_ONDIR);
}

/* fanotify_dfid_inode(): the directory to name, that of a directory's own event being itself. */
static const struct interest_object *told_directory(const struct arrival *a, uint32_t mask)
{
        if (!is_dirent(mask) && a->event->inode && is_directory(a->event->inode))
                return a->event->inode;
        return a->dir;
}

/* fanotify_fid_inode(): entry events without FAN_REPORT_TARGET_FID tell the directory alone. */
static const struct interest_object *told_object(const struct arrival *a, unsigned init_flags, uint32_t mask)
{
        if (is_dirent(mask) && !(init_flags & FAN_REPORT_TARGET_FID))
                return a->dir;
        return a->event->inode;
}

/* A rename tells a side only when a mark there asked: the filesystem's mark asks for both. */
static void choose_rename_sides(const struct arrival *a, unsigned matched, struct interest_delivery *d)
{
        bool both = matched & (1u << SLOT_FILESYSTEM);

        if (!both && !(matched & (1u << SLOT_INODE))) {
                d->dir = NULL;
                d->named = false;
        }
        if (both || (matched & (1u << SLOT_NEW_DIR)))
                d->new_dir = a->event->new_dir;
}

/* fanotify_alloc_event(); matched: the slots whose marks asked for the event. */
static struct interest_delivery make_delivery(const struct arrival *a, struct interest_group *group,
                                              uint32_t mask, unsigned matched)
{
        unsigned init_flags = group->init_flags;
        const struct interest_object *dir = told_directory(a, mask);
        const struct interest_object *object = told_object(a, init_flags, mask);
        struct interest_delivery d = { .group = group, .mask = mask };
        bool as_name = false;

        if (!(init_flags & FID_BITS)) {
                d.type = INTEREST_EVENT_FD;
                d.object = a->event->inode;
                return d;
        }
        if (mask & FAN_FS_ERROR) {
                d.type = INTEREST_EVENT_FS_ERROR;
                d.object = a->event->inode;
                return d;
        }
        d.type = INTEREST_EVENT_FID;
        d.object = object;
        if (!(init_flags & FAN_REPORT_DIR_FID) || !dir)
                return d;

        /* One handle in the event is the directory's; the object's own stands beside it or nowhere. */
        d.object = reports_child(init_flags, mask) && object != dir ? object : NULL;
        d.dir = dir;
        if (init_flags & FAN_REPORT_NAME) {
                as_name = is_dirent(mask) || !(mask & FAN_ONDIR);
                d.named = as_name && a->named;
        } else {
                as_name = d.object;
        }
        if (mask & FAN_RENAME)
                choose_rename_sides(a, matched, &d);
        if (as_name && (d.named || d.new_dir || d.object)) {
                d.type = INTEREST_EVENT_NAME;
        } else {
                d.object = dir;
                d.dir = NULL;
        }
        return d;
}

/* ---- whether a group gets it ---- */

/* Of a group that is told descriptors: an open regular file or directory.  Of one that is told
 * directories only: an event that has one.  The beginning of fanotify_group_event_mask(). */
static bool can_report(const struct arrival *a, const struct interest_group *group)
{
        unsigned fid_mode = group->init_flags & FID_BITS;

        if (fid_mode == 0)
                return a->event->mount && (a->event->inode->type & (TYPE_FILE | TYPE_DIRECTORY));
        return (fid_mode & FAN_REPORT_FID) || a->dir || (a->mask & FAN_ONDIR);
}

/* fanotify_group_event_mask(): the bits the group is told, 0 for none. */
static uint32_t group_event_mask(const struct arrival *a, const struct interest_group *group,
                                 const struct line *line, unsigned *ret_matched)
{
        bool is_dir = a->mask & FAN_ONDIR;
        uint32_t asked = 0, refused = 0, told;
        unsigned matched = 0;

        if (!can_report(a, group))
                return 0;
        for (int slot = 0; slot < N_SLOTS; slot++) {
                const struct interest_mark *m = line->marks[slot];

                if (!m)
                        continue;
                refused |= interest_effective_ignore(m, is_dir, slot);
                if (!interest_mask_applicable(m->mask, is_dir, slot))
                        continue;
                asked |= m->mask;
                matched |= 1u << slot;
        }
        told = a->mask & asked & ~refused;
        if ((told & ~INTEREST_FLAGS) == 0)
                return 0;
        *ret_matched = matched;
        /* FAN_ONDIR is told beside handles, never beside descriptors; FAN_EVENT_ON_CHILD never */
        return told & (group->init_flags & FID_BITS ? ~FAN_EVENT_ON_CHILD : ~INTEREST_FLAGS);
}

/* send_to_group(). */
static void send_to_group(const struct arrival *a, struct interest_group *group, const struct line *line,
                          struct interest_report *report)
{
        bool is_dir = a->mask & FAN_ONDIR;
        uint32_t asked = 0, refused = 0, told;
        unsigned matched = 0;

        /* First the modification, then the question: an ignore mask that does not survive never
         * stops a modify.  The object's interest is not computed anew. */
        for (int slot = 0; slot < N_SLOTS; slot++)
                if ((a->mask & FAN_MODIFY) && line->marks[slot] && !line->marks[slot]->ignore_surv)
                        line->marks[slot]->ignore_mask = 0;
        for (int slot = 0; slot < N_SLOTS; slot++) {
                if (!line->marks[slot])
                        continue;
                asked |= line->marks[slot]->mask;
                refused |= interest_effective_ignore(line->marks[slot], is_dir, slot);
        }
        if ((a->mask & INTEREST_EVENTS & asked & ~refused) == 0)
                return;
        told = group_event_mask(a, group, line, &matched);
        if (told != 0 && report->n < INTEREST_MAX_GROUPS)
                report->to[report->n++] = make_delivery(a, group, told, matched);
}

/* Is this mark on the parent really about children?  The directory's interest in children may be
 * another group's.  fsnotify_iter_select_report_types(). */
static bool asks_about_children(const struct interest_kernel *k, const struct interest_mark *m)
{
        return (m->mask & FAN_EVENT_ON_CHILD) ||
               (k->ignore_is_interest && (interest_ignore_mask(m) & FAN_EVENT_ON_CHILD));
}

/* fsnotify(): the objects of the event, and one group after the other with its marks on them. */
static void deliver(const struct interest_kernel *k, const struct arrival *a, struct interest_report *report)
{
        const struct interest_event *e = a->event;
        struct interest_object *met[N_SLOTS] = {
                [SLOT_INODE] = a->is_entry ? a->dir : e->inode,
                [SLOT_MOUNT] = e->mount,
                [SLOT_FILESYSTEM] = e->filesystem,
                [SLOT_PARENT] = !a->is_entry && (a->mask & FAN_EVENT_ON_CHILD) ? a->dir : NULL,
                [SLOT_NEW_DIR] = a->is_entry && (a->mask & FAN_RENAME) ? e->new_dir : NULL,
        };
        struct interest_mark *heads[N_SLOTS] = {};
        uint32_t interest = 0;

        for (int slot = 0; slot < N_SLOTS; slot++)
                if (met[slot]) {
                        interest |= met[slot]->interest;
                        heads[slot] = met[slot]->marks;
                }
        /* Before ignored events counted as interest, every modification had to go and clear. */
        if ((a->mask & INTEREST_EVENTS & interest) == 0 &&
            (k->ignore_is_interest || !(a->mask & FAN_MODIFY)))
                return;
        for (;;) {
                struct interest_group *group = NULL;
                struct line line = {};

                /* All lists have one order of groups: the first of the heads is the next group. */
                for (int slot = 0; slot < N_SLOTS; slot++)
                        if (heads[slot] && (!group || interest_group_before(heads[slot]->group, group)))
                                group = heads[slot]->group;
                if (!group)
                        return;
                for (int slot = 0; slot < N_SLOTS; slot++) {
                        if (!heads[slot] || heads[slot]->group != group)
                                continue;
                        if (slot != SLOT_PARENT || asks_about_children(k, heads[slot]))
                                line.marks[slot] = heads[slot];
                        heads[slot] = heads[slot]->next_on_object;
                }
                send_to_group(a, group, &line, report);
        }
}

/* ---- the hooks ---- */

static uint32_t with_type(const struct interest_event *e)
{
        return e->inode && is_directory(e->inode) ? e->events | FAN_ONDIR : e->events;
}

/* fsnotify_parent_needed_mask(): events for which a mark on the object itself wants parent and name. */
static uint32_t wants_parent(const struct interest_object *o)
{
        return o && (o->interest & FAN_EVENT_ON_CHILD) ? o->interest & INTEREST_CHILD : 0;
}

/* fsnotify_parent() and __fsnotify_parent(): an event of a file is told to its parent too, and to the
 * others with the parent's handle and the name, if somebody there wants that. */
void interest_on_dentry(const struct interest_kernel *k, const struct interest_event *e,
                        struct interest_report *ret)
{
        struct arrival a = { .mask = with_type(e), .event = e };
        bool is_dir = a.mask & FAN_ONDIR, needed, interested;
        uint32_t watched = e->dir ? interest_watches_children(e->dir) : 0;

        ret->n = 0;
        /* A directory's name is of no interest to marks on filesystem and mount. */
        needed = e->dir && !is_dir &&
                 (a.mask & (wants_parent(e->inode) | wants_parent(e->mount) | wants_parent(e->filesystem)));
        interested = a.mask & watched;
        /* What is written into a pipe or a device does not happen in the directory of its node. */
        if (k->special_untold && e->mount && (e->inode->type & TYPE_SPECIAL) &&
            (a.mask & (FAN_ACCESS | FAN_MODIFY)))
                interested = false;
        if (watched || needed)
                a.dir = e->dir;
        a.named = needed || interested;
        if (interested)
                a.mask |= FAN_EVENT_ON_CHILD;
        deliver(k, &a, ret);
}

/* fsnotify_name(): an entry of a directory was made, removed or moved.  What it names is not asked. */
void interest_on_name(const struct interest_kernel *k, const struct interest_event *e,
                      struct interest_report *ret)
{
        struct arrival a = {
                .mask = with_type(e),
                .event = e,
                .is_entry = true,
                .dir = e->dir,
                .named = true,
        };

        ret->n = 0;
        deliver(k, &a, ret);
}

/* fsnotify_inode(): an event of an inode under whichever name; no parent hears of it. */
void interest_on_inode(const struct interest_kernel *k, const struct interest_event *e,
                       struct interest_report *ret)
{
        struct arrival a = { .mask = with_type(e), .event = e };

        ret->n = 0;
        deliver(k, &a, ret);
}

/* fsnotify_sb_error(): the filesystem's marks alone are asked; the inode is only told. */
void interest_on_error(const struct interest_kernel *k, const struct interest_event *e,
                       struct interest_report *ret)
{
        struct arrival a = { .mask = e->events, .event = e, .is_entry = true };

        ret->n = 0;
        deliver(k, &a, ret);
}

/* ---- what a reader of the queue sees ---- */

/* copy_fid_info_to_user()'s choice for an event with one handle. */
static struct interest_record single_record(const struct interest_delivery *d)
{
        unsigned fid_mode = d->group->init_flags & FID_BITS;
        struct interest_record record = { .type = FAN_EVENT_INFO_TYPE_FID, .object = d->object };

        if (fid_mode == FAN_REPORT_FID)
                return record;
        if ((fid_mode & FAN_REPORT_NAME) && (d->mask & FAN_ONDIR)) {
                record.type = FAN_EVENT_INFO_TYPE_DFID_NAME;
                record.name = INTEREST_DOT;
        } else if (d->mask & (INTEREST_DIRENT | FAN_ONDIR)) {
                record.type = FAN_EVENT_INFO_TYPE_DFID;
        }
        return record;
}

size_t interest_records(const struct interest_delivery *d, struct interest_record ret[INTEREST_MAX_RECORDS])
{
        bool is_rename = d->mask & FAN_RENAME;
        size_t n = 0;

        switch (d->type) {
        case INTEREST_EVENT_FD:
                break;
        case INTEREST_EVENT_FID:
                ret[n++] = single_record(d);
                break;
        case INTEREST_EVENT_FS_ERROR:
                ret[n++] = single_record(d);
                ret[n++] = (struct interest_record){ .type = FAN_EVENT_INFO_TYPE_ERROR };
                break;
        case INTEREST_EVENT_NAME:
                if (d->dir)
                        ret[n++] = (struct interest_record){
                                .type = is_rename  ? FAN_EVENT_INFO_TYPE_OLD_DFID_NAME
                                        : d->named ? FAN_EVENT_INFO_TYPE_DFID_NAME
                                                   : FAN_EVENT_INFO_TYPE_DFID,
                                .object = d->dir,
                                .name = d->named ? INTEREST_NAME : INTEREST_NO_NAME,
                        };
                if (d->new_dir)
                        ret[n++] = (struct interest_record){
                                .type = FAN_EVENT_INFO_TYPE_NEW_DFID_NAME,
                                .object = d->new_dir,
                                .name = INTEREST_NEW_NAME,
                        };
                if (d->object) /* beside a directory's handle it is always of this type */
                        ret[n++] = (struct interest_record){
                                .type = FAN_EVENT_INFO_TYPE_FID,
                                .object = d->object,
                        };
                break;
        }
        return n;
}

bool interest_same_event(const struct interest_delivery *a, const struct interest_delivery *b)
{
        /* an event about a directory never joins one about a file, nor a rename anything else */
        if (a->group != b->group || a->type != b->type || ((a->mask ^ b->mask) & (FAN_ONDIR | FAN_RENAME)))
                return false;
        switch (a->type) {
        case INTEREST_EVENT_FD:
                return a->object == b->object; /* and the same mount and name */
        case INTEREST_EVENT_FID:
                return a->object == b->object;
        case INTEREST_EVENT_NAME: /* a rename that tells only its new side never merges */
                return a->dir && a->dir == b->dir && a->new_dir == b->new_dir && a->object == b->object &&
                       a->named == b->named;
        case INTEREST_EVENT_FS_ERROR:
                return true; /* of one filesystem */
        }
        return false;
}
