/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of kinds of records. */

#include "message_ids.h"

#include "base.h"

static const struct {
        const char *name, *id;
} kinds[N_RECORD_KINDS] = {
#define X(upper, lower, id) [RECORD_##upper] = { #lower, id },
        RECORD_KINDS(X)
#undef X
};

const char *record_kind_name(enum record_kind kind)
{
        return kinds[kind].name;
}

const char *record_kind_message_id(enum record_kind kind)
{
        return kinds[kind].id;
}
