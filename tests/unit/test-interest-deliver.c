/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "interest_scene.h"
#include "tests/model/fanotify10.h"

/* The cases of fanotify10.h; with_ignore false: what is told without. */
static uint32_t run_f10(const struct f10_case *c, unsigned init_flags, enum f10_api api, bool with_ignore)
{
        static const enum object objects[F10_N_OBJECTS] = {
                /* each case has one event: files and executable files are one and another */
                [F10_FILE] = FILE_, [F10_FILE2] = FIFO, [F10_EXE] = FILE_, [F10_EXE2] = FIFO,
                [F10_SUBDIR] = SUBDIR, [F10_PARENT] = DIR, [F10_MOUNT1] = DIR, [F10_MOUNT2] = DIR,
                [F10_FILESYSTEM] = DIR,
        };
        unsigned types[F10_N_OBJECTS] = {
                [F10_MOUNT1] = MOUNT, [F10_MOUNT2] = MOUNT, [F10_FILESYSTEM] = SB,
        };
        unsigned evictable = c->evictable ? EVICTABLE : 0;
        struct interest_object *mounts[2];
        struct interest_event e;
        struct scene s;
        uint32_t result;

        scene_init(&s, init_flags);
        s.o[FIFO].type = TYPE_FILE;
        mounts[0] = &s.o[DIRS_MOUNT];
        mounts[1] = &s.o[OTHER_MOUNT];
        mark(&s, types[c->mark], c->without | c->mark_flags, objects[c->mark]);
        if (with_ignore) {
                struct interest_place place = {
                        &s.o[objects[c->ignore]],
                        mounts[c->ignore == F10_MOUNT2],
                        &s.o[FILESYSTEM],
                };
                unsigned flags = ADD | types[c->ignore] | SURV | evictable;

                if (api == F10_IGNORE) {
                        assert_int_equal(interest_fanotify_mark(&s.kernel, &s.group[0], flags | IGNORE,
                                                                FAN_OPEN | c->ignore_flags, &place),
                                         0);
                } else {
                        unsigned plain = flags & ~(unsigned)SURV;

                        if (c->ignore_flags & CHILD)
                                assert_int_equal(interest_fanotify_mark(&s.kernel, &s.group[0], plain, CHILD,
                                                                        &place),
                                                 0);
                        assert_int_equal(interest_fanotify_mark(&s.kernel, &s.group[0], flags | LEGACY,
                                                                FAN_OPEN, &place),
                                         0);
                }
                if (c->evictable)
                        assert_true(interest_object_evict(&s.kernel, &s.o[objects[c->ignore]]));
        }
        e = event_at(&s, c->without & F10_BOTH, objects[c->event], DIR, true);
        e.mount = mounts[c->mount - 1];
        interest_on_dentry(&s.kernel, &e, &s.report);
        result = told(&s);
        scene_done(&s);
        return result;
}

static void test_fanotify10(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(f10_cases); i++)
                for (size_t g = 0; g < ELEMENTSOF(f10_groups); g++)
                        for (enum f10_api api = F10_LEGACY; api < F10_N_APIS; api++) {
                                const struct f10_case *c = &f10_cases[i];
                                uint32_t hidden = f10_groups[g] & FAN_REPORT_FID ? 0 : ONDIR;

                                if (api == F10_LEGACY && f10_needs_ignore_flags(c))
                                        continue;
                                if (run_f10(c, f10_groups[g], api, true) != (c->with & ~hidden))
                                        print_error("case %zu: %s\n", i, c->text);
                                assert_int_equal(run_f10(c, f10_groups[g], api, true), c->with & ~hidden);
                                assert_int_equal(run_f10(c, f10_groups[g], api, false), c->without & ~hidden);
                        }
}

/* ---- delivery ---- */

enum hook { BY_PATH, BY_DENTRY, BY_NAME, BY_INODE, BY_RENAME };

struct record_case {
        unsigned init_flags;
        enum hook hook;
        uint32_t event;
        enum object inode;
        uint32_t mask; /* told; 0: nothing */
        size_t n;
        struct {
                uint8_t type;
                enum object object;
                enum interest_name name;
        } records[3];
};

