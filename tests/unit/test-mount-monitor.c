/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The monitor on the running kernel, in mount namespaces of its own.  Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount_monitor.h"

#define TOP "/tmp/fawatch-test-mount-monitor"
#define PATIENCE_MSEC 30000

/* Waits until the mounts are to be looked at; false: they never were. */
static bool look(struct mount_monitor *m)
{
        struct pollfd p = { .fd = mount_monitor_fd(m), .events = POLLIN };
        int r = 0;

        while (r == 0 && poll(&p, 1, PATIENCE_MSEC) == 1)
                r = mount_monitor_next(m);
        return r == 1;
}

static bool silent(struct mount_monitor *m)
{
        return mount_monitor_next(m) == 0;
}

/* The number of the step that went wrong.  The pid and mount namespaces are new. */
static int changes_are_told(enum mount_view view)
{
        _cleanup_(mount_monitor_freep) struct mount_monitor *m = NULL;
        const struct mount_news *news;

        if (mount("proc", "/proc", "proc", 0, NULL) < 0 || mount_monitor_new(view, &m) < 0 || !silent(m))
                return 1;
        news = mount_monitor_news(m);
        if (mount("t", TOP, "tmpfs", 0, NULL) < 0 || !look(m))
                return 2;
        if (news->counted && (news->attached != 1 || news->detached != 0))
                return 3;
        /* while somebody looks nothing more is said, and it is said when he is done */
        if (mount("t", TOP, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL) < 0 || !silent(m))
                return 4;
        mount_monitor_looked(m);
        if (!look(m))
                return 5;
        mount_monitor_looked(m);
        /* come and gone before anybody looks: counted all the same */
        if (umount(TOP) < 0 || mount("t", TOP, "tmpfs", 0, NULL) < 0 || umount(TOP) < 0 || !look(m))
                return 6;
        if (news->counted && (news->attached != 2 || news->detached != 2 || news->overflows != 0))
                return 7;
        mount_monitor_looked(m);
        return silent(m) ? 0 : 8;
}

/* Twenty changes one by one, each looked at when it is told: no more looks than changes. */
static int storm_is_coalesced(enum mount_view view)
{
        _cleanup_(mount_monitor_freep) struct mount_monitor *m = NULL;

        if (mount("proc", "/proc", "proc", 0, NULL) < 0 || mount_monitor_new(view, &m) < 0)
                return 1;
        if (mount("t", TOP, "tmpfs", 0, NULL) < 0 || !look(m))
                return 2;
        for (int i = 0; i < 20; i++)
                if (umount(TOP) < 0 || mount("t", TOP, "tmpfs", 0, NULL) < 0 || !silent(m))
                        return 3;
        mount_monitor_looked(m);
        if (!look(m))
                return 4;
        mount_monitor_looked(m);
        return silent(m) ? 0 : 5;
}

static int status_of(pid_t pid)
{
        int status = 0;

        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* As PID 1 of namespaces of its own: /proc/1 is the caller then. */
static int as_init(int (*test)(enum mount_view view), enum mount_view view)
{
        pid_t outer = fork();

        if (outer == 0) {
                pid_t init = unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
                                             mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
                                     ? -1
                                     : fork();

                _exit(init == 0 ? test(view) : status_of(init));
        }
        return status_of(outer);
}

static void test_changes(void **state)
{
        assert_int_equal(as_init(changes_are_told, MOUNTS_OF_PID1), 0);
        assert_int_equal(as_init(changes_are_told, MOUNTS_OWN), 0);
}

static void test_storm(void **state)
{
        assert_int_equal(as_init(storm_is_coalesced, MOUNTS_OF_PID1), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_changes), cmocka_unit_test(test_storm) };

        if (geteuid() != 0) {
                print_message("1..0 # SKIP needs root: mounts filesystems in a namespace of its own\n");
                return 0;
        }
        (void)mkdir(TOP, 0700);
        cmocka_set_message_output(CM_OUTPUT_TAP);
        int r = cmocka_run_group_tests_name("mount-monitor", tests, NULL, NULL);
        (void)rmdir(TOP);
        return r;
}
