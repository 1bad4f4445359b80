/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both ends of the control socket: the daemon's server in a process of its own,
 * with a real event loop and made-up answers, and fawatchctl's client here.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/client.h"
#include "daemon/control.h"
#include "message_ids.h"

#define FLOOD 40000
#define MANY 64 /* connections that are served */
#define N_WAITING 3
static const char odd_bytes[] = "a\xff\0\n\xc3\xa9z";

/* ---- the server ---- */

struct server {
        struct control *control;
        uint64_t lost;
        unsigned n_reloads;
        struct control_reload *waiting[N_WAITING];
        size_t n_waiting;
};

static int op_status(void *userdata, struct strbuf *out)
{
        const struct server *s = userdata;

        strbuf_addf(out, "lost=%llu followers=%d waiting=%zu", (unsigned long long)s->lost,
                    control_has_followers(s->control), s->n_waiting);
        return 0;
}

#define EVENT(rule, path)                                                                                    \
        "MESSAGE=" rule " " path "\nFAWATCH_EVENT=create\nFAWATCH_RULE=" rule "\nFAWATCH_PATH=" path "\n"
static char shed_record[128], alive_record[128];
static const char *const records[] = {
        EVENT("etc", "/etc/passwd"),
        EVENT("web", "/srv/www/a"),
        EVENT("web", "/srv/www"),
        EVENT("web", "/srv/www2/a"),
        "MESSAGE=both\nFAWATCH_EVENT=rename\nFAWATCH_RULE=etc\nFAWATCH_RULE=web\nFAWATCH_PATH=/srv/b\n"
        "FAWATCH_OLD_PATH=/srv/www/b\n",
        shed_record,
        alive_record,
};

static int op_marks(void *userdata, struct strbuf *out)
{
        struct server *s = userdata;

        for (size_t i = 0; i < ELEMENTSOF(records); i++)
                control_publish(s->control, records[i], strlen(records[i]));
        strbuf_adds(out, "published");
        return 0;
}

static int op_coverage(void *userdata, struct strbuf *out)
{
        struct server *s = userdata;

        for (int i = 0; i < FLOOD; i++) {
                char record[600];
                int n = snprintf(record, sizeof(record), "MESSAGE=%d %0500d\n", i, 0);
                control_publish(s->control, record, (size_t)n);
        }
        strbuf_adds(out, "flooded");
        return 0;
}

static int op_rules(void *userdata, struct strbuf *out)
{
        strbuf_add(out, odd_bytes, sizeof(odd_bytes) - 1);
        return 0;
}

/* A dry run is answered at once, others when so many wait. */
static void op_reload(void *userdata, bool dry_run, const struct control_peer *peer,
                      struct control_reload *token)
{
        struct server *s = userdata;
        char text[64];

        if (dry_run) {
                int n = snprintf(text, sizeof(text), "%d %u %s", peer->pid, peer->uid, peer->comm);
                control_reload_done(token, false, text, (size_t)n);
                return;
        }
        s->waiting[s->n_waiting++] = token;
        if (s->n_waiting < N_WAITING)
                return;
        for (s->n_waiting = 0; s->n_waiting < N_WAITING; s->n_waiting++) {
                int n = snprintf(text, sizeof(text), "%zu", s->n_waiting);
                control_reload_done(s->waiting[s->n_waiting], true, text, (size_t)n);
        }
        s->n_waiting = 0;
}

/* Both paths as they came. */
static int op_explain(void *userdata, const char *path, const char *second, struct strbuf *out)
{
        strbuf_addf(out, "%s|%s", path, second ? second : "(none)");
        return streq(path, "/nowhere") ? -ENOENT : 0;
}

static int op_fails(void *userdata, struct strbuf *out)
{
        strbuf_adds(out, "half an answer");
        return -EIO;
}

static const struct control_ops good_ops = { op_status, op_marks, op_coverage, op_rules, op_reload, op_explain };
static const struct control_ops bad_ops = { op_status, op_fails, op_fails, op_fails, op_reload, op_explain };

static char directory[] = "/tmp/test-control-XXXXXX";
static char socket_path[64];
static pid_t server_pid;

