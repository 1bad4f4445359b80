/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The compiled form of a rule set, shared by those who build it and look up in it.
 *
 * node     one (filesystem, path) that some clause names
 * entry    one clause at one node, in a list: those without a pattern, those
 *          with a pattern that must be tried, those found by a literal
 * literal  one NAME or *.EXT below one node, found by its hash
 * clause   the conditions that are left once the path fits
 */

#include "hash.h"
#include "match.h"
#include "match_actor.h"
#include "pattern.h"
#include "strbuf.h"

#define MATCH_NONE UINT32_MAX
#define MATCH_NO_MOUNT (-1)

enum match_reach {
        REACH_SELF,     /* the node's path alone */
        REACH_CHILDREN, /* and its direct children */
        REACH_TREE,     /* and everything below */
};

/* Where a clause's path leads in one filesystem: see match_places_find(). */
struct match_place {
        uint32_t fs;
        const char *path;      /* inside the filesystem */
        enum match_reach reach;
        const char *below;     /* the place's path below the clause's: "a/b"; "" = the clause's path itself */
        int mount_id;          /* events of this mount alone, or MATCH_NO_MOUNT */
        bool own;              /* a file or directory whose object the clause follows by its handle */
        bool link;             /* a symbolic link that the clause's path ends in: its name is watched */
        bool tripwire;         /* where the world may become another: nothing is watched for itself */
        const struct handle *handle; /* of an own place, when known; else NULL */
};
/* The path inside the mount's filesystem of a canonical path at or below its mount point, of the world or of
 * arena; NULL when memory is short. */
const char *match_path_inside(const struct world_mount *mount, const char *path, struct arena *arena);
struct match_places {
        struct match_place *v;
        size_t n, cap;
};
void match_places_done(struct match_places *p);
/* Appends the places of path under scope.  Strings come from the world or arena.
 * Returns 0 or -ENOMEM. */
struct match_target {
        const char *path;
        enum scope scope;
};
int match_places_find(const struct world *world, struct match_target target, struct arena *arena,
                      struct match_places *places);

enum clause_kind { CLAUSE_WATCH, CLAUSE_EXCEPT, CLAUSE_IGNORE };

struct match_clause {
        enum clause_kind kind;
        const struct clause *source; /* NULL: built in */
        uint32_t owner;        /* of a watch or except: the rule; of an ignore: its index or, built in, MATCH_NONE */
        uint32_t events;       /* EV_ bits it takes below its path */
        uint32_t events_self;  /* ... and at its path, where delete_self and delete are one */
        uint32_t types;        /* TYPE_ bits, 0 = every type */
        uint32_t slot;         /* of an ignore or except with types or actors: its state; else MATCH_NONE */
        bool until;            /* an ignore until the file is modified */
        const struct actor_test *actors; /* of a watch: `only`; NULL = anybody */
};

struct match_entry {
        uint32_t next;         /* in its list, MATCH_NONE ends it */
        uint32_t clause;
        uint32_t events;       /* the clause's that count here */
        int mount_id;
        enum match_reach reach;
        bool own;
        bool needs_dir;        /* of a literal: its pattern ended in '/' */
        const struct pattern *pattern; /* of the list of patterns */
        const char *below;     /* its place's: what an anchored pattern is compared with first */
};

struct match_node {
        uint32_t fs;
        uint32_t path_len;
        const char *path;
        uint32_t plain, patterns; /* lists of entries */
        uint64_t ext_lengths;     /* bit n: some *.EXT literal has n bytes; bit 63: 63 or more */
        uint64_t ext_firsts;      /* bit c % 64: some *.EXT literal begins with c */
        bool names;               /* some NAME literal */
        uint32_t literals;        /* list of all literals here, by next_of_node */
        uint32_t needs;           /* events that must arrive though an ignore may cover them: see unwanted_on_fs() */
        bool tripwire;
        bool object;              /* matcher_foreach_object() */
        const struct handle *handle;
};

struct match_literal {
        uint32_t node;
        enum pattern_kind kind;
        const char *text;
        size_t len;
        uint32_t entries;
        uint32_t next_of_node; /* MATCH_NONE ends the list */
};

