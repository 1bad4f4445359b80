/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who lived when, and which of its programs an event is of. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "proctable_fixture.h"

#define SHELL "/bin/sh"
#define TOUCH "/bin/touch"
#define SED "/bin/sed"

/* ---- processes ---- */

static void unknown_process(void **state)
{
        assert_answer(1, 0, "-");
        proctable_exec(t, 1, 5, NULL);
        proctable_exit(t, 1, 5);
        proctable_sid(t, 1);
        assert_answer(1, 0, "-");
}

static void forked_child_has_its_parents_program(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        assert_answer(2, 15, SHELL);
        proctable_exit(t, 2, 30);
        assert_answer(2, 15, SHELL " gone");
}

static void exited_is_kept_until_its_events_have_passed(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exit(t, 2, 30);
        proctable_passed(t, 30);
        assert_answer(2, 30, SHELL " gone");
        proctable_passed(t, 31);
        assert_answer(2, 31, "-");
        assert_int_equal(proctable_count(t), 1);
}

static void recycled_pid(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 21);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH);
        proctable_exit(t, 2, 30);
        proctable_fork(t, 1, 2, 40);
        /* either could have caused it */
        assert_answer(2, 15, "-");
        assert_answer(2, 30, "-");
        /* the first was gone */
        assert_answer(2, 31, SHELL);
        /* what holds a descriptor of the process knows: the one that is not reaped */
        const struct proc_question q = { .pid = 2, .lo_ns = 15, .hi_ns = UINT64_MAX,
                                        .ordered = true, .alive = true };
        struct proc_answer a;
        assert_true(proctable_find(t, &q, &a));
        assert_string_equal(a.image->exe, SHELL);
        /* reaped since it was asked, and the pid given to another: that one began too late */
        const struct proc_question late = { .pid = 2, .lo_ns = 15, .hi_ns = 39, .ordered = true, .alive = true };
        assert_false(proctable_find(t, &late, &a));
}

/* The exit of the first is told after the fork of the second. */
static void recycled_pid_told_late(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_fork(t, 1, 2, 40);
        assert_answer(2, 15, "-");
        assert_answer(2, 41, SHELL);
}

static void nothing_is_certain_of_what_was_lost(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_lost(t, 50);
        assert_answer(2, 15, "-");
        scanned(1, 0, SHELL, 60);
        scanned(2, 1, TOUCH, 60);
        proctable_fork(t, 1, 3, 70);
        /* it lives since before, but what it ran then is not known */
        assert_answer(1, 30, "?");
        assert_answer(1, 61, SHELL);
        /* another process may have had its pid, when the event came from before the loss */
        assert_answer(3, 30, "-");
        assert_answer(3, 51, SHELL);
}

static void bounded(void **state)
{
        struct proctable *small;
        struct proc_facts f = facts_of(SHELL, 1);

        assert_int_equal(proctable_new(3, 100000, &small), 0);
        proctable_scanned(small, 1, 0, 1, &f);
        proctable_fork(small, 1, 2, 10);
        proctable_fork(small, 1, 3, 11);
        proctable_fork(small, 1, 4, 12);
        assert_int_equal(proctable_count(small), 3);
        assert_true(proctable_dropped(small) > 0);
        proctable_exit(small, 2, 20);
        proctable_fork(small, 1, 5, 30); /* who exited gives way */
        assert_int_equal(proctable_count(small), 3);
        struct proc_answer a;
        assert_true(proctable_find(small, &(struct proc_question){ .pid = 5, .lo_ns = 25, .hi_ns = UINT64_MAX,
                                        .ordered = true },
                                   &a));
        proctable_free(small);
}

static void memory_is_returned(void **state)
{
        scanned(1, 0, SHELL, 10);
        size_t bytes = proctable_bytes(t);

        for (int32_t i = 0; i < 80; i++) { /* each the child of the one before */
                proctable_fork(t, i ? 100 + i - 1 : 1, 100 + i, 20 + (uint64_t)i);
                exec(100 + i, i % 2 ? TOUCH : SED, 20 + (uint64_t)i);
        }
        for (int32_t i = 0; i < 80; i++)
                proctable_exit(t, 100 + i, 200);
        proctable_passed(t, 201);
        assert_int_equal(proctable_count(t), 1);
        assert_int_equal(proctable_bytes(t), bytes);
}

