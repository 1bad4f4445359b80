/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * who-price [PROGRAM [ROUNDS]]: what one start of a program costs: fork, exec and wait in
 * a loop.  Prints the best of ten runs in microseconds.  With PROGRAM 20000 processes at
 * once instead when it is "bomb": they wait for each other, and end.
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int bomb(int count)
{
        int made = 0, hold[2];
        char byte;

        if (pipe(hold) < 0)
                return 1;
        for (; made < count; made++) {
                pid_t pid = fork();

                if (pid == 0) {
                        close(hold[1]);
                        (void)!read(hold[0], &byte, 1);
                        _exit(0);
                }
                if (pid < 0)
                        break;
        }
        printf("%d processes at once\n", made);
        close(hold[1]);
        while (wait(NULL) > 0)
                ;
        return 0;
}

int main(int argc, char **argv)
{
        const char *program = argc > 1 ? argv[1] : "/usr/bin/touch";
        int rounds = argc > 2 ? atoi(argv[2]) : 300;
        uint64_t best = UINT64_MAX;

        if (!strcmp(program, "bomb"))
                return bomb(rounds);
        for (int run = 0; run < 10; run++) {
                uint64_t begin = now_ns();

                for (int i = 0; i < rounds; i++) {
                        pid_t pid = fork();

                        if (pid == 0) {
                                execl(program, program, "/dev/null", (char *)NULL);
                                _exit(127);
                        }
                        waitpid(pid, NULL, 0);
                }
                uint64_t took = (now_ns() - begin) / (uint64_t)rounds;
                best = took < best ? took : best;
        }
        printf("%.1f\n", (double)best / 1000);
        return 0;
}
