/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "explain.h"

#include <errno.h>

#include "record.h"

#define EV_OF_DENTRY \
        (EV_ACCESS | EV_MODIFY | EV_ATTRIB | EV_CLOSE_WRITE | EV_CLOSE_NOWRITE | EV_OPEN | EV_OPEN_EXEC)
#define EV_OF_ENTRY (EV_CREATE | EV_DELETE | EV_RENAME)
#define EV_OF_INODE (EV_DELETE_SELF | EV_MOVE_SELF)

struct explainer {
        const struct explain_scene *scene;
        struct interest_kernel kernel;
        struct explanation *out;
};

/* ---- what the kernel does ---- */

/* The objects that an event meets, with the marks of two groups. */
struct objects {
        struct interest_group main, of_mount;
        struct interest_object inode, parent, new_parent, filesystem, mount;
        bool same_parent;
};

static void objects_done(struct objects *o)
{
        const struct interest_kernel none = {};

        interest_group_done(&none, &o->main);
        interest_group_done(&none, &o->of_mount);
}

/* FAN_REPORT_ flags as daemon/fan_group.c asks for them; limits and queues decide nothing here. */
static unsigned init_flags(const struct kernel_abilities *k)
{
        unsigned names = k->target_fid ? FAN_REPORT_DFID_NAME_TARGET : FAN_REPORT_DFID_NAME | FAN_REPORT_FID;

        return FAN_CLASS_NOTIF | names | (k->pidfd ? FAN_REPORT_PIDFD : 0);
}

static int put(const struct explainer *x, struct interest_group *group, struct interest_object *o,
               const struct mark *mark, bool with_ignores)
{
        struct mark copy;

        if (!mark)
                return 0;
        copy = *mark;
        if (!with_ignores)
                copy.ignore_mask = 0;
        return interest_adopt_mark(&x->kernel, group, o, &copy);
}

static bool same_directory(const struct match_path *a, const struct match_path *b)
{
        const char *end_a = memrchr(a->path, '/', a->len), *end_b = memrchr(b->path, '/', b->len);
        size_t len = (size_t)(end_a - a->path);

        return len == (size_t)(end_b - b->path) && memcmp(a->path, b->path, len) == 0;
}

static int place(const struct explainer *x, const struct explain_name *name, bool with_ignores,
                 struct objects *o)
{
        const struct explain_scene *s = x->scene;
        int r;

        *o = (struct objects){
                .main.init_flags = init_flags(&s->generation->world->kernel),
                .of_mount.init_flags = init_flags(&s->generation->world->kernel),
                .inode = { .kind = MARK_INODE, .type = name->type },
                .parent = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
                .new_parent = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
                .filesystem.kind = MARK_FILESYSTEM,
                .mount.kind = MARK_MOUNT,
                .same_parent = !s->new_name || same_directory(&s->name.path, &s->new_name->path),
        };
        r = put(x, &o->main, &o->inode, name->inode, with_ignores);
        if (r == 0)
                r = put(x, &o->main, &o->parent, name->parent, with_ignores);
        if (r == 0 && s->new_name && !o->same_parent)
                r = put(x, &o->main, &o->new_parent, s->new_name->parent, with_ignores);
        if (r == 0)
                r = put(x, &o->main, &o->filesystem, s->filesystem, with_ignores);
        if (r == 0)
                r = put(x, &o->of_mount, &o->mount, s->mount, with_ignores);
        if (r < 0)
                objects_done(o);
        return r;
}

static bool is_root(const struct match_path *path)
{
        return path->len == 1;
}

/* Which groups are told of the event: the hooks of fs/notify/, each called as the operation calls it. */
static void raise_event(const struct explainer *x, struct objects *o, uint32_t event,
                        struct interest_report *ret)
{
        const struct match_path *path = &x->scene->name.path;
        const bool path_event = vocab_to_fan(event) & INTEREST_PATH;
        struct interest_event e = {
                .events = (uint32_t)vocab_to_fan(event),
                .inode = &o->inode,
                .filesystem = &o->filesystem,
                .mount = path_event ? &o->mount : NULL,
                .dir = is_root(path) ? NULL : &o->parent,
                .new_dir = o->same_parent ? &o->parent : &o->new_parent,
        };

