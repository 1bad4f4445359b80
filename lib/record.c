/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Event → record. */

#include "record.h"

#include <errno.h>

#include "escape.h"
#include "message.h"
#include "record_fields.h"
#include "settings.h"

#define IDENTIFIER "fawatchd"
#define LATE_FIELD "\nFAWATCH_REALTIME_USEC="
#define MAX_UNDER 32u
/* most records fit: their buffer then grows once in its life */
#define TYPICAL_RECORD 2048u

uint32_t record_shown_events(uint32_t events)
{
        if (events & (EV_MOVED_FROM | EV_MOVED_TO))
                events |= EV_RENAME;
        if (events & EV_DELETE)
                events &= ~(uint32_t)EV_DELETE_SELF;
        if (events & EV_RENAME)
                events &= ~(uint32_t)EV_MOVE_SELF;
        return events & ((1u << EV_N_NAMES) - 1);
}

enum record_kind record_kind_of(uint32_t events)
{
        static const struct {
                uint32_t events;
                enum record_kind kind;
        } order[] = {
                { EV_DELETE | EV_DELETE_SELF, RECORD_DELETE },
                { EV_RENAME | EV_MOVE_SELF | EV_MOVED_FROM | EV_MOVED_TO, RECORD_RENAME },
                { EV_CREATE, RECORD_CREATE },
                { EV_REPLACED, RECORD_REPLACED },
                { EV_CHANGED, RECORD_CHANGED },
                { EV_ATTRIB, RECORD_ATTRIB },
                { EV_CONTENT, RECORD_CONTENT },
                { EV_FS_ERROR, RECORD_FS_ERROR },
                { EV_OPEN_EXEC, RECORD_EXEC },
        };

        for (size_t i = 0; i < ELEMENTSOF(order); i++)
                if (events & order[i].events)
                        return order[i].kind;
        return RECORD_READ;
}

static int highest_priority(const struct rules *rules, const struct match_hits *hits)
{
        int priority = 7;

        for (size_t i = 0; i < hits->n; i++)
                priority = MIN_OF(priority, rules->watches[hits->v[i].rule].priority);
        return priority;
}

static void add_head(const struct record_context *c, enum record_kind kind, int priority, struct strbuf *out)
{
        enum facility facility = c->settings ? c->settings->facility : FACILITY_DAEMON;

        strbuf_adds(out, "MESSAGE_ID=");
        strbuf_adds(out, record_kind_message_id(kind));
        strbuf_adds(out, "\nPRIORITY=");
        strbuf_addu(out, (uint64_t)priority);
        strbuf_adds(out, "\nSYSLOG_IDENTIFIER=" IDENTIFIER "\nSYSLOG_FACILITY=");
        strbuf_addu(out, (uint64_t)facility);
        strbuf_addc(out, '\n');
}

/* The names one by one, then all of them in one value: many forwarders keep
 * one value of a repeated field. */
static void add_events(const struct fields *f, uint32_t events)
{
        char joined[256];
        size_t len = 0;

        for (uint32_t left = events, bit; left; left &= ~bit) {
                bit = left & -left;

                const char *name = vocab_name(bit);
                size_t n = strlen(name);

                fields_add(f, FIELD_EVENT, name, n);
                if (len > 0)
                        joined[len++] = ',';
                memcpy(joined + len, name, n);
                len += n;
        }
        fields_add(f, FIELD_EVENTS, joined, len);
}

static void add_rules(const struct record_context *c, const struct fields *f, const struct match_hits *hits)
{
        const struct rule *watches = c->rules->watches;

        for (size_t i = 0; i < hits->n; i++)
                fields_adds(f, FIELD_RULE, watches[hits->v[i].rule].clause.name);

        strbuf_adds(f->out, "FAWATCH_RULES=");
        for (size_t i = 0; i < hits->n; i++) {
                if (i > 0)
                        strbuf_addc(f->out, ',');
                strbuf_adds(f->out, watches[hits->v[i].rule].clause.name);
        }
        strbuf_addc(f->out, '\n');
}

static bool has_tag_before(const struct rule *watches, const struct match_hits *hits, size_t hit,
                           const char *tag)
{
        for (size_t i = 0; i < hit; i++) {
                const struct strings *tags = &watches[hits->v[i].rule].tags;

                for (size_t k = 0; k < tags->n; k++)
                        if (streq(tags->v[k], tag))
                                return true;
        }
        return false;
}

