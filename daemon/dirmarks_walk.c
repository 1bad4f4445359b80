/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk over one filesystem, in a thread that nobody waits for for long. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "dirmarks_internal.h"
#include "fdutil.h"
#include "lane.h"

struct dirs_walk {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned users; /* the owner, and the thread */
        atomic_bool stop;
        bool over;
        struct world *world; /* of this one filesystem */
        struct resolver *resolver;
        struct counters counters; /* the thread's own */
        struct dirplan *plan;
        int event_fd;
        size_t room;
        struct dirlist found, ready; /* the thread's, and what is to be taken */
        size_t failed;
        int error;
};

static void unref(struct dirs_walk *w)
{
        pthread_mutex_lock(&w->lock);
        bool last = --w->users == 0;
        pthread_mutex_unlock(&w->lock);
        if (!last)
                return;
        resolver_free(w->resolver);
        world_free(w->world);
        dirplan_unref(w->plan);
        (void)close_fd(w->event_fd);
        dirlist_done(&w->found);
        dirlist_done(&w->ready);
        pthread_cond_destroy(&w->changed);
        pthread_mutex_destroy(&w->lock);
        free(w);
}

/* ---- the thread ---- */

static void swap_lists(struct dirlist *a, struct dirlist *b)
{
        struct dirlist t = *a;

        *a = *b;
        *b = t;
}

static bool hand_over(void *userdata)
{
        struct dirs_walk *w = userdata;

        pthread_mutex_lock(&w->lock);
        while (!atomic_load(&w->stop) && w->ready.n > 0)
                pthread_cond_wait(&w->changed, &w->lock);
        swap_lists(&w->found, &w->ready);
        pthread_mutex_unlock(&w->lock);
        dirlist_reset(&w->found);
        (void)eventfd_write(w->event_fd, 1);
        return !atomic_load(&w->stop);
}

struct walk_job {
        struct resolver_job job;
        struct dirs_walk *w;
};

static void run(struct resolver_job *job, int mount_fd, const char *root)
{
        struct dirs_walk *w = ((struct walk_job *)job)->w;
        struct dirwalk walk = {
                .placing = &w->plan->placing,
                .structure = w->plan->structure,
                .group_fd = w->plan->group_fd,
                .base_fd = mount_fd,
                .root = root,
                .since_usec = UINT64_MAX,
                .room = w->room,
                .stop = &w->stop,
                .flush = hand_over,
                .userdata = w,
                .list = &w->found,
        };

        job->error = dirwalk_run(&walk, root, NULL);
        w->failed = walk.n_failed;
        w->error = walk.error;
        if (job->error < 0 && job->error != -ECANCELED)
                w->error = -job->error;
}

static void *thread_main(void *userdata)
{
        struct dirs_walk *w = userdata;
        struct walk_job job = { .job.run = run, .w = w };
        int r = resolver_run(w->resolver, 0, &job.job);

        if (r < 0)
                w->error = -r;
        resolver_end_batch(w->resolver);
        (void)hand_over(w);
        pthread_mutex_lock(&w->lock);
        w->over = true;
        pthread_mutex_unlock(&w->lock);
        (void)eventfd_write(w->event_fd, 1);
        unref(w);
        return NULL;
}

static int start_thread(struct dirs_walk *w)
{
        pthread_attr_t attr;
        pthread_t thread;
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = pthread_attr_init(&attr);
        if (r == 0) {
                pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
                r = pthread_create(&thread, &attr, thread_main, w);
                pthread_attr_destroy(&attr);
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return -r;
}

/* ---- its owner ---- */

int dirs_walk_start(const struct world *world, uint32_t fs, struct dirplan *plan, size_t room, int event_fd,
                    struct dirs_walk **ret)
{
        struct dirs_walk *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        w->users = 1;
        w->room = room;
        w->plan = dirplan_ref(plan);
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->changed, NULL);
        w->event_fd = fcntl(event_fd, F_DUPFD_CLOEXEC, 0);
        r = w->event_fd < 0 ? -errno : lane_copy_world(world, fs, &w->world);
        if (r == 0)
                r = resolver_new_patient(&w->counters, &w->resolver);
        if (r == 0) {
                resolver_set_world(w->resolver, w->world);
                w->users++;
                r = start_thread(w);
                w->users -= r < 0;
        }
        if (r < 0) {
                unref(w);
                return r;
        }
        *ret = w;
        return 0;
}

void dirs_walk_free(struct dirs_walk *w)
{
        if (!w)
                return;
        pthread_mutex_lock(&w->lock);
        atomic_store(&w->stop, true);
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        unref(w);
}

bool dirs_walk_take(struct dirs_walk *w, struct dirlist *list)
{
        pthread_mutex_lock(&w->lock);
        dirlist_reset(list);
        swap_lists(list, &w->ready);
        bool over = w->over;
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        return over;
}

void dirs_walk_result(struct dirs_walk *w, size_t *ret_failed, int *ret_error)
{
        pthread_mutex_lock(&w->lock);
        *ret_failed = w->failed;
        *ret_error = w->error;
        pthread_mutex_unlock(&w->lock);
}
