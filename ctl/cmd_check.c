/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Are the rule files good?  Works without the daemon, and for an image. */

#include <errno.h>
#include <jansson.h>

#include "cmd.h"
#include "print.h"
#include "ruleset.h"

static json_t *finding_json(const struct diag_entry *e)
{
        json_t *file = e->file ? json_string(e->file) : json_null();

        return json_pack("{s:s, s:o, s:I, s:s}", "severity", diag_severity_name(e->severity), "file", file,
                         "line", (json_int_t)e->line, "text", e->text);
}

static int print_verdict_json(const struct verdict *v)
{
        json_t *findings = json_array();
        bool whole = true;

        for (size_t i = 0; i < v->diag.n_entries; i++)
                whole &= json_array_append_new(findings, finding_json(&v->diag.entries[i])) == 0;
        json_t *answer = json_pack("{s:b, s:I, s:I, s:I, s:I, s:o}", "ok", !diag_failed(&v->diag), "rules",
                                   (json_int_t)v->n_rules, "files", (json_int_t)v->n_files, "errors",
                                   (json_int_t)v->diag.n_errors, "warnings", (json_int_t)v->diag.n_warnings,
                                   "diagnostics", findings);
        if (answer && whole)
                print_json(answer);
        json_decref(answer);
        return answer && whole ? 0 : -ENOMEM;
}

enum exit_status cmd_check(const struct invocation *i)
{
        _cleanup_verdict_ struct verdict v = VERDICT_NULL;

        enum exit_status status = ruleset_may_read(i->root);
        if (status != STATUS_YES)
                return status;
        int r = ruleset_judge(i->root, i->file, i->file, &v);
        if (r == 0 && i->json)
                r = print_verdict_json(&v);
        if (r < 0) {
                complain("%s", strerror(-r));
                return STATUS_OTHER;
        }
        if (!i->json) {
                verdict_print_findings(&v);
                verdict_print_summary(&v, stdout);
        }
        if (diag_failed(&v.diag))
                return STATUS_NO;
        return i->strict && v.diag.n_warnings > 0 ? STATUS_NO : STATUS_YES;
}
