/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tracked.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "actor_block.h"
#include "lru.h"
#include "names.h"
#include "proc_facts.h"

#define MAX_ACTORS 4096u
#define MAX_ACTOR_BYTES (4u * 1024u * 1024u)
/* Session and unit of a living process can change without any event: read again after this. */
#define REFRESH_NS (USEC_PER_SEC * NSEC_PER_USEC)
/* So long a batch waits in all for programs that are about to run. */
#define PATIENCE_NS (50 * USEC_PER_MSEC * NSEC_PER_USEC)
#define PATIENCE_STEP_NS (500 * NSEC_PER_USEC)

/* Handed out to events of a batch, so it lives on to the batch's end when replaced. */
struct tracked_actor {
        struct actor actor;
        struct tracked_actor *next; /* retired */
        size_t size;
};

struct tracked {
        struct proc_events *events;
        struct names *names;
        struct counters *counters;
        struct strings mask;
        struct exec_filesystem *filesystems;
        struct lru *actors; /* by what they are made of */
        struct tracked_actor *retired;
        uint64_t lo_ns, hi_ns; /* when the batch's events were queued, and read; CLOCK_MONOTONIC */
        uint64_t ahead_ns;     /* CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC */
        uint64_t ticks_a_second;
        uint64_t patience_ns; /* left of this batch's */
};

/* What an actor is made of: equal keys, equal actors. */
struct actor_key {
        uint64_t serial, next_serial, begin_ns;
        uint64_t certain; /* bits */
};

static void retire(void *userdata, void *value)
{
        struct tracked *t = userdata;
        struct tracked_actor *a = value;

        a->next = t->retired;
        t->retired = a;
}

int tracked_new(struct proc_events *events, struct names *names, struct counters *counters,
                struct tracked **ret)
{
        _cleanup_(tracked_freep) struct tracked *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        *t = (struct tracked){
                .events = events,
                .names = names,
                .counters = counters,
                .ahead_ns = boottime_lead().least_ns,
                .ticks_a_second = (uint64_t)sysconf(_SC_CLK_TCK),
        };
        if (lru_new(MAX_ACTORS, MAX_ACTOR_BYTES, retire, t, &t->actors) < 0)
                return -ENOMEM;
        *ret = STEAL(t);
        return 0;
}

void tracked_free(struct tracked *t)
{
        if (!t)
                return;
        lru_free(t->actors);
        tracked_end_batch(t);
        tracked_set_exec_filesystems(t, NULL, 0);
        free(t->filesystems);
        free(t);
}

void tracked_set_mask(struct tracked *t, const struct strings *mask)
{
        t->mask = *mask;
        lru_clear(t->actors);
}

void tracked_set_exec_filesystems(struct tracked *t, const struct exec_filesystem *v, size_t n)
{
        struct exec_filesystem *copy = calloc(MAX_OF(n, (size_t)1), sizeof(*copy));

        if (copy && n > 0)
                memcpy(copy, v, n * sizeof(*v));
        proctable_set_exec_filesystems(proc_events_lock(t->events), copy, copy ? n : 0, monotonic_ns());
        proc_events_release(t->events);
        free(t->filesystems);
        t->filesystems = copy;
}

void tracked_begin_batch(struct tracked *t, uint64_t lo_usec, uint64_t hi_usec)
{
        const struct clock_lead lead = boottime_lead();
        uint64_t lo = lo_usec * NSEC_PER_USEC, hi = (hi_usec + 1) * NSEC_PER_USEC, now = monotonic_ns();

        t->ahead_ns = lead.least_ns;
        t->patience_ns = PATIENCE_NS;
        t->lo_ns = lo - MIN_OF(lead.most_ns, lo);
        t->hi_ns = hi_usec > 0 ? hi - MIN_OF(lead.least_ns, hi) : UINT64_MAX;
        proctable_caught_up(proc_events_acquire(t->events), now);
        proc_events_needed_since(t->events, t->lo_ns);
        proc_events_release(t->events);
}

void tracked_end_batch(struct tracked *t)
{
        while (t->retired) {
                struct tracked_actor *a = t->retired;

                t->retired = a->next;
                free(a);
        }
        (void)proc_events_lock(t->events);
        proc_events_needed_since(t->events, UINT64_MAX);
        proc_events_release(t->events);
}

