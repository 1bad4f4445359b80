/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The reporter between a sink and clocks of the test's own. */

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#include <cmocka.h>

#include "reporter.h"
#include "sample-event.h"
#include "spool.h"

#define MSEC USEC_PER_MSEC
#define SEC USEC_PER_SEC
#define REALTIME0 UINT64_C(1700000000000000)

/* ---- clocks ---- */

static uint64_t clock_usec; /* monotonic; realtime runs along */
static uint64_t clock_step; /* by which each look at it moves it on */

static uint64_t monotonic_usec(void) { return clock_usec += clock_step; }
static uint64_t realtime_usec(void) { return REALTIME0 + clock_usec; }

/* ---- sink ---- */

struct fake_sink {
        struct sink sink;
        int answer;        /* 0: takes records; else this negative errno */
        size_t takes;      /* records before it says -EAGAIN */
        size_t most;       /* records a call */
        unsigned calls;
        struct strbuf got; /* the records one behind the other */
        size_t n_got;
};

static ssize_t fake_send(struct sink *s, const struct iovec *records, size_t n)
{
        struct fake_sink *f = (struct fake_sink *)s;

        f->calls++;
        assert_true(n > 0 && n <= 64);
        if (f->answer != 0)
                return f->answer;
        if (f->takes == 0)
                return -EAGAIN;
        n = MIN_OF(n, MIN_OF(f->takes, f->most));
        for (size_t i = 0; i < n; i++)
                strbuf_add(&f->got, records[i].iov_base, records[i].iov_len);
        f->takes -= n;
        f->n_got += n;
        return (ssize_t)n;
}

static void fake_destroy(struct sink *s)
{
        strbuf_done(&((struct fake_sink *)s)->got);
        free(s);
}

/* ---- the world around ---- */

struct street {
        struct fake_sink *sink;
        struct counters counters;
        struct settings settings;
        struct rule watches[3];
        struct rules rules;
        struct world *world;
        struct generation generation;
        struct reporter *reporter;
        size_t n_published;
        struct strbuf published;
};

static void published(void *userdata, const char *record, size_t len)
{
        struct street *s = userdata;

        s->n_published++;
        strbuf_reset(&s->published);
        strbuf_add(&s->published, record, len);
}

static void load(struct street *s, uint64_t number)
{
        matcher_free(s->generation.matcher);
        s->generation = (struct generation){
                .number = number, .rules = &s->rules, .settings = &s->settings, .world = s->world,
        };
        assert_int_equal(matcher_build(&s->rules, &s->settings, s->world, &s->generation.matcher), 0);
}

/* With a sink of its own, and this spool; what there was ends as if killed, but for its memory. */
static void another_reporter(struct street *s, struct spool *spool)
{
        static const struct sink_ops ops = { .send = fake_send, .destroy = fake_destroy };

        reporter_free(STEAL(s->reporter));
        s->sink = calloc(1, sizeof(*s->sink));
        assert_non_null(s->sink);
        *s->sink = (struct fake_sink){
                .sink = { .ops = &ops, .fd = 99 }, .takes = SIZE_MAX, .most = SIZE_MAX,
        };
        const struct reporter_params params = {
                .counters = &s->counters, .sink = &s->sink->sink, .spool = spool,
                .stream = "0123456789abcdef0123456789abcdef",
                .realtime_usec = realtime_usec, .monotonic_usec = monotonic_usec,
                .published = published, .userdata = s,
        };

        assert_int_equal(reporter_new(&params, &s->settings, &s->reporter), 0);
        reporter_set_generation(s->reporter, &s->generation);
}

static int setup(void **state)
{
        struct street *s = calloc(1, sizeof(*s));

        assert_non_null(s);
        clock_usec = 1000 * SEC;
        clock_step = 0;
        s->settings = (struct settings){ .coalesce_usec = SEC, .facility = FACILITY_DAEMON, .unit_log = true,
                                         .spool_bytes = 1024 * 1024 };
        s->watches[0] = (struct rule){ .clause = { .name = "etc" }, .priority = 5,
                                       .coalesce_usec = COALESCE_UNSET };
        s->watches[1] = (struct rule){ .clause = { .name = "few" }, .priority = 3, .index = 1,
                                       .limit_given = true, .limit_count = 2, .limit_usec = 10 * SEC };
        s->watches[2] = (struct rule){ .clause = { .name = "web" }, .priority = 6, .index = 2 };
        s->rules = (struct rules){ .watches = s->watches, .n_watches = 3 };
        s->world = world_new();
        assert_non_null(s->world);
        assert_int_equal(world_seal(s->world), 0);
        world_finish(s->world);
        load(s, 1);

        another_reporter(s, NULL);
        *state = s;
        return 0;
}

