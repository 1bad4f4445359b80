/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>
#include <stdio.h>

#include "note_fields.h"

#define MAX_WATCHED 32

void note_fields_done(struct note_fields *f)
{
        for (size_t i = 0; i < f->n_own; i++)
                free(f->own[i]);
}

void note_field(struct note_fields *f, const char *name, const char *value)
{
        if (!value || f->n + 2 > 2 * MAX_NOTE_FIELDS)
                return;
        f->v[f->n++] = name;
        f->v[f->n++] = value;
        f->v[f->n] = NULL;
}

void note_fields_own(struct note_fields *f, const char *name, char *text)
{
        if (!text || f->n_own == MAX_NOTE_FIELDS) {
                free(text);
                return;
        }
        f->own[f->n_own++] = text;
        note_field(f, name, text);
}

void note_fieldf(struct note_fields *f, const char *name, const char *format, ...)
{
        char *text;
        va_list args;
        va_start(args, format);
        int n = vasprintf(&text, format, args);
        va_end(args);
        if (n >= 0)
                note_fields_own(f, name, text);
}

static bool comes_through(const struct world *w, uint32_t fs, const struct group_key *group)
{
        const struct group_key own = group_key_filesystem(w->fs[fs].sdev_major, w->fs[fs].sdev_minor);
        bool has_own = world_fs_by_directories(&w->fs[fs]) && w->fs[fs].own_group;

        switch (group->kind) {
        case GROUP_MAIN:
                return !has_own;
        case GROUP_FILESYSTEM:
                return has_own && group_key_compare(group, &own) == 0;
        case GROUP_MOUNT:
                for (size_t i = 0; i < w->n_mounts; i++)
                        if (w->mounts[i].id == group->mount_id)
                                return w->mounts[i].fs == fs;
                return false;
        }
        return false;
}

void note_fields_watched(struct note_fields *f, const struct generation *g, const struct group_key *group,
                         struct strbuf *text)
{
        size_t n = 0;

        for (size_t i = 0; i < g->plan->n_coverage; i++) {
                const struct coverage *c = &g->plan->coverage[i];
                uint32_t mount = g->world->fs[c->fs].canonical_mount;

                if ((c->state != COVERED && c->state != PARTLY_COVERED) || mount == WORLD_NONE ||
                    (group && !comes_through(g->world, c->fs, group)))
                        continue;
                if (n++ < MAX_WATCHED)
                        note_field(f, "FAWATCH_MOUNTPOINT", g->world->mounts[mount].mountpoint);
                strbuf_adds(text, text->len > 0 ? " " : "");
                strbuf_adds(text, g->world->mounts[mount].mountpoint);
        }
}
