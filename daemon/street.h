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
        struct names *names;
        struct resolver *resolver;
        struct attributor *attributor;
        struct reporter *reporter;
        struct pipeline *pipeline;
};
