/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reload.h"
#include "tracking.h"

/* Windows read from each group before the swap: a storm must not keep the new
 * rules out for ever.  What is queued beyond them is judged by the new ones. */
#define DRAIN_WINDOWS 8

static void count_marks(const struct markset *placed, const struct markset *wanted, struct reload_result *ret)
{
        for (size_t i = 0; i < wanted->n; i++) {
                const struct mark *w = &wanted->marks[i];
                const struct mark *p = markset_find(placed, &w->group, &w->object);
                if (!p)
                        ret->marks_added++;
                else if (p->mask != w->mask || p->ignore_mask != w->ignore_mask)
                        ret->marks_changed++;
        }
        for (size_t i = 0; i < placed->n; i++)
                if (!markset_find(wanted, &placed->marks[i].group, &placed->marks[i].object))
                        ret->marks_removed++;
}

void reload_compare(const struct street *s, const struct generation *after, struct reload_result *ret)
{
        *ret = (struct reload_result){};
        count_marks(marks_placed(s->marks), &after->plan->wanted, ret);
}

static void drain(struct street *s)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(s->marks, &groups);

        for (size_t i = 0; i < n; i++)
                for (int window = 0; window < DRAIN_WINDOWS; window++)
                        if (pipeline_dispatch(s->pipeline, groups[i]) != 1)
                                break;
}

/* Until now nobody told of renames there, or not of all: the paths that are known may be of before. */
static void forget_paths(struct street *s, const struct markdiff *d, const struct world *w)
{
        for (size_t i = 0; i < d->n_widen; i++) {
                const struct mark_op *op = &d->widen[i];
                uint32_t fs;

                if (op->object.kind != MARK_FILESYSTEM || op->ignore)
                        continue;
                fs = world_find_fs(w, op->object.sdev_major, op->object.sdev_minor);
                if (fs != WORLD_NONE && w->fs[fs].fsid_known)
                        resolver_forget_below(s->resolver, w->fs[fs].fsid, "/", 1);
        }
}

static void swap(struct street *s, const struct generation *after)
{
        /* The reporter first: it closes the old rules' windows under the old rules. */
        reporter_set_generation(s->reporter, after);
        attributor_set_settings(s->attributor, after->settings);
        tracking_apply(s, after->settings);
        names_refresh(s->names);
        pipeline_set_generation(s->pipeline, after);
}

static enum marks_is check_learned(void *userdata, const struct mark *actual)
{
        const struct street *s = userdata;

        if (s->until && until_knows(s->until, actual))
                return MARKS_AS_KNOWN;
        switch (learn_verify(s->learn, actual)) {
        case LEARN_SAME:
                return MARKS_AS_KNOWN;
        case LEARN_DIFFERENT:
                return MARKS_REPAIRED;
        case LEARN_UNKNOWN:
                break;
        }
        return MARKS_NOT_OURS;
}

int reload_verify(struct street *s, struct strbuf *report)
{
        const struct marks_known known = { .check = check_learned, .userdata = s };
        int n = marks_verify(s->marks, s->learn ? &known : NULL, report);

        if (n > 0)
                s->counters.marks_repaired += (uint64_t)n;
        return n;
}

int reload_repair(struct street *s, const struct generation *g)
{
        _cleanup_markdiff_ struct markdiff diff = {};
        int r = markdiff_build(marks_placed(s->marks), &g->plan->wanted, &diff);

        if (r == 0)
                r = marks_widen(s->marks, &diff);
        if (r == 0)
                marks_narrow(s->marks, &diff);
        return r;
}

int reload_apply(struct street *s, const struct generation *before, const struct generation *after,
                 struct reload_result *ret)
{
        struct reload_result result;

        /* An unmount takes marks away without a word, and the next mount may have the same
         * device number: without a look the difference would be empty. */
        if (before)
                (void)reload_verify(s, NULL);
        else
                (void)marks_verify(s->marks, NULL, NULL); /* groups that were taken over: all is new to us */
        marks_name(s->marks, &after->plan->wanted);
        reload_compare(s, after, &result);
        _cleanup_markdiff_ struct markdiff diff = {};
        int r = markdiff_build(marks_placed(s->marks), &after->plan->wanted, &diff);
        if (r == 0 && s->learn)
                learn_correct(s->learn, after);
        if (r == 0)
                r = marks_widen(s->marks, &diff);
        if (r < 0) {
                if (s->learn)
                        learn_resume(s->learn);
                result.error = -r;
                *ret = result;
                return r;
        }
        forget_paths(s, &diff, after->world);
        if (before)
                drain(s);
        swap(s, after);
        marks_narrow(s->marks, &diff);
        if (s->learn)
                learn_set_generation(s->learn, after);
        if (s->until)
                until_set_generation(s->until, after);
        (void)marks_failures(s->marks, &result.marks_failed);
        s->counters.marks_failed += result.marks_failed;
        *ret = result;
        return 0;
}