static int teardown(void **state)
{
        struct street *s = *state;

        reporter_free(s->reporter);
        matcher_free(s->generation.matcher);
        world_free(s->world);
        strbuf_done(&s->published);
        free(s);
        return 0;
}

/* ---- what happens, and what came of it ---- */

enum { ETC = 1, FEW = 2, WEB = 4 };

static void happen_by(struct street *s, uint32_t events, const char *path, unsigned rules,
                      const struct actor *actor)
{
        struct match_hit hit[3];
        struct match_hits hits = { .v = hit, .events = events };
        struct event e = sample_event;

        for (uint32_t i = 0; i < 3; i++)
                if (rules & (1u << i))
                        hit[hits.n++] = (struct match_hit){ i, events };
        e.events = events;
        e.path = (struct bytes){ path, strlen(path) };
        e.actor = actor;
        e.read_realtime_usec = realtime_usec();
        reporter_event(s->reporter, &e, &hits);
}

static void happen(struct street *s, uint32_t events, const char *path, unsigned rules)
{
        happen_by(s, events, path, rules, &sample_actor);
}

/* The values of some fields of all records that the sink got since the last
 * look: a line each, "-" for what is absent, repeated ones joined by "+". */
static void check_got(struct street *s, const char *const *fields, const char *expected)
{
        _cleanup_strbuf_ struct strbuf lines = STRBUF_NULL;
        struct strbuf values[10] = {};
        struct record_cursor c = { s->sink->got.data, s->sink->got.len, 0 };
        struct bytes name, value;
        bool any = false, more = s->sink->got.len > 0;

        while (more || any) {
                more = more && record_next(&c, &name, &value) == 1;
                if (any && (!more || (name.len == 7 && memcmp(name.p, "MESSAGE", 7) == 0))) {
                        for (size_t i = 0; fields[i]; i++) {
                                strbuf_adds(&lines, i > 0 ? " " : "");
                                strbuf_adds(&lines, values[i].len > 0 ? strbuf_str(&values[i]) : "-");
                                strbuf_reset(&values[i]);
                        }
                        strbuf_addc(&lines, '\n');
                        any = false;
                }
                if (!more)
                        continue;
                any = true;
                for (size_t i = 0; fields[i]; i++)
                        if (name.len == strlen(fields[i]) && memcmp(name.p, fields[i], name.len) == 0) {
                                strbuf_adds(&values[i], values[i].len > 0 ? "+" : "");
                                strbuf_add(&values[i], value.p, value.len);
                        }
        }
        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                strbuf_done(&values[i]);
        strbuf_reset(&s->sink->got);
        assert_string_equal(strbuf_str(&lines), expected);
}
#define CHECK(s, expected, ...) check_got(s, (const char *const[]){ __VA_ARGS__, NULL }, expected)

static void tick_to(struct street *s, uint64_t usec)
{
        clock_usec = usec;
        reporter_tick(s->reporter);
}

/* ---- tests ---- */

