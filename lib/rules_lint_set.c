/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules that load, and yet probably do not say what was meant: rules beside each other. */

#include "pattern.h"
#include "rules_lint.h"
#include "strbuf.h"

/* Beyond, the patterns of one tree that no hash can look up cost every event there. */
#define PATTERNS_MAX 100u

/* An ignore that swallows many watched paths is one mistake, not many. */
#define SWALLOWED_SHOWN 3u

/* A watched path; the table of them is sorted by path. */
struct watched {
        const char *path;
        const struct rule *rule;
        bool swallowed;
};

struct lint {
        const struct rules *rules;
        struct diag *diag;
        struct watched *v;
        size_t n;
        size_t *swallowed; /* paths of each rule that ignores take out */
};

char *lint_place(const char *kind, const char *name, const char *inner)
{
        struct strbuf text = STRBUF_NULL;

        strbuf_addf(&text, "%s \"%s\"", kind, name);
        if (inner)
                strbuf_addf(&text, ", except \"%s\"", inner);
        return strbuf_steal(&text);
}

/* An ignore that leaves nothing where it reaches, but by event. */
static bool lint_takes_all(const struct clause *c)
{
        return c->match.n == 0 && c->types == 0 && !c->until_modified && actors_empty(&c->actors);
}

bool lint_takes_whole(const struct clause *c)
{
        return lint_takes_all(c) &&
               (c->scope == SCOPE_TREE || c->scope == SCOPE_MOUNT || c->scope == SCOPE_FILESYSTEM);
}

static int compare_watched(const void *a, const void *b)
{
        const struct watched *x = a, *y = b;
        int order = strcmp(x->path, y->path);

        return order != 0 ? order : x->rule->index < y->rule->index ? -1 : x->rule->index > y->rule->index;
}

static bool collect(struct lint *l)
{
        size_t n = 0;

        for (size_t i = 0; i < l->rules->n_watches; i++)
                n += l->rules->watches[i].clause.paths.n;
        l->v = calloc(MAX_OF(n, (size_t)1), sizeof(*l->v));
        l->swallowed = calloc(MAX_OF(l->rules->n_watches, (size_t)1), sizeof(*l->swallowed));
        if (!l->v || !l->swallowed)
                return false;
        for (size_t i = 0; i < l->rules->n_watches; i++) {
                const struct rule *rule = &l->rules->watches[i];

                for (size_t j = 0; j < rule->clause.paths.n; j++)
                        l->v[l->n++] = (struct watched){ .path = rule->clause.paths.v[j], .rule = rule };
        }
        if (l->n > 1)
                qsort(l->v, l->n, sizeof(*l->v), compare_watched);
        return true;
}

