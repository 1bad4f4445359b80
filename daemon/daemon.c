/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Owns everything and the event loop.  The two streets meet here: the config
 * street (loader.c) hands over generations, the event street (pipeline.c) judges
 * what the groups report, and both end in the reporter.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "control_json.h"
#include "coverage.h"
#include "daemon.h"
#include "gaps.h"
#include "loader.h"
#include "log.h"
#include "notes.h"
#include "notify.h"
#include "tracking.h"

#define CACHED_DIRECTORIES 8192
#define CACHED_PROCESSES   1024
/* Shares of TimeoutStopSec=: what is still queued, then what still waits for the log. */
#define STOP_READ_USEC       (8 * USEC_PER_SEC)
#define STOP_SEND_USEC       (3 * USEC_PER_SEC)
#define STOP_POLL_MSEC       20
/* Windows of each group that are read before it is replaced. */
#define RENEW_ROUNDS 64
#define STATUS_INTERVAL_USEC USEC_PER_SEC
/* While the log has no room for what a scan finds. */
#define RECOVERY_PAUSE_USEC (50 * USEC_PER_MSEC)
/* The loop's own default of 250 ms would show in every window that closes. */
#define DEADLINE_ACCURACY_USEC (10 * USEC_PER_MSEC)
/* The kernel makes at most fs.fanotify.max_user_groups (128) for a user. */
#define MAX_GROUPS 128

struct loop {
        sd_event *event;
        sd_event_source *groups[MAX_GROUPS];
        size_t n_groups;
        sd_event_source *sink;     /* while the sink is full */
        sd_event_source *deadline; /* the reporter's next thing to do */
        sd_event_source *heartbeat;
        sd_event_source *recovery; /* more was found than the log has room for */
        sd_event_source *watchdog;
        uint64_t watchdog_usec;
        sd_event_source *status; /* armed only after activity */
        uint64_t status_usec;    /* monotonic, of the last status */
        int ignores_error;       /* positive errno that was logged, 0 = none is in the way */
};

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

/* ---- status ---- */

static void write_status(struct daemon *d)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;

        d->loop->status_usec = daemon_monotonic_usec();
        notes_stuck(d);
        notes_status_line(d, &line);
        notify_status(strbuf_str(&line));
        if (!d->runtime)
                return;
        const struct runtime_status status = {
                .counters = &d->street.counters,
                .generation = d->generation->number,
                .seq = reporter_seq(d->street.reporter),
                .waiting = reporter_waiting(d->street.reporter, NULL),
                .rules = d->generation->rules->n_watches,
                .marks = marks_placed(d->street.marks)->n,
        };
        int r = runtime_write_status(d->runtime, &status);
        if (r < 0)
                log_message(LOG_WARNING, "the status file cannot be written: %s", strerror(-r));
}

void daemon_publish_status(struct daemon *d, bool now)
{
        struct loop *l = d->loop;
        uint64_t due = l->status_usec + STATUS_INTERVAL_USEC;
        int armed;

        if (now || daemon_monotonic_usec() >= due) {
                (void)sd_event_source_set_enabled(l->status, SD_EVENT_OFF);
                write_status(d);
        } else if (sd_event_source_get_enabled(l->status, &armed) == 0) {
                (void)sd_event_source_set_time(l->status, due);
                (void)sd_event_source_set_enabled(l->status, SD_EVENT_ONESHOT);
        }
}

void daemon_reload_finished(struct daemon *d)
{
        _cleanup_strbuf_ struct strbuf line = STRBUF_NULL;
        notes_status_line(d, &line);
        notify_ready(strbuf_str(&line));
}

/* ---- the end of the event street: sending ---- */

static int on_sink(sd_event_source *s, int fd, uint32_t revents, void *userdata);

