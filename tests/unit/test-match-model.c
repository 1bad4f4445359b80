/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The matcher's index against the meaning of the words, read off naively: random
 * rules over few names (so that paths meet), random events, every rule tried on
 * every name an object has.  FAWATCH_SEED=N repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "match.h"
#include "pattern.h"
#include "strbuf.h"
#include "unwanted.h"

#define N_RULE_SETS 400
#define N_QUERIES 150
#define MAX_RULES 8
#define MAX_CLAUSES 3

static const char world_text[] =
        "mount 1 0 8:1 / / ext4 /dev/a\n"
        "mount 2 1 0:4 / /proc proc proc pseudo\n"
        "mount 3 1 8:2 / /a/m xfs /dev/b\n"
        "mount 4 3 8:3 / /a/m/b ext4 /dev/c\n"
        "mount 5 1 8:2 /b /b/m xfs /dev/b\n"
        "mount 6 1 8:1 /a/b /c/m ext4 /dev/a\n";

static const char *const components[] = { "a", "b", "c", "m", "x.c", "y.o", ".ssh" };
static const char *const patterns[] = {
        "a", "b", "x.c", ".ssh", "*.c", "*.o", "*.x", ".c", "a/", ".ssh/", "*.c/", "?", "[ab]", "a/b", "a/*", "/x.c",
        "**/b", "a/**", "*a*/*.c", "m/b", "m/b/x.c", "b/",
};
static const uint32_t event_bits[] = {
        EV_CREATE, EV_DELETE, EV_MODIFY, EV_OPEN, EV_ATTRIB, EV_RENAME, EV_DELETE_SELF,
};
static const uint32_t type_bits[] = { TYPE_FILE, TYPE_DIRECTORY, TYPE_FIFO };

static uint64_t random_state;
static size_t n_left_out, n_nowhere; /* that the property had something to say */

static uint32_t random_below(uint32_t n)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 20) % n;
}

static bool one_in(uint32_t n)
{
        return random_below(n) == 0;
}

static const char *random_path(struct arena *arena)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        uint32_t depth = random_below(5);

        for (uint32_t i = 0; i < depth; i++) {
                strbuf_addc(&b, '/');
                strbuf_adds(&b, components[random_below(ELEMENTSOF(components))]);
        }
        return arena_strdup(arena, depth == 0 ? "/" : strbuf_str(&b));
}

static uint32_t random_events(void)
{
        uint32_t events = 0;

        for (size_t i = 0; i < ELEMENTSOF(event_bits); i++)
                if (one_in(2))
                        events |= event_bits[i];
        return events ? events : EV_MODIFY;
}

static struct strings random_strings(struct arena *arena, uint32_t most, bool paths)
{
        size_t n = random_below(most + 1);
        const char **v = arena_alloc_array(arena, n, sizeof(*v));

        for (size_t i = 0; i < n; i++)
                v[i] = paths ? random_path(arena) : patterns[random_below(ELEMENTSOF(patterns))];
        return (struct strings){ v, n };
}

static struct strings one_string(struct arena *arena, const char *text)
{
        const char **v = arena_alloc(arena, sizeof(*v));

        v[0] = text;
        return (struct strings){ v, 1 };
}

static void random_clause(struct arena *arena, struct clause *c, bool is_except)
{
        c->paths = random_strings(arena, 2, true);
        if (c->paths.n == 0 && !is_except)
                c->paths = one_string(arena, random_path(arena));
        c->scope_given = one_in(2);
        c->scope = c->scope_given ? (enum scope)random_below(N_SCOPES) : SCOPE_TREE;
        if (one_in(2))
                c->match = random_strings(arena, 3, false);
        c->events = random_events();
        if (one_in(4)) {
                c->types = type_bits[random_below(ELEMENTSOF(type_bits))];
                c->types_given = true;
        }
}

static struct rules *random_rules(void)
{
        struct arena *arena = arena_new();
        struct rules *r = arena_alloc(arena, sizeof(*r));

