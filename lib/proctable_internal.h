/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Shared by the parts of the table of processes: texts and programs, lives, answers. */

#include "proctable.h"

/* Programs of one process that may matter at a time; what runs more is not told apart. */
#define MAX_PROGRAMS 16
/* From the moment its program is in place until it is told, an exec maps and reads from
 * the disk: how long, behind a prompt reading and behind a late one, when all is slow. */
#define EXEC_PROMPT_NS (5 * USEC_PER_MSEC * NSEC_PER_USEC)
#define EXEC_LATE_NS (2 * USEC_PER_SEC * NSEC_PER_USEC)
static inline bool image_is_late(const struct proc_image *i)
{
        return i->looked_ns > i->begin_ns + PROMPT_NS;
}
/* open_execs that no known program explains yet */
#define MAX_PENDING 4

/* A text that many share. */
struct shared_text;

/* One process, from its fork until nothing of it can come any more. */
struct life {
        struct life *next;                  /* with the same hash; of one pid the newest first */
        struct life *exit_next, *exit_prev; /* of those that exited, in that order */
        int32_t pid, ppid;                  /* ppid: as scanned, until parents are linked */
        int32_t threads;                    /* besides the first */
        bool exited, scanned;
        bool doubtful;    /* what is inherited must be read again */
        bool just_passed; /* nothing but open_execs came since `passed` moved */
        uint64_t begin_ns, exit_ns, scanned_ns, start_ticks;
        uint64_t unordered_ns;     /* open_execs before then may be missing */
        struct proc_image *image;  /* the program of now; its older ones behind it */
        struct proc_image *passed; /* the program that the queue has come to */
        struct {
                uint64_t handle_id;
                bool merged;
        } pending[MAX_PENDING]; /* the last first */
        uint64_t pending_ns;
};

struct proctable {
        struct life **lives;
        struct shared_text **texts;
        size_t max_processes, max_bytes;
        size_t n, bytes;
        uint64_t serial, dropped;
        uint64_t lost_ns;      /* processes from before then may be missing */
        uint64_t unordered_ns; /* open_execs from before then may be missing */
        uint64_t caught_up_ns; /* what was told before then is known */
        uint64_t passed_ns;    /* no event from before then is to come */
        struct life *first_exited, *last_exited;
        const struct exec_filesystem *filesystems;
        size_t n_filesystems;
};
#define LIFE_BUCKETS 16384u
#define TEXT_BUCKETS 16384u

/* proctable_image.c */
/* NULL when memory is short or the bound is reached. */
struct proc_image *image_new(struct proctable *t, int32_t pid, uint64_t ns, const struct proc_facts *facts);
/* The same program in a forked process. */
struct proc_image *image_copy(struct proctable *t, struct proc_image *of, int32_t pid, uint64_t ns);
struct proc_image *image_ref(struct proc_image *i);
void image_unref(struct proctable *t, struct proc_image *i);
/* Of a program and all those before it, each holding the next. */
void image_unref_chain(struct proctable *t, struct proc_image *i);
/* Nothing that was read of it can be believed. */
void image_wipe(struct proctable *t, struct proc_image *i);
void image_set_parent(struct proctable *t, struct proc_image *i, struct proc_image *parent);
void image_set_cgroup(struct proctable *t, struct proc_image *i, const char *cgroup);
void image_set_comm(struct proctable *t, struct proc_image *i, const char *comm);

/* proctable.c */
struct life *life_newest(const struct proctable *t, int32_t pid);
void life_drop(struct proctable *t, struct life *l);

/* proctable_find.c */
/* Is an open_exec of this program in the queue, and its own? */
bool image_is_seen(const struct proctable *t, const struct life *l, const struct proc_image *i);
/* Programs that no event to come can be of are let go. */
void life_forget_programs(struct proctable *t, struct life *l);
/* An open_exec that came before the exec was told explains it now. */
void life_take_pending(struct proctable *t, struct life *l);
