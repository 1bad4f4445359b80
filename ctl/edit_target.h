/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Which file "fawatchctl edit" means. */

#include "cmd.h"

struct edit_target {
        char *path;     /* as rules are read: in a rules.d */
        char *real;     /* where its bytes are: another path when it is a symbolic link */
        char *template; /* the package's file of this name, to begin from; NULL: none */
};
void edit_target_done(struct edit_target *t);
#define _cleanup_edit_target_ _cleanup_(edit_target_done)

/* file: NULL = the local rules; a name; or a path in /etc or /run.  What is wrong is told. */
enum exit_status edit_target_find(const char *file, struct edit_target *ret);
