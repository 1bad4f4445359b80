/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Named counters, among them every way in which an event can go unrecorded.
 * events read + adopted + replaced
 *             = filtered + ignored + self + nameless + unresolved + special + guarded + coalesced
 *             + limited + recorded events + shed events (+ internal ones: overflow, exec)
 */

#include "base.h"

#define COUNTERS(X)                                                            \
        X(events_read, "events read from the kernel")                          \
        X(events_overflow, "queue overflow marks read")                        \
        X(events_self, "caused by fawatchd itself")                            \
        X(events_exec, "program starts read for attribution only")             \
        X(events_filtered, "wanted by no rule")                                \
        X(events_ignored, "taken out by an ignore or except")                  \
        X(events_nameless, "without a name and of no rule's object")           \
        X(events_unresolved, "directory gone before its path was known")       \
        X(events_guarded, "journald writing its own files")                    \
        X(events_coalesced, "merged into another record")                      \
        X(events_limited, "over a rule's limit, counted in a shed record")     \
        X(events_bad, "records that could not be decoded")                     \
        X(events_no_memory, "dropped because memory or descriptors were short") \
        X(events_recorded, "events that became a record")                      \
        X(events_unread,   "shed before they were looked at: the kernel's queue was too long") \
        X(events_recovered, "changes found by a scan after a gap")             \
        X(records_made, "records of all kinds made")                           \
        X(records_sent, "records the log accepted")                            \
        X(records_shed, "records shed because the log did not keep up")        \
        X(records_too_large, "records the log refused as too large")           \
        X(send_errors, "failed attempts to reach the log")                     \
        X(paths_cached, "directory paths found in the cache")                  \
        X(paths_resolved, "directory paths asked of the kernel")               \
        X(paths_failed, "directory paths that could not be found")             \
        X(paths_timed_out, "... because the filesystem hangs")                 \
        X(actors_cached, "processes found in the cache")                       \
        X(actors_made, "descriptions of processes made")                       \
        X(actors_read, "processes read from /proc")                            \
        X(actors_tracked, "processes that were gone, known from process events") \
        X(actors_gone, "processes gone before they could be read")             \
        X(marks_failed, "fanotify_mark calls that failed")                     \
        X(ignores_learned, "ignore marks placed when a first unwanted event came") \
        X(ignores_inherited, "ignore marks taken over from a process that was killed") \
        X(ignores_renewed, "ignore marks placed again: the kernel had dropped them") \
        X(ignores_taken_off, "ignore marks taken off: moved, linked, or wanted now") \
        X(ignores_failed, "ignore marks the kernel refused")                   \
        X(adopted, "entries reported by a look into a directory that had been ignored") \
        X(replaced, "rule paths that came to lead to another object, or to none") \
        X(directories_adopted, "directories marked and listed when they came")  \
        X(marks_repaired, "marks that differed from what the kernel had")      \
        X(reloads, "rule sets taken into force")                               \
        X(reloads_refused, "rule sets refused")                                \
        X(followers_lost, "events not sent to slow followers")

struct counters {
#define X(name, text) uint64_t name;
        COUNTERS(X)
#undef X
};

struct counter_info {
        const char *name, *text;
        size_t offset;
};
/* The table of all counters, in the order above. */
const struct counter_info *counters_table(size_t *ret_n);
static inline uint64_t counter_value(const struct counters *c, const struct counter_info *i)
{
        return *(const uint64_t *)((const char *)c + i->offset);
}
