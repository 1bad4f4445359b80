/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For plan.sh: a rule file and a world in, and settings where they matter, the
 * plan on stdout. */

#include <stdio.h>

#include "plan_above.h"
#include "plan_ignore.h"
#include "strbuf.h"

static bool read_file(const char *path, struct conf_text *ret)
{
        const char *slash = strrchr(path, '/');
        FILE *f = fopen(path, "re");
        char *text = malloc(RULE_FILE_MAX_BYTES);

        if (!f || !text) {
                free(text);
                if (f)
                        (void)fclose(f);
                return false;
        }
        *ret = (struct conf_text){
                .name = strdup(slash ? slash + 1 : path),
                .text = text,
                .len = fread(text, 1, RULE_FILE_MAX_BYTES, f),
        };
        (void)fclose(f);
        return ret->name != NULL;
}

static void done_text(struct conf_text *t)
{
        free(t->name);
        free(t->text);
}

static void print_findings(struct diag *diag)
{
        for (size_t i = 0; i < diag->n_entries; i++) {
                _cleanup_free_ char *line = diag_format(&diag->entries[i]);

                fprintf(stderr, "%s\n", line ? line : "out of memory");
        }
}

int main(int argc, char *argv[])
{
        _cleanup_(done_text) struct conf_text rule_text = {}, world_text = {}, settings_text = {};
        _cleanup_(rules_freep) struct rules *rules = NULL;
        _cleanup_(settings_freep) struct settings *settings = NULL;
        _cleanup_(world_freep) struct world *world = NULL;
        _cleanup_(plan_freep) struct plan *plan = NULL;
        _cleanup_(matcher_freep) struct matcher *matcher = NULL;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        _cleanup_diag_ struct diag diag = DIAG_NULL;

        if (argc < 3 || argc > 4 || !read_file(argv[1], &rule_text) || !read_file(argv[2], &world_text) ||
            (argc == 4 && !read_file(argv[3], &settings_text))) {
                fprintf(stderr, "usage: plan-print RULES WORLD [SETTINGS]\n");
                return 2;
        }
        if (rules_parse(&rule_text, 1, &diag, &rules) < 0 ||
            settings_parse(&settings_text, argc == 4, &diag, &settings) < 0 ||
            world_parse_text(world_text.text, world_text.len, &diag, &world) < 0 ||
            plan_build(rules, settings, world, &plan) < 0 ||
            matcher_build(rules, settings, world, &matcher) < 0 ||
            plan_ignores(plan, rules, settings, matcher) < 0 || plan_above(plan, rules, world) < 0) {
                print_findings(&diag);
                return 1;
        }
        plan_print(plan, world, &out);
        fputs(strbuf_str(&out), stdout);
        return 0;
}
