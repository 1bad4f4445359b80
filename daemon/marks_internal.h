/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The placed marks in two files: marks.c changes them, marks_verify.c holds them against the kernel's. */

#include "marks.h"

struct marks {
        struct marks_params params;
        struct kernel_abilities kernel;
        struct fan_group **groups; /* main first; none when params.mark is set */
        size_t n_groups;
        struct group_key *held; /* groups whose marks are somebody else's */
        size_t n_held;
        struct markset placed;
        struct mark_failure *failures;
        size_t n_failures, cap_failures;
};

/* One call, placed stays as it is; the group of a mount is opened for its first mark.  0 or a negative errno. */
int marks_call(struct marks *m, const struct mark_op *op);
