/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Groups and marks on the running kernel, on a tmpfs of its own in a mount
 * namespace of its own.  Needs root; without it every test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "decode.h"
#include "fan_uapi.h"
#include "fdutil.h"
#include "guarded.h"
#include "handles.h"
#include "mark_path.h"
#include "marks.h"
#include "mounts.h"
#include "probe.h"
#include "strbuf.h"

#define TOP "/tmp/fawatch-test-fan-group"

static struct kernel_abilities kernel;

static const struct group_key main_group = { .kind = GROUP_MAIN };

static void must(int r)
{
        if (r < 0)
                print_error("errno %d\n", errno);
        assert_true(r >= 0);
}

/* A file with one line, written here. */
static void touch(const char *path)
{
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        must(fd);
}

static struct mark_object fs_object(const char *path)
{
        struct statx sx;

        must(statx(AT_FDCWD, path, 0, STATX_MNT_ID, &sx));
        return (struct mark_object){
                .kind = MARK_FILESYSTEM,
                .sdev_major = sx.stx_dev_major,
                .sdev_minor = sx.stx_dev_minor,
        };
}

static struct mark_object mount_object(const char *path)
{
        struct statx sx;

        must(statx(AT_FDCWD, path, 0, STATX_MNT_ID, &sx));
        return (struct mark_object){ .kind = MARK_MOUNT, .mount_id = (int)sx.stx_mnt_id };
}

static struct mark_op add_op(struct mark_object object, const char *where, uint64_t bits)
{
        return (struct mark_op){ .object = object, .add = true, .bits = bits, .where = where };
}

static struct fan_group *open_main(void)
{
        struct fan_group *g = NULL;

        assert_int_equal(fan_group_open(&main_group, &kernel, true, &g), 0);
        return g;
}

/* The union of the masks of all events in the queue. */
static uint64_t read_all(struct fan_group *g)
{
        uint64_t seen = 0;
        char buffer[16384];
        ssize_t n;

        while ((n = fan_group_read(g, buffer, sizeof(buffer))) > 0) {
                struct fan_cursor c = fan_cursor_init(buffer, (size_t)n);
                struct fan_event e;

                while (fan_decode_next(&c, &e) == 1) {
                        seen |= e.mask;
                        if (e.has_pidfd)
                                close_fd(e.pidfd);
                }
        }
        assert_int_equal(n, 0);
        return seen;
}

static void test_mark_and_read(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        struct mark_op op = add_op(fs_object(TOP), TOP, FAN_CREATE | FAN_DELETE);

        assert_int_equal(fan_group_mark(g, &op), 0);
        touch(TOP "/a");
        assert_int_equal(read_all(g), FAN_CREATE);
        must(unlink(TOP "/a"));
        assert_int_equal(read_all(g), FAN_DELETE);
        op.add = false;
        op.bits = FAN_DELETE;
        assert_int_equal(fan_group_mark(g, &op), 0);
        touch(TOP "/b");
        must(unlink(TOP "/b"));
        assert_int_equal(read_all(g), FAN_CREATE);
}

/* A path that leads to another object now: found elsewhere, or refused. */
static void test_stale_path(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        struct mark_object here = fs_object(TOP), there = fs_object(TOP "/sub");
        struct mark_op op = add_op(there, TOP, FAN_CREATE);

        assert_int_equal(fan_group_mark(g, &op), 0); /* wrong path, but the mount table knows a right one */
        touch(TOP "/sub/a");
        assert_int_equal(read_all(g), FAN_CREATE);
        touch(TOP "/c");
        assert_int_equal(read_all(g), 0);

        op = add_op(mount_object(TOP "/sub"), TOP, FAN_OPEN);
        assert_int_equal(fan_group_mark(g, &op), -ESTALE);
        here.sdev_minor = 0xffff0;
        op = add_op(here, TOP, FAN_CREATE);
        assert_int_equal(fan_group_mark(g, &op), -ESTALE);
        op.where = "";
        assert_int_equal(fan_group_mark(g, &op), -ESTALE);
}

