/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The control socket of the daemon: who asks for what is answered here. */

#include "daemon_state.h"

/* Opens the socket; an observer beside the service has none.  Logs why not; 0 or -errno. */
int answers_open(struct daemon *d, struct sd_event *event);
/* For the reporter: a record was made, and goes to whoever follows them.  userdata: struct daemon. */
void answers_publish(void *userdata, const char *record, size_t len);
