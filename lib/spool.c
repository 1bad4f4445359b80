/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A queue of records in a list of chunks. */

#include "spool.h"

#include <errno.h>

/* Large enough that malloc takes each from the system by itself, and a spool
 * that has been emptied leaves no holes in the heap. */
#define CHUNK_BYTES (256u * 1024u)

struct chunk {
        struct chunk *next;
        size_t size, first, end; /* records stand in data[first..end) */
        _Alignas(uint32_t) char data[];
};

struct spool {
        struct chunk *head, *tail;
        size_t max_bytes, bytes, count;
};

/* A record stands behind its length, the next one at a multiple of four. */
static size_t slot_size(size_t len)
{
        return (sizeof(uint32_t) + len + 3) & ~(size_t)3;
}

static size_t record_length(const struct chunk *c, size_t pos)
{
        uint32_t len;

        memcpy(&len, c->data + pos, sizeof(len));
        return len;
}

struct spool *spool_new(size_t max_bytes)
{
        struct spool *s = calloc(1, sizeof(*s));

        if (s)
                s->max_bytes = max_bytes;
        return s;
}

void spool_free(struct spool *s)
{
        if (!s)
                return;
        for (struct chunk *c = s->head, *next; c; c = next) {
                next = c->next;
                free(c);
        }
        free(s);
}

void spool_set_max(struct spool *s, size_t max_bytes)
{
        s->max_bytes = max_bytes;
}

/* The share of the room that records of this priority may fill, in percent. */
static unsigned share(int priority)
{
        switch (priority) {
        case 7:
        case 6:
                return 70;
        case 5:
                return 80;
        case 4:
                return 90;
        default:
                return 100;
        }
}

bool spool_has_room(const struct spool *s, int priority, size_t len)
{
        size_t room = s->max_bytes / 100 * share(priority) + s->max_bytes % 100 * share(priority) / 100;

        /* into an empty one anything goes: a record larger than all of it would never be told */
        return s->count == 0 || (len <= room && s->bytes <= room - len);
}

static struct chunk *chunk_with_room(struct spool *s, size_t need)
{
        struct chunk *c = s->tail;
        size_t size = MAX_OF(need, CHUNK_BYTES - sizeof(struct chunk));

        if (c && c->size - c->end >= need)
                return c;
        c = malloc(sizeof(*c) + size);
        if (!c)
                return NULL;
        *c = (struct chunk){ .size = size };
        if (s->tail)
                s->tail->next = c;
        else
                s->head = c;
        s->tail = c;
        return c;
}

int spool_push(struct spool *s, int priority, const char *record, size_t len)
{
        struct chunk *c;
        uint32_t stored = (uint32_t)len;

        if (len > UINT32_MAX - 8 || !spool_has_room(s, priority, len))
                return -ENOBUFS;
        c = chunk_with_room(s, slot_size(len));
        if (!c)
                return -ENOMEM;
        memcpy(c->data + c->end, &stored, sizeof(stored));
        memcpy(c->data + c->end + sizeof(stored), record, len);
        c->end += slot_size(len);
        s->bytes += len;
        s->count++;
        return 0;
}

size_t spool_peek(const struct spool *s, struct spool_view *views, size_t n)
{
        size_t found = 0;

        for (const struct chunk *c = s->head; c; c = c->next)
                for (size_t pos = c->first; pos < c->end; found++) {
                        size_t len = record_length(c, pos);

                        if (found == n)
                                return n;
                        views[found] = (struct spool_view){ c->data + pos + sizeof(uint32_t), len };
                        pos += slot_size(len);
                }
        return found;
}

void spool_pop(struct spool *s, size_t n)
{
        for (; n > 0 && s->count > 0; n--) {
                struct chunk *c = s->head;
                size_t len = record_length(c, c->first);

                c->first += slot_size(len);
                s->bytes -= len;
                s->count--;
                if (c->first < c->end)
                        continue;
                if (!c->next && c->size <= CHUNK_BYTES) { /* kept: mostly one record comes and goes */
                        c->first = c->end = 0;
                        return;
                }
                s->head = c->next;
                if (!s->head)
                        s->tail = NULL;
                free(c);
        }
}

size_t spool_count(const struct spool *s)
{
        return s->count;
}

size_t spool_bytes(const struct spool *s)
{
        return s->bytes;
}
