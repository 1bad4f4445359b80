/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What the three files share that build a rule set: rules_parse.c knows files
 * and the set as a whole, rules_clause.c the keys of the language,
 * rules_check.c what their values may be and which go together.
 */

#include "conf_value.h"

enum clause_kind { CLAUSE_WATCH, CLAUSE_IGNORE, CLAUSE_EXCEPT };

/* A rule that was read; a disabled one is checked as any other, and left out last. */
struct parsed_watch {
        struct rule rule;
        bool enabled;
};

struct parsed_ignore {
        struct clause clause;
        bool enabled;
};

/* `actor = "x"`, to be looked up when all files are read. */
struct reference {
        const char *name;
        struct source source;
        const char *place; /* watch "web" */
};

#define VECTOR(T)              \
        struct {               \
                T *v;          \
                size_t n, cap; \
        }

struct builder {
        struct conf_reader reader;
        VECTOR(struct parsed_watch) watches;
        VECTOR(struct parsed_ignore) ignores;
        VECTOR(struct actor_set) sets;
        VECTOR(struct reference) references;
};

#undef VECTOR

/* Room for one more in a vector; returns whether there is. */
bool rules_vector_grow(struct builder *b, void **v, size_t n, size_t *cap, size_t size);

#define VECTOR_ADD(b, vector, ...)                                                                              \
        do {                                                                                                    \
                if (rules_vector_grow(b, (void **)&(vector).v, (vector).n, &(vector).cap, sizeof(*(vector).v))) \
                        (vector).v[(vector).n++] = (__VA_ARGS__);                                               \
        } while (0)

/* rules_clause.c: one group of the file each, checked, and added to the builder. */
void rules_read_watch(struct builder *b, const struct conf_node *node);
void rules_read_ignore(struct builder *b, const struct conf_node *node);
void rules_read_actor_set(struct builder *b, const struct conf_node *node);
/* Is this a key of some rule? */
bool rules_is_key(const char *name) _pure_;

/* rules_check.c */

/* Checks of single values, as conf_check_fn. */
const char *rules_check_path(struct conf_reader *r, const struct source *at, const char *text);
const char *rules_check_pattern(struct conf_reader *r, const struct source *at, const char *text);
const char *rules_check_tag(struct conf_reader *r, const struct source *at, const char *text);
/* The check of the values of an actor key; the key is an index as for actors_key(). */
conf_check_fn rules_check_actor(size_t key);
/* Keys of actors that hold numbers of users or groups. */
bool rules_actor_takes_numbers(size_t key) _pure_;

/* A name of a rule, an ignore, an except or a set of actors. */
bool rules_check_name(struct conf_reader *r, const struct conf_node *node);

/* The events that marks of this scope take; scope_hint() says which scope takes the others. */
uint32_t rules_scope_events(enum scope scope) _pure_;
/* What a watch rule without `events` asks for. */
static inline uint32_t rules_default_events(enum scope scope) { return EV_CHANGE & rules_scope_events(scope); }
/* Reads `events` (node may be NULL: the default); the clause's scope is known. */
bool rules_read_events(struct conf_reader *r, const struct conf_node *node, enum clause_kind kind,
                       struct clause *clause);
bool rules_read_types(struct conf_reader *r, const struct conf_node *node, uint32_t *ret);
bool rules_read_priority(struct conf_reader *r, const struct conf_node *node, int *ret);

/* Which keys a clause was written with, right or wrong. */
struct clause_keys {
        bool path;
        bool unknown;        /* one that is none */
        size_t n_conditions; /* all but `enabled` */
};
/* What no single key can tell: which of them go together. */
void rules_check_clause(struct conf_reader *r, enum clause_kind kind, const struct clause_keys *given,
                        const struct clause *clause);
