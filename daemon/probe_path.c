/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk along a rule path, component by component, since each link on the way
 * matters: who replaces it makes the rule mean other files.
 */

#include <errno.h>
#include <sys/stat.h>

#include "fdutil.h"
#include "handles.h"
#include "probe.h"
#include "strbuf.h"

#define MAX_LINKS 40 /* as the kernel's own walk (path_resolution(7)) */

struct walk {
        const struct world *world;
        int root_fd;
        int fd;                  /* of done */
        struct strbuf done;      /* canonical so far: "" is the root, else "/a/b" */
        struct strbuf pending;   /* what is still to be walked */
        const char *links[MAX_LINKS + 1];
        size_t n_links;
        struct world_dir *dirs;
        size_t n_dirs, cap_dirs;
        struct arena *arena;
        bool lexical;            /* the rest is only spelled out */
        struct world_path *found;
};

static void walk_done(struct walk *w)
{
        close_fd(w->fd);
        strbuf_done(&w->done);
        strbuf_done(&w->pending);
}

static const char *canonical(const struct walk *w)
{
        return w->done.len == 0 ? "/" : strbuf_str(&w->done);
}

static int note_link(struct walk *w)
{
        const char *copy = arena_strdup(w->arena, canonical(w));

        if (!copy)
                return -ENOMEM;
        if (w->n_links < ELEMENTSOF(w->links))
                w->links[w->n_links++] = copy;
        return 0;
}

