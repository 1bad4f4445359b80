/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What may be ignored in the kernel: which bits, on which objects, and why an
 * ignore of the rules is not there.  Pure; the daemon learns the rest (daemon/learn.h)
 * by the same arithmetic.
 */

#include "plan.h"
#include "unwanted.h"

/*
 * Adds the ignore marks to the plan, takes from filesystem and mount marks what a
 * global ignore of the whole of it makes unwanted, asks for renames where ignores
 * need them, and notes what became of each path of each global ignore.
 * With settings->kernel_ignores off only the notes.
 * Returns 0 or -ENOMEM.
 */
int plan_ignores(struct plan *plan, const struct rules *rules, const struct settings *settings,
                 const struct matcher *m);

/* Whether marks that follow their object can be kept true on a filesystem with this mark on it: a
 * directory that is renamed takes its ignore along, which must be seen. */
bool plan_sees_moves(uint64_t requested) _pure_;
/* The mask (FAN_ bits) of the mark that the main group has on a filesystem; 0 = none. */
uint64_t plan_requested(const struct plan *plan, const struct world *world, uint32_t fs);

/* What an ignore mark is made of, beside what is unwanted there. */
struct ignore_terms {
        uint64_t requested; /* plan_requested(): only that; an ignore nobody asks for costs and saves nothing
                             */
        uint32_t linked;    /* unwanted_linked(): child events that may be another name's */
        bool keep_exec;     /* program starts are read for attribution */
        bool ignore_new;    /* FAN_MARK_IGNORE is there */
};
/* The terms of a filesystem under this plan.  0 or -ENOMEM. */
int plan_ignore_terms(const struct plan *plan, const struct settings *settings, const struct matcher *m,
                      uint32_t fs, struct ignore_terms *ret);
/* Fills mask, ignore_mask, ignore_new and ignore_surv of a directory's or a file's mark;
 * ignore_mask 0 = there is nothing to ignore. */
void plan_ignore_dir(const struct ignore_terms *t, uint32_t unwanted, struct mark *mark);
void plan_ignore_file(const struct ignore_terms *t, uint32_t unwanted, struct mark *mark);
