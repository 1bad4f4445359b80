/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A rule set → its canonical text. */

#include "conf_print.h"
#include "rules_build.h"
#include "strbuf.h"
#include "units.h"

static void indent(unsigned level, struct strbuf *out)
{
        for (unsigned i = 0; i < level; i++)
                strbuf_adds(out, "  ");
}

static void begin(const char *key, unsigned level, struct strbuf *out)
{
        indent(level, out);
        strbuf_addf(out, "%s = ", key);
}

static void print_strings(const char *key, const struct strings *values, unsigned level, struct strbuf *out)
{
        if (values->n == 0)
                return;
        begin(key, level, out);
        conf_print_strings(values, out);
        strbuf_adds(out, ";\n");
}

static void print_word(const char *key, const char *word, unsigned level, struct strbuf *out)
{
        begin(key, level, out);
        strbuf_addf(out, "\"%s\";\n", word);
}

/* The names of the bits of a set, as a list. */
static void print_bits(const char *key, uint32_t bits, const char *(*name)(uint32_t bit), unsigned level,
                       struct strbuf *out)
{
        const char *names[32];
        struct strings list = { .v = names };

        for (unsigned i = 0; i < 32; i++)
                if (bits & (1u << i))
                        names[list.n++] = name(1u << i);
        print_strings(key, &list, level, out);
}

static void print_actor_keys(const struct actors *actors, unsigned level, struct strbuf *out)
{
        for (size_t key = 0; key < N_ACTOR_KEYS; key++)
                print_strings(actors_key_name(key), actors_key_const(actors, key), level, out);
}

/* The keys of a clause, those left out that say what would hold without them. */
static void print_clause(const struct clause *c, enum clause_kind kind, unsigned level, struct strbuf *out)
{
        bool watch = kind == CLAUSE_WATCH;

        print_strings("path", &c->paths, level, out);
        if (c->scope != SCOPE_TREE)
                print_word("scope", scope_name(c->scope), level, out);
        print_strings("match", &c->match, level, out);
        if (c->types != (watch ? TYPE_DEFAULT : 0))
                print_bits("type", c->types, vocab_type_name, level, out);
        if (c->events != (watch ? rules_default_events(c->scope) : EV_RULE_ALL))
                print_bits("events", c->events, vocab_name, level, out);
        if (c->until_modified)
                print_word("until", "modified", level, out);
        print_actor_keys(&c->actors, level, out);
}

/* Can be written as a list of patterns? */
static bool is_pattern_list(const struct rule *rule)
{
        const struct clause *c = rule->excepts;

        return rule->n_excepts == 1 && streq(c->name, "except") && c->match.n > 0 && c->paths.n == 0 &&
               c->scope == SCOPE_TREE && c->types == 0 && c->events == EV_RULE_ALL &&
               actors_empty(&c->actors);
}

/* Something is left when the defaults are left out: an except that was written
 * with a default in full (type = every type) must not become an empty group. */
static bool has_condition(const struct clause *c)
{
        return c->paths.n > 0 || c->match.n > 0 || c->scope != SCOPE_TREE || c->types != 0 ||
               c->events != EV_RULE_ALL || !actors_empty(&c->actors);
}

static void print_excepts(const struct rule *rule, unsigned level, struct strbuf *out)
{
        if (rule->n_excepts == 0)
                return;
        if (is_pattern_list(rule)) {
                print_strings("except", &rule->excepts[0].match, level, out);
                return;
        }
        indent(level, out);
        strbuf_adds(out, "except: {\n");
        for (size_t i = 0; i < rule->n_excepts; i++) {
                const struct clause *c = &rule->excepts[i];

                indent(level + 1, out);
                strbuf_addf(out, "%s: {\n", c->name);
                print_clause(c, CLAUSE_EXCEPT, level + 2, out);
                if (!has_condition(c))
                        print_word("scope", scope_name(c->scope), level + 2, out);
                indent(level + 1, out);
                strbuf_adds(out, "};\n");
        }
        indent(level, out);
        strbuf_adds(out, "};\n");
}

static void print_watch_keys(const struct rule *rule, unsigned level, struct strbuf *out)
{
        if (rule->priority != RULE_DEFAULT_PRIORITY)
                print_word("priority", priority_name(rule->priority), level, out);
        if (rule->coalesce_usec != COALESCE_UNSET) {
                begin("coalesce", level, out);
                strbuf_addc(out, '"');
                units_print_duration(rule->coalesce_usec, out);
                strbuf_adds(out, "\";\n");
        }
        if (rule->limit_given) {
                begin("limit", level, out);
                strbuf_addc(out, '"');
                units_print_rate(rule->limit_count, rule->limit_usec, out);
                strbuf_adds(out, "\";\n");
        }
        if (rule->placement != PLACEMENT_UNSET)
                print_word("placement", placement_name(rule->placement), level, out);
        print_strings("tags", &rule->tags, level, out);
        if (rule->always) {
                begin("always", level, out);
                strbuf_adds(out, "true;\n");
        }
        if (!actors_empty(&rule->only)) {
                indent(level, out);
                strbuf_adds(out, "only: {\n");
                print_actor_keys(&rule->only, level + 1, out);
                indent(level, out);
                strbuf_adds(out, "};\n");
        }
        print_excepts(rule, level, out);
}

static void open_group(const char *name, struct strbuf *out)
{
        strbuf_addf(out, "  %s: {\n", name);
}

static void close_group(struct strbuf *out)
{
        strbuf_adds(out, "  };\n");
}

void rules_print_watch(const struct rule *rule, struct strbuf *out)
{
        open_group(rule->clause.name, out);
        print_clause(&rule->clause, CLAUSE_WATCH, 2, out);
        print_watch_keys(rule, 2, out);
        close_group(out);
}

void rules_print_ignore(const struct clause *ignore, struct strbuf *out)
{
        open_group(ignore->name, out);
        print_clause(ignore, CLAUSE_IGNORE, 2, out);
        close_group(out);
}

void rules_print_actors(const struct actor_set *set, struct strbuf *out)
{
        open_group(set->name, out);
        print_actor_keys(&set->actors, 2, out);
        close_group(out);
}

/* A comment: any byte but those that are text would end it or hide something. */
static void print_source(const struct source *source, struct strbuf *out)
{
        strbuf_adds(out, "  # ");
        conf_print_text(source->file, strlen(source->file), out);
        strbuf_addf(out, ":%u\n", source->line);
}

void rules_print(const struct rules *rules, bool with_sources, struct strbuf *out)
{
        if (rules->n_watches > 0) {
                strbuf_adds(out, "watch: {\n");
                for (size_t i = 0; i < rules->n_watches; i++) {
                        if (with_sources)
                                print_source(&rules->watches[i].clause.source, out);
                        rules_print_watch(&rules->watches[i], out);
                }
                strbuf_adds(out, "};\n");
        }
        if (rules->n_ignores > 0) {
                strbuf_adds(out, "ignore: {\n");
                for (size_t i = 0; i < rules->n_ignores; i++) {
                        if (with_sources)
                                print_source(&rules->ignores[i].source, out);
                        rules_print_ignore(&rules->ignores[i], out);
                }
                strbuf_adds(out, "};\n");
        }
        if (rules->n_actor_sets > 0) {
                strbuf_adds(out, "actors: {\n");
                for (size_t i = 0; i < rules->n_actor_sets; i++) {
                        if (with_sources)
                                print_source(&rules->actor_sets[i].source, out);
                        rules_print_actors(&rules->actor_sets[i], out);
                }
                strbuf_adds(out, "};\n");
        }
}
