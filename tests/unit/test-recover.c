/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The look after a gap, on real mounts; needs root, else it skips itself. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fdutil.h"
#include "mount_clone.h"
#include "recover.h"
#include "street_fixture.h"

/* more than what may wait to be taken, so that the look stands in the middle */
#define MANY 3000

static int setup(void **state)
{
        street_fresh_root();
        assert_int_equal(mkdir("/mnt/sub", 0755), 0);
        assert_int_equal(mount("sub", "/mnt/sub", "tmpfs", 0, NULL), 0);
        return 0;
}

static int teardown(void **state)
{
        (void)umount2("/mnt/sub", MNT_DETACH);
        return 0;
}

/* Everything is younger than 1970. */
static struct recovery *begin(struct street *s)
{
        struct recovery *r;

        street_open(s, "watch: { all: { path = \"/mnt\"; events = \"create\"; }; };", true, 0, 0);
        assert_int_equal(recovery_new(&r), 0);
        assert_int_equal(recovery_start(r, s->generation, NULL, USEC_PER_SEC), 0);
        return r;
}

static void end(struct street *s, struct recovery *r)
{
        recovery_free(r);
        street_close(s);
}

static void wait_for(struct recovery *r)
{
        struct pollfd p = { .fd = recovery_fd(r), .events = POLLIN };

        assert_int_equal(poll(&p, 1, 60000), 1);
}

/* Takes all until the look is over.  How many times this path was among it. */
static unsigned take_all(struct recovery *r, const char *path, size_t *ret_n, struct recovery_summary *summary)
{
        struct found found[64];
        unsigned times = 0;
        size_t n;

        *ret_n = 0;
        do {
                wait_for(r);
                n = recovery_take(r, found, ELEMENTSOF(found));
                for (size_t i = 0; i < n; i++) {
                        times += streq(found[i].path, path);
                        found_done(&found[i]);
                }
                *ret_n += n;
        } while (!recovery_over(r, summary));
        return times;
}

static void finds_what_is_on_every_mount(void **state)
{
        struct recovery_summary summary;
        struct street s;
        size_t n;

        assert_int_equal(mkdir("/mnt/d", 0755), 0);
        assert_int_equal(mkdir("/mnt/sub/e", 0755), 0);
        assert_int_equal(mkdir("/mnt/z", 0755), 0);
        assert_int_equal(symlink("/mnt/d", "/mnt/link"), 0);
        street_write("/mnt/d/f", "");
        street_write("/mnt/sub/e/g", "");
        street_write("/mnt/z/h", "");

        static const char *const paths[] = { "/mnt", "/mnt/d", "/mnt/d/f", "/mnt/link", "/mnt/sub", "/mnt/sub/e",
                                             "/mnt/sub/e/g", "/mnt/z", "/mnt/z/h" };
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                struct recovery *r = begin(&s);

                assert_int_equal(take_all(r, paths[i], &n, &summary), 1);
                assert_int_equal(n, ELEMENTSOF(paths));
                assert_int_equal(summary.looked_at, ELEMENTSOF(paths));
                assert_int_equal(summary.failed, 0);
                assert_false(summary.cut_short);
                end(&s, r);
        }
}

/* It stands in the middle of that filesystem, for as long as nobody takes what it found. */
static void keeps_no_umount_out(void **state)
{
        struct recovery_summary summary;
        struct street s;
        char path[32];
        size_t n;
        int busy = -1;

        for (int i = 0; i < MANY; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/sub/%d", i);
                street_write(path, "");
        }
        struct recovery *r = begin(&s);
        for (bool inside = false; !inside;) {
                struct found f;

                wait_for(r);
                if (recovery_take(r, &f, 1) == 1) {
                        inside = strncmp(f.path, "/mnt/sub/", 9) == 0;
                        found_done(&f);
                }
        }
        /* a stat(2) that is on its way may be in the way once and again, not for long */
        for (unsigned i = 0; i < 3000 && busy != 0; i++) {
                busy = umount2("/mnt/sub", 0) < 0 ? errno : 0;
                if (busy != 0)
                        (void)usleep(10000);
        }
        assert_int_equal(busy, 0);
        street_write("/mnt/sub/below", ""); /* of what lies under it nothing is mistaken for it */
        assert_int_equal(take_all(r, "/mnt/sub/below", &n, &summary), 0);
        assert_true(n < MANY);
        end(&s, r);
}

