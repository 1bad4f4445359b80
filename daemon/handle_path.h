/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * From a file handle back to a path: open_by_handle_at(2), and what /proc says of the
 * descriptor.  It is the path of now.
 */

#include "decode.h"
#include "strbuf.h"

/* A mount to go through. */
struct handle_way {
        int fd;           /* of its root; a negative errno is returned as it is */
        size_t prefix;    /* how many bytes of what /proc shows lead to the mount */
        const char *root; /* where its root is inside the filesystem */
        int flags;        /* O_DIRECTORY, or 0 */
};

/* An O_PATH descriptor of the object, or a negative errno: -ESTALE where it is gone. */
int handle_open(int mount_fd, const struct fan_handle *h, int flags);
/*
 * Appends the path inside the filesystem, of any length.  Returns 0; -ESTALE (gone, or without a name); -EXDEV
 * (not below this mount); -ENOMEM; other negative errno.
 */
int handle_path(const struct handle_way *way, const struct fan_handle *h, struct strbuf *out);
