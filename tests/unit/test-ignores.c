/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Ignores against a real kernel: what is left out, and that nothing else is. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode.h"
#include "ignore_fixture.h"
#include "strbuf.h"

static int setup(void **state)
{
        if (ignore_why_not())
                return 0;
        ignore_mount(*state ? *state : "tmpfs");
        return 0;
}

static int teardown(void **state)
{
        if (!ignore_why_not())
                ignore_unmount();
        ignore_clear();
        return 0;
}

/* ---- churn in ignored places ---- */

#define N_FILES 34000 /* each is created, written, deleted: 102,000 operations */
#define N_DIRS  20

static void churn(void *arg)
{
        const char *const *dirs = arg;
        char path[256];

        for (size_t i = 0; i < N_FILES; i++) {
                (void)snprintf(path, sizeof(path), "%s/f%zu", dirs[i % N_DIRS], i);
                ignore_write(path, "x");
                if (unlink(path) < 0)
                        _exit(9);
        }
}

/* The first event of each directory. */
static void touch_each(void *arg)
{
        const char *const *dirs = arg;
        char path[256];

        for (size_t i = 0; i < N_DIRS; i++) {
                (void)snprintf(path, sizeof(path), "%s/first", dirs[i]);
                ignore_write(path, "");
        }
}

static const char *churn_dirs[N_DIRS];

static void make_churn_dirs(void)
{
        static char names[N_DIRS][64];

        assert_int_equal(mkdir(IGNORE_ROOT "/dir", 0755), 0);
        assert_int_equal(mkdir(IGNORE_ROOT "/tree", 0755), 0);
        churn_dirs[0] = IGNORE_ROOT "/dir";
        churn_dirs[1] = IGNORE_ROOT "/tree";
        for (size_t i = 2; i < N_DIRS; i++) {
                (void)snprintf(names[i], sizeof(names[i]), IGNORE_ROOT "/tree/%zu", i);
                assert_int_equal(mkdir(names[i], 0755), 0);
                churn_dirs[i] = names[i];
        }
}

static size_t count_of(int group)
{
        static uint8_t buffer[1 << 16];
        struct fan_event e;
        size_t events = 0;
        ssize_t n;

        while ((n = read(group, buffer, sizeof(buffer))) > 0)
                for (struct fan_cursor c = fan_cursor_init(buffer, (size_t)n); fan_decode_next(&c, &e) > 0;)
                        events++;
        return events;
}

static void churn_in(const char *rules, bool legacy, size_t unstoppable)
{
        int other = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_QUEUE |
                                                  FAN_REPORT_DFID_NAME_TARGET,
                                  O_RDONLY);
        struct ignore_street s;
        size_t seen;

        make_churn_dirs();
        if (legacy)
                ignore_open_legacy(&s, rules);
        else
                ignore_open(&s, rules, true);
        assert_true(other >= 0);
        assert_int_equal(fanotify_mark(other, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
                                       FAN_CREATE | FAN_DELETE | FAN_MODIFY | FAN_CLOSE_WRITE, AT_FDCWD,
                                       IGNORE_ROOT),
                         0);
        ignore_do(touch_each, churn_dirs);
        ignore_run(&s);
        ignore_do(churn, churn_dirs);
        ignore_run(&s);
        seen = count_of(other);
        print_message("# %ju events read, another group saw %zu\n", (uintmax_t)s.street.counters.events_read,
                      seen);
        (void)close(other);
        assert_int_equal(ignore_n_lines(), 0);
        assert_true(seen >= N_FILES);
        assert_true(s.street.counters.events_read <= unstoppable + N_DIRS);
        ignore_close(&s);
}

static void test_churn(void **state)
{
        NEEDS_KERNEL();
        churn_in("watch: { all: { path = \"/mnt\"; scope = \"filesystem\"; events = [ \"saved\", \"modify\" "
                 "]; }; };\n"
                 "ignore: { d: { path = \"/mnt/dir\"; scope = \"directory\"; }; t: { path = \"/mnt/tree\"; "
                 "}; };",
                 false, N_FILES);
}

