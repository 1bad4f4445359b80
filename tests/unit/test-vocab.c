/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <sys/stat.h>

#include "fan_uapi.h"
#include "vocab.h"

static const struct {
        const char *name;
        uint32_t bit;
        uint64_t fan;
        bool in_rules;
} events[] = {
        { "create", EV_CREATE, FAN_CREATE, true },
        { "delete", EV_DELETE, FAN_DELETE, true },
        { "rename", EV_RENAME, FAN_RENAME, true },
        { "modify", EV_MODIFY, FAN_MODIFY, true },
        { "close_write", EV_CLOSE_WRITE, FAN_CLOSE_WRITE, true },
        { "attrib", EV_ATTRIB, FAN_ATTRIB, true },
        { "access", EV_ACCESS, FAN_ACCESS, true },
        { "open", EV_OPEN, FAN_OPEN, true },
        { "open_exec", EV_OPEN_EXEC, FAN_OPEN_EXEC, true },
        { "close_nowrite", EV_CLOSE_NOWRITE, FAN_CLOSE_NOWRITE, true },
        { "delete_self", EV_DELETE_SELF, FAN_DELETE_SELF, true },
        { "move_self", EV_MOVE_SELF, FAN_MOVE_SELF, true },
        { "fs_error", EV_FS_ERROR, FAN_FS_ERROR, true },
        { "replaced", EV_REPLACED, 0, false },
        { "changed", EV_CHANGED, 0, false },
        { "moved_from", EV_MOVED_FROM, FAN_MOVED_FROM, false },
        { "moved_to", EV_MOVED_TO, FAN_MOVED_TO, false },
};

static void test_events(void **state)
{
        bool group;

        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                assert_int_equal(events[i].bit, 1u << i); /* the order of names in a record */
                assert_string_equal(vocab_name(events[i].bit), events[i].name);
                assert_int_equal(vocab_parse(events[i].name, &group), events[i].in_rules ? events[i].bit : 0);
                if (events[i].in_rules)
                        assert_false(group);
                assert_true(vocab_to_fan(events[i].bit) == events[i].fan);
                if (events[i].fan)
                        assert_int_equal(vocab_from_fan(events[i].fan), events[i].bit);
        }
        assert_null(vocab_name(0));
        assert_null(vocab_name(EV_CREATE | EV_DELETE));
        assert_null(vocab_name(1u << 31));
        assert_int_equal(vocab_parse("CREATE", &group), 0);
        assert_int_equal(vocab_parse("", &group), 0);
}

static void test_groups(void **state)
{
        static const struct {
                const char *name;
                uint32_t events;
        } groups[] = {
                { "change", EV_CREATE | EV_DELETE | EV_RENAME | EV_MODIFY | EV_CLOSE_WRITE | EV_ATTRIB },
                { "saved", EV_CREATE | EV_DELETE | EV_RENAME | EV_CLOSE_WRITE | EV_ATTRIB },
                { "content", EV_MODIFY | EV_CLOSE_WRITE },
                { "read", EV_ACCESS | EV_OPEN | EV_OPEN_EXEC },
                { "all", 0x1fff },
        };
        size_t n;
        const char *const *names = vocab_rule_names(&n);
        bool group;

        for (size_t i = 0; i < ELEMENTSOF(groups); i++) {
                group = false;
                assert_int_equal(vocab_parse(groups[i].name, &group), groups[i].events);
                assert_true(group);
        }
        assert_int_equal(n, 13 + ELEMENTSOF(groups));
        for (size_t i = 0; i < n; i++)
                assert_int_not_equal(vocab_parse(names[i], &group), 0);
}

static void test_masks(void **state)
{
        assert_true(vocab_to_fan(EV_CONTENT) == (FAN_MODIFY | FAN_CLOSE_WRITE));
        assert_true(vocab_to_fan(EV_REPLACED | EV_CHANGED) == 0);
        assert_int_equal(
                vocab_from_fan(FAN_MODIFY | FAN_ONDIR | FAN_EVENT_ON_CHILD | FAN_Q_OVERFLOW | (1ull << 40)),
                EV_MODIFY);
}

static void test_types(void **state)
{
        static const struct {
                const char *name;
                uint32_t bit;
                unsigned mode;
        } types[] = {
                { "file", TYPE_FILE, S_IFREG },       { "directory", TYPE_DIRECTORY, S_IFDIR },
                { "symlink", TYPE_SYMLINK, S_IFLNK }, { "fifo", TYPE_FIFO, S_IFIFO },
                { "socket", TYPE_SOCKET, S_IFSOCK },  { "device", TYPE_DEVICE, S_IFCHR },
        };
        size_t n;

        vocab_type_names(&n);
        assert_int_equal(n, ELEMENTSOF(types));
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                assert_string_equal(vocab_type_name(types[i].bit), types[i].name);
                assert_int_equal(vocab_type_parse(types[i].name), types[i].bit);
                assert_int_equal(vocab_type_of_mode(types[i].mode | 0644), types[i].bit);
                assert_string_equal(vocab_type_names(&n)[i], types[i].name);
        }
        assert_int_equal(vocab_type_of_mode(S_IFBLK), TYPE_DEVICE);
        assert_int_equal(vocab_type_of_mode(0), 0);
        assert_int_equal(vocab_type_parse("dir"), 0);
        assert_null(vocab_type_name(TYPE_ALL));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_events),
                cmocka_unit_test(test_groups),
                cmocka_unit_test(test_masks),
                cmocka_unit_test(test_types),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("vocab", tests, NULL, NULL);
}
