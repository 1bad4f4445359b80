/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records as JSON lines to standard output. */

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "record.h"
#include "sink.h"

/* A terminal says it is writable when little waits in it, not for how much there is room. */
#define TERMINAL_PIECE 256u

struct sink_stdout {
        struct sink sink;
        int out;
        bool is_socket;
        size_t piece;       /* what poll(2) promises a write of not to block; SIZE_MAX for a file */
        struct strbuf line; /* the record that is being written */
        size_t written;     /* bytes of it */
};

static uint64_t realtime_usec(void)
{
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

static ssize_t write_piece(const struct sink_stdout *o, const char *data, size_t len)
{
        struct pollfd writable = { .fd = o->out, .events = POLLOUT };

        if (o->is_socket)
                return send(o->out, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (o->piece < SIZE_MAX && poll(&writable, 1, 0) == 0) {
                errno = EAGAIN;
                return -1;
        }
        return write(o->out, data, MIN_OF(len, o->piece));
}

/* Returns 0 when the whole line is out, else a negative errno. */
static int finish_line(struct sink_stdout *o)
{
        while (o->written < o->line.len) {
                ssize_t n = write_piece(o, o->line.data + o->written, o->line.len - o->written);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0)
                        o->written += (size_t)n;
        }
        strbuf_reset(&o->line);
        o->written = 0;
        return 0;
}

static ssize_t stdout_send(struct sink *s, const struct iovec *records, size_t n)
{
        struct sink_stdout *o = (struct sink_stdout *)s;

        for (size_t i = 0; i < n; i++) {
                int r = 0;

                if (o->line.len == 0) /* else this record's line is half written */
                        r = record_json(records[i].iov_base, records[i].iov_len, realtime_usec(), &o->line);
                if (r == -EBADMSG) { /* nothing of ours is: waiting would not mend it */
                        strbuf_reset(&o->line);
                        s->too_large++;
                        continue;
                }
                if (r == 0)
                        r = finish_line(o);
                if (r < 0) {
                        if (o->written == 0)
                                strbuf_reset(&o->line);
                        return i > 0 ? (ssize_t)i : r;
                }
        }
        return (ssize_t)n;
}

static void stdout_destroy(struct sink *s)
{
        struct sink_stdout *o = (struct sink_stdout *)s;

        strbuf_done(&o->line);
        free(o);
}

int sink_stdout_new(int fd, struct sink **ret)
{
        static const struct sink_ops ops = { .send = stdout_send, .destroy = stdout_destroy };
        struct sink_stdout *o;
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        o = calloc(1, sizeof(*o));
        if (!o)
                return -ENOMEM;
        *o = (struct sink_stdout){
                .sink = { .ops = &ops, .fd = fd },
                .out = fd,
                .is_socket = S_ISSOCK(st.st_mode),
                .piece = PIPE_BUF, /* pipe(7): POLLOUT means at least this much room */
        };
        if (isatty(fd)) {
                o->piece = TERMINAL_PIECE;
        } else if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) {
                /* a file never makes anybody wait, and epoll(7) takes none */
                o->piece = SIZE_MAX;
                o->sink.fd = -1;
        }
        *ret = &o->sink;
        return 0;
}
