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

static const struct cgroup_case cases[] = {
        /* units of the system */
        { "0::/system.slice/cron.service\n", "/system.slice/cron.service", "system.slice", "cron.service", NULL, NULL },
        { "0::/system.slice/system-getty.slice/getty@tty1.service", "/system.slice/system-getty.slice/getty@tty1.service",
          "system-getty.slice", "getty@tty1.service", NULL, NULL },
        { "0::/init.scope\n", "/init.scope", NULL, "init.scope", NULL, NULL },
        { "0::/user.slice/user-1000.slice/session-3.scope\n", "/user.slice/user-1000.slice/session-3.scope",
          "user-1000.slice", "session-3.scope", NULL, NULL },
        { "0::/system.slice/_cpu.service\n", "/system.slice/_cpu.service", "system.slice", "cpu.service", NULL, NULL },
        { "0::/system.slice/dev-hugepages.mount\n", "/system.slice/dev-hugepages.mount", "system.slice",
          "dev-hugepages.mount", NULL, NULL },
        /* what a unit makes below itself */
        { "0::/system.slice/nginx.service/worker/other.service\n", "/system.slice/nginx.service/worker/other.service",
          "system.slice", "nginx.service", NULL, NULL },
        /* units of a user */
        { "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.slice/editor.service\n",
          "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.slice/editor.service", "user-1000.slice",
          "user@1000.service", "editor.service", NULL },
        { "0::/user.slice/user-0.slice/user@0.service/init.scope", "/user.slice/user-0.slice/user@0.service/init.scope",
          "user-0.slice", "user@0.service", "init.scope", NULL },
        { "0::/user.slice/user-0.slice/user@0.service", "/user.slice/user-0.slice/user@0.service", "user-0.slice",
          "user@0.service", NULL, NULL },
        /* containers */
        { "0::/system.slice/docker-" ID ".scope\n", "/system.slice/docker-" ID ".scope", "system.slice",
          "docker-" ID ".scope", NULL, ID },
        { "0::/docker/" ID "\n", "/docker/" ID, NULL, NULL, NULL, ID },
        { "0::/machine.slice/libpod-" ID ".scope/container\n", "/machine.slice/libpod-" ID ".scope/container",
          "machine.slice", "libpod-" ID ".scope", NULL, ID },
        { "0::/machine.slice/libpod-conmon-" ID ".scope\n", "/machine.slice/libpod-conmon-" ID ".scope",
          "machine.slice", "libpod-conmon-" ID ".scope", NULL, NULL },
        { "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1234_5678.slice/cri-containerd-" ID ".scope\n",
          "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1234_5678.slice/cri-containerd-" ID ".scope",
          "kubepods-besteffort-pod1234_5678.slice", "cri-containerd-" ID ".scope", NULL, ID },
        { "0::/kubepods.slice/kubepods-pod99.slice/crio-" ID ".scope/inner\n",
          "/kubepods.slice/kubepods-pod99.slice/crio-" ID ".scope/inner", "kubepods-pod99.slice", "crio-" ID ".scope",
          NULL, ID },
        { "0::/kubepods.slice/kubepods-pod99.slice\n", "/kubepods.slice/kubepods-pod99.slice", "kubepods-pod99.slice",
          NULL, NULL, "99" },
        { "0::/kubepods/burstable/pod12-34/" ID "\n", "/kubepods/burstable/pod12-34/" ID, NULL, NULL, NULL, ID },
        { "0::/kubepods/burstable/pod12-34\n", "/kubepods/burstable/pod12-34", NULL, NULL, NULL, "12-34" },
        { "0::/podcast/x\n", "/podcast/x", NULL, NULL, NULL, NULL },
        { "0::/docker/" ID "/docker/" ID2 "\n", "/docker/" ID "/docker/" ID2, NULL, NULL, NULL, ID2 },
        { "0::/lxc.payload.web/init.scope\n", "/lxc.payload.web/init.scope", NULL, NULL, NULL, "web" },
        { "0::/lxc/mail/system.slice\n", "/lxc/mail/system.slice", NULL, NULL, NULL, "mail" },
        { "0::/machine.slice/machine-my\\x2dbox.scope\n", "/machine.slice/machine-my\\x2dbox.scope", "machine.slice",
          "machine-my\\x2dbox.scope", NULL, "my\\x2dbox" },
        { "0::/machine.slice/systemd-nspawn@deb.service/payload\n", "/machine.slice/systemd-nspawn@deb.service/payload",
          "machine.slice", "systemd-nspawn@deb.service", NULL, "deb" },
        /* not an id: too short, upper case, one digit too many */
        { "0::/docker/0123456789abcdef\n", "/docker/0123456789abcdef", NULL, NULL, NULL, NULL },
        { "0::/x/0" ID "\n", "/x/0" ID, NULL, NULL, NULL, NULL },
        /* hierarchies of version 1, alone and beside the unified one */
        { "12:pids:/a\n1:name=systemd:/system.slice/a.service\n", "/system.slice/a.service", "system.slice", "a.service",
          NULL, NULL },
        { "1:name=systemd:/system.slice/a.service\n0::/\n", "/system.slice/a.service", "system.slice", "a.service", NULL,
          NULL },
        { "1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service\n", "/system.slice/b.service",
          "system.slice", "b.service", NULL, NULL },
        { "2:name=systemd2:/x\n3:cpu,cpuacct:/y\n", NULL, NULL, NULL, NULL, NULL },
        /* a colon in a name, another cgroup namespace, nothing */
        { "0::/system.slice/a:b.service\n", "/system.slice/a:b.service", "system.slice", "a:b.service", NULL, NULL },
        { "0::/../../other.service\n", "/../../other.service", NULL, NULL, NULL, NULL },
        { "0::/\n", "/", NULL, NULL, NULL, NULL },
        { "", NULL, NULL, NULL, NULL, NULL },
        { "\n\n0\n0:\n0::\n", NULL, NULL, NULL, NULL, NULL },
        { "0::/.slice/.service\n", "/.slice/.service", NULL, NULL, NULL, NULL },
};

static void check(const char *text, const char *what, const struct bytes *got, const char *want)
{
        if (!want ? got->p != NULL : !got->p || got->len != strlen(want) || memcmp(got->p, want, got->len) != 0)
                fail_msg("%s: %s is %.*s, not %s", text, what, got->p ? (int)got->len : 6, got->p ? got->p : "absent",
                         want ? want : "absent");
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
