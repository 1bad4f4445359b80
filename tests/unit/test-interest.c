/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "interest_scene.h"

/* ---- interest ---- */

struct interest_case {
        const char *text;
        unsigned init_flags;
        enum object at; /* the path of the calls */
        struct {
                unsigned flags;
                uint64_t mask;
        } calls[3];
        enum object object;
        uint32_t interest;
        bool watches_children;
};

static const struct interest_case interest_cases[] = {
        { "a mask", FID, FILE_, { { ADD, FAN_DELETE_SELF } }, FILE_, 0x400, false },
        { "an ignore mask that a modification clears", FD, FILE_, { { ADD | LEGACY, FAN_OPEN } }, FILE_, 0x22,
          false },
        { "the same mark made to survive",
          FD,
          FILE_,
          { { ADD | LEGACY, FAN_OPEN }, { ADD | LEGACY | SURV, FAN_ACCESS } },
          FILE_,
          0x21,
          false },
        { "children ignored", FD, DIR, { { ADD | IGNORE | SURV, FAN_OPEN | CHILD } }, DIR, 0x08000020, true },
        { "flags of the legacy ignore mask are lost",
          FD,
          DIR,
          { { ADD | LEGACY | SURV, FAN_OPEN | CHILD | ONDIR } },
          DIR,
          0x20,
          false },
        { "until the mark's own mask asks about children",
          FD,
          DIR,
          { { ADD | LEGACY | SURV, FAN_OPEN }, { ADD, CHILD } },
          DIR,
          0x08000020,
          true },
        { "a filesystem told with parents", NAME, FILE_, { { ADD | SB, FAN_CREATE } }, FILESYSTEM, 0x08000100,
          false },
        { "a filesystem told without", FID, FILE_, { { ADD | SB, FAN_CREATE } }, FILESYSTEM, 0x100, false },
        { "a filesystem's legacy ignore mask", FD, FILE_, { { ADD | SB | LEGACY, FAN_OPEN } }, FILESYSTEM,
          0x22, false },
        { "an ignore mask of flags alone",
          FD,
          DIR,
          { { ADD, FAN_ACCESS }, { ADD | IGNORE | SURV, ONDIR } },
          DIR,
          0x1,
          false },
        { "a mount told with parents", NAME, FILE_, { { ADD | MOUNT, FAN_OPEN } }, DIRS_MOUNT, 0x08000020,
          false },
        { "a file told with its parent", TARGET, FILE_, { { ADD, FAN_OPEN } }, FILE_, 0x08000020, false },
        { "what is removed is of no interest",
          FD,
          FILE_,
          { { ADD, FAN_OPEN | FAN_ACCESS }, { REMOVE, FAN_OPEN } },
          FILE_,
          0x1,
          false },
};

static void test_interest(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(interest_cases); i++) {
                const struct interest_case *c = &interest_cases[i];
                struct scene s;

                scene_init(&s, c->init_flags);
                for (size_t n = 0; n < ELEMENTSOF(c->calls) && c->calls[n].mask; n++)
                        assert_int_equal(call(&s, 0, c->calls[n].flags, c->calls[n].mask, c->at), 0);
                if (s.o[c->object].interest != c->interest)
                        print_error("%s\n", c->text);
                assert_int_equal(s.o[c->object].interest, c->interest);
                assert_int_equal(interest_of_marks(&s.kernel, &s.o[c->object]), c->interest);
                if (s.o[c->object].type == TYPE_DIRECTORY)
                        assert_int_equal(interest_watches_children(&s.o[c->object]) != 0,
                                         c->watches_children);
                scene_done(&s);
                assert_int_equal(s.o[c->object].interest, 0);
        }
}

