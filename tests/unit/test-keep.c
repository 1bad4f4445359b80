/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the service manager hands over may be anything: each kind of it, and what is made of it. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cmocka.h>

#include "fan_uapi.h"
#include "fdutil.h"
#include "keep.h"
#include "spool_area.h"

#define MAX_BYTES    (256u * 1024u)
#define WINDOW_BYTES (64u * 1024u)
#define SEALS        (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define OLD_STREAM   "00000000000000000000000000000001"
#define NEW_STREAM   "00000000000000000000000000000002"

/* A store of these descriptors, which it takes over: as the manager passes them. */
static struct store *store_of(const char *names, const int *fds, int n)
{
        struct store *s;
        char text[16];

        int high[8];

        /* out of each other's way, then to the numbers that the manager gives them */
        for (int i = 0; i < n; i++) {
                high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
                assert_true(high[i] >= 0);
                (void)close(fds[i]);
        }
        for (int i = 0; i < n; i++) {
                assert_int_equal(dup2(high[i], SD_LISTEN_FDS_START + i), SD_LISTEN_FDS_START + i);
                (void)close(high[i]);
        }
        (void)snprintf(text, sizeof(text), "%d", n);
        (void)setenv("LISTEN_FDS", text, 1);
        (void)snprintf(text, sizeof(text), "%d", (int)getpid());
        (void)setenv("LISTEN_PID", text, 1);
        (void)setenv("LISTEN_FDNAMES", names, 1);
        assert_int_equal(store_open(&s), 0);
        return s;
}

static int memory(size_t size, bool whole, int seals)
{
        int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        if (whole && size > 0)
                assert_int_equal(posix_fallocate(fd, 0, (off_t)size), 0);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
        return fd;
}

/* A good one, with one record in it. */
static int spool_memory(size_t max_bytes)
{
        size_t size = spool_area_size(max_bytes, WINDOW_BYTES);
        int fd = memory(size, true, SEALS);
        void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        struct spool *s;

        assert_ptr_not_equal(area, MAP_FAILED);
        spool_format(area, max_bytes, WINDOW_BYTES, OLD_STREAM);
        assert_int_equal(spool_attach(area, size, &s), 0);
        spool_state(s)->seq = 7;
        assert_int_equal(spool_push(s, 5, "record", 6), 0);
        spool_free(s);
        (void)munmap(area, size);
        return fd;
}

/* A good one, and then these bytes of it are others. */
static int broken_memory(size_t offset, size_t len)
{
        int fd = spool_memory(MAX_BYTES);

        for (size_t i = 0; i < len; i++) {
                uint8_t byte;

                assert_int_equal(pread(fd, &byte, 1, (off_t)(offset + i)), 1);
                byte ^= 0xff;
                assert_int_equal(pwrite(fd, &byte, 1, (off_t)(offset + i)), 1);
        }
        return fd;
}

static int good(void) { return spool_memory(MAX_BYTES); }
static int larger(void) { return spool_memory(2 * MAX_BYTES); }
static int device(void) { return open("/dev/null", O_RDWR | O_CLOEXEC); }
static int directory(void) { return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }
static int no_seals(void) { return memory(1 << 20, true, 0); }
static int may_shrink(void) { return memory(1 << 20, true, F_SEAL_GROW | F_SEAL_SEAL); }
static int empty(void) { return memory(0, false, SEALS); }
static int tiny(void) { return memory(100, true, SEALS); }
static int zeroes(void) { return memory(1 << 20, true, SEALS); }
static int holes(void) { return memory(1 << 20, false, SEALS); }
static int huge(void) { return memory((size_t)1 << 44, false, SEALS); }
static int other_version(void) { return broken_memory(offsetof(struct spool_area, version), 1); }
static int other_magic(void) { return broken_memory(offsetof(struct spool_area, magic), 4); }
static int other_size(void) { return broken_memory(offsetof(struct spool_area, max_bytes), 1); }
static int no_state(void) { return broken_memory(offsetof(struct spool_area, copies), sizeof(struct spool_copy) * 2); }

