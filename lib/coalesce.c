/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "coalesce.h"

#include "hash.h"
#include "vocab.h"

/*
 * When a chain of windows counts as feedback.  A syslog daemon answers within
 * milliseconds, a reader of the journal within half a second; somebody who writes on
 * his own account does not wait for us.
 */
#define ANSWER_USEC USEC_PER_SEC            /* an event this soon after a record of ours may be its answer */
#define BURST_GAP_USEC (200 * USEC_PER_MSEC)
#define BURST_USEC (500 * USEC_PER_MSEC)    /* ... unless records have been coming for longer, with no such gap */
#define FEW_EVENTS 16                       /* more in a short window are not answers */
#define CHAIN_MIN 8                         /* windows in a row */
/* What a chain gets at least: long enough to see whether anything comes that answers nothing. */
#define PROBE_USEC (3 * ANSWER_USEC)
#define STRETCH_MAX_USEC (60 * USEC_PER_SEC)
/* A forwarder with much in hand looks like a busy writer: who was let off is asked again. */
#define EXEMPT_USEC (60 * USEC_PER_SEC)

/* Without coalescing, feedback shows as one key that makes up most of the events: of one
 * second when the loop is fast, of several when it is slow. */
#define COUNT_USEC USEC_PER_SEC
#define COUNT_MIN 200
#define STEADY_USEC (5 * USEC_PER_SEC)
#define STEADY_MIN 8
#define COUNT_MIN_PERCENT 45

enum window_state {
        WINDOW_OPEN,
        WINDOW_IDLE,  /* closed, or never open: kept a while to see what comes next */
        WINDOW_READY, /* had to close early: waits for coalescer_next() */
};

struct share { /* of one key in all offers */
        uint64_t from_usec;
        uint64_t events;
        uint64_t base; /* offers before it */
};

struct window {
        struct window *next_in_bucket;
        struct window *prev, *next; /* in the list of idle or of ready ones */
        uint64_t hash;
        enum window_state state;
        size_t heap_pos;            /* while open */

        uint64_t opened_usec, length_usec, deadline_usec;
        uint64_t merged, first_stamp, last_stamp;
        uint32_t events;
        void *payload;

        uint64_t forget_usec;       /* while idle */
        unsigned chain;             /* windows in a row, each the answer to the record of the one before */
        bool forced;                /* longer than was asked for */
        bool own_account;           /* an event of this window was no answer */
        bool announced;             /* this chain was called feedback once */
        uint64_t exempt_until_usec; /* no feedback: the probe was full of events */
        struct share second, steady; /* while coalescing is off: this second's, and all without a pause */

        uint64_t start_ticks, rules;
        int32_t pid;
        size_t path_len;
        char path[];
};

struct window_list { /* oldest first */
        struct window *first, *last;
};

struct coalescer {
        size_t n_windows, max_windows; /* open and idle */
        struct window **heap;          /* the open ones by deadline */
        size_t n_open;
        struct window **buckets;
        size_t bucket_mask;
        struct window_list idle, ready;
        uint64_t n_offers;
        uint64_t last_record_usec, burst_usec; /* last record, and the first of its burst */
        bool any_record;
        void (*free_payload)(void *payload);
};

static void list_push(struct window_list *l, struct window *w)
{
        w->prev = l->last;
        w->next = NULL;
        if (l->last)
                l->last->next = w;
        else
                l->first = w;
        l->last = w;
}

static void list_remove(struct window_list *l, struct window *w)
{
        if (w->prev)
                w->prev->next = w->next;
        else
                l->first = w->next;
        if (w->next)
                w->next->prev = w->prev;
        else
                l->last = w->prev;
}

/* A heap of deadlines: they mostly come in order, so that an insertion rarely moves anything. */
static void heap_put(struct coalescer *c, size_t pos, struct window *w)
{
        c->heap[pos] = w;
        w->heap_pos = pos;
}

