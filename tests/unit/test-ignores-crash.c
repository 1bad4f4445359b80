/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Learned ignore marks over a crash, against a real kernel: what the next process makes of them. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <cmocka.h>

#include "fan_uapi.h"
#include "ignore_fixture.h"
#include "strbuf.h"

static void shell(void *command)
{
        if (system(command) != 0)
                _exit(9);
}

struct scene {
        const char *name;
        const char *before; /* done before the first process starts */
        const char *rules;
        const char *learn;  /* done, and dispatched */
        const char *away;   /* done while no process runs */
        const char *then_rules; /* of the second process; NULL: the same */
        const char *then;   /* done, and dispatched, at last */
        const char *lines;  /* of the second process */
        size_t inherited, marks; /* marks taken over, and those of inodes at the end */
        bool without;       /* the second process has kernel_ignores = false */
};

#define WATCH                                                                                                \
        "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"modify\", "       \
        "\"attrib\" ]; }; };\n"
#define IGNORE_D    "ignore: { d: { path = \"/mnt/d\"; }; };\n"
#define IGNORE_FILE "ignore: { f: { path = \"/mnt/f\"; scope = \"file\"; }; };\n"
#define TREE        "mkdir -p /mnt/d/e/s /mnt/o"
#define LEARN       "echo > /mnt/d/e/f; echo > /mnt/d/e/s/f"

static const struct scene scenes[] = {
        { "what was learned is known again", TREE, WATCH IGNORE_D, LEARN, ":", NULL,
          "echo > /mnt/d/e/g; echo > /mnt/d/e/s/g", "", 2, 3, false },
        { "a directory that was moved out, with what lies below", TREE, WATCH IGNORE_D, LEARN,
          "mv /mnt/d/e /mnt/o/e; : > /mnt/o/e/away; : > /mnt/o/e/s/away", NULL, ": > /mnt/o/e/new",
          "rename /mnt/o/e <- /mnt/d/e\n"
          "create /mnt/o/e/away scan\ncreate /mnt/o/e/s/away scan\ncreate /mnt/o/e/new\n",
          0, 1, false },
        { "one that was moved out and back", TREE, WATCH IGNORE_D, LEARN,
          "mv /mnt/d/e /mnt/o/e; : > /mnt/o/e/away; mv /mnt/o/e /mnt/d/e", NULL, ": > /mnt/d/e/new",
          "rename /mnt/o/e <- /mnt/d/e\nrename /mnt/d/e <- /mnt/o/e\ncreate /mnt/o/e/away scan\n", 2, 2,
          false },
        { "one that was moved within the ignored tree", TREE, WATCH IGNORE_D, LEARN,
          "mv /mnt/d/e /mnt/d/k; : > /mnt/d/k/away", NULL, ": > /mnt/d/k/new; : > /mnt/d/k/s/new", "", 2, 3,
          false },
        { "one that was moved into it: what it held before is nobody's", TREE, WATCH IGNORE_D, LEARN,
          "mv /mnt/o /mnt/d/o; : > /mnt/d/o/away", NULL, ": > /mnt/d/o/new", "rename /mnt/d/o <- /mnt/o\n", 2,
          4, false },
        { "one that was removed, and made again where it is watched", TREE, WATCH IGNORE_D, LEARN,
          "rm -r /mnt/d/e; mkdir /mnt/o/e; : > /mnt/o/e/away", NULL, ": > /mnt/o/e/new",
          "create /mnt/o/e\ncreate /mnt/o/e/away\ncreate /mnt/o/e/new\n", 0, 1, false },
        { "the planned one itself", TREE, WATCH IGNORE_D, LEARN,
          "mv /mnt/d /mnt/p; : > /mnt/p/away; : > /mnt/p/e/away", NULL, ": > /mnt/p/new; : > /mnt/p/e/new",
          "rename /mnt/p <- /mnt/d\ncreate /mnt/p/away scan\ncreate /mnt/p/e/away scan\n"
          "create /mnt/p/new\ncreate /mnt/p/e/new\n",
          0, 0, false },
        { "rules without the ignore: its marks are gone before they are in force", TREE, WATCH IGNORE_D, LEARN,
          ": > /mnt/d/e/away", WATCH, ": > /mnt/d/e/new", "create /mnt/d/e/away scan\ncreate /mnt/d/e/new\n", 0,
          0, false },
        { "rules with a path below a learned mark", TREE, WATCH IGNORE_D, LEARN, ":",
          IGNORE_D "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"modify\", "
                   "\"attrib\" ]; };\ndeep: { path = \"/mnt/d/e/x\"; events = \"create\"; always = true; }; };\n",
          ": > /mnt/d/e/x; : > /mnt/d/e/s/new", "create /mnt/d/e/x\n", 1, 1, false },
        { "kernel_ignores = false: no mark stays", TREE, WATCH IGNORE_D, LEARN, ": > /mnt/d/e/away", NULL,
          ": > /mnt/d/e/new", "", 0, 0, true },
        { "a file that an ignore names, moved away", ": > /mnt/f", WATCH IGNORE_FILE, "echo x > /mnt/f",
          "mv /mnt/f /mnt/g; echo y > /mnt/g", NULL, "echo z > /mnt/g",
          "rename /mnt/g <- /mnt/f\nchanged /mnt/g scan\nmodify /mnt/g\n", 0, 0, false },
        { "a file that was learned: replaced, and moved away", ": > /mnt/f", WATCH IGNORE_FILE,
          "rm /mnt/f; echo x > /mnt/f; (echo y > /mnt/f); :", "mv /mnt/f /mnt/g; echo y > /mnt/g", NULL,
          "echo z > /mnt/g", "rename /mnt/g <- /mnt/f\nchanged /mnt/g scan\nmodify /mnt/g\n", 0, 0, false },
        { "the mark of a file rule, to which the kernel added a flag", "mkdir /mnt/d; echo > /mnt/f",
          "watch: { f: { path = \"/mnt/f\"; events = [ \"close_write\", \"rename\" ]; }; };\n" IGNORE_D,
          "echo > /mnt/d/x", "echo x > /mnt/f", NULL, ":", "close_write /mnt/f\n", 0, 2, false },
        { "only what is watched of it is told: a pattern", TREE,
          "watch: { b: { path = \"/mnt/o\"; events = [ \"create\", \"rename\" ]; match = \"*.c\"; }; };\n"
          "ignore: { d: { path = \"/mnt/d\"; }; };\n",
          LEARN, "mv /mnt/d/e /mnt/o/e; : > /mnt/o/e/a.c; : > /mnt/o/e/a.o", NULL, ": > /mnt/o/e/b.c",
          "create /mnt/o/e/a.c scan\ncreate /mnt/o/e/b.c\n", 0, 1, false },
};

