/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The rule files and settings as they are on disk, judged without the daemon. */

#include <stdio.h>

#include "cmd.h"
#include "diag.h"

struct verdict {
        struct diag diag;        /* sorted */
        size_t n_rules, n_files; /* of rules; 0 rules when they do not parse */
};
#define VERDICT_NULL ((struct verdict){})
void verdict_done(struct verdict *v);
#define _cleanup_verdict_ _cleanup_(verdict_done)

/*
 * Judges the set below root ("" = this machine), with the content of file (NULL:
 * none) as if it stood at path `as`.  Returns 0 whatever the verdict is;
 * -ENOMEM.
 */
int ruleset_judge(const char *root, const char *file, const char *as, struct verdict *ret);
/* STATUS_NOT_PERMITTED, told, when the rules cannot be read for lack of rights. */
enum exit_status ruleset_may_read(const char *root);
/* All findings on standard error. */
void verdict_print_findings(const struct verdict *v);
/* "12 rules in 3 files: good", or how many errors and warnings. */
void verdict_print_summary(const struct verdict *v, FILE *f);
