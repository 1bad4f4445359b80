/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "generation.h"

static const char machine[] = "mount 1 0 8:1 / / ext4 /dev/sda1\n";

static struct generation *build(const char *rule_text)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct conf_text file = {
                        .name = (char *)"r.conf", .text = (char *)rule_text, .len = strlen(rule_text)};
        struct rules *rules;
        struct world *world;
        struct generation *g = NULL;

        assert_int_equal(rules_parse(&file, 1, &diag, &rules), 0);
        assert_int_equal(world_parse_text(machine, strlen(machine), &diag, &world), 0);
        assert_int_equal(generation_build(rules, settings_default(), world, &g), 0);
        return g;
}

static void test_whole(void **state)
{
        _cleanup_(generation_freep) struct generation *g = build("watch: { etc: { path = \"/etc\"; }; };");

        assert_int_equal(g->number, 0);
        assert_int_equal(g->rules->n_watches, 1);
        assert_int_equal(g->plan->wanted.n, 1);
        assert_non_null(g->matcher);
        assert_non_null(strstr(g->canonical, "etc"));
}

/* The hash of no rules is that of no text (FIPS 180-4's own example). */
static void test_empty(void **state)
{
        _cleanup_(generation_freep) struct generation *g = build("");

        assert_string_equal(g->canonical, "");
        assert_string_equal(g->sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_int_equal(g->plan->wanted.n, 0);
}

/* The hash is of what the rules mean, not of how they were written. */
static void test_hash(void **state)
{
        static const struct {
                const char *a, *b;
                bool same;
        } cases[] = {
                { "watch: { x: { path = \"/etc\"; }; };", "watch:{x:{path=[\"/etc\"];};}; # same", true },
                { "watch: { x: { path = \"/etc\"; }; };", "watch: { x: { path = \"/etc/\"; }; };", true },
                { "watch: { x: { path = \"/etc\"; }; };", "watch: { y: { path = \"/etc\"; }; };", false },
                { "watch: { x: { path = \"/etc\"; }; };", "watch: { x: { path = \"/srv\"; }; };", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(generation_freep) struct generation *a = build(cases[i].a), *b = build(cases[i].b);

                assert_int_equal(strlen(a->sha256), 64);
                assert_int_equal(streq(a->sha256, b->sha256), cases[i].same);
                assert_int_equal(streq(a->canonical, b->canonical), cases[i].same);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_hash),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
