/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A bounded cache: short byte keys → values, the longest unused leaves first.
 * Bounded twice, by entries and by the weight that the caller gives each of them
 * (bytes, as a rule), so that a few huge values cannot take what many small ones
 * would.  It knows nothing of what it holds.
 */

#include "base.h"

struct lru;

/* Called once for each value that leaves, for whatever reason. */
typedef void (*lru_drop_fn)(void *userdata, void *value);

/* max_entries ≥ 1.  Returns 0 or -ENOMEM. */
int lru_new(size_t max_entries, size_t max_weight, lru_drop_fn drop, void *userdata, struct lru **ret);
/* Drops all values; accepts NULL. */
void lru_free(struct lru *l);
DEFINE_CLEANUP(struct lru, lru_free);

/* The value, which then counts as just used; NULL when there is none. */
void *lru_get(struct lru *l, const void *key, size_t len);
/* Takes value over on success, and drops what stood under the key before and what is
 * over the bounds.  The new value itself always stays.  Returns 0 or -ENOMEM (value is
 * still the caller's). */
int lru_put(struct lru *l, const void *key, size_t len, void *value, size_t weight);
/* Drops the value; false when there was none. */
bool lru_remove(struct lru *l, const void *key, size_t len);
/* As lru_get(), but the order of use stays. */
void *lru_peek(const struct lru *l, const void *key, size_t len);
/* Looks at n values, the longest unused first: those for which leaves() is true are dropped, the others count as used.
 * So the next n are others, as long as nothing else changes the order, and after all of them it is as before. */
void lru_turn(struct lru *l, size_t n, bool (*leaves)(void *arg, void *value), void *arg);
/* Drops every value for which leaves() is true; returns how many. */
size_t lru_remove_if(struct lru *l, bool (*leaves)(void *arg, void *value), void *arg);
void lru_clear(struct lru *l);

size_t lru_count(const struct lru *l) _pure_;
size_t lru_weight(const struct lru *l) _pure_;

/* The hash it uses, for other tables of short byte keys. */
uint64_t lru_hash(const void *key, size_t len) _pure_;
