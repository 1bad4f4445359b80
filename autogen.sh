#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes configure from a clone: needs autoconf, automake and pkg-config.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all
