/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files → a rule set: sections of a file, names across files, the finished set. */

#include <errno.h>

#include "rules_build.h"
#include "settings.h"

bool rules_vector_grow(struct builder *b, void **v, size_t n, size_t *cap, size_t size)
{
        size_t wanted = *cap ? *cap * 2 : 16;
        void *larger;

        if (n < *cap)
                return true;
        larger = reallocarray(*v, wanted, size);
        if (!larger)
                return conf_no_memory(&b->reader);
        *v = larger;
        *cap = wanted;
        return true;
}

static void builder_done(struct builder *b)
{
        free(b->watches.v);
        free(b->ignores.v);
        free(b->sets.v);
        free(b->references.v);
}

static const struct {
        const char *name, *kind, *example;
        void (*read)(struct builder *b, const struct conf_node *node);
} sections[] = {
        { "watch", "watch", "watch: { etc: { path = \"/etc\"; }; };", rules_read_watch },
        { "ignore", "ignore", "ignore: { cache: { path = \"/var/cache\"; }; };", rules_read_ignore },
        { "actors", "actors", "actors: { packages: { ancestor = \"/usr/bin/dpkg\"; }; };",
          rules_read_actor_set },
};

static void complain_unknown_section(struct conf_reader *r, const struct conf_node *node)
{
        static const char *const names[] = { "watch", "ignore", "actors" };
        size_t n_settings;
        const char *const *settings = settings_names(&n_settings);

        for (size_t i = 0; i < n_settings; i++)
                if (streq(settings[i], node->name)) {
                        conf_complain(r, &node->source,
                                      "\"%s\" is a setting of the daemon: it belongs into "
                                      "fawatchd.conf, not into a rule file%s",
                                      node->name, rules_is_key(node->name) ? ", or into a watch rule" : "");
                        return;
                }
        if (rules_is_key(node->name)) {
                conf_complain(r, &node->source, "\"%s\" stands outside of a rule: %s", node->name,
                              sections[0].example);
                return;
        }
        conf_complain(r, &node->source, "unknown name \"%s\"%s: a rule file holds watch, ignore and actors",
                      node->name, conf_hint(r, node->name, names, ELEMENTSOF(names)));
}

static void read_section(struct builder *b, const struct conf_node *node)
{
        struct conf_reader *r = &b->reader;
        size_t s = 0;

        while (s < ELEMENTSOF(sections) && !streq(sections[s].name, node->name))
                s++;
        if (s == ELEMENTSOF(sections)) {
                complain_unknown_section(r, node);
                return;
        }
        if (node->kind != CONF_GROUP) {
                conf_complain(r, &node->source, "\"%s\" is a group of named entries: %s", node->name,
                              sections[s].example);
                return;
        }
        r->kind = sections[s].kind;
        for (size_t i = 0; i < node->n_children; i++) {
                r->name = node->children[i].name;
                sections[s].read(b, &node->children[i]);
        }
        r->kind = r->name = NULL;
}

/* The tree lives for one file only; what outlives it is copied into the rule set's arena. */
static int read_file(struct builder *b, const struct conf_text *file)
{
        _cleanup_(arena_freep) struct arena *tree = arena_new();
        struct conf_text named = *file;
        const struct conf_node *root;
        int r;

        if (!tree)
                return -ENOMEM;
        named.name = arena_strdup(b->reader.arena, file->name);
        if (!named.name)
                return -ENOMEM;
        r = conftree_parse(&named, tree, b->reader.diag, &root);
        if (r < 0)
                return r;
        for (size_t i = 0; i < root->n_children; i++)
                read_section(b, &root->children[i]);
        return 0;
}

/* The whole set */

/* By name, then by place, so that of two with one name the later is the wrong one. */
static int compare_clauses(const struct clause *a, const struct clause *b)
{
        int order = strcmp(a->name, b->name);

        if (order == 0)
                order = strcmp(a->source.file, b->source.file);
        if (order == 0)
                order = a->source.line < b->source.line ? -1 : a->source.line > b->source.line;
        return order;
}

static int compare_watches(const void *a, const void *b)
{
        return compare_clauses(&((const struct parsed_watch *)a)->rule.clause,
                               &((const struct parsed_watch *)b)->rule.clause);
}

static int compare_ignores(const void *a, const void *b)
{
        return compare_clauses(&((const struct parsed_ignore *)a)->clause,
                               &((const struct parsed_ignore *)b)->clause);
}

static int compare_sets(const void *left, const void *right)
{
        const struct actor_set *a = left, *b = right;

        return compare_clauses(&(struct clause){ .name = a->name, .source = a->source },
                               &(struct clause){ .name = b->name, .source = b->source });
}

static void sort(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
        if (n > 1)
                qsort(v, n, size, compare);
}

