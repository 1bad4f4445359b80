/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What a process of ours before this one left: groups with their queues and marks,
 * events read and not judged, records not sent, the rules in force.  And what is
 * missing of it, which is a gap.
 */

#include "inheritance.h"
#include "keep.h"
#include "life.h"

struct daemon;
struct build_texts;

#define HERITAGE_MAX_GROUPS 128

struct heritage {
        struct store *store;
        struct fan_group *groups[HERITAGE_MAX_GROUPS]; /* until marks take them over */
        size_t n_groups;
        struct markset marks;       /* in them, until marks take them over */
        struct inheritance found;
        bool taken;                 /* what is missing was recorded */
        unsigned main_flags;        /* what the main group was made with; 0 = there was none */
        struct kept_spool spool;
        struct build_texts *texts;  /* of its rules; NULL: not found */
        uint64_t rules_number;      /* of the rules last put into the store */
        bool life_failed;           /* said already */
};

/* Before anything else is made: opens what the service manager hands over.  0 or -ENOMEM. */
int heritage_open(struct daemon *d);
void heritage_done(struct heritage *h);
/* There was a process before, whose queue goes on in ours. */
static inline bool heritage_goes_on(const struct heritage *h) { return h->found.main_group; }
/* The rules that were found are no good. */
void heritage_refuse_rules(struct heritage *h, const char *reason);

/* The spool and the number of the stream, once the settings are known.  0 or -ENOMEM. */
int heritage_open_spool(struct daemon *d);
/* Once the first generation is in force: judges what was read before, and records what is
 * missing. */
void heritage_take(struct daemon *d);

/* After the files were loaded: a group that was made with other flags than these settings or
 * this version want is replaced. */
void heritage_check_groups(struct daemon *d);
/* The rules in force are others now: the next process needs them. */
void heritage_keep_rules(struct daemon *d);
/* Until now everything was watched.  In the worker's thread; with stopping, at once. */
void heritage_sign_of_life(struct daemon *d, bool stopping);
/* For marks: groups go into the store as they are opened. */
void heritage_group_changed(void *userdata, struct fan_group *g, bool opened);
