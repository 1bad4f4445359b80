/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Facts for lib/explain: what a path leads to now, and the marks that are there
 * (reload_list_marks()).  Asked for by people: it takes milliseconds, and never waits for
 * a filesystem that may not answer.
 */

#include "explain.h"
#include "street.h"
#include "world_collect.h"

struct explain_request {
        const struct street *street;
        const struct generation *generation;
        enum mount_view view;
        const char *path;
        const char *second; /* NULL, or the new name of a rename */
};

struct explained_name {
        struct world_path found;      /* path is as it was asked for */
        const char *canonical;        /* what a record would say */
        const char *told_as;          /* ... of an event of the object alone; NULL: nothing */
        const struct world_fs *fs;
        const struct world_mount *mount;
        bool assumed;                 /* name.type is a guess: it does not exist, or cannot be told */
        struct explain_name name;
};

struct explained {
        struct arena *arena;
        struct explained_name names[2];
        size_t n_names;
        struct markset marks;          /* of all groups */
        const struct mark *filesystem, *mount;
        const char *note;              /* a sentence, or NULL */
        struct explanation *explanation;
};

/* Returns 0; -EINVAL for a path that is not absolute; -ENOENT when no mount shows it; other negative errno. */
int explain_path(const struct explain_request *request, struct explained **ret);
void explained_free(struct explained *e);
DEFINE_CLEANUP(struct explained, explained_free);
