/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The commands of fawatchctl: one file each.  main.c has the table, parses the
 * options and prints the usage; a command gets what it may use and returns the
 * exit status.
 */

#include "base.h"

enum exit_status { /* documented in fawatchctl(1) */
        STATUS_YES = 0,           /* done, or the answer is yes */
        STATUS_NO = 1,            /* the answer is no: bad rules, refused, gaps */
        STATUS_USAGE = 2,         /* wrong use */
        STATUS_NOT_RUNNING = 3,   /* there is no daemon */
        STATUS_NOT_PERMITTED = 4, /* not root */
        STATUS_OTHER = 5,         /* anything else */
};

struct invocation {
        const char *socket; /* the daemon's */
        bool json, strict, dry_run;
        const char *root; /* "" = this machine */
        const char *const *rules;
        size_t n_rules;
        const char *const *paths;
        size_t n_paths;
        const char *file;   /* the operand, or NULL */
        const char *second; /* of two */
        const char *since;  /* as given, or NULL */
};

enum exit_status cmd_status(const struct invocation *i);
enum exit_status cmd_reload(const struct invocation *i);
enum exit_status cmd_check(const struct invocation *i);
enum exit_status cmd_edit(const struct invocation *i);
enum exit_status cmd_rules(const struct invocation *i);
enum exit_status cmd_marks(const struct invocation *i);
enum exit_status cmd_explain(const struct invocation *i);
enum exit_status cmd_coverage(const struct invocation *i);
enum exit_status cmd_follow(const struct invocation *i);
enum exit_status cmd_who(const struct invocation *i);
enum exit_status cmd_verify(const struct invocation *i);

/* Tells on standard error why the daemon gave no answer, and what to do. */
enum exit_status explain_no_answer(int error);
/* Connects, asks, and hands over the answer; or tells why not. */
struct client_answer;
enum exit_status ask_daemon(const struct invocation *i, const char *method, struct client_answer *ret);
/* ... and prints it as it came: JSON for programs, the text of the rules. */
enum exit_status ask_daemon_and_print(const struct invocation *i, const char *method);
/* ... and parses it as JSON. */
struct json_t;
enum exit_status ask_daemon_json(const struct invocation *i, const char *method, struct json_t **ret);
