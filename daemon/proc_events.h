/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The kernel's process connector: it tells of every fork, exec, change of user and exit.
 * A thread of our own, at a real-time priority where that is allowed, keeps the table of
 * processes by it, and reads at each exec what only /proc has: a program of a
 * millisecond is gone before an ordinary thread gets to run.
 */

#include "proctable.h"
#include "strbuf.h"

struct proc_events;

/* Listens, scans /proc once and starts the thread.  Fails where the connector does not
 * speak our language: *ret_reason then says why, in words for the administrator. */
int proc_events_new(struct proc_events **ret, const char **ret_reason);
/* Ends the thread; accepts NULL. */
void proc_events_free(struct proc_events *e);
DEFINE_CLEANUP(struct proc_events, proc_events_free);

/* The fanotify queue in whose order the events come: while it is seen empty, no event
 * waits for the past of the table.  since_ns: it was empty then (CLOCK_MONOTONIC);
 * 0 = not known. */
void proc_events_watch_queue(struct proc_events *e, int fd, uint64_t since_ns);
/* When it was last seen empty, on CLOCK_BOOTTIME; 0 = not known. */
uint64_t proc_events_queue_empty_usec(struct proc_events *e);

/* The table, with everything that has happened so far in it, ours until the release. */
struct proctable *proc_events_acquire(struct proc_events *e);
/* The same without looking for news. */
struct proctable *proc_events_lock(struct proc_events *e);
void proc_events_release(struct proc_events *e);
/* Events from this time on (of CLOCK_MONOTONIC) may still be asked about. */
void proc_events_needed_since(struct proc_events *e, uint64_t ns);
/* Looks whether what pid is known to run has begun, and takes in what was told by then; locks itself. */
void proc_events_look_again(struct proc_events *e, int32_t pid);
/* Reads session, login and unit of a living process again; locks itself. */
void proc_events_refresh(struct proc_events *e, int32_t pid);

struct proc_events_status {
        bool realtime;    /* else at a lower nice value, or not even that */
        bool scanning;    /* events were lost a moment ago: the table is incomplete */
        uint64_t lost;    /* how often events were lost */
        uint64_t dropped; /* processes for which there was no room */
        size_t processes, bytes;
};
void proc_events_status(struct proc_events *e, struct proc_events_status *ret);