static void after_events(struct daemon *d)
{
        struct loop *l = d->loop;
        struct reporter *r = d->street.reporter;
        bool waits = reporter_flush(r);
        int fd = reporter_poll_fd(r), error;

        if (reporter_sink_away(r, &error) && error == EPIPE) {
                log_message(LOG_ERR, "standard output was closed");
                (void)sd_event_exit(l->event, EXIT_TROUBLE);
                return;
        }
        /* The descriptor is another after each new connection: the source lives as long as we wait. */
        l->sink = sd_event_source_disable_unref(l->sink);
        if (waits && fd >= 0 && sd_event_add_io(l->event, &l->sink, fd, EPOLLOUT, on_sink, d) < 0)
                log_message(LOG_WARNING, "the log cannot be waited for; tried again with the next event");
        uint64_t deadline = MIN_OF(reporter_deadline(r), coverage_deadline(d));
        if (deadline == UINT64_MAX) {
                (void)sd_event_source_set_enabled(l->deadline, SD_EVENT_OFF);
        } else {
                (void)sd_event_source_set_time(l->deadline, deadline);
                (void)sd_event_source_set_enabled(l->deadline, SD_EVENT_ONESHOT);
        }
}

static int on_sink(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        after_events(userdata);
        return 0;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata)
{
        struct daemon *d = userdata;
        reporter_tick(d->street.reporter);
        coverage_tick(d);
        after_events(d);
        return 0;
}

static int on_status(sd_event_source *s, uint64_t usec, void *userdata)
{
        write_status(userdata);
        return 0;
}

static int on_heartbeat(sd_event_source *s, uint64_t usec, void *userdata)
{
        struct daemon *d = userdata;
        notes_alive(d);
        heritage_sign_of_life(d, false);
        after_events(d);
        daemon_publish_status(d, true);
        (void)sd_event_source_set_time_relative(s, d->generation->settings->heartbeat_usec);
        (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        return 0;
}

/* ---- the beginning: the groups ---- */

static struct fan_group *group_of(struct daemon *d, int fd)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(d->street.marks, &groups);

        for (size_t i = 0; i < n; i++)
                if (fan_group_fd(groups[i]) == fd)
                        return groups[i];
        return NULL;
}

/* A shortage of marks is said once, and its end. */
static void watch_ignores(struct daemon *d)
{
        struct learn_status learned;

        learn_status(d->street.learn, &learned);
        if (learned.error == d->loop->ignores_error)
                return;
        d->loop->ignores_error = learned.error;
        if (learned.error != 0)
                log_message(LOG_WARNING,
                            "no more ignore marks can be placed (%s): what is ignored is filtered here for now",
                            strerrorname_np(learned.error));
        else
                log_message(LOG_NOTICE, "ignore marks are placed again");
}

static int on_group(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        struct daemon *d = userdata;
        struct fan_group *group = group_of(d, fd);
        int r = group ? pipeline_dispatch(d->street.pipeline, group) : -EBADF;

        if (r < 0) {
                /* A new start is the only cure: systemd gives it. */
                log_message(LOG_ERR, "events cannot be read: %s", strerror(-r));
                return sd_event_exit(d->loop->event, EXIT_TROUBLE);
        }
        watch_ignores(d);
        if (r == 1 || pipeline_shedding(d->street.pipeline) > 0)
                gaps_watch_queue(d);
        after_events(d);
        daemon_publish_status(d, false);
        return 0;
}

void daemon_groups_changed(struct daemon *d)
{
        struct loop *l = d->loop;
        struct fan_group *const *groups;
        size_t n = MIN_OF(marks_groups(d->street.marks, &groups), (size_t)MAX_GROUPS);

        for (size_t i = 0; i < l->n_groups; i++)
                l->groups[i] = sd_event_source_disable_unref(l->groups[i]);
        l->n_groups = 0;
        for (size_t i = 0; i < n; i++) {
                int r = sd_event_add_io(l->event, &l->groups[l->n_groups], fan_group_fd(groups[i]), EPOLLIN,
                                        on_group, d);
                if (r < 0)
                        log_message(LOG_ERR, "a fanotify group cannot be watched: %s", strerror(-r));
                else
                        l->n_groups++;
        }
        tracking_watch_groups(&d->street, d->queues_since_ns);
        d->queues_since_ns = 0;
        /* A reload may have another heartbeat, and wrote records of its own. */
        (void)sd_event_source_set_time_relative(l->heartbeat, d->generation->settings->heartbeat_usec);
        (void)sd_event_source_set_enabled(l->heartbeat, d->generation->settings->heartbeat_usec > 0
                                                                        ? SD_EVENT_ONESHOT
                                                                        : SD_EVENT_OFF);
        after_events(d);
}