        if (event == EV_RENAME && !x->kernel.rename)
                e.events = FAN_MOVED_FROM;
        if (event & EV_OF_DENTRY)
                interest_on_dentry(&x->kernel, &e, ret);
        else if (event & EV_OF_ENTRY)
                interest_on_name(&x->kernel, &e, ret);
        else if (event & EV_OF_INODE)
                interest_on_inode(&x->kernel, &e, ret);
        else
                interest_on_error(&x->kernel, &e, ret);
}

struct told {
        bool main, of_mount;
};

static struct told who_is_told(const struct objects *o, const struct interest_report *report)
{
        struct told told = {};

        for (size_t i = 0; i < report->n; i++) {
                told.main |= report->to[i].group == &o->main;
                told.of_mount |= report->to[i].group == &o->of_mount;
        }
        return told;
}

static int ask_kernel(const struct explainer *x, uint32_t event, bool with_ignores, struct told *ret)
{
        struct interest_report report = {};
        struct objects o;
        int r = place(x, &x->scene->name, with_ignores, &o);

        if (r < 0)
                return r;
        raise_event(x, &o, event, &report);
        *ret = who_is_told(&o, &report);
        objects_done(&o);
        return 0;
}

static uint32_t refused_by(const struct interest_object *o, bool is_dir, enum interest_slot slot)
{
        uint32_t refused = 0;

        for (const struct interest_mark *m = o->marks; m; m = m->next_on_object)
                refused |= interest_effective_ignore(m, is_dir, slot);
        return refused;
}

static int look_at(const struct explainer *x, const struct explain_name *name, struct explain_view *view)
{
        const bool is_dir = name->type == TYPE_DIRECTORY;
        struct objects o;
        int r = place(x, name, true, &o);

        if (r < 0)
                return r;
        const struct interest_object *const slots[] = {
                [SLOT_INODE] = &o.inode, [SLOT_MOUNT] = &o.mount,
                [SLOT_FILESYSTEM] = &o.filesystem, [SLOT_PARENT] = &o.parent,
        };
        for (size_t i = 0; i < ELEMENTSOF(slots); i++) {
                view->interest[i] = slots[i]->interest;
                view->refused[i] = refused_by(slots[i], is_dir, (enum interest_slot)i);
        }
        objects_done(&o);
        return 0;
}

/* Whose ignore mask it is: of an entry's event it acts where the directory is the object itself. */
static enum interest_slot ignored_at(const struct explainer *x, uint32_t event)
{
        const struct explain_scene *s = x->scene;
        const uint32_t bit = (uint32_t)vocab_to_fan(event);
        const struct explain_view *v = &x->out->view;
        const bool is_dir = s->name.type == TYPE_DIRECTORY;
        struct interest_mark on_entry = {};

        if (event & EV_OF_ENTRY) {
                if (!s->name.parent)
                        return s->new_name && s->new_name->parent ? SLOT_NEW_DIR : SLOT_FILESYSTEM;
                on_entry.mask = (uint32_t)s->name.parent->mask;
                on_entry.ignore_mask = (uint32_t)s->name.parent->ignore_mask;
                on_entry.ignore_new = s->name.parent->ignore_new;
                if (interest_effective_ignore(&on_entry, is_dir, SLOT_INODE) & bit)
                        return SLOT_PARENT;
                return SLOT_NEW_DIR;
        }
        for (enum interest_slot slot = SLOT_INODE; slot < SLOT_NEW_DIR; slot++)
                if (v->refused[slot] & bit)
                        return slot;
        return SLOT_FILESYSTEM;
}

/* ---- what the rules say ---- */

uint32_t explain_events_of(uint32_t type)
{
        const uint32_t of_any = EV_OF_ENTRY | EV_OF_INODE | EV_ATTRIB;

        switch (type) {
        case TYPE_DIRECTORY:
                return of_any | EV_ACCESS | EV_OPEN | EV_CLOSE_NOWRITE;
        case TYPE_SYMLINK:
        case TYPE_SOCKET:
                return of_any;
        case TYPE_FIFO:
        case TYPE_DEVICE:
                return (of_any | EV_OF_DENTRY) & ~(uint32_t)EV_OPEN_EXEC;
        default:
                return of_any | EV_OF_DENTRY;
        }
}

struct clause_list {
        const struct explainer *x;
        const struct explain_name *name;
        struct explain_clause *v;
        size_t n, cap;
        bool failed;
};

static bool is_same(const struct explain_clause *c, const struct match_clause_seen *seen)
{
        return c->kind == seen->kind && c->owner == seen->owner && c->clause == seen->clause;
}

