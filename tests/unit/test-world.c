/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "strbuf.h"
#include "world.h"

/* A machine with most things that mount tables hold: stacked mounts, a bind
 * mount of a subtree, a mount hidden by another, a filesystem only by a part. */
static const char machine[] =
        "mount 1 0 8:1 / / ext4 /dev/sda1\n"
        "mount 2 1 0:5 / /proc proc proc noexec,pseudo\n"
        "mount 3 1 8:2 / /srv xfs /dev/sdb noexec\n"
        "mount 4 3 8:3 / /srv ext4 /dev/sdc            # over the one before\n"
        "mount 5 3 8:4 / /srv/below ext4 /dev/sdd      # hidden with it\n"
        "mount 6 1 8:1 /var/www /www ext4 /dev/sda1    # bind mount of a subtree\n"
        "mount 7 4 0:40 / /srv/a\\040b tmpfs tmpfs\n"
        "mount 8 1 0:41 /vol /vol btrfs /dev/sde noexec\n"
        "mount 9 1 0:42 / /srv-x nfs4 server:/x network\n"
        "mount 10 9 0:43 / /srv-x/in tmpfs tmpfs\n"
        "mount 11 1 0:44 /a/b /y/deep xfs /dev/sdf     # the next one shows more of it\n"
        "mount 12 1 0:44 /a /y/less xfs /dev/sdf\n"
        "fs 8:1 fsid=1122334455667788\n"
        "fs 8:3 error=EOPNOTSUPP\n"
        "path /www/index.html type=file handle=0a0b\n"
        "path /home/x link=/home/x\n"
        "path /srv/etc exists resolved=/etc link=/srv/etc\n"
        "path /srv/refused error=EACCES\n"
        "user deploy 1000\n"
        "user ghost\n"
        "group deploy 1001\n";

static struct world *parse(const char *text)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct world *w = NULL;

        assert_int_equal(world_parse_text(text, strlen(text), &diag, &w), 0);
        return w;
}

static int setup(void **state)
{
        *state = parse(machine);
        return 0;
}

static int teardown(void **state)
{
        world_free(*state);
        return 0;
}

static int id_of(const struct world *w, uint32_t mount)
{
        return mount == WORLD_NONE ? 0 : w->mounts[mount].id;
}

