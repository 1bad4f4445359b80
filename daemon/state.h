/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What outlives the daemon, in $STATE_DIRECTORY (/var/lib/fawatchd): the rules
 * last in force, in canonical form, which a start takes that finds the rule files
 * bad; and the last sign of life, from which a start tells the gap before it.
 */

#include "life.h"

/* Replaces the saved rules in one step (write, fsync, rename), mode 0640: may
 * block on the disk, so never call it on the event street.  Returns 0 or -errno. */
int state_save_rules(const char *text, size_t len);
/* The path of the saved rules, for messages and for reading; malloc'ed, or NULL
 * when memory is short. */
char *state_rules_path(void);

/* The same for the last sign of life; with sync, on the disk before it returns. */
int state_save_life(const struct life *life, bool sync);
/* Returns 0, -ENOENT, -EBADMSG, other negative errno. */
int state_read_life(struct life *ret);