static void processes_share_what_is_alike(void **state)
{
        struct proctable *large;
        struct proc_facts f = facts_of(SHELL, 1);

        assert_int_equal(proctable_new(32000, 32000 * 1000, &large), 0);
        proctable_scanned(large, 1, 0, 1, &f);
        for (int32_t i = 2; i < 32000; i++) {
                struct proc_facts touch = facts_of(TOUCH, (uint64_t)i);

                proctable_fork(large, 1, i, (uint64_t)i);
                proctable_exec(large, i, (uint64_t)i, &touch);
        }
        assert_int_equal(proctable_dropped(large), 0);
        assert_int_equal(proctable_count(large), 31999);
        assert_true(proctable_bytes(large) / 31999 < 1000);
        proctable_free(large);
}

static void ancestry_outlives_the_parent(void **state)
{
        struct proc_answer a;

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, SED, 21);
        proctable_fork(t, 2, 3, 22);
        proctable_exit(t, 2, 23);
        proctable_passed(t, 24);
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 3, .lo_ns = 24, .hi_ns = UINT64_MAX,
                                        .ordered = true }, &a));
        assert_int_equal(a.image->parent->pid, 2);
        assert_string_equal(a.image->parent->comm, "sed");
        assert_int_equal(a.image->parent->parent->pid, 1);
        assert_null(a.image->parent->parent->parent);
}

static void chain_of_parents_is_cut(void **state)
{
        struct proc_answer a;
        uint32_t n = 0;

        scanned(1, 0, SHELL, 10);
        for (int32_t i = 2; i < 90; i++) {
                proctable_fork(t, i - 1, i, 10 + (uint64_t)i);
                if (i > 2)
                        proctable_exit(t, i - 1, 10 + (uint64_t)i);
        }
        proctable_passed(t, 1000);
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 89, .lo_ns = 1000, .hi_ns = UINT64_MAX,
                                        .ordered = true },
                                   &a));
        for (const struct proc_image *i = a.image->parent; i; i = i->parent, n++)
                assert_int_equal(i->pid, 88 - (int32_t)n);
        assert_in_range(n, 16, 32);
}

/* ---- programs ---- */

static void exec_between_two_events(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        proctable_exit(t, 2, 40);
        /* in the queue: an event of the shell, the start of touch, an event of touch */
        assert_answer(2, 15, SHELL " gone next");
        queue_exec(2, TOUCH, 15);
        queue_exec(2, "/lib/ld.so", 15);
        assert_answer(2, 15, TOUCH " gone");
}

static void time_alone_tells_an_old_exec(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        assert_answer(2, 31, TOUCH);
}

static void chain_of_execs(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        exec(2, SED, 30 + 100 * MSEC);
        assert_answer(2, 15, SHELL " next");
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH " next");
        queue_exec(2, SED, 15);
        assert_answer(2, 15, SED);
}

/* No mark on its filesystem: nothing in the queue tells of its start. */
static void program_from_elsewhere(void **state)
{
        struct proc_answer a;
        struct proc_facts f = facts_of("/nfs/tool", 31);

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        f.exe_dev = DEV + 1;
        proctable_exec(t, 2, 30, &f);
        assert_answer(2, 15, "? ids?");
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 15, .hi_ns = UINT64_MAX,
                                        .ordered = true }, &a));
        assert_true(a.program_likely);
        assert_string_equal(a.image->exe, "/nfs/tool");
        assert_answer(2, 31, "/nfs/tool");
        /* what comes after it is told by its own start */
        exec(2, TOUCH, 30 + 100 * MSEC);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH);
}

/* fanotify merges the second start of a file into the first that waits. */
static void same_file_twice(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        exec(2, SED, 30 + 100 * MSEC);
        exec(2, TOUCH, 30 + 200 * MSEC);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH " next");
        queue_exec(2, SED, 15);
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 30 + 201 * MSEC, TOUCH);
}

/* The open_exec is judged before the kernel tells the exec. */
static void exec_told_after_the_queue(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        queue_exec(2, TOUCH, 15);
        queue_exec(2, "/lib/ld.so", 15);
        assert_answer(2, 15, SHELL);
        exec(2, TOUCH, 30);
        assert_answer(2, 15, TOUCH);
}

static void merged_open_exec_stands_too_early(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        proctable_queue_exec(t, 2, handle_of(TOUCH), true, 15);
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 31, TOUCH);
}

static void other_threads_run_on(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_thread(t, 2, 1, 21);
        exec(2, TOUCH, 30);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 30, TOUCH);
}

static void first_thread_exits_first(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_thread(t, 2, 1, 21);
        proctable_exit(t, 2, 30);
        proctable_thread(t, 2, -1, 50);
        proctable_passed(t, 40);
        assert_answer(2, 45, SHELL " gone");
        proctable_passed(t, 51);
        assert_answer(2, 51, "-");
}

