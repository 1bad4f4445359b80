/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A rule set as the administrator wrote it: plain, immutable data.  Built by
 * rules_parse() from texts; printed again by rules_print(); read by the planner
 * and the matcher.  Nothing here knows the machine: paths are not resolved,
 * user names are not looked up.  fawatchd.rules(5) is the language.
 */

#include "arena.h"
#include "diag.h"
#include "vocab.h"

/* where something was written: "rules.d/10-web.conf", 1-based line */
struct source {
        const char *file;
        unsigned line;
};

/* In a rule set always a set: sorted, each value once. */
struct strings {
        const char *const *v;
        size_t n;
};

enum scope { SCOPE_FILE, SCOPE_DIRECTORY, SCOPE_TREE, SCOPE_MOUNT, SCOPE_FILESYSTEM };
#define N_SCOPES 5

/*
 * One group of conditions on who did it.  Several keys: all must hold; several
 * values of one key: one of them.  An empty key is no condition.
 */
struct actors {
        struct strings exe;       /* absolute path or glob */
        struct strings comm;      /* glob */
        struct strings user;      /* name, number, "LOW-HIGH", "@owner" */
        struct strings group;     /* the same */
        struct strings login;     /* the same, or "any", "none" */
        struct strings unit;      /* glob */
        struct strings container; /* glob */
        struct strings ancestor;  /* absolute path or glob */
        struct strings actor;     /* names of struct actor_set, known to exist */
};
/* True when no key is set. */
bool actors_empty(const struct actors *a) _pure_;

/* Names of the keys in the order above, for the parser, the printer, the man lint. */
#define N_ACTOR_KEYS 9
const char *actors_key_name(size_t key) _pure_;
struct strings *actors_key(struct actors *a, size_t key) _pure_;
static inline const struct strings *actors_key_const(const struct actors *a, size_t key)
{
        return actors_key((struct actors *)a, key);
}

/* What an ignore, an except and the selecting half of a watch have in common. */
struct clause {
        const char *name; /* as in the file; of a list form except "except" */
        struct source source;
        struct strings paths;  /* absolute and normalised: no "//", ".", "..", trailing "/"; an except may have none */
        enum scope scope;
        struct strings match;  /* patterns (pattern.h), checked to compile; empty = everything */
        uint32_t types;        /* TYPE_ bits; 0 = every type (the default of ignore and except) */
        uint32_t events;       /* EV_ bits */
        bool types_given, events_given, scope_given;
        bool until_modified;   /* until = "modified" (ignores only) */
        struct actors actors;  /* of an ignore or except; empty in a watch */
};

#define COALESCE_UNSET UINT64_MAX
#define RULE_DEFAULT_PRIORITY 5 /* notice */

struct rule {
        struct clause clause; /* name = the rule's name */
        int priority;         /* 1..7, syslog */
        uint64_t coalesce_usec; /* 0 = off; COALESCE_UNSET = the setting */
        uint64_t limit_count; /* with limit_usec; 0 = none */
        uint64_t limit_usec;
        bool limit_given;     /* else the setting */
        enum placement { PLACEMENT_UNSET, PLACEMENT_AUTO, PLACEMENT_FILESYSTEM, PLACEMENT_DIRECTORIES } placement;
        struct strings tags;
        bool always;
        struct clause *excepts; /* n_excepts */
        size_t n_excepts;
        struct actors only;     /* empty = anybody */
        struct source only_source;
        uint32_t index;         /* position in struct rules */
};

struct actor_set {
        const char *name;
        struct source source;
        struct actors actors;
};

struct rules {
        struct arena *arena;   /* owns all of it */
        struct rule *watches;  /* sorted by name; disabled ones are left out */
        size_t n_watches;
        struct clause *ignores; /* sorted by name; disabled ones are left out */
        size_t n_ignores;
        struct actor_set *actor_sets; /* sorted by name */
        size_t n_actor_sets;
};

/* Frees it and everything in it; accepts NULL. */
void rules_free(struct rules *r);
DEFINE_CLEANUP(struct rules, rules_free);

/* One rule file's content; text need not end in NUL. */
struct conf_text {
        char *name;   /* path for messages, e.g. "/etc/fawatchd/rules.d/10-web.conf" */
        char *text;
        size_t len;
};

/*
 * Parses all files of a rule set, whole or not at all.
 *
 * Findings go to diag: errors of all files in one run (a syntax error ends its
 * own file only), warnings that need one file alone.  On success writes
 * *ret_rules (free with rules_free()).
 * Returns 0; -EINVAL when diag holds an error; -ENOMEM.  The order of files and
 * of rules in them never changes the result.
 */
int rules_parse(const struct conf_text *files, size_t n_files, struct diag *diag, struct rules **ret_rules);

#define RULE_FILE_MAX_BYTES (1024u * 1024u)
#define RULE_FILE_MAX_RULES 1000u

/*
 * Findings that need the whole set: an ignore that takes out a watched path of
 * another file, patterns too many for one tree (more than 100 that are neither
 * NAME nor *.EXT), modify or access on a whole filesystem, busy rules of
 * priority crit or alert, comm as the only condition of an ignore, ...
 * Adds warnings and notes only, never errors.
 */
void rules_lint(const struct rules *rules, struct diag *diag);

struct strbuf;
/*
 * The canonical text: every rule in name order, every list as a list, defaults
 * left out; rules_parse() of it gives an equal set (and the same text again).
 * with_sources adds "# FILE:LINE" comments before each rule.
 */
void rules_print(const struct rules *rules, bool with_sources, struct strbuf *out);
/* One watch or ignore alone, as rules_print() would. */
void rules_print_watch(const struct rule *rule, struct strbuf *out);
void rules_print_ignore(const struct clause *ignore, struct strbuf *out);
void rules_print_actors(const struct actor_set *set, struct strbuf *out);

struct rules_diff {
        size_t added, removed, changed; /* watches, ignores and sets of actors together */
        struct strbuf *text;            /* one line each: "+ watch etc", "- ignore x", "~ actors pkg"; may be NULL */
};
/* What changes from one set to the other, by name and canonical text; either may be NULL (empty). */
void rules_compare(const struct rules *before, const struct rules *after, struct rules_diff *diff);

const char *scope_name(enum scope scope) _pure_;
const char *placement_name(enum placement p) _pure_;
const char *priority_name(int priority) _pure_; /* "alert" .. "debug" */