static void test_churn_legacy(void **state)
{
        NEEDS_KERNEL();
        churn_in("watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"modify\" "
                 "]; }; };\n"
                 "ignore: { d: { path = \"/mnt/dir\"; scope = \"directory\"; }; t: { path = \"/mnt/tree\"; "
                 "}; };",
                 true, 0);
}

/* ---- small scenes ---- */

static void shell(void *command)
{
        if (system(command) != 0)
                _exit(9);
}

struct scene {
        const char *name;
        const char *before; /* done before the rules are loaded */
        const char *rules;
        const char *learn; /* done, and dispatched, first */
        const char *then;
        const char *lines;
        size_t marks; /* inode marks at the end */
};

#define WATCH                                                                                                \
        "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", \"modify\", "       \
        "\"attrib\" ]; }; };\n"
#define IGNORE_D "ignore: { d: { path = \"/mnt/d\"; }; };\n"

static const struct scene scenes[] = {
        { "an ignored tree is silent, a directory in it that comes later too", "mkdir /mnt/d", WATCH IGNORE_D,
          "echo x > /mnt/d/f; mkdir -p /mnt/d/e/g; echo x > /mnt/d/e/f",
          "echo x > /mnt/d/f2; echo x > /mnt/d/e/f2; mkdir /mnt/d/e/h; echo x > /mnt/d/e/h/i", "", 3 },
        { "a directory alone: what is deeper is told", "mkdir -p /mnt/d/e",
          WATCH "ignore: { d: { path = \"/mnt/d\"; scope = \"directory\"; }; };\n", "touch /mnt/d/f",
          "mkdir /mnt/d/n; : > /mnt/d/e/g", "create /mnt/d/e/g\n", 1 },
        { "a rename between an ignored and a watched place is one record",
          "mkdir /mnt/d /mnt/o; echo > /mnt/o/f", WATCH IGNORE_D, "echo x > /mnt/d/x",
          "mv /mnt/o/f /mnt/d/f2; mv /mnt/d/f2 /mnt/o/f; mv /mnt/d/x /mnt/d/y",
          "rename /mnt/d/f2 <- /mnt/o/f\nrename /mnt/o/f <- /mnt/d/f2\n", 1 },
        { "a directory that is moved out is told from then on", "mkdir -p /mnt/d/e/s /mnt/o", WATCH IGNORE_D,
          "echo > /mnt/d/e/f; echo > /mnt/d/e/s/f; sleep 0.05",
          "mv /mnt/d/e /mnt/o/e; : > /mnt/o/e/new; : > /mnt/o/e/s/new",
          "rename /mnt/o/e <- /mnt/d/e\ncreate /mnt/o/e/new scan\ncreate /mnt/o/e/s/new scan\n", 1 },
        { "a file by its name, with a second name that is watched", "mkdir /mnt/o; echo > /mnt/f",
          WATCH "ignore: { f: { path = \"/mnt/f\"; scope = \"file\"; }; };\n",
          "echo x > /mnt/f; chmod 600 /mnt/f", "ln /mnt/f /mnt/o/l", "create /mnt/o/l\n", 0 },
        { "a file ignore is learned again when the file was replaced", "echo > /mnt/f",
          WATCH "ignore: { f: { path = \"/mnt/f\"; scope = \"file\"; }; };\n",
          "rm /mnt/f; echo x > /mnt/f; echo y > /mnt/f", "echo x > /mnt/f", "", 1 },
        { "never above a rule's path, existing or not", "mkdir /mnt/d",
          IGNORE_D "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"rename\" ]; };\n"
                   "deep: { path = \"/mnt/d/a/b\"; events = \"create\"; always = true; }; };\n",
          "echo > /mnt/d/x; mkdir /mnt/d/a; echo > /mnt/d/a/x", "echo > /mnt/d/a/b", "create /mnt/d/a/b\n",
          0 },
        { "the except of one rule is no ignore of the other's", "mkdir /mnt/d",
          "watch: { a: { path = \"/mnt\"; events = [ \"create\", \"rename\" ]; except: { d: { path = "
          "\"/mnt/d\"; }; }; };\n"
          "b: { path = \"/mnt/d\"; events = \"create\"; match = \"*.c\"; }; };\n",
          "echo > /mnt/d/x", "echo > /mnt/d/x.c", "create /mnt/d/x.c\n", 0 },
        { "what no pattern can match is learned too", "mkdir -p /mnt/d/a /mnt/d/b",
          "watch: { b: { path = \"/mnt/d\"; events = [ \"create\", \"rename\" ]; match = \"a/*.c\"; }; };\n",
          "echo > /mnt/d/a/x; echo > /mnt/d/b/x", "echo > /mnt/d/a/x.c; echo > /mnt/d/b/x.c",
          "create /mnt/d/a/x.c\n", 1 },
        { "a file rule sees its object under a name in an ignored directory", "mkdir /mnt/d; echo > /mnt/f",
          "watch: { f: { path = \"/mnt/f\"; events = [ \"close_write\", \"rename\" ]; }; };\n" IGNORE_D,
          "echo > /mnt/d/x", "ln /mnt/f /mnt/d/l; sleep 0.1", "", 2 },
};