#define R_FID FAN_EVENT_INFO_TYPE_FID
#define R_DFID FAN_EVENT_INFO_TYPE_DFID
#define R_NAME FAN_EVENT_INFO_TYPE_DFID_NAME
#define R_OLD FAN_EVENT_INFO_TYPE_OLD_DFID_NAME
#define R_NEW FAN_EVENT_INFO_TYPE_NEW_DFID_NAME

/* The filesystem's mark asks for everything, with FAN_ONDIR; the file is in DIR and moves to DIR2. */
static const struct record_case record_cases[] = {
        { FD, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 0, { {} } },
        { FD, BY_PATH, FAN_OPEN, SUBDIR, FAN_OPEN, 0, { {} } },
        { FD, BY_PATH, FAN_OPEN, FIFO, 0, 0, { {} } },
        { FD, BY_DENTRY, FAN_MODIFY, FILE_, 0, 0, { {} } },

        { FID, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 1, { { R_FID, FILE_, INTEREST_NO_NAME } } },
        { FID, BY_PATH, FAN_OPEN, SUBDIR, FAN_OPEN | ONDIR, 1, { { R_FID, SUBDIR, INTEREST_NO_NAME } } },
        { FID, BY_NAME, FAN_CREATE, FILE_, FAN_CREATE, 1, { { R_FID, DIR, INTEREST_NO_NAME } } },
        { FID, BY_INODE, FAN_DELETE_SELF, FILE_, FAN_DELETE_SELF, 1, { { R_FID, FILE_, INTEREST_NO_NAME } } },

        { DIR_FID, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 1, { { R_FID, DIR, INTEREST_NO_NAME } } },
        { DIR_FID, BY_PATH, FAN_OPEN, SUBDIR, FAN_OPEN | ONDIR, 1, { { R_DFID, SUBDIR, INTEREST_NO_NAME } } },
        { DIR_FID, BY_NAME, FAN_CREATE, FILE_, FAN_CREATE, 1, { { R_DFID, DIR, INTEREST_NO_NAME } } },
        { DIR_FID, BY_INODE, FAN_DELETE_SELF, FILE_, 0, 0, { {} } },
        { DIR_FID, BY_INODE, FAN_DELETE_SELF, SUBDIR, FAN_DELETE_SELF | ONDIR, 1,
          { { R_DFID, SUBDIR, INTEREST_NO_NAME } } },

        { DIR_FID | FID, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 2,
          { { R_DFID, DIR, INTEREST_NO_NAME }, { R_FID, FILE_, INTEREST_NO_NAME } } },
        { DIR_FID | FID, BY_NAME, FAN_DELETE, FILE_, FAN_DELETE, 1, { { R_DFID, DIR, INTEREST_NO_NAME } } },
        { DIR_FID | FID, BY_INODE, FAN_MOVE_SELF, FILE_, FAN_MOVE_SELF, 1,
          { { R_FID, FILE_, INTEREST_NO_NAME } } },

        { NAME, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 1, { { R_NAME, DIR, INTEREST_NAME } } },
        { NAME, BY_PATH, FAN_OPEN, SUBDIR, FAN_OPEN | ONDIR, 1, { { R_NAME, SUBDIR, INTEREST_DOT } } },
        { NAME, BY_NAME, FAN_CREATE, FILE_, FAN_CREATE, 1, { { R_NAME, DIR, INTEREST_NAME } } },
        { NAME, BY_NAME, FAN_CREATE, SUBDIR, FAN_CREATE | ONDIR, 1, { { R_NAME, DIR, INTEREST_NAME } } },
        { NAME, BY_INODE, FAN_DELETE_SELF, FILE_, 0, 0, { {} } },
        { NAME, BY_RENAME, FAN_RENAME, FILE_, FAN_RENAME, 2,
          { { R_OLD, DIR, INTEREST_NAME }, { R_NEW, DIR2, INTEREST_NEW_NAME } } },

        { NAME_FID, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 2,
          { { R_NAME, DIR, INTEREST_NAME }, { R_FID, FILE_, INTEREST_NO_NAME } } },
        { NAME_FID, BY_DENTRY, FAN_MODIFY, FILE_, FAN_MODIFY, 2,
          { { R_NAME, DIR, INTEREST_NAME }, { R_FID, FILE_, INTEREST_NO_NAME } } },
        { NAME_FID, BY_NAME, FAN_CREATE, FILE_, FAN_CREATE, 1, { { R_NAME, DIR, INTEREST_NAME } } },
        { NAME_FID, BY_INODE, FAN_DELETE_SELF, FILE_, FAN_DELETE_SELF, 1,
          { { R_FID, FILE_, INTEREST_NO_NAME } } },
        { NAME_FID, BY_INODE, FAN_DELETE_SELF, SUBDIR, FAN_DELETE_SELF | ONDIR, 1,
          { { R_NAME, SUBDIR, INTEREST_DOT } } },
        { NAME_FID, BY_RENAME, FAN_RENAME, FILE_, FAN_RENAME, 2,
          { { R_OLD, DIR, INTEREST_NAME }, { R_NEW, DIR2, INTEREST_NEW_NAME } } },

        { TARGET, BY_PATH, FAN_OPEN, FILE_, FAN_OPEN, 2,
          { { R_NAME, DIR, INTEREST_NAME }, { R_FID, FILE_, INTEREST_NO_NAME } } },
        { TARGET, BY_PATH, FAN_OPEN, SUBDIR, FAN_OPEN | ONDIR, 1, { { R_NAME, SUBDIR, INTEREST_DOT } } },
        { TARGET, BY_NAME, FAN_CREATE, FILE_, FAN_CREATE, 2,
          { { R_NAME, DIR, INTEREST_NAME }, { R_FID, FILE_, INTEREST_NO_NAME } } },
        { TARGET, BY_NAME, FAN_DELETE, SUBDIR, FAN_DELETE | ONDIR, 2,
          { { R_NAME, DIR, INTEREST_NAME }, { R_FID, SUBDIR, INTEREST_NO_NAME } } },
        { TARGET, BY_INODE, FAN_ATTRIB, FILE_, FAN_ATTRIB, 1, { { R_FID, FILE_, INTEREST_NO_NAME } } },
        { TARGET, BY_RENAME, FAN_RENAME, SUBDIR, FAN_RENAME | ONDIR, 3,
          { { R_OLD, DIR, INTEREST_NAME },
            { R_NEW, DIR2, INTEREST_NEW_NAME },
            { R_FID, SUBDIR, INTEREST_NO_NAME } } },
};

