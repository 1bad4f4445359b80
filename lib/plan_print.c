/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as text. */

#include "escape.h"
#include "plan.h"
#include "strbuf.h"

const char *gap_kind_name(enum gap_kind k)
{
        static const char *const names[] = {
                [GAP_PATH_MISSING] = "path-missing",
                [GAP_PATH_ERROR] = "path-error",
                [GAP_NOT_A_MOUNTPOINT] = "not-a-mountpoint",
                [GAP_PSEUDO] = "pseudo",
                [GAP_NO_MARK] = "no-mark",
                [GAP_KERNEL] = "kernel",
                [GAP_NAME_UNKNOWN] = "name-unknown",
                [GAP_MOUNT_BLIND] = "mount-blind",
                [GAP_UNREACHABLE] = "unreachable",
                [GAP_NETWORK] = "network",
                [GAP_NAMESPACE] = "namespace",
                [GAP_MARK_FAILED] = "mark-failed",
        };

        return names[k];
}

const char *gap_weight_name(enum gap_weight w)
{
        static const char *const names[] = {
                [GAP_NOTE] = "note",
                [GAP_PARTLY] = "partly",
                [GAP_HOLE] = "not covered",
        };

        return names[w];
}

const char *coverage_state_name(enum coverage_state s)
{
        static const char *const names[] = {
                [COVERED] = "covered",
                [PARTLY_COVERED] = "partly covered",
                [NOT_COVERED] = "not covered",
                [SKIPPED] = "skipped",
        };

        return names[s];
}

const char *ignore_done_name(enum ignore_done d)
{
        static const char *const names[] = {
                [IGNORE_IN_KERNEL] = "in the kernel",
                [IGNORE_NOT_ASKED] = "not asked for",
                [IGNORE_UNTIL_MODIFIED] = "in the kernel until modified",
                [IGNORE_IN_USERSPACE] = "in userspace",
        };

        return names[d];
}

static void print_text(const char *s, struct strbuf *out)
{
        escape_text(s, strlen(s), out);
}

static void print_marks(const struct markset *marks, struct strbuf *out)
{
        if (marks->n == 0) {
                strbuf_adds(out, "  none\n");
                return;
        }
        for (size_t i = 0; i < marks->n; i++) {
                const struct mark *m = &marks->marks[i];

                strbuf_adds(out, "  ");
                if (m->group.kind == GROUP_MOUNT)
                        strbuf_addf(out, "(group of mount %d) ", m->group.mount_id);
                mark_print(m, out);
                strbuf_addc(out, '\n');
        }
}

static void print_mask(const char *before, uint32_t mask, struct strbuf *out)
{
        strbuf_adds(out, before);
        mark_print_mask(mask, out);
}

/* Only what rules name: what is above them has the marks of its structure. */
static void print_root(const struct placement_root *r, const struct world *world, struct strbuf *out)
{
        const struct world_fs *fs = &world->fs[r->fs];

        strbuf_addf(out, "  %s %u:%u%s, ", fs->fstype, fs->sdev_major, fs->sdev_minor,
                    fs->own_group ? " (own group)" : "");
        print_text(r->inside, out);
        if (r->skip)
                strbuf_adds(out, ": no mark, and none below");
        else
                print_mask(": mask ", r->mask, out);
        if (!r->skip && r->below != 0)
                print_mask("; each directory below: mask ", r->below, out);
        strbuf_addc(out, '\n');
}

static void print_events(uint32_t events, struct strbuf *out)
{
        const char *before = ": ";

        for (unsigned i = 0; i < 32; i++) {
                if ((events & (1u << i)) == 0)
                        continue;
                strbuf_addf(out, "%s%s", before, vocab_name(1u << i));
                before = ",";
        }
}

static void print_coverage(const struct coverage *c, const struct world *world, struct strbuf *out)
{
        const struct world_fs *fs = &world->fs[c->fs];

        strbuf_adds(out, "  ");
        if (fs->canonical_mount != WORLD_NONE)
                print_text(world->mounts[fs->canonical_mount].mountpoint, out);
        strbuf_addf(out, " (%s %u:%u) %s, %s", fs->fstype, fs->sdev_major, fs->sdev_minor,
                    coverage_state_name(c->state), c->how);
        if (c->state != SKIPPED)
                print_events(c->events, out);
        if (c->moves_for_ignores)
                strbuf_adds(out, "; renames too, since ignores move with their directories");
        strbuf_addc(out, '\n');
}

static void print_gap(const struct gap *g, struct strbuf *out)
{
        strbuf_addf(out, "  %s: %s", gap_weight_name(g->weight), gap_kind_name(g->kind));
        if (g->rule)
                strbuf_addf(out, ", rule %s", g->rule);
        if (g->path) {
                strbuf_adds(out, ", ");
                print_text(g->path, out);
        }
        strbuf_adds(out, ": ");
        print_text(g->reason, out);
        strbuf_addc(out, '\n');
}

static void print_ignore(const struct plan_ignore *i, struct strbuf *out)
{
        strbuf_addf(out, "  %s, ", i->ignore->name);
        print_text(i->path, out);
        strbuf_addf(out, ": %s%s%s\n", ignore_done_name(i->done), i->reason ? ", " : "", i->reason ? i->reason : "");
}

void plan_print(const struct plan *p, const struct world *world, struct strbuf *out)
{
        strbuf_adds(out, "marks:\n");
        print_marks(&p->wanted, out);
        if (p->placement.n > 0)
                strbuf_adds(out, "directories:\n");
        for (size_t i = 0; i < p->placement.n; i++)
                print_root(&p->placement.roots[i], world, out);
        strbuf_adds(out, "coverage:\n");
        for (size_t i = 0; i < p->n_coverage; i++)
                print_coverage(&p->coverage[i], world, out);
        if (p->n_ignores > 0)
                strbuf_adds(out, "ignores:\n");
        for (size_t i = 0; i < p->n_ignores; i++)
                print_ignore(&p->ignores[i], out);
        if (p->n_gaps > 0)
                strbuf_adds(out, "gaps:\n");
        for (size_t i = 0; i < p->n_gaps; i++)
                print_gap(&p->gaps[i], out);
        if (p->prices.n > 0)
                strbuf_adds(out, "prices:\n");
        for (size_t i = 0; i < p->prices.n; i++) {
                strbuf_adds(out, "  ");
                print_text(p->prices.v[i], out);
                strbuf_addc(out, '\n');
        }
}
