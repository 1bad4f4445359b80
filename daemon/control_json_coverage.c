/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is covered: filesystem by filesystem, rule path by rule path, and every gap. */
#include <errno.h>
#include <stdio.h>

#include "control_json_internal.h"
#include "coverage.h"
#include "plan_cover.h"

struct failures {
        struct cover_failure *v;
        size_t n;
};

static const struct cover_failure *find_failure(const struct failures *f, uint32_t fs)
{
        for (size_t i = 0; i < f->n; i++)
                if (f->v[i].fs == fs)
                        return &f->v[i];
        return NULL;
}

static json_t *filesystem_json(const struct world *w, const struct coverage *c, const struct failures *failures)
{
        const struct world_fs *fs = &w->fs[c->fs];
        const struct cover_failure *failure = find_failure(failures, c->fs);
        int error = failure ? failure->error : c->state == NOT_COVERED ? fs->mark_errno : 0;
        char device[24];
        json_t *o = json_object();

        snprintf(device, sizeof(device), "%u:%u", fs->sdev_major, fs->sdev_minor);
        json_set(o, "device", json_string(device));
        json_set(o, "fstype", json_of_text(fs->fstype));
        json_set(o, "source", json_of_text(fs->source));
        json_set(o, "mountpoint",
            json_of_text(fs->canonical_mount == WORLD_NONE ? NULL : w->mounts[fs->canonical_mount].mountpoint));
        json_set(o, "state", json_string(coverage_state_name(failure ? NOT_COVERED : c->state)));
        json_set(o, "error", json_of_error(error));
        json_set(o, "events", json_of_mask(vocab_to_fan(c->events)));
        json_set(o, "how", json_of_text(failure ? "fanotify_mark refused the planned mark" : c->how));
        return o;
}

static json_t *row_json(const struct cover_row *row)
{
        json_t *o = json_object(), *paths = json_array();

        for (size_t i = 0; i < row->paths.n; i++)
                json_append(paths, json_of_text(row->paths.v[i]));
        json_set(o, "rule", json_of_text(row->rule));
        json_set(o, "paths", paths);
        json_set(o, "state", json_string(cover_state_name(row->state)));
        json_set(o, "how", json_of_text(row->how));
        json_set(o, "error", json_of_error(row->error));
        json_set(o, "reason", json_of_text(row->reason));
        return o;
}

static json_t *gap_json(const struct gap *g)
{
        json_t *o = json_object();

        json_set(o, "kind", json_string(gap_kind_name(g->kind)));
        json_set(o, "weight", json_string(gap_weight_name(g->weight)));
        json_set(o, "rule", json_of_text(g->rule));
        json_set(o, "path", json_of_text(g->path));
        json_set(o, "error", json_of_error(g->error));
        json_set(o, "reason", json_of_text(g->reason));
        return o;
}

static json_t *gaps_json(const struct daemon *d)
{
        const struct plan *p = d->generation->plan;
        size_t n;
        const struct mark_failure *failures = marks_failures(d->street.marks, &n);
        json_t *gaps = json_array();
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct gap gap;

        if (coverage_namespace_gap(d, &gap))
                json_append(gaps, gap_json(&gap));
        for (uint32_t i = 0; i < d->generation->world->n_fs; i++)
                if (coverage_directories_gap(d, i, &text, &gap))
                        json_append(gaps, gap_json(&gap));
        for (size_t i = 0; i < p->n_gaps; i++)
                json_append(gaps, gap_json(&p->gaps[i]));
        for (size_t i = 0; i < n; i++) {
                gap = (struct gap){
                        .kind = GAP_MARK_FAILED,
                        .weight = failures[i].uncovered != 0 ? GAP_HOLE : GAP_NOTE,
                        .path = failures[i].where,
                        .error = failures[i].error,
                        .reason = "fanotify_mark refused the planned mark; it is tried again at the "
                                  "next reload or mount",
                };
                json_append(gaps, gap_json(&gap));
        }
        return gaps;
}

int control_json_coverage(const struct daemon *d, struct strbuf *out)
{
        const struct generation *g = d->generation;
        struct failures failures = {};
        _cleanup_(plan_cover_freep) struct plan_cover *cover = NULL;
        json_t *root, *filesystems, *rules;

        if (coverage_failures(d, &failures.v, &failures.n) < 0 ||
            plan_cover_build(g->rules, g->world, g->plan, failures.v, failures.n, &cover) < 0) {
                free(failures.v);
                return -ENOMEM;
        }
        root = json_object();
        filesystems = json_array();
        rules = json_array();
        for (size_t i = 0; i < g->plan->n_coverage; i++)
                json_append(filesystems, filesystem_json(g->world, &g->plan->coverage[i], &failures));
        for (size_t i = 0; i < cover->n_rows; i++)
                json_append(rules, row_json(&cover->rows[i]));
        free(failures.v);
        json_set(root, "filesystems", filesystems);
        json_set(root, "rules", rules);
        json_set(root, "gaps", gaps_json(d));
        json_set(root, "namespace_test", json_string(self_test_name(d->self_test.outcome)));
        return json_finish(root, out);
}
