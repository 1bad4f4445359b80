/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The pipeline: pipeline.c reads windows and keeps their order, judge.c takes one event
 * to the question who did it (judge_where.c: where it is), settle.c makes its record once
 * that is answered.
 */

#include "names.h"
#include "objects.h"
#include "pipeline.h"
#include "window.h"

/* events between the two halves of a rename, of other processes */
#define MAX_RENAME_DISTANCE 16u

/* An event that some rule may want, until the queue behind it was looked at. */
struct held {
        struct match_query query;   /* its paths point into pipeline->texts only when settled */
        struct match_path shown;    /* what is reported: the path or, of an event without a name, the alias */
        size_t shown_at, old_path_at, alias_at, name_at; /* offsets in texts */
        size_t name_len;
        struct match_facts facts;   /* without the actor */
        struct object object;
        struct attributed who;
        int32_t pid;
        int32_t fs_errno;
        uint32_t fs_error_count;
        enum origin origin;
        uint64_t read_usec;
        size_t end;                 /* of its event in the window */
        enum held_kind { HELD_EVENT, HELD_CAUSE, HELD_REPLACED } kind; /* the latter two: replaced.c */
        struct cause *cause;        /* a reference, or NULL */
        uint32_t lead;              /* of HELD_REPLACED: index in the generation's leads */
        bool gone;                  /* taken into a later one */
};

/* An `until = "modified"` ignore that was spent, remembered over generations. */
struct spent {
        struct spent *next;
        char *name, *text; /* of the ignore in canonical form */
};

/* When a group's queue was last seen empty, on CLOCK_BOOTTIME. */
struct drained {
        const struct fan_group *group; /* compared only, never followed */
        uint64_t usec;
};

/* What one event says in our terms. */
struct sight {
        const struct fan_event *e;
        size_t at;
        struct match_query query;
        bool is_rename;
        bool has_name;       /* it came with a directory, resolved or not */
        struct fan_handle dir, old_dir;
        struct fan_name name, old_name;
        const struct fan_handle *object;
};

struct adopt;
struct replaced;
#define ADOPT_TOLD 65536u

struct pipeline {
        struct pipeline_params params;
        const struct generation *generation;
        bool exec_wanted; /* some rule asks for open_exec: else it only orders programs */
        int32_t self, predecessor;

        struct window *current, *next; /* of windows; next is filled while current is judged */
        struct window windows[2];
        const struct fan_group *owner; /* of what is in current between two dispatches; compared only */
        struct group_key key;          /* of what is judged */
        struct fan_group *group;       /* of what is judged; NULL: no more can be read of it */

        struct held *held;
        size_t n_held, cap_held;
        struct strbuf texts;           /* paths and names of held */

        struct objects *objects;
        struct spent *spent;
        bool inherited; /* what the process before had spent is in it */
        struct match_hits hits;
        struct strbuf path, old_path, canonical, canonical_old;
        size_t judged_end;             /* of the last event of current that is or was judged */
        size_t skip[8];                /* offsets of moved_to events already taken as part of a rename */
        size_t n_skip;

        struct drained drained[128];   /* as many groups as a process can have */
        size_t n_drained;
        uint64_t *told;                /* of ADOPT_TOLD: what events told lately, by hash; NULL: nothing is learned */
        struct adopt *adopt;           /* what was found by a look into directories, a group each; NULL: nothing */
        struct dirlist adopted;        /* of the last look into a new directory */
        struct replaced *replaced;     /* what the paths of rules lead to, as far as that was told */
        uint64_t judged_usec;          /* the main group's queue was empty, and all of it judged: CLOCK_BOOTTIME */
        uint64_t epoch;                /* how often the main group's queue was seen empty */
        uint64_t oldest_usec;          /* realtime: nothing that is judged was queued before it; 0 = not known */
        size_t n_judged;               /* events of the current window */
        /* what is dropped while the queue is too long, and the account of it */
        struct {
                unsigned level;
                uint32_t kept;             /* EV_ bits that are looked at all the same */
                uint64_t count, first_usec, last_usec;
                uint32_t events;
        } unread;
        /* events that were not looked at, or not kept, for lack of memory: how many were told of, and since
         * when (realtime, 0 = not known) the others may have happened */
        struct {
                uint64_t told, from_usec;
                bool untold;
                bool descriptors; /* they were short, or they as well */
        } no_memory;
        int short_of; /* errno, while an event is judged: why a path of it could not be asked for */
        uint64_t last_read_boottime_usec;
        uint64_t last_read_usec;       /* realtime of the window before */
        uint64_t rounds, watched_rounds; /* each dispatch and each event; at the last pipeline_moves() */
};

/* pipeline.c */
/* Reads the next window now, unless that was done. */
void pipeline_read_on(struct pipeline *p);
/* Does a rule's path, of which that is known, lead to this object?  Where no event tells of renames only the
 * kernel knows: then, and when the answer is no, *ret_now is what the path leads to (len 0: nothing). */
