/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "log.h"
#include "note_fields.h"
#include "notes.h"
#include "plan_cover.h"

/* Of a note's fields, for what changed: the counts tell of the rest. */
#define MAX_LISTED_CHANGES 24

static void add_asker(struct note_fields *f, const struct reload_request *by)
{
        if (!by)
                return;
        if (by->peer.pid <= 0) {
                note_field(f, "FAWATCH_ASKED_BY", by->peer.comm);
                return;
        }
        note_fieldf(f, "FAWATCH_ASKED_BY", "%s[%" PRIi32 "]", by->peer.comm, by->peer.pid);
        note_fieldf(f, "FAWATCH_ASKED_BY_UID", "%" PRIu32, by->peer.uid);
}

static void add_coverage(struct note_fields *f, const struct plan *p)
{
        size_t counts[N_COVERAGE_STATES];
        plan_cover_counts(p, counts);
        note_fieldf(f, "FAWATCH_COVERAGE", "covered=%zu partly=%zu not_covered=%zu skipped=%zu", counts[COVERED],
             counts[PARTLY_COVERED], counts[NOT_COVERED], counts[SKIPPED]);
}

void notes_started(struct daemon *d)
{
        _cleanup_(note_fields_done) struct note_fields f = {};
        note_field(&f, "FAWATCH_VERSION", PACKAGE_VERSION);
        note_field(&f, "FAWATCH_RULES_SHA256", d->generation->sha256);
        note_fieldf(&f, "FAWATCH_HEARTBEAT_USEC", "%" PRIu64, d->generation->settings->heartbeat_usec);
        add_coverage(&f, d->generation->plan);
        reporter_note(d->street.reporter, RECORD_STARTED, LOG_INFO, f.v,
                      "fawatchd %s watches: %zu rules, %zu marks (rules: %s)", PACKAGE_VERSION,
                      d->generation->rules->n_watches, marks_placed(d->street.marks)->n,
                      rules_from_name(d->texts->from));
}

void notes_stopping(struct daemon *d)
{
        static const char *const none[] = { NULL };
        reporter_note(d->street.reporter, RECORD_STOPPING, LOG_INFO, none,
                      "fawatchd stops: unless this is a restart, what happens from now on is not watched");
}

static void add_warnings(struct note_fields *f, const struct diag *diag, const struct plan *plan)
{
        for (size_t i = 0; i < diag->n_entries && f->n_own < 40; i++)
                if (diag->entries[i].severity != DIAG_NOTE)
                        note_fields_own(f, "FAWATCH_WARNING", diag_format(&diag->entries[i]));
        for (size_t i = 0; i < plan->prices.n && f->n_own < 48; i++)
                note_field(f, "FAWATCH_WARNING", plan->prices.v[i]);
}

/* "+ watch etc", one a field: what an auditor wants to know of a change. */
static void add_changes(struct note_fields *f, const struct rules_diff *changes)
{
        const char *p = changes->text ? strbuf_str(changes->text) : "";

        while (*p && f->n_own < MAX_LISTED_CHANGES) {
                size_t len = strcspn(p, "\n"), indent = strspn(p, " ");

                note_fields_own(f, "FAWATCH_RULES_CHANGE", strndup(p + indent, len - indent));
                p += len + (p[len] == '\n');
        }
}

void notes_loaded(struct daemon *d, const struct rules_diff *changes, const struct reload_request *by)
{
        _cleanup_(note_fields_done) struct note_fields f = {};
        const struct generation *g = d->generation;

        note_field(&f, "FAWATCH_RULES_SHA256", g->sha256);
        note_field(&f, "FAWATCH_RULES_FROM", rules_from_name(d->texts->from));
        note_fieldf(&f, "FAWATCH_HEARTBEAT_USEC", "%" PRIu64, g->settings->heartbeat_usec);
        note_fieldf(&f, "FAWATCH_RULES_ADDED", "%zu", changes->added);
        note_fieldf(&f, "FAWATCH_RULES_REMOVED", "%zu", changes->removed);
        note_fieldf(&f, "FAWATCH_RULES_CHANGED", "%zu", changes->changed);
        add_asker(&f, by);
        add_changes(&f, changes);
        add_coverage(&f, g->plan);
        add_warnings(&f, &d->loader.warnings, g->plan);
        reporter_note(d->street.reporter, RECORD_RULES_LOADED, LOG_NOTICE, f.v,
                      "rules in force: %zu watches, %zu ignores (%zu added, %zu removed, %zu changed)",
                      g->rules->n_watches, g->rules->n_ignores, changes->added, changes->removed,
                      changes->changed);
}

