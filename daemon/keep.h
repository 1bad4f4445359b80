/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What goes from one process to the next through the store: the spool and the rules
 * in force, each in a memfd.
 */

#include "conf_read.h"
#include "spool.h"
#include "store.h"

struct kept_spool {
        struct spool *spool; /* NULL: keep_spool() could not make one that outlives us */
        bool found;          /* a process before had it */
        const char *fault;   /* what was found and could not be used, for people; NULL = nothing */
        uint64_t number;     /* of its name in the store */
};
/*
 * The spool of the process before, in a size of max_bytes; else a new one with a new
 * stream.  Returns 0 or -ENOMEM; when the machine cannot give the memory, or nobody
 * keeps descriptors, *ret has no spool.
 */
int keep_spool(struct store *store, size_t max_bytes, size_t window_bytes, const char *new_stream,
               struct kept_spool *ret);

/* The texts of the rules in force, number rising with each.  Returns 0 or -errno. */
int keep_rules(struct store *store, uint64_t number, const struct conf_set *settings,
               const struct conf_set *rules);
/* Those of the process before.  Returns 0, -ENOENT, -EBADMSG, other negative errno. */
int keep_find_rules(struct store *store, uint64_t *ret_number, struct conf_set *ret_settings,
                    struct conf_set *ret_rules);
