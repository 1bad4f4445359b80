/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The daemon as a whole: start, loop, stop. */

#include "options.h"

/* Exit statuses (the unit's RestartPreventExitStatus= names all but 0 and 1). */
enum {
        EXIT_FINE = 0,
        EXIT_TROUBLE = 1,
        EXIT_WRONG_USE = 2,
        EXIT_NO_FANOTIFY = 69,
        EXIT_SECOND_DAEMON = 75,
        EXIT_NOT_PERMITTED = 77,
        EXIT_NO_RULES = 78,
};

/* Runs until SIGTERM, SIGINT or the end of standard output.  Logs what goes
 * wrong; returns the exit status. */
int daemon_run(const struct options *options);