static void test_spool(void **state)
{
        static const struct {
                const char *what;
                int (*make)(void);
                const char *fault; /* a word of it; NULL: it is used */
                const char *names;
        } cases[] = {
                { "a good one", good, NULL, "spool-4" },
                { "one of another size: taken over into ours", larger, NULL, "spool-4" },
                { "/dev/null", device, "damaged", "spool-4" },
                { "a directory", directory, "damaged", "spool-4" },
                { "memory without seals", no_seals, "damaged", "spool-4" },
                { "memory that can shrink", may_shrink, "damaged", "spool-4" },
                { "no byte", empty, "damaged", "spool-4" },
                { "less than a header", tiny, "damaged", "spool-4" },
                { "zeroes", zeroes, "damaged", "spool-4" },
                { "holes", holes, "damaged", "spool-4" },
                { "more than the memory", huge, "quarter of the memory", "spool-4" },
                { "another version's", other_version, "another version's", "spool-4" },
                { "no spool", other_magic, "damaged", "spool-4" },
                { "another size than it says", other_size, "damaged", "spool-4" },
                { "both states", no_state, "damaged", "spool-4" },
                { "the last number there is", zeroes, "damaged", "spool-18446744073709551615" },
                { "no number", good, "", "spool-x" },
                { "more than a number", good, "", "spool-18446744073709551616" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct kept_spool kept;
                int fd = cases[i].make();
                struct store *s = store_of(cases[i].names, &fd, 1);

                print_message("# %s\n", cases[i].what);
                assert_int_equal(keep_spool(s, MAX_BYTES, WINDOW_BYTES, NEW_STREAM, &kept), 0);
                assert_non_null(kept.spool);
                assert_int_equal(kept.found, cases[i].fault == NULL);
                if (!cases[i].fault) {
                        assert_null(kept.fault);
                        assert_string_equal(spool_stream(kept.spool), OLD_STREAM);
                        assert_int_equal(spool_state(kept.spool)->seq, 7);
                        assert_int_equal(spool_count(kept.spool), 1);
                } else {
                        if (*cases[i].fault)
                                assert_non_null(strstr(kept.fault, cases[i].fault));
                        else
                                assert_null(kept.fault);
                        assert_string_equal(spool_stream(kept.spool), NEW_STREAM);
                        assert_int_equal(spool_count(kept.spool), 0);
                }
                assert_int_equal(spool_max(kept.spool), MAX_BYTES);
                spool_free(kept.spool);
                store_free(s);
        }
}

static int rules_memory(void)
{
        static const char noise[4096] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
        int fd = memory(0, false, 0);

        assert_int_equal(write(fd, noise, sizeof(noise)), sizeof(noise));
        assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_WRITE), 0);
        return fd;
}

static int sealed_huge(void) { return memory((size_t)1 << 44, false, SEALS | F_SEAL_WRITE); }
static int may_be_written(void) { return memory(4096, true, SEALS); }

static void test_rules(void **state)
{
        static const struct {
                const char *what;
                int (*make)(void);
                int error;
        } cases[] = {
                { "/dev/null", device, -EBADMSG },
                { "a directory", directory, -EBADMSG },
                { "memory that can be written", may_be_written, -EBADMSG },
                { "noise", rules_memory, -EBADMSG },
                { "no byte", empty, -EBADMSG },
                { "sixteen terabytes", sealed_huge, -EBADMSG },
        };
        struct conf_set settings = CONF_SET_NULL, rules = CONF_SET_NULL;
        uint64_t number;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                int fd = cases[i].make();
                struct store *s = store_of("rules-3", &fd, 1);

                print_message("# %s\n", cases[i].what);
                assert_int_equal(keep_find_rules(s, &number, &settings, &rules), cases[i].error);
                store_free(s);
        }
        struct store *s = store_of("", NULL, 0);
        assert_int_equal(keep_find_rules(s, &number, &settings, &rules), -ENOENT);
        store_free(s);
}

/* The newest of several; the rest is not kept on. */
static void test_numbers(void **state)
{
        int fds[] = { spool_memory(MAX_BYTES), zeroes(), memory(1, true, 0) };
        struct store *s = store_of("spool-10:spool-9:else", fds, 3);
        struct kept_spool kept;
        uint64_t number;

        assert_int_equal(store_count(s), 3);
        assert_int_equal(keep_spool(s, MAX_BYTES, WINDOW_BYTES, NEW_STREAM, &kept), 0);
        assert_true(kept.found);
        assert_int_equal(kept.number, 10);
        spool_free(kept.spool);
        store_forget_rest(s);
        assert_int_equal(store_take_numbered(s, "spool-", &number), -1);
        assert_int_equal(store_take(s, "else"), -1);
        store_free(s);
}

static int blocking_group(void) { return fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY); }
static int group_of_ours(void)
{
        return fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME_TARGET, O_RDONLY);
}

static void test_groups(void **state)
{
        static const struct {
                const char *what;
                int (*make)(void);
                int error;
        } cases[] = {
                { "/dev/null", device, -EBADMSG },
                { "a directory", directory, -EBADMSG },
                { "memory", zeroes, -EBADMSG },
                { "a group that blocks", blocking_group, 0 },
                { "a group", group_of_ours, 0 },
        };

        if (geteuid() != 0) {
                print_message("# needs root\n");
                skip();
        }
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(fan_group_freep) struct fan_group *g = NULL;
                _cleanup_markset_ struct markset marks = MARKSET_NULL;
                int fd = cases[i].make();
                struct store *s = store_of("group-main", &fd, 1);
                struct group_key key;
                unsigned flags = 0;

                print_message("# %s\n", cases[i].what);
                fd = store_take_group(s, &key);
                assert_true(fd >= 0);
                assert_int_equal(key.kind, GROUP_MAIN);
                assert_int_equal(fan_group_adopt(&key, fd, &flags, &marks, &g), cases[i].error);
                if (g) {
                        char event[4096];

                        assert_int_equal(fan_group_read(g, event, sizeof(event)), 0);
                        assert_int_equal((flags & FAN_REPORT_DFID_NAME_TARGET) == FAN_REPORT_DFID_NAME_TARGET,
                                         cases[i].make == group_of_ours);
                        assert_int_equal(marks.n, 0);
                }
                store_free(s);
        }
}

/* There is a manager, for all they know; what they tell it goes to nobody. */
static int name_manager(void **state)
{
        return setenv("NOTIFY_SOCKET", "/nowhere/to/be/found", 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_spool),
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_groups),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("keep", tests, name_manager, NULL);
}
