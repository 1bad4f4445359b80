/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Where records go: the journal or standard output. */

#include <sys/types.h>

#include "base.h"

struct iovec;
struct mmsghdr;
struct sink;

/* Records that one call of send() takes at the most. */
#define SINK_BATCH 64u
/* In msg_len: not accepted.  (A record in a memfd is accepted with 0 bytes.) */
#define SINK_NOT_ACCEPTED UINT32_MAX

struct sink_ops {
        /*
         * Hands over up to n records (each one iovec, native protocol bytes), never
         * blocking.  Returns how many were accepted (≥ 1), -EAGAIN (wait for fd to be
         * writable), or another negative errno: the sink is away for now (journald's
         * socket missing or refused: try again later; -EPIPE of stdout is final).
         * A record that the log can never take (-EMSGSIZE even as a memfd) counts as
         * accepted and is reported through too_large.  What was not accepted comes
         * first in the next call: a sink may have begun with it.
         */
        ssize_t (*send)(struct sink *s, const struct iovec *records, size_t n);
        void (*destroy)(struct sink *s);
};

struct sink {
        const struct sink_ops *ops;
        int fd;              /* to poll for POLLOUT after -EAGAIN; may change after send(); -1: none */
        uint64_t too_large;  /* records given up */
        /*
         * SINK_BATCH of them, or NULL: the headers to send with.  sendmmsg(2) writes msg_len
         * of each message that was accepted, before the process can be killed: where the
         * memory outlives it, the next one knows exactly what the log has.
         */
        struct mmsghdr *headers;
};

/* A non-blocking socket to journald's native socket at path (NULL = the usual
 * one).  Never fails for lack of a listener: send() then returns -ENOENT or
 * -ECONNREFUSED and connects anew at the next call.  Returns 0 or -errno. */
int sink_journal_new(const char *path, struct sink **ret);
/* Where journald keeps what it takes: "persistent", "volatile" (in memory: gone with the next boot; also
 * while /var is not there yet, or cannot be written), "none". */
const char *sink_journal_place(void);
/* JSON lines to fd (not closed by us).  fd may be a pipe, a socket, a file or a
 * terminal; it is left in its mode (a shared terminal must not become
 * non-blocking): poll before each write, partial lines are finished first.
 * SIGPIPE must be ignored by the process. */
int sink_stdout_new(int fd, struct sink **ret);
static inline void sink_free(struct sink *s)
{
        if (s)
                s->ops->destroy(s);
}
DEFINE_CLEANUP(struct sink, sink_free);