static void test_numbers(void **state)
{
        static const char *const fields[] = { "FAWATCH_REASON", "why", "FAWATCH_HINT", "", NULL };
        struct street *s = *state;

        happen(s, EV_CREATE, "/etc/a", ETC);
        reporter_note(s->reporter, RECORD_GAP, 3, fields, "gap of %d", 7);
        happen(s, EV_DELETE, "/etc/a", ETC | WEB);
        assert_int_equal(reporter_seq(s->reporter), 3);
        assert_int_equal(s->sink->n_got, 0); /* only flush sends */
        assert_int_equal(reporter_waiting(s->reporter, NULL), 3);
        assert_false(reporter_flush(s->reporter));
        assert_null(memmem(s->sink->got.data, s->sink->got.len, "FAWATCH_HINT", 12)); /* not even empty */
        CHECK(s, "1 5 create etc - -\n2 3 - - why -\n3 5 delete etc,web - -\n", "FAWATCH_SEQ", "PRIORITY",
              "FAWATCH_EVENTS", "FAWATCH_RULES", "FAWATCH_REASON", "FAWATCH_HINT");
        assert_int_equal(s->n_published, 3);
        assert_int_equal(s->counters.records_made, 3);
        assert_int_equal(s->counters.records_sent, 3);
        assert_int_equal(s->counters.events_recorded, 2);
        assert_int_equal(reporter_deadline(s->reporter), UINT64_MAX);
        assert_int_equal(reporter_poll_fd(s->reporter), -1);

        size_t n;
        const struct rule_counters *rules = reporter_rule_counters(s->reporter, &n);

        assert_int_equal(n, 3);
        assert_string_equal(rules[0].rule, "etc");
        assert_int_equal(rules[0].recorded, 2);
        assert_string_equal(rules[2].rule, "web");
        assert_int_equal(rules[2].recorded, 1);
}

/* The first at once, what follows within the window as one record at its end. */
static void test_coalesce(void **state)
{
        struct street *s = *state;

        happen(s, EV_MODIFY, "/etc/a", ETC);
        for (unsigned i = 0; i < 17; i++) {
                clock_usec += 10 * MSEC;
                happen(s, i == 3 ? EV_CLOSE_WRITE : EV_MODIFY, "/etc/a", ETC);
        }
        happen(s, EV_MODIFY, "/etc/b", ETC);
        reporter_flush(s->reporter);
        CHECK(s, "1 /etc/a modify - - -\n2 /etc/b modify - - -\n", "FAWATCH_SEQ", "FAWATCH_PATH",
              "FAWATCH_EVENTS", "FAWATCH_COUNT", "FAWATCH_FIRST_USEC", "FAWATCH_LAST_USEC");
        assert_int_equal(reporter_deadline(s->reporter), 1001 * SEC);
        tick_to(s, 1001 * SEC);
        CHECK(s, "3 /etc/a modify,close_write 17 1700001000010000 1700001000170000 -\n", "FAWATCH_SEQ",
              "FAWATCH_PATH", "FAWATCH_EVENTS", "FAWATCH_COUNT", "FAWATCH_FIRST_USEC", "FAWATCH_LAST_USEC",
              "FAWATCH_REALTIME_USEC");
        tick_to(s, 1010 * SEC);
        CHECK(s, "", "FAWATCH_SEQ");
        assert_int_equal(reporter_deadline(s->reporter), UINT64_MAX);
        assert_int_equal(s->counters.events_coalesced, 17);
        assert_int_equal(s->counters.events_recorded, 2);
        assert_int_equal(s->counters.records_made, 3);
}

/* The closing record has the fields of the first, though its event is long gone; one alone is no count. */
static void test_coalesced_fields(void **state)
{
        struct street *s = *state;
        char path[] = "/etc/a", comm[] = "vipw", unit[] = "x.service";
        struct actor actor = sample_actor;

        actor.comm = comm;
        actor.unit = unit;
        happen_by(s, EV_OPEN, path, ETC, &actor);
        happen_by(s, EV_MODIFY, path, ETC, &actor);
        memset(path, 'X', sizeof(path) - 1);
        memset(comm, 'X', sizeof(comm) - 1);
        memset(unit, 'X', sizeof(unit) - 1);
        memset(&actor, 0x55, sizeof(actor));
        tick_to(s, 1001 * SEC);
        CHECK(s,
              "1 /etc/a open verified - etc: /etc/a opened by vipw[4242] as root, login alice, x.service\n"
              "2 /etc/a modify verified - etc: /etc/a modified by vipw[4242] as root, login alice,"
              " x.service\n",
              "FAWATCH_SEQ", "FAWATCH_PATH", "FAWATCH_EVENTS", "FAWATCH_ATTRIBUTION", "FAWATCH_COUNT",
              "MESSAGE");
}

