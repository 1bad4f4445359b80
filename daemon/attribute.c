/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "fdutil.h"
#include "lru.h"
#include "names.h"
#include "proc_read.h"
#include "tracked.h"

/* of snapshots: about 1.5 KiB a process as a rule, more with long command lines */
#define MAX_CACHE_BYTES (2u * 1024u * 1024u)
/* user, session and unit of a process can change without any event: read again after this */
#define REFRESH_USEC USEC_PER_SEC
/* start times are cut to clock ticks, of 10 ms on every architecture but alpha and ia64 */
#define TICK_USEC (10 * USEC_PER_MSEC)
/* No machine makes more than two processes a microsecond: the kernel makes them one by
 * one under a lock.  Pids are handed out in a circle, so that long must pass, times
 * pid_max, before one comes again; half of it is kept for pids in use. */
#define FORKS_PER_USEC 2
#define PID_MAX_DEFAULT 32768

/* The forms in which a snapshot is handed out, in this order. */
enum form {
        FORM_FULL,   /* the program is that of the event */
        FORM_UNSURE, /* the program is a guess: given, but nothing is decided by it */
        FORM_BARE,   /* the process without its program */
        N_FORMS
};

/* Handed out to events of a batch, so it lives on to the batch's end when replaced. */
struct snapshot {
        struct actor forms[N_FORMS];
        struct proc_snapshot *proc; /* NULL: a process of which only the pid is known */
        struct snapshot *next;      /* retired */
};

struct process {
        struct attributor *owner;
        int dir; /* its directory in /proc */
        struct snapshot *snapshot;
        uint64_t epoch;     /* of the queue when the program was read */
        bool exec_since;    /* the program ended: an exec was seen behind the reading */
        bool covered;       /* execs of the program's file are seen */
        uint64_t read_usec, alive_usec;
};

struct attributor {
        struct counters *counters;
        struct names *names;
        struct strings mask;
        struct proc_events *tracker; /* NULL: /proc alone */
        struct tracked *tracked;
        struct lru *processes; /* by pid */
        struct snapshot *retired;
        struct exec_filesystem *exec_filesystems;
        size_t n_exec_filesystems;
        uint64_t epoch;        /* how often the queue was seen empty */
        uint64_t oldest_usec;  /* no event of the batch was queued before */
        uint64_t reuse_usec;   /* no pid comes again sooner */
        struct snapshot nobody;
};

/* ---- life ---- */

