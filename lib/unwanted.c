/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwanted.h"

#include <errno.h>

#include "match_internal.h"

/* ---- the children of a directory, all that there can be ---- */

/* A directory seen from a node on the way to it. */
struct bound {
        const struct matcher *m;
        const struct match_path *dir;
        const char *rel; /* the directory's path below the node */
        size_t rel_len;  /* 0 = it is the node */
        struct strbuf joined;
        uint32_t ignored; /* of every child, whatever its name and type */
        bool failed;
};

static struct rule_state *touch(struct bound *b, uint32_t rule)
{
        struct match_scratch *scratch = b->m->scratch;
        struct rule_state *s = &scratch->rules[rule];

        if (s->serial != scratch->serial) {
                *s = (struct rule_state){ .serial = scratch->serial };
                scratch->touched[scratch->n_touched++] = rule;
        }
        return s;
}

/* Does the entry reach the children: from the node itself, or from further up? */
static bool reaches(const struct bound *b, const struct match_entry *e)
{
        return e->reach == REACH_TREE || (e->reach == REACH_CHILDREN && b->rel_len == 0);
}

/* certain: every child is meant; else some child may be. */
static void take(struct bound *b, const struct match_entry *e, bool certain)
{
        const struct match_clause *c = &b->m->clauses[e->clause];
        uint32_t bits = c->events & e->events;

        if (e->mount_id != MATCH_NO_MOUNT)
                return; /* the mount's own group */
        if (c->kind == CLAUSE_WATCH) {
                touch(b, c->owner)->wanted |= bits;
                return;
        }
        if (!certain || c->until || c->slot != MATCH_NONE)
                return;
        if (c->kind == CLAUSE_EXCEPT)
                touch(b, c->owner)->excepted |= bits;
        else
                b->ignored |= bits;
}

/* What an anchored pattern is compared with: the path below the clause's path. */
static const char *candidate(struct bound *b, const struct match_entry *e, const struct pattern *p,
                             size_t *ret_len)
{
        if (!p->anchored || e->below[0] == '\0') {
                *ret_len = b->rel_len;
                return b->rel;
        }
        strbuf_reset(&b->joined);
        strbuf_adds(&b->joined, e->below);
        if (b->rel_len > 0) {
                strbuf_addc(&b->joined, '/');
                strbuf_add(&b->joined, b->rel, b->rel_len);
        }
        b->failed |= strbuf_failed(&b->joined);
        *ret_len = b->joined.len;
        return strbuf_str(&b->joined);
}

static void take_pattern(struct bound *b, const struct match_entry *e, const struct pattern *p)
{
        size_t len;
        const char *path = candidate(b, e, p, &len);
        /* a pattern that matches a directory takes in everything below it */
        bool whole = pattern_match_path(p, path, len, true);

        if (whole || pattern_may_match_below(p, path, len))
                take(b, e, whole);
}

static void visit(struct bound *b, uint32_t node)
{
        const struct matcher *m = b->m;
        const struct match_node *n = &m->nodes[node];

        for (uint32_t i = n->plain; i != MATCH_NONE; i = m->entries[i].next)
                if (reaches(b, &m->entries[i]))
                        take(b, &m->entries[i], true);
        for (uint32_t i = n->patterns; i != MATCH_NONE; i = m->entries[i].next)
                if (reaches(b, &m->entries[i]))
                        take_pattern(b, &m->entries[i], m->entries[i].pattern);
        for (uint32_t l = n->literals; l != MATCH_NONE; l = m->literals[l].next_of_node) {
                const struct match_literal *literal = &m->literals[l];
                struct pattern p = {
                        .kind = literal->kind,
                        .literal = literal->text,
                        .literal_len = literal->len,
                };
                bool whole = pattern_match_path(&p, b->rel, b->rel_len, true);

                for (uint32_t i = literal->entries; i != MATCH_NONE; i = m->entries[i].next)
                        if (reaches(b, &m->entries[i]))
                                take(b, &m->entries[i], whole);
        }
}

static void walk(struct bound *b)
{
        const struct match_path *dir = b->dir;
        const char *p = dir->path;
        uint64_t hash = match_hash_root(dir->fs);
        uint32_t node = match_find_node(b->m, hash, dir->fs, "/", 1);

        b->rel = p + 1;
        b->rel_len = dir->len - 1;
        if (node != MATCH_NONE)
                visit(b, node);
        for (size_t at = 1; at < dir->len;) {
                const char *slash = memchr(p + at, '/', dir->len - at);
                size_t end = slash ? (size_t)(slash - p) : dir->len;

                hash = match_hash_child(hash, p + at, end - at);
                at = end + 1;
                b->rel = at <= dir->len ? p + at : p + dir->len;
                b->rel_len = at <= dir->len ? dir->len - at : 0;
                node = match_find_node(b->m, hash, dir->fs, p, end);
                if (node != MATCH_NONE)
                        visit(b, node);
        }
}

