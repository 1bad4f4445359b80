/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* (rules, settings, world) → matcher: every clause hung on the places it covers. */
#include "match_internal.h"

#include <errno.h>

#include "unwanted.h"

/* What is written there is about us or by us: it would feed itself. */
static const char *const journal_paths[MATCH_N_JOURNALS] = { "/var/log/journal", "/run/log/journal" };
static const char *const state_paths[] = { "/run/fawatchd", "/var/lib/fawatchd" };

/* What can happen to a symbolic link itself. */
#define EV_OF_LINK (EV_CREATE | EV_DELETE | EV_RENAME | EV_ATTRIB)

/* Makes room for one more in an array that grows by doubling. */
static int reserve(void **v, size_t *cap, size_t n, size_t size)
{
        size_t more = *cap ? 2 * *cap : 16;
        void *p;

        if (n < *cap)
                return 0;
        if (n >= MATCH_NONE / 2)
                return -ENOMEM;
        p = reallocarray(*v, more, size);
        if (!p)
                return -ENOMEM;
        *v = p;
        *cap = more;
        return 0;
}

/* Finds or adds; path must live as long as the matcher. */
static int get_node(struct matcher *m, uint32_t fs, const char *path, uint32_t *ret)
{
        size_t len = strlen(path);
        uint64_t hash = match_hash_path(fs, path, len);
        uint32_t found = match_find_node(m, hash, fs, path, len);
        int r;

        if (found != MATCH_NONE) {
                *ret = found;
                return 0;
        }
        r = reserve((void **)&m->nodes, &m->cap_nodes, m->n_nodes, sizeof(*m->nodes));
        if (r < 0)
                return r;
        r = hash_index_add(&m->node_index, hash, (uint32_t)m->n_nodes);
        if (r < 0)
                return r;
        m->nodes[m->n_nodes] = (struct match_node){
                .fs = fs, .path = path, .path_len = (uint32_t)len,
                .plain = MATCH_NONE, .patterns = MATCH_NONE, .literals = MATCH_NONE,
        };
        *ret = (uint32_t)m->n_nodes++;
        return 0;
}

static int get_literal(struct matcher *m, uint32_t node, const struct pattern *p, uint32_t *ret)
{
        uint64_t hash = match_hash_literal(node, p->kind, hash_bytes(p->literal, p->literal_len));
        uint32_t found = match_find_literal(m, hash, node, p->kind, p->literal, p->literal_len);
        int r;

        if (found != MATCH_NONE) {
                *ret = found;
                return 0;
        }
        r = reserve((void **)&m->literals, &m->cap_literals, m->n_literals, sizeof(*m->literals));
        if (r < 0)
                return r;
        r = hash_index_add(&m->literal_index, hash, (uint32_t)m->n_literals);
        if (r < 0)
                return r;
        m->literals[m->n_literals] = (struct match_literal){
                .node = node, .kind = p->kind, .text = p->literal, .len = p->literal_len,
                .entries = MATCH_NONE, .next_of_node = m->nodes[node].literals,
        };
        m->nodes[node].literals = (uint32_t)m->n_literals;
        *ret = (uint32_t)m->n_literals++;
        return 0;
}

/* Puts an entry in front of a list. */
static int push_entry(struct matcher *m, const struct match_entry *entry, uint32_t *list)
{
        int r = reserve((void **)&m->entries, &m->cap_entries, m->n_entries, sizeof(*m->entries));

        if (r < 0)
                return r;
        m->entries[m->n_entries] = *entry;
        m->entries[m->n_entries].next = *list;
        *list = (uint32_t)m->n_entries++;
        return 0;
}

static int push_pattern(struct matcher *m, uint32_t node, const struct pattern *p,
                        const struct match_entry *like)
{
        struct match_node *n = &m->nodes[node];
        struct match_entry entry = *like;
        uint32_t literal;
        int r;

        entry.needs_dir = p->directory_only;
        if (p->kind == PATTERN_REGEX || p->anchored || p->literal_len == 0) {
                entry.pattern = p;
                return push_entry(m, &entry, &n->patterns);
        }
        r = get_literal(m, node, p, &literal);
        if (r < 0)
                return r;
        if (p->kind == PATTERN_NAME)
                n->names = true;
        else {
                n->ext_lengths |= UINT64_C(1) << MIN_OF(p->literal_len, (size_t)63);
                n->ext_firsts |= UINT64_C(1) << ((uint8_t)p->literal[0] & 63);
        }
        return push_entry(m, &entry, &m->literals[literal].entries);
}

