/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes → clauses: the keys of watch rules, ignores, excepts and actors. */

#include "rules_build.h"

/* What a key of a rule, an ignore or an except sets. */
struct target {
        struct builder *builder;
        enum clause_kind kind;
        struct clause *clause;
        struct rule *rule; /* of a watch, else NULL */
        bool enabled;
        struct clause_keys given;
        const struct conf_node *events; /* read last: what they mean depends on the scope */
};

static void read_clause(struct builder *b, const struct conf_node *node, struct target *t);

/* Actors */

/* An index as for actors_key(), or N_ACTOR_KEYS. */
static size_t find_actor_key(const char *name)
{
        size_t key = 0;

        while (key < N_ACTOR_KEYS && !streq(actors_key_name(key), name))
                key++;
        return key;
}

static void note_references(struct builder *b, const struct conf_node *node, const struct strings *names)
{
        struct conf_reader *r = &b->reader;
        const char *place = r->inner_kind
                                    ? arena_printf(r->arena, "%s \"%s\", %s", r->kind, r->name, r->inner_kind)
                                    : arena_printf(r->arena, "%s \"%s\"", r->kind, r->name);

        if (!place) {
                conf_no_memory(r);
                return;
        }
        for (size_t i = 0; i < names->n; i++)
                VECTOR_ADD(b, b->references,
                           (struct reference){ .name = names->v[i], .source = node->source, .place = place });
}

static void read_actor(struct builder *b, const struct conf_node *node, size_t key, struct actors *actors)
{
        struct strings *values = actors_key(actors, key);

        if (!conf_read_strings(&b->reader, node, rules_actor_takes_numbers(key) ? CONF_NUMBERS_TOO : 0,
                               rules_check_actor(key), values))
                return;
        if (values == &actors->actor)
                note_references(b, node, values);
}

static void complain_unknown_actor_key(struct conf_reader *r, const struct conf_node *node)
{
        const char *names[N_ACTOR_KEYS];

        for (size_t key = 0; key < N_ACTOR_KEYS; key++)
                names[key] = actors_key_name(key);
        conf_complain(r, &node->source,
                      "unknown key \"%s\"%s: known here are exe, comm, user, group, login, unit, "
                      "container, ancestor, actor",
                      node->name, conf_hint(r, node->name, names, N_ACTOR_KEYS));
}

/* A group that holds nothing but conditions on who did it. */
static void read_actors(struct builder *b, const struct conf_node *node, struct actors *actors)
{
        struct conf_reader *r = &b->reader;

        if (node->kind != CONF_GROUP) {
                conf_complain(r, &node->source, "a group is expected, as in { user = \"root\"; }, not %s",
                              conf_kind_name(node->kind));
                return;
        }
        if (node->n_children == 0)
                conf_complain(r, &node->source, "the group is empty: it says nothing about who");
        for (size_t i = 0; i < node->n_children; i++) {
                size_t key = find_actor_key(node->children[i].name);

                if (key == N_ACTOR_KEYS) {
                        complain_unknown_actor_key(r, &node->children[i]);
                        continue;
                }
                r->key = node->children[i].name;
                read_actor(b, &node->children[i], key, actors);
                r->key = NULL;
        }
}

/* Keys of clauses */

static void read_path(struct target *t, const struct conf_node *node)
{
        t->given.path = true;
        conf_read_strings(&t->builder->reader, node, 0, rules_check_path, &t->clause->paths);
}

static void read_scope(struct target *t, const struct conf_node *node)
{
        const char *names[N_SCOPES];
        size_t scope;

        for (size_t i = 0; i < N_SCOPES; i++)
                names[i] = scope_name((enum scope)i);
        if (!conf_read_choice(&t->builder->reader, node, names, N_SCOPES, &scope))
                return;
        t->clause->scope = (enum scope)scope;
        t->clause->scope_given = true;
}

static void read_match(struct target *t, const struct conf_node *node)
{
        conf_read_strings(&t->builder->reader, node, 0, rules_check_pattern, &t->clause->match);
}

static void read_type(struct target *t, const struct conf_node *node)
{
        if (rules_read_types(&t->builder->reader, node, &t->clause->types))
                t->clause->types_given = true;
}

static void read_events(struct target *t, const struct conf_node *node)
{
        t->events = node;
}

static void read_until(struct target *t, const struct conf_node *node)
{
        static const char *const names[] = { "modified" };
        size_t ignored;

        if (conf_read_choice(&t->builder->reader, node, names, ELEMENTSOF(names), &ignored))
                t->clause->until_modified = true;
}

static void read_enabled(struct target *t, const struct conf_node *node)
{
        conf_read_bool(&t->builder->reader, node, &t->enabled);
}

