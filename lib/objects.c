/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "objects.h"

#include <errno.h>

#include "hash.h"

#define HANDLE_MAX 128u

/* What a path leads to, or led to: in a chain by its hash while len > 0. */
struct slot {
        struct entry *entry;
        struct slot *next;
        uint64_t hash;
        int32_t type;
        uint32_t len;
        uint8_t bytes[HANDLE_MAX];
};

struct entry {
        struct entry *next; /* by path */
        uint64_t fsid, hash;
        bool marked;
        struct slot now, before;
        size_t path_len;
        char path[];
};

struct objects {
        struct entry **by_path;  /* n_buckets each, a power of two */
        struct slot **by_handle;
        size_t n_buckets, n;
};

int objects_new(struct objects **ret)
{
        struct objects *o = calloc(1, sizeof(*o));

        if (!o)
                return -ENOMEM;
        o->n_buckets = 16;
        o->by_path = calloc(o->n_buckets, sizeof(struct entry *));
        o->by_handle = calloc(o->n_buckets, sizeof(struct slot *));
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
                        struct entry *next = o->by_path[i]->next;

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

static size_t bucket(const struct objects *o, uint64_t hash)
{
        return (hash ^ hash >> 32) & (o->n_buckets - 1);
}

static struct entry *find_path(const struct objects *o, const struct object_path *p)
{
        if (o->n == 0)
                return NULL;

        uint64_t hash = hash_path(p);
        struct entry *e = o->by_path[bucket(o, hash)];

        while (e && (e->hash != hash || e->fsid != p->fsid || e->path_len != p->len ||
                     memcmp(e->path, p->path, p->len) != 0))
                e = e->next;
        return e;
}

static void link_slot(struct objects *o, struct slot *s)
{
        struct slot **b = &o->by_handle[bucket(o, s->hash)];

        if (s->len == 0)
                return;
        s->next = *b;
        *b = s;
}

static void clear_slot(struct objects *o, struct slot *s)
{
        if (s->len == 0)
                return;

        struct slot **link = &o->by_handle[bucket(o, s->hash)];
        while (*link != s)
                link = &(*link)->next;
        *link = s->next;
        s->len = 0;
}

/* Longer chains when memory is short, nothing worse. */
static void grow(struct objects *o)
{
        size_t n = o->n_buckets * 2, old_n = o->n_buckets;
        struct entry **by_path = calloc(n, sizeof(*by_path)), **old = o->by_path;
        struct slot **by_handle = calloc(n, sizeof(*by_handle));

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
                        struct entry **b = &o->by_path[bucket(o, e->hash)];

                        next = e->next;
                        e->next = *b;
                        *b = e;
                        link_slot(o, &e->now);
                        link_slot(o, &e->before);
                }
        free(old);
}

void objects_begin(struct objects *o)
{
        for (size_t i = 0; i < o->n_buckets; i++)
                for (struct entry *e = o->by_path[i]; e; e = e->next)
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
                *e = (struct entry){ .fsid = p->fsid, .hash = hash_path(p), .path_len = p->len };
                e->now.entry = e->before.entry = e;
                memcpy(e->path, p->path, p->len);
                e->path[p->len] = '\0';

                struct entry **b = &o->by_path[bucket(o, e->hash)];
                e->next = *b;
                *b = e;
                o->n++;
        }
        e->marked = true;
        *ret_known = e->now.len > 0;
        return 0;
}

void objects_end(struct objects *o)
{
        for (size_t i = 0; i < o->n_buckets; i++)
                for (struct entry **link = &o->by_path[i]; *link;) {
                        struct entry *e = *link;

                        if (e->marked) {
                                link = &e->next;
                                continue;
                        }
                        clear_slot(o, &e->now);
                        clear_slot(o, &e->before);
                        *link = e->next;
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

        if (!e || e->now.len == 0)
                return false;
        *ret = (struct object_handle){ .type = e->now.type, .len = e->now.len, .bytes = e->now.bytes };
        return true;
}

static bool holds(const struct slot *s, uint64_t fsid, uint64_t hash, const struct object_handle *h)
{
        return s->hash == hash && s->entry->fsid == fsid && s->type == h->type && s->len == h->len &&
               memcmp(s->bytes, h->bytes, h->len) == 0;
}

static void fill_slot(struct objects *o, struct slot *s, const struct object_handle *h)
{
        s->type = h->type;
        s->len = h->len;
        memcpy(s->bytes, h->bytes, h->len);
        s->hash = hash_handle(s->entry->fsid, h);
        link_slot(o, s);
}

void objects_set(struct objects *o, const struct object_path *p, const struct object_handle *h)
{
        struct entry *e = find_path(o, p);
        bool known = h->len > 0 && h->len <= HANDLE_MAX;

        if (!e || (known && e->now.len > 0 && holds(&e->now, e->fsid, hash_handle(e->fsid, h), h)))
                return;
        if (e->now.len > 0) {
                clear_slot(o, &e->before);
                fill_slot(o, &e->before, &(struct object_handle){ e->now.type, e->now.len, e->now.bytes });
                clear_slot(o, &e->now);
        }
        if (known)
                fill_slot(o, &e->now, h);
}

bool objects_find(const struct objects *o, uint64_t fsid, const struct object_handle *h,
                  const struct object_path *other_than, struct object_path *ret)
{
        const struct entry *found = NULL;

        if (o->n == 0 || h->len == 0)
                return false;

        uint64_t hash = hash_handle(fsid, h);
        for (const struct slot *s = o->by_handle[bucket(o, hash)]; s; s = s->next) {
                const struct entry *e = s->entry;
                bool now = s == &e->now;

                if (!holds(s, fsid, hash, h) || (other_than && !now))
                        continue;
                if (other_than && other_than->fsid == fsid && other_than->len == e->path_len &&
                    memcmp(other_than->path, e->path, other_than->len) == 0)
                        continue;
                if (!found || now)
                        found = e;
        }
        if (!found)
                return false;
        *ret = (struct object_path){ .fsid = found->fsid, .path = found->path, .len = found->path_len };
        return true;
}

void objects_foreach_below(struct objects *o, const struct object_path *dir,
                           void (*fn)(void *userdata, const struct object_path *p), void *userdata)
{
        size_t len = dir->len == 1 ? 0 : dir->len; /* the root ends in its separator */

        for (size_t i = 0; i < o->n_buckets; i++)
                for (const struct entry *e = o->by_path[i]; e; e = e->next)
                        if (e->fsid == dir->fsid && e->path_len > len + 1 && e->path[len] == '/' &&
                            memcmp(e->path, dir->path, len) == 0)
                                fn(userdata, &(struct object_path){ e->fsid, e->path, e->path_len });
}

void objects_gone(struct objects *o, uint64_t fsid, const struct object_handle *h)
{
        if (o->n == 0 || h->len == 0)
                return;

        uint64_t hash = hash_handle(fsid, h);
        for (struct slot *s = o->by_handle[bucket(o, hash)], *next; s; s = next) {
                next = s->next;
                if (holds(s, fsid, hash, h))
                        clear_slot(o, s);
        }
}

size_t objects_count(const struct objects *o) { return o->n; }
