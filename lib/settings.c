/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "conf_print.h"
#include "conf_value.h"
#include "record.h"
#include "settings.h"
#include "strbuf.h"
#include "units.h"

#define MIB (UINT64_C(1) << 20)

/* Below, alive records alone would keep the journal busy. */
#define HEARTBEAT_MIN_USEC USEC_PER_SEC

/* One record in the spool may take this much, and the kernel's queue must take a storm's first moment. */
#define MEMORY_MIN_BYTES (UINT64_C(64) * 1024)

/* A setting's value: read from a node, printed as text. */
struct setting {
        const char *name;
        bool quoted;
        void (*read)(struct conf_reader *r, const struct conf_node *node, struct settings *s);
        void (*print)(const struct settings *s, struct strbuf *out);
};

#define FIELD_PREFIX "FAWATCH_"

/* "cmdline" for FAWATCH_CMDLINE; buffer takes the longest. */
static const char *short_field_name(const char *field, char buffer[64])
{
        size_t n = 0;

        field += strlen(FIELD_PREFIX);
        for (; *field && n < 63; field++)
                buffer[n++] = *field >= 'A' && *field <= 'Z' ? (char)(*field - 'A' + 'a') : *field;
        buffer[n] = '\0';
        return buffer;
}

static const char *check_field(struct conf_reader *r, const struct source *at, const char *text)
{
        size_t n;
        const struct record_field_info *fields = record_field_table(&n);
        char name[64];

        for (size_t i = 0; i < n; i++) {
                if (streq(fields[i].name, text)) {
                        conf_complain(r, at, "\"%s\": write \"%s\"", text, short_field_name(text, name));
                        return NULL;
                }
                if (!streq(short_field_name(fields[i].name, name), text))
                        continue;
                if (fields[i].may_omit)
                        return text;
                conf_complain(r, at,
                              "the field \"%s\" cannot be left out: without it a record says too little",
                              text);
                return NULL;
        }
        conf_complain(
                r, at,
                "there is no field \"%s\": names are those of fawatchd.fields(7) in lower case, without "
                "FAWATCH_",
                text);
        return NULL;
}

static const char *check_option(struct conf_reader *r, const struct source *at, const char *text)
{
        if (*text && text[strcspn(text, " \t\n=")] == '\0')
                return text;
        conf_complain(r, at,
                      "\"%s\" is no option's name: write it as on the command line, as in \"--password\"",
                      text);
        return NULL;
}

static void read_coalesce(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_duration(r, node, &s->coalesce_usec);
}

static void print_coalesce(const struct settings *s, struct strbuf *out)
{
        units_print_duration(s->coalesce_usec, out);
}

static void read_limit(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_rate(r, node, &s->limit_count, &s->limit_usec);
}

static void print_limit(const struct settings *s, struct strbuf *out)
{
        units_print_rate(s->limit_count, s->limit_usec, out);
}

static void read_heartbeat(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        uint64_t usec;

        if (!conf_read_duration(r, node, &usec))
                return;
        if (usec > 0 && usec < HEARTBEAT_MIN_USEC)
                conf_complain(r, &node->source, "\"%s\" is too short: at least \"1s\", or \"0\" for none",
                              node->string);
        else
                s->heartbeat_usec = usec;
}

static void print_heartbeat(const struct settings *s, struct strbuf *out)
{
        units_print_duration(s->heartbeat_usec, out);
}

static void read_omit(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_strings(r, node, CONF_MAY_BE_EMPTY, check_field, &s->omit);
}

static void print_omit(const struct settings *s, struct strbuf *out)
{
        conf_print_strings(&s->omit, out);
}

static void read_facility(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        static const char *const names[] = { "daemon", "authpriv" };
        size_t i;

        if (conf_read_choice(r, node, names, ELEMENTSOF(names), &i))
                s->facility = i == 0 ? FACILITY_DAEMON : FACILITY_AUTHPRIV;
}

static void print_facility(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->facility == FACILITY_AUTHPRIV ? "authpriv" : "daemon");
}

static void read_unit_log(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_bool(r, node, &s->unit_log);
}

static void print_unit_log(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->unit_log ? "true" : "false");
}

static void read_mask_options(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_strings(r, node, CONF_MAY_BE_EMPTY, check_option, &s->mask_options);
}

static void print_mask_options(const struct settings *s, struct strbuf *out)
{
        conf_print_strings(&s->mask_options, out);
}

static void read_process_tracking(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        static const char *const names[] = { "auto", "off" };
        size_t i;

        if (conf_read_choice(r, node, names, ELEMENTSOF(names), &i))
                s->process_tracking = i == 0;
}

static void print_process_tracking(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->process_tracking ? "auto" : "off");
}

static void read_memory(struct conf_reader *r, const struct conf_node *node, uint64_t *ret)
{
        uint64_t bytes;

        if (!conf_read_size(r, node, &bytes))
                return;
        if (bytes < MEMORY_MIN_BYTES)
                conf_complain(r, &node->source, "\"%s\" is too small: at least \"64K\"", node->string);
        else
                *ret = bytes;
}

static void read_spool(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        read_memory(r, node, &s->spool_bytes);
}

static void print_spool(const struct settings *s, struct strbuf *out)
{
        units_print_size(s->spool_bytes, out);
}

static void read_queue(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        static const char *const names[] = { "unlimited", "bounded" };
        size_t i;

        if (conf_read_choice(r, node, names, ELEMENTSOF(names), &i))
                s->queue_unlimited = i == 0;
}

static void print_queue(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->queue_unlimited ? "unlimited" : "bounded");
}

