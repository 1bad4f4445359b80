/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event street from the kernel's queue to the reporter; needs root, else it skips itself. */

#include <dirent.h>
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

#include "street_fixture.h"

#define ALL "watch: { all: { path = \"/mnt\"; }; };"

static size_t open_descriptors(void)
{
        DIR *d = opendir("/proc/self/fd");
        size_t n = 0;

        while (readdir(d))
                n++;
        (void)closedir(d);
        return n;
}

/* What the street itself does not see: everything is done by another process. */
#define BY_CHILD(code)                                    \
        do {                                              \
                pid_t child_ = fork();                    \
                if (child_ == 0) {                        \
                        code;                             \
                        _exit(0);                         \
                }                                         \
                assert_int_equal(waitpid(child_, NULL, 0), child_); \
        } while (0)

static void make_files(int n)
{
        for (int i = 0; i < n; i++) {
                char path[32];

                (void)snprintf(path, sizeof(path), "/mnt/%d", i);
                (void)close(open(path, O_CREAT | O_WRONLY, 0644));
        }
}

static int setup(void **state)
{
        street_fresh_root();
        return 0;
}

static const struct street_record *only_record(void)
{
        if (street_n_records != 1)
                fail_msg("%zu records:\n%s", street_n_records, street_lines());
        return &street_records[0];
}

/* ---- paths ---- */

static void names_and_order(void **state)
{
        struct street s;

        street_open(&s, ALL, true, 0, 0);
        BY_CHILD(mkdir("/mnt/d", 0755); street_write("/mnt/d/f", "x"); mkdir("/mnt/d/e", 0755);
                 rename("/mnt/d/f", "/mnt/d/e/g"); rename("/mnt/d/e", "/mnt/h");
                 street_write("/mnt/h/i", "y"); rename("/mnt/h/g", "/mnt/\xff\n="));
        street_run(&s);
        assert_string_equal(street_lines(), "create /mnt/d\n"
                                            "create,modify,close_write /mnt/d/f\n"
                                            "create /mnt/d/e\n"
                                            "rename /mnt/d/f -> /mnt/d/e/g\n"
                                            "rename /mnt/d/e -> /mnt/h\n"
                                            "create,modify,close_write /mnt/h/i\n"
                                            "rename /mnt/h/g -> /mnt/\xff\n=\n");
        assert_int_equal(s.counters.events_read, 7);
        street_close(&s);
}

/* What was learned of the directories below ends with the rename, in its place. */
static void renamed_above(void **state)
{
        struct street s;

        street_open(&s, "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"rename\" ]; }; };", true, 0, 0);
        BY_CHILD(mkdir("/mnt/a", 0755); mkdir("/mnt/a/b", 0755); mkdir("/mnt/a/b/c", 0755);
                 street_write("/mnt/a/b/c/1", ""); rename("/mnt/a", "/mnt/z"); street_write("/mnt/z/b/c/2", ""));
        street_run(&s);
        assert_string_equal(street_lines(), "create /mnt/a\n"
                                            "create /mnt/a/b\n"
                                            "create /mnt/a/b/c\n"
                                            "create /mnt/a/b/c/1\n"
                                            "rename /mnt/a -> /mnt/z\n"
                                            "create /mnt/z/b/c/2\n");
        street_close(&s);
}

/* Every directory of a tree that is gone before the first event is looked at. */
static void removed_tree_keeps_its_paths(void **state)
{
        enum { DEPTH = 60 };
        struct street s;
        char path[1024];
        size_t len = (size_t)snprintf(path, sizeof(path), "/mnt");

        for (int i = 0; i < DEPTH; i++) {
                len += (size_t)snprintf(path + len, sizeof(path) - len, "/dir%d", i);
                assert_int_equal(mkdir(path, 0755), 0);
        }
        (void)snprintf(path + len, sizeof(path) - len, "/leaf");
        street_write(path, "");
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"delete\"; }; };", true, 0, 0);
        assert_int_equal(street_command((const char *const[]){ "/bin/rm", "-rf", "/mnt/dir0", NULL }), 0);
        street_run(&s);

        assert_int_equal(street_n_records, DEPTH + 1);
        assert_string_equal(street_records[0].path, path);
        for (size_t i = 1; i <= DEPTH; i++) {
                *strrchr(path, '/') = '\0';
                assert_string_equal(street_records[i].path, path);
                assert_int_equal(street_records[i].type, TYPE_DIRECTORY);
        }
        assert_int_equal(s.counters.events_unresolved, 0);
        street_close(&s);
}

