/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lib/interest against the running kernel: random marks with all kinds of
 * arguments, random operations, one to three groups of every kind.  The errno of
 * each fanotify_mark(2), each event read with its mask, its records, its place
 * in the queue, and each line of fdinfo must be what the model says.
 *
 *   test-interest-kernel [--seed=N] [--operations=N] [--endless] [--trace] [--only=random|fanotify10]
 *
 * The seed is printed; the same seed does the same again.  Everything happens
 * on filesystems that the test mounts in a mount namespace of its own.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "fan_uapi.h"
#include "fanqueue.h"
#include "probe.h"
#include "test-interest-kernel.h"

#define BASE "/mnt" /* covered by a tmpfs of the test's own namespace */
#define ROUND 400   /* operations and marks before everything is made anew */
#define MAX_GROUPS 3
#define DEFAULT_OPERATIONS 50000

static unsigned tap_n, tap_failed;

void tap_ok(bool good, const char *name)
{
        tap_failed += !good;
        printf("%s %u - %s\n", good ? "ok" : "not ok", ++tap_n, name);
        fflush(stdout);
}

void tap_skip(const char *name, const char *reason)
{
        printf("ok %u - %s # SKIP %s\n", ++tap_n, name, reason);
}

/* ---- randomness ---- */

static uint64_t random_state;
static bool trace;

static uint32_t rnd(uint32_t n) /* 0 .. n-1; xorshift64* */
{
        random_state ^= random_state >> 12;
        random_state ^= random_state << 25;
        random_state ^= random_state >> 27;
        return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % n;
}

static bool one_in(uint32_t n)
{
        return rnd(n) == 0;
}

/* ---- random arguments ---- */

static const unsigned group_kinds[] = {
        FAN_CLASS_NOTIF,
        FAN_CLASS_CONTENT,
        FAN_REPORT_FID,
        FAN_REPORT_DIR_FID,
        FAN_REPORT_DIR_FID | FAN_REPORT_FID,
        FAN_REPORT_DFID_NAME,
        FAN_REPORT_DFID_NAME | FAN_REPORT_FID,
        FAN_REPORT_DFID_NAME_TARGET,
};

/* Mostly what the group and the mark type take, so that something happens. */
static uint64_t random_mask(const struct interest_group *group, unsigned flags,
                            const struct interest_kernel *k)
{
        uint64_t taken = INTEREST_PATH, mask;

        if (one_in(16))
                return ((uint64_t)rnd(UINT32_MAX) << 1 | rnd(2)) >> (one_in(4) ? 0 : rnd(32));
        if ((group->init_flags & (FAN_REPORT_FID | FAN_REPORT_DIR_FID)) && !(flags & FAN_MARK_MOUNT))
                taken = INTEREST_MARKABLE & ~(one_in(12) ? 0 : FAN_FS_ERROR);
        if (!(group->init_flags & FAN_REPORT_NAME) || !k->rename)
                taken &= ~(uint64_t)(one_in(16) ? 0 : FAN_RENAME);
        switch (rnd(3)) {
        case 0:
                mask = flags & (FAN_MARK_IGNORE | FAN_MARK_IGNORED_MASK) && !one_in(4)
                                ? taken & rnd(UINT32_MAX) & rnd(UINT32_MAX) & rnd(UINT32_MAX)
                                : taken;
                break;
        case 1:
                mask = taken & rnd(UINT32_MAX);
                break;
        default:
                mask = taken & rnd(UINT32_MAX) & rnd(UINT32_MAX);
        }
        return mask | (one_in(2) ? FAN_ONDIR : 0) | (one_in(2) ? FAN_EVENT_ON_CHILD : 0);
}

static unsigned random_flags(const struct interest_kernel *k)
{
        unsigned flags = one_in(40) ? FAN_MARK_FLUSH : rnd(10) < 7 ? FAN_MARK_ADD : FAN_MARK_REMOVE;

        flags |= rnd(10) < 8 ? FAN_MARK_INODE : one_in(2) ? FAN_MARK_MOUNT : FAN_MARK_FILESYSTEM;
        if ((flags & FAN_MARK_FLUSH) && !one_in(4))
                return flags;
        if (one_in(2))
                flags |= k->ignore && one_in(2) ? FAN_MARK_IGNORE : FAN_MARK_IGNORED_MASK;
        if (one_in(2))
                flags |= FAN_MARK_IGNORED_SURV_MODIFY;
        if (one_in(5))
                flags |= FAN_MARK_EVICTABLE;
        if (one_in(12))
                flags |= FAN_MARK_ONLYDIR;
        if (one_in(16))
                flags ^= 1u << rnd(13);
        return flags;
}

