/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Configuration files: which are in force, may they be trusted, what do they say. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conf_read.h"
#include "escape.h"
#include "strbuf.h"

/* A later place wins. */
static const char *const places[] = { "/usr/lib/fawatchd", "/run/fawatchd", "/etc/fawatchd" };

/* Where files are looked up: this machine, or an image below a directory. */
struct tree {
        const char *root; /* "" or the image's directory, for messages */
        int fd;           /* of the image; < 0 = this machine */
};

struct entry {            /* one file name found in one place */
        char *path;       /* below the tree's root */
        const char *name; /* its last component */
        size_t place;
        bool link, masked;
};

struct entries {
        struct entry *v;
        size_t n;
};

void conf_set_done(struct conf_set *s)
{
        for (size_t i = 0; i < s->n; i++) {
                free(s->texts[i].name);
                free(s->texts[i].text);
        }
        free(s->texts);
        *s = CONF_SET_NULL;
}

static void entries_done(struct entries *e)
{
        for (size_t i = 0; i < e->n; i++)
                free(e->v[i].path);
        free(e->v);
}

static void close_dir(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}

static void close_fd(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}

/* A file name may hold anything; a message is one line of UTF-8. */
static char *shown(const char *root, const char *path)
{
        struct strbuf out = STRBUF_NULL;

        escape_text(root, strlen(root), &out);
        escape_text(path, strlen(path), &out);
        return strbuf_steal(&out);
}

static int complain(struct diag *diag, const struct tree *tree, const char *path, const char *what)
{
        _cleanup_free_ char *name = shown(tree->root, path);

        diag_add(diag, DIAG_ERROR, name, 0, "%s", what);
        return name ? -EINVAL : -ENOMEM;
}

static int complain_errno(struct diag *diag, const struct tree *tree, const char *path, int error)
{
        char what[160];

        snprintf(what, sizeof(what), "cannot be read: %s", strerrordesc_np(error));
        return complain(diag, tree, path, what);
}

