/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a gap's record names: the filesystems of the group that lost something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "diag.h"
#include "note_fields.h"

static const char text[] = "mount 1 0 8:1 / / ext4 /dev/a\n"
                           "mount 2 1 8:2 / /srv xfs /dev/b\n"
                           "mount 3 1 0:40 / /own overlay o\n"
                           "mount 4 1 0:41 / /dirs fuse.x f\n"
                           "mount 5 1 0:42 / /proc proc proc pseudo\n"
                           "fs 0:40 error=EXDEV own-group\n"
                           "fs 0:41 error=EOPNOTSUPP directories\n";

/* All mount points that are told, and that the text has the same. */
static void check(const struct world *w, enum coverage_state state, const struct group_key *group,
                  const char *expected)
{
        struct coverage coverage[8] = {};
        struct plan plan = { .coverage = coverage, .n_coverage = w->n_fs };
        struct generation g = { .plan = &plan, .world = (struct world *)w };
        _cleanup_note_fields_ struct note_fields f = NOTE_FIELDS_NULL;
        _cleanup_strbuf_ struct strbuf told = STRBUF_NULL, fields = STRBUF_NULL;

        assert_true(w->n_fs <= ELEMENTSOF(coverage));
        for (uint32_t i = 0; i < w->n_fs; i++)
                coverage[i] = (struct coverage){ .fs = i,
                                                 .state = w->fs[i].class == FS_PSEUDO ? SKIPPED : state };
        note_fields_watched(&f, &g, group, &told);
        for (size_t i = 0; i < f.n; i += 2) {
                assert_string_equal(f.v[i], "FAWATCH_MOUNTPOINT");
                strbuf_adds(&fields, i > 0 ? " " : "");
                strbuf_adds(&fields, f.v[i + 1]);
        }
        assert_string_equal(strbuf_str(&fields), expected);
        assert_string_equal(strbuf_str(&told), expected);
}

static void test_filesystems_of_a_group(void **state)
{
        static const struct group_key whole = { .kind = GROUP_MAIN }, mount = { .kind = GROUP_MOUNT, .mount_id = 2 };
        const struct group_key own = group_key_filesystem(0, 40), other = group_key_filesystem(0, 41);
        _cleanup_(world_freep) struct world *w = NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;

        assert_int_equal(world_parse_text(text, sizeof(text) - 1, &diag, &w), 0);
        check(w, COVERED, NULL, "/ /srv /own /dirs");
        check(w, PARTLY_COVERED, &whole, "/ /srv /dirs");
        check(w, COVERED, &own, "/own");
        check(w, COVERED, &other, "");
        check(w, COVERED, &mount, "/srv");
        check(w, NOT_COVERED, NULL, "");
}

static void test_a_bounded_list(void **state)
{
        _cleanup_note_fields_ struct note_fields f = NOTE_FIELDS_NULL;

        note_field(&f, "ABSENT", NULL);
        assert_int_equal(f.n, 0);
        for (unsigned i = 0; i < 2 * MAX_NOTE_FIELDS; i++)
                note_fieldf(&f, "N", "%u", i);
        assert_int_equal(f.n, 2 * MAX_NOTE_FIELDS);
        assert_string_equal(f.v[f.n - 1], "95");
        assert_null(f.v[f.n]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_filesystems_of_a_group),
                cmocka_unit_test(test_a_bounded_list),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
