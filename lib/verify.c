/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "verify.h"

#include <errno.h>

/* Notes about the time before stand among the first numbers of a stream. */
#define FIRST_NUMBERS 16u
/* A daemon says something at least once a heartbeat; it may be late, too. */
#define SILENCE_FACTOR 2

static void stream_done(struct verify_stream *s)
{
        free(s->numbers);
        free(s->shed);
        free(s->missing);
}

void verify_done(struct verify *v)
{
        for (size_t i = 0; i < v->n_streams; i++)
                stream_done(&v->streams[i]);
        for (size_t i = 0; i < v->n_gaps; i++) {
                free(v->gaps[i].kind);
                free(v->gaps[i].reason);
                free(v->gaps[i].where);
        }
        free(v->streams);
        free(v->gaps);
        free(v->silences);
        free(v->absences);
        *v = VERIFY_NULL;
}

/* Room for one more; the new array, or NULL. */
static void *grow(void *v, size_t n, size_t *cap, size_t size)
{
        if (n < *cap)
                return v;

        size_t more = *cap ? *cap * 2 : 16;
        void *grown = reallocarray(v, more, size);
        if (grown)
                *cap = more;
        return grown;
}

static struct verify_stream *stream_of(struct verify *v, const char *id)
{
        /* mostly the last one */
        for (size_t i = v->n_streams; i-- > 0;)
                if (streq(v->streams[i].id, id))
                        return &v->streams[i];

        struct verify_stream *streams = grow(v->streams, v->n_streams, &v->cap_streams, sizeof(*streams));
        if (!streams)
                return NULL;
        v->streams = streams;
        streams[v->n_streams] = (struct verify_stream){};
        strncpy(streams[v->n_streams].id, id, sizeof(streams->id) - 1);
        return &streams[v->n_streams++];
}

int verify_add_before(struct verify *v, const char *stream, uint64_t seq)
{
        struct verify_stream *s = stream_of(v, stream);

        if (!s)
                return -ENOMEM;
        s->floor = MAX_OF(s->floor, seq);
        s->floor_known = true;
        return 0;
}

static const char *parse_number(const char *p, uint64_t *ret)
{
        uint64_t n = 0;
        const char *begin = p;

        for (; *p >= '0' && *p <= '9' && p - begin < 19; p++)
                n = n * 10 + (uint64_t)(*p - '0');
        *ret = n;
        return p == begin ? NULL : p;
}

static int add_shed_ranges(struct verify_stream *s, const char *text)
{
        for (const char *p = text; *p;) {
                struct verify_numbers range;

                p = parse_number(p, &range.first);
                if (!p)
                        return 0;
                range.last = range.first;
                if (*p == '-')
                        p = parse_number(p + 1, &range.last);
                if (!p || range.last < range.first)
                        return 0;

                struct verify_numbers *shed =
                                grow(s->shed, s->n_shed_ranges, &s->cap_shed_ranges, sizeof(*shed));
                if (!shed)
                        return -ENOMEM;
                s->shed = shed;
                shed[s->n_shed_ranges++] = range;
                if (*p != ',')
                        return 0; /* what follows is for people */
                p++;
        }
        return 0;
}

