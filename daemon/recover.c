/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "recover.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "fdutil.h"
#include "mount_clone.h"
#include "recovery_plan.h"
#include "strbuf.h"
#include "vocab.h"

/* Names after which the scan sleeps: at most 32,000 a second, about a twentieth of a core. */
#define NAMES_A_STEP 64u
#define STEP_USEC    2000u
/* Findings that wait; then the scan waits. */
#define MAX_WAITING 1024u
/* Then it is said that there was more. */
#define MAX_LOOKED_AT 20000000u

struct recovery {
        pthread_t thread;
        bool has_thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        int event_fd;
        bool stop, over;
        struct recovery_plan waiting; /* n = 0: nothing */
        struct found queue[MAX_WAITING];
        size_t head, n;
        struct recovery_summary summary;
};

void found_done(struct found *f)
{
        free(f->path);
        *f = (struct found){};
}

/* ---- the walk ---- */

/* In which mount the walk is, and where it entered it. */
struct entry {
        size_t len;        /* of w->path */
        uint64_t mount_id;
};

struct walk {
        struct recovery *r;
        const struct recovery_plan *plan;
        const struct recovery_root *root; /* that is walked */
        struct strbuf path;
        unsigned names;
        struct entry entry;
        int clone; /* of what was entered; never while the walk sleeps */
};

static uint64_t usec_of(const struct statx_timestamp *t)
{
        return (uint64_t)t->tv_sec * USEC_PER_SEC + t->tv_nsec / NSEC_PER_USEC;
}

static uint32_t events_since(const struct statx *st, uint64_t from_usec)
{
        const struct recovery_times times = {
                .is_dir = S_ISDIR(st->stx_mode),
                .mtime_usec = usec_of(&st->stx_mtime),
                .ctime_usec = usec_of(&st->stx_ctime),
                .btime_usec = st->stx_mask & STATX_BTIME ? usec_of(&st->stx_btime) : 0,
        };

        return recovery_events(&times, from_usec);
}

static struct object object_of(const struct statx *st)
{
        return (struct object){
                .known = true,
                .type = vocab_type_of_mode(st->stx_mode),
                .dev_major = st->stx_dev_major,
                .dev_minor = st->stx_dev_minor,
                .ino = st->stx_ino,
                .mode = st->stx_mode,
                .uid = st->stx_uid,
                .gid = st->stx_gid,
                .size = st->stx_size,
                .nlink = st->stx_nlink,
        };
}

static void wake(struct recovery *r)
{
        (void)eventfd_write(r->event_fd, 1);
}

/* Waits while too much waits.  False: the scan is to end. */
static bool hand_over(struct walk *w, struct found *f)
{
        struct recovery *r = w->r;

        pthread_mutex_lock(&r->lock);
        while (!r->stop && r->n == MAX_WAITING) {
                w->clone = close_fd(w->clone);
                pthread_cond_wait(&r->changed, &r->lock);
        }
        bool go_on = !r->stop;
        if (go_on) {
                r->queue[(r->head + r->n++) % MAX_WAITING] = *f;
                r->summary.found++;
        } else {
                found_done(f);
        }
        pthread_mutex_unlock(&r->lock);
        if (go_on)
                wake(r);
        return go_on;
}

static bool report(struct walk *w, const struct statx *st)
{
        struct found f = { .events = events_since(st, w->root->from_usec), .object = object_of(st) };

        if (f.events == 0)
                return true;
        f.path = strdup(strbuf_str(&w->path));
        if (!f.path) {
                w->r->summary.cut_short = true;
                return true;
        }
        return hand_over(w, &f);
}

/* Others have the disk and the processor first, and whoever unmounts the device at once. */
static bool pace(struct walk *w)
{
        if (++w->names % NAMES_A_STEP == 0) {
                const struct timespec pause = { .tv_nsec = STEP_USEC * 1000 };

                w->clone = close_fd(w->clone);
                (void)nanosleep(&pause, NULL);
        }
        pthread_mutex_lock(&w->r->lock);
        bool go_on = !w->r->stop && w->r->summary.looked_at < MAX_LOOKED_AT;
        w->r->summary.looked_at++;
        if (!w->r->stop && !go_on)
                w->r->summary.cut_short = true;
        pthread_mutex_unlock(&w->r->lock);
        return go_on;
}

