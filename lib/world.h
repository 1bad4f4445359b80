/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Facts about this machine at one moment: mounts and filesystems, what each
 * rule path leads to, user names, kernel abilities.  Collected at the edge
 * (daemon/mounts.c, daemon/probe.c, daemon/names.c) into a builder; from then on
 * an immutable input of planning and matching.  It has a text form, so that
 * tests plan from fixtures (world_text.c).
 */

#include "arena.h"
#include "rules.h"

#define WORLD_NONE UINT32_MAX

/* A file handle as name_to_handle_at(2) gives it and fanotify reports it. */
struct handle {
        int32_t type;
        uint32_t len; /* bytes; 0 = not known */
        uint8_t bytes[128]; /* MAX_HANDLE_SZ */
};

enum fs_class {
        FS_REAL,    /* watched */
        FS_PSEUDO,  /* proc, sysfs, ...: skipped, and said so */
        FS_NETWORK, /* watched for what this host does */
};

struct world_fs {
        uint32_t sdev_major, sdev_minor; /* the kernel's s_dev: mountinfo's maj:min, not st_dev on btrfs */
        uint64_t fsid;                   /* statfs f_fsid, as in fanotify records (val[0] low, val[1] high) */
        bool fsid_known;
        const char *fstype;
        const char *source;
        enum fs_class class;
        uint32_t canonical_mount; /* index of the mount paths are reported through; WORLD_NONE: none is visible */
        bool may_exec;            /* some mount of it is not noexec */
        int mark_errno;           /* 0, or the positive errno of a filesystem mark with file handles */
        bool takes_dir_marks;     /* where that is not 0: marks on its directories, with file handles, are taken */
        bool own_group;           /* ... only in a group of their own: its fsid is weak, or another's too */
};

struct world_mount {
        int id, parent_id;
        uint32_t fs;             /* index */
        const char *root;        /* path inside the filesystem that is mounted: "/" or a subtree */
        const char *mountpoint;  /* where, "/" or without trailing slash */
        uint32_t parent;         /* index of the mount it is on, WORLD_NONE: out of sight; after world_seal() */
        bool visible;            /* a walk to mountpoint ends in this mount */
        bool noexec, read_only;
};

/* A directory on the way of some rule's path. */
struct world_dir {
        const char *path;     /* canonical */
        uint32_t mount;       /* that holds it */
        struct handle handle; /* len 0 when not known */
};

struct world_path {
        const char *path;     /* as in the rules */
        bool exists;
        int error;            /* positive errno of the look-up when it is not ENOENT; else 0 */
        const char *resolved; /* canonical as far as it exists; what does not exist is appended as written */
        struct strings links; /* canonical paths of the links walked through and of the first missing component */
        uint32_t mount;       /* the mount that holds resolved (or would, once it exists) */
        const char *inside;   /* path inside that mount's filesystem */
        uint32_t type;        /* TYPE_ bit when it exists, of what it leads to */
        struct handle handle; /* of what it leads to; len 0 when not known */
        uint32_t nlink;       /* names of what it leads to; 0 when not known */
        const struct world_dir *dirs; /* in which names were looked up on the way; for world_add_path() alone */
        size_t n_dirs;
};

enum name_kind { NAME_USER, NAME_GROUP };
struct world_name {
        enum name_kind kind;
        const char *name;
        bool known;
        uint32_t id;
};

/* What the running kernel can do; asked, never guessed from its version. */
struct kernel_abilities {
        bool fanotify;       /* fanotify_init works at all */
        bool dfid_name;      /* FAN_REPORT_DFID_NAME */
        bool target_fid;     /* FAN_REPORT_TARGET_FID */
        bool rename;         /* FAN_RENAME */
        bool pidfd;          /* FAN_REPORT_PIDFD */
        bool fs_error;       /* FAN_FS_ERROR */
        bool evictable;      /* FAN_MARK_EVICTABLE */
        bool ignore;         /* FAN_MARK_IGNORE */
        bool mount_events;   /* FAN_REPORT_MNT */
        bool fd_error;       /* FAN_REPORT_FD_ERROR */
};

struct world {
        struct arena *arena;
        struct world_fs *fs;
        uint32_t n_fs;
        struct world_mount *mounts; /* in mountinfo's order */
        uint32_t n_mounts;
        struct world_path *paths;   /* sorted by path, unique */
        uint32_t n_paths;
        struct world_dir *dirs;     /* sorted by path, unique */
        uint32_t n_dirs;
        struct world_name *names;   /* sorted by kind, name */
        uint32_t n_names;
        uint32_t *by_mountpoint;    /* n_mounts indexes sorted by mountpoint; after world_seal() */
        struct kernel_abilities kernel;
        bool unsettled; /* mounts changed while paths were looked up: what these lead to is in doubt */
};

/* An empty world with an arena; NULL when memory is short.  world_free() frees
 * it with all it owns and accepts NULL. */
struct world *world_new(void);
void world_free(struct world *w);
DEFINE_CLEANUP(struct world, world_free);

