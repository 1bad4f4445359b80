/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What the daemon owns.  Shared by the few files that are the daemon:
 * daemon.c (start, stop), loop.c (event sources), daemon_groups.c (groups made anew), loader.c
 * (reloads), answers.c and control_json.c (what is asked).
 */

#include "build.h"
#include "burst.h"
#include "control.h"
#include "heritage.h"
#include "mount_monitor.h"
#include "recover.h"
#include "recovery_plan.h"
#include "reload.h"
#include "runtime.h"
#include "self_test.h"
#include "worker.h"

/* One reload that somebody asked for and waits for. */
struct reload_request {
        struct control_reload *token; /* NULL: nobody waits (SIGHUP) */
        bool dry_run;
        struct control_peer peer;     /* of the control socket; comm "SIGHUP" for a signal */
};

struct reload_requests {
        struct reload_request *v;
        size_t n, cap;
};

struct loader {
        struct reload_requests waiting; /* for the next build */
        struct reload_requests running; /* the build in flight answers these */
        bool in_flight;
        bool world_changed;             /* the mounts or what is on the way of a rule's path, */
        uint64_t world_changed_usec;    /* since then at the earliest (realtime) */
        uint64_t building_since_usec;   /* the same of the build in flight */
        unsigned stale_looks;           /* one after another, since a marked directory was another by then */
        bool rules_bad;                 /* the files on disk were refused; the rules in force are older */
        uint64_t refused_usec;          /* realtime of the last refusal, 0 = none since the last good load */
        struct diag refusal;            /* its findings */
        uint64_t loaded_usec;           /* realtime of the last good load */
        struct diag warnings;           /* of the rules in force */
};

struct daemon {
        const struct options *options;
        struct street street;
        struct generation *generation; /* in force */
        struct build_texts *texts;     /* what it was made of */
        uint64_t generations;          /* numbers given */
        char stream[33];
        struct heritage heritage;
        uint64_t started_usec;
        uint64_t queues_since_ns;      /* monotonic; no group is older.  0 once they are watched */
        struct loader loader;
        struct worker *worker;
        struct runtime *runtime;       /* NULL for an observer beside the service */
        struct control *control;       /* NULL there too */
        struct mount_monitor *monitor;
        uint64_t mount_looks;          /* generations that changed mounts led to */
        struct self_test_result self_test;
        struct burst coverage_burst;   /* records of changed mounts */
        struct recovery *recovery;
        struct recovery_gone gone;     /* watched filesystems that are unmounted */
        bool stuck;                    /* a filesystem hangs, and that was said */
        char stuck_where[256];
        uint64_t queue_looked_usec;    /* monotonic */
        struct loop *loop;             /* loop.c's own: event sources */
};

uint64_t daemon_realtime_usec(void);
uint64_t daemon_monotonic_usec(void);
/* The groups may be others now: the loop must watch them. */
void daemon_groups_changed(struct daemon *d);
/* Makes all groups anew and places the marks of the generation in force: what happens
 * meanwhile is not seen, and a gap record says so.  0 or -errno. */
int daemon_renew_groups(struct daemon *d, const char *reason);
/* A reload that was asked for is over, well or not: READY=1 again. */
void daemon_reload_finished(struct daemon *d);
/* STATUS= and the status file, at most once a second unless now. */
void daemon_publish_status(struct daemon *d, bool now);
