/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The resolved and attributed event that travels from the pipeline to the
 * record: plain data, pointers borrowed from whoever made the event.
 */

#include "base.h"

enum attribution { /* FAWATCH_ATTRIBUTION, a closed list */
        ATTRIBUTION_UNKNOWN,
        ATTRIBUTION_VERIFIED,
        ATTRIBUTION_PROCESS,
        ATTRIBUTION_TRACKED,
        ATTRIBUTION_EXITED,
        ATTRIBUTION_FOREIGN,
        ATTRIBUTION_KERNEL,
};
#define N_ATTRIBUTIONS 7
const char *attribution_name(enum attribution a) _pure_;

enum path_state { PATH_NORMAL, PATH_REPLACED, PATH_DELETED, PATH_HIDDEN, PATH_INSIDE };
const char *path_state_name(enum path_state s) _pure_; /* NULL for PATH_NORMAL */

enum origin { ORIGIN_KERNEL, ORIGIN_SCAN, ORIGIN_RECOVERY, ORIGIN_REPLAY };
const char *origin_name(enum origin o) _pure_; /* NULL for ORIGIN_KERNEL */

struct bytes {
        const char *p; /* NULL = absent */
        size_t len;
};

#define ID_UNKNOWN UINT32_MAX

/* Who.  What is not known is 0, NULL or ID_UNKNOWN. */
struct actor {
        uint64_t id;            /* two with the same have the same facts, names apart; 0 = none was given */
        int32_t pid;            /* thread-group id, 0 = outside our pid namespace or unknown */
        uint64_t start_ticks;   /* /proc/PID/stat field 22: with pid the identity */
        bool program_known;     /* comm, exe, cmdline are those of the program at the event */
        bool kernel_thread;
        const char *comm;       /* raw bytes, ≤ 15 */
        const char *exe;        /* raw bytes, without " (deleted)" */
        bool exe_deleted;
        struct bytes cmdline;   /* arguments joined by one space each, raw bytes, capped */
        const char *next_comm, *next_exe; /* what it became by an exec before the event was read */
        uint32_t uid, euid, gid, egid, loginuid;
        const char *user, *login_user, *group; /* names of euid, loginuid, egid when known */
        const char *session;    /* audit session id as text; NULL when none */
        const char *tty;        /* "pts/3" */
        int32_t ppid;
        const char *parent_comm;
        const char *ancestry;   /* "comm(pid) ← comm(pid)" of the ancestors */
        const char *const *ancestor_exes; /* nearest first, n_ancestor_exes */
        size_t n_ancestor_exes;
        const char *unit, *user_unit, *slice, *cgroup, *container;
};

/* Of whom nothing is known. */
extern const struct actor actor_nobody;

struct object { /* statx of the event's file handle right after the event */
        bool known;
        uint32_t type;   /* TYPE_ bit; also set without known when the event says directory */
        uint32_t dev_major, dev_minor;
        uint64_t ino;
        uint32_t mode, uid, gid;
        uint64_t size;
        uint32_t nlink;  /* names that lead to it; 0 = an open file without a name */
        const char *owner, *owner_group; /* names, NULL when not known */
};

struct event {
        uint32_t events;        /* EV_ bits that the rules wanted */
        bool is_dir;
        struct bytes path;      /* canonical; absent when the directory can no longer be found */
        struct bytes old_path;  /* of a rename, when known */
        struct bytes name;      /* last component, given only where path is absent */
        struct bytes cause;     /* of replaced */
        enum path_state path_state;
        const char *source;     /* of PATH_INSIDE: what is mounted; the path is one inside of it */
        const char *fstype;
        uint32_t sdev_major, sdev_minor; /* of the filesystem, when object.known is false */
        struct object object;
        enum attribution attribution;
        const struct actor *actor; /* never NULL; pid 0 when unknown */
        enum origin origin;
        uint64_t read_realtime_usec; /* when it was read from the kernel */
        int32_t fs_errno;        /* of fs_error: the first error, positive; else 0 */
        uint32_t fs_error_count; /* of fs_error: how many since the last one was read */
        /* a coalesced record only (count ≥ 2) */
        uint64_t count, first_usec, last_usec;
};
