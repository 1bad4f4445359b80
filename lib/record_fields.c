/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of fields, and how one field is written. */

#include "record_fields.h"

#include <assert.h>

#include "record.h"

#define PREFIX "FAWATCH_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)

struct field_entry {
        const char *assign; /* "FAWATCH_PATH=" */
        size_t assign_len;
        unsigned flags;
};

static const struct field_entry entries[N_RECORD_FIELDS] = {
#define X(name, field_flags) { PREFIX #name "=", sizeof(PREFIX #name), field_flags },
        RECORD_FIELDS(X)
#undef X
};

static const struct record_field_info infos[N_RECORD_FIELDS] = {
#define X(name, flags) { PREFIX #name, ((flags) & F_OMIT) != 0 },
        RECORD_FIELDS(X)
#undef X
};

/* only fields of events can be omitted, and each has its bit */
static_assert(FIELD_REALTIME_USEC < 64, "more fields of events than bits");

const struct record_field_info *record_field_table(size_t *ret_n)
{
        *ret_n = ELEMENTSOF(infos);
        return infos;
}

/* "cmdline" is the field FAWATCH_CMDLINE. */
static bool is_short_name(const char *short_name, const char *name)
{
        const char *p = name + PREFIX_LEN;

        for (; *short_name && *p; short_name++, p++)
                if (*short_name != (*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p))
                        return false;
        return *short_name == *p;
}

uint64_t record_omitted(const struct settings *settings)
{
        uint64_t omit = 0;

        if (!settings)
                return 0;
        for (size_t i = 0; i < settings->omit.n; i++)
                for (size_t field = 0; field <= FIELD_REALTIME_USEC; field++)
                        if (infos[field].may_omit && is_short_name(settings->omit.v[i], infos[field].name))
                                omit |= FIELD_BIT(field);
        return omit;
}

static inline bool is_omitted(const struct fields *f, enum record_field field)
{
        return field < 64 && (f->omit & FIELD_BIT(field));
}

/* A newline would end the field in its short form: such a value goes by length. */
static void add_binary(struct strbuf *out, const char *name, size_t name_len, const struct bytes *value)
{
        uint8_t le[8];

        for (size_t i = 0; i < sizeof(le); i++)
                le[i] = (uint8_t)((uint64_t)value->len >> (8 * i));
        strbuf_add(out, name, name_len);
        strbuf_addc(out, '\n');
        strbuf_add(out, le, sizeof(le));
        strbuf_add(out, value->p, value->len);
        strbuf_addc(out, '\n');
}

/* Each record has some forty of these: one look at the room there is for all three parts. */
static void add_line(struct strbuf *out, const struct field_entry *e, const char *value, size_t len)
{
        char *p;

        if (strbuf_reserve(out, e->assign_len + len + 1) < 0)
                return;
        p = out->data + out->len;
        memcpy(p, e->assign, e->assign_len);
        memcpy(p + e->assign_len, value, len);
        memcpy(p + e->assign_len + len, "\n", 2);
        out->len += e->assign_len + len + 1;
}

void fields_add(const struct fields *f, enum record_field field, const char *value, size_t len)
{
        const struct field_entry *e = &entries[field];

        if (!value || is_omitted(f, field))
                return;
        if (memchr(value, '\n', len)) {
                add_binary(f->out, e->assign, e->assign_len - 1, &(struct bytes){ value, len });
                return;
        }
        add_line(f->out, e, value, len);
}

void fields_adds(const struct fields *f, enum record_field field, const char *value)
{
        if (value)
                fields_add(f, field, value, strlen(value));
}

void fields_addu(const struct fields *f, enum record_field field, uint64_t value)
{
        if (is_omitted(f, field))
                return;
        strbuf_add(f->out, entries[field].assign, entries[field].assign_len);
        strbuf_addu(f->out, value);
        strbuf_addc(f->out, '\n');
}

void record_field(struct strbuf *out, const char *name, const char *value, size_t len)
{
        if (memchr(value, '\n', len)) {
                add_binary(out, name, strlen(name), &(struct bytes){ value, len });
                return;
        }
        strbuf_adds(out, name);
        strbuf_addc(out, '=');
        strbuf_add(out, value, len);
        strbuf_addc(out, '\n');
}

void record_fields(struct strbuf *out, const char *name, const char *value)
{
        if (value)
                record_field(out, name, value, strlen(value));
}

void record_fieldu(struct strbuf *out, const char *name, uint64_t value)
{
        strbuf_adds(out, name);
        strbuf_addc(out, '=');
        strbuf_addu(out, value);
        strbuf_addc(out, '\n');
}

unsigned record_field_flags(const char *name, size_t len)
{
        static const char *const journal_numbers[] = { "PRIORITY", "SYSLOG_FACILITY", "CONFIG_LINE" };

        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                if (entries[i].assign_len == len + 1 && memcmp(entries[i].assign, name, len) == 0)
                        return entries[i].flags;
        for (size_t i = 0; i < ELEMENTSOF(journal_numbers); i++)
                if (strlen(journal_numbers[i]) == len && memcmp(journal_numbers[i], name, len) == 0)
                        return F_NUMBER;
        return F_PLAIN;
}
