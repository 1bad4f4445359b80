/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* How a spool lies in its area; shared by the two files of it and nobody else. */

#include "spool.h"

#define SPOOL_ALIGN 4096u
#define SPOOL_MAGIC "fawspool"
/* Another layout is another version: the one before is then told as a gap, not read. */
#define SPOOL_VERSION 2u

struct spool_slot {
        uint32_t len, check;
};

/* Records stand from head to tail; where tail is before head, from head to end and from
 * the start to tail. */
struct spool_ring {
        uint64_t head, tail, end;
        uint64_t count, bytes;
        uint64_t sending; /* records from the front that the log may have */
};

struct spool_copy {
        uint64_t check; /* of what follows, up to the last of the account in use */
        struct spool_ring ring;
        struct spool_state state;
};

struct spool_area {
        char magic[8];
        uint32_t version, header_bytes;
        uint64_t max_bytes, window_bytes, ring_bytes;
        char stream[40];
        uint64_t check; /* of all before */
        uint32_t in_force;
        _Alignas(64) struct spool_copy copies[2];
        _Alignas(64) uint8_t notes[SPOOL_NOTES_BYTES];
};

struct spool {
        struct spool_area *area;
        uint8_t *windows;
        char *ring;
        size_t max_bytes;
        struct spool_copy work;
        void *own;
};

size_t spool_copy_size(const struct spool_copy *c) _pure_;
uint64_t spool_copy_check(const struct spool_copy *c) _pure_;
uint32_t spool_record_check(const char *record, size_t len) _pure_;
