/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdio.h>

#include "pattern.h"

struct path_case {
        const char *pattern, *path;
        bool is_dir, matches;
};

#define FILE_ false
#define DIR_ true

static const struct path_case path_cases[] = {
        /* a name, at any depth */
        { ".htaccess", ".htaccess", FILE_, true },
        { ".htaccess", "a/b/.htaccess", FILE_, true },
        { ".htaccess", "a/b/x.htaccess", FILE_, false },
        { ".htaccess", ".htaccess2", FILE_, false },
        { ".ssh", "alice/.ssh/id_rsa", FILE_, true }, /* a directory takes in what is below */
        { ".ssh", "alice/.ssh", DIR_, true },
        { ".ssh", "alice/.sshd", DIR_, false },
        { "a", "", DIR_, false },
        /* an extension */
        { "*.php", "index.php", FILE_, true },
        { "*.php", ".php", FILE_, true },
        { "*.php", "a/b/index.php", FILE_, true },
        { "*.php", "index.php5", FILE_, false },
        { "*.php", "php", FILE_, false },
        { "*.php", "x.php/readme", FILE_, true },
        { "*.tar.gz", "a.tar.gz", FILE_, true },
        { "*.tar.gz", "a.gz", FILE_, false },
        /* wildcards stay within a name and take a leading dot */
        { "*.swp", ".file.swp", FILE_, true },
        { "*~", "a/.x~", FILE_, true },
        { ".#*", ".#lock", FILE_, true },
        { ".#*", "#lock", FILE_, false },
        { "?", "a", FILE_, true },
        { "?", "ab", FILE_, false },
        { "?", "\xc3\xa9", FILE_, true }, /* one character of two bytes */
        { "??", "\xc3\xa9", FILE_, false },
        { "?", "\xe9", FILE_, true }, /* a byte that is not UTF-8 */
        { "x?y", "x\xe2\x82\xacy", FILE_, true },
        { "*", "anything", FILE_, true },
        { "**", "any/thing", FILE_, true },
        { "a*b*c", "axxbyyc", FILE_, true },
        { "a*b*c", "axxbyycx", FILE_, false },
        { "a*b*c", "abbcbc", FILE_, true },
        { "a*b", "a/b", FILE_, false },
        { "*.dpkg-*", "x.dpkg-new", FILE_, true },
        { "x.*", "x.\n", FILE_, true }, /* a newline is a byte as any other */
        { "x", "x\n", FILE_, false },
        { "x?", "x", FILE_, false },
        /* sets */
        { "[abc]x", "bx", FILE_, true },
        { "[abc]x", "dx", FILE_, false },
        { "[!abc]x", "dx", FILE_, true },
        { "[!abc]x", "ax", FILE_, false },
        { "[^abc]x", "ax", FILE_, false },
        { "[a-f0-9]", "7", FILE_, true },
        { "[a-f0-9]", "g", FILE_, false },
        { "[]a]", "]", FILE_, true },
        { "[!]a]", "]", FILE_, false },
        { "[a-]", "-", FILE_, true },
        { "[-a]", "-", FILE_, true },
        { "[[:digit:]]x", "5x", FILE_, true },
        { "[[:digit:]]x", "ax", FILE_, false },
        { "[![:digit:]]x", "ax", FILE_, true },
        { "[\\]]", "]", FILE_, true },
        { "[\\\\]", "\\", FILE_, true },
        { "[{}]", "{", FILE_, true },
        { "[*?]", "*", FILE_, true },
        { "[*?]", "a", FILE_, false },
        { "[\xc3\xa4\xc3\xb6]x", "\xc3\xb6x", FILE_, true },
        { "[\xc3\xa4\xc3\xb6]x", "\xc3\xbcx", FILE_, false },
        { "[a\xc3\xa4]x", "ax", FILE_, true },
        { "[!\xc3\xa4]x", "\xc3\xbcx", FILE_, true },
        { "[!\xc3\xa4]x", "\xc3\xa4x", FILE_, false },
        { "x/a[+-9]b", "x/a/b", FILE_, false }, /* the range holds a slash and does not match it */
        { "a[+-9]b", "a0b", FILE_, true },
        { "a[!x]b/c", "a/b/c", FILE_, false },
        /* escapes */
        { "\\*", "*", FILE_, true },
        { "\\*", "a", FILE_, false },
        { "\\!x", "!x", FILE_, true },
        { "\\{a\\}", "{a}", FILE_, true },
        { "*\\.c", "x.c", FILE_, true },
        { "a\\\\b", "a\\b", FILE_, true },
        { "a\\b", "ab", FILE_, true },
        { "x!", "x!", FILE_, true },
        { "#x", "#x", FILE_, true },
        { "a b ", "a b ", FILE_, true },
        { "\xe9*", "\xe9t\xe9", FILE_, true },
        { "a.c", "abc", FILE_, false }, /* nothing of a regular expression has a meaning */
        { "a+(b)|$^", "a+(b)|$^", FILE_, true },
        /* directories only */
        { "build/", "build", DIR_, true },
        { "build/", "build", FILE_, false },
        { "build/", "a/build/x", FILE_, true },
        { "*.d/", "x.d", FILE_, false },
        { "*.d/", "x.d/y", FILE_, true },
        /* with a slash: from the beginning */
        { "/TODO", "TODO", FILE_, true },
        { "/TODO", "a/TODO", FILE_, false },
        { "/a/", "a", DIR_, true },
        { "/a/", "a", FILE_, false },
        { "/a/", "b/a/c", FILE_, false },
        { "a/b", "a/b", FILE_, true },
        { "a/b", "a/b/c/d", FILE_, true },
        { "a/b", "x/a/b", FILE_, false },
        { "a/b", "a/bc", FILE_, false },
        { "a/*", "a/b", FILE_, true },
        { "a/*", "a", DIR_, false },
        { "*/x", "a/x", FILE_, true },
        { "*/x", "a/b/x", FILE_, false },
        { "*/.config/autostart", "alice/.config/autostart/x.desktop", FILE_, true },
        { "*/*/pg_hba.conf", "15/main/pg_hba.conf", FILE_, true },
        { "*/*/pg_hba.conf", "main/pg_hba.conf", FILE_, false },
        { "*/diff/etc/passwd", "0af3/diff/etc/passwd", FILE_, true },
        { "a/*.php", "a/b.php", FILE_, true },
        { "a/*.php", "a/b/c.php", FILE_, false },
        { "a/?", "a/b", FILE_, true },
        { "a/x*y*z/q", "a/xyzyz/q", FILE_, true },
        /* ** */
        { "**/x", "x", FILE_, true },
        { "**/x", "a/b/x", FILE_, true },
        { "**/x", "a/bx", FILE_, false },
        { "**/*.c", "a/b.c", FILE_, true },
        { "**/a/b", "a/b", FILE_, true },
        { "**/a/b", "x/y/a/b", FILE_, true },
        { "**/a/b", "x/ya/b", FILE_, false },
        { "a/**", "a", DIR_, false },
        { "a/**", "a/b", FILE_, true },
        { "a/**", "a/b/c", FILE_, true },
        { "a/**/b", "a/b", FILE_, true },
        { "a/**/b", "a/x/y/b", FILE_, true },
        { "a/**/b", "a/xb", FILE_, false },
        { "a/**/b/**/c", "a/b/c", FILE_, true },
        { "a/**/b/**/c", "a/1/b/2/3/c", FILE_, true },
        { "a/**/b/**/c", "a/c/b", FILE_, false },
        { "**/**", "a/b", FILE_, true },
        { "a/**/*.c", "a/b.c", FILE_, true },
        { "a/**/*.c", "a/x/y/b.c", FILE_, true },
        { "a/**.c", "a/x/y/b.c", FILE_, true }, /* inside a name it crosses too */
        { "a/**.c", "a/b.c", FILE_, true },
        { "a/x**y", "a/xy", FILE_, true },
        { "a/x**y", "a/x1/2/3y", FILE_, true },
        { "a/x**y", "a/z1/2/3y", FILE_, false },
        { "a**b", "axb", FILE_, true }, /* without a slash there is nothing to cross */
};

