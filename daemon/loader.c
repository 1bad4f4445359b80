/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "control_json.h"
#include "coverage.h"
#include "gaps.h"
#include "loader.h"
#include "log.h"
#include "notes.h"
#include "notify.h"
#include "state.h"

struct build_job {
        struct job job;
        struct daemon *daemon;
        bool kept; /* same texts, new world */
        struct build_result result;
};

struct save_job {
        struct job job;
        char *text;
        int error;
};

static void requests_done(struct reload_requests *r)
{
        free(r->v);
        *r = (struct reload_requests){};
}

void loader_done(struct loader *l)
{
        requests_done(&l->waiting);
        requests_done(&l->running);
        diag_done(&l->refusal);
        diag_done(&l->warnings);
}

/* ---- saving the rules in force ---- */

static void save_run(struct job *job)
{
        struct save_job *save = (struct save_job *)job;
        save->error = state_save_rules(save->text, strlen(save->text));
}

static void save_done(struct job *job, void *userdata)
{
        struct save_job *save = (struct save_job *)job;
        if (save->error < 0)
                log_message(LOG_WARNING, "the rules in force could not be saved for the next start: %s",
                            strerror(-save->error));
        free(save->text);
        free(save);
}

static void save_rules(struct daemon *d)
{
        if (!d->runtime || d->texts->from != RULES_INSTALLED)
                return;
        _cleanup_free_ struct save_job *save = calloc(1, sizeof(*save));
        char *text = strdup(d->generation->canonical);
        if (!save || !text) {
                free(text);
                log_message(LOG_WARNING,
                            "the rules in force could not be saved for the next start: out of memory");
                return;
        }
        *save = (struct save_job){ .job = { .run = save_run, .done = save_done }, .text = text };
        worker_submit(d->worker, &STEAL(save)->job);
}

/* ---- retiring a generation ---- */

struct retire_job {
        struct job job;
        struct generation *generation;
};

static void retire_run(struct job *job)
{
        generation_free(((struct retire_job *)job)->generation);
}

static void retire_done(struct job *job, void *userdata)
{
        free(job);
}

/* Ten thousand rules take milliseconds to free: not on the street. */
static void retire(struct daemon *d, struct generation *before)
{
        struct retire_job *r = calloc(1, sizeof(*r));

        if (!r) {
                generation_free(before);
                return;
        }
        *r = (struct retire_job){ .job = { .run = retire_run, .done = retire_done }, .generation = before };
        worker_submit(d->worker, &r->job);
}

/* ---- the world ---- */

/* A directory that is another by every look has no end; the next change of a name above it asks again. */
#define MAX_STALE_LOOKS 3

static bool has_stale_mark(const struct daemon *d)
{
        size_t n;
        const struct mark_failure *failures = marks_failures(d->street.marks, &n);

        for (size_t i = 0; i < n; i++)
                if (failures[i].error == ESTALE)
                        return true;
        return false;
}

/* The world was looked at before these marks told of changes: what happened in between is seen by a second
 * look.  So is a directory that was another by the time its mark was to be placed. */
static void look_again(struct daemon *d, const struct reload_result *result)
{
        bool placed = result->marks_added > result->marks_failed;

        if (placed)
                d->loader.stale_looks = 0;
        if (placed || (has_stale_mark(d) && d->loader.stale_looks++ < MAX_STALE_LOOKS))
                loader_world_changed(d);
}

/* ---- start ---- */

static void keep_refusal(struct loader *l, struct diag *diag)
{
        diag_done(&l->refusal);
        l->refusal = *diag;
        *diag = DIAG_NULL;
        l->refused_usec = daemon_realtime_usec();
        l->rules_bad = true;
}

static void keep_result(struct daemon *d, struct build_result *result)
{
        d->generation = STEAL(result->generation);
        if (result->texts)
                d->texts = STEAL(result->texts);
        diag_done(&d->loader.warnings);
        d->loader.warnings = result->diag;
        result->diag = DIAG_NULL;
}

/* The rules that the events in the queue, and those that were read, are judged by.  The
 * files come after them, as a reload. */
static bool first_from_heritage(struct daemon *d)
{
        struct build_result result;

        if (!heritage_goes_on(&d->heritage) || !d->heritage.texts)
                return false;
        bool good = build_run(d->options, RULES_KEPT, d->heritage.texts, &result) == 0;
        if (good) {
                result.texts = STEAL(d->heritage.texts);
                keep_result(d, &result);
        } else {
                log_diag(&result.diag);
                heritage_refuse_rules(&d->heritage, "they do not parse");
        }
        build_result_done(&result);
        return good;
}

