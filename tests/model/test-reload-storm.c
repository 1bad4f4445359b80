/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transaction of a reload on the running kernel: while another process makes files
 * without a pause, the marks change 2,000 times between random sets that all want those
 * creations.  Each must be seen exactly once.  Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "decode.h"
#include "fan_uapi.h"
#include "marks.h"

#define CHANGES 2000u
#define FILES 300000u
#define DIRS 4u

static char where[] = "/tmp/test-reload-storm-XXXXXX";
static bool mounted;

struct place {
        struct mark_object fs, dirs[DIRS];
        char paths[DIRS][64];
};

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
        random_state = random_state * 1664525u + 1013904223u;
        return (random_state >> 8) % n;
}

static struct mark_object object_of(const char *path, enum mark_kind kind)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *fh = (struct file_handle *)space;
        struct mark_object o = { .kind = kind };
        struct stat st;
        int mount_id;

        assert_int_equal(stat(path, &st), 0);
        o.sdev_major = major(st.st_dev);
        o.sdev_minor = minor(st.st_dev);
        if (kind == MARK_INODE) {
                fh->handle_bytes = MAX_HANDLE_SZ;
                assert_int_equal(name_to_handle_at(AT_FDCWD, path, fh, &mount_id, 0), 0);
                o.handle = (struct handle){ .type = fh->handle_type, .len = fh->handle_bytes };
                memcpy(o.handle.bytes, fh->f_handle, fh->handle_bytes);
        }
        return o;
}

static void want(struct markset *s, const struct mark_object *object, const char *path, uint64_t mask,
                 uint64_t ignore)
{
        const struct group_key key = { .kind = GROUP_MAIN };
        struct mark *m;

        assert_int_equal(markset_get(s, &key, object, path, &m), 0);
        m->mask = mask;
        m->ignore_mask = ignore;
        m->ignore_surv = m->ignore_new = ignore != 0;
}

/* Creations everywhere, by the filesystem's mark or by one on each directory; and whatever else. */
static void random_set(struct markset *s, const struct place *p)
{
        static const uint64_t extra[] = { FAN_DELETE, FAN_RENAME, FAN_MODIFY, FAN_ATTRIB, FAN_CLOSE_WRITE };
        bool by_filesystem = random_below(2);
        uint64_t more = extra[random_below(ELEMENTSOF(extra))];

        want(s, &p->fs, where, (by_filesystem ? FAN_CREATE : 0) | more | FAN_ONDIR, 0);
        for (size_t i = 0; i < DIRS; i++) {
                uint64_t other = extra[random_below(ELEMENTSOF(extra))];
                bool ignores = random_below(3) == 0;

                if (by_filesystem && random_below(2))
                        continue;
                want(s, &p->dirs[i], p->paths[i], (by_filesystem ? FAN_DELETE : FAN_CREATE) | other | FAN_ONDIR,
                     ignores ? FAN_OPEN | (other == FAN_MODIFY ? 0 : FAN_MODIFY) | FAN_EVENT_ON_CHILD : 0);
        }
}