/* The removal of the directory stands in a later window than that of its file. */
static void removed_in_the_next_window(void **state)
{
        struct street s;

        assert_int_equal(mkdir("/mnt/gone", 0755), 0);
        street_write("/mnt/gone/f", "");
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = [ \"create\", \"delete\" ]; }; };",
                    true, 0, 2);
        BY_CHILD(unlink("/mnt/gone/f"); make_files(60); rmdir("/mnt/gone"));
        street_run(&s);
        assert_int_equal(street_n_records, 62);
        assert_string_equal(street_records[0].path, "/mnt/gone/f");
        assert_string_equal(street_records[61].path, "/mnt/gone");
        street_close(&s);
}

static void deeper_than_path_max(void **state)
{
        enum { DEPTH = 30 };
        struct street s;
        char name[201] = {};
        int fd = open("/mnt", O_PATH | O_DIRECTORY | O_CLOEXEC);

        memset(name, 'n', sizeof(name) - 1);
        for (int i = 0; i < DEPTH; i++) {
                assert_int_equal(mkdirat(fd, name, 0755), 0);
                int next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                (void)close(fd);
                fd = next;
        }
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 0, 0);
        BY_CHILD((void)close(openat(fd, "deep", O_CREAT | O_WRONLY, 0644)));
        street_run(&s);
        const struct street_record *r = only_record();
        assert_non_null(r->path);
        assert_int_equal(strlen(r->path), 4 + DEPTH * 201 + 5);
        assert_string_equal(r->path + strlen(r->path) - 5, "/deep");
        assert_memory_equal(r->path, "/mnt/nnn", 8);
        (void)close(fd);
        street_close(&s);
}

/* ---- objects ---- */

static void file_rule_through_another_link(void **state)
{
        struct street s;

        street_write("/mnt/secret", "x");
        assert_int_equal(mkdir("/mnt/o", 0755), 0);
        assert_int_equal(link("/mnt/secret", "/mnt/o/hl"), 0);
        street_open(&s,
                    "watch: { one: { path = \"/mnt/secret\"; scope = \"file\";"
                    " events = [ \"modify\", \"attrib\" ]; }; };",
                    true, 0, 0);
        BY_CHILD(street_write("/mnt/o/hl", "y"));
        street_run(&s);
        assert_string_equal(street_lines(), "modify /mnt/o/hl\n");

        /* a changed link count is told by the object alone */
        street_clear();
        BY_CHILD(unlink("/mnt/o/hl"));
        street_run(&s);
        assert_string_equal(street_lines(), "attrib /mnt/secret\n");
        street_close(&s);
}

static void file_rule_follows_its_name(void **state)
{
        struct street s;

        street_write("/mnt/f", "1");
        assert_int_equal(mkdir("/mnt/o", 0755), 0);
        street_open(&s,
                    "watch: { one: { path = \"/mnt/f\"; scope = \"file\";"
                    " events = [ \"change\", \"delete_self\" ]; }; };",
                    true, 0, 0);
        BY_CHILD(street_write("/mnt/o/new", "22"); rename("/mnt/o/new", "/mnt/f");
                 link("/mnt/f", "/mnt/o/l"));
        street_run(&s);
        /* the end of the old object is told behind the rename; the new one is the rule's from then on */
        assert_string_equal(street_lines(), "rename /mnt/o/new -> /mnt/f\n"
                                            "attrib,delete_self /mnt/f\n"
                                            "attrib /mnt/f\n");
        street_clear();
        BY_CHILD(int fd = open("/mnt/o/l", O_WRONLY); (void)ftruncate(fd, 0); (void)close(fd));
        street_run(&s);
        assert_string_equal(street_lines(), "modify,close_write /mnt/o/l\n");

        street_clear();
        BY_CHILD(unlink("/mnt/f"); street_write("/mnt/o/l", "z"));
        street_run(&s);
        /* without its name the object is nobody's */
        assert_string_equal(street_lines(), "attrib /mnt/f\ndelete /mnt/f\n");
        street_close(&s);
}

