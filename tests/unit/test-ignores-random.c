/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel ignores change what wakes the daemon, never what it records: random rule sets and
 * random operations, with reloads between them, twice: with kernel_ignores on and off.
 * FAWATCH_SEED=N repeats a run, FAWATCH_RUNS=N makes a longer one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "ignore_actor.h"
#include "ignore_fixture.h"
#include "ignore_random.h"
#include "strbuf.h"

#define RUNS       40
#define OPERATIONS 150
#define N_RULES    3

/* ---- operations ---- */

static struct order random_order(void)
{
        static const enum action of_file[] = {
                DO_APPEND, DO_APPEND, DO_APPEND, DO_REWRITE, DO_LOOK, DO_LOOK, DO_CHMOD, DO_UNLINK, DO_TRUNCATE,
                DO_CREATE, DO_EXEC, DO_OPEN_WRITE, DO_WRITE, DO_CLOSE, DO_OPEN_READ,
        };
        static const enum action of_dir[] = { DO_LIST, DO_CHMOD, DO_MKDIR, DO_MKDIR, DO_RMDIR };
        static const enum action of_dirs[] = { DO_RENAME, DO_RENAME, DO_EXCHANGE };
        static const enum action of_files[] = { DO_RENAME, DO_LINK, DO_EXCHANGE };

        switch (random_below(16)) {
        case 0: case 1: case 2: case 3: case 4: case 5: case 6:
                return an_order(of_file[random_below(ELEMENTSOF(of_file))], random_file(), NULL);
        case 7: case 8: case 9:
                return an_order(of_dir[random_below(ELEMENTSOF(of_dir))], random_dir(), NULL);
        case 10: case 11:
                return an_order(of_dirs[random_below(ELEMENTSOF(of_dirs))], random_dir(), random_dir());
        case 12: case 13:
                return an_order(of_files[random_below(ELEMENTSOF(of_files))], random_file(), random_file());
        case 14:
                return an_order(DO_NAME_TMPFILE, random_file(), NULL);
        default:
                if (random_below(2))
                        return an_order(DO_UNLINK, IGNORE_ROOT "/" RANDOM_LINK, NULL);
                return an_order(DO_SYMLINK, random_dir(), IGNORE_ROOT "/" RANDOM_LINK);
        }
}

/* ---- twice ---- */

