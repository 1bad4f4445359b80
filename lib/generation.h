/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * One generation: rules, settings, world, plan, matcher and leads, built as a whole or
 * not at all, immutable from then on.
 */

#include "leads.h"
#include "match.h"
#include "plan.h"

struct generation {
        uint64_t number;          /* FAWATCH_GENERATION; set by the daemon at the swap */
        struct rules *rules;
        struct settings *settings;
        struct world *world;
        struct plan *plan;
        struct matcher *matcher;
        struct leads *leads;
        /* between these moments the world was looked at, on CLOCK_BOOTTIME; set by the daemon */
        uint64_t looked_usec, looked_until_usec;
        char *canonical;          /* rules_print() without sources */
        char sha256[65];          /* of canonical, hex */
};

/* Takes over rules, settings and world (also on failure).  Returns 0 or
 * -ENOMEM; free with generation_free(), which accepts NULL. */
int generation_build(struct rules *rules, struct settings *settings, struct world *world,
                     struct generation **ret);
void generation_free(struct generation *g);
DEFINE_CLEANUP(struct generation, generation_free);
