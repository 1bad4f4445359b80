/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Records that wait for the log: a bounded queue in order of their numbers, and
 * the account of what did not fit.  Memory is taken in chunks as records come and
 * given back as they leave.
 *
 * Shedding is by priority: a record is accepted only while the fill is below its
 * priority's share (debug and info 70 %, notice 80 %, warning 90 %, err and above,
 * and records that are no events, 100 %), so that a flood of notices leaves room
 * for the alert behind it.
 */

#include "base.h"

struct spool;
struct iovec;

struct spool *spool_new(size_t max_bytes);
void spool_free(struct spool *s);
DEFINE_CLEANUP(struct spool, spool_free);
void spool_set_max(struct spool *s, size_t max_bytes); /* reload */

/* Copies one record.  Returns 0, -ENOBUFS (no room for this priority: shed), -ENOMEM. */
int spool_push(struct spool *s, int priority, const char *record, size_t len);
/* Up to n records from the front, in order; they stay until popped.  Pointers
 * are valid until the next pop.  Returns how many. */
size_t spool_peek(const struct spool *s, struct iovec *iov, size_t n);
void spool_pop(struct spool *s, size_t n);
size_t spool_count(const struct spool *s) _pure_;
size_t spool_bytes(const struct spool *s) _pure_;

/*
 * What could not be recorded, summed up per rule until it is told.  rule NULL
 * sums records that are no events.
 */
struct shed_entry {
        char *rule;           /* name(s) of the record's rules, comma-separated */
        uint64_t count;       /* records */
        uint32_t events;      /* union of EV_ bits */
};
struct shed_range { uint64_t first, last; };
struct shed {
        struct shed_entry *entries;
        size_t n_entries, cap_entries;
        struct shed_range *ranges; /* of FAWATCH_SEQ, ascending, disjoint; bounded: neighbours merge when there would be more than 64 (merged_ranges then says so) */
        size_t n_ranges;
        bool merged_ranges;
        uint64_t total, first_usec, last_usec;
};
#define SHED_NULL ((struct shed){})
void shed_done(struct shed *s);
/* Returns 0 or -ENOMEM (total is counted all the same). */
int shed_note(struct shed *s, uint64_t seq, const char *rule, uint32_t events, uint64_t now_usec);
