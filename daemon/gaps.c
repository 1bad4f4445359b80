/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gaps.h"

#include <errno.h>

#include "log.h"
#include "notes.h"
#include "recover.h"

/* Findings recorded in one go, before events get their turn. */
#define BATCH           64u
#define QUEUE_LOOK_USEC USEC_PER_SEC

void gaps_recover(struct daemon *d, uint64_t from_usec)
{
        if (!d->generation->settings->recover || from_usec == 0)
                return;
        int r = d->recovery ? recovery_start(d->recovery, d->generation, from_usec) : -ENOMEM;
        if (r < 0)
                log_message(LOG_WARNING, "what happened in the gap cannot be looked for: %s", strerror(-r));
}

void gaps_note(struct daemon *d, const struct gap_note *gap)
{
        notes_gap(d, gap);
        gaps_recover(d, gap->from_usec);
}

/* A quarter of the room: events come first, and a scan never makes anything shed. */
static bool log_has_room(const struct daemon *d)
{
        size_t bytes;

        (void)reporter_waiting(d->street.reporter, &bytes);
        return bytes < d->generation->settings->spool_bytes / 4;
}

bool gaps_take(struct daemon *d)
{
        struct found found[BATCH];
        struct recovery_summary summary;

        if (!log_has_room(d))
                return true;
        size_t n = recovery_take(d->recovery, found, BATCH);
        for (size_t i = 0; i < n; i++) {
                pipeline_found(d->street.pipeline, found[i].path, found[i].events, &found[i].object);
                found_done(&found[i]);
        }
        if (recovery_over(d->recovery, &summary))
                notes_recovered(d, &summary);
        return n == BATCH;
}

void gaps_watch_queue(struct daemon *d)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(d->street.marks, &groups);
        uint64_t now = daemon_monotonic_usec(), events, bytes, total = 0;
        const struct settings *settings = d->generation->settings;
        unsigned level = pipeline_shedding(d->street.pipeline);

        if (now < d->queue_looked_usec + QUEUE_LOOK_USEC)
                return;
        d->queue_looked_usec = now;
        for (size_t i = 0; i < n; i++)
                if (fan_group_queued(groups[i], &events, &bytes) == 0)
                        total += bytes;
        if (total > settings->queue_memory_bytes)
                level++; /* what was shed so far does not help enough */
        else if (total < settings->queue_memory_bytes / 2)
                level = 0;
        pipeline_set_shedding(d->street.pipeline, level);
}