static void play(const struct scene *c, bool kernel_ignores)
{
        _cleanup_markset_ struct markset marks = MARKSET_NULL;
        struct ignore_street s;

        ignore_do(shell, (void *)c->before);
        ignore_open(&s, c->rules, kernel_ignores);
        ignore_do(shell, (void *)c->learn);
        ignore_run(&s);
        ignore_clear();
        ignore_do(shell, (void *)c->then);
        ignore_run(&s);
        print_message("# %s (%s): %ju learned, %ju taken off, %ju adopted\n", c->name,
                      kernel_ignores ? "on" : "off", (uintmax_t)s.street.counters.ignores_learned,
                      (uintmax_t)s.street.counters.ignores_taken_off, (uintmax_t)s.street.counters.adopted);
        if (kernel_ignores) {
                assert_string_equal(ignore_lines(), c->lines);
                ignore_kernel_marks(&s, &marks);
                for (size_t i = 0; marks.n != c->marks && i < marks.n; i++) {
                        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                        mark_print(&marks.marks[i], &out);
                        print_message("# %s\n", strbuf_str(&out));
                }
                assert_int_equal(marks.n, c->marks);
        } else {
                assert_int_equal(ignore_kernel_marks(&s, &marks), 0);
        }
        struct strbuf report = STRBUF_NULL;
        if (reload_verify(&s.street, &report) != 0)
                fail_msg("%s", strbuf_str(&report));
        ignore_close(&s);
}

static void test_scenes(void **state)
{
        NEEDS_KERNEL();
        for (size_t i = 0; i < ELEMENTSOF(scenes); i++) {
                for (int on = 1; on >= 0; on--) {
                        play(&scenes[i], on);
                        ignore_unmount();
                        ignore_mount("tmpfs");
                }
        }
}

/* ---- what does not go as planned ---- */

static void step(struct ignore_street *s, const char *command, const char *lines)
{
        ignore_clear();
        ignore_do(shell, (void *)command);
        ignore_run(s);
        assert_string_equal(ignore_lines(), lines);
}

static struct mark learned_at(const struct ignore_street *s, const char *path)
{
        const struct world *w = s->generation->world;
        uint32_t fs = world_mount_of(w, IGNORE_ROOT);
        struct mark m = {};

        (void)learn_find(s->street.learn, w->fs[w->mounts[fs].fs].fsid, path, strlen(path), &m);
        return m;
}

/* ---- stories: rules that follow each other, and what is told between ---- */

struct act {
        const char *rules; /* loaded first, unless NULL */
        const char *run, *lines;
        bool before_rules; /* it is run first, and still in the queue when the rules are loaded */
};
struct story {
        const char *name, *before;
        bool in_userspace;
        struct act acts[4];
};

#define SEES_NO_NAMES "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\" ]; }; };"
#define UNTIL_IN_A                                                                                           \
        "watch: { all: { path = \"/mnt\"; events = [ \"open\", \"modify\", \"attrib\", \"rename\" ]; type = "   \
        "\"file\"; }; };\n"                                                                                  \
        "ignore: { f: { path = \"/mnt/a/f\"; scope = \"file\"; until = \"modified\"; }; };"
