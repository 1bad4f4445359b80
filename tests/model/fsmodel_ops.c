/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The operations.  Each is done really, then in the model: the comments name the
 * kernel function whose hooks are called, the order is the kernel's.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fan_uapi.h"
#include "fsmodel_internal.h"

#define MAX_DEPTH 3
#define TEXT "xxxxxxxx"
#define TEXT_LEN 8

typedef bool op_function(struct fsmodel *fs, const struct fs_target *t);

#define DEFINE_OP(name) static bool name(struct fsmodel *fs, const struct fs_target *t)

static void check(int r, const char *what, const char *path)
{
        if (r < 0)
                die("%s %s: %m", what, path);
}

static bool is(const struct entry *e, uint32_t types)
{
        return e->node->object.type & types;
}

static unsigned depth(const struct entry *e)
{
        unsigned n = 0;

        for (; e->parent; e = e->parent)
                n++;
        return n;
}

static struct entry *find(const struct fsmodel *fs, const struct entry *dir, const char *name)
{
        for (struct entry *e = fs->entries; e; e = e->next)
                if (e->hashed && e->parent == dir && streq(e->name, name))
                        return e;
        return NULL;
}

static bool is_empty(const struct fsmodel *fs, const struct entry *dir)
{
        for (const struct entry *e = fs->entries; e; e = e->next)
                if (e->hashed && e->parent == dir)
                        return false;
        return true;
}

/* Few names, so that they come back.  Returns whether one is free. */
static bool new_name(const struct fsmodel *fs, const struct entry *dir, unsigned choice,
                     char ret[FS_NAME_MAX])
{
        if (!is(dir, TYPE_DIRECTORY) || depth(dir) >= MAX_DEPTH)
                return false;
        snprintf(ret, FS_NAME_MAX, "%c", 'a' + choice % 5);
        return !find(fs, dir, ret);
}

static const char *new_path(const struct fsmodel *fs, const struct entry *dir, const char *name,
                            unsigned mount, char ret[256])
{
        size_t len = strlen(fsmodel_path(fs, dir, mount, ret));

        snprintf(ret + len, 256 - len, "/%s", name);
        return ret;
}

/* ---- open files ---- */

static uint32_t close_event(const struct open_file *f)
{
        return f->writable ? FAN_CLOSE_WRITE : FAN_CLOSE_NOWRITE;
}

static void count_writers(struct node *node)
{
        node->object.open_for_write = node->object.type == TYPE_FILE && node->writers > 0;
}

/* __fput() */
static void close_file(struct fsmodel *fs, struct open_file *f)
{
        struct node *node = f->entry->node;

        check(close(f->fd), "close", "");
        f->fd = -1;
        on_dentry(fs, close_event(f), f->entry, (int)f->mount);
        node->readers -= f->readable;
        node->writers -= f->writable;
        if (node->readers == 0 && node->writers == 0)
                node->in_pipe = 0;
        count_writers(node);
        fsmodel_unpin(fs, f->entry);
}

/* Keeps it in the slot if that is free, else closes it at once. */
static void keep(struct fsmodel *fs, const struct fs_target *t, struct entry *e, int fd, int flags)
{
        struct open_file f = {
                .fd = fd,
                .entry = e,
                .mount = t->mount,
                .readable = (flags & O_ACCMODE) != O_WRONLY,
                .writable = (flags & O_ACCMODE) != O_RDONLY,
        };

        e->pins++;
        e->node->readers += f.readable;
        e->node->writers += f.writable;
        count_writers(e->node);
        if (fs->files[t->file].fd >= 0)
                close_file(fs, &f);
        else
                fs->files[t->file] = f;
}

static int open_flags(const struct entry *e, unsigned choice)
{
        switch (e->node->object.type) {
        case TYPE_DIRECTORY:
                return O_RDONLY | O_DIRECTORY;
        case TYPE_FILE:
                return choice % 3 == 0 ? O_RDONLY : choice % 3 == 1 ? O_WRONLY : O_RDWR;
        default:
                return O_RDWR | O_NONBLOCK;
        }
}