static void read_queue_memory(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        read_memory(r, node, &s->queue_memory_bytes);
}

static void print_queue_memory(const struct settings *s, struct strbuf *out)
{
        units_print_size(s->queue_memory_bytes, out);
}

static void read_recover(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_bool(r, node, &s->recover);
}

static void print_recover(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->recover ? "true" : "false");
}

static void read_kernel_ignores(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        conf_read_bool(r, node, &s->kernel_ignores);
}

static void print_kernel_ignores(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, s->kernel_ignores ? "true" : "false");
}

static void read_placement(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        static const char *const names[] = { "auto", "filesystem", "directories" };
        size_t i;

        if (conf_read_choice(r, node, names, ELEMENTSOF(names), &i))
                s->placement = (enum placement)(PLACEMENT_AUTO + i);
}

static void print_placement(const struct settings *s, struct strbuf *out)
{
        strbuf_adds(out, placement_name(s->placement));
}

static void read_max_directory_marks(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        if (node->kind != CONF_INTEGER)
                conf_complain(r, &node->source, "a number is expected, not %s", conf_kind_name(node->kind));
        else if (node->integer < 1)
                conf_complain(r, &node->source, "the number is too small: at least 1");
        else
                s->max_directory_marks = (uint64_t)node->integer;
}

static void print_max_directory_marks(const struct settings *s, struct strbuf *out)
{
        strbuf_addu(out, s->max_directory_marks);
}

/* Sorted by name, the order of settings_print(); and whether the value stands in quotes. */
#define SETTINGS(X)                                                                                          \
        X(coalesce, true)                                                                                    \
        X(facility, true)                                                                                    \
        X(heartbeat, true)                                                                                   \
        X(kernel_ignores, false)                                                                             \
        X(limit, true)                                                                                       \
        X(mask_options, false)                                                                               \
        X(max_directory_marks, false)                                                                        \
        X(omit, false)                                                                                       \
        X(placement, true)                                                                                   \
        X(process_tracking, true)                                                                            \
        X(queue, true)                                                                                       \
        X(queue_memory, true)                                                                                \
        X(recover, false)                                                                                    \
        X(spool, true)                                                                                       \
        X(unit_log, false)

static const struct setting settings[] = {
#define X(name, quoted) { #name, quoted, read_##name, print_##name },
        SETTINGS(X)
#undef X
};

const char *const *settings_names(size_t *ret_n)
{
        static const char *const names[] = {
#define X(name, quoted) #name,
                SETTINGS(X)
#undef X
        };

        *ret_n = ELEMENTSOF(names);
        return names;
}

struct settings *settings_default(void)
{
        _cleanup_(arena_freep) struct arena *arena = arena_new();
        struct settings *s = arena ? arena_alloc(arena, sizeof(*s)) : NULL;

        if (!s)
                return NULL;
        *s = (struct settings){
                .arena = STEAL(arena),
                .coalesce_usec = USEC_PER_SEC,
                .heartbeat_usec = 15 * 60 * USEC_PER_SEC,
                .facility = FACILITY_DAEMON,
                .unit_log = true,
                .process_tracking = true,
                .spool_bytes = 64 * MIB,
                .queue_unlimited = true,
                .queue_memory_bytes = 64 * MIB,
                .kernel_ignores = true,
                .placement = PLACEMENT_AUTO,
                .max_directory_marks = 100000,
        };
        return s;
}

void settings_free(struct settings *s)
{
        if (s)
                arena_free(s->arena); /* which owns s too */
}

static void read_setting(struct conf_reader *r, const struct conf_node *node, struct settings *s)
{
        size_t n_names;
        const char *const *names = settings_names(&n_names);

        for (size_t i = 0; i < ELEMENTSOF(settings); i++)
                if (streq(settings[i].name, node->name)) {
                        r->key = node->name;
                        settings[i].read(r, node, s);
                        r->key = NULL;
                        return;
                }
        if (streq(node->name, "watch") || streq(node->name, "ignore") || streq(node->name, "actors"))
                conf_complain(r, &node->source,
                              "\"%s\" belongs into a rule file, rules.d/*.conf, not among the settings",
                              node->name);
        else
                conf_complain(r, &node->source, "unknown setting \"%s\"%s", node->name,
                              conf_hint(r, node->name, names, n_names));
}

int settings_parse(const struct conf_text *files, size_t n_files, struct diag *diag, struct settings **ret)
{
        _cleanup_(settings_freep) struct settings *s = settings_default();
        size_t errors_before = diag->n_errors;

        if (!s)
                return -ENOMEM;
        for (size_t i = 0; i < n_files; i++) {
                struct conf_reader reader = { .arena = s->arena, .diag = diag };
                const struct conf_node *root;
                int r = conftree_parse(&files[i], s->arena, diag, &root);

                if (r == -EINVAL) /* the other files may hold errors too */
                        continue;
                if (r < 0)
                        return r;
                for (size_t j = 0; j < root->n_children; j++)
                        read_setting(&reader, &root->children[j], s);
        }
        diag_sort(diag);
        if (diag->out_of_memory)
                return -ENOMEM;
        if (diag->n_errors > errors_before)
                return -EINVAL;
        *ret = STEAL(s);
        return 0;
}

void settings_print(const struct settings *s, struct strbuf *out)
{
        for (size_t i = 0; i < ELEMENTSOF(settings); i++) {
                const char *quote = settings[i].quoted ? "\"" : "";

                strbuf_addf(out, "%s = %s", settings[i].name, quote);
                settings[i].print(s, out);
                strbuf_addf(out, "%s;\n", quote);
        }
}
