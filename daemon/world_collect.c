/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world_collect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "fdutil.h"
#include "mounts.h"
#include "names.h"
#include "probe.h"

/* Bounds on waiting, for one answer and for all of them together. */
#define FILESYSTEM_TIMEOUT_USEC (1 * USEC_PER_SEC)
#define FILESYSTEMS_MAX_SILENT 3
#define NAME_TIMEOUT_USEC (1 * USEC_PER_SEC)
#define NAMES_MAX_SILENT 3

/*
 * The root that paths start from.  PID 1's may be refused to us (ptrace_may_access()
 * decides about /proc/1/root); then our own namespace is all there is to see.
 */
int world_open_root(enum mount_view *view)
{
        int fd = -1;

        if (*view == MOUNTS_OF_PID1)
                fd = open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0)
                return fd;
        *view = MOUNTS_OWN;
        fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 ? fd : -errno;
}

/* An overlay may have the fsid of one of its layers. */
static bool shares_fsid(const struct world *w, uint32_t fs)
{
        for (uint32_t i = 0; i < w->n_fs; i++)
                if (i != fs && w->fs[i].fsid_known && w->fs[i].fsid == w->fs[fs].fsid)
                        return true;
        return false;
}

static void set_own_group(struct world *w, uint32_t i)
{
        struct world_fs *fs = &w->fs[i];

        if (!fs->takes_dir_marks || (!fs->own_group && !shares_fsid(w, i)))
                return;
        fs->own_group = true;
        fs->fsid = world_own_fsid(fs->sdev_major, fs->sdev_minor);
        fs->fsid_known = true;
}

static void collect_filesystems(struct world *w, int root_fd)
{
        unsigned silent = 0;

        for (uint32_t i = 0; i < w->n_fs; i++) {
                struct world_fs *fs = &w->fs[i];
                struct probe_filesystem found = { .mark_errno = ETIMEDOUT };
                const char *mountpoint;

                if (fs->class == FS_PSEUDO || fs->canonical_mount == WORLD_NONE)
                        continue;
                mountpoint = w->mounts[fs->canonical_mount].mountpoint;
                if (!world_mount_may_hang(w, fs->canonical_mount))
                        probe_filesystem(root_fd, mountpoint, &w->kernel, &found);
                else if (silent < FILESYSTEMS_MAX_SILENT)
                        probe_filesystem_guarded(root_fd, mountpoint, &w->kernel, FILESYSTEM_TIMEOUT_USEC,
                                                 &found);
                silent += found.mark_errno == ETIMEDOUT;
                fs->fsid = found.fsid;
                fs->fsid_known = found.fsid_known;
                fs->mark_errno = found.mark_errno;
                fs->takes_dir_marks = found.takes_dir_marks;
                fs->own_group = found.takes_dir_marks && found.weak;
        }
        for (uint32_t i = 0; i < w->n_fs; i++)
                set_own_group(w, i);
}

static int collect_paths(struct world *w, int root_fd, const struct rules *rules)
{
        _cleanup_(arena_freep) struct arena *scratch = arena_new();
        struct strings paths;
        int r;

        if (!scratch)
                return -ENOMEM;
        r = world_wanted_paths(rules, scratch, &paths);
        for (size_t i = 0; r == 0 && i < paths.n; i++) {
                struct world_path found;

                r = probe_path(w, root_fd, paths.v[i], scratch, &found);
                if (r == 0)
                        r = world_add_path(w, &found);
        }
        return r;
}

static int collect_names(struct world *w, const struct rules *rules)
{
        struct world_name *names;
        unsigned silent = 0;
        size_t n;
        int r = world_wanted_names(rules, w->arena, &names, &n);

        for (size_t i = 0; r == 0 && i < n; i++) {
                int found = -ETIMEDOUT;

                if (silent < NAMES_MAX_SILENT)
                        found = names_resolve(names[i].kind, names[i].name, NAME_TIMEOUT_USEC, &names[i].id);
                if (found == -ENOMEM)
                        return found;
                silent += found == -ETIMEDOUT;
                names[i].known = found == 0;
                r = world_add_name(w, &names[i]);
        }
        return r;
}

/* Which step failed, for the text. */
/* Has the mount table changed since this was opened?  The kernel says so to whoever polls it: proc(5). */
static bool table_changed(int table_fd)
{
        struct pollfd p = { .fd = table_fd, .events = POLLPRI };

        return table_fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLPRI | POLLERR));
}

static int collect(struct world *w, const struct rules *rules, enum mount_view view, const char **ret_step)
{
        _cleanup_close_ int root_fd = world_open_root(&view), table_fd = -1;
        int r;

        *ret_step = "opening the root directory";
        if (root_fd < 0)
                return root_fd;
        probe_kernel(&w->kernel);

        *ret_step = "reading the mount table";
        table_fd = open(view == MOUNTS_OF_PID1 ? "/proc/1/mountinfo" : "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        r = mounts_read(view, w);
        if (r == 0)
                r = world_seal(w);
        if (r < 0)
                return r;
        collect_filesystems(w, root_fd);

        *ret_step = "looking up the paths of the rules";
        r = collect_paths(w, root_fd, rules);
        if (r < 0)
                return r;
        w->unsettled = table_changed(table_fd);

        *ret_step = "looking up users and groups";
        r = collect_names(w, rules);
        if (r < 0)
                return r;
        world_finish(w);
        return 0;
}

int world_collect(const struct rules *rules, enum mount_view view, struct world **ret, char **reterr_text)
{
        _cleanup_(world_freep) struct world *w = world_new();
        const char *step;
        int r;

        if (!w)
                return -ENOMEM;
        r = collect(w, rules, view, &step);
        if (r == 0) {
                *ret = STEAL(w);
                return 0;
        }
        if (asprintf(reterr_text, "%s failed: %s", step, strerror(-r)) < 0)
                *reterr_text = NULL;
        return r;
}
