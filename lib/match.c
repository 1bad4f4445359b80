/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Event → rule hits.  One walk along each name the event has. */
#include "match_internal.h"

#include <errno.h>

/* A name came, went, or leads elsewhere. */
#define EV_STRUCTURE (EV_CREATE | EV_DELETE | EV_RENAME)
/* What only a name has; an object under its other names has not. */
#define EV_OF_NAME EV_STRUCTURE
/* Of a rename: what the old name saw too. */
#define EV_OF_OLD_NAME (EV_RENAME | EV_MOVE_SELF)

/* One name of the event, being judged. */
struct walk {
        const struct matcher *m;
        struct match_scratch *scratch;
        const struct match_query *query;
        const struct match_facts *facts; /* NULL: not looked at yet */
        struct match_hits *hits;
        uint32_t events;   /* of the query, as far as this name is concerned */
        uint32_t possible; /* TYPE_ bits the object may have */
        uint32_t ignored;  /* by global ignores without further conditions */
        bool alias;        /* the name is a rule's, the event had another or none */
        bool arrives;      /* the name was created, or moved here */
        bool failed;       /* memory */
        match_clause_fn tell; /* NULL: the event is judged, nobody asks why */
        void *userdata;
};

static struct rule_state *touch_rule(struct walk *w, uint32_t rule)
{
        struct rule_state *s = &w->scratch->rules[rule];

        if (s->serial != w->scratch->serial) {
                *s = (struct rule_state){ .serial = w->scratch->serial };
                w->scratch->touched[w->scratch->n_touched++] = rule;
        }
        return s;
}

/* Sets an ignore or except aside until it is known whether anything is wanted. */
static void defer(struct walk *w, uint32_t clause, uint32_t bits)
{
        struct match_scratch *s = w->scratch;
        struct clause_state *state = &s->clauses[w->m->clauses[clause].slot];

        if (state->serial != s->side_serial) {
                *state = (struct clause_state){ .serial = s->side_serial };
                s->pending[s->n_pending++] = clause;
        }
        state->bits |= bits;
}

/* Events of a mount's own marks are for the rules on that mount; ignores by path hold for all. */
static bool fits_source(const struct walk *w, const struct match_entry *e, enum clause_kind kind)
{
        if (e->mount_id == MATCH_NO_MOUNT)
                return kind != CLAUSE_WATCH || !w->query->source.mount;
        return w->query->source.mount && e->mount_id == w->query->source.mount_id;
}

static void note_spent(struct match_hits *hits, uint32_t ignore)
{
        for (uint32_t i = 0; i < hits->n_spends; i++)
                if (hits->spends[i] == ignore)
                        return;
        if (hits->n_spends < MATCH_MAX_SPENDS)
                hits->spends[hits->n_spends++] = ignore;
}

/* An ignore until the file changes: is it over, now or before?  A file that takes
 * the name of the ignored one is a change too. */
static bool is_spent(struct walk *w, const struct match_clause *c, uint32_t *bits)
{
        if (w->m->spent[c->owner])
                return true;
        if (!w->arrives && !(w->events & (EV_MODIFY | EV_CHANGED | EV_REPLACED)))
                return false;
        note_spent(w->hits, c->owner);
        /* what merged into one event with the change: the open came before it, the rest after it */
        *bits &= EV_OPEN | EV_OPEN_EXEC;
        return w->arrives;
}

/* The bits that entry e takes of this event, before any condition but the path's.
 * The root of a mount below the clause's path is not the path itself. */
static uint32_t bits_of(const struct walk *w, const struct match_entry *e, bool at_node)
{
        const struct match_clause *c = &w->m->clauses[e->clause];
        bool self = at_node && e->below[0] == '\0';

        if (!fits_source(w, e, c->kind) || (w->alias && c->kind == CLAUSE_WATCH && !(e->own && self)))
                return 0;
        return (self ? c->events_self : c->events) & e->events & w->events;
}