static void test_mount_mark(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        struct mark_op op = add_op(mount_object(TOP "/bind"), TOP "/bind", FAN_OPEN);

        assert_int_equal(fan_group_mark(g, &op), 0);
        touch(TOP "/bind/through-the-mount");
        assert_int_equal(read_all(g), FAN_OPEN);
        touch(TOP "/beside-the-mount");
        assert_int_equal(read_all(g), 0);
}

/* A mount point that is a file: bind mounts of single files. */
static void test_file_mountpoint(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        struct mark_op op = add_op(mount_object(TOP "/file"), TOP "/file", FAN_OPEN);

        assert_int_equal(fan_group_mark(g, &op), 0);
        touch(TOP "/file");
        assert_int_equal(read_all(g), FAN_OPEN);
}

/* With a time limit the mark is placed by a child, and is the group's all the same. */
static void test_guarded_mark(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        struct mark_op op = add_op(fs_object(TOP), TOP, FAN_CREATE);

        op.may_hang = true;
        assert_int_equal(fan_group_mark(g, &op), 0);
        touch(TOP "/guarded");
        assert_int_equal(read_all(g), FAN_CREATE);
        op.object.sdev_minor = 0xffff0;
        assert_int_equal(fan_group_mark(g, &op), -ESTALE);
}

static void test_fdinfo(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        _cleanup_markset_ struct markset marks = MARKSET_NULL;
        struct mark_op op = add_op(fs_object(TOP), TOP, FAN_CREATE | FAN_RENAME | FAN_ONDIR);
        struct mark_op ignore = {
                .object = { .kind = MARK_INODE },
                .add = true,
                .ignore = true,
                .ignore_surv = true,
                .ignore_new = true,
                .evictable = true,
                .bits = FAN_CREATE | FAN_ONDIR,
                .where = TOP "/dir",
        };
        _cleanup_close_ int fd = open(TOP "/dir", O_PATH | O_CLOEXEC);

        must(fd);
        ignore.object.sdev_major = op.object.sdev_major;
        ignore.object.sdev_minor = op.object.sdev_minor;
        assert_int_equal(handle_of(fd, &ignore.object.handle), 0);
        assert_int_equal(fan_group_mark(g, &op), 0);
        assert_int_equal(fan_group_mark(g, &ignore), 0);
        touch(TOP "/dir/ignored");
        assert_int_equal(read_all(g), 0);

        assert_int_equal(fan_group_read_marks(g, &marks), 0);
        assert_int_equal(marks.n, 2);
        assert_int_equal(mark_object_compare(&marks.marks[0].object, &op.object), 0);
        assert_int_equal(marks.marks[0].mask, op.bits);
        assert_int_equal(mark_object_compare(&marks.marks[1].object, &ignore.object), 0);
        assert_int_equal(marks.marks[1].mask, 0);
        assert_int_equal(marks.marks[1].ignore_mask, ignore.bits);
        assert_true(marks.marks[1].ignore_surv && marks.marks[1].ignore_new && marks.marks[1].evictable);
}

static void want(struct markset *s, const struct group_key *group, struct mark_object object,
                 const char *where, uint64_t mask)
{
        struct mark *m;

        assert_int_equal(markset_get(s, group, &object, where, &m), 0);
        m->mask = mask;
}

static void go_to(struct marks *m, const struct markset *wanted)
{
        _cleanup_markdiff_ struct markdiff d = {};
        size_t n;

        assert_int_equal(markdiff_build(marks_placed(m), wanted, &d), 0);
        assert_int_equal(marks_widen(m, &d), 0);
        marks_narrow(m, &d);
        (void)marks_failures(m, &n);
        assert_int_equal(n, 0);
}

