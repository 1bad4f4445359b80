/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mountinfo.h"

#include <stdio.h>

#include "base.h"

/* "\040" → " ", in place. */
static void unescape(char *s)
{
        char *to = s;

        while (*s) {
                unsigned value;

                if (s[0] == '\\' && sscanf(s + 1, "%3o", &value) == 1) {
                        *to++ = (char)value;
                        s += 4;
                } else {
                        *to++ = *s++;
                }
        }
        *to = '\0';
}

/* "36 35 98:0 /mnt1 /mnt2 rw ... - ext3 /dev/root rw" */
static bool parse_line(char *line, struct mountinfo *ret)
{
        int root = 0, root_end = 0, point = 0, point_end = 0;

        if (sscanf(line, "%d %*d %u:%u %n%*s%n %n%*s%n", &ret->id, &ret->major, &ret->minor, &root, &root_end,
                   &point, &point_end) != 3 ||
            point_end <= point)
                return false;
        line[root_end] = line[point_end] = '\0';
        ret->root = line + root;
        ret->mountpoint = line + point;
        unescape(ret->root);
        unescape(ret->mountpoint);
        return true;
}

static void closep(FILE **f)
{
        if (*f)
                (void)fclose(*f);
}

int mountinfo_foreach(const char *table, int (*fn)(void *userdata, const struct mountinfo *m), void *userdata)
{
        _cleanup_(closep) FILE *f = fopen(table, "re");
        _cleanup_free_ char *line = NULL;
        size_t cap = 0;

        while (f && getline(&line, &cap, f) > 0) {
                struct mountinfo m;
                int r = parse_line(line, &m) ? fn(userdata, &m) : 0;

                if (r != 0)
                        return r;
        }
        return 0;
}
