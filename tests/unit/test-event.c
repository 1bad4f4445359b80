/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "event.h"

static void assert_text(const char *got, const char *want)
{
        if (want)
                assert_string_equal(got, want);
        else
                assert_null(got);
}

static void attributions(void **state)
{
        static const char *const want[N_ATTRIBUTIONS + 1] = {
                "unknown", "verified", "process", "tracked", "exited", "foreign", "kernel", NULL,
        };

        for (unsigned i = 0; i < ELEMENTSOF(want); i++)
                assert_text(attribution_name((enum attribution)i), want[i]);
}

static void path_states(void **state)
{
        static const char *const want[] = { NULL, "replaced", "deleted", "hidden", "inside", NULL };

        for (unsigned i = 0; i < ELEMENTSOF(want); i++)
                assert_text(path_state_name((enum path_state)i), want[i]);
}

static void origins(void **state)
{
        static const char *const want[] = { NULL, "scan", "recovery", "replay", NULL };

        for (unsigned i = 0; i < ELEMENTSOF(want); i++)
                assert_text(origin_name((enum origin)i), want[i]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(attributions),
                cmocka_unit_test(path_states),
                cmocka_unit_test(origins),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
