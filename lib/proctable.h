/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Who lived when: the processes of the machine with every program they ran, kept from
 * the kernel's process events until the last file event that can be theirs has passed.
 *
 * Process events carry times; file events carry none, but stand in a queue, and the
 * start of a program stands in the same queue.  So a file event lies in an interval of
 * time, [when the queue was last seen empty, now], and the order of a process's own
 * programs is told by the queue.  Where both leave more than one answer, the table
 * gives none.
 *
 * All times are nanoseconds of CLOCK_MONOTONIC, as in the process events.
 */

#include "event.h"
#include "proc_text.h"

struct proctable;

/* A filesystem whose programs raise open_exec in the queue when they are started. */
struct exec_filesystem {
        uint64_t dev; /* st_dev of its files; on btrfs only the fsid tells */
        uint64_t fsid;
        bool fsid_known;
};

/* What /proc said of a process.  Texts are copied. */
struct proc_facts {
        const char *comm; /* NULL: nothing could be read */
        const char *exe;
        bool exe_deleted, kernel_thread;
        struct bytes cmdline; /* raw, a NUL behind each argument */
        const char *cgroup;   /* the text of /proc/PID/cgroup */
        struct proc_ids ids;
        uint32_t loginuid, session; /* ID_UNKNOWN: none */
        uint32_t tty_nr;
        uint64_t exe_file;   /* which file, of whatever filesystem; 0 = not known */
        uint64_t exe_handle; /* proctable_handle_id() of it; 0 = it has none */
        uint64_t exe_dev, exe_fsid;
        uint64_t start_ticks; /* 0 = not read */
        uint64_t read_ns;     /* when the reading had ended */
        uint64_t looked_ns;   /* when its file was seen first; the same as at the end */
        bool ran;             /* what was read had run: its exec, which is told before, was told by read_ns */
};
/* A file seen so soon after the exec is of its program: no process starts, calls exec and
 * has the next program in place in that time. */
#define PROMPT_NS (70 * NSEC_PER_USEC)

/* A program of a process: what a process is from a fork or an exec to its next exec. */
struct proc_image {
        unsigned refs;
        uint32_t depth;            /* of parents behind it */
        struct proc_image *older;  /* the program of the same process before, while it may matter */
        struct proc_image *parent; /* the program of the process that forked this one; NULL = not known */
        uint64_t serial;           /* changes with everything below */
        int32_t pid;
        bool known;       /* of what follows, something could be read */
        bool executed;    /* begun by an exec, not by a fork */
        bool had_threads; /* others of its process ran when it began */
        bool confirmed;   /* what was read is its own: the queue told of the same file, or it forked since */
        bool doubtful;    /* forked of one of which that is not known */
        bool unordered;   /* its open_exec may stand too early in the queue */
        bool exe_deleted, kernel_thread;
        char comm[16];            /* "" = not known */
        const char *exe, *cgroup; /* interned; NULL = not known */
        struct bytes cmdline;     /* interned */
        struct proc_ids ids;
        uint32_t loginuid, session, tty_nr;
        uint64_t begin_ns, ids_ns, comm_ns, read_ns; /* began; ids, comm last changed; was read */
        uint64_t place_ns;                           /* session, login and unit were read */
        uint64_t looked_ns;                          /* as in struct proc_facts */
        uint64_t told_ns; /* if what was read is of a later program, its exec was told by then */
        uint64_t exe_file, exe_handle, exe_dev, exe_fsid;
};

/* max_processes bounds how many are kept, max_bytes all memory.  Returns 0 or -ENOMEM. */
int proctable_new(size_t max_processes, size_t max_bytes, struct proctable **ret);
void proctable_free(struct proctable *t);
DEFINE_CLEANUP(struct proctable, proctable_free);
/* Borrowed; an exec before now may have raised nothing. */
void proctable_set_exec_filesystems(struct proctable *t, const struct exec_filesystem *v, size_t n,
                                    uint64_t now);

/* ---- what the kernel tells, in the order it does ---- */

