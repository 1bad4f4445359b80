/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "control_json.h"
#include "escape.h"
#include "fan_uapi.h"

static json_t *text(const char *s)
{
        if (!s)
                return json_null();
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        escape_text(s, strlen(s), &out);
        return json_string(strbuf_str(&out));
}

static json_t *number(uint64_t n)
{
        return json_integer((json_int_t)n);
}

static json_t *error_name(int error)
{
        return error == 0 ? json_null() : json_string(strerrorname_np(error));
}

static void append(json_t *array, json_t *value)
{
        json_array_append_new(array, value);
}

static void set(json_t *object, const char *key, json_t *value)
{
        json_object_set_new(object, key, value);
}

static int finish(json_t *root, struct strbuf *out)
{
        char *dump = root ? json_dumps(root, JSON_COMPACT) : NULL;
        json_decref(root);
        if (!dump)
                return -ENOMEM;
        strbuf_adds(out, dump);
        free(dump);
        return strbuf_failed(out) ? -ENOMEM : 0;
}

static json_t *diagnostic_lines(const struct diag *d, bool errors)
{
        json_t *lines = json_array();
        for (size_t i = 0; i < d->n_entries; i++) {
                if ((d->entries[i].severity == DIAG_ERROR) != errors || d->entries[i].severity == DIAG_NOTE)
                        continue;
                _cleanup_free_ char *line = diag_format(&d->entries[i]);
                append(lines, line ? json_string(line) : json_null()); /* already fit to be read */
        }
        return lines;
}

/* ---- status ---- */

static json_t *status_rules(const struct daemon *d)
{
        const struct generation *g = d->generation;
        json_t *o = json_object();
        set(o, "watches", number(g->rules->n_watches));
        set(o, "ignores", number(g->rules->n_ignores));
        set(o, "sha256", json_string(g->sha256));
        set(o, "loaded_usec", number(d->loader.loaded_usec));
        set(o, "source", json_string(rules_from_name(d->texts->from)));
        return o;
}

static json_t *status_refusal(const struct loader *l)
{
        if (l->refused_usec == 0)
                return json_null();
        json_t *o = json_object();
        set(o, "time_usec", number(l->refused_usec));
        set(o, "errors", diagnostic_lines(&l->refusal, true));
        return o;
}

static json_t *status_marks(const struct daemon *d)
{
        size_t failed;
        (void)marks_failures(d->street.marks, &failed);
        json_t *o = json_object();
        set(o, "wanted", number(d->generation->plan->wanted.n));
        set(o, "placed", number(marks_placed(d->street.marks)->n));
        set(o, "failed", number(failed));
        return o;
}

static json_t *status_coverage(const struct plan *p)
{
        static const char *const keys[] = { "covered", "partly", "not_covered", "skipped" };
        size_t counts[ELEMENTSOF(keys)] = {};
        json_t *o = json_object();

        for (size_t i = 0; i < p->n_coverage; i++)
                counts[p->coverage[i].state]++;
        for (size_t i = 0; i < p->n_gaps; i++)
                if (p->gaps[i].weight == GAP_HOLE && p->gaps[i].rule)
                        counts[NOT_COVERED]++;
        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                set(o, keys[i], number(counts[i]));
        return o;
}

static json_t *status_log(const struct daemon *d)
{
        size_t bytes;
        int error = 0;
        size_t waiting = reporter_waiting(d->street.reporter, &bytes);
        bool away = reporter_sink_away(d->street.reporter, &error);
        json_t *o = json_object();
        set(o, "sink", json_string(d->options->log_stdout ? "stdout" : "journal"));
        if (!d->options->log_stdout)
                set(o, "journal", json_string(sink_journal_place()));
        set(o, "waiting", number(waiting));
        set(o, "waiting_bytes", number(bytes));
        set(o, "away", away ? error_name(error) : json_null());
        return o;
}

static void status_counters(const struct daemon *d, json_t *root)
{
        size_t n;
        const struct counter_info *table = counters_table(&n);
        json_t *values = json_object(), *texts = json_object(), *rules = json_array();

        for (size_t i = 0; i < n; i++) {
                set(values, table[i].name, number(counter_value(&d->street.counters, &table[i])));
                set(texts, table[i].name, json_string(table[i].text));
        }
        const struct rule_counters *r = reporter_rule_counters(d->street.reporter, &n);
        for (size_t i = 0; i < n; i++) {
                json_t *o = json_object();
                set(o, "rule", text(r[i].rule));
                set(o, "recorded", number(r[i].recorded));
                set(o, "limited", number(r[i].limited));
                set(o, "shed", number(r[i].shed));
                append(rules, o);
        }
        set(root, "counters", values);
        set(root, "counter_texts", texts);
        set(root, "rule_counters", rules);
}