static void open_file_without_a_name(void **state)
{
        struct street s;

        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"modify\"; }; };", true, 0, 0);
        street_write("/mnt/f", "");
        int fd = open("/mnt/f", O_WRONLY | O_CLOEXEC);
        assert_int_equal(unlink("/mnt/f"), 0);
        street_run(&s);
        street_clear();
        BY_CHILD((void)ftruncate(fd, 3));
        street_run(&s);
        assert_string_equal(only_record()->path, "/mnt/f");
        assert_int_equal(only_record()->path_state, PATH_DELETED);
        (void)close(fd);
        street_close(&s);
}

static void one_removal_is_one_record(void **state)
{
        struct street s;

        assert_int_equal(mkdir("/mnt/d", 0755), 0);
        street_open(&s,
                    "watch: { d: { path = \"/mnt/d\"; scope = \"directory\";"
                    " events = [ \"change\", \"delete_self\", \"move_self\" ]; }; };",
                    true, 0, 0);
        BY_CHILD(rename("/mnt/d", "/mnt/e"));
        street_run(&s);
        assert_string_equal(street_lines(), "rename /mnt/d -> /mnt/e\n");
        street_clear();
        BY_CHILD(rename("/mnt/e", "/mnt/d"));
        street_run(&s);
        assert_string_equal(street_lines(), "rename,move_self /mnt/e -> /mnt/d\n");
        street_clear();
        BY_CHILD(rmdir("/mnt/d"));
        street_run(&s);
        assert_string_equal(street_lines(), "delete,delete_self /mnt/d\n");
        street_close(&s);
}

/* ---- what is not recorded ---- */

static void own_events_are_left_out(void **state)
{
        struct street s;

        street_open(&s, ALL, true, 0, 0);
        street_write("/mnt/own", "x");
        street_run(&s);
        assert_int_equal(street_n_records, 0);
        assert_int_equal(s.counters.events_self, 1);
        assert_int_equal(s.counters.events_read, 1);
        street_close(&s);
}

static void counted_by_reason(void **state)
{
        struct street s;

        assert_int_equal(mkdir("/mnt/w", 0755), 0);
        street_open(&s,
                    "watch: { w: { path = \"/mnt/w\"; events = [ \"create\", \"attrib\" ]; }; };"
                    "ignore: { i: { path = \"/mnt/w/ignored\"; }; };",
                    true, 0, 0);
        BY_CHILD(street_write("/mnt/elsewhere", ""); street_write("/mnt/w/ignored", "");
                 street_write("/mnt/w/f", ""); unlink("/mnt/elsewhere"));
        street_run(&s);
        assert_string_equal(street_lines(), "create /mnt/w/f\n");
        assert_int_equal(s.counters.events_filtered, 1);
        assert_int_equal(s.counters.events_ignored, 1);
        assert_int_equal(s.counters.events_nameless, 1); /* the link count of what was removed */
        assert_int_equal(s.counters.events_read, 4);
        street_close(&s);
}

