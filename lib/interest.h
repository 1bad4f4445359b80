/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The kernel's arithmetic: what fanotify_mark(2) does to the marks of an object,
 * which events an object is then interested in, and to which groups an event
 * goes, with which bits and which information records.
 *
 * It is the decision of fs/notify/ without its locks, lifetimes and queues.  Each
 * function names the kernel function whose step it takes; tests/model/ compares
 * the whole with the running kernel.  In short:
 *
 *   A mark joins a group and an object (inode, mount, filesystem).  It asks for
 *   events (mask) and refuses events (ignore mask).  An object's interest is the
 *   OR over its marks and says only whether anybody has to be asked.  An event
 *   meets up to five objects, the slots.  A group gets the event when it is in
 *   the union of the masks of its marks there and not in the union of their
 *   ignore masks: one mark's ignore mask stops what another mark asks for.
 *
 * Not modelled: FAN_REPORT_MNT groups, FAN_PRE_ACCESS, answers to permission
 * events, merging in the queue (interest_same_event() says what would merge).
 */

#include "fan_uapi.h"
#include "markset.h"

/* Sets of events that the kernel speaks of. */
/* ALL_FSNOTIFY_PERM_EVENTS */
#define INTEREST_PERM (FAN_OPEN_PERM | FAN_ACCESS_PERM | FAN_OPEN_EXEC_PERM)
/* ALL_FSNOTIFY_DIRENT_EVENTS: raised on the directory whose entry changes, never on a watching parent */
#define INTEREST_DIRENT (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO | FAN_RENAME)
/* FANOTIFY_PATH_EVENTS: happen to an open file, so its path is known */
#define INTEREST_PATH \
        (FAN_ACCESS | FAN_MODIFY | FAN_CLOSE_WRITE | FAN_CLOSE_NOWRITE | FAN_OPEN | FAN_OPEN_EXEC)
/* FS_EVENTS_POSS_ON_CHILD: what FAN_EVENT_ON_CHILD can bring to the parent directory */
#define INTEREST_CHILD (INTEREST_PATH | FAN_ATTRIB | INTEREST_PERM)
/* FANOTIFY_EVENTS: what a mark may ask for, permission events aside */
#define INTEREST_MARKABLE \
        (INTEREST_PATH | INTEREST_DIRENT | FAN_ATTRIB | FAN_DELETE_SELF | FAN_MOVE_SELF | FAN_FS_ERROR)
/* FANOTIFY_EVENT_FLAGS */
#define INTEREST_FLAGS (FAN_ONDIR | FAN_EVENT_ON_CHILD)
/* ALL_FSNOTIFY_EVENTS: everything but the two flags */
#define INTEREST_EVENTS (INTEREST_MARKABLE | INTEREST_PERM | FAN_Q_OVERFLOW)

/* Where kernels differ. */
struct interest_kernel {
        bool rename;    /* FAN_RENAME (5.17) */
        bool fs_error;  /* FAN_FS_ERROR (5.16) */
        bool evictable; /* FAN_MARK_EVICTABLE (5.19, 5.15.154, 5.10.220) */
        bool ignore;    /* FAN_MARK_IGNORE (6.0, 5.15.154, 5.10.220) */
        /* Ignored events count as interest (5.18, 5.15.154, 5.10.220).  Before, a parent's ignore mask
         * only stopped what the parent's own mask asked for. */
        bool ignore_is_interest;
        /* Reads and writes of fifos, sockets and devices are not told to the parent directory
         * (6.19, 6.18.y and what stable kernels took over of it in 2026). */
        bool special_untold;
};
/* What follows from the probed abilities; special_untold, which takes a fifo to ask, is left false. */
struct interest_kernel interest_kernel_from(const struct kernel_abilities *abilities);

struct interest_mark;

/* A group: struct fsnotify_group.  Set init_flags and limit, leave the rest zero. */
struct interest_limit { /* fs.fanotify.max_user_marks: one account for all groups of a user */
        size_t used, max;
};
struct interest_group {
        unsigned init_flags;          /* as given to fanotify_init(2) */
        bool unprivileged;            /* made without CAP_SYS_ADMIN: inode marks only */
        struct interest_limit *limit; /* NULL: none; not consulted with FAN_UNLIMITED_MARKS */
        struct interest_mark *marks;  /* newest first, the order of /proc/PID/fdinfo/FD */
};

