/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "paths.h"

#include <stdio.h>

char *path_canonical(const char *path)
{
        _cleanup_free_ char *head = strdup(path);
        char *known = NULL, *whole = NULL;

        if (!head)
                return NULL;
        for (;;) {
                known = realpath(head, NULL);
                char *slash = strrchr(head, '/');
                if (known || !slash || (slash == head && head[1] == '\0'))
                        break;
                if (slash == head)
                        head[1] = '\0'; /* "/name": the root is next */
                else
                        *slash = '\0';
        }
        if (!known)
                return NULL;
        const char *rest = path + strlen(head);
        while (*rest == '/')
                rest++;
        if (asprintf(&whole, "%s%s%s", known, *rest && !streq(known, "/") ? "/" : "", rest) < 0)
                whole = NULL;
        free(known);
        return whole;
}

char *path_tidy(const char *path)
{
        char *tidy = malloc(strlen(path) + 2), *end = tidy;

        if (!tidy)
                return NULL;
        while (*path) {
                size_t len = strcspn(path, "/");

                if (len > 0 && !(len == 1 && *path == '.')) {
                        *end++ = '/';
                        end = mempcpy(end, path, len);
                }
                path += len;
                path += strspn(path, "/");
        }
        if (end == tidy)
                *end++ = '/';
        *end = '\0';
        return tidy;
}

const char *path_below(const char *path, const char *dir)
{
        size_t len = streq(dir, "/") ? 0 : strlen(dir);

        return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0') ? path + len : NULL;
}
