/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The config street without its last step: what was understood, what would be placed. */

#include "options.h"

/* --print-rules, --print-plan.  Prints to standard output, findings to standard
 * error; returns the exit status. */
int check_run(const struct options *options);
