/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fan_group.h"

#include <errno.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "fan_uapi.h"
#include "fdinfo.h"
#include "fdutil.h"
#include "guarded.h"
#include "mark_path.h"
#include "strbuf.h"

/* How long a call on a filesystem that may hang is waited for. */
#define MARK_TIMEOUT_USEC (2 * USEC_PER_SEC)
/* Of the kernel's memory, an event with a name and two handles (measured; the slab rounds up). */
#define QUEUED_EVENT_BYTES 160u

struct fan_group {
        struct group_key key;
        int fd;
};

/* --- the two calls --- */

int fan_init(unsigned flags)
{
        int fd = fanotify_init(flags, O_RDONLY | O_CLOEXEC | O_LARGEFILE);

        return fd >= 0 ? fd : -errno;
}

int fan_mark(int fd, unsigned flags, uint64_t mask, int dirfd, const char *path)
{
        return fanotify_mark(fd, flags, mask, dirfd, path) == 0 ? 0 : -errno;
}

/* --- a group --- */

unsigned fan_group_flags(const struct kernel_abilities *kernel, bool queue_unlimited)
{
        unsigned flags = FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_UNLIMITED_MARKS;

        /* Where the kernel cannot name the object of a directory event, FID still
         * brings the events of objects themselves: delete_self, move_self, attrib. */
        flags |= kernel->target_fid ? FAN_REPORT_DFID_NAME_TARGET : FAN_REPORT_DFID_NAME | FAN_REPORT_FID;
        if (kernel->pidfd)
                flags |= FAN_REPORT_PIDFD;
        if (queue_unlimited)
                flags |= FAN_UNLIMITED_QUEUE;
        return flags;
}

int fan_group_open(const struct group_key *key, const struct kernel_abilities *kernel, bool queue_unlimited,
                   struct fan_group **ret)
{
        struct fan_group *g = malloc(sizeof(*g));
        int fd;

        if (!g)
                return -ENOMEM;
        fd = fan_init(fan_group_flags(kernel, queue_unlimited));
        if (fd < 0) {
                free(g);
                /* EINVAL: a kernel that knows fanotify, but no names in events */
                return fd == -EINVAL ? -ENOSYS : fd;
        }
        *g = (struct fan_group){ .key = *key, .fd = fd };
        *ret = g;
        return 0;
}

void fan_group_free(struct fan_group *g)
{
        if (!g)
                return;
        close_fd(g->fd);
        free(g);
}

int fan_group_fd(const struct fan_group *g)
{
        return g->fd;
}

const struct group_key *fan_group_key(const struct fan_group *g)
{
        return &g->key;
}

/* --- marks --- */

static unsigned mark_flags(const struct mark_op *op)
{
        unsigned flags = op->add ? FAN_MARK_ADD : FAN_MARK_REMOVE;

        switch (op->object.kind) {
        case MARK_FILESYSTEM:
                flags |= FAN_MARK_FILESYSTEM;
                break;
        case MARK_MOUNT:
                flags |= FAN_MARK_MOUNT;
                break;
        case MARK_INODE:
                flags |= FAN_MARK_INODE;
                break;
        }
        if (op->ignore) {
                flags |= op->ignore_new ? FAN_MARK_IGNORE : FAN_MARK_IGNORED_MASK;
                if (op->ignore_surv)
                        flags |= FAN_MARK_IGNORED_SURV_MODIFY;
        }
        if (op->evictable)
                flags |= FAN_MARK_EVICTABLE;
        return flags;
}

/*
 * An O_PATH descriptor alone is EBADF for fanotify_mark(2); "." below it works
 * for a directory.  A file (bind mounts of single files are common in containers)
 * is reached through its link in /proc.
 */
int fan_group_mark_at(struct fan_group *g, const struct mark_op *op, int fd)
{
        char link[32];
        struct stat st;

        if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
                return fan_mark(g->fd, mark_flags(op), op->bits, fd, ".");
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        return fan_mark(g->fd, mark_flags(op), op->bits, AT_FDCWD, link);
}

struct mark_call {
        struct fan_group *group;
        const struct mark_op *op;
};

static int mark_object(const struct mark_call *c)
{
        _cleanup_close_ int fd = mark_path_open(&c->op->object, c->op->where, !c->op->add);

        return fd < 0 ? fd : fan_group_mark_at(c->group, c->op, fd);
}

