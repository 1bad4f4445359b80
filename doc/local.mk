# SPDX-License-Identifier: LGPL-2.1-or-later
EXTRA_DIST += \
	%D%/ARCHITECTURE.md \
	%D%/BENCHMARKS.md \
	%D%/decisions/0001-first-version.md \
	%D%/decisions/0002-who-did-it.md \
	%D%/decisions/0003-a-crash-and-the-marks.md \
	%D%/decisions/0004-completeness.md \
	%D%/decisions/0005-ignored-in-the-kernel.md \
	%D%/decisions/0006-mounts-and-coverage.md \
	%D%/decisions/0007-directory-marks.md \
	%D%/decisions/0008-names-not-objects.md