static uint32_t raise_by(struct scene *s, enum hook hook, uint32_t event, enum object inode)
{
        switch (hook) {
        case BY_PATH:
                return on_path(s, event, inode);
        case BY_DENTRY:
                return on_dentry(s, event, inode);
        case BY_NAME:
                return on_name(s, event, DIR, inode);
        case BY_INODE:
                return on_inode(s, event, inode);
        default:
                return on_rename(s, DIR, DIR2, inode);
        }
}

static void mark_everything(struct scene *s)
{
        uint64_t mask = s->group[0].init_flags == FD ? INTEREST_PATH : INTEREST_MARKABLE;

        if (!(s->group[0].init_flags & FAN_REPORT_NAME))
                mask &= ~(uint64_t)FAN_RENAME;
        mark(s, SB, mask | ONDIR, FILE_);
}

static void test_records(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(record_cases); i++) {
                const struct record_case *c = &record_cases[i];
                struct interest_record records[INTEREST_MAX_RECORDS];
                struct scene s;
                uint32_t mask;

                scene_init(&s, c->init_flags);
                mark_everything(&s);
                mask = raise_by(&s, c->hook, c->event, c->inode);
                if (mask != c->mask || (mask && interest_records(&s.report.to[0], records) != c->n))
                        print_error("case %zu: init flags %x, event %x\n", i, c->init_flags, c->event);
                assert_int_equal(mask, c->mask);
                assert_int_equal(s.report.n, mask != 0);
                if (mask != 0)
                        assert_int_equal(interest_records(&s.report.to[0], records), c->n);
                for (size_t n = 0; n < c->n; n++) {
                        assert_int_equal(records[n].type, c->records[n].type);
                        assert_ptr_equal(records[n].object, &s.o[c->records[n].object]);
                        assert_int_equal(records[n].name, c->records[n].name);
                }
                scene_done(&s);
        }
}

