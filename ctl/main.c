/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of commands, and everything that follows from it: parsing, usage, help. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>

#include "client.h"
#include "cmd.h"
#include "diag.h"
#include "print.h"

enum { /* options, as bits: each command takes some */
        OPT_JSON = 1 << 0,
        OPT_STRICT = 1 << 1,
        OPT_DRY_RUN = 1 << 2,
        OPT_ROOT = 1 << 3,
        OPT_RULE = 1 << 4,
        OPT_PATH = 1 << 5,
        OPT_SOCKET = 1 << 6,
        OPT_HELP = 1 << 7,
        OPT_VERSION = 1 << 8,
        OPT_SINCE = 1 << 9,
};
#define OPT_ALWAYS OPT_HELP /* with every command */

/* clang-format off */
static const struct {
        int bit;
        const char *name, *argument;
        bool repeats;
        const char *help;
} options[] = {
        { OPT_JSON,    "json",    NULL,   false, "print JSON, for programs" },
        { OPT_STRICT,  "strict",  NULL,   false, "let warnings decide the exit status too" },
        { OPT_DRY_RUN, "dry-run", NULL,   false, "only say what would change" },
        { OPT_ROOT,    "root",    "DIR",  false, "check the rules of the image below DIR" },
        { OPT_RULE,    "rule",    "NAME", true,  "only events of this rule" },
        { OPT_PATH,    "path",    "PATH", true,  "only events at or below this path" },
        { OPT_SINCE,   "since",   "TIME", false, "only from this time on (2026-05-01 12:00, today, 2h)" },
        { OPT_SOCKET,  "socket",  "PATH", false, "ask the daemon at this socket" },
        { OPT_HELP,    "help",    NULL,   false, "print this help" },
        { OPT_VERSION, "version", NULL,   false, "print the version" },
};

static const struct command {
        const char *name;
        int options;
        const char *operand; /* NULL: takes none */
        enum exit_status (*run)(const struct invocation *i);
        const char *help;
        const char *second;  /* one more operand, and then the first is needed */
} commands[] = {
        { "status",   OPT_JSON | OPT_SOCKET, NULL, cmd_status,
          "is it running, what does it watch, is anything wrong" },
        { "reload",   OPT_DRY_RUN | OPT_JSON | OPT_SOCKET, NULL, cmd_reload,
          "take the rule files into force, and say what changed" },
        { "check",    OPT_ROOT | OPT_STRICT | OPT_JSON, "FILE", cmd_check,
          "are the rule files good (with FILE in the place of its name)" },
        { "edit",     OPT_SOCKET, "FILE", cmd_edit,
          "edit a rule file safely: check it, put it in place, reload" },
        { "rules",    OPT_SOCKET, NULL, cmd_rules,
          "print the rules in force" },
        { "marks",    OPT_JSON | OPT_SOCKET, NULL, cmd_marks,
          "list the kernel's marks, wanted and placed" },
        { "explain",  OPT_JSON | OPT_SOCKET, "PATH", cmd_explain,
          "what becomes of each event of PATH, and why; of a rename to PATH2", "PATH2" },
        { "coverage", OPT_STRICT | OPT_JSON | OPT_SOCKET, NULL, cmd_coverage,
          "list what is watched, and every gap with its reason" },
        { "follow",   OPT_RULE | OPT_PATH | OPT_JSON | OPT_SOCKET, NULL, cmd_follow,
          "print events as they happen" },
        { "who",      OPT_SINCE | OPT_JSON | OPT_SOCKET, "PATH", cmd_who,
          "who changed this path, from the journal" },
        { "verify",   OPT_SINCE | OPT_JSON | OPT_SOCKET, NULL, cmd_verify,
          "was the watch complete: every number is in the journal, or told" },
};
/* clang-format on */

/* "[--json] [--rule=NAME]... [FILE]" */
static void print_synopsis(const struct command *c, struct strbuf *out)
{
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (c->options & options[i].bit & ~OPT_SOCKET)
                        strbuf_addf(out, " [--%s%s%s]%s", options[i].name, options[i].argument ? "=" : "",
                                    options[i].argument ? options[i].argument : "",
                                    options[i].repeats ? "..." : "");
        if (c->second)
                strbuf_addf(out, " %s [%s]", c->operand, c->second);
        else if (c->operand)
                strbuf_addf(out, " [%s]", c->operand);
}

static void print_options(FILE *f, int bits)
{
        for (size_t i = 0; i < ELEMENTSOF(options); i++) {
                char name[32];

                if (!(options[i].bit & bits))
                        continue;
                snprintf(name, sizeof(name), "--%s%s%s", options[i].name, options[i].argument ? "=" : "",
                         options[i].argument ? options[i].argument : "");
                fprintf(f, "  %-16s %s\n", name, options[i].help);
        }
}

static void print_help(void)
{
        int all = OPT_HELP | OPT_VERSION;

        printf("Usage: fawatchctl COMMAND [OPTION...] [FILE]\n\n"
               "Checks, reloads and explains fawatchd, the file activity watcher.\n\nCommands:\n");
        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                _cleanup_strbuf_ struct strbuf synopsis = STRBUF_NULL;

                print_synopsis(&commands[i], &synopsis);
                printf("  %s%s\n        %s\n", commands[i].name, strbuf_str(&synopsis), commands[i].help);
                all |= commands[i].options;
        }
        printf("\nOptions:\n");
        print_options(stdout, all);
        printf("\nExit status: 0 yes or done, 1 the answer is no, 2 wrong use, 3 the daemon is not running,\n"
               "4 not permitted, 5 anything else.  See fawatchctl(1).\n");
}

