/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rules in force as canonical text, which is a rule file again. */

#include "cmd.h"

enum exit_status cmd_rules(const struct invocation *i)
{
        return ask_daemon_and_print(i, "Rules");
}
