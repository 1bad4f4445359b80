/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* JSON lines into pipes, sockets and files: whole lines in the end, whatever is taken at a time. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"
#include "sink.h"

/* with its own time, so that the line is known */
#define STAMP "FAWATCH_REALTIME_USEC=951782400000000\n"
#define LINE_HEAD "{\"time\":\"2000-02-29T00:00:00.000000Z\","
#define LINE_TAIL "\"realtime_usec\":951782400000000}\n"

enum { N = 40, VALUE = 10000 };

/* Record number i: too long for one write into a pipe of one page. */
static void make(size_t i, struct strbuf *record, struct strbuf *line)
{
        strbuf_addf(record, "X%02zu=", i);
        strbuf_addf(line, LINE_HEAD "\"x%02zu\":\"", i);
        for (size_t k = 0; k < VALUE; k++) {
                strbuf_addc(record, (char)('a' + (i + k) % 26));
                strbuf_addc(line, (char)('a' + (i + k) % 26));
        }
        strbuf_adds(record, "\n" STAMP);
        strbuf_adds(line, "\"," LINE_TAIL);
}

struct work {
        struct strbuf records[N], expected, got;
        struct iovec iov[N];
};

static struct work *work_new(void)
{
        struct work *w = calloc(1, sizeof(*w));

        assert_non_null(w);
        for (size_t i = 0; i < N; i++) {
                make(i, &w->records[i], &w->expected);
                w->iov[i] = (struct iovec){ w->records[i].data, w->records[i].len };
        }
        return w;
}

static void work_free(struct work *w)
{
        for (size_t i = 0; i < N; i++)
                strbuf_done(&w->records[i]);
        strbuf_done(&w->expected);
        strbuf_done(&w->got);
        free(w);
}

static void read_some(int fd, size_t most, struct strbuf *got)
{
        char buffer[8192];
        ssize_t n = read(fd, buffer, MIN_OF(most, sizeof(buffer)));

        assert_true(n > 0);
        strbuf_add(got, buffer, (size_t)n);
}

/* Sends all while the other end takes a little at a time. */
static void pump(struct sink *sink, int reader, struct work *w)
{
        size_t sent = 0, waits = 0;

        while (sent < N) {
                ssize_t n = sink->ops->send(sink, w->iov + sent, N - sent);

                assert_true(n >= 1 || n == -EAGAIN);
                if (n == -EAGAIN) {
                        waits++;
                        read_some(reader, 777, &w->got);
                } else {
                        sent += (size_t)n;
                }
        }
        assert_true(waits > N / 2);
        while (w->got.len < w->expected.len)
                read_some(reader, 4096, &w->got);
        assert_string_equal(strbuf_str(&w->got), strbuf_str(&w->expected));
}

static void test_slow_pipe(void **state)
{
        struct work *w = work_new();
        struct sink *sink;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        (void)fcntl(ends[1], F_SETPIPE_SZ, 4096);
        assert_int_equal(sink_stdout_new(ends[1], &sink), 0);
        assert_int_equal(sink->fd, ends[1]);
        pump(sink, ends[0], w);
        assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0); /* others share it */
        sink_free(sink);
        assert_int_equal(fcntl(ends[1], F_GETFD), FD_CLOEXEC); /* and it is not ours to close */
        close(ends[0]);
        close(ends[1]);
        work_free(w);
}

static void test_slow_socket(void **state)
{
        struct work *w = work_new();
        struct sink *sink;
        int ends[2], small = 4096;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
        assert_int_equal(sink_stdout_new(ends[1], &sink), 0);
        pump(sink, ends[0], w);
        sink_free(sink);
        close(ends[0]);
        close(ends[1]);
        work_free(w);
}

static void test_file(void **state)
{
        struct work *w = work_new();
        char path[] = "/tmp/test-sink.XXXXXX";
        int fd = mkstemp(path);
        struct sink *sink;

        assert_true(fd >= 0);
        (void)unlink(path);
        assert_int_equal(sink_stdout_new(fd, &sink), 0);
        assert_int_equal(sink->fd, -1); /* there is nothing to wait for */
        assert_int_equal(sink->ops->send(sink, w->iov, N), N);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        while (w->got.len < w->expected.len)
                read_some(fd, 8192, &w->got);
        assert_string_equal(strbuf_str(&w->got), strbuf_str(&w->expected));
        sink_free(sink);
        close(fd);
        work_free(w);
}

static void test_closed_pipe(void **state)
{
        struct work *w = work_new();
        struct sink *sink;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(sink_stdout_new(ends[1], &sink), 0);
        assert_int_equal(sink->ops->send(sink, w->iov, 1), 1);
        close(ends[0]);
        assert_int_equal(sink->ops->send(sink, w->iov, 1), -EPIPE);
        assert_int_equal(sink->ops->send(sink, w->iov, 1), -EPIPE);
        sink_free(sink);
        close(ends[1]);
        work_free(w);
}

/* Bytes that are no record are given up and counted: they must not hold up the others. */
static void test_no_record(void **state)
{
        struct iovec records[] = {
                { (char *)"no record", 9 },
                { (char *)"A=1\n" STAMP, sizeof("A=1\n" STAMP) - 1 },
        };
        char line[256] = "";
        struct sink *sink;
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(sink_stdout_new(ends[1], &sink), 0);
        assert_int_equal(sink->ops->send(sink, records, 2), 2);
        assert_int_equal(sink->too_large, 1);
        assert_true(read(ends[0], line, sizeof(line) - 1) > 0);
        assert_string_equal(line, LINE_HEAD "\"a\":\"1\"," LINE_TAIL);
        sink_free(sink);
        close(ends[0]);
        close(ends[1]);
}

static void test_bad_descriptor(void **state)
{
        struct sink *sink;

        assert_int_equal(sink_stdout_new(-1, &sink), -EBADF);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        signal(SIGPIPE, SIG_IGN);
        alarm(60); /* a sink that blocks would wait for ever */
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_slow_pipe),   cmocka_unit_test(test_slow_socket),
                cmocka_unit_test(test_file),        cmocka_unit_test(test_closed_pipe),
                cmocka_unit_test(test_no_record),   cmocka_unit_test(test_bad_descriptor),
        };

        return cmocka_run_group_tests_name("sink-stdout", tests, NULL, NULL);
}
