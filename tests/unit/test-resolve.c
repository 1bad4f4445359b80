/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles of real directories on a tmpfs of its own; needs root, else it skips itself. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "resolve.h"
#include "street_fixture.h"
#include "world_collect.h"

/* ---- handles as events carry them ---- */

struct held_handle {
        struct fan_handle h;
        uint8_t bytes[MAX_HANDLE_SZ];
};

static void take_handle(const char *path, struct held_handle *ret)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *fh = (struct file_handle *)space;
        struct statfs sfs;
        uint32_t val[2];
        int mount_id;

        fh->handle_bytes = MAX_HANDLE_SZ;
        assert_int_equal(name_to_handle_at(AT_FDCWD, path, fh, &mount_id, 0), 0);
        assert_int_equal(statfs(path, &sfs), 0);
        memcpy(val, &sfs.f_fsid, sizeof(val));
        memcpy(ret->bytes, fh->f_handle, fh->handle_bytes);
        ret->h = (struct fan_handle){
                .fsid = (uint64_t)val[0] | (uint64_t)val[1] << 32,
                .type = fh->handle_type,
                .len = fh->handle_bytes,
                .bytes = ret->bytes,
        };
}

struct room {
        struct counters counters;
        struct world *world;
        struct resolver *resolver;
};

static struct world *collect(void)
{
        static const char text[] = "watch: { r: { path = \"/mnt\"; }; };";
        struct conf_text file = { .name = (char *)"t.conf", .text = (char *)text, .len = sizeof(text) - 1 };
        struct diag diag = DIAG_NULL;
        struct rules *rules;
        struct world *w;
        char *error = NULL;

        assert_int_equal(rules_parse(&file, 1, &diag, &rules), 0);
        diag_done(&diag);
        assert_int_equal(world_collect(rules, MOUNTS_OWN, &w, &error), 0);
        rules_free(rules);
        return w;
}

static void enter(struct room *r, size_t max_entries)
{
        *r = (struct room){};
        r->world = collect();
        assert_int_equal(resolver_new(&r->counters, max_entries, &r->resolver), 0);
        resolver_set_world(r->resolver, r->world);
}

static void leave(struct room *r)
{
        resolver_free(r->resolver);
        world_free(r->world);
}

/* The path, or the name of the error. */
static const char *path_of(struct room *r, const struct held_handle *h)
{
        static struct strbuf out;
        int e;

        strbuf_reset(&out);
        e = resolver_dir(r->resolver, &h->h, &out);
        if (e == 0)
                return strbuf_str(&out);
        return e == -ESTALE ? "ESTALE" : e == -ENOENT ? "ENOENT" : e == -EXDEV ? "EXDEV" : strerror(-e);
}

static int setup(void **state)
{
        street_fresh_root();
        return 0;
}

/* ---- the tests ---- */

static void from_the_kernel_then_from_the_cache(void **state)
{
        struct held_handle root, dir;
        struct room r;

        assert_int_equal(mkdir("/mnt/a", 0755), 0);
        assert_int_equal(mkdir("/mnt/a/b (deleted)", 0755), 0);
        take_handle("/mnt", &root);
        take_handle("/mnt/a/b (deleted)", &dir);
        enter(&r, 100);
        assert_string_equal(path_of(&r, &root), "/");
        assert_string_equal(path_of(&r, &dir), "/a/b (deleted)");
        assert_int_equal(r.counters.paths_resolved, 2);
        assert_int_equal(r.counters.paths_cached, 0);
        assert_string_equal(path_of(&r, &dir), "/a/b (deleted)");
        assert_int_equal(r.counters.paths_cached, 1);
        leave(&r);
}

