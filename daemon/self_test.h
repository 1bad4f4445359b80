/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Do changes that others make arrive here?  In PID 1's mount namespace there is nothing to
 * ask.  In a private one (ProtectSystem=, PrivateTmp=, ...) a file is made through PID 1's,
 * and must be seen by a mark that was placed through ours.
 */

#include "base.h"

enum self_test {
        SELF_TEST_NOT_NEEDED, /* PID 1's namespace, or an observer that watches its own */
        SELF_TEST_PASSED,
        SELF_TEST_FAILED,
};
const char *self_test_name(enum self_test t) _pure_; /* "not needed", "passed", "failed" */

struct self_test_result {
        enum self_test outcome;
        int error;        /* positive errno, or 0 */
        const char *step; /* what failed; a literal */
};

/* dir: an absolute path, the same in both namespaces, to write a file in.  Takes at most a second. */
void self_test_run(const char *dir, struct self_test_result *ret);
