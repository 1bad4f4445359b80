/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Calls that may never return: a stat, or a mark, on a filesystem whose server or
 * FUSE process does not answer sleeps in the kernel, and takes its thread with it.
 * They are made in a child process that can be left behind.
 */

#include "base.h"

/* Makes system calls only (it runs after fork(2) in a program with threads) and
 * returns ≥ 0 or a negative errno; answer has room for the caller's answer_size. */
typedef int (*guarded_function)(void *userdata, void *answer);

/*
 * Runs function in a child for at most timeout_usec and copies its answer when it
 * returned ≥ 0.  Returns what it returned; -ETIMEDOUT (the child was killed, or
 * will die as soon as the kernel lets go of it); another negative errno when no
 * child could be made.
 */
int guarded_call(guarded_function function, void *userdata, uint64_t timeout_usec, void *answer,
                 size_t answer_size);
