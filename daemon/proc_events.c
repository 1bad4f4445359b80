/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc_events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fdutil.h"
#include "proc_connector.h"
#include "proc_facts.h"

#define MAX_PROCESSES 32000u
#define BYTES_A_PROCESS 1000u
/* so many messages at a time, then who waits for the table has a turn */
#define BATCH 256u
#define REALTIME_PRIORITY 10 /* the unit's LimitRTPRIO= */
#define FALLBACK_NICE (-10)  /* the unit's LimitNICE= */
/* A thread that computes longer without a pause does no good to anybody at this priority. */
#define REALTIME_USEC (200 * USEC_PER_MSEC)
#define DEMOTED_NS (5 * USEC_PER_SEC * NSEC_PER_USEC)
#define LOOK_AT_QUEUE_NS (20 * USEC_PER_MSEC * NSEC_PER_USEC)
/* What was read of the queue but not judged yet is younger than that. */
#define KEEP_NS (2 * USEC_PER_SEC * NSEC_PER_USEC)
/* Processors stamp their messages and queue them one after the other, nearly. */
#define DISORDER_NS (USEC_PER_MSEC * NSEC_PER_USEC)
/* after a loss, the next scan waits so long at least */
#define SCAN_NS (USEC_PER_SEC * NSEC_PER_USEC)

struct proc_events {
        int socket, wake, queue;
        pthread_t thread;
        bool started;
        sem_t ready; /* the thread has its priority */
        pthread_mutex_t lock;
        /* under the lock */
        struct proctable *table;
        struct proc_reader *reader;
        uint64_t lost, last_scan_ns, looked_ns, empty_ns, needed_ns;
        bool must_scan;
        /* of the thread */
        uint64_t demoted_ns;
        atomic_bool stop, realtime, scanning;
};

/* Whom SIGXCPU demotes: the signal goes to the process, and names no thread. */
static _Atomic pid_t realtime_thread;
static atomic_bool was_demoted;

static void on_too_much_realtime(int number)
{
        const struct sched_param ordinary = { .sched_priority = 0 };
        int saved = errno;
        pid_t tid = atomic_load(&realtime_thread);

        if (tid > 0 && sched_setscheduler(tid, SCHED_OTHER, &ordinary) == 0)
                atomic_store(&was_demoted, true);
        errno = saved;
}

/* ---- messages ---- */

static void take_exec(struct proc_events *e, int32_t pid, uint64_t ns)
{
        struct proc_inherited inherited;
        struct proc_facts facts;
        bool known = proctable_inherited(e->table, pid, &inherited);
        int r = proc_reader_exec(e->reader, pid, ns, known ? &inherited : NULL, &facts);

        proctable_exec(e->table, pid, ns, r < 0 ? NULL : &facts);
}

static void take_fork(struct proc_events *e, const struct fork_proc_event *fork, uint64_t ns)
{
        struct proc_inherited inherited;
        struct proc_facts facts;

        if (fork->child_pid != fork->child_tgid) {
                proctable_thread(e->table, fork->child_tgid, 1, ns);
                return;
        }
        proctable_fork(e->table, fork->parent_tgid, fork->child_tgid, ns);
        if (proctable_inherited(e->table, fork->child_tgid, &inherited) && inherited.doubtful &&
            proc_reader_place(e->reader, fork->child_tgid, &facts) == 0)
                proctable_refresh(e->table, fork->child_tgid, &facts);
}