/* What could not be read has no name: an open_exec may be of an exec that failed. */
static void unread_program_is_not_guessed(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 30, NULL);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 31, "?");
        queue_exec(2, SED, 15);
        assert_answer(2, 31, "?");
}

/* Read so late that the next program was there. */
static void late_reading_is_not_believed(void **state)
{
        struct proc_facts late = facts_of(SED, 2 * MSEC);

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 30, &late); /* in truth touch */
        proctable_caught_up(t, 3 * MSEC);
        /* the exec of sed is not told yet: it may be, while its program is in place already */
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 31, "?");
        exec(2, SED, 4 * MSEC);
        assert_answer(2, 31, "? ids?");
        assert_answer(2, 4 * MSEC, SED);
}

static void late_reading_is_settled(void **state)
{
        struct proc_facts late = facts_of(TOUCH, 2 * MSEC);

        scanned(1, 0, SHELL, 10);
        for (int32_t pid = 2; pid <= 4; pid++) {
                proctable_fork(t, 1, pid, 20);
                proctable_exec(t, pid, 30, &late);
        }
        proctable_caught_up(t, 3 * MSEC);
        assert_answer(4, 31, "?");
        /* by the queue, which tells of the same file */
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH);
        /* by its exit: everything it did is told */
        proctable_exit(t, 3, 3 * MSEC);
        assert_answer(3, 31, TOUCH " gone");
        /* by a fork: whoever forks does not exec */
        proctable_fork(t, 4, 5, 4 * MSEC);
        assert_answer(4, 31, TOUCH);
        assert_answer(5, 31, TOUCH);
        /* by time */
        proctable_fork(t, 1, 6, 20);
        proctable_exec(t, 6, 30, &late);
        assert_answer(6, 31, "?");
        proctable_caught_up(t, 3000 * MSEC);
        assert_answer(6, 31, TOUCH);
}

static bool must_look_again(int32_t pid)
{
        const struct proc_question q = { .pid = pid, .lo_ns = 31, .hi_ns = UINT64_MAX, .ordered = true };
        struct proc_answer a;

        assert_true(proctable_find(t, &q, &a));
        return a.look_again;
}

/* What had run when it was read was told by then: as soon as all that is known, no other exec
 * can have been under way. */
static void late_reading_of_what_had_run(void **state)
{
        struct proc_facts late = facts_of(TOUCH, 2 * MSEC);

        late.ran = true;
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 30, &late);
        proctable_caught_up(t, 2 * MSEC - 1);
        assert_answer(2, 15, "? ids?");
        proctable_caught_up(t, 2 * MSEC);
        assert_answer(2, 15, SHELL " next");
        /* one more of the same file, told afterwards, was not what was read; told before, perhaps */
        exec(2, TOUCH, 2 * MSEC + 1);
        assert_answer(2, 15, SHELL " next");
        proctable_fork(t, 1, 3, 20);
        proctable_exec(t, 3, 30, &late);
        exec(3, TOUCH, 2 * MSEC);
        assert_answer(3, 15, "? ids?");
}

/* The same when it is looked at a second time. */
static void second_look(void **state)
{
        struct proc_facts late = facts_of(TOUCH, 2 * MSEC);

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 30, &late);
        proctable_caught_up(t, 3 * MSEC);
        assert_true(must_look_again(2));
        proctable_looked(t, 2, handle_of(SED), 3 * MSEC); /* sed's exec is not told yet */
        assert_answer(2, 31, "?");
        proctable_looked(t, 2, handle_of(TOUCH), 4 * MSEC);
        assert_answer(2, 31, "?");
        assert_true(must_look_again(2));
        proctable_caught_up(t, 4 * MSEC);
        assert_answer(2, 31, TOUCH);
        assert_false(must_look_again(2));
        /* of who is gone, nothing is awaited, and a look at it says nothing */
        proctable_exit(t, 2, 5 * MSEC);
        proctable_looked(t, 2, handle_of(TOUCH), 6 * MSEC);
        proctable_looked(t, 77, handle_of(TOUCH), 6 * MSEC);
        assert_answer(2, 31, TOUCH " gone");
}

/* An event that had been read before a program began is not of that. */
static void read_before_it_began(void **state)
{
        struct proc_facts elsewhere = facts_of(TOUCH, 101);

        elsewhere.exe_dev = DEV + 1;
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 100, &elsewhere);
        assert_string_equal(answer_by(2, 50, 99), SHELL);
        assert_string_equal(answer_by(2, 50, 100), "? ids?");
        /* nor of a process that began afterwards */
        proctable_exit(t, 2, 200);
        proctable_fork(t, 1, 2, 300);
        assert_string_equal(answer_by(2, 150, 299), TOUCH " gone");
        assert_string_equal(answer_by(2, 150, 300), "-");
        assert_string_equal(answer_by(2, 5, 19), "-");
}

