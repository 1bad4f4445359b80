# SPDX-License-Identifier: LGPL-2.1-or-later
dist_man_MANS += \
	%D%/fawatchctl.1 \
	%D%/fawatchd.8 \
	%D%/fawatchd.conf.5 \
	%D%/fawatchd.fields.7 \
	%D%/fawatchd.rules.5
