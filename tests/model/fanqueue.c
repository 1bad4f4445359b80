/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A group's queue, expected and real. */

#include "fanqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"
#include "fan_uapi.h"

#define MAX_CANDIDATES 100 /* the kernel looks at 128 events when it merges: the queue is read before that */

int fanqueue_open(struct fanqueue *q, unsigned init_flags)
{
        *q = (struct fanqueue){ .group.init_flags = init_flags };
        q->fd = fanotify_init(init_flags | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);
        return q->fd < 0 ? -errno : 0;
}

void fanqueue_close(struct fanqueue *q, struct fsmodel *fs)
{
        close(q->fd);
        interest_group_done(fs->kernel, &q->group);
        for (size_t i = 0; i < q->n; i++)
                if (q->events[i].entry)
                        fsmodel_unpin(fs, q->events[i].entry);
        free(q->events);
        q->events = NULL;
        q->n = q->cap = 0;
}

static bool would_merge(const struct queued *a, const struct queued *b)
{
        if (!interest_same_event(&a->delivery, &b->delivery))
                return false;
        return a->entry == b->entry && a->mount == b->mount && streq(a->name, b->name) &&
               streq(a->new_name, b->new_name);
}

void fanqueue_add(struct fanqueue *q, const struct interest_delivery *d, const char *name,
                  const char *new_name, struct entry *entry, unsigned mount)
{
        struct queued new = { .delivery = *d };

        if (d->type == INTEREST_EVENT_FD) {
                new.entry = entry;
                new.mount = mount;
        } else if (d->type == INTEREST_EVENT_NAME) {
                if (d->named)
                        snprintf(new.name, sizeof(new.name), "%s", name);
                if (d->new_dir)
                        snprintf(new.new_name, sizeof(new.new_name), "%s", new_name);
        }
        for (size_t i = 0; i < q->n; i++)
                if (would_merge(&q->events[i], &new)) {
                        q->events[i].delivery.mask |= d->mask;
                        return;
                }
        if (q->n == MAX_CANDIDATES)
                die("the queue is not read often enough");
        if (q->n == q->cap) {
                q->cap = MAX_CANDIDATES;
                q->events = reallocarray(q->events, q->cap, sizeof(*q->events));
                if (!q->events)
                        die("out of memory");
        }
        if (new.entry)
                new.entry->pins++;
        q->events[q->n++] = new;
}

/* ---- text, for what differs and for comparing at once ---- */

static size_t print_record(char *out, size_t size, unsigned type, const unsigned char *handle, size_t len,
                           const char *name)
{
        size_t n = (size_t)snprintf(out, size, " %u:", type);

        for (size_t i = 0; i < len && n < size; i++)
                n += (size_t)snprintf(out + n, size - n, "%02x", handle[i]);
        if (name && n < size)
                n += (size_t)snprintf(out + n, size - n, "\"%s\"", name);
        return n;
}

static void print_expected(const struct fsmodel *fs, const struct queued *e, char ret[512])
{
        struct interest_record records[INTEREST_MAX_RECORDS];
        size_t n_records = interest_records(&e->delivery, records), n;

        n = (size_t)snprintf(ret, 512, "%08x", e->delivery.mask);
        if (e->delivery.type == INTEREST_EVENT_FD)
                snprintf(ret + n, 512 - n, " ino %lu below %s", node_of(e->delivery.object)->ino,
                         fs->mount_path[e->mount]);
        for (size_t i = 0; i < n_records && n < 512; i++) {
                const struct handle *handle = &node_of(records[i].object)->handle;
                const char *names[] = {
                        [INTEREST_NAME] = e->name, [INTEREST_NEW_NAME] = e->new_name, [INTEREST_DOT] = ".",
                };

                n += print_record(ret + n, 512 - n, records[i].type, handle->bytes, handle->len,
                                  names[records[i].name]);
        }
}

/* The mount that a descriptor was opened through: the longest of the paths that begins its own. */
static const char *mount_of(const struct fsmodel *fs, int fd)
{
        char link[64], path[512] = "";
        size_t best = 0;
        const char *found = "?";

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        if (readlink(link, path, sizeof(path) - 1) < 0)
                return found;
        for (unsigned i = 0; i < FS_MOUNTS; i++) {
                size_t len = strlen(fs->mount_path[i]);

                if (strncmp(path, fs->mount_path[i], len) == 0 && (path[len] == '/' || path[len] == '\0') &&
                    len > best) {
                        best = len;
                        found = fs->mount_path[i];
                }
        }
        return found;
}

static void print_real(const struct fsmodel *fs, const struct fanotify_event_metadata *m,
                       const unsigned char *at, const unsigned char *end, char ret[512])
{
        size_t n = (size_t)snprintf(ret, 512, "%08" PRIx64, (uint64_t)m->mask);
        struct stat st;

        if (m->pid != getpid())
                n += (size_t)snprintf(ret + n, 512 - n, " pid %d", m->pid);
        if (m->fd >= 0 && fstat(m->fd, &st) == 0)
                n += (size_t)snprintf(ret + n, 512 - n, " ino %lu below %s", (unsigned long)st.st_ino,
                                      mount_of(fs, m->fd));
        while (at + sizeof(struct fanotify_event_info_fid) <= end && n < 512) {
                const struct fanotify_event_info_fid *fid = (const void *)at;
                const struct file_handle *handle = (const void *)fid->handle;
                const char *name = NULL;

                if (fid->hdr.info_type != FAN_EVENT_INFO_TYPE_FID &&
                    fid->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID)
                        name = (const char *)handle->f_handle + handle->handle_bytes;
                n += print_record(ret + n, 512 - n, fid->hdr.info_type, handle->f_handle,
                                  handle->handle_bytes, name);
                if (memcmp(&fid->fsid, fs->fsid, sizeof(fs->fsid)) != 0 && n < 512)
                        n += (size_t)snprintf(ret + n, 512 - n, " other fsid");
                at += fid->hdr.len;
        }
}

