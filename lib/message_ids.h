/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * MESSAGE_ID of each kind of record, one a kind, never changed; the catalog
 * (conf/fawatchd.catalog) explains each for journalctl -x.  The first ten are
 * kinds of events in order of precedence: of merged events the first present
 * one names the record.
 */

#define RECORD_KINDS(X) \
        X(DELETE, delete, "0c3e20a86c6a471f836ab659e9d8ead3") \
        X(RENAME, rename, "4da5483c634444c49da5f70823214cb9") \
        X(CREATE, create, "e1e9e129a07445d1a46a27d76ab3eeec") \
        X(REPLACED, replaced, "f8c9b438f92c4e6998eb5415b6edc167") \
        X(CHANGED, changed, "a3155061652c437593bbc3c9731be74e") \
        X(ATTRIB, attrib, "7d1ed7bff36c44399a7697b72072db4f") \
        X(CONTENT, content, "43858599dc1e43288996b65322a61bba") \
        X(FS_ERROR, fs_error, "f7f44199ab9c4db89e26e6fa68e1ec28") \
        X(EXEC, exec, "ab16636c46974e62bfd6cb43f1bfe9dc") \
        X(READ, read, "db3dd5f613af441fb36ff9ea761696a9") \
        X(STARTED, started, "ae63321b33754b769179e5c2322622aa") \
        X(STOPPING, stopping, "6eec1f6d13534b96bb8ccf0c8bc09b3c") \
        X(RULES_LOADED, rules_loaded, "2cb0dd24ca064ad298c6355b7b6739e5") \
        X(RULES_REFUSED, rules_refused, "0e784517552546de9289cfd4c9fd8933") \
        X(COVERAGE, coverage, "3704f7e7c51b4d1ea8cd438ac5d5e9f6") \
        X(GAP, gap, "8af249a51ec74e23aebd9ecb46feca61") \
        X(SHED, shed, "e944a9435fab42b0ae7c72a013b471e8") \
        X(ALIVE, alive, "11e230aa1d834b98aaea9b4e1c3827bb") \
        X(FEEDBACK, feedback, "021578c0ecfc42139673b47e4c9e6c2f")

enum record_kind {
#define X(upper, lower, id) RECORD_##upper,
        RECORD_KINDS(X)
#undef X
        N_RECORD_KINDS
};

const char *record_kind_name(enum record_kind kind);       /* "rules_loaded" */
const char *record_kind_message_id(enum record_kind kind); /* 32 hex digits */
