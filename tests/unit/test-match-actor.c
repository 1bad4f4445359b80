/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "match_actor.h"

#define LIST(...)                                                                              \
        {                                                                                      \
                .v = (const char *const[]){ __VA_ARGS__ },                                     \
                .n = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *),      \
        }

static const char world_text[] =
        "mount 1 0 8:1 / / ext4 /dev/a\n"
        "user root 0\n"
        "user alice 1000\n"
        "user ghost\n"
        "group adm 4\n";

static const char *const ancestors[] = { "/usr/bin/bash", "/usr/bin/dpkg", "/usr/lib/systemd/systemd" };
static const char *const unread_ancestors[] = { "/usr/bin/bash", NULL };

/* alice, logged in, runs a program in her session */
static const struct actor alice = {
        .pid = 100, .start_ticks = 5, .program_known = true, .comm = "cp", .exe = "/usr/bin/cp",
        .uid = 1000, .euid = 1000, .gid = 1000, .egid = 4, .loginuid = 1000,
        .ancestor_exes = ancestors, .n_ancestor_exes = 3,
        .unit = "session-3.scope", .cgroup = "/user.slice/user-1000.slice/session-3.scope",
};
/* a service of root's, nobody logged in */
static const struct actor service = {
        .pid = 200, .start_ticks = 6, .program_known = true, .comm = "nginx: worker", .exe = "/usr/sbin/nginx",
        .uid = 0, .euid = 0, .gid = 0, .egid = 0, .loginuid = ID_UNKNOWN,
        .ancestor_exes = ancestors + 2, .n_ancestor_exes = 1,
        .unit = "nginx.service", .container = "3f2a", .cgroup = "/system.slice/nginx.service",
};
/* gone before it could be read */
static const struct actor gone = {
        .pid = 300, .uid = ID_UNKNOWN, .euid = ID_UNKNOWN, .gid = ID_UNKNOWN, .egid = ID_UNKNOWN,
        .loginuid = ID_UNKNOWN,
};
/* read, but its program changed since */
static const struct actor changed = {
        .pid = 400, .start_ticks = 7, .comm = "cp", .exe = "/usr/bin/cp", .uid = 0, .euid = 0, .gid = 0, .egid = 0,
        .loginuid = ID_UNKNOWN, .cgroup = "/",
        .ancestor_exes = unread_ancestors, .n_ancestor_exes = 2,
};
static const struct actor nfsd = {
        .pid = 500, .start_ticks = 8, .program_known = true, .kernel_thread = true, .comm = "nfsd",
        .uid = 0, .euid = 0, .gid = 0, .egid = 0, .loginuid = ID_UNKNOWN, .cgroup = "/",
};
static const struct actor *const actors_of_tests[] = { &alice, &service, &gone, &changed, &nfsd };

/* the packagers' set, a set of sets, and one that names itself */
static struct actor_set sets[] = {
        { .name = "circle", .actors = { .actor = LIST("circle") } },
        { .name = "packages", .actors = { .ancestor = LIST("/usr/bin/dpkg", "/usr/bin/apt-get") } },
        { .name = "trusted", .actors = { .actor = LIST("packages"), .user = LIST("@owner") } },
};

struct testcase {
        const char *what;
        struct actors actors;
        const char *expected; /* a letter an actor above: y n ? */
};

