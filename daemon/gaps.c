/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gaps.h"

#include <errno.h>

#include "log.h"
#include "notes.h"
#include "recover.h"

/* Findings recorded in one go, before events get their turn. */
#define BATCH           64u
#define QUEUE_LOOK_USEC USEC_PER_SEC

/* mountpoint NULL: everywhere. */
static void recover(struct daemon *d, const char *mountpoint, uint64_t from_usec)
{
        if (!d->generation->settings->recover || from_usec == 0)
                return;
        int r = d->recovery ? recovery_start(d->recovery, d->generation, mountpoint, from_usec) : -ENOMEM;
        if (r < 0)
                log_message(LOG_WARNING, "what happened in the gap cannot be looked for: %s", strerror(-r));
}

void gaps_recover(struct daemon *d, uint64_t from_usec)
{
        recover(d, NULL, from_usec);
}

static bool is_watched(const struct generation *g, uint32_t fs)
{
        const struct coverage *c = plan_find_coverage(g->plan, fs);

        return c && (c->state == COVERED || c->state == PARTLY_COVERED);
}

/* Calls for each watched filesystem of g that is not in the other world. */
static void foreach_other(struct daemon *d, const struct generation *g, const struct generation *other,
                          void (*call)(struct daemon *d, const struct world_fs *fs, const char *mountpoint,
                                       uint64_t usec),
                          uint64_t usec)
{
        const struct world *w = g->world;

        for (uint32_t i = 0; i < w->n_fs; i++)
                if (w->fs[i].canonical_mount != WORLD_NONE && is_watched(g, i) &&
                    !recovery_same_filesystem(&w->fs[i], other->world))
                        call(d, &w->fs[i], w->mounts[w->fs[i].canonical_mount].mountpoint, usec);
}

static void note_gone(struct daemon *d, const struct world_fs *fs, const char *mountpoint, uint64_t usec)
{
        if (recovery_gone_add(&d->gone, fs->fsid_known ? fs->fsid : 0, mountpoint, usec) < 0)
                log_message(LOG_WARNING, "%s: what happens while it is unmounted will not be looked for: %s",
                            mountpoint, strerror(ENOMEM));
}

/* One that was never seen was made in sight: then it is what came before our marks. */
static void look_into(struct daemon *d, const struct world_fs *fs, const char *mountpoint, uint64_t usec)
{
        uint64_t away = recovery_gone_take(&d->gone, fs->fsid_known ? fs->fsid : 0, mountpoint);

        recover(d, mountpoint, away > 0 ? away : usec);
}

void gaps_mounts(struct daemon *d, const struct generation *before, uint64_t changed_usec)
{
        foreach_other(d, before, d->generation, note_gone, changed_usec);
        foreach_other(d, d->generation, before, look_into, changed_usec);
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

        if (now < d->queue_looked_usec + QUEUE_LOOK_USEC)
                return;
        d->queue_looked_usec = now;
        for (size_t i = 0; i < n; i++)
                if (fan_group_queued(groups[i], &events, &bytes) == 0)
                        total += bytes;
        pipeline_set_shedding(d->street.pipeline, shed_level(pipeline_shedding(d->street.pipeline), total,
                                                             settings->queue_memory_bytes));
}