/* The path of the queue's moment, until an event says otherwise. */
static void truth_ends_by_events(void **state)
{
        struct held_handle a, b, x;
        struct room r;

        assert_int_equal(mkdir("/mnt/a", 0755), 0);
        assert_int_equal(mkdir("/mnt/a/b", 0755), 0);
        assert_int_equal(mkdir("/mnt/ax", 0755), 0);
        take_handle("/mnt/a", &a);
        take_handle("/mnt/a/b", &b);
        take_handle("/mnt/ax", &x);
        enter(&r, 100);
        assert_string_equal(path_of(&r, &a), "/a");
        assert_string_equal(path_of(&r, &b), "/a/b");
        assert_string_equal(path_of(&r, &x), "/ax");
        assert_int_equal(rename("/mnt/a", "/mnt/c"), 0);
        assert_string_equal(path_of(&r, &b), "/a/b");

        resolver_forget_below(r.resolver, b.h.fsid + 1, "/a", 2);
        assert_string_equal(path_of(&r, &b), "/a/b"); /* another filesystem's */
        resolver_forget_below(r.resolver, b.h.fsid, "/a", 2);
        assert_string_equal(path_of(&r, &b), "/c/b");
        assert_string_equal(path_of(&r, &a), "/c");
        r.counters.paths_cached = 0;
        assert_string_equal(path_of(&r, &x), "/ax"); /* not below "/a" */
        assert_int_equal(r.counters.paths_cached, 1);

        resolver_learn(r.resolver, &b.h, "/learned", 8);
        assert_string_equal(path_of(&r, &b), "/learned");
        resolver_forget(r.resolver, &b.h);
        assert_string_equal(path_of(&r, &b), "/c/b");
        resolver_learn(r.resolver, &b.h, "/learned", 8);
        resolver_forget_below(r.resolver, b.h.fsid, "/", 1);
        assert_string_equal(path_of(&r, &b), "/c/b");
        resolver_learn(r.resolver, &b.h, "/learned", 8);
        resolver_forget_all(r.resolver);
        assert_string_equal(path_of(&r, &b), "/c/b");
        leave(&r);
}

