/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Paths inside filesystems as a tree: what hangs at a path, and everything that hangs
 * below one, in time that does not depend on what hangs elsewhere.
 */

#include "base.h"

struct dirtree;
struct dirtree_node;

int dirtree_new(struct dirtree **ret);
/* Knows nothing of the values; accepts NULL. */
void dirtree_free(struct dirtree *t);
DEFINE_CLEANUP(struct dirtree, dirtree_free);

/* The node of an absolute path ("/" is the root of the filesystem), made when it is not there; NULL
 * when memory is short.  Hang something on it, or prune it. */
struct dirtree_node *dirtree_add(struct dirtree *t, uint64_t fsid, const char *path, size_t len);
struct dirtree_node *dirtree_find(const struct dirtree *t, uint64_t fsid, const char *path, size_t len);

void *dirtree_value(const struct dirtree_node *n) _pure_;
void dirtree_set(struct dirtree_node *n, void *value);
/* Removes the node, and those above it, as far as nothing hangs there or below. */
void dirtree_prune(struct dirtree *t, struct dirtree_node *n);

/*
 * Moves the node to another path of its filesystem, with all that hangs below; those above are made and
 * pruned as needed.  Returns 0; -EEXIST (something is there, or it would be below itself); -EINVAL (a root
 * stays where it is); -ENOMEM.  *node is another one when the name grew; where it hung from is not.
 */
int dirtree_move(struct dirtree *t, struct dirtree_node **node, const char *path, size_t len);
uint64_t dirtree_fsid(const struct dirtree_node *n) _pure_;
struct dirtree_node *dirtree_parent(const struct dirtree_node *n) _pure_; /* NULL of a root */

/* Calls fn for the value of n and of each node below it.  fn must not change the tree. */
void dirtree_foreach(const struct dirtree_node *n, void (*fn)(void *userdata, void *value), void *userdata);

struct strbuf;
/* Appends the node's path. */
void dirtree_path(const struct dirtree_node *n, struct strbuf *out);
size_t dirtree_count(const struct dirtree *t) _pure_; /* nodes */
