/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * One process as /proc shows it now.  Everything is read through a descriptor on its
 * directory, which stays that process's: once it is reaped, look-ups below it fail,
 * and a later process with the same pid is not found there.
 */

#include "event.h"
#include "rules.h"

/* What the process is and what it runs, in one block of memory. */
struct proc_snapshot {
        struct actor actor; /* its pointers lead into this block; user, login_user, group are left out */
        bool exe_seen;      /* exe_dev and exe_ino are those of the program's file */
        uint64_t exe_dev, exe_ino, exe_fsid;
        uint64_t start_usec; /* start_ticks on CLOCK_BOOTTIME */
        size_t size;         /* bytes of the block */
};

/* A descriptor on /proc/PID, or a negative errno (-ENOENT, -ESRCH: no such process). */
int proc_open(int32_t pid);

/* True while the process is not reaped (it may be a zombie).  *ret_same_program tells
 * whether it still runs the file it ran at the snapshot. */
bool proc_alive(int dir, const struct proc_snapshot *s, bool *ret_same_program);
/* The effective ids, from the owner of its directory.  Cheap. */
bool proc_owner(int dir, uint32_t *ret_euid, uint32_t *ret_egid);

/*
 * Reads the process.  mask: command-line options whose values are hidden.
 * What cannot be read is absent (all of the program, of a zombie).
 * Returns 0; -ESRCH when it is gone; -ENOMEM.  free() it.
 */
int proc_read(int dir, int32_t pid, const struct strings *mask, struct proc_snapshot **ret);
