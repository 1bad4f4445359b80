/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What one follower asked to see: rule names and paths, from its Follow() call. */

#include "base.h"

typedef struct sd_bus_message sd_bus_message;
struct control_filter;

/* Reads "as" rule names and "aay" paths from the call.  Returns 0, -E2BIG (more
 * than anybody means), -ENOMEM, or a negative errno of a malformed message. */
int control_filter_read(sd_bus_message *call, struct control_filter **ret);
void control_filter_free(struct control_filter *f);
DEFINE_CLEANUP(struct control_filter, control_filter_free);

/*
 * Is this record (record.h) one that the follower asked for?  No rules: any
 * rule; no paths: any path; else one of each.  What says that events are missing
 * (shed, gap) is always shown: it may stand for an event that was asked for.
 */
bool control_filter_wants(const struct control_filter *f, const char *record, size_t len);
