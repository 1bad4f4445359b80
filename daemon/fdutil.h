/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Scope cleanup for file descriptors. */

#include <fcntl.h>
#include <unistd.h>

#include "base.h"

/* "fd = close_fd(fd);" leaves no descriptor behind that is not open. */
static inline int close_fd(int fd)
{
        if (fd >= 0)
                (void)close(fd);
        return -1;
}
static inline void close_fdp(int *fd) { *fd = close_fd(*fd); }
#define _cleanup_close_ _cleanup_(close_fdp)
/* Hand a descriptor over: "return STEAL_FD(fd);" */
#define STEAL_FD(fd)             \
        ({                       \
                int fd_ = (fd);  \
                (fd) = -1;       \
                fd_;             \
        })
