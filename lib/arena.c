/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory comes in chunks that grow from one page to 64 KiB, so that a small
 * value stays small and a large one needs few calls.  What is larger than a
 * chunk gets one of its own.
 */

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>

#include "arena.h"

#define CHUNK_MIN (4096u - sizeof(struct chunk))
#define CHUNK_MAX (64u * 1024u - sizeof(struct chunk))

struct chunk {
        struct chunk *next;
        size_t size, used; /* of data */
        alignas(max_align_t) char data[];
};

struct arena {
        struct chunk *chunks; /* the newest first; allocations come from it */
        size_t used;
};

struct arena *arena_new(void)
{
        return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *a)
{
        if (!a)
                return;
        while (a->chunks) {
                struct chunk *next = a->chunks->next;

                free(a->chunks);
                a->chunks = next;
        }
        free(a);
}

static size_t align_up(size_t offset, size_t align)
{
        return (offset + align - 1) & ~(align - 1);
}

static struct chunk *chunk_new(size_t size)
{
        struct chunk *c;

        if (size > SIZE_MAX - sizeof(*c))
                return NULL;
        c = calloc(1, sizeof(*c) + size);
        if (c)
                c->size = size;
        return c;
}

/* The chunk that takes size more bytes at this alignment. */
static struct chunk *chunk_for(struct arena *a, size_t size, size_t align)
{
        struct chunk *head = a->chunks, *c;
        size_t want = head ? MIN_OF(head->size * 2, (size_t)CHUNK_MAX) : CHUNK_MIN;

        if (head && size <= head->size && align_up(head->used, align) <= head->size - size)
                return head;

        c = chunk_new(MAX_OF(want, size));
        if (!c)
                return NULL;
        if (head && size > want) {
                /* A large block of its own goes behind the head, whose free rest stays in use. */
                c->next = head->next;
                head->next = c;
        } else {
                c->next = head;
                a->chunks = c;
        }
        return c;
}

static void *allocate(struct arena *a, size_t size, size_t align)
{
        struct chunk *c = chunk_for(a, size, align);
        size_t start;

        if (!c)
                return NULL;
        start = align_up(c->used, align);
        c->used = start + size;
        a->used += size;
        return c->data + start;
}

void *arena_alloc(struct arena *a, size_t size)
{
        return allocate(a, MAX_OF(size, (size_t)1), alignof(max_align_t));
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
        size_t total;

        if (__builtin_mul_overflow(count, size, &total))
                return NULL;
        return arena_alloc(a, total);
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
        char *copy;

        if (len == SIZE_MAX)
                return NULL;
        copy = allocate(a, len + 1, 1);
        if (!copy)
                return NULL;
        memcpy(copy, s, len);
        copy[len] = '\0';
        return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
        return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *format, ...)
{
        va_list args;
        char *text;
        int len;

        va_start(args, format);
        len = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (len < 0)
                return NULL;

        text = allocate(a, (size_t)len + 1, 1);
        if (!text)
                return NULL;
        va_start(args, format);
        vsnprintf(text, (size_t)len + 1, format, args);
        va_end(args);
        return text;
}

size_t arena_used(const struct arena *a)
{
        return a->used;
}
