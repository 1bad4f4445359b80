/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The account of records that could not be kept: how many of which rules, and
 * which numbers, until a record of its own tells.
 */

#include "base.h"

struct shed_entry {
        char *rule;           /* name(s) of the record's rules, comma-separated; "" = records that are no events */
        uint64_t count;       /* records */
        uint32_t events;      /* union of EV_ bits */
        uint64_t first, last; /* numbers: of the first and the last of them */
};

struct shed_range {
        uint64_t first, last;
};

/* More ranges than this and the two nearest become one: it then also holds
 * numbers of records that were not shed. */
#define SHED_MAX_RANGES 64u

struct shed {
        struct shed_entry *entries; /* sorted by rule */
        size_t n_entries, cap_entries;
        struct shed_range *ranges;  /* of FAWATCH_SEQ, ascending, disjoint */
        size_t n_ranges;
        bool merged_ranges;
        uint64_t total, first_usec, last_usec;
};
#define SHED_NULL ((struct shed){})

/*
 * While more than `bound` bytes wait in the kernel's queue, what is shed of it rises step by
 * step with each look (0 = nothing); once it is below half of that nothing is.
 */
#define SHED_MAX_LEVEL 3u
unsigned shed_level(unsigned level, uint64_t queued_bytes, uint64_t bound) _pure_;

/* The account as it outlives the process: without pointers, and of bounded size. */
#define SHED_MAX_KEPT  32u
#define SHED_NAME_SIZE 64u
struct shed_kept {
        uint64_t total, first_usec, last_usec;
        uint64_t merged_ranges, n_ranges, n_entries;
        struct shed_range ranges[SHED_MAX_RANGES];
        /* the last one may be SHED_OTHERS, for those that have no room */
        struct shed_kept_entry {
                char rule[SHED_NAME_SIZE];
                uint64_t count, events, first, last;
        } entries[SHED_MAX_KEPT];
};
/* What no rule can be called. */
#define SHED_OTHERS "(others)"

void shed_keep(const struct shed *s, struct shed_kept *ret);
/* Into an empty account.  Returns 0 or -ENOMEM (then it is empty still). */
int shed_restore(struct shed *s, const struct shed_kept *kept);
/* How much of it is in use, from its beginning; n_ranges and n_entries must be in bounds. */
size_t shed_kept_size(const struct shed_kept *kept) _pure_;
/* Is this an account at all?  Nothing in it is trusted. */
bool shed_kept_bounded(const struct shed_kept *kept) _pure_;
/* ... and one of numbers up to seq?  It must be bounded. */
bool shed_kept_valid(const struct shed_kept *kept, uint64_t seq) _pure_;

/* Frees what it holds and leaves an empty account. */
void shed_done(struct shed *s);
/* Numbers come in ascending order.  rule NULL: a record that is no event.
 * Returns 0 or -ENOMEM (total is counted all the same). */
int shed_note(struct shed *s, uint64_t seq, const char *rule, uint32_t events, uint64_t now_usec);
