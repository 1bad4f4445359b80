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
void notes_verify(struct daemon *d);
/* One line for STATUS=: rules, marks, recorded, lost, the last refusal. */
void notes_status_line(const struct daemon *d, struct strbuf *out);