static void test_interest_of_several_groups(void **state)
{
        struct scene s;

        scene_init(&s, FID);
        mark(&s, 0, FAN_OPEN, FILE_);
        assert_int_equal(call(&s, 1, ADD, FAN_ATTRIB, FILE_), 0);
        assert_int_equal(s.o[FILE_].interest, FAN_OPEN | FAN_ATTRIB);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), FAN_OPEN);
        assert_int_equal(s.report.n, 1);
        assert_int_equal(call(&s, 1, ADD, FAN_OPEN, FILE_), 0);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), FAN_OPEN);
        assert_int_equal(s.report.n, 2); /* what one ignores the other still gets */
        assert_int_equal(call(&s, 1, ADD | IGNORE | SURV, FAN_OPEN, FILE_), 0);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), FAN_OPEN);
        assert_int_equal(s.report.n, 1);
        interest_group_done(&s.kernel, &s.group[0]);
        assert_int_equal(s.o[FILE_].interest, FAN_OPEN | FAN_ATTRIB);
        scene_done(&s);
}

static void test_groups_in_order(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        s.group[1].init_flags = FAN_CLASS_CONTENT;
        mark(&s, 0, FAN_OPEN, FILE_);
        assert_int_equal(call(&s, 1, ADD | SB, FAN_OPEN, FILE_), 0);
        on_path(&s, FAN_OPEN, FILE_);
        assert_int_equal(s.report.n, 2);
        assert_ptr_equal(s.report.to[0].group, &s.group[1]); /* the higher class is asked first */
        scene_done(&s);
}

/* A modification clears the ignore mask; the interest of before stays until the mark is changed. */
static void test_stale_interest(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        mark(&s, LEGACY, FAN_OPEN, FILE_);
        assert_int_equal(on_path(&s, FAN_MODIFY, FILE_), 0);
        assert_int_equal(mark_of(&s, FILE_)->ignore_mask, 0);
        assert_int_equal(s.o[FILE_].interest, 0x22);
        assert_int_equal(interest_of_marks(&s.kernel, &s.o[FILE_]), 0);
        assert_int_equal(call(&s, 0, REMOVE, FAN_OPEN, FILE_), 0); /* nothing left: the mark goes */
        assert_null(mark_of(&s, FILE_));
        assert_int_equal(s.o[FILE_].interest, 0);

        mark(&s, 0, FAN_ACCESS, FILE_);
        mark(&s, LEGACY, FAN_OPEN, FILE_);
        on_path(&s, FAN_MODIFY, FILE_);
        mark(&s, 0, FAN_ACCESS, FILE_); /* no change: no new computation */
        assert_int_equal(s.o[FILE_].interest, 0x23);
        assert_int_equal(call(&s, 0, REMOVE, FAN_OPEN, FILE_), 0); /* was not there: neither */
        assert_int_equal(s.o[FILE_].interest, 0x23);
        mark(&s, 0, FAN_OPEN, FILE_); /* a change: computed anew */
        assert_int_equal(s.o[FILE_].interest, 0x21);
        scene_done(&s);
}

/* ---- ignore masks ---- */

struct ignore_case {
        const char *text;
        uint32_t mask, ignore;
        bool ignore_new, is_dir;
        enum interest_slot slot;
        uint32_t refused;
};

static const struct ignore_case ignore_cases[] = {
        { "legacy, file", 0, FAN_OPEN, false, false, SLOT_INODE, FAN_OPEN },
        { "legacy, directory", 0, FAN_OPEN, false, true, SLOT_INODE, FAN_OPEN },
        { "legacy, child, not asked about", FAN_OPEN, FAN_OPEN, false, false, SLOT_PARENT, 0 },
        { "legacy, child", CHILD, FAN_OPEN, false, false, SLOT_PARENT, FAN_OPEN },
        { "legacy, child directory", CHILD, FAN_OPEN, false, true, SLOT_PARENT, FAN_OPEN },
        { "new, file", 0, FAN_OPEN, true, false, SLOT_INODE, FAN_OPEN },
        { "new, directory without the flag", ONDIR, FAN_OPEN, true, true, SLOT_INODE, 0 },
        { "new, directory", 0, FAN_OPEN | ONDIR, true, true, SLOT_INODE, FAN_OPEN },
        { "new, child without the flag", CHILD, FAN_OPEN, true, false, SLOT_PARENT, 0 },
        { "new, child", 0, FAN_OPEN | CHILD, true, false, SLOT_PARENT, FAN_OPEN },
        { "new, child directory without its flag", 0, FAN_OPEN | CHILD, true, true, SLOT_PARENT, 0 },
        { "new, child directory", 0, FAN_OPEN | CHILD | ONDIR, true, true, SLOT_PARENT, FAN_OPEN },
        { "new, flags alone", 0, CHILD | ONDIR, true, false, SLOT_INODE, 0 },
        { "new, directory of a filesystem", 0, FAN_OPEN, true, true, SLOT_FILESYSTEM, 0 },
        { "legacy, directory of a filesystem", 0, FAN_OPEN, false, true, SLOT_FILESYSTEM, FAN_OPEN },
};

