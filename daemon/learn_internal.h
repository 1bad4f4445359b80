/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The table of learned marks in three files: learn.c places marks and takes them off, learn_follow.c keeps them
 * true while things move and rules change, learn_inherit.c takes over those of a process before. */

#include "dirtree.h"
#include "learn.h"
#include "lru.h"

/* How often the queue must have been seen empty since a mark was placed: the window that was judged
 * then, and the next one, may have been read before. */
#define EPOCHS_TO_BE_SURE 3u

struct learned {
        struct dirtree_node *node;
        uint64_t mask, ignore_mask; /* placed; both 0: nothing can be ignored here */
        uint64_t epoch;
        uint64_t placed_usec;            /* on the clock of file times, not later than that */
        uint64_t renew_usec, pause_usec; /* monotonic */
        enum {
                LEARNED_DIR,
                LEARNED_FILE,
                LEARNED_OBJECT
        } kind;       /* OBJECT: a rule's own, for its attrib alone */
        bool planned; /* in the plan's marks: pinned */
        bool evictable;
        bool gone; /* no call is needed to forget it */
        uint64_t fsid;
        int32_t type;
        uint32_t len;
        uint8_t bytes[];
};

/* The marks are being made right for other rules than those in force. */
struct correcting {
        const struct generation *after;
        struct ignore_terms *terms;
        bool *usable;
        size_t n; /* at most so many have not been looked at, the longest unused in the table */
};

struct astray {
        struct astray *next;
        struct handle handle;
        uint64_t fsid, since_usec;
        uint32_t fs;
        bool is_dir;
        size_t len;
        char path[];
};

/* A name that an object of a rule got while nothing was learned. */
struct late_name {
        struct late_name *next;
        struct handle handle;
        uint64_t fsid;
        size_t len;
        char path[]; /* of the rule, inside its filesystem */
};

struct learn {
        struct learn_params params;
        const struct generation *generation;
        struct ignore_terms *terms; /* by filesystem */
        bool *usable;               /* by filesystem: marks can be kept true there */
        struct lru *table;          /* of struct learned, by handle */
        struct dirtree *tree;       /* by path */
        size_t n[3];                /* learned, by kind, with a mark */
        size_t max;
        bool paused;                /* from learn_correct() until other rules, or those of before, are in force */
        struct correcting correcting;
        struct late_name *late;     /* looked at when the pause is over */
        bool late_lost;             /* memory was short for one of them */
        struct strbuf scratch;
        struct astray *astray;      /* inherited marks that were taken off */
        uint64_t inherited_usec;    /* since when those of the first generation may have been placed; 0 = now */
        bool left_behind;           /* a mark could not be taken off: it may be there still */
        bool retired;
        int error;
        uint64_t retry_usec;
};

struct fan_handle learn_handle_of(const struct learned *e);
struct learned *learn_look_up(const struct learn *l, const struct fan_handle *h);
void learn_end_correcting(struct learn *l);
void learn_forget_late(struct learn *l);
/* A new entry, without a mark, at this path; what hung there before was another object of that name and is
 * forgotten.  NULL when memory is short. */
struct learned *learn_enter(struct learn *l, const struct fan_handle *h, const struct match_path *path);
/* Takes its mark off, unless gone is set, and frees it. */
void learn_forget(struct learn *l, const struct learned *e);
bool learn_has_mark(const struct learned *e);
/* Around each change of the masks of an entry: keeps the numbers for the status. */
void learn_count(struct learn *l, const struct learned *e, bool more);
/* May marks be learned on this filesystem? */
bool learn_allowed(const struct learn *l, uint32_t fs);
bool learn_object_of(const struct learn *l, const struct fan_handle *h, struct mark_object *ret);
/* Adds to the mark of e; fd is of its object.  0 or a negative errno. */
int learn_place(struct learn *l, struct learned *e, int fd, const struct mark *m);
/* Takes these ignored bits, and for a whole mark its mask too, off. */
void learn_take_off(struct learn *l, struct learned *e, uint64_t bits);
/* The filesystems of g and what may be ignored on each; g is the generation from now on. */
void learn_set_terms(struct learn *l, const struct generation *g);
/* What g's rules permit to ignore of an object of this kind there. */
uint64_t learn_permitted(const struct generation *g, const struct ignore_terms *terms, const bool *usable, bool is_dir,
                         const struct match_path *path);
