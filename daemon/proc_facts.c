/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "fdutil.h"
#include "hash.h"

#define MAX_CMDLINE 4096u
#define DELETED " (deleted)"
#define CACHED_FILESYSTEMS 16u
#define LEAD_READINGS 8
#define LEAD_EXACT_NS 1000u

struct proc_reader {
        int proc; /* /proc */
        char comm[64], exe[PATH_MAX], cmdline[MAX_CMDLINE + 1], cgroup[4096], text[4096];
        struct {
                uint64_t dev, fsid;
        } filesystems[CACHED_FILESYSTEMS];
        size_t n_filesystems;
};

static uint64_t clock_ns(clockid_t clock)
{
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC * NSEC_PER_USEC + (uint64_t)ts.tv_nsec;
}

uint64_t monotonic_ns(void)
{
        return clock_ns(CLOCK_MONOTONIC);
}

struct clock_lead boottime_lead(void)
{
        struct clock_lead best = { .least_ns = 0, .most_ns = UINT64_MAX };

        /* preempted between two clocks, one would take the pause for a lead */
        for (int n = 0; n < LEAD_READINGS && best.most_ns - best.least_ns > LEAD_EXACT_NS; n++) {
                uint64_t before = clock_ns(CLOCK_MONOTONIC), boottime = clock_ns(CLOCK_BOOTTIME),
                         after = clock_ns(CLOCK_MONOTONIC);
                struct clock_lead lead = {
                        .least_ns = boottime - MIN_OF(after, boottime),
                        .most_ns = boottime - MIN_OF(before, boottime),
                };

                if (lead.most_ns - lead.least_ns < best.most_ns - best.least_ns)
                        best = lead;
        }
        return best;
}

int proc_reader_new(struct proc_reader **ret)
{
        _cleanup_(proc_reader_freep) struct proc_reader *r = calloc(1, sizeof(*r));

        if (!r)
                return -ENOMEM;
        r->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (r->proc < 0)
                return -errno;
        *ret = STEAL(r);
        return 0;
}

void proc_reader_free(struct proc_reader *r)
{
        if (!r)
                return;
        (void)close_fd(r->proc);
        free(r);
}

static int open_process(const struct proc_reader *r, int32_t pid)
{
        char name[16];

        (void)snprintf(name, sizeof(name), "%d", pid);
        return openat(r->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* One read: these files are made whole at the first. */
static size_t read_text(int dir, const char *name, char *buffer, size_t size)
{
        _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, buffer, size - 1) : -1;

        buffer[MAX_OF(n, (ssize_t)0)] = '\0';
        return (size_t)MAX_OF(n, (ssize_t)0);
}

/* statfs() once a filesystem: only btrfs needs it, whose st_dev is none of the kernel's. */
static uint64_t fsid_of(struct proc_reader *r, int dir, uint64_t dev)
{
        struct statfs sfs;
        uint32_t val[2];
        size_t at = r->n_filesystems;

        for (size_t i = 0; i < MIN_OF(r->n_filesystems, (size_t)CACHED_FILESYSTEMS); i++)
                if (r->filesystems[i].dev == dev)
                        return r->filesystems[i].fsid;

        _cleanup_close_ int fd = openat(dir, "exe", O_PATH | O_CLOEXEC); /* raises no event */
        if (fd < 0 || fstatfs(fd, &sfs) < 0)
                return 0;
        memcpy(val, &sfs.f_fsid, sizeof(val));
        r->filesystems[at % CACHED_FILESYSTEMS].dev = dev;
        r->filesystems[at % CACHED_FILESYSTEMS].fsid = (uint64_t)val[0] | (uint64_t)val[1] << 32;
        r->n_filesystems++;
        return r->filesystems[at % CACHED_FILESYSTEMS].fsid;
}

static uint64_t exe_file_of(int dir)
{
        struct stat st;

        return fstatat(dir, "exe", &st, AT_NO_AUTOMOUNT) == 0 ? hash_mix(st.st_dev, st.st_ino) | 1 : 0;
}

static void read_exe(struct proc_reader *r, int dir, struct proc_facts *f)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *handle = (struct file_handle *)space;
        ssize_t n = readlinkat(dir, "exe", r->exe, sizeof(r->exe) - 1);
        const size_t suffix = sizeof(DELETED) - 1;
        struct stat st;
        int mount_id;

        if (n <= 0)
                return;
        r->exe[n] = '\0';
        f->exe = r->exe;

        handle->handle_bytes = MAX_HANDLE_SZ;
        if (name_to_handle_at(dir, "exe", handle, &mount_id, AT_SYMLINK_FOLLOW) == 0)
                f->exe_handle = proctable_handle_id(handle->handle_type, handle->f_handle,
                                                    handle->handle_bytes);
        /* the last look: which program all the above was read of */
        if (fstatat(dir, "exe", &st, AT_NO_AUTOMOUNT) < 0)
                return;
        f->exe_dev = st.st_dev;
        f->exe_fsid = fsid_of(r, dir, st.st_dev);
        f->exe_file = hash_mix(st.st_dev, st.st_ino) | 1;
        /* the kernel's word only where nothing links to the file any more */
        if ((size_t)n > suffix && st.st_nlink == 0 && streq(r->exe + n - suffix, DELETED)) {
                r->exe[(size_t)n - suffix] = '\0';
                f->exe_deleted = true;
        }
}

