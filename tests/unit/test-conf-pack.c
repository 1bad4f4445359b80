/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf_pack.h"

static const struct conf_text rules[] = {
        { .name = (char *)"/etc/fawatchd/rules.d/a.conf", .text = (char *)"watch: { };\n", .len = 12 },
        { .name = (char *)"b", .text = (char *)"with\0zero", .len = 9 },
};

static void free_texts(struct conf_text *texts, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                free(texts[i].name);
                free(texts[i].text);
        }
        free(texts);
}

static void test_there_and_back(void **state)
{
        _cleanup_strbuf_ struct strbuf pack = STRBUF_NULL;
        struct conf_text *texts;
        size_t n, at = 0;

        conf_pack(NULL, 0, &pack);
        conf_pack(rules, 2, &pack);
        assert_int_equal(conf_unpack(pack.data, pack.len, &at, &texts, &n), 0);
        assert_int_equal(n, 0);
        free_texts(texts, n);
        assert_int_equal(conf_unpack(pack.data, pack.len, &at, &texts, &n), 0);
        assert_int_equal(n, 2);
        for (size_t i = 0; i < n; i++) {
                assert_string_equal(texts[i].name, rules[i].name);
                assert_int_equal(texts[i].len, rules[i].len);
                assert_memory_equal(texts[i].text, rules[i].text, rules[i].len + 1);
        }
        free_texts(texts, n);
        assert_int_equal(at, pack.len);
        assert_int_equal(conf_unpack(pack.data, pack.len, &at, &texts, &n), -EBADMSG);
}

/* Cut off anywhere, or with any byte of its lengths turned over: refused, and nothing leaks. */
static void test_damaged(void **state)
{
        _cleanup_strbuf_ struct strbuf pack = STRBUF_NULL;
        struct conf_text *texts;
        size_t n, at;

        conf_pack(rules, 2, &pack);
        for (size_t len = 0; len < pack.len; len++) {
                at = 0;
                assert_int_equal(conf_unpack(pack.data, len, &at, &texts, &n), -EBADMSG);
        }
        for (size_t i = 0; i < 32; i++) {
                pack.data[i] ^= 0x80;
                at = 0;
                assert_int_equal(conf_unpack(pack.data, pack.len, &at, &texts, &n), -EBADMSG);
                pack.data[i] ^= 0x80;
        }
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_damaged),
        };
        return cmocka_run_group_tests_name("conf-pack", tests, NULL, NULL);
}