static int add_span(struct verify_span **spans, size_t *n, size_t *cap, struct verify_span span)
{
        struct verify_span *grown = grow(*spans, *n, cap, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        *spans = grown;
        grown[(*n)++] = span;
        return 0;
}

bool verify_is_silence(uint64_t running_usec, uint64_t heartbeat_usec)
{
        return heartbeat_usec > 0 && running_usec / SILENCE_FACTOR > heartbeat_usec;
}

/* How long the machine ran between the last record's coming and this one's making. */
static int look_for_silence(struct verify *v, struct verify_stream *s, const struct verify_record *r)
{
        struct verify_span span = { s->last_usec, r->usec - MIN_OF(r->usec, r->late_usec) };
        uint64_t made = r->running_usec - MIN_OF(r->running_usec, r->late_usec);
        uint64_t quiet = made > s->last_running_usec ? made - s->last_running_usec : 0;

        if (r->heartbeat_usec > 0 && s->heartbeat_usec == 0 &&
            verify_is_silence(s->quiet_usec, r->heartbeat_usec)) {
                int e = add_span(&v->silences, &v->n_silences, &v->cap_silences, s->quiet);
                if (e < 0)
                        return e;
        }
        if (s->heartbeat_usec == 0 && r->heartbeat_usec > 0)
                s->heartbeat_usec = r->heartbeat_usec; /* the one that was in force before, too, most likely */
        if (verify_is_silence(quiet, s->heartbeat_usec))
                return add_span(&v->silences, &v->n_silences, &v->cap_silences, span);
        if (s->heartbeat_usec == 0 && quiet > s->quiet_usec) {
                s->quiet = span;
                s->quiet_usec = quiet;
        }
        return 0;
}

/* What the daemon after it says of a stream that ended. */
static void note_end(struct verify *v, const struct verify_record *r)
{
        for (size_t i = 0; i < v->n_streams; i++)
                if (streq(v->streams[i].id, r->last_stream))
                        v->streams[i].ceiling = MAX_OF(v->streams[i].ceiling, r->last_seq);
}

static bool is_absence(const char *kind)
{
        return streq(kind, "absent") || streq(kind, "boot");
}

static int add_gap(struct verify *v, const struct verify_record *r)
{
        struct verify_gap *gaps = grow(v->gaps, v->n_gaps, &v->cap_gaps, sizeof(*gaps));

        if (!gaps)
                return -ENOMEM;
        v->gaps = gaps;
        gaps[v->n_gaps++] = (struct verify_gap){
                .kind = strdup(r->gap),
                .reason = strdup(r->reason),
                .where = strdup(r->where),
                .from_usec = r->from_usec,
                .until_usec = r->until_usec ? r->until_usec : r->usec,
                .absence = is_absence(r->gap),
        };
        const struct verify_gap *g = &gaps[v->n_gaps - 1];
        return g->kind && g->reason && g->where ? 0 : -ENOMEM;
}

int verify_add(struct verify *v, const struct verify_record *r)
{
        struct verify_stream *s = stream_of(v, r->stream);
        struct verify_number *numbers;

        if (!s)
                return -ENOMEM;
        numbers = grow(s->numbers, s->n_numbers, &s->cap_numbers, sizeof(*numbers));
        if (!numbers)
                return -ENOMEM;
        s->numbers = numbers;
        numbers[s->n_numbers++] = (struct verify_number){ r->seq, r->usec };
        if (s->n_records++ == 0) {
                s->first_usec = r->usec;
        } else {
                int e = look_for_silence(v, s, r);
                if (e < 0)
                        return e;
        }
        s->last_usec = r->usec;
        s->last_running_usec = r->running_usec;
        if (r->heartbeat_usec > 0)
                s->heartbeat_usec = r->heartbeat_usec;
        s->stopped = r->kind == RECORD_STOPPING;
        v->n_records++;
        switch (r->kind) {
        case RECORD_SHED:
                if (*r->shed_seq)
                        s->n_shed += r->count;
                else
                        s->n_limited += r->count;
                return add_shed_ranges(s, r->shed_seq);
        case RECORD_GAP:
                s->begins_with_gap |= r->seq <= FIRST_NUMBERS;
                note_end(v, r);
                return add_gap(v, r);
        default:
                return 0;
        }
}

/* ---- what it comes to ---- */

static int compare_numbers(const void *a, const void *b)
{
        const struct verify_number *x = a, *y = b;

        return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int compare_ranges(const void *a, const void *b)
{
        const struct verify_numbers *x = a, *y = b;

        return x->first < y->first ? -1 : x->first > y->first;
}

static int add_missing(struct verify_stream *s, size_t *cap, const struct verify_range *range)
{
        struct verify_range *missing = grow(s->missing, s->n_missing, cap, sizeof(*missing));

        if (!missing)
                return -ENOMEM;
        s->missing = missing;
        missing[s->n_missing++] = *range;
        s->n_numbers_missing += range->last - range->first + 1;
        return 0;
}

/* Numbers that are not there: those in a shed range are accounted for, the rest is missing.
 * *absent counts the former. */
static int account(struct verify_stream *s, size_t *cap, struct verify_range hole, uint64_t *absent)
{
        for (size_t i = 0; i < s->n_shed_ranges && hole.first <= hole.last; i++) {
                const struct verify_numbers *shed = &s->shed[i];

                if (shed->last < hole.first || shed->first > hole.last)
                        continue;
                if (shed->first > hole.first) {
                        struct verify_range part = hole;

                        part.last = shed->first - 1;
                        int r = add_missing(s, cap, &part);
                        if (r < 0)
                                return r;
                }
                uint64_t from = MAX_OF(shed->first, hole.first), until = MIN_OF(shed->last, hole.last);
                *absent += until - from + 1;
                if (until == hole.last)
                        return 0;
                hole.first = until + 1;
        }
        return add_missing(s, cap, &hole);
}

/* Ranges that were merged hold numbers that were not shed: if more are absent than were
 * counted, the rest is missing, and nobody can say which. */
static int check_count(struct verify_stream *s, size_t *cap, uint64_t absent)
{
        if (absent <= s->n_shed || s->n_shed_ranges == 0)
                return 0;
        struct verify_range some = {
                .first = s->shed[0].first,
                .last = s->shed[0].first + (absent - s->n_shed) - 1,
        };
        return add_missing(s, cap, &some);
}

/* first: nothing older is in the log, and what was before its first record is not known. */
static int finish_stream(struct verify_stream *s, bool first, uint64_t last_seq)
{
        struct verify_number before = { .seq = s->floor };
        size_t cap = 0;
        uint64_t absent = 0;
        int r = 0;

        if (s->n_numbers > 0)
                qsort(s->numbers, s->n_numbers, sizeof(*s->numbers), compare_numbers);
        if (s->n_shed_ranges > 0)
                qsort(s->shed, s->n_shed_ranges, sizeof(*s->shed), compare_ranges);
        if (!s->floor_known && s->n_numbers > 0) {
                s->floor_known = !first || s->numbers[0].seq == 1;
                before.seq = s->floor = first ? s->numbers[0].seq - 1 : 0;
        }
        for (size_t i = 0; r == 0 && i < s->n_numbers; i++) {
                const struct verify_number *n = &s->numbers[i];

                if (n->seq == before.seq && i > 0)
                        s->n_repeated++;
                if (n->seq > before.seq + 1)
                        r = account(s, &cap,
                                    (struct verify_range){ before.seq + 1, n->seq - 1, before.usec, n->usec },
                                    &absent);
                before = *n;
        }
        s->first = s->n_numbers > 0 ? s->numbers[0].seq : 0;
        s->last = before.seq;
        if (r == 0 && last_seq > before.seq)
                r = account(s, &cap, (struct verify_range){ before.seq + 1, last_seq, before.usec, 0 },
                            &absent);
        return r < 0 ? r : check_count(s, &cap, absent);
}

/* A stream begins where a daemon found none: what was before, it did not see. */
static int look_for_absences(struct verify *v, uint64_t since_usec)
{
        uint64_t from = since_usec;

        for (size_t i = 0; i < v->n_streams; i++) {
                const struct verify_stream *s = &v->streams[i];
                bool begins = s->n_records > 0 && s->floor_known && s->floor == 0;

                if (begins && from > 0 && !s->begins_with_gap) {
                        int r = add_span(&v->absences, &v->n_absences, &v->cap_absences,
                                         (struct verify_span){ from, s->first_usec });
                        if (r < 0)
                                return r;
                }
                if (s->n_records > 0)
                        from = s->last_usec;
        }
        return 0;
}

int verify_finish(struct verify *v, uint64_t since_usec, const char *running_stream, uint64_t running_seq)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < v->n_streams; i++) {
                struct verify_stream *s = &v->streams[i];

                r = finish_stream(s, i == 0, MAX_OF(s->ceiling, streq(s->id, running_stream) ? running_seq : 0));
        }
        return r < 0 ? r : look_for_absences(v, since_usec);
}

uint64_t verify_missing(const struct verify *v)
{
        uint64_t n = 0;

        for (size_t i = 0; i < v->n_streams; i++)
                n += v->streams[i].n_numbers_missing;
        return n;
}

bool verify_complete(const struct verify *v)
{
        bool any = false;

        if (v->n_gaps > 0 || v->n_foreign > 0 || v->n_silences > 0 || v->n_absences > 0)
                return false;
        for (size_t i = 0; i < v->n_streams; i++) {
                const struct verify_stream *s = &v->streams[i];

                if (s->n_numbers_missing > 0 || s->n_repeated > 0 || s->n_shed > 0 || s->n_limited > 0 ||
                    !s->floor_known)
                        return false;
                any |= s->n_numbers > 0;
        }
        return any;
}
