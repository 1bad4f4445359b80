/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The model against the running kernel: what the parts of the test share. */

#include "interest.h"

struct test_place { /* a filesystem of the test's own, empty, mounted twice */
        const char *fstype;
        const char *mounts[2];
        bool evicts; /* inodes leave memory when nothing holds them */
};

void tap_ok(bool good, const char *name);
void tap_skip(const char *name, const char *reason);

/* The cases of fanotify10.h, one result each. */
void kernel_fanotify10(const struct test_place *place, const struct interest_kernel *k, bool has_fid);