/* It stands between what it asked of a directory and reading it: another one in its place is not mistaken for it. */
static void does_not_read_what_came_in_its_place(void **state)
{
        enum { DIRS = 1500 };
        static uint64_t inos[DIRS], met[DIRS];
        struct recovery_summary summary;
        struct found found[64];
        struct street s;
        struct stat st;
        char path[64];
        unsigned inside = 0, i;
        char *end_of;
        size_t n;

        for (i = 0; i < DIRS; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/sub/%u", i);
                assert_int_equal(mkdir(path, 0755), 0);
                assert_int_equal(stat(path, &st), 0);
                inos[i] = st.st_ino;
        }
        struct recovery *r = begin(&s);
        wait_for(r);
        (void)usleep(300000); /* most likely it waits by now; when it does not, nothing is wrong either */
        for (i = 0; i < DIRS; i++) {
                char old[64];

                (void)snprintf(path, sizeof(path), "/mnt/sub/%u", i);
                (void)snprintf(old, sizeof(old), "/mnt/sub/old%u", i);
                assert_int_equal(rename(path, old), 0);
                assert_int_equal(mkdir(path, 0755), 0);
                (void)snprintf(path, sizeof(path), "/mnt/sub/%u/new", i);
                street_write(path, "");
        }
        do {
                wait_for(r);
                n = recovery_take(r, found, ELEMENTSOF(found));
                for (size_t k = 0; k < n; k++) {
                        if (sscanf(found[k].path, "/mnt/sub/%u", &i) == 1 && i < DIRS) {
                                end_of = strrchr(found[k].path, '/');
                                if (streq(end_of, "/new")) {
                                        inside++;
                                        assert_int_not_equal(met[i], inos[i]);
                                } else {
                                        met[i] = found[k].object.ino;
                                }
                        }
                        found_done(&found[k]);
                }
        } while (!recovery_over(r, &summary));
        assert_true(inside > 0);
        assert_int_equal(summary.failed, 0);
        end(&s, r);
}

static void opens_name_by_name(void **state)
{
        assert_int_equal(mkdir("/mnt/a", 0755), 0);
        assert_int_equal(mkdir("/mnt/a/b", 0755), 0);
        assert_int_equal(mkdir("/mnt/sub/c", 0755), 0);
        assert_int_equal(symlink("a", "/mnt/to-a"), 0);

        _cleanup_close_ int clone = mount_clone_open("/mnt"), attached = mount_clone_open_attached("/mnt");
        assert_true(clone >= 0 && attached >= 0);
        const int dirs[] = { clone, attached };
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                _cleanup_close_ int b = mount_clone_open_below(dirs[i], "a/b", O_PATH | O_DIRECTORY);

                assert_true(b >= 0);
                assert_int_equal(mount_clone_open_below(dirs[i], "to-a/b", O_PATH), -ENOTDIR);
                assert_int_equal(mount_clone_open_below(dirs[i], "to-a", O_RDONLY), -ELOOP);
                assert_int_equal(mount_clone_open_below(dirs[i], "a/none", O_PATH), -ENOENT);
                assert_int_equal(mount_clone_open_below(dirs[i], "", O_PATH), -ENOENT);
        }
        assert_int_equal(mount_clone_open_below(attached, "sub/c", O_PATH), -EXDEV);
        assert_int_equal(mount_clone_open_below(attached, "sub", O_PATH), -EXDEV);
        assert_int_equal(mount_clone_open_below(clone, "sub/c", O_PATH), -ENOENT); /* mounts below are not in it */
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(finds_what_is_on_every_mount, setup, teardown),
                cmocka_unit_test_setup_teardown(keeps_no_umount_out, setup, teardown),
                cmocka_unit_test_setup_teardown(does_not_read_what_came_in_its_place, setup, teardown),
                cmocka_unit_test_setup_teardown(opens_name_by_name, setup, teardown),
        };
        const char *why_not = street_enter();
        if (why_not) {
                printf("1..0 # SKIP %s\n", why_not);
                return 0;
        }
        return cmocka_run_group_tests_name("recover", tests, NULL, NULL);
}