bool pipeline_leads_to(const struct pipeline *p, const struct object_path *path, const struct object_handle *h,
                       struct handle *ret_now);
/* A directory came to this path, or left it: what rules' paths below lead to is asked anew. */
void pipeline_ask_below(struct pipeline *p, uint64_t fsid, const struct match_path *dir);

/* judge.c: the event at offset at of p->current. */
void judge_event(struct pipeline *p, const struct fan_event *e, size_t at);
/* Who did it, as far as it is known now. */
void judge_attribute(struct pipeline *p, const struct sight *s, struct attributed *ret);
/* Room for one more in held, counted in by the caller; NULL when memory is short. */
struct held *judge_new_held(struct pipeline *p);
/* Keeps a text with held; its offset in texts. */
size_t judge_keep_text(struct pipeline *p, const char *text, size_t len);

/* judge_where.c: fills in where s is, from s->e at s->at: names, object and s->query.  Paths are in
 * p->path and p->old_path until the next. */
void judge_look(struct pipeline *p, struct sight *s);
/* The event there is the second half of a rename that was looked at as one; asked once. */
bool judge_is_skipped(struct pipeline *p, size_t at);
/* Of a directory's own event: the name is none, or ".". */
static inline bool judge_is_own_name(const struct fan_name *name)
{
        return !name->p || (name->len == 1 && name->p[0] == '.');
}
static inline struct object_handle judge_object_handle(const struct fan_handle *h)
{
        return (struct object_handle){ .type = h->type, .len = h->len, .bytes = h->bytes };
}
/* The path inside its filesystem of a directory, also of one that is gone but named in
 * what was read.  at: the event's place.  Appends to out.  As resolver_dir(). */
int judge_dir_path(struct pipeline *p, const struct fan_handle *dir, size_t at, struct strbuf *out);

/* dirs_follow.c: directories that carry marks come, go and move with the events. */
void dirs_follow(struct pipeline *p, const struct sight *s);

/* ignores.c: events as the table of ignore marks sees them. */
void ignores_unwanted(struct pipeline *p, const struct sight *s);
void ignores_follow(struct pipeline *p, const struct sight *s);

/* adopt.c: what happened where an ignore mark stood for a moment too long. */
/* The entries of a directory, now at this path, that are not older than since (realtime). */
void adopt_directory(struct pipeline *p, const struct fan_handle *dir, const struct match_path *path,
                     uint64_t since_usec);
/* One entry of a directory that was listed: what its times say of it, and its own handle where it gives one. */
struct adopt_entry {
        const char *name;
        const struct fan_handle *handle;
        const struct object *object;
        uint32_t events;
};
void adopt_one(struct pipeline *p, const struct fan_handle *dir, const struct match_path *path,
               const struct adopt_entry *e);
/* The content of one file. */
void adopt_file(struct pipeline *p, const struct fan_handle *file, const struct match_path *path,
                uint64_t since_usec);
/* This event needs no look any more. */
void adopt_judged(struct pipeline *p, const struct fan_event *e);
/* Holds what no queued event has told, once the queue as it was then is judged, or at once. */
void adopt_settle(struct pipeline *p, bool now);
void adopt_free(struct pipeline *p);

/* replaced.c: what the paths of the rules lead to, and through what that changed. */
/* An event that makes, removes or moves a name. */
void replaced_judged(struct pipeline *p, const struct sight *s);
/* The generation in force is another than before, which is still there; NULL: it is the first. */
void replaced_compare(struct pipeline *p, const struct generation *before);
/* All that was queued is judged. */
void replaced_drained(struct pipeline *p);
/* What was held by the above. */
void replaced_settle(struct pipeline *p, struct held *h);
void replaced_free(struct pipeline *p);

/* settle.c */
/* Records everything held, in order, and empties it. */
void settle_all(struct pipeline *p);
/* What is held can no longer be confirmed: events were lost behind it, or the end of the
 * queue is too far.  exec_seen: one was, or could have been. */
void settle_weaken(struct pipeline *p, bool exec_seen);
/* The queue overflowed here: nothing that was learned from events holds any more. */
void settle_overflow(struct pipeline *p);
/* What was dropped unread has its record now. */
void settle_tell_unread(struct pipeline *p);
/* One gap record for what was lost since the last one for lack of memory. */
void settle_tell_no_memory(struct pipeline *p);
/* Counts an event that could not be looked at; error: ENOMEM, EMFILE or ENFILE.  Told after the window. */
void settle_not_looked_at(struct pipeline *p, int error);
/* An ignore of until = "modified" ends with this event. */
void settle_spend(struct pipeline *p, const struct match_hits *hits);
/* A new generation: what was spent stays spent where the ignore is the same. */
void settle_restore_spent(struct pipeline *p);
void settle_free_spent(struct pipeline *p);