static void print_command_help(const struct command *c)
{
        _cleanup_strbuf_ struct strbuf synopsis = STRBUF_NULL;

        print_synopsis(c, &synopsis);
        printf("Usage: fawatchctl %s%s\n\n%c%s.\n\nOptions:\n", c->name, strbuf_str(&synopsis),
               c->help[0] - 'a' + 'A', c->help + 1);
        print_options(stdout, c->options | OPT_ALWAYS);
}

static const struct command *find_command(const char *name)
{
        const char *names[ELEMENTSOF(commands)];

        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                names[i] = commands[i].name;
                if (streq(names[i], name))
                        return &commands[i];
        }
        const char *nearest = diag_nearest(name, names, ELEMENTSOF(names));
        if (nearest)
                complain("no command '%s': did you mean '%s'?", name, nearest);
        else
                complain("no command '%s': see fawatchctl --help", name);
        return NULL;
}

/* ---- parsing ---- */

struct parsed {
        struct invocation i;
        int given; /* OPT_ bits */
        const char **rules, **paths;
};

static enum exit_status take_option(struct parsed *p, int bit, const char *argument)
{
        p->given |= bit;
        switch (bit) {
        case OPT_JSON:
                p->i.json = true;
                break;
        case OPT_STRICT:
                p->i.strict = true;
                break;
        case OPT_DRY_RUN:
                p->i.dry_run = true;
                break;
        case OPT_ROOT:
                p->i.root = streq(argument, "/") ? "" : argument;
                break;
        case OPT_RULE:
                p->rules[p->i.n_rules++] = argument;
                break;
        case OPT_PATH:
                p->paths[p->i.n_paths++] = argument;
                break;
        case OPT_SINCE:
                p->i.since = argument;
                break;
        case OPT_SOCKET:
                p->i.socket = argument;
                break;
        case OPT_HELP:
        case OPT_VERSION:
                break;
        default: /* getopt_long() has said what is wrong */
                return STATUS_USAGE;
        }
        return STATUS_YES;
}

static enum exit_status parse_options(int argc, char **argv, struct parsed *p)
{
        struct option table[ELEMENTSOF(options) + 1] = {};
        int bit;

        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                table[i] = (struct option){
                        .name = options[i].name,
                        .has_arg = options[i].argument ? required_argument : no_argument,
                        .val = options[i].bit,
                };
        while ((bit = getopt_long(argc, argv, "h", table, NULL)) != -1) {
                enum exit_status status = take_option(p, bit == 'h' ? OPT_HELP : bit, optarg);
                if (status != STATUS_YES)
                        return status;
        }
        return STATUS_YES;
}

/* What was given must be what this command takes. */
static enum exit_status check_use(const struct command *c, const struct parsed *p, int n_operands)
{
        for (size_t i = 0; i < ELEMENTSOF(options); i++)
                if (p->given & options[i].bit & ~(c->options | OPT_ALWAYS)) {
                        complain("%s does not take --%s: see fawatchctl %s --help", c->name, options[i].name,
                                 c->name);
                        return STATUS_USAGE;
                }
        if (n_operands > (c->second ? 2 : c->operand ? 1 : 0) || (c->second && n_operands == 0)) {
                complain("%s takes %s: see fawatchctl %s --help", c->name,
                         c->second ? "one path or two" : c->operand ? "one argument" : "no argument", c->name);
                return STATUS_USAGE;
        }
        return STATUS_YES;
}

static enum exit_status dispatch(int argc, char **argv, struct parsed *p)
{
        enum exit_status status = parse_options(argc, argv, p);
        if (status != STATUS_YES)
                return status;
        if (p->given & OPT_VERSION) {
                printf("fawatchctl %s\n", PACKAGE_VERSION);
                return STATUS_YES;
        }

        const char *name = optind < argc ? argv[optind++] : NULL;
        if (!name || streq(name, "help")) {
                if (!name && !(p->given & OPT_HELP)) {
                        complain("which command? See fawatchctl --help");
                        return STATUS_USAGE;
                }
                print_help();
                return STATUS_YES;
        }
        const struct command *c = find_command(name);
        if (!c)
                return STATUS_USAGE;
        if (p->given & OPT_HELP) {
                print_command_help(c);
                return STATUS_YES;
        }
        status = check_use(c, p, argc - optind);
        if (status != STATUS_YES)
                return status;

        p->i.file = optind < argc ? argv[optind] : NULL;
        p->i.second = optind + 1 < argc ? argv[optind + 1] : NULL;
        p->i.rules = p->rules;
        p->i.paths = p->paths;
        return c->run(&p->i);
}

/* What could not be written was not said; that nobody reads any more is no error. */
static enum exit_status finish_output(enum exit_status status)
{
        errno = 0;
        bool failed = fflush(stdout) != 0 || ferror(stdout);
        if (!failed || errno == EPIPE)
                return status;
        complain("cannot write the output: %s", errno > 0 ? strerror(errno) : "write error");
        return STATUS_OTHER;
}

int main(int argc, char **argv)
{
        struct parsed p = { .i = { .socket = CLIENT_SOCKET, .root = "" } };

        /* output into a pipe that nobody reads any more is an error of the write, and not a death */
        signal(SIGPIPE, SIG_IGN);
        p.rules = calloc((size_t)argc + 1, sizeof(*p.rules));
        p.paths = calloc((size_t)argc + 1, sizeof(*p.paths));
        enum exit_status status = STATUS_OTHER;
        if (p.rules && p.paths)
                status = dispatch(argc, argv, &p);
        free(p.rules);
        free(p.paths);
        return (int)finish_output(status);
}
