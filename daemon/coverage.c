/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <syslog.h>

#include "plan_cover.h"
#include "strbuf.h"

/* Told one by one of changed mounts, in each window. */
#define TOLD_MAX         20
#define TOLD_WINDOW_USEC (10 * USEC_PER_SEC)

/* Who is told, and whether one by one. */
struct teller {
        struct daemon *daemon;
        enum coverage_cause cause;
};

static bool may_tell(const struct teller *t)
{
        struct burst *b = &t->daemon->coverage_burst;

        if (t->cause == COVERAGE_OF_RULES)
                return true;
        b->max = TOLD_MAX;
        b->window_usec = TOLD_WINDOW_USEC;
        return burst_take(b, daemon_monotonic_usec());
}

static const struct coverage *find_coverage(const struct generation *g, const struct world_fs *fs)
{
        uint32_t index = g ? world_find_fs(g->world, fs->sdev_major, fs->sdev_minor) : WORLD_NONE;

        return index == WORLD_NONE ? NULL : plan_find_coverage(g->plan, index);
}

static const char *mountpoint_of(const struct generation *g, const struct world_fs *fs)
{
        return fs->canonical_mount == WORLD_NONE ? NULL : g->world->mounts[fs->canonical_mount].mountpoint;
}

static void note_filesystem(const struct teller *t, const struct generation *g, const struct coverage *c,
                            enum coverage_state state)
{
        const struct world_fs *fs = &g->world->fs[c->fs];
        const char *mountpoint = mountpoint_of(g, fs);
        char device[24];

        if (!may_tell(t))
                return;
        snprintf(device, sizeof(device), "%u:%u", fs->sdev_major, fs->sdev_minor);
        const char *const fields[] = {
                "FAWATCH_COVERAGE",
                coverage_state_name(state),
                "FAWATCH_MOUNTPOINT",
                mountpoint ? mountpoint : "",
                "FAWATCH_DEVICE",
                device,
                "FAWATCH_FSTYPE",
                fs->fstype,
                "FAWATCH_REASON",
                c->how ? c->how : "",
                NULL,
        };
        reporter_note(t->daemon->street.reporter, RECORD_COVERAGE,
                      state == NOT_COVERED ? LOG_WARNING : LOG_INFO, fields,
                      "%s (%s, %s): %s%s%s", mountpoint ? mountpoint : device, fs->fstype, device,
                      coverage_state_name(state), c->how ? ": " : "", c->how ? c->how : "");
}

static void note_filesystems(const struct teller *t, const struct generation *before,
                             const struct generation *after)
{
        for (size_t i = 0; i < after->plan->n_coverage; i++) {
                const struct coverage *c = &after->plan->coverage[i];
                const struct coverage *old = find_coverage(before, &after->world->fs[c->fs]);
                if (old      ? old->state != c->state
                    : before ? c->state != SKIPPED
                             : c->state == NOT_COVERED || c->state == PARTLY_COVERED)
                        note_filesystem(t, after, c, c->state);
        }
        for (size_t i = 0; before && i < before->plan->n_coverage; i++) {
                struct coverage gone = before->plan->coverage[i];
                if (gone.state == SKIPPED || find_coverage(after, &before->world->fs[gone.fs]))
                        continue;
                gone.how = "no longer mounted, or no rule reaches it";
                note_filesystem(t, before, &gone, NOT_COVERED);
        }
}

static bool same_text(const char *a, const char *b)
{
        return a == b || (a && b && streq(a, b));
}

static bool has_gap(const struct generation *g, const struct gap *wanted)
{
        for (size_t i = 0; g && i < g->plan->n_gaps; i++) {
                const struct gap *gap = &g->plan->gaps[i];
                if (gap->kind == wanted->kind && same_text(gap->rule, wanted->rule) &&
                    same_text(gap->path, wanted->path))
                        return true;
        }
        return false;
}

