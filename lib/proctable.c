/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lives of processes, as the process events tell them. */

#include "proctable_internal.h"

#include <errno.h>

static struct life **bucket_of(const struct proctable *t, int32_t pid)
{
        return &t->lives[(uint32_t)pid % LIFE_BUCKETS];
}

struct life *life_newest(const struct proctable *t, int32_t pid)
{
        struct life *l = *bucket_of(t, pid);

        while (l && l->pid != pid)
                l = l->next;
        return l;
}

/* The one that lives as far as is known. */
static struct life *life_living(const struct proctable *t, int32_t pid)
{
        struct life *l = life_newest(t, pid);

        return l && !l->exited ? l : NULL;
}

int proctable_new(size_t max_processes, size_t max_bytes, struct proctable **ret)
{
        _cleanup_(proctable_freep) struct proctable *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        t->max_processes = max_processes;
        t->max_bytes = max_bytes;
        t->lives = calloc(LIFE_BUCKETS, sizeof(*t->lives));
        t->texts = calloc(TEXT_BUCKETS, sizeof(*t->texts));
        if (!t->lives || !t->texts)
                return -ENOMEM;
        *ret = STEAL(t);
        return 0;
}

static void exited_unlink(struct proctable *t, struct life *l)
{
        if (!l->exited)
                return;
        *(l->exit_prev ? &l->exit_prev->exit_next : &t->first_exited) = l->exit_next;
        *(l->exit_next ? &l->exit_next->exit_prev : &t->last_exited) = l->exit_prev;
}

void life_drop(struct proctable *t, struct life *l)
{
        struct life **link = bucket_of(t, l->pid);

        while (*link != l)
                link = &(*link)->next;
        *link = l->next;
        exited_unlink(t, l);
        image_unref_chain(t, l->image);
        t->bytes -= sizeof(*l);
        t->n--;
        free(l);
}

static void drop_all(struct proctable *t)
{
        for (size_t i = 0; i < LIFE_BUCKETS; i++)
                while (t->lives[i])
                        life_drop(t, t->lives[i]);
}

void proctable_free(struct proctable *t)
{
        if (!t)
                return;
        if (t->lives && t->texts)
                drop_all(t);
        free(t->lives);
        free(t->texts);
        free(t);
}

void proctable_set_exec_filesystems(struct proctable *t, const struct exec_filesystem *v, size_t n,
                                    uint64_t now)
{
        t->filesystems = v;
        t->n_filesystems = n;
        proctable_queue_lost(t, now);
}

size_t proctable_count(const struct proctable *t)
{
        return t->n;
}
size_t proctable_bytes(const struct proctable *t)
{
        return t->bytes;
}
uint64_t proctable_dropped(const struct proctable *t)
{
        return t->dropped;
}

/* ---- beginning ---- */

static void dropped(struct proctable *t, uint64_t ns)
{
        t->dropped++;
        t->lost_ns = MAX_OF(t->lost_ns, ns);
}

/* Who exited longest ago gives way; that something is missing since then is kept in mind. */
static bool make_room(struct proctable *t, uint64_t ns)
{
        while (t->n >= t->max_processes || t->bytes + 2 * sizeof(struct proc_image) > t->max_bytes) {
                if (!t->first_exited)
                        return false;
                dropped(t, t->first_exited->exit_ns);
                life_drop(t, t->first_exited);
        }
        return true;
}

/* Takes image over. */
static struct life *life_new(struct proctable *t, int32_t pid, uint64_t ns, struct proc_image *image)
{
        struct life *l = image ? calloc(1, sizeof(*l)) : NULL, **bucket = bucket_of(t, pid);

        if (!l) {
                image_unref(t, image);
                dropped(t, ns);
                return NULL;
        }
        *l = (struct life){ .next = *bucket, .pid = pid, .begin_ns = ns, .image = image, .passed = image };
        *bucket = l;
        t->bytes += sizeof(*l);
        t->n++;
        return l;
}

