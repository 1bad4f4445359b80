/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The reporter's own parts, shared by its files and nobody else. */

#include "coalesce.h"
#include "limit.h"
#include "reporter.h"
#include "shed.h"
#include "snapshot.h"
#include "spool.h"

struct rule_account {
        struct rule_counters *all; /* sorted by name; owns the names */
        size_t n;
        uint32_t *of_rule;         /* index in all of each rule of the generation in force; may be NULL */
        struct rule_counters lost; /* counts for rules without a place: memory was short */
};

struct reporter {
        struct reporter_params params;
        char stream[33];
        const struct settings *settings; /* in force */
        const struct generation *generation; /* NULL before the first */

        struct coalescer *coalescer;
        struct limiter *limiter; /* NULL: memory was short, no limits */
        struct rule_account rules;

        struct match_hits allowed; /* the hits of an event that no limit holds back */
        struct strbuf record, names;

        struct spool *spool;
        struct spool_state *kept; /* the spool's: the last number given, and what is to be counted after a kill */
        struct shed shed;
        uint64_t shed_due_usec;  /* when the account is told at the latest, room permitting */

        struct sink *sink;
        bool blocked;            /* the sink said -EAGAIN */
        size_t batch;            /* records it is offered at a time */
        int away_errno;          /* positive; 0 = the sink is there */
        uint64_t backoff_usec, retry_usec;
};

/* reporter.c */

/* A record of an event, or of what a window merged (closing). */
void reporter_record(struct reporter *r, const struct event *e, const struct match_hits *hits, bool closing);
/* What record_begin() needs for the record with the next number. */
struct record_context reporter_context(const struct reporter *r);

/* Takes r->record into the spool under the next number, shows it to followers.
 * names: of its rules, for the account of what was shed; NULL: no event.
 * Returns 0, or the negative errno for which it was shed. */
int reporter_push(struct reporter *r, int priority, const char *names, uint32_t events);

/* reporter_windows.c: coalesce and limit windows */
bool reporter_coalesce(struct reporter *r, const struct event *e, const struct match_hits *hits);
/* The hits that may be recorded; NULL when every rule is over its limit. */
const struct match_hits *reporter_limit(struct reporter *r, const struct event *e,
                                        const struct match_hits *hits);
void reporter_close_windows(struct reporter *r, bool all);

/* reporter_send.c: what a process before was sending, as far as the log has it, waits no more. */
void reporter_note_accepted(struct reporter *r);

/* reporter_shed.c: what could not be recorded, told */
/* The account of it goes into the state that outlives us. */
void reporter_keep_shed(struct reporter *r);
void reporter_tell_shed(struct reporter *r, bool now);
void reporter_tell_limited(struct reporter *r, const struct limited *l);

/* reporter_rules.c */
void rule_account_done(struct rule_account *a);
void rule_account_set(struct rule_account *a, const struct rules *rules);
/* Where a rule of the generation in force is counted; never NULL. */
struct rule_counters *rule_account_of(struct rule_account *a, uint32_t rule);
