/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A filesystem that hangs: a FUSE mount of our own whose server answers nothing but the
 * greeting.  Needs root and /dev/fuse.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "resolve.h"

struct hang {
        char dir[64];
        int fuse;
        bool mounted;
        struct world *world;
        struct counters counters;
        struct resolver *resolver;
};

static uint64_t now_usec(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

/* The greeting: from then on the kernel asks, and nobody answers. */
static void greet(int fuse)
{
        _Alignas(8) char buffer[65536 + 4096];
        const struct fuse_in_header *in = (const struct fuse_in_header *)buffer;
        struct {
                struct fuse_out_header header;
                struct fuse_init_out init;
        } out = { .init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096,
                            .flags = FUSE_EXPORT_SUPPORT } };

        assert_true(read(fuse, buffer, sizeof(buffer)) > 0);
        assert_int_equal(in->opcode, FUSE_INIT);
        out.header = (struct fuse_out_header){ .len = sizeof(out), .unique = in->unique };
        assert_int_equal(write(fuse, &out, sizeof(out)), sizeof(out));
}

static int mount_id_of(const char *dir)
{
        struct statx stx;
        int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &stx), 0);
        close(fd);
        return (int)stx.stx_mnt_id;
}

static int setup(void **state)
{
        struct hang *h = calloc(1, sizeof(*h));
        char options[128];

        assert_non_null(h);
        *state = h;
        h->fuse = geteuid() == 0 ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;
        if (h->fuse < 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return 0;
        snprintf(h->dir, sizeof(h->dir), "/tmp/test-lane-XXXXXX");
        assert_non_null(mkdtemp(h->dir));
        snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", h->fuse);
        if (mount("test-lane", h->dir, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
                return 0;
        h->mounted = true;
        greet(h->fuse);

        const struct world_mount_facts facts = {
                .id = mount_id_of(h->dir), .parent_id = 1, .sdev_major = 0, .sdev_minor = 99, .root = "/",
                .mountpoint = h->dir, .fstype = "fuse", .source = "test-lane", .class = FS_REAL,
        };
        h->world = world_new();
        assert_non_null(h->world);
        assert_int_equal(world_add_mount(h->world, &facts), 0);
        assert_int_equal(world_seal(h->world), 0);
        h->world->fs[0].fsid = 7;
        h->world->fs[0].fsid_known = true;
        world_finish(h->world);
        assert_int_equal(resolver_new(&h->counters, 16, &h->resolver), 0);
        resolver_set_world(h->resolver, h->world);
        return 0;
}

static int teardown(void **state)
{
        struct hang *h = *state;

        resolver_free(h->resolver);
        world_free(h->world);
        if (h->fuse >= 0)
                close(h->fuse); /* ends the connection, and every call that hangs */
        if (h->mounted)
                umount2(h->dir, MNT_DETACH);
        if (*h->dir)
                rmdir(h->dir);
        free(h);
        return 0;
}

static void test_hangs(void **state)
{
        struct hang *h = *state;
        const uint8_t bytes[12] = { 1, 2, 3 };
        const struct fan_handle handle = { .fsid = 7, .type = 0x81, .len = sizeof(bytes), .bytes = bytes };
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;
        struct object object;

        if (!h->mounted)
                skip();
        assert_null(resolver_stuck(h->resolver));
        uint64_t begin = now_usec();
        assert_int_equal(resolver_dir(h->resolver, &handle, &path), -ETIMEDOUT);
        assert_true(now_usec() - begin < 3 * USEC_PER_SEC);
        assert_int_equal(h->counters.paths_timed_out, 1);
        assert_string_equal(resolver_stuck(h->resolver), h->dir);

        /* from now on it costs nothing */
        begin = now_usec();
        for (unsigned i = 0; i < 100; i++) {
                assert_int_equal(resolver_dir(h->resolver, &handle, &path), -ETIMEDOUT);
                assert_int_equal(resolver_object(h->resolver, &handle, &object), -ETIMEDOUT);
        }
        assert_true(now_usec() - begin < USEC_PER_SEC / 10);

        /* the server goes: every call that hung fails, and the lane is free again */
        close(h->fuse);
        h->fuse = -1;
        for (unsigned i = 0; i < 100 && resolver_stuck(h->resolver); i++)
                usleep(20000);
        assert_null(resolver_stuck(h->resolver));
        assert_true(resolver_dir(h->resolver, &handle, &path) < 0);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_hangs, setup, teardown),
        };
        return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
