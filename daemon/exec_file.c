/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "exec_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fdutil.h"

static bool is_file_of(int fd, const struct fan_handle *file)
{
        _Alignas(struct file_handle) char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *h = (struct file_handle *)space;
        int mount_id;

        h->handle_bytes = MAX_HANDLE_SZ;
        return name_to_handle_at(fd, "", h, &mount_id, AT_EMPTY_PATH) == 0 && h->handle_type == file->type &&
               h->handle_bytes == file->len && memcmp(h->f_handle, file->bytes, file->len) == 0;
}

bool exec_file_is_program(const char *path, const struct fan_handle *file, uint64_t *ret_dev)
{
        /* our own opening raises events, which are known as ours by their pid */
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        char magic[SELFMAG];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_file_of(fd, file) ||
            pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0)
                return false;
        *ret_dev = st.st_dev;
        return true;
}
