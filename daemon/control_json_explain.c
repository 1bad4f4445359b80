/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What would become of the events of a path, and why. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control_json_internal.h"
#include "fan_uapi.h"
#include "plan_ignore.h"

struct answer {
        const struct daemon *d;
        const struct explained *e;
};

/* ---- marks and interest ---- */

/* The kernel sets FAN_EVENT_ON_CHILD by itself on everything but directories. */
static uint64_t mask_by_us(const struct mark *m, bool is_dir)
{
        return m->object.kind == MARK_INODE && is_dir ? m->mask : m->mask & ~(uint64_t)FAN_EVENT_ON_CHILD;
}

static json_t *slot_json(const struct explain_view *v, enum interest_slot slot, const struct mark *m, bool is_dir)
{
        json_t *o = json_object();

        json_set(o, "slot", json_string(explain_slot_name(slot)));
        json_set(o, "object", m ? json_of_mark_object(&m->object) : json_null());
        json_set(o, "group", m ? json_of_group(&m->group) : json_null());
        json_set(o, "mask", json_of_mask(m ? mask_by_us(m, is_dir) : 0));
        json_set(o, "ignore_mask", json_of_mask(m ? m->ignore_mask : 0));
        json_set(o, "flags", m ? json_of_mark_flags(m) : json_array());
        json_set(o, "interest", json_of_mask(v->interest[slot]));
        return o;
}

static json_t *marks_json(const struct explained *e, const struct explained_name *n, const struct explain_view *v)
{
        json_t *marks = json_array();

        json_append(marks, slot_json(v, SLOT_INODE, n->name.inode, n->name.type == TYPE_DIRECTORY));
        json_append(marks, slot_json(v, SLOT_PARENT, n->name.parent, true));
        json_append(marks, slot_json(v, SLOT_MOUNT, e->mount, false));
        json_append(marks, slot_json(v, SLOT_FILESYSTEM, e->filesystem, false));
        return marks;
}

/* ---- rules ---- */

static void set_source(json_t *o, const struct clause *c)
{
        json_set(o, "file", json_of_text(c ? c->source.file : NULL));
        json_set(o, "line", c ? json_of_number(c->source.line) : json_null());
}

/* Of an ignore until a change: where it stands, or that it is over. */
static const char *until_text(const struct daemon *d, const struct explain_clause *c)
{
        enum until_state state = UNTIL_NONE;

        if (c->spent)
                return "spent: the file has changed since";
        for (size_t i = 0; i < c->clause->paths.n && state == UNTIL_NONE; i++)
                state = until_state(d->street.until, c->owner, c->clause->paths.v[i]);
        return until_state_name(state);
}

/* What the plan made of an ignore, or what the kernel answered. */
static json_t *planned_text(const struct daemon *d, const struct plan_ignore *planned)
{
        const struct mark_failure *failures;
        size_t n = 0;
        char text[320];

        failures = marks_failures(d->street.marks, &n);
        for (size_t i = 0; i < n && planned->done == IGNORE_IN_KERNEL; i++)
                if (failures[i].where && streq(failures[i].where, planned->path)) {
                        (void)snprintf(text, sizeof(text), "%s: the mark failed: %s",
                                       ignore_done_name(IGNORE_IN_USERSPACE), strerrorname_np(failures[i].error));
                        return json_string(text);
                }
        (void)snprintf(text, sizeof(text), "%s%s%s", ignore_done_name(planned->done),
                       planned->reason ? ": " : "", planned->reason ? planned->reason : "");
        return json_string(text);
}

static json_t *state_json(const struct daemon *d, const struct explain_clause *c)
{
        const struct plan *p = d->generation->plan;

        if (c->overruled)
                return json_string("not for rules with always = true");
        if (c->of_other_type)
                return json_string("of another type");
        if (c->kind != MATCH_IGNORE || !c->clause)
                return c->by_actor ? json_string("depends on who it is") : json_null();
        if (c->clause->until_modified)
                return json_string(until_text(d, c));
        for (size_t i = 0; i < p->n_ignores; i++)
                if (p->ignores[i].ignore == c->clause)
                        return planned_text(d, &p->ignores[i]);
        return json_null();
}

static const char *kind_name(const struct explain_clause *c)
{
        return c->kind == MATCH_WATCH ? "watch" : c->kind == MATCH_EXCEPT ? "except" : "ignore";
}

static json_t *clause_json(const struct daemon *d, const struct explain_clause *c)
{
        const struct rules *rules = d->generation->rules;
        json_t *o = json_object();

        json_set(o, "kind", json_string(kind_name(c)));
        json_set(o, "name", json_of_text(c->clause ? c->clause->name : "built in"));
        json_set(o, "rule", json_of_text(c->kind == MATCH_EXCEPT ? rules->watches[c->owner].clause.name : NULL));
        set_source(o, c->clause);
        json_set(o, "events", json_of_events(c->events));
        json_set(o, "by_actor", json_boolean(c->by_actor));
        json_set(o, "state", state_json(d, c));
        return o;
}

