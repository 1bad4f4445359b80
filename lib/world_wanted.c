/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rule set needs to know about the machine: its paths and its names. */

#include "world.h"

#include <errno.h>

/* A list that grows while clauses are walked; the first failure sticks. */
struct list {
        void *v;
        size_t n, cap, size;
        bool failed;
};

static void *list_add(struct list *l)
{
        if (l->n == l->cap) {
                size_t cap = l->cap == 0 ? 64 : l->cap * 2;
                void *v = reallocarray(l->v, cap, l->size);

                if (!v) {
                        l->failed = true;
                        return NULL;
                }
                l->v = v;
                l->cap = cap;
        }
        return (char *)l->v + l->n++ * l->size;
}

static void list_done(struct list *l)
{
        free(l->v);
}

static size_t list_unique(struct list *l, int (*compare)(const void *, const void *))
{
        char *v = l->v;
        size_t kept = 0;

        if (l->n == 0)
                return 0;
        qsort(v, l->n, l->size, compare);
        for (size_t i = 1; i < l->n; i++)
                if (compare(v + kept * l->size, v + i * l->size) != 0)
                        memmove(v + ++kept * l->size, v + i * l->size, l->size);
        return kept + 1;
}

static void want_paths(struct list *l, const struct clause *clause)
{
        for (size_t i = 0; i < clause->paths.n; i++) {
                const char **place = list_add(l);

                if (place)
                        *place = clause->paths.v[i];
        }
}

static int compare_strings(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int world_wanted_paths(const struct rules *rules, struct arena *arena, struct strings *ret)
{
        _cleanup_(list_done) struct list l = { .size = sizeof(char *) };
        const char **v;
        size_t n;

        for (size_t i = 0; i < rules->n_watches; i++) {
                want_paths(&l, &rules->watches[i].clause);
                for (size_t k = 0; k < rules->watches[i].n_excepts; k++)
                        want_paths(&l, &rules->watches[i].excepts[k]);
        }
        for (size_t i = 0; i < rules->n_ignores; i++)
                want_paths(&l, &rules->ignores[i]);
        if (l.failed)
                return -ENOMEM;

        n = list_unique(&l, compare_strings);
        v = arena_alloc_array(arena, n, sizeof(*v));
        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                v[i] = arena_strdup(arena, ((const char **)l.v)[i]);
                if (!v[i])
                        return -ENOMEM;
        }
        *ret = (struct strings){ .v = v, .n = n };
        return 0;
}

bool world_value_is_name(const char *value)
{
        static const char *const words[] = { "any", "none", "@owner" };
        const char *digits_end = value + strspn(value, "0123456789");

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(value, words[i]))
                        return false;
        if (digits_end == value)
                return true;
        if (*digits_end == '-')
                digits_end += 1 + strspn(digits_end + 1, "0123456789");
        return *digits_end != '\0';
}

static void want_names(struct list *l, enum name_kind kind, const struct strings *values)
{
        for (size_t i = 0; i < values->n; i++) {
                struct world_name *place;

                if (!world_value_is_name(values->v[i]))
                        continue;
                place = list_add(l);
                if (place)
                        *place = (struct world_name){ .kind = kind, .name = values->v[i] };
        }
}

static void want_names_of(struct list *l, const struct actors *actors)
{
        want_names(l, NAME_USER, &actors->user);
        want_names(l, NAME_USER, &actors->login);
        want_names(l, NAME_GROUP, &actors->group);
}

static int compare_names(const void *a, const void *b)
{
        const struct world_name *x = a, *y = b;

        return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

int world_wanted_names(const struct rules *rules, struct arena *arena, struct world_name **ret, size_t *ret_n)
{
        _cleanup_(list_done) struct list l = { .size = sizeof(struct world_name) };
        struct world_name *v;
        size_t n;

        for (size_t i = 0; i < rules->n_watches; i++) {
                want_names_of(&l, &rules->watches[i].only);
                for (size_t k = 0; k < rules->watches[i].n_excepts; k++)
                        want_names_of(&l, &rules->watches[i].excepts[k].actors);
        }
        for (size_t i = 0; i < rules->n_ignores; i++)
                want_names_of(&l, &rules->ignores[i].actors);
        for (size_t i = 0; i < rules->n_actor_sets; i++)
                want_names_of(&l, &rules->actor_sets[i].actors);
        if (l.failed)
                return -ENOMEM;

        n = list_unique(&l, compare_names);
        v = arena_alloc_array(arena, n, sizeof(*v));
        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                v[i] = ((struct world_name *)l.v)[i];
                v[i].name = arena_strdup(arena, v[i].name);
                if (!v[i].name)
                        return -ENOMEM;
        }
        *ret = v;
        *ret_n = n;
        return 0;
}
