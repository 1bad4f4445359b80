/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cache answers with the path at the event's place in the queue, the kernel
 * with the path now: so the cache is asked first, and dropped by the events that
 * end its truth.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dirtable.h"
#include "dirwalk.h"
#include "fdutil.h"
#include "handle_path.h"
#include "lane.h"
#include "lru.h"
#include "mount_fds.h"
#include "resolve.h"

/* of paths and their administration; with 8192 short paths about 1.5 MiB are used */
#define MAX_CACHE_BYTES (2u * 1024u * 1024u)
/* mounts of one filesystem that are tried for a handle: more than one is needed only where
 * none shows its root */
#define MAX_MOUNTS_TRIED 16u
#define HANDLE_KEY_MAX (8u + 4u + 128u)

struct fsid_entry {
        uint64_t fsid;
        uint32_t fs;
        bool names_unseen;
};

/* A cached directory, as of batch `batch`; the owner is as of batch owner_batch. */
struct dir {
        uint64_t fsid;
        uint64_t batch;
        uint64_t owner_batch;
        uint32_t uid, gid;
        uint32_t len;
        char path[];
};

struct resolver {
        struct counters *counters;
        const struct world *world;
        struct mount_fds *mounts;
        struct lru *dirs;
        const struct dirtable *table;
        struct fsid_entry *fsids; /* sorted */
        size_t n_fsids;
        struct slow { /* filesystems that may hang */
                uint32_t fs;
                struct lane *lane;
        } *slow;
        size_t n_slow;
        bool patient; /* none is too slow for us */
        uint64_t batch;
        struct strbuf scratch;
};

static void drop_dir(void *userdata, void *value)
{
        free(value);
}

int resolver_new(struct counters *counters, size_t max_entries, struct resolver **ret)
{
        _cleanup_(resolver_freep) struct resolver *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        r->counters = counters;
        r->batch = 1;
        if (mount_fds_new(&r->mounts) < 0 ||
            lru_new(MAX_OF(max_entries, (size_t)1), MAX_CACHE_BYTES, drop_dir, NULL, &r->dirs) < 0)
                return -ENOMEM;
        *ret = STEAL(r);
        return 0;
}

int resolver_new_patient(struct counters *counters, struct resolver **ret)
{
        int r = resolver_new(counters, 1, ret);

        if (r == 0)
                (*ret)->patient = true;
        return r;
}

static void close_lanes(struct resolver *r)
{
        for (size_t i = 0; i < r->n_slow; i++)
                lane_free(r->slow[i].lane);
        free(r->slow);
        r->slow = NULL;
        r->n_slow = 0;
}

/* Without a lane a filesystem that may hang is not looked at at all. */
static void open_lanes(struct resolver *r)
{
        const struct world *w = r->world;

        close_lanes(r);
        if (r->patient)
                return;
        r->slow = calloc(MAX_OF(w->n_fs, 1u), sizeof(*r->slow));
        for (uint32_t i = 0; r->slow && i < w->n_fs; i++) {
                struct slow slow = { .fs = i };
                uint32_t mount = w->fs[i].canonical_mount;

                if (!w->fs[i].fsid_known || mount == WORLD_NONE || !world_mount_may_hang(w, mount))
                        continue;
                if (lane_new(w, i, &slow.lane) < 0)
                        slow.lane = NULL;
                r->slow[r->n_slow++] = slow;
        }
}

static const struct slow *slow_of(const struct resolver *r, uint32_t fs)
{
        for (size_t i = 0; i < r->n_slow; i++)
                if (r->slow[i].fs == fs)
                        return &r->slow[i];
        return NULL;
}

const char *resolver_stuck(const struct resolver *r)
{
        const char *where = NULL;

        for (size_t i = 0; i < r->n_slow && !where; i++)
                where = r->slow[i].lane ? lane_stuck(r->slow[i].lane) : NULL;
        return where;
}

void resolver_free(struct resolver *r)
{
        if (!r)
                return;
        close_lanes(r);
        lru_free(r->dirs);
        mount_fds_free(r->mounts);
        free(r->fsids);
        strbuf_done(&r->scratch);
        free(r);
}

static int compare_fsids(const void *a, const void *b)
{
        const struct fsid_entry *x = a, *y = b;

        if (x->fsid != y->fsid)
                return x->fsid < y->fsid ? -1 : 1;
        return x->fs < y->fs ? -1 : x->fs > y->fs;
}

