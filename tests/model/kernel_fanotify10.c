/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cases of fanotify10.h, asked of the running kernel. */

#include "test-interest-kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events.h"
#include "fanotify10.h"
#include "fsmodel.h"

#define N_EVICTED 16 /* files, or directories, of a case that evicts */

static const char *const entry_names[] = {
        [F10_FILE] = "file", [F10_FILE2] = "file2", [F10_EXE] = "exe", [F10_EXE2] = "exe2",
        [F10_SUBDIR] = "subdir",
};

static unsigned type_of(enum f10_object o)
{
        switch (o) {
        case F10_MOUNT1:
        case F10_MOUNT2:
                return FAN_MARK_MOUNT;
        case F10_FILESYSTEM:
                return FAN_MARK_FILESYSTEM;
        default:
                return FAN_MARK_INODE;
        }
}

/* The i-th of the directories that hold the entries, or an entry in it, through a mount. */
static const char *path_of(const struct test_place *place, enum f10_object o, unsigned mount, unsigned i,
                           char ret[128])
{
        const char *root = place->mounts[o == F10_MOUNT2 || mount == 2];

        if (o <= F10_SUBDIR)
                snprintf(ret, 128, "%s/d%u/%s", root, i, entry_names[o]);
        else if (o == F10_PARENT)
                snprintf(ret, 128, "%s/d%u", root, i);
        else
                snprintf(ret, 128, "%s", root);
        return ret;
}

static void mark(int fd, unsigned flags, uint64_t mask, const char *path)
{
        if (fanotify_mark(fd, FAN_MARK_ADD | flags, mask, AT_FDCWD, path) < 0)
                die("mark %s: %m", path);
}