static void add_clause(void *userdata, const struct match_clause_seen *seen)
{
        struct clause_list *l = userdata;
        const struct generation *g = l->x->scene->generation;
        const struct clause *c = seen->clause;
        const struct rule *rule = seen->kind == MATCH_IGNORE ? NULL : &g->rules->watches[seen->owner];
        /* fifos, sockets and devices tell little unless a rule asks for their type */
        const uint32_t types = c && (seen->kind != MATCH_WATCH || c->types_given) ? c->types : 0;

        for (size_t i = 0; i < l->n; i++)
                if (is_same(&l->v[i], seen)) {
                        l->v[i].events |= seen->events;
                        return;
                }
        if (l->n == l->cap) {
                size_t cap = l->cap ? 2 * l->cap : 16;
                struct explain_clause *v = reallocarray(l->v, cap, sizeof(*v));

                l->failed |= !v;
                if (!v)
                        return;
                l->v = v;
                l->cap = cap;
        }
        l->v[l->n++] = (struct explain_clause){
                .kind = seen->kind, .owner = seen->owner, .clause = c, .events = seen->events,
                .spent = seen->kind == MATCH_IGNORE && c && c->until_modified &&
                         matcher_is_spent(g->matcher, seen->owner),
                .of_other_type = types != 0 && !(types & l->name->type),
                .by_actor = seen->kind == MATCH_WATCH ? !actors_empty(&rule->only)
                                                      : c && !actors_empty(&c->actors),
        };
}

static int compare_clauses(const void *a, const void *b)
{
        const struct explain_clause *x = a, *y = b;
        const uint32_t of_x[] = { x->kind, x->owner, x->clause ? x->clause->source.line : 0 };
        const uint32_t of_y[] = { y->kind, y->owner, y->clause ? y->clause->source.line : 0 };

        for (size_t i = 0; i < ELEMENTSOF(of_x); i++)
                if (of_x[i] != of_y[i])
                        return of_x[i] < of_y[i] ? -1 : 1;
        return 0;
}

static bool is_watched_by(const struct clause_list *l, bool always)
{
        const struct rules *rules = l->x->scene->generation->rules;

        for (size_t i = 0; i < l->n; i++)
                if (l->v[i].kind == MATCH_WATCH && !l->v[i].of_other_type &&
                    rules->watches[l->v[i].owner].always == always)
                        return true;
        return false;
}

static struct match_query query_of(const struct explain_scene *s, const struct explain_name *name)
{
        return (struct match_query){
                .is_dir = name->type == TYPE_DIRECTORY, .path = name->path, .old_path = MATCH_PATH_NONE,
                .alias = name->alias, .unresolved_fs = WORLD_NONE,
        };
}

static void set_source(struct match_query *q, const struct explain_scene *s, bool of_mount)
{
        q->source.mount = of_mount;
        q->source.mount_id = of_mount ? s->mount->object.mount_id : 0;
}

static int find_clauses(const struct explainer *x, const struct explain_name *name, struct explain_view *view)
{
        const struct explain_scene *s = x->scene;
        struct clause_list l = { .x = x, .name = name };
        struct match_query q = query_of(s, name);
        struct explain_clause *copy;
        bool excused;

        q.events = explain_events_of(name->type) | EV_FS_ERROR;
        matcher_foreach_clause(s->generation->matcher, &q, add_clause, &l);
        if (s->mount) {
                set_source(&q, s, true);
                matcher_foreach_clause(s->generation->matcher, &q, add_clause, &l);
        }
        if (l.n > 1)
                qsort(l.v, l.n, sizeof(*l.v), compare_clauses);
        excused = is_watched_by(&l, true) && !is_watched_by(&l, false);
        for (size_t i = 0; i < l.n; i++)
                l.v[i].overruled = l.v[i].kind == MATCH_IGNORE && excused;
        copy = l.failed ? NULL : arena_alloc_array(x->out->arena, l.n, sizeof(*copy));
        if (copy && l.n > 0)
                memcpy(copy, l.v, l.n * sizeof(*copy));
        view->clauses = copy;
        view->n_clauses = l.n;
        free(l.v);
        return copy ? 0 : -ENOMEM;
}

/* The path of a rule for which an event of the object alone is told; behind a rename perhaps the new one. */
static struct match_path told_as(const struct explain_scene *s, uint32_t event)
{
        if (event == EV_MOVE_SELF && s->new_name && s->new_name->is_rules)
                return s->new_name->path;
        return s->name.told_as;
}

