# SPDX-License-Identifier: LGPL-2.1-or-later
# fawatchctl: asks, prints, and knows nothing of the daemon's inside.
bin_PROGRAMS += fawatchctl

fawatchctl_CFLAGS = $(AM_CFLAGS) $(LIBSYSTEMD_CFLAGS) $(JANSSON_CFLAGS)
fawatchctl_SOURCES = \
	%D%/ask.c \
	%D%/client.c %D%/client.h \
	%D%/cmd.h \
	%D%/cmd_check.c \
	%D%/cmd_coverage.c \
	%D%/cmd_edit.c \
	%D%/cmd_explain.c \
	%D%/cmd_follow.c \
	%D%/cmd_marks.c \
	%D%/cmd_reload.c \
	%D%/cmd_rules.c \
	%D%/cmd_status.c \
	%D%/cmd_verify.c \
	%D%/cmd_who.c \
	%D%/edit_file.c %D%/edit_file.h \
	%D%/edit_target.c %D%/edit_target.h \
	%D%/journal.c %D%/journal.h \
	%D%/main.c \
	%D%/paths.c %D%/paths.h \
	%D%/print.c %D%/print.h \
	%D%/ruleset.c %D%/ruleset.h \
	%D%/when.c %D%/when.h \
	%D%/who_rule.c %D%/who_rule.h
fawatchctl_LDADD = daemon/libconfread.a $(CORE_LIBS) $(LIBSYSTEMD_LIBS) $(JANSSON_LIBS)
