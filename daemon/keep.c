/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "keep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "conf_pack.h"
#include "fdutil.h"

#define SPOOL_PREFIX "spool-"
#define RULES_PREFIX "rules-"
/* Not F_SEAL_WRITE: it forbids the mapping that is written to. */
#define SPOOL_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RULES_SEALS (SPOOL_SEALS | F_SEAL_WRITE)
/* Percent of the machine's memory that a spool may take. */
#define MACHINE_SHARE 25

static void numbered_name(char name[static 48], const char *prefix, uint64_t number)
{
        (void)snprintf(name, 48, "%s%" PRIu64, prefix, number);
}

/* ---- the spool ---- */

static int map(int fd, size_t size, void **ret)
{
        void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (area == MAP_FAILED)
                return -errno;
        *ret = area;
        return 0;
}

/* To allocate what the machine does not have would end other processes first. */
static bool is_too_much(size_t size)
{
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

        return pages > 0 && page > 0 && size / MACHINE_SHARE >= (size_t)pages * (size_t)page / 100;
}

/* Allocated in full: later there may be no memory, and a page that is missing kills. */
static int make_file(size_t size, int *ret)
{
        if (is_too_much(size))
                return -ENOMEM;
        _cleanup_close_ int fd = memfd_create("fawatchd-spool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        if (fallocate(fd, 0, 0, (off_t)size) < 0 || fcntl(fd, F_ADD_SEALS, SPOOL_SEALS) < 0)
                return -errno;
        *ret = STEAL_FD(fd);
        return 0;
}

static int make_spool(struct store *store, size_t max_bytes, size_t window_bytes, const char *stream,
                      uint64_t number, struct spool **ret)
{
        size_t size = spool_area_size(max_bytes, window_bytes);
        _cleanup_close_ int fd = -1;
        char name[48];
        void *area = NULL;

        int r = make_file(size, &fd);
        if (r == 0)
                r = map(fd, size, &area);
        if (r < 0)
                return r;
        spool_format(area, max_bytes, window_bytes, stream);
        r = spool_attach(area, size, ret);
        if (r < 0) {
                (void)munmap(area, size);
                return r;
        }
        numbered_name(name, SPOOL_PREFIX, number);
        store_put(store, name, fd);
        return 0;
}

/* Whoever made it: nobody can change its size below our mapping. */
static int open_spool(int fd, struct spool **ret, void **ret_area, size_t *ret_size)
{
        struct stat st;
        int seals = fcntl(fd, F_GET_SEALS);
        void *area = NULL;

        if (seals < 0 || (seals & SPOOL_SEALS) != SPOOL_SEALS || fstat(fd, &st) < 0 || st.st_size <= 0)
                return -EBADMSG;
        if (is_too_much((size_t)st.st_size))
                return -EFBIG;
        if ((uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size) /* a hole is a page that may not be had */
                return -EBADMSG;
        int r = map(fd, (size_t)st.st_size, &area);
        if (r < 0)
                return r;
        r = spool_attach(area, (size_t)st.st_size, ret);
        if (r < 0) {
                (void)munmap(area, (size_t)st.st_size);
                return r;
        }
        *ret_area = area;
        *ret_size = (size_t)st.st_size;
        return 0;
}

static const char *fault_of(int error)
{
        switch (error) {
        case -EPROTO:
                return "the spool of the process before is another version's";
        case -EBADMSG:
                return "the spool of the process before is damaged";
        case -EFBIG:
                return "the spool of the process before is larger than a quarter of the memory";
        default:
                return "the spool of the process before could not be opened";
        }
}

int keep_spool(struct store *store, size_t max_bytes, size_t window_bytes, const char *new_stream,
               struct kept_spool *ret)
{
        struct kept_spool k = {};
        struct spool *old = NULL, *new = NULL;
        size_t size = 0;
        void *area = NULL;
        char name[48];

        *ret = k;
        if (!store_works(store))
                return 0;
        _cleanup_close_ int fd = store_take_numbered(store, SPOOL_PREFIX, &k.number);
        numbered_name(name, SPOOL_PREFIX, k.number);
        if (fd >= 0) {
                int r = open_spool(fd, &old, &area, &size);
                if (r == -ENOMEM)
                        return r;
                k.fault = r < 0 ? fault_of(r) : NULL;
                k.found = r == 0;
        }
        k.spool = old;
        /* another size: not while more waits than would fit into it */
        if (!old || (size != spool_area_size(max_bytes, window_bytes) && spool_bytes(old) <= max_bytes / 2)) {
                int r = make_spool(store, max_bytes, window_bytes, old ? spool_stream(old) : new_stream,
                                   k.number + 1, &new);
                if (r == 0 && old)
                        (void)spool_take_over(new, old);
                if (r == 0 && fd >= 0)
                        store_drop(store, name);
                if (r == 0 && old) {
                        spool_free(old);
                        (void)munmap(area, size);
                }
                if (r == 0) {
                        k.spool = new;
                        k.number++;
                }
        }
        *ret = k;
        return 0;
}

/* ---- rules ---- */

static int write_all(int fd, const char *p, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, p, len);

                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n > 0) {
                        p += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

int keep_rules(struct store *store, uint64_t number, const struct conf_set *settings,
               const struct conf_set *rules)
{
        _cleanup_strbuf_ struct strbuf pack = STRBUF_NULL;
        char name[48];

        if (!store_works(store))
                return 0;
        conf_pack(settings->texts, settings->n, &pack);
        conf_pack(rules->texts, rules->n, &pack);
        if (strbuf_failed(&pack))
                return -ENOMEM;

        _cleanup_close_ int fd = memfd_create("fawatchd-rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
                return -errno;
        int r = write_all(fd, pack.data, pack.len);
        if (r == 0 && fcntl(fd, F_ADD_SEALS, RULES_SEALS) < 0)
                r = -errno;
        if (r < 0)
                return r;
        /* The new ones first: at no moment there are none. */
        numbered_name(name, RULES_PREFIX, number);
        store_put(store, name, fd);
        if (number > 1) {
                numbered_name(name, RULES_PREFIX, number - 1);
                store_drop(store, name);
        }
        return 0;
}

static int unpack(const char *data, size_t len, struct conf_set *ret_settings, struct conf_set *ret_rules)
{
        _cleanup_conf_set_ struct conf_set settings = CONF_SET_NULL;
        size_t at = 0;

        int r = conf_unpack(data, len, &at, &settings.texts, &settings.n);
        if (r == 0)
                r = conf_unpack(data, len, &at, &ret_rules->texts, &ret_rules->n);
        if (r < 0)
                return r;
        *ret_settings = settings;
        settings = CONF_SET_NULL;
        return 0;
}

int keep_find_rules(struct store *store, uint64_t *ret_number, struct conf_set *ret_settings,
                    struct conf_set *ret_rules)
{
        _cleanup_close_ int fd = store_take_numbered(store, RULES_PREFIX, ret_number);
        struct stat st;

        if (fd < 0)
                return -ENOENT;
        int seals = fcntl(fd, F_GET_SEALS);
        if (seals < 0 || (seals & RULES_SEALS) != RULES_SEALS || fstat(fd, &st) < 0 || st.st_size <= 0)
                return -EBADMSG;
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
                return -errno;
        int r = unpack(data, (size_t)st.st_size, ret_settings, ret_rules);
        (void)munmap(data, (size_t)st.st_size);
        return r;
}
