/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Counters by rule name, kept over reloads. */

#include "reporter_internal.h"

#define NOT_COUNTED UINT32_MAX

void rule_account_done(struct rule_account *a)
{
        for (size_t i = 0; i < a->n; i++)
                free((char *)a->all[i].rule);
        free(a->all);
        free(a->of_rule);
        *a = (struct rule_account){};
}

static bool has_counted(const struct rule_counters *c)
{
        return c->recorded > 0 || c->limited > 0 || c->shed > 0;
}

/* Both lists are sorted by name.  What has left and never counted is forgotten;
 * a name for which there is no memory is not counted. */
static size_t merge(const struct rule_account *a, const struct rules *rules, struct rule_counters *all,
                    uint32_t *of_rule)
{
        size_t n = 0, old = 0, rule = 0;

        while (old < a->n || rule < rules->n_watches) {
                const char *name = rule < rules->n_watches ? rules->watches[rule].clause.name : NULL;
                int order = old == a->n ? 1 : !name ? -1 : strcmp(a->all[old].rule, name);

                if (order < 0) {
                        if (has_counted(&a->all[old]))
                                all[n++] = a->all[old];
                        else
                                free((char *)a->all[old].rule);
                        old++;
                        continue;
                }
                if (order == 0)
                        all[n] = a->all[old++];
                else
                        all[n].rule = strdup(name);
                of_rule[rule++] = all[n].rule ? (uint32_t)n : NOT_COUNTED;
                n += all[n].rule != NULL;
        }
        return n;
}

void rule_account_set(struct rule_account *a, const struct rules *rules)
{
        struct rule_counters *all = calloc(a->n + rules->n_watches + 1, sizeof(*all));
        uint32_t *of_rule = calloc(rules->n_watches + 1, sizeof(*of_rule));

        free(a->of_rule);
        a->of_rule = NULL;
        if (!all || !of_rule) {
                free(all);
                free(of_rule);
                return;
        }
        a->n = merge(a, rules, all, of_rule);
        free(a->all);
        a->all = all;
        a->of_rule = of_rule;
}

struct rule_counters *rule_account_of(struct rule_account *a, uint32_t rule)
{
        if (!a->of_rule || a->of_rule[rule] == NOT_COUNTED)
                return &a->lost;
        return &a->all[a->of_rule[rule]];
}