/* ---- building ---- */

static void add_program(const struct tracked *t, struct actor_block *b, const struct proc_answer *p)
{
        const struct proc_image *i = p->image;

        if (!p->program_certain && !p->program_likely)
                return;
        b->comm = (p->comm_certain || p->program_likely) && i->comm[0] ? actor_block_keeps(b, i->comm) : 0;
        b->exe = actor_block_keeps(b, i->exe);
        b->actor.exe_deleted = i->exe_deleted;
        if (i->cmdline.p)
                actor_block_cmdline(b, i->cmdline.p, i->cmdline.len, t->mask.v, t->mask.n);
        b->actor.program_known = p->program_certain && b->exe && !i->kernel_thread;
        if (p->next && p->next->known) {
                b->next_comm = actor_block_keeps(b, p->next->comm);
                b->next_exe = actor_block_keeps(b, p->next->exe);
        }
}

static void add_place(struct actor_block *b, const struct proc_image *i)
{
        char text[PROC_TTY_MAX];

        b->actor.loginuid = i->loginuid;
        if (i->session != ID_UNKNOWN) {
                (void)snprintf(text, sizeof(text), "%u", i->session);
                b->session = actor_block_keeps(b, text);
        }
        proc_tty_name(i->tty_nr, text);
        if (text[0])
                b->tty = actor_block_keeps(b, text);
        if (i->cgroup)
                actor_block_cgroup(b, i->cgroup, strlen(i->cgroup));
}

static void add_ancestry(struct actor_block *b, const struct proc_image *i)
{
        const struct proc_image *parent = i->parent;

        b->actor.ppid = parent ? parent->pid : 0;
        for (size_t n = 0; parent && n < MAX_ANCESTORS; parent = parent->parent, n++)
                actor_block_ancestor(b, parent->pid, parent->comm, strlen(parent->comm),
                                     actor_block_keeps(b, parent->exe));
}

static uint64_t start_ticks(const struct tracked *t, const struct proc_answer *p)
{
        /* a fork is told a moment after the process began: the same number as /proc has, or one more */
        return p->start_ticks ? p->start_ticks
                              : (p->begin_ns + t->ahead_ns) / NSEC_PER_USEC * t->ticks_a_second /
                                                USEC_PER_SEC;
}

static struct tracked_actor *build(struct tracked *t, const struct proc_answer *p)
{
        const struct proc_image *i = p->image;
        struct tracked_actor *made;
        struct actor_block b;
        size_t size;

        actor_block_init(&b);
        b.actor.id = ++t->counters->actors_made;
        b.actor.pid = i->pid;
        b.actor.start_ticks = start_ticks(t, p);
        b.actor.kernel_thread = i->kernel_thread;
        add_program(t, &b, p);
        /* A kernel thread acts for somebody else: its root would be a wrong name. */
        if (!i->kernel_thread) {
                if (p->ids_certain) {
                        b.actor.uid = i->ids.uid;
                        b.actor.euid = i->ids.euid;
                        b.actor.gid = i->ids.gid;
                        b.actor.egid = i->ids.egid;
                }
                if (p->place_certain)
                        add_place(&b, i);
                add_ancestry(&b, i);
        }
        made = actor_block_seal(&b, sizeof(*made), &size);
        actor_block_done(&b);
        if (made)
                *made = (struct tracked_actor){ .actor = b.actor, .size = size };
        return made;
}

static void fill_names(struct tracked *t, struct actor *a)
{
        if (!t->names || a->kernel_thread)
                return;
        if (!a->user && a->euid != ID_UNKNOWN)
                a->user = names_get(t->names, NAME_USER, a->euid);
        if (!a->group && a->egid != ID_UNKNOWN)
                a->group = names_get(t->names, NAME_GROUP, a->egid);
        if (!a->login_user && a->loginuid != ID_UNKNOWN)
                a->login_user = names_get(t->names, NAME_USER, a->loginuid);
}

