/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime.h"
#include "strbuf.h"

#define DEFAULT_RUNTIME_DIR "/run/fawatchd"

struct runtime {
        int dir_fd, lock_fd;
        char *dir, *control_path;
};

int runtime_open(struct runtime **ret)
{
        const char *dir = getenv("RUNTIME_DIRECTORY");
        if (!dir || dir[0] != '/')
                dir = DEFAULT_RUNTIME_DIR;

        _cleanup_(runtime_freep) struct runtime *r = malloc(sizeof(*r));
        if (!r)
                return -ENOMEM;
        *r = (struct runtime){ .dir_fd = -1, .lock_fd = -1 };
        r->dir = strdup(dir);
        if (!r->dir)
                return -ENOMEM;
        if (asprintf(&r->control_path, "%s/control", dir) < 0) {
                r->control_path = NULL;
                return -ENOMEM;
        }
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
                return -errno;
        r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (r->dir_fd < 0)
                return -errno;
        r->lock_fd = openat(r->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (r->lock_fd < 0)
                return -errno;
        if (flock(r->lock_fd, LOCK_EX | LOCK_NB) < 0) {
                int error = errno;
                /* Not ours: runtime_free() must not touch its status file. */
                close(r->lock_fd);
                r->lock_fd = -1;
                return error == EWOULDBLOCK ? -EBUSY : -error;
        }
        *ret = STEAL(r);
        return 0;
}

void runtime_free(struct runtime *r)
{
        if (!r)
                return;
        if (r->lock_fd >= 0) {
                (void)unlinkat(r->dir_fd, "status", 0);
                close(r->lock_fd);
        }
        if (r->dir_fd >= 0)
                close(r->dir_fd);
        free(r->dir);
        free(r->control_path);
        free(r);
}

const char *runtime_dir(const struct runtime *r)
{
        return r->dir;
}

const char *runtime_control_path(const struct runtime *r)
{
        return r->control_path;
}

static void print_status(const struct runtime_status *status, struct strbuf *out)
{
        size_t n;
        const struct counter_info *table = counters_table(&n);

        strbuf_addf(out, "generation: %lu\nseq: %lu\nwaiting: %lu\nrules: %zu\nmarks: %zu\n",
                    (unsigned long)status->generation, (unsigned long)status->seq,
                    (unsigned long)status->waiting, status->rules, status->marks);
        for (size_t i = 0; i < n; i++)
                strbuf_addf(out, "%s: %lu\n", table[i].name,
                            (unsigned long)counter_value(status->counters, &table[i]));
}

int runtime_write_status(struct runtime *r, const struct runtime_status *status)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        print_status(status, &text);
        if (strbuf_failed(&text))
                return -ENOMEM;

        /* A reader sees the old file or the new one, never half of one. */
        int fd = openat(r->dir_fd, "status.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        int error = 0;
        ssize_t n = write(fd, text.data, text.len);
        if (n < 0)
                error = errno;
        else if ((size_t)n < text.len)
                error = ENOSPC;
        if (error == 0 && fchmod(fd, 0644) < 0)
                error = errno;
        close(fd);
        if (error == 0 && renameat(r->dir_fd, "status.new", r->dir_fd, "status") < 0)
                error = errno;
        if (error != 0)
                (void)unlinkat(r->dir_fd, "status.new", 0);
        return -error;
}
