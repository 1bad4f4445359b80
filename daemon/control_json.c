/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "control_json_internal.h"
#include "plan_cover.h"
#include "proc_events.h"
#include "tracking.h"

static json_t *diagnostic_lines(const struct diag *d, bool errors)
{
        json_t *lines = json_array();
        for (size_t i = 0; i < d->n_entries; i++) {
                if ((d->entries[i].severity == DIAG_ERROR) != errors || d->entries[i].severity == DIAG_NOTE)
                        continue;
                _cleanup_free_ char *line = diag_format(&d->entries[i]);
                json_append(lines, line ? json_string(line) : json_null()); /* already fit to be read */
        }
        return lines;
}

/* ---- status ---- */

static json_t *status_rules(const struct daemon *d)
{
        const struct generation *g = d->generation;
        json_t *o = json_object();
        json_set(o, "watches", json_of_number(g->rules->n_watches));
        json_set(o, "ignores", json_of_number(g->rules->n_ignores));
        json_set(o, "sha256", json_string(g->sha256));
        json_set(o, "loaded_usec", json_of_number(d->loader.loaded_usec));
        json_set(o, "source", json_string(rules_from_name(d->texts->from)));
        return o;
}

static json_t *status_refusal(const struct loader *l)
{
        if (l->refused_usec == 0)
                return json_null();
        json_t *o = json_object();
        json_set(o, "time_usec", json_of_number(l->refused_usec));
        json_set(o, "errors", diagnostic_lines(&l->refusal, true));
        return o;
}

static json_t *status_marks(const struct daemon *d)
{
        size_t failed;
        (void)marks_failures(d->street.marks, &failed);
        json_t *o = json_object();
        json_set(o, "wanted", json_of_number(d->generation->plan->wanted.n));
        json_set(o, "placed", json_of_number(marks_placed(d->street.marks)->n));
        json_set(o, "failed", json_of_number(failed));
        return o;
}

static json_t *status_ignores(const struct daemon *d)
{
        size_t planned = 0;
        const struct markset *placed = marks_placed(d->street.marks);
        struct learn_status learned;
        json_t *o = json_object();

        for (size_t i = 0; i < placed->n; i++)
                planned += placed->marks[i].ignore_mask != 0;
        learn_status(d->street.learn, &learned);
        json_set(o, "kernel", json_boolean(d->generation->settings->kernel_ignores));
        json_set(o, "planned", json_of_number(planned));
        json_set(o, "learned_directories", json_of_number(learned.dirs));
        json_set(o, "learned_files", json_of_number(learned.files));
        json_set(o, "until_modified", json_of_number(until_count(d->street.until)));
        json_set(o, "max", json_of_number(learned.max));
        json_set(o, "shortage", json_of_error(learned.error));
        return o;
}

static json_t *status_directories(const struct daemon *d)
{
        struct dirmarks_status status;
        json_t *o = json_object();

        dirmarks_status(d->street.dirmarks, WORLD_NONE, &status);
        json_set(o, "marks", json_of_number(status.marks));
        json_set(o, "max", json_of_number(status.max));
        json_set(o, "walking", json_boolean(status.walking));
        json_set(o, "failed", json_of_number(status.failed));
        json_set(o, "error", json_of_error(status.error));
        return o;
}

static json_t *status_coverage(const struct plan *p)
{
        static const char *const keys[] = { "covered", "partly", "not_covered", "skipped" };
        size_t counts[N_COVERAGE_STATES];
        json_t *o = json_object();

        plan_cover_counts(p, counts);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                json_set(o, keys[i], json_of_number(counts[i]));
        return o;
}

static json_t *status_mounts(const struct daemon *d)
{
        const struct mount_news *news = mount_monitor_news(d->monitor);
        json_t *o = json_object();

        json_set(o, "known", json_of_number(d->generation->world->n_mounts));
        json_set(o, "looks", json_of_number(d->mount_looks));
        json_set(o, "attached", news->counted ? json_of_number(news->attached) : json_null());
        json_set(o, "detached", news->counted ? json_of_number(news->detached) : json_null());
        return o;
}

static json_t *status_log(const struct daemon *d)
{
        size_t bytes;
        int error = 0;
        size_t waiting = reporter_waiting(d->street.reporter, &bytes);
        bool away = reporter_sink_away(d->street.reporter, &error);
        json_t *o = json_object();
        json_set(o, "sink", json_string(d->options->log_stdout ? "stdout" : "journal"));
        if (!d->options->log_stdout)
                json_set(o, "journal", json_string(sink_journal_place()));
        json_set(o, "waiting", json_of_number(waiting));
        json_set(o, "waiting_bytes", json_of_number(bytes));
        json_set(o, "away", away ? json_of_error(error) : json_null());
        return o;
}

static json_t *status_processes(const struct street *s)
{
        struct proc_events_status status;
        if (!s->tracker)
                return json_null();
        proc_events_status(s->tracker, &status);
        json_t *o = json_object();
        json_set(o, "known", json_of_number(status.processes));
        json_set(o, "bytes", json_of_number(status.bytes));
        json_set(o, "realtime", json_boolean(status.realtime));
        json_set(o, "complete", json_boolean(!status.scanning));
        json_set(o, "events_lost", json_of_number(status.lost));
        json_set(o, "dropped", json_of_number(status.dropped));
        return o;
}

