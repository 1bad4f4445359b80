/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* For the start and the stop: the groups, as far as the loop has no part in them. */

#include "daemon_state.h"

/* Takes over the groups that were found, and opens what else is needed.  Logs why not; 0 or -errno. */
int daemon_open_marks(struct daemon *d);
/* One round over all groups.  True: a queue was not emptied. */
bool daemon_read_once(struct daemon *d);
