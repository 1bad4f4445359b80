/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dirwalk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fan_group.h"
#include "fan_uapi.h"
#include "fdutil.h"
#include "mount_clone.h"
#include "vocab.h"

#define MAX_DEPTH 400u
#define FLUSH_ITEMS 512u
#define ASKED (STATX_BASIC_STATS | STATX_BTIME)

/* ---- lists ---- */

void dirlist_reset(struct dirlist *l)
{
        l->n = 0;
        l->failed = false;
        strbuf_reset(&l->bytes);
}

void dirlist_done(struct dirlist *l)
{
        free(l->items);
        strbuf_done(&l->bytes);
        *l = (struct dirlist){};
}

static struct dirlist_item *add_item(struct dirlist *l)
{
        if (l->n == l->cap) {
                size_t cap = l->cap ? 2 * l->cap : 64;
                struct dirlist_item *items = reallocarray(l->items, cap, sizeof(*items));

                if (!items) {
                        l->failed = true;
                        return NULL;
                }
                l->items = items;
                l->cap = cap;
        }
        l->items[l->n] = (struct dirlist_item){};
        return &l->items[l->n++];
}

static size_t add_bytes(struct dirlist *l, const void *bytes, size_t len)
{
        size_t at = l->bytes.len;

        strbuf_add(&l->bytes, bytes, len);
        l->failed |= strbuf_failed(&l->bytes);
        return at;
}

/* ---- objects ---- */

int dirwalk_handle(int dir_fd, const char *name, struct fan_handle *ret, uint8_t bytes[static DIRWALK_HANDLE_BYTES])
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *fh = (struct file_handle *)space;
        int mount_id, flags = *name ? 0 : AT_EMPTY_PATH;

        /* The handle that only identifies is what events carry (exportfs_encode_fid()); kernels before 6.5
         * know no other than the one that can be opened. */
        fh->handle_bytes = MAX_HANDLE_SZ;
        if (name_to_handle_at(dir_fd, name, fh, &mount_id, flags | AT_HANDLE_FID) < 0) {
                fh->handle_bytes = MAX_HANDLE_SZ;
                if (name_to_handle_at(dir_fd, name, fh, &mount_id, flags) < 0)
                        return -errno;
        }
        memcpy(bytes, fh->f_handle, fh->handle_bytes);
        ret->type = fh->handle_type;
        ret->len = fh->handle_bytes;
        ret->bytes = bytes;
        return 0;
}

static bool same_object(const struct fan_handle *a, const struct fan_handle *b)
{
        return a->type == b->type && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The path below the root of the mount; NULL when it is not below. */
static const char *below_root(const char *root, const char *path)
{
        size_t len = streq(root, "/") ? 0 : strlen(root);

        if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
                return NULL;
        path += len;
        while (*path == '/')
                path++;
        return *path ? path : ".";
}

int dirwalk_open(int base_fd, const char *root, const char *path, int flags)
{
        const char *below = below_root(root, path);

        return below ? mount_clone_open_below(base_fd, below, flags | O_PATH) : -ENOENT;
}

static uint64_t usec_of(const struct statx_timestamp *t)
{
        return (uint64_t)t->tv_sec * USEC_PER_SEC + t->tv_nsec / NSEC_PER_USEC;
}

uint32_t dirwalk_events_since(const struct statx *stx, uint64_t since)
{
        bool is_file = S_ISREG(stx->stx_mode);

        if (usec_of(&stx->stx_ctime) < since)
                return 0;
        if (!(stx->stx_mask & STATX_BTIME) || usec_of(&stx->stx_btime) >= since)
                return EV_CREATE | (is_file && stx->stx_size > 0 ? EV_CHANGED : 0);
        if (usec_of(&stx->stx_mtime) < since)
                return EV_ATTRIB;
        return is_file ? EV_CHANGED : 0; /* of a directory: an entry came or went */
}

struct object dirwalk_object(const struct statx *stx)
{
        return (struct object){
                .known = true,
                .type = vocab_type_of_mode(stx->stx_mode),
                .dev_major = stx->stx_dev_major,
                .dev_minor = stx->stx_dev_minor,
                .ino = stx->stx_ino,
                .mode = stx->stx_mode,
                .uid = stx->stx_uid,
                .gid = stx->stx_gid,
                .size = stx->stx_size,
                .nlink = stx->stx_nlink,
        };
}

/* ---- the walk ---- */

struct visit {
        struct dirwalk *w;
        struct strbuf path;
};

/* The directory that is looked at: where its texts are in the list. */
struct place {
        size_t path, dir;
        struct fan_handle handle;
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
};

static void note_failure(struct dirwalk *w, int error)
{
        /* what is gone by now needs no mark */
        if (error == -ENOENT || error == -ESTALE)
                return;
        w->n_failed++;
        if (w->error == 0)
                w->error = -error;
}

static bool is_over(int r)
{
        return r == -ENOSPC || r == -ENOMEM || r == -ECANCELED;
}

static void fill_place(struct dirlist_item *item, const struct visit *v, const struct place *p)
{
        item->path = p->path;
        item->path_len = v->path.len;
        item->dir = p->dir;
        item->dir_len = p->handle.len;
        item->dir_type = p->handle.type;
}

static int list_marked(struct visit *v, struct place *p, const struct place *above, uint32_t mask)
{
        struct dirlist *l = v->w->list;
        struct dirlist_item *item;

        p->path = add_bytes(l, strbuf_str(&v->path), v->path.len + 1);
        p->dir = add_bytes(l, p->bytes, p->handle.len);
        size_t parent = above ? add_bytes(l, above->bytes, above->handle.len) : 0;
        item = add_item(l);
        if (!item || l->failed)
                return -ENOMEM;
        item->kind = DIRLIST_MARKED;
        item->mask = mask;
        item->parent = parent;
        item->parent_len = above ? above->handle.len : 0;
        item->parent_type = above ? above->handle.type : 0;
        fill_place(item, v, p);
        return 0;
}

static void list_entry(struct visit *v, const struct place *p, int fd, const char *name)
{
        struct dirlist *l = v->w->list;
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
        struct fan_handle h = {};
        struct dirlist_item *item;
        struct statx stx;
        uint32_t events;

        if (statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, ASKED, &stx) < 0)
                return;
        events = dirwalk_events_since(&stx, v->w->since_usec);
        if (events == 0)
                return;
        (void)dirwalk_handle(fd, name, &h, bytes);
        size_t name_at = add_bytes(l, name, strlen(name) + 1), handle_at = add_bytes(l, bytes, h.len);
        item = add_item(l);
        if (!item)
                return;
        item->kind = DIRLIST_ENTRY;
        item->events = events;
        item->object = dirwalk_object(&stx);
        item->name = name_at;
        item->handle = handle_at;
        item->handle_len = h.len;
        item->handle_type = h.type;
        fill_place(item, v, p);
}