/* Without memory for the table no handle resolves, and each event says so. */
void resolver_set_world(struct resolver *r, const struct world *w)
{
        free(r->fsids);
        r->fsids = calloc(MAX_OF(w->n_fs, 1u), sizeof(*r->fsids));
        r->n_fsids = 0;
        for (uint32_t i = 0; r->fsids && i < w->n_fs; i++)
                if (w->fs[i].fsid_known)
                        r->fsids[r->n_fsids++] = (struct fsid_entry){ .fsid = w->fs[i].fsid, .fs = i };
        if (r->fsids)
                qsort(r->fsids, r->n_fsids, sizeof(*r->fsids), compare_fsids);
        r->world = w;
        open_lanes(r);
        mount_fds_set_world(r->mounts, w);
}

static struct fsid_entry *find_fsid(const struct resolver *r, uint64_t fsid)
{
        size_t low = 0, high = r->n_fsids;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (r->fsids[middle].fsid < fsid)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < r->n_fsids && r->fsids[low].fsid == fsid ? &r->fsids[low] : NULL;
}

uint32_t resolver_fs(const struct resolver *r, uint64_t fsid)
{
        const struct fsid_entry *e = find_fsid(r, fsid);

        return e ? e->fs : WORLD_NONE;
}

void resolver_names_unseen(struct resolver *r, uint64_t fsid)
{
        struct fsid_entry *e = find_fsid(r, fsid);

        if (e)
                e->names_unseen = true;
}

bool resolver_sees_names(const struct resolver *r, uint64_t fsid)
{
        const struct fsid_entry *e = find_fsid(r, fsid);

        return e && !e->names_unseen;
}

/* ---- the cache ---- */

static size_t handle_key(const struct fan_handle *h, uint8_t key[static HANDLE_KEY_MAX])
{
        size_t len = MIN_OF(h->len, 128u);

        memcpy(key, &h->fsid, 8);
        memcpy(key + 8, &h->type, 4);
        memcpy(key + 12, h->bytes, len);
        return 12 + len;
}

static struct dir *cached(struct resolver *r, const struct fan_handle *h)
{
        uint8_t key[HANDLE_KEY_MAX];

        struct dir *d = lru_get(r->dirs, key, handle_key(h, key));
        if (!d || d->batch == r->batch)
                return d;

        const struct fsid_entry *e = find_fsid(r, h->fsid);
        return e && e->names_unseen ? NULL : d;
}

/* A cache without memory is a smaller cache. */
static void remember(struct resolver *r, const struct fan_handle *h, const char *path, size_t len)
{
        uint8_t key[HANDLE_KEY_MAX];
        size_t key_len = handle_key(h, key);
        struct dir *d = malloc(sizeof(*d) + len + 1);

        if (!d) {
                (void)lru_remove(r->dirs, key, key_len);
                return;
        }
        *d = (struct dir){ .fsid = h->fsid, .batch = r->batch, .len = (uint32_t)len };
        memcpy(d->path, path, len);
        d->path[len] = '\0';
        if (lru_put(r->dirs, key, key_len, d, sizeof(*d) + len + 1 + 64 + key_len) < 0) {
                (void)lru_remove(r->dirs, key, key_len);
                free(d);
        }
}

void resolver_learn(struct resolver *r, const struct fan_handle *dir, const char *path, size_t len)
{
        if (fan_handle_given(dir) && len > 0)
                remember(r, dir, path, len);
}

void resolver_forget(struct resolver *r, const struct fan_handle *dir)
{
        uint8_t key[HANDLE_KEY_MAX];

        if (fan_handle_given(dir))
                (void)lru_remove(r->dirs, key, handle_key(dir, key));
}

struct subtree {
        uint64_t fsid;
        const char *path;
        size_t len;
};

static bool lies_below(void *arg, void *value)
{
        const struct subtree *s = arg;
        const struct dir *d = value;

        return d->fsid == s->fsid && d->len >= s->len && memcmp(d->path, s->path, s->len) == 0 &&
               (d->len == s->len || s->len == 1 || d->path[s->len] == '/');
}

void resolver_forget_below(struct resolver *r, uint64_t fsid, const char *path, size_t len)
{
        struct subtree s = { .fsid = fsid, .path = path, .len = len };

        (void)lru_remove_if(r->dirs, lies_below, &s);
}

