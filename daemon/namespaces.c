/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "namespaces.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "mountinfo.h"

/* Namespaces that are looked into; machines with more have few filesystems each. */
#define MAX_NAMESPACES 512

struct search {
        unsigned major, minor;
        int pid;
        char *path;
};

static int is_root_of_it(void *userdata, const struct mountinfo *m)
{
        struct search *s = userdata;
        struct stat st;

        if (m->major != s->major || m->minor != s->minor || !streq(m->root, "/"))
                return 0;
        int n = snprintf(s->path, NAMESPACE_PATH_SIZE, "/proc/%d/root%s", s->pid, m->mountpoint);
        /* something else may be mounted on it */
        return n < NAMESPACE_PATH_SIZE && stat(s->path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool look_into(struct search *s, int pid)
{
        char table[32];

        s->pid = pid;
        (void)snprintf(table, sizeof(table), "/proc/%d/mountinfo", pid);
        return mountinfo_foreach(table, is_root_of_it, s) == 1;
}

static bool namespace_of(const char *pid, ino_t *ret)
{
        char path[64];
        struct stat st;

        (void)snprintf(path, sizeof(path), "/proc/%.20s/ns/mnt", pid);
        if (stat(path, &st) < 0)
                return false;
        *ret = st.st_ino;
        return true;
}

bool namespaces_private(void)
{
        ino_t own, first;

        return namespace_of("self", &own) && namespace_of("1", &first) && own != first;
}

/* True when it was not in the list. */
static bool add_namespace(ino_t *seen, size_t *n, ino_t ns)
{
        for (size_t i = 0; i < *n; i++)
                if (seen[i] == ns)
                        return false;
        if (*n == MAX_NAMESPACES)
                return false;
        seen[(*n)++] = ns;
        return true;
}

int namespaces_find_root(unsigned sdev_major, unsigned sdev_minor, int hint, char path[static NAMESPACE_PATH_SIZE])
{
        struct search s = { .major = sdev_major, .minor = sdev_minor, .path = path };
        ino_t seen[MAX_NAMESPACES], ns;
        size_t n = 0;
        int found = -ENOENT;

        if (hint > 0 && look_into(&s, hint))
                return hint;
        if (namespace_of("1", &ns))
                (void)add_namespace(seen, &n, ns); /* its mounts are known, and do not do */

        DIR *proc = opendir("/proc");
        for (struct dirent *e; proc && found < 0 && (e = readdir(proc));)
                if (isdigit((unsigned char)e->d_name[0]) && namespace_of(e->d_name, &ns) &&
                    add_namespace(seen, &n, ns) && look_into(&s, atoi(e->d_name)))
                        found = s.pid;
        if (proc)
                (void)closedir(proc);
        return found;
}
