/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "escape.h"

#define S(text) text, sizeof(text) - 1

static void test_utf8_sequence(void **state)
{
        static const struct {
                const char *bytes;
                size_t len, expected;
        } cases[] = {
                { S(""), 0 },
                { S("a"), 1 },
                { S("\x7f"), 1 },
                { S("\0"), 1 },
                { S("\x80"), 0 },             /* a continuation alone */
                { S("\xc3\xa9"), 2 },
                { S("\xc3"), 0 },             /* cut */
                { S("\xc3x"), 0 },
                { S("\xc0\xaf"), 0 },         /* "/" in too many bytes */
                { S("\xc1\xbf"), 0 },
                { S("\xe2\x82\xac"), 3 },
                { S("\xe2\x82"), 0 },
                { S("\xe0\x9f\xbf"), 0 },     /* overlong */
                { S("\xe0\xa0\x80"), 3 },
                { S("\xed\x9f\xbf"), 3 },
                { S("\xed\xa0\x80"), 0 },     /* a surrogate */
                { S("\xef\xbf\xbf"), 3 },
                { S("\xf0\x9f\x98\x80"), 4 },
                { S("\xf0\x8f\xbf\xbf"), 0 }, /* overlong */
                { S("\xf0\x9f\x98x"), 0 },
                { S("\xf4\x8f\xbf\xbf"), 4 },
                { S("\xf4\x90\x80\x80"), 0 }, /* above U+10FFFF */
                { S("\xf5\x80\x80\x80"), 0 },
                { S("\xff"), 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(utf8_sequence(cases[i].bytes, cases[i].len), cases[i].expected);
        assert_true(utf8_valid(S("gr\xc3\xbc\xc3\x9f dich")));
        assert_true(utf8_valid(S("")));
        assert_false(utf8_valid(S("gr\xfc\xdf dich")));
}

static void test_text(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                const char *expected;
        } cases[] = {
                { S("/etc/passwd"), "/etc/passwd" },
                { S(""), "" },
                { S("a\nb\tc\rd"), "a\\nb\\tc\\x0dd" },
                { S("a\0b"), "a\\x00b" },
                { S("\\x41 \\n"), "\\\\x41 \\\\n" },
                { S("say \"hi\" = 'x'"), "say \"hi\" = 'x'" },
                { S("\x1b[31m\x7f"), "\\x1b[31m\\x7f" },
                { S("\xe9t\xe9"), "\\xe9t\\xe9" },
                { S("\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80"), "\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80" },
                { S("\xc2\x9b" "A"), "\\xc2\\x9b" "A" },                 /* CSI as C1 */
                { S("\xe2\x80\xae" "fdp"), "\\xe2\\x80\\xae" "fdp" },    /* right-to-left override */
                { S("\xe2\x81\xa6"), "\\xe2\\x81\\xa6" },                /* isolate */
                { S("\xe2\x80\x8f"), "\\xe2\\x80\\x8f" },                /* right-to-left mark */
                { S("\xe2\x80\xa8"), "\\xe2\\x80\\xa8" },                /* line separator */
                { S("\xd8\x9c"), "\\xd8\\x9c" },                         /* Arabic letter mark */
                { S("\xe2\x80\x94"), "\xe2\x80\x94" },                   /* a dash */
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                escape_text(cases[i].bytes, cases[i].len, &out);
                assert_string_equal(strbuf_str(&out), cases[i].expected);
        }
}

/* Whatever the bytes: UTF-8 without controls. */
static void test_text_any_byte(void **state)
{
        for (unsigned first = 0; first < 256; first++)
                for (unsigned second = 0; second < 256; second += 5) {
                        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
                        const char bytes[] = { (char)first, (char)second, (char)0xa8 };

                        escape_text(bytes, sizeof(bytes), &out);
                        assert_true(utf8_valid(out.data, out.len));
                        for (size_t i = 0; i < out.len; i++)
                                assert_true((uint8_t)out.data[i] >= 0x20 && out.data[i] != 0x7f);
                }
}

static void test_json(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                bool whole;
                const char *expected;
        } cases[] = {
                { S("/etc/passwd"), true, "\"/etc/passwd\"" },
                { S(""), true, "\"\"" },
                { S("a\"b\\c/d"), true, "\"a\\\"b\\\\c/d\"" },
                { S("\n\t\r\b\x01"), true, "\"\\n\\t\\u000d\\u0008\\u0001\"" },
                { S("a\0b"), true, "\"a\\u0000b\"" },
                { S("\x7f\xc2\x9b"), true, "\"\\u007f\\u009b\"" },
                { S("\xe2\x80\xae"), true, "\"\\u202e\"" },
                { S("\xc3\xa9"), true, "\"\xc3\xa9\"" },
                { S("\xe9t\xe9"), false, "\"\xef\xbf\xbdt\xef\xbf\xbd\"" },
                { S("\xf0\x9f\x98\x80"), true, "\"\xf0\x9f\x98\x80\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                assert_int_equal(escape_json(cases[i].bytes, cases[i].len, &out), cases[i].whole);
                assert_string_equal(strbuf_str(&out), cases[i].expected);
        }
}

static void test_cmdline(void **state)
{
        static const char *const mask[] = { "--password", "-p", "--token=" };
        static const struct {
                const char *raw;
                size_t len, max;
                const char *expected;
        } cases[] = {
                { S("cp\0-a\0x y\0"), 4096, "cp -a x y" },
                { S("cp\0-a"), 4096, "cp -a" },
                { S("title\0\0\0\0"), 4096, "title" },
                { S("a\0\0b\0"), 4096, "a  b" },
                { S(""), 4096, "" },
                { S("\0"), 4096, "" },
                { S("mysql\0--password=secret\0db\0"), 4096, "mysql --password=*** db" },
                { S("mysql\0--password\0secret\0db\0"), 4096, "mysql --password *** db" },
                { S("mysql\0--password=\0db\0"), 4096, "mysql --password= db" },
                { S("mysql\0--passwords=shown\0"), 4096, "mysql --passwords=shown" },
                { S("mysql\0-psecret\0db\0"), 4096, "mysql -p*** db" },
                { S("mysql\0-p\0secret\0db\0"), 4096, "mysql -p *** db" },
                { S("mysql\0-p\0"), 4096, "mysql -p" },
                { S("curl\0--token=t\0--token\0t\0"), 4096, "curl --token=*** --token ***" },
                { S("-p\0x\0"), 4096, "-p x" }, /* the program's own name */
                { S("a\nb\0\xff\0"), 4096, "a\nb \xff" },
                { S("0123456789"), 10, "0123456789" },
                { S("0123456789a"), 10, "0123456789..." },
                { S("01234567\xc3\xa9z"), 9, "01234567..." },   /* not inside a character */
                { S("01234567\xc3\xa9z"), 10, "01234567\xc3\xa9..." },
                { S("echo\0a\0b\0c\0d"), 6, "echo a..." },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                strbuf_adds(&out, "CMD=");
                escape_cmdline(cases[i].raw, cases[i].len, mask, ELEMENTSOF(mask), cases[i].max, &out);
                assert_memory_equal(strbuf_str(&out), "CMD=", 4);
                assert_string_equal(strbuf_str(&out) + 4, cases[i].expected);
        }
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_utf8_sequence), cmocka_unit_test(test_text),
                cmocka_unit_test(test_text_any_byte), cmocka_unit_test(test_json),
                cmocka_unit_test(test_cmdline),
        };

        return cmocka_run_group_tests_name("escape", tests, NULL, NULL);
}
