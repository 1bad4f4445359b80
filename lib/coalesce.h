/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Coalescing: the first event of one process on one path is reported at once,
 * what follows within the window becomes one record at its end.  Time is an
 * argument; all times are microseconds.
 *
 * It also brings a feedback loop to rest: a log forwarder that writes because of
 * our records makes windows of few events, each opened right after the record
 * that closed the one before.  Such a chain has its window doubled, up to a
 * minute, until an event shows that somebody writes on his own account.
 */

#include "base.h"

struct coalescer;

/* At most max_open keys are remembered (at least 1).  free_payload frees what callers
 * attach to windows.  Returns NULL when memory is short; coalescer_free()
 * accepts NULL. */
struct coalescer *coalescer_new(size_t max_open, void (*free_payload)(void *payload));
void coalescer_free(struct coalescer *c);
DEFINE_CLEANUP(struct coalescer, coalescer_free);

struct coalesce_offer {
        /* the key: one path, one process, the same rules */
        const char *path;
        size_t path_len;
        int32_t pid;
        uint64_t start_ticks;
        uint64_t rules;       /* a hash of the set of rules that matched */

        uint32_t events;      /* EV_ bits */
        uint64_t window_usec; /* 0 = coalescing is off for these rules */
        uint64_t now_usec;    /* a clock that never goes back */
        uint64_t stamp_usec;  /* what first_usec and last_usec of the record are taken from */
};

enum coalesce_verdict {
        COALESCE_REPORT, /* make a record of it now */
        COALESCE_MERGED, /* it is in a window: coalescer_next() will return it */
};

/*
 * Never fails: without memory the event is reported at once.  An event with any
 * bit outside EV_COALESCED is reported and touches no window.
 *
 * *ret_payload is where the caller may keep a snapshot for the closing record
 * (NULL at first, freed by the coalescer if the window ends without merged
 * events), valid until the next call; NULL when no window is open.
 */
enum coalesce_verdict coalescer_offer(struct coalescer *c, const struct coalesce_offer *o,
                                      void ***ret_payload);

struct coalesced { /* a closed window that holds at least one event */
        uint32_t events;                /* union of the merged events */
        uint64_t count;                 /* merged events: those after the one reported at once */
        uint64_t first_usec, last_usec; /* stamps of the first and the last of them */
        bool feedback;                  /* once a chain: our records cause these events */
        void *payload;                  /* the caller's again */
};

/* Any "now" of this value closes every window: for reload and stop. */
#define COALESCE_FLUSH UINT64_MAX

/* The next window that is over at now, or that had to give way to others: call
 * until false, after each batch of offers.  Counts as a record made at now. */
bool coalescer_next(struct coalescer *c, uint64_t now_usec, struct coalesced *ret);
/* When coalescer_next() has something to do; UINT64_MAX = never, 0 = at once. */
uint64_t coalescer_deadline(const struct coalescer *c) _pure_;
/* Windows that are open now. */
size_t coalescer_n_open(const struct coalescer *c) _pure_;