static void test_effective_ignore(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(ignore_cases); i++) {
                const struct ignore_case *c = &ignore_cases[i];
                struct interest_mark m = {
                        .mask = c->mask,
                        .ignore_mask = c->ignore,
                        .ignore_new = c->ignore_new,
                };

                if (interest_effective_ignore(&m, c->is_dir, c->slot) != c->refused)
                        print_error("%s\n", c->text);
                assert_int_equal(interest_effective_ignore(&m, c->is_dir, c->slot), c->refused);
        }
}

/* ---- fanotify_mark(2) ---- */

struct call_case {
        const char *text;
        unsigned init_flags;
        struct {
                unsigned flags;
                uint64_t mask;
        } before[2]; /* succeed, at the same place */
        unsigned flags;
        uint64_t mask;
        enum object at;
        int result;
};

static const struct call_case call_cases[] = {
        { "ignore a directory without surviving", FD, { {} }, ADD | IGNORE, FAN_OPEN, DIR, -EISDIR },
        { "ignore a mount without surviving", FD, { {} }, ADD | MOUNT | IGNORE, FAN_OPEN, FILE_, -EINVAL },
        { "ignore a filesystem without surviving", FD, { {} }, ADD | SB | IGNORE, FAN_OPEN, FILE_, -EINVAL },
        { "ignore a file without surviving", FD, { {} }, ADD | IGNORE, FAN_OPEN, FILE_, 0 },
        { "legacy ignore of a directory", FD, { {} }, ADD | LEGACY, FAN_OPEN, DIR, 0 },
        { "legacy ignore of a mount", FD, { {} }, ADD | MOUNT | LEGACY, FAN_OPEN, DIR, 0 },
        { "legacy ignore of a filesystem", FD, { {} }, ADD | SB | LEGACY, FAN_OPEN, DIR, 0 },
        { "both interfaces", FD, { {} }, ADD | IGNORE | LEGACY | SURV, FAN_OPEN, FILE_, -EINVAL },
        { "back to the legacy interface", FD, { { ADD | IGNORE | SURV, FAN_OPEN } }, ADD | LEGACY | SURV,
          FAN_ACCESS, FILE_, -EEXIST },
        { "on to the new interface", FD, { { ADD | LEGACY, FAN_OPEN } }, ADD | IGNORE | SURV, FAN_ACCESS,
          FILE_, 0 },
        { "no longer surviving", FD, { { ADD | IGNORE | SURV, FAN_OPEN } }, ADD | IGNORE, FAN_ACCESS, FILE_,
          -EEXIST },
        { "no longer surviving, legacy", FD, { { ADD | LEGACY | SURV, FAN_OPEN } }, ADD | LEGACY, FAN_ACCESS,
          FILE_, 0 },
        { "surviving without an ignore flag", FD, { {} }, ADD | SURV, FAN_OPEN, FILE_, 0 },
        { "ignore entries of a file", NAME, { {} }, ADD | IGNORE | SURV, FAN_CREATE, FILE_, -ENOTDIR },
        { "ignore directories of a file", NAME, { {} }, ADD | IGNORE | SURV, FAN_OPEN | ONDIR, FILE_,
          -ENOTDIR },
        { "rename on a file", NAME, { {} }, ADD, FAN_RENAME, FILE_, -ENOTDIR },
        { "entries of a file, strict group", TARGET, { {} }, ADD, FAN_CREATE, FILE_, -ENOTDIR },
        { "children of a file, strict group", TARGET, { {} }, ADD, FAN_OPEN | CHILD, FILE_, -ENOTDIR },
        { "entries of a file, other group", NAME_FID, { {} }, ADD, FAN_CREATE, FILE_, 0 },
        { "rename on a filesystem through a file", TARGET, { {} }, ADD | SB, FAN_RENAME | ONDIR, FILE_, 0 },
        { "evictable mount", FD, { {} }, ADD | MOUNT | EVICTABLE, FAN_OPEN, FILE_, -EINVAL },
        { "evictable filesystem", FD, { {} }, ADD | SB | EVICTABLE, FAN_OPEN, FILE_, -EINVAL },
        { "evictable once pinned", FD, { { ADD, FAN_OPEN } }, ADD | EVICTABLE, FAN_ACCESS, FILE_, -EEXIST },
        { "evictable again", FD, { { ADD | EVICTABLE, FAN_OPEN } }, ADD | EVICTABLE, FAN_ACCESS, FILE_, 0 },
        { "nothing asked for", FD, { {} }, ADD, 0, FILE_, -EINVAL },
        { "nothing taken off", FD, { { ADD, FAN_OPEN } }, REMOVE, 0, FILE_, -EINVAL },
        { "overflow is not asked for", FID, { {} }, ADD, FAN_Q_OVERFLOW, FILE_, -EINVAL },
        { "an unknown bit", FID, { {} }, ADD, 0x00002000, FILE_, -EINVAL },
        { "an unknown high bit", FID, { {} }, ADD, FAN_OPEN | (UINT64_C(1) << 32), FILE_, -EINVAL },
        { "an unknown flag", FID, { {} }, ADD | 0x800, FAN_OPEN, FILE_, -EINVAL },
        { "no command", FID, { {} }, 0, FAN_OPEN, FILE_, -EINVAL },
        { "two commands", FID, { {} }, ADD | REMOVE, FAN_OPEN, FILE_, -EINVAL },
        { "a mount namespace", FID, { {} }, ADD | FAN_MARK_MNTNS, FAN_OPEN, FILE_, -EINVAL },
        { "permission of a notification", FD, { {} }, ADD, FAN_OPEN_PERM, FILE_, -EINVAL },
        { "permission of content", FAN_CLASS_CONTENT, { {} }, ADD, FAN_OPEN_PERM, FILE_, 0 },
        { "filesystem errors of a file", FID, { {} }, ADD, FAN_FS_ERROR, FILE_, -EINVAL },
        { "filesystem errors of a mount", FID, { {} }, ADD | MOUNT, FAN_FS_ERROR, FILE_, -EINVAL },
        { "filesystem errors", FID, { {} }, ADD | SB, FAN_FS_ERROR, FILE_, 0 },
        { "attributes by descriptor", FD, { {} }, ADD, FAN_ATTRIB, FILE_, -EINVAL },
        { "entries by descriptor", FD, { {} }, ADD | SB, FAN_CREATE, DIR, -EINVAL },
        { "attributes on a mount", FID, { {} }, ADD | MOUNT, FAN_ATTRIB, FILE_, -EINVAL },
        { "rename without names", DIR_FID | FID, { {} }, ADD, FAN_RENAME, DIR, -EINVAL },
        { "rename with names", NAME, { {} }, ADD, FAN_RENAME, DIR, 0 },
        { "only directories: a file", FD, { {} }, ADD | FAN_MARK_ONLYDIR, FAN_OPEN, FILE_, -ENOTDIR },
        { "only directories", FD, { {} }, ADD | FAN_MARK_ONLYDIR, FAN_OPEN, DIR, 0 },
        { "flush with another flag", FD, { {} }, FLUSH | SURV, 0, FILE_, -EINVAL },
        { "flush of mounts", FD, { {} }, FLUSH | MOUNT, 0, FILE_, 0 },
        { "removal without a mark", FD, { {} }, REMOVE, FAN_OPEN, FILE_, -ENOENT },
        { "removal of what is not set", FD, { { ADD, FAN_OPEN } }, REMOVE, FAN_ACCESS, FILE_, 0 },
        { "removal after removal", FD, { { ADD, FAN_OPEN }, { REMOVE, FAN_OPEN } }, REMOVE, FAN_OPEN, FILE_,
          -ENOENT },
        { "an ignore mask of no event", FD, { {} }, ADD | LEGACY, ONDIR, DIR, 0 },
};

