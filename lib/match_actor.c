/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "match_actor.h"

#include <errno.h>

#include "hash.h"
#include "pattern.h"

/* Sets may name sets; a circle of them is refused by the parser, and this is
 * how far an evaluation follows one all the same. */
#define MAX_NESTING 8

/* The processes of a busy machine times the conditions of its rules that they come across. */
#define N_DECISIONS 1024u

struct text_test { /* one of these texts */
        const char *const *literals;
        size_t n_literals;
        struct pattern *globs;
        size_t n_globs;
        struct text_test *next; /* of all tests that hold globs: for freeing */
};

struct id_range {
        uint32_t low, high;
};

struct id_test {
        const struct id_range *ranges;
        size_t n_ranges;
        bool given; /* names that do not resolve leave no range, and are a condition all the same */
        bool owner, any, none;
};

struct actor_test {
        struct text_test exe, comm, unit, container, ancestor;
        struct id_test user, group, login;
        const struct actor_test *const *sets;
        size_t n_sets;
        bool asks_owner; /* of this one, its sets apart */
        struct actor_tests *owner;
        uint32_t number; /* of those whose answers are kept; 0 = it depends on more, or costs no more than a look */
};

struct decision {
        uint64_t actor; /* its id; 0 = none */
        uint32_t test;
        enum actor_truth truth;
};

struct actor_tests {
        struct arena *arena;
        const struct rules *rules;
        const struct world *world;
        struct actor_test *sets; /* one for each of rules->actor_sets */
        struct text_test *with_globs;
        struct decision *decisions; /* N_DECISIONS, NULL before the first is kept */
        uint32_t n_kept_tests;
        uint64_t decided;
};

void actor_tests_free(struct actor_tests *tests)
{
        if (!tests)
                return;
        for (struct text_test *t = tests->with_globs; t; t = t->next)
                for (size_t i = 0; i < t->n_globs; i++)
                        pattern_done(&t->globs[i]);
        arena_free(tests->arena);
        free(tests->decisions);
        free(tests);
}

static int compile_texts(struct actor_tests *tests, const struct strings *texts, bool path,
                         struct text_test *t)
{
        const char **literals = arena_alloc_array(tests->arena, texts->n, sizeof(*literals));
        struct pattern *globs = arena_alloc_array(tests->arena, texts->n, sizeof(*globs));

        if (!literals || !globs)
                return -ENOMEM;
        t->literals = literals;
        t->globs = globs;
        t->next = tests->with_globs;
        tests->with_globs = t;
        for (size_t i = 0; i < texts->n; i++) {
                if (!pattern_is_glob(texts->v[i])) {
                        literals[t->n_literals++] = texts->v[i];
                        continue;
                }
                int r = pattern_compile_glob(texts->v[i], path, &globs[t->n_globs]);
                if (r < 0)
                        return r;
                t->n_globs++;
        }
        return 0;
}

static bool parse_id(const char **p, uint32_t *ret)
{
        uint64_t value = 0;
        const char *c = *p;

        for (; *c >= '0' && *c <= '9' && value <= UINT32_MAX; c++)
                value = 10 * value + (uint64_t)(*c - '0');
        if (c == *p || value > UINT32_MAX)
                return false;
        *p = c;
        *ret = (uint32_t)value;
        return true;
}

static bool parse_range(const char *text, struct id_range *ret)
{
        struct id_range range;

        if (!parse_id(&text, &range.low))
                return false;
        range.high = range.low;
        if (*text == '-') {
                text++;
                if (!parse_id(&text, &range.high))
                        return false;
        }
        if (*text != '\0')
                return false;
        *ret = range;
        return true;
}

