/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include "record_fields.h"
#include "sample-event.h"

static struct event event;
static struct actor actor;
static struct settings settings;
static struct record_context context;

static int reset(void **state)
{
        event = sample_event;
        actor = sample_actor;
        event.actor = &actor;
        settings = (struct settings){ .facility = FACILITY_DAEMON, .unit_log = true };
        context = sample_context;
        context.settings = &settings;
        return 0;
}

static int make(const struct match_hits *hits, uint64_t now, struct strbuf *out)
{
        strbuf_reset(out);
        return record_event(&context, &event, hits, now, out);
}

/* Every value of a field, joined by "|"; "(none)" when it is absent. */
static const char *values(const struct strbuf *record, const char *name, struct strbuf *out)
{
        struct record_cursor c = { record->data, record->len, 0 };
        struct bytes field, value;
        bool found = false;
        int r;

        strbuf_reset(out);
        while ((r = record_next(&c, &field, &value)) > 0) {
                if (field.len != strlen(name) || memcmp(field.p, name, field.len) != 0)
                        continue;
                if (found)
                        strbuf_addc(out, '|');
                strbuf_add(out, value.p, value.len);
                found = true;
        }
        assert_int_equal(r, 0);
        return found ? strbuf_str(out) : "(none)";
}

static void check_field(const struct strbuf *record, const char *name, const char *expected)
{
        _cleanup_strbuf_ struct strbuf found = STRBUF_NULL;

        assert_string_equal(values(record, name, &found), expected);
}

#define HEAD(message_id, priority)                                                                \
        "MESSAGE_ID=" message_id "\nPRIORITY=" priority                                           \
        "\nSYSLOG_IDENTIFIER=fawatchd\nSYSLOG_FACILITY=3\n"

static void test_whole(void **state)
{
        static const char expected[] =
                "MESSAGE=etc,passwd: /etc/passwd modified by vipw[4242] as root, login alice,"
                " session-3.scope\n"
                HEAD("43858599dc1e43288996b65322a61bba", "4")
                "FAWATCH_EVENT=modify\nFAWATCH_EVENT=close_write\nFAWATCH_EVENTS=modify,close_write\n"
                "FAWATCH_RULE=etc\nFAWATCH_RULE=passwd\nFAWATCH_RULES=etc,passwd\n"
                "FAWATCH_TAG=pci-dss:11.5.2\nFAWATCH_TAG=deface\nFAWATCH_TAG=night\n"
                "FAWATCH_PATH=/etc/passwd\n"
                "FAWATCH_UNDER=/etc/passwd\nFAWATCH_UNDER=/etc\n"
                "FAWATCH_TYPE=file\nFAWATCH_DEVICE=8:1\nFAWATCH_INODE=1234\nFAWATCH_FSTYPE=ext4\n"
                "FAWATCH_MODE=0644\nFAWATCH_OWNER=root\nFAWATCH_OWNER_GROUP=shadow\nFAWATCH_SIZE=1820\n"
                "FAWATCH_PID=4242\nFAWATCH_COMM=vipw\nFAWATCH_EXE=/usr/sbin/vipw\nFAWATCH_CMDLINE=vipw -s\n"
                "FAWATCH_UID=1000\nFAWATCH_EUID=0\nFAWATCH_GID=1000\nFAWATCH_USER=root\n"
                "FAWATCH_LOGINUID=1000\nFAWATCH_LOGIN_USER=alice\nFAWATCH_SESSION=3\nFAWATCH_TTY=pts/1\n"
                "FAWATCH_PPID=4000\nFAWATCH_PARENT_COMM=bash\n"
                "FAWATCH_ANCESTRY=bash(4000) \xe2\x86\x90 sshd(812)\n"
                "FAWATCH_UNIT=session-3.scope\nFAWATCH_SLICE=user-1000.slice\n"
                "FAWATCH_CGROUP=/user.slice/user-1000.slice/session-3.scope\n"
                "FAWATCH_ATTRIBUTION=verified\n"
                "FAWATCH_STREAM=0123456789abcdef0123456789abcdef\nFAWATCH_SEQ=17\nFAWATCH_GENERATION=3\n"
                "OBJECT_SYSTEMD_UNIT=session-3.scope\n";
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        assert_int_equal(make(&sample_two_hits, SAMPLE_NOW, &out), 4);
        assert_string_equal(strbuf_str(&out), expected);
        assert_int_equal(make(&sample_hits, SAMPLE_NOW, &out), 5);
        check_field(&out, "FAWATCH_RULE", "etc");
        check_field(&out, "FAWATCH_TAG", "pci-dss:11.5.2|deface");
}