static json_t *clauses_json(const struct daemon *d, const struct explain_view *v)
{
        json_t *list = json_array();

        for (size_t i = 0; i < v->n_clauses; i++)
                json_append(list, clause_json(d, &v->clauses[i]));
        return list;
}

/* ---- events ---- */

static json_t *by_json(const struct daemon *d, const struct explain_clause *c)
{
        json_t *o;

        if (!c)
                return json_null();
        o = json_object();
        json_set(o, "kind", json_string(kind_name(c)));
        json_set(o, "name", json_of_text(c->clause ? c->clause->name : "built in"));
        json_set(o, "rule", json_of_text(c->kind == MATCH_EXCEPT ?
                                         d->generation->rules->watches[c->owner].clause.name : NULL));
        set_source(o, c->clause);
        return o;
}

static json_t *record_of(const struct answer *a, const struct explain_event *e)
{
        const struct explained_name *names = a->e->names;
        const struct rules *rules = a->d->generation->rules;
        const bool two = a->e->n_names == 2 && e->event == EV_RENAME;
        const bool of_object = (e->event & (EV_DELETE_SELF | EV_MOVE_SELF)) && names[0].told_as;
        json_t *o, *list;

        if (e->decision != EXPLAIN_REPORTED)
                return json_null();
        o = json_object();
        list = json_array();
        for (size_t i = 0; i < e->n_rules; i++)
                json_append(list, json_of_text(rules->watches[e->rules[i]].clause.name));
        json_set(o, "kind", json_string(record_kind_name(e->record)));
        json_set(o, "message_id", json_string(record_kind_message_id(e->record)));
        json_set(o, "rules", list);
        json_set(o, "priority", json_string(priority_name(e->priority)));
        json_set(o, "coalesce_usec", json_of_number(e->coalesce_usec));
        json_set(o, "path", json_of_text(of_object ? names[0].told_as : names[two ? 1 : 0].canonical));
        json_set(o, "old_path", json_of_text(two ? names[0].canonical : NULL));
        return o;
}

static const char *decided(const struct explain_event *e)
{
        return e->decision == EXPLAIN_REPORTED ? "rule" : explain_decision_name(e->decision);
}

static json_t *event_json(const struct answer *a, const struct explain_event *e)
{
        json_t *o = json_object();

        json_set(o, "event", json_string(vocab_name(e->event)));
        json_set(o, "reported", json_boolean(e->decision == EXPLAIN_REPORTED));
        json_set(o, "decided", json_string(decided(e)));
        json_set(o, "slot",
                 e->decision == EXPLAIN_KERNEL_IGNORE ? json_string(explain_slot_name(e->slot)) : json_null());
        json_set(o, "by", by_json(a->d, e->by));
        json_set(o, "by_actor", json_boolean(e->by_actor));
        json_set(o, "uncovered", json_boolean(e->uncovered));
        json_set(o, "nameless", json_boolean(e->nameless));
        json_set(o, "spends", json_boolean(e->spends));
        json_set(o, "record", record_of(a, e));
        return o;
}

/* ---- names ---- */

static json_t *name_json(const struct answer *a, size_t i)
{
        const struct explained_name *n = &a->e->names[i];
        const struct explain_view *v = i == 0 ? &a->e->explanation->view : &a->e->explanation->new_view;
        json_t *o = json_object(), *links = json_array();
        char device[24];

        for (size_t k = 0; k < n->found.links.n; k++)
                json_append(links, json_of_text(n->found.links.v[k]));
        (void)snprintf(device, sizeof(device), "%u:%u", n->fs->sdev_major, n->fs->sdev_minor);
        json_set(o, "asked", json_of_text(n->found.path));
        json_set(o, "path", json_of_text(n->canonical));
        json_set(o, "exists", json_boolean(n->found.exists));
        json_set(o, "error", json_of_error(n->found.error));
        json_set(o, "type", json_string(vocab_type_name(n->name.type)));
        json_set(o, "type_assumed", json_boolean(n->assumed));
        json_set(o, "names", json_of_number(n->found.nlink));
        json_set(o, "links", links);
        json_set(o, "device", json_string(device));
        json_set(o, "fstype", json_of_text(n->fs->fstype));
        json_set(o, "mountpoint", json_of_text(n->mount->mountpoint));
        json_set(o, "rules", clauses_json(a->d, v));
        json_set(o, "marks", marks_json(a->e, n, v));
        return o;
}

int control_json_explain(const struct daemon *d, const struct explained *e, struct strbuf *out)
{
        const struct answer a = { .d = d, .e = e };
        json_t *root = json_object(), *names = json_array(), *events = json_array();

        for (size_t i = 0; i < e->n_names; i++)
                json_append(names, name_json(&a, i));
        for (size_t i = 0; i < e->explanation->n_events; i++)
                json_append(events, event_json(&a, &e->explanation->events[i]));
        json_set(root, "generation", json_of_number(d->generation->number));
        json_set(root, "note", json_of_text(e->note));
        json_set(root, "paths", names);
        json_set(root, "events", events);
        return json_finish(root, out);
}
