/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dirtree.h"

#include <errno.h>

#include "lru.h"
#include "strbuf.h"

struct dirtree_node {
        struct dirtree_node *parent; /* NULL: the root of a filesystem */
        struct dirtree_node *first_child, *next_sibling, *prev_sibling;
        struct dirtree_node *next_in_bucket;
        uint64_t hash;
        uint64_t fsid;
        void *value;
        uint32_t len;
        char name[]; /* "" of a root */
};

struct dirtree {
        struct dirtree_node **buckets;
        size_t n_buckets, n; /* n_buckets is a power of two */
};

int dirtree_new(struct dirtree **ret)
{
        struct dirtree *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        t->n_buckets = 64;
        t->buckets = calloc(t->n_buckets, sizeof(*t->buckets));
        if (!t->buckets) {
                free(t);
                return -ENOMEM;
        }
        *ret = t;
        return 0;
}

void dirtree_free(struct dirtree *t)
{
        if (!t)
                return;
        for (size_t i = 0; i < t->n_buckets; i++)
                while (t->buckets[i]) {
                        struct dirtree_node *n = t->buckets[i];

                        t->buckets[i] = n->next_in_bucket;
                        free(n);
                }
        free(t->buckets);
        free(t);
}

static uint64_t hash_of(const struct dirtree_node *parent, uint64_t fsid, const char *name, size_t len)
{
        uint64_t above = parent ? parent->hash : fsid;

        return lru_hash(name, len) ^ lru_hash(&above, sizeof(above));
}

static struct dirtree_node *find(const struct dirtree *t, const struct dirtree_node *parent, uint64_t fsid,
                                 const char *name, size_t len)
{
        uint64_t hash = hash_of(parent, fsid, name, len);
        struct dirtree_node *n = t->buckets[hash & (t->n_buckets - 1)];

        while (n && !(n->hash == hash && n->parent == parent && n->fsid == fsid && n->len == len &&
                      memcmp(n->name, name, len) == 0))
                n = n->next_in_bucket;
        return n;
}

/* A table that cannot grow is a slower table. */
static void grow(struct dirtree *t)
{
        size_t more = t->n_buckets * 2;
        struct dirtree_node **buckets = calloc(more, sizeof(*buckets));

        if (!buckets)
                return;
        for (size_t i = 0; i < t->n_buckets; i++)
                while (t->buckets[i]) {
                        struct dirtree_node *n = t->buckets[i], **to = &buckets[n->hash & (more - 1)];

                        t->buckets[i] = n->next_in_bucket;
                        n->next_in_bucket = *to;
                        *to = n;
                }
        free(t->buckets);
        t->buckets = buckets;
        t->n_buckets = more;
}

static struct dirtree_node *make(struct dirtree *t, struct dirtree_node *parent, uint64_t fsid,
                                 const char *name, size_t len)
{
        struct dirtree_node *n = malloc(sizeof(*n) + len), **bucket;

        if (!n)
                return NULL;
        *n = (struct dirtree_node){
                .parent = parent,
                .fsid = fsid,
                .hash = hash_of(parent, fsid, name, len),
                .len = (uint32_t)len,
        };
        memcpy(n->name, name, len);
        if (parent) {
                n->next_sibling = parent->first_child;
                if (n->next_sibling)
                        n->next_sibling->prev_sibling = n;
                parent->first_child = n;
        }
        if (t->n >= t->n_buckets)
                grow(t);
        bucket = &t->buckets[n->hash & (t->n_buckets - 1)];
        n->next_in_bucket = *bucket;
        *bucket = n;
        t->n++;
        return n;
}

static struct dirtree_node *walk(const struct dirtree *t, struct dirtree *maker, uint64_t fsid,
                                 const char *path, size_t len)
{
        struct dirtree_node *n = find(t, NULL, fsid, "", 0), *above = NULL;

        if (!n && maker)
                n = make(maker, NULL, fsid, "", 0);
        for (size_t at = 1; n && at < len;) {
                const char *slash = memchr(path + at, '/', len - at);
                size_t end = slash ? (size_t)(slash - path) : len;

                above = n;
                n = find(t, above, fsid, path + at, end - at);
                if (!n && maker) {
                        n = make(maker, above, fsid, path + at, end - at);
                        if (!n)
                                dirtree_prune(maker, above);
                }
                at = end + 1;
        }
        return n;
}

struct dirtree_node *dirtree_add(struct dirtree *t, uint64_t fsid, const char *path, size_t len)
{
        return walk(t, t, fsid, path, len);
}

struct dirtree_node *dirtree_find(const struct dirtree *t, uint64_t fsid, const char *path, size_t len)
{
        return walk(t, NULL, fsid, path, len);
}

void *dirtree_value(const struct dirtree_node *n)
{
        return n->value;
}

void dirtree_set(struct dirtree_node *n, void *value)
{
        n->value = value;
}

void dirtree_prune(struct dirtree *t, struct dirtree_node *n)
{
        while (n && !n->value && !n->first_child) {
                struct dirtree_node *parent = n->parent, **link = &t->buckets[n->hash & (t->n_buckets - 1)];

                while (*link != n)
                        link = &(*link)->next_in_bucket;
                *link = n->next_in_bucket;
                if (n->next_sibling)
                        n->next_sibling->prev_sibling = n->prev_sibling;
                if (n->prev_sibling)
                        n->prev_sibling->next_sibling = n->next_sibling;
                else if (parent)
                        parent->first_child = n->next_sibling;
                free(n);
                t->n--;
                n = parent;
        }
}

/* Without recursion: as deep as a path can be is deeper than a stack should be. */
void dirtree_foreach(const struct dirtree_node *top, void (*fn)(void *userdata, void *value), void *userdata)
{
        const struct dirtree_node *n = top;

        for (;;) {
                if (n->value)
                        fn(userdata, n->value);
                if (n->first_child) {
                        n = n->first_child;
                        continue;
                }
                while (n != top && !n->next_sibling)
                        n = n->parent;
                if (n == top)
                        return;
                n = n->next_sibling;
        }
}

void dirtree_path(const struct dirtree_node *n, struct strbuf *out)
{
        const struct dirtree_node *at;
        size_t len = 0, end;

        for (at = n; at->parent; at = at->parent)
                len += 1 + at->len;
        if (len == 0) {
                strbuf_addc(out, '/');
                return;
        }
        if (strbuf_reserve(out, len) < 0)
                return;
        end = out->len + len;
        out->len = end;
        out->data[end] = '\0';
        for (at = n; at->parent; at = at->parent) {
                end -= at->len;
                memcpy(out->data + end, at->name, at->len);
                out->data[--end] = '/';
        }
}

size_t dirtree_count(const struct dirtree *t)
{
        return t->n;
}