void resolver_forget_all(struct resolver *r)
{
        lru_clear(r->dirs);
}

void resolver_end_batch(struct resolver *r)
{
        mount_fds_end_batch(r->mounts);
        r->batch++;
}

/* ---- the kernel ---- */

static int path_through(struct resolver *r, uint32_t index, const struct fan_handle *h, int flags,
                        struct strbuf *out)
{
        struct handle_way way = { .root = r->world->mounts[index].root, .flags = flags };

        way.fd = mount_fds_get(r->mounts, index, &way.prefix);
        return handle_path(&way, h, out);
}

/* Outside of what PID 1 has mounted: somebody else has, or nothing could have changed there. */
static int path_elsewhere(struct resolver *r, uint32_t fs, const struct fan_handle *h, int flags,
                          struct strbuf *out)
{
        struct handle_way way = { .root = "/", .flags = flags };

        way.fd = mount_fds_get_whole(r->mounts, fs, &way.prefix);
        return handle_path(&way, h, out);
}

/* The canonical mount first; where it shows only a part, or is gone, the others. */
static int path_from_kernel(struct resolver *r, const struct fan_handle *h, int flags, struct strbuf *out)
{
        uint32_t fs = resolver_fs(r, h->fsid), tried = 0;

        if (fs == WORLD_NONE || r->world->fs[fs].canonical_mount == WORLD_NONE)
                return -ENOENT;

        const struct slow *slow = slow_of(r, fs);
        if (slow)
                return slow->lane ? lane_dir(slow->lane, h, out) : -ETIMEDOUT;
        uint32_t canonical = r->world->fs[fs].canonical_mount;
        int e = path_through(r, canonical, h, flags, out);

        for (uint32_t i = 0; (e == -EXDEV || e == -ENOENT) && i < r->world->n_mounts; i++) {
                const struct world_mount *m = &r->world->mounts[i];

                if (m->fs != fs || !m->visible || i == canonical)
                        continue;
                if (++tried > MAX_MOUNTS_TRIED)
                        break;

                int other = path_through(r, i, h, flags, out);
                if (other != -ENOENT)
                        e = other;
        }
        if (e != -EXDEV)
                return e;

        int elsewhere = path_elsewhere(r, fs, h, flags, out);
        return elsewhere == -ENOENT ? e : elsewhere;
}

/* Where nobody can open a handle, what is not in the table is gone or was never marked. */
static bool gives_no_directories(const struct resolver *r, const struct fan_handle *h)
{
        uint32_t fs = resolver_fs(r, h->fsid);

        return fs != WORLD_NONE && r->world->fs[fs].mark_errno == EOPNOTSUPP &&
               world_fs_by_directories(&r->world->fs[fs]);
}

int resolver_dir(struct resolver *r, const struct fan_handle *dir, struct strbuf *ret)
{
        const struct dir *d;

        if (!fan_handle_given(dir))
                return -ESTALE;
        if (r->table && dirtable_count(r->table) > 0) {
                const struct dirtable_dir *known = dirtable_find(r->table, dir);

                if (known) {
                        r->counters->paths_cached++;
                        dirtable_path(known, ret);
                        return strbuf_failed(ret) ? -ENOMEM : 0;
                }
        }
        d = cached(r, dir);
        if (d) {
                r->counters->paths_cached++;
                strbuf_add(ret, d->path, d->len);
                return strbuf_failed(ret) ? -ENOMEM : 0;
        }

        strbuf_reset(&r->scratch);
        int e = gives_no_directories(r, dir) ? -ESTALE : path_from_kernel(r, dir, O_DIRECTORY, &r->scratch);
        if (e < 0) {
                r->counters->paths_failed++;
                r->counters->paths_timed_out += e == -ETIMEDOUT;
                return e;
        }
        r->counters->paths_resolved++;
        remember(r, dir, r->scratch.data, r->scratch.len);
        strbuf_add(ret, r->scratch.data, r->scratch.len);
        return strbuf_failed(ret) ? -ENOMEM : 0;
}

int resolver_file(struct resolver *r, const struct fan_handle *file, struct strbuf *ret)
{
        uint32_t fs = fan_handle_given(file) ? resolver_fs(r, file->fsid) : WORLD_NONE;

        /* the lanes of what may hang know directories alone */
        return fs == WORLD_NONE || slow_of(r, fs) ? -ENOENT : path_from_kernel(r, file, 0, ret);
}

