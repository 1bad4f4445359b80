/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ignore_actor.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ignore_fixture.h"

/* It is no program, but the kernel sees that only after it has opened it. */
static int run(const char *path)
{
        pid_t pid = vfork();
        int status;

        if (pid == 0) {
                (void)execl(path, path, (char *)NULL);
                _exit(errno == ENOEXEC ? 0 : 1);
        }
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int use(const char *path, int flags)
{
        char c = 'x';
        int fd = open(path, flags | O_CLOEXEC, 0644), r;

        if (fd < 0)
                return -1;
        r = (int)((flags & O_ACCMODE) == O_RDONLY ? read(fd, &c, 1) : write(fd, &c, 1));
        (void)close(fd);
        return r;
}

/*
 * It is made in the directory that then holds its name: the kernel goes on taking the one where it was made for
 * its parent, so that from another one, which may be ignored, the rest of its events need not come.
 */
static int name_tmpfile(const char *name)
{
        char self[sizeof("/proc/self/fd/") + 3 * sizeof(int)], dir[128];
        int fd, r;

        (void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(name, '/') - name), name);
        fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0)
                return -1;
        (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
        r = write(fd, "x", 1) == 1 ? linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) : -1;
        (void)close(fd);
        return r;
}

static int keep(int *fd, const char *path, int flags)
{
        if (*fd >= 0)
                (void)close(*fd);
        return *fd = open(path, flags | O_CLOEXEC);
}

static int close_kept(int *fd)
{
        int r = close(*fd);

        *fd = -1;
        return r;
}

static int obey(const struct order *o, int *fd)
{
        char c = 'x';

        switch (o->action) {
        case DO_OPEN_READ:
                return keep(fd, o->path, O_RDONLY);
        case DO_OPEN_WRITE:
                return keep(fd, o->path, O_WRONLY | O_APPEND);
        case DO_OPEN_DIR:
                return keep(fd, o->path, O_RDONLY | O_DIRECTORY);
        case DO_READ:
                return (int)read(*fd, &c, 1);
        case DO_WRITE:
                return (int)write(*fd, &c, 1);
        case DO_CLOSE:
                return close_kept(fd);
        case DO_CREATE: /* one event: nothing is opened */
                return mknod(o->path, S_IFREG | 0755, 0);
        case DO_UNLINK:
                return unlink(o->path);
        case DO_MKDIR:
                return mkdir(o->path, 0755);
        case DO_RMDIR:
                return rmdir(o->path);
        case DO_CHMOD:
                return chmod(o->path, 0750);
        case DO_TRUNCATE:
                return truncate(o->path, 0);
        case DO_EXEC:
                return run(o->path);
        case DO_RENAME:
                return rename(o->path, o->second);
        case DO_EXCHANGE:
                return renameat2(AT_FDCWD, o->path, AT_FDCWD, o->second, RENAME_EXCHANGE);
        case DO_LINK:
                return link(o->path, o->second);
        case DO_SYMLINK:
                return symlink(o->path, o->second);
        case DO_APPEND:
                return use(o->path, O_WRONLY | O_CREAT | O_APPEND);
        case DO_REWRITE:
                return use(o->path, O_WRONLY | O_TRUNC);
        case DO_LOOK:
                return use(o->path, O_RDONLY);
        case DO_LIST:
                return use(o->path, O_RDONLY | O_DIRECTORY);
        case DO_NAME_TMPFILE:
                return name_tmpfile(o->path);
        }
        return -1;
}

static int orders[2];
static pid_t actor;

static void serve(void *arg)
{
        struct order o;
        int fd = -1;

        (void)close(orders[0]); /* its end is how this process is told to end */
        while (recv(orders[1], &o, sizeof(o), 0) == (ssize_t)sizeof(o)) {
                int r = obey(&o, &fd);

                if (send(orders[1], &r, sizeof(r), 0) != (ssize_t)sizeof(r))
                        break;
        }
}

const char *action_name(enum action a)
{
        static const char *const names[] = {
                [DO_OPEN_READ] = "open for reading", [DO_OPEN_WRITE] = "open for writing",
                [DO_OPEN_DIR] = "open directory", [DO_READ] = "read", [DO_WRITE] = "write",
                [DO_CLOSE] = "close", [DO_CREATE] = "create",
                [DO_UNLINK] = "unlink", [DO_MKDIR] = "mkdir", [DO_RMDIR] = "rmdir", [DO_CHMOD] = "chmod",
                [DO_TRUNCATE] = "truncate", [DO_EXEC] = "exec", [DO_RENAME] = "rename", [DO_EXCHANGE] = "exchange",
                [DO_LINK] = "link", [DO_SYMLINK] = "symlink", [DO_APPEND] = "append", [DO_REWRITE] = "rewrite",
                [DO_LOOK] = "look", [DO_LIST] = "list", [DO_NAME_TMPFILE] = "name a tmpfile",
        };

        return names[a];
}

struct order an_order(enum action action, const char *path, const char *second)
{
        struct order o = { .action = action };

        (void)snprintf(o.path, sizeof(o.path), "%s", path);
        (void)snprintf(o.second, sizeof(o.second), "%s", second ? second : "");
        return o;
}

void actor_start(void)
{
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders), 0);
        actor = ignore_start(serve, NULL);
        (void)close(orders[1]);
}

int actor_do(const struct order *o)
{
        int r = -1;

        assert_int_equal(send(orders[0], o, sizeof(*o), 0), sizeof(*o));
        assert_int_equal(recv(orders[0], &r, sizeof(r), 0), sizeof(r));
        return r;
}

void actor_end(void)
{
        (void)close(orders[0]);
        ignore_wait(actor);
}
