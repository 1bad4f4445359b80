/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "leads.h"

/* What a test compares: rules, and two worlds. */
struct scene {
        struct rules *rules;
        struct world *worlds[2];
        struct leads *leads[2];
};

static struct world *parse_world(const char *text)
{
        struct diag diag = DIAG_NULL;
        struct world *w = NULL;

        assert_int_equal(world_parse_text(text, strlen(text), &diag, &w), 0);
        diag_done(&diag);
        return w;
}

static struct scene open_scene(const char *rules, const char *before, const char *after)
{
        struct conf_text text = { .name = (char *)"test", .text = (char *)rules, .len = strlen(rules) };
        struct diag diag = DIAG_NULL;
        struct scene s = { .worlds = { parse_world(before), parse_world(after ? after : before) } };

        assert_int_equal(rules_parse(&text, 1, &diag, &s.rules), 0);
        diag_done(&diag);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(leads_build(s.rules, s.worlds[i], &s.leads[i]), 0);
        return s;
}

static void close_scene(struct scene *s)
{
        for (size_t i = 0; i < 2; i++) {
                leads_free(s->leads[i]);
                world_free(s->worlds[i]);
        }
        rules_free(s->rules);
}

/* "name" of a step above, "=name" of the path's own, in the order of the leads; "" when there is none. */
static void assert_steps(const struct leads *l, uint32_t fs, const char *inside, const char *const *expected)
{
        struct leads_cursor c = leads_at(fs, inside, strlen(inside));
        const struct lead_step *s;
        size_t n = 0;

        while ((s = leads_next(l, &c, fs, inside, strlen(inside)))) {
                assert_non_null(expected[n]);
                assert_string_equal(s->name, expected[n] + (expected[n][0] == '='));
                assert_int_equal(s->own, expected[n][0] == '=');
                n++;
        }
        assert_null(expected[n]);
}
#define STEPS(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

#define TWO_MOUNTS "mount 1 0 8:1 / / ext4 /dev/sda1\nmount 2 1 8:2 / /srv xfs /dev/sdb1\n"

static void test_steps(void **state)
{
        struct scene s = open_scene("watch: { r: { path = \"/srv/a/f\"; }; };",
                                    TWO_MOUNTS "path /srv/a/f type=file handle=0102\n", NULL);
        const struct leads *l = s.leads[0];

        assert_int_equal(l->n, 1);
        assert_true(l->v[0].object.known && l->v[0].object.exists);
        /* the mount point is a name in the filesystem that holds it */
        assert_steps(l, 0, "/srv", STEPS("/srv"));
        assert_steps(l, 1, "/a", STEPS("/srv/a"));
        assert_steps(l, 1, "/a/f", STEPS("=/srv/a/f"));
        assert_steps(l, 1, "/srv", STEPS());
        assert_steps(l, 1, "/", STEPS());
        assert_steps(l, 1, "/a/f/g", STEPS());
        close_scene(&s);
}

static void test_steps_of_links(void **state)
{
        struct scene s = open_scene("watch: { r: { path = \"/l/x/f\"; }; };",
                                    TWO_MOUNTS "path /l/x/f resolved=/srv/d/x/f link=/l link=/srv/d/x\n", NULL);
        const struct leads *l = s.leads[0];

        assert_false(l->v[0].object.exists);
        assert_steps(l, 0, "/l", STEPS("/l"));
        assert_steps(l, 0, "/srv", STEPS("/srv"));
        assert_steps(l, 1, "/d", STEPS("/srv/d"));
        assert_steps(l, 1, "/d/x", STEPS("/srv/d/x"));
        assert_steps(l, 1, "/d/x/f", STEPS("=/srv/d/x/f"));
        close_scene(&s);
}

static void test_mounted_at_the_path(void **state)
{
        struct scene s = open_scene("watch: { r: { path = \"/srv\"; }; };", TWO_MOUNTS "path /srv exists\n", NULL);

        /* what is mounted has no name of its own; the name it is mounted on leads there */
        assert_steps(s.leads[0], 0, "/srv", STEPS("/srv"));
        close_scene(&s);
}

