/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an event costs that no rule wants, from the kernel's bytes to the decision:
 *
 *   userspace  decode, resolve from the cache, match; bytes from memory
 *   with read  the same behind read(2) of a real group, with the pidfds of a living
 *              process taken and closed (root only, on a tmpfs in a mount namespace
 *              of its own)
 *
 * Prints events a second of each, best of several rounds, and their ratio.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "generation.h"
#include "pipeline.h"
#include "spool.h"
#include "world_collect.h"

#define RULES  100
#define DIRS   1000
#define EVENTS 8000
#define ROUNDS 7
#define PASSES 40 /* of the bytes, a round */
#define FILES  40000

static double now(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t realtime_usec(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

static _Noreturn void die(const char *what, int error)
{
        (void)fprintf(stderr, "bench-street: %s: %s\n", what, strerror(error < 0 ? -error : error));
        exit(1);
}

/* ---- the street ---- */

struct street {
        struct counters counters;
        struct generation *generation;
        struct resolver *resolver;
        struct attributor *attributor;
        struct pipeline *pipeline;
        struct spool *spool; /* NULL: windows in memory of its own */
};

static struct rules *make_rules(void)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        struct diag diag = DIAG_NULL;
        struct rules *rules;

        strbuf_adds(&text, "watch: {\n");
        for (int i = 0; i < RULES; i++)
                strbuf_addf(&text, "r%d: { path = \"/mnt/wanted/%d\"; };\n", i, i);
        strbuf_adds(&text, "};\n");

        struct conf_text file = { .name = (char *)"bench.conf", .text = text.data, .len = text.len };
        int r = rules_parse(&file, 1, &diag, &rules);
        if (r < 0)
                die("rules", r);
        diag_done(&diag);
        return rules;
}

static void open_street(struct street *s, struct rules *rules, struct world *world)
{
        int r = generation_build(rules, settings_default(), world, &s->generation);

        if (r < 0 || (r = resolver_new(&s->counters, 8192, &s->resolver)) < 0 ||
            (r = attributor_new(&s->counters, NULL, 1024, &s->attributor)) < 0)
                die("street", r);
        const struct pipeline_params params = {
                .counters = &s->counters,
                .resolver = s->resolver,
                .attributor = s->attributor,
                .spool = s->spool,
                .realtime_usec = realtime_usec,
        };
        if ((r = pipeline_new(&params, &s->pipeline)) < 0)
                die("pipeline", r);
        pipeline_set_generation(s->pipeline, s->generation);
}

static void close_street(struct street *s)
{
        pipeline_free(s->pipeline);
        attributor_free(s->attributor);
        resolver_free(s->resolver);
        generation_free(s->generation);
}

static void expect_unwanted(const struct street *s, uint64_t read)
{
        if (s->counters.events_read == read && s->counters.events_filtered == read)
                return;
        (void)fprintf(stderr, "bench-street: %ju of %ju events read, %ju of them unwanted\n",
                      (uintmax_t)s->counters.events_read, (uintmax_t)read,
                      (uintmax_t)s->counters.events_filtered);
        exit(1);
}

/* ---- from memory ---- */

#define FSID       UINT64_C(0x1234)
#define HANDLE_LEN 12u

static void put(struct strbuf *b, const void *p, size_t len)
{
        strbuf_add(b, p, len);
}
static void put32(struct strbuf *b, uint32_t v)
{
        put(b, &v, sizeof(v));
}

static void handle_bytes(uint32_t number, uint8_t bytes[static HANDLE_LEN])
{
        memset(bytes, 0, HANDLE_LEN);
        memcpy(bytes, &number, sizeof(number));
}

static void put_record(struct strbuf *b, uint8_t type, uint32_t number, const char *name)
{
        size_t padded = name ? (strlen(name) + 4) / 4 * 4 : 0;
        uint16_t len = (uint16_t)(4 + 8 + 8 + HANDLE_LEN + padded);
        uint64_t fsid = FSID;
        uint8_t bytes[HANDLE_LEN];
        char padding[64] = {};

        handle_bytes(number, bytes);
        put(b, (uint8_t[]){ type, 0 }, 2);
        put(b, &len, sizeof(len));
        put(b, &fsid, sizeof(fsid));
        put32(b, HANDLE_LEN);
        put32(b, 1);
        put(b, bytes, sizeof(bytes));
        if (name) {
                memcpy(padding, name, strlen(name));
                put(b, padding, padded);
        }
}

/* A close of a file of a temporary-looking name in one of the directories. */
static void put_event(struct strbuf *b, uint32_t i)
{
        size_t begin = b->len;
        uint64_t mask = FAN_MODIFY | FAN_CLOSE_WRITE;
        uint16_t metadata_len = 24;
        char name[32];

        put32(b, 0);
        put(b, (uint8_t[]){ FANOTIFY_METADATA_VERSION, 0 }, 2);
        put(b, &metadata_len, sizeof(metadata_len));
        put(b, &mask, sizeof(mask));
        put32(b, (uint32_t)FAN_NOFD);
        put32(b, 1000000 + i % 50);
        (void)snprintf(name, sizeof(name), "file%u.tmp", i);
        put_record(b, FAN_EVENT_INFO_TYPE_DFID_NAME, i * 7 % DIRS, name);
        put_record(b, FAN_EVENT_INFO_TYPE_FID, 100000 + i, NULL);
        put(b, (uint8_t[]){ FAN_EVENT_INFO_TYPE_PIDFD, 0, 8, 0 }, 4);
        put32(b, (uint32_t)FAN_NOPIDFD);

        uint32_t len = (uint32_t)(b->len - begin);
        memcpy(b->data + begin, &len, sizeof(len));
}

static double from_memory(void)
{
        static const char facts[] = "mount 1 0 8:1 / / ext4 /dev/a\n"
                                    "mount 2 1 8:2 / /mnt ext4 /dev/b\n"
                                    "fs 8:2 fsid=1234\n"
                                    "kernel fanotify dfid_name target_fid rename pidfd\n";
        const struct group_key key = { .kind = GROUP_MAIN };
        _cleanup_strbuf_ struct strbuf bytes = STRBUF_NULL;
        struct street s = {};
        struct diag diag = DIAG_NULL;
        struct world *world;
        double best = 0;
        int r = world_parse_text(facts, sizeof(facts) - 1, &diag, &world);

        if (r < 0)
                die(diag.n_entries > 0 ? diag.entries[0].text : "world", r);
        diag_done(&diag);
        open_street(&s, make_rules(), world);
        for (uint32_t i = 0; i < DIRS; i++) {
                char path[64];
                uint8_t handle[HANDLE_LEN];
                int n = snprintf(path, sizeof(path), "/srv/data/project%u/build/obj", i);

                handle_bytes(i, handle);
                struct fan_handle h = { .fsid = FSID, .type = 1, .len = HANDLE_LEN, .bytes = handle };
                resolver_learn(s.resolver, &h, path, (size_t)n);
        }
        for (uint32_t i = 0; i < EVENTS; i++)
                put_event(&bytes, i);
        for (int round = 0; round < ROUNDS; round++) {
                double begin = now();

                for (int pass = 0; pass < PASSES; pass++)
                        if ((r = pipeline_judge(s.pipeline, &key, bytes.data, bytes.len)) < 0)
                                die("judge", r);
                best = MAX_OF(best, EVENTS * PASSES / (now() - begin));
        }
        expect_unwanted(&s, (uint64_t)EVENTS * PASSES * ROUNDS);
        close_street(&s);
        return best;
}

/* ---- from the kernel ---- */

static void make_files(int round)
{
        char path[64];

        for (int i = 0; i < FILES; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/d%d/f%d-%d", i % 100, round, i);
                int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

                if (fd < 0)
                        _exit(1);
                (void)close(fd);
        }
}

/* A process that makes files when it is told to, and lives on. */
static pid_t start_maker(int *ret_tell, int *ret_done)
{
        int tell[2], done[2];
        char byte;

        if (pipe2(tell, O_CLOEXEC) < 0 || pipe2(done, O_CLOEXEC) < 0)
                die("pipe", errno);
        pid_t pid = fork();
        if (pid == 0) {
                (void)close(tell[1]);
                for (int round = 0; read(tell[0], &byte, 1) == 1; round++) {
                        make_files(round);
                        if (write(done[1], "x", 1) != 1)
                                break;
                }
                _exit(0);
        }
        (void)close(tell[0]);
        (void)close(done[1]);
        *ret_tell = tell[1];
        *ret_done = done[0];
        return pid;
}

static void place_mark(struct fan_group *g)
{
        struct stat st;
        struct mark_op op = {
                .add = true,
                .bits = FAN_CREATE | FAN_ONDIR | FAN_EVENT_ON_CHILD,
                .where = "/mnt",
        };

        if (stat("/mnt", &st) < 0)
                die("/mnt", errno);
        op.object.kind = MARK_FILESYSTEM;
        op.object.sdev_major = (uint32_t)(st.st_dev >> 8 & 0xfff);
        op.object.sdev_minor = (uint32_t)((st.st_dev & 0xff) | (st.st_dev >> 12 & 0xfff00));
        int r = fan_group_mark(g, &op);
        if (r < 0)
                die("mark", r);
}

/* Of this thread alone: other work on the machine does not count. */
static double cpu_now(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double read_rounds(struct street *s, struct fan_group *g)
{
        int told, done, r;
        double best = 0;
        char byte;
        pid_t pid = start_maker(&told, &done);

        for (int round = 0; round < ROUNDS; round++) {
                if (write(told, "x", 1) != 1 || read(done, &byte, 1) != 1)
                        die("maker", EIO);
                double begin = cpu_now();

                while ((r = pipeline_dispatch(s->pipeline, g)) == 1)
                        ;
                if (r < 0)
                        die("dispatch", r);
                best = MAX_OF(best, FILES / (cpu_now() - begin));
        }
        (void)close(told);
        (void)waitpid(pid, NULL, 0);
        (void)close(done);
        return best;
}

static void prepare_place(void)
{
        char path[32];

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("bench", "/mnt", "tmpfs", 0, NULL) < 0)
                die("a mount namespace of its own", errno);
        for (int i = 0; i < 100; i++) {
                (void)snprintf(path, sizeof(path), "/mnt/d%d", i);
                if (mkdir(path, 0755) < 0)
                        die(path, errno);
        }
}

static void remove_files(void)
{
        char path[64];

        for (int round = 0; round < ROUNDS; round++)
                for (int i = 0; i < FILES; i++) {
                        (void)snprintf(path, sizeof(path), "/mnt/d%d/f%d-%d", i % 100, round, i);
                        (void)unlink(path);
                }
}

/* As in the service: in a file of memory that outlives the process. */
static struct spool *make_spool(void)
{
        size_t size = spool_area_size(1024 * 1024, PIPELINE_WINDOW_BYTES);
        int fd = memfd_create("bench", MFD_CLOEXEC);
        struct spool *spool;

        if (fd < 0 || fallocate(fd, 0, 0, (off_t)size) < 0)
                die("memfd", errno);
        void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (area == MAP_FAILED)
                die("mmap", errno);
        (void)close(fd);
        spool_format(area, 1024 * 1024, PIPELINE_WINDOW_BYTES, "");
        int r = spool_attach(area, size, &spool);
        if (r < 0)
                die("spool", r);
        return spool;
}

#define TURNS 4

/* kept: read into a spool that a kill does not end. */
static double from_kernel(bool kept)
{
        const struct group_key key = { .kind = GROUP_MAIN };
        struct street s = {};
        struct rules *rules;
        struct world *world;
        struct fan_group *g;
        char *error = NULL;

        rules = make_rules();
        int r = world_collect(rules, MOUNTS_OWN, &world, &error);
        if (r < 0)
                die(error ? error : "world", r);
        r = fan_group_open(&key, &world->kernel, true, &g);
        if (r < 0)
                die("fanotify", r);
        place_mark(g);
        s.spool = kept ? make_spool() : NULL;
        open_street(&s, rules, world);
        double best = read_rounds(&s, g);
        expect_unwanted(&s, (uint64_t)FILES * ROUNDS);
        close_street(&s);
        spool_free(s.spool);
        fan_group_free(g);
        remove_files();
        return best;
}

int main(void)
{
        double memory = from_memory();

        (void)printf("userspace: %.2f million events/s (%.0f ns an event; wanted: 1.00)\n", memory / 1e6,
                     1e9 / memory);
        if (geteuid() != 0) {
                (void)printf("with read: needs root\n");
                return 0;
        }
        prepare_place();
        double kernel = 0, kept = 0;
        for (int i = 0; i < TURNS; i++) { /* by turns: the machine is not always the same */
                kernel = MAX_OF(kernel, from_kernel(false));
                kept = MAX_OF(kept, from_kernel(true));
        }
        (void)printf("with read and pidfds: %.2f million events/s (%.0f ns an event; wanted: 0.35)\n",
                     kernel / 1e6, 1e9 / kernel);
        (void)printf("userspace's share of the whole: %.2f\n", kernel / memory);
        (void)printf("read into a spool that outlives the process: %.2f of that (wanted: 0.90)\n",
                     kept / kernel);
        return 0;
}