static void heap_settle(struct coalescer *c, struct window *w)
{
        size_t pos = w->heap_pos;

        while (pos > 0 && c->heap[(pos - 1) / 2]->deadline_usec > w->deadline_usec) {
                heap_put(c, pos, c->heap[(pos - 1) / 2]);
                pos = (pos - 1) / 2;
        }
        for (;;) {
                size_t child = 2 * pos + 1;

                if (child + 1 < c->n_open &&
                    c->heap[child + 1]->deadline_usec < c->heap[child]->deadline_usec)
                        child++;
                if (child >= c->n_open || c->heap[child]->deadline_usec >= w->deadline_usec)
                        break;
                heap_put(c, pos, c->heap[child]);
                pos = child;
        }
        heap_put(c, pos, w);
}

static void heap_insert(struct coalescer *c, struct window *w)
{
        heap_put(c, c->n_open++, w);
        heap_settle(c, w);
}

static void heap_remove(struct coalescer *c, struct window *w)
{
        struct window *last = c->heap[--c->n_open];

        if (last == w)
                return;
        heap_put(c, w->heap_pos, last);
        heap_settle(c, last);
}

struct coalescer *coalescer_new(size_t max_open, void (*free_payload)(void *payload))
{
        _cleanup_(coalescer_freep) struct coalescer *c = calloc(1, sizeof(*c));
        size_t n_buckets = 16;

        if (!c)
                return NULL;
        c->max_windows = MAX_OF(max_open, (size_t)1);
        c->free_payload = free_payload;
        while (n_buckets < c->max_windows)
                n_buckets *= 2;
        c->bucket_mask = n_buckets - 1;
        c->buckets = calloc(n_buckets, sizeof(struct window *));
        c->heap = calloc(c->max_windows, sizeof(struct window *));
        return c->buckets && c->heap ? STEAL(c) : NULL;
}

static void free_window(struct coalescer *c, struct window *w)
{
        if (w->payload)
                c->free_payload(w->payload);
        free(w);
}

static struct window **bucket_of(const struct coalescer *c, uint64_t hash)
{
        return &c->buckets[hash & c->bucket_mask];
}

/* Out of all tables; whoever calls it frees or keeps it. */
static void detach(struct coalescer *c, struct window *w)
{
        struct window **p = bucket_of(c, w->hash);

        while (*p != w)
                p = &(*p)->next_in_bucket;
        *p = w->next_in_bucket;
        if (w->state == WINDOW_OPEN)
                heap_remove(c, w);
        else
                list_remove(&c->idle, w);
        c->n_windows--;
}

static void forget(struct coalescer *c, struct window *w)
{
        detach(c, w);
        free_window(c, w);
}

void coalescer_free(struct coalescer *c)
{
        if (!c)
                return;
        while (c->n_open > 0)
                forget(c, c->heap[0]);
        while (c->idle.first)
                forget(c, c->idle.first);
        for (struct window *w = c->ready.first, *next; w; w = next) {
                next = w->next;
                free_window(c, w);
        }
        free(c->heap);
        free(c->buckets);
        free(c);
}

/* A record is made at now: what follows soon may be its answer. */
static void note_record(struct coalescer *c, uint64_t now)
{
        if (!c->any_record || now - c->last_record_usec > BURST_GAP_USEC)
                c->burst_usec = now;
        c->any_record = true;
        c->last_record_usec = now;
}

/* On a machine where records never pause, nothing can be told to be an answer. */
static bool may_be_answer(const struct coalescer *c, uint64_t now)
{
        return c->any_record && now - c->last_record_usec <= ANSWER_USEC &&
               c->last_record_usec - c->burst_usec <= BURST_USEC;
}

static uint64_t hash_key(const struct coalesce_offer *o)
{
        uint64_t h = hash_bytes(o->path, o->path_len);

        h = hash_mix(h, (uint64_t)(uint32_t)o->pid);
        h = hash_mix(h, o->start_ticks);
        return hash_mix(h, o->rules);
}

static struct window *find(const struct coalescer *c, const struct coalesce_offer *o, uint64_t hash)
{
        for (struct window *w = *bucket_of(c, hash); w; w = w->next_in_bucket)
                if (w->hash == hash && w->pid == o->pid && w->start_ticks == o->start_ticks &&
                    w->rules == o->rules && w->path_len == o->path_len &&
                    memcmp(w->path, o->path, o->path_len) == 0)
                        return w;
        return NULL;
}

