/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What the control socket answers, as JSON (fawatchctl prints it or makes it readable). */

#include "daemon_state.h"
#include "explain_path.h"

/* Each appends one JSON object.  Returns 0 or -ENOMEM. */
int control_json_status(const struct daemon *d, struct strbuf *out);
int control_json_marks(const struct daemon *d, struct strbuf *out);
int control_json_coverage(const struct daemon *d, struct strbuf *out);
int control_json_explain(const struct daemon *d, const struct explained *e, struct strbuf *out);

struct reload_answer {
        bool ok, dry_run;
        uint64_t generation;
        const struct reload_result *result; /* NULL when refused */
        const struct rules_diff *changes;   /* with a line for each rule in its text */
        const struct diag *diag;
        const struct plan *plan;            /* its prices are warnings too */
};
int control_json_reload(const struct reload_answer *a, struct strbuf *out);
