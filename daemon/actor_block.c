/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "actor_block.h"

#include "cgroup.h"
#include "escape.h"

void actor_block_init(struct actor_block *b)
{
        *b = (struct actor_block){
                .actor = { .uid = ID_UNKNOWN,
                           .euid = ID_UNKNOWN,
                           .gid = ID_UNKNOWN,
                           .egid = ID_UNKNOWN,
                           .loginuid = ID_UNKNOWN },
        };
        strbuf_addc(&b->text, '\0'); /* no text stands at position 0 */
}

void actor_block_done(struct actor_block *b)
{
        strbuf_done(&b->text);
        strbuf_done(&b->ancestry);
}

size_t actor_block_keep(struct actor_block *b, const char *p, size_t len)
{
        size_t at = b->text.len;

        strbuf_add(&b->text, p, len);
        strbuf_addc(&b->text, '\0');
        return at;
}

size_t actor_block_keeps(struct actor_block *b, const char *s)
{
        return s ? actor_block_keep(b, s, strlen(s)) : 0;
}

static size_t keep_bytes(struct actor_block *b, const struct bytes *bytes)
{
        return bytes->p ? actor_block_keep(b, bytes->p, bytes->len) : 0;
}

void actor_block_cmdline(struct actor_block *b, const char *raw, size_t len, const char *const *mask,
                         size_t n_mask)
{
        b->cmdline = b->text.len;
        escape_cmdline(raw, len, mask, n_mask, MAX_CMDLINE, &b->text);
        b->actor.cmdline.len = b->text.len - b->cmdline;
        strbuf_addc(&b->text, '\0');
}

void actor_block_cgroup(struct actor_block *b, const char *text, size_t len)
{
        _cleanup_strbuf_ struct strbuf container = {};
        struct cgroup_info info;

        cgroup_parse(text, len, &info);
        b->cgroup = keep_bytes(b, &info.path);
        b->unit = keep_bytes(b, &info.unit);
        b->user_unit = keep_bytes(b, &info.user_unit);
        b->slice = keep_bytes(b, &info.slice);
        if (info.container.p) {
                cgroup_unescape(&info.container, &container);
                b->container = actor_block_keep(b, strbuf_str(&container), container.len);
        }
}

/* "comm(pid) ← comm(pid)" */
void actor_block_ancestor(struct actor_block *b, int32_t pid, const char *comm, size_t comm_len, size_t exe)
{
        if (b->ancestry.len > 0)
                strbuf_adds(&b->ancestry, " ← ");
        else if (comm_len > 0)
                b->parent_comm = actor_block_keep(b, comm, comm_len);
        strbuf_add(&b->ancestry, comm, comm_len);
        strbuf_addf(&b->ancestry, "(%d)", pid);
        if (exe && b->actor.n_ancestor_exes < MAX_ANCESTORS)
                b->ancestor_exes[b->actor.n_ancestor_exes++] = exe;
}

/* The gathered text moves behind the header, and positions become pointers. */
void *actor_block_seal(struct actor_block *b, size_t header, size_t *ret_size)
{
        struct actor *a = &b->actor;
        size_t n = a->n_ancestor_exes;

        if (b->ancestry.len > 0)
                b->ancestors = actor_block_keep(b, strbuf_str(&b->ancestry), b->ancestry.len);

        size_t size = header + n * sizeof(char *) + b->text.len;
        char *block = strbuf_failed(&b->text) || strbuf_failed(&b->ancestry) ? NULL : malloc(size);
        if (!block)
                return NULL;

        const char **exes = (const char **)(block + header);
        char *text = (char *)(exes + n);
        memcpy(text, b->text.data, b->text.len);
        for (size_t i = 0; i < n; i++)
                exes[i] = text + b->ancestor_exes[i];
#define PLACE(field, position) a->field = b->position ? text + b->position : NULL
        PLACE(comm, comm);
        PLACE(exe, exe);
        PLACE(session, session);
        PLACE(tty, tty);
        PLACE(parent_comm, parent_comm);
        PLACE(ancestry, ancestors);
        PLACE(unit, unit);
        PLACE(user_unit, user_unit);
        PLACE(slice, slice);
        PLACE(cgroup, cgroup);
        PLACE(container, container);
        PLACE(next_comm, next_comm);
        PLACE(next_exe, next_exe);
        PLACE(cmdline.p, cmdline);
#undef PLACE
        a->ancestor_exes = exes;
        *ret_size = size;
        return block;
}
