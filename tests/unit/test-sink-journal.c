/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The journal sink against a socket of the test's own in journald's place. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "sink.h"

struct place {
        char folder[32], path[64];
        int server; /* -1: nobody listens */
        struct sink *sink;
};

static void listen_there(struct place *p)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        p->server = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(p->server >= 0);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
        (void)unlink(p->path);
        assert_int_equal(bind(p->server, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void hang_up(struct place *p)
{
        close(p->server);
        p->server = -1;
}

static int setup(void **state)
{
        struct place *p = calloc(1, sizeof(*p));

        assert_non_null(p);
        strcpy(p->folder, "/tmp/test-sink.XXXXXX");
        assert_non_null(mkdtemp(p->folder));
        snprintf(p->path, sizeof(p->path), "%s/socket", p->folder);
        p->server = -1;
        assert_int_equal(sink_journal_new(p->path, &p->sink), 0);
        *state = p;
        return 0;
}

static int teardown(void **state)
{
        struct place *p = *state;

        sink_free(p->sink);
        if (p->server >= 0)
                close(p->server);
        (void)unlink(p->path);
        (void)rmdir(p->folder);
        free(p);
        return 0;
}

static ssize_t send_text(struct place *p, const char *text)
{
        struct iovec record = { (char *)text, strlen(text) };

        return p->sink->ops->send(p->sink, &record, 1);
}

static void check_received(const struct place *p, const char *expected)
{
        char buffer[256];
        ssize_t n = recv(p->server, buffer, sizeof(buffer), 0);

        assert_int_equal(n, strlen(expected));
        assert_memory_equal(buffer, expected, (size_t)n);
}

static void test_nobody_there(void **state)
{
        struct place *p = *state;

        assert_int_equal(send_text(p, "A=1\n"), -ENOENT);
        assert_int_equal(p->sink->fd, -1);
        listen_there(p);
        assert_int_equal(send_text(p, "A=2\n"), 1);
        check_received(p, "A=2\n");

        /* the file is there, the listener is not */
        hang_up(p);
        assert_int_equal(send_text(p, "A=3\n"), -ECONNREFUSED);
        assert_int_equal(send_text(p, "A=4\n"), -ECONNREFUSED);
        listen_there(p);
        assert_int_equal(send_text(p, "A=5\n"), 1);
        check_received(p, "A=5\n");
        assert_int_equal(p->sink->too_large, 0);
}

static void test_batches(void **state)
{
        enum { N = 100 };
        struct place *p = *state;
        char texts[N][16];
        struct iovec records[N];
        size_t sent = 0;

        listen_there(p);
        for (size_t i = 0; i < N; i++) {
                snprintf(texts[i], sizeof(texts[i]), "N=%zu\n", i);
                records[i] = (struct iovec){ texts[i], strlen(texts[i]) };
        }
        while (sent < N) {
                ssize_t n = p->sink->ops->send(p->sink, records + sent, N - sent);

                /* where the queue is short (net.unix.max_dgram_qlen) it is emptied in between */
                if (n == -EAGAIN)
                        n = 0;
                assert_true(n >= 0 && n <= 64);
                for (size_t i = 0; i < (size_t)n; i++)
                        check_received(p, texts[sent + i]);
                sent += (size_t)n;
        }
        assert_int_equal(recv(p->server, texts, sizeof(texts), 0), -1);
}

static bool is_writable(const struct place *p)
{
        struct pollfd writable = { .fd = p->sink->fd, .events = POLLOUT };

        return poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) != 0;
}

/* A journald that does not read: nothing blocks, nothing is lost, and poll(2) tells when it goes on. */
static void test_full(void **state)
{
        struct place *p = *state;
        char text[16];
        unsigned accepted = 0, received = 0;
        ssize_t n;

        listen_there(p);
        for (;;) {
                snprintf(text, sizeof(text), "N=%u\n", accepted);
                n = send_text(p, text);
                if (n != 1)
                        break;
                accepted++;
                assert_true(accepted < 100000);
        }
        assert_int_equal(n, -EAGAIN);
        assert_true(p->sink->fd >= 0);
        assert_false(is_writable(p));
        for (; received < accepted; received++) {
                snprintf(text, sizeof(text), "N=%u\n", received);
                check_received(p, text);
        }
        assert_true(is_writable(p));
        assert_int_equal(send_text(p, "again\n"), 1);
        check_received(p, "again\n");
}

/* The descriptor that came instead of bytes. */
static int receive_descriptor(const struct place *p)
{
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control;
        char byte;
        struct iovec data = { &byte, 1 };
        struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        int fd;

        assert_int_equal(recvmsg(p->server, &message, MSG_CMSG_CLOEXEC), 0);
        assert_int_equal(message.msg_controllen, CMSG_SPACE(sizeof(int)));
        assert_int_equal(control.header.cmsg_type, SCM_RIGHTS);
        memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
        return fd;
}

static void check_large(struct place *p, size_t size)
{
        _cleanup_free_ char *large = malloc(size), *copy = malloc(size);
        struct iovec records[] = { { (char *)"A=1\n", 4 }, { large, size }, { (char *)"A=2\n", 4 } };
        struct stat st;
        size_t done = 0;
        int fd;

        assert_true(large && copy);
        memset(large, 'x', size);
        while (done < ELEMENTSOF(records)) {
                ssize_t n = p->sink->ops->send(p->sink, records + done, ELEMENTSOF(records) - done);

                assert_int_equal(n, 1);
                done++;
        }
        check_received(p, "A=1\n");
        fd = receive_descriptor(p);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, size);
        assert_int_equal(pread(fd, copy, size, 0), size);
        assert_memory_equal(copy, large, size);
        assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
        close(fd);
        check_received(p, "A=2\n");
        assert_int_equal(p->sink->too_large, 0);
}

/* What no datagram holds goes as a sealed memfd, in its place among the others:
 * what the kernel finds no memory for (ENOBUFS), and what the socket's buffer would
 * not hold (EMSGSIZE; the kernel doubles SO_SNDBUF). */
static void test_large(void **state)
{
        struct place *p = *state;

        listen_there(p);
        check_large(p, 9 * 1024 * 1024);
        check_large(p, 17 * 1024 * 1024);
}

static void test_path_too_long(void **state)
{
        char path[200];
        struct sink *sink;

        memset(path, 'a', sizeof(path) - 1);
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(sink_journal_new(path, &sink), -ENAMETOOLONG);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(test_nobody_there), T(test_batches), T(test_full), T(test_large),
                cmocka_unit_test(test_path_too_long),
        };

        return cmocka_run_group_tests_name("sink-journal", tests, NULL, NULL);
}