static void check_duplicate(struct builder *b, const char *kind, const struct source *first,
                            const struct source *again, const char *name)
{
        struct conf_reader *r = &b->reader;

        r->kind = kind;
        r->name = name;
        conf_complain(r, again, "the name is taken: %s:%u has it already", first->file, first->line);
        r->kind = r->name = NULL;
}

static void check_duplicates(struct builder *b)
{
        for (size_t i = 1; i < b->watches.n; i++) {
                const struct clause *x = &b->watches.v[i - 1].rule.clause, *y = &b->watches.v[i].rule.clause;

                if (streq(x->name, y->name))
                        check_duplicate(b, "watch", &x->source, &y->source, y->name);
        }
        for (size_t i = 1; i < b->ignores.n; i++) {
                const struct clause *x = &b->ignores.v[i - 1].clause, *y = &b->ignores.v[i].clause;

                if (streq(x->name, y->name))
                        check_duplicate(b, "ignore", &x->source, &y->source, y->name);
        }
        for (size_t i = 1; i < b->sets.n; i++) {
                const struct actor_set *x = &b->sets.v[i - 1], *y = &b->sets.v[i];

                if (streq(x->name, y->name))
                        check_duplicate(b, "actors", &x->source, &y->source, y->name);
        }
}

static int compare_set_to_name(const void *name, const void *set)
{
        return strcmp(name, ((const struct actor_set *)set)->name);
}

/* Sets are sorted by now. */
static void check_references(struct builder *b)
{
        struct conf_reader *r = &b->reader;
        const char **names = arena_alloc_array(r->arena, b->sets.n, sizeof(*names));

        if (!names) {
                conf_no_memory(r);
                return;
        }
        for (size_t i = 0; i < b->sets.n; i++)
                names[i] = b->sets.v[i].name;
        for (size_t i = 0; i < b->references.n; i++) {
                const struct reference *ref = &b->references.v[i];

                if (b->sets.n > 0 &&
                    bsearch(ref->name, b->sets.v, b->sets.n, sizeof(*b->sets.v), compare_set_to_name))
                        continue;
                r->kind = ref->place;
                conf_complain(r, &ref->source,
                              "no set of actors is named \"%s\"%s: actors: { %s: { exe = ...; }; };",
                              ref->name, conf_hint(r, ref->name, names, b->sets.n), ref->name);
                r->kind = NULL;
        }
}

static int finish(struct builder *b, struct rules **ret)
{
        struct arena *a = b->reader.arena;
        struct rules *rules = arena_alloc(a, sizeof(*rules));
        struct rule *watches = arena_alloc_array(a, b->watches.n, sizeof(*watches));
        struct clause *ignores = arena_alloc_array(a, b->ignores.n, sizeof(*ignores));
        struct actor_set *sets = arena_alloc_array(a, b->sets.n, sizeof(*sets));

        if (!rules || !watches || !ignores || !sets)
                return -ENOMEM;
        *rules = (struct rules){ .arena = a, .watches = watches, .ignores = ignores, .actor_sets = sets };
        for (size_t i = 0; i < b->watches.n; i++) {
                if (!b->watches.v[i].enabled)
                        continue;
                watches[rules->n_watches] = b->watches.v[i].rule;
                watches[rules->n_watches].index = (uint32_t)rules->n_watches;
                rules->n_watches++;
        }
        for (size_t i = 0; i < b->ignores.n; i++)
                if (b->ignores.v[i].enabled)
                        ignores[rules->n_ignores++] = b->ignores.v[i].clause;
        for (size_t i = 0; i < b->sets.n; i++)
                sets[rules->n_actor_sets++] = b->sets.v[i];
        *ret = rules;
        return 0;
}

int rules_parse(const struct conf_text *files, size_t n_files, struct diag *diag, struct rules **ret_rules)
{
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        _cleanup_(builder_done) struct builder b = { .reader = { .arena = arena, .diag = diag } };
        size_t errors_before = diag->n_errors;
        int r;

        if (!arena)
                return -ENOMEM;
        for (size_t i = 0; i < n_files; i++) {
                r = read_file(&b, &files[i]);
                if (r < 0 && r != -EINVAL) /* the other files may hold errors too */
                        return r;
        }
        sort(b.watches.v, b.watches.n, sizeof(*b.watches.v), compare_watches);
        sort(b.ignores.v, b.ignores.n, sizeof(*b.ignores.v), compare_ignores);
        sort(b.sets.v, b.sets.n, sizeof(*b.sets.v), compare_sets);
        check_duplicates(&b);
        check_references(&b);
        diag_sort(diag);
        if (diag->out_of_memory)
                return -ENOMEM;
        if (diag->n_errors > errors_before)
                return -EINVAL;

        r = finish(&b, ret_rules);
        if (r < 0)
                return r;
        arena = NULL; /* the rule set's now */
        return 0;
}
