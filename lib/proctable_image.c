/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The texts of the table, each kept once, and the programs that share them. */

#include "proctable_internal.h"

#include "hash.h"

/* Parents are followed this far; a chain of forks would otherwise never end.  When it is
 * longer, the nearest half is copied. */
#define MAX_DEPTH 32u
#define KEEP_DEPTH 16u

struct shared_text {
        struct shared_text *next;
        uint64_t hash;
        uint32_t refs, len;
        char bytes[]; /* a NUL behind */
};

static const char *text_get(struct proctable *t, const char *p, size_t len)
{
        uint64_t hash = hash_bytes(p, len);
        struct shared_text **bucket = &t->texts[hash % TEXT_BUCKETS], *text;

        for (text = *bucket; text; text = text->next)
                if (text->hash == hash && text->len == len && memcmp(text->bytes, p, len) == 0) {
                        text->refs++;
                        return text->bytes;
                }
        size_t size = sizeof(*text) + len + 1;
        text = t->bytes + size <= t->max_bytes && len < UINT32_MAX ? malloc(size) : NULL;
        if (!text)
                return NULL;
        *text = (struct shared_text){ .next = *bucket, .hash = hash, .refs = 1, .len = (uint32_t)len };
        memcpy(text->bytes, p, len);
        text->bytes[len] = '\0';
        *bucket = text;
        t->bytes += size;
        return text->bytes;
}

static struct shared_text *text_of(const char *bytes)
{
        return (struct shared_text *)((char *)(uintptr_t)bytes - offsetof(struct shared_text, bytes));
}

static const char *text_ref(const char *bytes)
{
        if (bytes)
                text_of(bytes)->refs++;
        return bytes;
}

static void text_put(struct proctable *t, const char *bytes)
{
        struct shared_text *text, **link;

        if (!bytes || --(text = text_of(bytes))->refs > 0)
                return;
        for (link = &t->texts[text->hash % TEXT_BUCKETS]; *link != text; link = &(*link)->next)
                ;
        *link = text->next;
        t->bytes -= sizeof(*text) + text->len + 1;
        free(text);
}

static struct proc_image *image_alloc(struct proctable *t)
{
        struct proc_image *i = t->bytes + sizeof(*i) <= t->max_bytes ? calloc(1, sizeof(*i)) : NULL;

        if (!i)
                return NULL;
        t->bytes += sizeof(*i);
        i->refs = 1;
        i->serial = ++t->serial;
        return i;
}

static void set_comm(struct proc_image *i, const char *comm)
{
        size_t len = strnlen(comm, sizeof(i->comm) - 1);

        memset(i->comm, 0, sizeof(i->comm));
        memcpy(i->comm, comm, len);
}

struct proc_image *image_new(struct proctable *t, int32_t pid, uint64_t ns, const struct proc_facts *f)
{
        struct proc_image *i = image_alloc(t);

        if (!i)
                return NULL;
        i->pid = pid;
        i->begin_ns = i->ids_ns = i->comm_ns = ns;
        i->ids = (struct proc_ids){ ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN };
        i->loginuid = i->session = ID_UNKNOWN;
        if (!f || !f->comm)
                return i;
        set_comm(i, f->comm);
        i->known = true;
        i->kernel_thread = f->kernel_thread;
        i->exe_deleted = f->exe_deleted;
        i->ids = f->ids;
        i->loginuid = f->loginuid;
        i->session = f->session;
        i->tty_nr = f->tty_nr;
        i->exe_file = f->exe_file;
        i->exe_handle = f->exe_handle;
        i->exe_dev = f->exe_dev;
        i->exe_fsid = f->exe_fsid;
        i->read_ns = i->place_ns = f->read_ns;
        i->looked_ns = f->looked_ns;
        i->told_ns = f->read_ns + (f->ran ? 0 : image_is_late(i) ? EXEC_LATE_NS : EXEC_PROMPT_NS);
        i->exe = f->exe ? text_get(t, f->exe, strlen(f->exe)) : NULL;
        i->cgroup = f->cgroup ? text_get(t, f->cgroup, strlen(f->cgroup)) : NULL;
        if (f->cmdline.p && f->cmdline.len > 0)
                i->cmdline.p = text_get(t, f->cmdline.p, f->cmdline.len);
        i->cmdline.len = i->cmdline.p ? f->cmdline.len : 0;
        return i;
}

