/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Rules compiled for look-up: event → rule hits.  The authority on what is
 * reported; kernel ignores may only leave out what this says nobody wants.
 *
 * Paths are compared as (filesystem, path inside it), so that every alias of a
 * file is the same file.  Each rule path becomes one or more anchors in a hash
 * by (filesystem, path): a look-up visits the event's path once, one probe for
 * each directory above it, whatever the number of rules.
 */

#include "event.h"
#include "settings.h"
#include "world.h"

struct matcher;

/*
 * Returns 0, -ENOMEM, or -EINVAL for a pattern that does not compile (rules_parse()
 * lets none through).  Borrows rules, settings and world: they must outlive it.
 * Free with matcher_free(), which accepts NULL.  Look-ups use scratch memory of
 * the matcher: one thread at a time.
 */
int matcher_build(const struct rules *rules, const struct settings *settings, const struct world *world,
                  struct matcher **ret);
void matcher_free(struct matcher *m);
DEFINE_CLEANUP(struct matcher, matcher_free);

struct match_path {
        uint32_t fs;       /* index in the world; WORLD_NONE = no such path */
        const char *path;  /* absolute, inside the filesystem; "/" is its root */
        size_t len;
};
#define MATCH_PATH_NONE ((struct match_path){ .fs = WORLD_NONE })

struct match_query {
        /* an event of a mount-scope group matches that scope's rules only, one of the main group the others only */
        struct group_key_mount { bool mount; int mount_id; } source;
        uint32_t events;         /* EV_ bits of the event */
        bool is_dir;
        struct match_path path;  /* of a rename: the new name */
        struct match_path old_path;
        /* the path of a `file` or `directory` rule whose object (by file handle) this is, under
         * another name or without one */
        struct match_path alias;
        uint32_t unresolved_fs;  /* no path is known: rules for all of that filesystem match; else WORLD_NONE */
};

/* What is known only after looking at the object and the process. */
struct match_facts {
        uint32_t type;                       /* TYPE_ bit; 0 = not known: fits every watch's types, no ignore's */
        const struct actor *actor;
        uint32_t owner_uid, owner_gid;       /* of the object; ID_UNKNOWN: not known, gone or just created */
        uint32_t dir_uid, dir_gid;           /* of the directory that holds the name */
};

struct match_hit {
        uint32_t rule;    /* index in rules->watches */
        uint32_t events;  /* the bits of the query this rule wants reported */
};

/* How many `until = "modified"` ignores one event can spend at once; what is
 * over stays armed until the next change. */
#define MATCH_MAX_SPENDS 8

struct match_hits {
        struct match_hit *v; /* sorted by rule */
        size_t n, cap;
        uint32_t events;      /* union */
        bool tripwire;        /* a link on a rule's path, or its first missing component, was touched: the
                               * world may be another now */
        bool needs_actor;     /* facts would decide: some candidate has only, except or ignore by actor */
        bool needs_dir_owner; /* ... by @owner */
        uint32_t ignored;     /* bits that a rule wanted and an ignore or except took out (for counters) */
        uint32_t spends[MATCH_MAX_SPENDS]; /* rules->ignores of until = "modified" that this event ends */
        uint32_t n_spends;
};
#define MATCH_HITS_NULL ((struct match_hits){})
void match_hits_done(struct match_hits *h);

/*
 * Fills hits (cleared first, memory reused).  With facts == NULL: an upper
 * bound, by path and event alone, for deciding whether looking at object and
 * process is worth it; conditions on them count as fulfilled for watching and as
 * unfulfilled for ignoring.  Returns 0 or -ENOMEM.
 */
int matcher_match(const struct matcher *m, const struct match_query *q, const struct match_facts *facts,
                  struct match_hits *hits);

/*
 * An ignore of until = "modified" (index in rules->ignores) that is spent takes
 * nothing out.  All are armed after matcher_build(); a look-up only reports what
 * it would spend, the caller decides and remembers.
 */
void matcher_set_spent(struct matcher *m, uint32_t ignore, bool spent);

bool matcher_is_spent(const struct matcher *m, uint32_t ignore);

/*
 * The paths of file and directory scope rules (and of until = "modified"
 * ignores) whose object must be known by its handle: calls fn for each distinct
 * (fs, inside path); handle may have len 0.
 */
void matcher_foreach_object(const struct matcher *m,
                            void (*fn)(void *userdata, uint32_t fs, const char *inside,
                                       const struct handle *handle),
                            void *userdata);
/*
 * The clauses that speak of a name, whatever comes of it: those whose path and
 * patterns fit an event of the query, before type, process and other clauses have
 * their say.  A clause with several paths may be told more than once.
 */
enum match_clause_kind { MATCH_WATCH, MATCH_EXCEPT, MATCH_IGNORE };
struct match_clause_seen {
        enum match_clause_kind kind;
        uint32_t owner;              /* of a watch or except: the rule; of an ignore: its index in rules->ignores */
        const struct clause *clause; /* NULL: built in, the daemon's own files and the journal's */
        uint32_t events;             /* of the query */
};
typedef void (*match_clause_fn)(void *userdata, const struct match_clause_seen *seen);
void matcher_foreach_clause(const struct matcher *m, const struct match_query *q, match_clause_fn fn,
                            void *userdata);

/* The shortest coalesce window of these rules (setting where unset), in usec. */
uint64_t matcher_coalesce_usec(const struct matcher *m, const struct match_hits *hits);

/* The journal's directories: events there caused by journald itself are never
 * recorded, whatever the rules (self-noise guard). */
bool matcher_is_journal_dir(const struct matcher *m, const struct match_path *path);

const struct world *matcher_world(const struct matcher *m) _pure_;

struct matcher_stats { size_t anchors, regex_patterns, literal_patterns, bytes; };
void matcher_stats(const struct matcher *m, struct matcher_stats *ret);