static void tell(const struct walk *w, const struct match_clause *c, uint32_t bits)
{
        static const enum match_clause_kind kinds[] = {
                [CLAUSE_WATCH] = MATCH_WATCH, [CLAUSE_EXCEPT] = MATCH_EXCEPT, [CLAUSE_IGNORE] = MATCH_IGNORE,
        };
        const struct match_clause_seen seen = {
                .kind = kinds[c->kind], .owner = c->owner, .clause = c->source, .events = bits,
        };

        if (bits != 0)
                w->tell(w->userdata, &seen);
}

static void take(struct walk *w, const struct match_entry *e, bool at_node)
{
        const struct match_clause *c = &w->m->clauses[e->clause];
        uint32_t bits = bits_of(w, e, at_node);

        if (w->tell) {
                tell(w, c, bits);
                return;
        }
        if (c->until && is_spent(w, c, &bits))
                return;
        if (bits == 0)
                return;
        if (c->kind == CLAUSE_WATCH)
                touch_rule(w, c->owner)->wanted |= bits;
        else if (c->slot != MATCH_NONE)
                defer(w, e->clause, bits);
        else if (c->kind == CLAUSE_EXCEPT)
                touch_rule(w, c->owner)->excepted |= bits;
        else
                w->ignored |= bits;
}

/* The path below a node, and where in it a pattern is being tried. */
struct rel {
        const char *p;
        size_t len;
        size_t at, end; /* the component */
        bool deep;      /* more than one component */
        bool is_dir;    /* the component is a directory */
};

static void take_literal(struct walk *w, uint32_t node, enum pattern_kind kind, const struct rel *rel)
{
        const char *text = rel->p + rel->at;
        size_t len = rel->end - rel->at;
        uint64_t hash = match_hash_literal(node, kind, hash_bytes(text, len));
        uint32_t literal = match_find_literal(w->m, hash, node, kind, text, len);

        if (literal == MATCH_NONE)
                return;
        for (uint32_t i = w->m->literals[literal].entries; i != MATCH_NONE; i = w->m->entries[i].next) {
                const struct match_entry *e = &w->m->entries[i];

                if ((rel->is_dir || !e->needs_dir) && (!rel->deep || e->reach == REACH_TREE))
                        take(w, e, false);
        }
}

/* Every length that some *.EXT of the node has. */
static void take_extensions(struct walk *w, uint32_t node, const struct rel *rel)
{
        const struct match_node *n = &w->m->nodes[node];
        size_t len = rel->end - rel->at;
        struct rel ext = *rel;

        for (uint64_t left = n->ext_lengths; left != 0; left &= left - 1) {
                size_t shortest = (size_t)__builtin_ctzll(left);
                size_t longest = shortest == 63 ? len : shortest;

                for (size_t k = shortest; k <= longest && k <= len; k++) {
                        ext.at = rel->end - k;
                        if (n->ext_firsts & UINT64_C(1) << ((uint8_t)ext.p[ext.at] & 63))
                                take_literal(w, node, PATTERN_EXT, &ext);
                }
        }
}

static bool try_pattern(struct walk *w, const struct match_entry *e, const struct rel *rel)
{
        struct strbuf *candidate = &w->scratch->candidate;

        if (!e->pattern->anchored)
                return pattern_match(e->pattern, rel->p + rel->at, rel->end - rel->at, rel->is_dir);
        if (e->below[0] == '\0')
                return pattern_match(e->pattern, rel->p, rel->end, rel->is_dir);
        strbuf_reset(candidate);
        strbuf_adds(candidate, e->below);
        strbuf_addc(candidate, '/');
        strbuf_add(candidate, rel->p, rel->end);
        if (strbuf_failed(candidate)) {
                w->failed = true;
                return false;
        }
        return pattern_match(e->pattern, candidate->data, candidate->len, rel->is_dir);
}

