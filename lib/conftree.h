/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A configuration file as a tree of nodes that know their file and line: what
 * libconfig made of the text, in an arena, without libconfig.
 */

#include "rules.h"

struct conf_node {
        enum conf_kind {
                CONF_GROUP,   /* { } and the file itself: children have names */
                CONF_LIST,    /* [ ] or ( ): children have none */
                CONF_STRING,
                CONF_INTEGER,
                CONF_FLOAT,
                CONF_BOOLEAN,
        } kind;
        const char *name; /* NULL for a member of a list and for the file itself */
        struct source source;
        const struct conf_node *children;
        size_t n_children;
        union {
                const char *string;
                int64_t integer;
                bool boolean;
        };
};

/*
 * rules_scan(), conf_syntax_check() and libconfig, in this order.  Errors go to diag; there may be
 * some although a tree was written (the scan's, with the text mended), so that
 * the caller can look for more.  The tree and its strings are in the arena; its
 * sources borrow file->name.
 *
 * Returns 0; -EINVAL when there is no tree; -ENOMEM.
 */
int conftree_parse(const struct conf_text *file, struct arena *arena, struct diag *diag,
                   const struct conf_node **ret_root);

/* "a string", "a group": for messages. */
const char *conf_kind_name(enum conf_kind kind) _pure_;