/* What is not known is absent: no empty value, no zero that means nothing. */
static void test_bare(void **state)
{
        static const char expected[] =
                "MESSAGE=etc: passwd (its directory is gone) deleted by an unknown process"
                " (found by a scan)\n"
                HEAD("0c3e20a86c6a471f836ab659e9d8ead3", "5")
                "FAWATCH_EVENT=delete\nFAWATCH_EVENTS=delete\n"
                "FAWATCH_RULE=etc\nFAWATCH_RULES=etc\nFAWATCH_TAG=pci-dss:11.5.2\nFAWATCH_TAG=deface\n"
                "FAWATCH_NAME=passwd\nFAWATCH_TYPE=directory\nFAWATCH_DEVICE=0:45\nFAWATCH_FSTYPE=tmpfs\n"
                "FAWATCH_ATTRIBUTION=unknown\nFAWATCH_ORIGIN=scan\n"
                "FAWATCH_STREAM=0123456789abcdef0123456789abcdef\nFAWATCH_SEQ=17\nFAWATCH_GENERATION=3\n";
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        actor = (struct actor){ .uid = ID_UNKNOWN, .euid = ID_UNKNOWN, .gid = ID_UNKNOWN, .egid = ID_UNKNOWN,
                                .loginuid = ID_UNKNOWN };
        event = (struct event){
                .events = EV_DELETE | EV_DELETE_SELF,
                .is_dir = true,
                .name = BYTES("passwd"),
                .fstype = "tmpfs",
                .sdev_minor = 45,
                .actor = &actor,
                .origin = ORIGIN_SCAN,
                .read_realtime_usec = sample_event.read_realtime_usec,
        };
        context.settings = NULL;
        assert_int_equal(make(&sample_hits, SAMPLE_NOW, &out), 5);
        assert_string_equal(strbuf_str(&out), expected);
}

static void test_kind(void **state)
{
        static const struct {
                uint32_t events;
                enum record_kind kind;
                const char *shown;
        } cases[] = {
                { EV_CREATE | EV_DELETE | EV_RENAME | EV_ATTRIB, RECORD_DELETE,
                  "create,delete,rename,attrib" },
                { EV_DELETE_SELF | EV_ATTRIB, RECORD_DELETE, "attrib,delete_self" },
                { EV_DELETE | EV_DELETE_SELF, RECORD_DELETE, "delete" },
                { EV_CREATE | EV_RENAME, RECORD_RENAME, "create,rename" },
                { EV_RENAME | EV_MOVE_SELF, RECORD_RENAME, "rename" },
                { EV_MOVE_SELF, RECORD_RENAME, "move_self" },
                { EV_MOVED_FROM, RECORD_RENAME, "rename" },
                { EV_MOVED_TO | EV_MODIFY, RECORD_RENAME, "rename,modify" },
                { EV_CREATE | EV_MODIFY | EV_CLOSE_WRITE, RECORD_CREATE, "create,modify,close_write" },
                { EV_REPLACED | EV_CHANGED, RECORD_REPLACED, "replaced,changed" },
                { EV_CHANGED | EV_ATTRIB, RECORD_CHANGED, "attrib,changed" },
                { EV_ATTRIB | EV_MODIFY, RECORD_ATTRIB, "modify,attrib" },
                { EV_MODIFY | EV_OPEN, RECORD_CONTENT, "modify,open" },
                { EV_CLOSE_WRITE, RECORD_CONTENT, "close_write" },
                { EV_FS_ERROR | EV_OPEN_EXEC, RECORD_FS_ERROR, "open_exec,fs_error" },
                { EV_OPEN | EV_OPEN_EXEC | EV_ACCESS, RECORD_EXEC, "access,open,open_exec" },
                { EV_ACCESS, RECORD_READ, "access" },
                { EV_OPEN, RECORD_READ, "open" },
                { EV_CLOSE_NOWRITE, RECORD_READ, "close_nowrite" },
        };
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(record_kind_of(cases[i].events), cases[i].kind);
                event.events = cases[i].events;
                assert_true(make(&sample_hits, SAMPLE_NOW, &out) >= 0);
                check_field(&out, "FAWATCH_EVENTS", cases[i].shown);
                check_field(&out, "MESSAGE_ID", record_kind_message_id(cases[i].kind));
        }
}