/* ---- gaps ---- */

static void lost(void *userdata, uint64_t from_usec)
{
        gaps_recover(userdata, from_usec);
}

static void take_found(struct daemon *d)
{
        sd_event_source *s = d->loop->recovery;

        if (gaps_take(d)) {
                (void)sd_event_source_set_time_relative(s, RECOVERY_PAUSE_USEC);
                (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        }
        after_events(d);
}

static int on_found(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        struct daemon *d = userdata;
        eventfd_t count;

        (void)eventfd_read(fd, &count);
        take_found(d);
        return 0;
}

/* The walks over directories have marked some. */
static int on_directories(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        struct daemon *d = userdata;

        dirmarks_take(d->street.dirmarks);
        coverage_note_directories(d);
        daemon_publish_status(d, false);
        return 0;
}

static int on_recovery(sd_event_source *s, uint64_t usec, void *userdata)
{
        take_found(userdata);
        return 0;
}

/* ---- the watchdog ---- */

static int on_watchdog(sd_event_source *s, uint64_t usec, void *userdata)
{
        struct daemon *d = userdata;
        struct fan_group *const *groups;
        size_t n = marks_groups(d->street.marks, &groups);

        if (pipeline_moves(d->street.pipeline, groups, n))
                notify_watchdog();
        (void)sd_event_source_set_time_relative(s, d->loop->watchdog_usec / 4);
        (void)sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        return 0;
}

/* ---- what asks for a new generation ---- */

static int on_worker(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        struct daemon *d = userdata;
        worker_collect(d->worker);
        after_events(d);
        return 0;
}

static int on_mounts(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
        loader_mounts_changed(userdata);
        return 0;
}

static void world_changed(void *userdata)
{
        loader_world_changed(userdata);
}

static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
        const struct reload_request request = { .peer = { .comm = "SIGHUP" } };
        notify_reloading();
        loader_request(userdata, &request);
        return 0;
}

static int on_stop(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
        struct daemon *d = userdata;
        return sd_event_exit(d->loop->event, EXIT_FINE);
}

/* ---- the control socket ---- */

static int answer_status(void *userdata, struct strbuf *out)
{
        return control_json_status(userdata, out);
}

static int answer_marks(void *userdata, struct strbuf *out)
{
        notes_verify(userdata); /* what is shown is what the kernel has */
        return control_json_marks(userdata, out);
}

static int answer_coverage(void *userdata, struct strbuf *out)
{
        return control_json_coverage(userdata, out);
}

static int answer_rules(void *userdata, struct strbuf *out)
{
        const struct daemon *d = userdata;
        rules_print(d->generation->rules, true, out);
        return strbuf_failed(out) ? -ENOMEM : 0;
}

static int answer_explain(void *userdata, const char *path, const char *second, struct strbuf *out)
{
        const struct daemon *d = userdata;
        const struct explain_request request = {
                .street = &d->street, .generation = d->generation, .view = MOUNTS_OF_PID1,
                .path = path, .second = second,
        };
        _cleanup_(explained_freep) struct explained *e = NULL;

        int r = explain_path(&request, &e);
        return r < 0 ? r : control_json_explain(d, e, out);
}

static void ask_reload(void *userdata, bool dry_run, const struct control_peer *peer,
                       struct control_reload *token)
{
        const struct reload_request request = { .token = token, .dry_run = dry_run, .peer = *peer };
        if (!dry_run)
                notify_reloading();
        loader_request(userdata, &request);
}

static const struct control_ops control_ops = {
        .status = answer_status,
        .marks = answer_marks,
        .coverage = answer_coverage,
        .rules = answer_rules,
        .explain = answer_explain,
        .reload = ask_reload,
};