static void test_calls(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(call_cases); i++) {
                const struct call_case *c = &call_cases[i];
                struct scene s;
                int r;

                scene_init(&s, c->init_flags);
                for (size_t n = 0; n < ELEMENTSOF(c->before) && c->before[n].mask; n++)
                        assert_int_equal(call(&s, 0, c->before[n].flags, c->before[n].mask, c->at), 0);
                r = call(&s, 0, c->flags, c->mask, c->at);
                if (r != c->result)
                        print_error("%s: %s\n", c->text, strerrorname_np(-r));
                assert_int_equal(r, c->result);
                scene_done(&s);
        }
}

/* A file that somebody has open for writing takes no ignore mask that would be cleared: no error, no mark. */
static void test_ignore_while_open_for_write(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        s.o[FILE_].open_for_write = true;
        mark(&s, IGNORE, FAN_OPEN, FILE_);
        assert_null(mark_of(&s, FILE_));
        mark(&s, LEGACY, FAN_OPEN, FILE_);
        assert_null(mark_of(&s, FILE_));
        mark(&s, IGNORE | SURV, FAN_OPEN, FILE_);
        assert_int_equal(mark_of(&s, FILE_)->ignore_mask, FAN_OPEN);
        scene_done(&s);
}

struct destroy_case {
        const char *text;
        unsigned init_flags;
        enum object at;
        uint64_t add;
        unsigned ignore_flags; /* of a second call that adds FAN_OPEN to the ignore mask; 0: none */
        unsigned remove_flags;
        uint64_t remove;
        bool stays;
};