/* "any" and "none" are words of `login` only: elsewhere they are somebody's name. */
static int compile_ids(struct actor_tests *tests, const struct strings *texts, enum name_kind kind,
                       bool login, struct id_test *t)
{
        struct id_range *ranges = arena_alloc_array(tests->arena, texts->n, sizeof(*ranges));

        if (!ranges)
                return -ENOMEM;
        t->ranges = ranges;
        t->given = texts->n > 0;
        for (size_t i = 0; i < texts->n; i++) {
                const char *text = texts->v[i];
                const struct world_name *name;

                if (streq(text, "@owner"))
                        t->owner = true;
                else if (login && streq(text, "any"))
                        t->any = true;
                else if (login && streq(text, "none"))
                        t->none = true;
                else if (parse_range(text, &ranges[t->n_ranges]))
                        t->n_ranges++;
                else if ((name = world_find_name(tests->world, kind, text)) && name->known)
                        ranges[t->n_ranges++] = (struct id_range){ name->id, name->id };
        }
        return 0;
}

static const struct actor_test *find_set(const struct actor_tests *tests, const char *name)
{
        size_t low = 0, high = tests->rules->n_actor_sets;

        while (low < high) {
                size_t mid = low + (high - low) / 2;
                int order = strcmp(name, tests->rules->actor_sets[mid].name);

                if (order == 0)
                        return &tests->sets[mid];
                if (order < 0)
                        high = mid;
                else
                        low = mid + 1;
        }
        return NULL;
}

static int compile_sets(struct actor_tests *tests, const struct strings *names, struct actor_test *t)
{
        const struct actor_test **sets = arena_alloc_array(tests->arena, names->n, sizeof(*sets));

        if (!sets)
                return -ENOMEM;
        t->sets = sets;
        for (size_t i = 0; i < names->n; i++) {
                sets[t->n_sets] = find_set(tests, names->v[i]);
                if (!sets[t->n_sets])
                        return -EINVAL;
                t->n_sets++;
        }
        return 0;
}

static int compile_into(struct actor_tests *tests, const struct actors *a, struct actor_test *t)
{
        const struct {
                const struct strings *texts;
                bool path;
                struct text_test *test;
        } texts[] = {
                { &a->exe, true, &t->exe },           { &a->ancestor, true, &t->ancestor },
                { &a->comm, false, &t->comm },        { &a->unit, false, &t->unit },
                { &a->container, false, &t->container },
        };
        const struct {
                const struct strings *texts;
                enum name_kind kind;
                bool login;
                struct id_test *test;
        } ids[] = {
                { &a->user, NAME_USER, false, &t->user },
                { &a->group, NAME_GROUP, false, &t->group },
                { &a->login, NAME_USER, true, &t->login },
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                if (texts[i].texts->n == 0)
                        continue;
                int r = compile_texts(tests, texts[i].texts, texts[i].path, texts[i].test);
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                if (ids[i].texts->n == 0)
                        continue;
                int r = compile_ids(tests, ids[i].texts, ids[i].kind, ids[i].login, ids[i].test);
                if (r < 0)
                        return r;
                t->asks_owner |= ids[i].test->owner;
        }
        return a->actor.n > 0 ? compile_sets(tests, &a->actor, t) : 0;
}

int actor_tests_new(const struct rules *rules, const struct world *world, struct actor_tests **ret)
{
        _cleanup_(actor_tests_freep) struct actor_tests *tests = calloc(1, sizeof(*tests));

        if (!tests)
                return -ENOMEM;
        tests->rules = rules;
        tests->world = world;
        tests->arena = arena_new();
        if (!tests->arena)
                return -ENOMEM;
        tests->sets = arena_alloc_array(tests->arena, rules->n_actor_sets, sizeof(*tests->sets));
        if (!tests->sets)
                return -ENOMEM;
        for (size_t i = 0; i < rules->n_actor_sets; i++) {
                int r = compile_into(tests, &rules->actor_sets[i].actors, &tests->sets[i]);
                if (r < 0)
                        return r;
        }
        *ret = STEAL(tests);
        return 0;
}

static bool text_given(const struct text_test *t)
{
        return t->n_literals + t->n_globs > 0;
}