static void test_under(void **state)
{
        static const struct {
                const char *path, *old_path, *expected;
        } cases[] = {
                { "/", NULL, "(none)" },
                { "/etc", NULL, "/etc" },
                { "/a/b/c", NULL, "/a/b/c|/a|/a/b" },
                { "/a/b/c", "/a/b/d", "/a/b/c|/a/b/d|/a|/a/b" },
                { "/a/b/c", "/x/y/z", "/a/b/c|/x/y/z|/a|/x|/a/b|/x/y" },
                { "/a/b/c", "/z", "/a/b/c|/z|/a|/a/b" },
                { "/a/b", "/a/b", "/a/b|/a" },
                { "/ab/c", "/a/c", "/ab/c|/a/c|/ab|/a" },
                { NULL, "/a/b", "/a/b|/a" },
        };
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                event.path = (struct bytes){ cases[i].path, cases[i].path ? strlen(cases[i].path) : 0 };
                event.old_path = (struct bytes){cases[i].old_path,
                                                cases[i].old_path ? strlen(cases[i].old_path) : 0};
                assert_true(make(&sample_hits, SAMPLE_NOW, &out) >= 0);
                check_field(&out, "FAWATCH_UNDER", cases[i].expected);
        }
}

/* At most 32 values, and it is the deepest directories that are left out. */
static void test_under_deep(void **state)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL, path = STRBUF_NULL, old = STRBUF_NULL,
                                       found = STRBUF_NULL;
        size_t n = 1;

        for (unsigned i = 0; i < 50; i++) {
                strbuf_addf(&path, "/p%u", i);
                strbuf_addf(&old, "/o%u", i);
        }
        event.path = (struct bytes){ path.data, path.len };
        event.old_path = (struct bytes){ old.data, old.len };
        assert_true(make(&sample_hits, SAMPLE_NOW, &out) >= 0);
        for (const char *p = values(&out, "FAWATCH_UNDER", &found); *p; p++)
                n += *p == '|';
        assert_int_equal(n, 32);
        assert_non_null(strstr(strbuf_str(&found), "|/p0|/o0|/p0/p1|/o0/o1|"));
}

static void test_actor(void **state)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        actor.euid = actor.uid;
        actor.exe_deleted = true;
        actor.user_unit = "app.service";
        actor.container = "0123456789ab";
        event.attribution = ATTRIBUTION_TRACKED;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_UID", "1000");
        check_field(&out, "FAWATCH_EUID", "(none)"); /* only when it differs */
        check_field(&out, "FAWATCH_EXE", "/usr/sbin/vipw");
        check_field(&out, "FAWATCH_EXE_STATE", "deleted");
        check_field(&out, "FAWATCH_USER_UNIT", "app.service");
        check_field(&out, "FAWATCH_CONTAINER", "0123456789ab");
        check_field(&out, "FAWATCH_ATTRIBUTION", "tracked");
        check_field(&out, "OBJECT_SYSTEMD_UNIT", "session-3.scope");

        /* a kernel thread acts for somebody else: no uid is its own */
        event.attribution = ATTRIBUTION_KERNEL;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_UID", "(none)");
        check_field(&out, "FAWATCH_GID", "(none)");
        check_field(&out, "FAWATCH_USER", "(none)");
        check_field(&out, "FAWATCH_LOGINUID", "(none)");
        check_field(&out, "FAWATCH_COMM", "vipw");
        check_field(&out, "OBJECT_SYSTEMD_UNIT", "(none)");
}

static void test_unit_log(void **state)
{
        static const struct {
                enum attribution attribution;
                bool unit_log;
                const char *expected;
        } cases[] = {
                { ATTRIBUTION_VERIFIED, true, "session-3.scope" },
                { ATTRIBUTION_PROCESS, true, "session-3.scope" },
                { ATTRIBUTION_TRACKED, true, "session-3.scope" },
                { ATTRIBUTION_EXITED, true, "(none)" },
                { ATTRIBUTION_FOREIGN, true, "(none)" },
                { ATTRIBUTION_UNKNOWN, true, "(none)" },
                { ATTRIBUTION_VERIFIED, false, "(none)" },
        };
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                event.attribution = cases[i].attribution;
                settings.unit_log = cases[i].unit_log;
                make(&sample_hits, SAMPLE_NOW, &out);
                check_field(&out, "OBJECT_SYSTEMD_UNIT", cases[i].expected);
                check_field(&out, "FAWATCH_ATTRIBUTION", attribution_name(cases[i].attribution));
        }
}