void proctable_fork(struct proctable *t, int32_t parent, int32_t child, uint64_t ns);
/* A thread of pid began (+1) or ended (-1). */
void proctable_thread(struct proctable *t, int32_t pid, int change, uint64_t ns);
/* facts may be NULL: nothing could be read any more. */
void proctable_exec(struct proctable *t, int32_t pid, uint64_t ns, const struct proc_facts *facts);
void proctable_uid(struct proctable *t, int32_t pid, uint64_t ns, uint32_t uid, uint32_t euid);
void proctable_gid(struct proctable *t, int32_t pid, uint64_t ns, uint32_t gid, uint32_t egid);
void proctable_comm(struct proctable *t, int32_t pid, uint64_t ns, const char *comm);
/* It began a session of its own: session, login, terminal and unit may be about to change. */
void proctable_sid(struct proctable *t, int32_t pid);
void proctable_exit(struct proctable *t, int32_t pid, uint64_t ns);

/* A process found in a scan of /proc that ended at facts->read_ns. */
void proctable_scanned(struct proctable *t, int32_t pid, int32_t ppid, uint64_t begin_ns,
                       const struct proc_facts *facts);
/* The scan is complete: parents are found. */
void proctable_link_parents(struct proctable *t);
/* Process events were lost before now: forgets everything. */
void proctable_lost(struct proctable *t, uint64_t now);

/* What a new program takes over from the one before, so that it need not be read again. */
struct proc_inherited {
        const char *cgroup;
        uint32_t loginuid, session, tty_nr;
        struct proc_ids ids;
        uint64_t start_ticks;
        bool doubtful; /* something was done since it was read that goes with changing it */
};
bool proctable_inherited(const struct proctable *t, int32_t pid, struct proc_inherited *ret);
/* It still has this program at ns, which has run by now: its exec is told. */
void proctable_looked(struct proctable *t, int32_t pid, uint64_t exe_file, uint64_t ns);
/* Session, login and unit of a living process, read again. */
void proctable_refresh(struct proctable *t, int32_t pid, const struct proc_facts *facts);

/* ---- what the queue tells, in its order ---- */

/* Two files of one filesystem differ in it; never 0. */
uint64_t proctable_handle_id(int type, const void *handle, size_t len);
/* An open_exec of pid stands here.  merged: with an earlier event of the same file, so
 * that its own place may be later.  lo_ns: the queue was seen empty then.  Of a program
 * that could not be read it gives no name: an exec that fails has raised one, too. */
void proctable_queue_exec(struct proctable *t, int32_t pid, uint64_t handle_id, bool merged, uint64_t lo_ns);
/* Events were lost, and open_execs may have been among them. */
void proctable_queue_lost(struct proctable *t, uint64_t now);
/* All that the kernel told before ns is in the table. */
void proctable_caught_up(struct proctable *t, uint64_t ns);
/* No event from before ns is still to come. */
void proctable_passed(struct proctable *t, uint64_t ns);

struct proc_question {
        int32_t pid;
        uint64_t lo_ns;     /* the event was not queued before */
        uint64_t hi_ns;     /* it had been read by then; UINT64_MAX = not known */
        bool ordered;       /* it comes from the queue that open_execs come through */
        bool alive;         /* a pidfd of the event's process says that it is not reaped */
        bool is_exec;       /* the event is an open_exec itself, ... */
        uint64_t handle_id; /* ... of this file */
};
struct proc_answer {
        const struct proc_image
                        *image; /* any of its programs: what does not depend on which is right in it */
        bool program_certain;
        bool program_likely; /* not certain only because its filesystem raises no open_exec */
        bool comm_certain, ids_certain, place_certain; /* place: login, session, terminal, unit */
        bool exited;
        bool look_again; /* not certain only as long as another exec may be under way: proctable_looked() */
        const struct proc_image *next; /* the program it became before now; NULL = none */
        uint64_t start_ticks, begin_ns;
};
/* False when the process is not known, or several can be meant. */
bool proctable_find(struct proctable *t, const struct proc_question *q, struct proc_answer *ret);

size_t proctable_count(const struct proctable *t) _pure_;
size_t proctable_bytes(const struct proctable *t) _pure_;
uint64_t proctable_dropped(const struct proctable *t) _pure_; /* processes for which there was no room */