/* Here the name that done has just got is looked up: who follows the path must see it come and go. */
static int note_dir(struct walk *w)
{
        size_t len = w->done.len;
        struct world_dir *d;

        if (w->n_dirs == w->cap_dirs) {
                size_t cap = w->cap_dirs ? 2 * w->cap_dirs : 8;
                struct world_dir *v = arena_alloc_array(w->arena, cap, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                if (w->n_dirs > 0)
                        memcpy(v, w->dirs, w->n_dirs * sizeof(*v));
                w->dirs = v;
                w->cap_dirs = cap;
        }
        while (len > 1 && w->done.data[len - 1] != '/')
                len--;
        d = &w->dirs[w->n_dirs];
        *d = (struct world_dir){ .path = arena_strndup(w->arena, w->done.data, MAX_OF(len - 1, (size_t)1)) };
        if (!d->path)
                return -ENOMEM;
        (void)handle_of(w->fd, &d->handle);
        w->n_dirs++;
        return 0;
}

static void cut_last(struct walk *w)
{
        while (w->done.len > 0 && w->done.data[--w->done.len] != '/')
                ;
        if (w->done.data)
                w->done.data[w->done.len] = '\0';
}

/* The first component of pending, taken off; false at the end. */
static bool next_component(struct walk *w, struct strbuf *ret)
{
        const char *p = strbuf_str(&w->pending), *end;
        struct strbuf rest = STRBUF_NULL;

        strbuf_reset(ret);
        while (*p == '/')
                p++;
        if (*p == '\0')
                return false;
        end = strchrnul(p, '/');
        strbuf_add(ret, p, (size_t)(end - p));
        strbuf_adds(&rest, end);
        strbuf_done(&w->pending);
        w->pending = rest;
        return true;
}

/* Opens done again from the root, after going up. */
static int reopen(struct walk *w)
{
        int fd = openat(w->root_fd, w->done.len == 0 ? "." : w->done.data + 1,
                        O_PATH | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        close_fd(w->fd);
        w->fd = fd;
        return 0;
}

static int follow(struct walk *w, int link_fd)
{
        char target[4097];
        ssize_t len = readlinkat(link_fd, "", target, sizeof(target) - 1);
        struct strbuf pending = STRBUF_NULL;
        int r;

        if (len < 0)
                return -errno;
        r = note_link(w);
        if (r < 0)
                return r;
        if (w->n_links > MAX_LINKS)
                return -ELOOP;
        strbuf_add(&pending, target, (size_t)len);
        strbuf_addc(&pending, '/');
        strbuf_adds(&pending, strbuf_str(&w->pending));
        strbuf_done(&w->pending);
        w->pending = pending;
        if (strbuf_failed(&pending))
                return -ENOMEM;
        if (target[0] == '/')
                strbuf_reset(&w->done);
        else
                cut_last(w);
        return reopen(w);
}

/* Must what is at done be left alone: nothing to see there, or nobody may answer? */
static bool is_off_limits(const struct walk *w)
{
        uint32_t mount = world_mount_of(w->world, canonical(w));
        const struct world_fs *fs;

        if (mount == WORLD_NONE)
                return false;
        fs = &w->world->fs[w->world->mounts[mount].fs];
        return fs->class == FS_PSEUDO || world_fs_may_hang(fs);
}

/* One step into done, which has just got its last component.  Returns 0 or a
 * negative errno of the look-up. */
static int step(struct walk *w, const char *name)
{
        _cleanup_close_ int fd = -1;
        struct stat st;
        int r = note_dir(w);

        if (r < 0)
                return r;
        if (is_off_limits(w)) {
                w->found->exists = true;
                w->lexical = true;
                return 0;
        }
        fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstatat(fd, "", &st, AT_EMPTY_PATH | AT_NO_AUTOMOUNT) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return follow(w, fd);
        close_fd(w->fd);
        w->fd = STEAL_FD(fd);
        return 0;
}

/* What a failed step means.  Returns 0 or -ENOMEM. */
static int stop(struct walk *w, int error)
{
        w->lexical = true;
        w->found->exists = false;
        if (error == -ENOENT || error == -ENOTDIR)
                return note_link(w);
        if (error != -ENOMEM)
                w->found->error = -error;
        return error == -ENOMEM ? error : 0;
}

static int walk_all(struct walk *w)
{
        _cleanup_strbuf_ struct strbuf name = STRBUF_NULL;
        int r;

        while (next_component(w, &name)) {
                const char *c = strbuf_str(&name);

                if (streq(c, "."))
                        continue;
                if (streq(c, "..")) {
                        cut_last(w);
                        r = w->lexical ? 0 : reopen(w);
                } else {
                        strbuf_addc(&w->done, '/');
                        strbuf_adds(&w->done, c);
                        if (strbuf_failed(&w->done) || strbuf_failed(&name))
                                return -ENOMEM;
                        r = w->lexical ? 0 : step(w, c);
                }
                if (r < 0)
                        r = stop(w, r);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The end was reached by steps: what is there? */
static void look_at_end(struct walk *w)
{
        struct stat st;

        w->found->exists = true;
        if (fstatat(w->fd, "", &st, AT_EMPTY_PATH | AT_NO_AUTOMOUNT) == 0) {
                w->found->type = vocab_type_of_mode(st.st_mode);
                w->found->nlink = (uint32_t)MIN_OF(st.st_nlink, (nlink_t)UINT32_MAX);
        }
        (void)handle_of(w->fd, &w->found->handle);
}

int probe_path(const struct world *world, int root_fd, const char *path, struct arena *arena,
               struct world_path *ret)
{
        struct world_path found = { .path = path };
        _cleanup_(walk_done) struct walk w = {
                .world = world, .root_fd = root_fd, .fd = -1, .arena = arena, .found = &found,
        };
        const char **links;
        int r;

        strbuf_adds(&w.pending, path);
        if (strbuf_failed(&w.pending))
                return -ENOMEM;
        r = reopen(&w);
        r = r < 0 ? stop(&w, r) : 0;
        if (r == 0)
                r = walk_all(&w);
        if (r < 0)
                return r;
        if (!w.lexical)
                look_at_end(&w);

        found.resolved = arena_strdup(arena, canonical(&w));
        links = arena_alloc_array(arena, w.n_links, sizeof(*links));
        if (!found.resolved || !links)
                return -ENOMEM;
        memcpy(links, w.links, w.n_links * sizeof(*links));
        found.links = (struct strings){ .v = links, .n = w.n_links };
        found.dirs = w.dirs;
        found.n_dirs = w.n_dirs;
        *ret = found;
        return 0;
}