/* In an image an absolute link means the image's file, not ours. */
static int tree_open(const struct tree *tree, const char *path, int flags)
{
        struct open_how how = {
                .flags = (uint64_t)(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), /* a FIFO must not hang us */
                .resolve = RESOLVE_IN_ROOT,
        };
        int fd = tree->fd < 0 ? open(path, (int)how.flags)
                              : (int)syscall(SYS_openat2, tree->fd, path, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

/* Root alone may write it; or whoever asks, who is root except for images and tests. */
static bool is_safe(const struct stat *st)
{
        return (st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static const char unsafe_file[] =
        "can be written by others than root, who could switch off what it watches: "
        "chown root:root and chmod go-w it";
static const char unsafe_directory[] =
        "can be written by others than root, who could replace the files in it: "
        "chown root:root and chmod go-w it";

/* ---- one file ---- */

static int read_all(int fd, size_t expected, struct strbuf *out)
{
        const size_t chunk = MAX_OF(expected + 1, (size_t)4096);

        for (;;) {
                if (strbuf_reserve(out, chunk) < 0)
                        return -ENOMEM;
                ssize_t n = read(fd, out->data + out->len, chunk);
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                out->len += (size_t)n;
                out->data[out->len] = '\0';
                if (out->len > RULE_FILE_MAX_BYTES)
                        return -EFBIG;
        }
}

static int add_text(struct conf_set *set, const char *root, const char *path, struct strbuf *text)
{
        struct conf_text *bigger = reallocarray(set->texts, set->n + 1, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        set->texts = bigger;

        struct conf_text t = { .len = text->len, .name = shown(root, path) };
        t.text = text->data ? strbuf_steal(text) : strdup("");
        if (!t.name || !t.text) {
                free(t.name);
                free(t.text);
                return -ENOMEM;
        }
        set->texts[set->n++] = t;
        return 0;
}

/* Reads the open file, which messages call path.  0, -EINVAL (told), -ENOMEM. */
static int read_open_file(int fd, const struct tree *tree, const char *path, bool must_be_safe,
                          struct diag *diag, struct conf_set *set)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct stat st;

        if (fstat(fd, &st) < 0)
                return complain_errno(diag, tree, path, errno);
        if (!S_ISREG(st.st_mode))
                return complain(diag, tree, path, "is not a regular file");
        if (must_be_safe && !is_safe(&st))
                return complain(diag, tree, path, unsafe_file);

        int r = st.st_size > (off_t)RULE_FILE_MAX_BYTES ? -EFBIG : read_all(fd, (size_t)st.st_size, &text);
        if (r == -EFBIG)
                return complain(diag, tree, path, "is larger than 1 MiB: split it into several files");
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return complain_errno(diag, tree, path, -r);
        return add_text(set, tree->root, path, &text);
}

/* ---- which files ---- */

static int entries_add(struct entries *e, size_t place, const char *directory, const char *name)
{
        struct entry *bigger = reallocarray(e->v, e->n + 1, sizeof(*bigger));
        struct entry new = { .place = place };

        if (!bigger)
                return -ENOMEM;
        e->v = bigger;
        if (asprintf(&new.path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        new.name = new.path + strlen(directory) + 1;
        e->v[e->n++] = new;
        return 0;
}

static int compare_entries(const void *a, const void *b)
{
        const struct entry *x = a, *y = b;
        int order = strcmp(x->name, y->name);

        return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* Sorts by name; of entries with one name the last place's stays. */
static void entries_settle(struct entries *e)
{
        size_t n = 0;

        if (e->n == 0)
                return;
        qsort(e->v, e->n, sizeof(*e->v), compare_entries);
        for (size_t i = 0; i < e->n; i++) {
                if (n > 0 && streq(e->v[n - 1].name, e->v[i].name))
                        free(e->v[--n].path);
                e->v[n++] = e->v[i];
        }
        e->n = n;
}

static bool is_conf_name(const char *name)
{
        size_t len = strlen(name);
        return name[0] != '.' && len > 5 && streq(name + len - 5, ".conf");
}

/* What the name is: its own file, a link to one, or a link that says "as if it were not there". */
static void look_at_link(int dir_fd, struct entry *e)
{
        char target[16];
        ssize_t n = readlinkat(dir_fd, e->name, target, sizeof(target));

        e->link = n >= 0;
        e->masked = n == 9 && memcmp(target, "/dev/null", 9) == 0;
}

/* Who may write the directory, or the one that holds it, may replace its files. */
static int check_directory(int fd, const struct tree *tree, const char *path, struct diag *diag)
{
        struct stat st, above;

        if (fstat(fd, &st) < 0 || fstatat(fd, "..", &above, 0) < 0)
                return complain_errno(diag, tree, path, errno);
        if (!is_safe(&st) || !is_safe(&above))
                return complain(diag, tree, path, unsafe_directory);
        return 0;
}

/* Adds the names of one directory.  0, -EINVAL (told), -ENOMEM. */
static int list_directory(const struct tree *tree, size_t place, const char *path, struct diag *diag,
                          struct entries *e)
{
        _cleanup_(close_dir) DIR *dir = NULL;
        struct dirent *d;

        int fd = tree_open(tree, path, O_RDONLY | O_DIRECTORY);
        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return complain_errno(diag, tree, path, -fd);
        dir = fdopendir(fd);
        if (!dir) {
                close(fd);
                return -ENOMEM;
        }
        int r = check_directory(fd, tree, path, diag);
        if (r < 0)
                return r;

        while (errno = 0, (d = readdir(dir))) {
                if (!is_conf_name(d->d_name))
                        continue;
                r = entries_add(e, place, path, d->d_name);
                if (r < 0)
                        return r;
                look_at_link(fd, &e->v[e->n - 1]);
        }
        return errno > 0 ? complain_errno(diag, tree, path, errno) : 0;
}

static int list_places(const struct tree *tree, const char *directory, struct diag *diag, struct entries *e)
{
        int result = 0;

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                char path[64];

                snprintf(path, sizeof(path), "%s/%s", places[i], directory);
                int r = list_directory(tree, i, path, diag, e);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        result = r;
        }
        entries_settle(e);
        return result;
}

static int read_entry(const struct tree *tree, const struct entry *e, struct diag *diag, struct conf_set *set)
{
        if (e->masked)
                return 0;

        _cleanup_(close_fd) int fd = tree_open(tree, e->path, O_RDONLY);
        if (fd == -ENOENT && !e->link)
                return 0; /* removed since it was listed */
        if (fd < 0)
                return complain_errno(diag, tree, e->path, -fd);
        return read_open_file(fd, tree, e->path, true, diag, set);
}

/* The file that stands in for another: its owner is who asks, not who installs it. */
static int read_replacement(const char *file, const char *as, struct diag *diag, struct conf_set *set)
{
        const struct tree here = { .root = "", .fd = -1 };
        _cleanup_(close_fd) int fd = tree_open(&here, file, O_RDONLY);

        if (fd < 0)
                return complain_errno(diag, &here, file, -fd);
        return read_open_file(fd, &here, as, false, diag, set);
}

/* ---- the sets ---- */

static int tree_enter(const char *root, struct diag *diag, struct tree *ret)
{
        *ret = (struct tree){ .root = root, .fd = -1 };
        if (root[0] == '\0')
                return 0;
        ret->fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return ret->fd < 0 ? complain_errno(diag, ret, "", errno) : 0;
}

static void tree_leave(struct tree *tree)
{
        close_fd(&tree->fd);
}

static const char *name_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

/* Reads the listed files in order, with one of them replaced or added (file NULL: none). */
static int read_entries(const struct tree *tree, const struct entries *e, const char *file, const char *as,
                        struct diag *diag, struct conf_set *set)
{
        const char *as_name = file ? name_of(as) : NULL;
        bool placed = !file;
        int result = 0;

        for (size_t i = 0; i <= e->n; i++) {
                int order = i == e->n ? 1 : !file ? -1 : strcmp(e->v[i].name, as_name);
                int r = 0;

                if (!placed && order >= 0) {
                        r = read_replacement(file, as, diag, set);
                        placed = true;
                }
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        result = r;
                if (i == e->n || order == 0)
                        continue;
                r = read_entry(tree, &e->v[i], diag, set);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        result = r;
        }
        return result;
}

int conf_read_rules_as(const char *root, const char *replace, const char *as, struct diag *diag,
                       struct conf_set *ret)
{
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_(entries_done) struct entries entries = {};
        _cleanup_(tree_leave) struct tree tree;

        int r = tree_enter(root, diag, &tree);
        if (r == 0)
                r = list_places(&tree, "rules.d", diag, &entries);
        if (r == -ENOMEM)
                return r;
        int r2 = read_entries(&tree, &entries, replace, as, diag, &set);
        if (r2 == -ENOMEM)
                return r2;

        *ret = set;
        set = CONF_SET_NULL;
        return r < 0 ? r : r2;
}

int conf_read_rules(const char *root, const char *replace, struct diag *diag, struct conf_set *ret)
{
        return conf_read_rules_as(root, replace, replace, diag, ret);
}

int conf_read_settings(const char *root, struct diag *diag, struct conf_set *ret)
{
        static const char main_file[] = "/etc/fawatchd/fawatchd.conf";
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_(entries_done) struct entries entries = {};
        _cleanup_(tree_leave) struct tree tree;
        int main_result = 0;

        int r = tree_enter(root, diag, &tree);
        if (r == 0) {
                _cleanup_(close_fd) int fd = tree_open(&tree, main_file, O_RDONLY);

                if (fd >= 0)
                        main_result = read_open_file(fd, &tree, main_file, true, diag, &set);
                else if (fd != -ENOENT)
                        main_result = complain_errno(diag, &tree, main_file, -fd);
                if (main_result == -ENOMEM)
                        return -ENOMEM;
                r = list_places(&tree, "fawatchd.conf.d", diag, &entries);
        }
        if (r == -ENOMEM)
                return r;
        int r2 = read_entries(&tree, &entries, NULL, NULL, diag, &set);
        if (r2 == -ENOMEM)
                return r2;

        *ret = set;
        set = CONF_SET_NULL;
        return main_result < 0 ? main_result : r < 0 ? r : r2;
}

int conf_read_file(const char *path, bool must_be_safe, struct diag *diag, struct conf_set *ret)
{
        const struct tree here = { .root = "", .fd = -1 };
        _cleanup_conf_set_ struct conf_set set = CONF_SET_NULL;
        _cleanup_(close_fd) int fd = tree_open(&here, path, O_RDONLY);

        int r = fd < 0 ? complain_errno(diag, &here, path, -fd)
                       : read_open_file(fd, &here, path, must_be_safe, diag, &set);
        if (r == -ENOMEM)
                return r;

        *ret = set;
        set = CONF_SET_NULL;
        return r;
}
