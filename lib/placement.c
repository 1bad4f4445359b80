/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "placement.h"

#include <errno.h>

#include "fan_uapi.h"

void placement_done(struct placing *p)
{
        free(p->roots);
        *p = (struct placing){};
}

uint32_t placement_structure(const struct kernel_abilities *kernel)
{
        return (uint32_t)(FAN_CREATE | FAN_DELETE | FAN_ONDIR |
                          (kernel->rename ? FAN_RENAME : FAN_MOVED_FROM | FAN_MOVED_TO));
}

int placement_add(struct placing *p, struct arena *arena, const struct placement_root *root)
{
        struct placement_root copy = *root;

        if (p->n == p->cap) {
                size_t cap = p->cap ? 2 * p->cap : 16;
                struct placement_root *roots = reallocarray(p->roots, cap, sizeof(*roots));

                if (!roots)
                        return -ENOMEM;
                p->roots = roots;
                p->cap = cap;
        }
        copy.inside = arena_strdup(arena, root->inside);
        if (!copy.inside)
                return -ENOMEM;
        copy.len = strlen(copy.inside);
        p->roots[p->n++] = copy;
        return 0;
}

static int compare_paths(const char *a, size_t a_len, const char *b, size_t b_len)
{
        int c = memcmp(a, b, MIN_OF(a_len, b_len));

        return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static int compare_roots(const void *a, const void *b)
{
        const struct placement_root *x = a, *y = b;

        if (x->fs != y->fs)
                return x->fs < y->fs ? -1 : 1;
        return compare_paths(x->inside, x->len, y->inside, y->len);
}

void placement_seal(struct placing *p)
{
        size_t n = 0;

        if (p->n == 0)
                return;
        qsort(p->roots, p->n, sizeof(*p->roots), compare_roots);
        for (size_t i = 1; i < p->n; i++) {
                struct placement_root *last = &p->roots[n], *root = &p->roots[i];

                if (compare_roots(last, root) != 0) {
                        p->roots[++n] = *root;
                        continue;
                }
                last->mask |= root->mask;
                last->below |= root->below;
                last->skip |= root->skip;
        }
        p->n = n + 1;
}

/* The first root that is not before this path. */
static size_t lower_bound(const struct placing *p, uint32_t fs, const char *path, size_t len)
{
        const struct placement_root key = { .fs = fs, .inside = path, .len = len };
        size_t low = 0, high = p->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (compare_roots(&p->roots[middle], &key) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static const struct placement_root *find(const struct placing *p, uint32_t fs, const char *path, size_t len)
{
        const struct placement_root key = { .fs = fs, .inside = path, .len = len };
        size_t at = lower_bound(p, fs, path, len);

        return at < p->n && compare_roots(&p->roots[at], &key) == 0 ? &p->roots[at] : NULL;
}

static bool is_above(const char *path, size_t len, const struct placement_root *root)
{
        if (root->len <= len || memcmp(root->inside, path, len) != 0)
                return false;
        return len == 1 || root->inside[len] == '/';
}

/*
 * Is a root strictly below?  What begins with the path stands in one stretch, but "/a-b"
 * stands between "/a" and "/a/b".
 */
static bool has_root_below(const struct placing *p, uint32_t fs, const char *path, size_t len)
{
        for (size_t i = lower_bound(p, fs, path, len); i < p->n && p->roots[i].fs == fs; i++) {
                const struct placement_root *root = &p->roots[i];

                if (root->len < len || memcmp(root->inside, path, len) != 0)
                        return false;
                if (!root->skip && is_above(path, len, root))
                        return true;
        }
        return false;
}

struct placed_here placement_at(const struct placing *p, uint32_t fs, const char *path, size_t len,
                                uint32_t structure)
{
        struct placed_here here = {};
        uint32_t deep = 0;

        for (size_t end = 1; end <= len; end++) {
                const struct placement_root *root;

                if (end != 1 && end != len && path[end] != '/')
                        continue;
                root = find(p, fs, path, end);
                if (!root)
                        continue;
                if (root->skip)
                        return (struct placed_here){};
                if (end == len)
                        here.mask |= root->mask;
                else
                        here.mask |= deep |= root->below;
                here.descend |= root->below != 0;
        }
        here.mask |= deep;
        here.descend |= has_root_below(p, fs, path, len);
        if (here.mask != 0 || here.descend)
                here.mask |= structure;
        return here;
}

bool placement_uses(const struct placing *p, uint32_t fs)
{
        size_t at = lower_bound(p, fs, "", 0);

        return at < p->n && p->roots[at].fs == fs;
}