static void test_object(void **state)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        event.object.mode = 0104755;
        event.object.owner = event.object.owner_group = NULL;
        event.path_state = PATH_HIDDEN;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_MODE", "4755");
        check_field(&out, "FAWATCH_OWNER", "0");
        check_field(&out, "FAWATCH_OWNER_GROUP", "42");
        check_field(&out, "FAWATCH_PATH_STATE", "hidden");
        check_field(&out, "FAWATCH_SOURCE", "(none)");

        /* its directories are not those of the same names here */
        event.path_state = PATH_INSIDE;
        event.source = "/dev/sda1";
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_PATH_STATE", "inside");
        check_field(&out, "FAWATCH_SOURCE", "/dev/sda1");
        check_field(&out, "FAWATCH_PATH", "/etc/passwd");
        check_field(&out, "FAWATCH_UNDER", "(none)");
        event.path_state = PATH_NORMAL;
        event.source = NULL;

        event.object.type = TYPE_DIRECTORY;
        event.object.mode = 041777;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_TYPE", "directory");
        check_field(&out, "FAWATCH_MODE", "1777");
        check_field(&out, "FAWATCH_SIZE", "(none)");

        event.events = EV_REPLACED;
        event.cause = BYTES("/etc/alternatives");
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_CAUSE", "/etc/alternatives");
        check_field(&out, "FAWATCH_ERRNO", "(none)");

        event.events = EV_FS_ERROR;
        event.fs_errno = EUCLEAN;
        event.fs_error_count = 3;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_ERRNO", "117");
        check_field(&out, "FAWATCH_ERROR_COUNT", "3");
}

/* A name may hold any byte: it stays itself, and can end no field. */
static void test_any_byte(void **state)
{
        static const char path[] = "/a\nPRIORITY=0\n\xff\x01=\\\"";
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        event.path = BYTES(path);
        actor.comm = "x\nFAWATCH_UID=0";
        assert_int_equal(make(&sample_hits, SAMPLE_NOW, &out), 5);
        check_field(&out, "FAWATCH_PATH", path);
        check_field(&out, "FAWATCH_COMM", "x\nFAWATCH_UID=0");
        check_field(&out, "PRIORITY", "5");
        check_field(&out, "FAWATCH_UID", "1000");
        check_field(&out, "MESSAGE",
                    "etc: /a\\nPRIORITY=0\\n\\xff\\x01=\\\\\" modified by x\\nFAWATCH_UID=0[4242]"
                    " as root, login alice, session-3.scope");
        assert_non_null(memmem(out.data, out.len, "FAWATCH_PATH\n\x13\0\0\0\0\0\0\0/a\nPRIORITY", 32));
}

static void test_omit(void **state)
{
        static const char *const omit[] = { "cmdline", "under", "tag", "unit", "nonsense",
                                            "path", "seq", "events" };
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        settings.omit = (struct strings){ omit, ELEMENTSOF(omit) };
        settings.facility = FACILITY_AUTHPRIV;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_CMDLINE", "(none)");
        check_field(&out, "FAWATCH_UNDER", "(none)");
        check_field(&out, "FAWATCH_TAG", "(none)");
        check_field(&out, "FAWATCH_UNIT", "(none)");
        check_field(&out, "OBJECT_SYSTEMD_UNIT", "(none)"); /* it is the same knowledge */
        check_field(&out, "MESSAGE", "etc: /etc/passwd modified by vipw[4242] as root, login alice");
        /* never left out */
        check_field(&out, "FAWATCH_PATH", "/etc/passwd");
        check_field(&out, "FAWATCH_SEQ", "17");
        check_field(&out, "FAWATCH_EVENTS", "modify,close_write");
        check_field(&out, "SYSLOG_FACILITY", "10");
}

static void test_coalesced(void **state)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        event.count = 2;
        event.first_usec = 11;
        event.last_usec = 1000011;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_COUNT", "2");
        check_field(&out, "FAWATCH_FIRST_USEC", "11");
        check_field(&out, "FAWATCH_LAST_USEC", "1000011");
        event.count = 1;
        make(&sample_hits, SAMPLE_NOW, &out);
        check_field(&out, "FAWATCH_COUNT", "(none)");
        check_field(&out, "FAWATCH_FIRST_USEC", "(none)");
}

