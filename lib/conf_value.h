/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Values of configuration nodes, checked and copied.  Each reader returns true
 * and writes its result, or returns false with an error in diag (or memory
 * short, which diag notes too): the caller goes on with the next key.
 */

#include "conftree.h"

struct conf_reader {
        struct arena *arena; /* where results live */
        struct diag *diag;
        /* Where we are, for messages: watch "web", except "deploy", user: ... */
        const char *kind, *name;
        const char *inner_kind, *inner_name;
        const char *key;
};

/* An error at this place, with where we are before it. */
void conf_complain(struct conf_reader *r, const struct source *at, const char *format, ...) _printf_(3, 4);
void conf_warn(struct conf_reader *r, const struct source *at, const char *format, ...) _printf_(3, 4);
/* Memory is short: noted in diag.  Returns false. */
bool conf_no_memory(struct conf_reader *r);

bool conf_read_bool(struct conf_reader *r, const struct conf_node *node, bool *ret);
bool conf_read_string(struct conf_reader *r, const struct conf_node *node, const char **ret);
bool conf_read_duration(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_usec);
bool conf_read_size(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_bytes);
bool conf_read_rate(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_count, uint64_t *ret_usec);
/* One of n words; writes its index. */
bool conf_read_choice(struct conf_reader *r, const struct conf_node *node, const char *const *words, size_t n,
                      size_t *ret);

/*
 * Checks one string of a list and returns what to keep of it: the text itself
 * or another in the arena; NULL after a complaint.
 */
typedef const char *(*conf_check_fn)(struct conf_reader *r, const struct source *at, const char *text);

enum conf_list_flags {
        CONF_NUMBERS_TOO = 1 << 0, /* whole numbers are taken as their digits */
        CONF_MAY_BE_EMPTY = 1 << 1,
};
/* A string or a list of strings, as a sorted set; check may be NULL. */
bool conf_read_strings(struct conf_reader *r, const struct conf_node *node, enum conf_list_flags flags,
                       conf_check_fn check, struct strings *ret);
/* Calls fn for each string; returns whether all of them were good. */
bool conf_each_string(struct conf_reader *r, const struct conf_node *node, enum conf_list_flags flags,
                      bool (*fn)(struct conf_reader *r, const struct source *at, const char *text, void *userdata),
                      void *userdata);

/* ` (did you mean "x"?)` in the arena, or "" when nothing is near. */
const char *conf_hint(struct conf_reader *r, const char *word, const char *const *names, size_t n);
