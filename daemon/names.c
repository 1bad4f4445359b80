/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The look-up thread may hang in NSS for as long as a name server likes.  What it
 * shares with us is counted, so that names_free() need not wait for it: the last one
 * out frees it.
 */

#include "names.h"

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "hash.h"

/* A machine's users; beyond that ids are reported as numbers. */
#define MAX_NAMES 16384u
/* an id without a name may get one */
#define RETRY_USEC (60 * USEC_PER_SEC)
#define BUFFER_MIN 1024u
#define BUFFER_MAX (1024u * 1024u)

struct name {
        enum name_kind kind;
        uint32_t id;
        bool waiting;     /* in the queue of the thread, or in its hands */
        bool stale;       /* to be looked up again when it is next asked for */
        uint64_t tried_usec;
        char *text;       /* NULL: not known */
};

struct old_text { /* handed out before a refresh: valid until names_free() */
        struct old_text *next;
        char *text;
};

struct names {
        pthread_mutex_t lock;
        pthread_cond_t work;
        struct hash_index index;
        struct name *v; /* n of MAX_NAMES at most; never shrinks */
        uint32_t n, cap;
        uint32_t *queue;
        uint32_t n_queue, cap_queue;
        struct old_text *old;
        unsigned users; /* the owner, and the thread */
        bool stopping;
};

