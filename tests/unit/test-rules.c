/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdio.h>

#include "rules.h"
#include "strbuf.h"

/* Files as pairs of name and text; the result is written to rules or the errors to diag. */
static int parse_files(const char *const (*files)[2], size_t n, struct diag *diag, struct rules **ret)
{
        struct conf_text texts[8];

        for (size_t i = 0; i < n; i++)
                texts[i] = (struct conf_text){ .name = (char *)files[i][0],
                                               .text = (char *)files[i][1],
                                               .len = strlen(files[i][1]) };
        return rules_parse(texts, n, diag, ret);
}

/* One good file. */
static struct rules *parse(const char *text)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct rules *rules = NULL;
        const char *const files[][2] = { { "x.conf", text } };
        int r = parse_files(files, 1, &diag, &rules);

        if (r < 0)
                fail_msg("%s", diag.n_entries > 0 ? diag.entries[0].text : "no reason");
        assert_int_equal(diag.n_entries, 0);
        return rules;
}

static void assert_strings(const struct strings *s, const char *joined)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;

        for (size_t i = 0; i < s->n; i++)
                strbuf_addf(&b, "%s%s", i ? " " : "", s->v[i]);
        assert_string_equal(strbuf_str(&b), joined);
}

static void test_empty(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_(rules_freep) struct rules *none = NULL, *empty = parse("");
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;

        assert_int_equal(rules_parse(NULL, 0, &diag, &none), 0);
        assert_int_equal(none->n_watches + none->n_ignores + none->n_actor_sets, 0);
        assert_int_equal(empty->n_watches + empty->n_ignores + empty->n_actor_sets, 0);
        rules_print(none, true, &text);
        assert_int_equal(text.len, 0);
        rules_free(NULL);
}

static void test_defaults(void **state)
{
        _cleanup_(rules_freep) struct rules *rules = parse(
                "\n watch: { etc: { path = \"/etc/\"; except = \"*~\"; }; };\nignore: { x: { path = \"/x\"; }; };");
        const struct rule *w = &rules->watches[0];
        const struct clause *e = &w->excepts[0], *i = &rules->ignores[0];

        assert_int_equal(rules->n_watches, 1);
        assert_string_equal(w->clause.name, "etc");
        assert_string_equal(w->clause.source.file, "x.conf");
        assert_int_equal(w->clause.source.line, 2);
        assert_strings(&w->clause.paths, "/etc");
        assert_int_equal(w->clause.scope, SCOPE_TREE);
        assert_int_equal(w->clause.events, EV_CHANGE);
        assert_int_equal(w->clause.types, TYPE_DEFAULT);
        assert_false(w->clause.scope_given || w->clause.events_given || w->clause.types_given);
        assert_true(actors_empty(&w->clause.actors) && actors_empty(&w->only));
        assert_int_equal(w->priority, 5);
        assert_true(w->coalesce_usec == COALESCE_UNSET);
        assert_false(w->limit_given || w->always);
        assert_int_equal(w->placement, PLACEMENT_UNSET);
        assert_int_equal(w->tags.n, 0);

        assert_int_equal(w->n_excepts, 1);
        assert_string_equal(e->name, "except");
        assert_int_equal(e->paths.n, 0);
        assert_strings(&e->match, "*~");
        assert_int_equal(e->events, EV_RULE_ALL);
        assert_int_equal(e->types, 0);

        assert_int_equal(rules->n_ignores, 1);
        assert_int_equal(i->source.line, 3);
        assert_int_equal(i->events, EV_RULE_ALL);
        assert_int_equal(i->types, 0);
        assert_int_equal(i->scope, SCOPE_TREE);
        assert_false(i->until_modified);
}

