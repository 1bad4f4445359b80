/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actor_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void make_many(int n)
{
        for (int i = 0; i < n; i++) {
                char path[32];

                (void)snprintf(path, sizeof(path), "/mnt/many%d", i);
                (void)close(open(path, O_CREAT | O_WRONLY, 0644));
        }
}

static void *touch_in_thread(void *path)
{
        (void)close(open(path, O_CREAT | O_WRONLY, 0644));
        return NULL;
}

int act(int argc, char **argv)
{
        char byte;

        for (int i = 2; i < argc; i++) {
                if (streq(argv[i], "touch"))
                        (void)close(open(argv[++i], O_CREAT | O_WRONLY, 0644));
                else if (streq(argv[i], "many"))
                        make_many(atoi(argv[++i]));
                else if (streq(argv[i], "say"))
                        (void)!write(3, "x", 1);
                else if (streq(argv[i], "wait"))
                        (void)!read(4, &byte, 1);
                else if (streq(argv[i], "setuid"))
                        (void)setresuid((uid_t)atoi(argv[i + 1]), (uid_t)atoi(argv[i + 1]), 0), i++;
                else if (streq(argv[i], "name"))
                        (void)prctl(PR_SET_NAME, argv[++i]);
                else if (streq(argv[i], "fork")) { /* the rest is the child's */
                        if (fork() > 0)
                                return 0;
                } else if (streq(argv[i], "thread")) { /* a thread of it makes the file */
                        pthread_t thread;

                        (void)pthread_create(&thread, NULL, touch_in_thread, argv[++i]);
                        (void)pthread_join(thread, NULL);
                } else if (streq(argv[i], "exec")) {
                        char *program = argv[++i];

                        argv[i] = argv[1];
                        argv[i - 1] = program;
                        (void)execv(program, argv + i - 1);
                        return 127;
                }
        }
        return 0;
}

#define MAX_ARGS 24

/* Starts a program of ours: "act" and the words of script follow. */
struct actor_process start(const char *program, const char *script)
{
        char words[512], *argv[MAX_ARGS] = { (char *)program, (char *)"act" };
        int say[2], tell[2];
        size_t n = 2;

        (void)snprintf(words, sizeof(words), "%s", script);
        for (char *word = strtok(words, " "); word && n < MAX_ARGS - 1; word = strtok(NULL, " "))
                argv[n++] = word;
        assert_int_equal(pipe2(say, O_CLOEXEC), 0);
        assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
        pid_t pid = fork();
        if (pid == 0) {
                int from = fcntl(say[1], F_DUPFD, 10), to = fcntl(tell[0], F_DUPFD, 10);

                (void)dup2(from, 3);
                (void)dup2(to, 4);
                (void)close(from);
                (void)close(to);
                (void)execv(program, argv);
                _exit(127);
        }
        (void)close(say[1]);
        (void)close(tell[0]);
        return (struct actor_process){ .pid = pid, .said = say[0], .told = tell[1] };
}

void hear(const struct actor_process *a)
{
        char byte;

        assert_int_equal(read(a->said, &byte, 1), 1);
}

void tell(const struct actor_process *a)
{
        assert_int_equal(write(a->told, "x", 1), 1);
}

void end(struct actor_process *a)
{
        (void)close(a->told);
        (void)kill(a->pid, SIGKILL);
        assert_int_equal(waitpid(a->pid, NULL, 0), a->pid);
        (void)close(a->said);
}

const struct street_record *record_of(const char *path)
{
        for (size_t i = 0; i < street_n_records; i++)
                if (street_records[i].path && streq(street_records[i].path, path))
                        return &street_records[i];
        fail_msg("no record of %s in:\n%s", path, street_lines());
        return NULL;
}