static void published(void *userdata, const char *record, size_t len)
{
        struct daemon *d = userdata;
        if (d->control && control_has_followers(d->control))
                control_publish(d->control, record, len);
}

/* ---- start ---- */

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
                .published = published,
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

static int open_marks(struct daemon *d)
{
        const struct marks_params params = {
                .kernel = &d->generation->world->kernel,
                .queue_unlimited = d->generation->settings->queue_unlimited,
                .adopted = d->heritage.groups,
                .n_adopted = d->heritage.n_groups,
                .found = &d->heritage.marks,
                .group_changed = heritage_group_changed,
                .userdata = d,
        };
        d->heritage.n_groups = 0;
        int r = marks_new(&params, &d->street.marks);
        if (r == -ENOSYS)
                log_message(LOG_ERR, "this kernel has no fanotify (CONFIG_FANOTIFY)");
        else if (r == -EMFILE)
                log_message(LOG_ERR, "no more fanotify groups for this user (fs.fanotify.max_user_groups)");
        else if (r < 0)
                log_message(LOG_ERR, "fanotify_init: %s", strerrorname_np(-r));
        return r;
}

/* One round over all groups.  True: a queue was not emptied. */
static bool read_once(struct daemon *d)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(d->street.marks, &groups);
        bool more = false;

        for (size_t i = 0; i < n; i++)
                more |= pipeline_dispatch(d->street.pipeline, groups[i]) == 1;
        return more;
}

int daemon_renew_groups(struct daemon *d, const char *reason)
{
        struct marks *before = d->street.marks;
        struct fan_group *const *groups;
        size_t n = marks_groups(before, &groups);
        struct reload_result result;
        struct gap_note gap = { .kind = "store", .reason = reason };

        for (unsigned i = 0; i < RENEW_ROUNDS && read_once(d); i++)
                ;
        gap.from_usec = daemon_realtime_usec();
        for (size_t i = 0; i < n; i++)
                heritage_group_changed(d, groups[i], false);
        d->street.marks = NULL;
        int r = open_marks(d);
        if (r < 0) {
                d->street.marks = before;
                return r;
        }
        d->queues_since_ns = daemon_monotonic_usec() * NSEC_PER_USEC;
        learn_set_marks(d->street.learn, d->street.marks);
        until_set_marks(d->street.until, d->street.marks);
        dirmarks_set_marks(d->street.dirmarks, d->street.marks);
        r = reload_apply(&d->street, NULL, d->generation, &result);
        daemon_groups_changed(d);
        marks_free(before);
        gap.until_usec = daemon_realtime_usec();
        gaps_note(d, &gap);
        return r;
}

static int open_sources(struct daemon *d)
{
        struct loop *l = d->loop;
        sd_event *e = l->event;
        const uint64_t never = UINT64_MAX;
        int r;

        if ((r = sd_event_add_signal(e, NULL, SIGTERM, on_stop, d)) < 0 ||
            (r = sd_event_add_signal(e, NULL, SIGINT, on_stop, d)) < 0 ||
            (r = sd_event_add_signal(e, NULL, SIGHUP, on_hup, d)) < 0 ||
            (r = sd_event_add_io(e, NULL, worker_fd(d->worker), EPOLLIN, on_worker, d)) < 0 ||
            (r = sd_event_add_io(e, NULL, mount_monitor_fd(d->monitor), EPOLLIN, on_mounts, d)) < 0 ||
            (r = sd_event_add_time(e, &l->deadline, CLOCK_MONOTONIC, never, DEADLINE_ACCURACY_USEC,
                                   on_deadline, d)) < 0 ||
            (r = sd_event_add_io(e, NULL, dirmarks_fd(d->street.dirmarks), EPOLLIN, on_directories, d)) < 0 ||
            (r = sd_event_add_io(e, NULL, recovery_fd(d->recovery), EPOLLIN, on_found, d)) < 0 ||
            (r = sd_event_add_time(e, &l->recovery, CLOCK_MONOTONIC, never, 0, on_recovery, d)) < 0 ||
            (r = sd_event_add_time(e, &l->watchdog, CLOCK_MONOTONIC, never, 0, on_watchdog, d)) < 0 ||
            (r = sd_event_add_time(e, &l->status, CLOCK_MONOTONIC, never, 0, on_status, d)) < 0 ||
            (r = sd_event_add_time(e, &l->heartbeat, CLOCK_MONOTONIC, never, 0, on_heartbeat, d)) < 0)
                return r;
        return 0;
}