static const struct diag_entry *first_error(const struct diag *diag)
{
        for (size_t i = 0; i < diag->n_entries; i++)
                if (diag->entries[i].severity == DIAG_ERROR)
                        return &diag->entries[i];
        return NULL;
}

void notes_refused(struct daemon *d, const struct diag *diag, const struct reload_request *by)
{
        _cleanup_(note_fields_done) struct note_fields f = {};
        const struct diag_entry *first = first_error(diag);
        _cleanup_free_ char *text = first ? diag_format(first) : NULL;

        if (first && first->file)
                note_field(&f, "CONFIG_FILE", first->file);
        if (first && first->line > 0)
                note_fieldf(&f, "CONFIG_LINE", "%u", first->line);
        for (size_t i = 0; i < diag->n_entries && f.n_own < 40; i++)
                if (diag->entries[i].severity == DIAG_ERROR)
                        note_fields_own(&f, "FAWATCH_ERROR", diag_format(&diag->entries[i]));
        add_asker(&f, by);
        size_t more = diag->n_errors > 1 ? diag->n_errors - 1 : 0;
        char and_more[48] = "";
        if (more > 0)
                snprintf(and_more, sizeof(and_more), " (and %zu more)", more);
        reporter_note(d->street.reporter, RECORD_RULES_REFUSED, LOG_ERR, f.v,
                      "rules refused, the %s stay in force: %s%s", by ? "rules before" : "last good ones",
                      text ? text : "out of memory", and_more);
}

void notes_alive(struct daemon *d)
{
        _cleanup_(note_fields_done) struct note_fields f = {};
        const struct counters *c = &d->street.counters;
        size_t n, n_counters;

        note_fieldf(&f, "FAWATCH_HEARTBEAT_USEC", "%" PRIu64, d->generation->settings->heartbeat_usec);
        note_fieldf(&f, "FAWATCH_LAST_SEQ", "%" PRIu64, reporter_seq(d->street.reporter));
        const struct counter_info *table = counters_table(&n_counters);
        _cleanup_strbuf_ struct strbuf totals = STRBUF_NULL;
        for (size_t i = 0; i < n_counters; i++)
                strbuf_addf(&totals, "%s%s=%" PRIu64, i > 0 ? " " : "", table[i].name,
                            counter_value(c, &table[i]));
        note_field(&f, "FAWATCH_COUNTERS", strbuf_str(&totals));
        const struct rule_counters *rules = reporter_rule_counters(d->street.reporter, &n);
        for (size_t i = 0; i < n && f.n_own < 56; i++)
                if (rules[i].recorded + rules[i].limited + rules[i].shed > 0)
                        note_fieldf(&f, "FAWATCH_RULE_COUNTERS",
                             "%s recorded=%" PRIu64 " limited=%" PRIu64 " shed=%" PRIu64, rules[i].rule,
                             rules[i].recorded, rules[i].limited, rules[i].shed);
        add_coverage(&f, d->generation->plan);
        reporter_note(d->street.reporter, RECORD_ALIVE, LOG_DEBUG, f.v,
                      "alive: %" PRIu64 " records so far, %" PRIu64 " shed, generation %" PRIu64,
                      reporter_seq(d->street.reporter), c->records_shed, d->generation->number);
}

