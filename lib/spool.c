/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A ring of records and a doubled state in an area of memory. */

#include "spool.h"

#include <errno.h>

#include "hash.h"
#include "spool_area.h"

struct spool *spool_new(size_t max_bytes)
{
        size_t size = spool_area_size(max_bytes, 0);
        void *area = aligned_alloc(SPOOL_ALIGN, size);
        struct spool *s;

        if (!area)
                return NULL;
        spool_format(area, max_bytes, 0, "");
        if (spool_attach(area, size, &s) < 0) {
                free(area);
                return NULL;
        }
        s->own = area;
        return s;
}

void spool_free(struct spool *s)
{
        if (!s)
                return;
        free(s->own);
        free(s);
}

const char *spool_stream(const struct spool *s)
{
        return s->area->stream;
}

struct spool_state *spool_state(struct spool *s)
{
        return &s->work.state;
}

uint8_t *spool_window_data(const struct spool *s, unsigned window, size_t *ret_size)
{
        *ret_size = s->area->window_bytes;
        return s->windows + window * s->area->window_bytes;
}

void *spool_notes(const struct spool *s)
{
        return s->area->notes;
}

/* Of the copy that is not in force: what it holds first, then that it is. */
void spool_commit(struct spool *s)
{
        struct spool_area *a = s->area;
        uint32_t other = a->in_force ^ 1;

        memcpy(&a->copies[other], &s->work, spool_copy_size(&s->work));
        a->copies[other].check = spool_copy_check(&s->work);
        __atomic_store_n(&a->in_force, other, __ATOMIC_RELEASE);
}

/* ---- records ---- */

/* A record stands behind its length and its checksum, the next one at a multiple of eight. */
static size_t slot_size(size_t len)
{
        return (sizeof(struct spool_slot) + len + 7) & ~(size_t)7;
}

static size_t record_length(const struct spool *s, size_t pos)
{
        return ((const struct spool_slot *)(s->ring + pos))->len;
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

/*
 * Where the next record goes, SIZE_MAX when it does not fit.  Records do not wrap:
 * one that is too long for the end of the ring begins at its start.  Tail never
 * comes to stand on head: that would read as empty.
 */
static size_t place(const struct spool *s, size_t len)
{
        const struct spool_ring *r = &s->work.ring;
        size_t size = s->area->ring_bytes, need = slot_size(len);

        if (r->count == 0)
                return need <= size ? 0 : SIZE_MAX;
        if (r->tail > r->head) {
                if (size - r->tail >= need)
                        return r->tail;
                return r->head > need ? 0 : SIZE_MAX;
        }
        return r->head - r->tail > need ? r->tail : SIZE_MAX;
}

bool spool_has_room(const struct spool *s, int priority, size_t len)
{
        const struct spool_ring *r = &s->work.ring;
        size_t max = s->max_bytes, room = max / 100 * share(priority) + max % 100 * share(priority) / 100;

        if (len > UINT32_MAX - 64 || place(s, len) == SIZE_MAX)
                return false;
        /* into an empty one anything goes: a record larger than all of it would never be told */
        return r->count == 0 || (len <= room && r->bytes <= room - len);
}

int spool_push(struct spool *s, int priority, const char *record, size_t len)
{
        struct spool_ring *r = &s->work.ring;
        struct spool_slot *slot;
        size_t at;

        if (!spool_has_room(s, priority, len))
                return -ENOBUFS;
        at = place(s, len);
        if (r->count == 0)
                r->head = 0;
        else if (at < r->tail) /* the end of the ring stays empty */
                r->end = r->tail;
        slot = (struct spool_slot *)(s->ring + at);
        *slot = (struct spool_slot){ .len = (uint32_t)len, .check = spool_record_check(record, len) };
        memcpy(slot + 1, record, len);
        r->tail = at + slot_size(len);
        if (r->tail > r->head)
                r->end = r->tail;
        r->bytes += len;
        r->count++;
        spool_commit(s);
        return 0;
}

/* The place behind the record at pos. */
static size_t next(const struct spool *s, size_t pos)
{
        const struct spool_ring *r = &s->work.ring;

        pos += slot_size(record_length(s, pos));
        return pos == r->end && pos != r->tail ? 0 : pos;
}

size_t spool_peek(const struct spool *s, struct spool_view *views, size_t n)
{
        size_t pos = s->work.ring.head;

        n = MIN_OF(n, (size_t)s->work.ring.count);
        for (size_t i = 0; i < n; i++, pos = next(s, pos))
                views[i] = (struct spool_view){
                        s->ring + pos + sizeof(struct spool_slot),
                        record_length(s, pos),
                };
        return n;
}

void spool_pop(struct spool *s, size_t n)
{
        struct spool_ring *r = &s->work.ring;

        for (n = MIN_OF(n, (size_t)r->count); n > 0; n--) {
                r->bytes -= record_length(s, r->head);
                r->head = next(s, r->head);
                r->count--;
                if (r->head == 0)
                        r->end = r->tail;
        }
        /* mostly one record comes and goes: always in the same place */
        if (r->count == 0)
                r->head = r->tail = r->end = 0;
        r->sending = 0;
        spool_commit(s);
}

size_t spool_count(const struct spool *s)
{
        return s->work.ring.count;
}

size_t spool_bytes(const struct spool *s)
{
        return s->work.ring.bytes;
}

void spool_begin_send(struct spool *s, size_t n)
{
        s->work.ring.sending = n;
        spool_commit(s);
}

size_t spool_sending(const struct spool *s)
{
        return s->work.ring.sending;
}

/* ---- another size ---- */

size_t spool_take_over(struct spool *to, const struct spool *from)
{
        size_t lost = 0, pos = from->work.ring.head;
        size_t window = MIN_OF(to->area->window_bytes, from->area->window_bytes);

        to->work.state = from->work.state;
        for (unsigned i = 0; i < SPOOL_WINDOWS; i++)
                memcpy(to->windows + i * to->area->window_bytes, from->windows + i * from->area->window_bytes,
                       window);
        for (size_t i = 0; i < from->work.ring.count; i++, pos = next(from, pos))
                if (spool_push(to, SPOOL_NOTE, from->ring + pos + sizeof(struct spool_slot),
                               record_length(from, pos)) < 0)
                        lost++;
        spool_commit(to);
        return lost;
}

/* Without memory the bound stays what it was. */
static void grow(struct spool *s, size_t max_bytes)
{
        struct spool *larger = spool_new(max_bytes), before = *s;

        if (!larger)
                return;
        (void)spool_take_over(larger, s);
        *s = *larger;
        *larger = before;
        spool_free(larger);
}

void spool_set_max(struct spool *s, size_t max_bytes)
{
        if (s->own && max_bytes > s->area->max_bytes)
                grow(s, max_bytes);
        s->max_bytes = MIN_OF(max_bytes, (size_t)s->area->max_bytes);
}

size_t spool_max(const struct spool *s)
{
        return s->max_bytes;
}
