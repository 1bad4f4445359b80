/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Event → the one line for people, in MESSAGE:
 *
 *   etc: /etc/passwd modified by vipw[4242] as root, login alice, session-3.scope
 *
 * Always UTF-8 without control characters; not for programs to parse, they have
 * the fields.
 */

#include "record.h"

/* Appends the line.  What the FIELD_BITs in omit leave out of the record is
 * left out of the line too. */
void message_event(const struct record_context *c, const struct event *e, const struct match_hits *hits,
                   uint64_t omit, struct strbuf *out);
