/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's marks, what they make their objects' interest, and who pays for that. */

#include <errno.h>

#include "control_json_internal.h"
#include "fan_uapi.h"
#include "interest.h"
#include "reload.h"

/* Marks that events asked for may be many: so many are shown. */
#define LEARNED_SHOWN 200u

/* ---- what an object is interested in ---- */

struct cost {
        uint32_t interest;
        bool by_ignore;      /* modify only for an ignore mask that does not survive it */
        bool by_children;    /* each child's event asks this directory */
        uint32_t everywhere; /* EV_ bits that each process on the filesystem pays for */
};

/* The object's type matters little here: FAN_EVENT_ON_CHILD in a mask of ours says that it is a directory. */
static int cost_of(const struct kernel_abilities *abilities, const struct mark *const *marks, size_t n,
                   struct cost *ret)
{
        const struct interest_kernel k = interest_kernel_from(abilities);
        struct interest_group groups[2] = {};
        struct interest_object o = { .kind = marks[0]->object.kind, .type = TYPE_DIRECTORY };
        uint64_t asked = 0;
        bool survives = true;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                r = interest_adopt_mark(&k, &groups[i], &o, marks[i]);
                asked |= marks[i]->mask;
                survives = survives && (marks[i]->ignore_mask == 0 || marks[i]->ignore_surv);
        }
        *ret = (struct cost){
                .interest = o.interest,
                .by_ignore = !survives && (o.interest & FAN_MODIFY) && !(asked & FAN_MODIFY),
                .by_children = o.kind == MARK_INODE && interest_watches_children(&o) != 0,
                .everywhere = o.kind == MARK_FILESYSTEM
                                      ? vocab_from_fan(o.interest) & (EV_MODIFY | EV_ATTRIB | EV_ACCESS | EV_OPEN |
                                                                      EV_CLOSE_NOWRITE)
                                      : 0,
        };
        interest_object_done(&k, &o);
        return r;
}

static json_t *costs(const struct cost *c)
{
        static const struct {
                uint32_t event;
                const char *text;
        } everywhere[] = {
                { EV_MODIFY, "modify: every write on this filesystem pays, a 1-byte write 2.4 to 5.5 times" },
                { EV_ATTRIB, "attrib: every unlink on this filesystem is one event more" },
                { EV_ACCESS, "access: every read on this filesystem is an event" },
                { EV_OPEN, "open: every open on this filesystem is an event" },
                { EV_CLOSE_NOWRITE, "close_nowrite: every close on this filesystem is an event" },
        };
        json_t *list = json_array();

        for (size_t i = 0; i < ELEMENTSOF(everywhere); i++)
                if (c->everywhere & everywhere[i].event)
                        json_append(list, json_string(everywhere[i].text));
        if (c->by_ignore)
                json_append(list, json_string("modify is of interest only because of an ignore that does not "
                                              "survive it: each write here asks, until the first change"));
        if (c->by_children)
                json_append(list, json_string("its children are watched: each of their events asks here first"));
        return list;
}

static void set_cost(const struct daemon *d, json_t *o, const struct mark *m)
{
        struct cost c;

        if (!m || cost_of(&d->generation->world->kernel, &m, 1, &c) < 0) {
                json_set(o, "interest", json_array());
                json_set(o, "costs", json_array());
                return;
        }
        json_set(o, "interest", json_of_mask(c.interest));
        json_set(o, "costs", costs(&c));
}

/* ---- what is wanted and placed ---- */

static int failure_of(const struct daemon *d, const struct mark *m)
{
        size_t n;
        const struct mark_failure *f = marks_failures(d->street.marks, &n);
        for (size_t i = 0; i < n; i++)
                if (group_key_compare(&f[i].group, &m->group) == 0 &&
                    mark_object_compare(&f[i].object, &m->object) == 0)
                        return f[i].error;
        return 0;
}

