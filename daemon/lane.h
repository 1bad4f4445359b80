/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A filesystem that waits for another machine or another process is looked at in a
 * thread of its own: when that one hangs, the street goes on without it.
 */

#include "resolve.h"

struct lane;

/* For the filesystem w->fs[fs] (its mounts are copied).  Returns 0 or -errno. */
int lane_new(const struct world *w, uint32_t fs, struct lane **ret);
/* Accepts NULL.  A thread that hangs keeps what it uses, and ends when it can. */
void lane_free(struct lane *l);

/*
 * As resolver_dir() and resolver_object(), but back within a second: -ETIMEDOUT.  While
 * the thread hangs every call fails so, at once.
 */
int lane_dir(struct lane *l, const struct fan_handle *dir, struct strbuf *ret);
int lane_object(struct lane *l, const struct fan_handle *object, struct object *ret);
/* As resolver_run(). */
int lane_run(struct lane *l, struct resolver_job *job);
/* The world of one filesystem, as its only one: nothing is borrowed.  0 or -errno. */
int lane_copy_world(const struct world *w, uint32_t fs, struct world **ret);
/* Where it is mounted, while its thread hangs; else NULL. */
const char *lane_stuck(struct lane *l);
