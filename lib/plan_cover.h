/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What is covered, as people ask it: for each path of a rule whether what happens there
 * is seen, by what, and if not, why and what to do.  Plan and world, put together; pure.
 */

#include "plan.h"

enum cover_state {
        COVER_WHOLE,
        COVER_PARTLY, /* something there is not seen: the reason says what */
        COVER_NOT,
        COVER_WAITS,  /* does not exist yet: covered from the moment it does */
};
const char *cover_state_name(enum cover_state s) _pure_; /* "covered", ..., "waiting" */

/* A rule's path; or, in one row, all of a rule's paths that do not exist yet. */
struct cover_row {
        const char *rule;
        struct strings paths; /* at least one; more only of COVER_WAITS */
        enum cover_state state;
        const char *how;      /* "filesystem mark at /srv"; NULL: nothing covers it */
        const char *reason;   /* one sentence; NULL where all is covered */
        int error;            /* positive errno behind the reason, or 0 */
};

/* A mark of a filesystem that was planned, but refused when it was placed. */
struct cover_failure {
        uint32_t fs;
        int error; /* positive errno */
};

struct plan_cover {
        struct arena *arena;
        struct cover_row *rows; /* in the order of the rules and their paths */
        size_t n_rows;
};

/* Strings of rules, world and plan are borrowed.  Returns 0 or -ENOMEM. */
int plan_cover_build(const struct rules *rules, const struct world *world, const struct plan *plan,
                     const struct cover_failure *failures, size_t n_failures, struct plan_cover **ret);
void plan_cover_free(struct plan_cover *c);
DEFINE_CLEANUP(struct plan_cover, plan_cover_free);

/* How many filesystems are in each state, by enum coverage_state; rule paths that are
 * not covered count as NOT_COVERED. */
#define N_COVERAGE_STATES 4
void plan_cover_counts(const struct plan *plan, size_t ret[N_COVERAGE_STATES]);
