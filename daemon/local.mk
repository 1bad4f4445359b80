# SPDX-License-Identifier: LGPL-2.1-or-later
# The edge: each file wraps one facility of the system.  All of it but main is
# a library, so that tests link what the daemon links.
noinst_LIBRARIES += daemon/libconfread.a daemon/libdaemon.a
sbin_PROGRAMS += fawatchd

# The reader of rule files is the one piece that fawatchctl shares.
daemon_libconfread_a_SOURCES = %D%/conf_read.c %D%/conf_read.h

daemon_libdaemon_a_CFLAGS = $(AM_CFLAGS) $(LIBSYSTEMD_CFLAGS) $(LIBMOUNT_CFLAGS) $(JANSSON_CFLAGS)
daemon_libdaemon_a_SOURCES = \
	%D%/actor_block.c %D%/actor_block.h \
	%D%/adopt.c \
	%D%/answers.c %D%/answers.h \
	%D%/attribute.c %D%/attribute.h \
	%D%/build.c %D%/build.h \
	%D%/check.c %D%/check.h \
	%D%/control.c %D%/control.h \
	%D%/control_filter.c %D%/control_filter.h \
	%D%/control_internal.h \
	%D%/control_json.c %D%/control_json.h \
	%D%/control_json_coverage.c \
	%D%/control_json_explain.c \
	%D%/control_json_internal.h \
	%D%/control_json_marks.c \
	%D%/control_json_parts.c \
	%D%/control_methods.c \
	%D%/coverage.c %D%/coverage.h \
	%D%/daemon.c %D%/daemon.h \
	%D%/daemon_groups.c %D%/daemon_groups.h \
	%D%/daemon_state.h \
	%D%/dirmarks.c %D%/dirmarks.h \
	%D%/dirmarks_change.c \
	%D%/dirmarks_internal.h \
	%D%/dirmarks_walk.c \
	%D%/dirs_follow.c \
	%D%/dirwalk.c %D%/dirwalk.h \
	%D%/explain_path.c %D%/explain_path.h \
	%D%/fan_group.c %D%/fan_group.h \
	%D%/fdutil.h \
	%D%/found.c \
	%D%/gaps.c %D%/gaps.h \
	%D%/guarded.c %D%/guarded.h \
	%D%/handle_path.c %D%/handle_path.h \
	%D%/handles.c %D%/handles.h \
	%D%/heritage.c %D%/heritage.h \
	%D%/ignores.c \
	%D%/judge.c \
	%D%/judge_where.c \
	%D%/learn.c %D%/learn.h \
	%D%/learn_follow.c \
	%D%/learn_inherit.c \
	%D%/learn_internal.h \
	%D%/loader.c %D%/loader.h \
	%D%/keep.c %D%/keep.h \
	%D%/lane.c %D%/lane.h \
	%D%/log.c %D%/log.h \
	%D%/loop.c %D%/loop.h \
	%D%/mark_path.c %D%/mark_path.h \
	%D%/marks.c %D%/marks.h %D%/marks_internal.h \
	%D%/marks_verify.c \
	%D%/mount_clone.c %D%/mount_clone.h \
	%D%/mount_fds.c %D%/mount_fds.h \
	%D%/mount_monitor.c %D%/mount_monitor.h \
	%D%/mountinfo.c %D%/mountinfo.h \
	%D%/mounts.c %D%/mounts.h \
	%D%/names.c %D%/names.h \
	%D%/namespaces.c %D%/namespaces.h \
	%D%/note_fields.c %D%/note_fields.h \
	%D%/notes.c %D%/notes.h \
	%D%/notify.c %D%/notify.h \
	%D%/options.c %D%/options.h \
	%D%/pipeline.c %D%/pipeline.h \
	%D%/pipeline_internal.h \
	%D%/probe.c %D%/probe.h \
	%D%/probe_path.c \
	%D%/proc_connector.c %D%/proc_connector.h \
	%D%/proc_events.c %D%/proc_events.h \
	%D%/proc_facts.c %D%/proc_facts.h \
	%D%/proc_read.c %D%/proc_read.h \
	%D%/recover.c %D%/recover.h \
	%D%/reload.c %D%/reload.h \
	%D%/replaced.c \
	%D%/reporter.c %D%/reporter.h \
	%D%/reporter_internal.h \
	%D%/reporter_rules.c \
	%D%/reporter_send.c \
	%D%/reporter_shed.c \
	%D%/reporter_windows.c \
	%D%/resolve.c %D%/resolve.h \
	%D%/runtime.c %D%/runtime.h \
	%D%/self_test.c %D%/self_test.h \
	%D%/settle.c \
	%D%/sink.h \
	%D%/sink_journal.c \
	%D%/sink_stdout.c \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/state.c %D%/state.h \
	%D%/store.c %D%/store.h \
	%D%/street.c %D%/street.h \
	%D%/tracked.c %D%/tracked.h \
	%D%/tracking.c %D%/tracking.h \
	%D%/until.c %D%/until.h \
	%D%/window.c %D%/window.h \
	%D%/worker.c %D%/worker.h \
	%D%/world_collect.c %D%/world_collect.h

fawatchd_SOURCES = %D%/main.c
fawatchd_LDADD = $(DAEMON_LIBS)

# What a program needs that links daemon/libdaemon.a.
DAEMON_LIBS = daemon/libdaemon.a daemon/libconfread.a $(CORE_LIBS) \
	$(LIBSYSTEMD_LIBS) $(LIBMOUNT_LIBS) $(JANSSON_LIBS) -lpthread
