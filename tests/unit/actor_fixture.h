/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Processes that do to files what they are told: the test's own program, started as "act". */

#include <sys/types.h>

#include "street_fixture.h"

/*
 * touch FILE: makes it.  many N: makes N files.  say: one byte on fd 3.  wait: for one byte on fd 4.
 * exec PROGRAM: goes on as that program with what is left of the arguments.
 * setuid ID.  name COMM.  thread FILE: a thread makes it.  fork: a child goes on alone.
 */
int act(int argc, char **argv);

struct actor_process {
        pid_t pid;
        int said, told;
};

/* Starts a program of ours: "act" and the words of script follow. */
struct actor_process start(const char *program, const char *script);
void hear(const struct actor_process *a);
void tell(const struct actor_process *a);
void end(struct actor_process *a);

/* The one record of this path; the test fails when there is none. */
const struct street_record *record_of(const char *path);
