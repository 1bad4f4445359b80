/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Was the watch complete?  Takes the records of a journal and says which numbers are
 * there, which are accounted for by a record that says why they are not, which are
 * missing, and when no daemon was there to give numbers.
 */

#include "base.h"
#include "message_ids.h"

struct verify_record {
        const char *stream;    /* 32 hex digits */
        uint64_t seq;
        uint64_t usec;         /* realtime at which the log took it */
        uint64_t running_usec; /* the same on a clock that stands still while the machine does */
        uint64_t late_usec;    /* so long before it was made */
        uint64_t heartbeat_usec; /* something comes at least as often from here on; 0 = it does not say */
        enum record_kind kind; /* N_RECORD_KINDS: not known */
        /* of a shed record */
        const char *shed_seq;  /* "7,9-12", "" of one over a limit */
        uint64_t count;
        /* of a gap record */
        const char *gap, *reason, *where;
        uint64_t from_usec, until_usec;
        const char *last_stream; /* "" or the stream that ended with the gap, */
        uint64_t last_seq;       /* whose numbers went at least up to this */
};

struct verify_span {
        uint64_t from_usec, until_usec;
};

struct verify_range {
        uint64_t first, last;             /* numbers */
        uint64_t after_usec, before_usec; /* when their neighbours were written; 0 = there is none */
};

struct verify_stream {
        char id[33];
        uint64_t floor;                   /* numbers up to this are not asked for */
        bool floor_known;                 /* false: older numbers are not in the log any more */
        uint64_t first, last;             /* of those that are there */
        uint64_t first_usec, last_usec;
        uint64_t n_records, n_repeated;
        uint64_t n_shed, n_limited;       /* accounted: records that a shed record tells of */
        struct verify_range *missing;
        size_t n_missing;
        uint64_t n_numbers_missing;
        bool stopped;                     /* the last record says so */
        bool begins_with_gap;             /* its first records tell of the time before */
        uint64_t ceiling;                 /* it had this number, as somebody else says */
        /* while it is filled */
        struct verify_number { uint64_t seq, usec; } *numbers;
        size_t n_numbers, cap_numbers;
        struct verify_numbers { uint64_t first, last; } *shed;
        size_t n_shed_ranges, cap_shed_ranges;
        uint64_t last_running_usec, heartbeat_usec;
        struct verify_span quiet;         /* the longest time without a record before a heartbeat was known, */
        uint64_t quiet_usec;              /* and how long the machine ran in it */
};

struct verify_gap {
        char *kind, *reason, *where;
        uint64_t from_usec, until_usec;
        bool absence;                     /* no daemon was there */
};

struct verify {
        struct verify_stream *streams;    /* in order of their first record */
        size_t n_streams, cap_streams;
        struct verify_gap *gaps;
        size_t n_gaps, cap_gaps;
        struct verify_span *silences;     /* longer than the heartbeat allows: it stood still */
        size_t n_silences, cap_silences;
        struct verify_span *absences;     /* no daemon was there, and no gap record says so */
        size_t n_absences, cap_absences;
        uint64_t n_records, n_foreign;
};
#define VERIFY_NULL ((struct verify){})
void verify_done(struct verify *v);
#define _cleanup_verify_ _cleanup_(verify_done)

/* A record before the time that is asked about: its stream's numbers are known up to it. */
int verify_add_before(struct verify *v, const char *stream, uint64_t seq);
/* In the log's order.  Return 0 or -ENOMEM. */
int verify_add(struct verify *v, const struct verify_record *r);
/*
 * Asked about is the time from since_usec on, 0 = all there is.  The stream goes on up to
 * this number, as its daemon says (0 = it cannot be asked).
 */
int verify_finish(struct verify *v, uint64_t since_usec, const char *running_stream, uint64_t running_seq);
/* Is this long enough for a daemon with this heartbeat to have stood still?  0 = it has none. */
bool verify_is_silence(uint64_t running_usec, uint64_t heartbeat_usec) _pure_;
/* Nothing is missing and nothing had to be accounted for. */
bool verify_complete(const struct verify *v) _pure_;
/* Numbers that nothing accounts for. */
uint64_t verify_missing(const struct verify *v) _pure_;