static uint64_t monotonic_usec(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

/* ---- NSS ---- */

/* The reentrant calls of NSS, by name or by id; ERANGE asks for a larger buffer. */
static int nss_call(enum name_kind kind, const char *name, uint32_t id, char *buffer, size_t size,
                    uint32_t *ret_id, const char **ret_name)
{
        struct passwd pw, *found_pw = NULL;
        struct group gr, *found_gr = NULL;
        int e;

        if (kind == NAME_USER) {
                e = name ? getpwnam_r(name, &pw, buffer, size, &found_pw)
                         : getpwuid_r(id, &pw, buffer, size, &found_pw);
                if (found_pw) {
                        *ret_id = pw.pw_uid;
                        *ret_name = pw.pw_name;
                }
        } else {
                e = name ? getgrnam_r(name, &gr, buffer, size, &found_gr)
                         : getgrgid_r(id, &gr, buffer, size, &found_gr);
                if (found_gr) {
                        *ret_id = gr.gr_gid;
                        *ret_name = gr.gr_name;
                }
        }
        if (e == ERANGE)
                return -ERANGE;
        return found_pw || found_gr ? 0 : -ENOENT;
}

/* name NULL: by id.  *ret_name is malloc'ed; either may be NULL. */
static int nss_look_up(enum name_kind kind, const char *name, uint32_t id, uint32_t *ret_id, char **ret_name)
{
        for (size_t size = BUFFER_MIN; size <= BUFFER_MAX; size *= 4) {
                _cleanup_free_ char *buffer = malloc(size);
                const char *found_name = NULL;
                uint32_t found_id = 0;

                if (!buffer)
                        return -ENOMEM;
                int r = nss_call(kind, name, id, buffer, size, &found_id, &found_name);
                if (r == -ERANGE)
                        continue;
                if (r < 0)
                        return r;
                if (ret_name && found_name && !(*ret_name = strdup(found_name)))
                        return -ENOMEM;
                if (ret_id)
                        *ret_id = found_id;
                return 0;
        }
        return -ENOENT;
}

/* A detached thread that takes no signal of ours. */
static int start_thread(void *(*function)(void *), void *argument)
{
        pthread_attr_t attr;
        pthread_t thread;
        sigset_t all, before;

        int e = pthread_attr_init(&attr);
        if (e != 0)
                return -e;
        (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        e = pthread_create(&thread, &attr, function, argument);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        (void)pthread_attr_destroy(&attr);
        return -e;
}

/* ---- one look-up with a timeout ---- */

struct request {
        pthread_mutex_t lock;
        pthread_cond_t done;
        enum name_kind kind;
        char *name;
        int result;
        uint32_t id;
        bool finished;
        unsigned users;
};

static void request_leave(struct request *q)
{
        bool last = --q->users == 0;

        (void)pthread_mutex_unlock(&q->lock);
        if (!last)
                return;
        (void)pthread_cond_destroy(&q->done);
        (void)pthread_mutex_destroy(&q->lock);
        free(q->name);
        free(q);
}

static void *request_run(void *argument)
{
        struct request *q = argument;
        uint32_t id = 0;
        int r = nss_look_up(q->kind, q->name, 0, &id, NULL);

        (void)pthread_mutex_lock(&q->lock);
        q->result = r;
        q->id = id;
        q->finished = true;
        (void)pthread_cond_signal(&q->done);
        request_leave(q);
        return NULL;
}

static void cond_init_monotonic(pthread_cond_t *cond)
{
        pthread_condattr_t attr;

        (void)pthread_condattr_init(&attr);
        (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        (void)pthread_cond_init(cond, &attr);
        (void)pthread_condattr_destroy(&attr);
}

static struct request *request_new(enum name_kind kind, const char *name)
{
        struct request *q = calloc(1, sizeof(*q));

        if (!q)
                return NULL;
        q->kind = kind;
        q->users = 2;
        q->name = strdup(name);
        if (!q->name) {
                free(q);
                return NULL;
        }
        (void)pthread_mutex_init(&q->lock, NULL);
        cond_init_monotonic(&q->done);
        return q;
}

int names_resolve(enum name_kind kind, const char *name, uint64_t timeout_usec, uint32_t *ret_id)
{
        struct request *q = request_new(kind, name);
        uint64_t until = monotonic_usec() + timeout_usec;
        struct timespec ts = { .tv_sec = (time_t)(until / USEC_PER_SEC),
                               .tv_nsec = (long)(until % USEC_PER_SEC * NSEC_PER_USEC) };

        if (!q)
                return -ENOMEM;
        int r = start_thread(request_run, q);
        (void)pthread_mutex_lock(&q->lock);
        if (r < 0) {
                q->users--; /* there is no thread to leave */
        } else {
                int e = 0;

                while (!q->finished && e == 0)
                        e = pthread_cond_timedwait(&q->done, &q->lock, &ts);
                r = q->finished ? q->result : -ETIMEDOUT;
                if (r == 0)
                        *ret_id = q->id;
        }
        request_leave(q);
        return r;
}

/* ---- the table; the lock is held in all of these ---- */

static uint64_t name_hash(enum name_kind kind, uint32_t id)
{
        return hash_mix((uint64_t)kind, id);
}

static struct name *find(struct names *n, enum name_kind kind, uint32_t id)
{
        uint64_t hash = name_hash(kind, id);
        size_t pos = hash_tag(hash);
        uint32_t i;

        while ((i = hash_index_next(&n->index, hash, &pos)) != HASH_NONE)
                if (n->v[i].kind == kind && n->v[i].id == id)
                        return &n->v[i];
        return NULL;
}

static struct name *find_or_add(struct names *n, enum name_kind kind, uint32_t id)
{
        struct name *found = find(n, kind, id);

        if (found || n->n == MAX_NAMES)
                return found;
        if (n->n == n->cap) {
                uint32_t cap = n->cap ? n->cap * 2 : 128;
                struct name *v = reallocarray(n->v, cap, sizeof(*v));

                if (!v)
                        return NULL;
                n->v = v;
                n->cap = cap;
        }
        if (hash_index_add(&n->index, name_hash(kind, id), n->n) < 0)
                return NULL;
        n->v[n->n] = (struct name){ .kind = kind, .id = id, .stale = true };
        return &n->v[n->n++];
}

/* Takes text over (NULL: there is no name).  One that was handed out stays valid. */
static void set_text(struct names *n, struct name *name, char *text)
{
        name->stale = false;
        name->tried_usec = monotonic_usec();
        if (text && name->text && streq(text, name->text)) {
                free(text);
                return;
        }
        if (name->text) {
                struct old_text *old = malloc(sizeof(*old));

                if (!old) {
                        free(text);
                        return;
                }
                *old = (struct old_text){ .next = n->old, .text = name->text };
                n->old = old;
        }
        name->text = text;
}

static void enqueue(struct names *n, struct name *name)
{
        if (n->n_queue == n->cap_queue) {
                uint32_t cap = n->cap_queue ? n->cap_queue * 2 : 64;
                uint32_t *queue = reallocarray(n->queue, cap, sizeof(*queue));

                if (!queue)
                        return;
                n->queue = queue;
                n->cap_queue = cap;
        }
        n->queue[n->n_queue++] = (uint32_t)(name - n->v);
        name->waiting = true;
        (void)pthread_cond_signal(&n->work);
}

static void names_leave(struct names *n)
{
        bool last = --n->users == 0;

        (void)pthread_mutex_unlock(&n->lock);
        if (!last)
                return;
        for (uint32_t i = 0; i < n->n; i++)
                free(n->v[i].text);
        while (n->old) {
                struct old_text *next = n->old->next;

                free(n->old->text);
                free(n->old);
                n->old = next;
        }
        hash_index_done(&n->index);
        free(n->v);
        free(n->queue);
        (void)pthread_cond_destroy(&n->work);
        (void)pthread_mutex_destroy(&n->lock);
        free(n);
}

static void *names_run(void *argument)
{
        struct names *n = argument;

        (void)pthread_mutex_lock(&n->lock);
        while (!n->stopping) {
                if (n->n_queue == 0) {
                        (void)pthread_cond_wait(&n->work, &n->lock);
                        continue;
                }

                uint32_t i = n->queue[--n->n_queue];
                enum name_kind kind = n->v[i].kind;
                uint32_t id = n->v[i].id;
                char *text = NULL;

                (void)pthread_mutex_unlock(&n->lock);
                (void)nss_look_up(kind, NULL, id, NULL, &text);
                (void)pthread_mutex_lock(&n->lock);
                n->v[i].waiting = false;
                set_text(n, &n->v[i], text);
        }
        names_leave(n);
        return NULL;
}

/* /etc/passwd and /etc/group, without NSS: the names of a machine's own users are known
 * from the first event on. */
static void read_local_files(struct names *n)
{
        FILE *f = fopen("/etc/passwd", "re");
        struct passwd *pw;
        struct group *gr;

        while (f && (pw = fgetpwent(f)))
                if (!find(n, NAME_USER, pw->pw_uid)) {
                        struct name *name = find_or_add(n, NAME_USER, pw->pw_uid);

                        if (name)
                                set_text(n, name, strdup(pw->pw_name));
                }
        if (f)
                (void)fclose(f);

        f = fopen("/etc/group", "re");
        while (f && (gr = fgetgrent(f)))
                if (!find(n, NAME_GROUP, gr->gr_gid)) {
                        struct name *name = find_or_add(n, NAME_GROUP, gr->gr_gid);

                        if (name)
                                set_text(n, name, strdup(gr->gr_name));
                }
        if (f)
                (void)fclose(f);
}

int names_new(struct names **ret)
{
        struct names *n = calloc(1, sizeof(*n));

        if (!n)
                return -ENOMEM;
        (void)pthread_mutex_init(&n->lock, NULL);
        (void)pthread_cond_init(&n->work, NULL);
        n->users = 2;
        read_local_files(n);

        int r = start_thread(names_run, n);
        if (r < 0) {
                n->users = 1;
                names_free(n);
                return r;
        }
        *ret = n;
        return 0;
}

void names_free(struct names *n)
{
        if (!n)
                return;
        (void)pthread_mutex_lock(&n->lock);
        n->stopping = true;
        (void)pthread_cond_signal(&n->work);
        names_leave(n);
}

const char *names_get(struct names *n, enum name_kind kind, uint32_t id)
{
        const char *text = NULL;

        (void)pthread_mutex_lock(&n->lock);
        struct name *name = find_or_add(n, kind, id);
        if (name) {
                if (!name->waiting &&
                    (name->stale || (!name->text && monotonic_usec() - name->tried_usec > RETRY_USEC)))
                        enqueue(n, name);
                text = name->text;
        }
        (void)pthread_mutex_unlock(&n->lock);
        return text;
}

void names_refresh(struct names *n)
{
        (void)pthread_mutex_lock(&n->lock);
        for (uint32_t i = 0; i < n->n; i++)
                n->v[i].stale = true;
        (void)pthread_mutex_unlock(&n->lock);
}
