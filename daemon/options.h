/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The command line of fawatchd. */

#include "strbuf.h"

struct options {
        enum run_mode { MODE_RUN, MODE_PRINT_RULES, MODE_PRINT_PLAN, MODE_HELP, MODE_VERSION } mode;
        bool log_stdout;          /* --log=stdout, else the journal */
        const char *rules_file;   /* --rules=FILE instead of the installed rules, or NULL */
        const char *const *watch; /* --watch=PATH (repeatable) instead of them; borrowed from argv */
        size_t n_watch;
};

/* An observer beside the service: no runtime directory, no socket, no saved state. */
static inline bool options_ad_hoc(const struct options *o)
{
        return o->log_stdout && (o->rules_file || o->n_watch > 0);
}

/*
 * Parses argv.  watch must have room for argc entries.  Returns 0, or -EINVAL
 * with one line in reterr (what is wrong and what to do).
 */
int options_parse(int argc, char **argv, const char **watch, struct options *ret, struct strbuf *reterr);
/* The usage text. */
const char *options_usage(void);
