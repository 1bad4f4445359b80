/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lane.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define TIMEOUT_USEC USEC_PER_SEC

struct lane {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned users; /* the owner, and the thread */
        bool stopping;

        struct world *world; /* of this one filesystem */
        struct resolver *resolver;
        struct counters counters; /* the thread's own */

        /* one request at a time; the answer is copied out under the lock */
        enum { IDLE, ASKED, ANSWERED } state;
        bool abandoned; /* nobody waits for the answer any more */
        enum { WANTS_DIR, WANTS_OBJECT, WANTS_JOB } wants;
        struct resolver_job *job; /* the thread's own once it is abandoned */
        struct fan_handle handle;
        uint8_t bytes[128];
        int error;
        struct strbuf path;
        struct object object;
};

static void lane_unref(struct lane *l)
{
        bool last;

        pthread_mutex_lock(&l->lock);
        last = --l->users == 0;
        pthread_mutex_unlock(&l->lock);
        if (!last)
                return;
        resolver_free(l->resolver);
        world_free(l->world);
        strbuf_done(&l->path);
        pthread_cond_destroy(&l->changed);
        pthread_mutex_destroy(&l->lock);
        free(l);
}

/* ---- the thread ---- */

static int answer(struct lane *l)
{
        int r;

        if (l->wants == WANTS_JOB) {
                r = resolver_run(l->resolver, 0, l->job);
        } else if (l->wants == WANTS_OBJECT) {
                r = resolver_object(l->resolver, &l->handle, &l->object);
        } else {
                strbuf_reset(&l->path);
                r = resolver_dir(l->resolver, &l->handle, &l->path);
        }
        /* what is cached below belongs to the street's own resolver */
        resolver_forget_all(l->resolver);
        resolver_end_batch(l->resolver);
        return r;
}

static void *thread_main(void *userdata)
{
        struct lane *l = userdata;

        pthread_mutex_lock(&l->lock);
        while (!l->stopping) {
                if (l->state != ASKED) {
                        pthread_cond_wait(&l->changed, &l->lock);
                        continue;
                }
                pthread_mutex_unlock(&l->lock);
                int r = answer(l);
                pthread_mutex_lock(&l->lock);
                l->error = r;
                l->state = l->abandoned ? IDLE : ANSWERED;
                if (l->abandoned && l->wants == WANTS_JOB)
                        l->job->free(l->job);
                l->abandoned = false;
                pthread_cond_broadcast(&l->changed);
        }
        pthread_mutex_unlock(&l->lock);
        lane_unref(l);
        return NULL;
}