/* Room for one more: first of what owes nothing, then the window that would end next. */
static void make_room(struct coalescer *c)
{
        struct window *w;

        if (c->n_windows < c->max_windows)
                return;
        w = c->idle.first ? c->idle.first : c->heap[0];
        detach(c, w);
        if (w->merged == 0) {
                free_window(c, w);
                return;
        }
        w->state = WINDOW_READY;
        list_push(&c->ready, w);
}

/* A new key, idle; NULL when memory is short. */
static struct window *add(struct coalescer *c, const struct coalesce_offer *o, uint64_t hash)
{
        struct window *w = calloc(1, sizeof(*w) + o->path_len), **bucket;

        if (!w)
                return NULL;
        make_room(c);
        w->hash = hash;
        w->state = WINDOW_IDLE;
        w->pid = o->pid;
        w->start_ticks = o->start_ticks;
        w->rules = o->rules;
        w->path_len = o->path_len;
        memcpy(w->path, o->path, o->path_len);
        w->forget_usec = o->now_usec + COUNT_USEC;
        w->second = w->steady = (struct share){ .from_usec = o->now_usec, .base = c->n_offers - 1 };
        bucket = bucket_of(c, hash);
        w->next_in_bucket = *bucket;
        *bucket = w;
        list_push(&c->idle, w);
        c->n_windows++;
        return w;
}

static void forget_old(struct coalescer *c, uint64_t now)
{
        while (c->idle.first && c->idle.first->forget_usec <= now)
                forget(c, c->idle.first);
}

/* A chain's window: long enough to tell, and twice as long for each one that told nothing else. */
static uint64_t stretched(uint64_t asked_usec, unsigned chain)
{
        uint64_t usec = MAX_OF(asked_usec, PROBE_USEC), longest = MAX_OF(usec, STRETCH_MAX_USEC);

        for (; chain > CHAIN_MIN && usec < longest; chain--)
                usec *= 2;
        return MIN_OF(usec, longest);
}

static void open_window(struct coalescer *c, struct window *w, uint64_t asked_usec, uint64_t now)
{
        list_remove(&c->idle, w);
        w->state = WINDOW_OPEN;
        w->opened_usec = now;
        w->forced = w->chain >= CHAIN_MIN;
        w->length_usec = w->forced ? stretched(asked_usec, w->chain) : asked_usec;
        w->deadline_usec = now + w->length_usec;
        w->events = 0;
        w->merged = 0;
        w->own_account = false;
        heap_insert(c, w);
}

/* Nothing but answers, and few of them; a probe is long enough for what a forwarder still had in hand. */
static bool is_quiet(const struct window *w)
{
        return !w->own_account && w->merged > 0 && (w->forced || w->merged <= FEW_EVENTS);
}

/* The first event after a window: is it the answer to the record that closed it?
 * A chain that once was feedback is not broken by a single line of somebody else. */
static void continue_chain(struct window *w, uint64_t now)
{
        if (now < w->forget_usec && is_quiet(w))
                w->chain++;
        else if (now >= w->forget_usec || !w->announced) {
                w->chain = 0;
                w->announced = false;
        }
        w->merged = 0;
}

static bool is_most(const struct coalescer *c, const struct share *s, uint64_t min)
{
        return s->events >= min && 100 * s->events >= COUNT_MIN_PERCENT * (c->n_offers - s->base);
}

/* Coalescing is off: counts, and says whether the key looks like feedback. */
static bool count_uncoalesced(struct coalescer *c, struct window *w, uint64_t now)
{
        if (now - w->second.from_usec >= COUNT_USEC)
                w->second = (struct share){ .from_usec = now, .base = c->n_offers - 1 };
        w->second.events++;
        w->steady.events++;
        return is_most(c, &w->second, COUNT_MIN) ||
               (now - w->steady.from_usec >= STEADY_USEC && is_most(c, &w->steady, STEADY_MIN));
}

/* Keeps an idle key a second longer, at the end of the list. */
static void refresh(struct coalescer *c, struct window *w, uint64_t now)
{
        list_remove(&c->idle, w);
        list_push(&c->idle, w);
        w->forget_usec = now + COUNT_USEC;
}