/* The first watched path not before these len bytes. */
static size_t lower_bound(const struct lint *l, const char *path, size_t len)
{
        size_t low = 0, high = l->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strncmp(l->v[middle].path, path, len);

                if (order < 0 || (order == 0 && strlen(l->v[middle].path) < len))
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* Is this entry's path exactly these len bytes? */
static bool is_path(const struct lint *l, size_t i, const char *path, size_t len)
{
        return i < l->n && strncmp(l->v[i].path, path, len) == 0 && l->v[i].path[len] == '\0';
}

/* The length of the directory above path[0..len), 0 when there is none. */
static size_t parent_length(const char *path, size_t len)
{
        if (len <= 1)
                return 0;
        while (len > 1 && path[len - 1] != '/')
                len--;
        return len > 1 ? len - 1 : 1;
}

/* The rule watches something below its path, not its path alone. */
static bool reaches_below(const struct rule *rule)
{
        return rule->clause.scope != SCOPE_FILE && rule->clause.scope != SCOPE_DIRECTORY;
}

/* Calls fn for each watched path at or below path. */
static void foreach_below(struct lint *l, const char *path,
                          void (*fn)(struct lint *l, struct watched *w, void *userdata), void *userdata)
{
        size_t len = strlen(path), i;
        bool root = streq(path, "/");

        for (i = lower_bound(l, path, len); is_path(l, i, path, len); i++)
                fn(l, &l->v[i], userdata);
        if (root)
                for (; i < l->n; i++)
                        fn(l, &l->v[i], userdata);
        /* Not simply what follows: "/a-b" sorts between "/a" and "/a/b". */
        for (; !root && i < l->n && strncmp(l->v[i].path, path, len) == 0; i++)
                if (l->v[i].path[len] == '/')
                        fn(l, &l->v[i], userdata);
}

struct swallowing {
        const struct clause *ignore;
        const char *path; /* of the ignore */
        size_t n;
};

static bool is_child(const char *path, const char *dir)
{
        const char *slash = strrchr(path, '/');
        size_t len = (size_t)(slash - path);

        return slash[1] != '\0' && (len == 0 ? streq(dir, "/") : strlen(dir) == len && strncmp(path, dir, len) == 0);
}

/* Does an ignore of this scope leave nothing of a watch at or below its path? */
static bool reaches_all_of(const struct swallowing *s, const struct watched *w)
{
        enum scope watch = w->rule->clause.scope;
        bool same = streq(s->path, w->path);

        switch (s->ignore->scope) {
        case SCOPE_FILE:
                return same && watch == SCOPE_FILE;
        case SCOPE_DIRECTORY:
                return (same && (watch == SCOPE_FILE || watch == SCOPE_DIRECTORY)) ||
                       (watch == SCOPE_FILE && is_child(w->path, s->path));
        default:
                return true;
        }
}

static void note_swallowed(struct lint *l, struct watched *w, void *userdata)
{
        struct swallowing *s = userdata;
        const struct source *at = &s->ignore->source, *rule = &w->rule->clause.source;

        if (w->rule->always || (w->rule->clause.events & ~s->ignore->events) || !reaches_all_of(s, w))
                return;
        if (!w->swallowed) {
                w->swallowed = true;
                l->swallowed[w->rule->index]++;
        }
        if (!streq(at->file, rule->file) && s->n++ < SWALLOWED_SHOWN)
                diag_add(
                        l->diag, DIAG_WARNING, at->file, at->line,
                        "ignore \"%s\" takes out %s, which watch \"%s\" watches (%s:%u): always = true there would "
                        "keep it",
                        s->ignore->name, w->path, w->rule->clause.name, rule->file, rule->line);
}

static void lint_swallowed(struct lint *l, const struct clause *ignore)
{
        struct swallowing s = { .ignore = ignore };

        if (!lint_takes_all(ignore))
                return;
        for (size_t i = 0; i < ignore->paths.n; i++) {
                s.path = ignore->paths.v[i];
                foreach_below(l, s.path, note_swallowed, &s);
        }
        if (s.n > SWALLOWED_SHOWN)
                diag_add(l->diag, DIAG_WARNING, ignore->source.file, ignore->source.line,
                         "ignore \"%s\" takes out %zu more watched paths of other files", ignore->name,
                         s.n - SWALLOWED_SHOWN);
}

static void lint_nothing_left(struct lint *l)
{
        for (size_t i = 0; i < l->rules->n_watches; i++) {
                const struct clause *c = &l->rules->watches[i].clause;

                if (l->swallowed[i] == c->paths.n)
                        diag_add(l->diag, DIAG_WARNING, c->source.file, c->source.line,
                                 "watch \"%s\": ignores take out everything it watches", c->name);
        }
}

static void note_overlap(struct lint *l, struct watched *w, void *userdata)
{
        *(bool *)userdata = true;
}

/* Does a watch of something above this path reach it? */
static bool watched_from_above(const struct lint *l, const char *path)
{
        size_t len = strlen(path), parent = parent_length(path, len);

        for (size_t up = parent; up > 0; up = parent_length(path, up))
                for (size_t i = lower_bound(l, path, up); is_path(l, i, path, up); i++)
                        if (reaches_below(l->v[i].rule) ||
                            (up == parent && l->v[i].rule->clause.scope == SCOPE_DIRECTORY))
                                return true;
        return false;
}

static void lint_overlap(struct lint *l, const struct clause *ignore)
{
        bool overlaps = false;

        for (size_t i = 0; i < ignore->paths.n && !overlaps; i++) {
                foreach_below(l, ignore->paths.v[i], note_overlap, &overlaps);
                overlaps = overlaps || watched_from_above(l, ignore->paths.v[i]);
        }
        if (!overlaps)
                diag_add(l->diag, DIAG_NOTE, ignore->source.file, ignore->source.line,
                         "ignore \"%s\": no rule watches anything there", ignore->name);
}

static size_t count_regex(const struct strings *patterns)
{
        size_t n = 0;

        for (size_t i = 0; i < patterns->n; i++) {
                struct pattern p;

                if (pattern_compile(patterns->v[i], &p) < 0)
                        continue;
                n += p.kind == PATTERN_REGEX;
                pattern_done(&p);
        }
        return n;
}

static size_t rule_patterns(const struct rule *rule)
{
        size_t n = count_regex(&rule->clause.match);

        for (size_t i = 0; i < rule->n_excepts; i++)
                n += count_regex(&rule->excepts[i].match);
        return n;
}

/* The table is sorted: rules of one path stand together. */
static void lint_patterns(struct lint *l)
{
        for (size_t i = 0, next; i < l->n; i = next) {
                size_t n = 0;
                const struct clause *c = &l->v[i].rule->clause;

                for (next = i; next < l->n && streq(l->v[next].path, l->v[i].path); next++)
                        n += rule_patterns(l->v[next].rule);
                if (n > PATTERNS_MAX)
                        diag_add(
                                l->diag, DIAG_WARNING, c->source.file, c->source.line,
                                "%s has %zu patterns that are tried one by one for each event below it: those of the "
                                "forms NAME and *.EXT are looked up at once",
                                l->v[i].path, n);
        }
}

/* Reports everything at and below its paths, whoever did it. */
static bool is_plain(const struct rule *rule)
{
        return rule->clause.scope == SCOPE_TREE && rule->clause.match.n == 0 && rule->n_excepts == 0 &&
               actors_empty(&rule->only);
}

static bool contains(const struct rule *outer, const struct rule *inner)
{
        const struct clause *o = &outer->clause, *i = &inner->clause;

        if (outer == inner || outer->priority >= inner->priority || (i->events & ~o->events) ||
            (i->types & ~o->types) || (inner->always && !outer->always))
                return false;
        for (size_t p = 0; p < i->paths.n; p++) {
                bool covered = false;

                for (size_t q = 0; q < o->paths.n && !covered; q++)
                        covered = lint_path_covers(o->paths.v[q], i->paths.v[p]);
                if (!covered)
                        return false;
        }
        return true;
}

static const struct rule *find_container(const struct lint *l, const struct rule *rule)
{
        const char *path = rule->clause.paths.v[0];

        for (size_t up = strlen(path); up > 0; up = parent_length(path, up))
                for (size_t i = lower_bound(l, path, up); is_path(l, i, path, up); i++)
                        if (is_plain(l->v[i].rule) && contains(l->v[i].rule, rule))
                                return l->v[i].rule;
        return NULL;
}

/* A rule whose every event another reports too, at a higher priority, adds its name only. */
static void lint_contained(struct lint *l, const struct rule *rule)
{
        const struct clause *c = &rule->clause;
        const struct rule *outer;

        /* A mount's events come from marks of its own. */
        if (c->paths.n == 0 || rule->tags.n > 0 || c->scope == SCOPE_MOUNT || c->scope == SCOPE_FILESYSTEM)
                return;
        outer = find_container(l, rule);
        if (outer)
                diag_add(
                        l->diag, DIAG_WARNING, c->source.file, c->source.line,
                        "watch \"%s\" adds only its name: watch \"%s\" (%s:%u) reports all of it at a higher priority",
                        c->name, outer->clause.name, outer->clause.source.file, outer->clause.source.line);
}

void rules_lint(const struct rules *rules, struct diag *diag)
{
        struct lint l = { .rules = rules, .diag = diag };

        if (collect(&l)) {
                for (size_t i = 0; i < rules->n_watches; i++) {
                        lint_watch(diag, &rules->watches[i]);
                        lint_contained(&l, &rules->watches[i]);
                }
                for (size_t i = 0; i < rules->n_ignores; i++) {
                        lint_ignore(diag, &rules->ignores[i]);
                        lint_swallowed(&l, &rules->ignores[i]);
                        lint_overlap(&l, &rules->ignores[i]);
                }
                for (size_t i = 0; i < rules->n_actor_sets; i++)
                        lint_actor_set(diag, &rules->actor_sets[i]);
                lint_nothing_left(&l);
                lint_patterns(&l);
                diag_sort(diag);
        } else
                diag->out_of_memory = true;
        free(l.v);
        free(l.swallowed);
}