static void add_tags(const struct record_context *c, const struct fields *f, const struct match_hits *hits)
{
        const struct rule *watches = c->rules->watches;

        for (size_t i = 0; i < hits->n; i++) {
                const struct strings *tags = &watches[hits->v[i].rule].tags;

                for (size_t k = 0; k < tags->n; k++)
                        if (!has_tag_before(watches, hits, i, tags->v[k]))
                                fields_adds(f, FIELD_TAG, tags->v[k]);
        }
}

/* A walk over the directories above an absolute path, from the top down. */
struct ancestors {
        const struct bytes *path;
        size_t len; /* of the directory the walk is at; 0 = before the first */
        bool done;
};

static void ancestors_next(struct ancestors *a)
{
        const char *slash = NULL;

        if (!a->done && a->path->p && a->len + 1 < a->path->len)
                slash = memchr(a->path->p + a->len + 1, '/', a->path->len - a->len - 1);
        a->done = !slash;
        if (slash)
                a->len = (size_t)(slash - a->path->p);
}

static bool same(const struct bytes *a, size_t a_len, const struct bytes *b, size_t b_len)
{
        return a->p && b->p && a_len == b_len && memcmp(a->p, b->p, a_len) == 0;
}

static size_t add_name_under(const struct fields *f, const struct bytes *name)
{
        if (!name->p || name->len < 2) /* "/" */
                return 0;
        fields_add(f, FIELD_UNDER, name->p, name->len);
        return 1;
}

/*
 * Both names, then the directories above them from the top down, in turn: where
 * there are more than MAX_UNDER it is the deepest that are left out, never "/etc".
 */
static void add_under(const struct fields *f, const struct event *e)
{
        const struct bytes *path = &e->path, *old = &e->old_path;
        struct ancestors a = { .path = path }, b = { .path = old };
        size_t n = add_name_under(f, path);

        if (!same(path, path->len, old, old->len))
                n += add_name_under(f, old);
        for (;;) {
                ancestors_next(&a);
                ancestors_next(&b);
                if (a.done && b.done)
                        break;
                if (!a.done && n < MAX_UNDER)
                        fields_add(f, FIELD_UNDER, path->p, a.len), n++;
                if (!b.done && n < MAX_UNDER && (a.done || !same(path, a.len, old, b.len)))
                        fields_add(f, FIELD_UNDER, old->p, b.len), n++;
        }
}

static void add_paths(const struct fields *f, const struct event *e)
{
        fields_add(f, FIELD_PATH, e->path.p, e->path.len);
        fields_add(f, FIELD_OLD_PATH, e->old_path.p, e->old_path.len);
        if (!e->path.p)
                fields_add(f, FIELD_NAME, e->name.p, e->name.len);
        /* inside a filesystem: its directories are not those of the same names here */
        if (e->path_state != PATH_INSIDE)
                add_under(f, e);
}

static void add_device(const struct fields *f, uint32_t major, uint32_t minor)
{
        if (f->omit & FIELD_BIT(FIELD_DEVICE))
                return;
        strbuf_adds(f->out, "FAWATCH_DEVICE=");
        strbuf_addu(f->out, major);
        strbuf_addc(f->out, ':');
        strbuf_addu(f->out, minor);
        strbuf_addc(f->out, '\n');
}

static void add_owner(const struct fields *f, enum record_field field, const char *name, uint32_t id)
{
        if (name)
                fields_adds(f, field, name);
        else if (id != ID_UNKNOWN)
                fields_addu(f, field, id);
}

