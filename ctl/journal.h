/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Records of the past, as journald keeps them: the newest first. */

#include "strbuf.h"

struct journal;

/* Opens this machine's journal.  Returns 0 or -errno. */
int journal_open(struct journal **ret);
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal, journal_close);

/* From here on, records about one of these paths: at it, below it, or a rename of a
 * directory above it.  Keeps the place.  Returns 0 or -errno. */
int journal_match_paths(struct journal *j, const char *const *paths, size_t n);
/* The next older record of an event, as in record.h.  Returns 1, 0 at the end, or -errno. */
int journal_previous(struct journal *j, struct strbuf *record, uint64_t *ret_usec);
/* When the oldest entry was written that the journal still has, of whomever; 0 = it has
 * none, or none that we may read. */
uint64_t journal_begin_usec(struct journal *j);
