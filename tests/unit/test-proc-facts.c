/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tracker reads of /proc and of the clocks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hash.h"
#include "proc_facts.h"

static struct proc_reader *reader;

static int setup(void **state)
{
        return proc_reader_new(&reader);
}

static int teardown(void **state)
{
        proc_reader_free(reader);
        return 0;
}

/* A program that is in place and has not run: stopped where its exec ends. */
static pid_t start_stopped(const char *program)
{
        pid_t pid = fork();
        int status;

        if (pid == 0) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(77);
                (void)execl(program, program, (char *)NULL);
                _exit(98);
        }
        assert_true(pid > 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSTOPPED(status)) {
                assert_int_equal(WEXITSTATUS(status), 77);
                skip(); /* nobody may be traced here */
        }
        return pid;
}

static void program_in_place_has_not_run(void **state)
{
        pid_t pid = start_stopped("/bin/true");
        struct proc_facts facts = {};
        /* told long ago, as far as the reader knows: whether it has run is looked at */
        int r = proc_reader_exec(reader, pid, 1, NULL, &facts);
        uint64_t running = proc_reader_running(reader, pid);

        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(r, 0);
        assert_true(facts.exe_file != 0);
        assert_false(facts.ran);
        assert_int_equal(running, 0);
        assert_int_equal(proc_reader_running(reader, pid), 0);
        assert_int_equal(proc_reader_exec(reader, pid, 1, NULL, &facts), -ESRCH);
}

static void running_program(void **state)
{
        struct proc_facts facts;
        struct stat st;

        assert_int_equal(stat("/proc/self/exe", &st), 0);
        assert_int_equal(proc_reader_exec(reader, getpid(), 1, NULL, &facts), 0);
        assert_true(facts.ran);
        assert_int_equal(facts.exe_file, hash_mix(st.st_dev, st.st_ino) | 1);
        assert_int_equal(proc_reader_running(reader, getpid()), facts.exe_file);
        /* read promptly it can be of no other: nobody asks */
        assert_int_equal(proc_reader_exec(reader, getpid(), UINT64_MAX / 2, NULL, &facts), 0);
        assert_false(facts.ran);
}

/* However often it is preempted between the clocks, each answer holds the one true lead. */
static void clock_lead_is_bounded_from_both_sides(void **state)
{
        struct clock_lead all = { .least_ns = 0, .most_ns = UINT64_MAX };

        for (int i = 0; i < 10000; i++) {
                const struct clock_lead lead = boottime_lead();

                assert_true(lead.least_ns <= lead.most_ns);
                all.least_ns = MAX_OF(all.least_ns, lead.least_ns);
                all.most_ns = MIN_OF(all.most_ns, lead.most_ns);
        }
        assert_true(all.least_ns <= all.most_ns);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(program_in_place_has_not_run, setup, teardown),
                cmocka_unit_test_setup_teardown(running_program, setup, teardown),
                cmocka_unit_test(clock_lead_is_bounded_from_both_sides),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