/* Its open_exec stands before the event, but its exec had not ended when both were read: of
 * another thread, or of the loader. */
static void read_while_its_exec_was_under_way(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 100);
        queue_exec(2, TOUCH, 15);
        assert_string_equal(answer_by(2, 15, 99), SHELL);
        assert_string_equal(answer_by(2, 15, 100), TOUCH);
}

/* Prompt: the next program cannot have been there, though it is the same file. */
static void prompt_reading_is_believed(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        exec(2, TOUCH, 30 + 6 * MSEC);
        assert_answer(2, 15, SHELL " next");
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH " ids?"); /* one of the two, which are alike */
}

/* Each reading shows the program after: no two files are the same, and none is right. */
static void shifted_readings(void **state)
{
        static const char *const shown[] = { SED, "/bin/three", "/bin/four" };

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        for (size_t i = 0; i < ELEMENTSOF(shown); i++) {
                struct proc_facts late = facts_of(shown[i], (i + 2) * MSEC);

                proctable_exec(t, 2, (i + 1) * MSEC, &late);
        }
        proctable_caught_up(t, 10 * MSEC);
        assert_answer(2, 15, "? ids?");
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, "? ids?");
        queue_exec(2, SED, 15);
        assert_answer(2, 15, "? ids?");
}

/* A program that could not be read makes those before it uncertain too. */
static void unread_program_after_a_known_one(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        proctable_exec(t, 2, 40, NULL);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, "? ids?");
        queue_exec(2, SED, 15);
        assert_answer(2, 15, "? ids?");
}

static void reading_of_a_later_owner_of_the_pid(void **state)
{
        struct proc_facts late = facts_of(SED, 50);

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_exec(t, 2, 30, &late);
        proctable_exit(t, 2, 35);
        proctable_fork(t, 1, 2, 40);
        proctable_exit(t, 2, 60);
        proctable_passed(t, 31);
        /* the first: its program was read of the second */
        const struct proc_question q = { .pid = 2, .lo_ns = 36, .hi_ns = UINT64_MAX, .ordered = true };
        struct proc_answer a;
        assert_true(proctable_find(t, &q, &a));
        assert_string_equal(a.image->exe, SHELL);
}

static void execs_without_end(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        for (uint64_t i = 1; i <= 200; i++)
                exec(2, i % 2 ? TOUCH : SED, i * 100 * MSEC);
        assert_answer(2, 15, "? next");
        assert_answer(2, 200 * 100 * MSEC, SED);
        assert_true(proctable_bytes(t) < 10000);
}

/* An open_exec is raised by the program before. */
static void who_starts_a_program(void **state)
{
        static const struct {
                const char *file;
                bool passes;
                const char *exe;
        } cases[] = {
                { TOUCH, true, SHELL },
                { "/lib/ld.so", true, SHELL },
        };

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const struct proc_question q = {
                        .pid = 2,
                        .lo_ns = 15, .hi_ns = UINT64_MAX,
                        .ordered = true,
                        .is_exec = true,
                        .handle_id = handle_of(cases[i].file),
                };
                struct proc_answer a;

                assert_true(proctable_find(t, &q, &a));
                assert_true(a.program_certain);
                assert_string_equal(a.image->exe, cases[i].exe);
                queue_exec(2, cases[i].file, 15);
        }
        assert_answer(2, 15, TOUCH);
}

static void other_queues_have_no_order(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        queue_exec(2, TOUCH, 15);
        struct proc_answer a;
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 15, .hi_ns = UINT64_MAX }, &a));
        assert_false(a.program_certain);
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 30, .hi_ns = UINT64_MAX }, &a));
        assert_true(a.program_certain);
}

static void events_lost_from_the_queue(void **state)
{
        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        exec(2, TOUCH, 30);
        proctable_queue_lost(t, 40);
        assert_answer(2, 15, "? ids?");
        assert_answer(2, 31, TOUCH);
}

/* ---- what changes ---- */

static void ids_and_names_change(void **state)
{
        struct proc_answer a;

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_uid(t, 2, 30, 1000, 1000);
        proctable_gid(t, 2, 31, 100, 100);
        assert_answer(2, 15, SHELL " ids?");
        assert_answer(2, 31, SHELL);
        proctable_comm(t, 2, 40, "worker");
        assert_answer(2, 31, SHELL " comm?");
        assert_answer(2, 40, SHELL);
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 40, .hi_ns = UINT64_MAX,
                                        .ordered = true }, &a));
        assert_int_equal(a.image->ids.uid, 1000);
        assert_int_equal(a.image->ids.egid, 100);
        assert_string_equal(a.image->comm, "worker");
        /* the same again is no change */
        proctable_uid(t, 2, 50, 1000, 1000);
        proctable_comm(t, 2, 50, "worker");
        assert_answer(2, 45, SHELL);
}

