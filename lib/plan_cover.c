/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan_cover.h"

#include <errno.h>

#include "strbuf.h"

struct builder {
        const struct rules *rules;
        const struct world *world;
        const struct plan *plan;
        const struct cover_failure *failures;
        size_t n_failures;
        const struct gap **gaps; /* those of a rule's path, sorted by rule and path */
        size_t n_gaps;
        struct plan_cover *cover;
};

const char *cover_state_name(enum cover_state s)
{
        static const char *const names[] = {
                [COVER_WHOLE] = "covered",
                [COVER_PARTLY] = "partly covered",
                [COVER_NOT] = "not covered",
                [COVER_WAITS] = "waiting",
        };

        return names[s];
}

void plan_cover_counts(const struct plan *plan, size_t ret[N_COVERAGE_STATES])
{
        memset(ret, 0, N_COVERAGE_STATES * sizeof(*ret));
        for (size_t i = 0; i < plan->n_coverage; i++)
                ret[plan->coverage[i].state]++;
        for (size_t i = 0; i < plan->n_gaps; i++)
                if (plan->gaps[i].weight == GAP_HOLE && plan->gaps[i].rule)
                        ret[NOT_COVERED]++;
}

/* --- the gaps of a rule's path --- */

static int compare_place(const char *rule, const char *path, const struct gap *g)
{
        int c = strcmp(rule, g->rule);

        return c != 0 ? c : strcmp(path, g->path);
}

static int compare_gaps(const void *a, const void *b)
{
        const struct gap *const *x = a, *const *y = b;
        int c = compare_place((*x)->rule, (*x)->path, *y);

        /* the heaviest first; of equal ones the first */
        if (c == 0)
                c = (int)(*y)->weight - (int)(*x)->weight;
        return c != 0 ? c : (*x > *y) - (*x < *y);
}

static int index_gaps(struct builder *b)
{
        const struct plan *p = b->plan;

        b->gaps = calloc(p->n_gaps + 1, sizeof(*b->gaps));
        if (!b->gaps)
                return -ENOMEM;
        for (size_t i = 0; i < p->n_gaps; i++)
                if (p->gaps[i].rule && p->gaps[i].path)
                        b->gaps[b->n_gaps++] = &p->gaps[i];
        qsort(b->gaps, b->n_gaps, sizeof(*b->gaps), compare_gaps);
        return 0;
}

static const struct gap *worst_gap(const struct builder *b, const char *rule, const char *path)
{
        size_t low = 0, high = b->n_gaps;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare_place(rule, path, b->gaps[middle]) > 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < b->n_gaps && compare_place(rule, path, b->gaps[low]) == 0 ? b->gaps[low] : NULL;
}

/* --- a row --- */

static void worsen(struct cover_row *row, enum cover_state state, const char *reason, int error)
{
        if (state <= row->state)
                return;
        row->state = state;
        row->reason = reason;
        row->error = error;
        if (state == COVER_NOT)
                row->how = NULL;
}

static const struct cover_failure *find_failure(const struct builder *b, uint32_t fs)
{
        for (size_t i = 0; i < b->n_failures; i++)
                if (b->failures[i].fs == fs)
                        return &b->failures[i];
        return NULL;
}

/* "filesystem mark at /srv" */
static const char *how_of(const struct builder *b, const struct coverage *c)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        const struct world *w = b->world;
        uint32_t mount = w->fs[c->fs].canonical_mount;

        if (mount == WORLD_NONE)
                return c->how;
        strbuf_addf(&text, "%s at %s", c->how, w->mounts[mount].mountpoint);
        return strbuf_failed(&text) ? NULL : arena_strdup(b->cover->arena, strbuf_str(&text));
}

/* What the filesystem that holds the path says of it. */
static int judge_filesystem(const struct builder *b, uint32_t fs, struct cover_row *row)
{
        const struct coverage *c = plan_find_coverage(b->plan, fs);
        const struct cover_failure *failure = find_failure(b, fs);

        if (!c)
                return 0;
        if (c->state == NOT_COVERED || c->state == SKIPPED) {
                worsen(row, COVER_NOT, c->how, b->world->fs[fs].mark_errno);
                return 0;
        }
        row->how = how_of(b, c);
        if (!row->how)
                return -ENOMEM;
        if (failure)
                worsen(row, COVER_NOT,
                       "fanotify_mark refused the planned mark; it is tried again at the next reload or mount",
                       failure->error);
        else if (c->state == PARTLY_COVERED)
                worsen(row, COVER_PARTLY,
                       b->world->fs[fs].class == FS_NETWORK ? "what other hosts change there is not seen" : c->how, 0);
        return 0;
}