int control_json_status(const struct daemon *d, struct strbuf *out)
{
        struct fan_group *const *groups;
        struct matcher_stats stats;
        const struct generation *g = d->generation;
        json_t *root = json_object(), *queue = json_object(), *memory = json_object();

        set(root, "version", json_string(PACKAGE_VERSION));
        set(root, "pid", number((uint64_t)getpid()));
        set(root, "stream", json_string(d->stream));
        set(root, "seq", number(reporter_seq(d->street.reporter)));
        set(root, "generation", number(g->number));
        set(root, "started_usec", number(d->started_usec));
        set(root, "rules", status_rules(d));
        set(root, "last_refusal", status_refusal(&d->loader));
        set(root, "marks", status_marks(d));
        set(root, "coverage", status_coverage(g->plan));
        set(root, "log", status_log(d));
        set(queue, "groups", number(marks_groups(d->street.marks, &groups)));
        set(root, "queue", queue);
        set(root, "process_tracking", json_string(g->settings->process_tracking ? "/proc" : "off"));
        matcher_stats(g->matcher, &stats);
        set(memory, "rules_bytes", number(stats.bytes + arena_used(g->rules->arena)));
        set(root, "memory", memory);
        status_counters(d, root);
        json_t *warnings = diagnostic_lines(&d->loader.warnings, false);
        for (size_t i = 0; i < g->plan->prices.n; i++)
                append(warnings, text(g->plan->prices.v[i]));
        set(root, "warnings", warnings);
        return finish(root, out);
}

/* ---- marks ---- */

static json_t *mask_names(uint64_t mask)
{
        static const struct {
                uint64_t bit;
                const char *name;
        } flags[] = {
                { FAN_MOVED_FROM, "moved_from" },
                { FAN_MOVED_TO, "moved_to" },
                { FAN_ONDIR, "ondir" },
                { FAN_EVENT_ON_CHILD, "on_child" },
        };
        json_t *names = json_array();
        uint32_t events = vocab_from_fan(mask);

        for (unsigned bit = 0; bit < EV_N_NAMES; bit++)
                if (events & (1u << bit))
                        append(names, json_string(vocab_name(1u << bit)));
        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (mask & flags[i].bit)
                        append(names, json_string(flags[i].name));
        return names;
}

static json_t *object_name(const struct mark_object *o)
{
        char name[64];
        if (o->kind == MARK_MOUNT)
                snprintf(name, sizeof(name), "mount %d", o->mount_id);
        else
                snprintf(name, sizeof(name), "%s %u:%u", o->kind == MARK_INODE ? "inode on" : "filesystem",
                         o->sdev_major, o->sdev_minor);
        return json_string(name);
}

static json_t *mark_flags(const struct mark *m)
{
        json_t *flags = json_array();
        if (m->ignore_surv)
                append(flags, json_string("survives-modify"));
        if (m->evictable)
                append(flags, json_string("evictable"));
        return flags;
}

static int failure_of(const struct daemon *d, const struct mark *m)
{
        size_t n;
        const struct mark_failure *f = marks_failures(d->street.marks, &n);
        for (size_t i = 0; i < n; i++)
                if (group_key_compare(&f[i].group, &m->group) == 0 &&
                    mark_object_compare(&f[i].object, &m->object) == 0)
                        return f[i].error;
        return 0;
}

static json_t *mark_json(const struct daemon *d, const struct mark *wanted, const struct mark *placed)
{
        const struct mark *m = wanted ? wanted : placed;
        int error = failure_of(d, m);
        const char *state = error != 0 ? "failed" : !wanted ? "surplus" : !placed ? "wanted" : "placed";
        json_t *o = json_object();

        char group[32];
        if (m->group.kind == GROUP_MOUNT)
                snprintf(group, sizeof(group), "mount %d", m->group.mount_id);
        set(o, "group", json_string(m->group.kind == GROUP_MOUNT ? group : "main"));
        set(o, "object", object_name(&m->object));
        set(o, "where", text(m->where));
        set(o, "wanted_mask", mask_names(wanted ? wanted->mask : 0));
        set(o, "placed_mask", mask_names(placed ? placed->mask : 0));
        set(o, "ignore_mask", mask_names(m->ignore_mask));
        set(o, "flags", mark_flags(m));
        set(o, "state", json_string(state));
        set(o, "error", error_name(error));
        return o;
}

int control_json_marks(const struct daemon *d, struct strbuf *out)
{
        const struct markset *wanted = &d->generation->plan->wanted, *placed = marks_placed(d->street.marks);
        json_t *root = json_object(), *marks = json_array(), *prices = json_array();

        for (size_t i = 0; i < wanted->n; i++) {
                const struct mark *w = &wanted->marks[i];
                append(marks, mark_json(d, w, markset_find(placed, &w->group, &w->object)));
        }
        for (size_t i = 0; i < placed->n; i++) {
                const struct mark *p = &placed->marks[i];
                if (!markset_find(wanted, &p->group, &p->object))
                        append(marks, mark_json(d, NULL, p));
        }
        for (size_t i = 0; i < d->generation->plan->prices.n; i++)
                append(prices, text(d->generation->plan->prices.v[i]));
        set(root, "marks", marks);
        set(root, "prices", prices);
        return finish(root, out);
}

