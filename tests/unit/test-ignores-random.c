/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel ignores change what wakes the daemon, never what it records: random rule
 * sets and random operations, twice, with kernel_ignores on and off.
 * FAWATCH_SEED=N repeats a run, FAWATCH_RUNS=N makes a longer one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ignore_fixture.h"
#include "strbuf.h"

#define RUNS       20
#define OPERATIONS 120

static const char *skip_reason;
static uint64_t random_state;

static uint32_t below(uint32_t n)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 20) % n;
}

#define ANY(array) (array)[below(ELEMENTSOF(array))]

static const char *const dirs[] = { "a", "b" };
static const char *const files[] = { "x.c", "y.o", "z" };
static const char *const patterns[] = { "*.c", "*.o", "z", "a/", "a/*", "/b/*.c", "**/x.c", "b/**", "c/z" };
static const char *const events[] = {
        "create", "delete", "modify", "close_write", "attrib", "open", "access", "close_nowrite",
};

/* ---- rules ---- */

static void add_path(struct strbuf *out, bool is_watch)
{
        strbuf_adds(out, IGNORE_ROOT);
        for (uint32_t depth = is_watch ? below(2) : below(4); depth > 0; depth--)
                strbuf_addf(out, "/%s", depth == 1 && below(3) == 0 ? ANY(files) : ANY(dirs));
}

static void add_clause(struct strbuf *out, bool is_watch)
{
        static const char *const scopes[] = { "file", "directory", "tree", "tree" };

        strbuf_adds(out, "path = \"");
        add_path(out, is_watch && below(3) > 0);
        const char *scope = ANY(scopes);
        strbuf_addf(out, "\"; scope = \"%s\"; ", scope);
        if (below(3) == 0 && !streq(scope, "file"))
                strbuf_addf(out, "match = \"%s\"; ", ANY(patterns));
        if (!is_watch && below(2) == 0)
                return;
        strbuf_adds(out, "events = [ ");
        if (below(4) > 0)
                strbuf_adds(out, "\"rename\", ");
        strbuf_addf(out, "\"%s\"", ANY(events));
        for (uint32_t n = is_watch ? 2 + below(5) : below(4); n > 0; n--)
                strbuf_addf(out, ", \"%s\"", ANY(events));
        strbuf_adds(out, " ]; ");
}

static void add_rules(struct strbuf *out)
{
        strbuf_adds(out, "watch: {\n");
        for (uint32_t i = 0, n = 1 + below(3); i < n; i++) {
                strbuf_addf(out, "  w%u: { ", i);
                add_clause(out, true);
                if (below(4) == 0)
                        strbuf_adds(out, "always = true; ");
                if (below(3) == 0) {
                        strbuf_adds(out, "except: { e: { ");
                        add_clause(out, false);
                        strbuf_adds(out, "}; }; ");
                }
                strbuf_adds(out, "};\n");
        }
        strbuf_adds(out, "};\nignore: {\n");
        for (uint32_t i = 0, n = below(4); i < n; i++) {
                strbuf_addf(out, "  i%u: { ", i);
                if (below(5) == 0) {
                        strbuf_adds(out, "until = \"modified\"; scope = \"file\"; path = \"" IGNORE_ROOT "/");
                        strbuf_addf(out, "%s/%s\"; };\n", ANY(dirs), ANY(files));
                        continue;
                }
                add_clause(out, false);
                strbuf_adds(out, "};\n");
        }
        strbuf_adds(out, "};\n");
}

/* ---- operations ---- */

static const char *file_path(void)
{
        static struct strbuf out[2];
        static unsigned turn;
        struct strbuf *b = &out[turn++ % 2];

        strbuf_reset(b);
        strbuf_adds(b, IGNORE_ROOT);
        for (uint32_t depth = below(4); depth > 0; depth--)
                strbuf_addf(b, "/%s", ANY(dirs));
        strbuf_addf(b, "/%s", ANY(files));
        return strbuf_str(b);
}

static const char *dir_path(void)
{
        static struct strbuf out[2];
        static unsigned turn;
        struct strbuf *b = &out[turn++ % 2];

        strbuf_reset(b);
        strbuf_adds(b, IGNORE_ROOT);
        for (uint32_t depth = 1 + below(3); depth > 0; depth--)
                strbuf_addf(b, "/%s", ANY(dirs));
        return strbuf_str(b);
}

static void open_and(const char *path, int flags, bool put)
{
        char c = 'x';
        int fd = open(path, flags | O_CLOEXEC, 0644);

        if (fd < 0)
                return;
        if ((put ? write(fd, &c, 1) : read(fd, &c, 1)) < 0)
                c = 0;
        (void)close(fd);
}

static void operate(void *arg)
{
        switch (*(uint32_t *)arg) {
        case 0:
        case 1:
        case 2:
        case 3:
                open_and(file_path(), O_WRONLY | O_CREAT | O_APPEND, true);
                break;
        case 4:
                open_and(file_path(), O_WRONLY | O_TRUNC, true);
                break;
        case 5:
        case 6:
                open_and(file_path(), O_RDONLY, false);
                break;
        case 7:
                open_and(dir_path(), O_RDONLY | O_DIRECTORY, false);
                break;
        case 8:
                (void)chmod(below(2) ? file_path() : dir_path(), below(2) ? 0700 : 0755);
                break;
        case 9:
                (void)unlink(file_path());
                break;
        case 10:
        case 11:
                (void)mkdir(dir_path(), 0755);
                break;
        case 12:
                (void)rmdir(dir_path());
                break;
        case 13:
                (void)rename(file_path(), file_path());
                break;
        case 14:
        case 15:
                (void)rename(dir_path(), dir_path());
                break;
        case 16:
                (void)renameat2(AT_FDCWD, dir_path(), AT_FDCWD, dir_path(), RENAME_EXCHANGE);
                break;
        case 17:
                (void)link(file_path(), file_path());
                break;
        case 18:
                (void)truncate(file_path(), 0);
                break;
        }
}