static int compare_lines(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A file without a name is told under its inode's number, which may be any. */
static void add_line(struct strbuf *out, const char *line)
{
        size_t n = strcspn(line, "#");

        strbuf_adds(out, "  ");
        strbuf_add(out, line, n);
        strbuf_addf(out, "%s\n", line[n] != '\0' ? "#" : "");
}

/* What the operation was recorded as; what a look found does not count, it may say more. */
static void add_step(struct strbuf *out, unsigned step, const struct order *o)
{
        const char *sorted[256];
        size_t n = 0;

        for (size_t i = 0; i < ignore_n_lines() && n < ELEMENTSOF(sorted); i++)
                if (!strstr(ignore_line(i), " scan"))
                        sorted[n++] = ignore_line(i);
        qsort(sorted, n, sizeof(*sorted), compare_lines);
        strbuf_addf(out, "%u: %s %s %s\n", step, action_name(o->action), o->path, o->second);
        for (size_t i = 0; i < n; i++)
                add_line(out, sorted[i]);
        ignore_clear();
}

enum way { IN_USERSPACE, IN_KERNEL, IN_OLD_KERNEL, N_WAYS };

struct totals {
        uint64_t records, read[N_WAYS], learned, taken_off, reloads;
};

static void open_street(struct ignore_street *s, const char *rules, enum way way)
{
        if (way == IN_OLD_KERNEL)
                ignore_open_legacy(s, rules);
        else
                ignore_open(s, rules, way == IN_KERNEL);
}

static void verify(struct ignore_street *s)
{
        struct strbuf report = STRBUF_NULL;

        if (reload_verify(&s->street, &report) != 0)
                fail_msg("marks: %s", strbuf_str(&report));
        strbuf_done(&report);
}

static void once(const char *fstype, const struct strbuf rules[static N_RULES], enum way way, uint64_t seed,
                 struct strbuf *out, struct totals *t)
{
        struct ignore_street s;
        uint32_t in_force = 0;

        ignore_mount(fstype);
        random_begin(seed);
        ignore_do(random_furnish, NULL);
        actor_start();
        open_street(&s, strbuf_str(&rules[in_force]), way);
        for (unsigned i = 0; i < OPERATIONS; i++) {
                const struct order o = random_order();

                (void)actor_do(&o);
                /* now and then what just happened is still in the queue */
                if (random_below(seed % 2 ? 20 : 60) == 0) {
                        in_force = random_below(N_RULES);
                        strbuf_addf(out, "rules %u\n", in_force);
                        ignore_load(&s, strbuf_str(&rules[in_force]));
                        t->reloads++;
                }
                ignore_run(&s);
                if (s.world_changes > 0)
                        ignore_load(&s, strbuf_str(&rules[in_force]));
                s.world_changes = 0;
                t->records += ignore_n_lines();
                add_step(out, i, &o);
        }
        t->read[way] += s.street.counters.events_read;
        t->learned += s.street.counters.ignores_learned;
        t->taken_off += s.street.counters.ignores_taken_off;
        verify(&s);
        ignore_close(&s);
        actor_end();
        ignore_unmount();
}

static void print_lines(const char *title, const char *text, size_t len)
{
        size_t n;

        print_message("# %s\n", title);
        for (size_t at = 0; at < len; at += n + 1) {
                n = strcspn(text + at, "\n");
                print_message("#   %.*s\n", (int)MIN_OF(n, (size_t)800), text + at);
        }
}

/* Up to the first step in which they differ, and a little beyond. */
static void print_difference(const struct strbuf rules[static N_RULES], const char *a, const char *b)
{
        size_t same = 0, before;

        while (a[same] != '\0' && a[same] == b[same])
                same++;
        while (same > 0 && a[same - 1] != '\n')
                same--;
        before = MIN_OF(same, (size_t)2500);
        for (size_t i = 0; i < N_RULES; i++)
                print_lines("rules", strbuf_str(&rules[i]), rules[i].len);
        print_lines("before", a + same - before, before);
        print_lines("here", a + same, MIN_OF(strlen(a + same), (size_t)200));
        print_lines("in userspace", b + same, MIN_OF(strlen(b + same), (size_t)200));
}

static void compare(const char *fstype, uint64_t seed, struct totals *t)
{
        struct strbuf rules[N_RULES] = {}, out[N_WAYS] = {};
        enum way n_ways = seed % 3 == 0 ? N_WAYS : IN_OLD_KERNEL;

        random_begin(seed);
        for (size_t i = 0; i < N_RULES; i++)
                random_rules(&rules[i], seed % 4 < 2 ? RANDOM_CONDITIONS : RANDOM_PLAIN);
        for (enum way way = 0; way < n_ways; way++) {
                once(fstype, rules, way, seed, &out[way], t);
                if (streq(strbuf_str(&out[way]), strbuf_str(&out[IN_USERSPACE])))
                        continue;
                print_difference(rules, strbuf_str(&out[way]), strbuf_str(&out[IN_USERSPACE]));
                fail_msg("FAWATCH_SEED=%ju on %s, way %u", (uintmax_t)seed, fstype, (unsigned)way);
        }
        for (size_t i = 0; i < N_RULES; i++)
                strbuf_done(&rules[i]);
        for (size_t i = 0; i < N_WAYS; i++)
                strbuf_done(&out[i]);
}

static void test_on_and_off(void **state)
{
        const char *seed_text = getenv("FAWATCH_SEED"), *runs_text = getenv("FAWATCH_RUNS");
        uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 20250101;
        unsigned runs = runs_text ? (unsigned)strtoul(runs_text, NULL, 0) : seed_text ? 1 : RUNS;
        struct totals t = {};

        NEEDS_KERNEL();
        for (unsigned i = 0; i < runs; i++)
                compare((seed + i) % 5 == 4 ? "ext4" : "tmpfs", seed + i, &t);
        print_message("# %ju records, %ju reloads; %ju events read with kernel ignores, %ju without; %ju learned, "
                      "%ju taken off\n",
                      (uintmax_t)t.records, (uintmax_t)t.reloads, (uintmax_t)t.read[IN_KERNEL],
                      (uintmax_t)t.read[IN_USERSPACE], (uintmax_t)t.learned, (uintmax_t)t.taken_off);
        assert_true(t.records > 0);
}

static int clean_up(void **state)
{
        if (!ignore_why_not())
                ignore_unmount();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_on_and_off, clean_up) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("ignores-random", tests, NULL, NULL);
}
