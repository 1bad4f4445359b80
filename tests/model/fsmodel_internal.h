/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Shared by the files of the modelled filesystem. */

#include "fsmodel.h"

/* The hooks, with the report sent to the queues.  mount -1: the hook knows no path. */
void on_dentry(struct fsmodel *fs, uint32_t events, struct entry *entry, int mount);
void on_name(struct fsmodel *fs, uint32_t events, struct entry *dir, const char *name, struct node *node,
             struct entry *new_dir, const char *new_name);
void on_inode(struct fsmodel *fs, uint32_t events, struct node *node);

struct entry *entry_new(struct fsmodel *fs, struct entry *parent, const char *name, struct node *node);
struct node *node_new(struct fsmodel *fs, const char *path, uint32_t type);
/* dput(): a removed entry goes when nothing uses it any more. */
void entry_maybe_release(struct fsmodel *fs, struct entry *e);
