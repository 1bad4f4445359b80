/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Was the watch complete?  The journal is read, and the numbers in it are reconciled. */

#include <errno.h>
#include <jansson.h>
#include <systemd/sd-id128.h>
#include <time.h>

#include "client.h"
#include "cmd.h"
#include "journal.h"
#include "print.h"
#include "verify.h"
#include "when.h"

/* journald takes what it was sent in its own time. */
#define WAIT_STEP_USEC (200 * USEC_PER_MSEC)
#define WAIT_STEPS     50
/* A daemon that stands still answers nobody. */
#define ANSWER_USEC (10 * USEC_PER_SEC)

struct question {
        uint64_t since_usec, now_usec; /* since 0 = all there is */
        uint64_t oldest_usec;          /* of the journal */
        uint64_t monotonic_usec;       /* now, on that clock of this boot */
        char boot[33];
        uint64_t suppressed;           /* records that journald dropped over a rate limit, as it says itself */
        bool hangs;                    /* the daemon takes calls and does not answer */
        uint64_t heartbeat_usec;       /* as the last record of its kind said, 0 = none */
        uint64_t last_usec;            /* monotonic, of the last record: how long it has been */
        char last_boot[33];
        char running_stream[33];       /* of the daemon, if it could be asked */
        uint64_t running_seq;          /* what it had sent by then */
        bool running_seen;             /* that was found */
};

static enum record_kind kind_of(const char *message_id)
{
        for (enum record_kind k = 0; k < N_RECORD_KINDS; k++)
                if (streq(message_id, record_kind_message_id(k)))
                        return k;
        return N_RECORD_KINDS;
}

/*
 * Anybody can send journald a record with our fields; fields with an underscore it adds
 * itself.  Of a sender that was gone it knows the user alone.
 */
static bool is_ours(struct journal *j)
{
        const char *unit = journal_field(j, "_SYSTEMD_UNIT"), *comm = journal_field(j, "_COMM");

        if (!streq(journal_field(j, "_UID"), "0"))
                return false;
        return streq(unit, "fawatchd.service") || streq(comm, "fawatchd") || (!*unit && !*comm);
}

/* Its own time, where it was sent late. */
static uint64_t lateness(struct journal *j)
{
        uint64_t made = journal_number(j, "FAWATCH_REALTIME_USEC"), taken = journal_realtime(j);

        return made > 0 && made < taken ? taken - made : 0;
}

static bool has_number(struct journal *j)
{
        return strlen(journal_field(j, "FAWATCH_STREAM")) == 32 && *journal_field(j, "FAWATCH_SEQ");
}

static int add_record(struct verify *v, struct journal *j, struct question *q)
{
        struct verify_record r = {
                .stream = journal_field(j, "FAWATCH_STREAM"),
                .seq = journal_number(j, "FAWATCH_SEQ"),
                .usec = journal_realtime(j),
                .running_usec = journal_monotonic(j, q->last_boot),
                .late_usec = lateness(j),
                .heartbeat_usec = journal_number(j, "FAWATCH_HEARTBEAT_USEC"),
                .last_stream = "",
                .kind = kind_of(journal_field(j, "MESSAGE_ID")),
                .shed_seq = "",
                .gap = "",
                .reason = "",
                .where = "",
        };

        q->last_usec = r.running_usec;
        if (r.heartbeat_usec > 0)
                q->heartbeat_usec = r.heartbeat_usec;
        q->running_seen |= r.seq >= q->running_seq && streq(r.stream, q->running_stream);
        switch (r.kind) {
        case RECORD_SHED:
                r.shed_seq = journal_field(j, "FAWATCH_SHED_SEQ");
                r.count = journal_number(j, "FAWATCH_COUNT");
                break;
        case RECORD_GAP:
                r.gap = journal_field(j, "FAWATCH_GAP");
                r.reason = journal_field(j, "FAWATCH_REASON");
                r.where = journal_values(j, "FAWATCH_MOUNTPOINT");
                r.from_usec = journal_number(j, "FAWATCH_FROM_USEC");
                r.until_usec = journal_number(j, "FAWATCH_UNTIL_USEC");
                r.last_stream = journal_field(j, "FAWATCH_LAST_STREAM");
                r.last_seq = journal_number(j, "FAWATCH_LAST_SEQ");
                break;
        default:
                break;
        }
        return verify_add(v, &r);
}

