/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who did it: real processes whose programs lie on the marked tmpfs.  Needs root, else
 * it skips itself.  The test's own program is the one that acts: see act().
 */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "actor_fixture.h"

#define CREATES "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };"
#define ONE "/mnt/one"
#define TWO "/mnt/two"

static int setup(void **state)
{
        street_fresh_root();
        street_copy_self(ONE);
        street_copy_self(TWO);
        return 0;
}

static void assert_program(const char *path, enum attribution attribution, const char *exe)
{
        const struct street_record *r = record_of(path);

        if (r->attribution != attribution)
                fail_msg("%s: %s", path, attribution_name(r->attribution));
        if (!exe)
                assert_null(r->exe);
        else
                assert_string_equal(r->exe, exe);
        assert_int_equal(r->program_known, attribution == ATTRIBUTION_VERIFIED);
}

/* ---- which program ---- */

static void living_program_is_verified(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "touch /mnt/f say wait");

        hear(&a);
        street_run(&s);
        assert_program("/mnt/f", ATTRIBUTION_VERIFIED, ONE);
        const struct street_record *r = record_of("/mnt/f");
        assert_int_equal(r->pid, a.pid);
        assert_int_equal(r->uid, 0);
        assert_string_equal(r->comm, "one");
        assert_string_equal(r->cmdline, ONE " act touch /mnt/f say wait");
        end(&a);
        street_close(&s);
}

static void gone_process_is_not_named(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);

        struct actor_process a = start(ONE, "touch /mnt/f");
        assert_int_equal(waitpid(a.pid, NULL, 0), a.pid);
        street_run(&s);
        assert_program("/mnt/f", ATTRIBUTION_EXITED, NULL);
        assert_int_equal(record_of("/mnt/f")->pid, a.pid);
        (void)close(a.said);
        (void)close(a.told);
        street_close(&s);
}

static void zombie_keeps_its_identity(void **state)
{
        struct street s;
        siginfo_t info;
        street_open(&s, CREATES, true, 0, 0);

        struct actor_process a = start(ONE, "touch /mnt/f");
        assert_int_equal(waitid(P_PID, (id_t)a.pid, &info, WEXITED | WNOWAIT), 0);
        street_run(&s);
        assert_program("/mnt/f", ATTRIBUTION_PROCESS, NULL);
        assert_string_equal(record_of("/mnt/f")->comm, "one");
        assert_int_equal(record_of("/mnt/f")->uid, 0);
        end(&a);
        street_close(&s);
}

/* Read when it was another program already: the later one's name would be wrong. */
static void program_before_an_exec(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "touch /mnt/first exec " TWO " touch /mnt/second say wait");

        hear(&a);
        street_run(&s);
        assert_program("/mnt/first", ATTRIBUTION_PROCESS, NULL);
        assert_null(record_of("/mnt/first")->comm);
        assert_int_equal(record_of("/mnt/first")->pid, a.pid);
        assert_int_equal(record_of("/mnt/first")->uid, 0);
        assert_program("/mnt/second", ATTRIBUTION_VERIFIED, TWO);
        end(&a);
        street_close(&s);
}

/* The same, but the first program was read while it ran. */
static void program_known_before_an_exec(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "touch /mnt/zero say wait touch /mnt/first exec " TWO
                                            " touch /mnt/second say wait");

        hear(&a);
        street_run(&s);
        assert_program("/mnt/zero", ATTRIBUTION_VERIFIED, ONE);
        tell(&a);
        hear(&a);
        street_run(&s);
        /* it runs another program by now, which the queue explains only behind the event */
        assert_int_equal(record_of("/mnt/first")->attribution, ATTRIBUTION_PROCESS);
        assert_null(record_of("/mnt/first")->exe);
        assert_program("/mnt/second", ATTRIBUTION_VERIFIED, TWO);
        end(&a);
        street_close(&s);
}

/* The exec stands in a window that is read after the event was judged. */
static void exec_in_a_later_window(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 2);
        struct actor_process a = start(ONE, "touch /mnt/first many 60 exec " TWO " touch /mnt/second say wait");

        hear(&a);
        street_run(&s);
        assert_program("/mnt/first", ATTRIBUTION_PROCESS, NULL);
        assert_program("/mnt/second", ATTRIBUTION_VERIFIED, TWO);
        end(&a);
        street_close(&s);
}

/* A program whose filesystem raises no open_exec could have been started unseen. */
static void program_from_elsewhere_is_not_certain(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start("/proc/self/exe", "touch /mnt/f say wait");

        hear(&a);
        street_run(&s);
        assert_int_equal(record_of("/mnt/f")->attribution, ATTRIBUTION_PROCESS);
        assert_non_null(record_of("/mnt/f")->exe);
        assert_false(record_of("/mnt/f")->program_known);
        end(&a);
        street_close(&s);
}

