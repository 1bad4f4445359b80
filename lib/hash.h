/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A quick hash, and an index from hashes to positions in an array.  Not keyed:
 * use it only for tables whose content an administrator writes, or that are
 * bounded; names that others choose are looked up, never inserted.
 */

#include "base.h"

#define HASH_NONE UINT32_MAX

static inline uint64_t hash_mix(uint64_t h, uint64_t word)
{
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        return h ^ h >> 32;
}

static inline uint64_t hash_load(const char *p, size_t len)
{
        uint64_t word = 0;

        memcpy(&word, p, len);
        return word;
}

/* Eight bytes a step; the last ones are read again where that saves a loop. */
static inline uint64_t hash_bytes(const char *p, size_t len)
{
        uint64_t h = hash_mix(UINT64_C(0xd1b54a32d192ed03), len);
        size_t at = 0;

        for (; len - at > 8; at += 8)
                h = hash_mix(h, hash_load(p + at, 8));
        if (len >= 8)
                return hash_mix(h, hash_load(p + len - 8, 8));
        if (len >= 4)
                return hash_mix(h, hash_load(p, 4) << 32 | hash_load(p + len - 4, 4));
        if (len > 0)
                return hash_mix(h, (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[len / 2] << 8 |
                                           (uint8_t)p[len - 1]);
        return h;
}

/* Open addressing; holds positions only, the caller compares what they stand for. */
struct hash_index {
        struct hash_slot {
                uint32_t tag;
                uint32_t value_plus_1; /* 0 = free */
        } *slots;                      /* mask + 1 of them, at least half of them free; NULL while empty */
        size_t mask, n;
};

/* Adds without looking for an equal one.  Returns 0 or -ENOMEM. */
int hash_index_add(struct hash_index *t, uint64_t hash, uint32_t value);
void hash_index_done(struct hash_index *t);

static inline uint32_t hash_tag(uint64_t hash)
{
        return (uint32_t)(hash ^ hash >> 32);
}

/* Walks the values whose hash is very likely this one: start with *pos =
 * hash_tag(hash), call until HASH_NONE. */
static inline uint32_t hash_index_next(const struct hash_index *t, uint64_t hash, size_t *pos)
{
        uint32_t tag = hash_tag(hash);

        if (t->n == 0)
                return HASH_NONE;
        for (;;) {
                const struct hash_slot *s = &t->slots[(*pos)++ & t->mask];

                if (s->value_plus_1 == 0)
                        return HASH_NONE;
                if (s->tag == tag)
                        return s->value_plus_1 - 1;
        }
}
