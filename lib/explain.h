/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What would become of each event of a name, and where that is decided: the
 * kernel's arithmetic (interest.h) says which groups are told, the matcher which
 * rules want it.  Pure: the marks are given as they stand, nothing is looked up.
 *
 * It speaks of one event at a time, by a process nothing is known of.
 */

#include "generation.h"
#include "interest.h"
#include "message_ids.h"

/* A name, and what is there or would be. */
struct explain_name {
        struct match_path path;
        uint32_t type;             /* TYPE_ bit of what it leads to, or would */
        bool is_rules;             /* a rule follows the object of this path */
        /* paths of rules that lead to the same object, MATCH_PATH_NONE: none.  Another than path; and the one
         * for which events of the object alone are told, which come without a name */
        struct match_path alias, told_as;
        /* the main group's on the object, and on the directory that holds the name; NULL: none */
        const struct mark *inode, *parent;
};

struct explain_scene {
        const struct generation *generation;
        bool special_untold;           /* interest_kernel: what no probe tells */
        const struct mark *filesystem; /* of the main group; NULL: none */
        const struct mark *mount;      /* of a group of its own, on the mount of the name; NULL: none */
        struct explain_name name;
        const struct explain_name *new_name; /* only the rename to this, on the same filesystem; or NULL */
};

/* A clause that speaks of a name. */
struct explain_clause {
        enum match_clause_kind kind;
        uint32_t owner;              /* as in match_clause_seen */
        const struct clause *clause; /* NULL: built in */
        uint32_t events;             /* EV_ bits of those a name can raise */
        bool spent;                  /* an ignore until a change that has come: it takes out nothing */
        bool of_other_type;          /* its types leave this object out */
        bool by_actor;               /* depends on who it was: who, or `only` of the rule */
        bool overruled;              /* a global ignore that no rule here is subject to (always) */
};

enum explain_decision {
        EXPLAIN_REPORTED,
        EXPLAIN_NO_MARK,       /* no mark asks for it: it costs nothing */
        EXPLAIN_KERNEL_IGNORE, /* a mark asks, an ignore mask refuses: nobody is woken */
        EXPLAIN_USERSPACE,     /* it is read, and no rule wants it */
};

struct explain_event {
        uint32_t event;            /* EV_ bit */
        enum explain_decision decision;
        enum interest_slot slot;   /* KERNEL_IGNORE: where the ignore mask is */
        /* for KERNEL_IGNORE and USERSPACE, the first clause in the list that takes it out; NULL: no rule
         * wants it */
        const struct explain_clause *by;
        bool uncovered;            /* a rule wants it and the kernel does not tell: a gap */
        bool nameless;             /* told by the object alone, which no rule follows */
        bool by_actor;             /* who did it decides whether it is reported */
        bool spends;               /* it ends an ignore until = "modified" */
        const uint32_t *rules;     /* that report it */
        size_t n_rules;
        enum record_kind record;   /* what it is reported as */
        int priority;
        uint64_t coalesce_usec;    /* 0: a record of its own */
};

struct explain_view { /* of one name */
        const struct explain_clause *clauses;
        size_t n_clauses;
        uint32_t interest[N_SLOTS]; /* of the objects in these slots, FAN_ bits; SLOT_NEW_DIR unused */
        uint32_t refused[N_SLOTS];  /* what their ignore masks refuse, of this object */
};

struct explanation {
        struct arena *arena;
        struct explain_view view, new_view; /* new_view: of the second name */
        const struct explain_event *events;
        size_t n_events;
};

/* Uses the matcher's scratch memory.  Returns 0 or -ENOMEM; explanation_free() accepts NULL. */
int explain_build(const struct explain_scene *scene, struct explanation **ret);
void explanation_free(struct explanation *e);
DEFINE_CLEANUP(struct explanation, explanation_free);

/* The events that an object of this type can raise under a name. */
uint32_t explain_events_of(uint32_t type) _pure_;
const char *explain_decision_name(enum explain_decision d) _pure_; /* "no mark asks", ... */
const char *explain_slot_name(enum interest_slot slot) _pure_;     /* "inode", "parent", ... */
