/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The rules' `limit`: so many records a window; what is above is counted, and
 * one summary at the window's end accounts for it.  Time is an argument; all
 * times are microseconds.
 */

#include "base.h"

struct limiter;

/* For rules 0..n_rules-1.  Returns NULL when memory is short; limiter_free()
 * accepts NULL. */
struct limiter *limiter_new(size_t n_rules);
void limiter_free(struct limiter *l);
DEFINE_CLEANUP(struct limiter, limiter_free);

struct limit_offer {
        uint32_t rule;
        uint64_t limit_count; /* records allowed in a window; 0 = no limit */
        uint64_t limit_usec;  /* its length */
        uint32_t events;      /* EV_ bits, for the summary */
        const char *program;  /* comm; NULL = not known */
        uint64_t now_usec;    /* a clock that never goes back */
        uint64_t stamp_usec;  /* what first_usec and last_usec are taken from */
};

/* True: make the record.  False: it is over the limit and was counted. */
bool limiter_offer(struct limiter *l, const struct limit_offer *o);

#define LIMIT_PROGRAMS 8
#define LIMIT_PROGRAM_MAX 15 /* bytes of a comm */

struct limited { /* what one window of one rule held back */
        uint32_t rule;
        uint64_t count;
        uint32_t events; /* union */
        uint64_t first_usec, last_usec;
        struct limit_program {
                char name[LIMIT_PROGRAM_MAX + 1];
                uint64_t count;
        } programs[LIMIT_PROGRAMS]; /* the first that came, exact counts */
        size_t n_programs;
        uint64_t other_programs;    /* events of programs beyond those, or not known */
};

/* Any "now" of this value ends every window: for reload and stop. */
#define LIMIT_FLUSH UINT64_MAX

/* The next window that is over at now and held something back: call until
 * false. */
bool limiter_next(struct limiter *l, uint64_t now_usec, struct limited *ret);
/* When limiter_next() has something to do; UINT64_MAX = never. */
uint64_t limiter_deadline(const struct limiter *l) _pure_;