/* Makes files until there are enough of them, or until it is told to stop; then says how many. */
static _Noreturn void storm(const struct place *p, int control, int answer)
{
        struct { char path[96]; } file;
        uint32_t n = 0;
        char byte;

        for (; n < FILES && read(control, &byte, 1) < 0; n++) {
                snprintf(file.path, sizeof(file.path), "%s/%u", p->paths[n % DIRS], n);
                int fd = open(file.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
                if (fd < 0)
                        _exit(1);
                close(fd);
                if (n % 3 == 0)
                        unlink(file.path);
        }
        _exit(write(answer, &n, sizeof(n)) == sizeof(n) ? 0 : 1);
}

static void drain(struct marks *marks, uint8_t *seen, uint32_t *ret_twice)
{
        static uint8_t buffer[65536];
        struct fan_group *const *groups;
        ssize_t n;

        assert_int_equal(marks_groups(marks, &groups), 1);
        while ((n = fan_group_read(groups[0], buffer, sizeof(buffer))) > 0) {
                struct fan_cursor c = fan_cursor_init(buffer, (size_t)n);
                struct fan_event e;

                while (fan_decode_next(&c, &e) > 0) {
                        uint32_t number;

                        assert_false(e.overflow);
                        if (e.pidfd >= 0 && e.has_pidfd)
                                close(e.pidfd);
                        if (!(e.mask & FAN_CREATE) || sscanf(e.name.p, "%u", &number) != 1)
                                continue;
                        assert_true(number < FILES);
                        *ret_twice += seen[number]++ > 0;
                }
        }
}

static void change(struct marks *marks, const struct place *p, uint8_t *seen, uint32_t *twice)
{
        _cleanup_markset_ struct markset wanted = MARKSET_NULL;
        _cleanup_markdiff_ struct markdiff diff = {};
        size_t n_failures;

        random_set(&wanted, p);
        assert_int_equal(markdiff_build(marks_placed(marks), &wanted, &diff), 0);
        assert_int_equal(marks_widen(marks, &diff), 0);
        drain(marks, seen, twice);
        marks_narrow(marks, &diff);
        (void)marks_failures(marks, &n_failures);
        assert_int_equal(n_failures, 0);
}

static void test_storm(void **state)
{
        const struct kernel_abilities kernel = {
                .fanotify = true, .dfid_name = true, .target_fid = true, .rename = true, .pidfd = true,
                .evictable = true, .ignore = true,
        };
        const struct marks_params params = { .kernel = &kernel, .queue_unlimited = true };
        _cleanup_(marks_freep) struct marks *marks = NULL;
        uint8_t *seen = calloc(FILES, 1);
        uint32_t made = 0, twice = 0, missing = 0;
        int control[2], answer[2], status;
        struct place p = {};

        if (!mounted)
                skip();
        assert_non_null(seen);
        p.fs = object_of(where, MARK_FILESYSTEM);
        for (size_t i = 0; i < DIRS; i++) {
                snprintf(p.paths[i], sizeof(p.paths[i]), "%s/%zu", where, i);
                assert_int_equal(mkdir(p.paths[i], 0700), 0);
                p.dirs[i] = object_of(p.paths[i], MARK_INODE);
        }
        assert_int_equal(marks_new(&params, &marks), 0);
        change(marks, &p, seen, &twice);

        assert_int_equal(pipe2(control, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
                storm(&p, control[0], answer[1]);
        for (unsigned i = 0; i < CHANGES; i++)
                change(marks, &p, seen, &twice);
        assert_int_equal(write(control[1], "", 1), 1);
        assert_int_equal(read(answer[0], &made, sizeof(made)), sizeof(made));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        drain(marks, seen, &twice);

        for (uint32_t i = 0; i < made; i++)
                missing += seen[i] == 0;
        print_message("# %u changes, %u files\n", CHANGES, made);
        assert_true(made > 1000);
        assert_int_equal(missing, 0);
        assert_int_equal(twice, 0);
        free(seen);
        for (size_t i = 0; i < 2; i++) {
                close(control[i]);
                close(answer[i]);
        }
}

static bool names_targets(void)
{
        int fd = fan_init(FAN_REPORT_DFID_NAME_TARGET | FAN_REPORT_PIDFD | FAN_CLOEXEC);

        if (fd >= 0)
                close(fd);
        return fd >= 0;
}

static int setup(void **state)
{
        if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return 0;
        assert_non_null(mkdtemp(where));
        mounted = mount("test", where, "tmpfs", 0, "size=512m,nr_inodes=1m") == 0;
        /* a kernel without what is used here has other tests */
        if (mounted && !names_targets()) {
                umount2(where, MNT_DETACH);
                mounted = false;
        }
        return 0;
}

static int teardown(void **state)
{
        if (mounted)
                umount2(where, MNT_DETACH);
        if (strstr(where, "XXXXXX") == NULL)
                rmdir(where);
        return 0;
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_storm, setup, teardown),
        };
        return cmocka_run_group_tests_name("reload-storm", tests, NULL, NULL);
}
