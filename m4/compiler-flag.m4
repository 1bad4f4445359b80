# SPDX-License-Identifier: LGPL-2.1-or-later
# FAW_COMPILER_FLAG(FLAGS, VARIABLE, [WHAT TO ADD = FLAGS])
# Appends to VARIABLE when the compiler knows FLAGS without a complaint.
AC_DEFUN([FAW_COMPILER_FLAG], [
        AC_MSG_CHECKING([whether $CC knows $1])
        faw_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $1"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
                [AC_MSG_RESULT([yes]); $2="${$2:+$$2 }m4_default([$3], [$1])"],
                [AC_MSG_RESULT([no])])
        CFLAGS=$faw_save_CFLAGS
])
