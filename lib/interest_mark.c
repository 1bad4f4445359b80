/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What fanotify_mark(2) does: the checks of do_fanotify_mark() in its order (which
 * of two errors is reported is part of the interface), then fanotify_add_mark()
 * or fanotify_remove_mark().
 */

#include "interest.h"

#include <errno.h>

#define TYPE_BITS (FAN_MARK_INODE | FAN_MARK_MOUNT | FAN_MARK_FILESYSTEM)
#define COMMAND_BITS (FAN_MARK_ADD | FAN_MARK_REMOVE | FAN_MARK_FLUSH)
#define IGNORE_BITS (FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORE)
/* FANOTIFY_FID_BITS: the group is told file handles, not file descriptors */
#define FID_BITS (FAN_REPORT_FID | FAN_REPORT_DIR_FID | FAN_REPORT_NAME | FAN_REPORT_TARGET_FID)
/* FANOTIFY_DIRONLY_EVENT_BITS: make no sense on anything but a directory */
#define DIRECTORY_ONLY (INTEREST_DIRENT | INTEREST_FLAGS)

static bool is_directory(const struct interest_object *o)
{
        return o->kind == MARK_INODE && o->type == TYPE_DIRECTORY;
}

/* group->priority */
static unsigned priority(const struct interest_group *group)
{
        return group->init_flags & (FAN_CLASS_CONTENT | FAN_CLASS_PRE_CONTENT);
}

static bool is_counted(const struct interest_group *group)
{
        return group->limit && !(group->init_flags & FAN_UNLIMITED_MARKS);
}

struct interest_mark *interest_find_mark(const struct interest_object *o, const struct interest_group *group)
{
        for (struct interest_mark *m = o->marks; m; m = m->next_on_object)
                if (m->group == group)
                        return m;
        return NULL;
}

bool interest_group_before(const struct interest_group *a, const struct interest_group *b)
{
        if (priority(a) != priority(b))
                return priority(a) > priority(b);
        return (uintptr_t)a < (uintptr_t)b;
}

/* fanotify_add_new_mark() and fsnotify_add_mark_locked(). */
static int new_mark(struct interest_group *group, struct interest_object *o, struct interest_mark **ret)
{
        struct interest_mark **link = &o->marks, *m;

        if (is_counted(group) && group->limit->used >= group->limit->max)
                return -ENOSPC;
        m = calloc(1, sizeof(*m));
        if (!m)
                return -ENOMEM;
        if (is_counted(group))
                group->limit->used++;
        m->group = group;
        m->object = o;
        while (*link && interest_group_before((*link)->group, group))
                link = &(*link)->next_on_object;
        m->next_on_object = *link;
        *link = m;
        m->next_in_group = group->marks;
        group->marks = m;
        *ret = m;
        return 0;
}

/* fsnotify_detach_mark() and fsnotify_put_mark(): the object's interest is always computed anew. */
static void destroy_mark(const struct interest_kernel *k, struct interest_mark *m)
{
        struct interest_mark **link;

        for (link = &m->object->marks; *link != m; link = &(*link)->next_on_object)
                ;
        *link = m->next_on_object;
        for (link = &m->group->marks; *link != m; link = &(*link)->next_in_group)
                ;
        *link = m->next_in_group;
        if (is_counted(m->group))
                m->group->limit->used--;
        m->object->interest = interest_of_marks(k, m->object);
        free(m);
}

/* fanotify_may_update_existing_mark(): what a mark once was, it cannot stop being. */
static int may_update(const struct interest_mark *m, unsigned flags)
{
        if ((flags & FAN_MARK_EVICTABLE) && !m->evictable)
                return -EEXIST; /* it pins its inode */
        if ((flags & FAN_MARK_IGNORED_MASK) && m->ignore_new)
                return -EEXIST; /* its ignore mask has flags of its own */
        if ((flags & FAN_MARK_IGNORE) && !(flags & FAN_MARK_IGNORED_SURV_MODIFY) && m->ignore_surv)
                return -EEXIST; /* its ignore mask survives; the older interface stays silent about it */
        return 0;
}