/*
 * Builders copy all strings.  Each returns 0 or -ENOMEM.  world_add_mount()
 * finds or adds the filesystem by sdev.  Call world_seal() once after the
 * last mount and before the first path: it computes visible, canonical_mount
 * (the visible mount of the root with the lowest id, else the visible mount
 * with the root nearest "/") and may_exec.
 */
struct world_mount_facts {
        int id, parent_id;
        uint32_t sdev_major, sdev_minor;
        const char *root, *mountpoint, *fstype, *source;
        enum fs_class class;
        bool noexec, read_only;
};
int world_add_mount(struct world *w, const struct world_mount_facts *facts);
int world_seal(struct world *w);
/* facts->path must be new; mount and inside are computed from resolved.  Its dirs are added to the world's. */
int world_add_path(struct world *w, const struct world_path *facts);
int world_add_dir(struct world *w, const struct world_dir *facts);
int world_add_name(struct world *w, const struct world_name *facts);
/* Sorts paths, directories and names for look-up; call once after the last one. */
void world_finish(struct world *w);

/* Every distinct path that the rules name, and every user and group name that
 * must be looked up (not numbers, ranges, any, none, @owner): what the edge has
 * to collect.  Arrays in arena.  Return 0 or -ENOMEM. */
int world_wanted_paths(const struct rules *rules, struct arena *arena, struct strings *ret);
int world_wanted_names(const struct rules *rules, struct arena *arena, struct world_name **ret,
                       size_t *ret_n);
/* Is this value of user, group or login a name to look up: not a number, a range, any, none, @owner? */
bool world_value_is_name(const char *value) _pure_;

/* The mount a walk along the absolute, canonical path ends in, or WORLD_NONE. */
uint32_t world_mount_of(const struct world *w, const char *path);
/* The same, with the path inside its filesystem (the path itself where there is no mount) added to inside. */
struct strbuf;
uint32_t world_locate(const struct world *w, const char *path, struct strbuf *inside);
/* The topmost mount exactly at mountpoint path, or WORLD_NONE. */
uint32_t world_mount_at(const struct world *w, const char *path);
/* All mounts, visible or not, strictly below the absolute path: *ret_n indexes sorted by mountpoint. */
const uint32_t *world_mounts_below(const struct world *w, const char *path, size_t *ret_n);
const struct world_path *world_find_path(const struct world *w, const char *path);
const struct world_dir *world_find_dir(const struct world *w, const char *path);
const struct world_name *world_find_name(const struct world *w, enum name_kind kind, const char *name);
uint32_t world_find_fs(const struct world *w, uint32_t sdev_major, uint32_t sdev_minor);
/* True when looking at a file there may wait for another machine or another
 * process for ever (NFS, FUSE, autofs): never from the daemon's own thread. */
bool world_fs_may_hang(const struct world_fs *fs) _pure_;
/* ... or on the way there: the mount itself or one that it is mounted below. */
bool world_mount_may_hang(const struct world *w, uint32_t mount) _pure_;
/* Are its trees watched by marks on their directories? */
static inline bool world_fs_by_directories(const struct world_fs *fs)
{
        return fs->class != FS_PSEUDO && fs->mark_errno != 0 && fs->takes_dir_marks &&
               fs->canonical_mount != WORLD_NONE;
}
/*
 * What stands for the fsid of a filesystem whose own says nothing: zero, of a subvolume, or the same as
 * another's.  Its events come through a group of its own, and are read as if they carried this.
 */
static inline uint64_t world_own_fsid(uint32_t sdev_major, uint32_t sdev_minor)
{
        return UINT64_C(0xfa) << 56 | (uint64_t)sdev_major << 32 | sdev_minor;
}
/* True when path is dir itself or lies below it. */
bool world_path_is_below(const char *path, const char *dir) _pure_;

/*
 * The canonical path of an object at `inside` (absolute path inside filesystem
 * fs): through the canonical mount when that mount shows it, else through the
 * first visible mount that does.  Writes the path and whether it is hidden
 * (another mount covers the place); what ret held before is replaced.  Returns
 * 0, -ENOENT when no mount shows it (ret gets the inside path), -ENOMEM.
 */
struct strbuf;
int world_canonical_path(const struct world *w, uint32_t fs, const char *inside, size_t len,
                         struct strbuf *ret, bool *ret_hidden);

/*
 * The text form of tests/golden, one fact a line, "#" begins a comment, a blank
 * or a control character in a path is written as in mountinfo (\040):
 *
 *   mount ID PARENT MAJ:MIN ROOT MOUNTPOINT FSTYPE SOURCE [noexec,ro,pseudo,network]
 *   fs MAJ:MIN [fsid=HEX] [error=EOPNOTSUPP] [directories|own-group]
 *   path PATH [exists] [type=file] [links=1] [resolved=P] [link=P]... [error=EACCES] [handle=HEX]
 *   dir PATH HANDLE
 *   user NAME [ID]
 *   group NAME [ID]
 *   kernel NAME...
 *
 * "type=" implies "exists", which alone means a directory.  Without a kernel
 * line every ability is there.  Returns 0, -EINVAL (diag), -ENOMEM.
 */
int world_parse_text(const char *text, size_t len, struct diag *diag, struct world **ret);