/* The record before the time asked about tells which numbers were given by then. */
static int read_before(struct verify *v, struct journal *j, const struct question *q)
{
        int r = journal_seek(j, q->since_usec);

        while (r >= 0 && (r = journal_previous(j)) > 0)
                if (journal_realtime(j) < q->since_usec && has_number(j) && is_ours(j))
                        return verify_add_before(v, journal_field(j, "FAWATCH_STREAM"),
                                                 journal_number(j, "FAWATCH_SEQ"));
        return r;
}

static int read_on(struct verify *v, struct journal *j, struct question *q)
{
        int r;

        while ((r = journal_next(j)) > 0) {
                if (journal_realtime(j) < q->since_usec || !has_number(j))
                        continue;
                if (!is_ours(j))
                        v->n_foreign++;
                else if ((r = add_record(v, j, q)) < 0)
                        break;
        }
        return r;
}

static int read_journal(struct verify *v, struct journal *j, struct question *q)
{
        int r = q->since_usec > 0 ? read_before(v, j, q) : 0;

        if (r >= 0)
                r = journal_seek(j, q->since_usec);
        if (r >= 0)
                r = read_on(v, j, q);
        for (unsigned i = 0; r >= 0 && q->running_seq > 0 && !q->running_seen && i < WAIT_STEPS; i++) {
                r = journal_wait(j, WAIT_STEP_USEC);
                if (r >= 0)
                        r = read_on(v, j, q);
        }
        q->oldest_usec = journal_oldest(j);
        return r;
}

/* What the daemon has given numbers to and sent, if it can be asked; quietly. */
static void ask_running(const struct invocation *i, struct question *q)
{
        _cleanup_(client_freep) struct client *c = NULL;
        _cleanup_answer_ struct client_answer answer = {};

        int r = client_open(i->socket, &c);
        if (r >= 0)
                r = client_ask_within(c, "Status", ANSWER_USEC, &answer);
        q->hangs = r == -ETIMEDOUT;
        if (r < 0)
                return;
        json_t *status = json_loadb(answer.bytes, answer.len, 0, NULL);
        if (!status)
                return;
        (void)snprintf(q->running_stream, sizeof(q->running_stream), "%s", json_text(status, "stream"));
        uint64_t seq = json_number(status, "seq"),
                 waiting = json_number(json_object_get(status, "log"), "waiting");
        q->running_seq = seq > waiting ? seq - waiting : 0;
        json_decref(status);
}

