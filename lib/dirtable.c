/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dirtable.h"

#include <errno.h>

#include "hash.h"
#include "strbuf.h"

#define FIRST_BUCKETS 64u
/* MAX_HANDLE_SZ of the kernel */
#define MAX_HANDLE 128u

struct dirtable {
        struct dirtree *tree;
        struct dirtable_dir **buckets; /* by handle */
        size_t n_buckets, n;           /* n_buckets is a power of two */
};

int dirtable_new(struct dirtable **ret)
{
        _cleanup_(dirtable_freep) struct dirtable *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        t->n_buckets = FIRST_BUCKETS;
        t->buckets = calloc(t->n_buckets, sizeof(*t->buckets));
        if (!t->buckets || dirtree_new(&t->tree) < 0)
                return -ENOMEM;
        *ret = STEAL(t);
        return 0;
}

void dirtable_free(struct dirtable *t)
{
        if (!t)
                return;
        for (size_t i = 0; t->buckets && i < t->n_buckets; i++)
                while (t->buckets[i]) {
                        struct dirtable_dir *d = t->buckets[i];

                        t->buckets[i] = d->next_in_bucket;
                        free(d);
                }
        free(t->buckets);
        dirtree_free(t->tree);
        free(t);
}

/* ---- by handle ---- */

/* The filesystem is left out: two equal handles of two filesystems share a bucket, no more. */
static size_t bucket_of(const struct dirtable *t, int32_t type, const uint8_t *bytes, size_t len)
{
        return hash_mix(hash_bytes((const char *)bytes, len), (uint32_t)type) & (t->n_buckets - 1);
}

/* A table that cannot grow is a slower table. */
static void grow(struct dirtable *t)
{
        struct dirtable old = *t;

        t->n_buckets *= 2;
        t->buckets = calloc(t->n_buckets, sizeof(*t->buckets));
        if (!t->buckets) {
                *t = old;
                return;
        }
        for (size_t i = 0; i < old.n_buckets; i++)
                while (old.buckets[i]) {
                        struct dirtable_dir *d = old.buckets[i], **to;

                        old.buckets[i] = d->next_in_bucket;
                        to = &t->buckets[bucket_of(t, d->type, d->bytes, d->len)];
                        d->next_in_bucket = *to;
                        *to = d;
                }
        free(old.buckets);
}

struct dirtable_dir *dirtable_find(const struct dirtable *t, const struct fan_handle *h)
{
        struct dirtable_dir *d;

        if (!fan_handle_given(h) || h->len > MAX_HANDLE)
                return NULL;
        d = t->buckets[bucket_of(t, h->type, h->bytes, h->len)];
        while (d && !(d->type == h->type && d->len == h->len && memcmp(d->bytes, h->bytes, h->len) == 0 &&
                      dirtable_fsid(d) == h->fsid))
                d = d->next_in_bucket;
        return d;
}

struct dirtable_dir *dirtable_at(const struct dirtable *t, uint64_t fsid, const char *path, size_t len)
{
        const struct dirtree_node *n = dirtree_find(t->tree, fsid, path, len);

        return n ? dirtree_value(n) : NULL;
}

/* ---- what changes it ---- */

static void unlink_from(struct dirtable *t, struct dirtable_dir *d)
{
        struct dirtable_dir **link = &t->buckets[bucket_of(t, d->type, d->bytes, d->len)];

        while (*link != d)
                link = &(*link)->next_in_bucket;
        *link = d->next_in_bucket;
}

struct dropping {
        struct dirtable *table;
        struct dirtable_dir *first;
};

/* Out of its bucket, which leaves its link free for this list. */
static void collect(void *userdata, void *value)
{
        struct dropping *dropping = userdata;
        struct dirtable_dir *d = value;

        unlink_from(dropping->table, d);
        d->next_in_bucket = dropping->first;
        dropping->first = d;
}

static void drop_below(struct dirtable *t, const struct dirtree_node *top)
{
        struct dropping dropping = { .table = t };

        dirtree_foreach(top, collect, &dropping);
        while (dropping.first) {
                struct dirtable_dir *d = dropping.first;

                dropping.first = d->next_in_bucket;
                dirtree_set(d->node, NULL);
                dirtree_prune(t->tree, d->node);
                free(d);
                t->n--;
        }
}