/* Groups of mounts come and go with their marks; what is placed is what the kernel has. */
static void test_marks(void **state)
{
        const struct marks_params params = { .kernel = &kernel, .queue_unlimited = true };
        _cleanup_(marks_freep) struct marks *m = NULL;
        _cleanup_markset_ struct markset wanted = MARKSET_NULL, less = MARKSET_NULL, none = MARKSET_NULL;
        struct mark_object mount = mount_object(TOP "/bind");
        const struct group_key mount_group = { .kind = GROUP_MOUNT, .mount_id = mount.mount_id };
        struct fan_group *const *groups;

        assert_int_equal(marks_new(&params, &m), 0);
        assert_int_equal(marks_groups(m, &groups), 1);
        want(&wanted, &main_group, fs_object(TOP), TOP, FAN_CREATE | FAN_ONDIR);
        want(&wanted, &main_group, fs_object(TOP "/sub"), TOP "/sub", FAN_DELETE);
        want(&wanted, &mount_group, mount, TOP "/bind", FAN_OPEN);
        go_to(m, &wanted);
        assert_int_equal(marks_groups(m, &groups), 2);
        assert_int_equal(fan_group_key(groups[1])->kind, GROUP_MOUNT);
        assert_int_equal(marks_verify(m, NULL, NULL), 0);

        want(&less, &main_group, fs_object(TOP), TOP, FAN_DELETE);
        go_to(m, &less);
        assert_int_equal(marks_groups(m, &groups), 1);
        assert_int_equal(marks_placed(m)->n, 1);
        assert_int_equal(marks_verify(m, NULL, NULL), 0);

        go_to(m, &none);
        assert_int_equal(marks_groups(m, &groups), 1);
        assert_int_equal(marks_verify(m, NULL, NULL), 0);
}

/* The kernel drops the marks of what is unmounted; verification notices, and a
 * filesystem that comes back is marked again. */
static void test_unmount(void **state)
{
        const struct marks_params params = { .kernel = &kernel };
        _cleanup_(marks_freep) struct marks *m = NULL;
        _cleanup_markset_ struct markset wanted = MARKSET_NULL;
        _cleanup_strbuf_ struct strbuf report = STRBUF_NULL;

        must(mkdir(TOP "/again", 0700));
        must(mount("tmpfs", TOP "/again", "tmpfs", 0, NULL));
        assert_int_equal(marks_new(&params, &m), 0);
        want(&wanted, &main_group, fs_object(TOP "/again"), TOP "/again", FAN_CREATE);
        go_to(m, &wanted);
        must(umount(TOP "/again"));
        assert_int_equal(marks_verify(m, NULL, &report), 1);
        assert_memory_equal(strbuf_str(&report), "gone: filesystem ", 17);
        assert_int_equal(marks_placed(m)->n, 0);

        must(mount("tmpfs", TOP "/again", "tmpfs", 0, NULL));
        wanted.marks[0].object = fs_object(TOP "/again");
        go_to(m, &wanted);
        assert_int_equal(marks_verify(m, NULL, NULL), 0);
        assert_int_equal(marks_placed(m)->n, 1);
        must(umount(TOP "/again"));
        must(rmdir(TOP "/again"));
}

