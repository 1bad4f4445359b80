/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree that is watched by marks on its directories, on a real overlay: what comes, goes and moves in it. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dirmarks.h"
#include "ignore_fixture.h"
#include "spool.h"
#include "strbuf.h"

#define NAMES                                                                                                \
        "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\" ]; }; };\n"

static void shell(void *arg)
{
        if (system(arg) != 0)
                _exit(8);
}

static int compare_lines(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What was recorded, sorted, without saying how it was found. */
static void sorted_lines(struct strbuf *out)
{
        size_t n = ignore_n_lines();
        _cleanup_free_ char **v = calloc(n + 1, sizeof(*v));

        assert_non_null(v);
        for (size_t i = 0; i < n; i++) {
                char *scan;

                v[i] = strdup(ignore_line(i));
                assert_non_null(v[i]);
                scan = strstr(v[i], " scan");
                if (scan)
                        *scan = '\0';
        }
        qsort(v, n, sizeof(*v), compare_lines);
        for (size_t i = 0; i < n; i++) {
                strbuf_addf(out, "%s\n", v[i]);
                free(v[i]);
        }
}

/* A machine that is busy may take longer for it than rules wait. */
static void wait_for_walk(struct ignore_street *s)
{
        struct dirmarks_status status;

        for (unsigned i = 0; i < 60000; i++) {
                dirmarks_take(s->street.dirmarks);
                dirmarks_status(s->street.dirmarks, WORLD_NONE, &status);
                if (!status.walking)
                        return;
                (void)usleep(1000);
        }
        fail_msg("the walk does not end");
}

/* ---- stories ---- */

static const struct story {
        const char *name;
        const char *rules;
        const char *before, *then; /* shell */
        const char *lines;         /* each object once, whoever told of it */
        size_t marks;              /* at the end */
} stories[] = {
        { "a new directory, with files in it at once", NAMES, ":", "mkdir /mnt/d; : > /mnt/d/a; : > /mnt/d/b",
          "create /mnt/d\ncreate /mnt/d/a\ncreate /mnt/d/b\n", 2 },
        { "several levels at once", NAMES, ":", "mkdir -p /mnt/a/b/c; : > /mnt/a/b/c/f",
          "create /mnt/a\ncreate /mnt/a/b\ncreate /mnt/a/b/c\ncreate /mnt/a/b/c/f\n", 4 },
        { "what was there has its marks", NAMES, "mkdir -p /mnt/a/b; : > /mnt/a/b/old", ": > /mnt/a/b/new",
          "create /mnt/a/b/new\n", 3 },
        { "a new tree is renamed at once, and written to under its new name", NAMES, ":",
          "mkdir -p /mnt/a/b; mv /mnt/a /mnt/z; : > /mnt/z/b/f",
          "create /mnt/a\ncreate /mnt/z/b\ncreate /mnt/z/b/f\nrename /mnt/z <- /mnt/a\n", 3 },
        { "a marked tree is renamed", NAMES, "mkdir -p /mnt/a/b", "mv /mnt/a /mnt/z; : > /mnt/z/b/f",
          "create /mnt/z/b/f\nrename /mnt/z <- /mnt/a\n", 3 },
        { "a tree goes", NAMES, "mkdir -p /mnt/a/b; : > /mnt/a/b/f", "rm -rf /mnt/a",
          "delete /mnt/a\ndelete /mnt/a/b\ndelete /mnt/a/b/f\n", 1 },
        { "a tree goes and comes again under the same names", NAMES, "mkdir -p /mnt/a/b; : > /mnt/a/b/f",
          "rm -rf /mnt/a; mkdir -p /mnt/a/b; : > /mnt/a/b/g",
          "create /mnt/a\ncreate /mnt/a/b\ncreate /mnt/a/b/g\ndelete /mnt/a\ndelete /mnt/a/b\ndelete /mnt/a/b/f\n", 3 },
        { "moved to where nothing is marked: nobody knows its name there",
          "watch: { w: { path = \"/mnt/w\"; events = [ \"create\", \"delete\", \"rename\" ]; }; };\n",
          "mkdir -p /mnt/w/a/b /mnt/o", "mv /mnt/w/a /mnt/o/a; : > /mnt/o/a/b/f", "rename ? <- /mnt/w/a\n", 2 },
        { "moved into the watched part: it was there before, what is new is not",
          "watch: { w: { path = \"/mnt/w\"; events = [ \"create\", \"delete\", \"rename\" ]; }; };\n",
          "mkdir -p /mnt/w /mnt/o/a/b; touch -d @1 /mnt/o/a/old; touch -d @1 /mnt/o/a/b/old",
          "mv /mnt/o/a /mnt/w/a; : > /mnt/w/a/b/f", "create /mnt/w/a/b/f\nrename /mnt/w/a\n", 4 },
        { "an ignored tree has none", NAMES "ignore: { i: { path = \"/mnt/i\"; }; };\n", "mkdir -p /mnt/i/a /mnt/w",
          ": > /mnt/i/a/f; : > /mnt/w/f", "create /mnt/w/f\n", 2 },
        { "one directory, not what is below",
          "watch: { w: { path = \"/mnt/w\"; scope = \"directory\"; events = [ \"create\", \"modify\" ]; }; };\n",
          "mkdir -p /mnt/w/a", "echo x > /mnt/w/f; echo x > /mnt/w/a/f",
          "create,modify /mnt/w/f\n", 2 },
        { "a file that does not exist yet, nor its directory",
          "watch: { f: { path = \"/mnt/x/y/f\"; scope = \"file\"; events = [ \"create\" ]; }; };\n", ":",
          "mkdir -p /mnt/x/y; : > /mnt/x/y/g; : > /mnt/x/y/f", "create /mnt/x/y/f\n", 3 },
};

static void play(const struct story *c)
{
        _cleanup_strbuf_ struct strbuf got = STRBUF_NULL, report = STRBUF_NULL;
        struct dirmarks_status status;
        struct ignore_street s;

        print_message("# %s\n", c->name);
        ignore_mount("overlay");
        ignore_do(shell, (void *)c->before);
        (void)usleep(20000); /* file times tick: what was before is older */
        ignore_open(&s, c->rules, true);
        wait_for_walk(&s);
        ignore_do(shell, (void *)c->then);
        ignore_run(&s);
        sorted_lines(&got);
        assert_string_equal(strbuf_str(&got), c->lines);
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.marks, c->marks);
        assert_int_equal(status.error, 0);
        if (reload_verify(&s.street, &report) != 0)
                fail_msg("%s", strbuf_str(&report));
        ignore_close(&s);
        ignore_unmount();
}