#define FILE_ONLY                                                                                            \
        "watch: { f: { path = \"/mnt/f\"; scope = \"file\"; events = \"close_write\"; }; };"
#define MOVE_SELF                                                                                            \
        "watch: { a: { path = \"/mnt/a\"; scope = \"file\"; events = [ \"move_self\", \"rename\" ]; }; };"

static const struct story stories[] = {
        { "directories were renamed while no rule asked for renames", "mkdir -p /mnt/d/e", true,
          { { NULL, ": > /mnt/d/e/x", "create /mnt/d/e/x\n" },
            { NULL, "mv /mnt/d /mnt/o", "" },
            { WATCH, ": > /mnt/o/e/y", "create /mnt/o/e/y\n" } } },
        { "a directory above a file that is ignored until it is modified is renamed",
          "mkdir -p /mnt/a; echo > /mnt/a/f", false,
          { { UNTIL_IN_A, "cat /mnt/a/f >/dev/null", "" },
            { NULL, "mv /mnt/a /mnt/b", "" },
            { NULL, "cat /mnt/b/f >/dev/null", "open /mnt/b/f\n" } } },
        { "a file rule does not follow its object to another name where renames are not seen",
          "echo > /mnt/f", true,
          { { FILE_ONLY, "echo >> /mnt/f", "close_write /mnt/f\n" },
            { NULL, "mv /mnt/f /mnt/g; echo >> /mnt/g", "" },
            { NULL, "echo > /mnt/f; ln /mnt/f /mnt/h", "close_write /mnt/f\n" },
            { NULL, "echo > /mnt/h", "close_write /mnt/h\n" } } },
        { "nothing is learned by rules that are about to go", "mkdir -p /mnt/d/a", false,
          { { WATCH IGNORE_D, "touch /mnt/d/x", "" },
            { WATCH, "touch /mnt/d/a/x", "", true },
            { NULL, ": > /mnt/d/a/y", "create /mnt/d/a/y\n" } } },
        { "what is moved to a rule's name may tell of it", "mkdir /mnt/a /mnt/b", false,
          { { MOVE_SELF, "touch /mnt/b", "" },
            { NULL, "rmdir /mnt/a; mv /mnt/b /mnt/a", "rename,move_self /mnt/a <- /mnt/b\n" } } },
};

static void tell(const struct story *t)
{
        struct ignore_street s;

        print_message("# %s\n", t->name);
        ignore_do(shell, (void *)t->before);
        ignore_open(&s, t->acts[0].rules ? t->acts[0].rules : SEES_NO_NAMES, !t->in_userspace);
        for (const struct act *a = t->acts; a < t->acts + ELEMENTSOF(t->acts) && a->run; a++) {
                if (a->rules && !a->before_rules)
                        ignore_load(&s, a->rules);
                ignore_clear();
                ignore_do(shell, (void *)a->run);
                if (a->rules && a->before_rules)
                        ignore_load(&s, a->rules);
                ignore_run(&s);
                assert_string_equal(ignore_lines(), a->lines);
        }
        ignore_close(&s);
}

static void test_stories(void **state)
{
        NEEDS_KERNEL();
        for (size_t i = 0; i < ELEMENTSOF(stories); i++) {
                tell(&stories[i]);
                ignore_clear();
                ignore_unmount();
                ignore_mount("tmpfs");
        }
}

