/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* fawatchd's records in the journal, one after the other. */

#include "base.h"

struct journal;

/* Of this machine's journal files, or of those in a directory.  Returns 0 or -errno. */
int journal_open(const char *directory, struct journal **ret);
void journal_close(struct journal *j);
DEFINE_CLEANUP(struct journal, journal_close);

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
const char *journal_field(struct journal *j, const char *name);
uint64_t journal_number(struct journal *j, const char *name);
/* When the journal begins, whoever wrote; 0 = it is empty. */
uint64_t journal_oldest(struct journal *j);
