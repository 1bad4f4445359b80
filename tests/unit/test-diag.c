/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "diag.h"

static void test_counts(void **state)
{
        _cleanup_diag_ struct diag d = DIAG_NULL;

        assert_false(diag_failed(&d));
        diag_add(&d, DIAG_NOTE, NULL, 0, "n");
        diag_add(&d, DIAG_WARNING, "f", 1, "w");
        assert_false(diag_failed(&d));
        diag_add(&d, DIAG_ERROR, "f", 2, "e");
        assert_true(diag_failed(&d));
        assert_int_equal(d.n_entries, 3);
        assert_int_equal(d.n_warnings, 1);
        assert_int_equal(d.n_errors, 1);
        diag_done(&d);
        assert_int_equal(d.n_entries, 0);
        d.out_of_memory = true;
        assert_true(diag_failed(&d));
}

static void test_format(void **state)
{
        static const struct {
                enum diag_severity severity;
                const char *file;
                unsigned line;
                const char *text, *formatted;
        } cases[] = {
                { DIAG_ERROR, "rules.d/a.conf", 3, "bad", "rules.d/a.conf:3: error: bad" },
                { DIAG_WARNING, "a.conf", 0, "odd", "a.conf: warning: odd" },
                { DIAG_NOTE, NULL, 0, "by the way", "note: by the way" },
                { DIAG_NOTE, NULL, 7, "no file, no line", "note: no file, no line" },
                { DIAG_ERROR, "a\nb", 1, "two\nlines\x1b[31m\xff",
                  "a\\nb:1: error: two\\nlines\\x1b[31m\\xff" },
                { DIAG_ERROR, "a", 1, "write \\xe9, \xc3\xa9 is fine",
                  "a:1: error: write \\xe9, \xc3\xa9 is fine" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_diag_ struct diag d = DIAG_NULL;
                _cleanup_free_ char *text = NULL;

                diag_add(&d, cases[i].severity, cases[i].file, cases[i].line, "%s", cases[i].text);
                text = diag_format(&d.entries[0]);
                assert_string_equal(text, cases[i].formatted);
        }
}

static void test_sort(void **state)
{
        _cleanup_diag_ struct diag d = DIAG_NULL;
        static const struct {
                const char *file;
                unsigned line;
                const char *text;
        } added[] = { { "b", 1, "5" }, { "a", 9, "4" },  { "a", 2, "2" },
                      { "a", 2, "3" }, { NULL, 0, "1" }, { "b", 1, "6" } };

        for (size_t i = 0; i < ELEMENTSOF(added); i++)
                diag_add(&d, DIAG_ERROR, added[i].file, added[i].line, "%s", added[i].text);
        for (int twice = 0; twice < 2; twice++) {
                diag_sort(&d);
                for (size_t i = 0; i < d.n_entries; i++)
                        assert_int_equal(d.entries[i].text[0], '1' + (int)i);
        }
}

static void test_nearest(void **state)
{
        static const char *const names[] = { "path",          "events", "modify", "close_write",
                                             "close_nowrite", "exe",    "user" };
        static const struct {
                const char *word, *nearest;
        } cases[] = {
                { "paht", "path" },
                { "Path", "path" },
                { "paths", "path" },
                { "evnts", "events" },
                { "MODIFY", "modify" },
                { "mdofiy", "modify" },
                { "close-write", "close_write" },
                { "closenowrite", "close_nowrite" },
                { "usr", "user" },
                { "exee", "exe" },
                { "heartbeat", NULL },
                { "x", NULL },
                { "", NULL },
                { "ab", NULL },
                { "a word that is much longer than any name could ever be here", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *nearest = diag_nearest(cases[i].word, names, ELEMENTSOF(names));

                if (!cases[i].nearest)
                        assert_null(nearest);
                else {
                        assert_non_null(nearest);
                        assert_string_equal(nearest, cases[i].nearest);
                }
        }
        assert_null(diag_nearest("path", NULL, 0));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_counts),
                cmocka_unit_test(test_format),
                cmocka_unit_test(test_sort),
                cmocka_unit_test(test_nearest),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