static void read_cmdline(struct proc_reader *r, int dir, struct proc_facts *f)
{
        f->cmdline = (struct bytes){ .p = r->cmdline,
                                     .len = read_text(dir, "cmdline", r->cmdline, sizeof(r->cmdline)) };
}

static void read_cgroup(struct proc_reader *r, int dir, struct proc_facts *f)
{
        if (read_text(dir, "cgroup", r->cgroup, sizeof(r->cgroup)) > 0)
                f->cgroup = r->cgroup;
}

static uint32_t read_number(struct proc_reader *r, int dir, const char *name)
{
        size_t n = read_text(dir, name, r->text, sizeof(r->text));

        return n > 0 ? proc_parse_id(r->text, n) : ID_UNKNOWN;
}

static bool read_stat(struct proc_reader *r, int dir, struct proc_stat *ret)
{
        size_t n = read_text(dir, "stat", r->text, sizeof(r->text));

        return n > 0 && proc_parse_stat(r->text, n, ret) == 0;
}

static void read_place(struct proc_reader *r, int dir, struct proc_facts *f)
{
        struct proc_stat stat;

        f->loginuid = read_number(r, dir, "loginuid");
        f->session = read_number(r, dir, "sessionid");
        if (read_stat(r, dir, &stat))
                f->tty_nr = stat.tty_nr;
}

static void read_ids(struct proc_reader *r, int dir, struct proc_facts *f)
{
        size_t n = read_text(dir, "status", r->text, sizeof(r->text));

        f->ids = (struct proc_ids){ ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN };
        if (n > 0)
                proc_parse_status_ids(r->text, n, &f->ids);
}

/* An exec leaves the real ids, and may change the effective ones: the directory has them
 * as its owner, also of processes that may not be dumped (task_dump_owner()). */
static void take_ids(struct proc_reader *r, int dir, const struct proc_inherited *inherited,
                     struct proc_facts *f)
{
        struct stat st;

        f->ids = inherited->ids;
        if (inherited->ids.uid == ID_UNKNOWN || inherited->doubtful ||
            fstatat(dir, "", &st, AT_EMPTY_PATH) < 0) {
                read_ids(r, dir, f);
                return;
        }
        f->ids.euid = st.st_uid;
        f->ids.egid = st.st_gid;
}

/*
 * Has the program run?  Until it does, nothing of a file is mapped: an exec only writes
 * (the arguments, the end of the data), which leaves pages of no file; the first
 * instruction is of one.  Older kernels count in portions, and may say no for a while.
 */
static bool has_run(struct proc_reader *r, int dir)
{
        unsigned long size, resident, of_files;

        return read_text(dir, "statm", r->text, sizeof(r->text)) > 0 &&
               sscanf(r->text, "%lu %lu %lu", &size, &resident, &of_files) == 3 && of_files > 0;
}

