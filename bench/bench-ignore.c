/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process pays for being watched and ignored: nanoseconds of its own CPU time
 * for one operation.  "bench-ignore OPERATION PATH N" prints one figure; ignore.sh
 * runs it with and without fawatchd in turn.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static double cpu_ns(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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
        fprintf(stderr, "usage: bench-ignore write|pipe|eventfd|churn PATH N\n");
        return 2;
}
