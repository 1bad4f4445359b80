/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * User and group names.  NSS may ask the network and hang: it is only called in
 * a thread of ours, never on the event street.
 */

#include "world.h"

/* For the worker that builds a rule set: waits at most timeout_usec.
 * Returns 0, -ENOENT, -ETIMEDOUT, -ENOMEM. */
int names_resolve(enum name_kind kind, const char *name, uint64_t timeout_usec, uint32_t *ret_id);

struct names;
/* Starts the look-up thread; /etc/passwd and /etc/group are read at once. */
int names_new(struct names **ret);
void names_free(struct names *n);
DEFINE_CLEANUP(struct names, names_free);
/* The name of an id if it is known now, else NULL, and a look-up is on its way.
 * Valid until names_free().  Cheap, never blocks. */
const char *names_get(struct names *n, enum name_kind kind, uint32_t id);
/* Forget what was looked up (reload): local files may have changed. */
void names_refresh(struct names *n);