/* vfs_open() */
DEFINE_OP(op_open)
{
        char path[256];
        int flags, fd;

        if (is(t->entry, TYPE_SYMLINK))
                return false;
        flags = open_flags(t->entry, t->choice);
        fd = open(fsmodel_path(fs, t->entry, t->mount, path), flags | O_CLOEXEC);
        check(fd, "open", path);
        on_dentry(fs, FAN_OPEN, t->entry, (int)t->mount);
        keep(fs, t, t->entry, fd, flags);
        return true;
}

/* do_open(): vfs_open(), then handle_truncate(); the other way round in older kernels, where the open was
 * told at the end of do_sys_openat2() */
DEFINE_OP(op_open_truncate)
{
        int flags = t->choice % 2 ? O_WRONLY : O_RDWR, fd;
        char path[256];

        if (!is(t->entry, TYPE_FILE))
                return false;
        fd = open(fsmodel_path(fs, t->entry, t->mount, path), flags | O_TRUNC | O_CLOEXEC);
        check(fd, "open", path);
        if (!fs->hooks.truncate_before_open)
                on_dentry(fs, FAN_OPEN, t->entry, (int)t->mount);
        on_dentry(fs, FAN_MODIFY, t->entry, -1);
        if (fs->hooks.truncate_before_open)
                on_dentry(fs, FAN_OPEN, t->entry, (int)t->mount);
        t->entry->node->size = 0;
        t->entry->node->printable = false;
        keep(fs, t, t->entry, fd, flags);
        return true;
}