/* Preferably one that meets marks of its own or of its directory. */
static struct entry *random_entry(const struct fsmodel *fs, uint32_t types)
{
        struct entry *found = NULL;
        unsigned n = 0;

        for (struct entry *e = fs->entries; e; e = e->next) {
                bool marked = e->node->object.marks || (e->parent && e->parent->node->object.marks);
                unsigned weight = marked ? 3 : 1;

                if (!e->hashed || !(e->node->object.type & types))
                        continue;
                n += weight;
                if (rnd(n) < weight)
                        found = e;
        }
        return found; /* the root is always there */
}

static unsigned random_file(const struct fsmodel *fs)
{
        unsigned first = rnd(FS_MAX_FILES), i;

        for (i = 0; i < FS_MAX_FILES && fs->files[(first + i) % FS_MAX_FILES].fd < 0; i++)
                ;
        return (first + i) % FS_MAX_FILES;
}

/* ---- one step ---- */

/* Where inodes can be evicted only marks that stay are placed: the model does not see evictions. */
static unsigned without_evictable(const struct fanqueue *q, const struct interest_object *o, unsigned flags)
{
        const struct interest_mark *m = interest_find_mark(o, &q->group);

        return m && !m->evictable ? flags : flags & ~(unsigned)FAN_MARK_EVICTABLE;
}

static bool step_mark(struct fsmodel *fs, bool evicts)
{
        struct fanqueue *q = &fs->queues[rnd((uint32_t)fs->n_queues)];
        struct entry *e = random_entry(fs, TYPE_ALL);
        unsigned mount = rnd(FS_MOUNTS), flags = random_flags(fs->kernel);
        uint64_t mask = random_mask(&q->group, flags, fs->kernel);
        struct interest_place place = { &e->node->object, &fs->mounts[mount], &fs->filesystem };
        char path[256];
        int expected, real;

        if (e->node->object.type == TYPE_SYMLINK)
                flags |= FAN_MARK_DONT_FOLLOW;
        if (evicts)
                flags = without_evictable(q, &e->node->object, flags);
        if (q->group.init_flags & FAN_CLASS_CONTENT) /* nobody would answer */
                mask &= ~(uint64_t)(INTEREST_PERM | FAN_PRE_ACCESS);
        fsmodel_path(fs, e, mount, path);
        snprintf(fs->last, sizeof(fs->last), "fanotify_mark(%x, %" PRIx64 ", %s)", flags, mask, path);
        if (fs->trace)
                printf("# %s\n", fs->last);
        expected = interest_fanotify_mark(fs->kernel, &q->group, flags, mask, &place);
        real = fanotify_mark(q->fd, flags, mask, AT_FDCWD, path) < 0 ? -errno : 0;
        if (real == expected)
                return true;
        printf("# group %zu (init flags %x): %s: expected %s, got %s\n", (size_t)(q - fs->queues),
               q->group.init_flags, fs->last, strerrorname_np(-expected), strerrorname_np(-real));
        return false;
}

static unsigned long op_counts[N_OPS];

/* How often each is tried: more where it seldom applies or much depends on it. */
static const unsigned op_weights[N_OPS] = {
        [OP_OPEN] = 6, [OP_OPEN_TRUNCATE] = 3, [OP_CREATE] = 4, [OP_CLOSE] = 3, [OP_READ] = 6,
        [OP_WRITE] = 10, [OP_LIST] = 4, [OP_COPY] = 6, [OP_TRUNCATE] = 1, [OP_FTRUNCATE] = 1,
        [OP_FALLOCATE] = 1, [OP_CHMOD] = 1, [OP_FCHMOD] = 1, [OP_CHOWN] = 1, [OP_UTIMES] = 1,
        [OP_UTIMES_ATIME] = 1, [OP_UTIMES_MTIME] = 1, [OP_SETXATTR] = 1, [OP_MKDIR] = 3, [OP_MKFIFO] = 2,
        [OP_MKNOD] = 2, [OP_SYMLINK] = 2, [OP_LINK] = 4, [OP_UNLINK] = 4, [OP_RMDIR] = 4, [OP_RENAME] = 5,
        [OP_RENAME_OVER] = 4, [OP_EXCHANGE] = 4, [OP_EXEC] = 8, [OP_NOTHING] = 1,
};

static enum fs_op random_op(void)
{
        unsigned total = 0, at;
        enum fs_op op = 0;

        for (op = 0; op < N_OPS; op++)
                total += op_weights[op];
        at = rnd(total);
        for (op = 0; at >= op_weights[op]; op++)
                at -= op_weights[op];
        return op;
}