static int wanted_of_children(const struct matcher *m, const struct match_path *dir, uint32_t *ret)
{
        struct bound b = { .m = m, .dir = dir };
        uint32_t wanted = 0;

        m->scratch->serial++;
        m->scratch->n_touched = 0;
        walk(&b);
        strbuf_done(&b.joined);
        if (b.failed)
                return -ENOMEM;
        for (size_t i = 0; i < m->scratch->n_touched; i++) {
                uint32_t rule = m->scratch->touched[i];
                const struct rule_state *s = &m->scratch->rules[rule];

                wanted |= s->wanted & ~s->excepted & ~(m->rules->watches[rule].always ? 0 : b.ignored);
        }
        *ret = wanted;
        return 0;
}

/* ---- one object ---- */

static int wanted_at(const struct matcher *m, const struct match_query *q, uint32_t *ret)
{
        struct match_hits hits = MATCH_HITS_NULL;
        int r = matcher_match(m, q, NULL, &hits);

        *ret = hits.events;
        match_hits_done(&hits);
        return r;
}

static struct match_query query_of(const struct match_path *path, bool is_dir, uint32_t events)
{
        return (struct match_query){
                .events = events,
                .is_dir = is_dir,
                .path = *path,
                .old_path = MATCH_PATH_NONE,
                .alias = MATCH_PATH_NONE,
                .unresolved_fs = WORLD_NONE,
        };
}

/* ---- answers ---- */

bool unwanted_is_above_rule(const struct matcher *m, const struct match_path *dir)
{
        uint64_t hash = match_hash_path(dir->fs, dir->path, dir->len);
        size_t pos = hash_tag(hash);
        uint32_t i;

        while ((i = hash_index_next(&m->above_index, hash, &pos)) != HASH_NONE) {
                const struct match_above *a = &m->aboves[i];

                if (a->fs == dir->fs && a->len == dir->len && memcmp(a->path, dir->path, dir->len) == 0)
                        return true;
        }
        return false;
}

int unwanted_in_dir(const struct matcher *m, const struct match_path *dir, struct unwanted *ret)
{
        struct match_query q = query_of(dir, true, UNWANTED_SELF);
        uint32_t self, children = 0;
        int r;

        if (unwanted_is_above_rule(m, dir)) {
                *ret = (struct unwanted){ .reason = UNWANTED_ANCESTOR };
                return 0;
        }
        r = wanted_at(m, &q, &self);
        if (r == 0)
                r = wanted_of_children(m, dir, &children);
        if (r < 0)
                return r;
        *ret = (struct unwanted){
                .events = UNWANTED_ALL & ~(self & UNWANTED_SELF) &
                          ~(children & (UNWANTED_ENTRY | UNWANTED_CHILD)),
        };
        return 0;
}

int unwanted_of_file(const struct matcher *m, const struct match_path *path, struct unwanted *ret)
{
        const uint32_t asked = UNWANTED_CHILD | EV_DELETE_SELF;
        struct match_query q = query_of(path, false, asked);
        uint32_t wanted;
        int r = wanted_at(m, &q, &wanted);

        if (r == 0)
                *ret = (struct unwanted){ .events = asked & ~wanted };
        return r;
}

/* Neither the change itself nor a link, by which it gets another name. */
int unwanted_until_modified(const struct matcher *m, const struct match_path *path, struct unwanted *ret)
{
        const uint32_t asked = UNWANTED_CHILD & ~(uint32_t)(EV_MODIFY | EV_ATTRIB);
        struct match_query q = query_of(path, false, asked);
        uint32_t wanted;
        int r = wanted_at(m, &q, &wanted);

        if (r == 0)
                *ret = (struct unwanted){ .events = asked & ~wanted };
        return r;
}

bool unwanted_is_named_file(const struct matcher *m, const struct match_path *path)
{
        uint64_t hash = match_hash_path(path->fs, path->path, path->len);
        uint32_t node = match_find_node(m, hash, path->fs, path->path, path->len);

        for (uint32_t i = node == MATCH_NONE ? MATCH_NONE : m->nodes[node].plain; i != MATCH_NONE;
             i = m->entries[i].next) {
                const struct match_entry *e = &m->entries[i];
                const struct match_clause *c = &m->clauses[e->clause];

                if (c->kind == CLAUSE_IGNORE && e->own && e->mount_id == MATCH_NO_MOUNT &&
                    c->slot == MATCH_NONE && !c->until)
                        return true;
        }
        return false;
}

int unwanted_not_by_alias(const struct matcher *m, const struct match_path *path, uint32_t *ret_wanted)
{
        const struct match_path none = MATCH_PATH_NONE;
        struct match_query q = query_of(&none, false, UNWANTED_CHILD);

        q.alias = *path;
        return wanted_at(m, &q, ret_wanted);
}