static void test_values(void **state)
{
        _cleanup_(rules_freep) struct rules *rules = parse(
                "watch: { w: {\n"
                "  path = [ \"/b\", \"/a\", \"/b/\" ]; scope = \"directory\"; match = [ \"x\", \"*.y\" ];\n"
                "  type = [ \"fifo\", \"file\" ]; events = [ \"saved\", \"open\" ]; priority = \"crit\";\n"
                "  coalesce = \"2s\"; limit = \"10/1min\"; placement = \"directories\"; tags = [ \"t\", \"s\" ];\n"
                "  always = true;\n"
                "  only: { user = 0; group = [ 7, 5 ]; exe = \"/bin//sh\"; actor = \"set\"; };\n"
                "  except: { one: { user = \"@owner\"; path = \"/a/x\"; }; };\n"
                "}; };\n"
                "actors: { set: { comm = \"c*\"; login = \"none\"; }; };\n"
                "ignore: { f: { path = \"/f\"; scope = \"file\"; until = \"modified\"; container = \"*\"; }; };");
        const struct rule *w = &rules->watches[0];
        const struct clause *i = &rules->ignores[0];

        assert_strings(&w->clause.paths, "/a /b"); /* a set: sorted, each once */
        assert_strings(&w->clause.match, "*.y x");
        assert_int_equal(w->clause.scope, SCOPE_DIRECTORY);
        assert_int_equal(w->clause.types, TYPE_FIFO | TYPE_FILE);
        assert_int_equal(w->clause.events, EV_SAVED | EV_OPEN);
        assert_int_equal(w->priority, 2);
        assert_true(w->coalesce_usec == 2000000);
        assert_true(w->limit_given && w->limit_count == 10 && w->limit_usec == 60000000);
        assert_int_equal(w->placement, PLACEMENT_DIRECTORIES);
        assert_strings(&w->tags, "s t");
        assert_true(w->always);
        assert_strings(&w->only.user, "0");
        assert_strings(&w->only.group, "5 7");
        assert_strings(&w->only.exe, "/bin/sh");
        assert_strings(&w->only.actor, "set");
        assert_int_equal(w->only_source.line, 6);
        assert_string_equal(w->excepts[0].name, "one");
        assert_int_equal(w->excepts[0].source.line, 7);
        assert_strings(&w->excepts[0].actors.user, "@owner");
        assert_strings(&rules->actor_sets[0].actors.login, "none");
        assert_true(i->until_modified);
        assert_strings(&i->actors.container, "*");
}

/* What `events` comes to in each scope. */
static void test_scopes(void **state)
{
        static const struct {
                const char *keys;
                uint32_t events;
        } cases[] = {
                { "", EV_CHANGE },
                { "scope = \"mount\";", EV_MODIFY | EV_CLOSE_WRITE },
                { "scope = \"mount\"; events = \"saved\";", EV_CLOSE_WRITE },
                { "scope = \"mount\"; events = \"all\";", EV_MOUNT_SCOPE },
                { "events = \"all\";", EV_RULE_ALL & ~(EV_DELETE_SELF | EV_MOVE_SELF | EV_FS_ERROR) },
                { "events = \"all\"; scope = \"file\";", EV_RULE_ALL & ~EV_FS_ERROR },
                { "events = \"all\"; scope = \"directory\";", EV_RULE_ALL & ~EV_FS_ERROR },
                { "events = \"all\"; scope = \"filesystem\";",
                  EV_RULE_ALL & ~(EV_DELETE_SELF | EV_MOVE_SELF) },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
                _cleanup_(rules_freep) struct rules *rules = NULL;

                strbuf_addf(&b, "watch: { w: { path = \"/p\"; %s }; };", cases[i].keys);
                rules = parse(strbuf_str(&b));
                assert_int_equal(rules->watches[0].clause.events, cases[i].events);
        }
}

