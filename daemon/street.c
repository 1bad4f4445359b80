/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "street.h"

#include <time.h>

#include "daemon_state.h"
#include "tracking.h"

/* The clock of file times. */
static uint64_t file_usec(void)
{
        struct timespec t;

        clock_gettime(CLOCK_REALTIME_COARSE, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

static int open_ignores(struct street *s, const struct generation *g)
{
        const struct learn_params learn = {
                .counters = &s->counters,
                .resolver = s->resolver,
                .marks = s->marks,
                .monotonic_usec = daemon_monotonic_usec,
                .file_usec = file_usec,
                .max_marks = (size_t)g->settings->max_directory_marks,
                .evictable = g->world->kernel.evictable,
        };
        int r = learn_new(&learn, &s->learn);
        if (r < 0)
                return r;
        const struct until_params until = {
                .counters = &s->counters, .resolver = s->resolver, .marks = s->marks,
        };
        return until_new(&until, &s->until);
}

int street_open_marks(struct street *s, const struct generation *g)
{
        const struct dirmarks_params directories = {
                .counters = &s->counters, .resolver = s->resolver, .marks = s->marks,
                .realtime_usec = daemon_realtime_usec, .monotonic_usec = daemon_monotonic_usec,
        };
        int r = open_ignores(s, g);

        return r < 0 ? r : dirmarks_new(&directories, &s->dirmarks);
}

void street_done(struct street *s)
{
        pipeline_free(s->pipeline);
        learn_free(s->learn);
        until_free(s->until);
        dirmarks_free(s->dirmarks);
        if (s->attributor)
                tracking_stop(s);
        attributor_free(s->attributor);
        resolver_free(s->resolver);
        names_free(s->names);
        reporter_free(s->reporter);
        marks_free(s->marks);
}
