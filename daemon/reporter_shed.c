/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records that account for what was not recorded: because the log did not keep
 * up and the spool was full, or because a rule's limit was reached.
 */

#include <inttypes.h>

#include "record_fields.h"
#include "reporter_internal.h"

#define PRIORITY_SHED 4
/* While the log is behind, one account a second says as much as hundreds. */
#define TELL_USEC USEC_PER_SEC
/* journald takes at most 1024 fields a record. */
#define MAX_LINES 200u

static void add_events(struct strbuf *out, uint32_t events)
{
        bool first = true;

        for (uint32_t left = record_shown_events(events), bit; left; left &= ~bit, first = false) {
                bit = left & -left;
                strbuf_addc(out, first ? ' ' : ',');
                strbuf_adds(out, vocab_name(bit));
        }
}

static void add_line(const struct fields *f, enum record_field field, struct strbuf *line)
{
        if (!strbuf_failed(line))
                fields_adds(f, field, strbuf_str(line));
        strbuf_reset(line);
}

/* The rules of one entry, one field each: so that they find this record. */
static void add_rule_names(const struct fields *f, const char *names)
{
        while (*names && !streq(names, SHED_OTHERS)) {
                size_t n = strcspn(names, ",");

                fields_add(f, FIELD_RULE, names, n);
                names += n + (names[n] == ',');
        }
}

static void add_entries(const struct fields *f, const struct shed *s)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;
        uint64_t others = 0;

        for (size_t i = 0; i < s->n_entries; i++) {
                const struct shed_entry *e = &s->entries[i];

                if (i >= MAX_LINES) {
                        others += e->count;
                        continue;
                }
                add_rule_names(f, e->rule);
                strbuf_addf(&line, "%s %" PRIu64 " %" PRIu64 "-%" PRIu64, *e->rule ? e->rule : "-", e->count,
                            e->first, e->last);
                add_events(&line, e->events);
                add_line(f, FIELD_SHED, &line);
        }
        if (others > 0) {
                strbuf_addf(&line, SHED_OTHERS " %" PRIu64, others);
                add_line(f, FIELD_SHED, &line);
        }
}

static void add_ranges(const struct fields *f, const struct shed *s)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;

        for (size_t i = 0; i < s->n_ranges; i++) {
                strbuf_adds(&line, i > 0 ? "," : "");
                strbuf_addu(&line, s->ranges[i].first);
                if (s->ranges[i].last != s->ranges[i].first) {
                        strbuf_addc(&line, '-');
                        strbuf_addu(&line, s->ranges[i].last);
                }
        }
        if (s->merged_ranges)
                strbuf_adds(&line, " (not all of these)");
        add_line(f, FIELD_SHED_SEQ, &line);
}

static void add_span(const struct fields *f, uint64_t count, uint64_t first, uint64_t last)
{
        fields_addu(f, FIELD_COUNT, count);
        fields_addu(f, FIELD_FIRST_USEC, first);
        fields_addu(f, FIELD_LAST_USEC, last);
}

/* A record into r->record that is no event; what is common to both kinds. */
static struct fields begin(struct reporter *r, const char *reason, struct strbuf *message)
{
        const struct record_context context = reporter_context(r);
        const struct fields f = { .out = &r->record };

        strbuf_reset(&r->record);
        record_begin(&context, RECORD_SHED, PRIORITY_SHED, strbuf_str(message), &r->record);
        fields_adds(&f, FIELD_REASON, reason);
        return f;
}

void reporter_keep_shed(struct reporter *r)
{
        shed_keep(&r->shed, &r->kept->shed);
}

/* When the spool was full: as soon as it has emptied by half, or each second
 * while it has not, or before the numbers no longer fit into the account; with
 * now, at once.  Needs room in the spool itself. */
void reporter_tell_shed(struct reporter *r, bool now)
{
        struct shed *s = &r->shed;
        _cleanup_strbuf_ struct strbuf message = STRBUF_NULL;
        bool emptied = spool_bytes(r->spool) <= r->settings->spool_bytes / 2;

        if (s->total == 0)
                return;
        if (!now && !emptied && s->n_ranges < SHED_MAX_RANGES &&
            r->params.monotonic_usec() < r->shed_due_usec)
                return;
        strbuf_addf(&message, "%" PRIu64 " records were not written: the log did not keep up", s->total);

        struct fields f = begin(r, "the log did not keep up", &message);

        add_span(&f, s->total, s->first_usec, s->last_usec);
        add_entries(&f, s);
        add_ranges(&f, s);
        if (!spool_has_room(r->spool, SPOOL_NOTE, r->record.len + 64)) /* no number is spent on a try */
                return;

        struct shed told = *s;

        *s = SHED_NULL; /* should this one be shed too, a new account begins with it */
        reporter_keep_shed(r); /* with the commit of the record that tells */
        r->shed_due_usec = r->params.monotonic_usec() + TELL_USEC;
        (void)reporter_push(r, SPOOL_NOTE, NULL, 0);
        shed_done(&told);
}

void reporter_tell_limited(struct reporter *r, const struct limited *l)
{
        const char *rule = r->generation->rules->watches[l->rule].clause.name;
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;

        strbuf_addf(&line, "%s: %" PRIu64 " records were not made: over the rule's limit", rule, l->count);

        struct fields f = begin(r, "over the rule's limit", &line);

        strbuf_reset(&line);
        add_span(&f, l->count, l->first_usec, l->last_usec);
        fields_adds(&f, FIELD_RULE, rule);
        strbuf_addf(&line, "%s %" PRIu64 " -", rule, l->count);
        add_events(&line, l->events);
        add_line(&f, FIELD_SHED, &line);
        for (size_t i = 0; i < l->n_programs; i++) {
                strbuf_addf(&line, "%s %" PRIu64, l->programs[i].name, l->programs[i].count);
                add_line(&f, FIELD_PROGRAM, &line);
        }
        if (l->other_programs > 0) {
                strbuf_addf(&line, "(others) %" PRIu64, l->other_programs);
                add_line(&f, FIELD_PROGRAM, &line);
        }
        (void)reporter_push(r, SPOOL_NOTE, NULL, 0);
}