static void look_at_clocks(struct question *q)
{
        struct timespec t;
        sd_id128_t boot;

        q->now_usec = when_now_usec();
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        q->monotonic_usec = (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
        if (sd_id128_get_boot(&boot) >= 0)
                sd_id128_to_string(boot, q->boot);
}

/* ---- the answer ---- */

struct verdict {
        const struct verify *v;
        const struct question *q;
        bool stopped;         /* nobody watches now, and it was said so */
        uint64_t silent_usec; /* since then nothing came that should have; 0 = all is well */
        uint64_t older_usec;  /* from here to the oldest entry nothing can be said; 0 = nothing was asked */
        bool complete;
};

/* How long nothing has come; a machine that was suspended says nothing either. */
static uint64_t quiet_usec(const struct question *q, const struct verify_stream *last)
{
        if (streq(q->boot, q->last_boot))
                return q->monotonic_usec > q->last_usec ? q->monotonic_usec - q->last_usec : 0;
        return q->now_usec > last->last_usec ? q->now_usec - last->last_usec : 0;
}

static struct verdict judge(const struct verify *v, const struct question *q)
{
        bool runs = *q->running_stream;
        const struct verify_stream *last = v->n_streams > 0 ? &v->streams[v->n_streams - 1] : NULL;
        struct verdict a = { .v = v, .q = q };

        if (last && last->n_records > 0) {
                a.stopped = last->stopped && !runs;
                if (!a.stopped && !runs &&
                    (q->hangs || verify_is_silence(quiet_usec(q, last), q->heartbeat_usec)))
                        a.silent_usec = last->last_usec;
        }
        if (q->since_usec > 0 && q->oldest_usec > q->since_usec)
                a.older_usec = q->since_usec;
        a.complete = verify_complete(v) && !a.stopped && a.silent_usec == 0 && a.older_usec == 0 &&
                     q->suppressed == 0;
        return a;
}

static void span(uint64_t from, uint64_t until, char *buffer, size_t size)
{
        char a[TIME_SIZE] = "?", b[TIME_SIZE] = "now";

        if (from > 0)
                format_time(from, false, a, sizeof(a));
        if (until > 0)
                format_time(until, false, b, sizeof(b));
        (void)snprintf(buffer, size, "%s to %s", a, b);
}

#define SPAN_SIZE (2 * TIME_SIZE + 8)

static void line(enum tone tone, const char *what)
{
        print_toned(stdout, tone, what);
}

static void print_stream(const struct verify_stream *s)
{
        char when[SPAN_SIZE];

        span(s->first_usec, s->last_usec, when, sizeof(when));
        printf("stream %.8s: %llu records, numbers %llu to %llu, %s\n", s->id,
               (unsigned long long)s->n_records, (unsigned long long)s->first, (unsigned long long)s->last,
               when);
        if (!s->floor_known && s->first > 1) {
                line(TONE_WARNING, "  older");
                printf(": numbers 1 to %llu are from before what the journal keeps\n",
                       (unsigned long long)(s->first - 1));
        }
        if (s->n_shed > 0) {
                line(TONE_WARNING, "  accounted");
                printf(": %llu records were shed, each of its numbers is told\n",
                       (unsigned long long)s->n_shed);
        }
        if (s->n_limited > 0) {
                line(TONE_WARNING, "  accounted");
                printf(": %llu were over a limit (of a rule, or of the kernel's queue), and counted\n",
                       (unsigned long long)s->n_limited);
        }
        if (s->n_repeated > 0) {
                line(TONE_BAD, "  repeated");
                printf(": %llu numbers are there more than once\n", (unsigned long long)s->n_repeated);
        }
        for (size_t i = 0; i < s->n_missing; i++) {
                const struct verify_range *m = &s->missing[i];

                span(m->after_usec, m->before_usec, when, sizeof(when));
                line(TONE_BAD, "  missing");
                printf(": numbers %llu to %llu, written between %s\n", (unsigned long long)m->first,
                       (unsigned long long)m->last, when);
        }
}

static void print_gaps(const struct verify *v)
{
        char when[SPAN_SIZE];

        for (size_t i = 0; i < v->n_gaps; i++) {
                const struct verify_gap *g = &v->gaps[i];

                span(g->from_usec, g->until_usec, when, sizeof(when));
                line(TONE_WARNING, g->absence ? "absent" : "accounted");
                printf(": %s: %s%s%s\n", when, g->reason, *g->where ? " on " : "", g->where);
        }
        for (size_t i = 0; i < v->n_absences; i++) {
                span(v->absences[i].from_usec, v->absences[i].until_usec, when, sizeof(when));
                line(TONE_BAD, "absent");
                printf(": %s: a new stream began, and nothing says why\n", when);
        }
        for (size_t i = 0; i < v->n_silences; i++) {
                span(v->silences[i].from_usec, v->silences[i].until_usec, when, sizeof(when));
                line(TONE_BAD, "silent");
                printf(": %s: the signs of life that were due did not come\n", when);
        }
}

static void print_answer_for_people(const struct verdict *a)
{
        char when[SPAN_SIZE];

        if (a->older_usec > 0) {
                span(a->older_usec, a->q->oldest_usec, when, sizeof(when));
                line(TONE_WARNING, "older");
                printf(": %s is from before what the journal keeps\n", when);
        }
        for (size_t i = 0; i < a->v->n_streams; i++)
                if (a->v->streams[i].n_records > 0)
                        print_stream(&a->v->streams[i]);
        print_gaps(a->v);
        if (a->v->n_foreign > 0) {
                line(TONE_BAD, "forged");
                printf(": %llu records with such numbers were not written by fawatchd (journalctl -t "
                       "fawatchd -o "
                       "verbose shows _EXE)\n",
                       (unsigned long long)a->v->n_foreign);
        }
        if (a->q->suppressed > 0) {
                line(TONE_BAD, "dropped");
                printf(": %llu records over journald's rate limit (see LogRateLimitBurst= in "
                       "systemd.exec(5)): they are among the missing\n",
                       (unsigned long long)a->q->suppressed);
        }
        if (a->stopped)
                printf("absent: fawatchd was stopped and does not run now\n");
        if (a->silent_usec > 0) {
                span(a->silent_usec, 0, when, sizeof(when));
                line(TONE_BAD, "silent");
                printf(": %s: %s\n", when,
                       a->q->hangs ? "fawatchd runs, but does not answer"
                                   : "not even the sign of life came that is due");
        }
        if (a->complete)
                print_toned(stdout, TONE_GOOD, "complete");
        else
                print_toned(stdout, TONE_BAD,
                            verify_missing(a->v) > 0 ? "not complete"
                            : a->v->n_records == 0   ? "no records"
                                                     : "complete but for what is told above");
        printf("\n");
}

static json_t *json_of_stream(const struct verify_stream *s)
{
        json_t *missing = json_array();

        for (size_t i = 0; i < s->n_missing; i++)
                json_array_append_new(missing,
                                      json_pack("{s:I,s:I,s:I,s:I}", "first", (json_int_t)s->missing[i].first,
                                                "last", (json_int_t)s->missing[i].last, "after_usec",
                                                (json_int_t)s->missing[i].after_usec, "before_usec",
                                                (json_int_t)s->missing[i].before_usec));
        return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:o}", "stream", s->id, "records",
                         (json_int_t)s->n_records, "first", (json_int_t)s->first, "last", (json_int_t)s->last,
                         "first_usec", (json_int_t)s->first_usec, "last_usec", (json_int_t)s->last_usec,
                         "shed", (json_int_t)s->n_shed, "limited", (json_int_t)s->n_limited, "repeated",
                         (json_int_t)s->n_repeated, "from_the_beginning", (int)s->floor_known, "missing",
                         missing);
}