/* Of the canonical mount, or of another one where that is gone. */
static int any_mount(struct resolver *r, uint32_t fs, const char **ret_root)
{
        uint32_t canonical = r->world->fs[fs].canonical_mount, at = canonical;
        size_t prefix;
        int mount_fd = canonical == WORLD_NONE ? -ENOENT : mount_fds_get(r->mounts, canonical, &prefix);

        for (uint32_t i = 0; mount_fd == -ENOENT && i < r->world->n_mounts; i++)
                if (r->world->mounts[i].fs == fs && r->world->mounts[i].visible && i != canonical)
                        mount_fd = mount_fds_get(r->mounts, at = i, &prefix);
        if (mount_fd >= 0)
                *ret_root = r->world->mounts[at].root;
        return mount_fd;
}

int resolver_run(struct resolver *r, uint32_t fs, struct resolver_job *job)
{
        const struct slow *slow = slow_of(r, fs);
        const char *root = "/";

        if (slow && slow->lane)
                return lane_run(slow->lane, job);

        int mount_fd = slow ? -ETIMEDOUT : any_mount(r, fs, &root);
        if (mount_fd < 0)
                return mount_fd == -ETIMEDOUT ? -EAGAIN : mount_fd;
        job->run(job, mount_fd, root);
        return 0;
}

void resolver_set_table(struct resolver *r, const struct dirtable *t)
{
        r->table = t;
}

/* Any mount of the filesystem will do: only a path is cut by a mount's root. */
int resolver_open(struct resolver *r, const struct fan_handle *h, int flags)
{
        const char *root;
        uint32_t fs = fan_handle_given(h) ? resolver_fs(r, h->fsid) : WORLD_NONE;

        if (fs == WORLD_NONE)
                return -ENOENT;
        if (slow_of(r, fs))
                return -ETIMEDOUT; /* it may hang: lanes ask it, and nobody else */

        int mount_fd = any_mount(r, fs, &root);
        return mount_fd < 0 ? mount_fd : handle_open(mount_fd, h, flags);
}

static int stat_fd(int fd, struct object *ret)
{
        struct statx stx;

        if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &stx) < 0)
                return -errno;
        *ret = dirwalk_object(&stx);
        return 0;
}

int resolver_object_at(struct resolver *r, const struct fan_handle *object, const char *path, struct object *ret)
{
        uint32_t fs = resolver_fs(r, object->fsid);
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
        struct fan_handle h = { .fsid = object->fsid };
        const char *root;

        if (fs == WORLD_NONE || slow_of(r, fs))
                return -ESTALE;
        int mount_fd = any_mount(r, fs, &root);
        if (mount_fd < 0)
                return mount_fd;
        _cleanup_close_ int fd = dirwalk_open(mount_fd, root, path, 0);
        int e = fd < 0 ? fd : dirwalk_handle(fd, "", &h, bytes);
        if (e < 0 || !fan_handle_equal(&h, object))
                return e < 0 && e != -ENOENT ? e : -ESTALE;
        return stat_fd(fd, ret);
}

int resolver_object(struct resolver *r, const struct fan_handle *object, struct object *ret)
{
        const struct slow *slow = fan_handle_given(object) ? slow_of(r, resolver_fs(r, object->fsid)) : NULL;

        if (slow)
                return slow->lane ? lane_object(slow->lane, object, ret) : -ETIMEDOUT;
        _cleanup_close_ int fd = resolver_open(r, object, 0);

        if (fd < 0)
                return fd;
        return stat_fd(fd, ret);
}

int resolver_dir_owner(struct resolver *r, const struct fan_handle *dir, uint32_t *ret_uid, uint32_t *ret_gid)
{
        struct dir *d = fan_handle_given(dir) ? cached(r, dir) : NULL;

        if (!d || d->owner_batch != r->batch) {
                struct object o;
                int e = resolver_object(r, dir, &o);

                if (e < 0)
                        return e;
                if (!d) {
                        *ret_uid = o.uid;
                        *ret_gid = o.gid;
                        return 0;
                }
                d->uid = o.uid;
                d->gid = o.gid;
                d->owner_batch = r->batch;
        }
        *ret_uid = d->uid;
        *ret_gid = d->gid;
        return 0;
}