static int make_group(unsigned init_flags)
{
        int fd = fanotify_init(init_flags | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                die("fanotify_init: %m");
        return fd;
}

static void place_marks(int fd, const struct test_place *place, const struct f10_case *c, enum f10_api api,
                        unsigned n)
{
        char path[128];
        unsigned type = type_of(c->ignore);

        mark(fd, type_of(c->mark), c->without | c->mark_flags, path_of(place, c->mark, 1, 0, path));
        for (unsigned i = 0; i < n; i++) {
                unsigned evictable = c->evictable ? FAN_MARK_EVICTABLE : 0;

                path_of(place, c->ignore, 1, i, path);
                if (api == F10_IGNORE) {
                        mark(fd, type | FAN_MARK_IGNORE_SURV | evictable, FAN_OPEN | c->ignore_flags, path);
                        continue;
                }
                if (c->ignore_flags & FAN_EVENT_ON_CHILD)
                        mark(fd, type | evictable, FAN_EVENT_ON_CHILD, path);
                mark(fd, type | FAN_MARK_IGNORED_MASK | FAN_MARK_IGNORED_SURV_MODIFY | evictable, FAN_OPEN,
                     path);
        }
}

static void raise_event(const struct test_place *place, const struct f10_case *c, unsigned i)
{
        char path[128], *arguments[] = { path, NULL }, *environment[] = { NULL };
        int fd;

        path_of(place, c->event, c->mount, i, path);
        if (c->without & FAN_OPEN_EXEC) {
                if (execve(path, arguments, environment) == 0 || errno != ENOEXEC)
                        die("exec %s: %m", path);
                return;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                die("open %s: %m", path);
        close(fd);
}

/* The union of the events read and their number. */
static uint32_t read_events(int fd, unsigned *ret_n)
{
        static unsigned char buffer[16384] __attribute__((aligned(8)));
        struct fanotify_event_metadata m;
        struct event_cursor cursor;
        const unsigned char *records;
        uint32_t mask = 0;

        *ret_n = 0;
        do {
                cursor = (struct event_cursor){ buffer, read(fd, buffer, sizeof(buffer)) };
                while (next_event(&cursor, &m, &records)) {
                        mask |= (uint32_t)m.mask;
                        (*ret_n)++;
                        if (m.fd >= 0)
                                close(m.fd);
                }
        } while (cursor.at != buffer);
        return mask;
}

static void drop_caches(const struct test_place *place)
{
        int root = open(place->mounts[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

        if (root < 0 || syncfs(root) < 0) /* what is dirty stays */
                die("sync: %m");
        close(root);
        if (fd < 0 || write(fd, "2", 1) != 1)
                die("drop_caches: %m");
        close(fd);
}

/* Half of the ignore marks may stay, and some need several turns: the kernel evicts as it likes. */
static bool run_evicting(const struct test_place *place, const struct f10_case *c, unsigned init_flags,
                         enum f10_api api)
{
        int fd = make_group(init_flags);
        unsigned before, after = 0;

        place_marks(fd, place, c, api, N_EVICTED);
        for (unsigned i = 0; i < N_EVICTED; i++)
                raise_event(place, c, i);
        read_events(fd, &before);
        for (unsigned turn = 0; turn < 3 && after < N_EVICTED / 2; turn++) {
                drop_caches(place);
                for (unsigned i = 0; i < N_EVICTED; i++)
                        raise_event(place, c, i);
                read_events(fd, &after);
        }
        close(fd);
        if (before != 0 || after < N_EVICTED / 2)
                printf("# %s: %u events before eviction, %u after\n", c->text, before, after);
        return before == 0 && after >= N_EVICTED / 2;
}

static bool run_case(const struct test_place *place, const struct f10_case *c, unsigned init_flags,
                     enum f10_api api)
{
        int ignoring = make_group(init_flags), plain = make_group(init_flags);
        uint32_t hidden = init_flags & FAN_REPORT_FID ? 0 : FAN_ONDIR, with, without;
        unsigned n;
        char path[128];

        place_marks(ignoring, place, c, api, 1);
        mark(plain, type_of(c->mark), c->without | c->mark_flags, path_of(place, c->mark, 1, 0, path));
        raise_event(place, c, 0);
        with = read_events(ignoring, &n);
        without = read_events(plain, &n);
        close(ignoring);
        close(plain);
        if (with != (c->with & ~hidden) || without != (c->without & ~hidden))
                printf("# %s, group %x, api %d: with %x (expected %x), without %x (expected %x)\n", c->text,
                       init_flags, api, with, c->with & ~hidden, without, c->without & ~hidden);
        return with == (c->with & ~hidden) && without == (c->without & ~hidden);
}

static void make_tree(const struct test_place *place)
{
        char path[128];

        for (unsigned i = 0; i < N_EVICTED; i++) {
                if (mkdir(path_of(place, F10_PARENT, 1, i, path), 0755) < 0 ||
                    mkdir(path_of(place, F10_SUBDIR, 1, i, path), 0755) < 0)
                        die("mkdir %s: %m", path);
                for (enum f10_object o = F10_FILE; o <= F10_EXE2; o++) {
                        int fd = open(path_of(place, o, 1, i, path), O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

                        if (fd < 0)
                                die("%s: %m", path);
                        /* text, so that exec fails at once; the others have no pages that hold the inode */
                        if (o >= F10_EXE && write(fd, "xxxxxxxx", 8) != 8)
                                die("%s: %m", path);
                        close(fd);
                }
        }
}

static void remove_tree(const struct test_place *place)
{
        char path[128];

        for (unsigned i = 0; i < N_EVICTED; i++) {
                for (enum f10_object o = F10_FILE; o <= F10_EXE2; o++)
                        unlink(path_of(place, o, 1, i, path));
                rmdir(path_of(place, F10_SUBDIR, 1, i, path));
                rmdir(path_of(place, F10_PARENT, 1, i, path));
        }
}

void kernel_fanotify10(const struct test_place *place, const struct interest_kernel *k, bool has_fid)
{
        make_tree(place);
        for (size_t i = 0; i < ELEMENTSOF(f10_cases); i++) {
                const struct f10_case *c = &f10_cases[i];
                bool good = true;
                char name[128];

                snprintf(name, sizeof(name), "fanotify10 case %zu on %s: %s", i, place->fstype, c->text);
                if (c->evictable && !place->evicts)
                        continue;
                if (c->evictable && !k->evictable) {
                        tap_skip(name, "no FAN_MARK_EVICTABLE (5.19)");
                        continue;
                }
                for (size_t g = 0; g < ELEMENTSOF(f10_groups); g++)
                        for (enum f10_api api = F10_LEGACY; api < F10_N_APIS; api++) {
                                if (((f10_groups[g] & FAN_REPORT_FID) && !has_fid) ||
                                    (api == F10_IGNORE ? !k->ignore : f10_needs_ignore_flags(c)))
                                        continue;
                                good &= c->evictable ? run_evicting(place, c, f10_groups[g], api)
                                                     : run_case(place, c, f10_groups[g], api);
                        }
                tap_ok(good, name);
        }
        remove_tree(place);
}