static void set_exited(struct proctable *t, struct life *l, uint64_t ns)
{
        if (l->exited)
                exited_unlink(t, l); /* threads outlive the first one: the last exit counts */
        l->exited = true;
        l->exit_ns = ns;
        l->exit_next = NULL;
        l->exit_prev = t->last_exited;
        *(l->exit_prev ? &l->exit_prev->exit_next : &t->first_exited) = l;
        t->last_exited = l;
}

/* A later process has its pid: it is gone, and what was read since was read of that. */
static void replace_life(struct proctable *t, struct life *old, uint64_t ns)
{
        if (!old->exited)
                set_exited(t, old, ns);
        if (old->image->read_ns >= ns && old->image->executed)
                image_wipe(t, old->image);
}

void proctable_fork(struct proctable *t, int32_t parent, int32_t child, uint64_t ns)
{
        struct life *old = life_newest(t, child), *p, *l;

        if (old && old->scanned && !old->exited && ns <= old->scanned_ns) {
                old->begin_ns = MIN_OF(old->begin_ns, ns); /* told late: the scan found it */
                return;
        }
        if (old)
                replace_life(t, old, ns);
        if (!make_room(t, ns)) {
                dropped(t, ns);
                return;
        }
        p = life_living(t, parent); /* not before: making room may have dropped it */
        l = life_new(t, child, ns, p ? image_copy(t, p->image, child, ns) : image_new(t, child, ns, NULL));
        if (l && p) {
                l->doubtful = p->doubtful;
                /* who forks after it was read had no other program in place by then */
                p->image->confirmed |= ns > p->image->read_ns;
        }
}

void proctable_thread(struct proctable *t, int32_t pid, int change, uint64_t ns)
{
        struct life *l = life_newest(t, pid);

        if (!l || (l->scanned && ns <= l->scanned_ns))
                return;
        l->threads = MAX_OF(l->threads + change, 0);
        if (change < 0 && l->exited)
                set_exited(t, l, ns);
}

/* ---- exec ---- */

void proctable_exec(struct proctable *t, int32_t pid, uint64_t ns, const struct proc_facts *facts)
{
        struct life *l = life_living(t, pid);
        struct proc_image *i;

        if (!l || (l->scanned && ns <= l->scanned_ns))
                return;
        if (facts && facts->start_ticks)
                l->start_ticks = facts->start_ticks;
        i = make_room(t, ns) ? image_new(t, pid, ns, facts) : NULL;
        if (!i) {
                /* without room its programs are no longer told apart */
                dropped(t, ns);
                image_wipe(t, l->image);
                return;
        }
        i->executed = true;
        i->had_threads = l->threads > 0;
        i->older = l->image;
        image_set_parent(t, i, l->image->parent);
        if (!i->known && !facts) {
                i->ids = l->image->ids;
                i->ids.euid = i->ids.egid = ID_UNKNOWN; /* the file may have a set-id bit */
        }
        l->image = i;
        l->threads = 0;
        l->doubtful &= !i->known;
        life_take_pending(t, l);
        life_forget_programs(t, l);
}

/* ---- changes ---- */

static struct proc_image *image_at(const struct proctable *t, int32_t pid, uint64_t ns)
{
        struct life *l = life_living(t, pid);

        /* what was read later than this happened shows it already */
        return l && ns > l->image->read_ns ? l->image : NULL;
}

static void set_doubtful(struct proctable *t, int32_t pid)
{
        struct life *l = life_living(t, pid);

        if (l)
                l->doubtful = true;
}

static void changed_ids(struct proctable *t, struct proc_image *i, uint64_t ns)
{
        i->ids_ns = ns;
        i->serial = ++t->serial;
}

void proctable_uid(struct proctable *t, int32_t pid, uint64_t ns, uint32_t uid, uint32_t euid)
{
        struct proc_image *i = image_at(t, pid, ns);

        set_doubtful(t, pid);
        if (!i || (i->ids.uid == uid && i->ids.euid == euid))
                return;
        i->ids.uid = uid;
        i->ids.euid = euid;
        changed_ids(t, i, ns);
}