static int status_of(pid_t pid)
{
        int status = 0;

        return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void test_probe(void **state)
{
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        static const struct {
                const char *path;
                int mark_errno;
        } cases[] = {
                { TOP, 0 },
                { TOP "/file", 0 },
                { TOP "/overlay", EOPNOTSUPP },
                { "/proc", EOPNOTSUPP },
                { TOP "/nothing", ENOENT },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct probe_filesystem direct, guarded;

                probe_filesystem(root, cases[i].path, &kernel, &direct);
                assert_int_equal(direct.mark_errno, cases[i].mark_errno);
                probe_filesystem_guarded(root, cases[i].path, &kernel, USEC_PER_SEC, &guarded);
                assert_memory_equal(&direct, &guarded, sizeof(direct));
                assert_int_equal(direct.fsid_known, cases[i].mark_errno != ENOENT);
        }
}

static int answer_late(void *userdata, void *answer)
{
        (void)sleep(30);
        return 0;
}

static int answer_42(void *userdata, void *answer)
{
        int value = 42;

        memcpy(answer, &value, sizeof(value));
        return *(int *)userdata;
}

static void test_guarded(void **state)
{
        int value = 0, ok = 7, refused = -EACCES;

        assert_int_equal(guarded_call(answer_42, &ok, USEC_PER_SEC, &value, sizeof(value)), 7);
        assert_int_equal(value, 42);
        value = 0;
        assert_int_equal(guarded_call(answer_42, &refused, USEC_PER_SEC, &value, sizeof(value)), -EACCES);
        assert_int_equal(value, 0);
        assert_int_equal(guarded_call(answer_late, NULL, 50 * USEC_PER_MSEC, NULL, 0), -ETIMEDOUT);
}

/* The walk along a path: links, what is missing, what must not be touched. */
static void test_probe_path(void **state)
{
        static const struct {
                const char *path, *resolved;
                bool exists;
                int error;
                const char *links[3];
        } cases[] = {
                { TOP "/dir", TOP "/dir", true, 0, {} },
                { TOP "/link/x", TOP "/dir/x", false, 0, { TOP "/link", TOP "/dir/x" } },
                { TOP "/up", TOP "/dir", true, 0, { TOP "/up" } },
                { TOP "/absolute", TOP "/dir", true, 0, { TOP "/absolute" } },
                { TOP "/dangling/y", TOP "/none/z/y", false, 0, { TOP "/dangling", TOP "/none" } },
                { TOP "/plain/below", TOP "/plain/below", false, 0, { TOP "/plain/below" } },
                { "/proc/1/none", "/proc/1/none", true, 0, {} },
        };
        _cleanup_(world_freep) struct world *w = world_new();
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct world_path found;

        must(symlink("dir", TOP "/link"));
        must(symlink("dir/../dir/.", TOP "/up"));
        must(symlink(TOP "/dir", TOP "/absolute"));
        must(symlink("none/z", TOP "/dangling"));
        must(symlink("loop", TOP "/loop"));
        touch(TOP "/plain");
        assert_int_equal(mounts_read(MOUNTS_OWN, w), 0);
        assert_int_equal(world_seal(w), 0);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(probe_path(w, root, cases[i].path, arena, &found), 0);
                assert_string_equal(found.resolved, cases[i].resolved);
                assert_int_equal(found.exists, cases[i].exists);
                assert_int_equal(found.error, cases[i].error);
                for (size_t k = 0; k < found.links.n; k++)
                        assert_string_equal(found.links.v[k], cases[i].links[k]);
                assert_null(cases[i].links[found.links.n]);
        }
        /* the directories in which names were looked up, of the path and of its link */
        assert_int_equal(probe_path(w, root, TOP "/link/x", arena, &found), 0);
        assert_true(found.n_dirs >= 4);
        assert_string_equal(found.dirs[0].path, "/");
        assert_string_equal(found.dirs[found.n_dirs - 2].path, TOP);
        assert_string_equal(found.dirs[found.n_dirs - 1].path, TOP "/dir");
        for (size_t i = 0; i < found.n_dirs; i++)
                assert_true(found.dirs[i].handle.len > 0);

        assert_int_equal(probe_path(w, root, TOP "/loop", arena, &found), 0);
        assert_int_equal(found.error, ELOOP);
        assert_false(found.exists);
        assert_int_equal(found.links.n, 41);
}

/* Nothing that asks raises an event. */
static void test_silent(void **state)
{
        _cleanup_(fan_group_freep) struct fan_group *g = open_main();
        _cleanup_(world_freep) struct world *w = world_new();
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
        struct mark_op op = add_op(fs_object(TOP), TOP, vocab_to_fan(EV_RULE_ALL) | FAN_ONDIR);
        struct probe_filesystem fs;
        struct world_path path;

        assert_int_equal(fan_group_mark(g, &op), 0);
        assert_int_equal(mounts_read(MOUNTS_OWN, w), 0);
        assert_int_equal(world_seal(w), 0);
        assert_int_equal(probe_path(w, root, TOP "/link", arena, &path), 0);
        assert_true(path.exists);
        probe_filesystem(root, TOP, &kernel, &fs);
        fd = mark_path_open(&op.object, TOP, false);
        must(fd);
        assert_int_equal(read_all(g), 0);
}