/* Started without an event: what is cached must not be believed. */
static void unseen_exec_is_found(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        char script[256];
        char self[200] = {};

        assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        (void)snprintf(script, sizeof(script), "touch /mnt/one-f say wait exec %s touch /mnt/two-f say wait",
                       self);
        struct actor_process a = start(ONE, script);
        hear(&a);
        street_run(&s);
        assert_program("/mnt/one-f", ATTRIBUTION_VERIFIED, ONE);
        tell(&a);
        hear(&a);
        street_run(&s);
        assert_program("/mnt/two-f", ATTRIBUTION_PROCESS, NULL);
        end(&a);
        street_close(&s);
}

/* With `open` watched, an exec may stand where the file was opened before. */
static void exec_merged_with_an_open(void **state)
{
        struct street s;
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"open\" ]; }; };",
                    true, 0, 0);
        struct actor_process a = start(ONE, "touch " TWO " touch /mnt/f exec " TWO " say wait");

        hear(&a);
        street_run(&s);
        /* /mnt/two was opened, then the file made, then /mnt/two started: one event of
         * /mnt/two stands before that of the file */
        assert_false(record_of("/mnt/f")->program_known);
        assert_int_equal(record_of("/mnt/f")->attribution, ATTRIBUTION_PROCESS);
        end(&a);
        street_close(&s);
}

/* ---- which process ---- */

static void last_events_of_a_known_process(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "touch /mnt/first say wait touch /mnt/last");

        hear(&a);
        street_run(&s);
        tell(&a);
        assert_int_equal(waitpid(a.pid, NULL, 0), a.pid);
        street_run(&s);
        /* within the time in which its pid cannot come again: its; later: nobody's */
        const struct street_record *r = record_of("/mnt/last");
        assert_int_equal(r->pid, a.pid);
        if (r->attribution == ATTRIBUTION_PROCESS)
                assert_string_equal(r->exe, ONE);
        else
                assert_int_equal(r->attribution, ATTRIBUTION_EXITED);
        assert_false(r->program_known);
        (void)close(a.said);
        (void)close(a.told);
        street_close(&s);
}

/* clone3(2) gives a new process the pid of one that is in our cache. */
static void recycled_pid_is_not_taken_for_the_old(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "touch /mnt/old say wait");
        pid_t pid = a.pid;
        int ready[2];
        char byte;

        hear(&a);
        street_run(&s);
        assert_program("/mnt/old", ATTRIBUTION_VERIFIED, ONE);
        end(&a);

        struct {
                uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
                uint64_t set_tid, set_tid_size;
        } args = { .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1 };
        assert_int_equal(pipe(ready), 0);
        long child = syscall(SYS_clone3, &args, sizeof(args));
        if (child == 0) {
                (void)close(open("/mnt/new", O_CREAT | O_WRONLY, 0644));
                (void)!write(ready[1], "x", 1);
                (void)pause();
                _exit(0);
        }
        if (child < 0)
                skip();
        assert_int_equal(child, pid);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        street_run(&s);
        const struct street_record *r = record_of("/mnt/new");
        assert_int_equal(r->attribution, ATTRIBUTION_PROCESS);
        assert_string_not_equal(r->exe, ONE);
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        (void)close(ready[0]);
        (void)close(ready[1]);
        street_close(&s);
}

static void changed_user_is_seen(void **state)
{
        struct street s;
        street_open(&s, CREATES, true, 0, 0);
        assert_int_equal(chmod("/mnt", 01777), 0);
        struct actor_process a = start(ONE, "touch /mnt/root say wait setuid 12345 touch /mnt/user say wait");

        hear(&a);
        street_run(&s);
        assert_int_equal(record_of("/mnt/root")->euid, 0);
        tell(&a);
        hear(&a);
        street_run(&s);
        assert_int_equal(record_of("/mnt/user")->euid, 12345);
        assert_int_equal(record_of("/mnt/user")->uid, 12345);
        assert_program("/mnt/user", ATTRIBUTION_VERIFIED, ONE);
        end(&a);
        street_close(&s);
}

static void pid_outside_our_namespace(void **state)
{
        static const struct attribution_query q = { .pid = 0, .pidfd = -1 };
        struct street s;
        struct attributed who;

        street_open(&s, CREATES, true, 0, 0);
        attributor_find(s.attributor, &q, &who);
        assert_int_equal(who.attribution, ATTRIBUTION_FOREIGN);
        assert_int_equal(who.actor->pid, 0);
        assert_int_equal(who.actor->uid, ID_UNKNOWN);
        assert_null(who.actor->comm);
        street_close(&s);
}