        r->arena = arena;
        r->n_watches = 1 + random_below(MAX_RULES);
        r->watches = arena_alloc_array(arena, r->n_watches, sizeof(*r->watches));
        r->n_ignores = random_below(MAX_CLAUSES);
        r->ignores = arena_alloc_array(arena, r->n_ignores, sizeof(*r->ignores));
        for (size_t i = 0; i < r->n_ignores; i++) {
                random_clause(arena, &r->ignores[i], false);
                if (one_in(3))
                        r->ignores[i].actors.user = one_string(arena, one_in(2) ? "1000" : "@owner");
        }
        for (size_t i = 0; i < r->n_watches; i++) {
                struct rule *w = &r->watches[i];

                random_clause(arena, &w->clause, false);
                w->always = one_in(4);
                w->n_excepts = random_below(MAX_CLAUSES);
                w->excepts = arena_alloc_array(arena, w->n_excepts, sizeof(*w->excepts));
                for (size_t k = 0; k < w->n_excepts; k++)
                        random_clause(arena, &w->excepts[k], true);
                if (one_in(4))
                        w->only.user = one_string(arena, "1000-1001");
        }
        return r;
}

/* --- what the words mean --- */

struct naive {
        const struct rules *rules;
        const struct world *world;
        const struct match_query *query;
        const struct match_facts *facts;
};

static bool is_hidden(const struct world *w, uint32_t fs, const char *inside)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

        for (uint32_t i = 0; i < w->n_mounts; i++) {
                const struct world_mount *m = &w->mounts[i];
                const char *rest = streq(m->root, "/") ? inside : inside + strlen(m->root);

                if (m->fs != fs || !world_path_is_below(inside, m->root))
                        continue;
                strbuf_reset(&b);
                strbuf_adds(&b, streq(m->mountpoint, "/") ? "" : m->mountpoint);
                strbuf_adds(&b, streq(rest, "/") ? "" : rest);
                if (world_mount_of(w, b.len ? strbuf_str(&b) : "/") != i)
                        return true;
        }
        return false;
}

/* Does one path of a clause cover this absolute name?  *self: it is that path. */
static bool path_covers(const char *path, enum scope scope, const char *name, const char **ret_below)
{
        const char *below = name + (streq(path, "/") ? 1 : strlen(path) + (name[strlen(path)] == '/'));

        if (!world_path_is_below(name, path))
                return false;
        *ret_below = below;
        return *below == '\0' || scope == SCOPE_TREE || (scope == SCOPE_DIRECTORY && !strchr(below, '/'));
}

static bool patterns_take(const struct strings *match, const char *below, bool is_dir)
{
        bool taken = match->n == 0;

        for (size_t i = 0; i < match->n && !taken; i++) {
                struct pattern p;

                assert_int_equal(pattern_compile(match->v[i], &p), 0);
                taken = pattern_match_path(&p, below, strlen(below), is_dir);
                pattern_done(&p);
        }
        return taken;
}

static uint32_t events_taken(const struct clause *c, bool self, uint32_t events)
{
        uint32_t own = c->events;

        if (c->events & EV_DELETE)
                own |= EV_DELETE_SELF;
        if (self && c->events & EV_DELETE_SELF)
                own |= EV_DELETE;
        return own & events;
}

static uint32_t clause_takes_name(const struct naive *n, const struct clause *c, const struct strings *paths,
                                  enum scope scope, const char *name)
{
        uint32_t events = 0;
        const char *below;

        for (size_t i = 0; i < paths->n; i++)
                if (path_covers(paths->v[i], scope, name, &below) &&
                    patterns_take(&c->match, below, n->query->is_dir))
                        events |= events_taken(c, *below == '\0', n->query->events);
        return events;
}

static uint32_t clause_takes_fs(const struct naive *n, const struct clause *c, const struct strings *paths,
                                enum scope scope, const struct match_path *p)
{
        uint32_t events = 0;

        for (size_t i = 0; i < paths->n; i++) {
                uint32_t at = world_mount_at(n->world, paths->v[i]);

                if (at == WORLD_NONE || n->world->mounts[at].fs != p->fs || scope != SCOPE_FILESYSTEM)
                        continue;
                if (patterns_take(&c->match, p->path + 1, n->query->is_dir))
                        events |= events_taken(c, streq(p->path, "/"), n->query->events);
        }
        return events;
}

