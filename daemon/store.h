/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Descriptors that the service manager keeps while no process of ours runs
 * (sd_pid_notify_with_fds(3), FDSTORE=1): the groups with their queues, the spool,
 * the rules in force.  Each has a name of its own.
 */

#include "fan_group.h"

struct store;

/* Takes over what the manager hands to this process; nothing without a manager.
 * Returns 0 or -ENOMEM. */
int store_open(struct store **ret);
/* What nobody took is closed, and the manager need not keep it any longer. */
void store_forget_rest(struct store *s);
void store_free(struct store *s);
DEFINE_CLEANUP(struct store, store_free);

/* There is a manager that keeps descriptors. */
bool store_works(const struct store *s) _pure_;
/* How many descriptors were handed over. */
size_t store_count(const struct store *s) _pure_;

/* The descriptor with this name, the caller's from now on; -1 = none. */
int store_take(struct store *s, const char *name);
/* The one whose name is prefix and the highest number, which is written; -1 = none. */
int store_take_numbered(struct store *s, const char *prefix, uint64_t *ret_number);
/* The next group, and its key; -1 = no more. */
int store_take_group(struct store *s, struct group_key *ret_key);

/* The manager keeps a copy of fd from now on, or no longer one of this name. */
void store_put(struct store *s, const char *name, int fd);
void store_drop(struct store *s, const char *name);
void store_put_group(struct store *s, const struct fan_group *g);
void store_drop_group(struct store *s, const struct fan_group *g);
