/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A stretch of a group's queue, read and not judged yet: its bytes, the open
 * descriptors in them, and an index of what later events say about earlier ones.
 */

#include "decode.h"
#include "fan_group.h"
#include "spool.h"

struct window {
        uint8_t *data;
        size_t len, cap;
        size_t closed;      /* descriptors of the events before this offset are closed */
        size_t n_events, max_events;
        uint64_t read_usec; /* realtime of the last read */
        uint64_t epoch;     /* how often the queue had been seen empty before the first */
        uint64_t since_usec; /* nothing in it was queued before, on CLOCK_BOOTTIME; 0 = not known */
        uint64_t read_boottime_usec;
        bool drained;       /* the last fill found the queue empty behind it */
        uint64_t drained_usec; /* not later than that, on CLOCK_BOOTTIME */
        uint64_t fsid;      /* what the group's events are read with, group_key_fsid(); 0: as they are */
        bool owns_fds;      /* false: bytes from elsewhere, whose numbers are no descriptors of ours */
        bool replayed;      /* read by a process that is gone */

        /* Bytes that outlive this process: what is read stands there before anybody knows of it. */
        struct spool *spool; /* NULL: the bytes are our own */
        struct spool_window *kept;

        struct window_exec { /* sorted by pid, then place */
                int32_t pid;
                uint32_t at;
                bool merged; /* with another event of the same file: its own place may be later */
        } *execs;
        size_t n_execs, cap_execs;
        bool execs_unknown;  /* there may be more: events were lost, or memory was short */

        struct window_dir { /* sorted by hash, then place; built when first asked */
                uint64_t hash;
                uint32_t at;
        } *dirs;
        size_t n_dirs, cap_dirs;
        size_t dirs_indexed; /* bytes that dirs covers */
};

/* The clock of drained_usec, now. */
uint64_t window_boottime_usec(void);

int window_init(struct window *w, size_t bytes, size_t max_events);
/* The same in the spool's window of this index (borrowed). */
void window_init_kept(struct window *w, struct spool *s, unsigned index, size_t max_events);
/* What the process before read into it and did not judge is its content now.  The event at
 * kept->done is the next one to be judged. */
void window_replay(struct window *w, uint64_t *ret_bad);
/* The events up to here are judged and their records made: with the spool's next commit. */
static inline void window_done_to(struct window *w, size_t end)
{
        if (w->kept)
                w->kept->done = end;
}
/* Closes what is open and frees all. */
void window_done(struct window *w);
/* Empties it, closing what is open. */
void window_reset(struct window *w);

/*
 * Appends what the queue holds, up to the bounds; oldest_usec as in attributor_begin_batch(),
 * for who may have to judge it without us.  *ret_bad is added to for each
 * stretch that does not decode (it is left out).  Returns 0 or a negative errno of
 * read(2), the latter only when nothing is in the window.
 */
int window_fill(struct window *w, struct fan_group *g, uint64_t oldest_usec, uint64_t *ret_bad);
/* The same with bytes from memory (which must outlive the window's content). */
int window_copy(struct window *w, const void *bytes, size_t len, uint64_t *ret_bad);

/* The event at *at, which moves on; 1, or 0 at the end. */
int window_next(const struct window *w, size_t *at, struct fan_event *ret);
/* Closes the descriptors of the event at this offset; call in order. */
void window_close_event(struct window *w, const struct fan_event *e, size_t end);

/* Does an open_exec of this pid stand behind the offset? */
bool window_exec_after(const struct window *w, int32_t pid, size_t at);
/* Does one stand at or before it whose own place is not certain? */
bool window_exec_unordered(const struct window *w, int32_t pid, size_t at);
bool window_has_exec(const struct window *w, int32_t pid);

/*
 * An event that names this directory by its parent and its last component: the
 * nearest from the offset on (forward), else before it.  *ret_at is its offset.
 */
bool window_find_dir(struct window *w, const struct fan_handle *dir, size_t at, bool forward,
                     struct fan_event *ret, size_t *ret_at);
