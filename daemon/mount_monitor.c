/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount_monitor.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "fan_group.h"
#include "fan_uapi.h"
#include "fdutil.h"

/* A look that took t is followed by a pause of 3 t: a storm has a quarter of one CPU. */
#define PAUSE_FACTOR   3
#define PAUSE_MIN_USEC (5 * USEC_PER_MSEC)
#define PAUSE_MAX_USEC (2 * USEC_PER_SEC)

struct mount_monitor {
        int epoll_fd, table_fd, group_fd, timer_fd;
        bool waiting;             /* something changed since the last look began */
        bool looking;             /* from "look now" to mount_monitor_looked() */
        uint64_t began_usec;      /* of that look, monotonic */
        uint64_t not_before_usec; /* of the next one */
        struct mount_news news;
};

static uint64_t now_usec(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

void mount_monitor_free(struct mount_monitor *m)
{
        if (!m)
                return;
        close_fd(m->epoll_fd);
        close_fd(m->table_fd);
        close_fd(m->group_fd);
        close_fd(m->timer_fd);
        free(m);
}

/* What belongs to PID 1 may be refused to us: then it is our own. */
static int open_of(enum mount_view view, const char *of_pid1, const char *own)
{
        int fd = view == MOUNTS_OF_PID1 ? open(of_pid1, O_RDONLY | O_CLOEXEC) : -1;

        return fd >= 0 ? fd : open(own, O_RDONLY | O_CLOEXEC);
}

/* -1 on a kernel without mount events, or where they are refused. */
static int open_group(enum mount_view view)
{
        _cleanup_close_ int ns = open_of(view, "/proc/1/ns/mnt", "/proc/self/ns/mnt");
        _cleanup_close_ int group = -1;

        if (ns < 0)
                return -1;
        group = fan_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_MNT);
        if (group < 0 ||
            fan_mark(group, FAN_MARK_ADD | FAN_MARK_MNTNS, FAN_MNT_ATTACH | FAN_MNT_DETACH, ns, NULL) < 0)
                return -1;
        return STEAL_FD(group);
}

/* The table is edge-triggered: a change is reported once (mounts_poll() in fs/proc_namespace.c). */
static int watch(struct mount_monitor *m, int fd, uint32_t events)
{
        struct epoll_event e = { .events = events, .data.fd = fd };

        return fd < 0 || epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
}

static int open_all(struct mount_monitor *m, enum mount_view view)
{
        int r;

        m->table_fd = open_of(view, "/proc/1/mountinfo", "/proc/self/mountinfo");
        if (m->table_fd < 0)
                return -errno;
        m->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (m->timer_fd < 0 || m->epoll_fd < 0)
                return -errno;
        m->group_fd = open_group(view);
        m->news.counted = m->group_fd >= 0;
        if ((r = watch(m, m->table_fd, EPOLLIN | EPOLLET)) < 0 || (r = watch(m, m->group_fd, EPOLLIN)) < 0 ||
            (r = watch(m, m->timer_fd, EPOLLIN)) < 0)
                return r;
        return 0;
}

int mount_monitor_new(enum mount_view view, struct mount_monitor **ret)
{
        _cleanup_(mount_monitor_freep) struct mount_monitor *m = calloc(1, sizeof(*m));
        struct epoll_event e;

        if (!m)
                return -ENOMEM;
        m->epoll_fd = m->table_fd = m->group_fd = m->timer_fd = -1;
        int r = open_all(m, view);
        if (r < 0)
                return r;
        /* A file is readable when it is added: that is no news. */
        (void)epoll_wait(m->epoll_fd, &e, 1, 0);
        *ret = STEAL(m);
        return 0;
}

int mount_monitor_fd(const struct mount_monitor *m)
{
        return m->epoll_fd;
}

const struct mount_news *mount_monitor_news(const struct mount_monitor *m)
{
        return &m->news;
}

static void count_events(struct mount_monitor *m)
{
        _Alignas(struct fanotify_event_metadata) char buffer[4096];
        ssize_t n;

        while ((n = read(m->group_fd, buffer, sizeof(buffer))) > 0)
                for (const struct fanotify_event_metadata *e = (const void *)buffer; FAN_EVENT_OK(e, n);
                     e = FAN_EVENT_NEXT(e, n)) {
                        m->news.attached += (e->mask & FAN_MNT_ATTACH) != 0;
                        m->news.detached += (e->mask & FAN_MNT_DETACH) != 0;
                        m->news.overflows += (e->mask & FAN_Q_OVERFLOW) != 0;
                }
}

static void read_news(struct mount_monitor *m, const struct epoll_event *e)
{
        uint64_t expirations;

        if (e->data.fd == m->timer_fd) {
                (void)!read(m->timer_fd, &expirations, sizeof(expirations));
                return;
        }
        if (e->data.fd == m->group_fd)
                count_events(m);
        m->waiting = true;
}

static void wake_at(struct mount_monitor *m, uint64_t usec)
{
        const struct itimerspec at = {
                .it_value.tv_sec = (time_t)(usec / USEC_PER_SEC),
                .it_value.tv_nsec = (long)(usec % USEC_PER_SEC * NSEC_PER_USEC),
        };

        (void)timerfd_settime(m->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int mount_monitor_next(struct mount_monitor *m)
{
        struct epoll_event events[3];
        int n = epoll_wait(m->epoll_fd, events, ELEMENTSOF(events), 0);

        if (n < 0 && errno != EINTR)
                return -errno;
        for (int i = 0; i < n; i++)
                read_news(m, &events[i]);
        if (!m->waiting || m->looking)
                return 0;

        uint64_t now = now_usec();
        if (now < m->not_before_usec) {
                wake_at(m, m->not_before_usec);
                return 0;
        }
        m->waiting = false;
        m->looking = true;
        m->began_usec = now;
        return 1;
}

void mount_monitor_looked(struct mount_monitor *m)
{
        uint64_t now = now_usec(), pause;

        if (!m->looking)
                return;
        pause = MAX_OF(PAUSE_FACTOR * (now - m->began_usec), PAUSE_MIN_USEC);
        m->looking = false;
        m->not_before_usec = now + MIN_OF(pause, PAUSE_MAX_USEC);
        if (m->waiting)
                wake_at(m, m->not_before_usec);
}
