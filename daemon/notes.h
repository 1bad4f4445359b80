/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The daemon's own records: started, stopping, rules loaded and refused, alive. */

#include "daemon_state.h"

void notes_started(struct daemon *d);
void notes_stopping(struct daemon *d);
/* by NULL: at start. */
void notes_loaded(struct daemon *d, const struct rules_diff *changes, const struct reload_request *by);
void notes_refused(struct daemon *d, const struct diag *diag, const struct reload_request *by);
void notes_alive(struct daemon *d);
/* Placed marks against fdinfo; logs what differs. */
/* Time or events of which nothing, or not everything, is known. */
struct gap_note {
        const char *kind;               /* FAWATCH_GAP */
        const char *reason;
        uint64_t from_usec, until_usec; /* realtime; 0 = not known */
        const char *last_stream;        /* that ended with it, or NULL; */
        uint64_t last_seq;              /* its numbers went up to this at least */
};
void notes_gap(struct daemon *d, const struct gap_note *gap);
void notes_recovered(struct daemon *d, const struct recovery_summary *summary);
/* A filesystem hangs, or no longer does; says so once. */
void notes_stuck(struct daemon *d);
void notes_verify(struct daemon *d);
/* One line for STATUS=: rules, marks, recorded, lost, the last refusal. */
void notes_status_line(const struct daemon *d, struct strbuf *out);