/* fanotify_mark_update_flags(): returns whether the object's interest may change by it. */
static bool update_flags(struct interest_mark *m, unsigned flags)
{
        bool recalc = false;

        if (flags & FAN_MARK_IGNORE)
                m->ignore_new = true;
        /* without an ignore flag FAN_MARK_IGNORED_SURV_MODIFY is accepted and means nothing */
        if ((flags & IGNORE_BITS) && (flags & FAN_MARK_IGNORED_SURV_MODIFY) && !m->ignore_surv) {
                m->ignore_surv = true;
                /* FAN_MODIFY stood in the interest only for the ignore mask's sake */
                recalc = !(m->mask & FAN_MODIFY);
        }
        /* an update without FAN_MARK_EVICTABLE pins an evictable mark's inode */
        if (m->evictable && !(flags & FAN_MARK_EVICTABLE)) {
                m->evictable = false;
                recalc = true;
        }
        return recalc;
}

/* fanotify_mark_add_to_mask(). */
static bool add_to_mask(struct interest_mark *m, uint32_t mask, unsigned flags)
{
        bool recalc;

        if (flags & IGNORE_BITS) {
                m->ignore_mask |= mask;
                recalc = true;
        } else {
                recalc = (m->mask | mask) != m->mask;
                m->mask |= mask;
        }
        return update_flags(m, flags) || recalc;
}

/* fanotify_add_mark(). */
static int add_mark(const struct interest_kernel *k, struct interest_group *group, struct interest_object *o,
                    uint32_t mask, unsigned flags)
{
        struct interest_mark *m = interest_find_mark(o, group);
        int r;

        if (!m) {
                r = new_mark(group, o, &m);
                if (r < 0)
                        return r;
                m->evictable = flags & FAN_MARK_EVICTABLE;
        }
        r = may_update(m, flags);
        if (r < 0)
                return r;
        /* Where nothing changed the interest stays as it is, even when it is stale: a modification
         * clears ignore masks and leaves their events in the interest. */
        if (add_to_mask(m, mask, flags))
                o->interest = interest_of_marks(k, o);
        return 0;
}

/* fanotify_remove_mark() with fanotify_mark_remove_from_mask(); kept: bits that no caller can remove. */
static int remove_mark(const struct interest_kernel *k, struct interest_group *group,
                       struct interest_object *o, uint32_t mask, unsigned flags, uint32_t kept)
{
        struct interest_mark *m = interest_find_mark(o, group);
        uint32_t before, removed;

        if (!m)
                return -ENOENT;
        before = interest_calc_mask(k, m);
        if (flags & IGNORE_BITS)
                m->ignore_mask &= ~(mask & ~kept);
        else
                m->mask &= ~(mask & ~kept);
        removed = before & ~interest_calc_mask(k, m);
        if (removed & o->interest)
                o->interest = interest_of_marks(k, o);
        /* The mark goes when nothing is left but bits that this call could not have removed.  A directory's
         * mark with only FAN_ONDIR or FAN_EVENT_ON_CHILD left asks for nothing, and stays. */
        if (((m->mask | m->ignore_mask) & ~kept) == 0)
                destroy_mark(k, m);
        return 0;
}

/* fsnotify_clear_marks_by_group(). */
static void flush_marks(const struct interest_kernel *k, struct interest_group *group, enum mark_kind kind)
{
        for (struct interest_mark *m = group->marks, *next; m; m = next) {
                next = m->next_in_group;
                if (m->object->kind == kind)
                        destroy_mark(k, m);
        }
}

