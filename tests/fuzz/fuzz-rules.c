/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes as a rule file and as settings.  What is taken prints as text that
 * is taken again and prints the same; what is refused is refused with a reason.
 */

#include <assert.h>
#include <errno.h>

#include "escape.h"
#include "settings.h"
#include "strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_findings(const struct diag *diag)
{
        for (size_t i = 0; i < diag->n_entries; i++) {
                const char *text = diag->entries[i].text;

                assert(*text && utf8_valid(text, strlen(text)) && !strchr(text, '\n'));
        }
}

static int print(char *name, const char *text, size_t len, struct strbuf *out)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_(rules_freep) struct rules *rules = NULL;
        struct conf_text file = { .name = name, .text = (char *)text, .len = len };
        int r = rules_parse(&file, 1, &diag, &rules);

        assert(r == 0 || r == -ENOMEM || (r == -EINVAL && diag.n_errors > 0));
        if (r == 0) {
                rules_lint(rules, &diag);
                assert(diag.n_errors == 0);
                rules_print(rules, false, out);
        }
        check_findings(&diag);
        return r;
}

static int print_settings(char *name, const char *text, size_t len, struct strbuf *out)
{
        _cleanup_diag_ struct diag diag = DIAG_NULL;
        _cleanup_(settings_freep) struct settings *settings = NULL;
        struct conf_text file = { .name = name, .text = (char *)text, .len = len };
        int r = settings_parse(&file, 1, &diag, &settings);

        assert(r == 0 || r == -ENOMEM || (r == -EINVAL && diag.n_errors > 0));
        if (r == 0)
                settings_print(settings, out);
        check_findings(&diag);
        return r;
}

static void round_trip(int (*once)(char *name, const char *text, size_t len, struct strbuf *out),
                       const uint8_t *data, size_t size)
{
        _cleanup_strbuf_ struct strbuf first = STRBUF_NULL, second = STRBUF_NULL;
        char name[] = "fuzz.conf";

        if (once(name, (const char *)data, size, &first) < 0 || strbuf_failed(&first))
                return;
        /* Canonical text can be longer than a file may be. */
        if (first.len > RULE_FILE_MAX_BYTES)
                return;
        assert(once(name, strbuf_str(&first), first.len, &second) == 0);
        assert(streq(strbuf_str(&first), strbuf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        round_trip(print, data, size);
        round_trip(print_settings, data, size);
        return 0;
}
