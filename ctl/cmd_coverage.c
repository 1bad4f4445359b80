/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is covered: filesystem by filesystem, rule path by rule path; what else is not, with its reason. */

#include <jansson.h>

#include "cmd.h"
#include "print.h"

/* Paths of one row that are named; the rest is counted. */
#define MAX_PATHS_NAMED 3

static enum tone tone_of_state(const char *state)
{
        if (streq(state, "not covered"))
                return TONE_BAD;
        if (streq(state, "partly covered") || streq(state, "partly"))
                return TONE_WARNING;
        return streq(state, "covered") ? TONE_PLAIN : TONE_DIM; /* skipped, waiting, note */
}

static enum tone tone_of_row(void *userdata, size_t row)
{
        return tone_of_state(json_text(json_array_get(userdata, row - 1), "state"));
}

static enum tone tone_of_gap(void *userdata, size_t row)
{
        return tone_of_state(json_text(json_array_get(userdata, row - 1), "weight"));
}

static void print_filesystems(json_t *filesystems)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *fs;

        table_add(&t, (const char *const[]){ "STATE", "MOUNTPOINT", "TYPE", "DEVICE", "EVENTS", "HOW" }, 6);
        json_array_foreach (filesystems, i, fs) {
                _cleanup_strbuf_ struct strbuf events = STRBUF_NULL;

                json_join(json_object_get(fs, "events"), ",", &events);
                table_add(&t,
                          (const char *const[]){ json_text(fs, "state"), json_text(fs, "mountpoint"),
                                                 json_text(fs, "fstype"), json_text(fs, "device"),
                                                 events.len > 0 ? strbuf_str(&events) : "-",
                                                 json_text(fs, "how") },
                          6);
        }
        if (t.n_rows > 1)
                table_print(&t, stdout, tone_of_row, filesystems);
        else
                printf("no rule reaches any filesystem\n");
}

/* "what covers it" or "what is not seen, and why (ERRNO)" */
static void add_reason(const json_t *o, const char *how, struct strbuf *out)
{
        const char *reason = json_text(o, "reason");

        strbuf_adds(out, how);
        if (*reason)
                strbuf_addf(out, "%s%s", *how ? ": " : "", reason);
        /* most reasons name the errno themselves */
        if (json_is_string(json_object_get(o, "error")) && !strstr(reason, json_text(o, "error")))
                strbuf_addf(out, " (%s)", json_text(o, "error"));
}

/* "/a, /b, /c and 13 more" */
static void add_paths(const json_t *paths, struct strbuf *out)
{
        size_t n = json_array_size(paths), named = n > MAX_PATHS_NAMED + 1 ? MAX_PATHS_NAMED : n;

        for (size_t i = 0; i < named; i++)
                strbuf_addf(out, "%s%s", i > 0 ? ", " : "", json_string_value(json_array_get(paths, i)));
        if (n > named)
                strbuf_addf(out, " and %zu more", n - named);
}

static void print_rules(json_t *rules)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *row;

        table_add(&t, (const char *const[]){ "STATE", "RULE", "PATH", "HOW" }, 4);
        json_array_foreach (rules, i, row) {
                _cleanup_strbuf_ struct strbuf paths = STRBUF_NULL, how = STRBUF_NULL;

                add_paths(json_object_get(row, "paths"), &paths);
                add_reason(row, streq(json_text(row, "state"), "waiting") ? "" : json_text(row, "how"), &how);
                table_add(&t,
                          (const char *const[]){ json_text(row, "state"), json_text(row, "rule"),
                                                 strbuf_str(&paths), strbuf_str(&how) },
                          4);
        }
        if (t.n_rows <= 1)
                return;
        printf("\n");
        table_print(&t, stdout, tone_of_row, rules);
}

/* A gap of one path of a rule is that path's row already. */
static bool is_in_rules(const json_t *gap)
{
        return *json_text(gap, "rule") && *json_text(gap, "path");
}

static void print_gaps(const json_t *gaps)
{
        _cleanup_table_ struct table t = {};
        json_t *shown = json_array(), *gap;
        size_t i;

        table_add(&t, (const char *const[]){ "GAP", "RULE", "PATH", "REASON" }, 4);
        json_array_foreach (gaps, i, gap) {
                _cleanup_strbuf_ struct strbuf reason = STRBUF_NULL;
                const char *rule = json_text(gap, "rule"), *path = json_text(gap, "path");

                if (is_in_rules(gap))
                        continue;
                json_array_append(shown, gap);
                add_reason(gap, "", &reason);
                table_add(&t,
                          (const char *const[]){ json_text(gap, "weight"), *rule ? rule : "-",
                                                 *path ? path : "-", strbuf_str(&reason) },
                          4);
        }
        if (json_array_size(gaps) == 0)
                printf("\nno gaps\n");
        if (t.n_rows > 1) {
                printf("\n");
                table_print(&t, stdout, tone_of_gap, shown);
        }
        json_decref(shown);
}

/* Does any element's member have this value? */
static bool any(const json_t *array, const char *key, const char *value)
{
        size_t i;
        json_t *item;

        json_array_foreach (array, i, item)
                if (streq(json_text(item, key), value))
                        return true;
        return false;
}

/* A hole is a no; what is seen in part only where asked to be strict; a note never. */
static enum exit_status judge(const json_t *filesystems, const json_t *gaps, bool strict)
{
        if (any(filesystems, "state", "not covered") || any(gaps, "weight", "not covered"))
                return STATUS_NO;
        if (strict && (any(filesystems, "state", "partly covered") || any(gaps, "weight", "partly")))
                return STATUS_NO;
        return STATUS_YES;
}

enum exit_status cmd_coverage(const struct invocation *i)
{
        json_t *answer;

        enum exit_status status = ask_daemon_json(i, "Coverage", &answer);
        if (status != STATUS_YES)
                return status;
        json_t *filesystems = json_object_get(answer, "filesystems"), *gaps = json_object_get(answer, "gaps");
        if (i->json) {
                print_json(answer);
        } else {
                print_filesystems(filesystems);
                print_rules(json_object_get(answer, "rules"));
                print_gaps(gaps);
        }
        status = judge(filesystems, gaps, i->strict);
        json_decref(answer);
        return status;
}