/* A directory above the path of a rule: unwanted.h */
struct match_above {
        uint32_t fs, len;
        const char *path; /* of the node below it, cut at len */
};

struct match_patterns { /* of one clause */
        struct pattern *v;
        size_t n;
        struct match_patterns *next;
};

/* Scratch of a look-up: what is of an earlier serial counts as empty. */
struct rule_state {
        uint64_t serial;
        uint32_t wanted, excepted; /* of the side being judged */
        uint32_t result;
};
struct clause_state {
        uint64_t serial;
        uint32_t bits;
};
struct match_scratch {
        uint64_t serial;        /* of the look-up */
        uint64_t side_serial;   /* of one name in it */
        struct rule_state *rules;
        uint32_t *touched;      /* rules with a state of this look-up */
        size_t n_touched;
        struct clause_state *clauses; /* by slot */
        uint32_t *pending;      /* clauses (not slots) that depend on facts */
        size_t n_pending;
        struct strbuf candidate;
};

#define MATCH_N_JOURNALS 2

struct matcher {
        const struct rules *rules;
        const struct settings *settings;
        const struct world *world;
        struct arena *arena;
        struct actor_tests *actors;
        struct match_patterns *patterns;

        struct match_node *nodes;
        size_t n_nodes, cap_nodes;
        struct hash_index node_index;
        struct match_literal *literals;
        size_t n_literals, cap_literals;
        struct hash_index literal_index;
        struct match_above *aboves;
        size_t n_aboves, cap_aboves;
        struct hash_index above_index;
        struct match_entry *entries;
        size_t n_entries, cap_entries;
        struct match_clause *clauses;
        size_t n_clauses, cap_clauses;
        uint32_t n_slots;

        uint32_t *watch_clauses; /* the clause of each rule */
        bool *spent;             /* by index in rules->ignores */
        struct match_path journals[MATCH_N_JOURNALS];
        struct match_scratch *scratch;
};

/* The hash of a path inside a filesystem: that of its parent, mixed with that of its name. */
static inline uint64_t match_hash_root(uint32_t fs)
{
        return hash_mix(UINT64_C(0xa0761d6478bd642f), fs);
}

static inline uint64_t match_hash_child(uint64_t parent, const char *name, size_t len)
{
        return hash_mix(parent, hash_bytes(name, len));
}

static inline uint64_t match_hash_path(uint32_t fs, const char *path, size_t len)
{
        uint64_t h = match_hash_root(fs);

        for (size_t at = 1; at < len;) {
                const char *slash = (const char *)memchr(path + at, '/', len - at);
                size_t end = slash ? (size_t)(slash - path) : len;

                h = match_hash_child(h, path + at, end - at);
                at = end + 1;
        }
        return h;
}

/* text_hash is hash_bytes() of the literal. */
static inline uint64_t match_hash_literal(uint32_t node, enum pattern_kind kind, uint64_t text_hash)
{
        return hash_mix(text_hash, (uint64_t)node << 2 | kind);
}

static inline uint32_t match_find_node(const struct matcher *m, uint64_t hash, uint32_t fs, const char *path,
                                       size_t len)
{
        size_t pos = hash_tag(hash);
        uint32_t i;

        while ((i = hash_index_next(&m->node_index, hash, &pos)) != HASH_NONE) {
                const struct match_node *n = &m->nodes[i];

                if (n->fs == fs && n->path_len == len && memcmp(n->path, path, len) == 0)
                        return i;
        }
        return MATCH_NONE;
}

static inline uint32_t match_find_literal(const struct matcher *m, uint64_t hash, uint32_t node,
                                          enum pattern_kind kind, const char *text, size_t len)
{
        size_t pos = hash_tag(hash);
        uint32_t i;

        while ((i = hash_index_next(&m->literal_index, hash, &pos)) != HASH_NONE) {
                const struct match_literal *l = &m->literals[i];

                if (l->node == node && l->kind == kind && l->len == len && memcmp(l->text, text, len) == 0)
                        return i;
        }
        return MATCH_NONE;
}