/* What new rules want is taken off before they are in force, and the rest stays. */
static void test_reload_corrects(void **state)
{
        struct ignore_street s;

        NEEDS_KERNEL();
        ignore_do(shell, (void *)"mkdir -p /mnt/d/a /mnt/d/b");
        ignore_open(&s, WATCH IGNORE_D, true);
        step(&s, "touch /mnt/d/a/x /mnt/d/b/x", "");
        assert_true(learned_at(&s, "/d/a").ignore_mask & FAN_CREATE);
        ignore_load(&s, "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\", "
                        "\"attrib\" ]; };\n"
                        "modified: { path = \"/mnt/o\"; events = \"modify\"; }; };\n"
                        "ignore: { b: { path = \"/mnt/d/b\"; }; d: { path = \"/mnt/d\"; events = \"attrib\"; "
                        "}; };");
        assert_int_equal(learned_at(&s, "/d/a").ignore_mask & vocab_to_fan(UNWANTED_ALL),
                         FAN_MODIFY | FAN_ATTRIB);
        step(&s, "touch /mnt/d/a/y /mnt/d/b/y", "create /mnt/d/a/y\n");
        s.kernel_ignores = false;
        ignore_load(&s, WATCH IGNORE_D);
        _cleanup_markset_ struct markset marks = MARKSET_NULL;
        assert_int_equal(ignore_kernel_marks(&s, &marks), 0);
        ignore_close(&s);
}

/* A mark that the kernel dropped is placed again, not with every event. */
static void test_dropped_mark(void **state)
{
        struct ignore_street s;
        struct mark_op off = { .ignore = true, .ignore_new = true, .where = "" };

        NEEDS_KERNEL();
        ignore_do(shell, (void *)"mkdir -p /mnt/d/a");
        ignore_open(&s, WATCH IGNORE_D, true);
        step(&s, "touch /mnt/d/a/x", "");
        const struct mark m = learned_at(&s, "/d/a");
        assert_true(m.evictable);
        int fd = open("/mnt/d/a", O_PATH | O_CLOEXEC);
        off.object = m.object;
        off.bits = m.ignore_mask;
        assert_int_equal(marks_at(s.street.marks, &off, fd), 0);
        (void)close(fd);
        for (int i = 0; i < 6; i++)
                step(&s, "touch /mnt/d/a/y; rm /mnt/d/a/y", "");
        assert_int_equal(s.street.counters.ignores_renewed, 1);
        assert_int_equal(s.street.counters.ignores_learned, 1);
        ignore_close(&s);
}

/* The journal's directories are ignored wherever they lie, also when they are made again; but not for a rule
 * with always. */
static void journal(const char *always, const char *lines, bool marked)
{
        char rules[256];
        struct ignore_street s;

        (void)snprintf(rules, sizeof(rules),
                       "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\" ]; %s "
                       "}; };",
                       always);
        ignore_do(shell, (void *)"mkdir -p /mnt/j/id; mount -t tmpfs log /var/log; mkdir /var/log/journal; "
                                 "mount --bind /mnt/j /var/log/journal");
        ignore_open(&s, rules, true);
        ignore_do(shell, (void *)"echo > /mnt/j/id/system");
        ignore_run(&s);
        assert_int_equal((learned_at(&s, "/j/id").ignore_mask & FAN_CREATE) != 0, marked);
        ignore_do(shell, (void *)"rm -r /mnt/j/id; mkdir /mnt/j/id; echo > /mnt/j/id/system");
        ignore_run(&s);
        assert_int_equal((learned_at(&s, "/j/id").ignore_mask & FAN_CREATE) != 0, marked);
        assert_string_equal(ignore_lines(), lines);
        ignore_close(&s);
        ignore_do(shell, (void *)"umount /var/log/journal /var/log; rm -r /mnt/j");
        ignore_clear();
}

static void test_journal_is_left_alone(void **state)
{
        NEEDS_KERNEL();
        journal("", "", true);
        journal("always = true;",
                "create /mnt/j/id/system\ndelete /mnt/j/id/system\ndelete /mnt/j/id\ncreate /mnt/j/id\n"
                "create /mnt/j/id/system\n",
                false);
}

static uint64_t fake_usec;
static unsigned fake_calls;

static uint64_t fake_clock(void)
{
        return fake_usec;
}

static int no_space(void *userdata, const struct mark_op *op)
{
        fake_calls++;
        return -ENOSPC;
}

