/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* fawatchd's records in the journal of this machine, one after the other. */

#include "strbuf.h"

struct journal;

/* Opens it, before the first record.  Returns 0 or -errno. */
int journal_open(struct journal **ret);
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal, journal_close);

/* From here on only records about one of these paths, written by root: at it, below it,
 * or a rename of a directory above it.  Keeps the place; without one, it is behind the
 * newest.  Returns 0 or -errno. */
int journal_match_paths(struct journal *j, const char *const *paths, size_t n);

/* Before the first record at or after this time. */
int journal_seek(struct journal *j, uint64_t realtime_usec);
/* The next record, or the one before.  1, 0 at the end, or -errno. */
int journal_next(struct journal *j);
int journal_previous(struct journal *j);
/* Waits for more, at most this long. */
int journal_wait(struct journal *j, uint64_t usec);

/* Of the record: when the journal took it; a field's first value, "" when absent
 * (valid until the next call for the same name). */
uint64_t journal_realtime(struct journal *j);
/* The same by CLOCK_MONOTONIC of its boot, whose 32 hex digits go to ret_boot. */
uint64_t journal_monotonic(struct journal *j, char ret_boot[static 33]);
const char *journal_field(struct journal *j, const char *name);
/* All values of it, spaces between, as the journal has them; the same text as journal_field()'s. */
const char *journal_values(struct journal *j, const char *name);
uint64_t journal_number(struct journal *j, const char *name);
/* All of it that fawatchd wrote, as in record.h.  Returns 0 or -errno. */
int journal_record(struct journal *j, struct strbuf *record);

/*
 * Records of the service that journald dropped since then, by its own word: over a rate
 * limit.  Returns 0 or -errno.
 */
int journal_suppressed(uint64_t since_usec, uint64_t *ret);

/* When the journal begins, whoever wrote; 0 = it is empty, or we may not read it. */
uint64_t journal_oldest(struct journal *j);
