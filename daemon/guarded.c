/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "guarded.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fdutil.h"

/* Two writes each far below PIPE_BUF: first who works, then what came out. */
#define MAX_ANSWER 256

struct outcome {
        int result;
        char answer[MAX_ANSWER];
};

static _Noreturn void work(guarded_function function, void *userdata, int out)
{
        struct outcome outcome = {};
        pid_t self = getpid();

        if (write(out, &self, sizeof(self)) != sizeof(self))
                _exit(1);
        outcome.result = function(userdata, outcome.answer);
        _exit(write(out, &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
}

/*
 * The worker is a grandchild: when it hangs nobody has to wait for it, init
 * reaps it.  The child between them is gone at once.
 */
static int start(guarded_function function, void *userdata, int in, int out)
{
        pid_t child = fork();

        if (child < 0)
                return -errno;
        if (child == 0) {
                pid_t worker;

                (void)close(in);
                worker = fork();
                if (worker == 0)
                        work(function, userdata, out);
                _exit(worker < 0 ? 1 : 0);
        }
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        return 0;
}

static uint64_t now_usec(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

/* Reads exactly size bytes before the deadline.  Returns 0, -ETIMEDOUT, -EPIPE. */
static int receive(int fd, void *buffer, size_t size, uint64_t deadline)
{
        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = now_usec();
                int left = now >= deadline ? 0 : (int)((deadline - now) / USEC_PER_MSEC + 1);
                int r = poll(&p, 1, left);

                if (r < 0 && errno == EINTR)
                        continue;
                if (r < 0)
                        return -errno;
                if (r == 0)
                        return -ETIMEDOUT;
                return read(fd, buffer, size) == (ssize_t)size ? 0 : -EPIPE;
        }
}

int guarded_call(guarded_function function, void *userdata, uint64_t timeout_usec, void *answer,
                 size_t answer_size)
{
        uint64_t deadline = now_usec() + timeout_usec;
        _cleanup_close_ int in = -1, out = -1, worker_fd = -1;
        struct outcome outcome;
        int fds[2], r;
        pid_t worker;

        if (answer_size > MAX_ANSWER)
                return -EINVAL;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        in = fds[0];
        out = fds[1];
        r = start(function, userdata, in, out);
        if (r < 0)
                return r;
        out = close_fd(out);

        r = receive(in, &worker, sizeof(worker), deadline);
        if (r < 0)
                return r;
        /* By descriptor: the number alone could be another's by the time it is killed. */
        worker_fd = (int)syscall(SYS_pidfd_open, worker, 0);
        r = receive(in, &outcome, sizeof(outcome), deadline);
        if (r == -ETIMEDOUT && worker_fd >= 0)
                (void)syscall(SYS_pidfd_send_signal, worker_fd, SIGKILL, NULL, 0);
        if (r < 0)
                return r;
        if (outcome.result >= 0 && answer_size > 0)
                memcpy(answer, outcome.answer, answer_size);
        return outcome.result;
}