/* Another program of the same process within the window: named no longer as certain. */
static void test_coalesced_program(void **state)
{
        struct street *s = *state;
        struct actor other = sample_actor;

        other.comm = "cat";
        other.exe = "/bin/cat";
        happen(s, EV_MODIFY, "/etc/a", ETC);
        happen(s, EV_MODIFY, "/etc/a", ETC);
        happen_by(s, EV_MODIFY, "/etc/a", ETC, &other);
        tick_to(s, 1001 * SEC);
        CHECK(s, "1 verified - vipw\n2 process 2 vipw\n", "FAWATCH_SEQ", "FAWATCH_ATTRIBUTION",
              "FAWATCH_COUNT", "FAWATCH_COMM");
}

static bool no_memory;

/* -Wl,--wrap */
struct snapshot *__real_snapshot_new(const struct event *e, const struct match_hits *hits, bool ancestors);
struct snapshot *__wrap_snapshot_new(const struct event *e, const struct match_hits *hits, bool ancestors);
struct snapshot *__wrap_snapshot_new(const struct event *e, const struct match_hits *hits, bool ancestors)
{
        return no_memory ? NULL : __real_snapshot_new(e, hits, ancestors);
}

/* What could not be kept of a window is told when it closes; of another, that had memory later, all is. */
static void test_coalesced_without_memory(void **state)
{
        struct street *s = *state;

        happen(s, EV_MODIFY, "/etc/a", ETC);
        happen(s, EV_MODIFY, "/etc/b", ETC);
        no_memory = true;
        for (unsigned i = 0; i < 3; i++) {
                clock_usec += 10 * MSEC;
                happen(s, EV_MODIFY, "/etc/a", ETC);
                happen(s, EV_MODIFY, "/etc/b", ETC);
        }
        no_memory = false;
        happen(s, EV_MODIFY, "/etc/b", ETC);
        tick_to(s, 1001 * SEC);
        CHECK(s,
              "1 - /etc/a - - -\n2 - /etc/b - - -\n"
              "3 memory - 3 1700001000010000 1700001000030000\n4 - /etc/b 4 - -\n",
              "FAWATCH_SEQ", "FAWATCH_GAP", "FAWATCH_PATH", "FAWATCH_COUNT", "FAWATCH_FROM_USEC",
              "FAWATCH_UNTIL_USEC");
        assert_int_equal(s->counters.events_coalesced, 7);
        assert_int_equal(s->counters.events_no_memory, 0);
}

/* Create, delete, rename, attrib are never coalesced, and coalesce = "0" switches it off. */
static void test_not_coalesced(void **state)
{
        struct street *s = *state;

        for (unsigned i = 0; i < 2; i++) {
                happen(s, EV_CREATE | EV_MODIFY, "/etc/a", ETC);
                happen(s, EV_ATTRIB, "/etc/a", ETC);
                happen(s, EV_MODIFY, "/srv/a", WEB);
                happen(s, EV_MODIFY, "/srv/b", WEB | ETC); /* the shortest window counts */
        }
        reporter_flush(s->reporter);
        assert_int_equal(s->sink->n_got, 8);
        assert_int_equal(s->counters.events_coalesced, 0);
}

static void test_limit(void **state)
{
        struct street *s = *state;
        struct actor other = sample_actor;

        other.comm = "cat";
        happen(s, EV_CREATE, "/f/1", FEW);
        happen(s, EV_CREATE, "/f/2", FEW);
        clock_usec += SEC;
        happen(s, EV_CREATE, "/f/3", FEW);
        happen(s, EV_DELETE, "/f/4", FEW | WEB); /* the other rule has no limit */
        clock_usec += SEC;
        happen_by(s, EV_ATTRIB, "/f/5", FEW, &other);
        reporter_flush(s->reporter);
        CHECK(s, "1 /f/1 few 3\n2 /f/2 few 3\n3 /f/4 web 6\n", "FAWATCH_SEQ", "FAWATCH_PATH", "FAWATCH_RULES",
              "PRIORITY");
        assert_int_equal(s->counters.events_limited, 2);
        assert_int_equal(reporter_deadline(s->reporter), 1010 * SEC);
        tick_to(s, 1010 * SEC);
        CHECK(s,
              "4 e944a9435fab42b0ae7c72a013b471e8 few few 3 - create,delete,attrib 3 vipw 2+cat 1"
              " 1700001001000000 1700001002000000 few: 3 records were not made: over the rule's limit\n",
              "FAWATCH_SEQ", "MESSAGE_ID", "FAWATCH_RULE", "FAWATCH_SHED", "FAWATCH_COUNT", "FAWATCH_PROGRAM",
              "FAWATCH_FIRST_USEC", "FAWATCH_LAST_USEC", "MESSAGE");
}

