/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup.h"
#include "escape.h"
#include "fdutil.h"
#include "proc_read.h"
#include "proc_text.h"

#define MAX_CMDLINE 4096u
#define MAX_ANCESTORS 16
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

/* Strings are gathered in one buffer; until that has its final place, their positions
 * stand for them.  0 = absent. */
struct gather {
        struct strbuf text;
        struct proc_snapshot snapshot;
        size_t comm, exe, cmdline, session, tty, parent_comm, ancestry;
        size_t unit, user_unit, slice, cgroup, container;
        size_t ancestor_exes[MAX_ANCESTORS];
};

static size_t keep(struct gather *g, const char *p, size_t len)
{
        size_t at = g->text.len;

        strbuf_add(&g->text, p, len);
        strbuf_addc(&g->text, '\0');
        return at;
}

static size_t keep_bytes(struct gather *g, const struct bytes *b)
{
        return b->p ? keep(g, b->p, b->len) : 0;
}

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
        return keep(g, path, len);
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
        g->exe = read_exe(dir, g, &g->snapshot.actor.exe_deleted);
        n = read_file(dir, "cmdline", raw, sizeof(raw));
        if (n > 0) {
                g->cmdline = g->text.len;
                escape_cmdline(raw, (size_t)n, mask ? mask->v : NULL, mask ? mask->n : 0, MAX_CMDLINE,
                               &g->text);
                g->snapshot.actor.cmdline.len = g->text.len - g->cmdline;
                strbuf_addc(&g->text, '\0');
        }
}

static void read_cgroup(int dir, struct gather *g)
{
        char buffer[4096];
        _cleanup_strbuf_ struct strbuf container = {};
        struct cgroup_info info;
        ssize_t n = read_file(dir, "cgroup", buffer, sizeof(buffer));

        if (n <= 0)
                return;
        cgroup_parse(buffer, (size_t)n, &info);
        g->cgroup = keep_bytes(g, &info.path);
        g->unit = keep_bytes(g, &info.unit);
        g->user_unit = keep_bytes(g, &info.user_unit);
        g->slice = keep_bytes(g, &info.slice);
        if (info.container.p) {
                cgroup_unescape(&info.container, &container);
                g->container = keep(g, strbuf_str(&container), container.len);
        }
}

static void read_ids(int dir, struct gather *g)
{
        struct actor *a = &g->snapshot.actor;
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
                g->session = keep(g, buffer, strspn(buffer, "0123456789"));
}

/* One ancestor: its name into comms ("comm(pid) ← ..."), its program.  Its start bounds
 * that of the next. */
static bool read_ancestor(int32_t pid, struct gather *g, struct strbuf *names, struct proc_stat *child)
{
        char buffer[1024];
        struct proc_stat s;
        bool deleted;
        struct actor *a = &g->snapshot.actor;
        _cleanup_close_ int dir = proc_open(pid);

        /* One that started later is not the parent but a later owner of its pid. */
        if (dir < 0 || read_stat(dir, buffer, sizeof(buffer), &s) < 0 || s.start_ticks > child->start_ticks)
                return false;
        if (names->len > 0)
                strbuf_adds(names, " ← ");
        else
                g->parent_comm = keep_bytes(g, &s.comm);
        strbuf_add(names, s.comm.p, s.comm.len);
        strbuf_addf(names, "(%d)", pid);

        size_t exe = read_exe(dir, g, &deleted);
        if (exe)
                g->ancestor_exes[a->n_ancestor_exes++] = exe;
        *child = s;
        return true;
}

static void read_ancestry(const struct proc_stat *self, struct gather *g)
{
        _cleanup_strbuf_ struct strbuf names = {};
        struct proc_stat child = *self;

        for (int i = 0; i < MAX_ANCESTORS && child.ppid > 0; i++)
                if (!read_ancestor(child.ppid, g, &names, &child))
                        break;
        if (names.len > 0)
                g->ancestry = keep(g, strbuf_str(&names), names.len);
}

/* The gathered text moves behind the snapshot, and positions become pointers. */
static struct proc_snapshot *seal(struct gather *g)
{
        size_t n = g->snapshot.actor.n_ancestor_exes;
        size_t size = sizeof(struct proc_snapshot) + n * sizeof(char *) + g->text.len;
        struct proc_snapshot *s = strbuf_failed(&g->text) ? NULL : malloc(size);

        if (!s)
                return NULL;
        *s = g->snapshot;
        s->size = size;

        const char **exes = (const char **)(s + 1);
        char *text = (char *)(exes + n);
        memcpy(text, g->text.data, g->text.len);
        for (size_t i = 0; i < n; i++)
                exes[i] = text + g->ancestor_exes[i];

        struct actor *a = &s->actor;
#define PLACE(field) a->field = g->field ? text + g->field : NULL
        PLACE(comm);
        PLACE(exe);
        PLACE(session);
        PLACE(tty);
        PLACE(parent_comm);
        PLACE(ancestry);
        PLACE(unit);
        PLACE(user_unit);
        PLACE(slice);
        PLACE(cgroup);
        PLACE(container);
#undef PLACE
        a->cmdline.p = g->cmdline ? text + g->cmdline : NULL;
        a->ancestor_exes = exes;
        return s;
}

int proc_read(int dir, int32_t pid, const struct strings *mask, struct proc_snapshot **ret)
{
        struct gather g = {};
        struct actor *a = &g.snapshot.actor;
        struct proc_stat stat;
        char buffer[1024], tty[PROC_TTY_MAX];
        int r = read_stat(dir, buffer, sizeof(buffer), &stat);

        if (r < 0)
                return -ESRCH;
        strbuf_addc(&g.text, '\0'); /* no string stands at position 0 */
        a->pid = pid;
        a->start_ticks = stat.start_ticks;
        a->ppid = stat.ppid;
        a->kernel_thread = stat.flags & PROC_PF_KTHREAD;
        a->uid = a->euid = a->gid = a->egid = a->loginuid = ID_UNKNOWN;
        g.snapshot.start_usec = stat.start_ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
        g.comm = keep_bytes(&g, &stat.comm);
        /* A kernel thread acts for somebody else: its root would be a wrong name. */
        if (!a->kernel_thread) {
                proc_tty_name(stat.tty_nr, tty);
                if (tty[0])
                        g.tty = keep(&g, tty, strlen(tty));
                read_program(dir, mask, &g);
                read_ids(dir, &g);
                read_cgroup(dir, &g);
                read_ancestry(&stat, &g);
                a->program_known = g.snapshot.exe_seen && g.exe;
        }

        struct proc_snapshot *s = seal(&g);
        strbuf_done(&g.text);
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}
