/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which process and which program an event is of: what time and the queue's order leave. */

#include "proctable_internal.h"

#include "hash.h"

/* An open_exec explains an exec that is told at most so much later. */
#define PENDING_NS (USEC_PER_SEC * NSEC_PER_USEC)

uint64_t proctable_handle_id(int type, const void *handle, size_t len)
{
        uint64_t id = hash_mix((uint64_t)(uint32_t)type, hash_bytes(handle, len));

        return id ? id : 1;
}

/* ---- order ---- */

static bool on_exec_filesystem(const struct proctable *t, const struct proc_image *i)
{
        for (size_t n = 0; n < t->n_filesystems; n++) {
                const struct exec_filesystem *fs = &t->filesystems[n];

                if (fs->dev == i->exe_dev || (fs->fsid_known && i->exe_fsid != 0 && fs->fsid == i->exe_fsid))
                        return true;
        }
        return false;
}

/* fanotify merges an open_exec into a waiting one of the same process and file. */
static bool ran_before(const struct proc_image *i)
{
        for (const struct proc_image *before = i->older; before; before = before->older)
                if (before->executed && before->exe_handle == i->exe_handle)
                        return true;
        return false;
}

/* The program that came after i; NULL at the newest. */
static struct proc_image *after(const struct life *l, const struct proc_image *i)
{
        struct proc_image *newer = l->image;

        if (newer == i)
                return NULL;
        while (newer && newer->older != i)
                newer = newer->older;
        return newer;
}

/* May the program n, which began later, have been in place when i was read? */
static bool may_have_been_there(const struct proc_image *i, const struct proc_image *n, bool n_doubted)
{
        if (n->begin_ns > i->told_ns)
                return false;
        /* the file is read last: where it is another, all is right; if that of n is right */
        return !n->known || n_doubted || n->exe_file == 0 || n->exe_file == i->exe_file;
}

/* Is another exec perhaps under way, whose program was read already? */
static bool is_awaited(const struct proctable *t, const struct life *l)
{
        const struct proc_image *i = l->image;

        return i->executed && !i->confirmed && !l->exited && image_is_late(i) && t->caught_up_ns < i->told_ns;
}

/*
 * Was what was read of a program read of a later one?  An exec is told at its end only, so
 * that of the newest is in doubt while another may be under way; and that of each one
 * before by those after it.
 */
static bool is_doubted(const struct proctable *t, const struct life *l, const struct proc_image *i)
{
        const struct proc_image *chain[MAX_PROGRAMS + 1]; /* the newest first */
        bool doubted[MAX_PROGRAMS + 1];
        size_t n = 0;

        for (const struct proc_image *c = l->image;; c = c->older, n++) {
                chain[n] = c;
                doubted[n] = c->doubtful || (n == 0 && is_awaited(t, l));
                for (size_t k = 0; c->executed && k < n; k++)
                        doubted[n] |= may_have_been_there(c, chain[k], doubted[k]);
                doubted[n] &= !c->confirmed;
                if (c == i || n == MAX_PROGRAMS)
                        return doubted[n];
        }
}

bool image_is_seen(const struct proctable *t, const struct life *l, const struct proc_image *i)
{
        return i->executed && i->exe_handle != 0 && i->begin_ns > t->unordered_ns &&
               i->begin_ns > l->unordered_ns && on_exec_filesystem(t, i) && !ran_before(i) &&
               !is_doubted(t, l, i);
}

/* The first program after the one passed that this open_exec starts; those between must
 * be such as leave no trace: else some open_exec was missed, and the order is lost. */
static struct proc_image *started_by(const struct proctable *t, struct life *l, uint64_t handle_id)
{
        bool missed = false;

        for (struct proc_image *i = after(l, l->passed); i; i = after(l, i)) {
                if (i->exe_handle != handle_id) {
                        missed |= image_is_seen(t, l, i);
                        continue;
                }
                if (!missed)
                        return i;
                l->unordered_ns = MAX_OF(l->unordered_ns, i->begin_ns);
                return NULL;
        }
        return NULL;
}

static void pass(struct life *l, struct proc_image *i, bool merged)
{
        l->passed = i;
        l->just_passed = true;
        i->unordered |= merged;
        i->confirmed = true;
        memset(l->pending, 0, sizeof(l->pending));
}

