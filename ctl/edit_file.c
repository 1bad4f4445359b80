/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "edit_file.h"
#include "rules.h"

#define MODE_OF_NEW 0640
#define WRITABLE_BY_OTHERS (S_IWGRP | S_IWOTH)

static void close_fd(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}

void edit_file_done(struct edit_file *e)
{
        if (e->copy)
                unlink(e->copy);
        close_fd(&e->dir_fd);
        free(e->copy);
        free(e->path);
        strbuf_done(&e->original);
        *e = EDIT_FILE_NULL;
}

static int read_fd(int fd, struct strbuf *out)
{
        for (;;) {
                if (strbuf_reserve(out, 4096) < 0)
                        return -ENOMEM;
                ssize_t n = read(fd, out->data + out->len, 4096);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                out->len += (size_t)n;
                out->data[out->len] = '\0';
                if (out->len > RULE_FILE_MAX_BYTES)
                        return -EFBIG;
        }
}

static int read_path(const char *path, struct strbuf *out)
{
        _cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : read_fd(fd, out);
}

static int write_all(int fd, const char *bytes, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, bytes, len);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        bytes += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

/* The directory itself is the lock: nothing is left behind, whatever ends us. */
static int lock_directory(const char *path)
{
        _cleanup_free_ char *copy = strdup(path);
        if (!copy)
                return -ENOMEM;

        int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                int error = errno == EWOULDBLOCK ? EBUSY : errno;
                close(fd);
                return -error;
        }
        return fd;
}

/* What the copy begins with. */
static int read_original(struct edit_file *e, const char *template, const char *text)
{
        if (stat(e->path, &e->before) == 0) {
                if (!S_ISREG(e->before.st_mode))
                        return -EINVAL;
                e->existed = true;
                return read_path(e->path, &e->original);
        }
        if (errno != ENOENT)
                return -errno;
        int r = template ? read_path(template, &e->original) : -ENOENT;
        if (r == -ENOENT) {
                strbuf_adds(&e->original, text);
                r = strbuf_failed(&e->original) ? -ENOMEM : 0;
        }
        return r;
}

/* Beside the file, so that a rename puts it in place; its name is not one that is read as rules. */
static int make_copy(struct edit_file *e)
{
        const char *slash = strrchr(e->path, '/');

        if (asprintf(&e->copy, "%.*s.%s.XXXXXX", (int)(slash + 1 - e->path), e->path, slash + 1) < 0) {
                e->copy = NULL;
                return -ENOMEM;
        }
        _cleanup_(close_fd) int fd = mkostemp(e->copy, O_CLOEXEC); /* mode 0600 */
        if (fd < 0) {
                int error = errno;
                free(e->copy);
                e->copy = NULL;
                return -error;
        }
        return write_all(fd, strbuf_str(&e->original), e->original.len);
}

int edit_file_begin(const char *path, const char *template, const char *text, struct edit_file *ret)
{
        _cleanup_edit_file_ struct edit_file e = EDIT_FILE_NULL;
        int r;

        e.path = strdup(path);
        if (!e.path)
                return -ENOMEM;
        e.dir_fd = lock_directory(path);
        if (e.dir_fd < 0)
                return e.dir_fd;
        if ((r = read_original(&e, template, text)) < 0 || (r = make_copy(&e)) < 0)
                return r;

        *ret = e;
        e = EDIT_FILE_NULL;
        return 0;
}

int edit_file_changed(const struct edit_file *e)
{
        _cleanup_strbuf_ struct strbuf now = STRBUF_NULL;

        int r = read_path(e->copy, &now);
        if (r == -EFBIG)
                return 1; /* the check will say so */
        if (r < 0)
                return r;
        return now.len != e->original.len || memcmp(strbuf_str(&now), strbuf_str(&e->original), now.len) != 0;
}

static bool changed_by_another(const struct edit_file *e)
{
        struct stat now;

        if (stat(e->path, &now) < 0)
                return errno != ENOENT || e->existed;
        return !e->existed || now.st_ino != e->before.st_ino || now.st_size != e->before.st_size ||
               now.st_mtim.tv_sec != e->before.st_mtim.tv_sec ||
               now.st_mtim.tv_nsec != e->before.st_mtim.tv_nsec;
}

int edit_file_save(struct edit_file *e)
{
        mode_t mode = e->existed ? e->before.st_mode & 07777 & ~(mode_t)WRITABLE_BY_OTHERS : MODE_OF_NEW;

        if (changed_by_another(e))
                return -ESTALE;
        /* opened anew: an editor may have put another file in the copy's place */
        _cleanup_(close_fd) int fd = open(e->copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (e->existed && fchown(fd, e->before.st_uid, e->before.st_gid) < 0)
                return -errno;
        if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
                return -errno;
        if (rename(e->copy, e->path) < 0)
                return -errno;
        free(e->copy);
        e->copy = NULL;
        return fsync(e->dir_fd) < 0 ? -errno : 0;
}
