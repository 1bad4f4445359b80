/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is explained is what then happens: random rule sets in random states, and
 * before each operation the daemon is asked what becomes of its events; then the
 * operation is done, one event at a time, and the records are compared.
 * FAWATCH_SEED=N repeats a run, FAWATCH_RUNS=N makes a longer one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "explain_path.h"
#include "ignore_actor.h"
#include "ignore_fixture.h"
#include "ignore_random.h"
#include "strbuf.h"

#define RUNS 40
#define STEPS 150

/* ---- predicted and seen ---- */

struct machine {
        struct ignore_street s;
        const char *in_force;
        uint64_t seed;
        size_t n_compared[EV_N_NAMES], n_reported[EV_N_NAMES], n_decided[4];
};

static struct explained *ask(struct machine *m, const char *path, const char *second)
{
        const struct explain_request q = {
                .street = &m->s.street, .generation = m->s.generation, .view = MOUNTS_OWN,
                .path = path, .second = second,
        };
        struct explained *e;

        assert_int_equal(explain_path(&q, &e), 0);
        return e;
}

/* Does a line of this path say this event?  "create,open /mnt/a <- /mnt/b" */
static bool line_says(const char *line, const char *event, const char *path, const char *old_path)
{
        size_t len = strlen(event), n_path = strlen(path);
        const char *space = strchr(line, ' '), *p = line;

        if (!space || strstr(line, " scan") || strncmp(space + 1, path, n_path) != 0)
                return false;
        const char *rest = space + 1 + n_path;
        if (old_path ? strncmp(rest, " <- ", 4) != 0 || !streq(rest + 4, old_path) : *rest != '\0' && *rest != ' ')
                return false;
        while (p < space) {
                size_t n = strcspn(p, ", ");

                if (n == len && strncmp(p, event, n) == 0)
                        return true;
                p += n + 1;
        }
        return false;
}

/* Under the path, of a rename also the old one; what is told of the object alone has one of both names. */
static bool was_reported(const struct explained *e, uint32_t event)
{
        const char *const path = e->names[0].canonical, *const to = e->n_names == 2 ? e->names[1].canonical : NULL;
        const char *told_as = event & (EV_DELETE_SELF | EV_MOVE_SELF) ? e->names[0].told_as : NULL;
        const char *name = vocab_name(event);
        bool found = false;

        for (size_t i = 0; i < ignore_n_lines(); i++) {
                const char *line = ignore_line(i);

                found = found || (to ? line_says(line, name, to, path) : line_says(line, name, path, NULL));
                found = found || (told_as && line_says(line, name, told_as, NULL));
                if (to && event == EV_MOVE_SELF)
                        found = found || line_says(line, name, to, NULL) || line_says(line, name, path, NULL);
        }
        return found;
}

static const struct explain_event *find_event(const struct explained *e, uint32_t event)
{
        for (size_t i = 0; i < e->explanation->n_events; i++)
                if (e->explanation->events[i].event == event)
                        return &e->explanation->events[i];
        return NULL;
}

static void compare(struct machine *m, const struct order *o, const struct explained *e, uint32_t event)
{
        const struct explain_event *predicted = find_event(e, event);
        unsigned bit = (unsigned)__builtin_ctz(event);

        assert_non_null(predicted);
        bool expected = predicted->decision == EXPLAIN_REPORTED;
        bool seen = was_reported(e, event);
        m->n_compared[bit]++;
        m->n_reported[bit] += seen;
        m->n_decided[predicted->decision]++;
        if (expected == seen)
                return;
        print_message("# FAWATCH_SEED=%ju: %s of %s %s: %s%s, yet %s\n%s\nrecords:\n%s", (uintmax_t)m->seed,
                      vocab_name(event), o->path, o->second, explain_decision_name(predicted->decision),
                      predicted->by && predicted->by->clause ? predicted->by->clause->name : "",
                      seen ? "reported" : "not reported", m->in_force, ignore_lines());
        fail();
}

