/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/conf_read.h"
#include "escape.h"
#include "print.h"
#include "ruleset.h"

void verdict_done(struct verdict *v)
{
        diag_done(&v->diag);
        *v = VERDICT_NULL;
}

enum exit_status ruleset_may_read(const char *root)
{
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;

        strbuf_addf(&path, "%s/etc/fawatchd/rules.d", root);
        if (faccessat(AT_FDCWD, strbuf_str(&path), R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES)
                return STATUS_YES;
        complain("not permitted to read %s: only root may (try sudo)", strbuf_str(&path));
        return STATUS_NOT_PERMITTED;
}

/* A path that does not exist is watched once it does; but it may be a slip of the pen. */
static void note_missing_paths(const struct rules *rules, struct diag *diag)
{
        for (size_t i = 0; i < rules->n_watches; i++) {
                const struct clause *c = &rules->watches[i].clause;

                for (size_t k = 0; k < c->paths.n; k++) {
                        struct stat st;

                        int r = fstatat(AT_FDCWD, c->paths.v[k], &st, AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW);
                        if (r == 0 || (errno != ENOENT && errno != ENOTDIR))
                                continue;
                        _cleanup_strbuf_ struct strbuf shown = STRBUF_NULL;
                        escape_text(c->paths.v[k], strlen(c->paths.v[k]), &shown);
                        diag_add(diag, DIAG_NOTE, c->source.file, c->source.line,
                                 "watch \"%s\": %s does not exist yet; it is watched as soon as it does",
                                 c->name, strbuf_str(&shown));
                }
        }
}

static int judge_settings(const char *root, struct diag *diag)
{
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_(settings_freep) struct settings *settings = NULL;

        int r = conf_read_settings(root, diag, &set);
        if (r != -ENOMEM)
                r = settings_parse(set.texts, set.n, diag, &settings);
        return r == -ENOMEM ? r : 0;
}

static int judge_rules(const char *root, const char *file, const char *as, struct verdict *v)
{
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_(rules_freep) struct rules *rules = NULL;

        int r = conf_read_rules_as(root, file, as, &v->diag, &set);
        if (r == -ENOMEM)
                return r;
        v->n_files = set.n;
        /* also when a file could not be read: all errors in one run */
        r = rules_parse(set.texts, set.n, &v->diag, &rules);
        if (r == -ENOMEM)
                return r;
        if (!rules)
                return 0;
        v->n_rules = rules->n_watches + rules->n_ignores;
        rules_lint(rules, &v->diag);
        if (root[0] == '\0')
                note_missing_paths(rules, &v->diag);
        return 0;
}

int ruleset_judge(const char *root, const char *file, const char *as, struct verdict *ret)
{
        _cleanup_verdict_ struct verdict v = VERDICT_NULL;

        int r = judge_settings(root, &v.diag);
        if (r == 0)
                r = judge_rules(root, file, as, &v);
        if (r < 0)
                return r;
        if (v.diag.out_of_memory)
                return -ENOMEM;
        diag_sort(&v.diag);
        *ret = v;
        v = VERDICT_NULL;
        return 0;
}

void verdict_print_findings(const struct verdict *v)
{
        for (size_t i = 0; i < v->diag.n_entries; i++) {
                const struct diag_entry *e = &v->diag.entries[i];
                print_finding(stderr, e->severity, e->file, e->line, e->text);
        }
}

static const char *plural(size_t n)
{
        return n == 1 ? "" : "s";
}

void verdict_print_summary(const struct verdict *v, FILE *f)
{
        const struct diag *d = &v->diag;

        if (diag_failed(d))
                fprintf(f, "%zu error%s in %zu file%s: bad", d->n_errors, plural(d->n_errors), v->n_files,
                        plural(v->n_files));
        else
                fprintf(f, "%zu rule%s in %zu file%s: good", v->n_rules, plural(v->n_rules), v->n_files,
                        plural(v->n_files));
        if (d->n_warnings > 0)
                fprintf(f, ", %zu warning%s", d->n_warnings, plural(d->n_warnings));
        fputc('\n', f);
}
