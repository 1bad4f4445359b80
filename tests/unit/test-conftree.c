/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>

#include "conftree.h"

static char file_name[] = "x.conf";

static int parse(const char *text, struct arena *arena, struct diag *diag, const struct conf_node **ret)
{
        struct conf_text file = { .name = file_name, .text = (char *)text, .len = strlen(text) };

        return conftree_parse(&file, arena, diag, ret);
}

static void test_tree(void **state)
{
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        const struct conf_node *root, *group, *list;

        assert_int_equal(parse("# comment\n"
                               "group: {\n"
                               "  text = \"/caf\\xe9\\n\\\"\";\n"
                               "  yes = True;\n"
                               "  number = -7; hex = 0x10; long = 5000000000L; float = 1.5;\n"
                               "};\n"
                               "list = ( \"a\",\n"
                               "  2,\n"
                               "\n"
                               "  { inner = false; },\n"
                               "  [ \"x\",\n"
                               "    \"y\"\n"
                               "  ]\n"
                               ");\n"
                               "none = [ ];\n",
                               arena, &diag, &root), 0);
        assert_int_equal(diag.n_entries, 0);
        assert_int_equal(root->kind, CONF_GROUP);
        assert_null(root->name);
        assert_int_equal(root->n_children, 3);

        group = &root->children[0];
        assert_string_equal(group->name, "group");
        assert_ptr_equal(group->source.file, file_name);
        assert_int_equal(group->source.line, 2);
        assert_int_equal(group->n_children, 6);
        assert_string_equal(group->children[0].string, "/caf\xe9\n\"");
        assert_int_equal(group->children[0].source.line, 3);
        assert_int_equal(group->children[1].kind, CONF_BOOLEAN);
        assert_true(group->children[1].boolean);
        assert_int_equal(group->children[2].integer, -7);
        assert_int_equal(group->children[3].integer, 16);
        assert_true(group->children[4].integer == 5000000000);
        assert_int_equal(group->children[5].kind, CONF_FLOAT);
        assert_int_equal(group->children[5].source.line, 5);

        /* The lines of values are their own, not those of the word behind them. */
        list = &root->children[1];
        assert_int_equal(list->kind, CONF_LIST);
        assert_int_equal(list->n_children, 4);
        assert_int_equal(list->children[0].source.line, 7);
        assert_int_equal(list->children[1].source.line, 8);
        assert_string_equal(list->children[2].children[0].name, "inner");
        assert_int_equal(list->children[2].children[0].source.line, 10);
        assert_int_equal(list->children[3].children[0].source.line, 11);
        assert_int_equal(list->children[3].children[1].source.line, 12);
        assert_string_equal(list->children[3].children[1].string, "y");
        assert_int_equal(root->children[2].n_children, 0);
        assert_int_equal(root->children[2].source.line, 15);
}

/* The words of the golden files say why; here that each is caught, at its line. */
static void test_syntax(void **state)
{
        static const struct {
                const char *text;
                unsigned line;
                const char *error;
        } cases[] = {
                { "a = 1;\nb 2;\nc = 3;", 2, "an = is missing behind \"b\"" },
                { "a {\n}", 1, "a : is missing behind \"a\"" },
                { "a = ;", 1, "a value is missing behind the =" },
                { "a:\n\n}", 1, "a value is missing behind the :" },
                { "a = b;", 1, "an unquoted word: write \"b\"" },
                { "a = /usr/lib;", 1, "an unquoted word: write \"/usr/lib\"" },
                { "a = 64M;", 1, "an unquoted word: write \"64M\"" },
                { "a = no;", 1, "no is no value: write false" },
                { "a = { b = 1;\n c = 2;\n", 1, "never closed: }" },
                { "a = 1;\n};", 2, "a } too many" },
                { "a = { b = 1; ];", 1, "this ] closes nothing" },
                { "a = [ 1, 2;\n", 1, "the [ of line 1 is not closed" },
                { "a = ( 1,\n 2\n", 1, "the ( that opens in this line is never closed" },
                { "a = [ 1 2 ];", 1, "a comma is missing" },
                { "a = [ 1, \"b\" ];", 1, "all of one kind" },
                { "a = [ ( 1 ) ];", 1, "plain values only" },
                { "a = 1;;", 1, "a ; too many" },
                { "= 1;", 1, "a name is missing before the =" },
                { "{ a = 1; }", 1, "a name and = or : are missing" },
                { "\"a\" = 1;", 1, "names are written without quotes" },
                { "a = \"x\", \"y\";", 1, "several values go into brackets" },
                { "1a = 1;", 1, "a name begins with a letter" },
                { "true = 1;", 1, "cannot be names" },
                { "a.b = 1;", 1, "\"a.b\": a name takes letters" },
                { "a$ = 1;", 1, "\"a$\": a name takes letters" },
                { "a = 'x';", 1, "double quotes" },
                { "@x", 1, "no @ directives" },
                { "a = \xe2\x80\x9cx\xe2\x80\x9d;", 1, "typographic" },
                { "a\xc2\xa0= 1;", 1, "a name takes letters" },
                { "a =\xc2\xa0" "1;", 1, "no-break space" },
                { "a = 1;\nb: { a = 1;\n a = 2; };", 3, "\"a\" is given twice: line 2" },
                { "a: { x = 1; }; b: { x = 1; };\na = 1;", 2, "\"a\" is given twice: line 1" },
                { "a = [ 1, 2L ];", 1, "mismatched" }, /* libconfig's own word */
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(arena_freep) struct arena *arena = arena_new();
                _cleanup_diag_ struct diag diag = DIAG_NULL;
                const struct conf_node *root = NULL;

                assert_int_equal(parse(cases[i].text, arena, &diag, &root), -EINVAL);
                assert_null(root);
                assert_int_equal(diag.n_errors, 1);
                if (!strstr(diag.entries[0].text, cases[i].error))
                        fail_msg("%s: %s", cases[i].text, diag.entries[0].text);
                assert_int_equal(diag.entries[0].line, cases[i].line);
        }
}

/* An error of the scan does not hide what else is wrong. */
static void test_mended(void **state)
{
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        const struct conf_node *root;

        assert_int_equal(parse("a = \"x\"\n \"y\";\nb = \"z\";", arena, &diag, &root), 0);
        assert_int_equal(diag.n_errors, 1);
        assert_string_equal(root->children[0].string, "xy");
        assert_int_equal(root->children[1].source.line, 3);
        assert_string_equal(conf_kind_name(CONF_GROUP), "a group");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tree),
                cmocka_unit_test(test_syntax),
                cmocka_unit_test(test_mended),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("conftree", tests, NULL, NULL);
}