struct rename_case {
        const char *text;
        bool old_marked, new_marked, sb_marked;
        enum object ignored; /* DIR, DIR2, or N_OBJECTS for none */
        size_t n;
        uint8_t types[2];
};

static const struct rename_case rename_cases[] = {
        { "the old directory", true, false, false, N_OBJECTS, 1, { R_OLD } },
        { "the new directory", false, true, false, N_OBJECTS, 1, { R_NEW } },
        { "both directories", true, true, false, N_OBJECTS, 2, { R_OLD, R_NEW } },
        { "the filesystem", false, false, true, N_OBJECTS, 2, { R_OLD, R_NEW } },
        { "the filesystem, the old directory ignored", false, false, true, DIR, 0, {} },
        { "the filesystem, the new directory ignored", false, false, true, DIR2, 0, {} },
        { "the old directory, the new one ignored", true, false, false, DIR2, 0, {} },
};

static void test_rename_sides(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(rename_cases); i++) {
                const struct rename_case *c = &rename_cases[i];
                uint64_t mask = FAN_RENAME | FAN_MOVED_FROM | FAN_MOVED_TO;
                struct interest_record records[INTEREST_MAX_RECORDS];
                struct scene s;

                scene_init(&s, NAME_FID);
                if (c->old_marked)
                        mark(&s, 0, mask, DIR);
                if (c->new_marked)
                        mark(&s, 0, mask, DIR2);
                if (c->sb_marked)
                        mark(&s, SB, mask, DIR);
                if (c->ignored != N_OBJECTS)
                        mark(&s, IGNORE | SURV, mask, c->ignored);
                if ((on_rename(&s, DIR, DIR2, FILE_) != 0) != (c->n != 0))
                        print_error("%s\n", c->text);
                assert_int_equal(on_rename(&s, DIR, DIR2, FILE_), c->n ? FAN_RENAME : 0);
                if (c->n)
                        assert_int_equal(interest_records(&s.report.to[0], records), c->n);
                for (size_t n = 0; n < c->n; n++)
                        assert_int_equal(records[n].type, c->types[n]);
                /* the halves are judged each for its own directory */
                assert_int_equal(on_name(&s, FAN_MOVED_FROM, DIR, FILE_) != 0,
                                 (c->old_marked || c->sb_marked) && c->ignored != DIR);
                assert_int_equal(on_name(&s, FAN_MOVED_TO, DIR2, FILE_) != 0,
                                 (c->new_marked || c->sb_marked) && c->ignored != DIR2);
                scene_done(&s);
        }
}

/* What an ignore mask on a directory stops, and what not: the mark of the filesystem asks for all. */
static void test_directory_ignore(void **state)
{
        struct scene s;

        scene_init(&s, TARGET);
        mark_everything(&s);
        mark(&s, IGNORE | SURV,
             INTEREST_PATH | FAN_ATTRIB | FAN_CREATE | FAN_DELETE | FAN_DELETE_SELF | CHILD, DIR);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), 0);
        assert_int_equal(on_dentry(&s, FAN_MODIFY, FILE_), 0);
        assert_int_equal(on_name(&s, FAN_CREATE, DIR, FILE_), 0);
        /* without FAN_ONDIR nothing about directories: neither its own events nor its subdirectories' */
        assert_int_equal(on_path(&s, FAN_OPEN, DIR), FAN_OPEN | ONDIR);
        assert_int_equal(on_path(&s, FAN_OPEN, SUBDIR), FAN_OPEN | ONDIR);
        assert_int_equal(on_name(&s, FAN_CREATE, DIR, SUBDIR), FAN_CREATE | ONDIR);
        mark(&s, IGNORE | SURV, ONDIR, DIR);
        assert_int_equal(on_path(&s, FAN_OPEN, DIR), 0);
        assert_int_equal(on_path(&s, FAN_OPEN, SUBDIR), 0);
        assert_int_equal(on_name(&s, FAN_CREATE, DIR, SUBDIR), 0);
        /* events of a child's inode are never the parent's */
        assert_int_equal(on_inode(&s, FAN_ATTRIB, FILE_), FAN_ATTRIB);
        assert_int_equal(on_inode(&s, FAN_DELETE_SELF, FILE_), FAN_DELETE_SELF);
        scene_done(&s);
}

