/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Marks a directory and what is below it, and lists what it finds: each directory is
 * marked before it is opened, and opened before it is listed (btrfs lists what existed
 * at open), so that what the list does not show has an event.  Knows nothing of threads;
 * may hang where the filesystem does.
 */

#include <stdatomic.h>

#include "decode.h"
#include "event.h"
#include "placement.h"
#include "strbuf.h"

/* One directory that was marked, or one entry of one.  Texts and handles are offsets into dirlist.bytes. */
struct dirlist_item {
        enum { DIRLIST_MARKED, DIRLIST_ENTRY } kind;
        uint32_t mask;           /* MARKED: FAN_ bits */
        uint32_t events;         /* ENTRY: what its times say happened since */
        struct object object;    /* ENTRY */
        size_t path, path_len;   /* of the directory, inside the filesystem */
        size_t name;             /* ENTRY: text with NUL */
        size_t dir, dir_len;     /* the directory's handle */
        size_t parent, parent_len; /* MARKED: of the one that it was found in; 0 = where the walk began */
        size_t handle, handle_len; /* ENTRY: of the object; 0 = it gives none */
        int32_t dir_type, parent_type, handle_type;
};

struct dirlist { /* zero is an empty one */
        struct dirlist_item *items;
        size_t n, cap;
        struct strbuf bytes;
        bool failed; /* memory is short: it is not complete */
};
void dirlist_reset(struct dirlist *l);
void dirlist_done(struct dirlist *l);

struct dirwalk {
        const struct placing *placing;
        uint32_t fs, structure; /* as for placement_at() */
        int group_fd;
        int base_fd;      /* of a mount of the filesystem, ... */
        const char *root; /* ... which shows this path inside it as its root */
        uint64_t since_usec;   /* entries that changed since are listed, too; UINT64_MAX: none */
        size_t room;           /* marks that may be placed */
        const atomic_bool *stop; /* NULL: goes to the end */
        /* Called when the list is long; returns whether to go on.  NULL: it may be of any length. */
        bool (*flush)(void *userdata);
        void *userdata;
        struct dirlist *list;
        size_t n_failed;      /* directories that could not be marked or read */
        int error;            /* positive errno of the first of them */
};

/*
 * From the directory at this path on; expected: its handle, when it is known.  Returns 0; -ENOENT (it is
 * not there, or another one is); -ENOSPC (no room, or the kernel's limit); -ECANCELED; -ENOMEM.
 */
int dirwalk_run(struct dirwalk *w, const char *path, const struct fan_handle *expected);
/* Takes these bits off the mark of the directory at a path.  0 or a negative errno. */
int dirwalk_take_off(const struct dirwalk *w, const char *path, const struct fan_handle *expected, uint32_t bits);

/* The handle that events name an object by, also where nobody can open it.  Bytes go to the buffer.  0 or
 * -errno. */
#define DIRWALK_HANDLE_BYTES 128u
int dirwalk_handle(int dir_fd, const char *name, struct fan_handle *ret, uint8_t bytes[static DIRWALK_HANDLE_BYTES]);
/* O_PATH descriptor of what is at a path inside the filesystem, followed through no link.  -errno. */
int dirwalk_open(int base_fd, const char *root, const char *path, int flags);
/* What the times of an object say of it since then: EV_ bits. */
struct statx;
uint32_t dirwalk_events_since(const struct statx *stx, uint64_t since_usec);
struct object dirwalk_object(const struct statx *stx);
