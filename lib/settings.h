/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * fawatchd.conf and fawatchd.conf.d: the daemon's settings.
 * A later file overrides an earlier one, setting by setting.
 */

#include "rules.h"

enum facility { FACILITY_DAEMON = 3, FACILITY_AUTHPRIV = 10 };

struct settings {
        struct arena *arena;      /* owns the strings */
        uint64_t coalesce_usec;   /* "1s" */
        uint64_t limit_count;     /* 0 = none ("0") */
        uint64_t limit_usec;
        uint64_t heartbeat_usec;  /* "15min" */
        struct strings omit;      /* lower-case field names without prefix: "cmdline" */
        enum facility facility;
        bool unit_log;
        struct strings mask_options;
        bool process_tracking;    /* "auto" = true, "off" = false */
        uint64_t spool_bytes;     /* "64M" */
        bool queue_unlimited;
        uint64_t queue_memory_bytes;
        bool recover;
        bool kernel_ignores;
        enum placement placement;
        uint64_t max_directory_marks;
};

/* The defaults; NULL when memory is short.  Free with settings_free(). */
struct settings *settings_default(void);
void settings_free(struct settings *s);
DEFINE_CLEANUP(struct settings, settings_free);

/* Parses the files in the order given over the defaults.  Returns 0, -EINVAL
 * (diag has the errors) or -ENOMEM; writes *ret on success only. */
int settings_parse(const struct conf_text *files, size_t n_files, struct diag *diag, struct settings **ret);
/* All settings in force as text that parses again (one a line, sorted). */
void settings_print(const struct settings *s, struct strbuf *out);

/* The names of all settings, for the man page's lint and for hints. */
const char *const *settings_names(size_t *ret_n);