static void gone_and_unknown(void **state)
{
        struct held_handle dir, held, elsewhere, none = {};
        struct room r;
        int fd;

        assert_int_equal(mkdir("/mnt/a", 0755), 0);
        assert_int_equal(mkdir("/mnt/h", 0755), 0);
        take_handle("/mnt/a", &dir);
        take_handle("/mnt/h", &held);
        elsewhere = dir;
        elsewhere.h.fsid ^= 0x5555;
        elsewhere.h.bytes = elsewhere.bytes;
        enter(&r, 100);
        fd = open("/mnt/h", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(rmdir("/mnt/a"), 0);
        assert_int_equal(rmdir("/mnt/h"), 0);
        assert_string_equal(path_of(&r, &dir), "ESTALE");
        assert_string_equal(path_of(&r, &held), "ESTALE"); /* /proc would say "/h (deleted)" */
        assert_string_equal(path_of(&r, &elsewhere), "ENOENT");
        assert_string_equal(path_of(&r, &none), "ESTALE");
        assert_int_equal(r.counters.paths_failed, 3);
        (void)close(fd);
        leave(&r);
}

/* umount(2) succeeds in the middle of a batch. */
static void nothing_is_held_busy(void **state)
{
        struct held_handle dir;
        struct room r;

        assert_int_equal(mkdir("/mnt/sub", 0755), 0);
        assert_int_equal(mount("inner", "/mnt/sub", "tmpfs", 0, NULL), 0);
        assert_int_equal(mkdir("/mnt/sub/d", 0755), 0);
        take_handle("/mnt/sub/d", &dir);
        enter(&r, 100);
        assert_string_equal(path_of(&r, &dir), "/d");
        assert_int_equal(umount("/mnt/sub"), 0);
        resolver_end_batch(r.resolver);
        resolver_forget_all(r.resolver);
        assert_string_equal(path_of(&r, &dir), "ENOENT");
        leave(&r);
}

/* Two mounts show a part each, none the root of the filesystem. */
static void parts_of_a_filesystem(void **state)
{
        struct held_handle one, deep, two, outside, part_root;
        struct room r;

        assert_int_equal(mkdir("/mnt/whole", 0755), 0);
        assert_int_equal(mkdir("/mnt/one", 0755), 0);
        assert_int_equal(mkdir("/mnt/two", 0755), 0);
        assert_int_equal(mount("inner", "/mnt/whole", "tmpfs", 0, NULL), 0);
        assert_int_equal(mkdir("/mnt/whole/x", 0755), 0);
        assert_int_equal(mkdir("/mnt/whole/x/d", 0755), 0);
        assert_int_equal(mkdir("/mnt/whole/x/d/e", 0755), 0);
        assert_int_equal(mkdir("/mnt/whole/y", 0755), 0);
        assert_int_equal(mkdir("/mnt/whole/y/d", 0755), 0);
        assert_int_equal(mkdir("/mnt/whole/z", 0755), 0);
        take_handle("/mnt/whole/x/d", &one);
        take_handle("/mnt/whole/x", &part_root);
        take_handle("/mnt/whole/x/d/e", &deep);
        take_handle("/mnt/whole/y/d", &two);
        take_handle("/mnt/whole/z", &outside);
        assert_int_equal(mount("/mnt/whole/x", "/mnt/one", NULL, MS_BIND, NULL), 0);
        assert_int_equal(mount("/mnt/whole/y", "/mnt/two", NULL, MS_BIND, NULL), 0);
        assert_int_equal(umount("/mnt/whole"), 0);
        enter(&r, 100);
        assert_string_equal(path_of(&r, &one), "/x/d");
        assert_string_equal(path_of(&r, &deep), "/x/d/e");
        assert_string_equal(path_of(&r, &part_root), "/x");
        assert_string_equal(path_of(&r, &two), "/y/d");
        assert_string_equal(path_of(&r, &outside), "EXDEV");
        leave(&r);
}

static void something_mounted_over(void **state)
{
        struct held_handle dir;
        struct room r;

        assert_int_equal(mkdir("/mnt/sub", 0755), 0);
        assert_int_equal(mount("inner", "/mnt/sub", "tmpfs", 0, NULL), 0);
        assert_int_equal(mkdir("/mnt/sub/d", 0755), 0);
        take_handle("/mnt/sub/d", &dir);
        enter(&r, 100);
        /* the world does not know of it yet */
        assert_int_equal(mount("cover", "/mnt/sub", "tmpfs", 0, NULL), 0);
        assert_string_equal(path_of(&r, &dir), "ENOENT");
        assert_int_equal(umount("/mnt/sub"), 0);
        resolver_end_batch(r.resolver);
        assert_string_equal(path_of(&r, &dir), "/d");
        leave(&r);
}

static void objects(void **state)
{
        struct held_handle file, dir;
        struct object o = {};
        struct room r;
        struct stat st;

        street_write("/mnt/f", "12345");
        assert_int_equal(chmod("/mnt/f", 04751), 0);
        assert_int_equal(chown("/mnt/f", 7, 8), 0);
        assert_int_equal(chmod("/mnt/f", 04751), 0);
        assert_int_equal(mkdir("/mnt/d", 0755), 0);
        take_handle("/mnt/f", &file);
        take_handle("/mnt/d", &dir);
        assert_int_equal(stat("/mnt/f", &st), 0);
        enter(&r, 100);
        assert_int_equal(resolver_object(r.resolver, &file.h, &o), 0);
        assert_true(o.known);
        assert_int_equal(o.type, TYPE_FILE);
        assert_int_equal(o.mode, S_IFREG | 04751);
        assert_int_equal(o.uid, 7);
        assert_int_equal(o.gid, 8);
        assert_int_equal(o.size, 5);
        assert_int_equal(o.nlink, 1);
        assert_int_equal(o.ino, st.st_ino);
        assert_int_equal(resolver_object(r.resolver, &dir.h, &o), 0);
        assert_int_equal(o.type, TYPE_DIRECTORY);

        assert_int_equal(unlink("/mnt/f"), 0);
        o.uid = 4711;
        assert_int_equal(resolver_object(r.resolver, &file.h, &o), -ESTALE);
        assert_int_equal(o.uid, 4711);
        leave(&r);
}

static void owner_of_a_directory(void **state)
{
        struct held_handle dir;
        struct room r;
        uint32_t uid = 0, gid = 0;

        assert_int_equal(mkdir("/mnt/d", 0755), 0);
        assert_int_equal(chown("/mnt/d", 17, 18), 0);
        take_handle("/mnt/d", &dir);
        enter(&r, 100);
        assert_int_equal(resolver_dir_owner(r.resolver, &dir.h, &uid, &gid), 0);
        assert_int_equal(uid, 17);
        assert_string_equal(path_of(&r, &dir), "/d");
        assert_int_equal(resolver_dir_owner(r.resolver, &dir.h, &uid, &gid), 0);
        assert_int_equal(chown("/mnt/d", 27, 28), 0);
        /* cached while the batch lasts */
        assert_int_equal(resolver_dir_owner(r.resolver, &dir.h, &uid, &gid), 0);
        assert_int_equal(uid, 17);
        assert_int_equal(gid, 18);
        resolver_end_batch(r.resolver);
        assert_int_equal(resolver_dir_owner(r.resolver, &dir.h, &uid, &gid), 0);
        assert_int_equal(uid, 27);
        assert_int_equal(gid, 28);
        leave(&r);
}

static void cache_is_bounded(void **state)
{
        enum { DIRS = 50, ENTRIES = 10 };
        static struct held_handle dirs[DIRS];
        char path[32];
        struct room r;

        for (int i = 0; i < DIRS; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/%d", i);
                assert_int_equal(mkdir(path, 0755), 0);
                take_handle(path, &dirs[i]);
        }
        enter(&r, ENTRIES);
        for (int i = 0; i < DIRS; i++) {
                (void)snprintf(path, sizeof(path), "/%d", i);
                assert_string_equal(path_of(&r, &dirs[i]), path);
        }
        for (int i = DIRS - ENTRIES; i < DIRS; i++)
                (void)path_of(&r, &dirs[i]);
        assert_int_equal(r.counters.paths_cached, ENTRIES);
        assert_string_equal(path_of(&r, &dirs[0]), "/0");
        assert_int_equal(r.counters.paths_resolved, DIRS + 1);
        leave(&r);
}

/* No event would end the truth: a path is kept for one batch. */
static void names_that_nobody_tells_of(void **state)
{
        struct held_handle a;
        struct room r;

        assert_int_equal(mkdir("/mnt/a", 0755), 0);
        take_handle("/mnt/a", &a);
        enter(&r, 100);
        resolver_names_unseen(r.resolver, a.h.fsid);
        assert_string_equal(path_of(&r, &a), "/a");
        assert_int_equal(rename("/mnt/a", "/mnt/c"), 0);
        assert_string_equal(path_of(&r, &a), "/a");
        resolver_end_batch(r.resolver);
        assert_string_equal(path_of(&r, &a), "/c");

        resolver_set_world(r.resolver, r.world);
        assert_int_equal(rename("/mnt/c", "/mnt/d"), 0);
        resolver_end_batch(r.resolver);
        assert_string_equal(path_of(&r, &a), "/c"); /* until told again */
        leave(&r);
}

/* -Wl,--wrap: a directory goes at the moment in which its path is asked for. */
static const char *goes_now;

ssize_t __real_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
        if (goes_now)
                (void)rmdir(goes_now);
        return __real_readlink(path, text, size);
}

