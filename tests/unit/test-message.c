/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "escape.h"
#include "message.h"
#include "record_fields.h"
#include "sample-event.h"

static struct event event;
static struct actor actor;

static void reset(void)
{
        event = sample_event;
        actor = sample_actor;
        event.actor = &actor;
}

static void check(const struct match_hits *hits, uint64_t omit, const char *expected)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        message_event(&sample_context, &event, hits, omit, &out);
        assert_string_equal(strbuf_str(&out), expected);
}

#define WHO " by vipw[4242] as root, login alice, session-3.scope"

static void test_verbs(void **state)
{
        static const struct {
                uint32_t events;
                const char *expected;
        } cases[] = {
                { EV_MODIFY, "etc: /etc/passwd modified" WHO },
                { EV_CLOSE_WRITE, "etc: /etc/passwd written" WHO },
                { EV_MODIFY | EV_CLOSE_WRITE, "etc: /etc/passwd modified" WHO },
                { EV_CREATE, "etc: /etc/passwd created" WHO },
                { EV_DELETE, "etc: /etc/passwd deleted" WHO },
                { EV_DELETE_SELF, "etc: /etc/passwd deleted" WHO },
                { EV_DELETE | EV_DELETE_SELF, "etc: /etc/passwd deleted" WHO },
                { EV_MOVE_SELF, "etc: /etc/passwd moved" WHO },
                { EV_ATTRIB, "etc: /etc/passwd attributes changed" WHO },
                { EV_ACCESS, "etc: /etc/passwd read" WHO },
                { EV_OPEN, "etc: /etc/passwd opened" WHO },
                { EV_OPEN | EV_OPEN_EXEC, "etc: /etc/passwd executed" WHO },
                { EV_CLOSE_NOWRITE, "etc: /etc/passwd closed" WHO },
                { EV_FS_ERROR, "etc: /etc/passwd raised a filesystem error" WHO },
                { EV_REPLACED, "etc: /etc/passwd replaced" WHO },
                { EV_CHANGED, "etc: /etc/passwd changed" WHO },
                { EV_CREATE | EV_DELETE, "etc: /etc/passwd created and deleted" WHO },
                { EV_CREATE | EV_MODIFY | EV_DELETE, "etc: /etc/passwd created, modified and deleted" WHO },
                { EV_CREATE | EV_CLOSE_WRITE | EV_ATTRIB,
                  "etc: /etc/passwd created, written and attributes changed" WHO },
                { EV_MOVED_TO, "etc: /etc/passwd renamed to this name" WHO },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                reset();
                event.events = cases[i].events;
                check(&sample_hits, 0, cases[i].expected);
        }
}

static void test_names(void **state)
{
        reset();
        check(&sample_two_hits, 0, "etc,passwd: /etc/passwd modified" WHO);

        event.events = EV_RENAME | EV_MOVE_SELF;
        event.old_path = BYTES("/etc/passwd-");
        check(&sample_hits, 0, "etc: /etc/passwd- renamed to /etc/passwd" WHO);
        event.events = EV_CREATE | EV_RENAME | EV_MODIFY;
        check(&sample_hits, 0, "etc: /etc/passwd- created, renamed to /etc/passwd and modified" WHO);
        event.path = (struct bytes){};
        event.events = EV_RENAME;
        check(&sample_hits, 0, "etc: /etc/passwd- renamed away" WHO);

        reset();
        event.path = (struct bytes){};
        event.name = BYTES("passwd");
        check(&sample_hits, 0, "etc: passwd (its directory is gone) modified" WHO);
        event.name = (struct bytes){};
        check(&sample_hits, 0, "etc: a file without a known path modified" WHO);
        event.is_dir = true;
        check(&sample_hits, 0, "etc: a directory without a known path modified" WHO);

        reset();
        event.events = EV_REPLACED;
        event.cause = BYTES("/etc/alternatives");
        check(&sample_hits, 0, "etc: /etc/passwd replaced through /etc/alternatives" WHO);
}

static void test_states(void **state)
{
        reset();
        event.path_state = PATH_DELETED;
        check(&sample_hits, 0, "etc: /etc/passwd (no longer has a name) modified" WHO);
        event.path_state = PATH_REPLACED;
        check(&sample_hits, 0, "etc: /etc/passwd (the name leads to another object now) modified" WHO);
        event.path_state = PATH_HIDDEN;
        check(&sample_hits, 0, "etc: /etc/passwd (hidden by a mount) modified" WHO);
        event.path_state = PATH_INSIDE;
        event.source = "/dev/sda1";
        check(&sample_hits, 0, "etc: /etc/passwd (inside of /dev/sda1) modified" WHO);

        reset();
        event.origin = ORIGIN_SCAN;
        check(&sample_hits, 0, "etc: /etc/passwd modified" WHO " (found by a scan)");
        event.origin = ORIGIN_RECOVERY;
        check(&sample_hits, 0, "etc: /etc/passwd modified" WHO " (found after a gap)");
        event.origin = ORIGIN_REPLAY;
        check(&sample_hits, 0, "etc: /etc/passwd modified" WHO " (perhaps reported before)");

        reset();
        event.count = 17;
        event.first_usec = 1000000;
        event.last_usec = 1999999;
        check(&sample_hits, 0, "etc: /etc/passwd modified" WHO " (17 times in 1.0s)");
        event.last_usec = 13040000;
        check(&sample_hits, 0, "etc: /etc/passwd modified" WHO " (17 times in 12.0s)");
}