/* An event of a key without an open window: it is reported, and may open one. */
static void report(struct coalescer *c, struct window *w, const struct coalesce_offer *o)
{
        if (w->merged > 0)
                continue_chain(w, o->now_usec);
        if (o->window_usec == 0 && w->chain == 0) {
                if (o->now_usec < w->exempt_until_usec || !count_uncoalesced(c, w, o->now_usec)) {
                        refresh(c, w, o->now_usec);
                        return;
                }
                w->chain = CHAIN_MIN;
        }
        open_window(c, w, o->window_usec, o->now_usec);
}

/* Somebody writes who does not wait for our records: back to the window asked for. */
static void end_chain(struct coalescer *c, struct window *w, const struct coalesce_offer *o)
{
        w->chain = 0;
        w->announced = false;
        w->own_account = true;
        w->exempt_until_usec = o->window_usec == 0 ? o->now_usec + EXEMPT_USEC : 0;
        w->deadline_usec = MIN_OF(w->deadline_usec, MAX_OF(w->opened_usec + o->window_usec, o->now_usec));
        heap_settle(c, w);
}

static void merge(struct coalescer *c, struct window *w, const struct coalesce_offer *o)
{
        uint64_t offset = o->now_usec - w->opened_usec;
        bool answer = may_be_answer(c, o->now_usec);

        if (w->merged++ == 0)
                w->first_stamp = o->stamp_usec;
        w->last_stamp = o->stamp_usec;
        w->events |= o->events;
        if (answer)
                return;
        if (offset > w->length_usec / (w->forced ? 2 : 4))
                w->own_account = true;
        if (w->forced && offset > w->length_usec / 4 * 3)
                end_chain(c, w, o);
}

enum coalesce_verdict coalescer_offer(struct coalescer *c, const struct coalesce_offer *o,
                                      void ***ret_payload)
{
        struct window *w;
        uint64_t hash;

        *ret_payload = NULL;
        c->n_offers++;
        forget_old(c, o->now_usec);
        if ((o->events & ~EV_COALESCED) != 0 || o->events == 0) {
                note_record(c, o->now_usec);
                return COALESCE_REPORT;
        }
        hash = hash_key(o);
        w = find(c, o, hash);
        if (w && w->state == WINDOW_OPEN) {
                merge(c, w, o);
                *ret_payload = &w->payload;
                return COALESCE_MERGED;
        }
        note_record(c, o->now_usec);
        if (!w)
                w = add(c, o, hash);
        if (!w)
                return COALESCE_REPORT;
        report(c, w, o);
        if (w->state == WINDOW_OPEN)
                *ret_payload = &w->payload;
        return COALESCE_REPORT;
}

/* What is handed over; the payload changes hands. */
static struct coalesced result_of(struct window *w)
{
        bool feedback = w->forced && is_quiet(w) && !w->announced;

        w->announced |= feedback;
        return (struct coalesced){
                .events = w->events, .count = w->merged,
                .first_usec = w->first_stamp, .last_usec = w->last_stamp,
                .feedback = feedback, .payload = STEAL(w->payload),
        };
}

/* The window ended; the key stays a moment, to see whether its record is answered. */
static void rest(struct coalescer *c, struct window *w, uint64_t now)
{
        heap_remove(c, w);
        w->state = WINDOW_IDLE;
        w->forget_usec = now + ANSWER_USEC;
        list_push(&c->idle, w);
}

bool coalescer_next(struct coalescer *c, uint64_t now_usec, struct coalesced *ret)
{
        struct window *w = c->ready.first;

        if (w) {
                list_remove(&c->ready, w);
                *ret = result_of(w);
                free_window(c, w);
                if (now_usec != COALESCE_FLUSH)
                        note_record(c, now_usec);
                return true;
        }
        while (c->n_open > 0 && c->heap[0]->deadline_usec <= now_usec) {
                w = c->heap[0];
                if (w->merged == 0) {
                        forget(c, w);
                        continue;
                }
                *ret = result_of(w);
                if (now_usec == COALESCE_FLUSH)
                        forget(c, w);
                else {
                        rest(c, w, now_usec);
                        note_record(c, now_usec);
                }
                return true;
        }
        return false;
}

uint64_t coalescer_deadline(const struct coalescer *c)
{
        if (c->ready.first)
                return 0;
        return c->n_open > 0 ? c->heap[0]->deadline_usec : UINT64_MAX;
}

size_t coalescer_n_open(const struct coalescer *c)
{
        return c->n_open;
}