static const struct testcase cases[] = {
        { "exe", { .exe = LIST("/usr/bin/cp") }, "yn???" },
        { "exe, glob", { .exe = LIST("/usr/bin/*") }, "yn???" },
        { "exe, a star stops at a slash", { .exe = LIST("/usr/*") }, "nn???" },
        { "exe, two stars do not", { .exe = LIST("/usr/**") }, "yy???" },
        { "exe, one of several", { .exe = LIST("/usr/sbin/nginx", "/bin/false") }, "ny???" },
        { "comm", { .comm = LIST("cp") }, "yn??n" },
        { "comm, glob", { .comm = LIST("n*") }, "ny??y" },
        { "user, name", { .user = LIST("alice") }, "yn?n?" },
        { "user, number", { .user = LIST("0") }, "ny?y?" },
        { "user, range", { .user = LIST("1000-59999") }, "yn?n?" },
        { "user, range and name", { .user = LIST("1000-59999", "root") }, "yy?y?" },
        { "user, a name that does not resolve", { .user = LIST("ghost") }, "nn?n?" },
        { "user, a name never heard of", { .user = LIST("nobody-knows") }, "nn?n?" },
        { "user, any is a name here", { .user = LIST("any") }, "nn?n?" },
        { "user, too large", { .user = LIST("4294967296") }, "nn?n?" },
        { "user, not a range", { .user = LIST("0-", "-0", "0x0") }, "nn?n?" },
        { "user, owner", { .user = LIST("@owner") }, "yn?n?" },
        { "group, number", { .group = LIST("4") }, "yn?n?" },
        { "group, name", { .group = LIST("adm") }, "yn?n?" },
        { "group, a user's name is not a group's", { .group = LIST("root") }, "nn?n?" },
        { "group, owner", { .group = LIST("@owner") }, "ny?y?" },
        { "login, name", { .login = LIST("alice") }, "yn?n?" },
        { "login, any", { .login = LIST("any") }, "yn?n?" },
        { "login, none", { .login = LIST("none") }, "ny?y?" },
        { "login, none or alice", { .login = LIST("none", "alice") }, "yy?y?" },
        { "login, root logged in", { .login = LIST("root") }, "nn?n?" },
        { "unit", { .unit = LIST("nginx.service") }, "ny?nn" },
        { "unit, glob", { .unit = LIST("session-*.scope") }, "yn?nn" },
        { "container", { .container = LIST("3f*") }, "ny?nn" },
        { "ancestor", { .ancestor = LIST("/usr/bin/dpkg") }, "yn???" },
        { "ancestor, the known one of several", { .ancestor = LIST("/usr/bin/bash") }, "yn?y?" },
        { "ancestor, its own program is none", { .ancestor = LIST("/usr/bin/cp") }, "nn???" },
        { "ancestor, glob", { .ancestor = LIST("/usr/lib/systemd/*") }, "yy???" },
        { "set", { .actor = LIST("packages") }, "yn???" },
        { "set of sets", { .actor = LIST("trusted") }, "yn?n?" },
        { "a circle is never known", { .actor = LIST("circle") }, "?????" },
        { "all keys must hold", { .exe = LIST("/usr/bin/cp"), .user = LIST("root") }, "nn???" },
        { "all keys hold", { .exe = LIST("/usr/bin/cp"), .user = LIST("alice"), .login = LIST("any") }, "yn?n?" },
        { "one key fails, another is unknown", { .comm = LIST("nfsd"), .user = LIST("alice") }, "nn?n?" },
};

static const char letters[] = { [ACTOR_NO] = 'n', [ACTOR_UNKNOWN] = '?', [ACTOR_YES] = 'y' };

struct fixture {
        struct rules rules;
        struct world *world;
        struct actor_tests *tests;
};

static int set_up(void **state)
{
        struct fixture *f = calloc(1, sizeof(*f));
        struct diag diag = DIAG_NULL;

        assert_int_equal(world_parse_text(world_text, strlen(world_text), &diag, &f->world), 0);
        f->rules = (struct rules){ .actor_sets = sets, .n_actor_sets = ELEMENTSOF(sets) };
        assert_int_equal(actor_tests_new(&f->rules, f->world, &f->tests), 0);
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;

        actor_tests_free(f->tests);
        world_free(f->world);
        free(f);
        return 0;
}

/* The directory and the object are alice's, their group is root's. */
static struct match_facts facts_of(const struct actor *actor)
{
        return (struct match_facts){
                .actor = actor, .owner_uid = 1000, .owner_gid = 0, .dir_uid = 1000, .dir_gid = 0,
        };
}

static void test_truth(void **state)
{
        struct fixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const struct actor_test *t;
                char got[ELEMENTSOF(actors_of_tests) + 1] = "";

                assert_int_equal(actor_tests_compile(f->tests, &cases[i].actors, &t), 0);
                assert_non_null(t);
                for (size_t k = 0; k < ELEMENTSOF(actors_of_tests); k++) {
                        struct match_facts facts = facts_of(actors_of_tests[k]);

                        got[k] = letters[actor_test_eval(t, &facts)];
                }
                if (!streq(got, cases[i].expected))
                        print_message("# %s\n", cases[i].what);
                assert_string_equal(got, cases[i].expected);
        }
}

/* "@owner" is the owner of the directory and, where there is one, of the object. */
static void test_owner(void **state)
{
        static const struct {
                uint32_t dir, owner;
                enum actor_truth expected;
        } owners[] = {
                { 1000, 1000, ACTOR_YES },        { 1000, ID_UNKNOWN, ACTOR_YES },
                { 1000, 0, ACTOR_NO },            { 0, 1000, ACTOR_NO },
                { 0, ID_UNKNOWN, ACTOR_NO },      { ID_UNKNOWN, 1000, ACTOR_UNKNOWN },
                { ID_UNKNOWN, 0, ACTOR_NO },      { ID_UNKNOWN, ID_UNKNOWN, ACTOR_UNKNOWN },
        };
        struct fixture *f = *state;
        struct actors by_owner = { .user = LIST("@owner") };
        const struct actor_test *t;

        assert_int_equal(actor_tests_compile(f->tests, &by_owner, &t), 0);
        for (size_t i = 0; i < ELEMENTSOF(owners); i++) {
                struct match_facts facts = {
                        .actor = &alice, .dir_uid = owners[i].dir, .owner_uid = owners[i].owner,
                };

                assert_int_equal(actor_test_eval(t, &facts), owners[i].expected);
        }
}

