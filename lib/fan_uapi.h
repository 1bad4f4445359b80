/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * <linux/fanotify.h> with what older kernel headers lack.  The values are the
 * kernel's user-space interface and never change; whether the running kernel
 * knows them is asked at run time.
 */

#include <linux/fanotify.h>

/* events */
#ifndef FAN_FS_ERROR /* 5.16 */
#define FAN_FS_ERROR 0x00008000
#endif
#ifndef FAN_PRE_ACCESS /* 6.14 */
#define FAN_PRE_ACCESS 0x00100000
#endif
#ifndef FAN_MNT_ATTACH /* 6.15 */
#define FAN_MNT_ATTACH 0x01000000
#endif
#ifndef FAN_MNT_DETACH /* 6.15 */
#define FAN_MNT_DETACH 0x02000000
#endif
#ifndef FAN_RENAME /* 5.17 */
#define FAN_RENAME 0x10000000
#endif

/* fanotify_init(2) */
#ifndef FAN_REPORT_PIDFD /* 5.15 */
#define FAN_REPORT_PIDFD 0x00000080
#endif
#ifndef FAN_REPORT_TARGET_FID /* 5.17 */
#define FAN_REPORT_TARGET_FID 0x00001000
#endif
#ifndef FAN_REPORT_FD_ERROR /* 6.13 */
#define FAN_REPORT_FD_ERROR 0x00002000
#endif
#ifndef FAN_REPORT_MNT /* 6.15 */
#define FAN_REPORT_MNT 0x00004000
#endif
#ifndef FAN_REPORT_DFID_NAME_TARGET
#define FAN_REPORT_DFID_NAME_TARGET (FAN_REPORT_DFID_NAME | FAN_REPORT_FID | FAN_REPORT_TARGET_FID)
#endif

/* fanotify_mark(2) */
#ifndef FAN_MARK_MNTNS /* 6.15 */
#define FAN_MARK_MNTNS 0x00000110
#endif
#ifndef FAN_MARK_EVICTABLE /* 5.19 */
#define FAN_MARK_EVICTABLE 0x00000200
#endif
#ifndef FAN_MARK_IGNORE /* 6.0 */
#define FAN_MARK_IGNORE 0x00000400
#endif
#ifndef FAN_MARK_IGNORE_SURV
#define FAN_MARK_IGNORE_SURV (FAN_MARK_IGNORE | FAN_MARK_IGNORED_SURV_MODIFY)
#endif

/* name_to_handle_at(2): the handle only identifies; EINVAL where it is not known */
#ifndef AT_HANDLE_FID /* 6.5 */
#define AT_HANDLE_FID 0x200
#endif

/* info records */
#ifndef FAN_EVENT_INFO_TYPE_PIDFD /* 5.15 */
#define FAN_EVENT_INFO_TYPE_PIDFD 4
#endif
#ifndef FAN_EVENT_INFO_TYPE_ERROR /* 5.16 */
#define FAN_EVENT_INFO_TYPE_ERROR 5
#endif
#ifndef FAN_EVENT_INFO_TYPE_RANGE /* 6.14 */
#define FAN_EVENT_INFO_TYPE_RANGE 6
#endif
#ifndef FAN_EVENT_INFO_TYPE_MNT /* 6.15 */
#define FAN_EVENT_INFO_TYPE_MNT 7
#endif
#ifndef FAN_EVENT_INFO_TYPE_OLD_DFID_NAME /* 5.17 */
#define FAN_EVENT_INFO_TYPE_OLD_DFID_NAME 10
#endif
#ifndef FAN_EVENT_INFO_TYPE_NEW_DFID_NAME /* 5.17 */
#define FAN_EVENT_INFO_TYPE_NEW_DFID_NAME 12
#endif

/* values of a pidfd that is none */
#ifndef FAN_NOPIDFD
#define FAN_NOPIDFD (-1)
#endif
#ifndef FAN_EPIDFD
#define FAN_EPIDFD (-2)
#endif