static void test_limit_rules(void **state)
{
        struct street *s = *state;
        size_t n;

        for (unsigned i = 0; i < 5; i++)
                happen(s, EV_CREATE, "/f/1", FEW);

        const struct rule_counters *rules = reporter_rule_counters(s->reporter, &n);

        assert_string_equal(rules[1].rule, "few");
        assert_int_equal(rules[1].recorded, 2);
        assert_int_equal(rules[1].limited, 3);
        /* a reload ends the window: what was held back is told under the old rules */
        load(s, 2);
        reporter_set_generation(s->reporter, &s->generation);
        reporter_flush(s->reporter);
        assert_int_equal(s->sink->n_got, 3);
        happen(s, EV_CREATE, "/f/1", FEW);
        rules = reporter_rule_counters(s->reporter, &n);
        assert_int_equal(rules[1].recorded, 3);
        assert_int_equal(rules[1].limited, 3);
}

/* Counters stay with the name of their rule, whatever its place in the set. */
static void test_rule_names(void **state)
{
        struct street *s = *state;
        struct rule swap = s->watches[0];
        size_t n;

        happen(s, EV_CREATE, "/etc/a", ETC);
        happen(s, EV_CREATE, "/srv/a", WEB);
        happen(s, EV_CREATE, "/srv/b", WEB);
        s->watches[0] = s->watches[1]; /* few, home, web: etc has left, home is new, few never counted */
        s->watches[1] = swap;
        s->watches[1].clause.name = "home";
        load(s, 2);
        reporter_set_generation(s->reporter, &s->generation);
        happen(s, EV_CREATE, "/home/a", FEW); /* the second rule: home */
        happen(s, EV_CREATE, "/srv/c", WEB);

        const struct rule_counters *rules = reporter_rule_counters(s->reporter, &n);
        static const struct rule_counters expected[] = {
                { "etc", 1, 0, 0 }, { "few", 0, 0, 0 }, { "home", 1, 0, 0 }, { "web", 3, 0, 0 },
        };

        assert_int_equal(n, ELEMENTSOF(expected));
        for (size_t i = 0; i < n; i++) {
                assert_string_equal(rules[i].rule, expected[i].rule);
                assert_int_equal(rules[i].recorded, expected[i].recorded);
        }
        s->rules.n_watches = 0;
        load(s, 3);
        reporter_set_generation(s->reporter, &s->generation);
        rules = reporter_rule_counters(s->reporter, &n);
        assert_int_equal(n, 3); /* few is forgotten */
        assert_string_equal(rules[2].rule, "web");
}

/* A reload closes the windows, under the generation that opened them. */
static void test_reload_closes(void **state)
{
        struct street *s = *state;

        happen(s, EV_MODIFY, "/etc/a", ETC);
        happen(s, EV_MODIFY, "/etc/a", ETC);

        struct generation next = s->generation;

        next.number = 2;
        reporter_set_generation(s->reporter, &next);
        happen(s, EV_MODIFY, "/etc/a", ETC);
        reporter_set_generation(s->reporter, &s->generation);
        reporter_flush(s->reporter);
        CHECK(s, "1 1\n2 1\n3 2\n", "FAWATCH_SEQ", "FAWATCH_GENERATION");
}

