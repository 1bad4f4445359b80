/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <getopt.h>

#include "options.h"

enum { OPT_PRINT_RULES = 256, OPT_PRINT_PLAN, OPT_LOG, OPT_RULES, OPT_WATCH };

static const struct option long_options[] = {
        { "print-rules", no_argument, NULL, OPT_PRINT_RULES },
        { "print-plan", no_argument, NULL, OPT_PRINT_PLAN },
        { "log", required_argument, NULL, OPT_LOG },
        { "rules", required_argument, NULL, OPT_RULES },
        { "watch", required_argument, NULL, OPT_WATCH },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, 'V' },
        {},
};

const char *options_usage(void)
{
        return "Usage: fawatchd [OPTION]...\n"
               "Tell what changed in files and who changed it.\n"
               "\n"
               "  --log=journal|stdout  where records go (default: journal)\n"
               "  --rules=FILE          take the rules of this file instead of the installed ones\n"
               "  --watch=PATH          watch this path instead of the installed rules (repeatable)\n"
               "  --print-rules         print the rules as understood, and exit\n"
               "  --print-plan          print the marks they lead to on this machine, and exit\n"
               "  --help, --version\n"
               "\n"
               "With --log=stdout and --rules or --watch it runs beside the service.\n"
               "See fawatchd(8), fawatchd.rules(5), fawatchctl(1).\n";
}

static int take(struct options *o, const char **watch, int option, struct strbuf *reterr)
{
        switch (option) {
        case OPT_PRINT_RULES:
                o->mode = MODE_PRINT_RULES;
                return 0;
        case OPT_PRINT_PLAN:
                o->mode = MODE_PRINT_PLAN;
                return 0;
        case OPT_LOG:
                if (!streq(optarg, "stdout") && !streq(optarg, "journal")) {
                        strbuf_addf(reterr, "--log=%s: must be journal or stdout", optarg);
                        return -EINVAL;
                }
                o->log_stdout = streq(optarg, "stdout");
                return 0;
        case OPT_RULES:
                o->rules_file = optarg;
                return 0;
        case OPT_WATCH:
                watch[o->n_watch++] = optarg;
                return 0;
        case 'h':
                o->mode = MODE_HELP;
                return 0;
        case 'V':
                o->mode = MODE_VERSION;
                return 0;
        default: /* getopt has set optopt, or optind past the word it did not know */
                return -EINVAL;
        }
}

int options_parse(int argc, char **argv, const char **watch, struct options *ret, struct strbuf *reterr)
{
        struct options o = { .watch = watch };
        int option;

        optind = 1;
        opterr = 0;
        for (;;) {
                int word = optind;
                option = getopt_long(argc, argv, ":hV", long_options, NULL);
                if (option == -1)
                        break;
                if (option == ':') {
                        strbuf_addf(reterr, "%s needs a value", argv[word]);
                        return -EINVAL;
                }
                if (take(&o, watch, option, reterr) < 0) {
                        if (reterr->len == 0)
                                strbuf_addf(reterr, "unknown option %s (see fawatchd --help)", argv[word]);
                        return -EINVAL;
                }
                if (o.mode == MODE_HELP || o.mode == MODE_VERSION)
                        break;
        }
        if (option == -1 && optind < argc) {
                strbuf_addf(reterr, "%s: fawatchd takes no arguments (a path to watch is --watch=%s)",
                            argv[optind], argv[optind]);
                return -EINVAL;
        }
        if (o.rules_file && o.n_watch > 0) {
                strbuf_adds(reterr, "--rules and --watch exclude each other");
                return -EINVAL;
        }
        *ret = o;
        return 0;
}
