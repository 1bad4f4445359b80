/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The kernel's process connector (drivers/connector/cn_proc.c): a netlink socket that tells of
 * every fork, exec, exit, and change of ids, name and session on the machine.
 */

#include <linux/cn_proc.h>
#include <stdbool.h>

/* A socket of the caller's that is told from now on, or -errno; then *ret_reason says in words what
 * is missing (static).  Waits for the kernel's answer, 200 ms at most. */
int proc_connector_open(const char **ret_reason);
/*
 * Takes one message without waiting: 1, 0 where none waits, or -errno; -ENOBUFS: some were lost.
 * *ret_ours tells whether it is an event of the kernel's, which is then copied to ret: where it stands
 * in the message it is not aligned.
 */
int proc_connector_receive(int fd, struct proc_event *ret, bool *ret_ours);