/* Returns whether the operation applies. */
static bool step_operation(struct fsmodel *fs)
{
        enum fs_op op = random_op();
        struct fs_target t = {
                .entry = random_entry(fs, op >= OP_MKDIR && op <= OP_SYMLINK ? TYPE_DIRECTORY : TYPE_ALL),
                .other = random_entry(fs, one_in(2) ? TYPE_DIRECTORY : TYPE_ALL),
                .mount = rnd(FS_MOUNTS),
                .file = op == OP_OPEN || op == OP_OPEN_TRUNCATE || op == OP_CREATE ? rnd(FS_MAX_FILES)
                                                                                   : random_file(fs),
                .choice = rnd(1u << 16),
        };

        if (op == OP_CREATE)
                t.entry = random_entry(fs, TYPE_DIRECTORY);
        if (!fsmodel_do(fs, op, &t))
                return false;
        op_counts[op]++;
        return true;
}

/* ---- rounds ---- */

struct totals {
        uint64_t operations, marks, events, dumps, rounds;
};

static bool compare_all_marks(struct fsmodel *fs, struct totals *totals)
{
        for (size_t i = 0; i < fs->n_queues; i++) {
                totals->dumps++;
                if (!fanqueue_compare_marks(fs, &fs->queues[i]))
                        return false;
        }
        return true;
}

static bool run_steps(struct fsmodel *fs, bool evicts, struct totals *totals)
{
        unsigned until_compared = 1;

        for (unsigned i = 0; i < ROUND; i++) {
                if (one_in(5)) {
                        totals->marks++;
                        if (!step_mark(fs, evicts))
                                return false;
                        if (one_in(6) && !compare_all_marks(fs, totals))
                                return false;
                } else if (step_operation(fs)) {
                        totals->operations++;
                        until_compared--;
                }
                if (until_compared == 0 || i == ROUND - 1) {
                        long n = fanqueue_compare(fs);

                        if (n < 0)
                                return false;
                        totals->events += (uint64_t)n;
                        until_compared = 1 + rnd(6);
                }
        }
        return compare_all_marks(fs, totals);
}

static bool run_round(const struct test_place *place, const struct interest_kernel *k,
                      const struct fs_hooks *hooks, struct totals *totals)
{
        struct fanqueue queues[MAX_GROUPS];
        size_t n = 1 + rnd(MAX_GROUPS);
        struct fsmodel fs;
        bool good;

        fsmodel_init(&fs, k, hooks, place->mounts[0], place->mounts[1]);
        fs.trace = trace;
        fs.queues = queues;
        while (fs.n_queues < n) {
                unsigned kind = group_kinds[rnd(ELEMENTSOF(group_kinds))];

                if (probe_group(kind) && fanqueue_open(&queues[fs.n_queues], kind | FAN_UNLIMITED_MARKS) == 0)
                        fs.n_queues++;
        }
        good = run_steps(&fs, place->evicts, totals);
        for (size_t i = 0; i < fs.n_queues; i++)
                fanqueue_close(&queues[i], &fs);
        fs.n_queues = 0;
        fsmodel_done(&fs);
        totals->rounds++;
        return good;
}

