/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Very many learned marks are held against new rules in slices, and events are judged in between. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ignore_fixture.h"

#define N_DIRS (2 * LEARN_SLICE + 100u)

#define WATCH                                                                                                \
        "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"attrib\" ]; }; };\n"
#define IGNORE "ignore: { d: { path = \"/mnt/d\"; }; };\n"

static void make_dirs(void *arg)
{
        char path[64];

        if (mkdir(IGNORE_ROOT "/d", 0755) < 0)
                _exit(9);
        for (unsigned i = 0; i < N_DIRS; i++) {
                (void)snprintf(path, sizeof(path), IGNORE_ROOT "/d/%u", i);
                if (mkdir(path, 0755) < 0)
                        _exit(9);
                (void)snprintf(path, sizeof(path), IGNORE_ROOT "/d/%u/f", i);
                ignore_write(path, "");
        }
}

/* One event a directory, in their order. */
static void touch_each(void *arg)
{
        char path[64];

        for (unsigned i = 0; i < N_DIRS; i++) {
                (void)snprintf(path, sizeof(path), IGNORE_ROOT "/d/%u/f", i);
                if (utimensat(AT_FDCWD, path, NULL, 0) < 0)
                        _exit(9);
        }
}

/* As an event would: the entry of the last directory, to which the slices come at the end. */
static void look_up_last(const struct ignore_street *s)
{
        const struct world *w = s->generation->world;
        uint64_t fsid = w->fs[w->mounts[world_mount_of(w, IGNORE_ROOT)].fs].fsid;
        struct mark m;
        char path[64];
        int len = snprintf(path, sizeof(path), "/d/%u", N_DIRS - 1);

        assert_true(learn_find(s->street.learn, fsid, path, (size_t)len, &m));
        const struct fan_handle h = {
                .fsid = fsid, .type = m.object.handle.type, .len = m.object.handle.len, .bytes = m.object.handle.bytes
        };
        assert_true(learn_has(s->street.learn, &h));
}

static void open_with_learned(struct ignore_street *s)
{
        struct learn_status status;

        ignore_mount("tmpfs");
        ignore_do(make_dirs, NULL);
        ignore_open(s, WATCH IGNORE, true);
        ignore_do(touch_each, NULL);
        ignore_run(s);
        learn_status(s->street.learn, &status);
        assert_int_equal(status.dirs, N_DIRS);
}

static void done(struct ignore_street *s)
{
        ignore_close(s);
        ignore_clear();
        ignore_unmount();
}

static uint64_t now_usec(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void test_each_mark_once(void **state)
{
        /* the planned mark of the ignored directory itself is in the table, too, and the first */
        static const size_t left[] = { N_DIRS + 1 - LEARN_SLICE, N_DIRS + 1 - 2 * LEARN_SLICE, 0 };
        struct learn_status status;
        struct ignore_street s;

        NEEDS_KERNEL();
        open_with_learned(&s);
        struct generation *after = ignore_build(&s, WATCH);
        learn_correct(s.street.learn, after);
        for (size_t i = 0; i < ELEMENTSOF(left); i++) {
                uint64_t began = now_usec();
                bool more = learn_correct_slice(s.street.learn);

                print_message("# a slice took %ju us\n", (uintmax_t)(now_usec() - began));
                assert_int_equal(more, i + 1 < ELEMENTSOF(left));
                learn_status(s.street.learn, &status);
                assert_int_equal(status.dirs, left[i]);
                if (i == 0)
                        look_up_last(&s);
        }
        assert_int_equal(s.street.counters.ignores_taken_off, N_DIRS);
        /* the rules of before stay: all is learned again, by them */
        learn_resume(s.street.learn);
        generation_free(after);
        ignore_do(touch_each, NULL);
        ignore_run(&s);
        learn_status(s.street.learn, &status);
        assert_int_equal(status.dirs, N_DIRS);
        done(&s);
}

/* How often the queues were looked at while these rules came into force. */
static uint64_t looks_of_reload(struct ignore_street *s, const char *rules)
{
        uint64_t before = pipeline_rounds(s->street.pipeline);

        ignore_load(s, rules);
        return pipeline_rounds(s->street.pipeline) - before;
}

static void test_the_queue_is_read_between_slices(void **state)
{
        struct ignore_street s;

        NEEDS_KERNEL();
        open_with_learned(&s);
        uint64_t many = looks_of_reload(&s, WATCH), none = looks_of_reload(&s, WATCH);
        print_message("# %ju looks, %ju without learned marks\n", (uintmax_t)many, (uintmax_t)none);
        assert_int_equal(many - none, 2);
        done(&s);
}

/* ---- what happens meanwhile ---- */

#define OF_FILE \
        "watch: { f: { path = \"/mnt/w/f\"; scope = \"file\"; events = [ \"modify\" ]; coalesce = \"0\"; }; };\n"

static void make_places(void *arg)
{
        if (mkdir(IGNORE_ROOT "/w", 0755) < 0 || mkdir(IGNORE_ROOT "/d", 0755) < 0)
                _exit(9);
        ignore_write(IGNORE_ROOT "/w/f", "");
        ignore_write(IGNORE_ROOT "/d/other", "");
}

static void write_other(void *arg)
{
        ignore_write(IGNORE_ROOT "/d/other", "x");
}

static void link_there(void *arg)
{
        if (link(IGNORE_ROOT "/w/f", IGNORE_ROOT "/d/link") < 0)
                _exit(9);
}

static void write_link(void *arg)
{
        ignore_write(IGNORE_ROOT "/d/link", "x");
}

/* A rule's file gets another name, in a directory whose events nobody wants, while nothing is learned. */
static void check_late_name(bool other_rules)
{
        struct learn_status status;
        struct ignore_street s;

        ignore_mount("tmpfs");
        ignore_do(make_places, NULL);
        ignore_open(&s, OF_FILE, true);
        ignore_do(write_other, NULL);
        ignore_run(&s);
        learn_status(s.street.learn, &status);
        assert_true(status.dirs > 0);
        ignore_clear();

        learn_correct(s.street.learn, s.generation);
        while (learn_correct_slice(s.street.learn)) {
        }
        ignore_do(link_there, NULL);
        ignore_run(&s);
        if (other_rules)
                learn_set_generation(s.street.learn, s.generation);
        else
                learn_resume(s.street.learn);
        ignore_do(write_link, NULL);
        ignore_run(&s);
        assert_int_equal(ignore_n_lines(), 1);
        assert_string_equal(ignore_line(0), "modify /mnt/d/link");
        done(&s);
}

static void test_a_name_that_came_meanwhile(void **state)
{
        NEEDS_KERNEL();
        check_late_name(false);
        check_late_name(true);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_mark_once),
                cmocka_unit_test(test_the_queue_is_read_between_slices),
                cmocka_unit_test(test_a_name_that_came_meanwhile),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("ignores-slices", tests, NULL, NULL);
}
