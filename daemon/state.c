/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

#define DEFAULT_STATE_DIR "/var/lib/fawatchd"
#define SAVED_RULES       "rules.saved"
#define SAVED_LIFE        "last-life"

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
        return 0;
}

static int replace_file(int dir_fd, const char *name, const char *text, size_t len, bool sync)
{
        char temporary[64];
        (void)snprintf(temporary, sizeof(temporary), "%s.new", name);
        int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, text, len);
        if (r == 0 && sync && fsync(fd) < 0)
                r = -errno;
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0) {
                (void)unlinkat(dir_fd, temporary, 0);
                return r;
        }
        return sync && fsync(dir_fd) < 0 ? -errno : 0;
}

static int save(const char *name, const char *text, size_t len, bool sync)
{
        const char *dir = state_directory();
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
                return -errno;
        int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;
        int r = replace_file(dir_fd, name, text, len, sync);
        close(dir_fd);
        return r;
}

int state_save_rules(const char *text, size_t len)
{
        return save(SAVED_RULES, text, len, true);
}

int state_save_life(const struct life *life, bool sync)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        life_print(life, &text);
        return strbuf_failed(&text) ? -ENOMEM : save(SAVED_LIFE, text.data, text.len, sync);
}

int state_read_life(struct life *ret)
{
        char text[512];
        _cleanup_free_ char *path = NULL;
        if (asprintf(&path, "%s/%s", state_directory(), SAVED_LIFE) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        ssize_t n = read(fd, text, sizeof(text) - 1);
        int error = errno;
        close(fd);
        if (n < 0)
                return -error;
        text[n] = '\0';
        return life_parse(text, ret);
}