static int start_thread(struct lane *l)
{
        pthread_attr_t attr;
        pthread_t thread;
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = pthread_attr_init(&attr);
        if (r == 0) {
                pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
                r = pthread_create(&thread, &attr, thread_main, l);
                pthread_attr_destroy(&attr);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

/* ---- life ---- */

/* The world of one filesystem: what it needs to be resolved, and nothing borrowed. */
int lane_copy_world(const struct world *w, uint32_t fs, struct world **ret)
{
        _cleanup_(world_freep) struct world *copy = world_new();
        const struct world_fs *f = &w->fs[fs];
        int r = copy ? 0 : -ENOMEM;

        for (uint32_t i = 0; r == 0 && i < w->n_mounts; i++) {
                const struct world_mount *m = &w->mounts[i];

                if (m->fs != fs || !m->visible)
                        continue;
                const struct world_mount_facts facts = {
                        .id = m->id,
                        .parent_id = m->parent_id,
                        .sdev_major = f->sdev_major,
                        .sdev_minor = f->sdev_minor,
                        .root = m->root,
                        .mountpoint = m->mountpoint,
                        .fstype = f->fstype,
                        .source = f->source,
                        .class = FS_REAL, /* in there it may take its time */
                        .noexec = m->noexec,
                        .read_only = m->read_only,
                };
                r = world_add_mount(copy, &facts);
        }
        if (r == 0 && copy->n_fs != 1)
                r = -ENOENT;
        if (r == 0)
                r = world_seal(copy);
        if (r < 0)
                return r;
        copy->fs[0].fsid = f->fsid;
        copy->fs[0].fsid_known = f->fsid_known;
        copy->fs[0].mark_errno = f->mark_errno;
        copy->fs[0].takes_dir_marks = f->takes_dir_marks;
        copy->fs[0].own_group = f->own_group;
        world_finish(copy);
        *ret = STEAL(copy);
        return 0;
}

int lane_new(const struct world *w, uint32_t fs, struct lane **ret)
{
        struct lane *l = calloc(1, sizeof(*l));
        pthread_condattr_t attr;

        if (!l)
                return -ENOMEM;
        l->users = 1;
        pthread_mutex_init(&l->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&l->changed, &attr);
        pthread_condattr_destroy(&attr);

        int r = lane_copy_world(w, fs, &l->world);
        if (r == 0)
                r = resolver_new_patient(&l->counters, &l->resolver);
        if (r == 0) {
                resolver_set_world(l->resolver, l->world);
                l->users++;
                r = start_thread(l);
                l->users -= r < 0;
        }
        if (r < 0) {
                lane_unref(l);
                return r;
        }
        *ret = l;
        return 0;
}

void lane_free(struct lane *l)
{
        if (!l)
                return;
        pthread_mutex_lock(&l->lock);
        l->stopping = true;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
        lane_unref(l);
}

/* ---- asking ---- */

/* With the lock held: until there is an answer.  -ETIMEDOUT when there is none in time. */
static int wait_for_answer(struct lane *l)
{
        struct timespec until;

        l->state = ASKED;
        pthread_cond_broadcast(&l->changed);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(TIMEOUT_USEC / USEC_PER_SEC);
        while (l->state == ASKED)
                if (pthread_cond_timedwait(&l->changed, &l->lock, &until) == ETIMEDOUT)
                        break;
        if (l->state == ASKED) {
                l->abandoned = true;
                return -ETIMEDOUT;
        }
        l->state = IDLE;
        return l->error;
}

/* With the lock held.  0 when there is an answer. */
static int ask(struct lane *l, const struct fan_handle *handle, bool wants_object)
{
        if (l->state != IDLE)
                return -ETIMEDOUT;
        if (handle->len > sizeof(l->bytes))
                return -EINVAL;
        memcpy(l->bytes, handle->bytes, handle->len);
        l->handle = *handle;
        l->handle.bytes = l->bytes;
        l->wants = wants_object ? WANTS_OBJECT : WANTS_DIR;
        return wait_for_answer(l);
}

int lane_run(struct lane *l, struct resolver_job *job)
{
        int r = -EAGAIN; /* it hangs on something else: the job stays the caller's */

        pthread_mutex_lock(&l->lock);
        if (l->state == IDLE) {
                l->wants = WANTS_JOB;
                l->job = job;
                r = wait_for_answer(l);
        }
        pthread_mutex_unlock(&l->lock);
        return r;
}

int lane_dir(struct lane *l, const struct fan_handle *dir, struct strbuf *ret)
{
        pthread_mutex_lock(&l->lock);
        int r = ask(l, dir, false);
        if (r == 0)
                strbuf_add(ret, l->path.data, l->path.len);
        pthread_mutex_unlock(&l->lock);
        return r == 0 && strbuf_failed(ret) ? -ENOMEM : r;
}

int lane_object(struct lane *l, const struct fan_handle *object, struct object *ret)
{
        pthread_mutex_lock(&l->lock);
        int r = ask(l, object, true);
        if (r == 0)
                *ret = l->object;
        pthread_mutex_unlock(&l->lock);
        return r;
}

const char *lane_stuck(struct lane *l)
{
        pthread_mutex_lock(&l->lock);
        bool stuck = l->state == ASKED && l->abandoned;
        pthread_mutex_unlock(&l->lock);
        return stuck ? l->world->mounts[l->world->fs[0].canonical_mount].mountpoint : NULL;
}
