/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The records that say what is covered and what no longer is. */

#include "daemon_state.h"

/* What may have changed it: rules that somebody loaded, or mounts, which come and go by
 * the hundred on some machines: of these only so many are told one by one. */
enum coverage_cause { COVERAGE_OF_RULES, COVERAGE_OF_MOUNTS };

/* One `coverage` record for each filesystem or rule path whose coverage is another than
 * before (before NULL: for each that is not covered whole). */
void coverage_note(struct daemon *d, const struct generation *before, const struct generation *after,
                   enum coverage_cause cause);
/* When coverage_tick() has something to tell, monotonic; UINT64_MAX = never. */
uint64_t coverage_deadline(const struct daemon *d);
/* One record of what was not told one by one. */
void coverage_tick(struct daemon *d);
/* What the self-test at the start found; false where there was nothing to test. */
bool coverage_namespace_gap(const struct daemon *d, struct gap *ret);
/* Where directories of a filesystem have no mark, though they should; false: none are missing.  The reason is
 * kept in text. */
bool coverage_directories_gap(const struct daemon *d, uint32_t fs, struct strbuf *text, struct gap *ret);
/* One record for each filesystem where that has changed. */
void coverage_note_directories(struct daemon *d);
/* The filesystems on which a planned mark was refused; *ret is malloc'ed.  Returns 0 or -ENOMEM. */
struct cover_failure;
int coverage_failures(const struct daemon *d, struct cover_failure **ret, size_t *ret_n);
