/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
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

static void read_windows(struct street *s, int max)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(s->marks, &groups);

        for (size_t i = 0; i < n; i++)
                for (int window = 0; window < max; window++)
                        if (pipeline_dispatch(s->pipeline, groups[i]) != 1)
                                break;
}

/* Takes off learned marks what the new rules want, while the old ones judge what happens meanwhile. */
static void correct_learned(struct street *s, const struct generation *after)
{
        learn_correct(s->learn, after);
        while (learn_correct_slice(s->learn))
                read_windows(s, 1);
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

        if ((s->until && until_knows(s->until, actual)) || (s->dirmarks && dirmarks_knows(s->dirmarks, actual)))
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
        const struct marks_known known = {
                .check = check_learned, .evictable = s->learn && learn_evictable(s->learn), .userdata = s
        };
        int n = marks_verify(s->marks, s->learn ? &known : NULL, report);

        if (n > 0)
                s->counters.marks_repaired += (uint64_t)n;
        return n;
}

/* What we believe: of marks that were evicted meanwhile nobody knows. */
static int add_believed(const struct street *s, struct markset *ret)
{
        static const struct group_key main_group = { .kind = GROUP_MAIN };
        const struct markset *placed = marks_placed(s->marks);
        int r = 0;

        for (size_t i = 0; r == 0 && i < placed->n; i++)
                if (group_key_compare(&placed->marks[i].group, &main_group) == 0)
                        r = markset_append(ret, &placed->marks[i]);
        if (r == 0 && s->until)
                r = until_list(s->until, ret);
        return r == 0 ? learn_list(s->learn, ret) : r;
}

static int add_shown(struct fan_group *g, struct markset *ret)
{
        _cleanup_markset_ struct markset shown = MARKSET_NULL;
        int r = fan_group_read_marks(g, &shown);

        for (size_t i = 0; r == 0 && i < shown.n; i++)
                r = markset_append(ret, &shown.marks[i]);
        return r;
}

int reload_list_marks(const struct street *s, struct markset *ret)
{
        _cleanup_markset_ struct markset all = MARKSET_NULL;
        struct fan_group *const *groups;
        size_t n = marks_groups(s->marks, &groups);
        bool believed = s->learn && learn_evictable(s->learn);
        int r = believed ? add_believed(s, &all) : 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                if (!believed || fan_group_key(groups[i])->kind != GROUP_MAIN)
                        r = add_shown(groups[i], &all);
        if (r < 0)
                return r;
        markset_sort(&all);
        *ret = all;
        all = MARKSET_NULL;
        return 0;
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

static enum marks_is check_directories(void *userdata, const struct mark *actual)
{
        const struct street *s = userdata;

        return dirmarks_knows(s->dirmarks, actual) ? MARKS_AS_KNOWN : MARKS_NOT_OURS;
}

/* Of groups that were taken over, before anything else: the marks of directories, and what their process had
 * learned. */
static void inherit(struct street *s, const struct generation *first)
{
        const struct marks_known directories = { .check = check_directories, .userdata = s };
        _cleanup_markset_ struct markset found = MARKSET_NULL;

        if (s->dirmarks)
                marks_leave_to_others(s->marks, &first->plan->wanted, &directories);
        if (!s->learn)
                return;
        marks_take_learned(s->marks, &first->plan->wanted, &found);
        if (found.n > 0)
                learn_inherit(s->learn, first, &found, pipeline_watched_usec(s->pipeline));
}

int reload_apply(struct street *s, const struct generation *before, const struct generation *after,
                 struct reload_result *ret)
{
        struct reload_result result;

        /* An unmount takes marks away without a word, and the next mount may have the same
         * device number: without a look the difference would be empty. */
        if (s->dirmarks)
                dirmarks_begin(s->dirmarks, after, before ? 0 : pipeline_watched_usec(s->pipeline));
        if (before)
                (void)reload_verify(s, NULL);
        else
                inherit(s, after);
        marks_name(s->marks, &after->plan->wanted);
        reload_compare(s, after, &result);
        _cleanup_markdiff_ struct markdiff diff = {};
        int r = markdiff_build(marks_placed(s->marks), &after->plan->wanted, &diff);
        if (r == 0 && s->learn && before)
                correct_learned(s, after);
        if (r == 0)
                r = marks_widen(s->marks, &diff);
        if (r < 0) {
                if (s->learn)
                        learn_resume(s->learn);
                if (s->dirmarks && before)
                        dirmarks_begin(s->dirmarks, before, 0);
                result.error = -r;
                *ret = result;
                return r;
        }
        forget_paths(s, &diff, after->world);
        if (before)
                read_windows(s, DRAIN_WINDOWS);
        swap(s, after);
        marks_narrow(s->marks, &diff);
        if (s->learn)
                learn_set_generation(s->learn, after);
        if (s->until)
                until_set_generation(s->until, after);
        if (s->dirmarks)
                dirmarks_set_generation(s->dirmarks, after);
        (void)marks_failures(s->marks, &result.marks_failed);
        s->counters.marks_failed += result.marks_failed;
        *ret = result;
        return 0;
}