/* A shortage is left alone for a while. */
static void test_shortage(void **state)
{
        union {
                struct file_handle header;
                uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } fh = { .header.handle_bytes = MAX_HANDLE_SZ };
        const struct marks_params fake = { .mark = no_space };
        struct learn_status status;
        struct ignore_street s;
        struct marks *marks;
        struct learn *learn;
        int mount_id;

        NEEDS_KERNEL();
        ignore_do(shell, (void *)"mkdir -p /mnt/d/a");
        ignore_open(&s, WATCH IGNORE_D, true);
        assert_int_equal(marks_new(&fake, &marks), 0);
        const struct learn_params params = {
                .counters = &s.street.counters,
                .resolver = s.street.resolver,
                .marks = marks,
                .monotonic_usec = fake_clock,
                .file_usec = fake_clock,
                .max_marks = 100,
                .evictable = true,
        };
        assert_int_equal(learn_new(&params, &learn), 0);
        learn_set_generation(learn, s.generation);
        assert_int_equal(name_to_handle_at(AT_FDCWD, "/mnt/d/a", &fh.header, &mount_id, 0), 0);
        const struct world *w = s.generation->world;
        const struct match_path path = {
                .fs = w->mounts[world_mount_of(w, IGNORE_ROOT)].fs,
                .path = "/d/a",
                .len = 4,
        };
        const struct fan_handle dir = {
                .fsid = w->fs[path.fs].fsid,
                .type = fh.header.handle_type,
                .len = fh.header.handle_bytes,
                .bytes = fh.room + offsetof(struct file_handle, f_handle),
        };
        static const struct {
                uint64_t usec;
                unsigned calls;
        } cases[] = { { 1, 1 }, { 2, 1 }, { 59 * USEC_PER_SEC, 1 }, { 61 * USEC_PER_SEC, 2 } };
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                fake_usec = cases[i].usec;
                learn_dir(learn, &dir, &path, FAN_CREATE, 0);
                assert_int_equal(fake_calls, cases[i].calls);
                learn_status(learn, &status);
                assert_int_equal(status.error, ENOSPC);
                assert_int_equal(status.dirs, 0);
        }
        assert_int_equal(s.street.counters.ignores_failed, 2);
        learn_free(learn);
        marks_free(marks);
        ignore_close(&s);
}

static bool table_is_full;

static int no_space_for_ignores(void *userdata, const struct mark_op *op)
{
        return table_is_full && op->add && op->ignore ? -ENOSPC : 0;
}

/* Brings the marks to what is wanted; how many failures there were, and the first. */
static size_t bring_to(struct marks *marks, const struct markset *wanted, int *ret_error)
{
        _cleanup_markdiff_ struct markdiff diff = {};
        const struct mark_failure *failures;
        size_t n;

        assert_int_equal(markdiff_build(marks_placed(marks), wanted, &diff), 0);
        assert_int_equal(marks_widen(marks, &diff), 0);
        marks_narrow(marks, &diff);
        failures = marks_failures(marks, &n);
        *ret_error = n > 0 ? failures[0].error : 0;
        return n;
}

static size_t count_ignores(const struct markset *marks)
{
        size_t n = 0;

        for (size_t i = 0; i < marks->n; i++)
                n += marks->marks[i].ignore_mask != 0;
        return n;
}

/* A planned ignore that finds no room does not keep the rules out: it is told, and tried again. */
static void test_planned_ignore_without_room(void **state)
{
        const struct marks_params fake = { .mark = no_space_for_ignores };
        struct ignore_street s;
        struct marks *marks;
        int error;

        NEEDS_KERNEL();
        ignore_do(shell, (void *)"mkdir /mnt/d");
        ignore_open(&s, WATCH IGNORE_D, true);
        const struct markset *wanted = &s.generation->plan->wanted;
        assert_int_equal(count_ignores(wanted), 1);
        assert_int_equal(marks_new(&fake, &marks), 0);
        table_is_full = true;
        assert_int_equal(bring_to(marks, wanted, &error), 1);
        assert_int_equal(error, ENOSPC);
        assert_int_equal(count_ignores(marks_placed(marks)), 0);
        table_is_full = false;
        assert_int_equal(bring_to(marks, wanted, &error), 0);
        assert_int_equal(count_ignores(marks_placed(marks)), 1);
        marks_free(marks);
        ignore_close(&s);
}