static void note_gap(const struct teller *t, const struct gap *gap, bool closed)
{
        if (!may_tell(t))
                return;
        const char *const fields[] = {
                "FAWATCH_COVERAGE",
                closed ? coverage_state_name(COVERED) : gap_weight_name(gap->weight),
                "FAWATCH_RULE",
                gap->rule ? gap->rule : "",
                "FAWATCH_PATH",
                gap->path ? gap->path : "",
                "FAWATCH_GAP",
                gap_kind_name(gap->kind),
                "FAWATCH_REASON",
                gap->reason ? gap->reason : "",
                NULL,
        };
        reporter_note(t->daemon->street.reporter, RECORD_COVERAGE,
                      closed || gap->weight != GAP_HOLE ? LOG_INFO : LOG_WARNING, fields,
                      "%s%s%s%s%s%s", gap->rule ? gap->rule : "", gap->rule ? ": " : "",
                      gap->path ? gap->path : "", gap->path ? ": " : "", closed ? "no longer: " : "",
                      gap->reason ? gap->reason : "");
}

/* Gaps are compared each with each: there are few, but ten thousand rules may each have one. */
#define MAX_GAPS_COMPARED 512

static void note_gaps(const struct teller *t, const struct generation *before, const struct generation *after)
{
        size_t n = MIN_OF(after->plan->n_gaps, (size_t)MAX_GAPS_COMPARED);

        for (size_t i = 0; i < n; i++) {
                const struct gap *gap = &after->plan->gaps[i];
                if (gap->weight != GAP_NOTE && !has_gap(before, gap))
                        note_gap(t, gap, false);
        }
        if (after->plan->n_gaps > n) {
                static const char *const none[] = { NULL };
                reporter_note(t->daemon->street.reporter, RECORD_COVERAGE, LOG_NOTICE, none,
                              "%zu gaps in all: fawatchctl coverage lists them", after->plan->n_gaps);
        }
        for (size_t i = 0; before && i < MIN_OF(before->plan->n_gaps, (size_t)MAX_GAPS_COMPARED); i++) {
                const struct gap *gap = &before->plan->gaps[i];
                if (gap->weight != GAP_NOTE && !has_gap(after, gap))
                        note_gap(t, gap, true);
        }
}

/* The mount went away while its mark was placed: its news brings the next look, so it is no gap. */
static bool is_gone(const struct mark_failure *f)
{
        return f->error == ESTALE || f->error == ENOENT;
}

static void note_failures(const struct teller *t)
{
        size_t n;
        const struct mark_failure *failures = marks_failures(t->daemon->street.marks, &n);

        for (size_t i = 0; i < n; i++) {
                const struct gap gap = {
                        .kind = GAP_MARK_FAILED,
                        /* an ignore that is not there: what it would stop is filtered */
                        .weight = failures[i].uncovered != 0 ? GAP_HOLE : GAP_NOTE,
                        .path = failures[i].where,
                        .error = failures[i].error,
                        .reason = strerrorname_np(failures[i].error),
                };

                if (t->cause == COVERAGE_OF_RULES || !is_gone(&failures[i]))
                        note_gap(t, &gap, false);
        }
}

bool coverage_namespace_gap(const struct daemon *d, struct gap *ret)
{
        const struct self_test_result *t = &d->self_test;

        *ret = (struct gap){ .kind = GAP_NAMESPACE, .error = t->error };
        if (t->outcome == SELF_TEST_PASSED) {
                ret->weight = GAP_NOTE;
                ret->reason = "fawatchd runs in a mount namespace of its own: a file made through that of process 1 "
                              "was seen at the start, so what others change arrives";
        } else if (t->outcome == SELF_TEST_FAILED) {
                ret->weight = GAP_HOLE;
                ret->reason = "fawatchd runs in a mount namespace of its own, and a file made through that of process "
                              "1 was not seen at the start: take ProtectSystem=, PrivateTmp= and the like out of "
                              "the unit";
        }
        return t->outcome != SELF_TEST_NOT_NEEDED;
}