static void spent_ignore_stays_spent(void **state)
{
#define IGNORE_DB "ignore: { once: { path = \"/mnt/db\"; scope = \"file\"; until = \"modified\"; "
        static const char *const rules[] = {
                "watch: { all: { path = \"/mnt\"; events = [ \"open\", \"modify\" ]; }; };" IGNORE_DB "}; };",
                "watch: { all: { path = \"/mnt\"; events = [ \"modify\", \"open\", \"create\" ]; }; };" IGNORE_DB
                "}; };",
                "watch: { all: { path = \"/mnt\"; events = [ \"open\", \"modify\" ]; }; };" IGNORE_DB
                "events = [ \"open\", \"modify\" ]; }; };",
        };
#undef IGNORE_DB
        struct street s;

        street_write("/mnt/db", "");
        street_open(&s, rules[0], true, 0, 0);
        BY_CHILD((void)close(open("/mnt/db", O_RDONLY)));
        street_run(&s);
        assert_int_equal(street_n_records, 0);
        BY_CHILD((void)truncate("/mnt/db", 3));
        street_run(&s);
        assert_string_equal(street_lines(), "modify /mnt/db\n");
        street_clear();
        BY_CHILD((void)close(open("/mnt/db", O_RDONLY)));
        street_run(&s);
        assert_string_equal(street_lines(), "open /mnt/db\n");

        /* an unrelated reload does not arm it again, a change of its text does */
        street_load(&s, rules[1]);
        BY_CHILD((void)close(open("/mnt/db", O_RDONLY)));
        street_run(&s);
        assert_int_equal(street_n_records, 2);
        street_load(&s, rules[2]);
        BY_CHILD((void)close(open("/mnt/db", O_RDONLY)));
        street_run(&s);
        assert_int_equal(street_n_records, 2);
        street_close(&s);
}

static void overflow_is_one_gap(void **state)
{
        struct street s;

        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", false, 0, 0);
        BY_CHILD(make_files(17000));
        street_run(&s);
        assert_int_equal(s.counters.events_overflow, 1);
        assert_int_equal(street_n_notes, 1);
        assert_int_equal(s.world_changes, 1);
        assert_non_null(strstr(street_last_note, "FAWATCH_GAP=overflow FAWATCH_REASON="));
        assert_non_null(strstr(street_last_note, "FAWATCH_MOUNTPOINT=/mnt "));
        assert_int_equal(street_n_records, 16384);
        assert_string_equal(street_records[16383].path, "/mnt/16383");

        street_clear();
        BY_CHILD(street_write("/mnt/after", ""));
        street_run(&s);
        assert_string_equal(street_lines(), "create /mnt/after\n");
        street_close(&s);
}

/* What the watchdog is fed by: not that the loop turns. */
static void the_street_stands(void **state)
{
        struct street s;

        street_open(&s, ALL, true, 0, 0);
        assert_true(pipeline_moves(s.pipeline, &s.group, 1)); /* nothing waits */
        assert_true(pipeline_moves(s.pipeline, &s.group, 1));
        BY_CHILD(street_write("/mnt/a", ""));
        assert_false(pipeline_moves(s.pipeline, &s.group, 1));
        assert_false(pipeline_moves(s.pipeline, &s.group, 1));
        street_run(&s);
        BY_CHILD(street_write("/mnt/b", ""));
        assert_true(pipeline_moves(s.pipeline, &s.group, 1)); /* more waits, but some was read */
        assert_false(pipeline_moves(s.pipeline, &s.group, 1));
        street_run(&s);
        assert_true(pipeline_moves(s.pipeline, &s.group, 1));
        street_close(&s);
}

/* ---- without memory ---- */

static bool no_memory;

/* -Wl,--wrap: what is held of a window, and the hits of an event, grow by it. */
void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
        if (!no_memory)
                return __real_reallocarray(old, n, size);
        errno = ENOMEM;
        return NULL;
}

static void no_memory_is_a_gap_with_a_number(void **state)
{
        struct street s;

        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 0, 0);
        street_run(&s); /* the queue was seen empty: since then the gap is */
        BY_CHILD(make_files(7));
        no_memory = true;
        street_note_result = -ENOMEM;
        street_run(&s);
        assert_int_equal(street_n_records, 0);
        assert_int_equal(s.counters.events_no_memory, 7);
        assert_int_equal(street_n_notes, 1);

        /* that record could not be made, either: it is tried again, and names all */
        BY_CHILD(street_write("/mnt/a", ""));
        street_note_result = 0;
        street_run(&s);
        assert_int_equal(street_n_notes, 2);
        assert_non_null(strstr(street_last_note, "FAWATCH_GAP=memory FAWATCH_REASON=memory was short "));
        assert_non_null(strstr(street_last_note, "FAWATCH_MOUNTPOINT=/mnt FAWATCH_COUNT=8 FAWATCH_FROM_USEC=1"));
        assert_int_equal(s.losses, 1);
        assert_true(s.lost_since_usec > 0);

        /* it goes on, and nothing is told twice */
        no_memory = false;
        BY_CHILD(street_write("/mnt/b", ""));
        street_run(&s);
        assert_string_equal(street_lines(), "create /mnt/b\n");
        assert_int_equal(street_n_notes, 2);
        street_close(&s);
}

