/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Finds and reads configuration: fawatchd.conf with its drop-ins, and rules.d
 * from /usr/lib/fawatchd, /run/fawatchd, /etc/fawatchd: sorted by file name; a name in a
 * later place replaces the same name in an earlier one, a link to /dev/null masks
 * it.  Shared with fawatchctl, which checks without the daemon.
 */

#include "rules.h"
#include "settings.h"

struct conf_set {
        struct conf_text *texts; /* names are for messages: UTF-8 without control characters */
        size_t n;
};
#define CONF_SET_NULL ((struct conf_set){})
void conf_set_done(struct conf_set *s);
#define _cleanup_conf_set_ _cleanup_(conf_set_done)

/*
 * All rule files in force below root ("" = this machine; of an image, symbolic
 * links are followed inside it).  replace: this file in the place that its name
 * would take (NULL = none).  Files that others than root can write, that cannot be
 * read, are too large or not regular are errors in diag.
 * Returns 0; -EINVAL (diag has the errors; *ret holds what could be read); -ENOMEM.
 */
int conf_read_rules(const char *root, const char *replace, struct diag *diag, struct conf_set *ret);
/* The same with the content of file replace as if it stood at path `as`. */
int conf_read_rules_as(const char *root, const char *replace, const char *as, struct diag *diag,
                       struct conf_set *ret);
/* fawatchd.conf of /etc/fawatchd, then fawatchd.conf.d from the three places as
 * for rules; no file at all is no error (defaults).  Returns as above. */
int conf_read_settings(const char *root, struct diag *diag, struct conf_set *ret);
/* One file, wherever it is (--rules=FILE). */
int conf_read_file(const char *path, bool must_be_safe, struct diag *diag, struct conf_set *ret);