static void take_event(struct proc_events *e, const struct proc_event *p)
{
        uint64_t ns = p->timestamp_ns;
        struct proctable *t = e->table;

        switch ((uint32_t)p->what) {
        case PROC_EVENT_FORK:
                take_fork(e, &p->event_data.fork, ns);
                break;
        case PROC_EVENT_EXEC:
                take_exec(e, p->event_data.exec.process_tgid, ns);
                break;
        case PROC_EVENT_UID: /* threads change their ids one by one: the first one's count */
                if (p->event_data.id.process_pid == p->event_data.id.process_tgid)
                        proctable_uid(t, p->event_data.id.process_tgid, ns, p->event_data.id.r.ruid,
                                      p->event_data.id.e.euid);
                break;
        case PROC_EVENT_GID:
                if (p->event_data.id.process_pid == p->event_data.id.process_tgid)
                        proctable_gid(t, p->event_data.id.process_tgid, ns, p->event_data.id.r.rgid,
                                      p->event_data.id.e.egid);
                break;
        case PROC_EVENT_SID:
                proctable_sid(t, p->event_data.sid.process_tgid);
                break;
        case PROC_EVENT_COMM:
                if (p->event_data.comm.process_pid == p->event_data.comm.process_tgid)
                        proctable_comm(t, p->event_data.comm.process_tgid, ns, p->event_data.comm.comm);
                break;
        case (uint32_t)PROC_EVENT_EXIT:
                if (p->event_data.exit.process_pid != p->event_data.exit.process_tgid)
                        proctable_thread(t, p->event_data.exit.process_tgid, -1, ns);
                else
                        proctable_exit(t, p->event_data.exit.process_tgid, ns);
                break;
        default:
                break;
        }
}

static void wake(const struct proc_events *e)
{
        uint64_t one = 1;

        (void)!write(e->wake, &one, sizeof(one));
}

static void lost(struct proc_events *e)
{
        e->lost++;
        e->must_scan = true;
        proctable_lost(e->table, monotonic_ns());
        wake(e);
}

/* Takes what waits, and was told before until_ns; false when there may be more of it. */
static bool take_messages(struct proc_events *e, size_t max, uint64_t until_ns)
{
        struct proc_event p;
        bool ours;

        for (size_t n = 0; n < max; n++) {
                uint64_t before = monotonic_ns();
                int r = proc_connector_receive(e->socket, &p, &ours);

                if (r == 0) {
                        proctable_caught_up(e->table, before);
                        return true;
                }
                if (r < 0)
                        lost(e);
                else if (ours)
                        take_event(e, &p);
                if (ours && p.timestamp_ns > until_ns)
                        return true;
        }
        return false;
}

/* Where the queue is empty, nothing that happened before now is still to be explained. */
static void look_at_queue(struct proc_events *e)
{
        struct pollfd fd = { .fd = e->queue, .events = POLLIN };
        uint64_t now = monotonic_ns(), until;

        if (e->queue < 0 || now - e->looked_ns < LOOK_AT_QUEUE_NS)
                return;
        e->looked_ns = now;
        if (poll(&fd, 1, 0) != 0)
                return;
        e->empty_ns = now;
        until = MIN_OF(now - MIN_OF(KEEP_NS, now), e->needed_ns);
        proctable_passed(e->table, until);
}

/* ---- scanning ---- */

static void scan_one(void *userdata, int32_t pid)
{
        struct proc_events *e = userdata;
        struct proc_facts facts;
        int32_t ppid;
        uint64_t begin_ns;

        (void)pthread_mutex_lock(&e->lock);
        if (proc_reader_all(e->reader, pid, &facts, &ppid, &begin_ns) == 0)
                proctable_scanned(e->table, pid, ppid, begin_ns, &facts);
        (void)take_messages(e, BATCH, UINT64_MAX);
        (void)pthread_mutex_unlock(&e->lock);
}

static void scan(struct proc_events *e)
{
        atomic_store(&e->scanning, true);
        (void)pthread_mutex_lock(&e->lock);
        e->must_scan = false;
        (void)pthread_mutex_unlock(&e->lock);
        (void)proc_reader_each(e->reader, scan_one, e);
        (void)pthread_mutex_lock(&e->lock);
        proctable_link_parents(e->table);
        e->last_scan_ns = monotonic_ns();
        (void)pthread_mutex_unlock(&e->lock);
        atomic_store(&e->scanning, false);
}

/* ---- the thread ---- */

static void ordinary_priority(struct proc_events *e)
{
        const struct sched_param ordinary = { .sched_priority = 0 };

        (void)sched_setscheduler(0, SCHED_OTHER, &ordinary);
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), FALLBACK_NICE);
        atomic_store(&e->realtime, false);
}