int proc_reader_exec(struct proc_reader *r, int32_t pid, uint64_t told_ns,
                     const struct proc_inherited *inherited, struct proc_facts *ret)
{
        struct proc_facts f = { .loginuid = ID_UNKNOWN, .session = ID_UNKNOWN };
        _cleanup_close_ int dir = open_process(r, pid);
        size_t n;
        uint64_t seen = dir >= 0 ? exe_file_of(dir) : 0;

        f.looked_ns = monotonic_ns();
        if (dir < 0 || (n = read_text(dir, "comm", r->comm, sizeof(r->comm))) == 0)
                return -ESRCH;
        if (r->comm[n - 1] == '\n')
                r->comm[n - 1] = '\0';
        f.comm = r->comm;
        read_cmdline(r, dir, &f);
        f.ran = f.looked_ns > told_ns + PROMPT_NS && has_run(r, dir);
        read_exe(r, dir, &f); /* last: it shows which program the rest was read of */
        f.read_ns = monotonic_ns();
        /* a zombie has none any more, and one that changed is of another program */
        if (!f.exe || f.exe_file != seen)
                return -ESRCH;
        read_cgroup(r, dir, &f);
        if (inherited)
                take_ids(r, dir, inherited, &f);
        else
                read_ids(r, dir, &f);
        /* A login goes with a session of one's own, another user or another cgroup. */
        if (!inherited || inherited->doubtful || !f.cgroup || !streq(f.cgroup, inherited->cgroup)) {
                read_place(r, dir, &f);
        } else {
                f.loginuid = inherited->loginuid;
                f.session = inherited->session;
                f.tty_nr = inherited->tty_nr;
        }
        *ret = f;
        return 0;
}

uint64_t proc_reader_running(struct proc_reader *r, int32_t pid)
{
        _cleanup_close_ int dir = open_process(r, pid);
        uint64_t file = dir >= 0 ? exe_file_of(dir) : 0;

        return file != 0 && has_run(r, dir) && exe_file_of(dir) == file ? file : 0;
}

int proc_reader_all(struct proc_reader *r, int32_t pid, struct proc_facts *ret, int32_t *ret_ppid,
                    uint64_t *ret_begin_ns)
{
        struct proc_facts f = { .loginuid = ID_UNKNOWN, .session = ID_UNKNOWN };
        struct proc_stat stat;
        _cleanup_close_ int dir = open_process(r, pid);

        if (dir < 0 || !read_stat(r, dir, &stat))
                return -ESRCH;

        size_t n = MIN_OF(stat.comm.len, sizeof(r->comm) - 1);
        uint64_t ns = stat.start_ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK) * NSEC_PER_USEC;
        memcpy(r->comm, stat.comm.p, n);
        r->comm[n] = '\0';
        f.comm = r->comm;
        f.kernel_thread = stat.flags & PROC_PF_KTHREAD;
        f.start_ticks = stat.start_ticks;
        f.tty_nr = stat.tty_nr;
        f.ids = (struct proc_ids){ ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN };
        if (!f.kernel_thread) {
                read_ids(r, dir, &f);
                read_place(r, dir, &f);
                read_cmdline(r, dir, &f);
                read_exe(r, dir, &f);
        }
        read_cgroup(r, dir, &f);
        f.read_ns = monotonic_ns();
        *ret_ppid = stat.ppid;
        *ret_begin_ns = ns - MIN_OF(boottime_lead().most_ns, ns);
        *ret = f;
        return 0;
}

int proc_reader_place(struct proc_reader *r, int32_t pid, struct proc_facts *ret)
{
        struct proc_facts f = { .loginuid = ID_UNKNOWN, .session = ID_UNKNOWN };
        _cleanup_close_ int dir = open_process(r, pid);

        if (dir < 0)
                return -ESRCH;
        read_cgroup(r, dir, &f);
        read_place(r, dir, &f);
        f.read_ns = monotonic_ns();
        *ret = f;
        return f.cgroup ? 0 : -ESRCH;
}

int proc_reader_each(struct proc_reader *r, void (*found)(void *userdata, int32_t pid), void *userdata)
{
        DIR *d = opendir("/proc");

        if (!d)
                return -errno;
        for (struct dirent *e; (e = readdir(d));) {
                uint32_t pid = e->d_name[0] >= '1' && e->d_name[0] <= '9'
                                               ? proc_parse_id(e->d_name, strlen(e->d_name))
                                               : 0;

                if (pid > 0 && pid <= INT32_MAX)
                        found(userdata, (int32_t)pid);
        }
        (void)closedir(d);
        return 0;
}
