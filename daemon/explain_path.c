/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "explain_path.h"

#include <errno.h>
#include <sys/stat.h>

#include "fdutil.h"
#include "handles.h"
#include "probe.h"
#include "reload.h"

static const struct group_key main_group = { .kind = GROUP_MAIN };

/* ---- marks ---- */

static const struct mark *find_inode(const struct explained *e, const struct world_fs *fs,
                                     const struct handle *handle)
{
        const struct mark_object object = {
                .kind = MARK_INODE, .sdev_major = fs->sdev_major, .sdev_minor = fs->sdev_minor,
                .handle = *handle,
        };

        return handle->len > 0 ? markset_find(&e->marks, &main_group, &object) : NULL;
}

static void find_wide_marks(struct explained *e)
{
        const struct explained_name *n = &e->names[0];
        const struct mark_object filesystem = {
                .kind = MARK_FILESYSTEM, .sdev_major = n->fs->sdev_major, .sdev_minor = n->fs->sdev_minor,
        };
        const struct group_key of_mount = { .kind = GROUP_MOUNT, .mount_id = n->mount->id };
        const struct mark_object mount = { .kind = MARK_MOUNT, .mount_id = n->mount->id };

        e->filesystem = markset_find(&e->marks, &main_group, &filesystem);
        e->mount = markset_find(&e->marks, &of_mount, &mount);
}

/* ---- names ---- */

static bool may_be_opened(const struct world *w, const struct explained_name *n)
{
        return n->fs->class != FS_PSEUDO && !world_fs_may_hang(n->fs) && !world_mount_may_hang(w, n->found.mount);
}

/* The directory that holds the name, inside the filesystem: not always the one above the mount. */
static void find_parent(struct explained *e, const struct world *w, int root_fd, struct explained_name *n)
{
        const struct match_path *path = &n->name.path;
        const char *slash = memrchr(path->path, '/', path->len);
        size_t len = MAX_OF((size_t)(slash - path->path), (size_t)1);
        _cleanup_strbuf_ struct strbuf where = STRBUF_NULL;
        struct handle handle = {};
        bool hidden;

        if (path->len == 1 || !may_be_opened(w, n) ||
            world_canonical_path(w, path->fs, path->path, len, &where, &hidden) < 0 || hidden)
                return;

        const char *below = strbuf_str(&where) + 1;
        _cleanup_close_ int fd = openat(root_fd, *below ? below : ".",
                                        O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && handle_of(fd, &handle) == 0)
                n->name.parent = find_inode(e, n->fs, &handle);
}

static struct match_path keep_path(struct explained *e, uint32_t fs, const struct bytes *path)
{
        const char *copy = path->p ? arena_strndup(e->arena, path->p, path->len) : NULL;

        return copy ? (struct match_path){ .fs = fs, .path = copy, .len = path->len } : MATCH_PATH_NONE;
}

static void find_object(const struct explain_request *q, struct explained *e, struct explained_name *n)
{
        struct pipeline_object object;

        n->name.inode = find_inode(e, n->fs, &n->found.handle);
        pipeline_find_object(q->street->pipeline, n->fs->fsid, n->name.path.path, &n->found.handle, &object);
        n->name.is_rules = object.is_rules;
        n->name.alias = keep_path(e, n->name.path.fs, &object.alias);
        n->name.told_as = keep_path(e, n->name.path.fs, &object.told_as);
}

/* A path inside its filesystem as records say it; NULL when memory is short. */
static const char *canonical(struct explained *e, const struct world *w, const struct match_path *path)
{
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        bool hidden;

        (void)world_canonical_path(w, path->fs, path->path, path->len, &out, &hidden);
        return strbuf_failed(&out) ? NULL : arena_strdup(e->arena, strbuf_str(&out));
}

/* A name that ends in a slash is meant as a directory. */
static uint32_t assumed_type(const char *path)
{
        size_t len = strlen(path);

        return len > 1 && path[len - 1] == '/' ? TYPE_DIRECTORY : TYPE_FILE;
}

static int find_name(const struct explain_request *q, struct explained *e, int root_fd, const char *path)
{
        struct explained_name *n = &e->names[e->n_names];
        const struct world *w = q->generation->world;
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL;
        int r;

        if (path[0] != '/')
                return -EINVAL;
        path = arena_strdup(e->arena, path);
        r = path ? probe_path(w, root_fd, path, e->arena, &n->found) : -ENOMEM;
        if (r < 0)
                return r;
        n->found.mount = world_locate(w, n->found.resolved, &inside);
        if (n->found.mount == WORLD_NONE)
                return -ENOENT;
        n->mount = &w->mounts[n->found.mount];
        n->fs = &w->fs[n->mount->fs];
        n->found.inside = arena_strdup(e->arena, strbuf_str(&inside));
        n->assumed = n->found.type == 0;
        n->name.type = n->assumed ? assumed_type(path) : n->found.type;
        n->name.path = (struct match_path){ .fs = n->mount->fs, .path = n->found.inside, .len = inside.len };
        if (strbuf_failed(&inside) || !n->found.inside)
                return -ENOMEM;
        find_object(q, e, n);
        find_parent(e, w, root_fd, n);
        n->canonical = canonical(e, w, &n->name.path);
        n->told_as = n->name.told_as.path ? canonical(e, w, &n->name.told_as) : NULL;
        if (!n->canonical)
                return -ENOMEM;
        e->n_names++;
        return 0;
}

/* ---- all of it ---- */

static void set_note(struct explained *e)
{
        const struct explained_name *n = &e->names[0];

        if (e->n_names == 2 && e->names[1].fs != n->fs)
                e->note = "on two filesystems: rename(2) fails there and mv(1) copies; "
                          "explain each path by itself";
        else if (n->fs->class == FS_PSEUDO)
                e->note = "on a pseudo filesystem: nothing there is watched";
        else if (n->fs->mark_errno != 0)
                e->note = "the kernel takes no mark on this filesystem: see fawatchctl coverage";
}

static int explain(const struct explain_request *q, struct explained *e)
{
        struct explain_scene scene = { .generation = q->generation };
        bool rename = e->n_names == 2 && e->names[1].fs == e->names[0].fs;

        find_wide_marks(e);
        set_note(e);
        scene.filesystem = e->filesystem;
        scene.mount = e->mount;
        scene.name = e->names[0].name;
        if (rename) {
                /* the object comes along, and is there under its new name as what it was */
                e->names[1].name.type = scene.name.type;
                scene.new_name = &e->names[1].name;
        }
        return explain_build(&scene, &e->explanation);
}

int explain_path(const struct explain_request *request, struct explained **ret)
{
        _cleanup_(explained_freep) struct explained *e = calloc(1, sizeof(*e));
        enum mount_view view = request->view;
        int r;

        if (!e)
                return -ENOMEM;
        e->arena = arena_new();
        if (!e->arena)
                return -ENOMEM;
        _cleanup_close_ int root_fd = world_open_root(&view);
        if (root_fd < 0)
                return root_fd;
        r = reload_list_marks(request->street, &e->marks);
        if (r == 0)
                r = find_name(request, e, root_fd, request->path);
        if (r == 0 && request->second)
                r = find_name(request, e, root_fd, request->second);
        if (r == 0)
                r = explain(request, e);
        if (r < 0)
                return r;
        *ret = STEAL(e);
        return 0;
}

void explained_free(struct explained *e)
{
        if (!e)
                return;
        explanation_free(e->explanation);
        markset_done(&e->marks);
        arena_free(e->arena);
        free(e);
}