/* A tree has a hole where a filesystem below it is not covered. */
static int judge_below(const struct builder *b, const char *resolved, struct cover_row *row)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        const struct world *w = b->world;
        size_t n, holes = 0;
        const uint32_t *below = world_mounts_below(w, resolved, &n);
        int error = 0;

        for (size_t i = 0; i < n; i++) {
                const struct world_mount *m = &w->mounts[below[i]];
                const struct coverage *c = m->visible ? plan_find_coverage(b->plan, m->fs) : NULL;

                if (!c || (c->state != NOT_COVERED && !find_failure(b, m->fs)))
                        continue;
                if (holes++ > 0)
                        continue;
                error = w->fs[m->fs].mark_errno;
                strbuf_addf(&text, "%s (%s) below it is not covered", m->mountpoint, w->fs[m->fs].fstype);
        }
        if (holes == 0)
                return 0;
        if (holes > 1)
                strbuf_addf(&text, " (and %zu more)", holes - 1);
        const char *reason = strbuf_failed(&text) ? NULL : arena_strdup(b->cover->arena, strbuf_str(&text));
        if (!reason)
                return -ENOMEM;
        worsen(row, COVER_PARTLY, reason, error);
        return 0;
}

static int judge(const struct builder *b, const struct rule *rule, const char *path, struct cover_row *row)
{
        static const enum cover_state by_weight[] = {
                [GAP_NOTE] = COVER_WHOLE, [GAP_PARTLY] = COVER_PARTLY, [GAP_HOLE] = COVER_NOT,
        };
        const struct world_path *p = world_find_path(b->world, path);
        const char *resolved = p ? p->resolved : path;
        uint32_t mount = p ? p->mount : world_mount_of(b->world, path);
        const struct gap *gap = worst_gap(b, rule->clause.name, path);
        int r = 0;

        *row = (struct cover_row){ .rule = rule->clause.name, .state = COVER_WHOLE };
        /* the gap first: of two holes its reason is the more precise one */
        if (gap)
                worsen(row, by_weight[gap->weight], gap->reason, gap->error);
        if (mount != WORLD_NONE && row->state != COVER_NOT)
                r = judge_filesystem(b, b->world->mounts[mount].fs, row);
        if (r == 0 && rule->clause.scope == SCOPE_TREE && row->state != COVER_NOT)
                r = judge_below(b, resolved, row);
        if (r == 0 && row->state == COVER_WHOLE && gap && gap->kind == GAP_PATH_MISSING) {
                row->state = COVER_WAITS;
                row->reason = gap->reason;
        }
        return r;
}

/* --- all rows --- */

static int set_paths(struct arena *arena, struct cover_row *row, const char **v, size_t n)
{
        const char **copy = arena_alloc_array(arena, n, sizeof(*copy));

        if (!copy)
                return -ENOMEM;
        memcpy(copy, v, n * sizeof(*v));
        row->paths = (struct strings){ .v = copy, .n = n };
        return 0;
}

static int add_rule(const struct builder *b, const struct rule *rule)
{
        struct plan_cover *c = b->cover;
        const struct strings *paths = &rule->clause.paths;
        _cleanup_free_ const char **missing = calloc(paths->n + 1, sizeof(*missing));
        struct cover_row waits = {};
        size_t n_missing = 0;

        if (!missing)
                return -ENOMEM;
        for (size_t i = 0; i < paths->n; i++) {
                struct cover_row *row = &c->rows[c->n_rows];

                if (judge(b, rule, paths->v[i], row) < 0)
                        return -ENOMEM;
                if (row->state == COVER_WAITS) {
                        waits = *row;
                        missing[n_missing++] = paths->v[i];
                        continue;
                }
                if (set_paths(c->arena, row, (const char **)&paths->v[i], 1) < 0)
                        return -ENOMEM;
                c->n_rows++;
        }
        if (n_missing == 0)
                return 0;
        if (n_missing > 1)
                waits.reason = "these do not exist: watched from the moment they do";
        if (set_paths(c->arena, &waits, missing, n_missing) < 0)
                return -ENOMEM;
        c->rows[c->n_rows++] = waits;
        return 0;
}

static int add_all(struct builder *b)
{
        size_t n = 0;

        for (size_t i = 0; i < b->rules->n_watches; i++)
                n += b->rules->watches[i].clause.paths.n;
        b->cover->arena = arena_new();
        b->cover->rows = calloc(n + 1, sizeof(*b->cover->rows));
        if (!b->cover->arena || !b->cover->rows || index_gaps(b) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < b->rules->n_watches; i++)
                if (add_rule(b, &b->rules->watches[i]) < 0)
                        return -ENOMEM;
        return 0;
}

int plan_cover_build(const struct rules *rules, const struct world *world, const struct plan *plan,
                     const struct cover_failure *failures, size_t n_failures, struct plan_cover **ret)
{
        _cleanup_(plan_cover_freep) struct plan_cover *cover = calloc(1, sizeof(*cover));
        struct builder b = {
                .rules = rules,
                .world = world,
                .plan = plan,
                .failures = failures,
                .n_failures = n_failures,
                .cover = cover,
        };
        int r = cover ? add_all(&b) : -ENOMEM;

        free(b.gaps);
        if (r == 0)
                *ret = STEAL(cover);
        return r;
}

void plan_cover_free(struct plan_cover *c)
{
        if (!c)
                return;
        arena_free(c->arena);
        free(c->rows);
        free(c);
}