void life_take_pending(struct proctable *t, struct life *l)
{
        struct proc_image *i = l->image;

        if (l->passed != i->older || l->pending_ns + PENDING_NS < i->begin_ns || i->exe_handle == 0)
                return;
        for (size_t n = 0; n < MAX_PENDING; n++)
                if (l->pending[n].handle_id == i->exe_handle) {
                        pass(l, i, l->pending[n].merged);
                        return;
                }
}

static bool is_behind(const struct proc_image *i, const struct proc_image *newer)
{
        for (; newer; newer = newer->older)
                if (newer == i)
                        return true;
        return false;
}

/* The program in force at a time, or the oldest that is known. */
static struct proc_image *image_at(const struct life *l, uint64_t ns)
{
        struct proc_image *i = l->image;

        while (i->begin_ns > ns && i->older)
                i = i->older;
        return i;
}

/* Time alone tells that the queue is behind this program. */
static void pass_by_time(struct life *l, uint64_t lo_ns)
{
        struct proc_image *i = image_at(l, lo_ns);

        if (i == l->passed || !is_behind(l->passed, i))
                return;
        l->passed = i;
        l->just_passed = false;
}

/* The only process that an event of pid from lo to hi can be of. */
static struct life *find_life(const struct proctable *t, int32_t pid, uint64_t lo_ns, uint64_t hi_ns,
                              bool alive)
{
        struct life *found = NULL, *l = life_newest(t, pid);

        if (alive) { /* one that exited waits for its parent, unless a later one was not told */
                bool reaped = l && (l->begin_ns > hi_ns || (l->exited && t->lost_ns >= l->exit_ns));

                return reaped ? NULL : l;
        }
        for (; l; l = l->next) {
                if (l->pid != pid || l->begin_ns > hi_ns || (l->exited && l->exit_ns < lo_ns))
                        continue;
                if (found)
                        return NULL;
                found = l;
        }
        return found;
}

void proctable_queue_exec(struct proctable *t, int32_t pid, uint64_t handle_id, bool merged, uint64_t lo_ns)
{
        struct life *l = find_life(t, pid, lo_ns, UINT64_MAX, false);

        if (!l) {
                /* one of several: their order is lost */
                for (l = life_newest(t, pid); l; l = l->next)
                        if (l->pid == pid)
                                l->unordered_ns = MAX_OF(l->unordered_ns, t->caught_up_ns + EXEC_LATE_NS);
                return;
        }
        pass_by_time(l, lo_ns);

        struct proc_image *i = started_by(t, l, handle_id);
        if (i) {
                pass(l, i, merged);
                return;
        }
        /* the exec is not told yet, or it is of the loader, of a script, or failed */
        memmove(l->pending + 1, l->pending, sizeof(l->pending) - sizeof(l->pending[0]));
        l->pending[0].handle_id = handle_id;
        l->pending[0].merged = merged;
        l->pending_ns = t->caught_up_ns;
}

void proctable_queue_lost(struct proctable *t, uint64_t now)
{
        t->unordered_ns = MAX_OF(t->unordered_ns, now);
}

void life_forget_programs(struct proctable *t, struct life *l)
{
        struct proc_image *i = l->image;
        size_t n = 1;

        pass_by_time(l, t->passed_ns);
        for (; i->begin_ns > t->passed_ns && i->older && n < MAX_PROGRAMS; i = i->older)
                n++;
        if (!i->older)
                return;
        if (i->begin_ns > t->passed_ns)
                image_wipe(t, i); /* it stands for all before it */
        if (l->passed != i && is_behind(l->passed, i))
                l->passed = i;
        image_unref_chain(t, STEAL(i->older));
}

void proctable_caught_up(struct proctable *t, uint64_t ns)
{
        t->caught_up_ns = MAX_OF(t->caught_up_ns, ns);
}

void proctable_passed(struct proctable *t, uint64_t ns)
{
        if (ns <= t->passed_ns)
                return;
        t->passed_ns = ns;
        while (t->first_exited && t->first_exited->exit_ns < ns)
                life_drop(t, t->first_exited);
}

/* ---- answers ---- */

static bool same_program(const struct proc_image *a, const struct proc_image *b)
{
        return a->exe == b->exe && a->cmdline.p == b->cmdline.p && streq(a->comm, b->comm);
}

/* Programs from..to (oldest to newest) of a life. */
struct range {
        struct proc_image *first, *last;
};

static struct range by_time(const struct life *l, uint64_t lo_ns, uint64_t hi_ns)
{
        return (struct range){ .first = image_at(l, lo_ns), .last = image_at(l, hi_ns) };
}