static void add_object(const struct fields *f, const struct event *e)
{
        const struct object *o = &e->object;
        uint32_t type = o->type ? o->type : e->is_dir ? (uint32_t)TYPE_DIRECTORY : 0;

        fields_adds(f, FIELD_TYPE, type ? vocab_type_name(type) : NULL);
        if (o->known)
                add_device(f, o->dev_major, o->dev_minor);
        else if (e->sdev_major || e->sdev_minor)
                add_device(f, e->sdev_major, e->sdev_minor);
        if (o->known)
                fields_addu(f, FIELD_INODE, o->ino);
        fields_adds(f, FIELD_FSTYPE, e->fstype);
        if (o->known) {
                char mode[] = { (char)('0' + (o->mode >> 9 & 7)), (char)('0' + (o->mode >> 6 & 7)),
                                (char)('0' + (o->mode >> 3 & 7)), (char)('0' + (o->mode & 7)) };

                fields_add(f, FIELD_MODE, mode, sizeof(mode));
                add_owner(f, FIELD_OWNER, o->owner, o->uid);
                add_owner(f, FIELD_OWNER_GROUP, o->owner_group, o->gid);
                if (type & (TYPE_FILE | TYPE_SYMLINK)) /* of others it says nothing about content */
                        fields_addu(f, FIELD_SIZE, o->size);
        }
        fields_adds(f, FIELD_PATH_STATE, path_state_name(e->path_state));
        fields_adds(f, FIELD_SOURCE, e->source);
        fields_add(f, FIELD_CAUSE, e->cause.p, e->cause.len);
        if (e->events & EV_FS_ERROR) {
                fields_addu(f, FIELD_ERRNO, (uint64_t)e->fs_errno);
                fields_addu(f, FIELD_ERROR_COUNT, e->fs_error_count);
        }
}

static void add_id(const struct fields *f, enum record_field field, uint32_t id)
{
        if (id != ID_UNKNOWN)
                fields_addu(f, field, id);
}

/* A kernel thread acts for somebody else (nfsd, loop): its own uid 0 would be a wrong name. */
static void add_identity(const struct fields *f, const struct actor *a)
{
        add_id(f, FIELD_UID, a->uid);
        if (a->euid != a->uid)
                add_id(f, FIELD_EUID, a->euid);
        add_id(f, FIELD_GID, a->gid);
        fields_adds(f, FIELD_USER, a->user);
        add_id(f, FIELD_LOGINUID, a->loginuid);
        fields_adds(f, FIELD_LOGIN_USER, a->login_user);
        fields_adds(f, FIELD_SESSION, a->session);
        fields_adds(f, FIELD_TTY, a->tty);
}

static void add_actor(const struct fields *f, const struct event *e)
{
        const struct actor *a = e->actor;

        if (a->pid > 0)
                fields_addu(f, FIELD_PID, (uint64_t)a->pid);
        fields_adds(f, FIELD_COMM, a->comm);
        fields_adds(f, FIELD_EXE, a->exe);
        if (a->exe)
                fields_adds(f, FIELD_EXE_STATE, a->exe_deleted ? "deleted" : NULL);
        fields_add(f, FIELD_CMDLINE, a->cmdline.p, a->cmdline.len);
        fields_adds(f, FIELD_NEXT_COMM, a->next_comm);
        fields_adds(f, FIELD_NEXT_EXE, a->next_exe);
        if (e->attribution != ATTRIBUTION_KERNEL)
                add_identity(f, a);
        if (a->ppid > 0)
                fields_addu(f, FIELD_PPID, (uint64_t)a->ppid);
        fields_adds(f, FIELD_PARENT_COMM, a->parent_comm);
        fields_adds(f, FIELD_ANCESTRY, a->ancestry);
        fields_adds(f, FIELD_UNIT, a->unit);
        fields_adds(f, FIELD_USER_UNIT, a->user_unit);
        fields_adds(f, FIELD_SLICE, a->slice);
        fields_adds(f, FIELD_CGROUP, a->cgroup);
        fields_adds(f, FIELD_CONTAINER, a->container);
        fields_adds(f, FIELD_ATTRIBUTION, attribution_name(e->attribution));
}

static void add_numbers(const struct record_context *c, const struct fields *f)
{
        fields_adds(f, FIELD_STREAM, c->stream);
        fields_addu(f, FIELD_SEQ, c->seq);
        fields_addu(f, FIELD_GENERATION, c->generation);
}

/* journalctl -u UNIT then shows it among the unit's own messages.  OBJECT_PID
 * would let journald look the process up itself, later: by then it may be another program. */
static void add_unit_log(const struct record_context *c, const struct fields *f, const struct event *e)
{
        bool certain = e->attribution == ATTRIBUTION_VERIFIED || e->attribution == ATTRIBUTION_PROCESS ||
                       e->attribution == ATTRIBUTION_TRACKED;

        if (certain && e->actor->unit && !(f->omit & FIELD_BIT(FIELD_UNIT)) &&
            (!c->settings || c->settings->unit_log))
                record_fields(f->out, "OBJECT_SYSTEMD_UNIT", e->actor->unit);
}

