/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "lru.h"

struct entry {
        struct entry *older, *newer; /* order of use */
        struct entry *next;          /* in its bucket */
        uint64_t hash;
        void *value;
        size_t weight;
        size_t key_len;
        uint8_t key[];
};

struct lru {
        struct entry *oldest, *newest;
        struct entry **buckets;
        size_t n_buckets; /* a power of two */
        size_t count, max_entries;
        size_t weight, max_weight;
        lru_drop_fn drop;
        void *userdata;
};

/* Eight bytes a step, then one multiplication to spread them: keys are file handles
 * and pids, of which only a few bits differ. */
uint64_t lru_hash(const void *key, size_t len)
{
        const uint8_t *p = key;
        uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ len;

        while (len > 0) {
                uint64_t word = 0;
                size_t n = MIN_OF(len, sizeof(word));

                memcpy(&word, p, n);
                h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
                h ^= h >> 32;
                p += n;
                len -= n;
        }
        return h;
}

int lru_new(size_t max_entries, size_t max_weight, lru_drop_fn drop, void *userdata, struct lru **ret)
{
        struct lru *l = calloc(1, sizeof(*l));

        if (!l)
                return -ENOMEM;
        *l = (struct lru){
                .n_buckets = 16,
                .max_entries = max_entries,
                .max_weight = max_weight,
                .drop = drop,
                .userdata = userdata,
        };
        while (l->n_buckets < max_entries)
                l->n_buckets *= 2;
        l->buckets = calloc(l->n_buckets, sizeof(*l->buckets));
        if (!l->buckets) {
                free(l);
                return -ENOMEM;
        }
        *ret = l;
        return 0;
}

void lru_free(struct lru *l)
{
        if (!l)
                return;
        lru_clear(l);
        free(l->buckets);
        free(l);
}

/* The link that points at the entry, or at the end of its bucket. */
static struct entry **find_link(const struct lru *l, const void *key, size_t len, uint64_t hash)
{
        struct entry **link = &l->buckets[hash & (l->n_buckets - 1)];

        while (*link &&
               ((*link)->hash != hash || (*link)->key_len != len || memcmp((*link)->key, key, len) != 0))
                link = &(*link)->next;
        return link;
}

static void unlink_use(struct lru *l, struct entry *e)
{
        *(e->older ? &e->older->newer : &l->oldest) = e->newer;
        *(e->newer ? &e->newer->older : &l->newest) = e->older;
}

static void link_newest(struct lru *l, struct entry *e)
{
        e->older = l->newest;
        e->newer = NULL;
        *(l->newest ? &l->newest->newer : &l->oldest) = e;
        l->newest = e;
}

static void remove_at(struct lru *l, struct entry **link)
{
        struct entry *e = *link;

        *link = e->next;
        unlink_use(l, e);
        l->count--;
        l->weight -= e->weight;
        l->drop(l->userdata, e->value);
        free(e);
}

static void remove_entry(struct lru *l, struct entry *e)
{
        remove_at(l, find_link(l, e->key, e->key_len, e->hash));
}

static void use(struct lru *l, struct entry *e)
{
        if (e == l->newest)
                return;
        unlink_use(l, e);
        link_newest(l, e);
}

void *lru_peek(const struct lru *l, const void *key, size_t len)
{
        const struct entry *e = *find_link(l, key, len, lru_hash(key, len));

        return e ? e->value : NULL;
}

void *lru_get(struct lru *l, const void *key, size_t len)
{
        struct entry *e = *find_link(l, key, len, lru_hash(key, len));

        if (!e)
                return NULL;
        use(l, e);
        return e->value;
}

int lru_put(struct lru *l, const void *key, size_t len, void *value, size_t weight)
{
        struct entry *e = malloc(sizeof(*e) + len);

        if (!e)
                return -ENOMEM;
        *e = (struct entry){ .hash = lru_hash(key, len), .value = value, .weight = weight, .key_len = len };
        memcpy(e->key, key, len);

        struct entry **link = find_link(l, key, len, e->hash);
        if (*link)
                remove_at(l, link);
        while (l->oldest && (l->count + 1 > l->max_entries || l->weight + weight > l->max_weight))
                remove_entry(l, l->oldest);

        struct entry **bucket = &l->buckets[e->hash & (l->n_buckets - 1)];
        e->next = *bucket;
        *bucket = e;
        link_newest(l, e);
        l->count++;
        l->weight += weight;
        return 0;
}

bool lru_remove(struct lru *l, const void *key, size_t len)
{
        struct entry **link = find_link(l, key, len, lru_hash(key, len));

        if (!*link)
                return false;
        remove_at(l, link);
        return true;
}

size_t lru_remove_if(struct lru *l, bool (*leaves)(void *arg, void *value), void *arg)
{
        size_t n = 0;

        for (struct entry *e = l->oldest, *newer; e; e = newer) {
                newer = e->newer;
                if (leaves(arg, e->value)) {
                        remove_entry(l, e);
                        n++;
                }
        }
        return n;
}

void lru_turn(struct lru *l, size_t n, bool (*leaves)(void *arg, void *value), void *arg)
{
        for (struct entry *e; n > 0 && (e = l->oldest); n--) {
                if (leaves(arg, e->value))
                        remove_entry(l, e);
                else
                        use(l, e);
        }
}

void lru_clear(struct lru *l)
{
        while (l->oldest)
                remove_entry(l, l->oldest);
}

size_t lru_count(const struct lru *l) { return l->count; }

size_t lru_weight(const struct lru *l) { return l->weight; }
