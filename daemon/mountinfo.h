/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A mount table line by line, of any process: for what needs one line of it and no
 * library (daemon/mounts.c reads whole tables, by libmount).
 */

struct mountinfo {
        int id;
        unsigned major, minor;
        char *root;       /* path inside the filesystem */
        char *mountpoint; /* both unescaped */
};

/* Calls fn for each line of the table ("/proc/1/mountinfo") until it returns non-zero, and
 * returns that; else 0, also where there is no such table. */
int mountinfo_foreach(const char *table, int (*fn)(void *userdata, const struct mountinfo *m), void *userdata);