static struct tracked_actor *actor_of(struct tracked *t, const struct proc_answer *p)
{
        const struct actor_key key = {
                .serial = p->image->serial,
                .next_serial = p->next ? p->next->serial : 0,
                .begin_ns = p->begin_ns,
                .certain = (uint64_t)p->program_certain | (uint64_t)p->comm_certain << 1 |
                           (uint64_t)p->ids_certain << 2 | (uint64_t)p->place_certain << 3 |
                           (uint64_t)p->program_likely << 4,
        };
        struct tracked_actor *a = lru_get(t->actors, &key, sizeof(key));

        if (a) {
                t->counters->actors_cached++;
                return a;
        }
        a = build(t, p);
        if (a && lru_put(t->actors, &key, sizeof(key), a, a->size) < 0)
                retire(t, a); /* good for this batch */
        return a;
}

/* ---- answers ---- */

static enum attribution attribution_of(const struct proc_answer *p)
{
        if (p->image->kernel_thread)
                return ATTRIBUTION_KERNEL;
        if (p->program_likely)
                return ATTRIBUTION_PROCESS;
        if (p->exited)
                return p->program_certain ? ATTRIBUTION_TRACKED : ATTRIBUTION_EXITED;
        return p->program_certain && !p->next ? ATTRIBUTION_VERIFIED : ATTRIBUTION_PROCESS;
}

/*
 * A program was put in place and has not run yet, as a rule because we do: gives way to it
 * for a moment.  False when there is no time left.  The lock is held before; behind true it
 * is not.
 */
static bool look_again(struct tracked *t, int32_t pid)
{
        const struct timespec pause = { .tv_nsec = PATIENCE_STEP_NS };
        uint64_t begin = monotonic_ns();

        if (t->patience_ns == 0)
                return false;
        proc_events_release(t->events);
        if (t->patience_ns < PATIENCE_NS)
                (void)nanosleep(&pause, NULL);
        proc_events_look_again(t->events, pid);
        t->patience_ns -= MIN_OF(MAX_OF(monotonic_ns() - begin, UINT64_C(1)), t->patience_ns);
        return true;
}

bool tracked_find(struct tracked *t, const struct attribution_query *q, bool alive, struct attributed *ret)
{
        const struct proc_question question = {
                .pid = q->pid,
                .lo_ns = t->lo_ns,
                .hi_ns = t->hi_ns,
                .ordered = !q->other_queue,
                .alive = alive,
                .is_exec = q->is_exec,
                .handle_id = q->is_exec && q->file ? proctable_handle_id(q->file->type, q->file->bytes,
                                                                         q->file->len)
                                                   : 0,
        };
        struct proc_answer p;
        struct tracked_actor *a = NULL;
        bool found = proctable_find(proc_events_lock(t->events), &question, &p);

        while (found && p.look_again && look_again(t, q->pid))
                found = proctable_find(proc_events_lock(t->events), &question, &p);
        if (found && !p.exited && !p.image->kernel_thread &&
            monotonic_ns() - p.image->place_ns > REFRESH_NS) {
                proc_events_release(t->events);
                proc_events_refresh(t->events, q->pid);
                found = proctable_find(proc_events_lock(t->events), &question, &p);
        }
        if (found) {
                enum attribution attribution = attribution_of(&p);

                if (q->is_exec || q->once)
                        p.next = NULL;
                a = actor_of(t, &p);
                *ret = (struct attributed){ .attribution = attribution, .actor = a ? &a->actor : NULL };
        }
        proc_events_release(t->events);
        if (!a)
                return false;
        fill_names(t, &a->actor);
        if (p.exited)
                t->counters->actors_tracked++;
        return true;
}

static uint64_t handle_id(const struct fan_handle *file)
{
        return proctable_handle_id(file->type, file->bytes, file->len);
}

void tracked_exec(struct tracked *t, int32_t pid, const struct fan_handle *file, bool merged)
{
        if (!file->bytes)
                return;
        proctable_queue_exec(proc_events_lock(t->events), pid, handle_id(file), merged, t->lo_ns);
        proc_events_release(t->events);
}

void tracked_queue_lost(struct tracked *t)
{
        /* an exec whose open_exec was lost may be told a moment later */
        proctable_queue_lost(proc_events_lock(t->events), monotonic_ns() + USEC_PER_SEC * NSEC_PER_USEC);
        proc_events_release(t->events);
}