/* The event as the pipeline makes it out of what the kernel tells. */
static struct match_query query_for(const struct explainer *x, uint32_t event)
{
        const struct explain_scene *s = x->scene;
        const struct explain_name *name = &s->name;
        struct match_query q = query_of(s, name);

        q.events = event;
        if (event == EV_RENAME) {
                q.old_path = name->path;
                q.path = s->new_name ? s->new_name->path : MATCH_PATH_NONE;
        } else if (event == EV_MOVE_SELF && q.is_dir && s->new_name) {
                q.path = s->new_name->path; /* where it is by then */
                q.alias = MATCH_PATH_NONE;
        } else if ((event & EV_OF_INODE) && !q.is_dir) {
                /* comes with the handle of the object and without a name */
                q.path = MATCH_PATH_NONE;
                q.alias = told_as(s, event);
        } else if (event == EV_FS_ERROR) {
                q.unresolved_fs = name->path.fs;
                q.path = q.alias = MATCH_PATH_NONE;
        }
        return q;
}

static int ask_rules(const struct explainer *x, uint32_t event, bool of_mount, struct match_hits *hits)
{
        struct match_query q = query_for(x, event);
        const struct match_facts facts = {
                .type = x->scene->name.type, .owner_uid = ID_UNKNOWN, .owner_gid = ID_UNKNOWN,
                .dir_uid = ID_UNKNOWN, .dir_gid = ID_UNKNOWN,
        };

        set_source(&q, x->scene, of_mount);
        return matcher_match(x->scene->generation->matcher, &q, &facts, hits);
}

static const struct explain_clause *first_that_takes_out(const struct explain_view *v, uint32_t event)
{
        const struct explain_clause *found = NULL;

        for (size_t i = 0; i < v->n_clauses; i++) {
                const struct explain_clause *c = &v->clauses[i];

                if (c->kind == MATCH_WATCH || !(c->events & event) || c->spent || c->of_other_type ||
                    c->by_actor || c->overruled)
                        continue;
                /* a global ignore says more than an except of one rule */
                if (!found || (found->kind == MATCH_EXCEPT && c->kind == MATCH_IGNORE))
                        found = c;
        }
        return found;
}

/* ---- one event ---- */

static int note_rules(const struct explainer *x, const struct match_hits *hits, struct explain_event *e)
{
        const struct generation *g = x->scene->generation;
        uint32_t *rules = arena_alloc_array(x->out->arena, e->n_rules + hits->n, sizeof(*rules));

        if (!rules)
                return -ENOMEM;
        if (e->n_rules > 0)
                memcpy(rules, e->rules, e->n_rules * sizeof(*rules));
        e->priority = e->n_rules > 0 ? e->priority : 7;
        for (size_t i = 0; i < hits->n; i++) {
                rules[e->n_rules++] = hits->v[i].rule;
                e->priority = MIN_OF(e->priority, g->rules->watches[hits->v[i].rule].priority);
        }
        e->rules = rules;
        e->record = record_kind_of(e->event);
        e->coalesce_usec = e->event & EV_COALESCED ? matcher_coalesce_usec(g->matcher, hits) : 0;
        return 0;
}

struct asked {
        bool told, bare; /* with the ignore masks, and without */
        bool wanted;
};

static int judge(const struct explainer *x, bool of_mount, struct asked *a, struct explain_event *e)
{
        struct match_hits hits = MATCH_HITS_NULL;
        int r = ask_rules(x, e->event, of_mount, &hits);

        if (r == 0) {
                a->wanted = hits.events & e->event;
                e->by_actor |= a->wanted && hits.needs_actor;
                e->spends |= a->told && hits.n_spends > 0;
                e->uncovered |= a->wanted && !a->told;
                if (a->told && a->wanted)
                        r = note_rules(x, &hits, e);
        }
        match_hits_done(&hits);
        return r;
}

static enum explain_decision decide(const struct asked *main, const struct asked *mount)
{
        if ((main->told && main->wanted) || (mount->told && mount->wanted))
                return EXPLAIN_REPORTED;
        if (main->told || mount->told)
                return EXPLAIN_USERSPACE;
        if (main->bare || mount->bare)
                return EXPLAIN_KERNEL_IGNORE;
        return EXPLAIN_NO_MARK;
}