static uint64_t boottime_usec(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_BOOTTIME, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

static uint64_t pid_reuse_usec(void)
{
        FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
        unsigned long pid_max = 0;

        if (!f || fscanf(f, "%lu", &pid_max) != 1)
                pid_max = PID_MAX_DEFAULT;
        if (f)
                (void)fclose(f);
        return pid_max / 2 / FORKS_PER_USEC;
}

static void snapshot_free(struct snapshot *s)
{
        if (s)
                free(s->proc);
        free(s);
}

static void retire(struct attributor *a, struct snapshot *s)
{
        s->next = a->retired;
        a->retired = s;
}

static void drop_process(void *userdata, void *value)
{
        struct process *p = value;

        (void)close_fd(p->dir);
        retire(p->owner, p->snapshot);
        free(p);
}

int attributor_new(struct counters *counters, struct names *names, size_t max_entries,
                   struct attributor **ret)
{
        _cleanup_(attributor_freep) struct attributor *a = calloc(1, sizeof(*a));

        if (!a)
                return -ENOMEM;
        a->counters = counters;
        a->names = names;
        a->reuse_usec = pid_reuse_usec();
        for (size_t i = 0; i < N_FORMS; i++)
                a->nobody.forms[i] = (struct actor){
                        .uid = ID_UNKNOWN,
                        .euid = ID_UNKNOWN,
                        .gid = ID_UNKNOWN,
                        .egid = ID_UNKNOWN,
                        .loginuid = ID_UNKNOWN,
                };
        if (lru_new(MAX_OF(max_entries, (size_t)1), MAX_CACHE_BYTES, drop_process, NULL, &a->processes) < 0)
                return -ENOMEM;
        *ret = STEAL(a);
        return 0;
}

void attributor_free(struct attributor *a)
{
        if (!a)
                return;
        lru_free(a->processes);
        attributor_end_batch(a);
        tracked_free(a->tracked);
        free(a->exec_filesystems);
        free(a);
}

void attributor_set_settings(struct attributor *a, const struct settings *s)
{
        a->mask = s->mask_options;
        if (a->tracked)
                tracked_set_mask(a->tracked, &a->mask);
        a->reuse_usec = pid_reuse_usec();
}

int attributor_set_exec_filesystems(struct attributor *a, const struct exec_filesystem *v, size_t n)
{
        /* what was read before was read under other marks */
        lru_clear(a->processes);
        free(a->exec_filesystems);
        a->n_exec_filesystems = 0;
        a->exec_filesystems = calloc(MAX_OF(n, (size_t)1), sizeof(*v));
        if (!a->exec_filesystems)
                return -ENOMEM;
        if (n > 0)
                memcpy(a->exec_filesystems, v, n * sizeof(*v));
        a->n_exec_filesystems = n;
        if (a->tracked)
                tracked_set_exec_filesystems(a->tracked, v, n);
        return 0;
}

int attributor_set_tracker(struct attributor *a, struct proc_events *tracker)
{
        tracked_free(STEAL(a->tracked));
        a->tracker = NULL;
        if (!tracker)
                return 0;
        if (tracked_new(tracker, a->names, a->counters, &a->tracked) < 0)
                return -ENOMEM;
        a->tracker = tracker;
        tracked_set_mask(a->tracked, &a->mask);
        tracked_set_exec_filesystems(a->tracked, a->exec_filesystems, a->n_exec_filesystems);
        return 0;
}

uint64_t attributor_queue_empty_usec(struct attributor *a)
{
        return a->tracker ? proc_events_queue_empty_usec(a->tracker) : 0;
}

void attributor_begin_batch(struct attributor *a, uint64_t oldest_usec, uint64_t read_usec)
{
        a->oldest_usec = oldest_usec;
        if (a->tracked)
                tracked_begin_batch(a->tracked, oldest_usec, read_usec);
}

void attributor_end_batch(struct attributor *a)
{
        while (a->retired) {
                struct snapshot *s = a->retired;

                a->retired = s->next;
                snapshot_free(s);
        }
        if (a->tracked)
                tracked_end_batch(a->tracked);
}

/* ---- reading ---- */

static bool execs_are_seen(const struct attributor *a, const struct proc_snapshot *s)
{
        for (size_t i = 0; s->exe_seen && i < a->n_exec_filesystems; i++) {
                const struct exec_filesystem *fs = &a->exec_filesystems[i];

                if (fs->dev == s->exe_dev || (fs->fsid_known && s->exe_fsid != 0 && fs->fsid == s->exe_fsid))
                        return true;
        }
        return false;
}

static void make_forms(struct attributor *a, struct snapshot *s)
{
        struct actor *bare = &s->forms[FORM_BARE];

        for (size_t i = 0; i < N_FORMS; i++) {
                s->forms[i] = s->proc->actor;
                s->forms[i].id = ++a->counters->actors_made;
        }
        s->forms[FORM_UNSURE].program_known = false;
        bare->program_known = false;
        bare->comm = bare->exe = NULL;
        bare->exe_deleted = false;
        bare->cmdline = (struct bytes){};
}

static struct snapshot *read_snapshot(struct attributor *a, int dir, int32_t pid)
{
        struct snapshot *s = calloc(1, sizeof(*s));

        if (!s || proc_read(dir, pid, &a->mask, &s->proc) < 0) {
                free(s);
                return NULL;
        }
        make_forms(a, s);
        a->counters->actors_read++;
        return s;
}

static void stamp(struct attributor *a, struct process *p)
{
        p->epoch = a->epoch;
        p->exec_since = false;
        p->covered = execs_are_seen(a, p->snapshot->proc);
        p->read_usec = p->alive_usec = boottime_usec();
}

/* Takes dir over. */
static struct process *read_process(struct attributor *a, int dir, int32_t pid)
{
        struct process *p = calloc(1, sizeof(*p));

        if (p)
                *p = (struct process){ .owner = a, .dir = dir, .snapshot = read_snapshot(a, dir, pid) };
        if (!p || !p->snapshot) {
                (void)close_fd(dir);
                free(p);
                return NULL;
        }
        stamp(a, p);
        if (lru_put(a->processes, &pid, sizeof(pid), p,
                    sizeof(*p) + sizeof(*p->snapshot) + p->snapshot->proc->size) < 0) {
                drop_process(NULL, p);
                return NULL;
        }
        return p;
}

static bool same_text(const char *a, const char *b)
{
        return a == b || (a && b && streq(a, b));
}

/* Reads a process again that is known to live.  A certain program stays certain when it
 * is found unchanged; else the reading begins anew. */
static void refresh(struct attributor *a, struct process *p, bool program_stands)
{
        const struct actor *before = &p->snapshot->proc->actor;
        struct snapshot *s = read_snapshot(a, p->dir, before->pid);
        uint64_t epoch = p->epoch;

        if (!s) {
                p->exec_since |= !program_stands;
                return;
        }

        const struct actor *after = &s->proc->actor;
        bool unchanged = program_stands && same_text(before->comm, after->comm) &&
                         same_text(before->exe, after->exe) && same_text(before->cmdline.p, after->cmdline.p);
        retire(a, p->snapshot);
        p->snapshot = s;
        stamp(a, p);
        if (unchanged)
                p->epoch = epoch;
}

/* ---- whose event is it ---- */

static bool is_certain(const struct attributor *a, const struct process *p)
{
        return a->epoch > p->epoch;
}

/* EPERM is a yes, too: the unit keeps no CAP_KILL, and others' processes may not be signalled. */
static bool pidfd_alive(int pidfd)
{
        return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno == EPERM;
}

static bool pidfd_tells_gone(int pidfd)
{
        return pidfd == FAN_NOPIDFD || pidfd == -ESRCH; /* the latter with FAN_REPORT_FD_ERROR */
}

/* It lived before anything of this batch was queued. */
static bool older_than_batch(const struct attributor *a, const struct process *p)
{
        return is_certain(a, p) || p->snapshot->proc->start_usec + TICK_USEC <= a->oldest_usec;
}

/* Both the cached process and the event's are gone.  They are the same unless the pid
 * came again in between, and for that the time was too short. */
static bool same_by_time(const struct attributor *a, const struct process *p)
{
        uint64_t since = is_certain(a, p) ? p->alive_usec : MIN_OF(p->alive_usec, a->oldest_usec);

        return boottime_usec() - since < a->reuse_usec;
}

enum whose {
        WHOSE_ITS,      /* the cached process's, which lives */
        WHOSE_ITS_GONE, /* the cached process's, which is gone by now */
        WHOSE_ANOTHERS, /* of a process that is gone, and is not the cached one */
        WHOSE_STALE,    /* the cached one is gone, the event's process lives */
        WHOSE_UNKNOWN,
};

/*
 * The event's pidfd is asked before the directory: two that were not reaped, one after
 * the other, with the same pid, are one.
 */
static enum whose whose_event(struct attributor *a, struct process *p, int pidfd, bool *ret_same_program)
{
        bool event_alive = pidfd >= 0 && pidfd_alive(pidfd);
        bool alive = proc_alive(p->dir, p->snapshot->proc, ret_same_program);

        if (alive)
                p->alive_usec = boottime_usec();
        if (event_alive)
                return alive ? WHOSE_ITS : WHOSE_STALE;
        if (pidfd >= 0 || pidfd_tells_gone(pidfd))
                return !alive && same_by_time(a, p) ? WHOSE_ITS_GONE : WHOSE_ANOTHERS;
        if (alive)
                return older_than_batch(a, p) ? WHOSE_ITS : WHOSE_UNKNOWN;
        return same_by_time(a, p) ? WHOSE_ITS_GONE : WHOSE_UNKNOWN;
}

/* ---- the answers ---- */

static void fill_names(struct attributor *a, struct snapshot *s)
{
        struct actor *first = &s->forms[0];

        if (!a->names || first->kernel_thread)
                return;
        for (size_t i = 0; i < N_FORMS; i++) {
                struct actor *actor = &s->forms[i];

                if (!actor->user && actor->euid != ID_UNKNOWN)
                        actor->user = names_get(a->names, NAME_USER, actor->euid);
                if (!actor->group && actor->egid != ID_UNKNOWN)
                        actor->group = names_get(a->names, NAME_GROUP, actor->egid);
                if (!actor->login_user && actor->loginuid != ID_UNKNOWN)
                        actor->login_user = names_get(a->names, NAME_USER, actor->loginuid);
        }
}

static void answer(struct attributed *ret, enum attribution attribution, struct snapshot *s, enum form form)
{
        *ret = (struct attributed){ .attribution = attribution, .actor = &s->forms[form] };
}

/* Only the pid is known. */
static void answer_pid(struct attributor *a, enum attribution attribution, int32_t pid,
                       struct attributed *ret)
{
        struct snapshot *s = calloc(1, sizeof(*s));

        if (!s) {
                answer(ret, attribution, &a->nobody, FORM_BARE);
                return;
        }
        *s = a->nobody;
        s->forms[FORM_BARE].pid = pid;
        retire(a, s);
        answer(ret, attribution, s, FORM_BARE);
}

static void answer_alive(struct attributor *a, struct process *p, const struct attribution_query *q,
                         struct attributed *ret)
{
        struct snapshot *s = p->snapshot;

        if (s->proc->actor.kernel_thread)
                answer(ret, ATTRIBUTION_KERNEL, s, FORM_UNSURE);
        else if (q->exec_follows)
                /* A program read earlier made the event's first part; a merged event may hold
                 * something of the next one too. */
                answer(ret, ATTRIBUTION_PROCESS, s, is_certain(a, p) ? FORM_UNSURE : FORM_BARE);
        else if (!s->proc->actor.program_known || !p->covered || q->is_exec || q->other_queue ||
                 (q->exec_unordered && !is_certain(a, p)) || (q->pidfd < 0 && !older_than_batch(a, p)))
                answer(ret, ATTRIBUTION_PROCESS, s, FORM_UNSURE);
        else {
                answer(ret, ATTRIBUTION_VERIFIED, s, FORM_FULL);
                ret->provisional = !is_certain(a, p);
        }
}

/* Found in the cache and alive: is what is cached still so? */
static void answer_cached(struct attributor *a, struct process *p, bool same_program,
                          const struct attribution_query *q, struct attributed *ret)
{
        const struct actor *actor = &p->snapshot->proc->actor;
        uint32_t euid = actor->euid, egid = actor->egid;
        bool unseen_exec = !same_program && !p->exec_since;
        bool changed_owner = !actor->kernel_thread && proc_owner(p->dir, &euid, &egid) &&
                             (euid != actor->euid || egid != actor->egid);

        a->counters->actors_cached++;
        if (p->exec_since || unseen_exec || changed_owner || boottime_usec() - p->read_usec > REFRESH_USEC)
                refresh(a, p, !p->exec_since && same_program);
        fill_names(a, p->snapshot);
        if (unseen_exec)
                /* It runs another program than it did, and whether since before the event is
                 * not told: the exec stands later in the queue, or raised no event. */
                answer(ret, ATTRIBUTION_PROCESS, p->snapshot, FORM_BARE);
        else
                answer_alive(a, p, q, ret);
}

static void answer_fresh(struct attributor *a, const struct attribution_query *q, struct attributed *ret)
{
        if (pidfd_tells_gone(q->pidfd)) {
                a->counters->actors_gone++;
                answer_pid(a, ATTRIBUTION_EXITED, q->pid, ret);
                return;
        }

        int dir = proc_open(q->pid);
        /* The directory is that of the event's process, if that was not reaped after it was opened. */
        if (dir >= 0 && q->pidfd >= 0 && !pidfd_alive(q->pidfd))
                dir = close_fd(dir);

        struct process *p = dir >= 0 ? read_process(a, dir, q->pid) : NULL;
        if (!p) {
                a->counters->actors_gone++;
                answer_pid(a, q->pidfd >= 0 ? ATTRIBUTION_EXITED : ATTRIBUTION_UNKNOWN, q->pid, ret);
        } else if (q->pidfd < 0 && !older_than_batch(a, p)) {
                answer_pid(a, ATTRIBUTION_UNKNOWN, q->pid, ret);
        } else {
                fill_names(a, p->snapshot);
                answer_alive(a, p, q, ret);
        }
}

void attributor_find(struct attributor *a, const struct attribution_query *q, struct attributed *ret)
{
        struct process *p;
        bool same_program;

        if (q->pid <= 0) {
                answer(ret, ATTRIBUTION_FOREIGN, &a->nobody, FORM_BARE);
                return;
        }
        if (a->tracked && (tracked_find(a->tracked, q, false, ret) ||
                           (q->pidfd >= 0 && pidfd_alive(q->pidfd) && tracked_find(a->tracked, q, true, ret))))
                return;
        p = lru_get(a->processes, &q->pid, sizeof(q->pid));
        if (!p) {
                answer_fresh(a, q, ret);
                return;
        }
        switch (whose_event(a, p, q->pidfd, &same_program)) {
        case WHOSE_ITS:
                answer_cached(a, p, same_program, q, ret);
                break;
        case WHOSE_ITS_GONE:
                /* Which program cannot be looked at again: it may have changed unseen. */
                a->counters->actors_cached++;
                fill_names(a, p->snapshot);
                answer(ret, ATTRIBUTION_PROCESS, p->snapshot,
                       p->exec_since || (q->exec_follows && !is_certain(a, p)) ? FORM_BARE : FORM_UNSURE);
                break;
        case WHOSE_STALE:
                (void)lru_remove(a->processes, &q->pid, sizeof(q->pid));
                answer_fresh(a, q, ret);
                break;
        case WHOSE_ANOTHERS:
                a->counters->actors_gone++;
                answer_pid(a, ATTRIBUTION_EXITED, q->pid, ret);
                break;
        case WHOSE_UNKNOWN:
                answer_pid(a, ATTRIBUTION_UNKNOWN, q->pid, ret);
                break;
        }
}

void attributor_weaken(struct attributed *who, bool exec_seen)
{
        /* a provisional answer is a snapshot's first form; the others stand behind it */
        if (who->provisional)
                *who = (struct attributed){
                        .attribution = ATTRIBUTION_PROCESS,
                        .actor = who->actor + (exec_seen ? FORM_BARE : FORM_UNSURE),
                };
}

/* ---- what the queue tells ---- */

void attributor_exec(struct attributor *a, int32_t pid, const struct fan_handle *file, bool merged)
{
        struct process *p = lru_get(a->processes, &pid, sizeof(pid));

        if (p)
                p->exec_since = true;
        if (a->tracked)
                tracked_exec(a->tracked, pid, file, merged);
}

void attributor_exec_ahead(struct attributor *a, int32_t pid)
{
        struct process *p = lru_get(a->processes, &pid, sizeof(pid));

        if (p && !is_certain(a, p))
                p->exec_since = true;
}

void attributor_queue_drained(struct attributor *a)
{
        a->epoch++;
}

void attributor_forget_all(struct attributor *a)
{
        lru_clear(a->processes);
        if (a->tracked)
                tracked_queue_lost(a->tracked);
}
