/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The text files of /proc/PID: proc(5) names their fields. */

#include "event.h"

struct proc_stat {
        struct bytes comm; /* points into the text */
        char state;
        int32_t ppid;
        uint32_t tty_nr;
        uint32_t flags;       /* PF_ bits of the kernel */
        uint64_t start_ticks; /* since boot */
};
#define PROC_PF_KTHREAD 0x00200000u

/* Returns 0, or -EBADMSG.  A comm may hold anything, brackets and spaces included. */
int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret);

struct proc_ids {
        uint32_t uid, euid, gid, egid; /* ID_UNKNOWN where the line is missing */
};
void proc_parse_status_ids(const char *text, size_t len, struct proc_ids *ret);

/* A decimal number alone, as in loginuid and sessionid; ID_UNKNOWN when it is none
 * (4294967295 is how the kernel writes "not set"). */
uint32_t proc_parse_id(const char *text, size_t len);

/* "pts/3", "tty1", "ttyS0", "console"; "" when the process has no terminal, "MAJOR:MINOR"
 * for one that has no well-known name. */
#define PROC_TTY_MAX 32
void proc_tty_name(uint32_t tty_nr, char ret[static PROC_TTY_MAX]);
