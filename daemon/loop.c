/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the daemon waits for, and what it does then: every event source but those of the control socket. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>

#include "coverage.h"
#include "daemon.h"
#include "gaps.h"
#include "loader.h"
#include "log.h"
#include "loop.h"
#include "notes.h"
#include "notify.h"
#include "tracking.h"

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

/* ---- what asks for a new generation, and the stop ---- */

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

/* ---- life ---- */

static int open_sources(struct loop *l, struct daemon *d)
{
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

int loop_new(struct daemon *d, struct loop **ret)
{
        _cleanup_(loop_freep) struct loop *l = calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;
        int r = sd_event_default(&l->event);
        if (r < 0)
                return r;
        r = open_sources(l, d);
        if (r < 0)
                return r;
        *ret = STEAL(l);
        return 0;
}

void loop_start_watchdog(struct daemon *d)
{
        if (notify_watchdog_interval(&d->loop->watchdog_usec))
                (void)on_watchdog(d->loop->watchdog, 0, d);
}

struct sd_event *loop_event(const struct loop *l)
{
        return l->event;
}

int loop_run(struct loop *l)
{
        return sd_event_loop(l->event);
}

void loop_free(struct loop *l)
{
        if (!l)
                return;
        for (size_t i = 0; i < l->n_groups; i++)
                sd_event_source_disable_unref(l->groups[i]);
        sd_event_source_disable_unref(l->sink);
        sd_event_source_disable_unref(l->deadline);
        sd_event_source_disable_unref(l->heartbeat);
        sd_event_source_disable_unref(l->status);
        sd_event_source_disable_unref(l->recovery);
        sd_event_source_disable_unref(l->watchdog);
        sd_event_unref(l->event);
        free(l);
}