static bool is_costly(const struct actor_test *t)
{
        return text_given(&t->exe) || text_given(&t->comm) || text_given(&t->unit) || text_given(&t->container) ||
               text_given(&t->ancestor) || t->n_sets > 0;
}

int actor_tests_compile(struct actor_tests *tests, const struct actors *actors, const struct actor_test **ret)
{
        struct actor_test *t;
        int r;

        if (actors_empty(actors)) {
                *ret = NULL;
                return 0;
        }
        t = arena_alloc(tests->arena, sizeof(*t));
        if (!t)
                return -ENOMEM;
        r = compile_into(tests, actors, t);
        if (r < 0)
                return r;
        t->owner = tests;
        if (is_costly(t) && !actor_test_asks_owner(t))
                t->number = ++tests->n_kept_tests;
        *ret = t;
        return 0;
}

static bool text_matches(const struct text_test *t, const char *text)
{
        size_t len;

        for (size_t i = 0; i < t->n_literals; i++)
                if (streq(t->literals[i], text))
                        return true;
        if (t->n_globs == 0)
                return false;
        len = strlen(text);
        for (size_t i = 0; i < t->n_globs; i++)
                if (pattern_match(&t->globs[i], text, len, false))
                        return true;
        return false;
}

static enum actor_truth truth_of(bool yes)
{
        return yes ? ACTOR_YES : ACTOR_NO;
}

static enum actor_truth eval_program(const struct text_test *t, const struct actor *a, const char *text)
{
        if (!a->program_known || !text)
                return ACTOR_UNKNOWN;
        return truth_of(text_matches(t, text));
}

/* A process outside units and containers is known to be so once its cgroup is. */
static enum actor_truth eval_cgroup(const struct text_test *t, const struct actor *a, const char *one,
                                    const char *other)
{
        if (!one && !other)
                return a->cgroup ? ACTOR_NO : ACTOR_UNKNOWN;
        return truth_of((one && text_matches(t, one)) || (other && text_matches(t, other)));
}

static enum actor_truth eval_ancestor(const struct text_test *t, const struct actor *a)
{
        bool all_known = a->n_ancestor_exes > 0 || a->pid == 1;

        for (size_t i = 0; i < a->n_ancestor_exes; i++) {
                if (!a->ancestor_exes[i])
                        all_known = false;
                else if (text_matches(t, a->ancestor_exes[i]))
                        return ACTOR_YES;
        }
        return all_known ? ACTOR_NO : ACTOR_UNKNOWN;
}

static bool in_ranges(const struct id_test *t, uint32_t id)
{
        for (size_t i = 0; i < t->n_ranges; i++)
                if (id >= t->ranges[i].low && id <= t->ranges[i].high)
                        return true;
        return false;
}

/* The owner of the directory, and of the object where it still has one. */
static enum actor_truth eval_owner(uint32_t id, uint32_t dir, uint32_t object)
{
        if ((dir != ID_UNKNOWN && id != dir) || (object != ID_UNKNOWN && id != object))
                return ACTOR_NO;
        return dir == ID_UNKNOWN ? ACTOR_UNKNOWN : ACTOR_YES;
}

static enum actor_truth eval_id(const struct id_test *t, uint32_t id, uint32_t dir, uint32_t object)
{
        if (t->any || in_ranges(t, id))
                return ACTOR_YES;
        return t->owner ? eval_owner(id, dir, object) : ACTOR_NO;
}

/* The login uid of a process that was read and has none is known to be none. */
static enum actor_truth eval_login(const struct id_test *t, const struct actor *a,
                                   const struct match_facts *f)
{
        if (a->loginuid != ID_UNKNOWN)
                return eval_id(t, a->loginuid, f->dir_uid, f->owner_uid);
        if (a->pid == 0 || a->start_ticks == 0)
                return ACTOR_UNKNOWN;
        return truth_of(t->none);
}