/* One by one: what no literal stands for. */
static void take_patterns(struct walk *w, const struct match_node *n, const struct rel *rel)
{
        for (uint32_t i = n->patterns; i != MATCH_NONE; i = w->m->entries[i].next) {
                const struct match_entry *e = &w->m->entries[i];

                if (rel->deep && e->reach != REACH_TREE)
                        continue;
                if ((bits_of(w, e, false) != 0 || w->m->clauses[e->clause].until) && try_pattern(w, e, rel))
                        take(w, e, false);
        }
}

/* Each component below the node is a candidate; all but the last are directories. */
static void visit_below(struct walk *w, uint32_t node, const char *p, size_t len)
{
        const struct match_node *n = &w->m->nodes[node];
        struct rel rel = { .p = p, .len = len, .deep = memchr(p, '/', len) != NULL };

        for (; rel.at < len; rel.at = rel.end + 1) {
                const char *slash = memchr(p + rel.at, '/', len - rel.at);

                rel.end = slash ? (size_t)(slash - p) : len;
                rel.is_dir = slash || w->query->is_dir;
                if (n->names)
                        take_literal(w, node, PATTERN_NAME, &rel);
                if (n->ext_lengths != 0)
                        take_extensions(w, node, &rel);
                if (n->patterns != MATCH_NONE)
                        take_patterns(w, n, &rel);
        }
}

/* A node on the way; p is what of the path lies below it, len 0 = it is the path itself. */
static void visit(struct walk *w, uint32_t node, const char *p, size_t len)
{
        const struct match_node *n = &w->m->nodes[node];
        enum match_reach needed = REACH_SELF;

        if (len == 0)
                w->hits->tripwire |= n->tripwire && (w->events & EV_STRUCTURE);
        else
                needed = memchr(p, '/', len) ? REACH_TREE : REACH_CHILDREN;
        for (uint32_t i = n->plain; i != MATCH_NONE; i = w->m->entries[i].next)
                if (w->m->entries[i].reach >= needed)
                        take(w, &w->m->entries[i], len == 0);
        if (len > 0 && (n->names || n->ext_lengths != 0 || n->patterns != MATCH_NONE))
                visit_below(w, node, p, len);
}

static void walk_path(struct walk *w, const struct match_path *path)
{
        const char *p = path->path;
        uint64_t hash = match_hash_root(path->fs);
        uint32_t node = match_find_node(w->m, hash, path->fs, "/", 1);

        if (node != MATCH_NONE)
                visit(w, node, p + 1, path->len - 1);
        for (size_t at = 1; at < path->len; at++) {
                const char *slash = memchr(p + at, '/', path->len - at);
                size_t end = slash ? (size_t)(slash - p) : path->len;

                hash = match_hash_child(hash, p + at, end - at);
                at = end;
                node = match_find_node(w->m, hash, path->fs, p, end);
                if (node != MATCH_NONE)
                        visit(w, node, slash ? slash + 1 : p + end, slash ? path->len - end - 1 : 0);
        }
}

/* Somewhere in this filesystem: what is said of all of it. */
static void walk_everywhere(struct walk *w, uint32_t fs)
{
        uint32_t node = match_find_node(w->m, match_hash_root(fs), fs, "/", 1);

        if (node == MATCH_NONE)
                return;
        for (uint32_t i = w->m->nodes[node].plain; i != MATCH_NONE; i = w->m->entries[i].next)
                if (w->m->entries[i].reach == REACH_TREE)
                        take(w, &w->m->entries[i], false);
}

/* Named FIFOs, sockets and devices tell of their names only, unless the rule asks for their type.  That the
 * rule's own path leads elsewhere is no matter of type. */
static uint32_t bits_of_type(const struct walk *w, const struct match_clause *watch)
{
        if (watch->types != 0)
                return watch->types & w->possible ? UINT32_MAX : EV_REPLACED;
        return w->possible & ~TYPE_SPECIAL ? UINT32_MAX : EV_SPECIAL_DEFAULT | EV_REPLACED;
}

static void note_needs(struct match_hits *hits, const struct actor_test *actors)
{
        hits->needs_actor = true;
        hits->needs_dir_owner |= actor_test_asks_owner(actors);
}