static void test_stories(void **state)
{
        NEEDS_KERNEL();
        for (size_t i = 0; i < ELEMENTSOF(stories); i++)
                play(&stories[i]);
}

/* ---- a storm ---- */

#define DIRECTORIES 60
#define FILES 5

static char one[] = "one", two[] = "two";

static void make_directories(void *arg)
{
        char path[128];

        for (int d = 0; d < DIRECTORIES; d++) {
                (void)snprintf(path, sizeof(path), "/mnt/%s-%d", (const char *)arg, d);
                if (mkdir(path, 0755) < 0)
                        _exit(7);
                for (int f = 0; f < FILES; f++) {
                        (void)snprintf(path, sizeof(path), "/mnt/%s-%d/%d", (const char *)arg, d, f);
                        ignore_write(path, "x");
                }
        }
}

static unsigned times_created(const char *path)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;
        unsigned n = 0;

        strbuf_addf(&line, "create %s", path);
        for (size_t i = 0; i < ignore_n_lines(); i++) {
                const char *l = ignore_line(i);

                n += strncmp(l, strbuf_str(&line), line.len) == 0 && (l[line.len] == '\0' || l[line.len] == ' ');
        }
        return n;
}

static void expect_all_once(const char *who)
{
        char path[128];

        for (int d = 0; d < DIRECTORIES; d++) {
                (void)snprintf(path, sizeof(path), "/mnt/%s-%d", who, d);
                if (times_created(path) != 1)
                        fail_msg("%s: %u times", path, times_created(path));
                for (int f = 0; f < FILES; f++) {
                        (void)snprintf(path, sizeof(path), "/mnt/%s-%d/%d", who, d, f);
                        if (times_created(path) != 1)
                                fail_msg("%s: %u times", path, times_created(path));
                }
        }
}

/* Two processes make directories and files in them while events are judged. */
static void test_storm(void **state)
{
        struct dirmarks_status status;
        struct ignore_street s;
        int left = 2;

        NEEDS_KERNEL();
        ignore_mount("overlay");
        ignore_open(&s, NAMES, true);
        wait_for_walk(&s);
        pid_t pids[] = { ignore_start(make_directories, one), ignore_start(make_directories, two) };
        while (left > 0) {
                siginfo_t info = {};

                ignore_run(&s);
                assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
                for (size_t i = 0; info.si_pid != 0 && i < ELEMENTSOF(pids); i++)
                        if (pids[i] == info.si_pid) {
                                ignore_wait(pids[i]);
                                left--;
                        }
        }
        ignore_run(&s);
        expect_all_once(one);
        expect_all_once(two);
        assert_int_equal(ignore_n_lines(), 2 * DIRECTORIES * (1 + FILES));
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.marks, 1 + 2 * DIRECTORIES);
        assert_int_equal(s.street.counters.directories_adopted, 2 * DIRECTORIES);
        print_message("# %ju of %zu by a look\n", (uintmax_t)s.street.counters.adopted, ignore_n_lines());
        ignore_close(&s);
        ignore_unmount();
}

