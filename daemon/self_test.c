/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "self_test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "fan_group.h"
#include "fan_uapi.h"
#include "fdutil.h"
#include "namespaces.h"

#define TEST_FILE    "namespace-test"
#define TIMEOUT_MSEC 1000

const char *self_test_name(enum self_test t)
{
        static const char *const names[] = {
                [SELF_TEST_NOT_NEEDED] = "not needed",
                [SELF_TEST_PASSED] = "passed",
                [SELF_TEST_FAILED] = "failed",
        };

        return names[t];
}

static void failed(struct self_test_result *ret, const char *step, int error)
{
        *ret = (struct self_test_result){ .outcome = SELF_TEST_FAILED, .error = error, .step = step };
}

/* A group that is told of files made on the filesystem of dir, as we see it. */
static int open_group(const char *dir)
{
        int group = fan_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME), r;

        if (group < 0)
                return group;
        r = fan_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_CREATE, AT_FDCWD, dir);
        if (r < 0)
                close_fd(group);
        return r < 0 ? r : group;
}

/* Is what arrived the creation of our file?  Others may make files there, too. */
static bool names_our_file(const char *buffer, ssize_t n)
{
        static const char name[] = TEST_FILE;

        for (const struct fanotify_event_metadata *e = (const void *)buffer; FAN_EVENT_OK(e, n);
             e = FAN_EVENT_NEXT(e, n))
                if (memmem(e, e->event_len, name, sizeof(name)))
                        return true;
        return false;
}

static int wait_for_it(int group)
{
        _Alignas(struct fanotify_event_metadata) char buffer[4096];
        struct pollfd p = { .fd = group, .events = POLLIN };

        while (poll(&p, 1, TIMEOUT_MSEC) > 0) {
                ssize_t n = read(group, buffer, sizeof(buffer));

                if (n < 0 && errno != EAGAIN)
                        return -errno;
                if (n > 0 && names_our_file(buffer, n))
                        return 0;
        }
        return -ETIMEDOUT;
}

void self_test_run(const char *dir, struct self_test_result *ret)
{
        _cleanup_close_ int group = -1, there = -1, file = -1;
        char path[512];
        int r;

        *ret = (struct self_test_result){ .outcome = SELF_TEST_NOT_NEEDED };
        if (!namespaces_private())
                return;
        (void)snprintf(path, sizeof(path), "/proc/1/root%s", dir);
        there = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (there < 0) {
                failed(ret, "the root directory of process 1 cannot be used", errno);
                return;
        }
        group = open_group(dir);
        if (group < 0) {
                failed(ret, "the test's mark cannot be placed", -group);
                return;
        }
        (void)unlinkat(there, TEST_FILE, 0);
        file = openat(there, TEST_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0) {
                failed(ret, "the test's file cannot be made", errno);
                return;
        }
        r = wait_for_it(group);
        (void)unlinkat(there, TEST_FILE, 0);
        if (r < 0)
                failed(ret, "what others change does not arrive", -r);
        else
                ret->outcome = SELF_TEST_PASSED;
}
