/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Record → one JSON line. */

#include <errno.h>

#include "escape.h"
#include "record.h"
#include "record_fields.h"

#define PREFIX "FAWATCH_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
/* every record of an event has it, no other one */
#define ATTRIBUTION "FAWATCH_ATTRIBUTION"

struct field {
        struct bytes name, value;
        size_t next; /* where the record goes on */
};

static bool field_read(const char *record, size_t len, size_t pos, struct field *ret)
{
        struct record_cursor c = { record, len, pos };

        if (record_next(&c, &ret->name, &ret->value) <= 0)
                return false;
        ret->next = c.pos;
        return true;
}

static bool is_named(const struct bytes *name, const char *text, size_t len)
{
        return name->len == len && memcmp(name->p, text, len) == 0;
}

/* The next field of that name from pos on. */
static bool field_find(const char *record, size_t len, size_t pos, const struct bytes *name,
                       struct field *ret)
{
        while (field_read(record, len, pos, ret)) {
                if (is_named(&ret->name, name->p, name->len))
                        return true;
                pos = ret->next;
        }
        return false;
}

static bool is_number(const struct bytes *value)
{
        if (value->len == 0 || value->len > 20 || (value->len > 1 && value->p[0] == '0'))
                return false;
        for (size_t i = 0; i < value->len; i++)
                if (value->p[i] < '0' || value->p[i] > '9')
                        return false;
        return true;
}

/* "FAWATCH_OLD_PATH" is "old_path". */
static void add_key(const struct bytes *name, const char *suffix, struct strbuf *out)
{
        size_t start = name->len > PREFIX_LEN && memcmp(name->p, PREFIX, PREFIX_LEN) == 0 ? PREFIX_LEN : 0;

        strbuf_addc(out, '"');
        for (size_t i = start; i < name->len; i++) {
                char c = name->p[i];

                strbuf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
        }
        strbuf_adds(out, suffix);
        strbuf_adds(out, "\":");
}

static void add_byte_array(const struct bytes *value, struct strbuf *out)
{
        strbuf_addc(out, '[');
        for (size_t i = 0; i < value->len; i++) {
                if (i > 0)
                        strbuf_addc(out, ',');
                strbuf_addu(out, (uint8_t)value->p[i]);
        }
        strbuf_addc(out, ']');
}

/* All values of one name, which begin with first. */
struct values {
        const char *record;
        size_t len;
        const struct field *first;
};

static void add_list(const struct values *v, struct strbuf *out)
{
        struct field f = *v->first;
        bool whole = true;

        add_key(&f.name, "", out);
        strbuf_addc(out, '[');
        for (bool more = true; more; more = field_find(v->record, v->len, f.next, &v->first->name, &f)) {
                if (f.value.p != v->first->value.p)
                        strbuf_addc(out, ',');
                whole &= escape_json(f.value.p, f.value.len, out);
        }
        strbuf_addc(out, ']');
        if (whole)
                return;

        f = *v->first;
        strbuf_addc(out, ',');
        add_key(&f.name, "_raw", out);
        strbuf_addc(out, '[');
        for (bool more = true; more; more = field_find(v->record, v->len, f.next, &v->first->name, &f)) {
                if (f.value.p != v->first->value.p)
                        strbuf_addc(out, ',');
                if (utf8_valid(f.value.p, f.value.len))
                        strbuf_adds(out, "null");
                else
                        add_byte_array(&f.value, out);
        }
        strbuf_addc(out, ']');
}

static void add_single(const struct field *f, unsigned flags, struct strbuf *out)
{
        add_key(&f->name, "", out);
        if (flags & F_NUMBER && is_number(&f->value)) {
                strbuf_add(out, f->value.p, f->value.len);
        } else if (!escape_json(f->value.p, f->value.len, out)) {
                strbuf_addc(out, ',');
                add_key(&f->name, "_raw", out);
                add_byte_array(&f->value, out);
        }
}

/* One key with all that the record holds of its name. */
static void add_field(const char *record, size_t len, const struct field *f, struct strbuf *out)
{
        unsigned flags = record_field_flags(f->name.p, f->name.len);
        struct field again;

        strbuf_addc(out, ',');
        if (flags & F_LIST || field_find(record, len, f->next, &f->name, &again))
                add_list(&(struct values){ record, len, f }, out);
        else
                add_single(f, flags, out);
}

/* Days since 1970-01-01 → date, in the proleptic Gregorian calendar.  The year
 * is counted from March, so that the leap day is its last. */
static void civil_date(uint64_t days, unsigned *ret_year, unsigned *ret_month, unsigned *ret_day)
{
        uint64_t shifted = days + 719468; /* since 0000-03-01 */
        unsigned era = (unsigned)(shifted / 146097);
        unsigned day_of_era = (unsigned)(shifted % 146097);
        unsigned year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
        unsigned day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
        unsigned month = (5 * day_of_year + 2) / 153; /* 0 = March */

        *ret_day = day_of_year - (153 * month + 2) / 5 + 1;
        *ret_month = month < 10 ? month + 3 : month - 9;
        *ret_year = era * 400 + year + (*ret_month <= 2);
}

static void add_time(uint64_t usec, struct strbuf *out)
{
        uint64_t sec = usec / USEC_PER_SEC;
        unsigned year, month, day, of_day = (unsigned)(sec % 86400);

        civil_date(sec / 86400, &year, &month, &day);
        strbuf_addf(out, "\"time\":\"%04u-%02u-%02uT%02u:%02u:%02u.%06uZ\"", year, month, day, of_day / 3600,
                    of_day / 60 % 60, of_day % 60, (unsigned)(usec % USEC_PER_SEC));
}

static uint64_t time_of(const char *record, size_t len, uint64_t now_usec)
{
        static const char realtime[] = "FAWATCH_REALTIME_USEC";
        const struct bytes name = { realtime, sizeof(realtime) - 1 };
        struct field f;
        uint64_t usec = 0;

        if (!field_find(record, len, 0, &name, &f) || !is_number(&f.value))
                return now_usec;
        for (size_t i = 0; i < f.value.len; i++)
                usec = usec * 10 + (uint64_t)(f.value.p[i] - '0');
        return usec;
}

/* What programs iterate over without asking is there in every record of an
 * event, empty if need be. */
static void add_missing_lists(const char *record, size_t len, struct strbuf *out)
{
        static const struct {
                const char *name, *empty;
        } lists[] = { { "FAWATCH_TAG", ",\"tag\":[]" }, { "FAWATCH_UNDER", ",\"under\":[]" } };
        struct field f;

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (!field_find(record, len, 0, &(struct bytes){ lists[i].name, strlen(lists[i].name) }, &f))
                        strbuf_adds(out, lists[i].empty);
}

int record_json(const char *record, size_t len, uint64_t now_usec, struct strbuf *out)
{
        struct record_cursor c = { record, len, 0 };
        struct field f, before;
        bool is_event = false;
        int r;

        strbuf_addc(out, '{');
        add_time(time_of(record, len, now_usec), out);
        while ((r = record_next(&c, &f.name, &f.value)) > 0) {
                f.next = c.pos;
                /* a name that was here before has been written with its first value */
                (void)field_find(record, len, 0, &f.name, &before);
                if (before.value.p == f.value.p)
                        add_field(record, len, &f, out);
                is_event |= is_named(&f.name, ATTRIBUTION, sizeof(ATTRIBUTION) - 1);
        }
        if (r < 0)
                return r;
        if (is_event)
                add_missing_lists(record, len, out);
        strbuf_adds(out, "}\n");
        return strbuf_failed(out) ? -ENOMEM : 0;
}