/* Narrows what the rules want to types and `only`; *ret_open is what global ignores may take out. */
static uint32_t narrow_wanted(struct walk *w, uint32_t *ret_open)
{
        uint32_t wanted = 0, open = 0;

        for (size_t i = 0; i < w->scratch->n_touched; i++) {
                uint32_t rule = w->scratch->touched[i];
                struct rule_state *s = &w->scratch->rules[rule];
                const struct match_clause *c = &w->m->clauses[w->m->watch_clauses[rule]];

                if (s->wanted != 0)
                        s->wanted &= bits_of_type(w, c);
                if (s->wanted != 0 && c->actors) {
                        note_needs(w->hits, c->actors);
                        if (w->facts && actor_test_eval(c->actors, w->facts) == ACTOR_NO)
                                s->wanted = 0;
                }
                wanted |= s->wanted;
                if (!w->m->rules->watches[rule].always)
                        open |= s->wanted;
        }
        *ret_open = open;
        return wanted;
}

/* The conditions of an ignore or except: each must be known to hold. */
static bool holds(struct walk *w, const struct match_clause *c)
{
        if (c->types != 0 && (w->possible & ~c->types) != 0)
                return false;
        if (!c->actors)
                return true;
        note_needs(w->hits, c->actors);
        return w->facts && actor_test_eval(c->actors, w->facts) == ACTOR_YES;
}

/* Ignores and excepts with conditions, where they could take something out. */
static void settle_pending(struct walk *w, uint32_t open)
{
        struct match_scratch *s = w->scratch;

        for (size_t i = 0; i < s->n_pending; i++) {
                const struct match_clause *c = &w->m->clauses[s->pending[i]];
                uint32_t bits = s->clauses[c->slot].bits;

                if (c->kind == CLAUSE_IGNORE) {
                        if ((bits & open & ~w->ignored) != 0 && holds(w, c))
                                w->ignored |= bits;
                } else if (s->rules[c->owner].serial == s->serial) {
                        struct rule_state *rule = &s->rules[c->owner];

                        if ((bits & rule->wanted & ~rule->excepted) != 0 && holds(w, c))
                                rule->excepted |= bits;
                }
        }
}

/* One name of the event: ignore wins over watch. */
static void judge(struct walk *w)
{
        struct match_scratch *s = w->scratch;
        uint32_t open;

        if (narrow_wanted(w, &open) != 0)
                settle_pending(w, open);
        for (size_t i = 0; i < s->n_touched; i++) {
                uint32_t rule = s->touched[i];
                struct rule_state *state = &s->rules[rule];
                uint32_t ignored = w->m->rules->watches[rule].always ? 0 : w->ignored;
                uint32_t taken = state->wanted & (state->excepted | ignored);

                w->hits->ignored |= taken;
                state->result |= state->wanted & ~taken;
                state->wanted = state->excepted = 0;
        }
}

static void begin_side(struct walk *w, uint32_t events)
{
        w->events = events;
        w->ignored = 0;
        w->alias = w->arrives = false;
        w->scratch->side_serial++;
        w->scratch->n_pending = 0;
}

static bool is_path(const struct match_path *p)
{
        return p->fs != WORLD_NONE && p->path && p->len > 0 && p->path[0] == '/';
}

static void judge_names(struct walk *w, uint32_t events)
{
        const struct match_query *q = w->query;
        bool has_new = is_path(&q->path), has_old = is_path(&q->old_path);

        if (has_new) {
                begin_side(w, events);
                w->arrives = (events & EV_CREATE) || ((events & EV_RENAME) && !(q->events & EV_MOVED_FROM));
                walk_path(w, &q->path);
                judge(w);
        }
        if (has_old) {
                begin_side(w, has_new ? events & EV_OF_OLD_NAME : events);
                walk_path(w, &q->old_path);
                judge(w);
        }
        if (is_path(&q->alias)) {
                begin_side(w, events & ~EV_OF_NAME);
                w->alias = true;
                walk_path(w, &q->alias);
                judge(w);
        }
        if (!has_new && !has_old && q->unresolved_fs != WORLD_NONE) {
                begin_side(w, events);
                walk_everywhere(w, q->unresolved_fs);
                judge(w);
        }
}

