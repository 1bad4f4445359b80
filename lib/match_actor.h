/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Conditions on who did it (`only`, and the actor keys of ignore and except),
 * compiled: globs translated, names replaced by their ids, sets resolved.
 */

#include "match.h"

/* What is not known is neither: an ignore takes YES only, an `only` refuses NO only. */
enum actor_truth { ACTOR_NO, ACTOR_UNKNOWN, ACTOR_YES };

struct actor_test;

/* Compiles and owns the tests of one rule set. */
struct actor_tests;

/* Compiles the actor sets.  Borrows rules and world.  Returns 0, -ENOMEM, or
 * -EINVAL for a glob that does not compile; free with actor_tests_free(), which
 * accepts NULL. */
int actor_tests_new(const struct rules *rules, const struct world *world, struct actor_tests **ret);
void actor_tests_free(struct actor_tests *tests);
DEFINE_CLEANUP(struct actor_tests, actor_tests_free);

/* Same returns; *ret is NULL when there is no condition. */
int actor_tests_compile(struct actor_tests *tests, const struct actors *actors,
                        const struct actor_test **ret);

/*
 * facts->actor may be NULL: then nothing is known.  Where globs and ancestors decide and the
 * actor has an id, the answer is kept for its next events, in the tests that own this one: not
 * for two threads at once.
 */
enum actor_truth actor_test_eval(const struct actor_test *test, const struct match_facts *facts);
/* How often such an answer was looked up in vain. */
uint64_t actor_tests_decided(const struct actor_tests *tests) _pure_;
/* Does the answer depend on who owns the directory ("@owner")? */
bool actor_test_asks_owner(const struct actor_test *test);