/* Directories three deep, and a file in most of them. */
static void furnish(void *arg)
{
        for (unsigned depth = 1; depth < 4; depth++)
                for (unsigned bits = 0; bits < 1u << depth; bits++) {
                        char path[64] = IGNORE_ROOT;

                        for (unsigned level = 0; level < depth; level++)
                                (void)strcat(strcat(path, "/"), dirs[bits >> level & 1]);
                        (void)mkdir(path, 0755);
                        (void)strcat(strcat(path, "/"), ANY(files));
                        open_and(path, O_WRONLY | O_CREAT, true);
                }
}

/* ---- twice ---- */

static int compare_lines(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What the operation was recorded as; what a look found does not count, it may say more. */
static void add_step(struct strbuf *out, unsigned step)
{
        const char *sorted[256];
        size_t n = 0;

        for (size_t i = 0; i < ignore_n_lines() && n < ELEMENTSOF(sorted); i++)
                if (!strstr(ignore_line(i), " scan"))
                        sorted[n++] = ignore_line(i);
        qsort(sorted, n, sizeof(*sorted), compare_lines);
        for (size_t i = 0; i < n; i++)
                strbuf_addf(out, "%u %s\n", step, sorted[i]);
        ignore_clear();
}

static bool legacy;

struct totals {
        uint64_t records, read[2], learned, taken_off, until;
};

static void once(const char *fstype, const char *const rules[2], bool on, uint64_t seed, struct strbuf *out,
                 struct totals *t)
{
        struct ignore_street s;
        const char *in_force = rules[0];

        ignore_mount(fstype);
        random_state = seed;
        ignore_do(furnish, NULL);
        if (legacy)
                ignore_open_legacy(&s, in_force);
        else
                ignore_open(&s, in_force, on);
        for (unsigned i = 0; i < OPERATIONS; i++) {
                uint32_t what = below(19);

                if (i == OPERATIONS / 2)
                        ignore_load(&s, in_force = rules[1]);
                ignore_do(operate, &what);
                (void)below(2);
                random_state += i * UINT64_C(0x9e3779b97f4a7c15); /* the child's draws are not seen here */
                ignore_run(&s);
                if (s.world_changes > 0)
                        ignore_load(&s, in_force);
                s.world_changes = 0;
                add_step(out, i);
        }
        t->read[on] += s.street.counters.events_read;
        t->learned += s.street.counters.ignores_learned;
        t->taken_off += s.street.counters.ignores_taken_off;
        struct strbuf report = STRBUF_NULL;
        if (reload_verify(&s.street, &report) != 0)
                print_message("# marks: %s", strbuf_str(&report));
        strbuf_done(&report);
        ignore_close(&s);
        ignore_unmount();
}

static void compare(const char *fstype, uint64_t seed, struct totals *t)
{
        _cleanup_strbuf_ struct strbuf first = STRBUF_NULL, second = STRBUF_NULL;
        _cleanup_strbuf_ struct strbuf on = STRBUF_NULL, off = STRBUF_NULL;

        random_state = seed;
        add_rules(&first);
        add_rules(&second);
        const char *const rules[] = { strbuf_str(&first), strbuf_str(&second) };
        once(fstype, rules, true, seed, &on, t);
        once(fstype, rules, false, seed, &off, t);
        if (streq(strbuf_str(&on), strbuf_str(&off)) && seed % 3 == 0) {
                /* ... and by the interface before FAN_MARK_IGNORE */
                strbuf_reset(&on);
                legacy = true;
                once(fstype, rules, true, seed, &on, t);
                legacy = false;
                if (!streq(strbuf_str(&on), strbuf_str(&off)))
                        print_message("# by the old interface\n");
        }
        if (!streq(strbuf_str(&on), strbuf_str(&off)))
                print_message("# FAWATCH_SEED=%ju on %s\n%s%s\n", (uintmax_t)seed, fstype, rules[0],
                              rules[1]);
        for (const char *p = strbuf_str(&off); *p; p++)
                t->records += *p == '\n';
        assert_string_equal(strbuf_str(&on), strbuf_str(&off));
}

static void test_on_and_off(void **state)
{
        const char *seed_text = getenv("FAWATCH_SEED"), *runs_text = getenv("FAWATCH_RUNS");
        uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 20250101;
        unsigned runs = runs_text ? (unsigned)strtoul(runs_text, NULL, 0) : seed_text ? 1 : RUNS;
        struct totals t = {};

        if (skip_reason) {
                print_message("# %s\n", skip_reason);
                skip();
        }
        for (unsigned i = 0; i < runs; i++) {
                compare("tmpfs", seed + i, &t);
                if (i % 4 == 0)
                        compare("ext4", seed + i, &t);
        }
        print_message("# %ju records; %ju events read with kernel ignores, %ju without; %ju learned, %ju "
                      "taken off\n",
                      (uintmax_t)t.records, (uintmax_t)t.read[1], (uintmax_t)t.read[0], (uintmax_t)t.learned,
                      (uintmax_t)t.taken_off);
        assert_true(t.records > 0);
}

static int clean_up(void **state)
{
        if (!skip_reason)
                ignore_unmount();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_on_and_off, clean_up) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        skip_reason = ignore_enter();
        return cmocka_run_group_tests_name("ignores-random", tests, NULL, NULL);
}
