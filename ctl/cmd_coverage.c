/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is watched, filesystem by filesystem, and every gap with its reason. */

#include <jansson.h>

#include "cmd.h"
#include "print.h"

static enum tone tone_of_state(const char *state)
{
        if (streq(state, "not covered"))
                return TONE_BAD;
        if (streq(state, "partly covered") || streq(state, "partly"))
                return TONE_WARNING;
        return streq(state, "covered") ? TONE_PLAIN : TONE_DIM; /* skipped, note */
}

static enum tone tone_of_filesystem(void *userdata, size_t row)
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
                table_print(&t, stdout, tone_of_filesystem, filesystems);
        else
                printf("no rule reaches any filesystem\n");
}

static void print_gaps(json_t *gaps)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *gap;

        table_add(&t, (const char *const[]){ "GAP", "RULE", "PATH", "REASON" }, 4);
        json_array_foreach (gaps, i, gap) {
                _cleanup_strbuf_ struct strbuf reason = STRBUF_NULL;
                const char *rule = json_text(gap, "rule");

                strbuf_adds(&reason, json_text(gap, "reason"));
                if (json_is_string(json_object_get(gap, "error")))
                        strbuf_addf(&reason, " (%s)", json_text(gap, "error"));
                table_add(&t,
                          (const char *const[]){ json_text(gap, "weight"), *rule ? rule : "-",
                                                 json_text(gap, "path"), strbuf_str(&reason) },
                          4);
        }
        if (t.n_rows <= 1) {
                printf("\nno gaps\n");
                return;
        }
        printf("\n");
        table_print(&t, stdout, tone_of_gap, gaps);
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
                print_gaps(gaps);
        }
        status = judge(filesystems, gaps, i->strict);
        json_decref(answer);
        return status;
}
