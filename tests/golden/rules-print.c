/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For golden.sh: reads rule files (or, with --settings, settings) and prints
 * what was understood on stdout, what was found wrong on stderr.  With --lint
 * the lints too.  Files are named in messages without their directories.
 */

#include <stdio.h>

#include "settings.h"
#include "strbuf.h"

static bool read_file(const char *path, struct conf_text *ret)
{
        const char *slash = strrchr(path, '/');
        FILE *f = fopen(path, "re");
        char *text = NULL;
        size_t len = 0, n;
        char block[4096];
        FILE *m;

        if (!f)
                return false;
        m = open_memstream(&text, &len);
        while (m && (n = fread(block, 1, sizeof(block), f)) > 0)
                fwrite(block, 1, n, m);
        fclose(f);
        if (!m || fclose(m) != 0)
                return false;
        *ret = (struct conf_text){ .name = strdup(slash ? slash + 1 : path), .text = text, .len = len };
        return ret->name != NULL;
}

static void print_findings(struct diag *diag)
{
        diag_sort(diag);
        for (size_t i = 0; i < diag->n_entries; i++) {
                _cleanup_free_ char *line = diag_format(&diag->entries[i]);

                fprintf(stderr, "%s\n", line ? line : "out of memory");
        }
}

static int print_rules(const struct conf_text *files, size_t n, bool lint, struct diag *diag)
{
        _cleanup_(rules_freep) struct rules *rules = NULL;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        int r = rules_parse(files, n, diag, &rules);

        if (r < 0)
                return r;
        if (lint)
                rules_lint(rules, diag);
        rules_print(rules, false, &out);
        fputs(strbuf_str(&out), stdout);
        return 0;
}

static int print_settings(const struct conf_text *files, size_t n, struct diag *diag)
{
        _cleanup_(settings_freep) struct settings *settings = NULL;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        int r = settings_parse(files, n, diag, &settings);

        if (r < 0)
                return r;
        settings_print(settings, &out);
        fputs(strbuf_str(&out), stdout);
        return 0;
}

int main(int argc, char *argv[])
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        struct conf_text files[64] = {};
        bool lint = false, settings = false;
        size_t n = 0;
        int r;

        for (int i = 1; i < argc; i++) {
                if (streq(argv[i], "--lint"))
                        lint = true;
                else if (streq(argv[i], "--settings"))
                        settings = true;
                else if (n == ELEMENTSOF(files) || !read_file(argv[i], &files[n++])) {
                        fprintf(stderr, "%s: cannot be read\n", argv[i]);
                        return 2;
                }
        }
        r = settings ? print_settings(files, n, &diag) : print_rules(files, n, lint, &diag);
        print_findings(&diag);
        for (size_t i = 0; i < n; i++) {
                free(files[i].name);
                free(files[i].text);
        }
        return r < 0;
}
