/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What the table of processes wants of /proc, read as quickly as can be: this happens
 * at every exec of the machine, before the new program runs far.
 */

#include "proctable.h"

struct proc_reader;

int proc_reader_new(struct proc_reader **ret);
void proc_reader_free(struct proc_reader *r);
DEFINE_CLEANUP(struct proc_reader, proc_reader_free);

/*
 * A new program of pid, told of at told_ns.  inherited: what it need not read again (NULL: nothing).
 * The facts point into the reader, and last until its next reading.
 * Returns 0, or -ESRCH when it is gone.
 */
int proc_reader_exec(struct proc_reader *r, int32_t pid, uint64_t told_ns,
                     const struct proc_inherited *inherited, struct proc_facts *ret);
/* All of a process, with its parent and when it began. */
int proc_reader_all(struct proc_reader *r, int32_t pid, struct proc_facts *ret, int32_t *ret_ppid,
                    uint64_t *ret_begin_ns);
/* Which program of pid has run, as exe_file of the facts; 0 = it has not yet, or is gone. */
uint64_t proc_reader_running(struct proc_reader *r, int32_t pid);
/* Only session, login, terminal and unit. */
int proc_reader_place(struct proc_reader *r, int32_t pid, struct proc_facts *ret);
/* Calls found() with the pid of each process there is. */
int proc_reader_each(struct proc_reader *r, void (*found)(void *userdata, int32_t pid), void *userdata);

/* CLOCK_MONOTONIC, as the process events have it. */
uint64_t monotonic_ns(void);
/* What CLOCK_BOOTTIME is ahead of it: not less and not more than.  No two clocks are read at
 * once, so who converts takes the end that errs on the safe side. */
struct clock_lead {
        uint64_t least_ns, most_ns;
};
struct clock_lead boottime_lead(void);