void notes_gap(struct daemon *d, const struct gap_note *gap)
{
        _cleanup_(note_fields_done) struct note_fields f = {};
        _cleanup_strbuf_ struct strbuf where = STRBUF_NULL;

        note_field(&f, "FAWATCH_GAP", gap->kind);
        note_field(&f, "FAWATCH_REASON", gap->reason);
        note_fields_watched(&f, d->generation, NULL, &where);
        if (gap->from_usec > 0)
                note_fieldf(&f, "FAWATCH_FROM_USEC", "%" PRIu64, gap->from_usec);
        if (gap->until_usec > 0)
                note_fieldf(&f, "FAWATCH_UNTIL_USEC", "%" PRIu64, gap->until_usec);
        if (gap->last_stream) {
                note_field(&f, "FAWATCH_LAST_STREAM", gap->last_stream);
                note_fieldf(&f, "FAWATCH_LAST_SEQ", "%" PRIu64, gap->last_seq);
        }
        reporter_note(d->street.reporter, RECORD_GAP, LOG_WARNING, f.v,
                      "what happened is not known: %s (%s)", gap->reason,
                      where.len > 0 ? strbuf_str(&where) : "no filesystem is watched");
}

void notes_recovered(struct daemon *d, const struct recovery_summary *s)
{
        _cleanup_(note_fields_done) struct note_fields f = {};

        note_field(&f, "FAWATCH_REASON", "recovery after a gap");
        note_fieldf(&f, "FAWATCH_FROM_USEC", "%" PRIu64, s->from_usec);
        reporter_note(d->street.reporter, RECORD_COVERAGE, LOG_NOTICE, f.v,
                      "looked for what happened in the gap: %" PRIu64 " names, %" PRIu64 " changed since%s%s",
                      s->looked_at, s->found, s->failed > 0 ? "; some directories could not be read" : "",
                      s->cut_short ? "; not all were looked at, there were too many" : "");
}

void notes_stuck(struct daemon *d)
{
        const char *where = resolver_stuck(d->street.resolver);

        if (!where == !d->stuck)
                return;
        if (where)
                (void)snprintf(d->stuck_where, sizeof(d->stuck_where), "%s", where);
        d->stuck = where;
        const char *const fields[] = {
                "FAWATCH_COVERAGE", where ? "partly covered" : "covered",
                "FAWATCH_MOUNTPOINT", d->stuck_where,
                "FAWATCH_REASON", where ? "it does not answer: its events have no paths" : "it answers again",
                NULL,
        };
        reporter_note(d->street.reporter, RECORD_COVERAGE, where ? LOG_WARNING : LOG_NOTICE, fields,
                      "%s %s", d->stuck_where,
                      where ? "does not answer: events there are reported without paths" : "answers again");
}

void notes_verify(struct daemon *d)
{
        _cleanup_strbuf_ struct strbuf report = STRBUF_NULL;
        int n = reload_verify(&d->street, &report);

        if (n < 0)
                log_message(LOG_WARNING, "the placed marks could not be compared with the kernel's: %s",
                            strerror(-n));
        else if (n > 0)
                log_message(LOG_WARNING, "%d marks differed from what the kernel has, %s: %s", n,
                            reload_repair(&d->street, d->generation) == 0 ? "repaired" : "and cannot be repaired now",
                            strbuf_str(&report));
}

void notes_status_line(const struct daemon *d, struct strbuf *out)
{
        const struct counters *c = &d->street.counters;

        strbuf_addf(out, "%zu rules, %zu marks; %" PRIu64 " recorded, %" PRIu64 " lost",
                    d->generation->rules->n_watches, marks_placed(d->street.marks)->n, c->records_made,
                    c->records_shed + c->events_overflow);
        if (d->loader.refused_usec == 0)
                return;
        const struct diag_entry *first = first_error(&d->loader.refusal);
        _cleanup_free_ char *text = first ? diag_format(first) : NULL;
        strbuf_addf(out, "; RULES REFUSED, older ones in force: %s", text ? text : "see the journal");
}
