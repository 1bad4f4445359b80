/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inheritance.h"

#define ALL .main_group = true, .groups = true, .spool = true, .rules = true

static const struct {
        const char *name;
        struct inheritance found;
        const char *gaps[INHERITANCE_MAX_GAPS]; /* "kind: reason begins so" */
} cases[] = {
        { "the very first start", {}, {} },
        { "a restart", { ALL, .life = true, .same_boot = true }, {} },
        { "a restart without a last sign of life", { ALL }, {} },
        { "a stop and a start", { .life = true, .same_boot = true }, { "absent: fawatchd was not" } },
        { "a boot", { .life = true }, { "boot: the machine was started" } },
        { "no main group, but the rest",
          { .groups = true, .spool = true, .rules = true, .life = true, .same_boot = true },
          { "store: the fanotify group of the process before is missing" } },
        { "no group at all", { .spool = true, .rules = true }, { "store: the fanotify group" } },
        { "something else for the main group",
          { .group_fault = "no group", .spool = true, .rules = true, .life = true, .same_boot = true },
          { "store: no group" } },
        { "a mount's group alone", { .groups = true }, { "store: the fanotify group" } },
        { "no spool", { .main_group = true, .groups = true, .rules = true },
          { "store: the spool of the process before is missing" } },
        { "a damaged spool",
          { .main_group = true, .groups = true, .rules = true, .spool_fault = "damaged", .life = true },
          { "store: damaged" } },
        { "a damaged spool and nothing else", { .spool_fault = "damaged" }, { "store: damaged" } },
        { "rules that cannot be read, and nothing else", { .rules_fault = "bad" }, { "store: bad" } },
        { "no rules", { .main_group = true, .groups = true, .spool = true }, { "store: the rules of the" } },
        { "rules that cannot be read",
          { .main_group = true, .groups = true, .spool = true, .rules_fault = "bad" },
          { "store: bad" } },
        { "a mount's group that cannot be used", { ALL, .group_fault = "no group" }, { "store: no group" } },
        { "a mount's group that is missing, or a new mount", { ALL, .new_group = true },
          { "store: no process before watched" } },
        { "everything wrong but the main group",
          { .main_group = true, .groups = true, .group_fault = "g", .spool_fault = "s", .rules_fault = "r" },
          { "store: s", "store: g", "store: r" } },
};

static void test_gaps(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct inheritance_gap gaps[INHERITANCE_MAX_GAPS] = {};
                size_t n = inheritance_gaps(&cases[i].found, gaps);

                print_message("# %s: %zu\n", cases[i].name, n);
                for (size_t k = 0; k < INHERITANCE_MAX_GAPS; k++) {
                        const char *expected = cases[i].gaps[k];
                        size_t kind = expected ? strcspn(expected, ":") : 0;

                        assert_int_equal(k < n, expected != NULL);
                        if (!expected)
                                break;
                        assert_int_equal(strlen(gaps[k].kind), kind);
                        assert_memory_equal(gaps[k].kind, expected, kind);
                        assert_int_equal(strncmp(gaps[k].reason, expected + kind + 2, strlen(expected + kind + 2)),
                                         0);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_gaps) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("inheritance", tests, NULL, NULL);
}
