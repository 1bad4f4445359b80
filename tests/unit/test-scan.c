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

#include "rules_scan.h"
#include "strbuf.h"

static int scan(const char *text, size_t len, struct diag *diag, char **ret)
{
        char name[] = "x.conf";
        struct conf_text file = { .name = name, .text = (char *)text, .len = len };

        return rules_scan(&file, diag, ret);
}

/* What is cured: text in, text for libconfig out, and what is said about it. */
static void test_cured(void **state)
{
        static const struct {
                const char *text, *scanned;
                const char *error; /* part of the one error, NULL = none */
                unsigned line;
        } cases[] = {
                { "", "\n", NULL, 0 },
                { "a = \"x\"; # end", "a = \"x\"; # end\n", NULL, 0 },
                { "\xef\xbb\xbf"
                  "a = 1;",
                  "   a = 1;\n", NULL, 0 },
                /* a comma before a closing bracket */
                { "a = [ \"x\", ];", "a = [ \"x\"  ];\n", NULL, 0 },
                { "a = ( 1, 2 ,\n);", "a = ( 1, 2  \n);\n", NULL, 0 },
                { "a = [ \"x\", # y\n];", "a = [ \"x\"  # y\n];\n", NULL, 0 },
                { "a = ( {b=1;}, );", "a = ( {b=1;}  );\n", NULL, 0 },
                { "a = [ , ];", "a = [ , ];\n", NULL, 0 },
                { "a = [ 1,, ];", "a = [ 1,, ];\n", NULL, 0 },
                { "a = [ \", ]\" ];", "a = [ \", ]\" ];\n", NULL, 0 },
                /* two strings side by side */
                { "a = [ \"x\" \"y\" ];", "a = [ \"x\",\"y\" ];\n", "side by side", 1 },
                { "a = [\n\"x\"\n\"y\" ];", "a = [\n\"x\"\n\"y\" ];\n", "side by side", 3 },
                { "a = \"x\" /* c */ \"y\";", "a = \"x\",/* c */ \"y\";\n", "side by side", 1 },
                { "a = \"x\"\"y\";", "a = \"x\"\"y\";\n", "side by side", 1 },
                /* escapes */
                { "a = \"\\x00\";", "a = \"\\x01\";\n", "\\x00", 1 },
                { "a = \"\\\\x00\";", "a = \"\\\\x00\";\n", NULL, 0 },
                { "a = \"\\x0\";", "a = \"\\x0\";\n", "two hexadecimal", 1 },
                { "a = \"\\xZZ\";", "a = \"\\xZZ\";\n", "two hexadecimal", 1 },
                { "a = \"\\xe9\\\"\\d\";", "a = \"\\xe9\\\"\\d\";\n", NULL, 0 },
                { "a = \"\\b\";", "a = \"\\b\";\n", "\\x08", 1 },
                /* integers */
                { "a = 2147483647;", "a = 2147483647;\n", NULL, 0 },
                { "a = 2147483648;", "a = 0000000001;\n", "too large", 1 },
                { "a = -2147483648;", "a = -2147483648;\n", NULL, 0 },
                { "a = -2147483649;", "a = +0000000001;\n", "too large", 1 },
                { "a = 9223372036854775807L;", "a = 9223372036854775807L;\n", NULL, 0 },
                { "a = 9223372036854775808L;", "a = 0000000000000000001L;\n", "too large", 1 },
                { "a = 99999999999999999999999;", "a = 00000000000000000000001;\n", "too large", 1 },
                { "a = 0x7fffffff;", "a = 0x7fffffff;\n", NULL, 0 },
                { "a = 0x80000000;", "a = 0x00000001;\n", "too large", 1 },
                /* bytes */
                { "a = \"\xe9\";", "a = \"_\";\n", "\\xe9", 1 },
                { "# \xc3\xa9\na = \"\xc3\xa9\";", "# \xc3\xa9\na = \"\xc3\xa9\";\n", NULL, 0 },
                { "a = 1;\n# \xed\xa0\x80", NULL, "not UTF-8",
                  2 }, /* a surrogate: three bytes, three errors */
                { "a = \"\x1b\";", "a = \"_\";\n", "\\x1b", 1 },
                { "\ta = 1;\r\n\f", "\ta = 1;\r\n\f\n", NULL, 0 },
                /* @include */
                { "@include \"x\"\na = 1;", "            \na = 1;\n", "@include", 1 },
                { "  \t@include \"x\n", "  \t           \n\n", "@include", 1 },
                { "# @include \"x\"\n", "# @include \"x\"\n\n", NULL, 0 },
                { "/*\n@include \"x\"\n*/", "/*\n@include \"x\"\n*/\n", NULL, 0 },
                { "a = \"@include\";", "a = \"@include\";\n", NULL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                _cleanup_free_ char *text = NULL;

                assert_int_equal(scan(cases[i].text, strlen(cases[i].text), &diag, &text), 0);
                if (cases[i].scanned)
                        assert_string_equal(text, cases[i].scanned);
                if (!cases[i].error) {
                        assert_int_equal(diag.n_entries, 0);
                        continue;
                }
                assert_in_range(diag.n_errors, 1, cases[i].scanned ? 1 : 3);
                assert_non_null(strstr(diag.entries[0].text, cases[i].error));
                assert_int_equal(diag.entries[0].line, cases[i].line);
                assert_string_equal(diag.entries[0].file, "x.conf");
        }
}

/* After these there is no use in parsing. */
static void test_refused(void **state)
{
        static const struct {
                const char *text, *error;
                unsigned line;
        } cases[] = {
                { "a = 1;\nb = \"x;\nc = \"y\";", "quote", 2 },
                { "a = \"x\\\"", "quote", 1 },
                { "a = \"x\\", "quote", 1 },
                { "\"", "quote", 1 },
                { "a = 1;\n\n/* b", "comment", 3 },
                { "/*/", "comment", 1 },
                { "((((((((((((((((( )", "deeper", 1 },
                { "\1\2\3\4\5\6\7\1\1\1\1", "control", 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                char *text = NULL;

                assert_int_equal(scan(cases[i].text, strlen(cases[i].text), &diag, &text), -EINVAL);
                assert_null(text);
                assert_non_null(strstr(diag.entries[0].text, cases[i].error));
                assert_int_equal(diag.entries[0].line, cases[i].line);
        }
}

static void test_nul(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_free_ char *text = NULL;

        assert_int_equal(scan("a = \"x\0y\";", 10, &diag, &text), 0);
        assert_string_equal(text, "a = \"x_y\";\n");
        assert_int_equal(diag.n_errors, 1);
}

static int scan_rules(size_t n_watch, size_t n_ignore, struct diag *diag)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        _cleanup_free_ char *text = NULL;

        strbuf_adds(&b, "watch: {\n");
        for (size_t i = 0; i < n_watch; i++)
                strbuf_addf(&b, "r%zu: { path = \"/\"; events = \"open\"; };\n", i);
        strbuf_adds(&b, "};\nignore: {\n");
        for (size_t i = 0; i < n_ignore; i++)
                strbuf_addf(&b, "i%zu: { path = \"/\"; };\n", i);
        strbuf_adds(&b, "};\n");
        return scan(strbuf_str(&b), b.len, diag, &text);
}

static void test_limits(void **state)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        char *large = malloc(RULE_FILE_MAX_BYTES + 1), *text = NULL;

        assert_int_equal(scan_rules(600, 400, &diag), 0);
        assert_int_equal(diag.n_entries, 0);
        assert_int_equal(scan_rules(600, 401, &diag), -EINVAL);
        assert_string_equal(diag.entries[0].text,
                            "1001 rules in one file, at most 1000: split it into several files");
        assert_int_equal(diag.entries[0].line, 1 + 600 + 2 + 401);
        assert_int_equal(scan_rules(10000, 0, &diag), -EINVAL);
        assert_string_equal(diag.entries[1].text,
                            "10000 rules in one file, at most 1000: split it into several files");

        memset(large, '\n', RULE_FILE_MAX_BYTES + 1);
        assert_int_equal(scan(large, RULE_FILE_MAX_BYTES, &diag, &text), 0);
        free(text);
        assert_int_equal(scan(large, RULE_FILE_MAX_BYTES + 1, &diag, &text), -EINVAL);
        assert_string_equal(diag.entries[2].text,
                            "1048577 bytes, but a rule file has at most 1 MiB: split it into several files");
        free(large);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cured),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_nul),
                cmocka_unit_test(test_limits),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