/* What hung at this path is another object. */
static void clear_place(struct dirtable *t, uint64_t fsid, const char *path, size_t len)
{
        const struct dirtree_node *n = dirtree_find(t->tree, fsid, path, len);

        if (n)
                drop_below(t, n);
}

int dirtable_add(struct dirtable *t, const struct fan_handle *h, const char *path, size_t len,
                 struct dirtable_dir **ret)
{
        struct dirtable_dir *d, **bucket;
        struct dirtree_node *node;

        if (!fan_handle_given(h) || h->len > MAX_HANDLE)
                return -EINVAL;
        if (dirtable_find(t, h))
                return -EEXIST;
        if (dirtable_at(t, h->fsid, path, len))
                clear_place(t, h->fsid, path, len);
        node = dirtree_add(t->tree, h->fsid, path, len);
        if (!node)
                return -ENOMEM;
        d = malloc(MAX_OF(sizeof(*d), offsetof(struct dirtable_dir, bytes) + h->len));
        if (!d) {
                dirtree_prune(t->tree, node);
                return -ENOMEM;
        }
        *d = (struct dirtable_dir){ .node = node, .type = h->type, .len = (uint8_t)h->len };
        memcpy(d->bytes, h->bytes, h->len);
        dirtree_set(node, d);
        if (t->n >= 2 * t->n_buckets)
                grow(t);
        bucket = &t->buckets[bucket_of(t, d->type, d->bytes, d->len)];
        d->next_in_bucket = *bucket;
        *bucket = d;
        t->n++;
        *ret = d;
        return 0;
}

int dirtable_rename(struct dirtable *t, struct dirtable_dir *d, const char *path, size_t len)
{
        const struct dirtree_node *there = dirtree_find(t->tree, dirtable_fsid(d), path, len);
        struct dirtree_node *node = d->node;
        int r;

        if (there == node)
                return 0;
        for (const struct dirtree_node *n = node; there && n; n = dirtree_parent(n))
                if (n == there)
                        return -EINVAL;
        if (there)
                drop_below(t, there);
        r = dirtree_move(t->tree, &node, path, len);
        if (r < 0)
                return r == -ENOMEM ? r : -EINVAL;
        d->node = node;
        return 0;
}

void dirtable_remove(struct dirtable *t, struct dirtable_dir *d)
{
        drop_below(t, d->node);
}

void dirtable_remove_filesystem(struct dirtable *t, uint64_t fsid)
{
        clear_place(t, fsid, "/", 1);
}

/* ---- what it knows ---- */

void dirtable_path(const struct dirtable_dir *d, struct strbuf *out)
{
        dirtree_path(d->node, out);
}

uint64_t dirtable_fsid(const struct dirtable_dir *d)
{
        return dirtree_fsid(d->node);
}

struct fan_handle dirtable_handle(const struct dirtable_dir *d)
{
        return (struct fan_handle){
                .fsid = dirtable_fsid(d), .type = d->type, .len = d->len, .bytes = d->bytes,
        };
}

struct visitor {
        void (*fn)(void *userdata, struct dirtable_dir *d);
        void *userdata;
};

static void visit(void *userdata, void *value)
{
        const struct visitor *v = userdata;

        v->fn(v->userdata, value);
}

void dirtable_foreach(const struct dirtable_dir *d, void (*fn)(void *userdata, struct dirtable_dir *d),
                      void *userdata)
{
        struct visitor v = { fn, userdata };

        dirtree_foreach(d->node, visit, &v);
}

void dirtable_foreach_of(const struct dirtable *t, uint64_t fsid,
                         void (*fn)(void *userdata, struct dirtable_dir *d), void *userdata)
{
        const struct dirtree_node *root = dirtree_find(t->tree, fsid, "/", 1);
        struct visitor v = { fn, userdata };

        if (root)
                dirtree_foreach(root, visit, &v);
}

size_t dirtable_count(const struct dirtable *t)
{
        return t->n;
}