static void test_disabled(void **state)
{
        _cleanup_(rules_freep) struct rules *rules = parse(
                "watch: { a: { path = \"/a\"; enabled = false; };\n"
                "  b: { path = \"/b\"; enabled = true; except: { x: { match = \"x\"; enabled = false; };\n"
                "    y: { match = \"y\"; }; }; }; };\n"
                "ignore: { c: { path = \"/c\"; enabled = false; }; };");

        assert_int_equal(rules->n_watches, 1);
        assert_string_equal(rules->watches[0].clause.name, "b");
        assert_int_equal(rules->watches[0].index, 0);
        assert_int_equal(rules->watches[0].n_excepts, 1);
        assert_string_equal(rules->watches[0].excepts[0].name, "y");
        assert_int_equal(rules->n_ignores, 0);
}

static const char *const three_files[][2] = {
        { "10.conf", "watch: { b: { path = \"/b\"; only: { actor = \"s\"; }; }; };" },
        { "20.conf", "watch: { a: { path = [ \"/2\", \"/1\" ]; }; c: { path = \"/c\"; }; };" },
        { "30.conf",
          "actors: { s: { comm = \"x\"; }; }; ignore: { z: { path = \"/z\"; }; y: { path = \"/y\"; }; };" },
};

static void test_order(void **state)
{
        static const size_t orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 } };
        _cleanup_free_ char *first = NULL;

        for (size_t i = 0; i < ELEMENTSOF(orders); i++) {
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
                _cleanup_(rules_freep) struct rules *rules = NULL;
                const char *files[3][2];

                for (size_t j = 0; j < 3; j++)
                        memcpy(files[j], three_files[orders[i][j]], sizeof(files[j]));
                assert_int_equal(parse_files((const char *const(*)[2])files, 3, &diag, &rules), 0);
                for (size_t j = 0; j < 3; j++) {
                        assert_int_equal(rules->watches[j].clause.name[0], 'a' + (int)j);
                        assert_int_equal(rules->watches[j].index, j);
                }
                assert_string_equal(rules->ignores[0].name, "y");
                rules_print(rules, false, &text);
                if (i == 0)
                        first = strbuf_steal(&text);
                else
                        assert_string_equal(strbuf_str(&text), first);
        }
}

/* All errors of all files in one run; nothing is written. */
static void test_errors(void **state)
{
        static const char *const files[][2] = {
                { "b.conf", "watch: { x: { path = \"rel\"; };\n y: { evnts = 1; }; };" },
                { "c.conf", "watch: { x: { path = \"/x\"; }; };\nnonsense = 1" },
                { "a.conf", "watch: {\n x { } };" },
        };
        static const struct {
                const char *file;
                unsigned line;
        } found[] = { { "a.conf", 2 }, { "b.conf", 1 }, { "b.conf", 2 }, { "c.conf", 1 }, { "c.conf", 2 } };
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct rules *rules = NULL;

        assert_int_equal(parse_files(files, 3, &diag, &rules), -EINVAL);
        assert_null(rules);
        assert_int_equal(diag.n_errors, ELEMENTSOF(found));
        for (size_t i = 0; i < ELEMENTSOF(found); i++) {
                assert_string_equal(diag.entries[i].file, found[i].file);
                assert_int_equal(diag.entries[i].line, found[i].line);
        }
        assert_string_equal(diag.entries[3].text, "watch \"x\": the name is taken: b.conf:1 has it already");
}

static void test_print_sources(void **state)
{
        _cleanup_(rules_freep) struct rules *rules = parse(
                "watch: { a: { path = \"/a\"; }; };\nignore: { b: { path = \"/b\"; match = \"x\"; }; };");
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;

        rules_print(rules, true, &text);
        assert_string_equal(strbuf_str(&text),
                            "watch: {\n  # x.conf:1\n  a: {\n    path = [ \"/a\" ];\n  };\n};\n"
                            "ignore: {\n  # x.conf:2\n  b: {\n    path = [ \"/b\" ];\n"
                            "    match = [ \"x\" ];\n  };\n};\n");
}