int loader_first(struct daemon *d)
{
        struct build_result result;
        enum rules_from from = build_source(d->options);

        if (first_from_heritage(d))
                return 0;
        int r = build_run(d->options, from, NULL, &result);
        if (r == 0) {
                keep_result(d, &result);
                build_result_done(&result);
                return 0;
        }
        if (from != RULES_INSTALLED || options_ad_hoc(d->options)) {
                log_diag(&result.diag);
                build_result_done(&result);
                return r;
        }

        struct build_result saved;
        int s = build_run(d->options, RULES_SAVED, NULL, &saved);
        if (s == 0) {
                keep_refusal(&d->loader, &result.diag);
                keep_result(d, &saved);
        } else {
                log_diag(&result.diag);
                _cleanup_free_ char *path = state_rules_path();
                log_message(LOG_ERR, "no usable rules: the rule files are bad and %s holds none from before",
                            path ? path : "the state directory");
        }
        build_result_done(&saved);
        build_result_done(&result);
        return s == 0 ? 0 : r;
}

int loader_begin(struct daemon *d)
{
        const struct rules *rules = d->generation->rules;
        const struct rules_diff all = { .added = rules->n_watches + rules->n_ignores };
        struct reload_result result;

        /* The same rules over a restart are the same generation. */
        if (d->texts->from != RULES_KEPT || d->generations == 0)
                d->generations++;
        d->generation->number = d->generations;
        int r = reload_apply(&d->street, NULL, d->generation, &result);
        if (r < 0) {
                log_message(LOG_ERR, "the first marks cannot be placed: %s", strerror(-r));
                return r;
        }
        d->loader.loaded_usec = daemon_realtime_usec();
        heritage_take(d);
        heritage_keep_rules(d);
        notes_started(d);
        if (d->loader.rules_bad)
                notes_refused(d, &d->loader.refusal, NULL);
        if (d->texts->from != RULES_KEPT)
                notes_loaded(d, &all, NULL);
        coverage_note(d, NULL, d->generation, COVERAGE_OF_RULES);
        notes_verify(d);
        look_again(d, &result);
        if (!d->loader.rules_bad)
                save_rules(d);
        if (d->texts->from == RULES_KEPT) {
                const struct reload_request request = { .peer = { .comm = "restart" } };
                loader_request(d, &request);
        }
        return 0;
}

/* ---- reload ---- */

static void answer(struct daemon *d, const struct reload_request *request, const struct build_result *built,
                   const struct reload_result *result)
{
        if (!request->token)
                return;
        _cleanup_strbuf_ struct strbuf json = STRBUF_NULL;
        bool ok = result && result->error == 0;
        const struct reload_answer a = {
                .ok = ok,
                .dry_run = request->dry_run,
                .generation = ok && !request->dry_run ? built->generation->number : d->generation->number,
                .result = result,
                .changes = &built->changes,
                .diag = built->generation || built->diag.n_entries > 0 ? &built->diag : &d->loader.warnings,
                .plan = built->generation ? built->generation->plan : d->generation->plan,
        };
        if (control_json_reload(&a, &json) < 0)
                strbuf_reset(&json);
        control_reload_done(request->token, ok, json.data, json.len);
}

/* Who asked for what changes something: the first that is no dry run, or NULL. */
static const struct reload_request *asker(const struct reload_requests *r)
{
        for (size_t i = 0; i < r->n; i++)
                if (!r->v[i].dry_run)
                        return &r->v[i];
        return NULL;
}

static void refuse(struct daemon *d, struct build_result *built)
{
        struct loader *l = &d->loader;
        const struct reload_request *by = asker(&l->running);

        for (size_t i = 0; i < l->running.n; i++)
                answer(d, &l->running.v[i], built, NULL);
        if (!by)
                return;
        d->street.counters.reloads_refused++;
        notes_refused(d, &built->diag, by);
        keep_refusal(l, &built->diag);
}

static void refuse_shortage(struct daemon *d, struct build_result *built, int error)
{
        diag_add(&built->diag, DIAG_ERROR, NULL, 0,
                 "the marks of these rules cannot be placed: %s; the rules before stay in force",
                 strerror(error));
        refuse(d, built);
}

/* Every request of the build that succeeded is answered with what it changed (or would change). */
static void take(struct daemon *d, struct build_result *built)
{
        struct loader *l = &d->loader;
        const struct reload_request *by = asker(&l->running);
        struct reload_result result;

        if (!by) {
                reload_compare(&d->street, built->generation, &result);
                for (size_t i = 0; i < l->running.n; i++)
                        answer(d, &l->running.v[i], built, &result);
                return;
        }

        /* Stamped before the swap: the first event the new rules judge carries it. */
        built->generation->number = d->generations + 1;
        notify_reloading();
        if (reload_apply(&d->street, d->generation, built->generation, &result) < 0) {
                refuse_shortage(d, built, result.error);
                return;
        }
        d->generations++;
        struct generation *before = d->generation;
        for (size_t i = 0; i < l->running.n; i++)
                answer(d, &l->running.v[i], built, &result);
        const struct rules_diff changes = built->changes;
        build_texts_free(STEAL(d->texts));
        keep_result(d, built);
        l->rules_bad = false;
        l->refused_usec = 0;
        l->loaded_usec = daemon_realtime_usec();
        d->street.counters.reloads++;
        daemon_groups_changed(d);
        notes_loaded(d, &changes, by);
        coverage_note(d, before, d->generation, COVERAGE_OF_RULES);
        gaps_mounts(d, before, l->building_since_usec);
        notes_verify(d);
        look_again(d, &result);
        save_rules(d);
        heritage_keep_rules(d);
        heritage_check_groups(d);
        retire(d, before);
}