static void read_priority(struct target *t, const struct conf_node *node)
{
        rules_read_priority(&t->builder->reader, node, &t->rule->priority);
}

static void read_coalesce(struct target *t, const struct conf_node *node)
{
        conf_read_duration(&t->builder->reader, node, &t->rule->coalesce_usec);
}

static void read_limit(struct target *t, const struct conf_node *node)
{
        if (conf_read_rate(&t->builder->reader, node, &t->rule->limit_count, &t->rule->limit_usec))
                t->rule->limit_given = true;
}

static void read_placement(struct target *t, const struct conf_node *node)
{
        static const char *const names[] = { "auto", "filesystem", "directories" };
        size_t placement;

        if (conf_read_choice(&t->builder->reader, node, names, ELEMENTSOF(names), &placement))
                t->rule->placement = (enum placement)(PLACEMENT_AUTO + placement);
}

static void read_tags(struct target *t, const struct conf_node *node)
{
        conf_read_strings(&t->builder->reader, node, 0, rules_check_tag, &t->rule->tags);
}

static void read_always(struct target *t, const struct conf_node *node)
{
        conf_read_bool(&t->builder->reader, node, &t->rule->always);
}

static void read_only(struct target *t, const struct conf_node *node)
{
        struct conf_reader *r = &t->builder->reader;

        r->inner_kind = "only";
        r->key = NULL;
        t->rule->only_source = node->source;
        read_actors(t->builder, node, &t->rule->only);
        r->inner_kind = NULL;
}

/* except = [ "*.swp", "*~" ]: one nameless clause of patterns. */
static bool read_except_patterns(struct target *t, const struct conf_node *node, struct clause *except)
{
        *except = (struct clause){
                .name = "except", .source = node->source, .scope = SCOPE_TREE, .events = EV_RULE_ALL
        };
        return conf_read_strings(&t->builder->reader, node, 0, rules_check_pattern, &except->match);
}

static bool read_except_group(struct target *t, const struct conf_node *node, struct clause *except)
{
        struct conf_reader *r = &t->builder->reader;
        struct target inner = { .builder = t->builder, .kind = CLAUSE_EXCEPT, .clause = except };

        r->inner_kind = "except";
        r->inner_name = node->name;
        r->key = NULL;
        read_clause(t->builder, node, &inner);
        r->inner_kind = r->inner_name = NULL;
        return inner.enabled;
}

static int compare_clauses(const void *a, const void *b)
{
        return strcmp(((const struct clause *)a)->name, ((const struct clause *)b)->name);
}

static void read_except(struct target *t, const struct conf_node *node)
{
        struct conf_reader *r = &t->builder->reader;
        bool groups = node->kind == CONF_GROUP;
        size_t n = groups ? node->n_children : 1;
        struct clause *excepts = arena_alloc_array(r->arena, n, sizeof(*excepts));

        if (!excepts) {
                conf_no_memory(r);
                return;
        }
        if (n == 0)
                conf_complain(r, &node->source, "the group is empty: leave the key out");
        n = 0;
        if (groups) {
                for (size_t i = 0; i < node->n_children; i++)
                        n += read_except_group(t, &node->children[i], &excepts[n]);
                if (n > 1)
                        qsort(excepts, n, sizeof(*excepts), compare_clauses);
        } else
                n = read_except_patterns(t, node, excepts);
        t->rule->excepts = excepts;
        t->rule->n_excepts = n;
}

#define IN_WATCH (1u << CLAUSE_WATCH)
#define IN_IGNORE (1u << CLAUSE_IGNORE)
#define IN_EXCEPT (1u << CLAUSE_EXCEPT)
#define IN_ALL (IN_WATCH | IN_IGNORE | IN_EXCEPT)

static const struct key {
        const char *name;
        unsigned where;
        void (*read)(struct target *t, const struct conf_node *node);
} keys[] = {
        { "path", IN_ALL, read_path },
        { "scope", IN_ALL, read_scope },
        { "match", IN_ALL, read_match },
        { "type", IN_ALL, read_type },
        { "events", IN_ALL, read_events },
        { "enabled", IN_ALL, read_enabled },
        { "until", IN_IGNORE, read_until },
        { "priority", IN_WATCH, read_priority },
        { "coalesce", IN_WATCH, read_coalesce },
        { "limit", IN_WATCH, read_limit },
        { "placement", IN_WATCH, read_placement },
        { "tags", IN_WATCH, read_tags },
        { "always", IN_WATCH, read_always },
        { "only", IN_WATCH, read_only },
        { "except", IN_WATCH, read_except },
};

static const struct key *find_key(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (streq(keys[i].name, name))
                        return &keys[i];
        return NULL;
}

