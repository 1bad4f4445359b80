/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * (rules, settings, world) → the marks that are wanted, and what cannot be
 * covered, with the reason.  Pure: the same inputs give the same plan.
 */

#include "markset.h"
#include "placement.h"
#include "settings.h"

enum gap_kind {
        GAP_PATH_MISSING,      /* does not exist yet; watched once it does: a note, not a hole */
        GAP_PATH_ERROR,        /* could not be looked up */
        GAP_NOT_A_MOUNTPOINT,  /* scope mount or filesystem where nothing is mounted */
        GAP_PSEUDO,            /* on a pseudo filesystem */
        GAP_NO_MARK,           /* the kernel refuses the filesystem mark */
        GAP_KERNEL,            /* the kernel lacks a feature an event needs */
        GAP_NAME_UNKNOWN,      /* a user or group name does not resolve */
        GAP_MOUNT_BLIND,       /* mount scope: truncation and namespaces are not seen */
        GAP_UNREACHABLE,       /* every mount of the filesystem is hidden */
        GAP_NETWORK,           /* changes by other hosts are not seen */
        GAP_NAMESPACE,         /* what others change in their mount namespaces does not arrive (daemon only) */
        GAP_MARK_FAILED,       /* planned, but fanotify_mark refused (daemon only) */
};
enum gap_weight { GAP_NOTE, GAP_PARTLY, GAP_HOLE };

struct gap {
        enum gap_kind kind;
        enum gap_weight weight;
        const char *rule;   /* name, or NULL: a whole filesystem */
        const char *path;   /* rule path or mount point */
        int error;          /* positive errno, or 0 */
        const char *reason; /* one sentence with what to do */
};

enum coverage_state { COVERED, PARTLY_COVERED, NOT_COVERED, SKIPPED };
struct coverage { /* one a filesystem that a rule reaches */
        uint32_t fs;
        enum coverage_state state;
        uint32_t events;    /* EV_ bits asked for there */
        bool follows_names; /* directories' renames and removals are seen: a cached path can be kept true */
        bool moves_for_ignores; /* renames are asked for only so that ignores follow what is moved */
        const char *how;    /* "filesystem mark", or the reason it is not */
};

/* What became of one path of a global ignore: plan_ignores(). */
enum ignore_done {
        IGNORE_IN_KERNEL,      /* by a mark in wanted */
        IGNORE_NOT_ASKED,      /* no mark asks for it on that filesystem or mount */
        IGNORE_UNTIL_MODIFIED, /* by a mark that goes with the first change */
        IGNORE_IN_USERSPACE,
};
struct plan_ignore {
        const struct clause *ignore; /* of the rules */
        const char *path;
        enum ignore_done done;
        const char *reason; /* or NULL */
};
const char *ignore_done_name(enum ignore_done d) _pure_; /* "kernel", "not asked for", ... */

struct plan {
        struct arena *arena;
        struct markset wanted;
        struct gap *gaps;
        size_t n_gaps;
        struct coverage *coverage; /* sorted by fs */
        size_t n_coverage;
        struct placing placement; /* where trees are watched by marks on their directories */
        struct plan_ignore *ignores; /* in the order of the rules */
        size_t n_ignores;
        struct strings prices; /* of dear marks: "/: modify for /etc (asked for by etc) makes every small write ..." */
};

/* Returns 0 or -ENOMEM.  Free with plan_free(), which accepts NULL. */
int plan_build(const struct rules *rules, const struct settings *settings, const struct world *world,
               struct plan **ret);
void plan_free(struct plan *p);
DEFINE_CLEANUP(struct plan, plan_free);

/* The entry of a filesystem, or NULL when no rule reaches it. */
const struct coverage *plan_find_coverage(const struct plan *p, uint32_t fs) _pure_;

const char *gap_kind_name(enum gap_kind k) _pure_;      /* "path-missing" */
const char *gap_weight_name(enum gap_weight w) _pure_;  /* "note", "partly", "not covered" */
const char *coverage_state_name(enum coverage_state s) _pure_;
/* --print-plan and the goldens. */
void plan_print(const struct plan *p, const struct world *world, struct strbuf *out);
