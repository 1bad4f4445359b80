/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A file that is edited as a private copy beside it and replaced as a whole. */

#include <sys/stat.h>

#include "strbuf.h"

struct edit_file {
        char *path; /* of the file itself, no symbolic link */
        char *copy; /* beside it, readable by us alone; NULL once it is in place */
        int dir_fd; /* locked against a second edit; < 0: none */
        bool existed;
        struct stat before;     /* when the copy was made */
        struct strbuf original; /* what the copy began with */
};
#define EDIT_FILE_NULL ((struct edit_file){ .dir_fd = -1 })

/*
 * Locks the directory and makes the copy: of the file, else of template (NULL:
 * none), else of text.  Returns 0; -EBUSY when somebody else edits there; -EFBIG;
 * other -errno.
 */
int edit_file_begin(const char *path, const char *template, const char *text, struct edit_file *ret);
/* Removes the copy if it is still there, and unlocks. */
void edit_file_done(struct edit_file *e);
#define _cleanup_edit_file_ _cleanup_(edit_file_done)

/* Does the copy differ from what it began with?  1, 0, or -errno. */
int edit_file_changed(const struct edit_file *e);
/* Puts the copy in place: whole, on disk, with the old file's owner and mode (0640
 * when it is new; never writable by others).  Returns 0; -ESTALE when the file was changed by somebody else
 * meanwhile; other -errno. */
int edit_file_save(struct edit_file *e);
