/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "build.h"
#include "check.h"
#include "daemon.h"
#include "log.h"

static int print(const struct strbuf *text)
{
        if (strbuf_failed(text))
                return EXIT_TROUBLE;
        return fputs(strbuf_str(text), stdout) < 0 || fflush(stdout) != 0 ? EXIT_TROUBLE : EXIT_FINE;
}

int check_run(const struct options *options)
{
        struct build_result result;
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;

        int r = build_run(options, build_source(options), NULL, &result);
        log_diag(&result.diag);
        if (r == 0 && options->mode == MODE_PRINT_RULES)
                rules_print(result.generation->rules, true, &text);
        else if (r == 0)
                plan_print(result.generation->plan, result.generation->world, &text);
        build_result_done(&result);
        return r == 0 ? print(&text) : EXIT_NO_RULES;
}
