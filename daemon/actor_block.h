/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A struct actor and its texts in one block of memory.  Texts are gathered in one buffer;
 * until that has its final place, their positions stand for them.  0 = absent.
 */

#include "event.h"
#include "strbuf.h"

#define MAX_ANCESTORS 16
#define MAX_CMDLINE 4096u

struct actor_block {
        struct strbuf text, ancestry;
        struct actor actor; /* but the pointers */
        size_t comm, exe, cmdline, session, tty, parent_comm, ancestors;
        size_t unit, user_unit, slice, cgroup, container, next_comm, next_exe;
        size_t ancestor_exes[MAX_ANCESTORS];
};

void actor_block_init(struct actor_block *b);
void actor_block_done(struct actor_block *b);
size_t actor_block_keep(struct actor_block *b, const char *p, size_t len);
size_t actor_block_keeps(struct actor_block *b, const char *s); /* NULL: 0 */
/* The arguments as one line; mask as in escape_cmdline(). */
void actor_block_cmdline(struct actor_block *b, const char *raw, size_t len, const char *const *mask,
                         size_t n_mask);
/* The text of /proc/PID/cgroup → cgroup, unit, user unit, slice, container. */
void actor_block_cgroup(struct actor_block *b, const char *text, size_t len);
/* The next ancestor, nearest first; exe 0 = not known. */
void actor_block_ancestor(struct actor_block *b, int32_t pid, const char *comm, size_t comm_len, size_t exe);

/* A block with room for header at its beginning; b->actor then points into it, and is
 * to be copied there.  NULL when memory is short. */
void *actor_block_seal(struct actor_block *b, size_t header, size_t *ret_size);