/* The queue is seen empty between the learning and what is done later: files of before are older. */
static void settle_down(struct ignore_street *s)
{
        static char touch[] = ": > /mnt/.settle";

        for (int i = 0; i < 3; i++) {
                (void)usleep(20000);
                ignore_do(shell, touch);
                ignore_run(s);
        }
}

static int compare_lines(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What a look finds in several directories has no order. */
static void sort_scanned(const char *text, struct strbuf *out)
{
        _cleanup_free_ char *copy = strdup(text);
        char *lines[64], *save = NULL;
        size_t n = 0;

        assert_non_null(copy);
        for (char *line = strtok_r(copy, "\n", &save); line && n < ELEMENTSOF(lines);
             line = strtok_r(NULL, "\n", &save))
                lines[n++] = line;
        qsort(lines, n, sizeof(lines[0]), compare_lines);
        for (size_t i = 0; i < n; i++)
                strbuf_addf(out, "%s\n", lines[i]);
}

static void expect_marks(struct ignore_street *s, size_t expected)
{
        _cleanup_markset_ struct markset marks = MARKSET_NULL;

        ignore_kernel_marks(s, &marks);
        for (size_t i = 0; marks.n != expected && i < marks.n; i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                mark_print(&marks.marks[i], &out);
                print_message("# %s\n", strbuf_str(&out));
        }
        assert_int_equal(marks.n, expected);
}

static void play(const struct scene *c)
{
        _cleanup_strbuf_ struct strbuf got = STRBUF_NULL, wanted = STRBUF_NULL, report = STRBUF_NULL;
        struct ignore_street s;

        print_message("# %s\n", c->name);
        ignore_do(shell, (void *)c->before);
        ignore_open_kept(&s, c->rules);
        ignore_do(shell, (void *)c->learn);
        ignore_run(&s);
        settle_down(&s);
        ignore_kill(&s);
        ignore_do(shell, (void *)c->away);

        s.kernel_ignores = !c->without;
        ignore_start_again(&s, c->then_rules ? c->then_rules : c->rules);
        assert_int_equal(s.street.counters.ignores_inherited, c->inherited);
        assert_int_equal(s.street.counters.marks_failed, 0);
        ignore_run(&s);
        ignore_do(shell, (void *)c->then);
        ignore_run(&s);
        sort_scanned(ignore_lines(), &got);
        sort_scanned(c->lines, &wanted);
        assert_string_equal(strbuf_str(&got), strbuf_str(&wanted));
        expect_marks(&s, c->marks);
        if (reload_verify(&s.street, &report) != 0)
                fail_msg("%s", strbuf_str(&report));
        assert_false(ignore_went_back());
        ignore_close(&s);
        free(s.area);
}

static void play_all(const char *fstype)
{
        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                ignore_mount(fstype);
                play(&scenes[i]);
                ignore_unmount();
        }
}