/* Over all names that the object has in the mount table. */
static uint32_t clause_takes(const struct naive *n, const struct clause *c, const struct rule *except_of,
                             const struct match_path *p)
{
        const struct strings *paths = &c->paths;
        enum scope scope = c->scope;
        uint32_t events = 0;

        if (except_of && paths->n == 0) {
                paths = &except_of->clause.paths;
                if (!c->scope_given)
                        scope = MAX_OF(except_of->clause.scope, SCOPE_TREE);
        }
        if (scope == SCOPE_FILESYSTEM || scope == SCOPE_MOUNT)
                return clause_takes_fs(n, c, paths, scope, p);
        for (uint32_t i = 0; i < n->world->n_mounts; i++) {
                const struct world_mount *m = &n->world->mounts[i];
                char name[256];

                if (m->fs != p->fs || !world_path_is_below(p->path, m->root))
                        continue;
                snprintf(name, sizeof(name), "%s%s", streq(m->mountpoint, "/") ? "" : m->mountpoint,
                         streq(m->root, "/") ? p->path : p->path + strlen(m->root));
                if (strlen(name) > 1 && name[strlen(name) - 1] == '/')
                        name[strlen(name) - 1] = '\0';
                events |= clause_takes_name(n, c, paths, scope, *name ? name : "/");
        }
        return events;
}

static bool ignore_holds(const struct naive *n, const struct clause *c)
{
        const struct match_facts *f = n->facts;
        uint32_t known = f->type == 0 && n->query->is_dir ? TYPE_DIRECTORY : f->type;
        bool type = c->types == 0 || (known & c->types) != 0;

        if (!type || c->actors.user.n == 0)
                return type;
        if (f->actor->euid == ID_UNKNOWN)
                return false;
        return streq(c->actors.user.v[0], "1000") ? f->actor->euid == 1000 : f->actor->euid == f->dir_uid;
}

static uint32_t rule_takes(const struct naive *n, const struct rule *r, const struct match_path *p)
{
        uint32_t events = clause_takes(n, &r->clause, NULL, p), type = n->facts->type;

        if (type == 0 && n->query->is_dir)
                type = TYPE_DIRECTORY;
        if (r->clause.types_given && type != 0 && !(r->clause.types & type))
                return 0;
        if (r->clause.types_given && type == 0 && r->clause.types == TYPE_DIRECTORY)
                return 0;
        if (!r->clause.types_given && type & TYPE_SPECIAL)
                events &= EV_SPECIAL_DEFAULT;
        if (r->only.user.n > 0 && n->facts->actor->euid == 999)
                return 0;
        for (size_t i = 0; i < r->n_excepts; i++)
                if (ignore_holds(n, &r->excepts[i]))
                        events &= ~clause_takes(n, &r->excepts[i], r, p);
        for (size_t i = 0; !r->always && i < n->rules->n_ignores; i++)
                if (ignore_holds(n, &n->rules->ignores[i]))
                        events &= ~clause_takes(n, &n->rules->ignores[i], NULL, p);
        return events;
}

static uint32_t expected(const struct naive *n, const struct rule *r)
{
        uint32_t events = rule_takes(n, r, &n->query->path);

        if (n->query->old_path.fs != WORLD_NONE)
                events |= rule_takes(n, r, &n->query->old_path) & EV_RENAME;
        return events;
}

/* --- the comparison --- */

/* What is mounted here is a directory, and so is what it hides. */
static bool is_mount_root(const struct world *w, const struct match_path *p)
{
        for (uint32_t i = 0; i < w->n_mounts; i++)
                if (w->mounts[i].fs == p->fs && streq(w->mounts[i].root, p->path))
                        return true;
        return false;
}

/* An object by a random name; false where another mount hides one of its names. */
static bool random_object(const struct world *w, struct arena *arena, struct match_path *ret)
{
        const char *path = random_path(arena);
        const struct world_mount *m = &w->mounts[world_mount_of(w, path)];
        const char *rest = path + (streq(m->mountpoint, "/") ? 0 : strlen(m->mountpoint)), *inside;

        if (w->fs[m->fs].class == FS_PSEUDO)
                return false;
        if (streq(rest, "") || streq(rest, "/"))
                inside = m->root;
        else
                inside = arena_printf(arena, "%s%s", streq(m->root, "/") ? "" : m->root, rest);
        *ret = (struct match_path){ m->fs, inside, strlen(inside) };
        return !is_hidden(w, m->fs, inside);
}

