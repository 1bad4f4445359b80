/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * One thread for what may wait: building a generation, saving it.  Jobs run one
 * after the other; what they leave behind is collected by the loop.
 */

#include "base.h"

struct worker;

struct job {
        void (*run)(struct job *job);                   /* in the worker's thread */
        void (*done)(struct job *job, void *userdata);  /* in the loop's thread; owns the job from then on */
        struct job *next;
};

/* Returns 0 or -errno. */
int worker_new(void *userdata, struct worker **ret);
/* Waits at most a second for a running job (it may hang in NSS or on a disk:
 * then its memory is left to the end of the process).  Jobs that did not run are
 * not done.  Accepts NULL. */
void worker_free(struct worker *w);
DEFINE_CLEANUP(struct worker, worker_free);

void worker_submit(struct worker *w, struct job *job);
int worker_fd(const struct worker *w); /* readable when a job is done */
void worker_collect(struct worker *w); /* calls done() of each finished job */
