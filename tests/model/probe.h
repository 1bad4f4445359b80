/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the running kernel does, asked of it: the inputs of the model. */

#include "fsmodel.h"

/* dir: an empty directory on a filesystem of the test's own. */
void probe_kernel(const char *dir, struct interest_kernel *ret_kernel, struct fs_hooks *ret_hooks);
/* Whether fanotify_init(2) takes these flags. */
bool probe_group(unsigned init_flags);
/* A group with these flags, non-blocking.  Closed groups count against fs.fanotify.max_user_groups
 * until the kernel has let go of them: waits for that.  A descriptor, or -1 and errno. */
int probe_open_group(unsigned init_flags);
