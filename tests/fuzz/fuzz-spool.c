/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An area that somebody else wrote: it is refused, or everything that is done with a
 * spool can be done.  The input is laid over a good area, its checksums are made right
 * where that lets it get further.
 */
#include <assert.h>

#include "spool.h"
#include "spool_area.h"

#include "hash.h"

#define MAX 8192u
#define WINDOW 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct spool *s)
{
        struct spool_view v[8];
        size_t window, n = spool_peek(s, v, 8);
        unsigned sum = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < v[i].len; k++)
                        sum += (unsigned char)v[i].data[k];
        (void)spool_window_data(s, 1, &window);
        (void)spool_push(s, (int)(sum % 8), "record", 6);
        spool_pop(s, 1 + spool_sending(s));
        (void)spool_push(s, 0, (const char *)s->area, 3000);
        while (spool_count(s) > 0)
                spool_pop(s, 3);
        assert(spool_push(s, 0, "last", 4) == 0);
}

/* data: what to do with the checksums, then (offset, byte) again and again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t area_size = spool_area_size(MAX, WINDOW);
        uint8_t *bytes = aligned_alloc(SPOOL_ALIGN, area_size);
        struct spool_area *a = (struct spool_area *)bytes;
        struct spool *s;

        if (!bytes || size == 0)
                goto out;
        memset(bytes, 0, area_size);
        spool_format(bytes, MAX, WINDOW, "0123456789abcdef0123456789abcdef");
        assert(spool_attach(bytes, area_size, &s) == 0);
        for (unsigned i = 0; i < 6; i++)
                assert(spool_push(s, 0, "0123456789abcdef0123456789abcdef", 10 + i) == 0);
        spool_pop(s, 2);
        spool_free(s);
        for (size_t i = 1; i + 3 <= size; i += 3)
                bytes[((size_t)data[i] << 8 | data[i + 1]) % area_size] = data[i + 2];
        if (data[0] & 1)
                a->check = hash_bytes((const char *)a, offsetof(struct spool_area, check));
        if ((data[0] & 2) && a->in_force < 2 && shed_kept_bounded(&a->copies[a->in_force].state.shed))
                a->copies[a->in_force].check = spool_copy_check(&a->copies[a->in_force]);
        if (spool_attach(bytes, area_size, &s) == 0) {
                use(s);
                spool_free(s);
        }
out:
        free(bytes);
        return 0;
}
