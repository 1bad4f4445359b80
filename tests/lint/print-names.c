/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prints every name that the language, the settings and the records know, one a
 * line with its kind, for man.sh to look up in the manual.
 */

#include <stdio.h>

#include "message_ids.h"
#include "record.h"
#include "rules.h"
#include "settings.h"
#include "vocab.h"

static void print_list(const char *kind, const char *const *names, size_t n)
{
        for (size_t i = 0; i < n; i++)
                printf("%s %s\n", kind, names[i]);
}

int main(void)
{
        size_t n;
        const char *const *names = settings_names(&n);

        print_list("setting", names, n);
        names = vocab_rule_names(&n);
        print_list("event", names, n);
        names = vocab_type_names(&n);
        print_list("type", names, n);
        for (size_t i = 0; i < N_ACTOR_KEYS; i++)
                printf("actor %s\n", actors_key_name(i));
        for (size_t i = 0; i < N_SCOPES; i++)
                printf("scope %s\n", scope_name((enum scope)i));
        for (int priority = 1; priority <= 7; priority++)
                printf("priority %s\n", priority_name(priority));

        const struct record_field_info *fields = record_field_table(&n);
        for (size_t i = 0; i < n; i++)
                printf("field %s\n", fields[i].name);
        for (unsigned kind = 0; kind < N_RECORD_KINDS; kind++)
                printf("message %s\n", record_kind_message_id((enum record_kind)kind));
        return 0;
}
