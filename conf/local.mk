# SPDX-License-Identifier: LGPL-2.1-or-later
# What an installation consists of besides the programs and the manual.
EXTRA_DIST += %D%/fawatchd.conf %D%/fawatchd.service.in %D%/fawatchd.catalog

# The shipped rule; the administrator masks or replaces it in /etc by its name.
vendorrulesdir = $(prefix)/lib/fawatchd/rules.d
dist_vendorrules_DATA = %D%/rules.d/fawatchd.conf

examplesdir = $(docdir)/examples
dist_examples_DATA = \
	%D%/examples/accounts.conf \
	%D%/examples/canary.conf \
	%D%/examples/etc.conf \
	%D%/examples/logs.conf \
	%D%/examples/packages.conf \
	%D%/examples/persistence.conf \
	%D%/examples/web.conf

if INSTALL_UNIT
nodist_systemdsystemunit_DATA = %D%/fawatchd.service
endif
if INSTALL_CATALOG
nodist_catalog_DATA = %D%/fawatchd.catalog
endif
if INSTALL_BASH_COMPLETION
dist_bashcompletion_DATA = %D%/bash-completion/fawatchctl %D%/bash-completion/fawatchd
endif

CLEANFILES += %D%/fawatchd.service
%D%/fawatchd.service: %D%/fawatchd.service.in Makefile
	$(edit_paths)

# /etc belongs to the administrator: an edited file is neither replaced nor removed.
INSTALL_DATA_HOOKS += install-conf
UNINSTALL_HOOKS += uninstall-conf
etcdir = $(DESTDIR)$(sysconfdir)/fawatchd

install-conf:
	$(MKDIR_P) '$(etcdir)/fawatchd.conf.d'
	$(INSTALL) -d -m 0750 '$(etcdir)/rules.d'
	test -e '$(etcdir)/fawatchd.conf' || \
		$(INSTALL_DATA) $(srcdir)/%D%/fawatchd.conf '$(etcdir)/fawatchd.conf'

uninstall-conf:
	if cmp -s $(srcdir)/%D%/fawatchd.conf '$(etcdir)/fawatchd.conf'; then rm -f '$(etcdir)/fawatchd.conf'; fi
	-for d in fawatchd.conf.d rules.d .; do rmdir '$(etcdir)'/$$d 2>/dev/null; done; true

.PHONY: install-conf uninstall-conf
