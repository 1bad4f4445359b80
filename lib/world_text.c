/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text form of a world, which tests plan from. */

#include "world.h"

#include <errno.h>
#include <stdio.h>

/* The words of one line, cut and unescaped in place. */
#define MAX_WORDS 64
struct words {
        char *v[MAX_WORDS];
        size_t n;
};

struct reader {
        struct world *world;
        struct diag *diag;
        unsigned line;
        bool sealed;
        bool kernel_given;
};

static int bad(struct reader *r, const char *what, const char *word)
{
        diag_add(r->diag, DIAG_ERROR, NULL, r->line, "%s: \"%s\"", what, word);
        return -EINVAL;
}

/* \040 → a blank, as mountinfo writes it. */
static void unescape(char *s)
{
        char *to = s;

        while (*s) {
                if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
                    s[3] <= '7') {
                        *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
                        s += 4;
                } else {
                        *to++ = *s++;
                }
        }
        *to = '\0';
}

static void split(char *line, struct words *ret)
{
        char *save = NULL;

        ret->n = 0;
        for (char *word = strtok_r(line, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
                if (word[0] == '#' || ret->n == MAX_WORDS)
                        return;
                unescape(word);
                ret->v[ret->n++] = word;
        }
}

static bool parse_number(const char *text, unsigned base, uint64_t max, uint64_t *ret)
{
        char *end;

        if (text[0] == '\0' || text[0] == '-' || text[0] == '+')
                return false;
        errno = 0;
        *ret = strtoull(text, &end, (int)base);
        return errno == 0 && *end == '\0' && *ret <= max;
}

static bool parse_sdev(char *text, uint32_t *ret_major, uint32_t *ret_minor)
{
        char *colon = strchr(text, ':');
        uint64_t major, minor;

        if (!colon)
                return false;
        *colon = '\0';
        if (!parse_number(text, 10, UINT32_MAX, &major) || !parse_number(colon + 1, 10, UINT32_MAX, &minor))
                return false;
        *ret_major = (uint32_t)major;
        *ret_minor = (uint32_t)minor;
        return true;
}

/* EOPNOTSUPP and the like → the number, 0 when there is no such name. */
static int errno_of_name(const char *name)
{
        for (int e = 1; e < 134; e++) {
                const char *known = strerrorname_np(e);

                if (known && streq(known, name))
                        return e;
        }
        return streq(name, "EOPNOTSUPP") ? EOPNOTSUPP : 0;
}

static bool parse_handle(const char *hex, struct handle *ret)
{
        size_t len = strlen(hex);

        if (len == 0 || len % 2 != 0 || len / 2 > sizeof(ret->bytes))
                return false;
        for (size_t i = 0; i < len / 2; i++) {
                char pair[3] = { hex[2 * i], hex[2 * i + 1] };
                uint64_t value;

                if (!parse_number(pair, 16, 0xff, &value))
                        return false;
                ret->bytes[i] = (uint8_t)value;
        }
        ret->type = 1;
        ret->len = (uint32_t)(len / 2);
        return true;
}

static int read_mount(struct reader *r, struct words *w)
{
        struct world_mount_facts facts = {};
        uint64_t id, parent;

        if (r->sealed)
                return bad(r, "a mount after the first path", w->v[0]);
        if (w->n < 8 || w->n > 9 || !parse_number(w->v[1], 10, INT32_MAX, &id) ||
            !parse_number(w->v[2], 10, INT32_MAX, &parent) ||
            !parse_sdev(w->v[3], &facts.sdev_major, &facts.sdev_minor))
                return bad(r, "not a mount", w->v[0]);
        facts.id = (int)id;
        facts.parent_id = (int)parent;
        facts.root = w->v[4];
        facts.mountpoint = w->v[5];
        facts.fstype = w->v[6];
        facts.source = w->v[7];
        if (facts.root[0] != '/' || facts.mountpoint[0] != '/')
                return bad(r, "not an absolute path", w->v[5]);
        if (w->n == 9) {
                char *save = NULL;

                for (char *o = strtok_r(w->v[8], ",", &save); o; o = strtok_r(NULL, ",", &save)) {
                        if (streq(o, "noexec"))
                                facts.noexec = true;
                        else if (streq(o, "ro"))
                                facts.read_only = true;
                        else if (streq(o, "pseudo"))
                                facts.class = FS_PSEUDO;
                        else if (streq(o, "network"))
                                facts.class = FS_NETWORK;
                        else
                                return bad(r, "unknown mount option", o);
                }
        }
        return world_add_mount(r->world, &facts);
}

static int read_fs(struct reader *r, struct words *w)
{
        uint32_t major, minor, index;
        struct world_fs *fs;

        if (w->n < 2 || !parse_sdev(w->v[1], &major, &minor))
                return bad(r, "not a filesystem", w->v[0]);
        index = world_find_fs(r->world, major, minor);
        if (index == WORLD_NONE)
                return bad(r, "no mount of this filesystem above", w->v[1]);
        fs = &r->world->fs[index];
        for (size_t i = 2; i < w->n; i++) {
                if (strncmp(w->v[i], "fsid=", 5) == 0) {
                        if (!parse_number(w->v[i] + 5, 16, UINT64_MAX, &fs->fsid))
                                return bad(r, "not a hexadecimal number", w->v[i]);
                        fs->fsid_known = true;
                } else if (strncmp(w->v[i], "error=", 6) == 0) {
                        fs->mark_errno = errno_of_name(w->v[i] + 6);
                        if (fs->mark_errno == 0)
                                return bad(r, "no such error", w->v[i]);
                } else if (streq(w->v[i], "directories")) {
                        fs->takes_dir_marks = true;
                } else if (streq(w->v[i], "own-group")) {
                        fs->takes_dir_marks = fs->own_group = true;
                } else {
                        return bad(r, "unknown fact of a filesystem", w->v[i]);
                }
        }
        return 0;
}

static int read_path_fact(struct reader *r, char *word, struct world_path *p, const char **links,
                          size_t *n_links)
{
        if (streq(word, "exists")) {
                p->exists = true;
                p->type = TYPE_DIRECTORY;
        } else if (strncmp(word, "type=", 5) == 0) {
                p->exists = true;
                p->type = vocab_type_parse(word + 5);
                if (p->type == 0)
                        return bad(r, "no such type", word);
                p->nlink = p->nlink == 0 ? 1 : p->nlink;
        } else if (strncmp(word, "links=", 6) == 0) {
                uint64_t n;

                if (!parse_number(word + 6, 10, UINT32_MAX, &n))
                        return bad(r, "not a number", word);
                p->nlink = (uint32_t)n;
        } else if (strncmp(word, "resolved=/", 10) == 0) {
                p->resolved = word + 9;
        } else if (strncmp(word, "link=/", 6) == 0) {
                links[(*n_links)++] = word + 5;
        } else if (strncmp(word, "error=", 6) == 0) {
                p->error = errno_of_name(word + 6);
                if (p->error == 0)
                        return bad(r, "no such error", word);
        } else if (strncmp(word, "handle=", 7) == 0) {
                if (!parse_handle(word + 7, &p->handle))
                        return bad(r, "not a handle", word);
        } else {
                return bad(r, "unknown fact of a path", word);
        }
        return 0;
}

static int read_path(struct reader *r, struct words *w)
{
        const char *links[MAX_WORDS];
        size_t n_links = 0;
        struct world_path p = {};

        if (w->n < 2 || w->v[1][0] != '/')
                return bad(r, "not an absolute path", w->n < 2 ? "" : w->v[1]);
        p.path = p.resolved = w->v[1];
        for (size_t i = 2; i < w->n; i++) {
                int k = read_path_fact(r, w->v[i], &p, links, &n_links);

                if (k < 0)
                        return k;
        }
        p.links = (struct strings){ .v = links, .n = n_links };
        return world_add_path(r->world, &p);
}

static int read_dir(struct reader *r, struct words *w)
{
        struct world_dir d = {};

        if (w->n != 3 || w->v[1][0] != '/' || !parse_handle(w->v[2], &d.handle))
                return bad(r, "not a directory with its handle", w->v[0]);
        d.path = w->v[1];
        return world_add_dir(r->world, &d);
}

static int read_name(struct reader *r, struct words *w, enum name_kind kind)
{
        struct world_name name = { .kind = kind };
        uint64_t id = 0;

        if (w->n < 2 || w->n > 3 || (w->n == 3 && !parse_number(w->v[2], 10, UINT32_MAX, &id)))
                return bad(r, "not a name with an id", w->v[0]);
        name.name = w->v[1];
        name.known = w->n == 3;
        name.id = (uint32_t)id;
        return world_add_name(r->world, &name);
}

static const struct ability {
        const char *name;
        size_t offset;
} abilities[] = {
        { "fanotify", offsetof(struct kernel_abilities, fanotify) },
        { "dfid_name", offsetof(struct kernel_abilities, dfid_name) },
        { "target_fid", offsetof(struct kernel_abilities, target_fid) },
        { "rename", offsetof(struct kernel_abilities, rename) },
        { "pidfd", offsetof(struct kernel_abilities, pidfd) },
        { "fs_error", offsetof(struct kernel_abilities, fs_error) },
        { "evictable", offsetof(struct kernel_abilities, evictable) },
        { "ignore", offsetof(struct kernel_abilities, ignore) },
        { "mount_events", offsetof(struct kernel_abilities, mount_events) },
        { "fd_error", offsetof(struct kernel_abilities, fd_error) },
};

static bool *ability_of(struct kernel_abilities *k, const struct ability *a)
{
        return (bool *)((char *)k + a->offset);
}

static int read_kernel(struct reader *r, struct words *w)
{
        r->kernel_given = true;
        for (size_t i = 1; i < w->n; i++) {
                bool found = false;

                for (size_t k = 0; k < ELEMENTSOF(abilities); k++)
                        if (streq(abilities[k].name, w->v[i]))
                                found = *ability_of(&r->world->kernel, &abilities[k]) = true;
                if (!found)
                        return bad(r, "unknown ability of a kernel", w->v[i]);
        }
        return 0;
}

static int seal_once(struct reader *r)
{
        if (r->sealed)
                return 0;
        r->sealed = true;
        return world_seal(r->world);
}

static int read_line(struct reader *r, struct words *w)
{
        const char *kind = w->v[0];
        int k;

        if (streq(kind, "mount"))
                return read_mount(r, w);
        if (streq(kind, "fs"))
                return read_fs(r, w);
        if (streq(kind, "user"))
                return read_name(r, w, NAME_USER);
        if (streq(kind, "group"))
                return read_name(r, w, NAME_GROUP);
        if (streq(kind, "kernel"))
                return read_kernel(r, w);
        if (!streq(kind, "path") && !streq(kind, "dir"))
                return bad(r, "unknown kind of fact", kind);
        k = seal_once(r);
        if (k < 0)
                return k;
        return streq(kind, "path") ? read_path(r, w) : read_dir(r, w);
}

static int read_all(struct reader *r, char *text)
{
        struct words words;

        while (text) {
                char *line = strsep(&text, "\n");
                int k;

                r->line++;
                split(line, &words);
                if (words.n == 0)
                        continue;
                k = read_line(r, &words);
                if (k == -ENOMEM)
                        return k;
        }
        if (diag_failed(r->diag))
                return -EINVAL;
        if (!r->kernel_given)
                for (size_t k = 0; k < ELEMENTSOF(abilities); k++)
                        *ability_of(&r->world->kernel, &abilities[k]) = true;
        return seal_once(r);
}

int world_parse_text(const char *text, size_t len, struct diag *diag, struct world **ret)
{
        _cleanup_free_ char *copy = strndup(text, len);
        _cleanup_(world_freep) struct world *w = world_new();
        struct reader r = { .world = w, .diag = diag };
        int k;

        if (!copy || !w)
                return -ENOMEM;
        k = read_all(&r, copy);
        if (k < 0)
                return k;
        world_finish(w);
        *ret = STEAL(w);
        return 0;
}
