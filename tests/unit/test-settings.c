/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "settings.h"
#include "strbuf.h"

static int parse(const char *first, const char *second, struct diag *diag, struct settings **ret)
{
        char a[] = "fawatchd.conf", b[] = "fawatchd.conf.d/10.conf";
        struct conf_text files[] = { { .name = a, .text = (char *)first, .len = strlen(first) },
                                     { .name = b, .text = (char *)second, .len = strlen(second) } };

        return settings_parse(files, 2, diag, ret);
}

static void test_defaults(void **state)
{
        _cleanup_(settings_freep) struct settings *s = settings_default();

        assert_true(s->coalesce_usec == 1000000);
        assert_true(s->limit_count == 0 && s->limit_usec == 0);
        assert_true(s->heartbeat_usec == 900000000);
        assert_int_equal(s->omit.n, 0);
        assert_int_equal(s->facility, 3);
        assert_true(s->unit_log && s->process_tracking && s->queue_unlimited && s->kernel_ignores);
        assert_false(s->recover);
        assert_int_equal(s->mask_options.n, 0);
        assert_int_equal(s->spool_bytes, 64 << 20);
        assert_int_equal(s->queue_memory_bytes, 64 << 20);
        assert_int_equal(s->placement, PLACEMENT_AUTO);
        assert_int_equal(s->max_directory_marks, 100000);
        settings_free(NULL);
}

static void test_override(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_(settings_freep) struct settings *s = NULL;

        assert_int_equal(
                parse("coalesce = \"5s\"; omit = [ \"under\", \"cmdline\" ]; facility = \"authpriv\";",
                      "coalesce = \"0\"; limit = \"10/s\"; process_tracking = \"off\"; spool = \"1M\";",
                      &diag, &s),
                0);
        assert_true(s->coalesce_usec == 0);
        assert_int_equal(s->omit.n, 2);
        assert_string_equal(s->omit.v[0], "cmdline");
        assert_int_equal(s->facility, 10);
        assert_true(s->limit_count == 10 && s->limit_usec == 1000000);
        assert_false(s->process_tracking);
        assert_int_equal(s->spool_bytes, 1 << 20);
        assert_true(s->heartbeat_usec == 900000000);
}

static void test_errors(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct settings *s = NULL;

        assert_int_equal(parse("coalesce = \"5\";\nheatbeat = \"1s\";\n;", "\nrecover = 1;", &diag, &s),
                         -EINVAL);
        assert_null(s);
        /* a syntax error ends its own file only */
        assert_int_equal(diag.n_errors, 2);
        assert_string_equal(diag.entries[0].text, "a ; too many, in: ;");
        assert_string_equal(diag.entries[1].file, "fawatchd.conf.d/10.conf");
        assert_int_equal(diag.entries[1].line, 2);
        assert_string_equal(diag.entries[1].text,
                            "recover: true or false is expected, without quotes, not a number");
}

/* Every setting is printed, sorted, and read again. */
static void test_print(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_strbuf_ struct strbuf first = STRBUF_NULL, second = STRBUF_NULL;
        _cleanup_(settings_freep) struct settings *s = settings_default(), *again = NULL;
        size_t n, n_lines = 0;
        const char *const *names = settings_names(&n);
        const char *line;

        settings_print(s, &first);
        line = strbuf_str(&first);
        for (size_t i = 0; i < n; i++) {
                assert_memory_equal(line, names[i], strlen(names[i]));
                if (i > 0)
                        assert_true(strcmp(names[i - 1], names[i]) < 0);
                line = strchr(line, '\n') + 1;
                n_lines++;
        }
        assert_int_equal(n_lines, 15);
        assert_int_equal(*line, '\0');
        assert_int_equal(parse(strbuf_str(&first), "", &diag, &again), 0);
        settings_print(again, &second);
        assert_string_equal(strbuf_str(&first), strbuf_str(&second));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_override),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_print),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
