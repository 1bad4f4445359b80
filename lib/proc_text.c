/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "proc_text.h"

#include <errno.h>
#include <stdio.h>

/* Takes a decimal number, with leading blanks, off the text. */
static bool take_number(const char **p, const char *end, int64_t *ret)
{
        uint64_t value = 0;
        bool negative = false, any = false;

        while (*p < end && (**p == ' ' || **p == '\t'))
                (*p)++;
        if (*p < end && **p == '-') {
                negative = true;
                (*p)++;
        }
        for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
                if (value > (UINT64_MAX >> 1) / 10 - 1)
                        return false;
                value = value * 10 + (uint64_t)(**p - '0');
                any = true;
        }
        *ret = negative ? -(int64_t)value : (int64_t)value;
        return any;
}

/* proc(5): the fields behind the comm, by their number there */
enum { STAT_PPID = 4, STAT_TTY_NR = 7, STAT_FLAGS = 9, STAT_STARTTIME = 22 };

int proc_parse_stat(const char *text, size_t len, struct proc_stat *ret)
{
        const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len), *end = text + len;
        struct proc_stat s = {};

        /* the last bracket ends the comm, whatever it holds itself */
        if (!open || !close || close < open || end - close < 4 || close[1] != ' ')
                return -EBADMSG;
        s.comm = (struct bytes){ .p = open + 1, .len = (size_t)(close - open - 1) };
        s.state = close[2];

        const char *p = close + 3;
        for (int field = STAT_PPID; field <= STAT_STARTTIME; field++) {
                int64_t value;

                /* some fields between (the signal masks, rsslim) use all 64 bits: not ours */
                if (!take_number(&p, end, &value))
                        return -EBADMSG;
                if (field == STAT_PPID)
                        s.ppid = (int32_t)value;
                else if (field == STAT_TTY_NR)
                        s.tty_nr = (uint32_t)value;
                else if (field == STAT_FLAGS)
                        s.flags = (uint32_t)value;
                else if (field == STAT_STARTTIME)
                        s.start_ticks = (uint64_t)value;
        }
        *ret = s;
        return 0;
}

/* "Uid:\t0\t1000\t0\t0\n" → the real and the effective one. */
static void parse_id_line(const char *text, size_t len, const char *key, uint32_t *ret_real,
                          uint32_t *ret_effective)
{
        const char *line = memmem(text, len, key, strlen(key)), *end = text + len;
        int64_t real, effective;

        if (!line)
                return;
        line += strlen(key);
        if (!take_number(&line, end, &real) || !take_number(&line, end, &effective))
                return;
        *ret_real = (uint32_t)real;
        *ret_effective = (uint32_t)effective;
}

void proc_parse_status_ids(const char *text, size_t len, struct proc_ids *ret)
{
        struct proc_ids ids = { ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN, ID_UNKNOWN };

        /* the first line is the name, in which the kernel escapes newlines: no name can
         * hold a line of its own */
        parse_id_line(text, len, "\nUid:", &ids.uid, &ids.euid);
        parse_id_line(text, len, "\nGid:", &ids.gid, &ids.egid);
        *ret = ids;
}

uint32_t proc_parse_id(const char *text, size_t len)
{
        const char *p = text;
        int64_t value;

        if (!take_number(&p, text + len, &value) || value < 0 || value >= (int64_t)ID_UNKNOWN)
                return ID_UNKNOWN;
        return (uint32_t)value;
}

void proc_tty_name(uint32_t tty_nr, char ret[static PROC_TTY_MAX])
{
        /* the kernel's new_encode_dev(): the minor's low byte, the major, the rest of the minor */
        unsigned major = tty_nr >> 8 & 0xfff, minor = (tty_nr & 0xff) | (tty_nr >> 12 & 0xfff00);
        /* majors of Documentation/admin-guide/devices.txt */
        static const struct {
                unsigned major, first;
                const char *prefix;
        } names[] = {
                { 4, 64, "ttyS" },     { 4, 0, "tty" },     { 136, 0, "pts/" },   { 166, 0, "ttyACM" },
                { 188, 0, "ttyUSB" }, { 204, 64, "ttyAMA" }, { 229, 0, "hvc" },
        };

        ret[0] = '\0';
        if (tty_nr == 0)
                return;
        if (major == 5 && minor == 1) {
                (void)snprintf(ret, PROC_TTY_MAX, "console");
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (names[i].major == major && minor >= names[i].first) {
                        (void)snprintf(ret, PROC_TTY_MAX, "%s%u", names[i].prefix, minor - names[i].first);
                        return;
                }
        (void)snprintf(ret, PROC_TTY_MAX, "%u:%u", major, minor);
}
