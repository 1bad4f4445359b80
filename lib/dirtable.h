/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The directories that carry marks of ours, by file handle and by path: what an event
 * names by a handle that nobody can open (overlay, FUSE) is found here.  A renamed
 * directory takes all below it along.  At most 160 bytes a directory, name included.
 */

#include "decode.h"
#include "dirtree.h"

struct dirtable;
struct strbuf;

/* Valid until the directory is removed or another one takes its path. */
struct dirtable_dir {
        struct dirtree_node *node;
        struct dirtable_dir *next_in_bucket;
        uint32_t mask; /* FAN_ bits that its mark was given; 0 = it has none */
        int32_t type;
        uint8_t len;
        bool listed; /* what was in it when it was marked has been reported */
        bool missed; /* a directory made in it could not be found: it is looked for after the next rename */
        uint8_t bytes[];
};

int dirtable_new(struct dirtable **ret);
/* Accepts NULL. */
void dirtable_free(struct dirtable *t);
DEFINE_CLEANUP(struct dirtable, dirtable_free);

struct dirtable_dir *dirtable_find(const struct dirtable *t, const struct fan_handle *h) _pure_;
/* By its path; NULL when no directory is known there. */
struct dirtable_dir *dirtable_at(const struct dirtable *t, uint64_t fsid, const char *path, size_t len);
/*
 * A directory that was not known, at this absolute path of its filesystem.  Another one that hung there is
 * no longer there: it is forgotten, with all below it.  Returns 0, -EEXIST (this one is known), -EINVAL (a
 * handle longer than the kernel's), -ENOMEM.
 */
int dirtable_add(struct dirtable *t, const struct fan_handle *h, const char *path, size_t len,
                 struct dirtable_dir **ret);
/* It is called so from now on; what hung there is forgotten.  0, -EINVAL (a root, or below itself), -ENOMEM:
 * then it stays. */
int dirtable_rename(struct dirtable *t, struct dirtable_dir *d, const char *path, size_t len);
/* Forgets it, with all below it. */
void dirtable_remove(struct dirtable *t, struct dirtable_dir *d);
/* ... and everything of one filesystem. */
void dirtable_remove_filesystem(struct dirtable *t, uint64_t fsid);

/* Appends the path inside its filesystem. */
void dirtable_path(const struct dirtable_dir *d, struct strbuf *out);
uint64_t dirtable_fsid(const struct dirtable_dir *d) _pure_;
struct fan_handle dirtable_handle(const struct dirtable_dir *d); /* its bytes are d's */
/* Calls fn for d and all below it; fn must not change the table. */
void dirtable_foreach(const struct dirtable_dir *d, void (*fn)(void *userdata, struct dirtable_dir *d),
                      void *userdata);
void dirtable_foreach_of(const struct dirtable *t, uint64_t fsid,
                         void (*fn)(void *userdata, struct dirtable_dir *d), void *userdata);
size_t dirtable_count(const struct dirtable *t) _pure_;