void proctable_gid(struct proctable *t, int32_t pid, uint64_t ns, uint32_t gid, uint32_t egid)
{
        struct proc_image *i = image_at(t, pid, ns);

        set_doubtful(t, pid);
        if (!i || (i->ids.gid == gid && i->ids.egid == egid))
                return;
        i->ids.gid = gid;
        i->ids.egid = egid;
        changed_ids(t, i, ns);
}

void proctable_comm(struct proctable *t, int32_t pid, uint64_t ns, const char *comm)
{
        struct proc_image *i = image_at(t, pid, ns);

        if (!i || strncmp(i->comm, comm, sizeof(i->comm) - 1) == 0)
                return;
        image_set_comm(t, i, comm);
        i->comm_ns = ns;
}

void proctable_sid(struct proctable *t, int32_t pid)
{
        set_doubtful(t, pid);
}

void proctable_exit(struct proctable *t, int32_t pid, uint64_t ns)
{
        struct life *l = life_newest(t, pid);

        if (!l || (l->scanned && ns <= l->scanned_ns))
                return;
        set_exited(t, l, ns);
}

bool proctable_inherited(const struct proctable *t, int32_t pid, struct proc_inherited *ret)
{
        const struct life *l = life_living(t, pid);

        if (!l || !l->image->cgroup)
                return false;
        *ret = (struct proc_inherited){
                .cgroup = l->image->cgroup,
                .loginuid = l->image->loginuid,
                .session = l->image->session,
                .tty_nr = l->image->tty_nr,
                .ids = l->image->ids,
                .start_ticks = l->start_ticks,
                .doubtful = l->doubtful,
        };
        return true;
}

void proctable_looked(struct proctable *t, int32_t pid, uint64_t exe_file, uint64_t ns)
{
        struct life *l = life_living(t, pid);

        if (l && l->image->exe_file == exe_file)
                l->image->told_ns = MIN_OF(l->image->told_ns, ns);
}

void proctable_refresh(struct proctable *t, int32_t pid, const struct proc_facts *f)
{
        struct life *l = life_living(t, pid);
        struct proc_image *i;

        if (!l || !f->cgroup)
                return;
        if (f->start_ticks)
                l->start_ticks = f->start_ticks;
        l->doubtful = false;
        i = l->image;
        if (i->loginuid != f->loginuid || i->session != f->session || i->tty_nr != f->tty_nr)
                i->serial = ++t->serial;
        i->loginuid = f->loginuid;
        i->session = f->session;
        i->tty_nr = f->tty_nr;
        i->place_ns = f->read_ns;
        image_set_cgroup(t, i, f->cgroup);
}

/* ---- scanning ---- */

void proctable_scanned(struct proctable *t, int32_t pid, int32_t ppid, uint64_t begin_ns,
                       const struct proc_facts *facts)
{
        struct life *l = life_living(t, pid);
        struct proc_image *i;

        if ((l && l->image->known) || !make_room(t, facts->read_ns))
                return;
        /* what it ran, was called and was before the scan is not known */
        i = image_new(t, pid, facts->read_ns, facts);
        if (!i)
                return;
        if (l) {
                i->older = l->image;
                image_set_parent(t, i, l->image->parent);
                l->image = i;
        } else if (!(l = life_new(t, pid, begin_ns, i))) {
                return;
        }
        l->scanned = true;
        l->ppid = ppid;
        l->scanned_ns = l->unordered_ns = facts->read_ns;
        l->start_ticks = facts->start_ticks;
        l->threads = 1; /* perhaps */
}

void proctable_link_parents(struct proctable *t)
{
        for (size_t i = 0; i < LIFE_BUCKETS; i++)
                for (struct life *l = t->lives[i]; l; l = l->next) {
                        struct life *parent = l->ppid > 0 ? life_living(t, l->ppid) : NULL;

                        /* one that began later is not the parent but a later owner of its pid */
                        if (parent && parent != l && !l->image->parent && parent->begin_ns <= l->begin_ns)
                                image_set_parent(t, l->image, parent->image);
                        l->ppid = 0;
                }
}

void proctable_lost(struct proctable *t, uint64_t now)
{
        drop_all(t);
        t->lost_ns = MAX_OF(t->lost_ns, now);
        t->unordered_ns = MAX_OF(t->unordered_ns, now);
}