/* Killed while it sheds: the next one tells of each rule what this one would have told. */
static void test_shed_outlives_the_process(void **state)
{
        struct street *s = *state;
        size_t size = spool_area_size(20000, 0);
        void *area = aligned_alloc(4096, size), *copy = aligned_alloc(4096, size);
        struct spool *spool;

        assert_true(area && copy);
        s->settings.spool_bytes = 20000;
        load(s, 1);
        spool_format(area, 20000, 0, "0123456789abcdef0123456789abcdef");
        assert_int_equal(spool_attach(area, size, &spool), 0);
        another_reporter(s, spool);
        s->sink->takes = 0;
        for (unsigned i = 0; i < 40; i++)
                happen(s, i % 4 == 0 ? EV_DELETE : EV_CREATE, "/srv/a", i % 4 == 0 ? ETC | WEB : WEB);
        size_t kept = reporter_waiting(s->reporter, NULL);
        uint64_t shed = s->counters.records_shed;
        assert_true(shed > 8);
        memcpy(copy, area, size); /* as the store has it after a kill */

        assert_int_equal(spool_attach(copy, size, &spool), 0);
        another_reporter(s, spool);
        s->sink->takes = SIZE_MAX;
        (void)reporter_drain(s->reporter, UINT64_MAX);
        assert_int_equal(s->sink->n_got, kept + 1);
        const char *told = strbuf_str(&s->sink->got);
        assert_non_null(strstr(told, "\nFAWATCH_SHED=web "));
        assert_non_null(strstr(told, "\nFAWATCH_SHED=etc,web "));
        assert_non_null(strstr(told, "\nFAWATCH_RULE=etc\n"));
        assert_non_null(strstr(told, "\nFAWATCH_SHED_SEQ="));
        reporter_free(STEAL(s->reporter));
        free(area);
        free(copy);
}

/* The log stands still: nothing blocks, the spool fills by priority, and one record accounts for the rest. */
static void test_shed(void **state)
{
        struct street *s = *state;
        size_t n;

        s->settings.spool_bytes = 20000;
        load(s, 1);
        reporter_set_generation(s->reporter, &s->generation);
        s->sink->takes = 0;
        for (unsigned i = 0; i < 40; i++)
                happen(s, EV_CREATE, "/srv/a", WEB); /* info: 70 % */

        size_t kept = reporter_waiting(s->reporter, NULL);

        assert_true(kept > 5 && kept < 35);
        assert_int_equal(s->counters.records_shed, 40 - kept);
        happen(s, EV_DELETE, "/f/1", FEW); /* err: still taken */
        assert_int_equal(reporter_waiting(s->reporter, NULL), kept + 1);
        assert_true(reporter_flush(s->reporter));
        assert_int_equal(reporter_poll_fd(s->reporter), 99);
        assert_int_equal(s->sink->n_got, 0);
        assert_int_equal(reporter_deadline(s->reporter), 1001 * SEC);

        const struct rule_counters *rules = reporter_rule_counters(s->reporter, &n);

        assert_int_equal(rules[2].recorded, kept);
        assert_int_equal(rules[2].shed, 40 - kept);

        /* told after a second, or as soon as half of the spool is empty */
        s->sink->takes = SIZE_MAX;
        clock_usec += 500 * MSEC;
        assert_true(reporter_flush(s->reporter)); /* the account came after the last batch */
        assert_false(reporter_flush(s->reporter));
        assert_int_equal(s->sink->n_got, kept + 2);

        char expected[200];
        struct record_cursor c = { s->sink->got.data, s->sink->got.len, 0 };
        struct bytes name, value, shed = {}, seq = {}, shed_seq = {};

        while (record_next(&c, &name, &value) == 1) {
                if (name.len == 12 && memcmp(name.p, "FAWATCH_SHED", 12) == 0)
                        shed = value;
                if (name.len == 16 && memcmp(name.p, "FAWATCH_SHED_SEQ", 16) == 0)
                        shed_seq = value;
                if (name.len == 11 && memcmp(name.p, "FAWATCH_SEQ", 11) == 0)
                        seq = value;
        }
        snprintf(expected, sizeof(expected), "web %zu %zu-40 create", 40 - kept, kept + 1);
        assert_int_equal(shed.len, strlen(expected));
        assert_memory_equal(shed.p, expected, shed.len);
        snprintf(expected, sizeof(expected), "%zu-40", kept + 1);
        assert_int_equal(shed_seq.len, strlen(expected));
        assert_memory_equal(shed_seq.p, expected, shed_seq.len);
        assert_memory_equal(seq.p, "42", 2); /* 41 was the deletion */
        assert_int_equal(s->counters.records_made + s->counters.records_shed, reporter_seq(s->reporter));
}