static const struct destroy_case destroy_cases[] = {
        { "all bits", FD, FILE_, FAN_OPEN, 0, 0, FAN_OPEN, false },
        { "one of two", FD, FILE_, FAN_OPEN | FAN_ACCESS, 0, 0, FAN_OPEN, true },
        { "the kernel's own bit keeps no mark", NAME, FILE_, FAN_OPEN, 0, 0, FAN_OPEN, false },
        { "a directory's flags keep it", FD, DIR, FAN_OPEN | CHILD | ONDIR, 0, 0, FAN_OPEN, true },
        { "a directory's flags removed", FD, DIR, FAN_OPEN | CHILD, 0, 0, FAN_OPEN | CHILD, false },
        { "the legacy removal ignores flags", FD, DIR, CHILD | ONDIR, LEGACY | SURV, LEGACY, FAN_OPEN,
          false },
        { "an ignore mask keeps it", FD, FILE_, FAN_OPEN, IGNORE | SURV, 0, FAN_OPEN, true },
        { "the ignore mask alone goes", FD, FILE_, FAN_OPEN, IGNORE | SURV, IGNORE, FAN_OPEN, true },
};

static void test_destroyed_marks(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(destroy_cases); i++) {
                const struct destroy_case *c = &destroy_cases[i];
                struct scene s;

                scene_init(&s, c->init_flags);
                mark(&s, 0, c->add, c->at);
                if (c->ignore_flags)
                        mark(&s, c->ignore_flags, FAN_OPEN, c->at);
                assert_int_equal(call(&s, 0, REMOVE | c->remove_flags, c->remove, c->at), 0);
                if ((mark_of(&s, c->at) != NULL) != c->stays)
                        print_error("%s\n", c->text);
                assert_int_equal(mark_of(&s, c->at) != NULL, c->stays);
                scene_done(&s);
        }
}

static void test_flush(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        mark(&s, 0, FAN_OPEN, FILE_);
        mark(&s, 0, FAN_OPEN, DIR);
        mark(&s, MOUNT, FAN_OPEN, FILE_);
        mark(&s, SB, FAN_OPEN, FILE_);
        assert_int_equal(call(&s, 1, ADD, FAN_OPEN, FILE_), 0);
        assert_int_equal(call(&s, 0, FLUSH, 0, FILE_), 0);
        assert_null(mark_of(&s, FILE_));
        assert_null(mark_of(&s, DIR));
        assert_non_null(mark_of(&s, DIRS_MOUNT));
        assert_non_null(mark_of(&s, FILESYSTEM));
        assert_int_equal(s.o[FILE_].interest, FAN_OPEN); /* the other group's */
        assert_int_equal(call(&s, 0, FLUSH | SB, 0, FILE_), 0);
        assert_null(mark_of(&s, FILESYSTEM));
        scene_done(&s);
}