static int compare_hits(const void *a, const void *b)
{
        uint32_t x = ((const struct match_hit *)a)->rule, y = ((const struct match_hit *)b)->rule;

        return (x > y) - (x < y);
}

static int collect(const struct match_scratch *s, struct match_hits *hits)
{
        if (hits->cap < s->n_touched) {
                size_t cap = MAX_OF(s->n_touched, (size_t)16);
                struct match_hit *v = reallocarray(hits->v, cap, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                hits->v = v;
                hits->cap = cap;
        }
        for (size_t i = 0; i < s->n_touched; i++) {
                uint32_t rule = s->touched[i], events = s->rules[rule].result;

                if (events == 0)
                        continue;
                hits->events |= events;
                hits->v[hits->n++] = (struct match_hit){ .rule = rule, .events = events };
        }
        if (hits->n > 1)
                qsort(hits->v, hits->n, sizeof(*hits->v), compare_hits);
        return 0;
}

int matcher_match(const struct matcher *m, const struct match_query *q, const struct match_facts *facts,
                  struct match_hits *hits)
{
        uint32_t events = q->events, type = facts ? facts->type : 0;
        struct walk w = { .m = m, .scratch = m->scratch, .query = q, .facts = facts, .hits = hits };

        *hits = (struct match_hits){ .v = hits->v, .cap = hits->cap };
        m->scratch->serial++;
        m->scratch->n_touched = 0;
        if (events & (EV_MOVED_FROM | EV_MOVED_TO))
                events = (events & ~(EV_MOVED_FROM | EV_MOVED_TO)) | EV_RENAME;
        w.possible = type != 0 ? type : q->is_dir ? TYPE_DIRECTORY : TYPE_ALL & ~TYPE_DIRECTORY;
        judge_names(&w, events);
        return w.failed ? -ENOMEM : collect(m->scratch, hits);
}

void matcher_foreach_clause(const struct matcher *m, const struct match_query *q, match_clause_fn fn,
                            void *userdata)
{
        struct match_hits hits = MATCH_HITS_NULL;
        struct walk w = {
                .m = m, .scratch = m->scratch, .query = q, .hits = &hits, .tell = fn, .userdata = userdata,
        };

        m->scratch->serial++;
        m->scratch->n_touched = 0;
        w.possible = q->is_dir ? TYPE_DIRECTORY : TYPE_ALL & ~TYPE_DIRECTORY;
        judge_names(&w, q->events);
}

void match_hits_done(struct match_hits *h)
{
        free(h->v);
        *h = MATCH_HITS_NULL;
}

void matcher_set_spent(struct matcher *m, uint32_t ignore, bool spent)
{
        if (ignore < m->rules->n_ignores)
                m->spent[ignore] = spent;
}

bool matcher_is_spent(const struct matcher *m, uint32_t ignore)
{
        return ignore < m->rules->n_ignores && m->spent[ignore];
}

uint64_t matcher_coalesce_usec(const struct matcher *m, const struct match_hits *hits)
{
        uint64_t shortest = UINT64_MAX;

        for (size_t i = 0; i < hits->n; i++) {
                uint64_t usec = m->rules->watches[hits->v[i].rule].coalesce_usec;

                shortest = MIN_OF(shortest, usec == COALESCE_UNSET ? m->settings->coalesce_usec : usec);
        }
        return hits->n > 0 ? shortest : m->settings->coalesce_usec;
}

bool matcher_is_journal_dir(const struct matcher *m, const struct match_path *path)
{
        for (size_t i = 0; is_path(path) && i < MATCH_N_JOURNALS; i++) {
                const struct match_path *j = &m->journals[i];

                if (j->fs == path->fs && path->len >= j->len && memcmp(j->path, path->path, j->len) == 0 &&
                    (path->len == j->len || path->path[j->len] == '/' || j->len == 1))
                        return true;
        }
        return false;
}