/* ---- reading ---- */

static void explain(const struct fsmodel *fs, const struct fanqueue *q, const char *expected,
                    const char *real)
{
        printf("# group %zu (init flags %x) after: %s\n# expected: %s\n# read:     %s\n",
               (size_t)(q - fs->queues), q->group.init_flags, fs->last, expected, real);
        for (size_t i = 0; i < q->n; i++) {
                char text[512];

                print_expected(fs, &q->events[i], text);
                printf("#   the model's queue: %s\n", text);
        }
}

/* One read(2): what it brings must be the head of the model's queue.  Returns the number of events,
 * 0 when there are none, -1 when they differ.  Descriptors are closed after all were compared. */
static long compare_batch(struct fsmodel *fs, struct fanqueue *q)
{
        static unsigned char buffer[65536] __attribute__((aligned(8)));
        struct event_cursor cursor = { buffer, read(q->fd, buffer, sizeof(buffer)) };
        struct fanotify_event_metadata m;
        const unsigned char *records;
        struct entry *pinned[MAX_CANDIDATES];
        int fds[MAX_CANDIDATES];
        size_t n = 0, n_pinned = 0;
        bool differ = false;

        if (cursor.left < 0 && errno != EAGAIN)
                die("read of a group: %m");
        while (next_event(&cursor, &m, &records)) {
                char expected[512] = "nothing", real[512];

                print_real(fs, &m, records, cursor.at, real);
                if (fs->trace)
                        printf("#   group %zu: %s\n", (size_t)(q - fs->queues), real);
                if (n < q->n)
                        print_expected(fs, &q->events[n], expected);
                if (!differ && !streq(expected, real)) {
                        explain(fs, q, expected, real);
                        differ = true;
                }
                if (m.fd >= 0 && n_pinned < MAX_CANDIDATES) {
                        pinned[n_pinned] = n < q->n ? q->events[n].entry : NULL;
                        fds[n_pinned++] = m.fd;
                }
                n++;
        }
        if (!differ && n == 0 && q->n > 0) {
                char expected[512];

                print_expected(fs, &q->events[0], expected);
                explain(fs, q, expected, "nothing");
                differ = true;
        }
        q->n_delivered += n;
        if (!differ) {
                q->n -= n;
                for (size_t i = 0; i < q->n; i++)
                        q->events[i] = q->events[i + n];
        }
        for (size_t i = 0; i < n_pinned; i++) {
                close(fds[i]);
                if (!differ && pinned[i])
                        fsmodel_unpin(fs, pinned[i]);
        }
        return differ ? -1 : (long)n;
}

long fanqueue_compare(struct fsmodel *fs)
{
        long total = 0, before;

        do { /* closing a descriptor may raise the end of a deleted file in every group */
                before = total;
                for (size_t i = 0; i < fs->n_queues; i++)
                        for (;;) {
                                long n = compare_batch(fs, &fs->queues[i]);

                                if (n < 0)
                                        return -1;
                                if (n == 0)
                                        break;
                                total += n;
                        }
        } while (total != before);
        return total;
}

/* ---- fdinfo ---- */

static void print_mark(const struct fsmodel *fs, const struct interest_mark *m, char *out, size_t size)
{
        unsigned flags = (m->ignore_surv ? FAN_MARK_IGNORED_SURV_MODIFY : 0) |
                         (m->evictable ? FAN_MARK_EVICTABLE : 0) | (m->ignore_new ? FAN_MARK_IGNORE : 0);
        size_t n = 0;

        switch (m->object->kind) {
        case MARK_INODE:
                n = (size_t)snprintf(out, size, "fanotify ino:%lx sdev:%x", node_of(m->object)->ino,
                                     fs->sdev);
                break;
        case MARK_MOUNT:
                n = (size_t)snprintf(out, size, "fanotify mnt_id:%x",
                                     (unsigned)fs->mount_id[m->object == &fs->mounts[1]]);
                break;
        case MARK_FILESYSTEM:
                n = (size_t)snprintf(out, size, "fanotify sdev:%x", fs->sdev);
                break;
        }
        snprintf(out + n, size - n, " mflags:%x mask:%x ignored_mask:%x ", flags, m->mask, m->ignore_mask);
}

bool fanqueue_compare_marks(struct fsmodel *fs, struct fanqueue *q)
{
        const struct interest_mark *m = q->group.marks;
        char path[64], line[1024], expected[256];
        bool agree = true;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", q->fd);
        f = fopen(path, "re");
        if (!f)
                die("%s: %m", path);
        while (agree && fgets(line, sizeof(line), f)) {
                if (strncmp(line, "fanotify ", 9) != 0 || strncmp(line, "fanotify flags:", 15) == 0)
                        continue;
                line[strcspn(line, "\n")] = '\0';
                strncat(line, " ", sizeof(line) - strlen(line) - 1);
                snprintf(expected, sizeof(expected), "none");
                if (m)
                        print_mark(fs, m, expected, sizeof(expected));
                agree = m && strncmp(line, expected, strlen(expected)) == 0;
                if (agree)
                        m = m->next_in_group;
        }
        fclose(f);
        if (agree && m) {
                print_mark(fs, m, expected, sizeof(expected));
                snprintf(line, sizeof(line), "none");
                agree = false;
        }
        if (!agree)
                printf("# marks of group %zu (init flags %x) after: %s\n"
                       "# expected: %s\n# fdinfo:   %s\n",
                       (size_t)(q - fs->queues), q->group.init_flags, fs->last, expected, line);
        return agree;
}