static void test_mount_of(void **state)
{
        static const struct {
                const char *path;
                int of, at;
        } cases[] = {
                { "/", 1, 1 },
                { "/etc/passwd", 1, 0 },
                { "/srv", 4, 4 },
                { "/srv/x", 4, 0 },
                { "/srv/below", 4, 0 },
                { "/srv/below/f", 4, 0 },
                { "/srv/a b", 7, 7 },
                { "/srv/a b/c", 7, 0 },
                { "/srv/a", 4, 0 },
                { "/srvx", 1, 0 },
                { "/srv-x/in/f", 10, 0 },
                { "/www", 6, 6 },
                { "/proc/1", 2, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(id_of(*state, world_mount_of(*state, cases[i].path)), cases[i].of);
                assert_int_equal(id_of(*state, world_mount_at(*state, cases[i].path)), cases[i].at);
        }
}

static void test_sealed(void **state)
{
        static const struct {
                uint32_t major, minor;
                int canonical;
                bool may_exec, may_hang;
        } filesystems[] = {
                { 8, 1, 1, true, false },  { 0, 5, 2, false, false }, { 8, 2, 0, false, false },
                { 8, 3, 4, true, false },  { 8, 4, 0, true, false },  { 0, 40, 7, true, false },
                { 0, 41, 8, false, false }, { 0, 42, 9, true, true },
                { 0, 44, 12, true, false },
        };
        static const int visible[] = { 1, 2, 4, 6, 7, 8, 9, 10, 11, 12 };
        const struct world *w = *state;
        size_t n_visible = 0;

        for (size_t i = 0; i < ELEMENTSOF(filesystems); i++) {
                uint32_t fs = world_find_fs(w, filesystems[i].major, filesystems[i].minor);

                assert_int_not_equal(fs, WORLD_NONE);
                assert_int_equal(id_of(w, w->fs[fs].canonical_mount), filesystems[i].canonical);
                assert_int_equal(w->fs[fs].may_exec, filesystems[i].may_exec);
                assert_int_equal(world_fs_may_hang(&w->fs[fs]), filesystems[i].may_hang);
        }
        for (uint32_t i = 0; i < w->n_mounts; i++)
                if (w->mounts[i].visible)
                        assert_int_equal(w->mounts[i].id, visible[n_visible++]);
        assert_int_equal(n_visible, ELEMENTSOF(visible));
        assert_true(world_mount_may_hang(w, world_mount_of(w, "/srv-x/in")));
        assert_false(world_mount_may_hang(w, world_mount_of(w, "/srv")));
        assert_int_equal(world_find_fs(w, 9, 9), WORLD_NONE);
}

static void test_mounts_below(void **state)
{
        static const struct {
                const char *path;
                int ids[12];
        } cases[] = {
                { "/", { 2, 3, 4, 9, 10, 7, 5, 8, 6, 11, 12 } },
                { "/srv", { 7, 5 } },
                { "/srv-x", { 10 } },
                { "/sr", {} },
                { "/srv/a b", {} },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                size_t n;
                const uint32_t *v = world_mounts_below(*state, cases[i].path, &n);

                for (size_t k = 0; k < n; k++)
                        assert_int_equal(id_of(*state, v[k]), cases[i].ids[k]);
                assert_int_equal(cases[i].ids[n], 0);
        }
}

static void test_canonical_path(void **state)
{
        static const struct {
                uint32_t major, minor;
                const char *inside, *path;
                int result;
                bool hidden;
        } cases[] = {
                { 8, 1, "/", "/", 0, false },
                { 8, 1, "/etc/passwd", "/etc/passwd", 0, false },
                { 8, 1, "/var/www/i", "/var/www/i", 0, false },
                { 8, 1, "/srv/old", "/srv/old", 0, true },
                { 8, 1, "/srv", "/srv", 0, true },
                { 8, 3, "/x", "/srv/x", 0, false },
                { 8, 3, "/", "/srv", 0, false },
                { 8, 2, "/x", "/x", -ENOENT, false },
                { 0, 41, "/vol", "/vol", 0, false },
                { 0, 41, "/vol/f", "/vol/f", 0, false },
                { 0, 41, "/volume", "/volume", -ENOENT, false },
                { 0, 41, "/other", "/other", -ENOENT, false },
                { 0, 40, "/f", "/srv/a b/f", 0, false },
                { 0, 44, "/a/b/f", "/y/less/b/f", 0, false },
        };
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                uint32_t fs = world_find_fs(*state, cases[i].major, cases[i].minor);
                bool hidden = true;
                int r = world_canonical_path(*state, fs, cases[i].inside, strlen(cases[i].inside), &path,
                                             &hidden);

                assert_int_equal(r, cases[i].result);
                assert_string_equal(strbuf_str(&path), cases[i].path);
                assert_int_equal(hidden, cases[i].hidden);
        }
}

static void test_paths(void **state)
{
        const struct world *w = *state;
        const struct world_path *p = world_find_path(w, "/www/index.html");

        assert_non_null(p);
        assert_true(p->exists);
        assert_int_equal(p->type, TYPE_FILE);
        assert_string_equal(p->inside, "/var/www/index.html");
        assert_int_equal(id_of(w, p->mount), 6);
        assert_int_equal(p->handle.len, 2);
        assert_int_equal(p->handle.bytes[1], 0x0b);

        p = world_find_path(w, "/home/x");
        assert_false(p->exists);
        assert_int_equal(p->links.n, 1);
        assert_string_equal(p->inside, "/home/x");

        p = world_find_path(w, "/srv/etc");
        assert_string_equal(p->resolved, "/etc");
        assert_string_equal(p->links.v[0], "/srv/etc");
        assert_int_equal(id_of(w, p->mount), 1);
        assert_int_equal(p->type, TYPE_DIRECTORY);

        assert_int_equal(world_find_path(w, "/srv/refused")->error, EACCES);
        assert_null(world_find_path(w, "/nowhere"));
}

static void test_facts(void **state)
{
        const struct world *w = *state;
        const struct world_fs *root = &w->fs[world_find_fs(w, 8, 1)];

        assert_true(root->fsid_known);
        assert_true(root->fsid == UINT64_C(0x1122334455667788));
        assert_int_equal(w->fs[world_find_fs(w, 8, 3)].mark_errno, EOPNOTSUPP);
        assert_int_equal(w->fs[world_find_fs(w, 0, 5)].class, FS_PSEUDO);
        assert_int_equal(world_find_name(w, NAME_USER, "deploy")->id, 1000);
        assert_int_equal(world_find_name(w, NAME_GROUP, "deploy")->id, 1001);
        assert_false(world_find_name(w, NAME_USER, "ghost")->known);
        assert_null(world_find_name(w, NAME_GROUP, "ghost"));
        assert_true(w->kernel.rename && w->kernel.fd_error);
}

