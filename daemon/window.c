/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "window.h"

#include <errno.h>
#include <sys/fanotify.h>
#include <time.h>

#include "fdutil.h"
#include "hash.h"

/* An event has at most three names of 255 bytes and three handles of 128. */
#define LARGEST_EVENT 4096u
/* Metadata, one handle of the shortest kind, a pidfd: no event that opens one is smaller. */
#define SMALLEST_EVENT 48u
/* A read at a time: as much of the window is zeroed before it. */
#define READ_BYTES (32u * 1024u)
#define FAN_NAMES_A_DIR (FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_MOVED_FROM | FAN_MOVED_TO)

static uint64_t clock_usec(clockid_t clock)
{
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

uint64_t window_boottime_usec(void)
{
        return clock_usec(CLOCK_BOOTTIME);
}

int window_init(struct window *w, size_t bytes, size_t max_events)
{
        size_t cap = MIN_OF(MAX_OF(bytes, (size_t)(2 * LARGEST_EVENT)), (size_t)UINT32_MAX);

        *w = (struct window){ .cap = cap, .max_events = MAX_OF(max_events, (size_t)1), .owns_fds = true };
        w->data = malloc(cap);
        return w->data ? 0 : -ENOMEM;
}

void window_init_kept(struct window *w, struct spool *s, unsigned index, size_t max_events)
{
        size_t size;
        uint8_t *data = spool_window_data(s, index, &size);

        /* Behind the last event there is always room for the length that is zero. */
        *w = (struct window){
                .data = data, .cap = size - sizeof(struct fanotify_event_metadata),
                .max_events = MAX_OF(max_events, (size_t)1), .owns_fds = true,
                .spool = s, .kept = &spool_state(s)->windows[index],
        };
}

static void close_rest(struct window *w)
{
        struct fan_event e;
        size_t at = w->closed;

        while (w->closed < w->len && window_next(w, &at, &e) > 0)
                window_close_event(w, &e, at);
        w->closed = w->len;
}

void window_done(struct window *w)
{
        close_rest(w);
        if (!w->spool)
                free(w->data);
        free(w->execs);
        free(w->dirs);
        *w = (struct window){};
}

void window_reset(struct window *w)
{
        close_rest(w);
        w->len = w->closed = w->n_events = w->n_execs = w->n_dirs = w->dirs_indexed = 0;
        w->since_usec = w->fsid = 0;
        w->drained = w->execs_unknown = w->replayed = false;
        w->owns_fds = true;
        if (w->kept && w->kept->order != 0) {
                w->kept->order = 0;
                spool_commit(w->spool);
        }
}

static void set_fsid(struct fan_event *e, uint64_t fsid)
{
        e->dir.fsid = e->old_dir.fsid = e->new_dir.fsid = e->object.fsid = fsid;
}

int window_next(const struct window *w, size_t *at, struct fan_event *ret)
{
        struct fan_cursor c = { .data = w->data, .len = w->len, .pos = *at };
        int r = fan_decode_next(&c, ret);

        if (r > 0) {
                *at = c.pos;
                if (w->fsid != 0)
                        set_fsid(ret, w->fsid);
                if (!w->owns_fds) {
                        /* that it was gone when it was read stays true */
                        ret->fd = FAN_NOFD;
                        ret->pidfd = w->replayed && ret->pidfd >= 0 ? FAN_EPIDFD : FAN_NOPIDFD;
                }
        }
        return r > 0;
}

void window_close_event(struct window *w, const struct fan_event *e, size_t end)
{
        if (w->owns_fds) {
                (void)close_fd(e->fd);
                if (e->has_pidfd)
                        (void)close_fd(e->pidfd);
        }
        w->closed = end;
}

/* ---- the index of programs ---- */

static void add_exec(struct window *w, const struct fan_event *e, size_t at)
{
        if (w->n_execs == w->cap_execs) {
                size_t cap = w->cap_execs ? w->cap_execs * 2 : 64;
                struct window_exec *execs = reallocarray(w->execs, cap, sizeof(*execs));

                if (!execs) {
                        w->execs_unknown = true;
                        return;
                }
                w->execs = execs;
                w->cap_execs = cap;
        }
        /* fanotify merges an event into one of the same process and file that waits: an
         * open_exec that carries nothing else can only stand where an earlier one of the
         * same file stood; with an open, it may stand where that was. */
        w->execs[w->n_execs++] = (struct window_exec){
                .pid = e->pid,
                .at = (uint32_t)at,
                .merged = e->mask != FAN_OPEN_EXEC,
        };
}

static int compare_execs(const void *a, const void *b)
{
        const struct window_exec *x = a, *y = b;

        if (x->pid != y->pid)
                return x->pid < y->pid ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

/* The first exec of pid in order, or the end of all. */
static const struct window_exec *first_exec(const struct window *w, int32_t pid)
{
        if (w->n_execs == 0)
                return NULL;

        size_t low = 0, high = w->n_execs;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (w->execs[middle].pid < pid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return w->execs + low;
}

static bool is_of(const struct window *w, const struct window_exec *x, int32_t pid)
{
        return x && x < w->execs + w->n_execs && x->pid == pid;
}

bool window_exec_after(const struct window *w, int32_t pid, size_t at)
{
        if (w->execs_unknown)
                return true;
        for (const struct window_exec *x = first_exec(w, pid); is_of(w, x, pid); x++)
                if (x->at > at)
                        return true;
        return false;
}

bool window_exec_unordered(const struct window *w, int32_t pid, size_t at)
{
        for (const struct window_exec *x = first_exec(w, pid); is_of(w, x, pid); x++)
                if (x->at <= at && x->merged)
                        return true;
        return false;
}

bool window_has_exec(const struct window *w, int32_t pid)
{
        const struct window_exec *x = first_exec(w, pid);

        return w->execs_unknown || is_of(w, x, pid);
}

/* ---- reading ---- */

/* Takes what was appended behind `from` into account; what does not decode is cut off,
 * with the descriptors in it: they cannot be found. */
static void take_in(struct window *w, size_t from, uint64_t *ret_bad)
{
        size_t n_execs = w->n_execs;
        struct fan_cursor c = { .data = w->data, .len = w->len, .pos = from };
        struct fan_event e;
        size_t at = from;
        int r;

        while ((r = fan_decode_next(&c, &e)) > 0) {
                w->n_events++;
                if (e.mask & FAN_OPEN_EXEC)
                        add_exec(w, &e, at);
                else if (e.overflow)
                        w->execs_unknown = true;
                at = c.pos;
        }
        if (r < 0) {
                w->len = at;
                (*ret_bad)++;
        }
        if (w->n_execs > n_execs)
                qsort(w->execs, w->n_execs, sizeof(*w->execs), compare_execs);
}

/*
 * A process that is killed in read(2) leaves what the kernel had copied, and nobody
 * knows how much: so there are zeroes behind it, where the next event would have its
 * length.  Zeroing also faults the pages in.  A kill during a page fault inside
 * read(2) would lose the event that was being copied.
 */
static void prepare(struct window *w, struct fan_group *g, size_t size, uint64_t oldest_usec)
{
        const struct group_key *key = fan_group_key(g);

        memset(w->data + w->len, 0, size + sizeof(struct fanotify_event_metadata));
        if (w->len > 0)
                return;
        *w->kept = (struct spool_window){
                .order = ++spool_state(w->spool)->orders,
                .group_kind = key->kind,
                .mount_id = key->mount_id,
                .read_usec = clock_usec(CLOCK_REALTIME),
                .oldest_usec = oldest_usec,
        };
        spool_commit(w->spool);
}

static size_t next_read_size(const struct window *w)
{
        /* each event read may open a descriptor: no more bytes than events are allowed */
        size_t wish = MAX_OF((w->max_events - w->n_events) * SMALLEST_EVENT, (size_t)LARGEST_EVENT);

        return MIN_OF(MIN_OF(w->cap - w->len, wish), (size_t)READ_BYTES);
}

int window_fill(struct window *w, struct fan_group *g, uint64_t oldest_usec, uint64_t *ret_bad)
{
        w->drained = false;
        w->fsid = group_key_fsid(fan_group_key(g));
        for (;;) {
                if (w->cap - w->len < LARGEST_EVENT || w->n_events >= w->max_events)
                        return 0;

                size_t size = next_read_size(w);
                uint64_t before = window_boottime_usec();
                if (w->spool)
                        prepare(w, g, size, oldest_usec);
                ssize_t n = fan_group_read(g, w->data + w->len, size);

                if (n == -EINTR)
                        continue;
                if (n == 0 || n == -EAGAIN) {
                        w->drained = true;
                        w->drained_usec = before;
                        return 0;
                }
                if (n < 0)
                        return w->len > 0 ? 0 : (int)n;

                size_t from = w->len;
                w->len += (size_t)n;
                take_in(w, from, ret_bad);
        }
}

/* Where the first length of zero stands, or one that cannot be. */
static size_t bytes_left_behind(const struct window *w)
{
        size_t at = 0;

        while (w->cap - at >= sizeof(struct fanotify_event_metadata)) {
                struct fanotify_event_metadata event;

                memcpy(&event, w->data + at, sizeof(event));
                if (event.event_len < sizeof(event) || event.event_len > w->cap - at)
                        break;
                at += event.event_len;
        }
        return at;
}

void window_replay(struct window *w, uint64_t *ret_bad)
{
        if (w->kept->order == 0)
                return;
        w->len = w->closed = bytes_left_behind(w);
        w->owns_fds = false;
        w->replayed = true;
        w->fsid = group_key_fsid(&(struct group_key){ (enum group_kind)w->kept->group_kind, w->kept->mount_id });
        w->read_usec = w->kept->read_usec;
        take_in(w, 0, ret_bad);
        w->kept->done = MIN_OF(w->kept->done, (uint64_t)w->len);
}

int window_copy(struct window *w, const void *bytes, size_t len, uint64_t *ret_bad)
{
        window_reset(w);
        if (len > w->cap) {
                uint8_t *data = !w->spool && len < UINT32_MAX ? realloc(w->data, len) : NULL;

                if (!data)
                        return -ENOMEM;
                w->data = data;
                w->cap = len;
        }
        if (len > 0)
                memcpy(w->data, bytes, len);
        w->len = len;
        w->owns_fds = false;
        take_in(w, 0, ret_bad);
        return 0;
}

/* ---- the index of directories ---- */

static uint64_t hash_handle(const struct fan_handle *h)
{
        return hash_mix(h->fsid ^ (uint64_t)(uint32_t)h->type, hash_bytes((const char *)h->bytes, h->len));
}

static int compare_dirs(const void *a, const void *b)
{
        const struct window_dir *x = a, *y = b;

        if (x->hash != y->hash)
                return x->hash < y->hash ? -1 : 1;
        return x->at < y->at ? -1 : x->at > y->at;
}

static bool names_dir(const struct fan_event *e)
{
        return (e->mask & FAN_ONDIR) && (e->mask & FAN_NAMES_A_DIR) && fan_handle_given(&e->object);
}

static void index_dirs(struct window *w)
{
        size_t at = w->dirs_indexed, begin = at;
        struct fan_event e;

        if (w->dirs_indexed == w->len)
                return;
        for (; at < w->len && window_next(w, &at, &e) > 0; begin = at) {
                if (!names_dir(&e))
                        continue;
                if (w->n_dirs == w->cap_dirs) {
                        size_t cap = w->cap_dirs ? w->cap_dirs * 2 : 64;
                        struct window_dir *dirs = reallocarray(w->dirs, cap, sizeof(*dirs));

                        if (!dirs)
                                break; /* these paths stay unknown */
                        w->dirs = dirs;
                        w->cap_dirs = cap;
                }
                w->dirs[w->n_dirs++] = (struct window_dir){ hash_handle(&e.object), (uint32_t)begin };
        }
        w->dirs_indexed = w->len;
        if (w->n_dirs > 0)
                qsort(w->dirs, w->n_dirs, sizeof(*w->dirs), compare_dirs);
}

static bool is_dir_event(const struct window *w, const struct window_dir *d, const struct fan_handle *dir,
                         struct fan_event *ret)
{
        size_t at = d->at;

        return window_next(w, &at, ret) > 0 && fan_handle_equal(&ret->object, dir);
}

/* The first in order of hash and place that is not before (hash, at). */
static size_t lower_bound(const struct window *w, uint64_t hash, size_t at)
{
        size_t low = 0, high = w->n_dirs;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const struct window_dir *d = &w->dirs[middle];

                if (d->hash < hash || (d->hash == hash && d->at < at))
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

bool window_find_dir(struct window *w, const struct fan_handle *dir, size_t at, bool forward,
                     struct fan_event *ret, size_t *ret_at)
{
        uint64_t hash = hash_handle(dir);

        index_dirs(w);

        size_t i = lower_bound(w, hash, at);
        if (forward) {
                for (; i < w->n_dirs && w->dirs[i].hash == hash; i++)
                        if (is_dir_event(w, &w->dirs[i], dir, ret)) {
                                *ret_at = w->dirs[i].at;
                                return true;
                        }
                return false;
        }
        while (i-- > 0 && w->dirs[i].hash == hash)
                if (is_dir_event(w, &w->dirs[i], dir, ret)) {
                        *ret_at = w->dirs[i].at;
                        return true;
                }
        return false;
}
