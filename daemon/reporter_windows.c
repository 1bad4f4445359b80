/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The windows of coalescing and of limits: what opens, fills and closes them. */

#include <inttypes.h>
#include <stdio.h>

#include "escape.h"
#include "hash.h"
#include "reporter_internal.h"

static uint64_t hash_rules(const struct match_hits *hits)
{
        uint64_t h = hits->n;

        for (size_t i = 0; i < hits->n; i++)
                h = hash_mix(h, hits->v[i].rule);
        return h;
}

/* Most windows close without a second event: the snapshot is made by the first that needs one. */
static void attach(void **payload, const struct event *e, const struct match_hits *hits)
{
        if (*payload)
                snapshot_update(*payload, e);
        else
                *payload = snapshot_new(e, hits, false);
}

/* True: the event is in a window, whose record will tell of it. */
bool reporter_coalesce(struct reporter *r, const struct event *e, const struct match_hits *hits)
{
        const struct coalesce_offer offer = {
                .path = e->path.p,
                .path_len = e->path.len,
                .pid = e->actor->pid,
                .start_ticks = e->actor->start_ticks,
                .rules = hash_rules(hits),
                .events = e->events,
                .window_usec = matcher_coalesce_usec(r->generation->matcher, hits),
                .now_usec = r->params.monotonic_usec(),
                .stamp_usec = e->read_realtime_usec,
        };
        void **payload;

        /* without a path two files could not be told apart */
        if (!e->path.p || coalescer_offer(r->coalescer, &offer, &payload) == COALESCE_REPORT)
                return false;
        attach(payload, e, hits);
        r->params.counters->events_coalesced++;
        r->kept->merged++;
        return true;
}

static bool is_allowed(struct reporter *r, const struct event *e, uint32_t index)
{
        const struct rule *rule = &r->generation->rules->watches[index];
        const struct settings *settings = r->settings;
        const struct limit_offer offer = {
                .rule = index,
                .limit_count = rule->limit_given ? rule->limit_count : settings->limit_count,
                .limit_usec = rule->limit_given ? rule->limit_usec : settings->limit_usec,
                .events = e->events,
                .program = e->actor->comm,
                .now_usec = r->params.monotonic_usec(),
                .stamp_usec = e->read_realtime_usec,
        };

        if (offer.limit_count == 0 || limiter_offer(r->limiter, &offer))
                return true;
        rule_account_of(&r->rules, index)->limited++;
        r->kept->limited++;
        return false;
}

const struct match_hits *reporter_limit(struct reporter *r, const struct event *e,
                                        const struct match_hits *hits)
{
        struct match_hits *allowed = &r->allowed;

        if (!r->limiter)
                return hits;
        if (allowed->cap < hits->n) {
                struct match_hit *v = reallocarray(allowed->v, hits->n, sizeof(*v));

                if (!v)
                        return hits;
                allowed->v = v;
                allowed->cap = hits->n;
        }
        allowed->n = 0;
        allowed->events = 0;
        for (size_t i = 0; i < hits->n; i++)
                if (is_allowed(r, e, hits->v[i].rule)) {
                        allowed->v[allowed->n++] = hits->v[i];
                        allowed->events |= hits->v[i].events;
                }
        return allowed->n > 0 ? allowed : NULL;
}

static void add_name(struct strbuf *out, const char *name)
{
        if (out->len > 0)
                strbuf_addc(out, ',');
        strbuf_adds(out, name);
}

/* As a rule file takes it between its quotes. */
static void add_quoted(struct strbuf *out, const struct bytes *path)
{
        for (size_t pos = 0; pos < path->len;) {
                const char *quote = memchr(path->p + pos, '"', path->len - pos);
                size_t n = quote ? (size_t)(quote - path->p) - pos : path->len - pos;

                escape_text(path->p + pos, n, out);
                strbuf_adds(out, quote ? "\\\"" : "");
                pos += n + (quote != NULL);
        }
}

/* Our records make somebody write, and that makes our records: said once, with the cure. */
static void note_feedback(struct reporter *r, const struct snapshot *s)
{
        const struct event *e = &s->event;
        _cleanup_strbuf_ struct strbuf names = STRBUF_NULL, path = STRBUF_NULL, hint = STRBUF_NULL;
        const char *program = s->actor.comm ? s->actor.comm : "a program";

        strbuf_add(&path, e->path.p, e->path.len);
        for (size_t i = 0; i < s->hits.n; i++)
                add_name(&names, r->generation->rules->watches[s->hits.v[i].rule].clause.name);
        strbuf_adds(&hint, "ignore: { forwarder: { path = \"");
        add_quoted(&hint, &e->path);
        strbuf_adds(&hint, "\"; }; };");

        const char *const fields[] = {
                "FAWATCH_RULES", strbuf_str(&names),
                "FAWATCH_PATH", strbuf_str(&path),
                "FAWATCH_COMM", s->actor.comm ? s->actor.comm : "",
                "FAWATCH_EXE", s->actor.exe ? s->actor.exe : "",
                "FAWATCH_UNIT", s->actor.unit ? s->actor.unit : "",
                "FAWATCH_HINT", strbuf_str(&hint),
                NULL,
        };

        reporter_note(r, RECORD_FEEDBACK, 4, fields,
                      "%s: %s writes %s because of these very records; to stop it, ignore that path",
                      strbuf_str(&names), program, strbuf_str(&path));
}

/* Memory was short for each of its events: what they were is not known any more. */
static void tell_lost_window(struct reporter *r, const struct coalesced *c)
{
        char count[24], from[24], until[24];

        (void)snprintf(count, sizeof(count), "%" PRIu64, c->count);
        (void)snprintf(from, sizeof(from), "%" PRIu64, c->first_usec);
        (void)snprintf(until, sizeof(until), "%" PRIu64, c->last_usec);
        const char *const fields[] = {
                "FAWATCH_GAP", "memory",
                "FAWATCH_REASON", "memory was short",
                "FAWATCH_COUNT", count,
                "FAWATCH_FROM_USEC", from,
                "FAWATCH_UNTIL_USEC", until,
                NULL,
        };
        reporter_note(r, RECORD_GAP, 3, fields, "%" PRIu64 " repeated events were lost: memory was short", c->count);
}

static void close_window(struct reporter *r, const struct coalesced *c)
{
        struct snapshot *s = c->payload;
        uint64_t merged = MIN_OF(c->count, r->kept->merged);

        /* in force with the commit of the record that tells of them */
        r->kept->merged -= merged;
        if (!s) {
                tell_lost_window(r, c);
                return;
        }
        s->event.events = c->events;
        s->event.read_realtime_usec = c->last_usec;
        if (c->count >= 2) {
                s->event.count = c->count;
                s->event.first_usec = c->first_usec;
                s->event.last_usec = c->last_usec;
        }
        reporter_record(r, &s->event, &s->hits, true);
        if (c->feedback)
                note_feedback(r, s);
        free(s);
}

/* Those that are over; with all, those that are open too. */
void reporter_close_windows(struct reporter *r, bool all)
{
        uint64_t now = r->params.monotonic_usec();
        struct coalesced merged;
        struct limited held;

        while (coalescer_next(r->coalescer, all ? COALESCE_FLUSH : now, &merged))
                close_window(r, &merged);
        while (r->limiter && limiter_next(r->limiter, all ? LIMIT_FLUSH : now, &held)) {
                r->kept->limited -= MIN_OF(held.count, r->kept->limited);
                reporter_tell_limited(r, &held);
        }
}
