/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dirtree.h"

#include <errno.h>

#include "hash.h"
#include "strbuf.h"

struct dirtree_node {
        struct dirtree_node *parent; /* NULL: the root of a filesystem */
        struct dirtree_node *first_child, *next_sibling, *prev_sibling;
        struct dirtree_node *next_in_bucket;
        void *value;
        uint32_t id; /* by which those below it are hashed: a node that moves takes them along */
        uint32_t hash;
        uint32_t len;
        char name[]; /* of a root: the bytes of its fsid */
};

struct dirtree {
        struct dirtree_node **buckets;
        size_t n_buckets, n; /* n_buckets is a power of two */
        uint32_t last_id;
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

static uint32_t hash_of(const struct dirtree_node *parent, const char *name, size_t len)
{
        return (uint32_t)hash_mix(hash_bytes(name, len), parent ? parent->id : 0);
}

static struct dirtree_node *find(const struct dirtree *t, const struct dirtree_node *parent, const char *name,
                                 size_t len)
{
        uint32_t hash = hash_of(parent, name, len);
        struct dirtree_node *n = t->buckets[hash & (t->n_buckets - 1)];

        while (n && !(n->hash == hash && n->parent == parent && n->len == len && memcmp(n->name, name, len) == 0))
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

/* Below its parent and into its bucket. */
static void link_in(struct dirtree *t, struct dirtree_node *n)
{
        struct dirtree_node **bucket = &t->buckets[n->hash & (t->n_buckets - 1)], *parent = n->parent;

        n->next_in_bucket = *bucket;
        *bucket = n;
        if (!parent)
                return;
        n->prev_sibling = NULL;
        n->next_sibling = parent->first_child;
        if (n->next_sibling)
                n->next_sibling->prev_sibling = n;
        parent->first_child = n;
}

static void unlink_from(struct dirtree *t, struct dirtree_node *n)
{
        struct dirtree_node **link = &t->buckets[n->hash & (t->n_buckets - 1)], *parent = n->parent;

        while (*link != n)
                link = &(*link)->next_in_bucket;
        *link = n->next_in_bucket;
        if (n->next_sibling)
                n->next_sibling->prev_sibling = n->prev_sibling;
        if (n->prev_sibling)
                n->prev_sibling->next_sibling = n->next_sibling;
        else if (parent)
                parent->first_child = n->next_sibling;
}

/* The name begins where the padding would. */
static size_t size_of(size_t len)
{
        return MAX_OF(sizeof(struct dirtree_node), offsetof(struct dirtree_node, name) + len);
}

static struct dirtree_node *make(struct dirtree *t, struct dirtree_node *parent, const char *name, size_t len)
{
        struct dirtree_node *n = malloc(size_of(len));

        if (!n)
                return NULL;
        *n = (struct dirtree_node){
                .parent = parent,
                .id = ++t->last_id,
                .hash = hash_of(parent, name, len),
                .len = (uint32_t)len,
        };
        memcpy(n->name, name, len);
        if (t->n >= 2 * t->n_buckets)
                grow(t);
        link_in(t, n);
        t->n++;
        return n;
}

static struct dirtree_node *walk(const struct dirtree *t, struct dirtree *maker, uint64_t fsid,
                                 const char *path, size_t len)
{
        const char *root = (const char *)&fsid;
        struct dirtree_node *n = find(t, NULL, root, sizeof(fsid)), *above = NULL;

        if (!n && maker)
                n = make(maker, NULL, root, sizeof(fsid));
        for (size_t at = 1; n && at < len;) {
                const char *slash = memchr(path + at, '/', len - at);
                size_t end = slash ? (size_t)(slash - path) : len;

                above = n;
                n = find(t, above, path + at, end - at);
                if (!n && maker) {
                        n = make(maker, above, path + at, end - at);
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
                struct dirtree_node *parent = n->parent;

                unlink_from(t, n);
                free(n);
                t->n--;
                n = parent;
        }
}

static bool is_at_or_below(const struct dirtree_node *n, const struct dirtree_node *top)
{
        while (n && n != top)
                n = n->parent;
        return n;
}

/* Room for a longer name, at another place. */
static struct dirtree_node *enlarge(struct dirtree_node *n, size_t len)
{
        struct dirtree_node *larger = malloc(size_of(len));

        if (!larger)
                return NULL;
        *larger = *n;
        for (struct dirtree_node *c = n->first_child; c; c = c->next_sibling)
                c->parent = larger;
        free(n);
        return larger;
}

int dirtree_move(struct dirtree *t, struct dirtree_node **node, const char *path, size_t len)
{
        struct dirtree_node *n = *node, *from = n->parent, *above;
        const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
        size_t name_len = len - (size_t)(name - path);

        if (!from || !slash || name_len == 0)
                return -EINVAL;
        above = walk(t, t, dirtree_fsid(n), path, MAX_OF((size_t)(slash - path), (size_t)1));
        if (!above)
                return -ENOMEM;
        if (is_at_or_below(above, n) || find(t, above, name, name_len)) {
                dirtree_prune(t, above);
                return -EEXIST;
        }
        unlink_from(t, n);
        if (name_len > n->len) {
                struct dirtree_node *larger = enlarge(n, name_len);

                if (!larger) {
                        link_in(t, n);
                        dirtree_prune(t, above);
                        return -ENOMEM;
                }
                *node = n = larger;
        }
        n->parent = above;
        n->len = (uint32_t)name_len;
        memcpy(n->name, name, name_len);
        n->hash = hash_of(above, n->name, name_len);
        link_in(t, n);
        dirtree_prune(t, from);
        return 0;
}

struct dirtree_node *dirtree_parent(const struct dirtree_node *n)
{
        return n->parent;
}

uint64_t dirtree_fsid(const struct dirtree_node *n)
{
        uint64_t fsid;

        while (n->parent)
                n = n->parent;
        memcpy(&fsid, n->name, sizeof(fsid));
        return fsid;
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
