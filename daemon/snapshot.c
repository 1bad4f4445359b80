/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot.h"

static const size_t actor_strings[] = {
        offsetof(struct actor, comm),       offsetof(struct actor, exe),
        offsetof(struct actor, user),       offsetof(struct actor, login_user),
        offsetof(struct actor, group),      offsetof(struct actor, session),
        offsetof(struct actor, tty),        offsetof(struct actor, parent_comm),
        offsetof(struct actor, ancestry),   offsetof(struct actor, unit),
        offsetof(struct actor, user_unit),  offsetof(struct actor, slice),
        offsetof(struct actor, cgroup),     offsetof(struct actor, container),
        offsetof(struct actor, next_comm),  offsetof(struct actor, next_exe),
};

static const size_t event_strings[] = {
        offsetof(struct event, fstype),
        offsetof(struct event, source),
        offsetof(struct event, object.owner),
        offsetof(struct event, object.owner_group),
};

static const size_t event_bytes[] = {
        offsetof(struct event, path),
        offsetof(struct event, old_path),
        offsetof(struct event, name),
        offsetof(struct event, cause),
};

/* Where copies go; with at == NULL it only counts what they need. */
struct copier {
        char *at;
        size_t size;
};

static const char *copy(struct copier *c, const char *p, size_t len)
{
        char *to = c->at;

        if (!p)
                return NULL;
        c->size += len + 1;
        if (!to)
                return p;
        memcpy(to, p, len);
        to[len] = '\0';
        c->at = to + len + 1;
        return to;
}

static void copy_strings(struct copier *c, void *base, const size_t *offsets, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                const char **p = (const char **)((char *)base + offsets[i]);

                *p = copy(c, *p, *p ? strlen(*p) : 0);
        }
}

static void copy_bytes(struct copier *c, struct bytes *b)
{
        b->p = copy(c, b->p, b->len);
}

/* Makes all that event and actor point at the copier's. */
static void copy_all(struct copier *c, struct event *e, struct actor *a)
{
        copy_strings(c, a, actor_strings, ELEMENTSOF(actor_strings));
        copy_bytes(c, &a->cmdline);
        copy_strings(c, e, event_strings, ELEMENTSOF(event_strings));
        for (size_t i = 0; i < ELEMENTSOF(event_bytes); i++)
                copy_bytes(c, (struct bytes *)((char *)e + event_bytes[i]));
}

static void copy_ancestors(struct copier *c, const struct actor *from, const char **to)
{
        for (size_t i = 0; i < from->n_ancestor_exes; i++) {
                const char *exe = copy(c, from->ancestor_exes[i], strlen(from->ancestor_exes[i]));

                if (to)
                        to[i] = exe;
        }
}

struct snapshot *snapshot_new(const struct event *e, const struct match_hits *hits, bool ancestors)
{
        struct event event = *e;
        struct actor actor = *e->actor;
        struct copier c = {};
        size_t hits_size = hits->n * sizeof(*hits->v), exes_size;
        struct snapshot *s;

        if (!ancestors)
                actor.n_ancestor_exes = 0;
        exes_size = actor.n_ancestor_exes * sizeof(char *);
        copy_ancestors(&c, &actor, NULL);
        copy_all(&c, &event, &actor);
        s = malloc(sizeof(*s) + exes_size + hits_size + c.size);
        if (!s)
                return NULL;
        const char **exes = (const char **)(s + 1);
        s->event = *e;
        s->actor = *e->actor;
        s->actor.id = 0; /* less may be known of this one */
        s->actor.n_ancestor_exes = actor.n_ancestor_exes;
        s->event.actor = &s->actor;
        s->hits = *hits;
        s->hits.v = (struct match_hit *)(exes + actor.n_ancestor_exes);
        if (hits_size > 0)
                memcpy(s->hits.v, hits->v, hits_size);
        c.at = (char *)s->hits.v + hits_size;
        copy_ancestors(&c, &s->actor, exes);
        s->actor.ancestor_exes = exes;
        copy_all(&c, &s->event, &s->actor);
        return s;
}

static bool same_program(const struct actor *a, const struct actor *b)
{
        return a->exe && b->exe && a->comm && b->comm && streq(a->exe, b->exe) && streq(a->comm, b->comm);
}

/* The object is as the last event left it.  Where the process began another
 * program meanwhile, the program named is no longer certainly that of every event. */
void snapshot_update(struct snapshot *s, const struct event *e)
{
        if (s->event.attribution == ATTRIBUTION_VERIFIED &&
            (e->attribution != ATTRIBUTION_VERIFIED || !same_program(&s->actor, e->actor)))
                s->event.attribution = ATTRIBUTION_PROCESS;
        if (e->object.known && s->event.object.known && e->object.ino == s->event.object.ino) {
                s->event.object.size = e->object.size;
                s->event.object.mode = e->object.mode;
        }
}
