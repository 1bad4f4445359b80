/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hash.h"

#include <errno.h>

#define MIN_SLOTS 16

static void insert(struct hash_index *t, struct hash_slot slot)
{
        size_t pos = slot.tag & t->mask;

        while (t->slots[pos].value_plus_1 != 0)
                pos = (pos + 1) & t->mask;
        t->slots[pos] = slot;
}

static int grow(struct hash_index *t)
{
        size_t n_slots = t->slots ? 2 * (t->mask + 1) : MIN_SLOTS;
        struct hash_index bigger = { .mask = n_slots - 1, .n = t->n };

        bigger.slots = calloc(n_slots, sizeof(*bigger.slots));
        if (!bigger.slots)
                return -ENOMEM;
        for (size_t i = 0; t->slots && i <= t->mask; i++)
                if (t->slots[i].value_plus_1 != 0)
                        insert(&bigger, t->slots[i]);
        free(t->slots);
        *t = bigger;
        return 0;
}

int hash_index_add(struct hash_index *t, uint64_t hash, uint32_t value)
{
        if (!t->slots || 2 * (t->n + 1) > t->mask + 1) {
                int r = grow(t);
                if (r < 0)
                        return r;
        }
        insert(t, (struct hash_slot){ .tag = hash_tag(hash), .value_plus_1 = value + 1 });
        t->n++;
        return 0;
}

void hash_index_done(struct hash_index *t)
{
        free(t->slots);
        *t = (struct hash_index){};
}
