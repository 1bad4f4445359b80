/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * After a gap: looks in the watched trees for what was made or modified since it began
 * and still exists, and for directories whose own mtime says that a name came or went.
 * By metadata alone, in a thread of its own, slowly; the loop takes what was found when
 * the log has room for it.
 */

#include "event.h"
#include "generation.h"

struct recovery;

struct found {
        char *path;          /* absolute */
        uint32_t events;     /* EV_ bits that may have happened to it */
        struct object object;
};

struct recovery_summary {
        uint64_t from_usec;
        uint64_t looked_at, found, failed; /* names; of the last, directories that could not be read */
        bool cut_short;      /* a bound was reached */
};

/* Returns 0 or -errno. */
int recovery_new(struct recovery **ret);
/* Ends a scan that runs; waits a second at most. */
void recovery_free(struct recovery *r);
DEFINE_CLEANUP(struct recovery, recovery_free);

/*
 * Scans what the rules of g watch for changes since then (copied: g may go), where mountpoint
 * is given on the filesystem mounted there alone.  While one scan runs the next waits;
 * several become one.  Returns 0 or -errno.
 */
int recovery_start(struct recovery *r, const struct generation *g, const char *mountpoint, uint64_t from_usec);
int recovery_fd(const struct recovery *r); /* readable when something was found, or a scan is over */
/* Up to n findings, the caller's from now on (found_done()).  Returns how many. */
size_t recovery_take(struct recovery *r, struct found *found, size_t n);
/* Once after each scan, when all it found was taken. */
bool recovery_over(struct recovery *r, struct recovery_summary *ret);
void found_done(struct found *f);
