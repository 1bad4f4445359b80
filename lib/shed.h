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

/* Frees what it holds and leaves an empty account. */
void shed_done(struct shed *s);
/* Numbers come in ascending order.  rule NULL: a record that is no event.
 * Returns 0 or -ENOMEM (total is counted all the same). */
int shed_note(struct shed *s, uint64_t seq, const char *rule, uint32_t events, uint64_t now_usec);
