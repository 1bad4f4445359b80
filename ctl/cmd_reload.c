/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reload, wait for the end of it, say what changed or why not.  This is the unit's ExecReload=. */

#include <jansson.h>

#include "client.h"
#include "cmd.h"
#include "print.h"

static void print_changes(const json_t *answer)
{
        const json_t *rules = json_object_get(answer, "rules");
        const json_t *marks = json_object_get(answer, "marks");
        const json_t *line;
        bool dry_run = json_flag(answer, "dry_run");
        size_t i;

        if (dry_run)
                printf("would change: ");
        else
                printf("generation %llu in force: ", (unsigned long long)json_number(answer, "generation"));
        printf("rules %llu added, %llu removed, %llu changed; marks %llu added, %llu removed, %llu changed\n",
               (unsigned long long)json_number(rules, "added"),
               (unsigned long long)json_number(rules, "removed"),
               (unsigned long long)json_number(rules, "changed"),
               (unsigned long long)json_number(marks, "added"),
               (unsigned long long)json_number(marks, "removed"),
               (unsigned long long)json_number(marks, "changed"));
        json_array_foreach (json_object_get(rules, "text"), i, line)
                printf("  %s\n", json_string_value(line) ? json_string_value(line) : "?");
}

static enum exit_status print_outcome(const struct client_answer *answer, bool ok, bool dry_run)
{
        json_t *json = json_loadb(answer->bytes, answer->len, 0, NULL);

        if (!json) {
                complain("the daemon's answer cannot be read; the reload %s",
                         ok ? "succeeded" : "was refused");
                return ok ? STATUS_YES : STATUS_NO;
        }
        print_json_findings(stderr, json_object_get(json, "diagnostics"));
        if (ok) {
                print_changes(json);
        } else {
                const char *why = json_text(json, "error");

                if (!*why)
                        why = dry_run ? "would be refused" : "refused; the rules in force are unchanged";
                complain("%s", why);
        }
        json_decref(json);
        return ok ? STATUS_YES : STATUS_NO;
}

enum exit_status cmd_reload(const struct invocation *i)
{
        _cleanup_answer_ struct client_answer answer = {};
        _cleanup_(client_freep) struct client *c = NULL;
        bool ok = false;

        int r = client_open(i->socket, &c);
        if (r >= 0)
                r = client_reload(c, i->dry_run, &ok, &answer);
        if (r < 0)
                return explain_no_answer(r);
        if (!i->json)
                return print_outcome(&answer, ok, i->dry_run);
        print_answer(answer.bytes, answer.len);
        return ok ? STATUS_YES : STATUS_NO;
}
