/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The last stretch of the event street: coalesce, limit, number, record, spool,
 * sink.  Everything that is recorded passes here, so that the numbers
 * (FAWATCH_SEQ) are dense: what is shed keeps its number and is told by the
 * `shed` record that names it.
 */

#include "counters.h"
#include "generation.h"
#include "record.h"
#include "sink.h"

struct reporter;

struct rule_counters { /* since the rule was first loaded; kept over reloads by name */
        const char *rule;
        uint64_t recorded, limited, shed;
};

struct reporter_params {
        struct counters *counters; /* shared with the pipeline */
        struct sink *sink;         /* taken over */
        struct spool *spool;       /* taken over; NULL: memory of its own, which ends with the process */
        const char *stream;        /* 32 hex digits; copied */
        uint64_t (*realtime_usec)(void);
        uint64_t (*monotonic_usec)(void);
        /* each record that was made (before it is sent), for followers; may be NULL */
        void (*published)(void *userdata, const char *record, size_t len);
        void *userdata;
};
/* settings: those in force until the first generation (borrowed).  The sink is
 * taken over on failure too, and so is the spool.  What a process before left in that is
 * sent as if it were our own: its records, and the account of what it shed.
 * Returns 0 or -ENOMEM. */
int reporter_new(const struct reporter_params *params, const struct settings *settings,
                 struct reporter **ret);
void reporter_free(struct reporter *r);
DEFINE_CLEANUP(struct reporter, reporter_free);

/* Rules and settings in force from now on; closes every open coalesce and limit
 * window of the old ones first (their records are written under the old
 * generation).  generation must outlive the next call. */
void reporter_set_generation(struct reporter *r, const struct generation *g);

/* One event with its hits, judged by the generation in force.  Never fails: what
 * cannot be recorded is counted and accounted for. */
void reporter_event(struct reporter *r, const struct event *e, const struct match_hits *hits);

/* A record that is no event.  fields: NAME, VALUE, ..., NULL; an empty value is
 * left out.  Returns 0; a negative errno when it was shed, and will be accounted for. */
int reporter_note(struct reporter *r, enum record_kind kind, int priority, const char *const *fields,
                   const char *format, ...) _printf_(5, 6);

/* Sends what the sink takes now.  Returns true when more waits: then watch
 * reporter_poll_fd() for writing, or call again at reporter_deadline(). */
bool reporter_flush(struct reporter *r);
int reporter_poll_fd(const struct reporter *r); /* -1: not waiting for a descriptor */
/* Monotonic usec of the next thing to do (window closes, sink retry, shed record), UINT64_MAX = nothing. */
uint64_t reporter_deadline(const struct reporter *r);
void reporter_tick(struct reporter *r); /* call at the deadline */
/* Closes all windows, then tries to send everything until deadline_usec
 * (monotonic), polling the sink.  Returns how many records are left. */
size_t reporter_drain(struct reporter *r, uint64_t deadline_usec);

uint64_t reporter_seq(const struct reporter *r); /* last number given */
size_t reporter_waiting(const struct reporter *r, size_t *ret_bytes);
bool reporter_sink_away(const struct reporter *r, int *ret_errno);
/* Per-rule counters, sorted by name; valid until the next call of any function. */
const struct rule_counters *reporter_rule_counters(const struct reporter *r, size_t *ret_n);
