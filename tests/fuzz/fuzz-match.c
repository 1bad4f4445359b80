/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rules and events as lines of words, judged by the matcher:
 *
 *   w PATH [PATTERN]...    a watch of the tree; W: of the directory
 *   e PATH [PATTERN]...    an except of the last watch
 *   i PATH [PATTERN]...    an ignore
 *   q PATH [OLD-PATH]      a query
 *
 * Whatever stands there, the answer is sorted, holds nothing that was not asked,
 * and is never more than the upper bound by path alone.
 */
#include <stdlib.h>

#include "match.h"
#include "pattern.h"

#define MAX_WORDS 64
#define MAX_CLAUSES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char world_text[] =
        "mount 1 0 8:1 / / ext4 /dev/a\n"
        "mount 2 1 8:2 / /m xfs /dev/b\n"
        "mount 3 1 8:1 /a /b/c ext4 /dev/a\n";

#define EVENTS (EV_CREATE | EV_MODIFY | EV_RENAME | EV_DELETE_SELF)

struct input {
        struct arena *arena;
        struct rules rules;
        struct match_query queries[MAX_CLAUSES];
        size_t n_queries;
};

#define CHECK(condition)         \
        do {                     \
                if (!(condition)) \
                        abort(); \
        } while (0)

static bool is_normal_path(const char *p)
{
        if (*p != '/')
                return false;
        for (const char *c = p; *c; c++)
                if (*c == '/' && (c[1] == '/' || (c[1] == '\0' && c != p)))
                        return false;
        return true;
}

static size_t split(char *line, const char **words)
{
        size_t n = 0;
        char *state;

        for (char *w = strtok_r(line, " ", &state); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &state))
                words[n++] = w;
        return n;
}

static bool read_clause(struct input *in, const char **words, size_t n, struct clause *c)
{
        const char **v = arena_alloc_array(in->arena, n, sizeof(*v));

        if (!v || n < 2 || !is_normal_path(words[1]))
                return false;
        *c = (struct clause){ .paths = { v, 1 }, .match = { v + 1 }, .events = EVENTS };
        c->scope = words[0][0] == 'W' ? SCOPE_DIRECTORY : SCOPE_TREE;
        v[0] = words[1];
        for (size_t i = 2; i < n; i++)
                if (!pattern_check(words[i]))
                        v[1 + c->match.n++] = words[i];
        return true;
}

static void read_watch(struct input *in, const char **words, size_t n)
{
        struct rule *rule = &in->rules.watches[in->rules.n_watches];

        if (in->rules.n_watches == MAX_CLAUSES || !read_clause(in, words, n, &rule->clause))
                return;
        rule->excepts = arena_alloc_array(in->arena, MAX_CLAUSES, sizeof(struct clause));
        CHECK(rule->excepts);
        in->rules.n_watches++;
}

static void read_except(struct input *in, const char **words, size_t n)
{
        struct rule *rule = in->rules.n_watches > 0 ? &in->rules.watches[in->rules.n_watches - 1] : NULL;

        if (rule && rule->n_excepts < MAX_CLAUSES && read_clause(in, words, n, &rule->excepts[rule->n_excepts]))
                rule->n_excepts++;
}

static void read_ignore(struct input *in, const char **words, size_t n)
{
        if (in->rules.n_ignores < MAX_CLAUSES &&
            read_clause(in, words, n, &in->rules.ignores[in->rules.n_ignores]))
                in->rules.n_ignores++;
}

/* A path of an event may be anything that begins with a slash. */
static void read_query(struct input *in, const char **words, size_t n)
{
        struct match_query *q = &in->queries[in->n_queries];

        if (in->n_queries == MAX_CLAUSES || n < 2 || words[1][0] != '/')
                return;
        *q = (struct match_query){
                .events = EVENTS, .is_dir = strlen(words[1]) % 2 != 0, .path = { 0, words[1], strlen(words[1]) },
                .old_path = MATCH_PATH_NONE, .alias = MATCH_PATH_NONE, .unresolved_fs = WORLD_NONE,
        };
        if (n > 2)
                q->old_path = (struct match_path){ 1, words[2], strlen(words[2]) };
        in->n_queries++;
}

static void read_input(struct input *in, char *text)
{
        char *state;

        in->rules.watches = arena_alloc_array(in->arena, MAX_CLAUSES, sizeof(struct rule));
        in->rules.ignores = arena_alloc_array(in->arena, MAX_CLAUSES, sizeof(struct clause));
        CHECK(in->rules.watches && in->rules.ignores);
        for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
                const char *words[MAX_WORDS];
                size_t n = split(line, words);

                if (n == 0)
                        continue;
                switch (words[0][0]) {
                case 'w':
                case 'W':
                        read_watch(in, words, n);
                        break;
                case 'e':
                        read_except(in, words, n);
                        break;
                case 'i':
                        read_ignore(in, words, n);
                        break;
                case 'q':
                        read_query(in, words, n);
                        break;
                default:
                        break;
                }
        }
}

static void judge(const struct matcher *m, const struct match_query *q)
{
        struct actor nobody = { .euid = ID_UNKNOWN };
        struct match_facts facts = { .type = TYPE_FIFO, .actor = &nobody };
        struct match_hits bound = MATCH_HITS_NULL, hits = MATCH_HITS_NULL;
        size_t k = 0;

        CHECK(matcher_match(m, q, NULL, &bound) == 0 && matcher_match(m, q, &facts, &hits) == 0);
        for (size_t i = 0; i < hits.n; i++) {
                CHECK(i == 0 || hits.v[i - 1].rule < hits.v[i].rule);
                CHECK(hits.v[i].events != 0 && (hits.v[i].events & ~EVENTS) == 0);
                while (k < bound.n && bound.v[k].rule < hits.v[i].rule)
                        k++;
                CHECK(k < bound.n && bound.v[k].rule == hits.v[i].rule);
                CHECK((hits.v[i].events & ~bound.v[k].events) == 0);
        }
        match_hits_done(&bound);
        match_hits_done(&hits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct input in = { .arena = arena_new() };
        struct settings settings = { .coalesce_usec = USEC_PER_SEC };
        struct diag diag = DIAG_NULL;
        struct world *world = NULL;
        struct matcher *m = NULL;
        char *text;

        CHECK(in.arena && world_parse_text(world_text, strlen(world_text), &diag, &world) == 0);
        text = arena_strndup(in.arena, (const char *)data, strnlen((const char *)data, size));
        CHECK(text);
        read_input(&in, text);
        CHECK(matcher_build(&in.rules, &settings, world, &m) == 0);
        for (size_t i = 0; i < in.n_queries; i++)
                judge(m, &in.queries[i]);
        matcher_free(m);
        world_free(world);
        arena_free(in.arena);
        return 0;
}