static void gone_while_it_is_asked_for(void **state)
{
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;
        struct held_handle dir;
        struct room r;

        assert_int_equal(mkdir("/mnt/going", 0755), 0);
        take_handle("/mnt/going", &dir);
        enter(&r, 8);
        goes_now = "/mnt/going";
        assert_int_equal(resolver_dir(r.resolver, &dir.h, &path), -ESTALE);
        goes_now = NULL;
        assert_int_equal(path.len, 0);
        leave(&r);
}

/* A name like any other. */
static void named_deleted(void **state)
{
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;
        struct held_handle dir;
        struct room r;

        assert_int_equal(mkdir("/mnt/it is (deleted)", 0755), 0);
        take_handle("/mnt/it is (deleted)", &dir);
        enter(&r, 8);
        assert_int_equal(resolver_dir(r.resolver, &dir.h, &path), 0);
        assert_string_equal(strbuf_str(&path), "/it is (deleted)");
        leave(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(from_the_kernel_then_from_the_cache, setup),
                cmocka_unit_test_setup(truth_ends_by_events, setup),
                cmocka_unit_test_setup(gone_and_unknown, setup),
                cmocka_unit_test_setup(gone_while_it_is_asked_for, setup),
                cmocka_unit_test_setup(named_deleted, setup),
                cmocka_unit_test_setup(nothing_is_held_busy, setup),
                cmocka_unit_test_setup(parts_of_a_filesystem, setup),
                cmocka_unit_test_setup(something_mounted_over, setup),
                cmocka_unit_test_setup(objects, setup),
                cmocka_unit_test_setup(owner_of_a_directory, setup),
                cmocka_unit_test_setup(cache_is_bounded, setup),
                cmocka_unit_test_setup(names_that_nobody_tells_of, setup),
        };
        const char *why_not = street_enter();

        cmocka_set_message_output(CM_OUTPUT_TAP);
        if (why_not) {
                (void)printf("1..0 # SKIP %s\n", why_not);
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
