/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What each path of the watch rules leads to in one world, and every name on the way:
 * whichever of these comes, goes or is replaced makes the path lead elsewhere.
 * Built with its generation and immutable; two of them are compared path by path.
 */

#include "hash.h"
#include "world.h"

struct lead_object {
        bool known;  /* else the look-up failed, or nothing was told: equal to everything */
        bool exists; /* false: the path leads to none */
        uint32_t sdev_major, sdev_minor;
        uint64_t fsid;
        struct handle handle; /* len 0: its filesystem gives none */
};
/* False when they are certainly two objects, or one object and none. */
bool lead_object_same(const struct lead_object *a, const struct lead_object *b) _pure_;

struct lead {
        const char *path;               /* of the rules */
        const struct world_path *found; /* of the world */
        struct lead_object object;
};

/* One name on the way of one path: a directory above it, a link, or the path itself. */
struct lead_step {
        uint32_t lead; /* index */
        bool own;      /* the place the path leads to: its own events tell of it */
        uint32_t fs;
        const char *inside; /* path inside the filesystem */
        const char *name;   /* the same as the rules see it: canonical, absolute */
};

struct leads {
        struct arena *arena;
        const struct world *world;
        struct lead *v; /* sorted by path */
        size_t n;
        struct lead_step *steps;
        size_t n_steps, cap_steps;
        struct hash_index index; /* of steps */
};

/* Borrows rules and world, which must outlive it.  Returns 0 or -ENOMEM; free with
 * leads_free(), which accepts NULL. */
int leads_build(const struct rules *rules, const struct world *world, struct leads **ret);
void leads_free(struct leads *l);
DEFINE_CLEANUP(struct leads, leads_free);

/* The entry of a path of the rules, or NULL. */
struct lead *leads_find(const struct leads *l, const char *path) _pure_;
/* Walks the steps at a place: begin with *pos = 0, until NULL. */
struct leads_cursor {
        uint64_t hash;
        size_t pos;
};
struct leads_cursor leads_at(uint32_t fs, const char *inside, size_t len) _pure_;
const struct lead_step *leads_next(const struct leads *l, struct leads_cursor *c, uint32_t fs,
                                   const char *inside, size_t len);

/* Do both lead to the same place: the same path inside the same filesystem? */
bool leads_same_place(const struct leads *la, const struct lead *a, const struct leads *lb,
                      const struct lead *b) _pure_;
/* Does one of the rule's paths lead where this one does? */
bool leads_is_of_rule(const struct leads *l, const struct lead *lead, const struct rule *rule) _pure_;
/* Where something was mounted or unmounted on the way of the path between the two worlds: the mount point
 * nearest to the root; NULL when the same mounts are on the way. */
const char *leads_changed_mount(const struct leads *before, const struct lead *b, const struct leads *after,
                                const struct lead *a) _pure_;
