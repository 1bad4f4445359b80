# SPDX-License-Identifier: LGPL-2.1-or-later
# Figures: "make bench" builds and runs what is measured without root.
EXTRA_PROGRAMS += %D%/bench-ignore
CLEANFILES += %D%/bench-ignore
benches = %D%/bench-journal %D%/bench-match %D%/bench-street %D%/bench-who
EXTRA_PROGRAMS += $(benches)
CLEANFILES += $(benches)
EXTRA_DIST += %D%/daemon.py %D%/daemon.sh %D%/ignore.sh %D%/journal.sh %D%/peers.sh %D%/who.sh %D%/who-count.py \
	%D%/who-storm.c %D%/who-price.sh %D%/who-price.c \
	%D%/restart.py %D%/restart.sh
bench_bench_journal_LDADD = $(DAEMON_LIBS)
bench_bench_match_LDADD = $(CORE_LIBS)
bench_bench_street_LDADD = $(DAEMON_LIBS)
bench_bench_who_LDADD = $(DAEMON_LIBS)

bench: $(benches)
	for b in $(benches); do echo "== $$b"; ./$$b || exit 1; done
# with a daemon beside it (root)
bench-ignore: %D%/bench-ignore fawatchd
	FAWATCHD=./fawatchd BENCH=%D%/bench-ignore $(BASH_PATH) $(srcdir)/%D%/ignore.sh
.PHONY: bench bench-ignore