/* The arguments by themselves: the beginning of do_fanotify_mark(), before it looks at the group. */
static int check_arguments(const struct interest_kernel *k, unsigned flags, uint64_t mask)
{
        unsigned known_flags = TYPE_BITS | COMMAND_BITS | FAN_MARK_IGNORED_MASK | FAN_MARK_DONT_FOLLOW |
                               FAN_MARK_ONLYDIR | FAN_MARK_IGNORED_SURV_MODIFY |
                               (k->evictable ? FAN_MARK_EVICTABLE : 0) | (k->ignore ? FAN_MARK_IGNORE : 0);
        uint64_t known_bits = INTEREST_MARKABLE | INTEREST_PERM | INTEREST_FLAGS;

        if (!k->rename)
                known_bits &= ~(uint64_t)FAN_RENAME;
        if (!k->fs_error)
                known_bits &= ~(uint64_t)FAN_FS_ERROR;
        if (flags & ~known_flags)
                return -EINVAL;
        if ((flags & TYPE_BITS) == TYPE_BITS) /* FAN_MARK_MNTNS: for groups of FAN_REPORT_MNT alone */
                return -EINVAL;
        switch (flags & COMMAND_BITS) {
        case FAN_MARK_ADD:
        case FAN_MARK_REMOVE:
                if (mask == 0)
                        return -EINVAL;
                break;
        case FAN_MARK_FLUSH:
                if (flags & ~(TYPE_BITS | FAN_MARK_FLUSH))
                        return -EINVAL;
                break;
        default:
                return -EINVAL;
        }
        if (mask & ~known_bits)
                return -EINVAL;
        return (flags & IGNORE_BITS) == IGNORE_BITS ? -EINVAL : 0;
}

/* What this group may ask of this type of mark: do_fanotify_mark() up to the path. */
static int check_group(const struct interest_group *group, unsigned flags, uint32_t mask)
{
        bool on_inode = (flags & TYPE_BITS) == FAN_MARK_INODE;
        unsigned fid_mode = group->init_flags & FID_BITS;

        if (!on_inode && group->unprivileged)
                return -EPERM;
        if ((mask & INTEREST_PERM) && priority(group) == 0)
                return -EINVAL;
        if ((mask & FAN_FS_ERROR) && (flags & TYPE_BITS) != FAN_MARK_FILESYSTEM)
                return -EINVAL;
        if ((flags & FAN_MARK_EVICTABLE) && !on_inode)
                return -EINVAL;
        /* Events that bring no path cannot be told by a descriptor, and no mount can be told from them. */
        if ((mask & ~(INTEREST_PATH | INTEREST_PERM | INTEREST_FLAGS)) &&
            (fid_mode == 0 || (flags & TYPE_BITS) == FAN_MARK_MOUNT))
                return -EINVAL;
        if ((mask & FAN_RENAME) && !(fid_mode & FAN_REPORT_NAME))
                return -EINVAL;
        return 0;
}

/* What this object may be asked: fanotify_find_path(), fanotify_events_supported(),
 * fanotify_test_fsid(), fanotify_test_fid() and the rule for ignore masks that do not survive. */
static int check_object(const struct interest_group *group, unsigned flags, uint32_t mask,
                        const struct interest_object *inode, const struct interest_object *o)
{
        bool add = flags & FAN_MARK_ADD;
        /* the interfaces of 5.17 and later refuse what older ones accept in silence */
        bool strict = (group->init_flags & FAN_REPORT_TARGET_FID) || (mask & FAN_RENAME) ||
                      (flags & FAN_MARK_IGNORE);

        if ((flags & FAN_MARK_ONLYDIR) && !is_directory(inode))
                return -ENOTDIR;
        if (add && strict && o->kind == MARK_INODE && !is_directory(o) && (mask & DIRECTORY_ONLY))
                return -ENOTDIR;
        if ((group->init_flags & FID_BITS) && o->fid_errno != 0)
                return o->fid_errno;
        if (add && (flags & FAN_MARK_IGNORE) && !(flags & FAN_MARK_IGNORED_SURV_MODIFY)) {
                if (o->kind != MARK_INODE)
                        return -EINVAL;
                if (is_directory(o))
                        return -EISDIR;
        }
        return 0;
}

