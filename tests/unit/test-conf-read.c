/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files are in force, on made-up machines below a temporary directory. */

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/conf_read.h"
#include "strbuf.h"

#define ETC "etc/fawatchd/rules.d/"
#define RUN "run/fawatchd/rules.d/"
#define USR "usr/lib/fawatchd/rules.d/"

enum kind { PLAIN, LINK, FIFO, DIRECTORY, FOREIGN };

struct node {                    /* something on the made-up machine */
        const char *path, *text; /* text of a file, target of a link */
        mode_t mode;             /* 0: 0640, directories 0750 */
        enum kind kind;
};

struct conf_case {
        const char *title;
        struct node nodes[6];
        const char *replace, *as; /* NULL: none; below the root */
        int result;
        const char *texts; /* "NAME=TEXT|", names below the root */
        const char *diag;  /* one finding a line, with the root cut out */
};

static char root[] = "/tmp/test-conf-read-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        /* never through a link: as root that would be the machine's own /dev/null */
        if (type == FTW_DNR)
                (void)chmod(path, 0700);
        return remove(path);
}

static void clear_root(void)
{
        char rules[128];

        snprintf(rules, sizeof(rules), "%s/%s", root, ETC);
        (void)chmod(rules, 0700);
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        assert_int_equal(mkdir(root, 0755), 0);
}

static void make_parents(const char *path)
{
        char copy[256];

        snprintf(copy, sizeof(copy), "%s", path);
        for (char *p = copy + strlen(root) + 1; (p = strchr(p, '/')); p++) {
                *p = '\0';
                (void)mkdir(copy, 0750);
                *p = '/';
        }
}

static void make_node(const struct node *n)
{
        char path[256];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", root, n->path);
        make_parents(path);
        switch (n->kind) {
        case LINK:
                assert_int_equal(symlink(n->text, path), 0);
                return;
        case FIFO:
                assert_int_equal(mkfifo(path, 0640), 0);
                return;
        case DIRECTORY:
                (void)mkdir(path, 0750);
                assert_int_equal(chmod(path, n->mode ? n->mode : 0750), 0);
                return;
        case PLAIN:
        case FOREIGN:
                f = fopen(path, "w");
                assert_non_null(f);
                fputs(n->text, f);
                assert_int_equal(fclose(f), 0);
                assert_int_equal(chmod(path, n->mode ? n->mode : 0640), 0);
                if (n->kind == FOREIGN)
                        assert_int_equal(chown(path, 65534, 65534), 0);
                return;
        }
}

/* A copy without the root's own path, so that a table can hold what is expected. */
static char *without_root(const char *text)
{
        struct strbuf out = STRBUF_NULL;
        const char *at;

        while ((at = strstr(text, root))) {
                strbuf_add(&out, text, (size_t)(at - text));
                text = at + strlen(root);
        }
        strbuf_adds(&out, text);
        return out.data ? strbuf_steal(&out) : strdup("");
}

static void check_result(const char *title, const struct conf_set *set, struct diag *diag, const char *texts,
                         const char *findings)
{
        _cleanup_strbuf_ struct strbuf got = STRBUF_NULL, told = STRBUF_NULL;

        for (size_t i = 0; i < set->n; i++) {
                assert_int_equal(strlen(set->texts[i].text), set->texts[i].len);
                strbuf_addf(&got, "%s=%s|", set->texts[i].name, set->texts[i].text);
        }
        diag_sort(diag);
        for (size_t i = 0; i < diag->n_entries; i++) {
                _cleanup_free_ char *line = diag_format(&diag->entries[i]);
                strbuf_addf(&told, "%s\n", line);
        }
        _cleanup_free_ char *short_got = without_root(strbuf_str(&got));
        _cleanup_free_ char *short_told = without_root(strbuf_str(&told));
        if (!streq(short_got, texts) || !streq(short_told, findings))
                print_error("%s: got '%s', told '%s'\n", title, short_got, short_told);
        assert_string_equal(short_got, texts);
        assert_string_equal(short_told, findings);
}

#define UNSAFE_FILE                                                                                          \
        "can be written by others than root, who could switch off what it watches: "                         \
        "chown root:root and chmod go-w it\n"
#define UNSAFE_DIRECTORY                                                                                     \
        "can be written by others than root, who could replace the files in it: "                            \
        "chown root:root and chmod go-w it\n"

