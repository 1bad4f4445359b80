/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

struct worker {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t wake;
        struct job *waiting, **waiting_tail;
        struct job *finished, **finished_tail;
        bool stop;
        int fd;
        void *userdata;
};

static void *worker_main(void *userdata)
{
        struct worker *w = userdata;

        pthread_mutex_lock(&w->lock);
        while (!w->stop) {
                struct job *job = w->waiting;
                if (!job) {
                        pthread_cond_wait(&w->wake, &w->lock);
                        continue;
                }
                w->waiting = job->next;
                if (!w->waiting)
                        w->waiting_tail = &w->waiting;
                job->next = NULL;
                pthread_mutex_unlock(&w->lock);

                job->run(job);

                pthread_mutex_lock(&w->lock);
                *w->finished_tail = job;
                w->finished_tail = &job->next;
                uint64_t one = 1;
                /* The counter of an eventfd cannot overflow here: at most a job's worth each. */
                if (write(w->fd, &one, sizeof(one)) < 0)
                        break;
        }
        pthread_mutex_unlock(&w->lock);
        return NULL;
}

int worker_new(void *userdata, struct worker **ret)
{
        struct worker *w = malloc(sizeof(*w));
        if (!w)
                return -ENOMEM;
        *w = (struct worker){ .userdata = userdata };
        w->waiting_tail = &w->waiting;
        w->finished_tail = &w->finished;
        pthread_mutex_init(&w->lock, NULL);
        pthread_cond_init(&w->wake, NULL);
        w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (w->fd < 0) {
                int error = errno;
                free(w);
                return -error;
        }
        /* Signals are the loop's business. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int error = pthread_create(&w->thread, NULL, worker_main, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error != 0) {
                close(w->fd);
                free(w);
                return -error;
        }
        *ret = w;
        return 0;
}

void worker_free(struct worker *w)
{
        if (!w)
                return;
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);

        struct timespec deadline;
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec++;
        if (pthread_timedjoin_np(w->thread, NULL, &deadline) != 0)
                return;
        close(w->fd);
        free(w);
}

void worker_submit(struct worker *w, struct job *job)
{
        job->next = NULL;
        pthread_mutex_lock(&w->lock);
        *w->waiting_tail = job;
        w->waiting_tail = &job->next;
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&w->lock);
}

int worker_fd(const struct worker *w)
{
        return w->fd;
}

void worker_collect(struct worker *w)
{
        uint64_t count;
        /* Only clears the readiness: an empty counter means nothing is new. */
        if (read(w->fd, &count, sizeof(count)) < 0)
                return;

        pthread_mutex_lock(&w->lock);
        struct job *job = w->finished;
        w->finished = NULL;
        w->finished_tail = &w->finished;
        pthread_mutex_unlock(&w->lock);
        while (job) {
                struct job *next = job->next;
                job->done(job, w->userdata);
                job = next;
        }
}
