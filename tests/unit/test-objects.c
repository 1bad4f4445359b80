/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "objects.h"

static struct object_path at(uint64_t fsid, const char *path)
{
        return (struct object_path){ .fsid = fsid, .path = path, .len = strlen(path) };
}

static struct object_handle handle(const char *text)
{
        return (struct object_handle){ 1, (uint32_t)strlen(text), (const uint8_t *)text };
}

static bool mark(struct objects *o, uint64_t fsid, const char *path)
{
        struct object_path p = at(fsid, path);
        bool known;

        assert_int_equal(objects_mark(o, &p, &known), 0);
        return known;
}

static void set(struct objects *o, uint64_t fsid, const char *path, const char *h)
{
        struct object_path p = at(fsid, path);
        struct object_handle object = h ? handle(h) : (struct object_handle){};

        objects_set(o, &p, &object);
}

/* The path found for an object, or NULL. */
static const char *find(struct objects *o, uint64_t fsid, const char *h, const char *not)
{
        struct object_handle object = handle(h);
        struct object_path other = not ? at(fsid, not) : (struct object_path){}, found;

        return objects_find(o, fsid, &object, not ? &other : NULL, &found) ? found.path : NULL;
}

static struct objects *new_objects(void)
{
        struct objects *o;

        assert_int_equal(objects_new(&o), 0);
        return o;
}

static void follows_the_path(void **state)
{
        struct objects *o = new_objects();

        assert_null(find(o, 1, "A", NULL));
        assert_false(mark(o, 1, "/etc/passwd"));
        assert_null(find(o, 1, "A", NULL));
        set(o, 1, "/etc/passwd", "A");
        assert_string_equal(find(o, 1, "A", NULL), "/etc/passwd");
        assert_null(find(o, 2, "A", NULL)); /* another filesystem */
        assert_null(find(o, 1, "B", NULL));
        set(o, 1, "/etc/passwd", "B"); /* replaced */
        assert_string_equal(find(o, 1, "B", NULL), "/etc/passwd");
        set(o, 1, "/etc/passwd", NULL); /* removed */
        assert_null(find(o, 1, "A", NULL));
        assert_int_equal(objects_count(o), 1);
        objects_free(o);
}

static void only_paths_of_rules(void **state)
{
        struct objects *o = new_objects();
        struct object_path yes = at(1, "/a"), no = at(1, "/b"), elsewhere = at(2, "/a");

        mark(o, 1, "/a");
        set(o, 1, "/b", "B");
        assert_null(find(o, 1, "B", NULL));
        assert_true(objects_has(o, &yes));
        assert_false(objects_has(o, &no));
        assert_false(objects_has(o, &elsewhere));
        objects_free(o);
}

/* Its own last events still come, without a name. */
static void the_object_before(void **state)
{
        struct objects *o = new_objects();
        struct object_handle a = handle("A");

        mark(o, 1, "/f");
        set(o, 1, "/f", "A");
        set(o, 1, "/f", "A");
        set(o, 1, "/f", "B");
        assert_string_equal(find(o, 1, "A", NULL), "/f");
        assert_null(find(o, 1, "A", "/g")); /* under another name it is nobody's */
        assert_string_equal(find(o, 1, "B", "/g"), "/f");
        objects_gone(o, 1, &a);
        assert_null(find(o, 1, "A", NULL));
        assert_string_equal(find(o, 1, "B", NULL), "/f");
        set(o, 1, "/f", NULL);
        assert_string_equal(find(o, 1, "B", NULL), "/f");
        /* a path that leads there now is preferred to one that did */
        mark(o, 1, "/g");
        set(o, 1, "/g", "B");
        assert_string_equal(find(o, 1, "B", NULL), "/g");
        objects_free(o);
}

static void another_link_of_the_same_object(void **state)
{
        struct objects *o = new_objects();

        mark(o, 1, "/a");
        set(o, 1, "/a", "X");
        assert_null(find(o, 1, "X", "/a"));
        assert_string_equal(find(o, 1, "X", "/c"), "/a");
        mark(o, 1, "/b");
        set(o, 1, "/b", "X");
        assert_string_equal(find(o, 1, "X", "/a"), "/b");
        assert_string_equal(find(o, 1, "X", "/b"), "/a");
        objects_free(o);
}