static int explain_event(const struct explainer *x, uint32_t event, struct explain_event *e)
{
        struct asked main = {}, mount = {};
        struct told told, bare;
        int r = ask_kernel(x, event, true, &told);

        *e = (struct explain_event){ .event = event };
        if (r == 0)
                r = ask_kernel(x, event, false, &bare);
        if (r < 0)
                return r;
        main = (struct asked){ .told = told.main, .bare = bare.main };
        mount = (struct asked){ .told = told.of_mount, .bare = bare.of_mount };
        r = judge(x, false, &main, e);
        if (r == 0 && x->scene->mount)
                r = judge(x, true, &mount, e);
        if (r < 0)
                return r;
        e->decision = decide(&main, &mount);
        if (e->decision == EXPLAIN_KERNEL_IGNORE)
                e->slot = ignored_at(x, event);
        if (e->decision == EXPLAIN_KERNEL_IGNORE || e->decision == EXPLAIN_USERSPACE)
                e->by = first_that_takes_out(&x->out->view, event);
        e->nameless = (event & EV_OF_INODE) && x->scene->name.type != TYPE_DIRECTORY &&
                      !told_as(x->scene, event).path;
        return 0;
}

/* Removal and move raise two events, of the name and of the object: one of both tells it. */
static void settle_pair(struct explain_event *v, size_t n, uint32_t pair)
{
        bool told = false;

        for (size_t i = 0; i < n; i++)
                told = told || ((v[i].event & pair) && v[i].decision == EXPLAIN_REPORTED);
        for (size_t i = 0; i < n; i++)
                v[i].uncovered = v[i].uncovered && !(told && (v[i].event & pair));
}

static int explain_events(const struct explainer *x)
{
        const struct explain_scene *s = x->scene;
        uint32_t events = s->new_name ? EV_RENAME | EV_MOVE_SELF
                                      : explain_events_of(s->name.type) | EV_FS_ERROR;
        struct explain_event *v = arena_alloc_array(x->out->arena, EV_N_NAMES, sizeof(*v));
        int r = v ? 0 : -ENOMEM;

        if (is_root(&s->name.path)) /* nobody makes, moves or removes it */
                events &= ~(uint32_t)(EV_OF_ENTRY | EV_OF_INODE);
        if (r < 0)
                return r;
        x->out->events = v;
        for (unsigned bit = 0; r == 0 && bit < EV_N_NAMES; bit++)
                if (events & (1u << bit))
                        r = explain_event(x, 1u << bit, &v[x->out->n_events++]);
        settle_pair(v, x->out->n_events, EV_DELETE | EV_DELETE_SELF);
        settle_pair(v, x->out->n_events, EV_RENAME | EV_MOVE_SELF);
        return r;
}

int explain_build(const struct explain_scene *scene, struct explanation **ret)
{
        _cleanup_(explanation_freep) struct explanation *out = calloc(1, sizeof(*out));
        struct explainer x = {
                .scene = scene, .kernel = interest_kernel_from(&scene->generation->world->kernel), .out = out,
        };
        int r;

        if (!out)
                return -ENOMEM;
        x.kernel.special_untold = scene->special_untold;
        out->arena = arena_new();
        if (!out->arena)
                return -ENOMEM;
        r = look_at(&x, &scene->name, &out->view);
        if (r == 0)
                r = find_clauses(&x, &scene->name, &out->view);
        if (r == 0 && scene->new_name)
                r = look_at(&x, scene->new_name, &out->new_view);
        if (r == 0 && scene->new_name)
                r = find_clauses(&x, scene->new_name, &out->new_view);
        if (r == 0)
                r = explain_events(&x);
        if (r < 0)
                return r;
        *ret = STEAL(out);
        return 0;
}

void explanation_free(struct explanation *e)
{
        if (!e)
                return;
        arena_free(e->arena);
        free(e);
}

const char *explain_decision_name(enum explain_decision d)
{
        static const char *const names[] = {
                [EXPLAIN_REPORTED] = "reported",
                [EXPLAIN_NO_MARK] = "no mark asks",
                [EXPLAIN_KERNEL_IGNORE] = "kernel ignore",
                [EXPLAIN_USERSPACE] = "userspace",
        };

        return names[d];
}

const char *explain_slot_name(enum interest_slot slot)
{
        static const char *const names[N_SLOTS] = {
                [SLOT_INODE] = "inode", [SLOT_MOUNT] = "mount", [SLOT_FILESYSTEM] = "filesystem",
                [SLOT_PARENT] = "parent", [SLOT_NEW_DIR] = "new parent",
        };

        return names[slot];
}