static void test_paths(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(path_cases); i++) {
                const struct path_case *c = &path_cases[i];
                struct pattern p;

                assert_null(pattern_check(c->pattern));
                assert_int_equal(pattern_compile(c->pattern, &p), 0);
                if (pattern_match_path(&p, c->path, strlen(c->path), c->is_dir) != c->matches)
                        fail_msg("\"%s\" on \"%s\": not %d", c->pattern, c->path, c->matches);
                pattern_done(&p);
        }
}

static void test_classes(void **state)
{
        static const struct {
                const char *text;
                enum pattern_kind kind;
                const char *literal;
                bool anchored, directory_only;
        } cases[] = {
                { "name", PATTERN_NAME, "name", false, false },
                { "a\\*b", PATTERN_NAME, "a*b", false, false },
                { "name/", PATTERN_NAME, "name", false, true },
                { "**/name", PATTERN_NAME, "name", false, false },
                { "**/name/", PATTERN_NAME, "name", false, true },
                { "*.php", PATTERN_EXT, ".php", false, false },
                { "**/*.php", PATTERN_EXT, ".php", false, false },
                { "*.php/", PATTERN_EXT, ".php", false, true },
                { "*.tar.gz", PATTERN_REGEX, NULL, false, false },
                { "*.", PATTERN_REGEX, NULL, false, false },
                { "*.p?p", PATTERN_REGEX, NULL, false, false },
                { "*", PATTERN_REGEX, NULL, false, false },
                { "/name", PATTERN_REGEX, NULL, true, false },
                { "a/b", PATTERN_REGEX, NULL, true, false },
                { "a/b/", PATTERN_REGEX, NULL, true, true },
                { "**/a/b", PATTERN_REGEX, NULL, true, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct pattern p;

                assert_int_equal(pattern_compile(cases[i].text, &p), 0);
                assert_int_equal(p.kind, cases[i].kind);
                assert_int_equal(p.anchored, cases[i].anchored);
                assert_int_equal(p.directory_only, cases[i].directory_only);
                assert_ptr_equal(p.text, cases[i].text);
                if (cases[i].literal) {
                        assert_string_equal(p.literal, cases[i].literal);
                        assert_int_equal(p.literal_len, strlen(cases[i].literal));
                } else
                        assert_null(p.literal);
                pattern_done(&p);
                assert_null(p.code);
        }
}

static void test_refused(void **state)
{
        static const struct {
                const char *text, *part_of_error;
        } cases[] = {
                { "", "matches nothing" },
                { "/", "matches nothing" },
                { "!x", "`except`" },
                { "*.{a,b}", "one pattern for each" },
                { "a}", "braces" },
                { "[abc", "not closed" },
                { "[", "not closed" },
                { "[!", "not closed" },
                { "[]", "not closed" },
                { "[z-a]", "backwards" },
                { "[/-z]", "within one name" },
                { "a[+-/]", "within one name" },
                { "[a/b]", "/ cannot stand" },
                { "[\\/]", "/ cannot stand" },
                { "[[:letter:]]", "unknown class" },
                { "[a-\xc3\xa9]", "ASCII" },
                { "a\\", "escapes nothing" },
                { "a\\/b", "cannot be escaped" },
                { "a//b", "two slashes" },
                { "//", "matches nothing" },
                { "a//", "two slashes" },
                { "./a", "\"..\"" },
                { "a/..", "\"..\"" },
                { "../a", "\"..\"" },
                { "a/x**y/z**", "once" },
        };
        static char longest[4097];
        struct pattern p;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *error = pattern_check(cases[i].text);

                if (!error || !strstr(error, cases[i].part_of_error))
                        fail_msg("\"%s\": %s", cases[i].text, error ? error : "accepted");
                assert_int_equal(pattern_compile(cases[i].text, &p), -EINVAL);
        }

        memset(longest, 'a', 4095);
        assert_null(pattern_check(longest));
        longest[4095] = 'a';
        assert_string_equal(pattern_check(longest), "the pattern is longer than any path");
}