static void test_path_is_below(void **state)
{
        static const struct {
                const char *path, *dir;
                bool below;
        } cases[] = {
                { "/a/b", "/a", true }, { "/a", "/a", true },  { "/ab", "/a", false },
                { "/a", "/", true },    { "/", "/", true },    { "/", "/a", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(world_path_is_below(cases[i].path, cases[i].dir), cases[i].below);
}

/* Without a mount of "/" (a chroot to a plain directory) only what is in sight counts. */
static void test_chroot(void **state)
{
        _cleanup_(world_freep) struct world *w = parse("mount 7 3 8:9 / /data ext4 /dev/sdx\n");

        assert_int_equal(world_mount_of(w, "/"), WORLD_NONE);
        assert_int_equal(id_of(w, world_mount_of(w, "/data/f")), 7);
        assert_int_equal(world_mount_of(w, "/etc"), WORLD_NONE);
}

static void test_bad_text(void **state)
{
        static const char *const cases[] = {
                "mount 1 0 8:1 / /\n",
                "mount x 0 8:1 / / ext4 /dev/sda1\n",
                "mount 1 0 81 / / ext4 /dev/sda1\n",
                "mount 1 0 8:1 / / ext4 /dev/sda1 fast\n",
                "mount 1 0 8:1 root / ext4 /dev/sda1\n",
                "fs 8:1 fsid=1\n",
                "mount 1 0 8:1 / / ext4 d\nfs 8:1 error=EWHAT\n",
                "mount 1 0 8:1 / / ext4 d\nfs 8:1 fsid=zz\n",
                "mount 1 0 8:1 / / ext4 d\npath etc\n",
                "mount 1 0 8:1 / / ext4 d\npath /etc type=folder\n",
                "mount 1 0 8:1 / / ext4 d\npath /etc handle=abc\n",
                "path /etc\nmount 1 0 8:1 / / ext4 d\n",
                "user\n",
                "user x y\n",
                "kernel teleport\n",
                "what\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                struct world *w = NULL;

                assert_int_equal(world_parse_text(cases[i], strlen(cases[i]), &diag, &w), -EINVAL);
                assert_int_equal(diag.n_errors, 1);
                assert_null(w);
        }
}

static void test_wanted(void **state)
{
        static const char *const watch_paths[] = { "/srv", "/etc" }, *const except_paths[] = { "/etc/a" };
        static const char *const ignore_paths[] = { "/srv", "/var" };
        static const char *const users[] = { "deploy", "0", "1-5", "@owner", "root" };
        static const char *const logins[] = { "any", "none", "alice", "deploy" }, *const groups[] = { "root" };
        struct clause except = { .paths = { except_paths, 1 }, .actors.user = { users, 5 } };
        struct clause ignore = { .paths = { ignore_paths, 2 }, .actors.group = { groups, 1 } };
        struct rule watch = {
                .clause.paths = { watch_paths, 2 },
                .excepts = &except,
                .n_excepts = 1,
                .only.login = { logins, 4 },
        };
        struct rules rules = { .watches = &watch, .n_watches = 1, .ignores = &ignore, .n_ignores = 1 };
        static const char *const paths[] = { "/etc", "/etc/a", "/srv", "/var" };
        static const struct world_name names[] = {
                { .kind = NAME_USER, .name = "alice" },
                { .kind = NAME_USER, .name = "deploy" },
                { .kind = NAME_USER, .name = "root" },
                { .kind = NAME_GROUP, .name = "root" },
        };
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        struct world_name *found_names;
        struct strings found;
        size_t n;

        assert_int_equal(world_wanted_paths(&rules, arena, &found), 0);
        assert_int_equal(found.n, ELEMENTSOF(paths));
        for (size_t i = 0; i < found.n; i++)
                assert_string_equal(found.v[i], paths[i]);
        assert_int_equal(world_wanted_names(&rules, arena, &found_names, &n), 0);
        assert_int_equal(n, ELEMENTSOF(names));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(found_names[i].kind, names[i].kind);
                assert_string_equal(found_names[i].name, names[i].name);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_mount_of, setup, teardown),
                cmocka_unit_test_setup_teardown(test_sealed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_mounts_below, setup, teardown),
                cmocka_unit_test_setup_teardown(test_canonical_path, setup, teardown),
                cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
                cmocka_unit_test_setup_teardown(test_facts, setup, teardown),
                cmocka_unit_test(test_path_is_below),
                cmocka_unit_test(test_chroot),
                cmocka_unit_test(test_bad_text),
                cmocka_unit_test(test_wanted),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