static void realtime_priority(struct proc_events *e)
{
        const struct sched_param fifo = { .sched_priority = REALTIME_PRIORITY };

        atomic_store(&was_demoted, false);
        if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo) == 0)
                atomic_store(&e->realtime, true);
        else
                ordinary_priority(e);
}

/* After too long a run at real-time priority: an ordinary thread for a while. */
static void mind_priority(struct proc_events *e)
{
        if (atomic_exchange(&was_demoted, false)) {
                ordinary_priority(e);
                e->demoted_ns = monotonic_ns();
        } else if (e->demoted_ns > 0 && monotonic_ns() - e->demoted_ns > DEMOTED_NS) {
                e->demoted_ns = 0;
                realtime_priority(e);
        }
}

/* Events were lost.  A scan takes long, and at real-time priority nobody else would run. */
static void recover(struct proc_events *e)
{
        ordinary_priority(e);
        scan(e);
        realtime_priority(e);
}

static int pause_msec(struct proc_events *e)
{
        (void)pthread_mutex_lock(&e->lock);
        uint64_t now = monotonic_ns(), due = e->last_scan_ns + SCAN_NS;
        bool must = e->must_scan;
        (void)pthread_mutex_unlock(&e->lock);
        return !must ? -1 : now >= due ? 0 : (int)((due - now) / (USEC_PER_MSEC * NSEC_PER_USEC)) + 1;
}

static void *run(void *userdata)
{
        struct proc_events *e = userdata;
        struct pollfd fds[] = { { .fd = e->socket, .events = POLLIN }, { .fd = e->wake, .events = POLLIN } };
        uint64_t count;

        atomic_store(&realtime_thread, gettid());
        realtime_priority(e);
        (void)sem_post(&e->ready);
        while (!atomic_load(&e->stop)) {
                int wait = pause_msec(e);

                if (wait == 0)
                        recover(e);
                (void)poll(fds, ELEMENTSOF(fds), wait == 0 ? -1 : wait);
                if (fds[1].revents)
                        (void)!read(e->wake, &count, sizeof(count));
                (void)pthread_mutex_lock(&e->lock);
                (void)take_messages(e, BATCH, UINT64_MAX);
                look_at_queue(e);
                (void)pthread_mutex_unlock(&e->lock);
                mind_priority(e);
        }
        atomic_store(&realtime_thread, 0);
        return NULL;
}

/* ---- life ---- */

/* Without a hard limit, which would kill: the signal demotes. */
static void limit_realtime(void)
{
        const struct sigaction action = { .sa_handler = on_too_much_realtime, .sa_flags = SA_RESTART };
        struct rlimit limit;

        (void)sigaction(SIGXCPU, &action, NULL);
        if (getrlimit(RLIMIT_RTTIME, &limit) == 0) {
                limit.rlim_cur = MIN_OF((rlim_t)REALTIME_USEC, limit.rlim_max);
                (void)setrlimit(RLIMIT_RTTIME, &limit);
        }
}

static int start(struct proc_events *e)
{
        pthread_mutexattr_t inherit;
        sigset_t all, before;

        (void)pthread_mutexattr_init(&inherit);
        /* who holds the lock runs at the priority of who waits for it */
        (void)pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
        int r = -pthread_mutex_init(&e->lock, &inherit);
        (void)pthread_mutexattr_destroy(&inherit);
        if (r < 0)
                return r;
        (void)sem_init(&e->ready, 0, 0);
        scan(e);
        limit_realtime();
        sigfillset(&all);
        sigdelset(&all, SIGXCPU);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        r = -pthread_create(&e->thread, NULL, run, e);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        e->started = r == 0;
        while (e->started && sem_wait(&e->ready) < 0 && errno == EINTR)
                ;
        return r;
}

