/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What matching one event costs, and how little it grows with the rules.  Prints
 * the best of several rounds, and fails where a ratio is over its bound.
 */
#include <stdio.h>
#include <time.h>

#include "match.h"

#define N_MATCHES 400000u
#define N_ROUNDS 7
#define MAX_RATIO 2.0

static const char world_text[] = "mount 1 0 8:1 / / ext4 /dev/a\n";

/* Events that no rule wants, and that some want, of ordinary depth. */
static const char *const missed[] = {
        "/home/alice/src/project/build/main.o", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/var/cache/app/00/17/entry",
        "/tmp/scratch-1234", "/srv/elsewhere/data.bin",
};

struct set {
        struct rules rules;
        struct world *world;
        struct settings settings;
        struct matcher *matcher;
};

static void *check(void *p)
{
        if (!p) {
                fputs("bench-match: out of memory\n", stderr);
                exit(EXIT_FAILURE);
        }
        return p;
}

static struct strings strings_of(struct arena *arena, size_t n)
{
        return (struct strings){ .v = check(arena_alloc_array(arena, n, sizeof(char *))), .n = n };
}

static void build(struct set *s)
{
        struct diag diag = DIAG_NULL;

        if (world_parse_text(world_text, strlen(world_text), &diag, &s->world) < 0 ||
            matcher_build(&s->rules, &s->settings, s->world, &s->matcher) < 0) {
                fputs("bench-match: cannot build\n", stderr);
                exit(EXIT_FAILURE);
        }
        diag_done(&diag);
}

static void begin(struct set *s, size_t n)
{
        *s = (struct set){ .settings.coalesce_usec = USEC_PER_SEC };
        s->rules.arena = check(arena_new());
        s->rules.n_watches = n;
        s->rules.watches = check(arena_alloc_array(s->rules.arena, n, sizeof(struct rule)));
}

static void end(struct set *s)
{
        matcher_free(s->matcher);
        world_free(s->world);
        arena_free(s->rules.arena);
}

/* n rules, each a tree of its own. */
static void rules_of_paths(struct set *s, size_t n)
{
        begin(s, n);
        for (size_t i = 0; i < n; i++) {
                struct clause *c = &s->rules.watches[i].clause;

                c->paths = strings_of(s->rules.arena, 1);
                ((const char **)c->paths.v)[0] = check(arena_printf(s->rules.arena, "/srv/site%zu/www", i));
                c->scope = SCOPE_TREE;
                c->events = EV_CHANGE;
        }
        build(s);
}

/* One rule of n patterns, half of them names, half extensions. */
static void rule_of_patterns(struct set *s, size_t n)
{
        struct clause *c;

        begin(s, 1);
        c = &s->rules.watches[0].clause;
        c->paths = strings_of(s->rules.arena, 1);
        ((const char **)c->paths.v)[0] = "/";
        c->match = strings_of(s->rules.arena, n);
        for (size_t i = 0; i < n; i++)
                ((const char **)c->match.v)[i] =
                        check(arena_printf(s->rules.arena, i % 2 == 0 ? "name%zu.txt" : "*.ext%zu", i));
        c->scope = SCOPE_TREE;
        c->events = EV_CHANGE;
        build(s);
}

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds a match, over these paths in turn. */
static double measure(const struct set *s, const char *const *paths, size_t n_paths)
{
        struct match_hits hits = MATCH_HITS_NULL;
        double best = 1e9;

        for (unsigned round = 0; round < N_ROUNDS; round++) {
                double start = now_ns();

                for (unsigned i = 0; i < N_MATCHES; i++) {
                        const char *path = paths[i % n_paths];
                        struct match_query q = {
                                .events = EV_MODIFY, .path = { 0, path, strlen(path) },
                                .old_path = MATCH_PATH_NONE, .alias = MATCH_PATH_NONE, .unresolved_fs = WORLD_NONE,
                        };

                        if (matcher_match(s->matcher, &q, NULL, &hits) < 0)
                                exit(EXIT_FAILURE);
                }
                best = MIN_OF(best, (now_ns() - start) / N_MATCHES);
        }
        match_hits_done(&hits);
        return best;
}

static bool compare(const char *what, void (*make)(struct set *s, size_t n), size_t few, size_t many)
{
        struct set a, b;
        struct matcher_stats stats;
        double ns_few, ns_many;

        make(&a, few);
        make(&b, many);
        ns_few = measure(&a, missed, ELEMENTSOF(missed));
        ns_many = measure(&b, missed, ELEMENTSOF(missed));
        matcher_stats(b.matcher, &stats);
        printf("%-28s %6zu: %6.1f ns   %6zu: %6.1f ns   ratio %.2f (bound %.1f)   %zu kB\n", what, few, ns_few, many,
               ns_many, ns_many / ns_few, MAX_RATIO, stats.bytes / 1024);
        end(&a);
        end(&b);
        return ns_many / ns_few <= MAX_RATIO;
}

static void print_hits(void)
{
        static const char *const wanted[] = { "/srv/site3/www/index.php", "/srv/site7/www/a/b/c/d.html" };
        struct set s;

        rules_of_paths(&s, 1000);
        printf("%-28s %6d: %6.1f ns\n", "events that a rule wants", 1000, measure(&s, wanted, ELEMENTSOF(wanted)));
        end(&s);
}

int main(void)
{
        bool good = compare("rules of distinct paths", rules_of_paths, 10, 10000);

        good &= compare("patterns under one path", rule_of_patterns, 10, 1000);
        print_hits();
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