/* ---- coverage ---- */

static json_t *coverage_json(const struct world *w, const struct coverage *c)
{
        const struct world_fs *fs = &w->fs[c->fs];
        char device[24];
        json_t *o = json_object();

        snprintf(device, sizeof(device), "%u:%u", fs->sdev_major, fs->sdev_minor);
        set(o, "device", json_string(device));
        set(o, "fstype", text(fs->fstype));
        set(o, "mountpoint",
            text(fs->canonical_mount == WORLD_NONE ? NULL : w->mounts[fs->canonical_mount].mountpoint));
        set(o, "state", json_string(coverage_state_name(c->state)));
        set(o, "events", mask_names(vocab_to_fan(c->events)));
        set(o, "how", text(c->how));
        return o;
}

static json_t *gap_json(const struct gap *g)
{
        json_t *o = json_object();
        set(o, "kind", json_string(gap_kind_name(g->kind)));
        set(o, "weight", json_string(gap_weight_name(g->weight)));
        set(o, "rule", text(g->rule));
        set(o, "path", text(g->path));
        set(o, "error", error_name(g->error));
        set(o, "reason", text(g->reason));
        return o;
}

int control_json_coverage(const struct daemon *d, struct strbuf *out)
{
        const struct plan *p = d->generation->plan;
        json_t *root = json_object(), *filesystems = json_array(), *gaps = json_array();
        size_t n;
        const struct mark_failure *failures = marks_failures(d->street.marks, &n);

        for (size_t i = 0; i < p->n_coverage; i++)
                append(filesystems, coverage_json(d->generation->world, &p->coverage[i]));
        for (size_t i = 0; i < p->n_gaps; i++)
                append(gaps, gap_json(&p->gaps[i]));
        for (size_t i = 0; i < n; i++) {
                const struct gap gap = {
                        .kind = GAP_MARK_FAILED,
                        .weight = GAP_HOLE,
                        .path = failures[i].where,
                        .error = failures[i].error,
                        .reason = "fanotify_mark refused the planned mark; it is tried again at the "
                                  "next reload or mount",
                };
                append(gaps, gap_json(&gap));
        }
        set(root, "filesystems", filesystems);
        set(root, "gaps", gaps);
        return finish(root, out);
}

/* ---- reload ---- */

static json_t *reload_rules(const struct reload_answer *a)
{
        json_t *o = json_object(), *lines = json_array();

        set(o, "added", number(a->changes->added));
        set(o, "removed", number(a->changes->removed));
        set(o, "changed", number(a->changes->changed));
        const char *p = a->changes->text ? strbuf_str(a->changes->text) : "";
        while (*p) {
                size_t len = strcspn(p, "\n");
                _cleanup_free_ char *line = strndup(p, len);
                append(lines, text(line));
                p += len + (p[len] == '\n');
        }
        set(o, "text", lines);
        return o;
}

static json_t *reload_marks(const struct reload_result *r)
{
        json_t *o = json_object();
        set(o, "added", number(r ? r->marks_added : 0));
        set(o, "removed", number(r ? r->marks_removed : 0));
        set(o, "changed", number(r ? r->marks_changed : 0));
        return o;
}

static json_t *diagnostic(const char *severity, const char *file, unsigned line, const char *what)
{
        json_t *o = json_object();
        set(o, "severity", json_string(severity));
        set(o, "file", text(file));
        set(o, "line", number(line));
        set(o, "text", json_string(what));
        return o;
}

int control_json_reload(const struct reload_answer *a, struct strbuf *out)
{
        json_t *root = json_object(), *diagnostics = json_array();

        set(root, "ok", json_boolean(a->ok));
        set(root, "dry_run", json_boolean(a->dry_run));
        set(root, "generation", number(a->generation));
        set(root, "rules", reload_rules(a));
        set(root, "marks", reload_marks(a->result));
        for (size_t i = 0; i < a->diag->n_entries; i++) {
                const struct diag_entry *e = &a->diag->entries[i];
                append(diagnostics, diagnostic(diag_severity_name(e->severity), e->file, e->line, e->text));
        }
        for (size_t i = 0; a->ok && i < a->plan->prices.n; i++)
                append(diagnostics, diagnostic("warning", NULL, 0, a->plan->prices.v[i]));
        set(root, "diagnostics", diagnostics);
        set(root, "error", a->ok ? json_null() : json_string("refused; the rules before stay in force"));
        return finish(root, out);
}
