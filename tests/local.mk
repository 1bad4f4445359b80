# SPDX-License-Identifier: LGPL-2.1-or-later
# All tests speak TAP.  "make check" needs neither root nor a systemd;
# "make check-system" (root) boots one and runs tests/system against the build.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(BASH_PATH)
AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_top_srcdir)' builddir='$(abs_top_builddir)' \
	CC='$(CC)' NM='$(NM)' SANITIZERS='$(SANITIZERS)' \
	ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1; \
	export srcdir builddir CC NM SANITIZERS ASAN_OPTIONS UBSAN_OPTIONS;

# unit tests of the pure library: one a module, tests/unit/test-MODULE.c
core_unit_tests = \
	%D%/unit/test-arena \
	%D%/unit/test-burst \
	%D%/unit/test-cgroup \
	%D%/unit/test-coalesce \
	%D%/unit/test-conf-pack \
	%D%/unit/test-conftree \
	%D%/unit/test-counters \
	%D%/unit/test-decode \
	%D%/unit/test-diag \
	%D%/unit/test-escape \
	%D%/unit/test-dirtable \
	%D%/unit/test-dirtree \
	%D%/unit/test-event \
	%D%/unit/test-explain \
	%D%/unit/test-fdinfo \
	%D%/unit/test-generation \
	%D%/unit/test-inheritance \
	%D%/unit/test-interest \
	%D%/unit/test-interest-deliver \
	%D%/unit/test-leads \
	%D%/unit/test-life \
	%D%/unit/test-limit \
	%D%/unit/test-lru \
	%D%/unit/test-markdiff \
	%D%/unit/test-markset \
	%D%/unit/test-match \
	%D%/unit/test-match-actor \
	%D%/unit/test-match-model \
	%D%/unit/test-message \
	%D%/unit/test-objects \
	%D%/unit/test-pattern \
	%D%/unit/test-placement \
	%D%/unit/test-plan \
	%D%/unit/test-plan-cover \
	%D%/unit/test-proc-text \
	%D%/unit/test-proctable \
	%D%/unit/test-record \
	%D%/unit/test-record-json \
	%D%/unit/test-recovery-plan \
	%D%/unit/test-rules \
	%D%/unit/test-scan \
	%D%/unit/test-settings \
	%D%/unit/test-shed \
	%D%/unit/test-spool \
	%D%/unit/test-spool-area \
	%D%/unit/test-strbuf \
	%D%/unit/test-units \
	%D%/unit/test-verify \
	%D%/unit/test-vocab \
	%D%/unit/test-world

# unit tests of the edge; what needs root skips itself and says so
daemon_unit_tests = \
	%D%/unit/test-attribute \
	%D%/unit/test-conf-read \
	%D%/unit/test-control \
	%D%/unit/test-explain-kernel \
	%D%/unit/test-fan-group \
	%D%/unit/test-ignores \
	%D%/unit/test-ignores-crash \
	%D%/unit/test-dirmarks \
	%D%/unit/test-ignores-random \
	%D%/unit/test-ignores-slices \
	%D%/unit/test-keep \
	%D%/unit/test-lane \
	%D%/unit/test-marks-verify \
	%D%/unit/test-mount-monitor \
	%D%/unit/test-mountinfo \
	%D%/unit/test-note-fields \
	%D%/unit/test-pipeline \
	%D%/unit/test-recover \
	%D%/unit/test-replay \
	%D%/unit/test-proc-facts \
	%D%/unit/test-reporter \
	%D%/unit/test-resolve \
	%D%/unit/test-sink-journal \
	%D%/unit/test-sink-stdout \
	%D%/unit/test-tracked

