/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "conf_pack.h"

#include <errno.h>

/* Of one kind: a head, then for each text its own head, name and text, both with a NUL. */
struct pack_head {
        char magic[8];
        uint64_t n;
};
struct pack_text {
        uint64_t name_len, text_len;
};
#define PACK_MAGIC "fawconf1"

void conf_pack(const struct conf_text *texts, size_t n, struct strbuf *out)
{
        struct pack_head head = { .n = n };

        memcpy(head.magic, PACK_MAGIC, sizeof(head.magic));
        strbuf_add(out, &head, sizeof(head));
        for (size_t i = 0; i < n; i++) {
                const struct pack_text t = { strlen(texts[i].name), texts[i].len };

                strbuf_add(out, &t, sizeof(t));
                strbuf_add(out, texts[i].name, t.name_len + 1);
                strbuf_add(out, texts[i].text, t.text_len);
                strbuf_addc(out, '\0');
        }
}

struct unpacker {
        const char *data;
        size_t len, at;
};

static const char *take(struct unpacker *u, uint64_t n)
{
        const char *p = u->data + u->at;

        if (n > u->len - u->at)
                return NULL;
        u->at += (size_t)n;
        return p;
}

/* len bytes and a NUL. */
static int take_text(struct unpacker *u, uint64_t len, char **ret)
{
        const char *p = len < u->len ? take(u, len + 1) : NULL;
        char *copy;

        if (!p || p[len] != '\0')
                return -EBADMSG;
        copy = malloc((size_t)len + 1);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, p, (size_t)len + 1);
        *ret = copy;
        return 0;
}

static int take_one(struct unpacker *u, struct conf_text *ret)
{
        const char *p = take(u, sizeof(struct pack_text));
        struct pack_text t;
        int r;

        if (!p)
                return -EBADMSG;
        memcpy(&t, p, sizeof(t));
        r = take_text(u, t.name_len, &ret->name);
        if (r < 0)
                return r;
        ret->len = (size_t)t.text_len;
        return take_text(u, t.text_len, &ret->text);
}

static void texts_free(struct conf_text *texts, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                free(texts[i].name);
                free(texts[i].text);
        }
        free(texts);
}

int conf_unpack(const char *data, size_t len, size_t *at, struct conf_text **ret_texts, size_t *ret_n)
{
        struct unpacker u = { data, len, *at };
        const char *p = *at <= len ? take(&u, sizeof(struct pack_head)) : NULL;
        struct pack_head head;
        struct conf_text *texts;
        int r = 0;

        if (!p)
                return -EBADMSG;
        memcpy(&head, p, sizeof(head));
        /* each takes room: so a wrong number is no reason to ask for much memory */
        if (memcmp(head.magic, PACK_MAGIC, sizeof(head.magic)) != 0 ||
            head.n > (len - u.at) / sizeof(struct pack_text))
                return -EBADMSG;
        texts = calloc((size_t)head.n + 1, sizeof(*texts));
        if (!texts)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < head.n; i++)
                r = take_one(&u, &texts[i]);
        if (r < 0) {
                texts_free(texts, (size_t)head.n);
                return r;
        }
        *at = u.at;
        *ret_texts = texts;
        *ret_n = (size_t)head.n;
        return 0;
}
