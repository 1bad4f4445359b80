/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sorted array of marks, one for each (group, object). */

#include "markset.h"

#include <errno.h>

#include "escape.h"
#include "fan_uapi.h"
#include "strbuf.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

void markset_done(struct markset *s)
{
        for (size_t i = 0; i < s->n; i++)
                free(s->marks[i].where);
        free(s->marks);
        *s = MARKSET_NULL;
}

int group_key_compare(const struct group_key *a, const struct group_key *b)
{
        return a->kind != b->kind ? COMPARE(a->kind, b->kind) : COMPARE(a->mount_id, b->mount_id);
}

static int handle_compare(const struct handle *a, const struct handle *b)
{
        if (a->type != b->type)
                return COMPARE(a->type, b->type);
        if (a->len != b->len)
                return COMPARE(a->len, b->len);
        return memcmp(a->bytes, b->bytes, a->len);
}

int mark_object_compare(const struct mark_object *a, const struct mark_object *b)
{
        if (a->kind != b->kind)
                return COMPARE(a->kind, b->kind);
        if (a->kind == MARK_MOUNT)
                return COMPARE(a->mount_id, b->mount_id);
        if (a->sdev_major != b->sdev_major)
                return COMPARE(a->sdev_major, b->sdev_major);
        if (a->sdev_minor != b->sdev_minor)
                return COMPARE(a->sdev_minor, b->sdev_minor);
        return a->kind == MARK_INODE ? handle_compare(&a->handle, &b->handle) : 0;
}

/* The place of the mark, or where it would be put. */
static size_t place_of(const struct markset *s, const struct group_key *group,
                       const struct mark_object *object, bool *ret_found)
{
        size_t low = 0, high = s->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int c = group_key_compare(&s->marks[middle].group, group);

                if (c == 0)
                        c = mark_object_compare(&s->marks[middle].object, object);
                if (c == 0) {
                        *ret_found = true;
                        return middle;
                }
                if (c < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret_found = false;
        return low;
}

struct mark *markset_find(const struct markset *s, const struct group_key *group,
                          const struct mark_object *object)
{
        bool found;
        size_t place = place_of(s, group, object, &found);

        return found ? &s->marks[place] : NULL;
}

static int make_room(struct markset *s)
{
        size_t cap = s->cap == 0 ? 16 : s->cap * 2;
        struct mark *marks;

        if (s->n < s->cap)
                return 0;
        marks = reallocarray(s->marks, cap, sizeof(*marks));
        if (!marks)
                return -ENOMEM;
        s->marks = marks;
        s->cap = cap;
        return 0;
}

int markset_get(struct markset *s, const struct group_key *group, const struct mark_object *object,
                const char *where, struct mark **ret)
{
        bool found;
        size_t place = place_of(s, group, object, &found);
        char *copy;

        if (found) {
                *ret = &s->marks[place];
                return 0;
        }
        copy = strdup(where);
        if (!copy || make_room(s) < 0) {
                free(copy);
                return -ENOMEM;
        }
        memmove(&s->marks[place + 1], &s->marks[place], (s->n - place) * sizeof(*s->marks));
        s->marks[place] = (struct mark){ .group = *group, .object = *object, .where = copy };
        s->n++;
        *ret = &s->marks[place];
        return 0;
}

int markset_append(struct markset *s, const struct mark *mark)
{
        char *copy = strdup(mark->where);

        if (!copy || make_room(s) < 0) {
                free(copy);
                return -ENOMEM;
        }
        s->marks[s->n] = *mark;
        s->marks[s->n++].where = copy;
        return 0;
}

static int compare_marks(const void *a, const void *b)
{
        const struct mark *x = a, *y = b;
        int c = group_key_compare(&x->group, &y->group);

        return c != 0 ? c : mark_object_compare(&x->object, &y->object);
}

void markset_sort(struct markset *s)
{
        size_t kept = 0;

        if (s->n == 0)
                return;
        qsort(s->marks, s->n, sizeof(*s->marks), compare_marks);
        for (size_t i = 1; i < s->n; i++) {
                if (compare_marks(&s->marks[kept], &s->marks[i]) == 0)
                        free(s->marks[i].where);
                else
                        s->marks[++kept] = s->marks[i];
        }
        s->n = kept + 1;
}

void markset_remove(struct markset *s, struct mark *mark)
{
        size_t place = (size_t)(mark - s->marks);

        free(mark->where);
        s->n--;
        memmove(mark, mark + 1, (s->n - place) * sizeof(*mark));
}

int markset_copy(const struct markset *from, struct markset *ret)
{
        struct markset s = MARKSET_NULL;

        s.marks = calloc(from->n + 1, sizeof(*s.marks));
        if (!s.marks)
                return -ENOMEM;
        s.cap = from->n + 1;
        for (; s.n < from->n; s.n++) {
                s.marks[s.n] = from->marks[s.n];
                s.marks[s.n].where = strdup(from->marks[s.n].where);
                if (!s.marks[s.n].where) {
                        markset_done(&s);
                        return -ENOMEM;
                }
        }
        *ret = s;
        return 0;
}

/* --- for people --- */

void mark_print_mask(uint64_t bits, struct strbuf *out)
{
        static const struct {
                uint64_t bit;
                const char *name;
        } flags[] = { { FAN_ONDIR, "ondir" }, { FAN_EVENT_ON_CHILD, "on_child" } };
        uint32_t events = vocab_from_fan(bits);
        const char *comma = "";

        for (unsigned i = 0; i < 32; i++) {
                if ((events & (1u << i)) == 0)
                        continue;
                strbuf_addf(out, "%s%s", comma, vocab_name(1u << i));
                comma = ",";
        }
        for (size_t i = 0; i < ELEMENTSOF(flags); i++) {
                if ((bits & flags[i].bit) == 0)
                        continue;
                strbuf_addf(out, "%s%s", comma, flags[i].name);
                comma = ",";
        }
}

static void print_object(const struct mark *m, struct strbuf *out)
{
        const struct mark_object *o = &m->object;

        switch (o->kind) {
        case MARK_FILESYSTEM:
                strbuf_addf(out, "filesystem %u:%u", o->sdev_major, o->sdev_minor);
                break;
        case MARK_MOUNT:
                strbuf_addf(out, "mount %d", o->mount_id);
                break;
        case MARK_INODE:
                strbuf_addf(out, "inode %u:%u/", o->sdev_major, o->sdev_minor);
                for (uint32_t i = 0; i < o->handle.len; i++)
                        strbuf_addf(out, "%02x", o->handle.bytes[i]);
                break;
        }
        strbuf_adds(out, " at ");
        escape_text(m->where, strlen(m->where), out);
}

void mark_print(const struct mark *m, struct strbuf *out)
{
        print_object(m, out);
        strbuf_adds(out, ":");
        if (m->mask != 0) {
                strbuf_adds(out, " mask ");
                mark_print_mask(m->mask, out);
        }
        if (m->ignore_mask != 0) {
                strbuf_adds(out, m->mask != 0 ? "; ignore " : " ignore ");
                mark_print_mask(m->ignore_mask, out);
                if (!m->ignore_surv)
                        strbuf_adds(out, " until modified");
        }
        if (m->evictable)
                strbuf_adds(out, " (evictable)");
}
