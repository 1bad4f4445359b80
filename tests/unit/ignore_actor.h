/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A process beside the daemon that does one thing with a file at a time, when it is told to. */

enum action {
        /* one system call, with what it left open */
        DO_OPEN_READ, DO_OPEN_WRITE, DO_OPEN_DIR, DO_READ, DO_WRITE, DO_CLOSE, DO_CREATE, DO_UNLINK, DO_MKDIR,
        DO_RMDIR, DO_CHMOD, DO_TRUNCATE, DO_EXEC, DO_RENAME, DO_EXCHANGE, DO_LINK, DO_SYMLINK,
        /* opened, used and closed */
        DO_APPEND, DO_REWRITE, DO_LOOK, DO_LIST,
        /* a file without a name gets one */
        DO_NAME_TMPFILE,
};
struct order {
        enum action action;
        char path[128], second[128];
};

const char *action_name(enum action a);
struct order an_order(enum action action, const char *path, const char *second);

/* Starts the process; one at a time. */
void actor_start(void);
/* Does it, and waits; what the last system call returned. */
int actor_do(const struct order *o);
void actor_end(void);
