/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process pays for being watched and ignored: nanoseconds of its own CPU time
 * for one operation.  "bench-ignore OPERATION PATH N" prints one figure; ignore.sh
 * runs it with and without fawatchd in turn, peers.sh beside other watchers, too.
 */

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Of this process and of the children that it waited for. */
static double cpu_ns(void)
{
        struct timespec t;
        struct rusage u;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        (void)getrusage(RUSAGE_CHILDREN, &u);
        return (double)(t.tv_sec + u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 + (double)t.tv_nsec +
               (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

static int write_byte(const char *path, long n)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        for (long i = 0; i < n; i++)
                if (pwrite(fd, "x", 1, 0) != 1)
                        return 1;
        return close(fd);
}

static int pipe_byte(const char *path, long n)
{
        int fds[2];
        char c = 'x';

        if (pipe(fds) < 0)
                return 1;
        for (long i = 0; i < n; i++)
                if (write(fds[1], &c, 1) != 1 || read(fds[0], &c, 1) != 1)
                        return 1;
        return 0;
}

static int eventfd_count(const char *path, long n)
{
        int fd = eventfd(0, EFD_CLOEXEC);
        uint64_t value = 1;

        for (long i = 0; i < n; i++)
                if (write(fd, &value, sizeof(value)) < 0 || read(fd, &value, sizeof(value)) < 0)
                        return 1;
        return close(fd);
}

/* Create, write, close, remove. */
static int churn(const char *path, long n)
{
        for (long i = 0; i < n; i++) {
                int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

                if (write(fd, "x", 1) != 1 || close(fd) < 0 || unlink(path) < 0)
                        return 1;
        }
        return 0;
}

/* As an editor saves: a temporary file beside it, renamed over it. */
static int replace(const char *path, long n)
{
        char temporary[4096];

        (void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
        for (long i = 0; i < n; i++) {
                int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

                if (write(fd, "x", 1) != 1 || close(fd) < 0 || rename(temporary, path) < 0)
                        return 1;
        }
        return 0;
}

/* Starts the program at path and waits for its end. */
static int start_program(const char *path, long n)
{
        for (long i = 0; i < n; i++) {
                char *const arguments[] = { (char *)(uintptr_t)path, NULL };
                int status;
                pid_t pid;

                if (posix_spawn(&pid, path, NULL, NULL, arguments, environ) != 0 ||
                    waitpid(pid, &status, 0) < 0 || status != 0)
                        return 1;
        }
        return 0;
}

int main(int argc, char *argv[])
{
        static const struct {
                const char *name;
                int (*run)(const char *path, long n);
        } operations[] = {
                { "write", write_byte },
                { "pipe", pipe_byte },
                { "eventfd", eventfd_count },
                { "churn", churn },
                { "replace", replace },
                { "exec", start_program },
        };

        for (size_t i = 0; argc == 4 && i < sizeof(operations) / sizeof(operations[0]); i++) {
                long n = strtol(argv[3], NULL, 10);
                double before = cpu_ns();

                if (strcmp(operations[i].name, argv[1]) != 0)
                        continue;
                if (operations[i].run(argv[2], n) != 0) {
                        perror(argv[2]);
                        return 1;
                }
                printf("%.1f\n", (cpu_ns() - before) / (double)n);
                return 0;
        }
        fprintf(stderr, "usage: bench-ignore write|pipe|eventfd|churn|replace|exec PATH N\n");
        return 2;
}