# enumerated models
model_tests = %D%/model/test-reload %D%/model/test-reload-storm
tests_model_test_reload_SOURCES = %D%/model/test-reload.c %D%/model/fake_kernel.c %D%/model/fake_kernel.h
tests_model_test_reload_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_model_test_reload_storm_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += $(core_unit_tests) $(daemon_unit_tests) $(model_tests)
TESTS += $(core_unit_tests) $(daemon_unit_tests) $(model_tests)
endif
# a watched tmpfs and a reporter that remembers
street_fixture = %D%/unit/street_fixture.c %D%/unit/street_fixture.h
# the same with marks, transactions and ignores
ignore_random = %D%/unit/ignore_random.c %D%/unit/ignore_random.h %D%/unit/ignore_actor.c %D%/unit/ignore_actor.h
ignore_fixture = %D%/unit/ignore_fixture.c %D%/unit/ignore_fixture.h
# what a test links that names nothing itself (its source is its own name + .c)
LDADD = $(CORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_conf_read_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_control_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_fan_group_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_keep_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_lane_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_mount_monitor_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_note_fields_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_mountinfo_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
actor_fixture = %D%/unit/actor_fixture.c %D%/unit/actor_fixture.h $(street_fixture)
tests_unit_test_attribute_SOURCES = %D%/unit/test-attribute.c $(actor_fixture)
tests_unit_test_tracked_SOURCES = %D%/unit/test-tracked.c $(actor_fixture)
tests_unit_test_tracked_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_attribute_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_resolve_SOURCES = %D%/unit/test-resolve.c $(street_fixture)
tests_unit_test_resolve_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=readlink
tests_unit_test_resolve_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_proctable_SOURCES = %D%/unit/test-proctable.c %D%/unit/proctable_fixture.h
tests_unit_test_proc_facts_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_recover_SOURCES = %D%/unit/test-recover.c $(street_fixture)
tests_unit_test_recover_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_pipeline_SOURCES = %D%/unit/test-pipeline.c $(street_fixture)
tests_unit_test_pipeline_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reallocarray -Wl,--wrap=open_by_handle_at
tests_unit_test_pipeline_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ignores_SOURCES = %D%/unit/test-ignores.c $(ignore_fixture)
tests_unit_test_explain_kernel_SOURCES = \
	%D%/unit/test-explain-kernel.c $(ignore_fixture) $(ignore_random)
tests_unit_test_explain_kernel_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ignores_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ignores_crash_SOURCES = %D%/unit/test-ignores-crash.c $(ignore_fixture)
tests_unit_test_ignores_crash_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ignores_slices_SOURCES = %D%/unit/test-ignores-slices.c $(ignore_fixture)
tests_unit_test_ignores_slices_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_dirmarks_SOURCES = %D%/unit/test-dirmarks.c $(ignore_fixture)
tests_unit_test_dirmarks_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_marks_verify_SOURCES = %D%/unit/test-marks-verify.c $(ignore_fixture)
tests_unit_test_marks_verify_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_replay_SOURCES = %D%/unit/test-replay.c $(ignore_fixture)
tests_unit_test_replay_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_ignores_random_SOURCES = %D%/unit/test-ignores-random.c $(ignore_fixture) $(ignore_random)
tests_unit_test_ignores_random_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_reporter_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=snapshot_new
tests_unit_test_reporter_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_sink_journal_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_sink_stdout_LDADD = $(DAEMON_LIBS) $(CMOCKA_LIBS)
tests_unit_test_control_SOURCES = %D%/unit/test-control.c ctl/client.c ctl/client.h

EXTRA_DIST += %D%/unit/interest_scene.h %D%/model/fanotify10.h

# lib/interest against the running kernel; skips itself where it may not mount
check_PROGRAMS += %D%/model/test-interest-kernel
tests_model_test_interest_kernel_SOURCES = \
	%D%/model/events.h \
	%D%/model/fanotify10.h \
	%D%/model/fanqueue.c %D%/model/fanqueue.h \
	%D%/model/fsmodel.c %D%/model/fsmodel.h %D%/model/fsmodel_internal.h \
	%D%/model/fsmodel_ops.c \
	%D%/model/kernel_fanotify10.c \
	%D%/model/probe.c %D%/model/probe.h \
	%D%/model/test-interest-kernel.c %D%/model/test-interest-kernel.h
tests_model_test_interest_kernel_LDADD = $(CORE_LIBS)
TESTS += %D%/model/test-interest-kernel %D%/model/mutants.sh
EXTRA_DIST += %D%/model/mutants.sh %D%/run-kernel

# goldens: text in, text out
check_PROGRAMS += %D%/golden/rules-print %D%/golden/plan-print
tests_golden_rules_print_LDADD = $(CORE_LIBS)
tests_golden_plan_print_LDADD = $(CORE_LIBS)
TESTS += %D%/golden/golden.sh %D%/golden/plan.sh

# fuzz targets: with --enable-fuzzing they search, else they replay files
fuzz_targets = \
	%D%/fuzz/fuzz-control \
	%D%/fuzz/fuzz-decode \
	%D%/fuzz/fuzz-fdinfo \
	%D%/fuzz/fuzz-match \
	%D%/fuzz/fuzz-rules \
	%D%/fuzz/fuzz-scan \
	%D%/fuzz/fuzz-spool
check_PROGRAMS += $(fuzz_targets)
if ENABLE_FUZZING
fuzz_main =
else
fuzz_main = %D%/fuzz/standalone.c
endif
EXTRA_DIST += %D%/fuzz/standalone.c %D%/unit/sample-event.h
tests_fuzz_fuzz_control_SOURCES = %D%/fuzz/fuzz-control.c $(fuzz_main)
tests_fuzz_fuzz_control_LDADD = $(DAEMON_LIBS)
tests_fuzz_fuzz_control_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_decode_SOURCES = %D%/fuzz/fuzz-decode.c $(fuzz_main)
tests_fuzz_fuzz_decode_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_decode_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_fdinfo_SOURCES = %D%/fuzz/fuzz-fdinfo.c $(fuzz_main)
tests_fuzz_fuzz_fdinfo_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_fdinfo_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_match_SOURCES = %D%/fuzz/fuzz-match.c $(fuzz_main)
tests_fuzz_fuzz_match_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_match_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_rules_SOURCES = %D%/fuzz/fuzz-rules.c $(fuzz_main)
tests_fuzz_fuzz_rules_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_rules_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_scan_SOURCES = %D%/fuzz/fuzz-scan.c $(fuzz_main)
tests_fuzz_fuzz_scan_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_scan_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_spool_SOURCES = %D%/fuzz/fuzz-spool.c $(fuzz_main)
tests_fuzz_fuzz_spool_LDADD = $(CORE_LIBS)
tests_fuzz_fuzz_spool_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
TESTS += %D%/fuzz/replay.sh

# the walls of the architecture
check_PROGRAMS += %D%/lint/print-names
tests_lint_print_names_LDADD = $(CORE_LIBS)
lint_tests = \
	%D%/lint/catalog.sh \
	%D%/lint/layering.sh \
	%D%/lint/man.sh \
	%D%/lint/purity.sh \
	%D%/lint/size.sh \
	%D%/lint/spdx.sh
TESTS += $(lint_tests)
EXTRA_DIST += %D%/tap.sh %D%/lint/pure-symbols %D%/lint/size-exceptions

# data read by tests, whole folders
EXTRA_DIST += $(lint_tests) %D%/golden %D%/fuzz/corpus %D%/fuzz/replay.sh %D%/rules-wanted %D%/system \
	%D%/boot-systemd %D%/run-journald %D%/own-root %D%/kernel
# EXTRA_DIST of a folder copies everything in it, also what a build or a test run left
dist-hook:
	find '$(distdir)/tests' \( -name '*.o' -o -name '*.log' -o -name '*.trs' -o -name .dirstamp \) -delete
	find '$(distdir)/tests' -depth \( -name __pycache__ -o -name .deps -o -name .pytest_cache \) \
		-exec rm -rf {} +

# Two machines side by side.
check-system: all
	FAWATCHD_BUILD='$(abs_top_builddir)' $(PYTEST) -n 2 -p no:cacheprovider -q -rsx --tb=short --show-capture=no \
		--durations=20 --trs=tests/system.trs $(PYTEST_FLAGS) $(top_srcdir)/tests/system

check-valgrind: $(core_unit_tests)
	$(AM_TESTS_ENVIRONMENT) $(BASH_PATH) $(srcdir)/%D%/valgrind.sh $(core_unit_tests)
EXTRA_DIST += %D%/valgrind.sh
.PHONY: check-system check-valgrind
