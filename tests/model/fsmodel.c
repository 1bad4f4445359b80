/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filesystem that the test runs on: names, inodes, and what each of them raises. */

#include "fsmodel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fan_uapi.h"
#include "fanqueue.h"
#include "fsmodel_internal.h"

void die(const char *format, ...)
{
        int saved = errno;
        va_list ap;

        printf("Bail out! ");
        va_start(ap, format);
        errno = saved;
        vprintf(format, ap);
        va_end(ap);
        printf("\n");
        fflush(stdout);
        exit(1);
}

struct node *node_of(const struct interest_object *o)
{
        return (struct node *)((const char *)o - offsetof(struct node, object));
}

const char *fsmodel_path(const struct fsmodel *fs, const struct entry *entry, unsigned mount, char ret[256])
{
        const struct entry *chain[16];
        size_t n = 0;
        int len = snprintf(ret, 256, "%s", fs->mount_path[mount]);

        for (const struct entry *e = entry; e->parent; e = e->parent)
                chain[n++] = e;
        while (n-- > 0)
                len += snprintf(ret + len, 256 - (size_t)len, "/%s", chain[n]->name);
        return ret;
}

/* ---- hooks ---- */

static void send(struct fsmodel *fs, const struct interest_report *report, const char *name,
                 const char *new_name, struct entry *entry, unsigned mount)
{
        for (size_t i = 0; i < report->n; i++)
                for (size_t j = 0; j < fs->n_queues; j++)
                        if (&fs->queues[j].group == report->to[i].group)
                                fanqueue_add(&fs->queues[j], &report->to[i], name, new_name, entry, mount);
}

void on_dentry(struct fsmodel *fs, uint32_t events, struct entry *entry, int mount)
{
        struct interest_event e = {
                .events = events,
                .inode = &entry->node->object,
                .filesystem = &fs->filesystem,
                .mount = mount >= 0 ? &fs->mounts[mount] : NULL,
                .dir = entry->parent ? &entry->parent->node->object : NULL,
        };
        struct interest_report report;

        interest_on_dentry(fs->kernel, &e, &report);
        send(fs, &report, entry->name, "", entry, mount >= 0 ? (unsigned)mount : 0);
}

void on_name(struct fsmodel *fs, uint32_t events, struct entry *dir, const char *name, struct node *node,
             struct entry *new_dir, const char *new_name)
{
        struct interest_event e = {
                .events = events,
                .inode = &node->object,
                .filesystem = &fs->filesystem,
                .dir = &dir->node->object,
                .new_dir = new_dir ? &new_dir->node->object : NULL,
        };
        struct interest_report report;

        interest_on_name(fs->kernel, &e, &report);
        send(fs, &report, name, new_name, NULL, 0);
}

void on_inode(struct fsmodel *fs, uint32_t events, struct node *node)
{
        struct interest_event e = { .events = events, .inode = &node->object, .filesystem = &fs->filesystem };
        struct interest_report report;

        interest_on_inode(fs->kernel, &e, &report);
        send(fs, &report, "", "", NULL, 0);
}

/* ---- entries and inodes ---- */

struct entry *entry_new(struct fsmodel *fs, struct entry *parent, const char *name, struct node *node)
{
        struct entry *e = calloc(1, sizeof(*e));

        if (!e)
                die("out of memory");
        e->node = node;
        e->parent = parent;
        snprintf(e->name, sizeof(e->name), "%s", name);
        e->hashed = true;
        e->next = fs->entries;
        fs->entries = e;
        if (parent)
                parent->children++;
        return e;
}

static bool has_other_entry(const struct fsmodel *fs, const struct entry *except)
{
        for (const struct entry *e = fs->entries; e; e = e->next)
                if (e->node == except->node && e != except)
                        return true;
        return false;
}

/* dentry_unlink_inode() and what follows: nobody can reach the inode through this entry any more.  If no
 * name is left, the inode's marks go; in some kernels even while it is open through another entry. */