static void serve(const struct control_ops *ops, int ready_fd)
{
        struct server s = {};
        sd_event *loop = NULL;
        sigset_t term;

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever ends the test */
        sigemptyset(&term);
        sigaddset(&term, SIGTERM);
        sigprocmask(SIG_BLOCK, &term, NULL);
        if (sd_event_new(&loop) < 0 || sd_event_add_signal(loop, NULL, SIGTERM, NULL, NULL) < 0 ||
            control_new(loop, socket_path, ops, &s, &s.lost, &s.control) < 0)
                exit(1);
        if (write(ready_fd, "", 1) != 1)
                exit(1);
        close(ready_fd);
        int r = sd_event_loop(loop);
        control_free(s.control);
        for (size_t i = 0; i < s.n_waiting; i++) /* the client has gone: the token is still ours to end */
                control_reload_done(s.waiting[i], true, "", 0);
        sd_event_unref(loop);
        exit(r < 0); /* through the leak check, if there is one */
}

static void start(const struct control_ops *ops)
{
        int fds[2];
        char byte;

        assert_int_equal(pipe2(fds, 0), 0);
        fflush(NULL);
        server_pid = fork();
        assert_true(server_pid >= 0);
        if (server_pid == 0) {
                close(fds[0]);
                serve(ops, fds[1]);
        }
        close(fds[1]);
        assert_int_equal(read(fds[0], &byte, 1), 1);
        close(fds[0]);
}

static int stop_server(void)
{
        int wstatus = 0;

        if (server_pid <= 0)
                return 0;
        kill(server_pid, SIGTERM);
        waitpid(server_pid, &wstatus, 0);
        server_pid = 0;
        return wstatus;
}

static int setup_good(void **state)
{
        start(&good_ops);
        return 0;
}

static int setup_bad(void **state)
{
        start(&bad_ops);
        return 0;
}

static int teardown(void **state)
{
        return stop_server();
}

/* ---- calls ---- */

static struct client *open_client(void)
{
        struct client *c = NULL;

        assert_int_equal(client_open(socket_path, &c), 0);
        return c;
}

static void check_answer(struct client *c, const char *method, const char *expected, size_t len)
{
        _cleanup_answer_ struct client_answer answer = {};

        assert_int_equal(client_ask(c, method, &answer), 0);
        assert_int_equal(answer.len, len);
        assert_memory_equal(answer.bytes, expected, len);
        assert_int_equal(answer.bytes[len], 0);
}

static void test_answers(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();

        check_answer(c, "Status", "lost=0 followers=0 waiting=0", 28);
        check_answer(c, "Marks", "published", 9);
        check_answer(c, "Coverage", "flooded", 7);
        check_answer(c, "Rules", odd_bytes, sizeof(odd_bytes) - 1);
        check_answer(c, "Rules", odd_bytes, sizeof(odd_bytes) - 1);
}

static void test_explain(void **state)
{
        static const struct {
                const char *path, *second;
                int r;
                const char *expected;
        } table[] = {
                { "/a\xff b", NULL, 0, "/a\xff b|(none)" },
                { "/a", "/b", 0, "/a|/b" },
                { "relative", NULL, -EINVAL, NULL },
                { "", NULL, -EINVAL, NULL },
                { "/a", "b", -EINVAL, NULL },
                { "/nowhere", NULL, -ENOENT, NULL },
        };
        _cleanup_(client_freep) struct client *c = open_client();

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                _cleanup_answer_ struct client_answer answer = {};

                assert_int_equal(client_explain(c, table[i].path, table[i].second, &answer), table[i].r);
                if (table[i].expected)
                        assert_string_equal(answer.bytes, table[i].expected);
        }
}

static void test_errors(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();
        struct client_answer answer = {};

        assert_int_equal(client_ask(c, "Rules", &answer), -EIO);
        assert_int_equal(client_ask(c, "Coverage", &answer), -EIO);
        assert_int_equal(client_ask(c, "NoSuchMethod", &answer), -EBADR);
        check_answer(c, "Status", "lost=0 followers=0 waiting=0", 28);
}

static void test_nobody(void **state)
{
        struct client *c = NULL;
        char path[200];

        snprintf(path, sizeof(path), "%s/none", directory);
        assert_int_equal(client_open(path, &c), -ECONNREFUSED);
        memset(path, 'x', sizeof(path) - 1);
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(client_open(path, &c), -ENAMETOOLONG);
        assert_null(c);
}

