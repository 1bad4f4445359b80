/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The kernel's side of fanotify_mark(2) for one group, as far as reloads depend on
 * it: which marks there are after each call, which calls are refused, and whether
 * an event would be delivered.  Written from fs/notify/, not from lib/.
 */

#include "markdiff.h"

struct fake_kernel {
        struct markset marks;
        size_t n_calls;
        size_t fail_at; /* this call fails, counted from 1; 0 = none */
        int fail_error; /* ... with this negative errno */
        /* after every call, failed ones too */
        void (*after)(void *userdata, const struct fake_kernel *k);
        void *userdata;
};
void fake_kernel_done(struct fake_kernel *k);

/* A mark_function; userdata is the struct fake_kernel. */
int fake_kernel_mark(void *userdata, const struct mark_op *op);

/* Would a group with these marks get the event of a file that meets these n objects? */
bool fake_kernel_delivers(const struct markset *marks, const struct mark_object *met, size_t n,
                          uint64_t event);
