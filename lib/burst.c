/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "burst.h"

static bool is_over(const struct burst *b, uint64_t now_usec)
{
        return b->told > 0 && now_usec - b->begin_usec >= b->window_usec;
}

bool burst_take(struct burst *b, uint64_t now_usec)
{
        /* what was held back must be told before a new window hides it */
        if (is_over(b, now_usec) && b->held == 0)
                b->told = 0;
        if (b->told >= b->max) {
                b->held++;
                return false;
        }
        if (b->told == 0)
                b->begin_usec = now_usec;
        b->told++;
        return true;
}

uint64_t burst_end(struct burst *b, uint64_t now_usec)
{
        uint64_t held = b->held;

        if (!is_over(b, now_usec))
                return 0;
        b->told = b->held = 0;
        return held;
}

uint64_t burst_deadline(const struct burst *b)
{
        return b->held > 0 ? b->begin_usec + b->window_usec : UINT64_MAX;
}
