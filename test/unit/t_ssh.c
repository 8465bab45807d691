/* t_ssh.c - the extra ssh without any SSH server: hostile addresses and words, children, descriptors.
 *
 * Goal: no address becomes an option, a shell's word or a terminal's command; what a server says is
 * reported without what would not print; neither children nor descriptors are left over. Method: a shell
 * script in the place of ssh. What needs a server is in test/real/ssh.sh. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "../../extras/ssh/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const good[] = {
    "ssh://host/127.0.0.1:7000", "ssh://me@host:2222/inside:7000", "ssh://[fe80::1%eth0]/[::1]:7000",
    "ssh://a-b.c_d/x:1",         "ssh://host/exec:nc -U /x.sock",  "ssh://host/exec:a; b $(c) `d`",
};
static const char *const bad[] = {
    "ssh://-oProxyCommand=x/a:1",  "ssh://-l@host/a:1",       "ssh://host/-x:1",
    "ssh://me@-oProxyCommand/a:1", "ssh://host/exec:",        "ssh://host/exec:-oProxyCommand=x",
    "ssh://host/exec:-l",          "ssh://a;b/c:1",           "ssh://$(a)/c:1",
    "ssh://a`b`/c:1",              "ssh://a b/c:1",           "ssh://a|b/c:1",
    "ssh://a/b c:1",               "ssh://%h/c:1",            "ssh://a@b@c/d:1",
    "ssh://a'b/c:1",               "ssh://a/c:1;d",           "ssh://a/c:0",
    "ssh://a/c:65536",             "ssh://a/c",               "ssh://a/",
    "ssh://a",                     "ssh://",                  "ssh:///a:1",
    "ssh://a:/b:1",                "ssh://a:x/b:1",           "ssh://[::1/b:1",
    "ssh://[]/b:1",                "ssh://@a/b:1",            "ssh://a\nb/c:1",
    "ssh://a/exec:x\033[2J",       "ssh://a/exec:x\x9b" "2J", "ssh://a/exec:x\177",
    "ssh://a/exec:x\ny",
};

static void test_addresses(void)
{
    char longest[110] = "ssh://a/exec:";
    size_t i;

    for (i = 0; i < sizeof good / sizeof good[0]; i++)
        check(phx_ssh_check(good[i]) == 0, "%s is fine", good[i]);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check(phx_ssh_check(bad[i]) == PHX_EADDRESS, "number %d is refused", (int)i);
    memset(longest + 13, 'x', 103 - 13);
    check(phx_ssh_check(longest) == 0, "103 characters");
    longest[103] = 'x';
    check(phx_ssh_check(longest) == PHX_EADDRESS, "104");
    ok(phx_ssh_check("tcp://a:1") == PHX_ESCHEME && phx_ssh_check(NULL) == PHX_ESCHEME,
       "options, words of a shell, control characters: refused");
}

static char said[1100];
static int reports;

static void on_report(phx_ssh *s, const struct phx_ssh_report *r, void *user)
{
    (void)s, (void)user;
    snprintf(said, sizeof said, "%s", r->text);
    reports++;
}

static int descriptors(void)
{
    int fd, count = 0;

    for (fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Until `count` tunnels have been reported. */
static void await_reports(phx_ssh *s, int count)
{
    uint64_t until = phx_now_us() + 20000000u;

    while (reports < count && phx_now_us() < until) {
        struct pollfd fds[64];
        poll(fds, (nfds_t)phx_ssh_fds(s, fds, 64), phx_ssh_timeout_ms(s) < 0 ? 1000 : 5);
        phx_ssh_step(s);
    }
}

static void test_children(void)
{
    static const char script[] = "#!/bin/sh\n"
                                 "printf 'a\\033[2Jb\\177c\\233d\\000e\\n' >&2\n"
                                 "for a; do printf '<%s>' \"$a\" >&2; done\n";
    char path[] = "/tmp/phx_t_ssh_XXXXXX";
    struct phx_ssh_config cfg;
    phx_ssh *s;
    const char *at;
    int fd = mkstemp(path), before, i, mine;

    check(fd >= 0 && write(fd, script, sizeof script - 1) == (ssize_t)sizeof script - 1
              && fchmod(fd, 0700) == 0 && close(fd) == 0,
          "a script for ssh");
    before = descriptors();
    phx_ssh_config_init(&cfg);
    cfg.program = path;
    cfg.on_report = on_report;
    check(phx_ssh_new(&s, &cfg) == 0, "an ssh");
    mine = phx_ssh_dial(s, NULL, "ssh://me@host:22/exec:rm -f $HOME; `id`");
    ok(mine >= 0 && (fcntl(mine, F_GETFD) & FD_CLOEXEC) != 0, "a stream, closed on exec");
    close(mine);
    await_reports(s, 1);
    ok(strncmp(said, "a?[2Jb?c?d?e\n", 13) == 0, "what a terminal would obey is not reported");
    at = strstr(said, "<--><host>");
    ok(at != NULL && strcmp(at, "<--><host><rm -f $HOME; `id`>") == 0,
       "the command is one argument, and the last");
    for (i = 0; i < 20; i++) { /* each ends the one before, in whatever state it is */
        mine = phx_ssh_dial(s, NULL, "ssh://host/a:1");
        check(mine >= 0, "dial %d: %d", i, mine);
        close(mine);
    }
    ok(phx_ssh_dial(s, NULL, "ssh://-oProxyCommand=x/a:1") == PHX_EADDRESS, "an option is no host");
    await_reports(s, 22);
    ok(reports == 22 && phx_ssh_step(s) == 0, "22 tunnels, %d reports", reports);
    mine = phx_ssh_dial(s, NULL, "ssh://host/a:1");
    close(mine);
    phx_ssh_free(s);
    ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD && descriptors() == before,
       "no child and no descriptor is left");
    unlink(path);
}

int main(void)
{
    test_addresses();
    test_children();
    return test_end();
}
