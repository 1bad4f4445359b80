/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc_connector.h"

#include <errno.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fdutil.h"
#include "proc_facts.h"

/* A burst waits here while we read; a message takes some 800 bytes. */
#define SOCKET_BYTES (16 * 1024 * 1024)
#define ANSWER_MSEC 200

/* Linux 6.6 takes a mask of the kinds of events to send (struct proc_input). */
struct listen_masked {
        uint32_t operation;
        uint32_t kinds;
};
#define WANTED_KINDS                                                                                         \
        ((uint32_t)PROC_EVENT_FORK | PROC_EVENT_EXEC | PROC_EVENT_UID | PROC_EVENT_GID | PROC_EVENT_SID |    \
         PROC_EVENT_COMM | (uint32_t)PROC_EVENT_EXIT)

union message {
        struct nlmsghdr header;
        char bytes[NLMSG_SPACE(sizeof(struct cn_msg) + sizeof(struct proc_event)) + 64];
};

int proc_connector_receive(int fd, struct proc_event *ret, bool *ret_ours)
{
        union message m;
        struct sockaddr_nl from = {};
        socklen_t from_len = sizeof(from);
        ssize_t n = recvfrom(fd, &m, sizeof(m), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
        const struct cn_msg *cn = NLMSG_DATA(&m.header);

        *ret_ours = false;
        if (n < 0)
                return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -errno;
        if (from.nl_pid != 0 || !NLMSG_OK(&m.header, (size_t)n) || m.header.nlmsg_type != NLMSG_DONE ||
            m.header.nlmsg_len < NLMSG_LENGTH(sizeof(*cn) + sizeof(*ret)) || cn->id.idx != CN_IDX_PROC ||
            cn->id.val != CN_VAL_PROC)
                return 1;
        memcpy(ret, cn->data, sizeof(*ret));
        *ret_ours = true;
        return 1;
}

static int send_listen(int fd, const void *data, size_t len)
{
        union message m = {};
        struct cn_msg *cn = NLMSG_DATA(&m.header);

        m.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(sizeof(*cn) + len);
        m.header.nlmsg_type = NLMSG_DONE;
        cn->id = (struct cb_id){ .idx = CN_IDX_PROC, .val = CN_VAL_PROC };
        cn->len = (uint16_t)len;
        memcpy(cn->data, data, len);
        return send(fd, &m, m.header.nlmsg_len, 0) < 0 ? -errno : 0;
}

/* The kernel answers a request with an event of kind 0, before any other that it asked
 * for; it does not answer one that it does not understand. */
static int wait_for_answer(int socket_fd)
{
        struct pollfd fd = { .fd = socket_fd, .events = POLLIN };
        struct proc_event p;
        bool ours;
        uint64_t until = monotonic_ns() + ANSWER_MSEC * USEC_PER_MSEC * NSEC_PER_USEC;

        while (monotonic_ns() < until && poll(&fd, 1, ANSWER_MSEC) > 0) {
                int r = proc_connector_receive(socket_fd, &p, &ours);

                if (r < 0)
                        return r;
                if (ours && (uint32_t)p.what == PROC_EVENT_NONE)
                        return -(int)p.event_data.ack.err;
        }
        return -ETIMEDOUT;
}

/* The answer to a mask would fall to the mask itself; older kernels ignore the longer
 * request. */
static int listen_to_kernel(int fd)
{
        const struct listen_masked masked = { .operation = PROC_CN_MCAST_LISTEN, .kinds = WANTED_KINDS };
        const uint32_t plain = PROC_CN_MCAST_LISTEN;
        int r = send_listen(fd, &plain, sizeof(plain));

        if (r >= 0)
                r = wait_for_answer(fd);
        return r < 0 ? r : send_listen(fd, &masked, sizeof(masked));
}

static const char *reason_of(int error)
{
        switch (-error) {
        case EPERM:
        case EACCES:
                return "CAP_NET_ADMIN is missing";
        case ECONNREFUSED:
                return "not in the initial network namespace, or the kernel has no process connector";
        case EPROTONOSUPPORT:
        case EAFNOSUPPORT:
                return "netlink sockets are not available";
        case ETIMEDOUT:
                return "not in the initial pid namespace";
        default:
                return "the process connector cannot be used";
        }
}

/* A namespace of processes within another: the kernel's numbers are not ours. */
static bool in_initial_pid_namespace(void)
{
        static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO of the kernel */
        char link[sizeof(initial) + 16];
        ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link));

        return n == (ssize_t)sizeof(initial) - 1 && memcmp(link, initial, (size_t)n) == 0;
}

static int open_socket(void)
{
        const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
        const int size = SOCKET_BYTES;
        int r;

        if (!in_initial_pid_namespace())
                return -ETIMEDOUT;
        _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        r = listen_to_kernel(fd);
        return r < 0 ? r : STEAL_FD(fd);
}

int proc_connector_open(const char **ret_reason)
{
        int fd = open_socket();

        if (fd < 0)
                *ret_reason = reason_of(fd);
        return fd;
}