static void print_strings(const char *key, const struct strings *s)
{
        for (size_t i = 0; i < s->n; i++)
                print_message(" %s=%s", key, s->v[i]);
}

static void print_clause(const char *what, const struct clause *c)
{
        print_message("#   %s scope=%d%s types=%x events=%x", what, c->scope, c->scope_given ? "" : " (default)",
                      c->types, c->events);
        print_strings("path", &c->paths);
        print_strings("match", &c->match);
        print_strings("user", &c->actors.user);
        print_message("\n");
}

static void print_case(const struct naive *n, const struct rule *r, uint64_t seed)
{
        const struct match_query *q = n->query;

        print_message("# FAWATCH_SEED=%ju: fs %u %s, old fs %u %s, events %x, %s type %x, "
                      "euid %u in a directory of %u\n",
                      (uintmax_t)seed, q->path.fs, q->path.path, q->old_path.fs,
                      q->old_path.path ? q->old_path.path : "-", q->events, q->is_dir ? "directory" : "file",
                      n->facts->type, n->facts->actor->euid, n->facts->dir_uid);
        print_clause(r->always ? "watch always" : "watch", &r->clause);
        print_message("#   only");
        print_strings("user", &r->only.user);
        print_message("\n");
        for (size_t i = 0; i < r->n_excepts; i++)
                print_clause("except", &r->excepts[i]);
        for (size_t i = 0; i < n->rules->n_ignores; i++)
                print_clause("ignore", &n->rules->ignores[i]);
}

static size_t compare(struct naive *n, struct matcher *m, struct match_hits *hits, uint64_t seed)
{
        size_t at = 0;

        assert_int_equal(matcher_match(m, n->query, n->facts, hits), 0);
        for (size_t i = 0; i < n->rules->n_watches; i++) {
                uint32_t got = at < hits->n && hits->v[at].rule == i ? hits->v[at++].events : 0;
                uint32_t want = expected(n, &n->rules->watches[i]);

                if (got != want)
                        print_case(n, &n->rules->watches[i], seed);
                assert_int_equal(got, want);
        }
        assert_int_equal(at, hits->n);
        return hits->n;
}

/* What is not looked at yet must not make a rule miss an event. */
static void check_upper_bound(const struct matcher *m, const struct match_query *q, const struct match_hits *hits)
{
        struct match_hits bound = MATCH_HITS_NULL;

        assert_int_equal(matcher_match(m, q, NULL, &bound), 0);
        for (size_t i = 0, k = 0; i < hits->n; i++, k++) {
                while (k < bound.n && bound.v[k].rule < hits->v[i].rule)
                        k++;
                assert_true(k < bound.n && bound.v[k].rule == hits->v[i].rule);
                assert_int_equal(hits->v[i].events & ~bound.v[k].events, 0);
        }
        match_hits_done(&bound);
}

/* The events of a query that an ignore mask on this directory would leave out. */
static void check_left_out(const struct matcher *m, const struct match_query *q, const struct match_path *dir,
                           uint32_t possible, const struct match_hits *hits)
{
        struct unwanted u;

        assert_int_equal(unwanted_in_dir(m, dir, &u), 0);
        if (hits->events & u.events & possible)
                print_message("# in %u:%.*s unwanted %x (%d), but %x of %s is reported\n", dir->fs, (int)dir->len,
                              dir->path, u.events, u.reason, hits->events, q->path.path);
        assert_int_equal(hits->events & u.events & possible, 0);
        n_left_out += (q->events & u.events & possible) != 0;
}