static int visit_dir(struct visit *v, int fd, const struct place *above, const struct fan_handle *expected,
                     unsigned depth);

static bool is_own(const char *name)
{
        return streq(name, ".") || streq(name, "..");
}

static int visit_entry(struct visit *v, const struct place *p, int fd, const struct dirent *e, unsigned depth)
{
        struct dirwalk *w = v->w;
        size_t len = v->path.len;
        int r = 0;

        if (w->since_usec != UINT64_MAX)
                list_entry(v, p, fd, e->d_name);
        if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
                return 0;
        if (len > 1)
                strbuf_addc(&v->path, '/');
        strbuf_adds(&v->path, e->d_name);
        if (strbuf_failed(&v->path))
                return -ENOMEM;

        const struct placed_here here = placement_at(w->placing, w->fs, v->path.data, v->path.len, w->structure);
        if (here.mask != 0) {
                _cleanup_close_ int child = mount_clone_open_below(fd, e->d_name, O_PATH | O_DIRECTORY);

                if (child >= 0)
                        r = visit_dir(v, child, p, NULL, depth + 1);
                else if (child != -ENOTDIR && child != -ELOOP && child != -EXDEV)
                        note_failure(w, child);
        }
        v->path.len = len;
        v->path.data[len] = '\0';
        return r;
}

static int list_dir(struct visit *v, const struct place *p, int fd, unsigned depth)
{
        int r = 0, own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
        DIR *d = own < 0 ? NULL : fdopendir(own);

        if (!d) {
                note_failure(v->w, -errno);
                (void)close_fd(own);
                return 0;
        }
        for (struct dirent *e; !is_over(r) && (e = readdir(d));)
                if (!is_own(e->d_name))
                        r = visit_entry(v, p, own, e, depth);
        (void)closedir(d);
        return is_over(r) ? r : 0;
}

static int flush(struct visit *v)
{
        struct dirwalk *w = v->w;

        if (w->stop && atomic_load(w->stop))
                return -ECANCELED;
        if (!w->flush || w->list->n < FLUSH_ITEMS)
                return 0;
        return w->flush(w->userdata) ? 0 : -ECANCELED;
}

/* Marked, then listed.  What fails of one directory is counted; the walk goes on. */
static int visit_dir(struct visit *v, int fd, const struct place *above, const struct fan_handle *expected,
                     unsigned depth)
{
        struct dirwalk *w = v->w;
        const struct placed_here here = placement_at(w->placing, w->fs, v->path.data, v->path.len, w->structure);
        struct place p = {};
        int r = flush(v);

        if (r < 0)
                return r;
        if (w->room == 0)
                return -ENOSPC;
        r = dirwalk_handle(fd, "", &p.handle, p.bytes);
        if (r == 0 && expected && !same_object(&p.handle, expected))
                return -ENOENT;
        if (r == 0)
                r = fan_mark(w->group_fd, FAN_MARK_ADD | FAN_MARK_ONLYDIR, here.mask, fd, ".");
        if (r == 0) {
                w->room--;
                r = list_marked(v, &p, above, here.mask);
        }
        if (r < 0) {
                note_failure(w, r);
                return r;
        }
        if (depth >= MAX_DEPTH) {
                note_failure(w, -ELOOP);
                return 0;
        }
        return here.descend || w->since_usec != UINT64_MAX ? list_dir(v, &p, fd, depth) : 0;
}

int dirwalk_run(struct dirwalk *w, const char *path, const struct fan_handle *expected)
{
        _cleanup_close_ int fd = dirwalk_open(w->base_fd, w->root, path, O_DIRECTORY);
        struct visit v = { .w = w };
        int r;

        if (fd < 0)
                return fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV ? -ENOENT : fd;
        strbuf_adds(&v.path, path);
        r = strbuf_failed(&v.path) ? -ENOMEM : 0;
        if (r == 0 && placement_at(w->placing, w->fs, v.path.data, v.path.len, w->structure).mask != 0)
                r = visit_dir(&v, fd, NULL, expected, 0);
        strbuf_done(&v.path);
        return r;
}

int dirwalk_take_off(const struct dirwalk *w, const char *path, const struct fan_handle *expected, uint32_t bits)
{
        _cleanup_close_ int fd = dirwalk_open(w->base_fd, w->root, path, O_DIRECTORY);
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
        struct fan_handle h;
        int r = fd < 0 ? fd : dirwalk_handle(fd, "", &h, bytes);

        if (r == 0 && !same_object(&h, expected))
                return -ENOENT;
        return r < 0 ? r : fan_mark(w->group_fd, FAN_MARK_REMOVE, bits, fd, ".");
}