/* Same rules on another world: no new number, nobody asked. */
static void take_world(struct daemon *d, struct build_result *built)
{
        struct reload_result result;

        d->mount_looks++;
        if (!built->generation) {
                log_message(LOG_WARNING,
                            "the changed mounts could not be looked at; tried again at the next change");
                log_diag(&built->diag);
                return;
        }
        built->generation->number = d->generation->number;
        if (reload_apply(&d->street, d->generation, built->generation, &result) < 0) {
                log_message(LOG_WARNING, "marks for the changed mounts cannot be placed: %s",
                            strerror(result.error));
                return;
        }
        struct generation *before = d->generation;
        d->generation = STEAL(built->generation);
        daemon_groups_changed(d);
        coverage_note(d, before, d->generation, COVERAGE_OF_MOUNTS);
        gaps_mounts(d, before, d->loader.building_since_usec);
        notes_verify(d);
        look_again(d, &result);
        retire(d, before);
}

static void start_build(struct daemon *d);

static void build_job_run(struct job *job)
{
        struct build_job *b = (struct build_job *)job;
        struct daemon *d = b->daemon;
        /* d->texts and d->generation change only when a build is done, and one runs at a time. */
        int r = build_run(d->options, build_source(d->options), b->kept ? d->texts : NULL, &b->result);
        if (r == 0 && !b->kept && build_compare(d->generation->rules, &b->result) < 0)
                diag_add(&b->result.diag, DIAG_WARNING, NULL, 0,
                         "what changed cannot be listed: out of memory");
}

static void build_job_done(struct job *job, void *userdata)
{
        struct build_job *b = (struct build_job *)job;
        struct daemon *d = userdata;
        struct loader *l = &d->loader;

        l->in_flight = false;
        if (b->kept)
                take_world(d, &b->result);
        else if (b->result.generation)
                take(d, &b->result);
        else
                refuse(d, &b->result);
        if (!b->kept)
                daemon_reload_finished(d);
        build_result_done(&b->result);
        free(b);
        l->running.n = 0;
        mount_monitor_looked(d->monitor);
        daemon_publish_status(d, true);
        start_build(d);
}

static void start_build(struct daemon *d)
{
        struct loader *l = &d->loader;

        if (l->in_flight || (l->waiting.n == 0 && !l->world_changed))
                return;
        struct build_job *b = calloc(1, sizeof(*b));
        if (!b) {
                log_message(LOG_ERR, "reload: out of memory");
                mount_monitor_looked(d->monitor);
                return;
        }
        *b = (struct build_job){
                .job = { .run = build_job_run, .done = build_job_done },
                .daemon = d,
                .kept = l->waiting.n == 0,
        };
        struct reload_requests none = l->running;
        l->running = l->waiting;
        l->waiting = none;
        l->waiting.n = 0;
        l->building_since_usec = l->world_changed ? l->world_changed_usec : daemon_realtime_usec();
        l->world_changed = false; /* every build looks at the world anew */
        l->in_flight = true;
        worker_submit(d->worker, &b->job);
}

void loader_request(struct daemon *d, const struct reload_request *request)
{
        struct reload_requests *w = &d->loader.waiting;

        if (w->n == w->cap) {
                size_t cap = MAX_OF(8u, w->cap * 2);
                struct reload_request *v = reallocarray(w->v, cap, sizeof(*v));
                if (!v) {
                        if (request->token)
                                control_reload_done(request->token, false, "", 0);
                        return;
                }
                w->v = v;
                w->cap = cap;
        }
        w->v[w->n++] = *request;
        start_build(d);
}

void loader_world_changed(struct daemon *d)
{
        if (!d->loader.world_changed)
                d->loader.world_changed_usec = daemon_realtime_usec();
        d->loader.world_changed = true;
        start_build(d);
}

int loader_watch_mounts(struct daemon *d)
{
        int r = mount_monitor_new(build_view(d->options), &d->monitor);

        if (r < 0)
                log_message(LOG_ERR, "the mount table cannot be watched: %s", strerror(-r));
        return r;
}

void loader_mounts_changed(struct daemon *d)
{
        if (mount_monitor_next(d->monitor) == 1)
                loader_world_changed(d);
}
