/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Paths as people write them, and as records hold them. */

#include "base.h"

/* The canonical form of a path that need not exist: of what exists of it, with the rest as
 * given.  free() it; NULL when memory is short. */
char *path_canonical(const char *path);
/* Without "//", "." and a "/" at the end; ".." stays as it is. */
char *path_tidy(const char *path);
/* path itself or below it: where the rest begins ("" or "/..."), else NULL. */
const char *path_below(const char *path, const char *dir);