/* open_last_lookups(), vfs_open() */
DEFINE_OP(op_create)
{
        int flags = t->choice / 8 % 2 ? O_WRONLY : O_RDWR, fd;
        char name[FS_NAME_MAX], path[256];
        struct entry *e;

        if (!new_name(fs, t->entry, t->choice, name))
                return false;
        fd = open(new_path(fs, t->entry, name, t->mount, path), flags | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        check(fd, "create", path);
        e = entry_new(fs, t->entry, name, node_new(fs, path, TYPE_FILE));
        on_name(fs, FAN_CREATE, t->entry, name, e->node, NULL, "");
        on_dentry(fs, FAN_OPEN, e, (int)t->mount);
        keep(fs, t, e, fd, flags);
        return true;
}

DEFINE_OP(op_close)
{
        struct open_file *f = &fs->files[t->file];

        if (f->fd < 0)
                return false;
        close_file(fs, f);
        return true;
}

/* vfs_read(): nothing is told of a read that returns nothing */
DEFINE_OP(op_read)
{
        struct open_file *f = &fs->files[t->file];
        size_t *available;
        char c;

        if (f->fd < 0 || !f->readable || is(f->entry, TYPE_DIRECTORY))
                return false;
        if (is(f->entry, TYPE_FIFO | TYPE_DEVICE)) {
                available = &f->entry->node->in_pipe;
                if (is(f->entry, TYPE_FIFO) && *available == 0)
                        return false;
                check((int)read(f->fd, &c, 1), "read", f->entry->name);
                if (*available > 0) {
                        on_dentry(fs, FAN_ACCESS, f->entry, (int)f->mount);
                        (*available)--;
                }
                return true;
        }
        check((int)pread(f->fd, &c, 1, 0), "read", f->entry->name);
        if (f->entry->node->size > 0)
                on_dentry(fs, FAN_ACCESS, f->entry, (int)f->mount);
        return true;
}

/* vfs_write() */
DEFINE_OP(op_write)
{
        struct open_file *f = &fs->files[t->file];
        struct node *node;

        if (f->fd < 0 || !f->writable)
                return false;
        node = f->entry->node;
        if (is(f->entry, TYPE_FILE)) {
                check((int)pwrite(f->fd, TEXT, TEXT_LEN, 0), "write", f->entry->name);
                node->size = MAX_OF(node->size, (size_t)TEXT_LEN);
                node->printable = true;
        } else {
                if (node->in_pipe > 1000)
                        return false;
                check((int)write(f->fd, "x", 1), "write", f->entry->name);
                node->in_pipe += is(f->entry, TYPE_FIFO);
        }
        on_dentry(fs, FAN_MODIFY, f->entry, (int)f->mount);
        return true;
}

/* iterate_dir(): at the end too, but not of a removed directory */
DEFINE_OP(op_list)
{
        struct open_file *f = &fs->files[t->file];
        char buffer[512];

        if (f->fd < 0 || !is(f->entry, TYPE_DIRECTORY))
                return false;
        (void)syscall(SYS_getdents64, f->fd, buffer, sizeof(buffer));
        if (!f->entry->node->dead)
                on_dentry(fs, FAN_ACCESS, f->entry, (int)f->mount);
        return true;
}

/* vfs_copy_file_range(); where it is done by do_splice_direct() with vfs_iter_write(), that tells too */
DEFINE_OP(op_copy)
{
        struct open_file *from = &fs->files[t->file], *to = &fs->files[t->choice % FS_MAX_FILES];
        loff_t from_offset = 0, to_offset = 0;
        size_t n;

        if (from->fd < 0 || to->fd < 0 || !from->readable || !to->writable ||
            !is(from->entry, TYPE_FILE) || !is(to->entry, TYPE_FILE) || from->entry->node == to->entry->node)
                return false;
        n = MIN_OF(from->entry->node->size, (size_t)TEXT_LEN);
        if (n == 0)
                return false;
        if (copy_file_range(from->fd, &from_offset, to->fd, &to_offset, n, 0) != (ssize_t)n)
                die("copy_file_range: %m");
        if (fs->hooks.copy_modifies_first)
                on_dentry(fs, FAN_MODIFY, to->entry, (int)to->mount);
        on_dentry(fs, FAN_ACCESS, from->entry, (int)from->mount);
        on_dentry(fs, FAN_MODIFY, to->entry, (int)to->mount);
        to->entry->node->size = MAX_OF(to->entry->node->size, n);
        to->entry->node->printable &= from->entry->node->printable;
        return true;
}

static void was_truncated(struct node *node, size_t size)
{
        node->size = size;
        node->printable &= size >= 4;
}

/* do_truncate(): by its dentry, even where a path or descriptor was given */
DEFINE_OP(op_truncate)
{
        size_t size = t->choice % 12;
        char path[256];

        if (!is(t->entry, TYPE_FILE))
                return false;
        check(truncate(fsmodel_path(fs, t->entry, t->mount, path), (off_t)size), "truncate", path);
        was_truncated(t->entry->node, size);
        on_dentry(fs, FAN_MODIFY, t->entry, -1);
        return true;
}

DEFINE_OP(op_ftruncate)
{
        struct open_file *f = &fs->files[t->file];
        size_t size = t->choice % 12;

        if (f->fd < 0 || !f->writable || !is(f->entry, TYPE_FILE))
                return false;
        check(ftruncate(f->fd, (off_t)size), "ftruncate", f->entry->name);
        was_truncated(f->entry->node, size);
        on_dentry(fs, FAN_MODIFY, f->entry, -1);
        return true;
}

/* vfs_fallocate() */
DEFINE_OP(op_fallocate)
{
        struct open_file *f = &fs->files[t->file];

        if (f->fd < 0 || !f->writable || !is(f->entry, TYPE_FILE))
                return false;
        check(fallocate(f->fd, 0, 0, 16), "fallocate", f->entry->name);
        f->entry->node->size = MAX_OF(f->entry->node->size, (size_t)16);
        on_dentry(fs, FAN_MODIFY, f->entry, (int)f->mount);
        return true;
}

/* ---- attributes: notify_change() and fsnotify_change(), by dentry ---- */

static mode_t some_mode(unsigned choice)
{
        return choice % 2 ? 0755 : 0711;
}

DEFINE_OP(op_chmod)
{
        char path[256];

        if (is(t->entry, TYPE_SYMLINK))
                return false;
        check(chmod(fsmodel_path(fs, t->entry, t->mount, path), some_mode(t->choice)), "chmod", path);
        on_dentry(fs, FAN_ATTRIB, t->entry, -1);
        return true;
}

DEFINE_OP(op_fchmod)
{
        struct open_file *f = &fs->files[t->file];

        if (f->fd < 0)
                return false;
        check(fchmod(f->fd, some_mode(t->choice)), "fchmod", f->entry->name);
        on_dentry(fs, FAN_ATTRIB, f->entry, -1);
        return true;
}

DEFINE_OP(op_chown)
{
        char path[256];

        check(lchown(fsmodel_path(fs, t->entry, t->mount, path), 0, 0), "chown", path);
        on_dentry(fs, FAN_ATTRIB, t->entry, -1); /* also where nothing changes */
        return true;
}

static bool set_times(struct fsmodel *fs, const struct fs_target *t, long atime, long mtime, uint32_t told)
{
        struct timespec times[2] = { { .tv_nsec = atime }, { .tv_nsec = mtime } };
        char path[256];

        check(utimensat(AT_FDCWD, fsmodel_path(fs, t->entry, t->mount, path), times, AT_SYMLINK_NOFOLLOW),
              "utimensat", path);
        on_dentry(fs, told, t->entry, -1);
        return true;
}

DEFINE_OP(op_utimes)
{
        return set_times(fs, t, UTIME_NOW, UTIME_NOW, FAN_ATTRIB);
}

/* one time alone is taken for the access or the modification that it stands for */
DEFINE_OP(op_utimes_atime)
{
        return set_times(fs, t, UTIME_NOW, UTIME_OMIT, FAN_ACCESS);
}

DEFINE_OP(op_utimes_mtime)
{
        return set_times(fs, t, UTIME_OMIT, UTIME_NOW, FAN_MODIFY);
}

/* fsnotify_xattr(), for setting and removing */
DEFINE_OP(op_setxattr)
{
        char path[256];
        int r;

        if (!is(t->entry, TYPE_FILE | TYPE_DIRECTORY))
                return false;
        fsmodel_path(fs, t->entry, t->mount, path);
        r = t->choice % 2 ? lsetxattr(path, "trusted.t", "v", 1, 0) : lremovexattr(path, "trusted.t");
        if (r == 0)
                on_dentry(fs, FAN_ATTRIB, t->entry, -1);
        else if (errno != ENODATA && errno != EOPNOTSUPP)
                die("xattr %s: %m", path);
        return true;
}

/* ---- entries ---- */

static bool make(struct fsmodel *fs, const struct fs_target *t, uint32_t type,
                 int (*call)(const char *path))
{
        char name[FS_NAME_MAX], path[256];
        struct entry *e;

        if (!new_name(fs, t->entry, t->choice, name))
                return false;
        check(call(new_path(fs, t->entry, name, t->mount, path)), "make", path);
        e = entry_new(fs, t->entry, name, node_new(fs, path, type));
        if (type == TYPE_DIRECTORY)
                e->node->nlink = 2;
        on_name(fs, FAN_CREATE, t->entry, name, e->node, NULL, "");
        return true;
}

static int call_mkdir(const char *path)
{
        return mkdir(path, 0755);
}

static int call_mkfifo(const char *path)
{
        return mkfifo(path, 0755);
}

static int call_mknod(const char *path) /* /dev/null */
{
        return mknod(path, S_IFCHR | 0755, makedev(1, 3));
}

static int call_symlink(const char *path)
{
        return symlink("nowhere", path);
}

DEFINE_OP(op_mkdir)
{
        return make(fs, t, TYPE_DIRECTORY, call_mkdir);
}

DEFINE_OP(op_mkfifo)
{
        return make(fs, t, TYPE_FIFO, call_mkfifo);
}

DEFINE_OP(op_mknod)
{
        return make(fs, t, TYPE_DEVICE, call_mknod);
}

DEFINE_OP(op_symlink)
{
        return make(fs, t, TYPE_SYMLINK, call_symlink);
}

/* fsnotify_link() */
DEFINE_OP(op_link)
{
        char name[FS_NAME_MAX], from[256], to[256];
        struct node *node = t->entry->node;

        if (is(t->entry, TYPE_DIRECTORY) || !new_name(fs, t->other, t->choice, name))
                return false;
        fsmodel_path(fs, t->entry, t->mount, from);
        check(link(from, new_path(fs, t->other, name, t->mount, to)), "link", to);
        node->nlink++;
        entry_new(fs, t->other, name, node);
        on_inode(fs, FAN_ATTRIB, node);
        on_name(fs, FAN_CREATE, t->other, name, node, NULL, "");
        return true;
}

/* vfs_unlink(): the link count, then d_delete_notify(): the inode may go before its entry is told */
DEFINE_OP(op_unlink)
{
        struct entry *e = t->entry, *dir = e->parent;
        struct node *node = e->node;
        char name[FS_NAME_MAX], path[256];

        if (is(e, TYPE_DIRECTORY))
                return false;
        check(unlink(fsmodel_path(fs, e, t->mount, path)), "unlink", path);
        memcpy(name, e->name, sizeof(name));
        node->nlink--;
        on_inode(fs, FAN_ATTRIB, node);
        e->hashed = false;
        entry_maybe_release(fs, e);
        on_name(fs, FAN_DELETE, dir, name, node, NULL, "");
        return true;
}

/* vfs_rmdir(): d_delete_notify() */
DEFINE_OP(op_rmdir)
{
        struct entry *e = t->entry, *dir = e->parent;
        struct node *node = e->node;
        char name[FS_NAME_MAX], path[256];

        if (!is(e, TYPE_DIRECTORY) || !dir || !is_empty(fs, e))
                return false;
        check(rmdir(fsmodel_path(fs, e, t->mount, path)), "rmdir", path);
        memcpy(name, e->name, sizeof(name));
        node->nlink = 0;
        node->dead = true;
        e->hashed = false;
        entry_maybe_release(fs, e);
        on_name(fs, FAN_DELETE, dir, name, node, NULL, "");
        return true;
}

static void move_entry(struct entry *e, struct entry *dir, const char *name)
{
        e->parent->children--;
        dir->children++;
        e->parent = dir;
        snprintf(e->name, sizeof(e->name), "%s", name);
}

/* fsnotify_move(), after the entries were moved */
static void on_move(struct fsmodel *fs, struct entry *old_dir, const char *old_name, struct entry *e,
                    struct node *target)
{
        on_name(fs, FAN_RENAME, old_dir, old_name, e->node, e->parent, e->name);
        on_name(fs, FAN_MOVED_FROM, old_dir, old_name, e->node, NULL, "");
        on_name(fs, FAN_MOVED_TO, e->parent, e->name, e->node, NULL, "");
        if (target)
                on_inode(fs, FAN_ATTRIB, target);
        on_inode(fs, FAN_MOVE_SELF, e->node);
}

static bool is_below(const struct entry *e, const struct entry *above)
{
        for (; e; e = e->parent)
                if (e == above)
                        return true;
        return false;
}

/* Whether what is moved stays within bounds there. */
static bool fits(const struct fsmodel *fs, const struct entry *e, unsigned new_depth)
{
        return new_depth <= depth(e) || !is(e, TYPE_DIRECTORY) || is_empty(fs, e);
}

DEFINE_OP(op_rename)
{
        struct entry *e = t->entry, *old_dir = e->parent;
        char name[FS_NAME_MAX], old_name[FS_NAME_MAX], from[256], to[256];

        if (!old_dir || is_below(t->other, e) || !fits(fs, e, depth(t->other) + 1) ||
            !new_name(fs, t->other, t->choice, name))
                return false;
        fsmodel_path(fs, e, t->mount, from);
        check(rename(from, new_path(fs, t->other, name, t->mount, to)), "rename", from);
        memcpy(old_name, e->name, sizeof(old_name));
        move_entry(e, t->other, name);
        on_move(fs, old_dir, old_name, e, NULL);
        return true;
}

/* The entry that stood there keeps its old place in the eyes of those who still use it. */
DEFINE_OP(op_rename_over)
{
        struct entry *e = t->entry, *target = t->other, *old_dir = e->parent;
        char old_name[FS_NAME_MAX], from[256], to[256];
        struct node *lost = target->node;

        if (!old_dir || !target->parent || e->node == lost || is_below(target, e) ||
            is(e, TYPE_DIRECTORY) != is(target, TYPE_DIRECTORY) ||
            (is(target, TYPE_DIRECTORY) && !is_empty(fs, target)) || !fits(fs, e, depth(target)))
                return false;
        fsmodel_path(fs, e, t->mount, from);
        check(rename(from, fsmodel_path(fs, target, t->mount, to)), "rename", from);
        memcpy(old_name, e->name, sizeof(old_name));
        lost->dead = is(target, TYPE_DIRECTORY);
        lost->nlink = lost->dead ? 0 : lost->nlink - 1;
        target->hashed = false;
        move_entry(e, target->parent, target->name);
        on_move(fs, old_dir, old_name, e, lost);
        entry_maybe_release(fs, target);
        return true;
}

/* RENAME_EXCHANGE: two moves */
DEFINE_OP(op_exchange)
{
        struct entry *a = t->entry, *b = t->other, *a_dir = a->parent, *b_dir = b->parent;
        char a_name[FS_NAME_MAX], b_name[FS_NAME_MAX], a_path[256], b_path[256];

        if (!a_dir || !b_dir || a->node == b->node || is_below(a, b) || is_below(b, a) ||
            !fits(fs, a, depth(b)) || !fits(fs, b, depth(a)))
                return false;
        fsmodel_path(fs, a, t->mount, a_path);
        fsmodel_path(fs, b, t->mount, b_path);
        check(renameat2(AT_FDCWD, a_path, AT_FDCWD, b_path, RENAME_EXCHANGE), "exchange", a_path);
        memcpy(a_name, a->name, sizeof(a_name));
        memcpy(b_name, b->name, sizeof(b_name));
        move_entry(a, b_dir, b_name);
        move_entry(b, a_dir, a_name);
        on_move(fs, a_dir, a_name, a, NULL);
        on_move(fs, b_dir, b_name, b, NULL);
        return true;
}

/* do_open_execat(), prepare_binprm(), and the close when no format fits */
DEFINE_OP(op_exec)
{
        char path[256], *arguments[] = { path, NULL }, *environment[] = { NULL };

        if (!is(t->entry, TYPE_FILE) || !t->entry->node->printable || t->entry->node->writers > 0)
                return false;
        fsmodel_path(fs, t->entry, t->mount, path);
        if (execve(path, arguments, environment) == 0 || errno != ENOEXEC)
                die("exec %s: %m", path);
        on_dentry(fs, FAN_OPEN | FAN_OPEN_EXEC, t->entry, (int)t->mount);
        on_dentry(fs, FAN_ACCESS, t->entry, (int)t->mount);
        on_dentry(fs, FAN_CLOSE_NOWRITE, t->entry, (int)t->mount);
        return true;
}

/* What raises nothing. */
DEFINE_OP(op_nothing)
{
        struct open_file *f = &fs->files[t->file];
        char path[256], buffer[64];
        struct stat st;
        int fd;

        fsmodel_path(fs, t->entry, t->mount, path);
        check(lstat(path, &st), "stat", path);
        (void)access(path, R_OK);
        (void)readlink(path, buffer, sizeof(buffer));
        (void)lgetxattr(path, "trusted.t", buffer, sizeof(buffer));
        fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        check(fd, "open", path);
        close(fd);
        if (f->fd >= 0 && is(f->entry, TYPE_FILE)) {
                (void)fdatasync(f->fd);
                if (f->readable)
                        (void)pread(f->fd, buffer, 1, 4096);
        }
        return true;
}

static const struct {
        const char *name;
        op_function *function;
} ops[N_OPS] = {
        [OP_OPEN] = { "open", op_open },
        [OP_OPEN_TRUNCATE] = { "open-truncate", op_open_truncate },
        [OP_CREATE] = { "create", op_create },
        [OP_CLOSE] = { "close", op_close },
        [OP_READ] = { "read", op_read },
        [OP_WRITE] = { "write", op_write },
        [OP_LIST] = { "list", op_list },
        [OP_COPY] = { "copy", op_copy },
        [OP_TRUNCATE] = { "truncate", op_truncate },
        [OP_FTRUNCATE] = { "ftruncate", op_ftruncate },
        [OP_FALLOCATE] = { "fallocate", op_fallocate },
        [OP_CHMOD] = { "chmod", op_chmod },
        [OP_FCHMOD] = { "fchmod", op_fchmod },
        [OP_CHOWN] = { "chown", op_chown },
        [OP_UTIMES] = { "utimes", op_utimes },
        [OP_UTIMES_ATIME] = { "utimes-atime", op_utimes_atime },
        [OP_UTIMES_MTIME] = { "utimes-mtime", op_utimes_mtime },
        [OP_SETXATTR] = { "xattr", op_setxattr },
        [OP_MKDIR] = { "mkdir", op_mkdir },
        [OP_MKFIFO] = { "mkfifo", op_mkfifo },
        [OP_MKNOD] = { "mknod", op_mknod },
        [OP_SYMLINK] = { "symlink", op_symlink },
        [OP_LINK] = { "link", op_link },
        [OP_UNLINK] = { "unlink", op_unlink },
        [OP_RMDIR] = { "rmdir", op_rmdir },
        [OP_RENAME] = { "rename", op_rename },
        [OP_RENAME_OVER] = { "rename-over", op_rename_over },
        [OP_EXCHANGE] = { "exchange", op_exchange },
        [OP_EXEC] = { "exec", op_exec },
        [OP_NOTHING] = { "nothing", op_nothing },
};

const char *fsmodel_op_name(enum fs_op op)
{
        return ops[op].name;
}

/* For the message when something differs, before names change. */
static void describe(struct fsmodel *fs, enum fs_op op, const struct fs_target *t)
{
        const struct open_file *f = &fs->files[t->file];
        char path[256], other[256];

        snprintf(fs->last, sizeof(fs->last), "%.20s %.80s (ino %lu) %.80s; file %u: %.16s%s (ino %lu)",
                 ops[op].name, fsmodel_path(fs, t->entry, t->mount, path), t->entry->node->ino,
                 fsmodel_path(fs, t->other, t->mount, other), t->file, f->fd >= 0 ? f->entry->name : "-",
                 f->fd >= 0 && !f->entry->hashed ? " (removed)" : "", f->fd >= 0 ? f->entry->node->ino : 0);
}

bool fsmodel_do(struct fsmodel *fs, enum fs_op op, const struct fs_target *t)
{
        describe(fs, op, t);
        if (fs->trace)
                printf("# %s\n", fs->last);
        return ops[op].function(fs, t);
}
