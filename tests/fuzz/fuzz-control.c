/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes from a client into the control socket's server, with its real methods
 * and made-up answers.  The first byte says whether the handshake goes before the
 * rest, so that a search need not find it again and again.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "daemon/control.h"

#define MAX_ROUNDS 4096
#define MAX_TOKENS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct server {
        struct control *control;
        struct control_reload *waiting[MAX_TOKENS];
        size_t n_waiting;
};

static int op_answer(void *userdata, struct strbuf *out)
{
        strbuf_adds(out, "{}");
        return 0;
}

/* An answer during which followers are sent something, too. */
static int op_publish(void *userdata, struct strbuf *out)
{
        static const char record[] = "MESSAGE=x\nFAWATCH_RULE=etc\nFAWATCH_PATH=/etc/passwd\n";
        const struct server *s = userdata;

        if (control_has_followers(s->control))
                control_publish(s->control, record, sizeof(record) - 1);
        return op_answer(userdata, out);
}

static int op_fail(void *userdata, struct strbuf *out)
{
        return -EIO;
}

static void op_reload(void *userdata, bool dry_run, const struct control_peer *peer,
                      struct control_reload *token)
{
        struct server *s = userdata;

        if (dry_run || s->n_waiting == MAX_TOKENS)
                control_reload_done(token, true, "{}", 2);
        else
                s->waiting[s->n_waiting++] = token;
}

static const struct control_ops ops = { op_answer, op_publish, op_answer, op_fail, op_reload };

/* Until nothing is left to do at once. */
static void settle(sd_event *loop)
{
        for (int i = 0; i < MAX_ROUNDS && sd_event_run(loop, 0) > 0; i++)
                ;
}

static void discard(int fd)
{
        char buffer[4096];

        while (read(fd, buffer, sizeof(buffer)) > 0)
                ;
}

static void send_all(int fd, const void *bytes, size_t len, sd_event *loop)
{
        const char *p = bytes;

        while (len > 0) {
                ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
                if (n < 0 && errno != EAGAIN)
                        return; /* the server has hung up */
                if (n > 0) {
                        p += n;
                        len -= (size_t)n;
                }
                settle(loop);
                discard(fd);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const char handshake[] = "\0AUTH ANONYMOUS\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
        struct server s = {};
        sd_event *loop = NULL;
        uint64_t lost = 0;
        int fds[2];

        if (size == 0 || size > 256 * 1024 || sd_event_new(&loop) < 0)
                return 0;
        if (control_new(loop, NULL, &ops, &s, &lost, &s.control) < 0 ||
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                abort();
        if (control_adopt(s.control, fds[0]) < 0)
                abort();

        if (data[0] & 1)
                send_all(fds[1], handshake, sizeof(handshake) - 1, loop);
        send_all(fds[1], data + 1, size - 1, loop);
        if (s.n_waiting > 0) /* one while the client is there, the others after it has left */
                control_reload_done(s.waiting[--s.n_waiting], false, "{}", 2);
        settle(loop);
        close(fds[1]);
        settle(loop);
        if (control_has_followers(s.control))
                abort();
        while (s.n_waiting > 0)
                control_reload_done(s.waiting[--s.n_waiting], false, "{}", 2);
        control_free(s.control);
        sd_event_unref(loop);
        return 0;
}
