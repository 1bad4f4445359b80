/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An area becomes a spool, or is one and is believed. */

#include "spool_area.h"

#include <errno.h>

#include "hash.h"

#define HEADER_BYTES ((sizeof(struct spool_area) + SPOOL_ALIGN - 1) & ~(size_t)(SPOOL_ALIGN - 1))
/* Beyond the records' own bytes: their lengths, and the end of the ring where none fits. */
#define MIN_RING_BYTES (256u * 1024u)

static size_t round_up(size_t size)
{
        return (size + SPOOL_ALIGN - 1) & ~(size_t)(SPOOL_ALIGN - 1);
}

static size_t ring_size(size_t max_bytes)
{
        return round_up(max_bytes + max_bytes / 8 + MIN_RING_BYTES);
}

size_t spool_area_size(size_t max_bytes, size_t window_bytes)
{
        return HEADER_BYTES + SPOOL_WINDOWS * round_up(window_bytes) + ring_size(max_bytes);
}

static uint64_t header_check(const struct spool_area *a)
{
        return hash_bytes((const char *)a, offsetof(struct spool_area, check));
}

size_t spool_copy_size(const struct spool_copy *c)
{
        return offsetof(struct spool_copy, state.shed) + shed_kept_size(&c->state.shed);
}

uint64_t spool_copy_check(const struct spool_copy *c)
{
        return hash_bytes((const char *)c + sizeof(c->check), spool_copy_size(c) - sizeof(c->check));
}

uint32_t spool_record_check(const char *record, size_t len)
{
        return (uint32_t)hash_bytes(record, len);
}

void spool_format(void *area, size_t max_bytes, size_t window_bytes, const char *stream)
{
        struct spool_area *a = area;

        memset(area, 0, HEADER_BYTES);
        memcpy(a->magic, SPOOL_MAGIC, sizeof(a->magic));
        a->version = SPOOL_VERSION;
        a->header_bytes = HEADER_BYTES;
        a->max_bytes = max_bytes;
        a->window_bytes = round_up(window_bytes);
        a->ring_bytes = ring_size(max_bytes);
        strncpy(a->stream, stream, sizeof(a->stream) - 1);
        a->check = header_check(a);
        a->copies[0].check = spool_copy_check(&a->copies[0]);
}

static int believe_header(const struct spool_area *a, size_t size)
{
        if (size < HEADER_BYTES || memcmp(a->magic, SPOOL_MAGIC, sizeof(a->magic)) != 0)
                return -EBADMSG;
        if (a->version != SPOOL_VERSION || a->header_bytes != HEADER_BYTES)
                return -EPROTO;
        if (a->check != header_check(a) || a->in_force > 1 || a->stream[sizeof(a->stream) - 1] != '\0')
                return -EBADMSG;
        if (a->window_bytes > size || a->max_bytes > size || a->window_bytes % SPOOL_ALIGN != 0 ||
            a->ring_bytes != ring_size(a->max_bytes) ||
            size != HEADER_BYTES + SPOOL_WINDOWS * a->window_bytes + a->ring_bytes)
                return -EBADMSG;
        return 0;
}

static bool believe_ring(const struct spool *s)
{
        const struct spool_ring *r = &s->work.ring;
        size_t size = s->area->ring_bytes;
        uint64_t pos = r->head, bytes = 0;
        bool wrapped = r->tail <= r->head;

        if (r->head > size || r->tail > size || r->end > size || r->sending > r->count)
                return false;
        if (r->count == 0)
                return r->head == 0 && r->tail == 0 && r->end == 0 && r->bytes == 0;
        if (r->end % 8 != 0 || r->tail % 8 != 0 || (!wrapped && r->end != r->tail))
                return false;
        for (uint64_t i = 0; i < r->count; i++) {
                size_t limit = wrapped ? r->end : r->tail;
                const struct spool_slot *slot = (const struct spool_slot *)(s->ring + pos);

                if (pos % 8 != 0 || pos > limit || limit - pos < sizeof(*slot) ||
                    slot->len > limit - pos - sizeof(*slot) ||
                    slot->check != spool_record_check((const char *)(slot + 1), slot->len))
                        return false;
                bytes += slot->len;
                pos += (sizeof(*slot) + slot->len + 7) & ~UINT64_C(7);
                if (wrapped && pos == r->end) {
                        pos = 0;
                        wrapped = false;
                }
        }
        return bytes == r->bytes && !wrapped && pos == r->tail;
}

static bool believe_state(const struct spool *s)
{
        const struct spool_state *st = &s->work.state;

        if (st->n_spent > SPOOL_MAX_SPENT)
                return false;
        for (size_t i = 0; i < SPOOL_WINDOWS; i++)
                if (st->windows[i].order > st->orders ||
                    (st->windows[i].order != 0 && st->windows[i].done > s->area->window_bytes))
                        return false;
        return shed_kept_valid(&st->shed, st->seq);
}

int spool_attach(void *area, size_t size, struct spool **ret)
{
        struct spool_area *a = area;
        int r = believe_header(a, size);

        if (r < 0)
                return r;

        const struct spool_copy *copy = &a->copies[a->in_force];
        _cleanup_(spool_freep) struct spool *s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        if (!shed_kept_bounded(&copy->state.shed) || copy->check != spool_copy_check(copy))
                return -EBADMSG;
        s->area = a;
        s->windows = (uint8_t *)area + HEADER_BYTES;
        s->ring = (char *)s->windows + SPOOL_WINDOWS * a->window_bytes;
        s->max_bytes = a->max_bytes;
        memcpy(&s->work, copy, spool_copy_size(copy));
        if (!believe_state(s) || !believe_ring(s))
                return -EBADMSG;
        *ret = STEAL(s);
        return 0;
}
