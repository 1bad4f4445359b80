/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes in place of /proc/PID/fdinfo/FD. */

#include "fdinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const struct group_key group = { .kind = GROUP_MAIN };
        struct fdinfo f;

        if (fdinfo_parse((const char *)data, size, &group, &f) < 0)
                return 0;
        for (size_t i = 1; i < f.marks.n; i++)
                if (mark_object_compare(&f.marks.marks[i - 1].object, &f.marks.marks[i].object) >= 0)
                        abort();
        fdinfo_done(&f);
        return 0;
}