/* What can carry marks: struct fsnotify_mark_connector and its object. */
struct interest_object {
        enum mark_kind kind;
        uint32_t type;          /* of an inode: its TYPE_ bit */
        bool open_for_write;    /* of an inode: inode_is_open_for_write(), regular files only */
        int fid_errno;          /* what a group with file handles is told: 0, -EOPNOTSUPP, -ENODEV, -EXDEV */
        uint32_t interest;      /* i_fsnotify_mask, mnt_fsnotify_mask, s_fsnotify_mask: as last computed */
        struct interest_mark *marks; /* one a group, by the groups' precedence */
};

struct interest_mark { /* struct fsnotify_mark */
        struct interest_group *group;
        struct interest_object *object;
        struct interest_mark *next_on_object, *next_in_group;
        uint32_t mask, ignore_mask;
        bool ignore_surv; /* FSNOTIFY_MARK_FLAG_IGNORED_SURV_MODIFY */
        bool ignore_new;  /* FSNOTIFY_MARK_FLAG_HAS_IGNORE_FLAGS: the ignore mask has flags of its own */
        bool evictable;   /* FSNOTIFY_MARK_FLAG_NO_IREF: does not pin the inode */
};

/* The objects an event meets: the slots of struct fsnotify_iter_info. */
enum interest_slot {
        SLOT_INODE,      /* what it happens to; of a directory entry event: the directory */
        SLOT_MOUNT,      /* the mount an open file was reached through */
        SLOT_FILESYSTEM,
        SLOT_PARENT,     /* the directory that holds the name, when it watches its children */
        SLOT_NEW_DIR,    /* of FAN_RENAME: the directory moved into (INODE2) */
        N_SLOTS,
};

/* ---- a mark by itself: interest_mask.c ---- */

/* The events the mark refuses, without flags.  fsnotify_ignored_events(). */
uint32_t interest_ignored_events(const struct interest_mark *m) _pure_;
/* What the mark adds to its object's interest.  fsnotify_calc_mask(). */
uint32_t interest_calc_mask(const struct interest_kernel *k, const struct interest_mark *m) _pure_;
/* The ignore mask with the flags that are in force.  fsnotify_ignore_mask(). */
uint32_t interest_ignore_mask(const struct interest_mark *m) _pure_;
/* Whether a mask speaks of directories, and of children.  fsnotify_mask_applicable(). */
bool interest_mask_applicable(uint32_t mask, bool is_dir, enum interest_slot slot) _pure_;
/* The events refused in this slot.  fsnotify_effective_ignore_mask(). */
uint32_t interest_effective_ignore(const struct interest_mark *m, bool is_dir,
                                   enum interest_slot slot) _pure_;
/* The OR over the marks, which object->interest should be.  __fsnotify_recalc_mask(). */
uint32_t interest_of_marks(const struct interest_kernel *k, const struct interest_object *o) _pure_;
/* The child events that a directory's interest brings it; not 0: its children are flagged
 * DCACHE_FSNOTIFY_PARENT_WATCHED and pay for it.  fsnotify_inode_watches_children(). */
uint32_t interest_watches_children(const struct interest_object *dir) _pure_;

/* ---- placing marks: interest_mark.c ---- */

/* What a path leads to: struct path. */
struct interest_place {
        struct interest_object *inode, *mount, *filesystem;
};
/* fanotify_mark(2): 0 or the negative errno it sets; -ENOMEM.  FAN_MARK_FLUSH looks at no place. */
int interest_fanotify_mark(const struct interest_kernel *k, struct interest_group *group, unsigned flags,
                           uint64_t mask, const struct interest_place *place);
/* The mark of a group on an object, or NULL.  fsnotify_find_mark(). */
struct interest_mark *interest_find_mark(const struct interest_object *o, const struct interest_group *group);
/* The order of groups in every object's list of marks, and in delivery: higher classes first, then by
 * address.  fsnotify_compare_groups(). */
bool interest_group_before(const struct interest_group *a, const struct interest_group *b) _pure_;
/* A mark as it is known to stand (from a markset, from fdinfo).  0 or -ENOMEM; *mark must be of o's kind. */
int interest_adopt_mark(const struct interest_kernel *k, struct interest_group *group,
                        struct interest_object *o, const struct mark *mark);