static void run_random(const struct test_place *place, const struct interest_kernel *k,
                       const struct fs_hooks *hooks, uint64_t operations)
{
        struct totals totals = {};
        struct timespec begin, end;
        char name[64];
        bool good = true;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        while (good && totals.operations < operations)
                good = run_round(place, k, hooks, &totals);
        clock_gettime(CLOCK_MONOTONIC, &end);
        printf("# %s: %" PRIu64 " operations, %" PRIu64 " mark calls, %" PRIu64 " events, %" PRIu64
               " fdinfo dumps, %" PRIu64 " rounds, %.1f s\n",
               place->fstype, totals.operations, totals.marks, totals.events, totals.dumps, totals.rounds,
               (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
        snprintf(name, sizeof(name), "random marks and operations on %s", place->fstype);
        tap_ok(good, name);
}

/* ---- places ---- */

/* mount(8) finds and frees the loop device; it goes with the mount, so with the namespace. */
static bool make_ext4(const struct test_place *place)
{
        char command[512];

        snprintf(command, sizeof(command),
                 "exec >/dev/null 2>&1; truncate -s 32M %s/image && mkfs.ext4 -q -O ^has_journal %s/image && "
                 "mount -n -o loop %s/image %s",
                 BASE, BASE, BASE, place->mounts[0]);
        return system(command) == 0;
}

static bool make_place(const struct test_place *place)
{
        for (unsigned i = 0; i < 2; i++)
                if (mkdir(place->mounts[i], 0755) < 0)
                        die("mkdir %s: %m", place->mounts[i]);
        if (streq(place->fstype, "tmpfs")) {
                if (mount("tmpfs", place->mounts[0], "tmpfs", 0, "mode=755") < 0)
                        die("mount tmpfs: %m");
        } else if (!make_ext4(place)) {
                return false;
        }
        if (mount(place->mounts[0], place->mounts[1], NULL, MS_BIND, NULL) < 0)
                die("bind %s: %m", place->mounts[1]);
        return true;
}

static void leave_place(const struct test_place *place)
{
        for (unsigned i = 2; i-- > 0;)
                if (umount2(place->mounts[i], MNT_DETACH) < 0)
                        die("umount %s: %m", place->mounts[i]);
}

struct options {
        uint64_t seed, operations;
        bool endless, random, fanotify10;
};

static void usage(const char *program)
{
        fprintf(stderr,
                "Usage: %s [--seed=N] [--operations=N] [--endless] [--trace] [--only=random|fanotify10]\n",
                program);
        exit(2);
}

static struct options parse_options(int argc, char **argv)
{
        static const struct option known[] = {
                { "seed", required_argument, NULL, 's' },
                { "operations", required_argument, NULL, 'n' },
                { "endless", no_argument, NULL, 'e' },
                { "trace", no_argument, NULL, 't' },
                { "only", required_argument, NULL, 'o' },
                {},
        };
        struct options o = { .operations = DEFAULT_OPERATIONS, .random = true, .fanotify10 = true };
        struct timespec now;
        int c;

        clock_gettime(CLOCK_REALTIME, &now);
        o.seed = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
        while ((c = getopt_long(argc, argv, "", known, NULL)) >= 0)
                switch (c) {
                case 's':
                        o.seed = strtoull(optarg, NULL, 0);
                        break;
                case 'n':
                        o.operations = strtoull(optarg, NULL, 0);
                        break;
                case 'e':
                        o.endless = true;
                        break;
                case 't':
                        trace = true;
                        break;
                case 'o':
                        o.random = streq(optarg, "random");
                        o.fanotify10 = streq(optarg, "fanotify10");
                        break;
                default:
                        usage(argv[0]);
                }
        if (optind != argc || !(o.random || o.fanotify10))
                usage(argv[0]);
        return o;
}

static void run_place(const struct test_place *place, const struct options *o)
{
        struct interest_kernel k;
        struct fs_hooks hooks;

        if (!make_place(place)) {
                tap_skip(place->fstype, "no loop device or no mkfs for it");
                return;
        }
        probe_kernel(place->mounts[0], &k, &hooks);
        printf("# %s: fid errno %d, rename %d, fs_error %d, evictable %d, ignore %d, "
               "special files untold %d, truncate before open %d, last dentry tells %d, "
               "copy modifies first %d\n",
               place->fstype, -hooks.fid_errno, k.rename, k.fs_error, k.evictable, k.ignore, k.special_untold,
               hooks.truncate_before_open, hooks.last_dentry_tells, hooks.copy_modifies_first);
        if (o->fanotify10)
                kernel_fanotify10(place, &k, hooks.fid_errno == 0);
        if (o->random)
                run_random(place, &k, &hooks, o->operations / 2);
        leave_place(place);
}

int main(int argc, char **argv)
{
        static const struct test_place places[] = {
                { "tmpfs", { BASE "/a", BASE "/b" }, false },
                { "ext4", { BASE "/c", BASE "/d" }, true },
        };
        struct options o = parse_options(argc, argv);
        struct utsname uts;

        if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", BASE, "tmpfs", 0, "mode=755") < 0) {
                printf("1..0 # SKIP needs root, to mount filesystems of its own\n");
                return 0;
        }
        if (!probe_group(FAN_REPORT_DFID_NAME)) {
                printf("1..0 # SKIP this kernel has no fanotify with names (5.9)\n");
                return 0;
        }
        uname(&uts);
        printf("# Linux %s, --seed=%" PRIu64 "\n", uts.release, o.seed);
        fflush(stdout);
        random_state = o.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
        do {
                for (size_t i = 0; i < ELEMENTSOF(places); i++)
                        run_place(&places[i], &o);
                for (size_t i = 0; i < ELEMENTSOF(places); i++)
                        for (unsigned m = 0; m < 2; m++)
                                rmdir(places[i].mounts[m]);
                unlink(BASE "/image");
        } while (o.endless && tap_failed == 0);
        printf("# operations:");
        for (enum fs_op op = 0; op < N_OPS; op++)
                printf(" %s %lu", fsmodel_op_name(op), op_counts[op]);
        printf("\n1..%u\n", tap_n);
        return tap_failed == 0 ? 0 : 1;
}