/* What raises a single event is read exactly when the kernel is said to tell it. */
static void compare_read(struct machine *m, const struct order *o, const struct explained *e, uint32_t event,
                         uint64_t n_read)
{
        const struct explain_event *predicted = find_event(e, event);
        bool told = predicted->decision == EXPLAIN_REPORTED || predicted->decision == EXPLAIN_USERSPACE;

        if (n_read == told)
                return;
        print_message("# FAWATCH_SEED=%ju: %s of %s: %s, yet %ju events were read\n%s", (uintmax_t)m->seed,
                      vocab_name(event), o->path, explain_decision_name(predicted->decision), (uintmax_t)n_read,
                      m->in_force);
        fail();
}

/* The daemon's own looks apart. */
static uint64_t n_events(const struct machine *m)
{
        return m->s.street.counters.events_read - m->s.street.counters.events_self;
}

/* Asks, does, compares; false where the operation failed. */
static bool step(struct machine *m, const struct order *o, uint32_t events)
{
        struct explained *e = ask(m, o->path, o->second[0] ? o->second : NULL);
        uint64_t before = n_events(m);
        bool done;

        ignore_clear();
        done = actor_do(o) >= 0;
        ignore_run(&m->s);
        if (done && __builtin_popcount(events) == 1 && !(events & (EV_DELETE | EV_RENAME)))
                compare_read(m, o, e, events, n_events(m) - before);
        for (unsigned bit = 0; done && bit < EV_N_NAMES; bit++)
                if (events & (1u << bit))
                        compare(m, o, e, 1u << bit);
        explained_free(e);
        if (m->s.world_changes > 0)
                ignore_load(&m->s, m->in_force);
        m->s.world_changes = 0;
        return done;
}

/* Each event of a file that is opened, one by one. */
static void use_file(struct machine *m, const char *path, bool put)
{
        struct order o = an_order(put ? DO_OPEN_WRITE : DO_OPEN_READ, path, NULL);
        struct stat st;
        bool empty = stat(path, &st) < 0 || st.st_size == 0;

        if (!step(m, &o, EV_OPEN))
                return;
        o.action = put ? DO_WRITE : DO_READ;
        for (unsigned i = 0; i < 2; i++)
                (void)step(m, &o, put ? EV_MODIFY : empty || i > 0 ? 0 : EV_ACCESS);
        o.action = DO_CLOSE;
        (void)step(m, &o, put ? EV_CLOSE_WRITE : EV_CLOSE_NOWRITE);
}

static void use_directory(struct machine *m, const char *path)
{
        struct order o = an_order(DO_OPEN_DIR, path, NULL);

        if (!step(m, &o, EV_OPEN))
                return;
        o.action = DO_CLOSE;
        (void)step(m, &o, EV_CLOSE_NOWRITE);
}

static void move(struct machine *m, bool dirs)
{
        char from[128], to[128];
        struct stat st;

        (void)snprintf(from, sizeof(from), "%s", dirs ? random_dir() : random_file());
        (void)snprintf(to, sizeof(to), "%s", dirs ? random_dir() : random_file());
        if (streq(from, to)) /* nothing happens */
                return;
        struct stat other;
        if (stat(from, &st) == 0 && stat(to, &other) == 0 && st.st_ino == other.st_ino)
                return; /* nor here: two names of one file */
        const struct order o = an_order(DO_RENAME, from, to);
        (void)step(m, &o, EV_RENAME | EV_MOVE_SELF);
}

static bool has_one_name(const char *path)
{
        struct stat st;

        return lstat(path, &st) == 0 && st.st_nlink == 1;
}