/* ---- limits, another process ---- */

static char six[] = "mkdir -p /mnt/1 /mnt/2 /mnt/3 /mnt/4 /mnt/5 /mnt/6";

/* Never more marks than the setting says, and the lack is told. */
static void test_limit(void **state)
{
        static char seventh[] = "mkdir /mnt/7";
        struct ignore_street s = { .kernel_ignores = true };
        struct dirmarks_status status;

        NEEDS_KERNEL();
        ignore_mount("overlay");
        ignore_do(shell, six);
        s.max_directory_marks = 4;
        ignore_open_as(&s, NAMES);
        wait_for_walk(&s);
        ignore_do(shell, seventh);
        ignore_run(&s);
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.error, ENOSPC);
        assert_int_equal(status.marks, 4);
        assert_int_equal(status.max, 4);
        assert_string_equal(ignore_lines(), "create /mnt/7\n");
        ignore_close(&s);
        ignore_unmount();
}

/* The marks of a process that was killed stay, and bring what happened without it. */
static void test_another_process(void **state)
{
        static char away[] = "mkdir -p /mnt/1/new/deep; : > /mnt/1/new/f; : > /mnt/2/f; : > /mnt/1/new/deep/f";
        static char then[] = ": > /mnt/1/new/deep/g; : > /mnt/3/g";
        _cleanup_strbuf_ struct strbuf got = STRBUF_NULL, report = STRBUF_NULL;
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_mount("overlay");
        ignore_do(shell, six);
        ignore_open_kept(&s, NAMES);
        wait_for_walk(&s);
        ignore_run(&s);
        ignore_kill(&s);
        ignore_do(shell, away);
        ignore_start_again(&s, NAMES);
        wait_for_walk(&s);
        assert_int_equal(s.street.counters.marks_failed, 0);
        ignore_run(&s);
        ignore_do(shell, then);
        ignore_run(&s);
        sorted_lines(&got);
        assert_string_equal(strbuf_str(&got),
                            "create /mnt/1/new\ncreate /mnt/1/new/deep\ncreate /mnt/1/new/deep/f\n"
                            "create /mnt/1/new/deep/g\ncreate /mnt/1/new/f\ncreate /mnt/2/f\ncreate /mnt/3/g\n");
        assert_int_equal(spool_state(s.spool)->found, 0); /* nothing waits */
        if (reload_verify(&s.street, &report) != 0)
                fail_msg("%s", strbuf_str(&report));
        ignore_close(&s);
        free(s.area);
        ignore_unmount();
}

/* Rules that watch less take marks off, those that watch more place them, and what both want is never missed. */
static void test_reload(void **state)
{
        static char make[] = "mkdir -p /mnt/1/a /mnt/2/a", files[] = ": > /mnt/1/a/f; : > /mnt/2/a/f";
        static char more[] = ": > /mnt/1/a/g; : > /mnt/2/a/g";
        static char only[] = "watch: { w: { path = \"/mnt/1\"; events = \"create\"; }; };\n";
        struct dirmarks_status status;
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_mount("overlay");
        ignore_do(shell, make);
        ignore_open(&s, NAMES, true);
        wait_for_walk(&s);
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.marks, 5);
        ignore_load(&s, only);
        wait_for_walk(&s);
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.marks, 3);
        ignore_do(shell, files);
        ignore_run(&s);
        assert_string_equal(ignore_lines(), "create /mnt/1/a/f\n");
        ignore_clear();
        ignore_load(&s, NAMES);
        wait_for_walk(&s);
        ignore_do(shell, more);
        ignore_run(&s);
        assert_string_equal(ignore_lines(), "create /mnt/1/a/g\ncreate /mnt/2/a/g\n");
        dirmarks_status(s.street.dirmarks, WORLD_NONE, &status);
        assert_int_equal(status.marks, 5);
        ignore_close(&s);
        ignore_unmount();
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_stories),
                cmocka_unit_test(test_storm),
                cmocka_unit_test(test_limit),
                cmocka_unit_test(test_another_process),
                cmocka_unit_test(test_reload),
        };

        ignore_enter();
        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("dirmarks", tests, NULL, NULL);
}
