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
        const struct life l = { .machine = A, .boot = B, .stream = C, .seq = 42, .realtime_usec = 1700000000000000,
                                .boottime_usec = 77 };
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct life back;

        life_print(&l, &text);
        assert_string_equal(strbuf_str(&text), "machine=" A "\nboot=" B "\nstream=" C
                            "\nseq=42\nrealtime_usec=1700000000000000\nboottime_usec=77\n");
        assert_int_equal(life_parse(strbuf_str(&text), &back), 0);
        assert_string_equal(back.machine, A);
        assert_string_equal(back.boot, B);
        assert_string_equal(back.stream, C);
        assert_int_equal(back.seq, 42);
        assert_int_equal(back.realtime_usec, 1700000000000000);
        assert_int_equal(back.boottime_usec, 77);
}

static void test_refused(void **state)
{
        static const char *const texts[] = {
                "",
                "machine=" A "\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=x\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=12345678901234567890\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=" A "0\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=X" A "\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=g123456789abcdef0123456789abcdef\nboot=" B "\nstream=" C
                "\nseq=1\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseqx1\nrealtime_usec=1\nboottime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=-1\nboottime_usec=1\n",
                "machine=" A "\nboot=" B "\nstream=" C "\nseq=1\nrealtime_usec=1\nboottime_usec=\n",
        };
        struct life l;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_int_equal(life_parse(texts[i], &l), -EBADMSG);
}

/* Ten seconds passed, and the clock was set meanwhile or was not. */
static void test_since(void **state)
{
        const uint64_t hour = 3600 * USEC_PER_SEC, ten = 10 * USEC_PER_SEC;
        const struct life l = { .realtime_usec = 10 * hour, .boottime_usec = hour };
        static const struct life unknown = { .realtime_usec = 36000 * USEC_PER_SEC };

        assert_int_equal(life_since_usec(&l, 10 * hour + ten, hour + ten), 10 * hour);
        assert_int_equal(life_since_usec(&l, 11 * hour + ten, hour + ten), 10 * hour);
        assert_int_equal(life_since_usec(&l, 9 * hour + ten, hour + ten), 9 * hour);
        assert_int_equal(life_since_usec(&l, 5, hour + ten), 1); /* before 1970, if there was such a time */
        /* another boot, or a clock that cannot be: what was written is all there is */
        assert_int_equal(life_since_usec(&l, 9 * hour, 0), 10 * hour);
        assert_int_equal(life_since_usec(&unknown, 9 * hour, hour), 10 * hour);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_since),
        };
        return cmocka_run_group_tests_name("life", tests, NULL, NULL);
}
