/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The event street: read → decode → resolve → match → (object, process) → match
 * → reporter.  One window of the queue at a time: all that is queued, up to a
 * bound, is read before the first event of it is judged, so that what stands later
 * in the queue (an exec, the removal of a directory) can be known.
 */

#include "attribute.h"
#include "fan_group.h"
#include "dirmarks.h"
#include "learn.h"
#include "until.h"
#include "reporter.h"
#include "resolve.h"

struct pipeline;

/* of each of the two windows, unless the params say otherwise */
#define PIPELINE_WINDOW_BYTES (1024u * 1024u)

struct pipeline_params {
        struct counters *counters;
        struct resolver *resolver;
        struct attributor *attributor;
        struct reporter *reporter;
        struct names *names;
        struct learn *learn;    /* NULL: no ignore marks are learned */
        struct dirmarks *dirmarks; /* NULL: no directories are marked */
        struct until *until;    /* NULL: ignores until a change are left to the matcher */
        struct spool *spool;    /* whose windows are read into (borrowed); NULL: memory of our own */
        size_t window_bytes;    /* 0 = default */
        size_t max_events;      /* bound on pidfds held at a time: LimitNOFILE / 2; 0 = 8192, which is the most */
        uint64_t (*realtime_usec)(void);
        /* the world may be another now: a directory above a rule's path or a link on it was touched */
        void (*world_changed)(void *userdata);
        /* events were lost, and that is recorded: since the last read before; may be NULL */
        void (*lost)(void *userdata, uint64_t from_usec);
        void *userdata;
};
int pipeline_new(const struct pipeline_params *params, struct pipeline **ret);
void pipeline_free(struct pipeline *p);
DEFINE_CLEANUP(struct pipeline, pipeline_free);

/* Events from now on are judged by g (borrowed); the one before must still be there. */
void pipeline_set_generation(struct pipeline *p, const struct generation *g);

struct pipeline_object { /* paths inside the filesystem that a rule names; they need not end in NUL */
        bool is_rules;           /* the path asked for is one */
        struct bytes alias;      /* another one that leads to the object */
        struct bytes told_as;    /* the one for which events of the object alone are told */
};
/* How the rules follow the object that this path leads to; object->len 0: to none yet.  Valid until the next
 * event. */
void pipeline_find_object(const struct pipeline *p, uint64_t fsid, const char *path, const struct handle *object,
                          struct pipeline_object *ret);

/* Reads and judges windows of this group until its queue is empty or a bound on the
 * time is reached.  Returns 0 when it was emptied; 1 when more waits, read or not:
 * then the descriptor is readable, so that a level-triggered poll calls again; or a
 * negative errno of read(2) that is not for this event alone. */
int pipeline_dispatch(struct pipeline *p, struct fan_group *g);
/* Judges what a process before read into the spool and did not get to.  Call it once, with
 * the generation of that process in force.  Returns how many events there were. */
size_t pipeline_replay(struct pipeline *p);
/* On the clock of file times: what a process before left unjudged was not queued before that; 0: nothing is
 * known of one.  Until the first window is read. */
uint64_t pipeline_watched_usec(const struct pipeline *p);
/* After the replay: looks into what was moved out of its ignored place while nobody ran (learn_inherit()).
 * g is the main group, whose queue may tell of the same. */
void pipeline_look_into_moved(struct pipeline *p, struct fan_group *g);
/* A scan found that any of these may have happened to it; says nothing where no rule wants that. */
void pipeline_found(struct pipeline *p, const char *path, uint32_t events, const struct object *object);
/*
 * While the kernel's queue is too long: level 1 drops what no rule of warning or above can
 * want, 2 leaves errors and above, 3 and more leave alerts; by the event alone, before
 * anything is looked at.  0 = nothing is dropped; what was is then recorded.
 */
void pipeline_set_shedding(struct pipeline *p, unsigned level);
unsigned pipeline_shedding(const struct pipeline *p) _pure_;
/* Events of this process, too, are our own: it wrote files for us and is gone.  0 = none. */
void pipeline_set_predecessor(struct pipeline *p, int32_t pid);
/* Judges bytes as if read from such a group: for benchmarks and fuzzing.  Descriptors in
 * them are taken for absent.  Returns 0, -EBADMSG (what stands before was judged), -ENOMEM. */
int pipeline_judge(struct pipeline *p, const struct group_key *group, const void *bytes, size_t len);
/* Grows with each dispatch and each event judged. */
uint64_t pipeline_rounds(const struct pipeline *p);
/*
 * For the watchdog: a loop that turns is not a street that moves.  False when something waits in one of
 * these groups and nothing was read or judged since the last call.
 */
bool pipeline_moves(struct pipeline *p, struct fan_group *const *groups, size_t n);
