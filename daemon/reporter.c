/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Event → coalesce → limit → number → record → spool, and what is no event. */

#include "reporter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "reporter_internal.h"

/* Windows open at a time; each that merges holds a copy of its event, about 1 KiB. */
#define MAX_WINDOWS 4096u
/* What is tried where the setting asks for more than the machine has. */
#define SMALL_SPOOL_BYTES (16u * 1024u * 1024u)

/* What a process before had not told yet. */
static int reporter_take_over(struct reporter *r)
{
        spool_set_max(r->spool, r->settings->spool_bytes);
        reporter_note_accepted(r);
        return r->kept->shed.total > 0 ? shed_restore(&r->shed, &r->kept->shed) : 0;
}

int reporter_new(const struct reporter_params *params, const struct settings *settings, struct reporter **ret)
{
        _cleanup_(reporter_freep) struct reporter *r = calloc(1, sizeof(*r));

        if (!r) {
                sink_free(params->sink);
                spool_free(params->spool);
                return -ENOMEM;
        }
        r->sink = params->sink;
        r->params = *params;
        r->settings = settings;
        r->batch = 1;
        strncpy(r->stream, params->stream, sizeof(r->stream) - 1);
        r->coalescer = coalescer_new(MAX_WINDOWS, free);
        r->spool = params->spool ? params->spool : spool_new(settings->spool_bytes);
        if (!r->spool) /* more than there is */
                r->spool = spool_new(SMALL_SPOOL_BYTES);
        if (!r->coalescer || !r->spool)
                return -ENOMEM;
        r->kept = spool_state(r->spool);
        if (reporter_take_over(r) < 0)
                return -ENOMEM;
        *ret = STEAL(r);
        return 0;
}

void reporter_free(struct reporter *r)
{
        if (!r)
                return;
        coalescer_free(r->coalescer);
        limiter_free(r->limiter);
        rule_account_done(&r->rules);
        free(r->allowed.v);
        strbuf_done(&r->record);
        strbuf_done(&r->names);
        spool_free(r->spool);
        shed_done(&r->shed);
        sink_free(r->sink);
        free(r);
}

void reporter_set_generation(struct reporter *r, const struct generation *g)
{
        if (r->generation)
                reporter_close_windows(r, true);
        r->generation = g;
        r->settings = g->settings;
        limiter_free(r->limiter);
        r->limiter = limiter_new(g->rules->n_watches);
        rule_account_set(&r->rules, g->rules);
        spool_set_max(r->spool, g->settings->spool_bytes);
}

struct record_context reporter_context(const struct reporter *r)
{
        return (struct record_context){
                .stream = r->stream,
                .seq = r->kept->seq + 1,
                .generation = r->generation ? r->generation->number : 0,
                .settings = r->settings,
                .rules = r->generation ? r->generation->rules : NULL,
        };
}

static void publish(const struct reporter *r, uint64_t now)
{
        const struct strbuf *record = &r->record;

        if (r->params.published)
                r->params.published(r->params.userdata, record->data,
                                    record_sent_length(record->data, record->len, now));
}

static void count_shed(struct reporter *r, const char *names, uint32_t events, uint64_t now)
{
        if (r->shed.total == 0)
                r->shed_due_usec = r->params.monotonic_usec() + USEC_PER_SEC;
        (void)shed_note(&r->shed, r->kept->seq, names, events, now); /* without memory the number alone is told */
        r->params.counters->records_shed++;
        reporter_keep_shed(r);
        spool_commit(r->spool);
}

/* Every record passes here: its number is spent, whatever becomes of it. */
int reporter_push(struct reporter *r, int priority, const char *names, uint32_t events)
{
        uint64_t now = r->params.realtime_usec();
        int error = 0;

        r->kept->seq++;
        if (!names) /* a note: its time is now */
                record_end(now, &r->record);
        if (strbuf_failed(&r->record)) {
                error = -ENOMEM;
        } else {
                publish(r, now);
                error = spool_push(r->spool, priority, r->record.data, r->record.len);
        }
        if (error < 0)
                count_shed(r, names, events, now);
        else
                r->params.counters->records_made++;
        return error;
}

static const char *join_names(struct reporter *r, const struct match_hits *hits)
{
        const struct rule *watches = r->generation->rules->watches;

        strbuf_reset(&r->names);
        for (size_t i = 0; i < hits->n; i++) {
                if (i > 0)
                        strbuf_addc(&r->names, ',');
                strbuf_adds(&r->names, watches[hits->v[i].rule].clause.name);
        }
        return strbuf_str(&r->names);
}

void reporter_record(struct reporter *r, const struct event *e, const struct match_hits *hits, bool closing)
{
        const struct record_context context = reporter_context(r);
        struct counters *c = r->params.counters;
        int priority, error;

        hits = reporter_limit(r, e, hits);
        if (!hits) {
                c->events_limited += !closing;
                return;
        }
        strbuf_reset(&r->record);
        /* with its time, which is left out again when it is sent in time */
        priority = record_event(&context, e, hits, UINT64_MAX, &r->record);
        error = reporter_push(r, priority, join_names(r, hits), e->events);
        if (error == 0)
                c->events_recorded += !closing;
        for (size_t i = 0; i < hits->n; i++) {
                struct rule_counters *rule = rule_account_of(&r->rules, hits->v[i].rule);

                rule->recorded += error == 0;
                rule->shed += error < 0;
        }
}

void reporter_event(struct reporter *r, const struct event *e, const struct match_hits *hits)
{
        struct event stamped = *e;

        if (stamped.read_realtime_usec == 0)
                stamped.read_realtime_usec = r->params.realtime_usec();
        if (!reporter_coalesce(r, &stamped, hits))
                reporter_record(r, &stamped, hits, false);
        /* a window that gave way to this event's, or is over: its record comes now */
        if (coalescer_deadline(r->coalescer) == 0)
                reporter_close_windows(r, false);
        if (r->shed.n_ranges == SHED_MAX_RANGES)
                reporter_tell_shed(r, true);
}

int reporter_note(struct reporter *r, enum record_kind kind, int priority, const char *const *fields,
                   const char *format, ...)
{
        const struct record_context context = reporter_context(r);
        char *message = NULL;
        va_list args;

        va_start(args, format);
        if (vasprintf(&message, format, args) < 0)
                message = NULL;
        va_end(args);
        strbuf_reset(&r->record);
        record_begin(&context, kind, priority, message ? message : record_kind_name(kind), &r->record);
        free(message);
        for (; fields[0]; fields += 2)
                if (*fields[1]) /* what is empty is not known: absent */
                        record_fields(&r->record, fields[0], fields[1]);
        return reporter_push(r, SPOOL_NOTE, NULL, 0);
}

void reporter_tick(struct reporter *r)
{
        reporter_close_windows(r, false);
        (void)reporter_flush(r);
}

uint64_t reporter_seq(const struct reporter *r)
{
        return r->kept->seq;
}

const struct rule_counters *reporter_rule_counters(const struct reporter *r, size_t *ret_n)
{
        *ret_n = r->rules.n;
        return r->rules.all;
}