static const struct conf_case rules_cases[] = {
        { .title = "nothing at all", .texts = "", .diag = "" },
        { .title = "the three places, by file name",
          .nodes = { { ETC "30-c.conf", "c" }, { RUN "20-b.conf", "b" }, { USR "10-a.conf", "a" } },
          .texts = "/usr/lib/fawatchd/rules.d/10-a.conf=a|/run/fawatchd/rules.d/20-b.conf=b|"
                   "/etc/fawatchd/rules.d/30-c.conf=c|",
          .diag = "" },
        { .title = "a later place replaces the name",
          .nodes = { { USR "a.conf", "usr" },
                     { RUN "a.conf", "run" },
                     { ETC "a.conf", "etc" },
                     { USR "b.conf", "usr" },
                     { RUN "b.conf", "run" } },
          .texts = "/etc/fawatchd/rules.d/a.conf=etc|/run/fawatchd/rules.d/b.conf=run|",
          .diag = "" },
        { .title = "a link to /dev/null masks",
          .nodes = { { USR "a.conf", "usr" },
                     { ETC "a.conf", "/dev/null", .kind = LINK },
                     { USR "b.conf", "b" } },
          .texts = "/usr/lib/fawatchd/rules.d/b.conf=b|",
          .diag = "" },
        { .title = "an earlier mask does not hold",
          .nodes = { { RUN "a.conf", "/dev/null", .kind = LINK }, { ETC "a.conf", "etc" } },
          .texts = "/etc/fawatchd/rules.d/a.conf=etc|",
          .diag = "" },
        { .title = "other names are not read",
          .nodes = { { ETC "a.conf~", "x" },
                     { ETC ".b.conf", "x" },
                     { ETC ".conf", "x" },
                     { ETC "README", "x" },
                     { ETC "c.conf.dpkg-new", "x" } },
          .texts = "",
          .diag = "" },
        { .title = "an empty file is a file",
          .nodes = { { ETC "a.conf", "" } },
          .texts = "/etc/fawatchd/rules.d/a.conf=|",
          .diag = "" },
        { .title = "a link is followed inside the image",
          .nodes = { { ETC "a.conf", "/srv/shared.conf", .kind = LINK }, { "srv/shared.conf", "shared" } },
          .texts = "/etc/fawatchd/rules.d/a.conf=shared|",
          .diag = "" },
        { .title = "a link cannot leave the image",
          .nodes = { { ETC "a.conf", "../../../../../../../../srv/shared.conf", .kind = LINK },
                     { "srv/shared.conf", "inside" } },
          .texts = "/etc/fawatchd/rules.d/a.conf=inside|",
          .diag = "" },
        { .title = "a link that leads nowhere",
          .nodes = { { ETC "a.conf", "/nowhere", .kind = LINK }, { ETC "b.conf", "b" } },
          .result = -EINVAL,
          .texts = "/etc/fawatchd/rules.d/b.conf=b|",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: cannot be read: No such file or directory\n" },
        { .title = "writable by the group",
          .nodes = { { ETC "a.conf", "a", .mode = 0660 }, { ETC "b.conf", "b" } },
          .result = -EINVAL,
          .texts = "/etc/fawatchd/rules.d/b.conf=b|",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: " UNSAFE_FILE },
        { .title = "writable by all",
          .nodes = { { ETC "a.conf", "a", .mode = 0646 } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: " UNSAFE_FILE },
        { .title = "readable by all is fine",
          .nodes = { { ETC "a.conf", "a", .mode = 0644 } },
          .texts = "/etc/fawatchd/rules.d/a.conf=a|",
          .diag = "" },
        { .title = "the target of a link is judged, not the link",
          .nodes = { { ETC "a.conf", "/srv/shared.conf", .kind = LINK },
                     { "srv/shared.conf", "s", .mode = 0666 } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: " UNSAFE_FILE },
        { .title = "a directory writable by all",
          .nodes = { { ETC "a.conf", "a" },
                     { "etc/fawatchd/rules.d", NULL, .mode = 0777, .kind = DIRECTORY },
                     { USR "b.conf", "b" } },
          .result = -EINVAL,
          .texts = "/usr/lib/fawatchd/rules.d/b.conf=b|",
          .diag = "/etc/fawatchd/rules.d: error: " UNSAFE_DIRECTORY },
        { .title = "the directory above it writable by all",
          .nodes = { { ETC "a.conf", "a" }, { "etc/fawatchd", NULL, .mode = 0777, .kind = DIRECTORY } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d: error: " UNSAFE_DIRECTORY },
        { .title = "a directory named as a file",
          .nodes = { { ETC "a.conf", NULL, .kind = DIRECTORY } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: is not a regular file\n" },
        { .title = "a FIFO does not hang",
          .nodes = { { ETC "a.conf", NULL, .kind = FIFO } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: is not a regular file\n" },
        { .title = "rules.d is a file",
          .nodes = { { "etc/fawatchd/rules.d", "x" } },
          .result = -EINVAL,
          .texts = "",
          .diag = "/etc/fawatchd/rules.d: error: cannot be read: Not a directory\n" },
        { .title = "a name that is not text",
          .nodes = { { ETC "a\n\xe9.conf", "a" } },
          .texts = "/etc/fawatchd/rules.d/a\\n\\xe9.conf=a|",
          .diag = "" },
        { .title = "several findings in one run",
          .nodes = { { ETC "a.conf", "/nowhere", .kind = LINK },
                     { ETC "b.conf", "b", .mode = 0666 },
                     { USR "c.conf", "c" } },
          .result = -EINVAL,
          .texts = "/usr/lib/fawatchd/rules.d/c.conf=c|",
          .diag = "/etc/fawatchd/rules.d/a.conf: error: cannot be read: No such file or directory\n"
                  "/etc/fawatchd/rules.d/b.conf: error: " UNSAFE_FILE },
        { .title = "a file in the place of its name",
          .replace = "home/b.conf",
          .as = "home/b.conf",
          .nodes = { { USR "a.conf", "a" },
                     { USR "b.conf", "b" },
                     { USR "c.conf", "c" },
                     { "home/b.conf", "new" } },
          .texts = "/usr/lib/fawatchd/rules.d/a.conf=a|/home/b.conf=new|/usr/lib/fawatchd/rules.d/c.conf=c|",
          .diag = "" },
        { .title = "a file of a new name",
          .replace = "home/x.conf",
          .as = "home/x.conf",
          .nodes = { { USR "a.conf", "a" }, { "home/x.conf", "new" } },
          .texts = "/usr/lib/fawatchd/rules.d/a.conf=a|/home/x.conf=new|",
          .diag = "" },
        { .title = "a file in the place of a masked one",
          .replace = "home/a.conf",
          .as = "home/a.conf",
          .nodes = { { ETC "a.conf", "/dev/null", .kind = LINK }, { "home/a.conf", "new" } },
          .texts = "/home/a.conf=new|",
          .diag = "" },
        { .title = "a copy as another path; its own mode does not matter",
          .replace = ETC ".a.conf.x",
          .as = ETC "a.conf",
          .nodes = { { ETC "a.conf", "old" }, { ETC ".a.conf.x", "new", .mode = 0666 } },
          .texts = "/etc/fawatchd/rules.d/a.conf=new|",
          .diag = "" },
        { .title = "a file that is not there",
          .replace = "home/a.conf",
          .as = "home/a.conf",
          .nodes = { { ETC "b.conf", "b" } },
          .result = -EINVAL,
          .texts = "/etc/fawatchd/rules.d/b.conf=b|",
          .diag = "/home/a.conf: error: cannot be read: No such file or directory\n" },
};

static const char *below_root(char *buffer, size_t size, const char *path)
{
        snprintf(buffer, size, "%s/%s", root, path);
        return buffer;
}

static void run_rules_case(const struct conf_case *c)
{
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        char replace[256], as[256];

        clear_root();
        for (size_t i = 0; i < ELEMENTSOF(c->nodes) && c->nodes[i].path; i++)
                make_node(&c->nodes[i]);
        int r = c->replace ? conf_read_rules_as(root, below_root(replace, sizeof(replace), c->replace),
                                                below_root(as, sizeof(as), c->as), &diag, &set)
                           : conf_read_rules(root, NULL, &diag, &set);
        check_result(c->title, &set, &diag, c->texts, c->diag);
        assert_int_equal(r, c->result);
}

static void test_rules(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(rules_cases); i++)
                run_rules_case(&rules_cases[i]);
}

#define CONF "etc/fawatchd/fawatchd.conf"

static const struct conf_case settings_cases[] = {
        { .title = "no file is no error", .texts = "", .diag = "" },
        { .title = "the file, then drop-ins by name, whatever their place",
          .nodes = { { CONF ".d/20.conf", "20" },
                     { "usr/lib/fawatchd/fawatchd.conf.d/10.conf", "10" },
                     { CONF, "main" } },
          .texts = "/etc/fawatchd/fawatchd.conf=main|/usr/lib/fawatchd/fawatchd.conf.d/10.conf=10|"
                   "/etc/fawatchd/fawatchd.conf.d/20.conf=20|",
          .diag = "" },
        { .title = "drop-ins alone",
          .nodes = { { "run/fawatchd/fawatchd.conf.d/a.conf", "a" } },
          .texts = "/run/fawatchd/fawatchd.conf.d/a.conf=a|",
          .diag = "" },
        { .title = "a masked drop-in",
          .nodes = { { CONF ".d/a.conf", "/dev/null", .kind = LINK },
                     { "usr/lib/fawatchd/fawatchd.conf.d/a.conf", "a" } },
          .texts = "",
          .diag = "" },
        { .title = "an unsafe file; its drop-ins are read all the same",
          .nodes = { { CONF, "main", .mode = 0666 }, { CONF ".d/a.conf", "a" } },
          .result = -EINVAL,
          .texts = "/etc/fawatchd/fawatchd.conf.d/a.conf=a|",
          .diag = "/etc/fawatchd/fawatchd.conf: error: " UNSAFE_FILE },
};

static void test_settings(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(settings_cases); i++) {
                const struct conf_case *c = &settings_cases[i];
                _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
                _cleanup_diag_ struct diag diag = DIAG_NULL;

                clear_root();
                for (size_t k = 0; k < ELEMENTSOF(c->nodes) && c->nodes[k].path; k++)
                        make_node(&c->nodes[k]);
                int r = conf_read_settings(root, &diag, &set);
                check_result(c->title, &set, &diag, c->texts, c->diag);
                assert_int_equal(r, c->result);
        }
}

/* A file of just the limit is read, one byte more is not. */
static void test_size(void **state)
{
        for (int extra = 0; extra <= 1; extra++) {
                _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                char path[256];

                clear_root();
                make_node(&(struct node){ ETC "big.conf", "# " });
                assert_int_equal(
                        truncate(below_root(path, sizeof(path), ETC "big.conf"), RULE_FILE_MAX_BYTES + extra),
                        0);
                assert_int_equal(conf_read_rules(root, NULL, &diag, &set), extra ? -EINVAL : 0);
                assert_int_equal(set.n, extra ? 0 : 1);
                if (!extra)
                        assert_int_equal(set.texts[0].len, RULE_FILE_MAX_BYTES);
                else
                        assert_string_equal(diag.entries[0].text,
                                            "is larger than 1 MiB: split it into several files");
        }
}

static void test_foreign_owner(void **state)
{
        const struct conf_case c = {
                .title = "owned by another",
                .nodes = { { ETC "a.conf", "a", .kind = FOREIGN }, { ETC "b.conf", "b" } },
                .result = -EINVAL,
                .texts = "/etc/fawatchd/rules.d/b.conf=b|",
                .diag = "/etc/fawatchd/rules.d/a.conf: error: " UNSAFE_FILE,
        };

        if (geteuid() != 0)
                skip(); /* only root gives files away */
        run_rules_case(&c);
}

static void test_unreadable(void **state)
{
        const struct conf_case file = {
                .title = "an unreadable file",
                .nodes = { { ETC "a.conf", "a", .mode = 0200 } },
                .result = -EINVAL,
                .texts = "",
                .diag = "/etc/fawatchd/rules.d/a.conf: error: cannot be read: Permission denied\n",
        };
        const struct conf_case directory = {
                .title = "an unreadable directory",
                .nodes = { { ETC "a.conf", "a" },
                           { "etc/fawatchd/rules.d", NULL, .mode = 0300, .kind = DIRECTORY } },
                .result = -EINVAL,
                .texts = "",
                .diag = "/etc/fawatchd/rules.d: error: cannot be read: Permission denied\n",
        };

        /* root reads everything: be somebody else meanwhile */
        clear_root();
        if (geteuid() == 0) {
                assert_int_equal(chown(root, 65534, 65534), 0);
                assert_int_equal(seteuid(65534), 0);
        }
        run_rules_case(&file);
        run_rules_case(&directory);
}

static int be_oneself(void **state)
{
        return seteuid(getuid());
}

static void test_one_file(void **state)
{
        _cleanup_conf_set_ struct conf_set safe = CONF_SET_NULL, unsafe = CONF_SET_NULL, none = CONF_SET_NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        char path[256];

        clear_root();
        make_node(&(struct node){ "my.rules", "text", .mode = 0666 });
        below_root(path, sizeof(path), "my.rules");
        assert_int_equal(conf_read_file(path, false, &diag, &unsafe), 0);
        check_result("any mode", &unsafe, &diag, "/my.rules=text|", "");
        assert_int_equal(conf_read_file(path, true, &diag, &safe), -EINVAL);
        check_result("a safe one", &safe, &diag, "", "/my.rules: error: " UNSAFE_FILE);
        diag_done(&diag);
        diag = DIAG_NULL;
        assert_int_equal(conf_read_file(below_root(path, sizeof(path), "none"), false, &diag, &none),
                         -EINVAL);
        check_result("none", &none, &diag, "", "/none: error: cannot be read: No such file or directory\n");
}

static void test_no_image(void **state)
{
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        char path[256];

        clear_root();
        assert_int_equal(conf_read_rules(below_root(path, sizeof(path), "image"), NULL, &diag, &set),
                         -EINVAL);
        check_result("no image", &set, &diag, "",
                     "/image: error: cannot be read: No such file or directory\n");
}

static int setup(void **state)
{
        umask(022);
        return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
        nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        return 0;
}

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_settings),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_foreign_owner),
                cmocka_unit_test(test_one_file),
                cmocka_unit_test(test_no_image),
                cmocka_unit_test_teardown(test_unreadable, be_oneself),
        };
        return cmocka_run_group_tests(tests, setup, teardown);
}
