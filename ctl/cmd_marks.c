/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's marks: what is wanted, what is placed, what was refused. */

#include <jansson.h>

#include "cmd.h"
#include "print.h"

static enum tone tone_of_mark(void *userdata, size_t row)
{
        const char *state = json_text(json_array_get(userdata, row - 1), "state");

        if (streq(state, "placed") || streq(state, "learned") || streq(state, "until modified"))
                return TONE_PLAIN;
        return streq(state, "failed") ? TONE_BAD : TONE_WARNING;
}

/* "create,delete" of the mask, "-" when it is empty. */
static void join_names(const json_t *mark, const char *key, struct strbuf *out)
{
        json_join(json_object_get(mark, key), ",", out);
        if (out->len == 0)
                strbuf_addc(out, '-');
}

static void add_mark(struct table *t, const json_t *mark)
{
        _cleanup_strbuf_ struct strbuf state = STRBUF_NULL, mask = STRBUF_NULL, ignore = STRBUF_NULL;
        const char *name = json_text(mark, "state");
        bool there = !streq(name, "wanted") && !streq(name, "failed");

        strbuf_adds(&state, name);
        if (json_is_string(json_object_get(mark, "error")))
                strbuf_addf(&state, " (%s)", json_text(mark, "error"));
        join_names(mark, there ? "placed_mask" : "wanted_mask", &mask);
        join_names(mark, "ignore_mask", &ignore);
        table_add(t,
                  (const char *const[]){ strbuf_str(&state), json_text(mark, "group"),
                                         json_text(mark, "object"), json_text(mark, "where"),
                                         strbuf_str(&mask), strbuf_str(&ignore) },
                  6);
}

/* Every mark that is wanted is there. */
static bool all_placed(const json_t *marks)
{
        size_t i;
        json_t *mark;

        json_array_foreach (marks, i, mark)
                if (streq(json_text(mark, "state"), "wanted") || streq(json_text(mark, "state"), "failed"))
                        return false;
        return true;
}

/* What an object is interested in, and who pays for it. */
static void print_costs(const json_t *marks)
{
        size_t i, k;
        json_t *mark, *cost;

        json_array_foreach (marks, i, mark) {
                _cleanup_strbuf_ struct strbuf interest = STRBUF_NULL;
                const char *where = json_text(mark, "where");

                if (json_array_size(json_object_get(mark, "costs")) == 0)
                        continue;
                join_names(mark, "interest", &interest);
                printf("%s: interest %s\n", *where ? where : json_text(mark, "object"), strbuf_str(&interest));
                json_array_foreach (json_object_get(mark, "costs"), k, cost)
                        printf("  %s\n", json_string_value(cost) ? json_string_value(cost) : "?");
        }
}

/* Marks that no rule names: events asked for them, or they wait for a change. */
static void print_learned(const json_t *answer, const json_t *learned)
{
        size_t shown = json_array_size(learned), n = (size_t)json_number(answer, "n_learned");

        if (n > shown)
                printf("and %zu more marks that were learned\n", n - shown);
}

static void print_marks(const json_t *answer, json_t *marks)
{
        _cleanup_table_ struct table t = {};
        json_t *all = json_array(), *learned = json_object_get(answer, "learned");
        size_t i;
        json_t *item;

        json_array_extend(all, marks);
        json_array_extend(all, learned);
        table_add(&t, (const char *const[]){ "STATE", "GROUP", "OBJECT", "WHERE", "MASK", "IGNORED" }, 6);
        json_array_foreach (all, i, item)
                add_mark(&t, item);
        if (t.n_rows > 1)
                table_print(&t, stdout, tone_of_mark, all);
        else
                printf("no marks: no rule watches anything that exists (see fawatchctl rules)\n");
        print_learned(answer, learned);
        print_costs(all);
        json_array_foreach (json_object_get(answer, "prices"), i, item)
                print_finding(stdout, DIAG_NOTE, NULL, 0,
                              json_string_value(item) ? json_string_value(item) : "?");
        json_decref(all);
}

enum exit_status cmd_marks(const struct invocation *i)
{
        json_t *answer;

        enum exit_status status = ask_daemon_json(i, "Marks", &answer);
        if (status != STATUS_YES)
                return status;
        json_t *marks = json_object_get(answer, "marks");
        if (i->json)
                print_json(answer);
        else
                print_marks(answer, marks);
        status = all_placed(marks) ? STATUS_YES : STATUS_NO;
        json_decref(answer);
        return status;
}
