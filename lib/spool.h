/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Records that wait for the log: a bounded queue in order of their numbers.
 * Memory is taken in chunks as records come and given back as they leave.
 *
 * Shedding is by priority: a record is accepted only while the fill is below its
 * priority's share (debug and info 70 %, notice 80 %, warning 90 %, err and above,
 * and records that are no events, 100 %), so that a flood of notices leaves room
 * for the alert behind it.  An empty spool takes any record.
 */

#include "base.h"

struct spool;

struct spool *spool_new(size_t max_bytes);
void spool_free(struct spool *s);
DEFINE_CLEANUP(struct spool, spool_free);
void spool_set_max(struct spool *s, size_t max_bytes); /* reload */

/* A record that is no event: all of the room is its share. */
#define SPOOL_NOTE 0

bool spool_has_room(const struct spool *s, int priority, size_t len) _pure_;
/* Copies one record.  Returns 0, -ENOBUFS (no room for this priority: shed), -ENOMEM. */
int spool_push(struct spool *s, int priority, const char *record, size_t len);

struct spool_view {
        const char *data;
        size_t len;
};
/* Up to n records from the front, in order; they stay until popped.  Pointers
 * are valid until the next pop.  Returns how many. */
size_t spool_peek(const struct spool *s, struct spool_view *views, size_t n);
void spool_pop(struct spool *s, size_t n);
size_t spool_count(const struct spool *s) _pure_;
size_t spool_bytes(const struct spool *s) _pure_;
