/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "life.h"

#define A "0123456789abcdef0123456789abcdef"
#define B "ffffffffffffffffffffffffffffffff"
#define C "00000000000000000000000000000000"

static void test_there_and_back(void **state)
{
        const struct life l = { .machine = A, .boot = B, .stream = C, .seq = 42, .realtime_usec = 1700000000000000 };
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct life back;

        life_print(&l, &text);
        assert_string_equal(strbuf_str(&text), "machine=" A "\nboot=" B "\nstream=" C
                            "\nseq=42\nrealtime_usec=1700000000000000\n");
        assert_int_equal(life_parse(strbuf_str(&text), &back), 0);
        assert_string_equal(back.machine, A);
        assert_string_equal(back.boot, B);
        assert_string_equal(back.stream, C);
        assert_int_equal(back.seq, 42);
        assert_int_equal(back.realtime_usec, 1700000000000000);
}

static void test_refused(void **state)
{
        static const char *const texts[] = {
                "",
                "machine=" A "\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=\nrealtime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=x\nrealtime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=12345678901234567890\nrealtime_usec=1\n",
                "machine=" A "0\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=1\n",
                "machine=X" A "\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=-1\n",
        };
        struct life l;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_int_equal(life_parse(texts[i], &l), -EBADMSG);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_refused),
        };
        return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