/* ---- until = "modified" ---- */

#define UNTIL_RULES                                                                                          \
        "watch: { all: { path = \"/mnt\"; events = [ \"open\", \"modify\", \"attrib\", \"rename\", "         \
        "\"create\" ]; }; };\n"                                                                              \
        "ignore: { f: { path = \"/mnt/f\"; scope = \"file\"; until = \"modified\"; }; };\n"

/* The ignore mask of the only inode mark, or 0 and no mark. */
static uint64_t ignored_now(struct ignore_street *s, bool *ret_surv)
{
        _cleanup_markset_ struct markset marks = MARKSET_NULL;

        ignore_kernel_marks(s, &marks);
        assert_true(marks.n <= 1);
        *ret_surv = marks.n > 0 && marks.marks[0].ignore_surv;
        return marks.n > 0 ? marks.marks[0].ignore_mask : 0;
}

static void until_modified(bool kernel_ignores)
{
        struct ignore_street s;
        bool surv;

        ignore_do(shell, (void *)"echo > /mnt/f");
        ignore_open(&s, UNTIL_RULES, kernel_ignores);
        assert_int_equal(ignored_now(&s, &surv), kernel_ignores ? FAN_OPEN : 0);
        assert_false(surv);
        step(&s, "cat /mnt/f >/dev/null", "");
        assert_int_equal(s.street.counters.events_ignored, kernel_ignores ? 0 : 1);
        step(&s, "echo x >> /mnt/f", "modify /mnt/f\n");
        assert_int_equal(ignored_now(&s, &surv), 0);
        assert_int_equal(until_count(s.street.until), 0);
        step(&s, "cat /mnt/f >/dev/null", "open /mnt/f\n");
        ignore_load(&s, UNTIL_RULES);
        step(&s, "cat /mnt/f >/dev/null", "open /mnt/f\n");
        ignore_close(&s);
}

static void test_until_modified(void **state)
{
        NEEDS_KERNEL();
        until_modified(true);
        ignore_do(shell, (void *)"rm /mnt/f");
        until_modified(false);
}

/* The call succeeds and places nothing; when the last writer closes, it is made again. */
static void test_until_pending(void **state)
{
        struct ignore_street s;
        bool surv;

        NEEDS_KERNEL();
        ignore_do(shell, (void *)"echo > /mnt/f");
        int fd = open("/mnt/f", O_WRONLY | O_CLOEXEC);
        ignore_open(&s, UNTIL_RULES, true);
        assert_int_equal(ignored_now(&s, &surv), 0);
        assert_int_equal(until_state(s.street.until, 0, "/mnt/f"), UNTIL_PENDING);
        step(&s, "cat /mnt/f >/dev/null", "");
        (void)close(fd);
        /* our own close is no news: another writer that writes nothing */
        step(&s, "exec 3>>/mnt/f", "");
        assert_int_equal(ignored_now(&s, &surv), FAN_OPEN);
        assert_int_equal(until_state(s.street.until, 0, "/mnt/f"), UNTIL_PLACED);
        struct strbuf report = STRBUF_NULL;
        if (reload_verify(&s.street, &report) != 0)
                fail_msg("%s", strbuf_str(&report));
        step(&s, "mv /mnt/f /mnt/g", "rename /mnt/g <- /mnt/f\n");
        step(&s, "cat /mnt/g >/dev/null", "open /mnt/g\n");
        assert_int_equal(ignored_now(&s, &surv), 0);
        ignore_close(&s);
}

/* ---- a directory that moves under its writer ---- */

#define ROUNDS        60
#define FILES_A_ROUND 150 /* 9,000 creations that must be told */