static void test_paths(void **state)
{
        struct scene s = open_scene("watch: { r: { path = [ \"/b\", \"/a\" ]; }; s: { path = [ \"/a\", \"/l\" ]; };"
                                    " t: { path = \"/c\"; }; }; ignore: { i: { path = \"/d\"; }; };",
                                    TWO_MOUNTS "path /a exists\npath /b exists\npath /c exists\npath /d exists\n"
                                               "path /l exists resolved=/b link=/l\n",
                                    NULL);
        const struct leads *l = s.leads[0];

        assert_int_equal(l->n, 4); /* each once, and none of an ignore */
        assert_null(leads_find(l, "/d"));
        assert_true(leads_is_of_rule(l, leads_find(l, "/b"), &s.rules->watches[0]));
        assert_true(leads_is_of_rule(l, leads_find(l, "/b"), &s.rules->watches[1])); /* by its link */
        assert_false(leads_is_of_rule(l, leads_find(l, "/b"), &s.rules->watches[2]));
        assert_steps(l, 0, "/b", STEPS("=/b", "=/b"));
        close_scene(&s);
}

static void test_objects(void **state)
{
        static const struct {
                const char *before, *after;
                bool same;
        } cases[] = {
                { "type=file handle=01", "type=file handle=01", true },
                { "type=file handle=01", "type=file handle=02", false },
                { "type=file handle=01", "", false },
                { "", "type=file handle=01", false },
                { "", "", true },
                { "type=file", "type=file handle=02", true },        /* nothing to compare */
                { "type=file handle=01", "error=EACCES", true },     /* nobody knows */
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char before[256], after[256];

                (void)snprintf(before, sizeof(before), TWO_MOUNTS "path /f %s\n", cases[i].before);
                (void)snprintf(after, sizeof(after), TWO_MOUNTS "path /f %s\n", cases[i].after);
                struct scene s = open_scene("watch: { r: { path = \"/f\"; }; };", before, after);

                assert_int_equal(lead_object_same(&s.leads[0]->v[0].object, &s.leads[1]->v[0].object),
                                 cases[i].same);
                assert_true(leads_same_place(s.leads[0], s.leads[0]->v, s.leads[1], s.leads[1]->v));
                /* mounts that came meanwhile leave it open */
                s.worlds[1]->unsettled = true;
                leads_free(s.leads[1]);
                assert_int_equal(leads_build(s.rules, s.worlds[1], &s.leads[1]), 0);
                assert_true(lead_object_same(&s.leads[0]->v[0].object, &s.leads[1]->v[0].object));
                close_scene(&s);
        }
}

static void test_mounts(void **state)
{
        static const char root[] = "mount 1 0 8:1 / / ext4 /dev/sda1\n";
        static const char a[] = "mount 2 1 0:30 / /a tmpfs tmpfs\n", ab[] = "mount 3 2 0:31 / /a/b tmpfs tmpfs\n",
                          again[] = "mount 2 1 0:32 / /a tmpfs tmpfs\n", over[] = "mount 4 2 0:33 / /a tmpfs tmpfs\n",
                          beside[] = "mount 5 1 0:34 / /b tmpfs tmpfs\n";
        const struct {
                const char *before[2], *after[2], *changed;
        } cases[] = {
                { { "", "" }, { "", "" }, NULL },
                { { "", "" }, { a, "" }, "/a" },
                { { a, "" }, { "", "" }, "/a" },
                { { "", "" }, { a, ab }, "/a" }, /* the one nearest to the root */
                { { a, "" }, { a, ab }, "/a/b" },
                { { a, ab }, { a, "" }, "/a/b" },
                { { a, "" }, { a, over }, "/a" },
                { { a, "" }, { again, "" }, "/a" }, /* under the same id */
                { { a, "" }, { a, beside }, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char before[256], after[256];

                (void)snprintf(before, sizeof(before), "%s%s%spath /a/b/f\n", root, cases[i].before[0],
                               cases[i].before[1]);
                (void)snprintf(after, sizeof(after), "%s%s%spath /a/b/f\n", root, cases[i].after[0],
                               cases[i].after[1]);
                struct scene s = open_scene("watch: { r: { path = \"/a/b/f\"; }; };", before, after);
                const char *changed = leads_changed_mount(s.leads[0], s.leads[0]->v, s.leads[1], s.leads[1]->v);

                if (cases[i].changed) {
                        assert_non_null(changed);
                        assert_string_equal(changed, cases[i].changed);
                } else {
                        assert_null(changed);
                }
                close_scene(&s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_steps), cmocka_unit_test(test_steps_of_links),
                cmocka_unit_test(test_mounted_at_the_path), cmocka_unit_test(test_paths),
                cmocka_unit_test(test_objects), cmocka_unit_test(test_mounts),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