static void entry_release(struct fsmodel *fs, struct entry *e)
{
        struct entry **link, *parent = e->parent;

        if (e->node->nlink == 0 && !(fs->hooks.last_dentry_tells && has_other_entry(fs, e))) {
                on_inode(fs, FAN_DELETE_SELF, e->node);
                interest_object_done(fs->kernel, &e->node->object);
        }
        for (link = &fs->entries; *link != e; link = &(*link)->next)
                ;
        *link = e->next;
        free(e);
        if (parent) {
                parent->children--;
                entry_maybe_release(fs, parent);
        }
}

void entry_maybe_release(struct fsmodel *fs, struct entry *e)
{
        if (!e->hashed && e->pins == 0 && e->children == 0)
                entry_release(fs, e);
}

void fsmodel_unpin(struct fsmodel *fs, struct entry *entry)
{
        entry->pins--;
        entry_maybe_release(fs, entry);
}

/* Reads inode number and handle of what path names; raises no event. */
struct node *node_new(struct fsmodel *fs, const char *path, uint32_t type)
{
        struct node *node = calloc(1, sizeof(*node));
        struct {
                struct file_handle h;
                unsigned char bytes[128];
        } handle = { .h.handle_bytes = sizeof(handle.bytes) };
        struct stat st;
        int mount_id;

        if (!node)
                die("out of memory");
        if (lstat(path, &st) < 0 || name_to_handle_at(AT_FDCWD, path, &handle.h, &mount_id, 0) < 0)
                die("%s: %m", path);
        node->object.kind = MARK_INODE;
        node->object.type = type;
        node->object.fid_errno = fs->hooks.fid_errno;
        node->ino = st.st_ino;
        node->nlink = 1;
        node->handle.type = handle.h.handle_type;
        node->handle.len = handle.h.handle_bytes;
        memcpy(node->handle.bytes, handle.h.f_handle, handle.h.handle_bytes);
        node->next = fs->nodes;
        fs->nodes = node;
        return node;
}

/* ---- a round ---- */

void fsmodel_init(struct fsmodel *fs, const struct interest_kernel *kernel, const struct fs_hooks *hooks,
                  const char *path, const char *bind)
{
        const char *paths[FS_MOUNTS] = { path, bind };
        struct statfs sfs;
        struct stat st;

        *fs = (struct fsmodel){
                .kernel = kernel,
                .hooks = *hooks,
                .filesystem = { .kind = MARK_FILESYSTEM, .fid_errno = hooks->fid_errno },
        };
        for (unsigned i = 0; i < FS_MOUNTS; i++) {
                struct {
                        struct file_handle h;
                        unsigned char bytes[128];
                } handle = { .h.handle_bytes = sizeof(handle.bytes) };

                snprintf(fs->mount_path[i], sizeof(fs->mount_path[i]), "%s", paths[i]);
                fs->mounts[i] = (struct interest_object){ .kind = MARK_MOUNT, .fid_errno = hooks->fid_errno };
                if (name_to_handle_at(AT_FDCWD, paths[i], &handle.h, &fs->mount_id[i], 0) < 0)
                        die("%s: %m", paths[i]);
        }
        for (unsigned i = 0; i < FS_MAX_FILES; i++)
                fs->files[i].fd = -1;
        if (statfs(path, &sfs) < 0 || stat(path, &st) < 0)
                die("%s: %m", path);
        memcpy(fs->fsid, &sfs.f_fsid, sizeof(fs->fsid));
        fs->sdev = (major(st.st_dev) << 20) | minor(st.st_dev);
        fs->root = entry_new(fs, NULL, "", node_new(fs, path, TYPE_DIRECTORY));
        fs->root->node->nlink = 2;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
        if (ftw->level > 0 && !streq(path + ftw->base, "lost+found") && remove(path) < 0)
                die("%s: %m", path);
        return 0;
}

void fsmodel_done(struct fsmodel *fs)
{
        for (unsigned i = 0; i < FS_MAX_FILES; i++)
                if (fs->files[i].fd >= 0)
                        close(fs->files[i].fd);
        if (nftw(fs->mount_path[0], remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
                die("%s: %m", fs->mount_path[0]);
        for (struct entry *e = fs->entries, *next; e; e = next) {
                next = e->next;
                free(e);
        }
        for (struct node *n = fs->nodes, *next; n; n = next) {
                next = n->next;
                interest_object_done(fs->kernel, &n->object);
                free(n);
        }
        fs->entries = NULL;
        fs->nodes = NULL;
}
