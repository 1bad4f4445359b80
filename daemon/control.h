/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The control socket: D-Bus without a broker on /run/fawatchd/control
 * (org.fawatch.Manager1 at /org/fawatch/Manager1), root only.
 *
 *   Status(), Marks(), Coverage() → ay   JSON
 *   Rules() → ay                         canonical text with sources
 *   Explain(ay path, ay second) → ay     JSON; second empty: no rename
 *   Reload(b dry_run) → b ok, ay JSON    answered when done
 *   Follow(as rules, aay paths)          then signals Event(ay record), Lost(t count)
 *
 * and Hello() of org.freedesktop.DBus, so that busctl --address= works.  What
 * may hold a path is "ay": a D-Bus string must be UTF-8.
 */

#include "strbuf.h"

typedef struct sd_event sd_event;
struct control;
struct control_reload; /* one waiting Reload() call */

struct control_peer {
        int32_t pid;
        uint32_t uid;
        char comm[16]; /* best effort, "" when gone */
};

struct control_ops {
        /* Each appends its answer to out and returns 0 or a negative errno. */
        int (*status)(void *userdata, struct strbuf *out);
        int (*marks)(void *userdata, struct strbuf *out);
        int (*coverage)(void *userdata, struct strbuf *out);
        int (*rules)(void *userdata, struct strbuf *out);
        /* Starts a reload; call control_reload_done() with the token when it is
         * done (also later, also when the client has left). */
        void (*reload)(void *userdata, bool dry_run, const struct control_peer *peer,
                       struct control_reload *token);
        /* second: NULL, or the new name of a rename; both absolute.  -ENOENT: no mount shows it. */
        int (*explain)(void *userdata, const char *path, const char *second, struct strbuf *out);
};

/* Listens on path (a stale socket file is replaced; mode 0600); NULL: nowhere,
 * connections come by control_adopt() alone.  lost_counter: events not sent to
 * slow followers are added there.  Returns 0 or -errno. */
int control_new(sd_event *loop, const char *path, const struct control_ops *ops, void *userdata,
                uint64_t *lost_counter, struct control **ret);
/* Closes every connection at once, without waiting for slow ones, and removes
 * the socket file.  Tokens of waiting reloads stay valid for control_reload_done(). */
void control_free(struct control *c);
DEFINE_CLEANUP(struct control, control_free);

/* Serves a connected stream socket, which it takes over (also on failure).
 * Returns 0; -EPERM when the peer is not root; -EUSERS when too many are
 * connected; other negative errno. */
int control_adopt(struct control *c, int fd);

/* Answers a waiting Reload() and frees the token, whether its client is still
 * there or not. */
void control_reload_done(struct control_reload *token, bool ok, const char *json, size_t len);
/* True while somebody follows: then each record goes to control_publish(). */
bool control_has_followers(const struct control *c);
/* Offers one record (record.h) to all followers; never blocks. */
void control_publish(struct control *c, const char *record, size_t len);
