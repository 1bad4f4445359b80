/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events that a killed process had read, against a real kernel: who did them, and their descriptors. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <cmocka.h>

#include "ignore_fixture.h"
#include "window.h"

#define RULES "watch: { all: { path = \"/mnt\"; events = [ \"create\" ]; }; };\n"
#define MAX_FDS 16

static void make_file(void *path)
{
        ignore_write(path, "x");
}

/* Makes a file when told to, and lives on. */
static void make_and_wait(void *path)
{
        while (access("/mnt/go", F_OK) < 0)
                (void)usleep(1000);
        ignore_write(path, "x");
        for (;;)
                (void)pause();
}

static void wait_for(const char *path)
{
        while (access(path, F_OK) < 0)
                (void)usleep(1000);
}

/* What a process reads before it is killed, as it stands in the spool; the descriptors that came with it. */
static size_t read_and_die(struct ignore_street *s, uint64_t oldest_usec, int fds[static MAX_FDS])
{
        struct fan_group *const *groups;
        struct fan_event e;
        struct window w;
        uint64_t bad = 0;
        size_t at = 0, n = 0;

        window_init_kept(&w, s->spool, 0, 100);
        assert_true(marks_groups(s->street.marks, &groups) >= 1);
        assert_int_equal(window_fill(&w, groups[0], oldest_usec, &bad), 0);
        assert_int_equal(bad, 0);
        while (window_next(&w, &at, &e) > 0)
                if (e.has_pidfd && e.pidfd >= 0 && n < MAX_FDS)
                        fds[n++] = e.pidfd;
        free(w.execs);
        ignore_kill(s);
        return n;
}

/* The numbers may be anything's in the process that replays: here they are open, and stay so. */
static void expect_untouched(const int *fds, size_t n)
{
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++) {
                assert_true(fcntl(fds[i], F_GETFD) >= 0);
                assert_int_equal(close(fds[i]), 0);
        }
}

/* One file made by pid, read by a process that dies, judged by the next one. */
static const struct ignore_who *replayed(struct ignore_street *s, const char *path, uint64_t oldest_usec, pid_t gone)
{
        char line[64];
        int fds[MAX_FDS];
        size_t n;

        wait_for(path);
        n = read_and_die(s, oldest_usec, fds);
        if (gone > 0)
                ignore_wait(gone);
        ignore_start_again(s, RULES);
        (void)snprintf(line, sizeof(line), "create %s\n", path);
        assert_string_equal(ignore_lines(), line);
        ignore_run(s);
        assert_string_equal(ignore_lines(), line);
        expect_untouched(fds, n);
        ignore_clear();
        return ignore_last_who();
}

static void test_who(void **state)
{
        static char gone[] = "/mnt/gone", young[] = "/mnt/young", old[] = "/mnt/old";
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_mount("tmpfs");
        ignore_open_kept(&s, RULES);

        /* whoever has its pid by now is not taken for it */
        uint64_t before = window_boottime_usec();
        pid_t pid = ignore_start(make_file, gone);
        const struct ignore_who *who = replayed(&s, gone, before, pid);
        assert_true(who->attribution == ATTRIBUTION_EXITED || who->attribution == ATTRIBUTION_UNKNOWN);

        /* it lives, and was there before anything of this was queued: it is the one */
        pid = ignore_start(make_and_wait, old);
        (void)usleep(100000); /* the start of a process is told in ticks of 10 ms */
        before = window_boottime_usec();
        ignore_write("/mnt/go", "");
        who = replayed(&s, old, before, 0);
        assert_int_equal(who->attribution, ATTRIBUTION_PROCESS);
        assert_int_equal(who->pid, pid);
        (void)kill(pid, SIGKILL);

        /* it lives, and might have begun after the event */
        pid = ignore_start(make_and_wait, young);
        who = replayed(&s, young, before, 0);
        assert_int_equal(who->attribution, ATTRIBUTION_UNKNOWN);
        (void)kill(pid, SIGKILL);
        ignore_close(&s);
        free(s.area);
        ignore_unmount();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_who) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
