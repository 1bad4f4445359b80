/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the running kernel does, asked of it: the inputs of the model. */

#include "fsmodel.h"

/* dir: an empty directory on a filesystem of the test's own. */
void probe_kernel(const char *dir, struct interest_kernel *ret_kernel, struct fs_hooks *ret_hooks);
/* Whether fanotify_init(2) takes these flags. */
bool probe_group(unsigned init_flags);