/* pid 2 is kthreadd where the initial pid namespace is ours. */
static void kernel_thread_has_no_user(void **state)
{
        struct street s;
        struct attributed who;
        int pidfd = (int)syscall(SYS_pidfd_open, 2, 0);
        const struct attribution_query q = { .pid = 2, .pidfd = pidfd };

        if (pidfd < 0 || access("/proc/2/exe", F_OK) == 0)
                skip();
        street_open(&s, CREATES, true, 0, 0);
        attributor_find(s.attributor, &q, &who);
        assert_int_equal(who.attribution, ATTRIBUTION_KERNEL);
        assert_string_equal(who.actor->comm, "kthreadd");
        assert_int_equal(who.actor->uid, ID_UNKNOWN);
        assert_null(who.actor->user);
        assert_false(who.actor->program_known);
        (void)close(pidfd);
        street_close(&s);
}

/* No pidfd could be opened: only a process older than the queue's content is certain. */
static void without_a_pidfd(void **state)
{
        struct street s;
        struct attributed who;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "say wait");
        const struct attribution_query q = { .pid = a.pid, .pidfd = -2 };

        hear(&a);
        attributor_begin_batch(s.attributor, 0, 0);
        attributor_find(s.attributor, &q, &who);
        assert_int_equal(who.attribution, ATTRIBUTION_UNKNOWN);
        assert_int_equal(who.actor->pid, a.pid);
        assert_null(who.actor->exe);

        attributor_begin_batch(s.attributor, UINT64_MAX, 0);
        attributor_find(s.attributor, &q, &who);
        assert_int_equal(who.actor->pid, a.pid);
        assert_string_equal(who.actor->exe, ONE);
        end(&a);
        street_close(&s);
}

static void ancestors_and_cgroup(void **state)
{
        struct street s;
        struct attributed who;
        street_open(&s, CREATES, true, 0, 0);
        struct actor_process a = start(ONE, "name a)(b say wait");
        int pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
        const struct attribution_query q = { .pid = a.pid, .pidfd = pidfd };
        char self[256] = {}, parent[64], comm[17] = {};

        hear(&a);
        assert_int_equal(prctl(PR_GET_NAME, comm), 0);
        assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        attributor_find(s.attributor, &q, &who);
        assert_string_equal(who.actor->comm, "a)(b");
        assert_int_equal(who.actor->ppid, getpid());
        assert_string_equal(who.actor->parent_comm, comm);
        (void)snprintf(parent, sizeof(parent), "%s(%d)", comm, getpid());
        assert_memory_equal(who.actor->ancestry, parent, strlen(parent));
        assert_true(who.actor->n_ancestor_exes >= 1);
        assert_string_equal(who.actor->ancestor_exes[0], self);
        assert_non_null(who.actor->cgroup);
        assert_string_equal(who.actor->user, "root");
        (void)close(pidfd);
        end(&a);
        street_close(&s);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(living_program_is_verified, setup),
                cmocka_unit_test_setup(gone_process_is_not_named, setup),
                cmocka_unit_test_setup(zombie_keeps_its_identity, setup),
                cmocka_unit_test_setup(program_before_an_exec, setup),
                cmocka_unit_test_setup(program_known_before_an_exec, setup),
                cmocka_unit_test_setup(exec_in_a_later_window, setup),
                cmocka_unit_test_setup(program_from_elsewhere_is_not_certain, setup),
                cmocka_unit_test_setup(unseen_exec_is_found, setup),
                cmocka_unit_test_setup(exec_merged_with_an_open, setup),
                cmocka_unit_test_setup(last_events_of_a_known_process, setup),
                cmocka_unit_test_setup(recycled_pid_is_not_taken_for_the_old, setup),
                cmocka_unit_test_setup(changed_user_is_seen, setup),
                cmocka_unit_test_setup(pid_outside_our_namespace, setup),
                cmocka_unit_test_setup(kernel_thread_has_no_user, setup),
                cmocka_unit_test_setup(without_a_pidfd, setup),
                cmocka_unit_test_setup(ancestors_and_cgroup, setup),
        };

        if (argc > 1 && streq(argv[1], "act"))
                return act(argc, argv);

        const char *why_not = street_enter();
        cmocka_set_message_output(CM_OUTPUT_TAP);
        if (why_not) {
                (void)printf("1..0 # SKIP %s\n", why_not);
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
