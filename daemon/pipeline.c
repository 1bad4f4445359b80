/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two windows of the queue: the current one is judged; what some rule may want is held
 * until the next one was read, in which an exec would show that the program found in
 * /proc is a later one.  Records leave in queue order.
 */

#include "pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pipeline_internal.h"

#define WINDOW_BYTES PIPELINE_WINDOW_BYTES
#define WINDOW_EVENTS 8192u
/* File times tick (current_time() in the kernel): they are as much behind, at most. */
#define FILE_CLOCK_USEC (10 * USEC_PER_MSEC)
/* A burst of short windows is judged in one go, but signals, timers and the look at how long the queue
 * is must have their turn: after so many, or where they are long, so late. */
#define MAX_WINDOWS 16
#define TURN_USEC (100 * USEC_PER_MSEC)

/* ---- life ---- */

static int init_windows(struct pipeline *p)
{
        const struct pipeline_params *params = &p->params;
        size_t bytes = params->window_bytes ? params->window_bytes : WINDOW_BYTES;
        /* a window's descriptors are closed before the next one is read in full, except
         * when a removed directory is looked for: then both are open */
        size_t events = MIN_OF(params->max_events ? params->max_events : SIZE_MAX, (size_t)WINDOW_EVENTS) / 2;

        for (unsigned i = 0; i < ELEMENTSOF(p->windows); i++) {
                if (params->spool)
                        window_init_kept(&p->windows[i], params->spool, i, events);
                else if (window_init(&p->windows[i], bytes, events) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int pipeline_new(const struct pipeline_params *params, struct pipeline **ret)
{
        _cleanup_(pipeline_freep) struct pipeline *p = calloc(1, sizeof(*p));

        if (!p)
                return -ENOMEM;
        p->params = *params;
        p->self = getpid();
        p->last_read_usec = params->realtime_usec ? params->realtime_usec() : 0;
        p->last_read_boottime_usec = window_boottime_usec();
        p->current = &p->windows[0];
        p->next = &p->windows[1];
        if (init_windows(p) < 0 || objects_new(&p->objects) < 0)
                return -ENOMEM;
        p->told = params->learn || params->dirmarks ? calloc(ADOPT_TOLD, sizeof(*p->told)) : NULL;
        if ((params->learn || params->dirmarks) && !p->told)
                return -ENOMEM;
        *ret = STEAL(p);
        return 0;
}

void pipeline_free(struct pipeline *p)
{
        if (!p)
                return;
        window_done(&p->windows[0]);
        window_done(&p->windows[1]);
        objects_free(p->objects);
        adopt_free(p);
        replaced_free(p);
        dirlist_done(&p->adopted);
        settle_free_spent(p);
        match_hits_done(&p->hits);
        strbuf_done(&p->path);
        strbuf_done(&p->old_path);
        strbuf_done(&p->canonical);
        strbuf_done(&p->canonical_old);
        strbuf_done(&p->texts);
        free(p->held);
        free(p->told);
        free(p);
}

/* ---- generations ---- */

/* What a path leads to now, asked of the kernel. */
static bool handle_now(const struct pipeline *p, uint32_t fs, const char *inside, struct handle *ret)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *fh = (struct file_handle *)space;
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;
        bool hidden;
        int mount_id;

        if (world_canonical_path(p->generation->world, fs, inside, strlen(inside), &path, &hidden) < 0 ||
            hidden)
                return false;
        fh->handle_bytes = MAX_HANDLE_SZ;
        if (name_to_handle_at(AT_FDCWD, strbuf_str(&path), fh, &mount_id, 0) < 0)
                return false;
        *ret = (struct handle){ .type = fh->handle_type, .len = fh->handle_bytes };
        memcpy(ret->bytes, fh->f_handle, fh->handle_bytes);
        return true;
}

static bool same_handle(const struct object_handle *a, const struct handle *b)
{
        return a->type == b->type && a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool pipeline_leads_to(const struct pipeline *p, const struct object_path *path, const struct object_handle *h,
                       struct handle *ret_now)
{
        uint32_t fs = resolver_fs(p->params.resolver, path->fsid);

        *ret_now = (struct handle){};
        if (resolver_sees_names(p->params.resolver, path->fsid))
                return true;
        return fs != WORLD_NONE && handle_now(p, fs, path->path, ret_now) && same_handle(h, ret_now);
}

static void ask_again(void *userdata, const struct object_path *path)
{
        struct pipeline *p = userdata;
        uint32_t fs = resolver_fs(p->params.resolver, path->fsid);
        struct handle now = {};

        if (fs != WORLD_NONE)
                (void)handle_now(p, fs, path->path, &now);
        objects_set(p->objects, path, &(struct object_handle){ now.type, now.len, now.bytes });
}

void pipeline_ask_below(struct pipeline *p, uint64_t fsid, const struct match_path *dir)
{
        const struct object_path path = { .fsid = fsid, .path = dir->path, .len = dir->len };

        if (dir->path)
                objects_foreach_below(p->objects, &path, ask_again, p);
}

/*
 * The world was collected a while ago, and what was learned from events may be newer or,
 * after a change above the path, older: where they differ the kernel decides.
 */
static void take_object(void *userdata, uint32_t fs, const char *inside, const struct handle *handle)
{
        struct pipeline *p = userdata;
        const struct world_fs *f = &p->generation->world->fs[fs];
        const struct object_path path = { .fsid = f->fsid, .path = inside, .len = strlen(inside) };
        struct object_handle learned;
        struct handle now;
        bool known;

        if (!f->fsid_known || objects_mark(p->objects, &path, &known) < 0)
                return;
        if (known && objects_get(p->objects, &path, &learned) && !same_handle(&learned, handle)) {
                if (handle_now(p, fs, inside, &now))
                        handle = &now;
                else if (handle->len == 0)
                        return;
        }
        objects_set(p->objects, &path, &(struct object_handle){ handle->type, handle->len, handle->bytes });
}

/* The filesystems on which the start of a program raises an event in the main group. */
static void set_exec_filesystems(struct pipeline *p)
{
        const struct generation *g = p->generation;
        const struct group_key main_group = { .kind = GROUP_MAIN };
        struct exec_filesystem *v = calloc(MAX_OF(g->world->n_fs, 1u), sizeof(*v));
        size_t n = 0;

        for (uint32_t i = 0; v && i < g->world->n_fs; i++) {
                const struct world_fs *fs = &g->world->fs[i];
                const struct mark_object object = {
                        .kind = MARK_FILESYSTEM, .sdev_major = fs->sdev_major, .sdev_minor = fs->sdev_minor,
                };
                const struct mark *m = markset_find(&g->plan->wanted, &main_group, &object);

                if (m && (m->mask & FAN_OPEN_EXEC))
                        v[n++] = (struct exec_filesystem){
                                .dev = makedev(fs->sdev_major, fs->sdev_minor),
                                .fsid = fs->fsid,
                                .fsid_known = fs->fsid_known,
                        };
        }
        (void)attributor_set_exec_filesystems(p->params.attributor, v, n);
        free(v);
}

/* The cache of paths lives by the events that end its truth: where no mark asks for
 * them, it must not be trusted. */
static void set_world(struct pipeline *p)
{
        const struct generation *g = p->generation;

        resolver_set_world(p->params.resolver, g->world);
        p->exec_wanted = false;
        for (uint32_t i = 0; i < g->world->n_fs; i++) {
                const struct coverage *c = plan_find_coverage(g->plan, i);

                if (c && (c->events & EV_OPEN_EXEC))
                        p->exec_wanted = true;
                if (!c || !c->follows_names)
                        resolver_names_unseen(p->params.resolver, g->world->fs[i].fsid);
        }
}

void pipeline_set_generation(struct pipeline *p, const struct generation *g)
{
        const struct generation *before = p->generation;

        if (p->adopt) {
                adopt_settle(p, true);
                settle_all(p);
        }
        p->generation = g;
        set_world(p);
        set_exec_filesystems(p);
        objects_begin(p->objects);
        matcher_foreach_object(g->matcher, take_object, p);
        objects_end(p->objects);
        settle_restore_spent(p);
        if (p->unread.level > 0)
                pipeline_set_shedding(p, p->unread.level);
        if (before != g)
                replaced_compare(p, before);
        attributor_end_batch(p->params.attributor);
}

/* ---- windows ---- */

static struct drained *drained_of(struct pipeline *p, const struct fan_group *g)
{
        for (size_t i = 0; i < p->n_drained; i++)
                if (p->drained[i].group == g)
                        return &p->drained[i];
        if (p->n_drained == ELEMENTSOF(p->drained))
                p->n_drained = 0; /* groups came and went: begin anew, nothing is known of their queues */
        p->drained[p->n_drained] = (struct drained){ .group = g };
        return &p->drained[p->n_drained++];
}

static int fill(struct pipeline *p, struct window *w)
{
        size_t before = w->len;
        struct drained *drained = drained_of(p, p->group);

        if (before == 0)
                w->epoch = p->epoch;
        if (before == 0 && p->key.kind == GROUP_MAIN)
                w->since_usec = attributor_queue_empty_usec(p->params.attributor);
        int r = window_fill(w, p->group, MAX_OF(drained->usec, w->since_usec), &p->params.counters->events_bad);

        if (w->len > before || w->len == 0) {
                w->read_usec = p->params.realtime_usec();
                w->read_boottime_usec = window_boottime_usec();
        }
        p->epoch += w->drained && p->key.kind == GROUP_MAIN;
        return r;
}

void pipeline_read_on(struct pipeline *p)
{
        if (p->group && p->next->len == 0 && !p->next->drained)
                (void)fill(p, p->next);
}

static void judge_window(struct pipeline *p)
{
        struct window *w = p->current;
        struct fan_event e;
        size_t at = w->replayed ? (size_t)w->kept->done : 0, begin = at;

        p->n_skip = 0;
        p->n_judged = 0;
        p->judged_end = at;
        for (; window_next(w, &at, &e) > 0; begin = at) {
                p->judged_end = at;
                judge_event(p, &e, begin);
                p->n_judged++;
                window_close_event(w, &e, at);
                p->rounds++;
        }
        p->last_read_usec = w->read_usec;
        p->last_read_boottime_usec = w->read_boottime_usec;
        adopt_settle(p, false);
}

/* What the next window says about the programs of what is held. */
static void confirm_held(struct pipeline *p)
{
        struct window *next = p->next;

        for (size_t i = 0; i < p->n_held; i++) {
                struct held *h = &p->held[i];

                if (h->who.provisional && window_has_exec(next, h->pid))
                        attributor_weaken(&h->who, true);
                else if (!next->drained)
                        attributor_weaken(&h->who, false);
        }
        if (p->key.kind != GROUP_MAIN)
                return;
        if (next->execs_unknown)
                attributor_forget_all(p->params.attributor);
        for (size_t i = 0; i < next->n_execs; i++)
                attributor_exec_ahead(p->params.attributor, next->execs[i].pid);
        if (next->drained) {
                attributor_queue_drained(p->params.attributor);
                p->predecessor = 0; /* from here on the pid may be anybody's */
        }
}

static void end_window(struct pipeline *p)
{
        struct window *judged = p->current;

        settle_all(p);
        settle_tell_no_memory(p);
        attributor_end_batch(p->params.attributor);
        resolver_end_batch(p->params.resolver);
        window_reset(judged);
        p->judged_end = 0;
        p->current = p->next;
        p->next = judged;
}

/* A moment of CLOCK_BOOTTIME on the clock of file times. */
static uint64_t realtime_of(const struct pipeline *p, uint64_t boottime_usec)
{
        uint64_t ago = window_boottime_usec() - boottime_usec;

        return boottime_usec == 0 ? 0 : p->params.realtime_usec() - ago - FILE_CLOCK_USEC;
}

uint64_t pipeline_watched_usec(const struct pipeline *p)
{
        const struct spool_window *w = p->params.spool ? spool_state(p->params.spool)->windows : NULL;
        uint64_t usec = 0;

        if (!w)
                return 0;
        /* of what was read and not judged the older one, else the younger: it was judged whole */
        bool unjudged = w[0].order != 0 || w[1].order != 0;
        for (unsigned i = 0; i < SPOOL_WINDOWS; i++)
                if (w[i].oldest_usec != 0 && (usec == 0 || (w[i].oldest_usec < usec) == unjudged))
                        usec = w[i].oldest_usec;
        return realtime_of(p, usec);
}

/* Judges the current window, reads the next one, and writes the records of the first. */
static int round_trip(struct pipeline *p, struct drained *d)
{
        attributor_begin_batch(p->params.attributor, MAX_OF(d->usec, p->current->since_usec),
                               p->current->read_boottime_usec);
        p->oldest_usec = realtime_of(p, d->usec);
        judge_window(p);

        int r = fill(p, p->next);
        if (r < 0)
                settle_weaken(p, false);
        else
                confirm_held(p);
        /* what was read behind an empty queue was queued after it was seen empty */
        if (p->current->drained)
                d->usec = p->current->drained_usec;
        end_window(p);
        if (p->current->len == 0 && p->current->drained)
                d->usec = p->current->drained_usec;
        return r;
}

/* What was read of another group, and is not judged: its records come first. */
static void finish_other(struct pipeline *p)
{
        p->group = NULL;
        attributor_begin_batch(p->params.attributor, 0, 0);
        judge_window(p);
        settle_weaken(p, false);
        end_window(p);
}

static bool more_waits(struct fan_group *g)
{
        struct pollfd fd = { .fd = fan_group_fd(g), .events = POLLIN };

        return poll(&fd, 1, 0) > 0;
}

uint64_t pipeline_rounds(const struct pipeline *p)
{
        return p->rounds;
}

bool pipeline_moves(struct pipeline *p, struct fan_group *const *groups, size_t n)
{
        uint64_t before = p->watched_rounds;

        p->watched_rounds = p->rounds;
        for (size_t i = 0; i < n && p->rounds == before; i++)
                if (more_waits(groups[i]))
                        return false;
        return true;
}

int pipeline_dispatch(struct pipeline *p, struct fan_group *g)
{
        struct drained *d = drained_of(p, g);
        uint64_t until = window_boottime_usec() + TURN_USEC;

        p->rounds++;
        if (p->current->len > 0 && p->owner != g)
                finish_other(p);
        p->owner = g;
        p->group = g;
        p->key = *fan_group_key(g);
        if (p->current->len == 0) {
                int r = fill(p, p->current);
                if (r < 0)
                        return r;
                if (p->current->len == 0)
                        d->usec = p->current->drained_usec;
        }
        /* The caller waits for the descriptor to be readable: so go on while something is
         * read but not judged, unless that will wake it. */
        for (int n = 0; p->current->len > 0; n++) {
                bool has_time = n < MAX_WINDOWS && window_boottime_usec() < until;

                if (!has_time && more_waits(g))
                        break;
                int r = round_trip(p, d);
                if (r < 0)
                        return r;
        }
        if (p->current->len == 0 && p->key.kind == GROUP_MAIN) {
                p->judged_usec = d->usec;
                replaced_drained(p);
        }
        return p->current->len > 0;
}

/* The least urgent priority that is looked at, by level. */
static int urgent_enough(unsigned level)
{
        static const int priorities[] = { 7, 4, 3, 1 };

        return priorities[MIN_OF(level, (unsigned)ELEMENTSOF(priorities) - 1)];
}

void pipeline_set_shedding(struct pipeline *p, unsigned level)
{
        const struct rules *rules = p->generation->rules;
        uint32_t kept = 0;

        for (size_t i = 0; i < rules->n_watches; i++)
                if (rules->watches[i].priority <= urgent_enough(level))
                        kept |= rules->watches[i].clause.events;
        p->unread.kept = kept;
        p->unread.level = level;
        if (level == 0)
                settle_tell_unread(p);
}

unsigned pipeline_shedding(const struct pipeline *p)
{
        return p->unread.level;
}

void pipeline_set_predecessor(struct pipeline *p, int32_t pid)
{
        p->predecessor = pid;
}

/* Nothing of the processes can be confirmed: the queue behind was not read by us. */
static void replay_current(struct pipeline *p)
{
        const struct spool_window *kept = p->current->kept;

        p->key = (struct group_key){ .kind = (enum group_kind)kept->group_kind, .mount_id = kept->mount_id };
        attributor_begin_batch(p->params.attributor, kept->oldest_usec, 0);
        judge_window(p);
        settle_weaken(p, false);
        end_window(p);
}

size_t pipeline_replay(struct pipeline *p)
{
        size_t before = (size_t)p->params.counters->events_read;

        if (!p->params.spool)
                return 0;
        p->group = NULL;
        p->owner = NULL;
        window_replay(p->current, &p->params.counters->events_bad);
        window_replay(p->next, &p->params.counters->events_bad);
        if (p->next->len > 0 && (p->current->len == 0 || p->next->kept->order < p->current->kept->order)) {
                struct window *first = p->next;

                p->next = p->current;
                p->current = first;
        }
        while (p->current->len > 0)
                replay_current(p);
        window_reset(p->next);
        return (size_t)p->params.counters->events_read - before;
}

int pipeline_judge(struct pipeline *p, const struct group_key *group, const void *bytes, size_t len)
{
        uint64_t bad = 0;

        if (p->current->len > 0)
                finish_other(p);
        p->group = NULL;
        p->owner = NULL;
        p->key = *group;
        int r = window_copy(p->current, bytes, len, &bad);
        if (r < 0)
                return r;
        p->params.counters->events_bad += bad;
        p->current->read_usec = p->params.realtime_usec();
        attributor_begin_batch(p->params.attributor, 0, 0);
        judge_window(p);
        settle_weaken(p, false);
        end_window(p);
        return bad > 0 ? -EBADMSG : 0;
}

void pipeline_find_object(const struct pipeline *p, uint64_t fsid, const char *path, const struct handle *object,
                          struct pipeline_object *ret)
{
        const struct object_handle h = { .type = object->type, .len = object->len, .bytes = object->bytes };
        const struct object_path own = { .fsid = fsid, .path = path, .len = strlen(path) };
        struct object_path found;
        struct handle now;

        *ret = (struct pipeline_object){ .is_rules = objects_has(p->objects, &own) };
        if (h.len == 0 && ret->is_rules)
                ret->told_as = (struct bytes){ .p = path, .len = own.len };
        if (objects_find(p->objects, fsid, &h, NULL, &found))
                ret->told_as = (struct bytes){ .p = found.path, .len = found.len };
        if (objects_find(p->objects, fsid, &h, &own, &found) && pipeline_leads_to(p, &found, &h, &now))
                ret->alias = (struct bytes){ .p = found.path, .len = found.len };
}