static void create_in(int dir, const char *kind, int round, int i)
{
        char name[32];

        (void)snprintf(name, sizeof(name), "%s-%d-%d", kind, round, i);
        (void)close(openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static void move_and_create(void *arg)
{
        int dir = open(IGNORE_ROOT "/d/e", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char in[64] = IGNORE_ROOT "/d/e", out[64];

        /* Other names each time: equal renames that wait would become one event. */
        for (int round = 0; round < ROUNDS; round++) {
                for (int i = 0; i < 20; i++)
                        create_in(dir, "ignored", round, i);
                /* the first time until it is known where the directory is */
                (void)usleep(round == 0 ? 50000 : *(useconds_t *)arg);
                (void)snprintf(out, sizeof(out), IGNORE_ROOT "/o/e%d", round);
                if (rename(in, out) < 0)
                        _exit(9);
                for (int i = 0; i < FILES_A_ROUND; i++)
                        create_in(dir, "told", round, i);
                (void)snprintf(in, sizeof(in), IGNORE_ROOT "/d/e%d", round);
                if (rename(out, in) < 0)
                        _exit(9);
        }
}

static void moves(bool kernel_ignores, useconds_t pause)
{
        static uint8_t told[ROUNDS][FILES_A_ROUND];
        size_t missing = 0, twice = 0, scanned = 0, surplus = 0;
        struct ignore_street s;
        int status;

        memset(told, 0, sizeof(told));
        ignore_do(shell, (void *)"mkdir -p /mnt/d/e /mnt/o");
        ignore_open(&s,
                    "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\", \"rename\" ]; }; "
                    "};\n" IGNORE_D,
                    kernel_ignores);
        pid_t pid = ignore_start(move_and_create, &pause);
        while (waitpid(pid, &status, WNOHANG) == 0)
                ignore_run(&s);
        assert_int_equal(status, 0);
        ignore_run(&s);
        for (size_t i = 0; i < ignore_n_lines(); i++) {
                const char *line = ignore_line(i), *name = strrchr(line, '/');
                int round, n;

                if (sscanf(name, "/told-%d-%d", &round, &n) == 2 && strncmp(line, "create", 6) == 0)
                        told[round][n]++;
                surplus += strncmp(name, "/ignored", 8) == 0;
                scanned += strstr(line, " scan") != NULL;
        }
        for (int round = 0; round < ROUNDS; round++)
                for (int n = 0; n < FILES_A_ROUND; n++) {
                        if (told[round][n] == 0 && missing++ == 0)
                                print_message("# the first that is missing: %d of round %d\n", n, round);
                        twice += told[round][n] > 1;
                }
        print_message("# kernel ignores %s, %d creations: %zu missing, %zu twice, %zu by a look; %zu of the "
                      "ignored place told too; "
                      "%ju learned, %ju taken off\n",
                      kernel_ignores ? "on" : "off", ROUNDS * FILES_A_ROUND, missing, twice, scanned, surplus,
                      (uintmax_t)s.street.counters.ignores_learned,
                      (uintmax_t)s.street.counters.ignores_taken_off);
        assert_int_equal(missing, 0);
        assert_int_equal(twice, 0);
        ignore_close(&s);
}

static void test_moves_under_a_writer(void **state)
{
        NEEDS_KERNEL();
        for (int on = 0; on < 2; on++)
                for (useconds_t pause = 0; pause <= 4000; pause += 2000) {
                        moves(on, pause);
                        ignore_clear();
                        ignore_unmount();
                        ignore_mount("tmpfs");
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_scenes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_stories, setup, teardown),
                cmocka_unit_test_setup_teardown(test_reload_corrects, setup, teardown),
                cmocka_unit_test_setup_teardown(test_dropped_mark, setup, teardown),
                cmocka_unit_test_setup_teardown(test_journal_is_left_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(test_shortage, setup, teardown),
                cmocka_unit_test_setup_teardown(test_planned_ignore_without_room, setup, teardown),
                cmocka_unit_test_setup_teardown(test_until_modified, setup, teardown),
                cmocka_unit_test_setup_teardown(test_until_pending, setup, teardown),
                cmocka_unit_test_setup_teardown(test_moves_under_a_writer, setup, teardown),
                cmocka_unit_test_setup_teardown(test_churn, setup, teardown),
                cmocka_unit_test_setup_teardown(test_churn_legacy, setup, teardown),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("ignores", tests, NULL, NULL);
}
