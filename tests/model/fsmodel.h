/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A small filesystem twice: really, below a mount that the test made, and as a
 * model that knows which hooks of <linux/fsnotify.h> each operation calls, in
 * which order.  Each operation does both; the model's events go to the groups'
 * queues (fanqueue.h).
 */

#include "interest.h"

#define FS_MOUNTS 2   /* the mount and a bind mount of it */
#define FS_MAX_FILES 6 /* held open */
#define FS_NAME_MAX 16

struct fanqueue;

struct node { /* an inode */
        struct interest_object object;
        struct node *next;
        unsigned long ino;
        struct handle handle;
        unsigned nlink, writers, readers;
        size_t size;
        size_t in_pipe;   /* bytes waiting in a fifo */
        bool printable;   /* begins with text: exec of it fails without a search for modules */
        bool dead;        /* a removed directory */
};

struct entry { /* a dentry */
        struct node *node;
        struct entry *parent, *next;
        char name[FS_NAME_MAX];
        bool hashed;       /* can be looked up; false: removed, but still in use */
        unsigned pins;     /* open files and queued descriptors that keep it */
        unsigned children; /* entries below it */
};

struct open_file {
        int fd; /* -1: none */
        struct entry *entry;
        unsigned mount;
        bool readable, writable;
};

/* How operations and filesystems differ between kernels, found out by probe_kernel(). */
struct fs_hooks {
        int fid_errno;             /* of every object here: tmpfs had no fsid before 5.13 */
        bool truncate_before_open; /* open(O_TRUNC): modify, then open (before 6.12 or so) */
        /* delete_self of an inode without names comes when its last dentry goes, not as soon as one goes
         * (inode_notify_dead() in fs/dcache.c, 6.12.117) */
        bool last_dentry_tells;
        bool copy_modifies_first;  /* copy_file_range(2): modify, access, modify (6.1), not access, modify */
};

struct fsmodel {
        const struct interest_kernel *kernel;
        struct fs_hooks hooks;
        bool trace; /* print each step */
        char mount_path[FS_MOUNTS][32];
        int mount_id[FS_MOUNTS];
        struct interest_object filesystem, mounts[FS_MOUNTS];
        uint32_t fsid[2];
        uint32_t sdev;
        struct node *nodes;    /* all of this round, also deleted ones: queued events name them */
        struct entry *entries; /* all that exist; the root is the last */
        struct entry *root;
        struct open_file files[FS_MAX_FILES];
        unsigned n_names;
        struct fanqueue *queues;
        size_t n_queues;
        char last[320]; /* the operation that was done last */
};

/* An empty model of what is mounted at path and bound at bind; both are empty filesystems.  The test ends
 * when memory is short or a call that cannot fail fails. */
void fsmodel_init(struct fsmodel *fs, const struct interest_kernel *kernel, const struct fs_hooks *hooks,
                  const char *path, const char *bind);
/* Closes files, removes everything; the groups must be closed. */
void fsmodel_done(struct fsmodel *fs);

/* The path of an entry through a mount. */
const char *fsmodel_path(const struct fsmodel *fs, const struct entry *entry, unsigned mount, char ret[256]);
struct node *node_of(const struct interest_object *o);

enum fs_op {
        OP_OPEN, OP_OPEN_TRUNCATE, OP_CREATE, OP_CLOSE, OP_READ, OP_WRITE, OP_LIST, OP_COPY,
        OP_TRUNCATE, OP_FTRUNCATE, OP_FALLOCATE, OP_CHMOD, OP_FCHMOD, OP_CHOWN, OP_UTIMES, OP_UTIMES_ATIME,
        OP_UTIMES_MTIME, OP_SETXATTR, OP_MKDIR, OP_MKFIFO, OP_MKNOD, OP_SYMLINK, OP_LINK, OP_UNLINK,
        OP_RMDIR, OP_RENAME, OP_RENAME_OVER, OP_EXCHANGE, OP_EXEC, OP_NOTHING,
        N_OPS,
};
/* What an operation is done to; what it does not need is ignored. */
struct fs_target {
        struct entry *entry;  /* hashed */
        struct entry *other;  /* hashed: directory of a new name, or second name */
        unsigned mount;
        unsigned file;        /* index into files */
        unsigned choice;      /* a random number for variants */
};
/* Does it, really and in the model.  Returns false where it does not apply (nothing was done). */
bool fsmodel_do(struct fsmodel *fs, enum fs_op op, const struct fs_target *t);
/* A reader closed a descriptor that came with an event, or a queue was emptied of one. */
void fsmodel_unpin(struct fsmodel *fs, struct entry *entry);
/* How often each operation was done, for the test's last line. */
const char *fsmodel_op_name(enum fs_op op);

/* Ends the test with a message; %m works. */
void die(const char *format, ...) _printf_(1, 2) __attribute__((noreturn));
