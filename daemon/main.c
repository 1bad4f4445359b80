/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fawatchd: the command line, and which half of the program it asks for. */
#include <stdio.h>

#include "check.h"
#include "daemon.h"
#include "log.h"

int main(int argc, char **argv)
{
        struct options options;
        _cleanup_strbuf_ struct strbuf error = STRBUF_NULL;
        _cleanup_free_ const char **watch = calloc((size_t)argc + 1, sizeof(*watch));

        log_open();
        if (!watch)
                return EXIT_TROUBLE;
        if (options_parse(argc, argv, watch, &options, &error) < 0) {
                log_message(LOG_ERR, "%s", strbuf_str(&error));
                return EXIT_WRONG_USE;
        }
        switch (options.mode) {
        case MODE_HELP:
                return fputs(options_usage(), stdout) < 0 ? EXIT_TROUBLE : EXIT_FINE;
        case MODE_VERSION:
                return printf("fawatchd %s\n", PACKAGE_VERSION) < 0 ? EXIT_TROUBLE : EXIT_FINE;
        case MODE_PRINT_RULES:
        case MODE_PRINT_PLAN:
                return check_run(&options);
        case MODE_RUN:
                break;
        }
        return daemon_run(&options);
}