/* A clone of what was entered, unless another mount, or none, is there by now. */
static int open_entry(struct walk *w)
{
        char *path = w->path.data, kept = path[w->entry.len];

        path[w->entry.len] = '\0';
        int fd = mount_clone_is(path, w->entry.mount_id) ? mount_clone_open(path) : -ENOENT;
        if (fd == -EINVAL || fd == -EPERM || fd == -ENOSYS)
                fd = mount_clone_open_attached(path);
        if (fd >= 0 && !mount_clone_is(path, w->entry.mount_id)) {
                (void)close_fd(fd);
                fd = -ENOENT;
        }
        path[w->entry.len] = kept;
        return fd;
}

/*
 * The directory at w->path, below the clone; -ENOENT when it is not what was asked by path: that
 * is elsewhere by now, or something was mounted on it.
 */
static int open_directory(struct walk *w, const struct statx *want)
{
        const char *below = w->path.data + w->entry.len;
        struct stat st;

        if (w->clone < 0)
                w->clone = open_entry(w);
        if (w->clone < 0)
                return w->clone;
        below += *below == '/';
        _cleanup_close_ int dir = mount_clone_open_below(w->clone, *below ? below : ".", O_PATH | O_DIRECTORY);
        if (dir < 0)
                return dir;
        if (fstat(dir, &st) < 0)
                return -errno;
        if (st.st_ino != want->stx_ino || st.st_dev != makedev(want->stx_dev_major, want->stx_dev_minor))
                return -ENOENT;
        /* only now: of something else than a directory that is known, open(2) itself may have an effect */
        int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | O_NOATIME);
        return fd < 0 ? -errno : fd;
}

/* All names at once, each with its zero: nothing is open while they are looked at. */
static int read_names(struct walk *w, const struct statx *dir, struct strbuf *ret)
{
        int fd = open_directory(w, dir);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);

        if (!d) {
                int r = fd < 0 ? fd : -errno;

                (void)close_fd(fd);
                return r;
        }
        for (struct dirent *e; (e = readdir(d));)
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        strbuf_add(ret, e->d_name, strlen(e->d_name) + 1);
        (void)closedir(d);
        return strbuf_failed(ret) ? -ENOMEM : 0;
}

static bool look_at(struct walk *w, unsigned depth);

static bool walk_directory(struct walk *w, const struct statx *dir, unsigned depth)
{
        _cleanup_strbuf_ struct strbuf names = STRBUF_NULL;
        size_t len = w->path.len;
        bool go_on = true;

        int r = read_names(w, dir, &names);
        if (r < 0) {
                w->r->summary.failed += r != -ENOENT;
                return true;
        }
        for (size_t at = 0; go_on && at < names.len; at += strlen(names.data + at) + 1) {
                if (len > 1)
                        strbuf_addc(&w->path, '/');
                strbuf_adds(&w->path, names.data + at);
                go_on = look_at(w, depth + 1);
                w->path.len = len;
                w->path.data[len] = '\0';
        }
        return go_on;
}

/* Another mount, with a clone of its own. */
static bool walk_mount(struct walk *w, const struct statx *dir, unsigned depth)
{
        const struct entry above = w->entry;

        w->clone = close_fd(w->clone);
        w->entry = (struct entry){ .len = w->path.len, .mount_id = dir->stx_mnt_id };
        bool go_on = walk_directory(w, dir, depth);
        w->clone = close_fd(w->clone);
        w->entry = above;
        return go_on;
}

/* What is at w->path.  False: the scan is to end. */
static bool look_at(struct walk *w, unsigned depth)
{
        const struct recovery_root *root = w->root;
        struct statx st;

        if (!pace(w) || strbuf_failed(&w->path))
                return false;
        if (statx(AT_FDCWD, strbuf_str(&w->path), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
                  STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &st) < 0) {
                w->r->summary.failed += errno == ENAMETOOLONG;
                return true;
        }
        bool entered = depth == 0 || st.stx_mnt_id != w->entry.mount_id;
        if (entered && (recovery_plan_is_quiet(w->plan, st.stx_mnt_id) || (root->one_mount && depth > 0)))
                return true;
        if (!report(w, &st))
                return false;
        if (!S_ISDIR(st.stx_mode) || depth >= MIN_OF(root->depth, RECOVERY_MAX_DEPTH))
                return true;
        return entered ? walk_mount(w, &st, depth) : walk_directory(w, &st, depth);
}

