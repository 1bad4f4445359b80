/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the spool to the sink, never waiting for it but at the very end. */

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "reporter_internal.h"

/* A sink that has just been full takes few: it is offered few, then twice as many each time. */
#define BATCH_MIN 4u
#define BATCH_MAX SINK_BATCH
/* then the fanotify queues get their turn: about 10 ms */
#define MAX_A_FLUSH      1024u
#define BACKOFF_MIN_USEC (100 * USEC_PER_MSEC)
#define BACKOFF_MAX_USEC (5 * USEC_PER_SEC)

static size_t peek(const struct reporter *r, struct iovec *records)
{
        struct spool_view views[BATCH_MAX];
        size_t n = spool_peek(r->spool, views, r->batch);
        uint64_t now = r->params.realtime_usec();

        for (size_t i = 0; i < n; i++)
                records[i] = (struct iovec){ (char *)views[i].data,
                                             record_sent_length(views[i].data, views[i].len, now) };
        return n;
}

/*
 * For the case that we are killed while we send: which records these are, and none of
 * them accepted so far.
 */
static void prepare_headers(struct reporter *r, size_t n)
{
        struct mmsghdr *headers = spool_notes(r->spool);

        _Static_assert(SINK_BATCH * sizeof(*headers) <= SPOOL_NOTES_BYTES, "all headers have room");
        for (size_t i = 0; i < n; i++)
                headers[i].msg_len = SINK_NOT_ACCEPTED;
        r->sink->headers = headers;
        spool_begin_send(r->spool, n);
}

/* Messages go out in order: the first one without a mark ends what the log has. */
void reporter_note_accepted(struct reporter *r)
{
        const struct mmsghdr *headers = spool_notes(r->spool);
        size_t n = MIN_OF(spool_sending(r->spool), (size_t)SINK_BATCH), accepted = 0;

        while (accepted < n && headers[accepted].msg_len != SINK_NOT_ACCEPTED)
                accepted++;
        if (n > 0)
                spool_pop(r->spool, accepted);
}

/* Returns what the sink did. */
static ssize_t send_batch(struct reporter *r)
{
        struct counters *c = r->params.counters;
        struct iovec records[BATCH_MAX];
        uint64_t too_large = r->sink->too_large;
        size_t n = peek(r, records);

        prepare_headers(r, n);
        ssize_t sent = r->sink->ops->send(r->sink, records, n);

        r->batch = sent > 0 ? MIN_OF(2 * r->batch, (size_t)BATCH_MAX) : BATCH_MIN;
        if (sent <= 0)
                return sent;
        too_large = r->sink->too_large - too_large;
        c->records_too_large += too_large;
        c->records_sent += (uint64_t)sent - too_large;
        spool_pop(r->spool, (size_t)sent);
        return sent;
}

/* Tried again later and later; a closed standard output will not come back. */
static void go_away(struct reporter *r, int error, uint64_t now)
{
        r->params.counters->send_errors++;
        r->backoff_usec = MIN_OF(MAX_OF(2 * r->backoff_usec, BACKOFF_MIN_USEC), BACKOFF_MAX_USEC);
        r->retry_usec = error == EPIPE ? UINT64_MAX : now + r->backoff_usec;
        r->away_errno = error;
}

static void come_back(struct reporter *r)
{
        r->away_errno = 0;
        r->backoff_usec = 0;
}

bool reporter_flush(struct reporter *r)
{
        uint64_t now = r->params.monotonic_usec();

        reporter_tell_shed(r, false);
        r->blocked = false;
        if (r->away_errno != 0 && now < r->retry_usec)
                return spool_count(r->spool) > 0;
        for (size_t done = 0; done < MAX_A_FLUSH && spool_count(r->spool) > 0;) {
                ssize_t sent = send_batch(r);

                if (sent == -EAGAIN) {
                        r->blocked = true;
                        come_back(r);
                        break;
                }
                if (sent < 0) {
                        go_away(r, (int)-sent, now);
                        break;
                }
                come_back(r);
                done += (size_t)sent;
        }
        reporter_tell_shed(r, false);
        return spool_count(r->spool) > 0;
}

int reporter_poll_fd(const struct reporter *r)
{
        return r->away_errno == 0 && spool_count(r->spool) > 0 ? r->sink->fd : -1;
}

/* When sending has something to do that no descriptor will tell of. */
static uint64_t send_deadline(const struct reporter *r)
{
        if (spool_count(r->spool) == 0)
                return UINT64_MAX;
        if (r->away_errno != 0)
                return r->retry_usec;
        return r->sink->fd < 0 && !r->blocked ? 0 : UINT64_MAX;
}

uint64_t reporter_deadline(const struct reporter *r)
{
        uint64_t deadline = MIN_OF(send_deadline(r), coalescer_deadline(r->coalescer));

        if (r->limiter)
                deadline = MIN_OF(deadline, limiter_deadline(r->limiter));
        /* without room for it the account waits for the log, not for a time */
        if (r->shed.total > 0 && spool_has_room(r->spool, SPOOL_NOTE, 0))
                deadline = MIN_OF(deadline, r->shed_due_usec);
        return deadline;
}

static void wait_for_sink(struct reporter *r, uint64_t until, uint64_t now)
{
        struct pollfd writable = { .fd = reporter_poll_fd(r), .events = POLLOUT };
        uint64_t wait_usec = MIN_OF(until, r->away_errno != 0 ? r->retry_usec : until) - now;

        (void)poll(&writable, 1, (int)MIN_OF(wait_usec / USEC_PER_MSEC + 1, (uint64_t)1000));
}

size_t reporter_drain(struct reporter *r, uint64_t deadline_usec)
{
        reporter_close_windows(r, true);
        for (;;) {
                reporter_tell_shed(r, true);

                bool waits = reporter_flush(r);
                uint64_t now = r->params.monotonic_usec();

                if (!waits)
                        reporter_tell_shed(r, true);
                if (spool_count(r->spool) == 0 || now >= deadline_usec || r->away_errno == EPIPE)
                        break;
                if (r->blocked || r->away_errno != 0)
                        wait_for_sink(r, deadline_usec, now);
        }
        return spool_count(r->spool);
}

size_t reporter_waiting(const struct reporter *r, size_t *ret_bytes)
{
        if (ret_bytes)
                *ret_bytes = spool_bytes(r->spool);
        return spool_count(r->spool);
}

bool reporter_sink_away(const struct reporter *r, int *ret_errno)
{
        if (r->away_errno != 0 && ret_errno)
                *ret_errno = r->away_errno;
        return r->away_errno != 0;
}
