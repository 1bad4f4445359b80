/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

#define DEFAULT_STATE_DIR "/var/lib/fawatchd"
#define SAVED_RULES       "rules.saved"

static const char *state_directory(void)
{
        const char *dir = getenv("STATE_DIRECTORY");
        return dir && dir[0] == '/' ? dir : DEFAULT_STATE_DIR;
}

char *state_rules_path(void)
{
        char *path;
        return asprintf(&path, "%s/%s", state_directory(), SAVED_RULES) < 0 ? NULL : path;
}

static int write_all(int fd, const char *text, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, text, len);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                text += n;
                len -= (size_t)n;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

static int replace_file(int dir_fd, const char *text, size_t len)
{
        static const char temporary[] = SAVED_RULES ".new";
        int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, text, len);
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && renameat(dir_fd, temporary, dir_fd, SAVED_RULES) < 0)
                r = -errno;
        if (r < 0) {
                (void)unlinkat(dir_fd, temporary, 0);
                return r;
        }
        return fsync(dir_fd) < 0 ? -errno : 0;
}

int state_save_rules(const char *text, size_t len)
{
        const char *dir = state_directory();
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                return -errno;
        int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        int r = replace_file(dir_fd, text, len);
        close(dir_fd);
        return r;
}