static void test_reload_peer(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();
        _cleanup_answer_ struct client_answer answer = {};
        char expected[64], comm[17] = "";
        bool ok = true;

        assert_int_equal(pthread_getname_np(pthread_self(), comm, sizeof(comm)), 0);
        snprintf(expected, sizeof(expected), "%d %u %s", getpid(), geteuid(), comm);
        assert_int_equal(client_reload(c, true, &ok, &answer), 0);
        assert_false(ok);
        assert_string_equal(answer.bytes, expected);
}

static void *reload_in_thread(void *argument)
{
        _cleanup_(client_freep) struct client *c = NULL;
        struct client_answer answer = {};
        bool ok = false;

        if (client_open(socket_path, &c) < 0 || client_reload(c, false, &ok, &answer) < 0 || !ok)
                return NULL;
        return answer.bytes;
}

/* Several wait at once: each gets the answer that was meant for it. */
static void test_reloads_wait(void **state)
{
        pthread_t threads[N_WAITING];
        unsigned seen = 0;

        for (size_t i = 0; i < N_WAITING; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, reload_in_thread, NULL), 0);
        for (size_t i = 0; i < N_WAITING; i++) {
                void *answer = NULL;

                assert_int_equal(pthread_join(threads[i], &answer), 0);
                assert_non_null(answer);
                seen |= 1u << atoi(answer);
                free(answer);
        }
        assert_int_equal(seen, 7);
}

/* A peer without our client's care: it asks and hangs up. */
static sd_bus *open_bus(void)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        sd_bus *bus = NULL;

        strcpy(address.sun_path, socket_path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_fd(bus, fd, fd) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        return bus;
}

static void wait_for_status(struct client *c, const char *expected)
{
        for (int i = 0; i < 200; i++) {
                _cleanup_answer_ struct client_answer answer = {};

                assert_int_equal(client_ask(c, "Status", &answer), 0);
                if (streq(answer.bytes, expected))
                        return;
                usleep(10000);
        }
        check_answer(c, "Status", expected, strlen(expected));
}

static void test_client_leaves(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();
        sd_bus_message *m = NULL;
        void *answer[2] = {};
        pthread_t threads[2];
        uint64_t cookie;

        sd_bus *bus = open_bus();
        assert_true(sd_bus_message_new_method_call(bus, &m, NULL, "/org/fawatch/Manager1",
                                                   "org.fawatch.Manager1", "Reload") >= 0);
        assert_true(sd_bus_message_append(m, "b", false) >= 0);
        assert_true(sd_bus_send(bus, m, &cookie) >= 0);
        sd_bus_message_unref(m);
        assert_true(sd_bus_flush(bus) >= 0);
        wait_for_status(c, "lost=0 followers=0 waiting=1");
        sd_bus_close_unref(bus);

        /* two more make it three: those that are there get their answers */
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, reload_in_thread, NULL), 0);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(pthread_join(threads[i], &answer[i]), 0);
                assert_non_null(answer[i]);
        }
        assert_int_equal(atoi(answer[0]) + atoi(answer[1]), 3); /* 1 and 2: the one that left was number 0 */
        free(answer[0]);
        free(answer[1]);
        check_answer(c, "Status", "lost=0 followers=0 waiting=0", 28);
}

static void *kill_server_later(void *argument)
{
        usleep(100000);
        kill(server_pid, SIGTERM);
        return NULL;
}

static void test_daemon_leaves(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();
        struct client_answer answer = {};
        pthread_t thread;
        bool ok = false;

        assert_int_equal(pthread_create(&thread, NULL, kill_server_later, NULL), 0);
        assert_int_equal(client_reload(c, false, &ok, &answer), -ECONNRESET);
        assert_int_equal(client_ask(c, "Status", &answer), -ECONNRESET);
        pthread_join(thread, NULL);
        assert_int_equal(stop_server(), 0);
        assert_int_equal(access(socket_path, F_OK), -1);
}

/* ---- connections ---- */