static void status_counters(const struct daemon *d, json_t *root)
{
        size_t n;
        const struct counter_info *table = counters_table(&n);
        json_t *values = json_object(), *texts = json_object(), *rules = json_array();

        for (size_t i = 0; i < n; i++) {
                json_set(values, table[i].name, json_of_number(counter_value(&d->street.counters, &table[i])));
                json_set(texts, table[i].name, json_string(table[i].text));
        }
        const struct rule_counters *r = reporter_rule_counters(d->street.reporter, &n);
        for (size_t i = 0; i < n; i++) {
                json_t *o = json_object();
                json_set(o, "rule", json_of_text(r[i].rule));
                json_set(o, "recorded", json_of_number(r[i].recorded));
                json_set(o, "limited", json_of_number(r[i].limited));
                json_set(o, "shed", json_of_number(r[i].shed));
                json_append(rules, o);
        }
        json_set(root, "counters", values);
        json_set(root, "counter_texts", texts);
        json_set(root, "rule_counters", rules);
}

int control_json_status(const struct daemon *d, struct strbuf *out)
{
        struct fan_group *const *groups;
        struct matcher_stats stats;
        _cleanup_strbuf_ struct strbuf tracking = STRBUF_NULL;
        const struct generation *g = d->generation;
        json_t *root = json_object(), *queue = json_object(), *memory = json_object();

        json_set(root, "version", json_string(PACKAGE_VERSION));
        json_set(root, "pid", json_of_number((uint64_t)getpid()));
        json_set(root, "stream", json_string(d->stream));
        json_set(root, "seq", json_of_number(reporter_seq(d->street.reporter)));
        json_set(root, "generation", json_of_number(g->number));
        json_set(root, "started_usec", json_of_number(d->started_usec));
        json_set(root, "rules", status_rules(d));
        json_set(root, "last_refusal", status_refusal(&d->loader));
        json_set(root, "marks", status_marks(d));
        json_set(root, "ignores", status_ignores(d));
        json_set(root, "directories", status_directories(d));
        json_set(root, "coverage", status_coverage(g->plan));
        json_set(root, "mounts", status_mounts(d));
        json_set(root, "log", status_log(d));
        json_set(queue, "groups", json_of_number(marks_groups(d->street.marks, &groups)));
        json_set(root, "queue", queue);
        tracking_describe(&d->street, g->settings, &tracking);
        json_set(root, "process_tracking", json_string(strbuf_str(&tracking)));
        json_set(root, "processes", status_processes(&d->street));
        matcher_stats(g->matcher, &stats);
        json_set(memory, "rules_bytes", json_of_number(stats.bytes + arena_used(g->rules->arena)));
        json_set(root, "memory", memory);
        status_counters(d, root);
        json_t *warnings = diagnostic_lines(&d->loader.warnings, false);
        for (size_t i = 0; i < g->plan->prices.n; i++)
                json_append(warnings, json_of_text(g->plan->prices.v[i]));
        json_set(root, "warnings", warnings);
        return json_finish(root, out);
}

/* ---- reload ---- */

static json_t *reload_rules(const struct reload_answer *a)
{
        json_t *o = json_object(), *lines = json_array();

        json_set(o, "added", json_of_number(a->changes->added));
        json_set(o, "removed", json_of_number(a->changes->removed));
        json_set(o, "changed", json_of_number(a->changes->changed));
        const char *p = a->changes->text ? strbuf_str(a->changes->text) : "";
        while (*p) {
                size_t len = strcspn(p, "\n");
                _cleanup_free_ char *line = strndup(p, len);
                json_append(lines, json_of_text(line));
                p += len + (p[len] == '\n');
        }
        json_set(o, "text", lines);
        return o;
}

static json_t *reload_marks(const struct reload_result *r)
{
        json_t *o = json_object();
        json_set(o, "added", json_of_number(r ? r->marks_added : 0));
        json_set(o, "removed", json_of_number(r ? r->marks_removed : 0));
        json_set(o, "changed", json_of_number(r ? r->marks_changed : 0));
        return o;
}

static json_t *diagnostic(const char *severity, const char *file, unsigned line, const char *what)
{
        json_t *o = json_object();
        json_set(o, "severity", json_string(severity));
        json_set(o, "file", json_of_text(file));
        json_set(o, "line", json_of_number(line));
        json_set(o, "text", json_string(what));
        return o;
}

int control_json_reload(const struct reload_answer *a, struct strbuf *out)
{
        json_t *root = json_object(), *diagnostics = json_array();

        json_set(root, "ok", json_boolean(a->ok));
        json_set(root, "dry_run", json_boolean(a->dry_run));
        json_set(root, "generation", json_of_number(a->generation));
        json_set(root, "rules", reload_rules(a));
        json_set(root, "marks", reload_marks(a->result));
        for (size_t i = 0; i < a->diag->n_entries; i++) {
                const struct diag_entry *e = &a->diag->entries[i];
                json_append(diagnostics, diagnostic(diag_severity_name(e->severity), e->file, e->line, e->text));
        }
        for (size_t i = 0; a->ok && i < a->plan->prices.n; i++)
                json_append(diagnostics, diagnostic("warning", NULL, 0, a->plan->prices.v[i]));
        json_set(root, "diagnostics", diagnostics);
        json_set(root, "error", a->ok ? json_null() : json_string("refused; the rules before stay in force"));
        return json_finish(root, out);
}