/* ---- without descriptors ---- */

static int open_error;

/* -Wl,--wrap: ENFILE is the whole machine's, and is not to be had otherwise. */
int __real_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
        if (open_error == 0)
                return __real_open_by_handle_at(mount_fd, handle, flags);
        errno = open_error;
        return -1;
}

static void make_files_below(int n)
{
        char path[32];

        for (int i = 0; i < n; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/d/e/%d", i);
                street_write(path, "");
        }
}

static void no_descriptor_is_a_gap_with_a_number(void **state)
{
        static const int errors[] = { ENFILE, EMFILE, ENOMEM };
        struct street s;

        for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                street_fresh_root();
                assert_int_equal(mkdir("/mnt/d", 0755), 0);
                assert_int_equal(mkdir("/mnt/d/e", 0755), 0); /* whose path is not known yet */
                street_open(&s, "watch: { d: { path = \"/mnt/d\"; events = \"create\"; }; };", true, 0, 0);
                street_run(&s);
                BY_CHILD(make_files_below(7));
                open_error = errors[i];
                street_run(&s);
                open_error = 0;
                assert_int_equal(street_n_records, 0);
                assert_int_equal(s.counters.events_unresolved, 0);
                assert_int_equal(s.counters.events_no_memory, 7);
                assert_int_equal(street_n_notes, 1);
                assert_non_null(strstr(street_last_note, errors[i] == ENOMEM ?
                                       "FAWATCH_GAP=memory FAWATCH_REASON=memory was short " :
                                       "FAWATCH_GAP=memory FAWATCH_REASON=file descriptors were short "));
                assert_non_null(strstr(street_last_note, "FAWATCH_COUNT=7 "));
                assert_int_equal(s.losses, 1);

                BY_CHILD(street_write("/mnt/d/e/b", ""));
                street_run(&s);
                assert_string_equal(street_lines(), "create /mnt/d/e/b\n");
                assert_int_equal(street_n_notes, 1);
                street_close(&s);
        }
}

/* ---- windows ---- */

static void small_windows_lose_nothing(void **state)
{
        struct street s;

        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 8192, 20);
        BY_CHILD(make_files(3000));
        street_run(&s);
        assert_int_equal(street_n_records, 3000);
        for (int i = 0; i < 3000; i++) {
                char path[32];
                (void)snprintf(path, sizeof(path), "/mnt/%d", i);
                assert_string_equal(street_records[i].path, path);
        }
        street_close(&s);
}

static void descriptors_are_closed(void **state)
{
        struct street s;
        size_t before = open_descriptors();
        int pipe_fds[2];
        char byte;

        assert_int_equal(pipe(pipe_fds), 0);
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 0, 0);
        pid_t child = fork();
        if (child == 0) {
                make_files(500);
                (void)write(pipe_fds[1], "x", 1);
                (void)pause();
                _exit(0);
        }
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        street_run(&s);
        assert_int_equal(street_n_records, 500);
        /* the group, the pipe, and the directory of the one process in the cache */
        assert_int_equal(open_descriptors(), before + 4);
        assert_int_equal(s.counters.actors_read, 1);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        street_close(&s);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        assert_int_equal(open_descriptors(), before);
}

/* What is read but never judged is closed, too. */
static void freed_with_a_window_in_it(void **state)
{
        struct street s;
        size_t before = open_descriptors();
        int pipe_fds[2];
        char byte;

        assert_int_equal(pipe(pipe_fds), 0);
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 0, 4);
        pid_t child = fork();
        if (child == 0) {
                make_files(4000);
                (void)write(pipe_fds[1], "x", 1);
                (void)pause();
                _exit(0);
        }
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        assert_int_equal(pipeline_dispatch(s.pipeline, s.group), 1);
        assert_true(street_n_records > 0 && street_n_records < 4000);
        street_close(&s);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        (void)close(pipe_fds[0]);
        (void)close(pipe_fds[1]);
        assert_int_equal(open_descriptors(), before);
}