static enum mark_kind kind_of(unsigned flags)
{
        switch (flags & TYPE_BITS) {
        case FAN_MARK_MOUNT:
                return MARK_MOUNT;
        case FAN_MARK_FILESYSTEM:
                return MARK_FILESYSTEM;
        default:
                return MARK_INODE;
        }
}

static struct interest_object *object_at(const struct interest_place *place, enum mark_kind kind)
{
        switch (kind) {
        case MARK_MOUNT:
                return place->mount;
        case MARK_FILESYSTEM:
                return place->filesystem;
        default:
                return place->inode;
        }
}

/* do_fanotify_mark(). */
int interest_fanotify_mark(const struct interest_kernel *k, struct interest_group *group, unsigned flags,
                           uint64_t mask, const struct interest_place *place)
{
        bool add = flags & FAN_MARK_ADD, ignore = flags & IGNORE_BITS;
        uint32_t bits, kept = 0;
        struct interest_object *o;
        int r;

        r = check_arguments(k, flags, mask);
        if (r < 0)
                return r;
        bits = mask;
        if (flags & FAN_MARK_IGNORED_MASK) { /* its flags are taken off in silence */
                bits &= ~INTEREST_FLAGS;
                kept = INTEREST_FLAGS;
        }
        r = check_group(group, flags, bits);
        if (r < 0)
                return r;
        if (flags & FAN_MARK_FLUSH) {
                flush_marks(k, group, kind_of(flags));
                return 0;
        }
        o = object_at(place, kind_of(flags));
        r = check_object(group, flags, bits, place->inode, o);
        if (r < 0)
                return r;
        /* The next write would clear it at once: nothing is done, no mark is made, no error is told. */
        if (add && ignore && !(flags & FAN_MARK_IGNORED_SURV_MODIFY) && o->kind == MARK_INODE &&
            o->open_for_write)
                return 0;
        if (!is_directory(o)) {
                /* Only directories have children.  On anything else the flag means something of the kernel's
                 * own: this group wants the parent and the name (fsnotify_event_needs_parent()). */
                bits &= ~FAN_EVENT_ON_CHILD;
                kept = FAN_EVENT_ON_CHILD;
                if ((group->init_flags & FAN_REPORT_DIR_FID) && add && !ignore)
                        bits |= FAN_EVENT_ON_CHILD;
        }
        return add ? add_mark(k, group, o, bits, flags) : remove_mark(k, group, o, bits, flags, kept);
}

int interest_adopt_mark(const struct interest_kernel *k, struct interest_group *group,
                        struct interest_object *o, const struct mark *mark)
{
        struct interest_mark *m = interest_find_mark(o, group);
        int r;

        if (!m) {
                r = new_mark(group, o, &m);
                if (r < 0)
                        return r;
        }
        m->mask = mark->mask;
        if (!is_directory(o) && (group->init_flags & FAN_REPORT_DIR_FID) && mark->mask != 0)
                m->mask |= FAN_EVENT_ON_CHILD;
        m->ignore_mask = mark->ignore_mask;
        m->ignore_surv = mark->ignore_surv;
        m->ignore_new = mark->ignore_new;
        m->evictable = mark->evictable;
        o->interest = interest_of_marks(k, o);
        return 0;
}

void interest_object_done(const struct interest_kernel *k, struct interest_object *o)
{
        while (o->marks)
                destroy_mark(k, o->marks);
}

bool interest_object_evict(const struct interest_kernel *k, struct interest_object *o)
{
        for (const struct interest_mark *m = o->marks; m; m = m->next_on_object)
                if (!m->evictable)
                        return false;
        interest_object_done(k, o);
        return true;
}

void interest_group_done(const struct interest_kernel *k, struct interest_group *group)
{
        while (group->marks)
                destroy_mark(k, group->marks);
}