static void test_too_many(void **state)
{
        struct client *clients[MANY], *one_more = NULL;
        struct client_answer answer = {};

        for (size_t i = 0; i < MANY; i++) {
                clients[i] = open_client();
                check_answer(clients[i], "Status", "lost=0 followers=0 waiting=0", 28);
        }
        int r = client_open(socket_path, &one_more);
        if (r == 0)
                r = client_ask(one_more, "Status", &answer);
        assert_int_equal(r, -ECONNRESET); /* at the latest then */
        client_free(one_more);

        /* as soon as one leaves there is room again */
        client_free(STEAL(clients[0]));
        for (int i = 0; i < 200; i++) {
                if (client_open(socket_path, &clients[0]) == 0 &&
                    client_ask(clients[0], "Status", &answer) == 0)
                        break;
                client_free(STEAL(clients[0]));
                usleep(10000);
        }
        assert_string_equal(answer.bytes, "lost=0 followers=0 waiting=0");
        client_answer_done(&answer);
        for (size_t i = 0; i < MANY; i++)
                client_free(clients[i]);
}

static void test_not_root(void **state)
{
        struct stat st;
        int wstatus;

        if (geteuid() != 0)
                skip(); /* only root can be somebody else */
        assert_int_equal(stat(socket_path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        /* even where the mode lets somebody in */
        assert_int_equal(chmod(directory, 0755), 0);
        assert_int_equal(chmod(socket_path, 0666), 0);
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
                struct client_answer answer = {};
                struct client *c = NULL;

                if (setresuid(65534, 65534, 65534) < 0)
                        _exit(1);
                int r = client_open(socket_path, &c);
                if (r == 0)
                        r = client_ask(c, "Status", &answer);
                client_free(c);
                _exit(r == -ECONNRESET ? 0 : 2);
        }
        assert_int_equal(waitpid(child, &wstatus, 0), child);
        assert_int_equal(wstatus, 0);
}

static void test_stale_socket(void **state)
{
        _cleanup_(sd_event_unrefp) sd_event *loop = NULL;
        _cleanup_(control_freep) struct control *c = NULL;
        char path[64], long_path[200];
        uint64_t lost = 0;
        FILE *f;

        assert_true(sd_event_new(&loop) >= 0);
        snprintf(path, sizeof(path), "%s/stale", directory);
        f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
        assert_int_equal(control_new(loop, path, &good_ops, NULL, &lost, &c), 0);
        assert_false(control_has_followers(c));
        control_free(STEAL(c));
        assert_int_equal(access(path, F_OK), -1);

        memset(long_path, 'x', sizeof(long_path) - 1);
        long_path[sizeof(long_path) - 1] = '\0';
        assert_int_equal(control_new(loop, long_path, &good_ops, NULL, &lost, &c), -ENAMETOOLONG);
        snprintf(path, sizeof(path), "%s/none/control", directory);
        assert_int_equal(control_new(loop, path, &good_ops, NULL, &lost, &c), -ENOENT);
}

/* ---- following ---- */

struct seen {
        struct strbuf text; /* of each event its MESSAGE, ";" after it */
        uint64_t events, lost;
        uint64_t last; /* number of the last flood record */
        bool disorder;
        int volatile stop;
        const char *ask;  /* asked by a second client at the first idle moment */
        uint64_t stop_at; /* events + lost */
        bool asked;
};

static int see_event(void *userdata, const char *record, size_t len)
{
        struct seen *s = userdata;
        const char *newline = memchr(record, '\n', len);
        uint64_t number = strtoull(record + 8, NULL, 10);

        assert_non_null(newline);
        if (streq(s->ask, "Coverage")) {
                s->disorder |= s->events + s->lost > 0 && number != s->events + s->lost;
                s->last = number;
        } else {
                strbuf_add(&s->text, record + 8, (size_t)(newline - record) - 8);
                strbuf_addc(&s->text, ';');
        }
        s->events++;
        return 0;
}

static int see_lost(void *userdata, uint64_t count)
{
        struct seen *s = userdata;

        s->lost += count;
        return 0;
}

static void on_idle(void *userdata)
{
        struct seen *s = userdata;

        if (!s->asked) {
                _cleanup_(client_freep) struct client *other = open_client();
                _cleanup_answer_ struct client_answer answer = {};

                /* while this call is answered, nobody reads the events */
                s->asked = true;
                assert_int_equal(client_ask(other, s->ask, &answer), 0);
                return;
        }
        if (s->events + s->lost >= s->stop_at)
                s->stop = 1;
}

static struct client_follow follow_into(struct seen *s)
{
        return (struct client_follow){ .event = see_event, .lost = see_lost, .idle = on_idle, .userdata = s };
}

static const struct {
        const char *rules[3], *paths[3];
        const char *expected;
        uint64_t n;
} filter_cases[] = {
        { {}, {}, "etc /etc/passwd;web /srv/www/a;web /srv/www;web /srv/www2/a;both;shed;alive;", 7 },
        { { "etc" }, {}, "etc /etc/passwd;both;shed;", 3 },
        { { "web" }, {}, "web /srv/www/a;web /srv/www;web /srv/www2/a;both;shed;", 5 },
        { { "etc", "web" }, {}, "etc /etc/passwd;web /srv/www/a;web /srv/www;web /srv/www2/a;both;shed;", 6 },
        { { "none" }, {}, "shed;", 1 },
        { {}, { "/srv/www" }, "web /srv/www/a;web /srv/www;both;shed;", 4 },
        { {}, { "/srv/www/" }, "web /srv/www/a;web /srv/www;both;shed;", 4 },
        { {}, { "/srv" }, "web /srv/www/a;web /srv/www;web /srv/www2/a;both;shed;", 5 },
        { {}, { "/" }, "etc /etc/passwd;web /srv/www/a;web /srv/www;web /srv/www2/a;both;shed;", 6 },
        { {}, { "/etc", "/srv/b" }, "etc /etc/passwd;both;shed;", 3 },
        { { "etc" }, { "/srv/www" }, "both;shed;", 2 },
        { { "etc" }, { "/srv/www2" }, "shed;", 1 },
};

static size_t count_strings(const char *const *v)
{
        size_t n = 0;

        while (v[n])
                n++;
        return n;
}

static void test_filters(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(filter_cases); i++) {
                _cleanup_(client_freep) struct client *c = open_client();
                struct seen s = { .ask = "Marks", .stop_at = filter_cases[i].n };
                struct client_follow follow = follow_into(&s);

                follow.rules = filter_cases[i].rules;
                follow.n_rules = count_strings(filter_cases[i].rules);
                follow.paths = filter_cases[i].paths;
                follow.n_paths = count_strings(filter_cases[i].paths);
                assert_int_equal(client_follow(c, &follow, &s.stop), 0);
                assert_string_equal(strbuf_str(&s.text), filter_cases[i].expected);
                assert_int_equal(s.lost, 0);
                strbuf_done(&s.text);
        }
}