static const struct {
        struct actors actors;
        bool expected;
} asks[] = {
        { { .user = LIST("@owner") }, true },   { { .group = LIST("4", "@owner") }, true },
        { { .actor = LIST("trusted") }, true }, { { .actor = LIST("packages") }, false },
        { { .user = LIST("alice") }, false },   { { .actor = LIST("circle") }, false },
};

static void test_asks_owner(void **state)
{
        struct fixture *f = *state;

        for (size_t i = 0; i < ELEMENTSOF(asks); i++) {
                const struct actor_test *t;

                assert_int_equal(actor_tests_compile(f->tests, &asks[i].actors, &t), 0);
                assert_int_equal(actor_test_asks_owner(t), asks[i].expected);
        }
}

static void test_edges(void **state)
{
        static const struct actor init = { .pid = 1, .start_ticks = 1 };
        struct fixture *f = *state;
        struct actors none = {}, by_set = { .actor = LIST("not-a-set") }, by_ancestor = { .ancestor = LIST("/x") };
        struct match_facts nobody = facts_of(NULL), of_init = facts_of(&init);
        const struct actor_test *t;

        assert_int_equal(actor_tests_compile(f->tests, &none, &t), 0);
        assert_null(t);
        assert_int_equal(actor_tests_compile(f->tests, &by_set, &t), -EINVAL);
        assert_int_equal(actor_tests_compile(f->tests, &by_ancestor, &t), 0);
        assert_int_equal(actor_test_eval(t, &nobody), ACTOR_UNKNOWN);
        assert_int_equal(actor_test_eval(t, &of_init), ACTOR_NO); /* has no ancestors, for certain */
}

/* The same process under the same rules is decided once; the answer is that of an actor without an id. */
static void test_answers_are_kept(void **state)
{
        struct fixture *f = *state;
        struct actors by_exe = { .exe = LIST("/usr/bin/*") }, by_ancestor = { .ancestor = LIST("/usr/bin/dpkg") };
        struct actors by_user = { .user = LIST("alice") }, by_owner = { .actor = LIST("trusted") };
        const struct actor_test *exe, *ancestor, *user, *owner;
        struct actor known[ELEMENTSOF(actors_of_tests)];
        const uint64_t before = actor_tests_decided(f->tests);

        assert_int_equal(actor_tests_compile(f->tests, &by_exe, &exe), 0);
        assert_int_equal(actor_tests_compile(f->tests, &by_ancestor, &ancestor), 0);
        assert_int_equal(actor_tests_compile(f->tests, &by_user, &user), 0);
        assert_int_equal(actor_tests_compile(f->tests, &by_owner, &owner), 0);
        for (unsigned round = 0; round < 1000; round++)
                for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                        struct match_facts with = facts_of(&known[i]), without = facts_of(actors_of_tests[i]);

                        known[i] = *actors_of_tests[i];
                        known[i].id = i + 1;
                        assert_int_equal(actor_test_eval(exe, &with), actor_test_eval(exe, &without));
                        assert_int_equal(actor_test_eval(ancestor, &with), actor_test_eval(ancestor, &without));
                        (void)actor_test_eval(user, &with);  /* quicker than a look */
                        (void)actor_test_eval(owner, &with); /* depends on more than the process */
                }
        assert_int_equal(actor_tests_decided(f->tests) - before, 2 * ELEMENTSOF(known));
}

/* More processes than answers are kept of push each other out, and get no other's answer. */
static void test_kept_answers_are_not_mixed_up(void **state)
{
        struct fixture *f = *state;
        struct actors by_exe = { .exe = LIST("/usr/bin/*") };
        const struct actor_test *t;

        assert_int_equal(actor_tests_compile(f->tests, &by_exe, &t), 0);
        for (unsigned round = 0; round < 3; round++)
                for (uint64_t id = 1; id <= 5000; id++) {
                        struct actor actor = *actors_of_tests[id % ELEMENTSOF(actors_of_tests)];
                        struct match_facts with = facts_of(&actor);
                        enum actor_truth expected = actor_test_eval(t, &with);

                        actor.id = id;
                        assert_int_equal(actor_test_eval(t, &with), expected);
                }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_truth), cmocka_unit_test(test_owner), cmocka_unit_test(test_asks_owner),
                cmocka_unit_test(test_edges), cmocka_unit_test(test_answers_are_kept),
                cmocka_unit_test(test_kept_answers_are_not_mixed_up),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("match-actor", tests, set_up, tear_down);
}
