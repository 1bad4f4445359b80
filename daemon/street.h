/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The parts of the event street that a change of generation touches. */

#include "attribute.h"
#include "counters.h"
#include "marks.h"
#include "names.h"
#include "pipeline.h"
#include "reporter.h"
#include "resolve.h"

struct street {
        struct counters counters;
        struct marks *marks;
        struct learn *learn;
        struct until *until;
        struct dirmarks *dirmarks;
        struct names *names;
        struct resolver *resolver;
        struct attributor *attributor;
        struct proc_events *tracker; /* NULL: who did it is read from /proc alone, ... */
        const char *tracker_reason;  /* ... because of this, where the settings want it */
        struct reporter *reporter;
        struct pipeline *pipeline;
};

/* What places marks beside the plan's: ignore marks that are learned, and those of directories.  Needs counters,
 * marks and resolver.  0 or -errno. */
int street_open_marks(struct street *s, const struct generation *g);
/* Frees what there is of it. */
void street_done(struct street *s);