static json_t *mark_json(const struct daemon *d, const struct mark *wanted, const struct mark *placed)
{
        const struct mark *m = wanted ? wanted : placed;
        int error = failure_of(d, m);
        const char *state = error != 0 ? "failed" : !wanted ? "surplus" : !placed ? "wanted" : "placed";
        json_t *o = json_object();

        json_set(o, "group", json_of_group(&m->group));
        json_set(o, "object", json_of_mark_object(&m->object));
        json_set(o, "where", json_of_text(m->where));
        json_set(o, "wanted_mask", json_of_mask(wanted ? wanted->mask : 0));
        json_set(o, "placed_mask", json_of_mask(placed ? placed->mask : 0));
        json_set(o, "ignore_mask", json_of_mask(m->ignore_mask));
        json_set(o, "flags", json_of_mark_flags(m));
        json_set(o, "state", json_string(state));
        json_set(o, "error", json_of_error(error));
        set_cost(d, o, placed);
        return o;
}

/* ---- what was learned, or waits for a change ---- */

static json_t *where_of(const struct daemon *d, const struct mark *m)
{
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL, path = STRBUF_NULL;
        uint32_t fs;
        bool hidden;

        if (until_knows(d->street.until, m))
                return json_of_text(until_where(d->street.until, m));
        if (!learn_where(d->street.learn, m, &fs, &inside) ||
            world_canonical_path(d->generation->world, fs, strbuf_str(&inside), inside.len, &path, &hidden) < 0)
                return json_null();
        return json_of_text(strbuf_str(&path));
}

static json_t *learned_json(const struct daemon *d, const struct mark *m)
{
        json_t *o = json_object();

        json_set(o, "state", json_string(until_knows(d->street.until, m) ? "until modified" : "learned"));
        json_set(o, "group", json_of_group(&m->group));
        json_set(o, "object", json_of_mark_object(&m->object));
        json_set(o, "where", where_of(d, m));
        json_set(o, "placed_mask", json_of_mask(m->mask));
        json_set(o, "ignore_mask", json_of_mask(m->ignore_mask));
        json_set(o, "flags", json_of_mark_flags(m));
        set_cost(d, o, m);
        return o;
}

/* Marks beside the planned ones. */
static void set_learned(const struct daemon *d, json_t *root)
{
        _cleanup_markset_ struct markset actual = MARKSET_NULL;
        const struct markset *placed = marks_placed(d->street.marks);
        json_t *learned = json_array();
        size_t n = 0;

        (void)reload_list_marks(&d->street, &actual);
        for (size_t i = 0; i < actual.n; i++) {
                const struct mark *m = &actual.marks[i];

                if (!markset_find(placed, &m->group, &m->object) && n++ < LEARNED_SHOWN)
                        json_append(learned, learned_json(d, m));
        }
        json_set(root, "learned", learned);
        json_set(root, "n_learned", json_of_number(n));
}

int control_json_marks(const struct daemon *d, struct strbuf *out)
{
        const struct markset *wanted = &d->generation->plan->wanted, *placed = marks_placed(d->street.marks);
        json_t *root = json_object(), *marks = json_array(), *prices = json_array();

        for (size_t i = 0; i < wanted->n; i++) {
                const struct mark *w = &wanted->marks[i];
                json_append(marks, mark_json(d, w, markset_find(placed, &w->group, &w->object)));
        }
        for (size_t i = 0; i < placed->n; i++) {
                const struct mark *p = &placed->marks[i];
                if (!markset_find(wanted, &p->group, &p->object))
                        json_append(marks, mark_json(d, NULL, p));
        }
        for (size_t i = 0; i < d->generation->plan->prices.n; i++)
                json_append(prices, json_of_text(d->generation->plan->prices.v[i]));
        json_set(root, "marks", marks);
        set_learned(d, root);
        json_set(root, "prices", prices);
        return json_finish(root, out);
}
