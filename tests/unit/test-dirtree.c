/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dirtree.h"
#include "strbuf.h"

#define FS 7u

static struct dirtree_node *add(struct dirtree *t, const char *path, const char *value)
{
        struct dirtree_node *n = dirtree_add(t, FS, path, strlen(path));

        assert_non_null(n);
        dirtree_set(n, (void *)value);
        return n;
}

static struct dirtree_node *find(struct dirtree *t, const char *path)
{
        return dirtree_find(t, FS, path, strlen(path));
}

static void collect(void *userdata, void *value)
{
        strbuf_adds(userdata, value);
}

static void test_paths(void **state)
{
        static const char *const paths[] = { "/", "/a", "/a/b", "/a/b/c", "/ab", "/a/bc", "/b/a" };
        struct dirtree *t;

        assert_int_equal(dirtree_new(&t), 0);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;

                dirtree_path(add(t, paths[i], paths[i]), &path);
                assert_string_equal(strbuf_str(&path), paths[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                assert_ptr_equal(dirtree_value(find(t, paths[i])), paths[i]);
        assert_null(find(t, "/a/c"));
        assert_null(dirtree_find(t, FS + 1, "/a", 2));
        assert_null(dirtree_value(find(t, "/b")));
        dirtree_free(t);
}

static void test_below(void **state)
{
        static const struct {
                const char *top, *values;
        } cases[] = {
                { "/a", "123" }, { "/a/b", "23" }, { "/a/b/c", "3" },
                { "/ab", "4" },  { "/x", "5" },    { "/x/y", "5" },
        };
        struct dirtree *t;

        assert_int_equal(dirtree_new(&t), 0);
        add(t, "/a", "1");
        add(t, "/a/b", "2");
        add(t, "/a/b/c", "3");
        add(t, "/ab", "4");
        add(t, "/x/y", "5");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf values = STRBUF_NULL;
                const struct dirtree_node *top = find(t, cases[i].top);

                dirtree_foreach(top, collect, &values);
                assert_string_equal(strbuf_str(&values), cases[i].values);
        }
        dirtree_free(t);
}

/* A node goes when nothing hangs there or below, and takes those above along. */
static void test_prune(void **state)
{
        struct dirtree *t;

        assert_int_equal(dirtree_new(&t), 0);
        struct dirtree_node *deep = add(t, "/a/b/c", "3"), *side = add(t, "/a/d", "4");
        assert_int_equal(dirtree_count(t), 5);
        dirtree_prune(t, find(t, "/a/b"));
        assert_int_equal(dirtree_count(t), 5);
        dirtree_set(deep, NULL);
        dirtree_prune(t, deep);
        assert_int_equal(dirtree_count(t), 3);
        assert_null(find(t, "/a/b"));
        assert_ptr_equal(find(t, "/a/d"), side);
        dirtree_set(side, NULL);
        dirtree_prune(t, side);
        assert_int_equal(dirtree_count(t), 0);
        dirtree_free(t);
}

static void test_move(void **state)
{
        struct dirtree *t;

        assert_int_equal(dirtree_new(&t), 0);
        add(t, "/", "0");
        add(t, "/a/b/c", "3");
        add(t, "/d", "4");
        struct dirtree_node *b = find(t, "/a/b"), *top = find(t, "/");
        assert_int_equal(dirtree_move(t, &b, "/e/name-that-is-longer", 22), 0);
        assert_ptr_equal(find(t, "/e/name-that-is-longer"), b);
        assert_string_equal(dirtree_value(find(t, "/e/name-that-is-longer/c")), "3");
        assert_null(find(t, "/a")); /* nothing hung there but what moved */
        assert_int_equal(dirtree_fsid(b), FS);
        assert_int_equal(dirtree_move(t, &b, "/d", 2), -EEXIST);
        assert_int_equal(dirtree_move(t, &b, "/e/name-that-is-longer/c/b", 26), -EEXIST);
        assert_int_equal(dirtree_move(t, &top, "/x", 2), -EINVAL);
        assert_int_equal(dirtree_move(t, &b, "/e/f/", 5), -EINVAL);
        assert_int_equal(dirtree_count(t), 5);
        dirtree_free(t);
}

static void test_many(void **state)
{
        static char paths[3000][32];
        struct dirtree *t;
        size_t n = 0;

        assert_int_equal(dirtree_new(&t), 0);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                (void)snprintf(paths[i], sizeof(paths[i]), "/%zu/%zu/%zu", i % 7, i % 31, i);
                add(t, paths[i], paths[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                struct dirtree_node *node = find(t, paths[i]);

                n += dirtree_value(node) == paths[i];
                dirtree_set(node, NULL);
                dirtree_prune(t, node);
        }
        assert_int_equal(n, ELEMENTSOF(paths));
        assert_int_equal(dirtree_count(t), 0);
        dirtree_free(t);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_below),
                cmocka_unit_test(test_prune),
                cmocka_unit_test(test_move),
                cmocka_unit_test(test_many),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("dirtree", tests, NULL, NULL);
}