/* Reads and writes of a fifo are not its directory's, on kernels with that rule; its opens are. */
static void test_special_files(void **state)
{
        for (int untold = 0; untold < 2; untold++) {
                struct scene s;

                scene_init(&s, FID);
                s.kernel.special_untold = untold;
                mark(&s, 0, FAN_OPEN | FAN_MODIFY | FAN_ATTRIB | CHILD, DIR);
                assert_int_equal(on_path(&s, FAN_MODIFY, FIFO), untold ? 0 : FAN_MODIFY);
                assert_int_equal(on_path(&s, FAN_OPEN, FIFO), FAN_OPEN);
                assert_int_equal(on_dentry(&s, FAN_ATTRIB, FIFO), FAN_ATTRIB);
                assert_int_equal(on_dentry(&s, FAN_MODIFY, FIFO), FAN_MODIFY); /* its time was set */
                scene_done(&s);
        }
}

/* The parent's interest in children may be another group's. */
static void test_parent_of_another_group(void **state)
{
        struct scene s;

        scene_init(&s, FID);
        mark(&s, 0, FAN_OPEN, DIR);
        assert_int_equal(call(&s, 1, ADD, FAN_OPEN | CHILD, DIR), 0);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), 0);
        assert_int_equal(s.report.n, 1);
        assert_ptr_equal(s.report.to[0].group, &s.group[1]);
        /* nor does a write to the child clear the ignore mask of a mark that is not about children */
        mark(&s, LEGACY, FAN_ACCESS, DIR);
        assert_int_equal(call(&s, 1, ADD, FAN_MODIFY, DIR), 0);
        on_path(&s, FAN_MODIFY, FILE_);
        assert_int_equal(s.report.n, 1);
        assert_int_equal(mark_of(&s, DIR)->ignore_mask, FAN_ACCESS);
        scene_done(&s);
}

/* A mark hears of directories only where it asks with FAN_ONDIR; another mark's flag does not do. */
static void test_directories_are_asked_for(void **state)
{
        struct scene s;

        scene_init(&s, FID);
        mark(&s, 0, FAN_OPEN, SUBDIR);
        assert_int_equal(on_path(&s, FAN_OPEN, SUBDIR), 0);
        mark(&s, SB, FAN_ACCESS | ONDIR, SUBDIR);
        assert_int_equal(on_path(&s, FAN_OPEN, SUBDIR), 0);
        assert_int_equal(on_path(&s, FAN_ACCESS, SUBDIR), FAN_ACCESS | ONDIR);
        mark(&s, 0, ONDIR, SUBDIR);
        assert_int_equal(on_path(&s, FAN_OPEN, SUBDIR), FAN_OPEN | ONDIR);
        scene_done(&s);
}

static void test_root_has_no_parent(void **state)
{
        struct interest_record records[INTEREST_MAX_RECORDS];
        struct interest_event e;
        struct scene s;

        scene_init(&s, NAME_FID);
        mark(&s, SB, FAN_OPEN | ONDIR, ROOT);
        e = event_at(&s, FAN_OPEN, ROOT, ROOT, true);
        interest_on_dentry(&s.kernel, &e, &s.report);
        assert_int_equal(told(&s), FAN_OPEN | ONDIR);
        assert_int_equal(interest_records(&s.report.to[0], records), 1);
        assert_ptr_equal(records[0].object, &s.o[ROOT]);
        assert_int_equal(records[0].name, INTEREST_DOT);
        scene_done(&s);
}