static void test_limit(void **state)
{
        struct interest_limit limit = { .max = 1 };
        struct scene s;

        scene_init(&s, FD);
        s.group[0].limit = s.group[1].limit = &limit;
        s.group[1].init_flags = FAN_UNLIMITED_MARKS;
        mark(&s, 0, FAN_OPEN, FILE_);
        assert_int_equal(limit.used, 1);
        mark(&s, 0, FAN_ACCESS, FILE_); /* no new mark */
        assert_int_equal(call(&s, 0, ADD, FAN_OPEN, DIR), -ENOSPC);
        assert_null(mark_of(&s, DIR));
        assert_int_equal(call(&s, 1, ADD, FAN_OPEN, DIR), 0); /* neither limited nor counted */
        assert_int_equal(limit.used, 1);
        assert_int_equal(call(&s, 0, REMOVE, FAN_OPEN | FAN_ACCESS, FILE_), 0);
        assert_int_equal(limit.used, 0);
        assert_int_equal(call(&s, 0, ADD, FAN_OPEN, DIR), 0);
        scene_done(&s);
        assert_int_equal(limit.used, 0);
}

static void test_unprivileged_and_handles(void **state)
{
        struct scene s;

        scene_init(&s, FID);
        s.group[0].unprivileged = true;
        assert_int_equal(call(&s, 0, ADD | SB, FAN_OPEN, FILE_), -EPERM);
        assert_int_equal(call(&s, 0, ADD | MOUNT, FAN_OPEN, FILE_), -EPERM);
        assert_int_equal(call(&s, 0, ADD, FAN_OPEN, FILE_), 0);
        s.o[FILESYSTEM].fid_errno = -EOPNOTSUPP;
        assert_int_equal(call(&s, 1, ADD | SB, FAN_OPEN, FILE_), -EOPNOTSUPP);
        s.group[1].init_flags = FD;
        assert_int_equal(call(&s, 1, ADD | SB, FAN_OPEN, FILE_), 0);
        scene_done(&s);
}

static void test_eviction(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        mark(&s, EVICTABLE | IGNORE | SURV, FAN_OPEN, FILE_);
        assert_true(mark_of(&s, FILE_)->evictable);
        assert_true(interest_object_evict(&s.kernel, &s.o[FILE_]));
        assert_null(mark_of(&s, FILE_));
        assert_int_equal(s.o[FILE_].interest, 0);
        mark(&s, EVICTABLE | IGNORE | SURV, FAN_OPEN, FILE_);
        mark(&s, IGNORE | SURV, FAN_ACCESS, FILE_); /* an update without the flag pins it */
        assert_false(interest_object_evict(&s.kernel, &s.o[FILE_]));
        assert_int_equal(mark_of(&s, FILE_)->ignore_mask, FAN_OPEN | FAN_ACCESS);
        interest_object_done(&s.kernel, &s.o[FILE_]); /* deleted */
        assert_null(mark_of(&s, FILE_));
        assert_null(s.group[0].marks);
        scene_done(&s);
}

/* What kernels without an ability say of it. */
static void test_older_kernels(void **state)
{
        struct kernel_abilities abilities = { .rename = true };
        struct scene s;

        scene_init(&s, NAME);
        s.kernel = interest_kernel_from(&abilities);
        assert_true(s.kernel.rename);
        assert_false(s.kernel.ignore_is_interest);
        assert_int_equal(call(&s, 0, ADD | IGNORE | SURV, FAN_OPEN, FILE_), -EINVAL);
        assert_int_equal(call(&s, 0, ADD | EVICTABLE, FAN_OPEN, FILE_), -EINVAL);
        assert_int_equal(call(&s, 0, ADD | SB, FAN_FS_ERROR, FILE_), -EINVAL);
        assert_int_equal(call(&s, 0, ADD, FAN_RENAME, DIR), 0);
        s.kernel.rename = false;
        assert_int_equal(call(&s, 0, ADD, FAN_RENAME, DIR), -EINVAL);
        abilities.ignore = true;
        assert_true(interest_kernel_from(&abilities).ignore_is_interest);
        scene_done(&s);
}

