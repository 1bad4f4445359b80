/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* The file of an open_exec event, looked at. */

#include "decode.h"

/* Is this path the event's file, and a program itself, not a script that another one
 * runs?  *ret_dev: its st_dev. */
bool exec_file_is_program(const char *path, const struct fan_handle *file, uint64_t *ret_dev);
