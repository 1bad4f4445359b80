/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What must outlive the process: events that were read and not judged yet, records
 * that wait for the log, and the few numbers that make both whole.  It lives in one
 * area of memory, the caller's: a memfd that the service manager keeps, or the heap.
 *
 * A process may be killed between any two instructions, and the next one must find
 * a state that was true.  So there are two copies of the state, and a change is
 * made by writing the other copy and then one word that says which is in force:
 * the number that a record takes, the record, and the event that is done with it,
 * change together or not at all.
 *
 * Shedding is by priority: a record is accepted only while the fill is below its
 * priority's share (debug and info 70 %, notice 80 %, warning 90 %, err and above,
 * and records that are no events, 100 %), so that a flood of notices leaves room
 * for the alert behind it.  An empty spool takes any record that fits into it.
 */

#include "shed.h"

struct spool;

#define SPOOL_WINDOWS 2
#define SPOOL_MAX_SPENT 32u
/* Room for what the log's system calls note about records that are being sent. */
#define SPOOL_NOTES_BYTES 8192u

struct spool_window {      /* events of one group, read and not judged yet */
        uint64_t order;        /* 0 = empty; the lower one was read first */
        int32_t group_kind, mount_id;
        uint64_t done;         /* bytes whose events are judged, and their records made */
        uint64_t read_usec;    /* realtime of the last read */
        uint64_t oldest_usec;  /* CLOCK_BOOTTIME before which nothing of it was queued, 0 = not known */
};

/* Change it at will: it comes into force as a whole with the next spool_push(), _pop()
 * or _commit(). */
struct spool_state {
        uint64_t seq;          /* the last number given to a record */
        uint64_t generation;   /* of the rules in force */
        int64_t pid;           /* who writes this */
        uint64_t orders;       /* windows read so far */
        /* what only this process knows: lost, but counted, when it is killed */
        uint64_t merged;       /* events taken into records that are not made yet */
        uint64_t limited;      /* records over a limit that no record told of yet */
        uint64_t found;        /* entries of directories that wait for the events queued before the look at them */
        struct spool_window windows[SPOOL_WINDOWS];
        /* ignores until = "modified" that are spent: hashes of their names and texts */
        uint64_t n_spent, spent[SPOOL_MAX_SPENT];
        struct shed_kept shed; /* of what was shed and not told yet */
};

/* ---- the area ---- */

/* How many bytes an area takes for records of max_bytes and windows of window_bytes each. */
size_t spool_area_size(size_t max_bytes, size_t window_bytes) _pure_;
/* Makes an area (of spool_area_size() bytes, aligned to 64) an empty spool. */
void spool_format(void *area, size_t max_bytes, size_t window_bytes, const char *stream);
/*
 * The spool in an area, as its last writer left it.  Nothing in it is trusted.
 * Returns 0; -EPROTO (another version's); -EBADMSG (damaged); -ENOMEM.
 */
int spool_attach(void *area, size_t size, struct spool **ret);
/* One in memory of its own, without windows. */
struct spool *spool_new(size_t max_bytes);
/* Frees what is private; an area that was attached stays as it is. */
void spool_free(struct spool *s);
DEFINE_CLEANUP(struct spool, spool_free);

const char *spool_stream(const struct spool *s) _pure_; /* 32 hex digits, "" when given none */
struct spool_state *spool_state(struct spool *s);
void spool_commit(struct spool *s);
/* The bytes of a window; *ret_size is 0 where there are none. */
uint8_t *spool_window_data(const struct spool *s, unsigned window, size_t *ret_size);
void *spool_notes(const struct spool *s);
/* All that is in `from`, which must not have begun to send, into an empty spool; what does
 * not fit stays out and is counted.  Returns how many records did not. */
size_t spool_take_over(struct spool *to, const struct spool *from);
/* The bound from now on.  An area that is not its own limits it to what it was made for. */
void spool_set_max(struct spool *s, size_t max_bytes);
size_t spool_max(const struct spool *s) _pure_;

/* ---- records ---- */

/* A record that is no event: all of the room is its share. */
#define SPOOL_NOTE 0

bool spool_has_room(const struct spool *s, int priority, size_t len) _pure_;
/* Copies one record.  Returns 0, or -ENOBUFS (no room for this priority: shed; the
 * state is not committed). */
int spool_push(struct spool *s, int priority, const char *record, size_t len);

struct spool_view {
        const char *data;
        size_t len;
};
/* Up to n records from the front, in order; they stay until popped.  Pointers
 * are valid until the next push or pop.  Returns how many. */
size_t spool_peek(const struct spool *s, struct spool_view *views, size_t n);
void spool_pop(struct spool *s, size_t n);
size_t spool_count(const struct spool *s) _pure_;
size_t spool_bytes(const struct spool *s) _pure_;

/* The first n records are handed to the log from here on until the next pop. */
void spool_begin_send(struct spool *s, size_t n);
size_t spool_sending(const struct spool *s) _pure_;