/* The object is gone: inode deleted or evicted, filesystem or mount unmounted; fsnotify_destroy_marks(). */
void interest_object_done(const struct interest_kernel *k, struct interest_object *o);
/* Under memory pressure: an inode that no mark pins loses its marks.  Returns whether it did. */
bool interest_object_evict(const struct interest_kernel *k, struct interest_object *o);
/* The group is closed.  fsnotify_destroy_group(). */
void interest_group_done(const struct interest_kernel *k, struct interest_group *group);

/* ---- delivering events: interest_deliver.c ---- */

/* What an event is about: the arguments of fsnotify(). */
struct interest_event {
        uint32_t events;                  /* FAN_ONDIR is added by itself */
        struct interest_object *inode;    /* what it happens to; of an entry: what the entry names */
        struct interest_object *filesystem;
        struct interest_object *mount;    /* where the hook knows a path (FSNOTIFY_EVENT_PATH), else NULL */
        struct interest_object *dir;      /* holds the name; NULL: the root of the filesystem, or none */
        struct interest_object *new_dir;  /* of FAN_RENAME */
};

/* An event in a group's queue: struct fanotify_event. */
enum interest_event_type {
        INTEREST_EVENT_FD,       /* an open file descriptor */
        INTEREST_EVENT_FID,      /* one file handle */
        INTEREST_EVENT_NAME,     /* handles of directories with names, perhaps the handle of the object */
        INTEREST_EVENT_FS_ERROR,
};
struct interest_delivery {
        struct interest_group *group;
        uint32_t mask;                        /* as read(2) gives it */
        enum interest_event_type type;
        const struct interest_object *object; /* FD, FID: of what; NAME: the object, or NULL */
        const struct interest_object *dir;    /* NAME: or NULL (of a rename only the new side is told) */
        const struct interest_object *new_dir; /* NAME of a rename: or NULL */
        bool named;                           /* NAME: dir's handle comes with the name in it */
};
#define INTEREST_MAX_GROUPS 128 /* fs.fanotify.max_user_groups as the kernel sets it */
struct interest_report {
        size_t n;
        struct interest_delivery to[INTEREST_MAX_GROUPS];
};

/*
 * The three hooks, fsnotify_parent(), fsnotify_name() and fsnotify_inode() of
 * <linux/fsnotify.h>.  Each fills *ret, at most one delivery a group, and clears
 * the ignore masks that the event modifies.
 *
 *   interest_on_dentry  open access modify attrib close_write close_nowrite
 *                       open_exec: of a file or directory, known to its parent
 *   interest_on_name    create delete moved_from moved_to rename: of an entry in dir
 *   interest_on_inode   delete_self move_self, attrib of a changed link count:
 *                       of an inode, whatever its names
 */
void interest_on_dentry(const struct interest_kernel *k, const struct interest_event *e,
                        struct interest_report *ret);
void interest_on_name(const struct interest_kernel *k, const struct interest_event *e,
                      struct interest_report *ret);
void interest_on_inode(const struct interest_kernel *k, const struct interest_event *e,
                       struct interest_report *ret);
/* fsnotify_sb_error(): FAN_FS_ERROR, e->inode may be NULL. */
void interest_on_error(const struct interest_kernel *k, const struct interest_event *e,
                       struct interest_report *ret);

/* The records that follow the event's metadata, in the order of copy_info_records_to_user();
 * FAN_EVENT_INFO_TYPE_PIDFD, which a group asks for by itself, is not among them. */
enum interest_name {
        INTEREST_NO_NAME,
        INTEREST_NAME,     /* the entry's name; of a rename the old one */
        INTEREST_NEW_NAME,
        INTEREST_DOT,      /* "." */
};
struct interest_record {
        uint8_t type;                         /* FAN_EVENT_INFO_TYPE_ */
        const struct interest_object *object; /* whose handle; NULL in FAN_EVENT_INFO_TYPE_ERROR */
        enum interest_name name;
};
#define INTEREST_MAX_RECORDS 3
/* Look at the mask after merging: with FAN_REPORT_DIR_FID alone the type of a record depends on it. */
size_t interest_records(const struct interest_delivery *d, struct interest_record ret[INTEREST_MAX_RECORDS]);

/* Whether the second would be merged into the first, had they the same process and the same names:
 * fanotify_should_merge(). */
bool interest_same_event(const struct interest_delivery *a, const struct interest_delivery *b) _pure_;