/* A change before the exec is settled by the exec. */
static void user_changes_before_the_exec(void **state)
{
        struct proc_facts f = facts_of(TOUCH, 41);
        struct proc_inherited inherited;

        scanned(1, 0, SHELL, 10);
        proctable_fork(t, 1, 2, 20);
        proctable_uid(t, 2, 30, 1000, 1000);
        assert_true(proctable_inherited(t, 2, &inherited));
        assert_true(inherited.doubtful);
        assert_int_equal(inherited.ids.uid, 1000);
        f.ids = inherited.ids;
        proctable_exec(t, 2, 40, &f);
        queue_exec(2, TOUCH, 15);
        assert_answer(2, 15, TOUCH);
        assert_true(proctable_inherited(t, 2, &inherited));
        assert_false(inherited.doubtful);
}

static void session_of_its_own_is_doubtful(void **state)
{
        struct proc_inherited inherited;
        struct proc_facts f = facts_of(SHELL, 30);
        struct proc_answer a;

        scanned(1, 0, SHELL, 10);
        proctable_sid(t, 1);
        proctable_fork(t, 1, 2, 20);
        assert_true(proctable_inherited(t, 2, &inherited));
        assert_true(inherited.doubtful);
        f.cgroup = "0::/user.slice/session-1.scope\n";
        f.loginuid = 1000;
        proctable_refresh(t, 2, &f);
        assert_true(proctable_inherited(t, 2, &inherited));
        assert_false(inherited.doubtful);
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 30, .hi_ns = UINT64_MAX,
                                        .ordered = true }, &a));
        assert_string_equal(a.image->cgroup, f.cgroup);
        assert_int_equal(a.image->loginuid, 1000);
}

/* ---- the scan ---- */

static void events_older_than_the_scan(void **state)
{
        scanned(1, 0, SHELL, 100);
        scanned(2, 1, TOUCH, 100);
        proctable_link_parents(t);
        proctable_fork(t, 1, 2, 50);
        proctable_exec(t, 2, 60, NULL);
        proctable_exit(t, 2, 70); /* of an earlier one with its pid */
        assert_answer(2, 101, TOUCH);
        struct proc_answer a;
        assert_true(proctable_find(t, &(struct proc_question){ .pid = 2, .lo_ns = 101, .hi_ns = UINT64_MAX,
                                        .ordered = true },
                                   &a));
        assert_int_equal(a.image->parent->pid, 1);
        /* what it ran before the scan nobody knows */
        assert_answer(2, 90, "?");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(unknown_process),
                TEST(forked_child_has_its_parents_program),
                TEST(exited_is_kept_until_its_events_have_passed),
                TEST(recycled_pid),
                TEST(recycled_pid_told_late),
                TEST(nothing_is_certain_of_what_was_lost),
                TEST(bounded),
                TEST(memory_is_returned),
                TEST(processes_share_what_is_alike),
                TEST(ancestry_outlives_the_parent),
                TEST(chain_of_parents_is_cut),
                TEST(exec_between_two_events),
                TEST(time_alone_tells_an_old_exec),
                TEST(chain_of_execs),
                TEST(program_from_elsewhere),
                TEST(same_file_twice),
                TEST(exec_told_after_the_queue),
                TEST(merged_open_exec_stands_too_early),
                TEST(other_threads_run_on),
                TEST(first_thread_exits_first),
                TEST(unread_program_is_not_guessed),
                TEST(late_reading_is_not_believed),
                TEST(late_reading_is_settled),
                TEST(late_reading_of_what_had_run),
                TEST(second_look),
                TEST(read_before_it_began),
                TEST(read_while_its_exec_was_under_way),
                TEST(prompt_reading_is_believed),
                TEST(shifted_readings),
                TEST(unread_program_after_a_known_one),
                TEST(reading_of_a_later_owner_of_the_pid),
                TEST(execs_without_end),
                TEST(who_starts_a_program),
                TEST(other_queues_have_no_order),
                TEST(events_lost_from_the_queue),
                TEST(ids_and_names_change),
                TEST(user_changes_before_the_exec),
                TEST(session_of_its_own_is_doubtful),
                TEST(events_older_than_the_scan),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
