/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A table of processes in one test program: what it is told, and what it answers. */

#include "proctable.h"

#define MSEC UINT64_C(1000000)
#define DEV 7

static const struct exec_filesystem marked = { .dev = DEV };
static struct proctable *t;

static int setup(void **state)
{
        assert_int_equal(proctable_new(100, 100000, &t), 0);
        proctable_set_exec_filesystems(t, &marked, 1, 0);
        return 0;
}

static int teardown(void **state)
{
        proctable_free(t);
        return 0;
}

static uint64_t handle_of(const char *exe)
{
        return proctable_handle_id(1, exe, strlen(exe));
}

static struct proc_facts facts_of(const char *exe, uint64_t read_ns)
{
        const char *slash = strrchr(exe, '/');

        return (struct proc_facts){
                .comm = slash ? slash + 1 : exe,
                .exe = exe,
                .cmdline = { .p = exe, .len = strlen(exe) + 1 },
                .cgroup = "0::/a.service\n",
                .ids = { 0, 0, 0, 0 },
                .loginuid = ID_UNKNOWN,
                .session = ID_UNKNOWN,
                .exe_file = handle_of(exe),
                .exe_handle = handle_of(exe),
                .exe_dev = DEV,
                .read_ns = read_ns,
                .looked_ns = read_ns,
        };
}

static void scanned(int32_t pid, int32_t ppid, const char *exe, uint64_t at)
{
        struct proc_facts f = facts_of(exe, at);

        proctable_scanned(t, pid, ppid, 1, &f);
}

/* Its exec ended at ns and was read at once. */
static void exec(int32_t pid, const char *exe, uint64_t ns)
{
        struct proc_facts f = facts_of(exe, ns + 1000);

        proctable_exec(t, pid, ns, &f);
}

static void queue_exec(int32_t pid, const char *exe, uint64_t lo)
{
        proctable_queue_exec(t, pid, handle_of(exe), false, lo);
}

/* What an event of pid that was queued since lo and read by hi is of: "EXE" with a sign of
 * how certain, "?" for a known process whose program is not certain, "-" for none. */
static const char *answer_by(int32_t pid, uint64_t lo, uint64_t hi)
{
        static char text[128];
        const struct proc_question q = { .pid = pid, .lo_ns = lo, .hi_ns = hi, .ordered = true };
        struct proc_answer a;

        if (!proctable_find(t, &q, &a))
                return "-";
        (void)snprintf(text, sizeof(text), "%s%s%s%s%s", a.program_certain ? a.image->exe : "?",
                       a.exited ? " gone" : "", a.comm_certain || !a.program_certain ? "" : " comm?",
                       a.ids_certain ? "" : " ids?", a.next ? " next" : "");
        return text;
}

static const char *answer(int32_t pid, uint64_t lo)
{
        return answer_by(pid, lo, UINT64_MAX);
}

static void assert_answer(int32_t pid, uint64_t lo, const char *expected)
{
        assert_string_equal(answer(pid, lo), expected);
}
