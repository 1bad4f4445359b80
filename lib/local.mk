# SPDX-License-Identifier: LGPL-2.1-or-later
# The pure library: no system calls, no clock, no globals, no output.
noinst_LIBRARIES += lib/libcore.a

lib_libcore_a_CFLAGS = $(AM_CFLAGS) $(LIBCONFIG_CFLAGS) $(PCRE2_CFLAGS) $(LIBGCRYPT_CFLAGS)
lib_libcore_a_SOURCES = \
	%D%/arena.c %D%/arena.h \
	%D%/base.h \
	%D%/burst.c %D%/burst.h \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/coalesce.c %D%/coalesce.h \
	%D%/conf_lex.c %D%/conf_lex.h \
	%D%/conf_pack.c %D%/conf_pack.h \
	%D%/conf_print.c %D%/conf_print.h \
	%D%/conf_syntax.c %D%/conf_syntax.h \
	%D%/conf_value.c %D%/conf_value.h \
	%D%/conftree.c %D%/conftree.h \
	%D%/counters.c %D%/counters.h \
	%D%/decode.c %D%/decode.h \
	%D%/diag.c %D%/diag.h \
	%D%/dirtable.c %D%/dirtable.h \
	%D%/dirtree.c %D%/dirtree.h \
	%D%/escape.c %D%/escape.h \
	%D%/event.c %D%/event.h \
	%D%/explain.c %D%/explain.h \
	%D%/fan_uapi.h \
	%D%/fdinfo.c %D%/fdinfo.h \
	%D%/generation.c %D%/generation.h \
	%D%/hash.c %D%/hash.h \
	%D%/inheritance.c %D%/inheritance.h \
	%D%/interest.h \
	%D%/interest_deliver.c \
	%D%/interest_mark.c \
	%D%/interest_mask.c \
	%D%/leads.c %D%/leads.h \
	%D%/life.c %D%/life.h \
	%D%/limit.c %D%/limit.h \
	%D%/lru.c %D%/lru.h \
	%D%/markdiff.c %D%/markdiff.h \
	%D%/markset.c %D%/markset.h \
	%D%/match.c %D%/match.h \
	%D%/match_actor.c %D%/match_actor.h \
	%D%/match_build.c \
	%D%/match_internal.h \
	%D%/match_place.c \
	%D%/message.c %D%/message.h \
	%D%/message_ids.c %D%/message_ids.h \
	%D%/objects.c %D%/objects.h \
	%D%/pattern.c %D%/pattern.h \
	%D%/pattern_translate.c %D%/pattern_translate.h \
	%D%/placement.c %D%/placement.h \
	%D%/plan.c %D%/plan.h \
	%D%/plan_dirs.c \
	%D%/plan_above.c %D%/plan_above.h \
	%D%/plan_cover.c %D%/plan_cover.h \
	%D%/plan_gaps.c \
	%D%/plan_ignore.c %D%/plan_ignore.h \
	%D%/plan_internal.h \
	%D%/plan_price.c \
	%D%/plan_print.c \
	%D%/proc_text.c %D%/proc_text.h \
	%D%/proctable.c %D%/proctable.h \
	%D%/proctable_find.c \
	%D%/proctable_image.c \
	%D%/proctable_internal.h \
	%D%/record.c %D%/record.h \
	%D%/record_fields.c %D%/record_fields.h \
	%D%/record_json.c \
	%D%/recovery_plan.c %D%/recovery_plan.h \
	%D%/rules.c %D%/rules.h \
	%D%/rules_build.h \
	%D%/rules_check.c \
	%D%/rules_clause.c \
	%D%/rules_lint.c %D%/rules_lint.h \
	%D%/rules_lint_set.c \
	%D%/rules_parse.c \
	%D%/rules_print.c \
	%D%/rules_scan.c %D%/rules_scan.h \
	%D%/settings.c %D%/settings.h \
	%D%/shed.c %D%/shed.h \
	%D%/spool.c %D%/spool.h \
	%D%/spool_area.c %D%/spool_area.h \
	%D%/strbuf.c %D%/strbuf.h \
	%D%/units.c %D%/units.h \
	%D%/unwanted.c %D%/unwanted.h \
	%D%/verify.c %D%/verify.h \
	%D%/vocab.c %D%/vocab.h \
	%D%/world.c %D%/world.h \
	%D%/world_text.c \
	%D%/world_wanted.c

# What a program needs that links lib/libcore.a.
CORE_LIBS = lib/libcore.a $(LIBCONFIG_LIBS) $(PCRE2_LIBS) $(LIBGCRYPT_LIBS)