bool coverage_directories_gap(const struct daemon *d, uint32_t fs, struct strbuf *text, struct gap *ret)
{
        const struct world *w = d->generation->world;
        uint32_t mount = w->fs[fs].canonical_mount;
        struct dirmarks_status status;

        dirmarks_status(d->street.dirmarks, fs, &status);
        strbuf_reset(text);
        if (status.error == ENOSPC)
                strbuf_addf(text, "max_directory_marks = %zu is reached: what happens in its other directories "
                                  "is not seen; raise it, or watch less of this filesystem", status.max);
        else
                strbuf_addf(text, "directories could not be marked (%s, %zu times): what happens in them is not seen",
                            strerrorname_np(status.error), MAX_OF(status.failed, (size_t)1));
        *ret = (struct gap){
                .kind = GAP_MARK_FAILED,
                .weight = GAP_HOLE,
                .path = mount == WORLD_NONE ? NULL : w->mounts[mount].mountpoint,
                .error = status.error,
                .reason = strbuf_str(text),
        };
        return status.error != 0;
}

void coverage_note_directories(struct daemon *d)
{
        const struct teller t = { .daemon = d, .cause = COVERAGE_OF_RULES };
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        uint32_t fs;

        while (dirmarks_next_news(d->street.dirmarks, &fs)) {
                struct gap gap;
                bool lacks = coverage_directories_gap(d, fs, &text, &gap);

                if (!lacks)
                        gap.reason = "directories without their mark";
                note_gap(&t, &gap, !lacks);
        }
}

void coverage_note(struct daemon *d, const struct generation *before, const struct generation *after,
                   enum coverage_cause cause)
{
        const struct teller t = { .daemon = d, .cause = cause };
        struct gap gap;

        if (!before && coverage_namespace_gap(d, &gap))
                note_gap(&t, &gap, false);
        note_filesystems(&t, before, after);
        note_gaps(&t, before, after);
        note_failures(&t);
        coverage_note_directories(d);
}

uint64_t coverage_deadline(const struct daemon *d)
{
        return burst_deadline(&d->coverage_burst);
}

void coverage_tick(struct daemon *d)
{
        uint64_t held = burst_end(&d->coverage_burst, daemon_monotonic_usec());
        size_t counts[N_COVERAGE_STATES];
        char text[128];

        if (held == 0)
                return;
        plan_cover_counts(d->generation->plan, counts);
        snprintf(text, sizeof(text), "covered=%zu partly=%zu not_covered=%zu skipped=%zu", counts[COVERED],
                 counts[PARTLY_COVERED], counts[NOT_COVERED], counts[SKIPPED]);
        const char *const fields[] = { "FAWATCH_COVERAGE", text, "FAWATCH_REASON", "mounts change quickly", NULL };
        reporter_note(d->street.reporter, RECORD_COVERAGE, counts[NOT_COVERED] > 0 ? LOG_WARNING : LOG_NOTICE,
                      fields,
                      "mounts change quickly: %" PRIu64 " changes of what is covered were not recorded one by "
                      "one; now %zu filesystems are covered, %zu partly, %zu not: fawatchctl coverage lists them",
                      held, counts[COVERED], counts[PARTLY_COVERED], counts[NOT_COVERED]);
}

int coverage_failures(const struct daemon *d, struct cover_failure **ret, size_t *ret_n)
{
        size_t n, kept = 0;
        const struct mark_failure *failures = marks_failures(d->street.marks, &n);
        struct cover_failure *v = calloc(n + 1, sizeof(*v));

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                const struct mark_object *o = &failures[i].object;
                uint32_t fs = o->kind != MARK_FILESYSTEM
                                      ? WORLD_NONE
                                      : world_find_fs(d->generation->world, o->sdev_major, o->sdev_minor);

                if (fs != WORLD_NONE && failures[i].uncovered != 0)
                        v[kept++] = (struct cover_failure){ .fs = fs, .error = failures[i].error };
        }
        *ret = v;
        *ret_n = kept;
        return 0;
}