int unwanted_linked(const struct matcher *m, uint32_t fs, uint32_t *ret_wanted)
{
        const struct world *w = m->world;
        uint32_t all = 0;

        for (uint32_t i = 0; i < w->n_paths; i++) {
                const struct world_path *p = &w->paths[i];
                struct match_path path = { .fs = fs, .path = p->inside };
                uint32_t wanted;
                int r;

                if (!p->exists || p->nlink == 1 || p->type == TYPE_DIRECTORY || p->mount == WORLD_NONE ||
                    w->mounts[p->mount].fs != fs)
                        continue;
                path.len = strlen(path.path);
                r = unwanted_not_by_alias(m, &path, &wanted);
                if (r < 0)
                        return r;
                all |= wanted;
        }
        *ret_wanted = all;
        return 0;
}

static bool leaves_out(const struct matcher *m, uint32_t entry)
{
        for (uint32_t i = entry; i != MATCH_NONE; i = m->entries[i].next) {
                const struct match_entry *e = &m->entries[i];
                const struct match_clause *c = &m->clauses[e->clause];

                if (c->kind != CLAUSE_WATCH && c->slot == MATCH_NONE && e->mount_id == MATCH_NO_MOUNT)
                        return true;
        }
        return false;
}

/* Does an ignore or except that asks nothing of the process stand here? */
static bool node_leaves_out(const struct matcher *m, const struct match_node *n)
{
        for (uint32_t l = n->literals; l != MATCH_NONE; l = m->literals[l].next_of_node)
                if (leaves_out(m, m->literals[l].entries))
                        return true;
        return leaves_out(m, n->plain) || leaves_out(m, n->patterns);
}

bool unwanted_somewhere(const struct matcher *m, uint32_t fs, uint32_t events)
{
        uint32_t root = match_find_node(m, match_hash_path(fs, "/", 1), fs, "/", 1);

        for (uint32_t i = root == MATCH_NONE ? MATCH_NONE : m->nodes[root].plain; i != MATCH_NONE;
             i = m->entries[i].next) {
                const struct match_entry *e = &m->entries[i];
                const struct match_clause *c = &m->clauses[e->clause];

                if (c->kind == CLAUSE_WATCH && e->reach == REACH_TREE && e->mount_id == MATCH_NO_MOUNT)
                        events &= ~(c->events & e->events);
        }
        for (uint32_t i = 0; events == 0 && i < m->n_nodes; i++)
                if (m->nodes[i].fs == fs && node_leaves_out(m, &m->nodes[i]))
                        return true;
        return events != 0;
}

/* What unconditional global ignores of the whole node take, for events from this mount's group, or, with
 * MATCH_NO_MOUNT, from the main one. */
static uint32_t ignored_at(const struct matcher *m, const struct match_path *root, int mount_id)
{
        uint32_t node = match_find_node(m, match_hash_path(root->fs, root->path, root->len), root->fs,
                                        root->path, root->len);
        uint32_t ignored = 0;

        for (uint32_t i = node == MATCH_NONE ? MATCH_NONE : m->nodes[node].plain; i != MATCH_NONE;
             i = m->entries[i].next) {
                const struct match_entry *e = &m->entries[i];
                const struct match_clause *c = &m->clauses[e->clause];

                if (c->kind == CLAUSE_IGNORE && e->reach == REACH_TREE && c->slot == MATCH_NONE &&
                    !c->until && (e->mount_id == MATCH_NO_MOUNT || e->mount_id == mount_id))
                        ignored |= c->events & c->events_self & e->events;
        }
        return ignored;
}

uint32_t unwanted_on_fs(const struct matcher *m, uint32_t fs)
{
        const struct match_path root = { .fs = fs, .path = "/", .len = 1 };
        uint32_t ignored = ignored_at(m, &root, MATCH_NO_MOUNT), kept = 0;

        for (uint32_t i = 0; ignored != 0 && i < m->n_nodes; i++)
                if (m->nodes[i].fs == fs)
                        kept |= m->nodes[i].needs;
        return ignored & ~kept;
}

uint32_t unwanted_on_mount(const struct matcher *m, int mount_id)
{
        const struct world *w = m->world;
        uint32_t ignored = 0;

        for (uint32_t i = 0; i < w->n_mounts; i++)
                if (w->mounts[i].id == mount_id) {
                        const struct match_path root = {
                                .fs = w->mounts[i].fs,
                                .path = w->mounts[i].root,
                                .len = strlen(w->mounts[i].root),
                        };
                        ignored = ignored_at(m, &root, mount_id);
                }
        for (uint32_t i = 0; ignored != 0 && i < m->rules->n_watches; i++)
                if (m->rules->watches[i].always && m->rules->watches[i].clause.scope == SCOPE_MOUNT)
                        return 0;
        return ignored;
}
