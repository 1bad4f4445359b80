/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* File handles as fanotify reports them: name_to_handle_at(2). */

#include "world.h"

/* Of what an O_PATH descriptor leads to.  Returns 0 or a negative errno. */
int handle_of(int fd, struct handle *ret);
