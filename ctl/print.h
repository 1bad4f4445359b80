/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Output for people and programs: tones, times, aligned columns, findings. */

#include <jansson.h>
#include <stdio.h>

#include "diag.h"
#include "strbuf.h"

enum tone { TONE_PLAIN, TONE_GOOD, TONE_WARNING, TONE_BAD, TONE_DIM, TONE_STRONG };
/* Escape sequences, or "" where the stream is no terminal or NO_COLOR is set. */
const char *tone_on(FILE *f, enum tone tone);
const char *tone_off(FILE *f, enum tone tone);
/* The text between both. */
void print_toned(FILE *f, enum tone tone, const char *text);

/* "fawatchctl: ..." on standard error. */
void complain(const char *format, ...) _printf_(1, 2);

/* Bytes as they are, ended by a newline. */
void print_answer(const char *bytes, size_t len);

/* "2026-05-01 12:00:00", local time; with micro ".123456" more. */
void format_time(uint64_t usec, bool micro, char *buffer, size_t size);
#define TIME_SIZE 40
/* "3h 12min": two units at most, of what has passed since. */
void format_ago(uint64_t usec, char *buffer, size_t size);
#define AGO_SIZE 40

/* Members of an answer; what is absent or of another type is "", 0, false or empty. */
const char *json_text(const json_t *object, const char *key);
uint64_t json_number(const json_t *object, const char *key);
bool json_flag(const json_t *object, const char *key);
/* One line, in the order it came. */
void print_json(const json_t *json);
/* Array of strings, joined. */
void json_join(const json_t *array, const char *separator, struct strbuf *out);

/* One finding as "FILE:LINE: error: TEXT", the severity in its colour. */
void print_finding(FILE *f, enum diag_severity severity, const char *file, unsigned line, const char *text);
/* "diagnostics" of an answer. */
void print_json_findings(FILE *f, const json_t *array);

/* Rows of cells, each column as wide as its widest cell, the last one free. */
#define TABLE_COLUMNS 8
struct table {
        char *(*rows)[TABLE_COLUMNS];
        size_t n_rows, n_columns;
        bool failed; /* memory was short */
};
void table_done(struct table *t);
#define _cleanup_table_ _cleanup_(table_done)
/* A row of n_columns strings, copied; the first row made sets n_columns. */
void table_add(struct table *t, const char *const *cells, size_t n_columns);
/* Prints it with a heading in the first row; tone_of (may be NULL) says each row's tone. */
void table_print(const struct table *t, FILE *f, enum tone (*tone_of)(void *userdata, size_t row),
                 void *userdata);
