/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"

#include <errno.h>

#include "hash.h"

#define HANDLE_MAX 128u

/* In two chains: by path always, by handle while one is known. */
struct entry {
        struct entry *next_path, *next_handle;
        uint64_t fsid;
        uint64_t path_hash, handle_hash;
        bool marked;
        int32_t type;
        uint32_t handle_len;
        uint8_t handle[HANDLE_MAX];
        size_t path_len;
        char path[];
};

struct objects {
        struct entry **by_path, **by_handle; /* n_buckets each, a power of two */
        size_t n_buckets, n;
};

int objects_new(struct objects **ret)
{
        struct objects *o = calloc(1, sizeof(*o));

        if (!o)
                return -ENOMEM;
        o->n_buckets = 16;
        o->by_path = calloc(o->n_buckets, sizeof(struct entry *));
        o->by_handle = calloc(o->n_buckets, sizeof(struct entry *));
        if (!o->by_path || !o->by_handle) {
                objects_free(o);
                return -ENOMEM;
        }
        *ret = o;
        return 0;
}

void objects_free(struct objects *o)
{
        if (!o)
                return;
        for (size_t i = 0; o->by_path && i < o->n_buckets; i++)
                while (o->by_path[i]) {
                        struct entry *next = o->by_path[i]->next_path;

                        free(o->by_path[i]);
                        o->by_path[i] = next;
                }
        free(o->by_path);
        free(o->by_handle);
        free(o);
}

static uint64_t hash_path(const struct object_path *p)
{
        return hash_mix(p->fsid, hash_bytes(p->path, p->len));
}

static uint64_t hash_handle(uint64_t fsid, const struct object_handle *h)
{
        return hash_mix(fsid ^ (uint64_t)(uint32_t)h->type, hash_bytes((const char *)h->bytes, h->len));
}

static struct entry **bucket(struct entry **table, const struct objects *o, uint64_t hash)
{
        return &table[(hash ^ hash >> 32) & (o->n_buckets - 1)];
}

static struct entry *find_path(const struct objects *o, const struct object_path *p)
{
        if (o->n == 0)
                return NULL;

        uint64_t hash = hash_path(p);
        struct entry *e = *bucket(o->by_path, o, hash);

        while (e && (e->path_hash != hash || e->fsid != p->fsid || e->path_len != p->len ||
                     memcmp(e->path, p->path, p->len) != 0))
                e = e->next_path;
        return e;
}

static void link_handle(struct objects *o, struct entry *e)
{
        struct entry **b = bucket(o->by_handle, o, e->handle_hash);

        e->next_handle = *b;
        *b = e;
}

static void unlink_handle(struct objects *o, struct entry *e)
{
        if (e->handle_len == 0)
                return;

        struct entry **link = bucket(o->by_handle, o, e->handle_hash);
        while (*link != e)
                link = &(*link)->next_handle;
        *link = e->next_handle;
        e->handle_len = 0;
}

/* Longer chains when memory is short, nothing worse. */
static void grow(struct objects *o)
{
        size_t n = o->n_buckets * 2;
        struct entry **by_path = calloc(n, sizeof(*by_path)), **by_handle = calloc(n, sizeof(*by_handle));
        struct entry **old = o->by_path;
        size_t old_n = o->n_buckets;

        if (!by_path || !by_handle) {
                free(by_path);
                free(by_handle);
                return;
        }
        free(o->by_handle);
        o->by_path = by_path;
        o->by_handle = by_handle;
        o->n_buckets = n;
        for (size_t i = 0; i < old_n; i++)
                for (struct entry *e = old[i], *next; e; e = next) {
                        struct entry **b = bucket(o->by_path, o, e->path_hash);

                        next = e->next_path;
                        e->next_path = *b;
                        *b = e;
                        if (e->handle_len > 0)
                                link_handle(o, e);
                }
        free(old);
}

void objects_begin(struct objects *o)
{
        for (size_t i = 0; i < o->n_buckets; i++)
                for (struct entry *e = o->by_path[i]; e; e = e->next_path)
                        e->marked = false;
}

int objects_mark(struct objects *o, const struct object_path *p, bool *ret_known)
{
        struct entry *e = find_path(o, p);

        if (!e) {
                e = malloc(sizeof(*e) + p->len + 1);
                if (!e)
                        return -ENOMEM;
                if (o->n >= o->n_buckets)
                        grow(o);
                *e = (struct entry){ .fsid = p->fsid, .path_hash = hash_path(p), .path_len = p->len };
                memcpy(e->path, p->path, p->len);
                e->path[p->len] = '\0';

                struct entry **b = bucket(o->by_path, o, e->path_hash);
                e->next_path = *b;
                *b = e;
                o->n++;
        }
        e->marked = true;
        *ret_known = e->handle_len > 0;
        return 0;
}

void objects_end(struct objects *o)
{
        for (size_t i = 0; i < o->n_buckets; i++)
                for (struct entry **link = &o->by_path[i]; *link;) {
                        struct entry *e = *link;

                        if (e->marked) {
                                link = &e->next_path;
                                continue;
                        }
                        unlink_handle(o, e);
                        *link = e->next_path;
                        free(e);
                        o->n--;
                }
}

bool objects_has(const struct objects *o, const struct object_path *p)
{
        return find_path(o, p) != NULL;
}

bool objects_get(const struct objects *o, const struct object_path *p, struct object_handle *ret)
{
        const struct entry *e = find_path(o, p);

        if (!e || e->handle_len == 0)
                return false;
        *ret = (struct object_handle){ .type = e->type, .len = e->handle_len, .bytes = e->handle };
        return true;
}

void objects_set(struct objects *o, const struct object_path *p, const struct object_handle *h)
{
        struct entry *e = find_path(o, p);

        if (!e)
                return;
        unlink_handle(o, e);
        if (h->len == 0 || h->len > HANDLE_MAX)
                return;
        e->type = h->type;
        e->handle_len = h->len;
        memcpy(e->handle, h->bytes, h->len);
        e->handle_hash = hash_handle(e->fsid, h);
        link_handle(o, e);
}

bool objects_find(const struct objects *o, uint64_t fsid, const struct object_handle *h,
                  const struct object_path *not, struct object_path *ret)
{
        if (o->n == 0 || h->len == 0)
                return false;

        uint64_t hash = hash_handle(fsid, h);
        for (const struct entry *e = *bucket(o->by_handle, o, hash); e; e = e->next_handle) {
                if (e->handle_hash != hash || e->fsid != fsid || e->type != h->type || e->handle_len != h->len ||
                    memcmp(e->handle, h->bytes, h->len) != 0)
                        continue;
                if (not && not->fsid == fsid && not->len == e->path_len && memcmp(not->path, e->path, not->len) == 0)
                        continue;
                *ret = (struct object_path){ .fsid = e->fsid, .path = e->path, .len = e->path_len };
                return true;
        }
        return false;
}

size_t objects_count(const struct objects *o) { return o->n; }