static json_t *json_of_spans(const struct verify_span *spans, size_t n)
{
        json_t *list = json_array();

        for (size_t i = 0; i < n; i++)
                json_array_append_new(list, json_pack("{s:I,s:I}", "from_usec", (json_int_t)spans[i].from_usec,
                                                      "until_usec", (json_int_t)spans[i].until_usec));
        return list;
}

static void print_answer_as_json(const struct verdict *a)
{
        json_t *streams = json_array(), *gaps = json_array();

        for (size_t i = 0; i < a->v->n_streams; i++)
                if (a->v->streams[i].n_records > 0)
                        json_array_append_new(streams, json_of_stream(&a->v->streams[i]));
        for (size_t i = 0; i < a->v->n_gaps; i++) {
                const struct verify_gap *g = &a->v->gaps[i];

                json_array_append_new(gaps, json_pack("{s:s,s:s,s:s,s:I,s:I,s:b}", "kind", g->kind, "reason",
                                                      g->reason, "where", g->where, "from_usec",
                                                      (json_int_t)g->from_usec, "until_usec",
                                                      (json_int_t)g->until_usec, "absence", (int)g->absence));
        }
        json_t *root = json_pack("{s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:o,s:o,s:o,s:o}", "complete", (int)a->complete,
                                 "records", (json_int_t)a->v->n_records, "missing",
                                 (json_int_t)verify_missing(a->v), "foreign", (json_int_t)a->v->n_foreign,
                                 "dropped_by_journald", (json_int_t)a->q->suppressed,
                                 "older_usec", (json_int_t)a->older_usec, "silent_since_usec",
                                 (json_int_t)a->silent_usec, "stopped", (int)a->stopped, "silences",
                                 json_of_spans(a->v->silences, a->v->n_silences), "absences",
                                 json_of_spans(a->v->absences, a->v->n_absences), "gaps", gaps, "streams",
                                 streams);
        print_json(root);
        json_decref(root);
}

enum exit_status cmd_verify(const struct invocation *i)
{
        _cleanup_verify_ struct verify v = VERIFY_NULL;
        _cleanup_(journal_closep) struct journal *j = NULL;
        struct question q = {};

        look_at_clocks(&q);
        if (i->since && !when_parse(i->since, q.now_usec, &q.since_usec)) {
                complain("not a time: '%s'; as journalctl takes it: \"2026-05-01 12:00:00\", yesterday, -2h",
                         i->since);
                return STATUS_USAGE;
        }
        /* first: what the journal gets meanwhile is more than this, never less */
        ask_running(i, &q);
        look_at_clocks(&q);
        int r = journal_open(&j);
        if (r >= 0)
                r = read_journal(&v, j, &q);
        if (r >= 0)
                r = journal_suppressed(q.since_usec, &q.suppressed);
        if (r >= 0)
                r = verify_finish(&v, q.since_usec, q.running_stream, q.running_seq);
        if (r < 0) {
                complain("the journal cannot be read: %s%s", strerror(-r),
                         r == -EACCES || r == -EPERM ? " (try sudo)" : "");
                return r == -EACCES || r == -EPERM ? STATUS_NOT_PERMITTED : STATUS_OTHER;
        }

        const struct verdict a = judge(&v, &q);
        if (i->json)
                print_answer_as_json(&a);
        else
                print_answer_for_people(&a);
        return a.complete ? STATUS_YES : STATUS_NO;
}