/* In a child: gives up one capability, or all (-1), and says which is missed. */
static int missing_without(int capability)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2] = {};
        const char *name;

        if (syscall(SYS_capget, &header, data) < 0)
                return 1;
        if (capability < 0)
                data[0].effective = 0;
        else
                data[0].effective &= ~(1u << capability);
        if (syscall(SYS_capset, &header, data) < 0)
                return 2;
        name = fan_group_missing_capability();
        return !name ? 0 : streq(name, "CAP_SYS_ADMIN") ? 10 : streq(name, "CAP_DAC_READ_SEARCH") ? 11 : 3;
}

static void test_capability(void **state)
{
        static const struct {
                int without, answer;
        } cases[] = { { -1, 10 }, { CAP_SYS_ADMIN, 10 }, { CAP_DAC_READ_SEARCH, 11 }, { CAP_CHOWN, 0 } };

        assert_null(fan_group_missing_capability());
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                pid_t child = fork();

                if (child == 0)
                        _exit(missing_without(cases[i].without));
                assert_int_equal(status_of(child), cases[i].answer);
        }
}

/* --- the place --- */

static int build_place(void)
{
        static const char *const dirs[] = { "/sub", "/bind", "/dir", "/overlay" };
        char path[256];

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        if ((mkdir(TOP, 0700) < 0 && errno != EEXIST) || mount("tmpfs", TOP, "tmpfs", 0, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                (void)snprintf(path, sizeof(path), TOP "%s", dirs[i]);
                if (mkdir(path, 0700) < 0)
                        return -errno;
        }
        touch(TOP "/file");
        touch(TOP "/source");
        if (mount("tmpfs", TOP "/sub", "tmpfs", 0, NULL) < 0 || mkdir(TOP "/sub/u", 0700) < 0 ||
            mkdir(TOP "/sub/w", 0700) < 0)
                return -errno;
        if (mount(TOP "/dir", TOP "/bind", NULL, MS_BIND, NULL) < 0 ||
            mount(TOP "/source", TOP "/file", NULL, MS_BIND, NULL) < 0)
                return -errno;
        return mount("overlay", TOP "/overlay", "overlay", 0,
                     "lowerdir=" TOP "/dir,upperdir=" TOP "/sub/u,workdir=" TOP "/sub/w") < 0
                       ? -errno
                       : 0;
}

/* Why nothing can be tested here, or NULL. */
static const char *reason_to_skip(void)
{
        if (geteuid() != 0)
                return "needs root";
        if (build_place() < 0)
                return "no mount namespace with a tmpfs and an overlay";
        probe_kernel(&kernel);
        return kernel.dfid_name && kernel.ignore && kernel.evictable ? NULL
                                                                     : "this kernel lacks what is tested";
}

/* The mounts end with the namespace; the directory below them is ours. */
static void remove_place(void)
{
        (void)umount2(TOP, MNT_DETACH);
        (void)rmdir(TOP);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_mark_and_read), cmocka_unit_test(test_stale_path),
                cmocka_unit_test(test_mount_mark),    cmocka_unit_test(test_file_mountpoint),
                cmocka_unit_test(test_guarded_mark),  cmocka_unit_test(test_fdinfo),
                cmocka_unit_test(test_marks),         cmocka_unit_test(test_unmount),
                cmocka_unit_test(test_probe),
                cmocka_unit_test(test_guarded),       cmocka_unit_test(test_probe_path),
                cmocka_unit_test(test_silent),        cmocka_unit_test(test_capability),
        };

        const char *reason;
        int r;

        cmocka_set_message_output(CM_OUTPUT_TAP);
        reason = reason_to_skip();
        if (reason) {
                printf("1..0 # SKIP %s\n", reason);
                return 0;
        }
        r = cmocka_run_group_tests(tests, NULL, NULL);
        remove_place();
        return r;
}