bool rules_is_key(const char *name)
{
        return find_key(name) || find_actor_key(name) < N_ACTOR_KEYS;
}

/* A key that is not one here: perhaps it is one elsewhere. */
static void complain_unknown_key(struct conf_reader *r, const struct conf_node *node, enum clause_kind kind)
{
        const char *names[ELEMENTSOF(keys) + N_ACTOR_KEYS];
        size_t n = 0;

        if (kind == CLAUSE_WATCH && find_actor_key(node->name) < N_ACTOR_KEYS) {
                conf_complain(r, &node->source,
                              "\"%s\" says who did it: put it into only: { %s = ...; } to report nobody "
                              "else, or into except: { ... }",
                              node->name, node->name);
                return;
        }
        if (find_key(node->name)) {
                conf_complain(r, &node->source, "\"%s\" is a key of %s", node->name,
                              find_key(node->name)->where & IN_WATCH ? "watch rules only" : "ignores only");
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (keys[i].where & (1u << kind))
                        names[n++] = keys[i].name;
        for (size_t key = 0; key < N_ACTOR_KEYS; key++)
                names[n++] = actors_key_name(key);
        conf_complain(r, &node->source, "unknown key \"%s\"%s", node->name,
                      conf_hint(r, node->name, names, n));
}

static void read_key(struct target *t, const struct conf_node *node)
{
        struct conf_reader *r = &t->builder->reader;
        const struct key *key = find_key(node->name);
        size_t actor_key = t->kind == CLAUSE_WATCH ? N_ACTOR_KEYS : find_actor_key(node->name);

        if (actor_key == N_ACTOR_KEYS && (!key || !(key->where & (1u << t->kind)))) {
                complain_unknown_key(r, node, t->kind);
                t->given.unknown = true;
                return;
        }
        t->given.n_conditions += !key || key->read != read_enabled;
        r->key = node->name;
        if (actor_key < N_ACTOR_KEYS)
                read_actor(t->builder, node, actor_key, &t->clause->actors);
        else
                key->read(t, node);
        r->key = NULL;
}

static void read_clause(struct builder *b, const struct conf_node *node, struct target *t)
{
        struct conf_reader *r = &b->reader;
        struct clause *c = t->clause;

        *c = (struct clause){ .name = arena_strdup(r->arena, node->name),
                              .source = node->source,
                              .scope = SCOPE_TREE,
                              .types = t->kind == CLAUSE_WATCH ? TYPE_DEFAULT : 0 };
        t->enabled = true;
        if (!c->name) {
                conf_no_memory(r);
                return;
        }
        rules_check_name(r, node);
        if (node->kind != CONF_GROUP) {
                conf_complain(r, &node->source, "a group is expected, as in %s: { path = \"...\"; };, not %s",
                              node->name, conf_kind_name(node->kind));
                t->enabled = false;
                return;
        }
        for (size_t i = 0; i < node->n_children; i++)
                read_key(t, &node->children[i]);

        r->key = t->events ? "events" : NULL;
        rules_read_events(r, t->events, t->kind, c);
        r->key = NULL;
        rules_check_clause(r, t->kind, &t->given, c);
        if (t->kind != CLAUSE_WATCH && c->types == TYPE_ALL)
                c->types = 0; /* every type is no condition */
}

void rules_read_watch(struct builder *b, const struct conf_node *node)
{
        struct parsed_watch w = { .rule = { .priority = RULE_DEFAULT_PRIORITY,
                                            .coalesce_usec = COALESCE_UNSET } };
        struct target t = { .builder = b, .kind = CLAUSE_WATCH, .clause = &w.rule.clause, .rule = &w.rule };

        read_clause(b, node, &t);
        w.enabled = t.enabled;
        VECTOR_ADD(b, b->watches, w);
}

void rules_read_ignore(struct builder *b, const struct conf_node *node)
{
        struct parsed_ignore i = {};
        struct target t = { .builder = b, .kind = CLAUSE_IGNORE, .clause = &i.clause };

        read_clause(b, node, &t);
        i.enabled = t.enabled;
        VECTOR_ADD(b, b->ignores, i);
}

void rules_read_actor_set(struct builder *b, const struct conf_node *node)
{
        struct conf_reader *r = &b->reader;
        struct actor_set set = { .name = arena_strdup(r->arena, node->name), .source = node->source };

        if (!set.name) {
                conf_no_memory(r);
                return;
        }
        rules_check_name(r, node);
        read_actors(b, node, &set.actors);
        if (set.actors.actor.n > 0) {
                conf_complain(r, &node->source,
                              "a set of actors cannot refer to another: list the values here");
                set.actors.actor = (struct strings){};
        }
        VECTOR_ADD(b, b->sets, set);
}