int record_event(const struct record_context *c, const struct event *e, const struct match_hits *hits,
                 uint64_t now_usec, struct strbuf *out)
{
        struct fields f = { .out = out, .omit = record_omitted(c->settings) };
        int priority = highest_priority(c->rules, hits);

        strbuf_reserve(out, TYPICAL_RECORD);
        strbuf_adds(out, "MESSAGE=");
        message_event(c, e, hits, f.omit, out);
        strbuf_addc(out, '\n');
        add_head(c, record_kind_of(e->events), priority, out);

        add_events(&f, record_shown_events(e->events));
        add_rules(c, &f, hits);
        add_tags(c, &f, hits);
        add_paths(&f, e);
        add_object(&f, e);
        add_actor(&f, e);
        fields_adds(&f, FIELD_ORIGIN, origin_name(e->origin));
        add_numbers(c, &f);
        if (e->count >= 2) {
                fields_addu(&f, FIELD_COUNT, e->count);
                fields_addu(&f, FIELD_FIRST_USEC, e->first_usec);
                fields_addu(&f, FIELD_LAST_USEC, e->last_usec);
        }
        add_unit_log(c, &f, e);
        if (now_usec > e->read_realtime_usec && now_usec - e->read_realtime_usec > RECORD_LATE_USEC)
                record_end(e->read_realtime_usec, out);
        return strbuf_failed(out) ? -ENOMEM : priority;
}

void record_begin(const struct record_context *c, enum record_kind kind, int priority, const char *message,
                  struct strbuf *out)
{
        struct fields f = { .out = out };

        strbuf_adds(out, "MESSAGE=");
        escape_text(message, strlen(message), out);
        strbuf_addc(out, '\n');
        add_head(c, kind, priority, out);
        strbuf_adds(out, "DOCUMENTATION=man:fawatchd.fields(7)\n");
        add_numbers(c, &f);
}

void record_end(uint64_t realtime_usec, struct strbuf *out)
{
        struct fields f = { .out = out };

        fields_addu(&f, FIELD_REALTIME_USEC, realtime_usec);
}

size_t record_sent_length(const char *record, size_t len, uint64_t now_usec)
{
        const size_t prefix = sizeof(LATE_FIELD) - 1;
        uint64_t stamp = 0, unit = 1;
        size_t pos = len;

        if (pos == 0 || record[--pos] != '\n')
                return len;
        for (; pos > 0 && record[pos - 1] >= '0' && record[pos - 1] <= '9'; unit *= 10)
                stamp += unit * (uint64_t)(record[--pos] - '0');
        if (pos < prefix || memcmp(record + pos - prefix, LATE_FIELD, prefix) != 0)
                return len;
        if (now_usec > stamp && now_usec - stamp > RECORD_LATE_USEC)
                return len;
        return pos - prefix + 1; /* the newline ends the field before */
}

int record_next(struct record_cursor *c, struct bytes *ret_name, struct bytes *ret_value)
{
        const char *p = c->data + c->pos;
        size_t left = c->len - c->pos;
        const char *end = left > 0 ? memchr(p, '\n', left) : NULL;
        const char *equals;

        if (left == 0)
                return 0;
        if (!end)
                return -EBADMSG;
        equals = memchr(p, '=', (size_t)(end - p));
        if (equals) {
                *ret_name = (struct bytes){ p, (size_t)(equals - p) };
                *ret_value = (struct bytes){ equals + 1, (size_t)(end - equals - 1) };
                c->pos += (size_t)(end - p) + 1;
                return ret_name->len > 0 ? 1 : -EBADMSG;
        }

        /* "NAME\n", 64 bit length, value, "\n" */
        size_t head = (size_t)(end - p) + 1;
        uint64_t size = 0;

        if (head == 1 || left - head < 8 + 1)
                return -EBADMSG;
        for (size_t i = 0; i < 8; i++)
                size |= (uint64_t)(uint8_t)p[head + i] << (8 * i);
        if (size > left - head - 8 - 1 || p[head + 8 + size] != '\n')
                return -EBADMSG;
        *ret_name = (struct bytes){ p, head - 1 };
        *ret_value = (struct bytes){ p + head + 8, (size_t)size };
        c->pos += head + 8 + (size_t)size + 1;
        return 1;
}
