/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handle_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fdutil.h"

/* beyond PATH_MAX: as many directories as a path of its double length can have */
#define MAX_LEVELS_CLIMBED 4096u

static struct file_handle *fill_handle(const struct fan_handle *h, void *space)
{
        struct file_handle *fh = space;

        fh->handle_bytes = MIN_OF(h->len, (uint32_t)MAX_HANDLE_SZ);
        fh->handle_type = h->type;
        memcpy(fh->f_handle, h->bytes, fh->handle_bytes);
        return fh;
}

#define HANDLE_SPACE(name) _Alignas(struct file_handle) char name[sizeof(struct file_handle) + MAX_HANDLE_SZ]

int handle_open(int mount_fd, const struct fan_handle *h, int flags)
{
        HANDLE_SPACE(space);
        int fd = open_by_handle_at(mount_fd, fill_handle(h, space), flags | O_PATH | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

/* "/" is what /proc shows for the root of the mount and for everything outside of it. */
static bool is_root_handle(int mount_fd, const struct fan_handle *h)
{
        HANDLE_SPACE(space);
        struct file_handle *fh = (struct file_handle *)space;
        int mount_id;

        fh->handle_bytes = MAX_HANDLE_SZ;
        return name_to_handle_at(mount_fd, "", fh, &mount_id, AT_EMPTY_PATH) == 0 &&
               fh->handle_type == h->type && fh->handle_bytes == h->len &&
               memcmp(fh->f_handle, h->bytes, h->len) == 0;
}

/* The path of an open directory below the mount it was opened through; before it /proc shows prefix bytes
 * that lead to the mount. */
static int read_fd_path(int fd, size_t prefix, char text[static PATH_MAX], size_t *ret_len)
{
        char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
        struct stat st;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

        ssize_t n = readlink(link, text, PATH_MAX);
        if (n < 0)
                return -errno;
        /* " (deleted)" at the end of the link proves nothing: it is a name like any other.  Of a directory that
         * still has its name behind the reading the kernel has not put it there. */
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_nlink == 0)
                return -ESTALE;
        if (n == 0 || (size_t)n >= PATH_MAX || text[0] != '/')
                return -ESTALE;
        if ((size_t)n < prefix || ((size_t)n > prefix && text[prefix] != '/'))
                return -EXDEV; /* "/": not below the mount */
        if ((size_t)n == prefix)
                text[--prefix] = '/';
        *ret_len = (size_t)n - prefix;
        memmove(text, text + prefix, *ret_len);
        return 0;
}

static void add_inside_path(const char *root, const char *rel, size_t len, struct strbuf *out)
{
        bool whole = streq(root, "/");

        if (!whole)
                strbuf_adds(out, root);
        if (whole || len > 1)
                strbuf_add(out, rel, len);
}

/* The name under which the directory child stands in the directory parent. */
static int name_in_parent(int parent, int child, struct strbuf *ret)
{
        struct stat want, st;
        int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        int found = -ESTALE;

        if (!d) {
                found = -errno;
                (void)close_fd(fd);
                return found;
        }
        if (fstat(child, &want) < 0)
                found = -errno;
        for (struct dirent *e; found == -ESTALE && (e = readdir(d));) {
                /* d_ino of a mount point is what lies below the mount: only stat tells */
                if (streq(e->d_name, ".") || streq(e->d_name, "..") ||
                    (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
                    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ||
                    st.st_ino != want.st_ino || st.st_dev != want.st_dev)
                        continue;
                strbuf_adds(ret, e->d_name);
                found = strbuf_failed(ret) ? -ENOMEM : 0;
        }
        (void)closedir(d);
        return found;
}

/*
 * A path of PATH_MAX bytes or more cannot be read from /proc (ENAMETOOLONG): up to the
 * first ancestor whose path can, and back down by the names in between.
 * names: "/last/.../first below the ancestor", components in reverse.
 */
static int climb(int fd, size_t prefix, char text[static PATH_MAX], size_t *ret_len, struct strbuf *names)
{
        _cleanup_close_ int own = -1;

        for (size_t level = 0; level < MAX_LEVELS_CLIMBED; level++) {
                _cleanup_close_ int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (parent < 0)
                        return -errno;
                strbuf_addc(names, '/');
                int e = name_in_parent(parent, fd, names);
                if (e < 0)
                        return e;
                e = read_fd_path(parent, prefix, text, ret_len);
                if (e != -ENAMETOOLONG)
                        return e;
                (void)close_fd(own);
                fd = own = parent;
                parent = -1;
        }
        return -ENAMETOOLONG;
}

static int long_path(const struct handle_way *way, int fd, char text[static PATH_MAX], struct strbuf *out)
{
        _cleanup_strbuf_ struct strbuf names = {};
        size_t len, end;
        int e = climb(fd, way->prefix, text, &len, &names);

        if (e < 0)
                return e;
        add_inside_path(way->root, text, len, out);
        end = names.len;
        for (size_t i = names.len; i-- > 0;)
                if (names.data[i] == '/') {
                        strbuf_add(out, names.data + i, end - i);
                        end = i;
                }
        return strbuf_failed(out) ? -ENOMEM : 0;
}

int handle_path(const struct handle_way *way, const struct fan_handle *h, struct strbuf *out)
{
        char text[PATH_MAX];
        size_t len;

        if (way->fd < 0)
                return way->fd;
        _cleanup_close_ int fd = handle_open(way->fd, h, way->flags);
        if (fd < 0)
                return fd;

        int e = read_fd_path(fd, way->prefix, text, &len);
        if (e == -ENAMETOOLONG)
                return long_path(way, fd, text, out);
        if (e < 0)
                return e;
        if (len == 1 && !is_root_handle(way->fd, h))
                return -EXDEV;
        add_inside_path(way->root, text, len, out);
        return strbuf_failed(out) ? -ENOMEM : 0;
}
