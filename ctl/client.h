/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The other end of the daemon's control socket: one call and its answer, or a stream of events. */

#include "base.h"

#define CLIENT_SOCKET "/run/fawatchd/control"

struct client;

/* Connects.  Returns 0; -ECONNREFUSED when nobody serves that path; -EACCES
 * when we may not; -ECONNRESET when the daemon hangs up at once (so does any
 * later call); other negative errno. */
int client_open(const char *path, struct client **ret);
void client_free(struct client *c);
DEFINE_CLEANUP(struct client, client_free);

struct client_answer {
        char *bytes; /* malloc'ed; a NUL follows */
        size_t len;
};
void client_answer_done(struct client_answer *a);
#define _cleanup_answer_ _cleanup_(client_answer_done)

/* Calls a method without arguments and waits for its answer as long as it takes.
 * Returns 0 or -errno: -ECONNRESET when the daemon went away meanwhile. */
int client_ask(struct client *c, const char *method, struct client_answer *ret);
/* The same, but not longer than this: then -ETIMEDOUT. */
int client_ask_within(struct client *c, const char *method, uint64_t usec, struct client_answer *ret);
/* second: NULL, or the new name of a rename; absolute paths.  -ENOENT: no mount shows it. */
int client_explain(struct client *c, const char *path, const char *second, struct client_answer *ret);
int client_reload(struct client *c, bool dry_run, bool *ret_ok, struct client_answer *ret);

struct client_follow {
        const char *const *rules; /* names; none = all */
        size_t n_rules;
        const char *const *paths; /* canonical; none = all */
        size_t n_paths;
        /* Return 0 to go on, or a negative errno that ends it. */
        int (*event)(void *userdata, const char *record, size_t len);
        int (*lost)(void *userdata, uint64_t count);
        void (*idle)(void *userdata); /* all that has come was handed over */
        void *userdata;
};
/*
 * Hands over events until a callback ends it, *stop is set by a signal handler
 * (installed without SA_RESTART), or the reader of standard output is gone.
 * Returns 0 when asked to stop, a callback's errno, -EPIPE (no reader),
 * -ECONNRESET (the daemon has gone), other -errno.
 */
int client_follow(struct client *c, const struct client_follow *follow, const volatile int *stop);
