/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Directory file handle → path inside its filesystem, with a bounded cache kept
 * true by the events themselves in queue order; object handle → statx.
 *
 * Handles are opened below a detached clone of a mount (open_tree(2)), made for
 * one batch and closed at its end, so that umount(2) succeeds while we read.
 * Only directories are resolved: a file's handle opens a dentry that may have no
 * parent, whose path reads "/".
 */

#include "counters.h"
#include "decode.h"
#include "event.h"
#include "strbuf.h"
#include "world.h"

struct resolver;
struct dirtable;

int resolver_new(struct counters *counters, size_t max_entries, struct resolver **ret);
/* One that waits as long as a filesystem takes: for a thread that may hang. */
int resolver_new_patient(struct counters *counters, struct resolver **ret);
void resolver_free(struct resolver *r);
DEFINE_CLEANUP(struct resolver, resolver_free);

/* The mounts to resolve through from now on (borrowed).  The cache holds paths
 * inside filesystems by fsid: it stays valid. */
void resolver_set_world(struct resolver *r, const struct world *w);
/* No event tells of renamed directories on this filesystem (no rule there asks for
 * them): a path is kept for one batch only.  Until the next resolver_set_world(). */
void resolver_names_unseen(struct resolver *r, uint64_t fsid);
bool resolver_sees_names(const struct resolver *r, uint64_t fsid);
/* The filesystem of a record's fsid, or WORLD_NONE. */
uint32_t resolver_fs(const struct resolver *r, uint64_t fsid);

/*
 * Appends the directory's path inside its filesystem ("/" for the root) to ret.
 * Returns 0; -ESTALE (gone, and not in the cache); -ENOENT (no mount of this
 * filesystem to resolve through); -EXDEV (outside what its mounts show); -ETIMEDOUT
 * (the filesystem hangs); other negative errno.
 */
int resolver_dir(struct resolver *r, const struct fan_handle *dir, struct strbuf *ret);
/* The same of a file, as far as the kernel has its name in memory: it never looks for one.  -EXDEV when it
 * has none. */
int resolver_file(struct resolver *r, const struct fan_handle *file, struct strbuf *ret);
/* A descriptor (O_PATH) of the object behind a handle, to close; flags as O_DIRECTORY.  -ESTALE when it is
 * gone, -ETIMEDOUT on a filesystem that may hang; other negative errno. */
int resolver_open(struct resolver *r, const struct fan_handle *object, int flags);
/* statx of the object behind a handle, opened O_PATH (raises no event).
 * Returns 0; -ESTALE when it is gone; other negative errno. */
int resolver_object(struct resolver *r, const struct fan_handle *object, struct object *ret);
/* statx of the owner of a directory, cached with it while the batch lasts. */
int resolver_dir_owner(struct resolver *r, const struct fan_handle *dir, uint32_t *ret_uid, uint32_t *ret_gid);

/* The same of what stands at an absolute path inside a filesystem now, where that is this object: where
 * handles cannot be opened.  0; -ESTALE (another one is there, or none); other negative errno. */
int resolver_object_at(struct resolver *r, const struct fan_handle *object, const char *path, struct object *ret);
/* Directories whose paths are known here are not asked for (borrowed; NULL: none). */
void resolver_set_table(struct resolver *r, const struct dirtable *t);

/* Something that is done on a mount of a filesystem, with a descriptor on it and the path inside the
 * filesystem that it shows as its root. */
struct resolver_job {
        void (*run)(struct resolver_job *job, int mount_fd, const char *root);
        void (*free)(struct resolver_job *job);
        int error; /* of it, or of opening the mount: negative errno */
};
/* Where the filesystem may hang, another thread does it, and is waited for for a second.  Returns 0 when it
 * is done; -ETIMEDOUT: then the job is no longer the caller's; other negative errno. */
int resolver_run(struct resolver *r, uint32_t fs, struct resolver_job *job);

/* What events teach: a directory that was made or moved there; one that is gone;
 * everything at or below a path that was moved away; nothing is known any more. */
void resolver_learn(struct resolver *r, const struct fan_handle *dir, const char *path, size_t len);
void resolver_forget(struct resolver *r, const struct fan_handle *dir);
void resolver_forget_below(struct resolver *r, uint64_t fsid, const char *path, size_t len);
void resolver_forget_all(struct resolver *r);
/* The mount point of a filesystem that hangs now, so that nothing on it can be looked at; else NULL. */
const char *resolver_stuck(const struct resolver *r);
/* Closes the clones; call when the batch is done. */
void resolver_end_batch(struct resolver *r);