static void test_globs(void **state)
{
        static const struct {
                const char *glob, *text;
                bool path, matches;
        } cases[] = {
                { "/usr/bin/dpkg", "/usr/bin/dpkg", true, true },
                { "/usr/bin/dpkg", "/usr/bin/dpkg2", true, false },
                { "/usr/bin/*", "/usr/bin/dpkg", true, true },
                { "/usr/bin/*", "/usr/bin/a/b", true, false },
                { "/usr/**", "/usr/lib/a/b", true, true },
                { "/usr/**/python3*", "/usr/bin/python3.11", true, true },
                { "**/python3*", "/usr/bin/python3.11", true, true },
                { "**/bin/*", "/opt/x/bin/y", true, true },
                { "/nix/**/bin/sh", "/nix/store/abc/bin/sh", true, true },
                { "/a\\*/[b]", "/a*/b", true, true },
                { "nginx.service", "nginx.service", false, true },
                { "pg*.service", "pg-backup.service", false, true },
                { "*", "a/b/c", false, true },
                { "*", "", false, false },
                { "kube*/pod?", "kube/x/y/pod1", false, true },
                { "dev-x\\x2dy*", "dev-x\\x2dy.device", false, true }, /* a unit's own backslash */
                { "[{]*", "{x", false, true },
                { "a?c", "a/c", false, true },
                { "a[!b]c", "a/c", false, true },
                { "*a*b", "xaxxab", false, true },
                { "*a*b", "xaxxabc", false, false },
        };
        struct pattern p;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(pattern_compile_glob(cases[i].glob, cases[i].path, &p), 0);
                if (pattern_match(&p, cases[i].text, strlen(cases[i].text), false) != cases[i].matches)
                        fail_msg("\"%s\" on \"%s\": not %d", cases[i].glob, cases[i].text, cases[i].matches);
                pattern_done(&p);
        }
        assert_int_equal(pattern_compile_glob("", false, &p), -EINVAL);
        assert_int_equal(pattern_compile_glob("[a", false, &p), -EINVAL);
        assert_int_equal(pattern_compile_glob("{a,b}", false, &p), -EINVAL);
        assert_int_equal(pattern_compile_glob("*/python", true, &p), -EINVAL);
        assert_int_equal(pattern_compile_glob("/opt/*/", true, &p), -EINVAL);
        assert_true(pattern_is_glob("a*"));
        assert_true(pattern_is_glob("a?"));
        assert_true(pattern_is_glob("[a]"));
        assert_false(pattern_is_glob("/usr/bin/a"));
}

/* Patterns that make a backtracking matcher run for years end at once. */
static void test_hostile(void **state)
{
        static const char *const patterns[] = {
                "*a*a*a*a*a*a*a*a*a*a*b",
                "x/**/a/**/a/**/a/**/a/**/a/**/b",
                "x/*a*a*a*a*a*a*b/*a*a*a*a*a*b/c",
                "x/a*a*a*a**b*a*a*a*b",
        };
        char path[4096];

        memset(path, 'a', sizeof(path));
        for (size_t i = 0; i < ELEMENTSOF(patterns); i++) {
                struct pattern p;

                assert_int_equal(pattern_compile(patterns[i], &p), 0);
                path[0] = 'x';
                for (size_t at = 1; at < sizeof(path); at += 2)
                        path[at] = '/';
                assert_false(pattern_match(&p, path, sizeof(path), false));
                for (size_t at = 1; at < sizeof(path); at++)
                        path[at] = at == 1 ? '/' : 'a';
                assert_false(pattern_match(&p, path, sizeof(path), false));
                pattern_done(&p);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths),   cmocka_unit_test(test_classes), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_globs),   cmocka_unit_test(test_hostile),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