static void test_compare(void **state)
{
        _cleanup_(rules_freep) struct rules *before = parse(
                "watch: { a: { path = \"/a\"; }; b: { path = \"/b\"; events = \"change\"; };\n"
                " c: { path = \"/c\"; }; };\n"
                "ignore: { a: { path = \"/a\"; }; };\nactors: { s: { comm = \"x\"; }; };");
        _cleanup_(rules_freep) struct rules *after = parse(
                "actors: { s: { comm = \"y\"; }; };\n"
                "watch: { d: { path = \"/d\"; }; c: { path = \"/c\"; priority = \"err\"; };\n"
                " b: { path = [ \"/b/\" ]; }; };");
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct rules_diff diff = { .text = &text };

        rules_compare(before, after, &diff);
        assert_string_equal(strbuf_str(&text), "- watch a\n~ watch c\n+ watch d\n- ignore a\n~ actors s\n");
        assert_int_equal(diff.added, 1);
        assert_int_equal(diff.removed, 2);
        assert_int_equal(diff.changed, 2);

        diff.text = NULL;
        rules_compare(NULL, after, &diff);
        assert_int_equal(diff.added, 4);
        rules_compare(before, NULL, &diff);
        assert_int_equal(diff.removed, 5);
        assert_int_equal(diff.added + diff.changed, 0);
        rules_compare(after, after, &diff);
        assert_int_equal(diff.added + diff.removed + diff.changed, 0);
}

static void test_names(void **state)
{
        static const char *const keys[] = { "exe",  "comm",      "user",     "group", "login",
                                            "unit", "container", "ancestor", "actor" };
        struct actors a = {};

        for (size_t i = 0; i < N_ACTOR_KEYS; i++) {
                assert_string_equal(actors_key_name(i), keys[i]);
                assert_true(actors_empty(&a));
                actors_key(&a, i)->n = 1;
                assert_false(actors_empty(&a));
                actors_key(&a, i)->n = 0;
        }
        assert_string_equal(scope_name(SCOPE_FILESYSTEM), "filesystem");
        assert_string_equal(placement_name(PLACEMENT_DIRECTORIES), "directories");
        assert_string_equal(priority_name(1), "alert");
        assert_string_equal(priority_name(7), "debug");
}

/* 10,000 rules in 10 files, and what a thousand of them take in memory. */
static void test_many(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_(rules_freep) struct rules *rules = NULL;
        struct strbuf texts[10] = {};
        struct conf_text files[10];
        char name[] = "x.conf";

        for (size_t f = 0; f < 10; f++) {
                strbuf_adds(&texts[f], "watch: {\n");
                for (size_t i = 0; i < 1000; i++)
                        strbuf_addf(
                                &texts[f],
                                "rule-%zu-%zu: { path = \"/srv/customers/%zu/%zu\"; "
                                "match = [ \"*.php\", \".htaccess\" ]; "
                                "priority = \"warning\"; tags = \"web\"; };\n",
                                f, i, f, i);
                strbuf_adds(&texts[f], "};\n");
                files[f] = (struct conf_text){ .name = name, .text = texts[f].data, .len = texts[f].len };
        }
        assert_int_equal(rules_parse(files, 10, &diag, &rules), 0);
        assert_int_equal(rules->n_watches, 10000);
        assert_true(arena_used(rules->arena) < 10 * 1000 * 1000);
        rules_lint(rules, &diag);
        assert_int_equal(diag.n_entries, 0);
        for (size_t f = 0; f < 10; f++)
                strbuf_done(&texts[f]);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_empty),    cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_values),   cmocka_unit_test(test_scopes),
                cmocka_unit_test(test_disabled), cmocka_unit_test(test_order),
                cmocka_unit_test(test_errors),   cmocka_unit_test(test_print_sources),
                cmocka_unit_test(test_compare),  cmocka_unit_test(test_names),
                cmocka_unit_test(test_many),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