/* Before ignored events counted as interest, a parent's ignore mask needed the event in its mask. */
static void test_older_parent_ignore(void **state)
{
        for (int old = 0; old < 2; old++)
                for (int in_mask = 0; in_mask < 2; in_mask++) {
                        struct scene s;

                        scene_init(&s, FD);
                        s.kernel.ignore_is_interest = !old;
                        mark(&s, SB, FAN_OPEN, FILE_);
                        mark(&s, 0, CHILD | (in_mask ? FAN_OPEN : 0), DIR);
                        mark(&s, LEGACY | SURV, FAN_OPEN, DIR);
                        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), old && !in_mask ? FAN_OPEN : 0);
                        scene_done(&s);
                }
}

/* ---- what a modification clears ---- */

struct clear_case {
        const char *text;
        unsigned flags;
        uint64_t mask;      /* of the mark itself */
        enum object at;
        bool path;          /* write(2); else truncate(2) */
        enum object object; /* whose ignore mask is looked at */
        bool cleared;
};

static const struct clear_case clear_cases[] = {
        { "a file's own, write", LEGACY, 0, FILE_, true, FILE_, true },
        { "a file's own, truncate", LEGACY, 0, FILE_, false, FILE_, true },
        { "one that survives", LEGACY | SURV, 0, FILE_, true, FILE_, false },
        { "the filesystem's", SB | LEGACY, 0, FILE_, true, FILESYSTEM, true },
        { "the mount's, write", MOUNT | LEGACY, 0, FILE_, true, DIRS_MOUNT, true },
        { "the mount's, truncate", MOUNT | LEGACY, 0, FILE_, false, DIRS_MOUNT, false },
        { "the directory's", LEGACY, 0, DIR, true, DIR, false },
        { "the directory's, about children", LEGACY, CHILD, DIR, true, DIR, true },
};

static void test_modification_clears(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(clear_cases); i++) {
                const struct clear_case *c = &clear_cases[i];
                struct scene s;

                scene_init(&s, FD);
                if (c->mask)
                        mark(&s, 0, c->mask, c->at);
                mark(&s, c->flags, FAN_OPEN, c->at);
                c->path ? on_path(&s, FAN_MODIFY, FILE_) : on_dentry(&s, FAN_MODIFY, FILE_);
                if ((mark_of(&s, c->object)->ignore_mask == 0) != c->cleared)
                        print_error("%s\n", c->text);
                assert_int_equal(mark_of(&s, c->object)->ignore_mask, c->cleared ? 0 : FAN_OPEN);
                scene_done(&s);
        }
}

/* An ignore mask that does not survive never stops a modify, not even the first. */
static void test_first_modify_is_told(void **state)
{
        struct scene s;

        scene_init(&s, FD);
        mark(&s, SB, FAN_MODIFY | FAN_OPEN, FILE_);
        mark(&s, LEGACY, FAN_MODIFY | FAN_OPEN, FILE_);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), 0);
        assert_int_equal(on_path(&s, FAN_MODIFY, FILE_), FAN_MODIFY);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), FAN_OPEN);
        scene_done(&s);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_interest),
                cmocka_unit_test(test_interest_of_several_groups),
                cmocka_unit_test(test_groups_in_order),
                cmocka_unit_test(test_stale_interest),
                cmocka_unit_test(test_effective_ignore),
                cmocka_unit_test(test_calls),
                cmocka_unit_test(test_ignore_while_open_for_write),
                cmocka_unit_test(test_destroyed_marks),
                cmocka_unit_test(test_flush),
                cmocka_unit_test(test_limit),
                cmocka_unit_test(test_unprivileged_and_handles),
                cmocka_unit_test(test_eviction),
                cmocka_unit_test(test_older_kernels),
                cmocka_unit_test(test_older_parent_ignore),
                cmocka_unit_test(test_modification_clears),
                cmocka_unit_test(test_first_modify_is_told),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
