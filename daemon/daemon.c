/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Owns everything: start and stop.  The two streets meet here: the config
 * street (loader.c) hands over generations, the event street (pipeline.c) judges
 * what the groups report, and both end in the reporter.  What happens in between
 * is loop.c's.
 */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "answers.h"
#include "daemon.h"
#include "daemon_groups.h"
#include "gaps.h"
#include "loader.h"
#include "log.h"
#include "loop.h"
#include "notes.h"
#include "notify.h"
#include "tracking.h"

#define CACHED_DIRECTORIES 8192
#define CACHED_PROCESSES   1024
/* Shares of TimeoutStopSec=: what is still queued, then what still waits for the log. */
#define STOP_READ_USEC (8 * USEC_PER_SEC)
#define STOP_SEND_USEC (3 * USEC_PER_SEC)
#define STOP_POLL_MSEC 20

static uint64_t clock_usec(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

uint64_t daemon_realtime_usec(void)
{
        return clock_usec(CLOCK_REALTIME);
}

uint64_t daemon_monotonic_usec(void)
{
        return clock_usec(CLOCK_MONOTONIC);
}

/* ---- start ---- */

static void lost(void *userdata, uint64_t from_usec)
{
        gaps_recover(userdata, from_usec);
}

static void world_changed(void *userdata)
{
        loader_world_changed(userdata);
}

static int open_street(struct daemon *d)
{
        struct street *s = &d->street;
        const struct generation *g = d->generation;
        struct sink *sink;
        struct rlimit files;

        int r = d->options->log_stdout ? sink_stdout_new(STDOUT_FILENO, &sink)
                                       : sink_journal_new(NULL, &sink);
        if (r < 0)
                return r;
        const struct reporter_params reporter = {
                .counters = &s->counters,
                .sink = sink,
                .spool = d->heritage.spool.spool,
                .stream = d->stream,
                .realtime_usec = daemon_realtime_usec,
                .monotonic_usec = daemon_monotonic_usec,
                .published = answers_publish,
                .userdata = d,
        };
        r = reporter_new(&reporter, g->settings, &s->reporter);
        if (r < 0)
                return r;
        if ((r = names_new(&s->names)) < 0 ||
            (r = resolver_new(&s->counters, CACHED_DIRECTORIES, &s->resolver)) < 0 ||
            (r = attributor_new(&s->counters, s->names, CACHED_PROCESSES, &s->attributor)) < 0)
                return r;

        /* Before the first mark: what happens from then on is in the table. */
        tracking_apply(s, g->settings);

        /* Each event may bring a pidfd: read only as many as may be open at a time. */
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
        r = street_open_marks(s, g);
        if (r < 0)
                return r;
        const struct pipeline_params pipeline = {
                .learn = s->learn,
                .dirmarks = s->dirmarks,
                .until = s->until,
                .counters = &s->counters,
                .resolver = s->resolver,
                .attributor = s->attributor,
                .reporter = s->reporter,
                .names = s->names,
                .spool = d->heritage.spool.spool,
                .max_events = (size_t)files.rlim_cur / 2,
                .realtime_usec = daemon_realtime_usec,
                .world_changed = world_changed,
                .lost = lost,
                .userdata = d,
        };
        return pipeline_new(&pipeline, &s->pipeline);
}

static int open_loop(struct daemon *d)
{
        int r;
        if ((r = worker_new(d, &d->worker)) < 0 || (r = recovery_new(&d->recovery)) < 0 ||
            (r = loop_new(d, &d->loop)) < 0)
                log_message(LOG_ERR, "the event loop cannot be set up: %s", strerror(-r));
        return r;
}

static int begin(struct daemon *d)
{
        int r = d->runtime ? heritage_open(d) : 0;
        if (r < 0)
                return EXIT_TROUBLE;
        d->started_usec = daemon_realtime_usec();

        if (loader_watch_mounts(d) < 0)
                return EXIT_TROUBLE;
        if (d->runtime)
                self_test_run(runtime_dir(d->runtime), &d->self_test);
        r = loader_first(d);
        if (r < 0)
                return r == -ENOMEM ? EXIT_TROUBLE : EXIT_NO_RULES;
        if (heritage_open_spool(d) < 0)
                return EXIT_TROUBLE;
        r = daemon_open_marks(d);
        if (r < 0)
                return r == -ENOSYS ? EXIT_NO_FANOTIFY : r == -EPERM ? EXIT_NOT_PERMITTED : EXIT_TROUBLE;
        r = open_street(d);
        if (r < 0) {
                log_message(LOG_ERR, "the event street cannot be set up: %s", strerror(-r));
                return EXIT_TROUBLE;
        }
        if (!heritage_goes_on(&d->heritage)) /* else the queue is older than we are */
                d->queues_since_ns = daemon_monotonic_usec() * NSEC_PER_USEC;
        if (open_loop(d) < 0 || loader_begin(d) < 0 || answers_open(d, loop_event(d->loop)) < 0)
                return EXIT_TROUBLE;
        daemon_groups_changed(d);
        loop_start_watchdog(d);
        heritage_sign_of_life(d, false);
        daemon_publish_status(d, true);
        /* after a restart the files on the disk are still to be loaded: ready is when they are */
        if (d->texts->from != RULES_KEPT)
                daemon_reload_finished(d);
        return EXIT_FINE;
}

/* What must be right before anything is opened. */
static int check_place(struct daemon *d)
{
        const char *capability = fan_group_missing_capability();
        if (capability) {
                log_message(LOG_ERR,
                            "%s is missing: run as root, or as the service (systemctl start fawatchd)",
                            capability);
                return EXIT_NOT_PERMITTED;
        }
        if (options_ad_hoc(d->options))
                return EXIT_FINE;
        int r = runtime_open(&d->runtime);
        if (r == -EBUSY) {
                log_message(LOG_ERR,
                            "another fawatchd is running (systemctl status fawatchd); an observer beside "
                            "it: fawatchd --log=stdout --watch=PATH");
                return EXIT_SECOND_DAEMON;
        }
        if (r < 0) {
                log_message(LOG_ERR, "the runtime directory cannot be used: %s", strerror(-r));
                return EXIT_TROUBLE;
        }
        return EXIT_FINE;
}

/* ---- stop ---- */

/*
 * Nobody tells whether this is a stop or a restart: so the queue is read for as long as the
 * log still has to take something, and what is left goes to the next process, if there
 * is one.
 */
static void drain(struct daemon *d)
{
        uint64_t until = daemon_monotonic_usec() + STOP_READ_USEC;

        while (daemon_monotonic_usec() < until) {
                bool more = daemon_read_once(d), waits = reporter_flush(d->street.reporter);
                int error;

                if (!more && !waits)
                        break;
                if (reporter_sink_away(d->street.reporter, &error) && error == EPIPE)
                        break;
                if (!more) {
                        struct pollfd sink = { .fd = reporter_poll_fd(d->street.reporter),
                                               .events = POLLOUT };

                        (void)poll(&sink, 1, STOP_POLL_MSEC);
                }
        }
}

static void stop(struct daemon *d)
{
        notify_stopping();
        drain(d);
        /* the next process finds the plan's marks alone, and can read them without harm */
        learn_retire(d->street.learn);
        (void)daemon_read_once(d);
        pipeline_set_shedding(d->street.pipeline, 0);
        notes_stopping(d);
        size_t left = reporter_drain(d->street.reporter, daemon_monotonic_usec() + STOP_SEND_USEC);
        heritage_sign_of_life(d, true);
        if (left > 0)
                log_message(LOG_ERR, "%zu records could not be written: the log did not take them in time%s",
                            left, d->heritage.spool.spool ? "; after a restart they will be" : "");
}

static void daemon_done(struct daemon *d)
{
        control_free(d->control);
        worker_free(d->worker);
        recovery_free(d->recovery);
        recovery_gone_done(&d->gone);
        mount_monitor_free(d->monitor);
        loop_free(d->loop);
        street_done(&d->street);
        heritage_done(&d->heritage);
        generation_free(d->generation);
        build_texts_free(d->texts);
        loader_done(&d->loader);
        runtime_free(d->runtime);
}

int daemon_run(const struct options *options)
{
        struct daemon d = { .options = options };
        sigset_t handled;

        /* Before the first thread, which inherits it. */
        sigemptyset(&handled);
        sigaddset(&handled, SIGTERM);
        sigaddset(&handled, SIGINT);
        sigaddset(&handled, SIGHUP);
        sigprocmask(SIG_BLOCK, &handled, NULL);
        signal(SIGPIPE, SIG_IGN);
        /* A fixed threshold: glibc would raise it, and keep what the spool gives back after a storm. */
        (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
        umask(0077);

        int status = check_place(&d);
        if (status == EXIT_FINE)
                status = begin(&d);
        if (status == EXIT_FINE) {
                status = loop_run(d.loop);
                if (status < 0) {
                        log_message(LOG_ERR, "the event loop ended: %s", strerror(-status));
                        status = EXIT_TROUBLE;
                }
                stop(&d);
        }
        daemon_done(&d);
        return status;
}