/* Without FAN_RENAME a rename is two events. */
static void renames_of_old_kernels(void **state)
{
        static const struct group_key key = { .kind = GROUP_MAIN };
        struct street s;
        uint8_t buffer[4096];

        assert_int_equal(mkdir("/mnt/d", 0755), 0);
        street_write("/mnt/a", "");
        street_write("/mnt/x", "");
        street_open(&s, "watch: { all: { path = \"/mnt\"; events = \"rename\"; }; };", true, 0, 0);
        int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_DFID_NAME, O_RDONLY);
        assert_true(fd >= 0);
        assert_int_equal(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
                                       FAN_MOVED_FROM | FAN_MOVED_TO | FAN_ONDIR, AT_FDCWD, "/mnt"),
                         0);
        BY_CHILD(rename("/mnt/a", "/mnt/d/b"); rename("/mnt/x", "/mnt/y"));
        ssize_t n = read(fd, buffer, sizeof(buffer));
        assert_true(n > 0);
        assert_int_equal(pipeline_judge(s.pipeline, &key, buffer, (size_t)n), 0);
        assert_string_equal(street_lines(), "rename /mnt/a -> /mnt/d/b\nrename /mnt/x -> /mnt/y\n");
        assert_int_equal(s.counters.events_coalesced, 2);
        (void)close(fd);
        street_close(&s);
}

static void bad_bytes_are_counted(void **state)
{
        static const struct group_key key = { .kind = GROUP_MAIN };
        static const uint8_t bytes[30] = { 30, 0, 0, 0, 9 };
        struct street s;

        street_open(&s, ALL, true, 0, 0);
        assert_int_equal(pipeline_judge(s.pipeline, &key, bytes, sizeof(bytes)), -EBADMSG);
        assert_int_equal(s.counters.events_bad, 1);
        assert_int_equal(s.counters.events_read, 0);
        assert_int_equal(pipeline_judge(s.pipeline, &key, bytes, 0), 0);
        street_close(&s);
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(names_and_order, setup),
                cmocka_unit_test_setup(renamed_above, setup),
                cmocka_unit_test_setup(removed_tree_keeps_its_paths, setup),
                cmocka_unit_test_setup(removed_in_the_next_window, setup),
                cmocka_unit_test_setup(deeper_than_path_max, setup),
                cmocka_unit_test_setup(file_rule_through_another_link, setup),
                cmocka_unit_test_setup(file_rule_follows_its_name, setup),
                cmocka_unit_test_setup(open_file_without_a_name, setup),
                cmocka_unit_test_setup(one_removal_is_one_record, setup),
                cmocka_unit_test_setup(own_events_are_left_out, setup),
                cmocka_unit_test_setup(counted_by_reason, setup),
                cmocka_unit_test_setup(spent_ignore_stays_spent, setup),
                cmocka_unit_test_setup(overflow_is_one_gap, setup),
                cmocka_unit_test_setup(the_street_stands, setup),
                cmocka_unit_test_setup(no_memory_is_a_gap_with_a_number, setup),
                cmocka_unit_test_setup(no_descriptor_is_a_gap_with_a_number, setup),
                cmocka_unit_test_setup(small_windows_lose_nothing, setup),
                cmocka_unit_test_setup(descriptors_are_closed, setup),
                cmocka_unit_test_setup(freed_with_a_window_in_it, setup),
                cmocka_unit_test_setup(renames_of_old_kernels, setup),
                cmocka_unit_test_setup(bad_bytes_are_counted, setup),
        };
        const char *why_not = street_enter();

        cmocka_set_message_output(CM_OUTPUT_TAP);
        if (why_not) {
                (void)printf("1..0 # SKIP %s\n", why_not);
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
