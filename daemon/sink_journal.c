/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records to journald, by its native protocol: one datagram a record, or a
 * sealed memfd where a datagram is too small.
 *
 * The socket is ours and non-blocking, since sd_journal_send(3) blocks as soon as
 * journald does.  It is connected, so that POLLOUT waits for room in journald's
 * queue (unix_dgram_poll() looks at the peer of a connected socket only).  A
 * restart of journald keeps its listening socket with systemd, and what waits
 * in it: nothing is lost and nothing need be done here.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "sink.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
/* as sd_journal_send(3) takes: records up to this size need no memfd */
#define SEND_BUFFER (8 * 1024 * 1024)

struct sink_journal {
        struct sink sink;
        struct sockaddr_un address;
};

static void disconnect(struct sink_journal *j)
{
        if (j->sink.fd >= 0)
                close(j->sink.fd);
        j->sink.fd = -1;
}

static int connect_to_journal(struct sink_journal *j)
{
        const int size = SEND_BUFFER;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        /* more than net.core.wmem_max needs CAP_NET_ADMIN; less only means more memfds */
        if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        if (connect(fd, (const struct sockaddr *)&j->address, sizeof(j->address)) < 0) {
                int error = -errno;

                close(fd);
                return error;
        }
        j->sink.fd = fd;
        return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, data, len);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        data += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

/* A sealed memfd with the record in it (journald takes no other: it maps the
 * file and must trust it not to change), or a negative errno. */
static int sealed_copy(const struct iovec *record)
{
        int fd = memfd_create("fawatchd-record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        int r;

        if (fd < 0)
                return -errno;
        r = write_all(fd, record->iov_base, record->iov_len);
        if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                r = -errno;
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

static ssize_t send_descriptor(const struct sink_journal *j, int fd)
{
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct mmsghdr own, *message = j->sink.headers ? j->sink.headers : &own;

        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        message->msg_hdr = (struct msghdr){ .msg_control = &control, .msg_controllen = sizeof(control) };
        return sendmmsg(j->sink.fd, message, 1, MSG_NOSIGNAL) < 0 ? -errno : 1;
}

static ssize_t send_large(struct sink_journal *j, const struct iovec *record)
{
        int fd = sealed_copy(record);
        ssize_t r;

        if (fd < 0)
                return fd;
        r = send_descriptor(j, fd);
        close(fd);
        if (r == -EMSGSIZE) {
                j->sink.too_large++;
                return 1;
        }
        return r;
}

static ssize_t send_batch(struct sink_journal *j, const struct iovec *records, size_t n)
{
        struct mmsghdr own[SINK_BATCH], *messages = j->sink.headers ? j->sink.headers : own;
        int sent;

        n = MIN_OF(n, (size_t)SINK_BATCH);
        for (size_t i = 0; i < n; i++)
                messages[i].msg_hdr = (struct msghdr){
                        .msg_iov = (struct iovec *)&records[i],
                        .msg_iovlen = 1,
                };
        do {
                sent = sendmmsg(j->sink.fd, messages, (unsigned)n, MSG_NOSIGNAL);
        } while (sent < 0 && errno == EINTR);
        return sent < 0 ? -errno : sent;
}

static ssize_t journal_send(struct sink *s, const struct iovec *records, size_t n)
{
        struct sink_journal *j = (struct sink_journal *)s;
        ssize_t r = 0;

        if (s->fd < 0)
                r = connect_to_journal(j);
        if (r < 0)
                return r;
        r = send_batch(j, records, n);
        /* sendmmsg() stops before what it cannot send: it is the first of these */
        if (r == -EMSGSIZE || r == -ENOBUFS)
                r = send_large(j, &records[0]);
        if (r < 0 && r != -EAGAIN)
                disconnect(j);
        return r;
}

static void journal_destroy(struct sink *s)
{
        disconnect((struct sink_journal *)s);
        free(s);
}

int sink_journal_new(const char *path, struct sink **ret)
{
        static const struct sink_ops ops = { .send = journal_send, .destroy = journal_destroy };
        struct sink_journal *j;

        if (!path)
                path = JOURNAL_SOCKET;
        if (strlen(path) >= sizeof(j->address.sun_path))
                return -ENAMETOOLONG;
        j = calloc(1, sizeof(*j));
        if (!j)
                return -ENOMEM;
        j->sink = (struct sink){ .ops = &ops, .fd = -1 };
        j->address.sun_family = AF_UNIX;
        memcpy(j->address.sun_path, path, strlen(path));
        *ret = &j->sink;
        return 0;
}

const char *sink_journal_place(void)
{
        static const struct {
                const char *directory, *place;
        } places[] = { { "/run/log/journal", "volatile" }, { "/var/log/journal", "persistent" } };
        char id[33], path[80];
        sd_id128_t machine;

        if (sd_id128_get_machine(&machine) < 0)
                return "none";
        sd_id128_to_string(machine, id);
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                /* the one in memory is there only while it is in use: a flush to the disk removes it */
                (void)snprintf(path, sizeof(path), "%s/%s/system.journal", places[i].directory, id);
                if (access(path, F_OK) == 0)
                        return places[i].place;
        }
        return "none";
}