static int open_control(struct daemon *d)
{
        if (!d->runtime)
                return 0;
        int r = control_new(d->loop->event, runtime_control_path(d->runtime), &control_ops, d,
                            &d->street.counters.followers_lost, &d->control);
        if (r < 0)
                log_message(LOG_ERR, "the control socket %s cannot be opened: %s",
                            runtime_control_path(d->runtime), strerror(-r));
        return r;
}

static int open_loop(struct daemon *d)
{
        int r;
        if ((r = sd_event_default(&d->loop->event)) < 0 || (r = worker_new(d, &d->worker)) < 0 ||
            (r = recovery_new(&d->recovery)) < 0 || (r = open_sources(d)) < 0)
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
        r = open_marks(d);
        if (r < 0)
                return r == -ENOSYS ? EXIT_NO_FANOTIFY : r == -EPERM ? EXIT_NOT_PERMITTED : EXIT_TROUBLE;
        r = open_street(d);
        if (r < 0) {
                log_message(LOG_ERR, "the event street cannot be set up: %s", strerror(-r));
                return EXIT_TROUBLE;
        }
        if (!heritage_goes_on(&d->heritage)) /* else the queue is older than we are */
                d->queues_since_ns = daemon_monotonic_usec() * NSEC_PER_USEC;
        if (open_loop(d) < 0 || loader_begin(d) < 0 || open_control(d) < 0)
                return EXIT_TROUBLE;
        daemon_groups_changed(d);
        if (notify_watchdog_interval(&d->loop->watchdog_usec))
                (void)on_watchdog(d->loop->watchdog, 0, d);
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
                bool more = read_once(d), waits = reporter_flush(d->street.reporter);
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
        (void)read_once(d);
        pipeline_set_shedding(d->street.pipeline, 0);
        notes_stopping(d);
        size_t left = reporter_drain(d->street.reporter, daemon_monotonic_usec() + STOP_SEND_USEC);
        heritage_sign_of_life(d, true);
        if (left > 0)
                log_message(LOG_ERR, "%zu records could not be written: the log did not take them in time%s",
                            left, d->heritage.spool.spool ? "; after a restart they will be" : "");
}

static void loop_done(struct loop *l)
{
        for (size_t i = 0; i < l->n_groups; i++)
                sd_event_source_disable_unref(l->groups[i]);
        sd_event_source_disable_unref(l->sink);
        sd_event_source_disable_unref(l->deadline);
        sd_event_source_disable_unref(l->heartbeat);
        sd_event_source_disable_unref(l->status);
        sd_event_source_disable_unref(l->recovery);
        sd_event_source_disable_unref(l->watchdog);
        sd_event_unref(l->event);
}

static void daemon_done(struct daemon *d)
{
        control_free(d->control);
        worker_free(d->worker);
        recovery_free(d->recovery);
        recovery_gone_done(&d->gone);
        mount_monitor_free(d->monitor);
        loop_done(d->loop);
        street_done(&d->street);
        heritage_done(&d->heritage);
        generation_free(d->generation);
        build_texts_free(d->texts);
        loader_done(&d->loader);
        runtime_free(d->runtime);
}

int daemon_run(const struct options *options)
{
        struct loop loop = {};
        struct daemon d = { .options = options, .loop = &loop };
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
                status = sd_event_loop(loop.event);
                if (status < 0) {
                        log_message(LOG_ERR, "the event loop ended: %s", strerror(-status));
                        status = EXIT_TROUBLE;
                }
                stop(&d);
        }
        daemon_done(&d);
        return status;
}
