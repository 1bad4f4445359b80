/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record.h"
#include "sample-event.h"

static void check(const char *record, size_t len, uint64_t now, const char *expected)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        assert_int_equal(record_json(record, len, now, &out), 0);
        assert_string_equal(strbuf_str(&out), expected);
}

static void test_whole(void **state)
{
        _cleanup_strbuf_ struct strbuf record = STRBUF_NULL;

        assert_int_equal(record_event(&sample_context, &sample_event, &sample_two_hits, SAMPLE_NOW, &record),
                         4);
        check(record.data, record.len, SAMPLE_NOW,
              "{\"time\":\"2023-11-14T22:13:20.500000Z\","
              "\"message\":\"etc,passwd: /etc/passwd modified by vipw[4242] as root, login alice, "
              "session-3.scope\","
              "\"message_id\":\"43858599dc1e43288996b65322a61bba\",\"priority\":4,"
              "\"syslog_identifier\":\"fawatchd\",\"syslog_facility\":3,"
              "\"event\":[\"modify\",\"close_write\"],\"events\":\"modify,close_write\","
              "\"rule\":[\"etc\",\"passwd\"],\"rules\":\"etc,passwd\","
              "\"tag\":[\"pci-dss:11.5.2\",\"deface\",\"night\"],"
              "\"path\":\"/etc/passwd\",\"under\":[\"/etc/passwd\",\"/etc\"],"
              "\"type\":\"file\",\"device\":\"8:1\",\"inode\":1234,\"fstype\":\"ext4\",\"mode\":\"0644\","
              "\"owner\":\"root\",\"owner_group\":\"shadow\",\"size\":1820,"
              "\"pid\":4242,\"comm\":\"vipw\",\"exe\":\"/usr/sbin/vipw\",\"cmdline\":\"vipw -s\","
              "\"uid\":1000,\"euid\":0,\"gid\":1000,\"user\":\"root\",\"loginuid\":1000,\"login_user\":"
              "\"alice\","
              "\"session\":\"3\",\"tty\":\"pts/1\",\"ppid\":4000,\"parent_comm\":\"bash\","
              "\"ancestry\":\"bash(4000) \xe2\x86\x90 sshd(812)\",\"unit\":\"session-3.scope\","
              "\"slice\":\"user-1000.slice\",\"cgroup\":\"/user.slice/user-1000.slice/session-3.scope\","
              "\"attribution\":\"verified\",\"stream\":\"0123456789abcdef0123456789abcdef\",\"seq\":17,"
              "\"generation\":3,\"object_systemd_unit\":\"session-3.scope\"}\n");
}

static void test_forms(void **state)
{
#define T0 "{\"time\":\"1970-01-01T00:00:00.000000Z\""
        static const struct {
                const char *record;
                size_t len;
                const char *expected;
        } cases[] = {
#define C(text) text, sizeof(text) - 1
                { C(""), T0 "}\n" },
                /* always a list */
                { C("FAWATCH_EVENT=open\n"), T0 ",\"event\":[\"open\"]}\n" },
                { C("FAWATCH_RULE=a\nFAWATCH_SEQ=1\nFAWATCH_RULE=b\n"),
                  T0 ",\"rule\":[\"a\",\"b\"],\"seq\":1}\n" },
                /* a list because it repeats */
                { C("NOTE=a\nX=1\nNOTE=b\nNOTE=a\n"),
                  T0 ",\"note\":[\"a\",\"b\",\"a\"],\"x\":\"1\"}\n" },
                /* programs iterate over these of every event */
                { C("FAWATCH_ATTRIBUTION=unknown\n"),
                  T0 ",\"attribution\":\"unknown\",\"tag\":[],\"under\":[]}\n" },
                /* a number only where it is one */
                { C("FAWATCH_PID=0\nFAWATCH_UID=007\nFAWATCH_GID=\nFAWATCH_SIZE="
                   "18446744073709551615\n"),
                  T0 ",\"pid\":0,\"uid\":\"007\",\"gid\":\"\",\"size\":18446744073709551615}\n" },
                { C("FAWATCH_SEQ=-1\nFAWATCH_MODE=0644\nPRIORITY=5\n"),
                  T0 ",\"seq\":\"-1\",\"mode\":\"0644\",\"priority\":5}\n" },
                /* any bytes */
                { C("FAWATCH_PATH\n\x03\0\0\0\0\0\0\0a\nb\n"), T0 ",\"path\":\"a\\nb\"}\n" },
                { C("FAWATCH_PATH=/\xe9\n"),
                  T0 ",\"path\":\"/\xef\xbf\xbd\",\"path_raw\":[47,233]}\n" },
                { C("FAWATCH_UNDER=/\xe9\nFAWATCH_UNDER=/\n"),
                  T0 ",\"under\":[\"/\xef\xbf\xbd\",\"/\"],\"under_raw\":[[47,233],null]}\n" },
                { C("FAWATCH_COMM=say \"\\\"\n"), T0 ",\"comm\":\"say \\\"\\\\\\\"\"}\n" },
                { C("FAWATCH_=x\n"), T0 ",\"fawatch_\":\"x\"}\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check(cases[i].record, cases[i].len, 0, cases[i].expected);
}

static void test_time(void **state)
{
        static const struct {
                uint64_t usec;
                const char *expected;
        } cases[] = {
                { 0, "{\"time\":\"1970-01-01T00:00:00.000000Z\"}\n" },
                { UINT64_C(951782399999999), "{\"time\":\"2000-02-28T23:59:59.999999Z\"}\n" },
                { UINT64_C(951782400000000), "{\"time\":\"2000-02-29T00:00:00.000000Z\"}\n" },
                { UINT64_C(951868800000000), "{\"time\":\"2000-03-01T00:00:00.000000Z\"}\n" },
                { UINT64_C(1735689599000001), "{\"time\":\"2024-12-31T23:59:59.000001Z\"}\n" },
                { UINT64_C(4107542400000000), "{\"time\":\"2100-03-01T00:00:00.000000Z\"}\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check("", 0, cases[i].usec, cases[i].expected);
        /* what the record says of its time is better than when it is printed */
        check("FAWATCH_REALTIME_USEC=951782400000000\n", 38, 5,
              "{\"time\":\"2000-02-29T00:00:00.000000Z\",\"realtime_usec\":951782400000000}\n");
}

static void test_bad(void **state)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        assert_int_equal(record_json("A=1\nB", 5, 0, &out), -EBADMSG);
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole), cmocka_unit_test(test_forms), cmocka_unit_test(test_time),
                cmocka_unit_test(test_bad),
        };

        return cmocka_run_group_tests_name("record-json", tests, NULL, NULL);
}
