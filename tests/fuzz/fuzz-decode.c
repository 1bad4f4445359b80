/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes as if read from a fanotify group: no view may lead outside of them. */

#include "decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every byte, so that the sanitizer sees one that is not there. */
static unsigned touch(const void *p, size_t len)
{
        const uint8_t *bytes = p;
        unsigned sum = 0;

        for (size_t i = 0; i < len; i++)
                sum += bytes[i];
        return sum;
}

static unsigned touch_handle(const struct fan_handle *h)
{
        return h->bytes ? touch(h->bytes, h->len) : 0;
}

static unsigned touch_name(const struct fan_name *n)
{
        /* the NUL behind it is part of the promise */
        return n->p ? touch(n->p, n->len + 1) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct fan_cursor c = fan_cursor_init(data, size);
        struct fan_event e;
        volatile unsigned sum = 0;
        size_t before = 0;

        while (fan_decode_next(&c, &e) > 0) {
                sum += touch_handle(&e.dir) + touch_handle(&e.old_dir) + touch_handle(&e.new_dir) +
                       touch_handle(&e.object);
                sum += touch_name(&e.name) + touch_name(&e.old_name) + touch_name(&e.new_name);
                if (c.pos <= before || c.pos > size)
                        abort();
                before = c.pos;
        }
        (void)sum;
        return 0;
}
