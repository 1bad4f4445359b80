/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "fdutil.h"
#include "mount_clone.h"
#include "mount_fds.h"
#include "namespaces.h"

/* Slots are few: a batch of events reaches a handful of mounts. */
struct slot {
        uint32_t of; /* index of a mount; with WHOLE, of a filesystem */
        int fd;        /* or the negative errno of the attempt */
        size_t prefix; /* bytes before each path that /proc shows of what is opened through it */
};

#define WHOLE (UINT32_C(1) << 31)
/* After a look through all namespaces that found nothing. */
#define NO_LOOK_USEC USEC_PER_SEC

struct mount_fds {
        const struct world *world;
        int whole_pid;            /* in whose namespace a root was found last */
        uint64_t no_look_usec;    /* monotonic: until then nothing is looked for */
        struct slot *slots;
        size_t n, cap;
};

int mount_fds_new(struct mount_fds **ret)
{
        struct mount_fds *m = calloc(1, sizeof(*m));

        if (!m)
                return -ENOMEM;
        *ret = m;
        return 0;
}

void mount_fds_free(struct mount_fds *m)
{
        if (!m)
                return;
        mount_fds_end_batch(m);
        free(m->slots);
        free(m);
}

void mount_fds_end_batch(struct mount_fds *m)
{
        for (size_t i = 0; i < m->n; i++)
                (void)close_fd(m->slots[i].fd);
        m->n = 0;
}

void mount_fds_set_world(struct mount_fds *m, const struct world *w)
{
        mount_fds_end_batch(m);
        m->world = w;
}

/* What /proc shows for a descriptor of a mount that is attached somewhere: the way from the root
 * of its namespace, which stands before every path that is found through it. */
static size_t prefix_of(int fd)
{
        char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)], path[PATH_MAX];

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof(path));
        return n > 1 ? (size_t)n : 0;
}

static void open_attached(const char *path, struct slot *s)
{
        s->fd = mount_clone_open_attached(path);
        s->prefix = s->fd < 0 ? 0 : prefix_of(s->fd);
}

/*
 * The mount as our own namespace shows it, else as PID 1's does: a unit with a private
 * mount namespace has copies with other ids.  A mount of another namespace cannot be
 * cloned (EINVAL); then the mount itself is held for the length of the batch.
 */
static void open_mount(const struct world_mount *mount, struct slot *s)
{
        _cleanup_free_ char *of_init = NULL;
        const char *path = mount->mountpoint;

        s->fd = -ENOENT;
        if (!mount_clone_is(path, (uint64_t)mount->id)) {
                if (asprintf(&of_init, "/proc/1/root%s", path) < 0) {
                        of_init = NULL;
                        s->fd = -ENOMEM;
                        return;
                }
                path = of_init;
                if (!mount_clone_is(path, (uint64_t)mount->id))
                        return;
        }
        s->fd = mount_clone_open(path);
        if (s->fd == -EINVAL || s->fd == -EPERM || s->fd == -ENOSYS)
                open_attached(path, s);
        /* what was opened is that mount, unless the path leads elsewhere by now */
        if (s->fd >= 0 && !mount_clone_is(path, (uint64_t)mount->id)) {
                (void)close_fd(s->fd);
                s->fd = -ENOENT;
        }
}

/* Through another namespace; held for the length of the batch, too. */
static void open_whole(struct mount_fds *m, const struct world_fs *fs, struct slot *s)
{
        char path[NAMESPACE_PATH_SIZE];
        struct timespec t;
        uint64_t now;

        s->fd = -ENOENT;
        clock_gettime(CLOCK_MONOTONIC, &t);
        now = (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
        if (now < m->no_look_usec)
                return;
        m->whole_pid = namespaces_find_root(fs->sdev_major, fs->sdev_minor, m->whole_pid, path);
        if (m->whole_pid > 0)
                open_attached(path, s);
        if (s->fd < 0) {
                s->fd = -ENOENT;
                m->no_look_usec = now + NO_LOOK_USEC;
        }
}

static int get(struct mount_fds *m, uint32_t of, size_t *ret_prefix)
{
        for (size_t i = 0; i < m->n; i++)
                if (m->slots[i].of == of) {
                        *ret_prefix = m->slots[i].prefix;
                        return m->slots[i].fd;
                }

        if (m->n == m->cap) {
                size_t cap = m->cap ? m->cap * 2 : 8;
                struct slot *slots = reallocarray(m->slots, cap, sizeof(*slots));

                if (!slots)
                        return -ENOMEM;
                m->slots = slots;
                m->cap = cap;
        }

        struct slot s = { .of = of };
        if (of & WHOLE)
                open_whole(m, &m->world->fs[of & ~WHOLE], &s);
        else
                open_mount(&m->world->mounts[of], &s);
        m->slots[m->n++] = s;
        *ret_prefix = s.prefix;
        return s.fd;
}

int mount_fds_get(struct mount_fds *m, uint32_t index, size_t *ret_prefix)
{
        return get(m, index, ret_prefix);
}

int mount_fds_get_whole(struct mount_fds *m, uint32_t index, size_t *ret_prefix)
{
        return get(m, index | WHOLE, ret_prefix);
}