static void one_step(struct machine *m)
{
        struct order o;

        switch (random_below(15)) {
        case 0: case 1:
                use_file(m, random_file(), true);
                return;
        case 2:
                use_file(m, random_file(), false);
                return;
        case 3:
                use_directory(m, random_dir());
                return;
        case 4: case 5:
                o = an_order(DO_CREATE, random_file(), NULL);
                (void)step(m, &o, EV_CREATE);
                return;
        case 6:
                o = an_order(DO_UNLINK, random_file(), NULL);
                (void)step(m, &o, EV_DELETE | (has_one_name(o.path) ? EV_DELETE_SELF : 0));
                return;
        case 7: { /* explained as a directory, which is not there yet */
                o = an_order(DO_MKDIR, random_dir(), NULL);
                strcat(o.path, "/");
                (void)step(m, &o, EV_CREATE);
                return;
        }
        case 8:
                o = an_order(DO_RMDIR, random_dir(), NULL);
                (void)step(m, &o, EV_DELETE | EV_DELETE_SELF);
                return;
        case 9:
                o = an_order(DO_CHMOD, random_below(2) ? random_file() : random_dir(), NULL);
                (void)step(m, &o, EV_ATTRIB);
                return;
        case 10:
                o = an_order(DO_TRUNCATE, random_file(), NULL);
                (void)step(m, &o, EV_MODIFY);
                return;
        case 11:
                move(m, false);
                return;
        case 12:
                move(m, true);
                return;
        case 13:
                o = an_order(DO_EXEC, random_file(), NULL);
                (void)step(m, &o, EV_OPEN | EV_OPEN_EXEC);
                return;
        default: /* what has two names, or has changed places, is a state to explain */
                o = an_order(random_below(2) ? DO_LINK : DO_EXCHANGE, random_file(), random_file());
                (void)step(m, &o, 0);
                return;
        }
}

static void once(struct machine *m, const char *fstype, uint64_t seed)
{
        _cleanup_strbuf_ struct strbuf rules = STRBUF_NULL, other_rules = STRBUF_NULL;

        m->seed = seed;
        random_begin(seed);
        random_rules(&rules, RANDOM_PLAIN);
        random_rules(&other_rules, RANDOM_PLAIN);
        m->in_force = strbuf_str(&rules);
        ignore_mount(fstype);
        ignore_do(random_furnish, NULL);
        actor_start();
        ignore_open(&m->s, m->in_force, true);
        for (unsigned i = 0; i < STEPS; i++) {
                if (i == STEPS / 2)
                        ignore_load(&m->s, m->in_force = strbuf_str(&other_rules));
                one_step(m);
        }
        ignore_close(&m->s);
        actor_end();
        ignore_unmount();
}

static void test_explained_is_what_happens(void **state)
{
        const char *seed_text = getenv("FAWATCH_SEED"), *runs_text = getenv("FAWATCH_RUNS");
        uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : 20250201;
        unsigned runs = runs_text ? (unsigned)strtoul(runs_text, NULL, 0) : seed_text ? 1 : RUNS;
        struct machine m = {};

        NEEDS_KERNEL();
        for (unsigned i = 0; i < runs; i++)
                once(&m, i % 4 == 3 ? "ext4" : "tmpfs", seed + i);
        for (unsigned bit = 0; bit < EV_N_NAMES; bit++)
                if (m.n_compared[bit] > 0)
                        print_message("# %s: %zu explained, %zu of them reported\n", vocab_name(1u << bit),
                                      m.n_compared[bit], m.n_reported[bit]);
        for (size_t i = 0; i < ELEMENTSOF(m.n_decided); i++) {
                print_message("# %s: %zu\n", explain_decision_name((enum explain_decision)i), m.n_decided[i]);
                assert_true(seed_text || m.n_decided[i] > 0);
        }
}

static int clean_up(void **state)
{
        if (!ignore_why_not())
                ignore_unmount();
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(test_explained_is_what_happens, clean_up) };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        ignore_enter();
        return cmocka_run_group_tests_name("explain-kernel", tests, NULL, NULL);
}
