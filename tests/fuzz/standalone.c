/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * main() of a fuzz target where libFuzzer is not linked: runs the target once
 * on each file named, so that a corpus is a regression test of any compiler.
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
        uint8_t *data = NULL;
        size_t size = 0, cap = 0;
        FILE *f = fopen(path, "rb");

        if (!f) {
                fprintf(stderr, "%s: %s\n", path, strerror(errno));
                return -1;
        }
        for (;;) {
                if (size == cap) {
                        uint8_t *bigger = realloc(data, cap = cap ? 2 * cap : 4096);
                        if (!bigger)
                                abort();
                        data = bigger;
                }
                size_t n = fread(data + size, 1, cap - size, f);
                if (n == 0)
                        break;
                size += n;
        }
        fclose(f);

        /* a block of exactly this size: a read one byte too far is seen by ASan and valgrind */
        uint8_t *exact = malloc(size ? size : 1);
        if (!exact)
                abort();
        memcpy(exact, data, size);
        free(data);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
        return 0;
}

int main(int argc, char **argv)
{
        int failed = 0;

        for (int i = 1; i < argc; i++)
                failed |= run_file(argv[i]);
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