int proc_events_new(struct proc_events **ret, const char **ret_reason)
{
        _cleanup_(proc_events_freep) struct proc_events *e = calloc(1, sizeof(*e));
        int r;

        *ret_reason = "out of memory";
        if (!e)
                return -ENOMEM;
        e->socket = e->wake = e->queue = -1;
        e->needed_ns = UINT64_MAX;
        if ((r = proctable_new(MAX_PROCESSES, (size_t)MAX_PROCESSES * BYTES_A_PROCESS, &e->table)) < 0 ||
            (r = proc_reader_new(&e->reader)) < 0)
                return r;
        e->socket = proc_connector_open(ret_reason);
        if (e->socket < 0)
                return e->socket;
        proctable_lost(e->table, monotonic_ns()); /* what was before is not known */
        e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = e->wake < 0 ? -errno : start(e);
        if (r < 0) {
                *ret_reason = "its thread cannot be started";
                return r;
        }
        *ret = STEAL(e);
        return 0;
}

void proc_events_free(struct proc_events *e)
{
        if (!e)
                return;
        if (e->started) {
                atomic_store(&e->stop, true);
                wake(e);
                (void)pthread_join(e->thread, NULL);
                (void)pthread_mutex_destroy(&e->lock);
                (void)sem_destroy(&e->ready);
        }
        (void)close_fd(e->socket);
        (void)close_fd(e->wake);
        (void)close_fd(e->queue);
        proc_reader_free(e->reader);
        proctable_free(e->table);
        free(e);
}

/* ---- the street's side ---- */

void proc_events_watch_queue(struct proc_events *e, int fd, uint64_t since_ns)
{
        (void)pthread_mutex_lock(&e->lock);
        (void)close_fd(e->queue);
        /* one of our own: the number could become another file's */
        e->queue = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        e->empty_ns = since_ns;
        e->looked_ns = 0;
        look_at_queue(e);
        (void)pthread_mutex_unlock(&e->lock);
}

uint64_t proc_events_queue_empty_usec(struct proc_events *e)
{
        (void)pthread_mutex_lock(&e->lock);
        uint64_t ns = e->empty_ns;
        (void)pthread_mutex_unlock(&e->lock);
        return ns ? (ns + boottime_lead().least_ns) / NSEC_PER_USEC : 0;
}

struct proctable *proc_events_lock(struct proc_events *e)
{
        (void)pthread_mutex_lock(&e->lock);
        return e->table;
}

struct proctable *proc_events_acquire(struct proc_events *e)
{
        (void)pthread_mutex_lock(&e->lock);
        /* what is told meanwhile, by a fork bomb without end, need not be known */
        uint64_t until = monotonic_ns() + DISORDER_NS;
        while (!take_messages(e, BATCH, until))
                ;
        return e->table;
}

void proc_events_release(struct proc_events *e)
{
        (void)pthread_mutex_unlock(&e->lock);
}

void proc_events_needed_since(struct proc_events *e, uint64_t ns)
{
        e->needed_ns = ns;
}

void proc_events_look_again(struct proc_events *e, int32_t pid)
{
        (void)pthread_mutex_lock(&e->lock);
        uint64_t file = proc_reader_running(e->reader, pid), now = monotonic_ns();
        if (file != 0)
                proctable_looked(e->table, pid, file, now);
        (void)take_messages(e, BATCH, UINT64_MAX);
        (void)pthread_mutex_unlock(&e->lock);
}

void proc_events_refresh(struct proc_events *e, int32_t pid)
{
        struct proc_facts facts;

        (void)pthread_mutex_lock(&e->lock);
        if (proc_reader_place(e->reader, pid, &facts) == 0)
                proctable_refresh(e->table, pid, &facts);
        (void)pthread_mutex_unlock(&e->lock);
}

void proc_events_status(struct proc_events *e, struct proc_events_status *ret)
{
        (void)pthread_mutex_lock(&e->lock);
        *ret = (struct proc_events_status){
                .realtime = atomic_load(&e->realtime),
                .scanning = atomic_load(&e->scanning) || e->must_scan,
                .lost = e->lost,
                .dropped = proctable_dropped(e->table),
                .processes = proctable_count(e->table),
                .bytes = proctable_bytes(e->table),
        };
        (void)pthread_mutex_unlock(&e->lock);
}