/* What is called unwanted is never reported: of the directory, its entries, its children. */
static void check_unwanted(const struct matcher *m, const struct match_query *q, const struct match_hits *hits)
{
        const char *slash = memrchr(q->path.path, '/', q->path.len);
        struct match_path parent = q->path;
        struct unwanted u;

        parent.len = MAX_OF((size_t)(slash - q->path.path), (size_t)1);
        if (q->is_dir)
                check_left_out(m, q, &q->path, UNWANTED_SELF, hits);
        if (q->path.len > 1)
                check_left_out(m, q, &parent, UNWANTED_ENTRY | UNWANTED_CHILD, hits);
        if (!q->is_dir && q->old_path.fs == WORLD_NONE) {
                assert_int_equal(unwanted_of_file(m, &q->path, &u), 0);
                assert_int_equal(hits->events & u.events, 0);
        }
        if (unwanted_on_fs(m, q->path.fs) & hits->events && q->old_path.fs == WORLD_NONE)
                print_message("# nothing of %x is wanted on %u, but %x of %s is\n", unwanted_on_fs(m, q->path.fs),
                              q->path.fs, hits->events, q->path.path);
        assert_true(!(unwanted_on_fs(m, q->path.fs) & hits->events) || q->old_path.fs != WORLD_NONE);
        n_nowhere += (unwanted_on_fs(m, q->path.fs) & q->events) != 0;
}

static size_t run_queries(struct naive *n, struct matcher *m, struct match_hits *hits, uint64_t seed)
{
        struct arena *arena = arena_new();
        size_t n_hits = 0;

        for (unsigned i = 0; i < N_QUERIES; i++) {
                struct actor actor = { .pid = 1, .euid = one_in(4) ? ID_UNKNOWN : 999 + random_below(3) };
                struct match_facts facts = {
                        .actor = &actor, .owner_uid = ID_UNKNOWN, .dir_uid = 999 + random_below(3),
                };
                struct match_query q = {
                        .events = random_events(), .is_dir = one_in(2),
                        .old_path = MATCH_PATH_NONE, .alias = MATCH_PATH_NONE, .unresolved_fs = WORLD_NONE,
                };

                if (!random_object(n->world, arena, &q.path))
                        continue;
                if (q.events & EV_RENAME && !random_object(n->world, arena, &q.old_path))
                        q.old_path = MATCH_PATH_NONE;
                q.is_dir |= is_mount_root(n->world, &q.path) || is_mount_root(n->world, &q.old_path);
                if (!one_in(4))
                        facts.type = q.is_dir ? TYPE_DIRECTORY : one_in(2) ? TYPE_FILE : TYPE_FIFO;
                n->query = &q;
                n->facts = &facts;
                n_hits += compare(n, m, hits, seed);
                check_upper_bound(m, &q, hits);
                if (!(q.events & EV_RENAME))
                        check_unwanted(m, &q, hits);
        }
        arena_free(arena);
        return n_hits;
}

static void test_index_is_the_meaning(void **state)
{
        const char *env = getenv("FAWATCH_SEED");
        uint64_t seed = env ? strtoull(env, NULL, 0) : 20250101;
        struct settings settings = { .coalesce_usec = USEC_PER_SEC };
        struct match_hits hits = MATCH_HITS_NULL;
        _cleanup_(world_freep) struct world *world = NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        size_t n_hits = 0;

        assert_int_equal(world_parse_text(world_text, strlen(world_text), &diag, &world), 0);
        print_message("# FAWATCH_SEED=%ju\n", (uintmax_t)seed);
        random_state = seed | 1;
        for (unsigned i = 0; i < N_RULE_SETS; i++) {
                struct rules *rules = random_rules();
                struct matcher *m;

                assert_int_equal(matcher_build(rules, &settings, world, &m), 0);
                n_hits += run_queries(&(struct naive){ rules, world }, m, &hits, seed);
                matcher_free(m);
                arena_free(rules->arena);
        }
        print_message("# %zu hits compared, %zu events left out by a directory, %zu by a filesystem\n", n_hits,
                      n_left_out, n_nowhere);
        assert_true(n_left_out > N_RULE_SETS);
        assert_true(n_nowhere > N_RULE_SETS / 10);
        assert_true(n_hits > N_RULE_SETS);
        match_hits_done(&hits);
}

int main(void)
{
        static const struct CMUnitTest tests[] = { cmocka_unit_test(test_index_is_the_meaning) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("match-model", tests, NULL, NULL);
}
