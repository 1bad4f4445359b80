/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A process finds what the one before it left, or not, or something else in its place.
 * Which gaps that is.
 */

#include "base.h"

/* A text says what is wrong with what was found. */
struct inheritance {
        bool main_group;         /* its queue goes on in ours */
        const char *group_fault; /* NULL: every group that was found could be used */
        bool groups;             /* some were found, the main one or not */
        bool new_group;          /* one was opened beside those that were found */
        bool spool;
        const char *spool_fault;
        bool rules;
        const char *rules_fault;
        bool life, same_boot;    /* there is a last sign of life of this machine, and of this boot */
};

struct inheritance_gap {
        const char *kind; /* "store", "absent", "boot" */
        const char *reason;
};
#define INHERITANCE_MAX_GAPS 3

/* The gaps to record, in this order; how many.  Nothing at the very first start. */
size_t inheritance_gaps(const struct inheritance *i, struct inheritance_gap ret[static INHERITANCE_MAX_GAPS]);
