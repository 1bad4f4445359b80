/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who_rule.h"

#include "paths.h"
#include "pattern.h"

/* How near a rule comes: more is nearer. */
enum nearness {
        ELSEWHERE,    /* scored by how much of the path is the same */
        OUT_OF_SCOPE, /* it stands above the path, but does not reach so deep */
        OTHER_NAMES,  /* its patterns leave the name out */
        TAKEN_OUT,    /* it would, were it not for an ignore or except */
        WATCHES,
};

struct candidate {
        enum nearness nearness;
        size_t common; /* components that path and the rule's path share */
        const struct rule *rule;
        const char *path;
        const struct clause *ignore; /* of TAKEN_OUT */
};

static size_t common_components(const char *a, const char *b)
{
        size_t n = 0;

        for (size_t i = 0;; i++) {
                bool end = (a[i] == '/' || a[i] == '\0') && (b[i] == '/' || b[i] == '\0');

                n += end && i > 0;
                if (a[i] != b[i] || a[i] == '\0')
                        return n;
        }
}

static bool in_scope(enum scope scope, const char *below)
{
        if (!below)
                return false;
        if (scope == SCOPE_FILE)
                return *below == '\0';
        return scope != SCOPE_DIRECTORY || *below == '\0' || !strchr(below + 1, '/');
}

static bool matches_names(const struct strings *patterns, const char *below)
{
        const char *rel = *below == '/' ? below + 1 : below;
        bool found = patterns->n == 0;

        for (size_t i = 0; !found && i < patterns->n; i++) {
                struct pattern p;

                if (pattern_compile(patterns->v[i], &p) < 0)
                        continue;
                found = pattern_match_path(&p, rel, strlen(rel), false);
                pattern_done(&p);
        }
        return found;
}

/* An ignore without conditions on who did it, which leaves none of the events. */
static bool takes_out(const struct clause *ignore, const struct rule *rule, const char *path)
{
        const struct strings *places = ignore->paths.n > 0 ? &ignore->paths : &rule->clause.paths;

        if (!actors_empty(&ignore->actors) || ignore->until_modified || ignore->types != 0 ||
            (ignore->events_given && (rule->clause.events & ~ignore->events)))
                return false;
        for (size_t i = 0; i < places->n; i++) {
                const char *below = path_below(path, places->v[i]);

                if (in_scope(ignore->scope, below) && matches_names(&ignore->match, below))
                        return true;
        }
        return false;
}

static const struct clause *find_ignore(const struct rules *rules, const struct rule *rule, const char *path)
{
        for (size_t i = 0; i < rule->n_excepts; i++)
                if (takes_out(&rule->excepts[i], rule, path))
                        return &rule->excepts[i];
        for (size_t i = 0; !rule->always && i < rules->n_ignores; i++)
                if (takes_out(&rules->ignores[i], rule, path))
                        return &rules->ignores[i];
        return NULL;
}

static struct candidate look(const struct rules *rules, const struct rule *rule, const char *place,
                             const char *path)
{
        const char *below = path_below(path, place);
        struct candidate c = { .rule = rule, .path = place, .common = common_components(path, place) };

        if (!below)
                c.nearness = ELSEWHERE;
        else if (!in_scope(rule->clause.scope, below))
                c.nearness = OUT_OF_SCOPE;
        else if (!matches_names(&rule->clause.match, below))
                c.nearness = OTHER_NAMES;
        else
                c.nearness = (c.ignore = find_ignore(rules, rule, path)) ? TAKEN_OUT : WATCHES;
        return c;
}

static bool is_nearer(const struct candidate *a, const struct candidate *b)
{
        if (!b->rule || a->nearness != b->nearness)
                return !b->rule || a->nearness > b->nearness;
        return a->common > b->common;
}

static void tell(const struct candidate *c, const char *path, struct strbuf *out)
{
        if (!c->rule) {
                strbuf_addf(out, "no rule watches %s: there are no rules", path);
                return;
        }
        strbuf_addf(out, "no rule watches %s; ", path);
        switch (c->nearness) {
        case OUT_OF_SCOPE:
                strbuf_addf(out,
                            "the nearest, %s, watches %s with scope \"%s\", which does not reach so deep",
                            c->rule->clause.name, c->path, scope_name(c->rule->clause.scope));
                break;
        case OTHER_NAMES:
                strbuf_addf(out, "the nearest, %s, watches only some names below %s", c->rule->clause.name,
                            c->path);
                break;
        case TAKEN_OUT:
                strbuf_addf(out, "%s would, but for the ignore %s (%s:%u)", c->rule->clause.name,
                            c->ignore->name, c->ignore->source.file, c->ignore->source.line);
                break;
        case ELSEWHERE:
        case WATCHES:
                strbuf_addf(out, "the nearest, %s, watches %s", c->rule->clause.name, c->path);
                break;
        }
}

bool who_rule_missing(const struct rules *rules, const char *const *paths, size_t n, struct strbuf *out)
{
        struct candidate best = {};

        for (size_t i = 0; i < n; i++)
                for (size_t r = 0; r < rules->n_watches; r++) {
                        const struct strings *places = &rules->watches[r].clause.paths;

                        for (size_t k = 0; k < places->n; k++) {
                                struct candidate c = look(rules, &rules->watches[r], places->v[k], paths[i]);

                                if (is_nearer(&c, &best))
                                        best = c;
                        }
                }
        if (best.rule && best.nearness == WATCHES)
                return false;
        tell(&best, paths[0], out);
        return true;
}
