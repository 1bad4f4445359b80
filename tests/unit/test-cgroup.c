/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

struct cgroup_case {
        const char *text;
        const char *path, *slice, *unit, *user_unit, *container;
};

/* the line of the unified hierarchy, and its path */
#define V2(path) "0::" path "\n", path

static const struct cgroup_case cases[] = {
        /* units of the system */
        { V2("/system.slice/cron.service"), "system.slice", "cron.service", NULL, NULL },
        { V2("/system.slice/system-getty.slice/getty@tty1.service"),
          "system-getty.slice", "getty@tty1.service", NULL, NULL },
        { V2("/init.scope"), NULL, "init.scope", NULL, NULL },
        { V2("/user.slice/user-1000.slice/session-3.scope"),
          "user-1000.slice", "session-3.scope", NULL, NULL },
        { V2("/system.slice/_cpu.service"), "system.slice", "cpu.service", NULL, NULL },
        { V2("/system.slice/dev-hugepages.mount"), "system.slice", "dev-hugepages.mount", NULL, NULL },
        /* what a unit makes below itself */
        { V2("/system.slice/nginx.service/worker/other.service"),
          "system.slice", "nginx.service", NULL, NULL },
        /* units of a user */
        { V2("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.slice/editor.service"),
          "user-1000.slice", "user@1000.service", "editor.service", NULL },
        { V2("/user.slice/user-0.slice/user@0.service/init.scope"),
          "user-0.slice", "user@0.service", "init.scope", NULL },
        { V2("/user.slice/user-0.slice/user@0.service"), "user-0.slice", "user@0.service", NULL, NULL },
        /* containers */
        { V2("/system.slice/docker-" ID ".scope"), "system.slice", "docker-" ID ".scope", NULL, ID },
        { V2("/docker/" ID), NULL, NULL, NULL, ID },
        { V2("/machine.slice/libpod-" ID ".scope/container"),
          "machine.slice", "libpod-" ID ".scope", NULL, ID },
        { V2("/machine.slice/libpod-conmon-" ID ".scope"),
          "machine.slice", "libpod-conmon-" ID ".scope", NULL, NULL },
        { V2("/kubepods.slice/kubepods-besteffort-pod12_34.slice/cri-containerd-" ID ".scope"),
          "kubepods-besteffort-pod12_34.slice", "cri-containerd-" ID ".scope", NULL, ID },
        { V2("/kubepods.slice/kubepods-pod99.slice/crio-" ID ".scope/inner"),
          "kubepods-pod99.slice", "crio-" ID ".scope", NULL, ID },
        { V2("/kubepods.slice/kubepods-pod99.slice"), "kubepods-pod99.slice", NULL, NULL, "99" },
        { V2("/kubepods/burstable/pod12-34/" ID), NULL, NULL, NULL, ID },
        { V2("/kubepods/burstable/pod12-34"), NULL, NULL, NULL, "12-34" },
        { V2("/podcast/x"), NULL, NULL, NULL, NULL },
        { V2("/docker/" ID "/docker/" ID2), NULL, NULL, NULL, ID2 },
        { V2("/lxc.payload.web/init.scope"), NULL, NULL, NULL, "web" },
        { V2("/lxc/mail/system.slice"), NULL, NULL, NULL, "mail" },
        { V2("/machine.slice/machine-my\\x2dbox.scope"),
          "machine.slice", "machine-my\\x2dbox.scope", NULL, "my\\x2dbox" },
        { V2("/machine.slice/systemd-nspawn@deb.service/payload"),
          "machine.slice", "systemd-nspawn@deb.service", NULL, "deb" },
        /* not an id: too short, upper case, one digit too many */
        { V2("/docker/0123456789abcdef"), NULL, NULL, NULL, NULL },
        { "0::/x/0" ID "\n", "/x/0" ID, NULL, NULL, NULL, NULL },
        /* hierarchies of version 1, alone and beside the unified one */
        { "12:pids:/a\n1:name=systemd:/system.slice/a.service\n", "/system.slice/a.service",
          "system.slice", "a.service", NULL, NULL },
        { "1:name=systemd:/system.slice/a.service\n0::/\n", "/system.slice/a.service",
          "system.slice", "a.service", NULL, NULL },
        { "1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service\n", "/system.slice/b.service",
          "system.slice", "b.service", NULL, NULL },
        { "2:name=systemd2:/x\n3:cpu,cpuacct:/y\n", NULL, NULL, NULL, NULL, NULL },
        /* a colon in a name, another cgroup namespace, nothing */
        { V2("/system.slice/a:b.service"), "system.slice", "a:b.service", NULL, NULL },
        { V2("/../../other.service"), NULL, NULL, NULL, NULL },
        { V2("/"), NULL, NULL, NULL, NULL },
        { "", NULL, NULL, NULL, NULL, NULL },
        { "\n\n0\n0:\n0::\n", NULL, NULL, NULL, NULL, NULL },
        { V2("/.slice/.service"), NULL, NULL, NULL, NULL },
};

static void check(const char *text, const char *what, const struct bytes *got, const char *want)
{
        struct bytes is = got->p ? *got : (struct bytes){ "absent", 6 };

        want = want ? want : "absent";
        if (is.len != strlen(want) || memcmp(is.p, want, is.len) != 0)
                fail_msg("%s: %s is %.*s, not %s", text, what, (int)is.len, is.p, want);
}

static void all_cases(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const struct cgroup_case *c = &cases[i];
                struct cgroup_info info;
                /* without a NUL behind it */
                size_t len = strlen(c->text);
                char *text = malloc(len ? len : 1);

                assert_non_null(text);
                memcpy(text, c->text, len);
                cgroup_parse(text, len, &info);
                check(c->text, "path", &info.path, c->path);
                check(c->text, "slice", &info.slice, c->slice);
                check(c->text, "unit", &info.unit, c->unit);
                check(c->text, "user unit", &info.user_unit, c->user_unit);
                check(c->text, "container", &info.container, c->container);
                free(text);
        }
}

static void unescaped(void **state)
{
        static const char *const pairs[][2] = {
                { "plain", "plain" },
                { "my\\x2dbox", "my-box" },
                { "\\x41\\x5f", "A_" },
                { "\\x2", "\\x2" },
                { "\\x2g\\y", "\\x2g\\y" },
                { "end\\x2d", "end-" },
        };

        for (size_t i = 0; i < ELEMENTSOF(pairs); i++) {
                _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

                cgroup_unescape(&(struct bytes){ .p = pairs[i][0], .len = strlen(pairs[i][0]) }, &out);
                assert_string_equal(strbuf_str(&out), pairs[i][1]);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(all_cases),
                cmocka_unit_test(unescaped),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