/* A kernel thread works for somebody else: its ids, root's, name nobody. */
static enum actor_truth eval_ids(const struct actor_test *t, const struct actor *a,
                                 const struct match_facts *f)
{
        enum actor_truth all = ACTOR_YES;

        if (a->kernel_thread)
                return t->user.given || t->group.given || t->login.given ? ACTOR_UNKNOWN : ACTOR_YES;
        if (t->user.given)
                all = a->euid == ID_UNKNOWN ? ACTOR_UNKNOWN
                                            : eval_id(&t->user, a->euid, f->dir_uid, f->owner_uid);
        if (t->group.given)
                all = MIN_OF(all, a->egid == ID_UNKNOWN
                                          ? ACTOR_UNKNOWN
                                          : eval_id(&t->group, a->egid, f->dir_gid, f->owner_gid));
        if (t->login.given)
                all = MIN_OF(all, eval_login(&t->login, a, f));
        return all;
}

static enum actor_truth eval(const struct actor_test *t, const struct match_facts *f, unsigned depth)
{
        const struct actor *a = f->actor;
        enum actor_truth all = eval_ids(t, a, f);

        if (text_given(&t->exe))
                all = MIN_OF(all, eval_program(&t->exe, a, a->exe));
        if (text_given(&t->comm))
                all = MIN_OF(all, eval_program(&t->comm, a, a->comm));
        if (text_given(&t->unit))
                all = MIN_OF(all, eval_cgroup(&t->unit, a, a->unit, a->user_unit));
        if (text_given(&t->container))
                all = MIN_OF(all, eval_cgroup(&t->container, a, a->container, NULL));
        if (text_given(&t->ancestor) && all != ACTOR_NO)
                all = MIN_OF(all, eval_ancestor(&t->ancestor, a));
        if (t->n_sets > 0 && all != ACTOR_NO) {
                enum actor_truth any = ACTOR_NO;

                for (size_t i = 0; i < t->n_sets && any != ACTOR_YES; i++) {
                        enum actor_truth one =
                                depth < MAX_NESTING ? eval(t->sets[i], f, depth + 1) : ACTOR_UNKNOWN;
                        any = MAX_OF(any, one);
                }
                all = MIN_OF(all, any);
        }
        return all;
}

/* Where the answer is, or will be, kept; NULL: nowhere. */
static struct decision *decision_of(const struct actor_test *test, const struct actor *actor)
{
        struct actor_tests *owner = test->owner;

        if (test->number == 0 || actor->id == 0)
                return NULL;
        if (!owner->decisions)
                owner->decisions = calloc(N_DECISIONS, sizeof(*owner->decisions));
        if (!owner->decisions)
                return NULL;
        return &owner->decisions[hash_mix(actor->id, test->number) % N_DECISIONS];
}

enum actor_truth actor_test_eval(const struct actor_test *test, const struct match_facts *facts)
{
        struct decision *kept = facts->actor ? decision_of(test, facts->actor) : NULL;

        if (!facts->actor)
                return ACTOR_UNKNOWN;
        if (!kept)
                return eval(test, facts, 0);
        if (kept->actor != facts->actor->id || kept->test != test->number) {
                *kept = (struct decision){
                        .actor = facts->actor->id, .test = test->number, .truth = eval(test, facts, 0)
                };
                test->owner->decided++;
        }
        return kept->truth;
}

uint64_t actor_tests_decided(const struct actor_tests *tests)
{
        return tests->decided;
}

static bool asks_owner(const struct actor_test *t, unsigned depth)
{
        if (t->asks_owner || depth == MAX_NESTING)
                return t->asks_owner;
        for (size_t i = 0; i < t->n_sets; i++)
                if (asks_owner(t->sets[i], depth + 1))
                        return true;
        return false;
}

bool actor_test_asks_owner(const struct actor_test *test)
{
        return asks_owner(test, 0);
}