static void test_fs_error(void **state)
{
        struct interest_record records[INTEREST_MAX_RECORDS];
        struct interest_event e;
        struct scene s;

        scene_init(&s, NAME_FID);
        mark(&s, SB, FAN_FS_ERROR, FILE_);
        e = (struct interest_event){ .events = FAN_FS_ERROR, .filesystem = &s.o[FILESYSTEM] };
        interest_on_error(&s.kernel, &e, &s.report);
        assert_int_equal(told(&s), FAN_FS_ERROR);
        assert_int_equal(interest_records(&s.report.to[0], records), 2);
        assert_int_equal(records[0].type, R_FID);
        assert_int_equal(records[1].type, FAN_EVENT_INFO_TYPE_ERROR);
        scene_done(&s);
        scene_init(&s, NAME); /* has no directory to tell */
        mark(&s, SB, FAN_FS_ERROR, FILE_);
        interest_on_error(&s.kernel, &e, &s.report);
        assert_int_equal(told(&s), 0);
        scene_done(&s);
}

static void test_merging(void **state)
{
        struct interest_delivery create, open, moved, opened_dir;
        struct scene s;

        scene_init(&s, TARGET);
        mark_everything(&s);
        on_name(&s, FAN_CREATE, DIR, FILE_);
        create = s.report.to[0];
        on_path(&s, FAN_OPEN, FILE_);
        open = s.report.to[0];
        on_rename(&s, DIR, DIR2, FILE_);
        moved = s.report.to[0];
        on_path(&s, FAN_OPEN, SUBDIR);
        opened_dir = s.report.to[0];
        assert_true(interest_same_event(&create, &open)); /* both tell the file's handle */
        assert_false(interest_same_event(&create, &moved));
        assert_true(interest_same_event(&moved, &moved));
        assert_false(interest_same_event(&open, &opened_dir));
        scene_done(&s);

        scene_init(&s, NAME_FID); /* a create does not */
        mark_everything(&s);
        on_name(&s, FAN_CREATE, DIR, FILE_);
        create = s.report.to[0];
        on_path(&s, FAN_OPEN, FILE_);
        assert_false(interest_same_event(&create, &s.report.to[0]));
        scene_done(&s);

        scene_init(&s, NAME); /* only the new side */
        mark(&s, 0, FAN_RENAME, DIR2);
        on_rename(&s, DIR, DIR2, FILE_);
        assert_false(interest_same_event(&s.report.to[0], &s.report.to[0]));
        scene_done(&s);
}

/* A mark as a set of marks or fdinfo has it, without the bit that the kernel added. */
static void test_adopted_mark(void **state)
{
        struct mark known = {
                .object.kind = MARK_FILESYSTEM,
                .mask = FAN_OPEN,
                .ignore_mask = FAN_ACCESS,
                .ignore_surv = true,
                .ignore_new = true,
        };
        struct scene s;

        scene_init(&s, TARGET);
        assert_int_equal(interest_adopt_mark(&s.kernel, &s.group[0], &s.o[FILESYSTEM], &known), 0);
        assert_int_equal(mark_of(&s, FILESYSTEM)->mask, FAN_OPEN | CHILD);
        assert_int_equal(s.o[FILESYSTEM].interest, FAN_OPEN | FAN_ACCESS | CHILD);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), FAN_OPEN);
        assert_true(s.report.to[0].named);
        known.mask = 0;
        assert_int_equal(interest_adopt_mark(&s.kernel, &s.group[0], &s.o[FILESYSTEM], &known), 0);
        assert_int_equal(s.o[FILESYSTEM].interest, FAN_ACCESS);
        assert_int_equal(on_path(&s, FAN_OPEN, FILE_), 0);
        scene_done(&s);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fanotify10),
                cmocka_unit_test(test_records),
                cmocka_unit_test(test_rename_sides),
                cmocka_unit_test(test_directory_ignore),
                cmocka_unit_test(test_special_files),
                cmocka_unit_test(test_parent_of_another_group),
                cmocka_unit_test(test_directories_are_asked_for),
                cmocka_unit_test(test_root_has_no_parent),
                cmocka_unit_test(test_fs_error),
                cmocka_unit_test(test_merging),
                cmocka_unit_test(test_adopted_mark),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
