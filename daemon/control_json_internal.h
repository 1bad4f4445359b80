/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Building blocks of the answers.  Memory that is short shows at the end: json_finish(). */

#include <jansson.h>

#include "control_json.h"

json_t *json_of_text(const char *s);     /* made fit to be read; NULL: null */
json_t *json_of_number(uint64_t n);
json_t *json_of_error(int error);        /* "ENOSPC"; 0: null */
json_t *json_of_mask(uint64_t mask);     /* names of FAN_ bits, flags last */
json_t *json_of_events(uint32_t events); /* of EV_ bits */
json_t *json_of_mark_object(const struct mark_object *o);
json_t *json_of_mark_flags(const struct mark *m);
json_t *json_of_group(const struct group_key *key);
/* Both take value over. */
void json_append(json_t *array, json_t *value);
void json_set(json_t *object, const char *key, json_t *value);
/* Adds root as text and frees it.  0 or -ENOMEM. */
int json_finish(json_t *root, struct strbuf *out);