/* Every number is in a record or in an account, however long the log is behind. */
static void test_shed_all_accounted(void **state)
{
        struct street *s = *state;
        _cleanup_free_ unsigned char *seen = NULL;
        uint64_t last;

        s->settings.spool_bytes = 30000;
        load(s, 1);
        reporter_set_generation(s->reporter, &s->generation);
        for (unsigned i = 0; i < 3000; i++) {
                clock_usec += 2 * MSEC;
                s->sink->takes = i % 3 == 0; /* a third of what comes */
                happen(s, i % 7 ? EV_CREATE : EV_DELETE, "/srv/a", i % 5 ? WEB : ETC | WEB);
                reporter_flush(s->reporter);
                if (reporter_deadline(s->reporter) <= clock_usec)
                        reporter_tick(s->reporter);
        }
        s->sink->takes = SIZE_MAX;
        assert_int_equal(reporter_drain(s->reporter, clock_usec + SEC), 0);
        last = reporter_seq(s->reporter);
        seen = calloc(1, last + 1);
        assert_non_null(seen);

        struct record_cursor c = { s->sink->got.data, s->sink->got.len, 0 };
        struct bytes name, value;
        uint64_t counted = 0;

        while (record_next(&c, &name, &value) == 1) {
                char text[2048];

                snprintf(text, sizeof(text), "%.*s", (int)value.len, value.p);
                if (name.len == 11 && memcmp(name.p, "FAWATCH_SEQ", 11) == 0)
                        seen[strtoull(text, NULL, 10)]++;
                if (name.len == 13 && memcmp(name.p, "FAWATCH_COUNT", 13) == 0)
                        counted += strtoull(text, NULL, 10);
                if (name.len != 16 || memcmp(name.p, "FAWATCH_SHED_SEQ", 16) != 0)
                        continue;
                assert_null(strchr(text, '(')); /* exact */
                for (char *p = text; *p; p += *p == ',') {
                        uint64_t from = strtoull(p, &p, 10), to = *p == '-' ? strtoull(p + 1, &p, 10) : from;

                        for (; from <= to; from++)
                                seen[from]++;
                }
        }
        for (uint64_t i = 1; i <= last; i++)
                assert_int_equal(seen[i], 1);
        assert_int_equal(counted, s->counters.records_shed);
        assert_true(counted > 1000);
        assert_int_equal(s->counters.records_made, s->counters.records_sent);
}

/* The socket is gone: tried again later and later; what waits is kept, and then tells its own time. */
static void test_away(void **state)
{
        static const uint64_t waits[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000 };
        struct street *s = *state;
        int error = 0;

        s->sink->answer = -ECONNREFUSED;
        happen(s, EV_CREATE, "/etc/a", ETC);
        assert_true(reporter_flush(s->reporter));
        for (size_t i = 0; i < ELEMENTSOF(waits); i++) {
                unsigned calls = s->sink->calls;

                assert_true(reporter_sink_away(s->reporter, &error));
                assert_int_equal(error, ECONNREFUSED);
                assert_int_equal(reporter_poll_fd(s->reporter), -1);
                assert_int_equal(reporter_deadline(s->reporter), clock_usec + waits[i] * MSEC);
                clock_usec += waits[i] * MSEC - 1;
                assert_true(reporter_flush(s->reporter));
                assert_int_equal(s->sink->calls, calls); /* not before its time */
                clock_usec++;
                reporter_tick(s->reporter);
                assert_int_equal(s->sink->calls, calls + 1);
        }
        s->sink->answer = 0;
        happen(s, EV_DELETE, "/etc/a", ETC);
        tick_to(s, clock_usec + 5 * SEC);
        assert_false(reporter_sink_away(s->reporter, &error));
        assert_int_equal(s->counters.send_errors, 9);
        CHECK(s, "1 1700001000000000\n2 1700001016300000\n", "FAWATCH_SEQ", "FAWATCH_REALTIME_USEC");
        happen(s, EV_CREATE, "/etc/a", ETC);
        reporter_flush(s->reporter);
        CHECK(s, "3 -\n", "FAWATCH_SEQ", "FAWATCH_REALTIME_USEC");
}