static void test_scenes_tmpfs(void **state)
{
        NEEDS_KERNEL();
        play_all("tmpfs");
}

static void test_scenes_ext4(void **state)
{
        NEEDS_KERNEL();
        play_all("ext4");
}

static size_t evictable_marks(struct ignore_street *s)
{
        _cleanup_markset_ struct markset marks = MARKSET_NULL;
        size_t n = 0;

        ignore_kernel_marks(s, &marks);
        for (size_t i = 0; i < marks.n; i++)
                n += marks.marks[i].evictable;
        return n;
}

/* An orderly end leaves the planned marks alone, and learns no more. */
static void test_retire(void **state)
{
        static char again[] = "echo > /mnt/d/e/g", later[] = ": > /mnt/o/x";
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_mount("tmpfs");
        ignore_do(shell, (void *)TREE);
        ignore_open_kept(&s, WATCH IGNORE_D);
        ignore_do(shell, (void *)LEARN);
        ignore_run(&s);
        assert_true(learn_evictable(s.street.learn));
        assert_int_equal(evictable_marks(&s), s.street.counters.ignores_learned);
        learn_retire(s.street.learn);
        assert_false(learn_evictable(s.street.learn));
        ignore_do(shell, again);
        ignore_run(&s);
        assert_int_equal(evictable_marks(&s), 0);
        expect_marks(&s, 1);
        ignore_kill(&s);
        ignore_do(shell, later);
        ignore_start_again(&s, WATCH IGNORE_D);
        assert_int_equal(s.street.counters.ignores_inherited, 0);
        ignore_run(&s);
        assert_string_equal(ignore_lines(), "create /mnt/o/x\n");
        ignore_close(&s);
        free(s.area);
        ignore_unmount();
}

/* What a look finds is recorded behind the events of its window, and leaves them done. */
static void test_found_leaves_done(void **state)
{
        static char moved[] = ": > /mnt/o/a; mv /mnt/d/e /mnt/o/e; : > /mnt/o/e/b; : > /mnt/o/b";
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_mount("tmpfs");
        ignore_do(shell, (void *)TREE);
        ignore_open_kept(&s, WATCH IGNORE_D);
        ignore_do(shell, (void *)LEARN);
        ignore_run(&s);
        settle_down(&s);
        ignore_clear();
        ignore_do(shell, moved);
        ignore_run(&s);
        assert_non_null(strstr(ignore_lines(), "create /mnt/o/e/b scan\n"));
        assert_false(ignore_went_back());
        ignore_close(&s);
        free(s.area);
        ignore_unmount();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scenes_tmpfs),
                cmocka_unit_test(test_scenes_ext4),
                cmocka_unit_test(test_retire),
                cmocka_unit_test(test_found_leaves_done),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("ignores-crash", tests, NULL, NULL);
}