static int mark_guarded(void *userdata, void *answer)
{
        return mark_object(userdata);
}

int fan_group_mark(struct fan_group *g, const struct mark_op *op)
{
        struct mark_call call = { .group = g, .op = op };

        /* The child shares the group's descriptor: a mark it places is ours. */
        return op->may_hang ? guarded_call(mark_guarded, &call, MARK_TIMEOUT_USEC, NULL, 0)
                            : mark_object(&call);
}

/* --- reading --- */

ssize_t fan_group_read(struct fan_group *g, void *buffer, size_t size)
{
        for (;;) {
                ssize_t n = read(g->fd, buffer, size);

                if (n >= 0)
                        return n;
                if (errno == EAGAIN)
                        return 0;
                if (errno != EINTR)
                        return -errno;
        }
}

static int read_file(const char *path, struct strbuf *ret)
{
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        strbuf_reset(ret);
        for (;;) {
                ssize_t n;

                if (strbuf_reserve(ret, 65536) < 0)
                        return -ENOMEM;
                n = read(fd, ret->data + ret->len, 65536);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                ret->len += (size_t)n;
                ret->data[ret->len] = '\0';
        }
}

static int read_fdinfo(const struct fan_group *g, struct fdinfo *ret)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        char path[48];
        int r;

        (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", g->fd);
        r = read_file(path, &text);
        return r < 0 ? r : fdinfo_parse(strbuf_str(&text), text.len, &g->key, ret);
}

/* All of it: a line lacks its handle while its filesystem is being unmounted or frozen. */
static int read_whole_fdinfo(const struct fan_group *g, struct fdinfo *ret)
{
        for (unsigned attempt = 0; attempt < 3; attempt++) {
                int r = read_fdinfo(g, ret);

                if (r < 0 || ret->n_unknown == 0)
                        return r;
                fdinfo_done(ret);
        }
        return -EAGAIN;
}

int fan_group_read_marks(struct fan_group *g, struct markset *ret)
{
        struct fdinfo info;
        int r = read_whole_fdinfo(g, &info);

        if (r == 0)
                *ret = info.marks;
        return r;
}

int fan_group_adopt(const struct group_key *key, int fd, unsigned *ret_flags, struct markset *ret_marks,
                    struct fan_group **ret)
{
        _cleanup_(fan_group_freep) struct fan_group *g = malloc(sizeof(*g));
        _cleanup_fdinfo_ struct fdinfo info = FDINFO_NULL;

        if (!g) {
                (void)close_fd(fd);
                return -ENOMEM;
        }
        *g = (struct fan_group){ .key = *key, .fd = fd };

        /* whatever it is, nobody waits in read(2) */
        if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        int r = read_whole_fdinfo(g, &info);
        if (r < 0)
                return r;
        if (info.init_flags == 0)
                return -EBADMSG;
        *ret_flags = info.init_flags;
        *ret_marks = info.marks;
        info.marks = MARKSET_NULL;
        *ret = STEAL(g);
        return 0;
}

int fan_group_queued(struct fan_group *g, uint64_t *ret_events, uint64_t *ret_bytes)
{
        int size;

        /* fanotify_ioctl() counts FAN_EVENT_METADATA_LEN for each event, whatever its records */
        if (ioctl(g->fd, FIONREAD, &size) < 0)
                return -errno;
        *ret_events = (uint64_t)size / FAN_EVENT_METADATA_LEN;
        *ret_bytes = *ret_events * QUEUED_EVENT_BYTES;
        return 0;
}

/* --- rights --- */

const char *fan_group_missing_capability(void)
{
        static const struct {
                unsigned bit;
                const char *name;
        } needed[] = { { 21, "CAP_SYS_ADMIN" }, { 2, "CAP_DAC_READ_SEARCH" } };
        _cleanup_strbuf_ struct strbuf status = STRBUF_NULL;
        unsigned long long effective;
        const char *line;

        if (read_file("/proc/self/status", &status) < 0)
                return NULL;
        line = strstr(strbuf_str(&status), "\nCapEff:");
        if (!line || sscanf(line, "\nCapEff: %llx", &effective) != 1)
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(needed); i++)
                if ((effective >> needed[i].bit & 1) == 0)
                        return needed[i].name;
        return NULL;
}
