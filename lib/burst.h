/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * How many of something are told one by one: so many a window, the rest is counted and
 * told once at the window's end.  Time is an argument, in microseconds of a clock that
 * never goes back.
 */

#include "base.h"

struct burst {
        uint64_t max;         /* told in a window */
        uint64_t window_usec; /* its length, from the first that is told */
        uint64_t begin_usec, told, held; /* of the window; told 0 = none is open */
};

/* True: tell it.  False: it was counted as held back. */
bool burst_take(struct burst *b, uint64_t now_usec);
/* The window is over and held something back: how many.  Else 0.  An open window ends. */
uint64_t burst_end(struct burst *b, uint64_t now_usec);
/* When burst_end() has something to tell; UINT64_MAX = never. */
uint64_t burst_deadline(const struct burst *b) _pure_;
