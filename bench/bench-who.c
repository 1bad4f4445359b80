/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What it takes to say whose an event is, of a process that is known already: with the
 * table of processes, and from /proc alone.  Without the initial pid and network
 * namespaces and CAP_NET_ADMIN only the latter.
 */

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "names.h"
#include "proc_events.h"

#define EVENTS 200000
#define BATCH 1000
#define RUNS 5

static uint64_t now_ns(clockid_t clock)
{
        struct timespec t;

        (void)clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC * NSEC_PER_USEC + (uint64_t)t.tv_nsec;
}

static double measure(struct attributor *a, const struct attribution_query *q, enum attribution *ret_attribution)
{
        double best = 1e9;

        for (int run = 0; run < RUNS; run++) {
                uint64_t begin = now_ns(CLOCK_MONOTONIC);

                for (int i = 0; i < EVENTS; i++) {
                        struct attributed who;

                        if (i % BATCH == 0)
                                attributor_begin_batch(a, now_ns(CLOCK_BOOTTIME) / NSEC_PER_USEC);
                        attributor_find(a, q, &who);
                        *ret_attribution = who.attribution;
                        if (i % BATCH == BATCH - 1)
                                attributor_end_batch(a);
                }
                double took = (double)(now_ns(CLOCK_MONOTONIC) - begin) / EVENTS;
                best = took < best ? took : best;
        }
        return best;
}

int main(void)
{
        _cleanup_(attributor_freep) struct attributor *a = NULL;
        _cleanup_(names_freep) struct names *names = NULL;
        struct proc_events *tracker = NULL;
        struct counters counters = {};
        const char *reason;
        enum attribution attribution;
        const struct attribution_query q = { .pid = getppid(),
                                             .pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0) };

        if (names_new(&names) < 0 || attributor_new(&counters, names, 1024, &a) < 0)
                return 1;
        printf("from /proc alone: %.0f ns an event", measure(a, &q, &attribution));
        printf(" (%s)\n", attribution_name(attribution));
        if (proc_events_new(&tracker, &reason) < 0) {
                printf("with process events: not measured: %s\n", reason);
        } else if (attributor_set_tracker(a, tracker) == 0) {
                printf("with process events: %.0f ns an event", measure(a, &q, &attribution));
                printf(" (%s)\n", attribution_name(attribution));
        }
        (void)attributor_set_tracker(a, NULL);
        proc_events_free(tracker);
        (void)close(q.pidfd);
        return 0;
}