static int add_above(struct matcher *m, uint32_t fs, const char *path, size_t len)
{
        const struct match_path dir = { .fs = fs, .path = path, .len = len };
        int r;

        if (unwanted_is_above_rule(m, &dir))
                return 1;
        r = reserve((void **)&m->aboves, &m->cap_aboves, m->n_aboves, sizeof(*m->aboves));
        if (r >= 0)
                r = hash_index_add(&m->above_index, match_hash_path(fs, path, len), (uint32_t)m->n_aboves);
        if (r < 0)
                return r;
        m->aboves[m->n_aboves++] = (struct match_above){ .fs = fs, .path = path, .len = (uint32_t)len };
        return 0;
}

/*
 * Something is awaited at this place: the directories above it must tell of their entries.  From the
 * bottom up, until one is known already: then those above it are, too.
 */
static int note_above(struct matcher *m, uint32_t fs, const char *path, size_t len)
{
        int r = 0;

        while (r == 0 && len > 1) {
                while (path[len - 1] != '/')
                        len--;
                len = MAX_OF(len - 1, (size_t)1);
                r = add_above(m, fs, path, len);
        }
        return r < 0 ? r : 0;
}

/* The directories above the mount points on the way to this mount. */
static int note_above_mounts(struct matcher *m, uint32_t mount)
{
        const struct world *w = m->world;

        for (; mount != WORLD_NONE && w->mounts[mount].parent != WORLD_NONE; mount = w->mounts[mount].parent) {
                const struct world_mount *on = &w->mounts[w->mounts[mount].parent];
                const char *point = w->mounts[mount].mountpoint, *inside;
                int r;

                if (!world_path_is_below(point, on->mountpoint))
                        return 0;
                inside = match_path_inside(on, point, m->arena);
                r = inside ? note_above(m, on->fs, inside, strlen(inside)) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Does a pattern match the directories between the clause's path and this mount below it? */
static bool takes_whole_place(const struct match_patterns *patterns, const char *below)
{
        size_t len = strlen(below);

        for (size_t i = 0; len > 0 && i < patterns->n; i++)
                if (pattern_match_path(&patterns->v[i], below, len, true))
                        return true;
        return false;
}

static void note_object(struct matcher *m, uint32_t node, const struct match_place *place, uint32_t clause)
{
        const struct match_clause *c = &m->clauses[clause];

        if (!place->own || (c->kind != CLAUSE_WATCH && !c->until))
                return;
        m->nodes[node].object = true;
        if (place->handle && place->handle->len > 0)
                m->nodes[node].handle = place->handle;
}

/* What an ignore of everything there cannot take out. */
static void note_needs(struct match_node *n, const struct match_place *place, const struct match_clause *c,
                       const struct rules *rules)
{
        if (place->tripwire)
                n->needs |= EV_CREATE | EV_DELETE | EV_RENAME;
        if (place->mount_id != MATCH_NO_MOUNT)
                return;
        if (c->kind == CLAUSE_WATCH && rules->watches[c->owner].always)
                n->needs |= c->events | c->events_self;
        if (c->until)
                n->needs |= EV_MODIFY;
}

/* Hangs one clause on one place.  patterns is NULL where there are none. */
static int add_place(struct matcher *m, uint32_t clause, const struct match_place *place,
                     const struct match_patterns *patterns)
{
        struct match_entry entry = {
                .clause = clause, .events = place->link ? EV_OF_LINK : UINT32_MAX,
                .mount_id = place->mount_id, .reach = place->reach, .own = place->own, .below = place->below,
        };
        uint32_t node;
        int r = get_node(m, place->fs, place->path, &node);

        if (r < 0)
                return r;
        const struct match_clause *c = &m->clauses[clause];
        if (place->tripwire || c->kind == CLAUSE_WATCH || c->until) {
                r = note_above(m, place->fs, place->path, strlen(place->path));
                if (r < 0)
                        return r;
                note_needs(&m->nodes[node], place, c, m->rules);
        }
        if (place->tripwire) {
                m->nodes[node].tripwire = true;
                if (!place->link)
                        return 0;
        }
        note_object(m, node, place, clause);
        if (!patterns || takes_whole_place(patterns, place->below))
                return push_entry(m, &entry, &m->nodes[node].plain);
        if (place->reach == REACH_SELF) /* no pattern matches the path itself */
                return 0;
        for (size_t i = 0; i < patterns->n; i++) {
                r = push_pattern(m, node, &patterns->v[i], &entry);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* *ret is NULL where there are none; the matcher owns them. */
static int compile_patterns(struct matcher *m, const struct strings *texts, const struct match_patterns **ret)
{
        struct match_patterns *p;

        if (texts->n == 0) {
                *ret = NULL;
                return 0;
        }
        p = arena_alloc(m->arena, sizeof(*p));
        if (!p)
                return -ENOMEM;
        p->v = arena_alloc_array(m->arena, texts->n, sizeof(*p->v));
        if (!p->v)
                return -ENOMEM;
        p->next = m->patterns;
        m->patterns = p;
        for (; p->n < texts->n; p->n++) {
                int r = pattern_compile(texts->v[p->n], &p->v[p->n]);
                if (r < 0)
                        return r;
        }
        *ret = p;
        return 0;
}

/*
 * That the rule's path leads elsewhere concerns the rule, whatever its scope and its patterns are about; and
 * the directories that hold the mounts on the way must tell of their entries.
 */
static int add_own_name(struct matcher *m, uint32_t clause, const char *path)
{
        const struct world_path *p = world_find_path(m->world, path);
        const struct match_entry entry = {
                .clause = clause, .events = EV_REPLACED, .mount_id = MATCH_NO_MOUNT, .reach = REACH_SELF, .below = "",
        };
        uint32_t node;
        int r;

        if (!p || p->mount == WORLD_NONE)
                return 0;
        r = get_node(m, m->world->mounts[p->mount].fs, p->inside, &node);
        if (r >= 0)
                r = push_entry(m, &entry, &m->nodes[node].plain);
        if (r >= 0)
                r = note_above_mounts(m, p->mount);
        for (size_t i = 0; r >= 0 && i < p->links.n; i++)
                r = note_above_mounts(m, world_mount_of(m->world, p->links.v[i]));
        return r;
}

/* Adds the clause and hangs it on each of the paths. */
static int add_clause(struct matcher *m, const struct match_clause *clause, const struct strings *match,
                      const struct strings *paths, enum scope scope)
{
        const struct match_patterns *patterns;
        uint32_t index = (uint32_t)m->n_clauses;
        int r = compile_patterns(m, match, &patterns);

        if (r >= 0)
                r = reserve((void **)&m->clauses, &m->cap_clauses, m->n_clauses, sizeof(*m->clauses));
        if (r < 0)
                return r;
        m->clauses[m->n_clauses++] = *clause;
        for (size_t i = 0; i < paths->n; i++) {
                _cleanup_(match_places_done) struct match_places places = {};
                struct match_target target = { paths->v[i], scope };

                r = match_places_find(m->world, target, m->arena, &places);
                for (size_t k = 0; r >= 0 && k < places.n; k++)
                        r = add_place(m, index, &places.v[k], patterns);
                if (r >= 0 && clause->kind == CLAUSE_WATCH)
                        r = add_own_name(m, index, paths->v[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A directory's own removal and move raise two events each, one of its name and
 * one of itself: who asks for either takes both. */
static uint32_t with_self(uint32_t events)
{
        if (events & EV_DELETE)
                events |= EV_DELETE_SELF;
        if (events & EV_RENAME)
                events |= EV_MOVE_SELF;
        return events;
}

static uint32_t with_name(uint32_t events)
{
        if (events & EV_DELETE_SELF)
                events |= EV_DELETE;
        if (events & EV_MOVE_SELF)
                events |= EV_RENAME;
        return events;
}

static int add_watch(struct matcher *m, const struct rule *rule, uint32_t index)
{
        const struct clause *c = &rule->clause;
        uint32_t events = with_self(c->events) | EV_REPLACED | (c->events & EV_CONTENT ? EV_CHANGED : 0);
        struct match_clause clause = {
                .kind = CLAUSE_WATCH, .source = c, .owner = index, .slot = MATCH_NONE,
                .events = events, .events_self = with_name(events),
                .types = c->types_given ? c->types : 0,
        };
        int r = actor_tests_compile(m->actors, &rule->only, &clause.actors);

        if (r < 0)
                return r;
        m->watch_clauses[index] = (uint32_t)m->n_clauses;
        return add_clause(m, &clause, &c->match, &c->paths, c->scope);
}

/* What is found changed, or replaced, is ignored where everything it may stand for is. */
static uint32_t ignored_events(uint32_t events)
{
        if ((events & EV_CONTENT) == EV_CONTENT)
                events |= EV_CHANGED;
        if ((events & (EV_CREATE | EV_DELETE | EV_RENAME)) == (EV_CREATE | EV_DELETE | EV_RENAME))
                events |= EV_REPLACED;
        return with_self(events);
}

static int compile_ignore(struct matcher *m, const struct clause *c, struct match_clause *ret)
{
        int r = actor_tests_compile(m->actors, &c->actors, &ret->actors);

        if (r < 0)
                return r;
        ret->events = ignored_events(c->events);
        ret->events_self = with_name(ret->events);
        ret->types = c->types;
        ret->until = c->until_modified;
        ret->slot = ret->types != 0 || ret->actors ? m->n_slots++ : MATCH_NONE;
        return 0;
}

static int add_except(struct matcher *m, const struct rule *rule, uint32_t index, const struct clause *c)
{
        struct match_clause clause = { .kind = CLAUSE_EXCEPT, .source = c, .owner = index };
        const struct strings *paths = &c->paths;
        enum scope scope = c->scope;
        int r = compile_ignore(m, c, &clause);

        if (r < 0)
                return r;
        if (paths->n == 0) {
                paths = &rule->clause.paths;
                if (!c->scope_given)
                        scope = rule->clause.scope > SCOPE_TREE ? rule->clause.scope : SCOPE_TREE;
        }
        return add_clause(m, &clause, &c->match, paths, scope);
}

static int add_ignore(struct matcher *m, const struct clause *c, uint32_t index)
{
        struct match_clause clause = { .kind = CLAUSE_IGNORE, .source = c, .owner = index };
        int r = compile_ignore(m, c, &clause);

        return r < 0 ? r : add_clause(m, &clause, &c->match, &c->paths, c->scope);
}

static int add_built_in(struct matcher *m)
{
        struct match_clause clause = {
                .kind = CLAUSE_IGNORE, .owner = MATCH_NONE, .slot = MATCH_NONE,
                .events = UINT32_MAX, .events_self = UINT32_MAX,
        };
        const struct strings journals = { journal_paths, MATCH_N_JOURNALS }, none = {};
        const struct strings states = { state_paths, ELEMENTSOF(state_paths) };
        int r = add_clause(m, &clause, &none, &journals, SCOPE_TREE);

        return r < 0 ? r : add_clause(m, &clause, &none, &states, SCOPE_TREE);
}

static int find_journals(struct matcher *m)
{
        for (size_t i = 0; i < MATCH_N_JOURNALS; i++) {
                _cleanup_(match_places_done) struct match_places places = {};
                struct match_target target = { journal_paths[i], SCOPE_FILE };
                int r = match_places_find(m->world, target, m->arena, &places);

                if (r < 0)
                        return r;
                m->journals[i] = MATCH_PATH_NONE;
                if (places.n > 0)
                        m->journals[i] = (struct match_path){
                                places.v[0].fs, places.v[0].path, strlen(places.v[0].path),
                        };
        }
        return 0;
}

static int add_all(struct matcher *m)
{
        const struct rules *rules = m->rules;
        int r = add_built_in(m);

        for (uint32_t i = 0; r >= 0 && i < rules->n_ignores; i++)
                r = add_ignore(m, &rules->ignores[i], i);
        for (uint32_t i = 0; r >= 0 && i < rules->n_watches; i++) {
                const struct rule *rule = &rules->watches[i];

                r = add_watch(m, rule, i);
                for (size_t k = 0; r >= 0 && k < rule->n_excepts; k++)
                        r = add_except(m, rule, i, &rule->excepts[k]);
        }
        return r < 0 ? r : find_journals(m);
}

static int new_scratch(struct matcher *m)
{
        struct match_scratch *s = arena_alloc(m->arena, sizeof(*s));

        if (!s)
                return -ENOMEM;
        m->scratch = s;
        s->rules = arena_alloc_array(m->arena, m->rules->n_watches, sizeof(*s->rules));
        s->touched = arena_alloc_array(m->arena, m->rules->n_watches, sizeof(*s->touched));
        s->clauses = arena_alloc_array(m->arena, m->n_slots, sizeof(*s->clauses));
        s->pending = arena_alloc_array(m->arena, m->n_slots, sizeof(*s->pending));
        return s->rules && s->touched && s->clauses && s->pending ? 0 : -ENOMEM;
}

int matcher_build(const struct rules *rules, const struct settings *settings, const struct world *world,
                  struct matcher **ret)
{
        _cleanup_(matcher_freep) struct matcher *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        m->rules = rules;
        m->settings = settings;
        m->world = world;
        m->arena = arena_new();
        if (!m->arena)
                return -ENOMEM;
        m->watch_clauses = arena_alloc_array(m->arena, rules->n_watches, sizeof(*m->watch_clauses));
        m->spent = arena_alloc_array(m->arena, rules->n_ignores, sizeof(*m->spent));
        if (!m->watch_clauses || !m->spent)
                return -ENOMEM;
        r = actor_tests_new(rules, world, &m->actors);
        if (r >= 0)
                r = add_all(m);
        if (r >= 0)
                r = new_scratch(m);
        if (r < 0)
                return r;
        *ret = STEAL(m);
        return 0;
}

void matcher_free(struct matcher *m)
{
        if (!m)
                return;
        for (struct match_patterns *p = m->patterns; p; p = p->next)
                for (size_t i = 0; i < p->n; i++)
                        pattern_done(&p->v[i]);
        if (m->scratch)
                strbuf_done(&m->scratch->candidate);
        actor_tests_free(m->actors);
        hash_index_done(&m->node_index);
        hash_index_done(&m->literal_index);
        hash_index_done(&m->above_index);
        free(m->aboves);
        free(m->nodes);
        free(m->literals);
        free(m->entries);
        free(m->clauses);
        arena_free(m->arena);
        free(m);
}

void matcher_foreach_object(const struct matcher *m,
                            void (*fn)(void *userdata, uint32_t fs, const char *inside,
                                       const struct handle *handle),
                            void *userdata)
{
        static const struct handle unknown = {};

        for (size_t i = 0; i < m->n_nodes; i++) {
                const struct match_node *n = &m->nodes[i];

                if (n->object)
                        fn(userdata, n->fs, n->path, n->handle ? n->handle : &unknown);
        }
}

const struct world *matcher_world(const struct matcher *m)
{
        return m->world;
}

static size_t index_bytes(const struct hash_index *t)
{
        return t->slots ? (t->mask + 1) * sizeof(*t->slots) : 0;
}

void matcher_stats(const struct matcher *m, struct matcher_stats *ret)
{
        struct matcher_stats s = { .anchors = m->n_nodes };

        for (const struct match_patterns *p = m->patterns; p; p = p->next)
                for (size_t i = 0; i < p->n; i++) {
                        s.regex_patterns += p->v[i].kind == PATTERN_REGEX;
                        s.literal_patterns += p->v[i].kind != PATTERN_REGEX;
                        s.bytes += p->v[i].literal_len;
                }
        s.bytes += arena_used(m->arena) + index_bytes(&m->node_index) + index_bytes(&m->literal_index) +
                   index_bytes(&m->above_index) + m->cap_aboves * sizeof(*m->aboves) +
                   m->cap_nodes * sizeof(*m->nodes) + m->cap_literals * sizeof(*m->literals) +
                   m->cap_entries * sizeof(*m->entries) + m->cap_clauses * sizeof(*m->clauses);
        *ret = s;
}
