/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Event → one record, as the bytes of journald's native protocol: "NAME=VALUE\n"
 * where the value holds no newline, else "NAME\n", its length as 64 bit little
 * endian, the value, "\n" (systemd: "Native Journal Protocol").  One record is
 * one datagram; the same bytes wait in the spool, go to followers, and are turned
 * into a JSON line by the stdout sink.
 */

#include "event.h"
#include "match.h"
#include "message_ids.h"
#include "strbuf.h"

/* What is the same for many records. */
struct record_context {
        const char *stream;        /* 32 hex digits */
        uint64_t seq;
        uint64_t generation;
        const struct settings *settings; /* omit, facility, unit_log */
        const struct rules *rules;       /* names, priorities, tags of the hits */
};

/* The events as a record names them: a directory's delete_self and delete,
 * move_self and rename, are one; halves of a rename are renames. */
uint32_t record_shown_events(uint32_t events) _pure_;
/* Precedence: the kind of a record whose events are these EV_ bits. */
enum record_kind record_kind_of(uint32_t events) _pure_;

/*
 * Appends one whole record of an event to out.  hits: the rules (≥ 1); its
 * priority is the highest of theirs.  now_usec: realtime; FAWATCH_REALTIME_USEC
 * is written when event->read_realtime_usec is more than a second before it.
 * Returns the priority 0..7, or -ENOMEM (out is then unusable).
 */
int record_event(const struct record_context *c, const struct event *e, const struct match_hits *hits,
                 uint64_t now_usec, struct strbuf *out);

/*
 * A record that is no event: begin, then any number of fields.  begin writes
 * MESSAGE (made UTF-8 without control characters), MESSAGE_ID, PRIORITY,
 * SYSLOG_IDENTIFIER, SYSLOG_FACILITY, FAWATCH_STREAM, _SEQ, _GENERATION,
 * DOCUMENTATION=.
 */
void record_begin(const struct record_context *c, enum record_kind kind, int priority, const char *message,
                  struct strbuf *out);
void record_field(struct strbuf *out, const char *name, const char *value, size_t len);
void record_fields(struct strbuf *out, const char *name, const char *value); /* NULL: nothing */
void record_fieldu(struct strbuf *out, const char *name, uint64_t value);

/*
 * A record that waits does not know yet how late it will be sent.  So it is made
 * with FAWATCH_REALTIME_USEC as its last field (by record_event() with now_usec
 * UINT64_MAX, or by record_end()), and this gives the length to send at now_usec:
 * without that field unless it is more than a second old.
 */
#define RECORD_LATE_USEC USEC_PER_SEC
void record_end(uint64_t realtime_usec, struct strbuf *out);
size_t record_sent_length(const char *record, size_t len, uint64_t now_usec) _pure_;

struct record_cursor {
        const char *data;
        size_t len, pos;
};
/* Walks the fields of one record.  1 = a field, 0 = end, -EBADMSG. */
int record_next(struct record_cursor *c, struct bytes *ret_name, struct bytes *ret_value);

/*
 * One JSON line (with "\n") of a record: names in lower case without
 * "FAWATCH_"; event, rule, tag, under always arrays; numbers as numbers where
 * the field is one; bytes that are not UTF-8 replaced (U+FFFD) and given whole in
 * NAME_raw as an array of numbers (of a list: an array of those, null where the
 * value is whole); other names that repeat become lists too.  First comes "time" in
 * RFC 3339 with microseconds: of FAWATCH_REALTIME_USEC if the record has it, else
 * of now_usec.  Returns 0, -EBADMSG, -ENOMEM.
 */
int record_json(const char *record, size_t len, uint64_t now_usec, struct strbuf *out);

/* Every FAWATCH_ field a record may hold, for the man page's lint and `omit`. */
struct record_field_info { const char *name; /* "FAWATCH_PATH" */ bool may_omit; };
const struct record_field_info *record_field_table(size_t *ret_n);