static void run(struct recovery *r, const struct recovery_plan *plan)
{
        struct walk w = { .r = r, .plan = plan, .clone = -1 };
        bool go_on = true;

        for (size_t i = 0; go_on && i < plan->n; i++) {
                w.root = &plan->roots[i];
                strbuf_reset(&w.path);
                strbuf_adds(&w.path, w.root->path);
                go_on = look_at(&w, 0);
        }
        strbuf_done(&w.path);
}

static void *thread_main(void *userdata)
{
        struct recovery *r = userdata;
        struct recovery_plan plan;

        pthread_mutex_lock(&r->lock);
        for (;;) {
                while (!r->stop && (r->waiting.n == 0 || r->over))
                        pthread_cond_wait(&r->changed, &r->lock);
                if (r->stop)
                        break;
                plan = r->waiting;
                r->waiting = (struct recovery_plan){};
                r->summary = (struct recovery_summary){ .from_usec = recovery_plan_from(&plan) };
                pthread_mutex_unlock(&r->lock);
                run(r, &plan);
                recovery_plan_done(&plan);
                pthread_mutex_lock(&r->lock);
                r->over = true;
                wake(r);
        }
        pthread_mutex_unlock(&r->lock);
        return NULL;
}

/* ---- the loop's side ---- */

int recovery_new(struct recovery **ret)
{
        struct recovery *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        r->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (r->event_fd < 0) {
                free(r);
                return -errno;
        }
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->changed, NULL);
        *ret = r;
        return 0;
}

void recovery_free(struct recovery *r)
{
        if (!r)
                return;
        if (r->has_thread) {
                struct timespec until;

                pthread_mutex_lock(&r->lock);
                r->stop = true;
                pthread_cond_broadcast(&r->changed);
                pthread_mutex_unlock(&r->lock);
                (void)clock_gettime(CLOCK_REALTIME, &until);
                until.tv_sec++;
                /* one that hangs on a disk keeps its memory to the end of the process */
                if (pthread_timedjoin_np(r->thread, NULL, &until) != 0)
                        return;
        }
        for (size_t i = 0; i < r->n; i++)
                found_done(&r->queue[(r->head + i) % MAX_WAITING]);
        recovery_plan_done(&r->waiting);
        (void)close_fd(r->event_fd);
        pthread_cond_destroy(&r->changed);
        pthread_mutex_destroy(&r->lock);
        free(r);
}

int recovery_start(struct recovery *r, const struct generation *g, const char *mountpoint, uint64_t from_usec)
{
        pthread_mutex_lock(&r->lock);
        int e = recovery_plan_add(&r->waiting, g->rules, g->world, mountpoint, from_usec);
        bool any = r->waiting.n > 0;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        if (e == 0 && any && !r->has_thread) {
                e = -pthread_create(&r->thread, NULL, thread_main, r);
                r->has_thread = e == 0;
        }
        return e;
}

int recovery_fd(const struct recovery *r)
{
        return r->event_fd;
}

size_t recovery_take(struct recovery *r, struct found *found, size_t n)
{
        eventfd_t count;
        size_t i;

        pthread_mutex_lock(&r->lock);
        (void)eventfd_read(r->event_fd, &count);
        for (i = 0; i < n && r->n > 0; i++) {
                found[i] = r->queue[r->head];
                r->head = (r->head + 1) % MAX_WAITING;
                r->n--;
        }
        if (r->n > 0)
                wake(r);
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        return i;
}

bool recovery_over(struct recovery *r, struct recovery_summary *ret)
{
        bool over;

        pthread_mutex_lock(&r->lock);
        over = r->over && r->n == 0;
        if (over) {
                *ret = r->summary;
                r->over = false;
                pthread_cond_broadcast(&r->changed);
        }
        pthread_mutex_unlock(&r->lock);
        return over;
}