/* More than the queue holds while nobody reads: what is missing is told, where it is missing. */
static void test_slow_follower(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client(), *other = open_client();
        struct seen s = { .ask = "Coverage", .stop_at = FLOOD };
        struct client_follow follow = follow_into(&s);
        char expected[64];

        assert_int_equal(client_follow(c, &follow, &s.stop), 0);
        assert_int_equal(s.events + s.lost, FLOOD);
        assert_true(s.lost > 0);
        assert_true(s.events >= 1024);
        assert_false(s.disorder);
        snprintf(expected, sizeof(expected), "lost=%llu followers=1 waiting=0", (unsigned long long)s.lost);
        check_answer(other, "Status", expected, strlen(expected));
}

static void test_follower_leaves(void **state)
{
        _cleanup_(client_freep) struct client *other = open_client();
        struct client *c = open_client();
        struct seen s = { .ask = "Marks", .stop_at = 1 };
        const struct client_follow follow = follow_into(&s);

        assert_int_equal(client_follow(c, &follow, &s.stop), 0);
        strbuf_done(&s.text);
        check_answer(other, "Status", "lost=0 followers=1 waiting=0", 28);
        client_free(c);
        wait_for_status(other, "lost=0 followers=0 waiting=0");
        check_answer(other, "Marks", "published", 9);
}

static void test_daemon_leaves_follower(void **state)
{
        _cleanup_(client_freep) struct client *c = open_client();
        struct seen s = { .ask = "Marks", .stop_at = UINT64_MAX };
        const struct client_follow follow = follow_into(&s);
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, kill_server_later, NULL), 0);
        assert_int_equal(client_follow(c, &follow, &s.stop), -ECONNRESET);
        assert_int_equal(s.events, 7);
        strbuf_done(&s.text);
        pthread_join(thread, NULL);
        assert_int_equal(stop_server(), 0); /* with nothing leaked */
}