static struct proc_image *duplicate(struct proctable *t, const struct proc_image *of)
{
        struct proc_image *i = image_alloc(t);
        uint64_t serial = t->serial;

        if (!i)
                return NULL;
        *i = *of;
        i->refs = 1;
        i->serial = serial;
        i->older = i->parent = NULL;
        i->depth = 0;
        (void)text_ref(i->exe);
        (void)text_ref(i->cgroup);
        (void)text_ref(i->cmdline.p);
        return i;
}

struct proc_image *image_copy(struct proctable *t, struct proc_image *of, int32_t pid, uint64_t ns)
{
        struct proc_image *i = duplicate(t, of);

        if (!i)
                return NULL;
        i->pid = pid;
        i->begin_ns = i->ids_ns = i->comm_ns = ns;
        i->doubtful = (of->doubtful || (of->executed && image_is_late(of))) && !of->confirmed &&
                      ns <= of->read_ns;
        i->executed = i->had_threads = i->unordered = i->confirmed = false;
        image_set_parent(t, i, of);
        return i;
}

struct proc_image *image_ref(struct proc_image *i)
{
        if (i)
                i->refs++;
        return i;
}

/* A chain of parents ends with its last child: one after the other, not by recursion. */
void image_unref(struct proctable *t, struct proc_image *i)
{
        while (i && --i->refs == 0) {
                struct proc_image *parent = i->parent;

                text_put(t, i->exe);
                text_put(t, i->cgroup);
                text_put(t, i->cmdline.p);
                t->bytes -= sizeof(*i);
                free(i);
                i = parent;
        }
}

void image_unref_chain(struct proctable *t, struct proc_image *i)
{
        while (i) {
                struct proc_image *older = i->older;

                i->older = NULL; /* who holds it as a parent has no use for them */
                image_unref(t, i);
                i = older;
        }
}

/* The nearest KEEP_DEPTH of a chain, copied; as far as memory goes. */
static struct proc_image *shorten(struct proctable *t, const struct proc_image *chain)
{
        struct proc_image *first = NULL, **link = &first;
        uint32_t n = 0;

        for (; chain && n < KEEP_DEPTH; chain = chain->parent, n++) {
                *link = duplicate(t, chain);
                if (!*link)
                        break;
                link = &(*link)->parent;
        }
        for (struct proc_image *i = first; i; i = i->parent)
                i->depth = --n;
        return first;
}

void image_set_parent(struct proctable *t, struct proc_image *i, struct proc_image *parent)
{
        image_unref(t, i->parent);
        i->parent = parent && parent->depth + 1 >= MAX_DEPTH ? shorten(t, parent) : image_ref(parent);
        i->depth = i->parent ? i->parent->depth + 1 : 0;
        i->serial = ++t->serial;
}

void image_set_cgroup(struct proctable *t, struct proc_image *i, const char *cgroup)
{
        const char *text = text_get(t, cgroup, strlen(cgroup));

        if (text != i->cgroup)
                i->serial = ++t->serial;
        text_put(t, i->cgroup);
        i->cgroup = text;
}

void image_set_comm(struct proctable *t, struct proc_image *i, const char *comm)
{
        set_comm(i, comm);
        i->serial = ++t->serial;
}

void image_wipe(struct proctable *t, struct proc_image *i)
{
        text_put(t, i->cmdline.p);
        text_put(t, i->exe);
        i->cmdline = (struct bytes){};
        i->exe = NULL;
        i->comm[0] = '\0';
        i->exe_file = i->exe_handle = i->exe_dev = i->exe_fsid = 0;
        i->known = false;
        i->serial = ++t->serial;
}
