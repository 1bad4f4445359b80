/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Events → journald through the whole last stretch (coalesce, limit, number,
 * record, spool, sink), against a bare loop that sends the same bytes made before.
 * A and B take turns, many times in one run, so that what else the machine does
 * falls on both; what counts is the median of the ratios.  Run it beside a journald
 * of its own: bench/journal.sh.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "reporter.h"

#define N_EVENTS 4000u
#define N_ROUNDS 31u
#define MIN_RATIO 0.80
#define MAX_RECORD_USEC 3.0
#define EVENTS_A_FLUSH 256u
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static uint64_t clock_usec(clockid_t clock)
{
        struct timespec t;

        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

static uint64_t monotonic_usec(void)
{
        return clock_usec(CLOCK_MONOTONIC);
}

static uint64_t realtime_usec(void)
{
        return clock_usec(CLOCK_REALTIME);
}

static int fail(const char *what, int error)
{
        fprintf(stderr, "bench-journal: %s: %s\n", what, strerror(-error));
        return EXIT_FAILURE;
}

/* ---- one rule, and an event with all that is usually known ---- */

static const char *const tags[] = { "bench" };
static struct rule watch = { .clause = { .name = "bench" }, .priority = 5, .coalesce_usec = COALESCE_UNSET,
                             .tags = { tags, 1 } };
static struct rules rules = { .watches = &watch, .n_watches = 1 };
static struct settings settings = { .coalesce_usec = USEC_PER_SEC, .facility = FACILITY_DAEMON,
                                    .unit_log = true, .spool_bytes = 64 * 1024 * 1024 };
static struct match_hit hit = { 0, EV_CREATE };
static const struct match_hits hits = { .v = &hit, .n = 1, .events = EV_CREATE };

static const struct actor actor = {
        .pid = 4242, .start_ticks = 77, .program_known = true, .comm = "cp", .exe = "/usr/bin/cp",
        .cmdline = { "cp -a /srv/data /srv/copy", 25 }, .uid = 1000, .euid = 1000, .gid = 1000, .egid = 1000,
        .loginuid = 1000, .user = "alice", .login_user = "alice", .session = "3", .tty = "pts/1",
        .ppid = 4000, .parent_comm = "bash",
        .ancestry = "bash(4000) \xe2\x86\x90 sshd(812) \xe2\x86\x90 systemd(1)",
        .unit = "session-3.scope", .slice = "user-1000.slice",
        .cgroup = "/user.slice/user-1000.slice/session-3.scope",
};

static struct event event_number(unsigned i, char path[64])
{
        struct event e = {
                .events = EV_CREATE, .fstype = "ext4", .sdev_major = 8, .sdev_minor = 1,
                .object = { .known = true, .type = TYPE_FILE, .dev_major = 8, .dev_minor = 1,
                            .ino = 100000 + i, .mode = 0100644, .uid = 1000, .gid = 1000,
                            .owner = "alice", .owner_group = "alice" },
                .attribution = ATTRIBUTION_VERIFIED, .actor = &actor, .read_realtime_usec = realtime_usec(),
        };

        e.path.p = path;
        e.path.len = (size_t)snprintf(path, 64, "/srv/copy/%03u/some-file-%u.dat", i / 100, i);
        return e;
}

/* ---- A: the bare loop ---- */

/* All records one behind the other; ends[i] is where record i ends. */
static int make_records(struct strbuf *all, size_t ends[N_EVENTS])
{
        for (unsigned i = 0; i < N_EVENTS; i++) {
                char path[64];
                struct event e = event_number(i, path);
                const struct record_context c = { .stream = "0123456789abcdef0123456789abcdef", .seq = i + 1,
                                                  .generation = 1, .settings = &settings, .rules = &rules };
                int r = record_event(&c, &e, &hits, e.read_realtime_usec, all);

                if (r < 0)
                        return r;
                ends[i] = all->len;
        }
        return 0;
}

static int run_bare(const struct strbuf *all, const size_t ends[N_EVENTS], uint64_t *ret_usec)
{
        const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        uint64_t begin = monotonic_usec();
        size_t start = 0;

        if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        for (unsigned i = 0; i < N_EVENTS; start = ends[i++])
                if (send(fd, all->data + start, ends[i] - start, MSG_NOSIGNAL) < 0) {
                        int error = -errno;

                        close(fd);
                        return error;
                }
        *ret_usec = monotonic_usec() - begin;
        close(fd);
        return 0;
}

/* ---- B: the reporter ---- */

/* Takes everything and keeps nothing: what is left is the making of records. */
static ssize_t null_send(struct sink *s, const struct iovec *records, size_t n)
{
        return (ssize_t)n;
}

static void null_destroy(struct sink *s) {}

static void wait_writable(struct reporter *r)
{
        struct pollfd writable = { .fd = reporter_poll_fd(r), .events = POLLOUT };

        (void)poll(&writable, 1, 1000);
}

static int run_reporter(const struct generation *g, struct sink *sink, uint64_t *ret_usec)
{
        struct counters counters = {};
        const struct reporter_params params = {
                .counters = &counters, .sink = sink, .stream = "0123456789abcdef0123456789abcdef",
                .realtime_usec = realtime_usec, .monotonic_usec = monotonic_usec,
        };
        _cleanup_(reporter_freep) struct reporter *r = NULL;
        uint64_t begin = monotonic_usec();
        int error = reporter_new(&params, &settings, &r);

        if (error < 0)
                return error;
        reporter_set_generation(r, g);
        for (unsigned i = 0; i < N_EVENTS; i++) {
                char path[64];
                struct event e = event_number(i, path);

                reporter_event(r, &e, &hits);
                if (i % EVENTS_A_FLUSH == 0)
                        (void)reporter_flush(r);
        }
        while (reporter_flush(r)) {
                if (reporter_sink_away(r, &error))
                        return -error;
                wait_writable(r);
        }
        *ret_usec = monotonic_usec() - begin;
        return counters.records_sent == N_EVENTS ? 0 : -ENOBUFS;
}

static int compare_doubles(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double rate(uint64_t usec)
{
        return N_EVENTS * (double)USEC_PER_SEC / (double)usec;
}

static int compare_with_journal(const struct generation *g)
{
        static size_t ends[N_EVENTS];
        _cleanup_strbuf_ struct strbuf all = STRBUF_NULL;
        uint64_t total_bare = 0, total_reporter = 0;
        double ratios[N_ROUNDS];
        int r = make_records(&all, ends);

        if (r < 0)
                return fail("records", r);
        printf("%u records of %zu bytes, %u rounds\n", N_EVENTS, all.len / N_EVENTS, N_ROUNDS);
        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t bare = 0, reporter = 0;
                struct sink *sink;

                if ((r = run_bare(&all, ends, &bare)) < 0)
                        return fail("bare loop", r);
                if ((r = sink_journal_new(NULL, &sink)) < 0 || (r = run_reporter(g, sink, &reporter)) < 0)
                        return fail("reporter", r);
                ratios[round] = (double)bare / (double)reporter;
                total_bare += bare;
                total_reporter += reporter;
        }
        qsort(ratios, N_ROUNDS, sizeof(*ratios), compare_doubles);
        printf("bare loop %.0f records/s, reporter %.0f records/s\n", N_ROUNDS * rate(total_bare),
               N_ROUNDS * rate(total_reporter));
        printf("median ratio %.2f (at least %.2f)\n", ratios[N_ROUNDS / 2], MIN_RATIO);
        return ratios[N_ROUNDS / 2] >= MIN_RATIO ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int measure_records(const struct generation *g)
{
        static const struct sink_ops ops = { .send = null_send, .destroy = null_destroy };
        struct sink sink = { .ops = &ops, .fd = -1 };
        double best = MAX_RECORD_USEC * 1000;

        for (unsigned round = 0; round < N_ROUNDS; round++) {
                uint64_t cpu = clock_usec(CLOCK_PROCESS_CPUTIME_ID), usec;
                int r = run_reporter(g, &sink, &usec);

                if (r < 0)
                        return fail("records", r);
                cpu = clock_usec(CLOCK_PROCESS_CPUTIME_ID) - cpu;
                best = MIN_OF(best, (double)cpu / N_EVENTS);
        }
        printf("making a record: %.2f us of processor time (at most %.2f)\n", best, MAX_RECORD_USEC);
        return best <= MAX_RECORD_USEC ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
        _cleanup_(world_freep) struct world *world = world_new();
        struct generation g = { .number = 1, .rules = &rules, .settings = &settings, .world = world };
        int failed = EXIT_FAILURE;

        if (!world || world_seal(world) < 0)
                return fail("world", -ENOMEM);
        world_finish(world);
        if (matcher_build(&rules, &settings, world, &g.matcher) < 0)
                return fail("matcher", -ENOMEM);
        failed = measure_records(&g);
        if (getenv("JOURNALD_PID")) /* not the machine's own: nobody wants these records there */
                failed |= compare_with_journal(&g);
        else
                puts("no journald of its own here: bench/journal.sh brings one");
        matcher_free(g.matcher);
        return failed;
}
