/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dirtable.h"
#include "strbuf.h"

#define FS 7u

/* A handle of twelve bytes, as on tmpfs, that is a number. */
static struct fan_handle handle(uint32_t number, uint8_t bytes[static 12])
{
        memset(bytes, 0, 12);
        memcpy(bytes + 4, &number, sizeof(number));
        return (struct fan_handle){ .fsid = FS, .type = 1, .len = 12, .bytes = bytes };
}

static struct dirtable_dir *add(struct dirtable *t, uint32_t number, const char *path)
{
        uint8_t bytes[12];
        const struct fan_handle h = handle(number, bytes);
        struct dirtable_dir *d = NULL;

        assert_int_equal(dirtable_add(t, &h, path, strlen(path), &d), 0);
        return d;
}

static struct dirtable_dir *find(struct dirtable *t, uint32_t number)
{
        uint8_t bytes[12];
        const struct fan_handle h = handle(number, bytes);

        return dirtable_find(t, &h);
}

static struct dirtable_dir *at(struct dirtable *t, const char *path)
{
        return dirtable_at(t, FS, path, strlen(path));
}

static void check_path(struct dirtable *t, uint32_t number, const char *path)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        struct dirtable_dir *d = find(t, number);

        assert_non_null(d);
        dirtable_path(d, &out);
        assert_string_equal(strbuf_str(&out), path);
        assert_ptr_equal(at(t, path), d);
}

static int move(struct dirtable *t, uint32_t number, const char *path)
{
        return dirtable_rename(t, find(t, number), path, strlen(path));
}

static void test_add(void **state)
{
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;
        uint8_t bytes[12];
        struct dirtable_dir *d;
        struct fan_handle h = handle(2, bytes);

        assert_int_equal(dirtable_new(&t), 0);
        add(t, 1, "/");
        add(t, 2, "/a");
        add(t, 3, "/a/b");
        check_path(t, 1, "/");
        check_path(t, 3, "/a/b");
        assert_int_equal(dirtable_count(t), 3);
        assert_int_equal(dirtable_add(t, &h, "/c", 2, &d), -EEXIST);
        check_path(t, 2, "/a");

        const struct fan_handle same = dirtable_handle(find(t, 2));
        assert_true(fan_handle_equal(&same, &h));

        /* the same handle of another filesystem is another directory */
        h.fsid = FS + 1;
        assert_null(dirtable_find(t, &h));
        assert_int_equal(dirtable_add(t, &h, "/x", 2, &d), 0);
        assert_int_equal(dirtable_fsid(d), FS + 1);
        check_path(t, 2, "/a");
        dirtable_remove_filesystem(t, FS + 1);
        assert_int_equal(dirtable_count(t), 3);
        assert_null(dirtable_find(t, &h));

        h.len = 0;
        assert_int_equal(dirtable_add(t, &h, "/y", 2, &d), -EINVAL);
}

/* A directory takes all below it along, into a longer name, a shorter one, and another directory. */
static void test_rename(void **state)
{
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;

        assert_int_equal(dirtable_new(&t), 0);
        add(t, 1, "/");
        add(t, 2, "/a");
        add(t, 3, "/a/b");
        add(t, 4, "/a/b/c");
        add(t, 5, "/d");
        assert_int_equal(move(t, 2, "/a-much-longer-name"), 0);
        check_path(t, 2, "/a-much-longer-name");
        check_path(t, 4, "/a-much-longer-name/b/c");
        assert_int_equal(move(t, 2, "/x"), 0);
        check_path(t, 4, "/x/b/c");
        assert_int_equal(move(t, 3, "/d/e"), 0);
        check_path(t, 3, "/d/e");
        check_path(t, 4, "/d/e/c");
        check_path(t, 2, "/x");
        assert_int_equal(move(t, 3, "/d/e"), 0);
        /* into a place whose directories are not known */
        assert_int_equal(move(t, 3, "/not/known/e"), 0);
        check_path(t, 4, "/not/known/e/c");
        assert_null(at(t, "/not"));
        assert_int_equal(move(t, 3, "/a"), 0);
        check_path(t, 4, "/a/c");
        assert_int_equal(dirtable_count(t), 5);
}

static void test_rename_refused(void **state)
{
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;

        assert_int_equal(dirtable_new(&t), 0);
        add(t, 1, "/");
        add(t, 2, "/a");
        add(t, 3, "/a/b");
        assert_int_equal(move(t, 1, "/r"), -EINVAL);
        assert_int_equal(move(t, 2, "/a/b/a"), -EINVAL);
        assert_int_equal(move(t, 3, "/a"), -EINVAL);
        assert_int_equal(move(t, 2, "/"), -EINVAL);
        check_path(t, 3, "/a/b");
        assert_int_equal(dirtable_count(t), 3);
}

/* What had the name is another object, and nothing below it is there any more. */
static void test_replace(void **state)
{
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;

        assert_int_equal(dirtable_new(&t), 0);
        add(t, 1, "/");
        add(t, 2, "/a");
        add(t, 3, "/a/b");
        add(t, 4, "/c");
        add(t, 5, "/c/d");
        assert_int_equal(move(t, 4, "/a"), 0);
        assert_null(find(t, 2));
        assert_null(find(t, 3));
        check_path(t, 5, "/a/d");
        add(t, 6, "/a");
        assert_null(find(t, 4));
        assert_null(find(t, 5));
        check_path(t, 6, "/a");
        assert_int_equal(dirtable_count(t), 2);
}

static void count(void *userdata, struct dirtable_dir *d)
{
        ++*(size_t *)userdata;
}

static void test_remove(void **state)
{
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;
        size_t n = 0;

        assert_int_equal(dirtable_new(&t), 0);
        add(t, 1, "/");
        for (uint32_t i = 0; i < 1000; i++) {
                char path[32];

                (void)snprintf(path, sizeof(path), "/%u/%u/%u", i % 3, i % 31, i);
                add(t, 10 + i, path);
        }
        dirtable_foreach(find(t, 1), count, &n);
        assert_int_equal(n, 1001);
        dirtable_remove(t, find(t, 10 + 30));
        assert_null(find(t, 10 + 30));
        assert_non_null(find(t, 10 + 31));
        assert_int_equal(dirtable_count(t), 1000);
        dirtable_remove(t, find(t, 1));
        assert_int_equal(dirtable_count(t), 0);
        add(t, 1, "/");
        check_path(t, 1, "/");
}

/* 160 bytes a directory, its name and the malloc of all included. */
static void test_memory(void **state)
{
        enum { DIRECTORIES = 50000 };
        _cleanup_(dirtable_freep) struct dirtable *t = NULL;
        struct mallinfo2 before, after;

        before = mallinfo2();
        if (before.uordblks == 0)
                return; /* another malloc, of a sanitizer or of valgrind, which does not count */
        assert_int_equal(dirtable_new(&t), 0);
        add(t, 0, "/");
        for (uint32_t i = 1; i < DIRECTORIES; i++) {
                char path[40];

                (void)snprintf(path, sizeof(path), i % 100 ? "/dir-%07u/dir-%07u" : "/dir-%07u", i / 100 * 100, i);
                add(t, i, path);
        }
        after = mallinfo2();
        assert_true(after.uordblks > before.uordblks);
        assert_in_range((after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / DIRECTORIES, 60, 160);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_add),     cmocka_unit_test(test_rename), cmocka_unit_test(test_rename_refused),
                cmocka_unit_test(test_replace), cmocka_unit_test(test_remove), cmocka_unit_test(test_memory),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("dirtable", tests, NULL, NULL);
}