/* The program after i, if the event can be of it: an exec is told before its program runs. */
static struct proc_image *after_by(const struct life *l, const struct proc_image *i, uint64_t hi_ns)
{
        struct proc_image *next = after(l, i);

        return next && next->begin_ns <= hi_ns ? next : NULL;
}

static struct range by_order(const struct proctable *t, struct life *l, uint64_t lo_ns, uint64_t hi_ns)
{
        struct range r;

        pass_by_time(l, lo_ns);
        r.first = l->passed;
        /* its open_exec was read while its exec was still under way */
        while (r.first->begin_ns > hi_ns && r.first->older)
                r.first = r.first->older;
        r.last = r.first;
        for (struct proc_image *i = after_by(l, r.first, hi_ns); i && !image_is_seen(t, l, i);
             i = after_by(l, i, hi_ns))
                r.last = i;
        /* other threads run on for a while; a merged open_exec stands where the file was opened */
        if ((r.first->had_threads || r.first->unordered) && r.first->begin_ns > lo_ns && r.first->older)
                r.first = r.first->older;
        return r;
}

/* An open_exec is raised by the program before: also those of the interpreter and the
 * loader, which stand behind that of the program itself. */
static struct range of_exec(const struct proctable *t, const struct life *l, const struct proc_question *q,
                            struct range r)
{
        struct proc_image *next = after(l, r.last);

        if (!l->just_passed || r.first != l->passed || !l->passed->older)
                return r;
        if (next && image_is_seen(t, l, next) && next->exe_handle == q->handle_id)
                return r;
        r.first = l->passed->older;
        if (!next)
                r.last = r.first;
        return r;
}

static bool is_believed(const struct proctable *t, const struct life *l, const struct proc_image *i)
{
        return i->known && !is_doubted(t, l, i);
}

/* All that it can be are alike, and nothing can have been before them. */
static bool is_certain(const struct proctable *t, const struct life *l, const struct range *r, uint64_t lo_ns)
{
        const struct proc_image *first = r->first;
        /* of a process found by a scan, what it ran before is not known */
        bool begun = first->executed || !l->scanned || first->begin_ns <= lo_ns;

        for (const struct proc_image *i = r->last; i != first; i = i->older)
                if (!is_believed(t, l, i) || !same_program(i, first))
                        return false;
        return begun && is_believed(t, l, first);
}

/* What makes it uncertain is that nothing in the queue can tell of its start. */
static bool is_likely(const struct proctable *t, const struct range *r)
{
        for (const struct proc_image *i = r->last; i != r->first; i = i->older)
                if (!i->known || !i->executed || i->doubtful || on_exec_filesystem(t, i))
                        return false;
        return r->last != r->first;
}

static bool same_place(const struct range *r)
{
        const struct proc_image *first = r->first;

        for (const struct proc_image *i = r->last; i != first; i = i->older)
                if (i->cgroup != first->cgroup || i->loginuid != first->loginuid ||
                    i->session != first->session)
                        return false;
        return true;
}

static bool began_in_view(const struct proctable *t, const struct life *l, uint64_t lo_ns)
{
        /* with nothing lost since, no other can have had the pid */
        return MAX_OF(t->lost_ns, t->passed_ns) <= lo_ns || (l->begin_ns <= lo_ns && !l->exited);
}

bool proctable_find(struct proctable *t, const struct proc_question *q, struct proc_answer *ret)
{
        struct life *l = find_life(t, q->pid, q->lo_ns, q->hi_ns, q->alive);

        if (!l || (!q->alive && !began_in_view(t, l, q->lo_ns)))
                return false;

        struct range r = q->ordered ? by_order(t, l, q->lo_ns, q->hi_ns) : by_time(l, q->lo_ns, q->hi_ns);
        if (q->is_exec)
                r = of_exec(t, l, q, r);
        else
                l->just_passed = false;

        struct proc_image *i = r.last;
        bool certain = is_certain(t, l, &r, q->lo_ns);
        *ret = (struct proc_answer){
                .image = i,
                .program_certain = certain,
                .program_likely = !certain && is_likely(t, &r),
                .comm_certain = certain && (i->comm_ns == i->begin_ns || i->comm_ns <= q->lo_ns),
                .ids_certain = r.first == i && (i->ids_ns == i->begin_ns || i->ids_ns <= q->lo_ns),
                .place_certain = same_place(&r),
                .exited = l->exited,
                .look_again = !certain && is_awaited(t, l),
                .next = after_by(l, i, q->hi_ns),
                .start_ticks = l->start_ticks,
                .begin_ns = l->begin_ns,
        };
        return true;
}
