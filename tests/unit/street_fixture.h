/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The event street with a real kernel in front and a recording reporter at its end:
 * a tmpfs at /mnt in a mount namespace of the test's own, which vanishes with it.
 * Marks are placed on that tmpfs only.
 */

#include "fan_group.h"
#include "generation.h"
#include "names.h"
#include "pipeline.h"

#define STREET_ROOT "/mnt"

/* Enters the namespace; a sentence on why not, or NULL.  Call once, before threads. */
const char *street_enter(void);
/* Empties the tmpfs: a new one over the old. */
void street_fresh_root(void);

struct street_record { /* of an event; strings are copies, NULL = absent */
        char *events;  /* "create,modify" */
        char *path, *old_path, *name, *comm, *exe, *next_exe, *cmdline, *rules;
        enum attribution attribution;
        enum path_state path_state;
        int32_t pid;
        uint32_t uid, euid, type;
        bool program_known;
        int fs_errno;
};

struct street {
        struct counters counters;
        struct rules *rules_used;
        struct generation *generation;
        struct fan_group *group;
        struct resolver *resolver;
        struct names *names;
        struct attributor *attributor;
        struct pipeline *pipeline;
        size_t world_changes;
        size_t losses; /* told by the pipeline, the last since then */
        uint64_t lost_since_usec;
};

/* What reached the reporter since street_open() or street_clear(). */
extern struct street_record street_records[];
extern size_t street_n_records, street_n_notes;
extern char street_last_note[512]; /* its fields: "NAME=VALUE ..." */
extern int street_note_result;     /* what reporter_note() returns */

/* window_bytes, max_events: 0 = the defaults.  Fails the test when it cannot. */
void street_open(struct street *s, const char *rules, bool queue_unlimited, size_t window_bytes,
                 size_t max_events);
/* Another rule set in force, with its marks. */
void street_load(struct street *s, const char *rules);
void street_close(struct street *s);
void street_clear(void);
/* Dispatches until the queue is empty. */
void street_run(struct street *s);
/* The records as lines: "EVENTS PATH", "EVENTS OLD -> PATH", "EVENTS ?NAME"; valid until the next call. */
const char *street_lines(void);

/* Runs argv (argv[0] the path of the program) to its end; its exit status. */
int street_command(const char *const *argv);
/* A copy of this test's own program at path, on the marked tmpfs. */
void street_copy_self(const char *path);
void street_write(const char *path, const char *text);
