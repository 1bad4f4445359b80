/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of counters. */

#include "counters.h"

static const struct counter_info table[] = {
#define X(name, text) { #name, text, offsetof(struct counters, name) },
        COUNTERS(X)
#undef X
};

const struct counter_info *counters_table(size_t *ret_n)
{
        *ret_n = ELEMENTSOF(table);
        return table;
}
