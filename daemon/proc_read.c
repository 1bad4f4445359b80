/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "actor_block.h"
#include "fdutil.h"
#include "proc_read.h"
#include "proc_text.h"

#define DELETED " (deleted)"

int proc_open(int32_t pid)
{
        char path[sizeof("/proc/") + 3 * sizeof(pid)];

        (void)snprintf(path, sizeof(path), "/proc/%d", pid);
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static bool exe_identity(int dir, uint64_t *ret_dev, uint64_t *ret_ino)
{
        struct stat st;

        if (fstatat(dir, "exe", &st, AT_NO_AUTOMOUNT) < 0)
                return false;
        *ret_dev = st.st_dev;
        *ret_ino = st.st_ino;
        return true;
}

bool proc_alive(int dir, const struct proc_snapshot *s, bool *ret_same_program)
{
        uint64_t dev, ino;

        if (exe_identity(dir, &dev, &ino)) {
                *ret_same_program = s->exe_seen && dev == s->exe_dev && ino == s->exe_ino;
                return true;
        }
        /* a zombie and a kernel thread have no exe; one that is reaped has nothing */
        *ret_same_program = !s->exe_seen;
        return faccessat(dir, "stat", F_OK, 0) == 0;
}

/* The kernel gives the directory itself the effective ids, also of processes that may
 * not be dumped (task_dump_owner()). */
bool proc_owner(int dir, uint32_t *ret_euid, uint32_t *ret_egid)
{
        struct stat st;

        if (fstatat(dir, "", &st, AT_EMPTY_PATH) < 0)
                return false;
        *ret_euid = st.st_uid;
        *ret_egid = st.st_gid;
        return true;
}

/* The start of a file; its length, or a negative errno.  A NUL follows. */
static ssize_t read_file(int dir, const char *name, char *buffer, size_t size)
{
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        size_t len = 0;

        if (fd < 0)
                return -errno;
        while (len < size - 1) {
                ssize_t n = read(fd, buffer + len, size - 1 - len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                len += (size_t)n;
        }
        buffer[len] = '\0';
        return (ssize_t)len;
}

struct gather {
        struct actor_block block;
        struct proc_snapshot snapshot; /* but the actor */
};

static int read_stat(int dir, char *buffer, size_t size, struct proc_stat *ret)
{
        ssize_t n = read_file(dir, "stat", buffer, size);

        if (n < 0)
                return (int)n;
        return proc_parse_stat(buffer, (size_t)n, ret);
}

/* The program's file as the kernel names it.  " (deleted)" is the kernel's word only
 * where nothing links to the file any more. */
static size_t read_exe(int dir, struct gather *g, bool *ret_deleted)
{
        char path[PATH_MAX];
        ssize_t n = readlinkat(dir, "exe", path, sizeof(path));
        struct stat st;

        *ret_deleted = false;
        if (n <= 0)
                return 0;

        size_t len = (size_t)n, suffix = sizeof(DELETED) - 1;
        if (len > suffix && memcmp(path + len - suffix, DELETED, suffix) == 0 &&
            fstatat(dir, "exe", &st, AT_NO_AUTOMOUNT) == 0 && st.st_nlink == 0) {
                *ret_deleted = true;
                len -= suffix;
        }
        return actor_block_keep(&g->block, path, len);
}

/* Which file it is and on which filesystem: statfs needs a descriptor, O_PATH raises no event. */
static void read_exe_identity(int dir, struct proc_snapshot *s)
{
        struct statfs sfs;
        _cleanup_close_ int fd = openat(dir, "exe", O_PATH | O_CLOEXEC);

        s->exe_seen = exe_identity(dir, &s->exe_dev, &s->exe_ino);
        if (fd >= 0 && fstatfs(fd, &sfs) == 0) {
                uint32_t val[2];

                memcpy(val, &sfs.f_fsid, sizeof(val));
                s->exe_fsid = (uint64_t)val[0] | (uint64_t)val[1] << 32;
        }
}

static void read_program(int dir, const struct strings *mask, struct gather *g)
{
        char raw[MAX_CMDLINE + 1];
        ssize_t n;

        read_exe_identity(dir, &g->snapshot);
        g->block.exe = read_exe(dir, g, &g->block.actor.exe_deleted);
        n = read_file(dir, "cmdline", raw, sizeof(raw));
        if (n > 0)
                actor_block_cmdline(&g->block, raw, (size_t)n, mask ? mask->v : NULL, mask ? mask->n : 0);
}

static void read_cgroup(int dir, struct gather *g)
{
        char buffer[4096];
        ssize_t n = read_file(dir, "cgroup", buffer, sizeof(buffer));

        if (n > 0)
                actor_block_cgroup(&g->block, buffer, (size_t)n);
}

static void read_ids(int dir, struct gather *g)
{
        struct actor *a = &g->block.actor;
        char buffer[4096];
        struct proc_ids ids = { ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN };
        ssize_t n = read_file(dir, "status", buffer, sizeof(buffer));

        if (n > 0)
                proc_parse_status_ids(buffer, (size_t)n, &ids);
        a->uid = ids.uid;
        a->euid = ids.euid;
        a->gid = ids.gid;
        a->egid = ids.egid;

        n = read_file(dir, "loginuid", buffer, sizeof(buffer));
        a->loginuid = n > 0 ? proc_parse_id(buffer, (size_t)n) : ID_UNKNOWN;
        n = read_file(dir, "sessionid", buffer, sizeof(buffer));
        if (n > 0 && proc_parse_id(buffer, (size_t)n) != ID_UNKNOWN)
                g->block.session = actor_block_keep(&g->block, buffer, strspn(buffer, "0123456789"));
}

/* One ancestor.  Its start bounds that of the next. */
static bool read_ancestor(int32_t pid, struct gather *g, struct proc_stat *child)
{
        char buffer[1024];
        struct proc_stat s;
        bool deleted;
        _cleanup_close_ int dir = proc_open(pid);

        /* One that started later is not the parent but a later owner of its pid. */
        if (dir < 0 || read_stat(dir, buffer, sizeof(buffer), &s) < 0 || s.start_ticks > child->start_ticks)
                return false;
        actor_block_ancestor(&g->block, pid, s.comm.p, s.comm.len, read_exe(dir, g, &deleted));
        *child = s;
        return true;
}

static void read_ancestry(const struct proc_stat *self, struct gather *g)
{
        struct proc_stat child = *self;

        for (int i = 0; i < MAX_ANCESTORS && child.ppid > 0; i++)
                if (!read_ancestor(child.ppid, g, &child))
                        break;
}

static struct proc_snapshot *seal(struct gather *g)
{
        size_t size;
        struct proc_snapshot *s = actor_block_seal(&g->block, sizeof(*s), &size);

        if (!s)
                return NULL;
        *s = g->snapshot;
        s->actor = g->block.actor;
        s->size = size;
        return s;
}

int proc_read(int dir, int32_t pid, const struct strings *mask, struct proc_snapshot **ret)
{
        struct gather g = {};
        struct actor *a = &g.block.actor;
        struct proc_stat stat;
        char buffer[1024], tty[PROC_TTY_MAX];
        int r = read_stat(dir, buffer, sizeof(buffer), &stat);

        if (r < 0)
                return -ESRCH;
        actor_block_init(&g.block);
        a->pid = pid;
        a->start_ticks = stat.start_ticks;
        a->ppid = stat.ppid;
        a->kernel_thread = stat.flags & PROC_PF_KTHREAD;
        g.snapshot.start_usec = stat.start_ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
        g.block.comm = actor_block_keep(&g.block, stat.comm.p, stat.comm.len);
        /* A kernel thread acts for somebody else: its root would be a wrong name. */
        if (!a->kernel_thread) {
                proc_tty_name(stat.tty_nr, tty);
                if (tty[0])
                        g.block.tty = actor_block_keeps(&g.block, tty);
                read_program(dir, mask, &g);
                read_ids(dir, &g);
                read_cgroup(dir, &g);
                read_ancestry(&stat, &g);
                a->program_known = g.snapshot.exe_seen && g.block.exe;
        }

        struct proc_snapshot *s = seal(&g);
        actor_block_done(&g.block);
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}