/* A client that asks on and on and never listens is let go, the others are served. */
static void test_client_that_does_not_read(void **state)
{
        _cleanup_(client_freep) struct client *other = open_client();
        sd_bus *bus = open_bus();
        uint64_t cookie; /* asked for, it makes sd-bus ask for a reply */
        int r = 0;

        for (int i = 0; i < 200000 && r >= 0; i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

                r = sd_bus_message_new_method_call(bus, &m, NULL, "/org/fawatch/Manager1",
                                                   "org.fawatch.Manager1", "Status");
                if (r >= 0)
                        r = sd_bus_send(bus, m, &cookie);
                if (r >= 0 && i % 64 == 0)
                        r = sd_bus_flush(bus);
        }
        assert_true(r < 0);
        sd_bus_close_unref(bus);
        check_answer(other, "Status", "lost=0 followers=0 waiting=0", 28);
}

/* ---- other people's clients ---- */

static void check_busctl(const char *arguments, const char *expected)
{
        char command[400], output[8192];

        snprintf(command, sizeof(command), "busctl --address=unix:path=%s %s 2>&1", socket_path, arguments);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        size_t n = fread(output, 1, sizeof(output) - 1, f);
        output[n] = '\0';
        assert_int_equal(pclose(f), 0);
        if (!strstr(output, expected))
                print_error("%s: %s\n", arguments, output);
        assert_non_null(strstr(output, expected));
}

static void test_busctl(void **state)
{
        static const char call[] = "call org.fawatch.Manager1 /org/fawatch/Manager1 org.fawatch.Manager1 ";
        char arguments[200];

        if (system("busctl --version >/dev/null 2>&1") != 0)
                skip(); /* no busctl here */
        snprintf(arguments, sizeof(arguments), "%s Rules", call);
        check_busctl(arguments, "ay 7 97 255 0 10 195 169 122\n");
        snprintf(arguments, sizeof(arguments), "%s Follow asaay 1 etc 1 2 47 97", call);
        check_busctl(arguments, "");
        check_busctl("introspect org.fawatch.Manager1 /org/fawatch/Manager1 | tr -s ' '",
                     ".Reload method b bay -");
        check_busctl("introspect org.fawatch.Manager1 /org/fawatch/Manager1 | tr -s ' '",
                     ".Lost signal t - -");
}

static int make_directory(void **state)
{
        snprintf(shed_record, sizeof(shed_record), "MESSAGE=shed\nMESSAGE_ID=%s\n",
                 record_kind_message_id(RECORD_SHED));
        snprintf(alive_record, sizeof(alive_record), "MESSAGE=alive\nMESSAGE_ID=%s\n",
                 record_kind_message_id(RECORD_ALIVE));
        if (!mkdtemp(directory))
                return -1;
        snprintf(socket_path, sizeof(socket_path), "%s/control", directory);
        return 0;
}

static int remove_directory(void **state)
{
        unlink(socket_path);
        return rmdir(directory);
}

#define with_server(f) cmocka_unit_test_setup_teardown(f, setup_good, teardown)

int main(void)
{
        cmocka_set_message_output(CM_OUTPUT_TAP);
        signal(SIGPIPE, SIG_IGN);
        alarm(120); /* a lost answer is waited for without end */
        const struct CMUnitTest tests[] = {
                with_server(test_answers),
                with_server(test_explain),
                cmocka_unit_test_setup_teardown(test_errors, setup_bad, teardown),
                cmocka_unit_test(test_nobody),
                with_server(test_reload_peer),
                with_server(test_reloads_wait),
                with_server(test_client_leaves),
                with_server(test_daemon_leaves),
                with_server(test_too_many),
                with_server(test_not_root),
                cmocka_unit_test(test_stale_socket),
                with_server(test_filters),
                with_server(test_slow_follower),
                with_server(test_follower_leaves),
                with_server(test_daemon_leaves_follower),
                with_server(test_client_that_does_not_read),
                with_server(test_busctl),
        };
        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