/* A closed standard output is final. */
static void test_pipe_closed(void **state)
{
        struct street *s = *state;
        int error = 0;

        s->sink->answer = -EPIPE;
        happen(s, EV_CREATE, "/etc/a", ETC);
        assert_true(reporter_flush(s->reporter));
        assert_true(reporter_sink_away(s->reporter, &error));
        assert_int_equal(error, EPIPE);
        assert_int_equal(reporter_deadline(s->reporter), UINT64_MAX);
        assert_int_equal(reporter_drain(s->reporter, clock_usec + SEC), 1);
        assert_int_equal(s->sink->calls, 1);
}

/* What waits does not keep the loop from reading: a flush is bounded. */
static void test_bounded_flush(void **state)
{
        struct street *s = *state;

        s->settings.spool_bytes = 16 * 1024 * 1024;
        load(s, 1);
        reporter_set_generation(s->reporter, &s->generation);
        s->sink->most = 10;
        for (unsigned i = 0; i < 1500; i++)
                happen(s, EV_CREATE, "/etc/a", ETC);
        assert_true(reporter_flush(s->reporter));
        assert_true(s->sink->n_got >= 1024 && s->sink->n_got < 1100);
        assert_int_equal(reporter_poll_fd(s->reporter), 99);
        s->sink->sink.fd = -1; /* a file: nothing to poll, so at once */
        assert_int_equal(reporter_poll_fd(s->reporter), -1);
        assert_int_equal(reporter_deadline(s->reporter), 0);
        assert_false(reporter_flush(s->reporter));
        assert_int_equal(s->sink->n_got, 1500);
}

static void test_drain(void **state)
{
        struct street *s = *state;

        happen(s, EV_MODIFY, "/etc/a", ETC);
        happen(s, EV_MODIFY, "/etc/a", ETC);
        s->sink->takes = 1;
        s->sink->sink.fd = -1;
        clock_step = 100 * MSEC; /* no room comes: it ends all the same */
        assert_int_equal(reporter_drain(s->reporter, clock_usec + 2 * SEC), 1);
        s->sink->takes = SIZE_MAX;
        assert_int_equal(reporter_drain(s->reporter, clock_usec + 2 * SEC), 0);
        assert_int_equal(s->sink->n_got, 2);
}

/* A forwarder that writes because of each record: comes to rest, and is named with the cure. */
static void test_feedback(void **state)
{
        static const char hint[] = "ignore: { forwarder: { path = \"/var/log/copy \\\"x\\\"\"; }; };";
        struct street *s = *state;
        size_t before = 0;

        for (unsigned i = 0; i < 400 && clock_usec < 1100 * SEC; i++) {
                uint64_t deadline;

                reporter_flush(s->reporter);
                if (i == 0 || s->sink->n_got > before) { /* it got a record and writes */
                        before = s->sink->n_got;
                        clock_usec += 5 * MSEC;
                        happen(s, EV_MODIFY, "/var/log/copy \"x\"", ETC);
                        continue;
                }
                deadline = reporter_deadline(s->reporter);
                assert_true(deadline < UINT64_MAX);
                tick_to(s, MAX_OF(deadline, clock_usec));
        }

        struct record_cursor c = { s->sink->got.data, s->sink->got.len, 0 };
        struct bytes name, value;
        unsigned n = 0;

        while (record_next(&c, &name, &value) == 1)
                if (name.len == 12 && memcmp(name.p, "FAWATCH_HINT", 12) == 0) {
                        n++;
                        assert_int_equal(value.len, strlen(hint));
                        assert_memory_equal(value.p, hint, value.len);
                }
        assert_int_equal(n, 1);
        assert_true(s->sink->n_got < 60);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(test_numbers),      T(test_coalesce),     T(test_coalesced_fields), T(test_coalesced_without_memory),
                T(test_coalesced_program),                  T(test_not_coalesced),
                T(test_limit),        T(test_limit_rules),  T(test_rule_names),
                T(test_reload_closes), T(test_shed),        T(test_shed_all_accounted),
                T(test_shed_outlives_the_process),
                T(test_away),         T(test_pipe_closed),  T(test_bounded_flush),
                T(test_drain),        T(test_feedback),
        };

        return cmocka_run_group_tests_name("reporter", tests, NULL, NULL);
}
