/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * One allocation region per immutable value: everything a rule set, a world or
 * a plan owns comes from its arena, and one free releases all of it.
 */

#include "base.h"

struct arena;

/* Returns a new, empty arena, or NULL when memory is short. */
struct arena *arena_new(void);
/* Frees everything allocated from it; accepts NULL. */
void arena_free(struct arena *a);
DEFINE_CLEANUP(struct arena, arena_free);

/* Zeroed memory, aligned for any type, valid until arena_free(); NULL when
 * memory is short.  size 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *a, size_t size);
/* count * size with overflow check; NULL on overflow or no memory. */
void *arena_alloc_array(struct arena *a, size_t count, size_t size);
/* A NUL-terminated copy of len bytes (which may hold any byte but NUL). */
char *arena_strndup(struct arena *a, const char *s, size_t len);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *format, ...) _printf_(2, 3);
/* Bytes handed out so far: for the memory figures in status. */
size_t arena_used(const struct arena *a) _pure_;
