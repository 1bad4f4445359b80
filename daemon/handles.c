/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handles.h"

#include <errno.h>
#include <fcntl.h>

/* Since Linux 6.5: a handle to compare, also where none can be opened; the kernel
 * uses the same in events and in fdinfo. */
#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200
#endif

int handle_of(int fd, struct handle *ret)
{
        union {
                struct file_handle header;
                uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } h = { .header.handle_bytes = MAX_HANDLE_SZ };
        int mount_id, r = name_to_handle_at(fd, "", &h.header, &mount_id, AT_EMPTY_PATH | AT_HANDLE_FID);

        if (r < 0 && errno == EINVAL)
                r = name_to_handle_at(fd, "", &h.header, &mount_id, AT_EMPTY_PATH);
        if (r < 0)
                return -errno;
        *ret = (struct handle){ .type = h.header.handle_type, .len = h.header.handle_bytes };
        memcpy(ret->bytes, h.room + offsetof(struct file_handle, f_handle), ret->len);
        return 0;
}
