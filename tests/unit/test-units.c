/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "strbuf.h"
#include "units.h"

#define S USEC_PER_SEC

static void test_durations(void **state)
{
        static const struct {
                const char *text;
                int result;
                uint64_t usec;
                const char *printed;
        } cases[] = {
                { "0", 0, 0, "0" },
                { "0s", 0, 0, "0" },
                { "500ms", 0, 500000, "500ms" },
                { "1s", 0, S, "1s" },
                { "1000ms", 0, S, "1s" },
                { "90s", 0, 90 * S, "90s" },
                { "1min 30s", 0, 90 * S, "90s" },
                { "1min30s", 0, 90 * S, "90s" },
                { "15min", 0, 900 * S, "15min" },
                { "2h", 0, 7200 * S, "2h" },
                { "1d", 0, 86400 * S, "1d" },
                { "7us", 0, 7, "7us" },
                { "9223372036854775807us", 0, INT64_MAX, "9223372036854775807us" },
                { "9223372036854775808us", -ERANGE, 0, NULL },
                { "99999999999999999999s", -ERANGE, 0, NULL },
                { "9223372036854775807us 1us", -ERANGE, 0, NULL },
                { "213503983d", -ERANGE, 0, NULL },
                { "", -EINVAL, 0, NULL },
                { "1", -EINVAL, 0, NULL },
                { "s", -EINVAL, 0, NULL },
                { "-1s", -EINVAL, 0, NULL },
                { "1.5s", -EINVAL, 0, NULL },
                { "1 s", -EINVAL, 0, NULL },
                { " 1s", -EINVAL, 0, NULL },
                { "1s ", -EINVAL, 0, NULL },
                { "1s  2s", -EINVAL, 0, NULL },
                { "1S", -EINVAL, 0, NULL },
                { "1sec", -EINVAL, 0, NULL },
                { "1mi", -EINVAL, 0, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
                uint64_t usec = 42;

                assert_int_equal(units_parse_duration(cases[i].text, &usec), cases[i].result);
                assert_true(usec == (cases[i].result == 0 ? cases[i].usec : 42));
                if (cases[i].result < 0)
                        continue;
                units_print_duration(usec, &b);
                assert_string_equal(strbuf_str(&b), cases[i].printed);
        }
}

static void test_sizes(void **state)
{
        static const struct {
                const char *text;
                int result;
                uint64_t bytes;
                const char *printed;
        } cases[] = {
                { "0", 0, 0, "0" },
                { "4096", 0, 4096, "4K" },
                { "4097", 0, 4097, "4097" },
                { "64K", 0, 65536, "64K" },
                { "64M", 0, 67108864, "64M" },
                { "1024M", 0, 1073741824, "1G" },
                { "1T", 0, 1099511627776, "1T" },
                { "9223372036854775807", 0, INT64_MAX, "9223372036854775807" },
                { "8388608T", -ERANGE, 0, NULL },
                { "18446744073709551616", -ERANGE, 0, NULL },
                { "", -EINVAL, 0, NULL },
                { "M", -EINVAL, 0, NULL },
                { "64MB", -EINVAL, 0, NULL },
                { "64m", -EINVAL, 0, NULL },
                { "64 M", -EINVAL, 0, NULL },
                { "-1", -EINVAL, 0, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
                uint64_t bytes = 42;

                assert_int_equal(units_parse_size(cases[i].text, &bytes), cases[i].result);
                assert_true(bytes == (cases[i].result == 0 ? cases[i].bytes : 42));
                if (cases[i].result < 0)
                        continue;
                units_print_size(bytes, &b);
                assert_string_equal(strbuf_str(&b), cases[i].printed);
        }
}

static void test_rates(void **state)
{
        static const struct {
                const char *text;
                int result;
                uint64_t count, usec;
                const char *printed;
        } cases[] = {
                { "0", 0, 0, 0, "0" },
                { "5000/10s", 0, 5000, 10 * S, "5000/10s" },
                { "100/s", 0, 100, S, "100/1s" },
                { "1/1min 30s", 0, 1, 90 * S, "1/90s" },
                { "0/10s", -EINVAL, 0, 0, NULL },
                { "5/0", -EINVAL, 0, 0, NULL },
                { "5", -EINVAL, 0, 0, NULL },
                { "5/", -EINVAL, 0, 0, NULL },
                { "/s", -EINVAL, 0, 0, NULL },
                { "5/10", -EINVAL, 0, 0, NULL },
                { "5/s 1s", -EINVAL, 0, 0, NULL },
                { "5/x", -EINVAL, 0, 0, NULL },
                { "99999999999999999999/s", -ERANGE, 0, 0, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
                uint64_t count = 42, usec = 42;

                assert_int_equal(units_parse_rate(cases[i].text, &count, &usec), cases[i].result);
                if (cases[i].result < 0) {
                        assert_true(count == 42 && usec == 42);
                        continue;
                }
                assert_true(count == cases[i].count && usec == cases[i].usec);
                units_print_rate(count, usec, &b);
                assert_string_equal(strbuf_str(&b), cases[i].printed);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_durations),
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_rates),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