/* The time is told where the journal's own would be wrong by more than a second. */
static void test_late(void **state)
{
        const uint64_t read = sample_event.read_realtime_usec;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        size_t whole;

        make(&sample_hits, read + USEC_PER_SEC, &out);
        check_field(&out, "FAWATCH_REALTIME_USEC", "(none)");
        assert_int_equal(record_sent_length(out.data, out.len, UINT64_MAX), out.len);
        whole = out.len;
        make(&sample_hits, read - 5 * USEC_PER_SEC, &out); /* the clock was set back */
        check_field(&out, "FAWATCH_REALTIME_USEC", "(none)");
        make(&sample_hits, read + USEC_PER_SEC + 1, &out);
        check_field(&out, "FAWATCH_REALTIME_USEC", "1700000000000000");

        make(&sample_hits, UINT64_MAX, &out);
        assert_int_equal(out.len, whole + strlen("FAWATCH_REALTIME_USEC=1700000000000000\n"));
        assert_int_equal(record_sent_length(out.data, out.len, read), whole);
        assert_int_equal(record_sent_length(out.data, out.len, read + USEC_PER_SEC), whole);
        assert_int_equal(record_sent_length(out.data, out.len, read + USEC_PER_SEC + 1), out.len);
        assert_int_equal(record_sent_length(out.data, out.len, 0), whole);
        assert_int_equal(record_sent_length("", 0, 0), 0);
        assert_int_equal(record_sent_length("A=1\n", 4, 0), 4);
        assert_int_equal(record_sent_length("123\n", 4, 0), 4);
}

static void test_note(void **state)
{
        static const char expected[] =
                "MESSAGE=rules refused: a\\nb\n" HEAD("0e784517552546de9289cfd4c9fd8933", "3")
                "DOCUMENTATION=man:fawatchd.fields(7)\n"
                "FAWATCH_STREAM=0123456789abcdef0123456789abcdef\nFAWATCH_SEQ=17\nFAWATCH_GENERATION=3\n"
                "CONFIG_FILE=/etc/x.conf\nCONFIG_LINE=12\n"
                "FAWATCH_ERROR\n\x03\0\0\0\0\0\0\0a\nb\n"
                "FAWATCH_REALTIME_USEC=1700000000000000\n";
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        record_begin(&context, RECORD_RULES_REFUSED, 3, "rules refused: a\nb", &out);
        record_fields(&out, "CONFIG_FILE", "/etc/x.conf");
        record_fieldu(&out, "CONFIG_LINE", 12);
        record_fields(&out, "FAWATCH_WARNING", NULL);
        record_field(&out, "FAWATCH_ERROR", "a\nb", 3);
        record_end(1700000000000000, &out);
        assert_int_equal(out.len, sizeof(expected) - 1);
        assert_memory_equal(out.data, expected, out.len);
}

static void test_next_bad(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
        } cases[] = {
#define C(text) { text, sizeof(text) - 1 }
                C("A=1"),
                C("=1\n"),
                C("\n"),
                C("A\n"),
                C("A\n\x01\0\0\0\0\0\0\0x"),
                C("A\n\x02\0\0\0\0\0\0\0x\n"),
                C("A\n\xff\xff\xff\xff\xff\xff\xff\xffx\n"),
                C("A\n\x01\0\0\0\0\0\0\0xy"),
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct record_cursor c = { cases[i].bytes, cases[i].len, 0 };
                struct bytes name, value;

                assert_int_equal(record_next(&c, &name, &value), -EBADMSG);
        }
}

static void test_table(void **state)
{
        size_t n, omittable = 0;
        const struct record_field_info *table = record_field_table(&n);
        static const char *const essential[] = { "EVENT", "EVENTS", "RULE", "RULES", "PATH", "STREAM", "SEQ",
                                                 "ATTRIBUTION", "GENERATION", "REALTIME_USEC" };

        assert_int_equal(n, N_RECORD_FIELDS);
        for (size_t i = 0; i < n; i++) {
                assert_memory_equal(table[i].name, "FAWATCH_", 8);
                assert_true(strlen(table[i].name) <= 64); /* journald's limit */
                omittable += table[i].may_omit;
                for (size_t k = 0; k < ELEMENTSOF(essential); k++)
                        if (streq(table[i].name + 8, essential[k]))
                                assert_false(table[i].may_omit);
        }
        assert_int_equal(omittable, FIELD_REALTIME_USEC + 1 - ELEMENTSOF(essential));
        assert_string_equal(record_kind_name(RECORD_RULES_LOADED), "rules_loaded");
        for (size_t i = 0; i < N_RECORD_KINDS; i++)
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(record_kind_message_id(i), record_kind_message_id(k));
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
#define T(test) cmocka_unit_test_setup(test, reset)
        const struct CMUnitTest tests[] = {
                T(test_whole), T(test_bare),      T(test_kind),   T(test_under),    T(test_under_deep),
                T(test_actor), T(test_unit_log),  T(test_object), T(test_any_byte), T(test_omit),
                T(test_late),  T(test_coalesced), T(test_note),   T(test_next_bad), T(test_table),
        };

        return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
