/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * pid and pidfd of an event → who, with a bounded cache.
 *
 * Which process: a cached process is held by a descriptor on its directory in
 * /proc, which never shows another process with the same pid.
 *
 * Which program: /proc tells the program of now.  It is that of the event when no
 * exec lies between the two, and an exec raises open_exec in the same queue, before
 * the new program runs.  So a reading is certain once the queue was read empty after
 * it and no open_exec of that process was found; until then an answer is provisional,
 * and the caller settles it when it has read on.  An exec can only be seen where its
 * file's filesystem is marked for it: a program from elsewhere is never certain.
 *
 * With the table of processes (tracked.h) /proc is asked only about those that the
 * table does not know.
 *
 * What is not certain is said so, or left out; never is another process named.
 */

#include "counters.h"
#include "decode.h"
#include "event.h"
#include "proctable.h"
#include "settings.h"

struct attributor;
struct names;
struct proc_events;

int attributor_new(struct counters *counters, struct names *names, size_t max_entries,
                   struct attributor **ret);
void attributor_free(struct attributor *a);
DEFINE_CLEANUP(struct attributor, attributor_free);
/* mask_options, borrowed; drops nothing. */
void attributor_set_settings(struct attributor *a, const struct settings *s);

/* With the table of processes also those that are gone are known, and which program ran
 * when; NULL: /proc alone.  Borrowed.  Returns 0 or -ENOMEM (then /proc alone). */
int attributor_set_tracker(struct attributor *a, struct proc_events *tracker);
/* When the tracker saw the main queue empty, on CLOCK_BOOTTIME; 0 = not known. */
uint64_t attributor_queue_empty_usec(struct attributor *a);

/* All of them; copied.  Returns 0 or -ENOMEM (then none is known). */
int attributor_set_exec_filesystems(struct attributor *a, const struct exec_filesystem *v, size_t n);

/* A batch of events begins, of which none was queued before oldest_usec
 * (CLOCK_BOOTTIME): the queue was seen empty then; and none after read_usec: all were read
 * by then.  0 = not known. */
void attributor_begin_batch(struct attributor *a, uint64_t oldest_usec, uint64_t read_usec);

struct attribution_query {
        int32_t pid;
        int pidfd;           /* borrowed; ≥ 0, or FAN_NOPIDFD, FAN_EPIDFD, as in the event */
        bool exec_follows;   /* another open_exec of this pid stands later in what was read */
        bool exec_unordered; /* one stands before, but merged with an older event: its own place is not known */
        bool is_exec;        /* the event is an open_exec itself: by the old program about the new */
        bool other_queue;    /* it comes from a group that open_exec events do not come through */
        bool once;           /* of a kind that cannot hold anything that happened later */
        const struct fan_handle *file; /* of an open_exec: the program's file, or NULL */
};
struct attributed {
        enum attribution attribution;
        const struct actor *actor; /* never NULL; valid until attributor_end_batch() */
        bool provisional;          /* holds if the queue, read to its end from now, has no open_exec of it */
};
/* Who caused an event.  Never fails: what cannot be known is absent. */
void attributor_find(struct attributor *a, const struct attribution_query *q, struct attributed *ret);
/* A provisional answer that did not hold: an exec was seen, or the end of the queue was not. */
void attributor_weaken(struct attributed *who, bool exec_seen);

/* An open_exec of pid was judged at this place of the queue: what is cached of its
 * program ends here.  merged: with another event of the file, so that its own place may
 * be later. */
void attributor_exec(struct attributor *a, int32_t pid, const struct fan_handle *file, bool merged);
/* An open_exec of pid was read that is not judged yet: a program of it that is not
 * certain so far never will be. */
void attributor_exec_ahead(struct attributor *a, int32_t pid);
/* The queue was seen empty: programs read before now are certain from now on. */
void attributor_queue_drained(struct attributor *a);
/* Events were lost, and open_execs may have been among them. */
void attributor_forget_all(struct attributor *a);
void attributor_end_batch(struct attributor *a);