/* ---- coverage ---- */

static const struct coverage *find_coverage(const struct generation *g, const struct world_fs *fs)
{
        uint32_t index = g ? world_find_fs(g->world, fs->sdev_major, fs->sdev_minor) : WORLD_NONE;

        return index == WORLD_NONE ? NULL : plan_find_coverage(g->plan, index);
}

static const char *mountpoint_of(const struct generation *g, const struct world_fs *fs)
{
        return fs->canonical_mount == WORLD_NONE ? NULL : g->world->mounts[fs->canonical_mount].mountpoint;
}

static void note_filesystem(struct street *s, const struct generation *g, const struct coverage *c,
                            enum coverage_state state)
{
        const struct world_fs *fs = &g->world->fs[c->fs];
        const char *mountpoint = mountpoint_of(g, fs);
        char device[24];

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
        reporter_note(s->reporter, RECORD_COVERAGE, state == NOT_COVERED ? 4 : 6, fields,
                      "%s (%s, %s): %s%s%s", mountpoint ? mountpoint : device, fs->fstype, device,
                      coverage_state_name(state), c->how ? ": " : "", c->how ? c->how : "");
}

static void note_filesystems(struct street *s, const struct generation *before,
                             const struct generation *after)
{
        for (size_t i = 0; i < after->plan->n_coverage; i++) {
                const struct coverage *c = &after->plan->coverage[i];
                const struct coverage *old = find_coverage(before, &after->world->fs[c->fs]);
                if (old      ? old->state != c->state
                    : before ? c->state != SKIPPED
                             : c->state == NOT_COVERED || c->state == PARTLY_COVERED)
                        note_filesystem(s, after, c, c->state);
        }
        for (size_t i = 0; before && i < before->plan->n_coverage; i++) {
                struct coverage gone = before->plan->coverage[i];
                if (gone.state == SKIPPED || find_coverage(after, &before->world->fs[gone.fs]))
                        continue;
                gone.how = "no longer mounted, or no rule reaches it";
                note_filesystem(s, before, &gone, NOT_COVERED);
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

static void note_gap(struct street *s, const struct gap *gap, bool closed)
{
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
        reporter_note(s->reporter, RECORD_COVERAGE, closed || gap->weight != GAP_HOLE ? 6 : 4, fields,
                      "%s%s%s: %s%s", gap->rule ? gap->rule : "", gap->rule ? ": " : "",
                      gap->path ? gap->path : "", closed ? "no longer: " : "",
                      gap->reason ? gap->reason : "");
}

/* Gaps are compared each with each: there are few, but ten thousand rules may each have one. */
#define MAX_GAPS_COMPARED 512

static void note_gaps(struct street *s, const struct generation *before, const struct generation *after)
{
        size_t n = MIN_OF(after->plan->n_gaps, (size_t)MAX_GAPS_COMPARED);

        for (size_t i = 0; i < n; i++) {
                const struct gap *gap = &after->plan->gaps[i];
                if (gap->weight != GAP_NOTE && !has_gap(before, gap))
                        note_gap(s, gap, false);
        }
        if (after->plan->n_gaps > n) {
                static const char *const none[] = { NULL };
                reporter_note(s->reporter, RECORD_COVERAGE, 5, none,
                              "%zu gaps in all: fawatchctl coverage lists them", after->plan->n_gaps);
        }
        for (size_t i = 0; before && i < MIN_OF(before->plan->n_gaps, (size_t)MAX_GAPS_COMPARED); i++) {
                const struct gap *gap = &before->plan->gaps[i];
                if (gap->weight != GAP_NOTE && !has_gap(after, gap))
                        note_gap(s, gap, true);
        }
}

static void note_failures(struct street *s)
{
        size_t n;
        const struct mark_failure *failures = marks_failures(s->marks, &n);

        for (size_t i = 0; i < n; i++) {
                const struct gap gap = {
                        .kind = GAP_MARK_FAILED,
                        /* an ignore that is not there: what it would stop is filtered */
                        .weight = failures[i].uncovered != 0 ? GAP_HOLE : GAP_NOTE,
                        .path = failures[i].where,
                        .error = failures[i].error,
                        .reason = strerrorname_np(failures[i].error),
                };
                note_gap(s, &gap, false);
        }
}

void reload_note_coverage(struct street *s, const struct generation *before, const struct generation *after)
{
        note_filesystems(s, before, after);
        note_gaps(s, before, after);
        note_failures(s);
}