static void test_who(void **state)
{
#define WHAT "etc: /etc/passwd modified"
        reset();
        event.attribution = ATTRIBUTION_PROCESS;
        check(&sample_hits, 0, WHAT WHO);
        actor.comm = NULL;
        check(&sample_hits, 0, WHAT " by process 4242 as root, login alice, session-3.scope");

        reset();
        actor.user = actor.login_user = NULL;
        check(&sample_hits, 0, WHAT " by vipw[4242] as uid 0, login uid 1000, session-3.scope");
        actor.loginuid = 0;
        check(&sample_hits, 0, WHAT " by vipw[4242] as uid 0, session-3.scope");
        actor.loginuid = ID_UNKNOWN;
        actor.user_unit = "app.service";
        actor.container = "0123456789abcdef0123";
        check(&sample_hits, 0, WHAT " by vipw[4242] as uid 0, app.service, container 0123456789ab");

        static const struct actor nobody = { .uid = ID_UNKNOWN, .euid = ID_UNKNOWN, .gid = ID_UNKNOWN,
                                             .egid = ID_UNKNOWN, .loginuid = ID_UNKNOWN };

        reset();
        actor = nobody;
        event.attribution = ATTRIBUTION_UNKNOWN;
        check(&sample_hits, 0, WHAT " by an unknown process");
        event.attribution = ATTRIBUTION_FOREIGN;
        check(&sample_hits, 0, WHAT " by a process outside this pid namespace");
        event.attribution = ATTRIBUTION_KERNEL;
        check(&sample_hits, 0, WHAT " by the kernel");
        actor.pid = 612;
        actor.comm = "nfsd";
        actor.uid = actor.euid = 0;
        check(&sample_hits, 0, WHAT " by kernel thread nfsd[612]");
        event.attribution = ATTRIBUTION_EXITED;
        actor = nobody;
        actor.pid = 4242;
        check(&sample_hits, 0, WHAT " by process 4242 (gone)");
}

/* What omit leaves out of the record must not come back in the line. */
static void test_omit(void **state)
{
        static const struct {
                uint64_t omit;
                const char *expected;
        } cases[] = {
                { FIELD_BIT(FIELD_COMM),
                  WHAT " by process 4242 as root, login alice, session-3.scope" },
                { FIELD_BIT(FIELD_PID), WHAT " by vipw as root, login alice, session-3.scope" },
                { FIELD_BIT(FIELD_PID) | FIELD_BIT(FIELD_COMM),
                  WHAT " by a process as root, login alice, session-3.scope" },
                { FIELD_BIT(FIELD_USER), WHAT " by vipw[4242] as uid 0, login alice, session-3.scope" },
                { FIELD_BIT(FIELD_LOGIN_USER),
                  WHAT " by vipw[4242] as root, login uid 1000, session-3.scope" },
                { FIELD_BIT(FIELD_LOGIN_USER) | FIELD_BIT(FIELD_LOGINUID),
                  WHAT " by vipw[4242] as root, session-3.scope" },
                { FIELD_BIT(FIELD_UNIT), WHAT " by vipw[4242] as root, login alice" },
        };

        reset();
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check(&sample_hits, cases[i].omit, cases[i].expected);
}

/* No name can forge a line, leave the encoding or move the cursor. */
static void test_hostile_bytes(void **state)
{
        static const struct {
                const char *path, *shown;
        } cases[] = {
                { "/a\nb", "/a\\nb" },           { "/a\tb", "/a\\tb" },
                { "/a\\nb", "/a\\\\nb" },        { "/\x1b[2J", "/\\x1b[2J" },
                { "/\xe9t\xe9", "/\\xe9t\\xe9" }, { "/\xc3\xa9t", "/\xc3\xa9t" },
                { "/\xe2\x80\xae" "fdp", "/\\xe2\\x80\\xae" "fdp" }, { "/\xc2\x9b", "/\\xc2\\x9b" },
                { "/\"=\"", "/\"=\"" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_strbuf_ struct strbuf expected = STRBUF_NULL;

                reset();
                event.path = (struct bytes){ cases[i].path, strlen(cases[i].path) };
                strbuf_addf(&expected, "etc: %s modified" WHO, cases[i].shown);
                check(&sample_hits, 0, strbuf_str(&expected));
                assert_true(utf8_valid(expected.data, expected.len));
        }
        reset();
        actor.comm = "x\n[1] as root";
        actor.unit = "a\nb.service";
        check(&sample_hits, 0, WHAT " by x\\n[1] as root[4242] as root, login alice, a\\nb.service");
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verbs),  cmocka_unit_test(test_names),
                cmocka_unit_test(test_states), cmocka_unit_test(test_who),
                cmocka_unit_test(test_omit),   cmocka_unit_test(test_hostile_bytes),
        };

        return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