static void a_new_set_keeps_what_is_known(void **state)
{
        struct objects *o = new_objects();
        struct object_path p = at(1, "/a");
        struct object_handle h;

        mark(o, 1, "/a");
        mark(o, 1, "/b");
        set(o, 1, "/a", "A");
        set(o, 1, "/b", "B");
        objects_begin(o);
        assert_true(mark(o, 1, "/a"));
        assert_false(mark(o, 1, "/c"));
        objects_end(o);
        assert_int_equal(objects_count(o), 2);
        assert_string_equal(find(o, 1, "A", NULL), "/a");
        assert_null(find(o, 1, "B", NULL));
        assert_true(objects_get(o, &p, &h));
        assert_int_equal(h.len, 1);
        assert_memory_equal(h.bytes, "A", 1);
        objects_free(o);
}

static void handles_of_every_length(void **state)
{
        struct objects *o = new_objects();
        char h[130];

        memset(h, 'h', sizeof(h));
        h[129] = '\0';
        mark(o, 1, "/a");
        set(o, 1, "/a", h + 1);
        assert_string_equal(find(o, 1, h + 1, NULL), "/a");
        set(o, 1, "/a", h); /* 129 bytes: no filesystem has such; not known */
        assert_null(find(o, 1, h, NULL));
        objects_free(o);
}

static void many(void **state)
{
        struct objects *o = new_objects();
        char path[32], h[32];

        for (int i = 0; i < 3000; i++) {
                (void)snprintf(path, sizeof(path), "/p/%d", i);
                (void)snprintf(h, sizeof(h), "h%d", i);
                mark(o, 7, path);
                set(o, 7, path, h);
        }
        for (int i = 0; i < 3000; i++) {
                (void)snprintf(path, sizeof(path), "/p/%d", i);
                (void)snprintf(h, sizeof(h), "h%d", i);
                assert_string_equal(find(o, 7, h, NULL), path);
        }
        objects_begin(o);
        mark(o, 7, "/p/17");
        objects_end(o);
        assert_int_equal(objects_count(o), 1);
        assert_string_equal(find(o, 7, "h17", NULL), "/p/17");
        assert_null(find(o, 7, "h18", NULL));
        objects_free(o);
}

struct forgetting {
        struct objects *o;
        size_t n;
};

static void forget(void *userdata, const struct object_path *p)
{
        struct forgetting *f = userdata;

        f->n++;
        objects_set(f->o, p, &(struct object_handle){});
}

/* By whole names, and never the directory itself; the root is above all. */
static void what_lies_below(void **state)
{
        static const char *const paths[] = { "/d", "/d/a", "/d/e/a", "/dd", "/" };
        static const struct {
                uint64_t fsid;
                const char *dir;
                size_t n;
        } cases[] = { { 7, "/d", 2 }, { 7, "/d/e", 1 }, { 7, "/d/a", 0 }, { 8, "/d", 0 }, { 7, "/", 4 } };
        struct forgetting f;

        assert_int_equal(objects_new(&f.o), 0);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                mark(f.o, 7, paths[i]);
                set(f.o, 7, paths[i], paths[i]);
        }
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct object_path dir = at(cases[i].fsid, cases[i].dir);

                f.n = 0;
                objects_foreach_below(f.o, &dir, forget, &f);
                assert_int_equal(f.n, cases[i].n);
                assert_true(i > 0 || find(f.o, 7, "/d/a", "/x") == NULL);
                assert_true(i > 0 || streq(find(f.o, 7, "/dd", "/x"), "/dd"));
        }
        objects_free(f.o);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(follows_the_path),
                cmocka_unit_test(only_paths_of_rules),
                cmocka_unit_test(the_object_before),
                cmocka_unit_test(another_link_of_the_same_object),
                cmocka_unit_test(a_new_set_keeps_what_is_known),
                cmocka_unit_test(handles_of_every_length),
                cmocka_unit_test(many),
                cmocka_unit_test(what_lies_below),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
