/* ssh.c - hubs behind an SSH server: cfg.dial for addresses "ssh://...", by the system's own ssh. */

/* This file includes phoenix.h and nothing else of Phoenix. See ssh.h for what it does.
 *
 * A tunnel is a child and what it has said on its standard error:
 *
 *      phx_ssh_dial --> RUNNING --------------------------> exited --> reported, gone
 *             |            \--> ended by us (TERM, KILL) ----/            ^
 *             \--> could not be started ----------------------------------/
 *
 * Only waitpid with the child's own number tells that it has ended. The end of its standard error is no
 * proof (a helper of its own may hold it open, or the child may close it early), but it is what makes
 * poll return at that moment; from there on the child is looked for every 20 ms, which is never for
 * long. The message is read once more after the child is collected, so nothing it said is lost.
 *
 * The far end of a stream that the node closed is seen by ssh, which then closes its channel and ends.
 * A node dials an address only if it has no link there, so an older tunnel of the same node and address
 * is of no use to anybody: a new dial ends it. That is also what cures an ssh that hangs.
 *
 * The child leads a process group of its own. So ^C at a terminal does not take the tunnels away from a
 * host that wants to say goodbye first, and the end of a tunnel is also the end of its ProxyCommand. */
#define _POSIX_C_SOURCE 200809L
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif
#include "ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* POSIX wants it declared by who uses it */

/* ssh says what went wrong in its last lines; banners and warnings come before. */
#define SSH_TEXT 1000
/* The core takes 103 characters; its terminator makes 104. */
#define SSH_ADDRESS 104
#define SSH_ARGUMENTS 32
/* Between TERM and KILL: ssh ends at once, unless it is stopped or swapped out. */
#define SSH_GRACE_US ((uint64_t)2000000)
/* A child whose standard error has ended is all but gone. */
#define SSH_LOOK_MS 20
/* Read from one child in one step. More than this is a flood, and only its end is kept anyway. */
#define SSH_READS 16
/* A killed child is gone in microseconds. One that hangs inside the kernel is left to init. */
#define SSH_WAIT_MS 1000

struct ssh_tunnel {
    struct ssh_tunnel *next;
    phx *node;
    char address[SSH_ADDRESS];
    pid_t pid; /* 0: there is none, or it has been collected */
    int error; /* descriptor of its standard error, or -1 */
    int status;
    int reason; /* enum phx_ssh_reason as far as known without the text, or -1 */
    uint64_t kill_at; /* 0: it was not told to end */
    size_t size;
    char text[SSH_TEXT + 1];
};

struct phx_ssh {
    struct phx_ssh_config cfg;
    char *program;
    char *arguments[SSH_ARGUMENTS + 1];
    struct ssh_tunnel *tunnels;
    uint32_t count;
};

/* An address cut up. Parts not there are empty. */
struct ssh_place {
    char user[SSH_ADDRESS], host[SSH_ADDRESS], port[SSH_ADDRESS];
    char target[SSH_ADDRESS];  /* for -W */
    char command[SSH_ADDRESS]; /* or this */
};

/* ---- Addresses ----------------------------------------------------------------------------------- */

/* The letters of users and hosts. Nothing a shell or ssh's % expansion could take for something else
 * is among them, and a dash in front would be an option. */
static int ssh_is_word(const char *s, const char *more)
{
    if (*s == '\0' || *s == '-')
        return 0;
    for (; *s != '\0'; s++) {
        int c = (unsigned char)*s;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
              || strchr(more, c) != NULL))
            return 0;
    }
    return 1;
}

static int ssh_is_port(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n > 0 && n <= 5 && s[n] == '\0' && strtol(s, NULL, 10) >= 1
           && strtol(s, NULL, 10) <= 65535;
}

/* "host:port", "[v6]:port"; the port may be missing if it is optional. Cuts `text` up in place. 1 or 0. */
static int ssh_cut_host(char *text, int need_port, char **host, char **port)
{
    int bracket = *text == '[';
    char *end = bracket ? strchr(text, ']') : text + strcspn(text, ":");

    if (end == NULL)
        return 0;
    *host = text + bracket;
    if (bracket)
        *end++ = '\0';
    *port = end;
    if (*end == ':') {
        *end = '\0';
        *port = end + 1;
        need_port = 1;
    } else if (*end != '\0') {
        return 0;
    }
    return ssh_is_word(*host, bracket ? ":.%" : "._-") && (ssh_is_port(*port) || !need_port);
}

/* Everything here is a part of an address that fits. */
static void ssh_copy(char out[SSH_ADDRESS], const char *text)
{
    memcpy(out, text, strlen(text) + 1);
}

static int ssh_parse_target(const char *text, struct ssh_place *out)
{
    char copy[SSH_ADDRESS], *host, *port;

    /* ssh takes options behind the host too, and not every version stops at "--". */
    if (strncmp(text, "exec:", 5) == 0) {
        ssh_copy(out->command, text + 5);
        return out->command[0] != '\0' && out->command[0] != '-';
    }
    ssh_copy(copy, text);
    ssh_copy(out->target, text);
    return ssh_cut_host(copy, 1, &host, &port);
}

static int ssh_parse(const char *address, struct ssh_place *out)
{
    char copy[SSH_ADDRESS], *at, *slash, *host, *port;

    memset(out, 0, sizeof *out);
    if (address == NULL || strncmp(address, "ssh://", 6) != 0)
        return PHX_ESCHEME;
    if (strlen(address) >= sizeof copy)
        return PHX_EADDRESS;
    for (at = copy; *address != '\0'; address++) { /* a node's addresses are printable anyway */
        if ((unsigned char)*address < 0x20 || (unsigned char)*address >= 0x7f)
            return PHX_EADDRESS;
        *at++ = *address;
    }
    *at = '\0';
    memmove(copy, copy + 6, strlen(copy + 6) + 1);
    slash = strchr(copy, '/');
    if (slash == NULL || !ssh_parse_target(slash + 1, out))
        return PHX_EADDRESS;
    *slash = '\0';
    at = strchr(copy, '@');
    if (at != NULL) {
        *at = '\0';
        ssh_copy(out->user, copy);
        if (!ssh_is_word(copy, "._-+"))
            return PHX_EADDRESS;
    }
    if (!ssh_cut_host(at == NULL ? copy : at + 1, 0, &host, &port))
        return PHX_EADDRESS;
    ssh_copy(out->host, host);
    ssh_copy(out->port, port);
    return 0;
}

int phx_ssh_check(const char *address)
{
    struct ssh_place place;

    return ssh_parse(address, &place);
}

/* ---- Reasons ------------------------------------------------------------------------------------- */

const char *phx_ssh_reason_text(enum phx_ssh_reason reason)
{
    switch (reason) {
    case PHX_SSH_ENDED: return "ended";
    case PHX_SSH_REPLACED: return "ended by this node, which dialled again";
    case PHX_SSH_MISSING: return "the ssh program cannot be run";
    case PHX_SSH_ADDRESS: return "malformed address: want ssh://[user@]host[:port]/target:port";
    case PHX_SSH_HOST_KEY: return "host key unknown or changed";
    case PHX_SSH_DENIED: return "permission denied by the SSH server";
    case PHX_SSH_CONNECT: return "no connection with the SSH server";
    case PHX_SSH_FORWARD: return "the SSH server does not allow forwarding";
    case PHX_SSH_TARGET: return "the SSH server cannot connect to the target";
    case PHX_SSH_LOST: return "the connection with the SSH server broke";
    default: return "ssh failed";
    }
}

/* What OpenSSH's client says, versions 6 to 10. It is not translated. The most telling come first: a refused
 * forwarding, say, is followed by a general complaint. */
static enum phx_ssh_reason ssh_reason(const struct ssh_tunnel *t)
{
    static const struct {
        const char *text;
        enum phx_ssh_reason reason;
    } table[] = {
        { "Host key verification failed", PHX_SSH_HOST_KEY },
        { "REMOTE HOST IDENTIFICATION HAS CHANGED", PHX_SSH_HOST_KEY },
        { "Permission denied (", PHX_SSH_DENIED },
        { "Too many authentication failures", PHX_SSH_DENIED },
        { "administratively prohibited", PHX_SSH_FORWARD },
        { "open failed: connect failed", PHX_SSH_TARGET },
        { "open failed", PHX_SSH_FORWARD },
        { "ssh: connect to host", PHX_SSH_CONNECT },
        { "Could not resolve hostname", PHX_SSH_CONNECT },
        { "banner exchange", PHX_SSH_CONNECT },
        { "kex_exchange_identification", PHX_SSH_CONNECT },
        { "not responding", PHX_SSH_LOST },
        { "send disconnect", PHX_SSH_LOST },
        { "Connection to ", PHX_SSH_LOST },
        { "Connection closed", PHX_SSH_LOST },
        { "Connection reset", PHX_SSH_LOST },
        { "Received disconnect", PHX_SSH_LOST },
    };
    size_t i;

    if (t->reason == PHX_SSH_MISSING || t->reason == PHX_SSH_ADDRESS)
        return (enum phx_ssh_reason)t->reason;
    for (i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strstr(t->text, table[i].text) != NULL)
            return table[i].reason;
    if (t->reason >= 0)
        return (enum phx_ssh_reason)t->reason;
    /* Where posix_spawn cannot tell, the child says it so. A command over there may do the same. */
    if (t->status == 127 && t->size == 0)
        return PHX_SSH_MISSING;
    return t->status == 0 || (t->status == 255 && t->size == 0) ? PHX_SSH_ENDED : PHX_SSH_OTHER;
}

/* ---- What the child says ------------------------------------------------------------------------- */

/* Keeps the end of it, from the beginning of a line. What would not print does not get through: some of it
 * comes from the other side, and may be meant for a terminal. */
static void ssh_keep(struct ssh_tunnel *t, const char *data, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++) {
        char c = data[i];
        if (c == '\r' || (c == '\n' && t->size == 0))
            continue;
        if (t->size == SSH_TEXT) {
            const char *line = (const char *)memchr(t->text + SSH_TEXT / 2, '\n', SSH_TEXT / 2);
            size_t cut = line != NULL ? (size_t)(line + 1 - t->text) : SSH_TEXT / 2;
            memmove(t->text, t->text + cut, t->size - cut);
            t->size -= cut;
        }
        if (((unsigned char)c < 0x20 && c != '\n' && c != '\t') || (unsigned char)c >= 0x7f)
            c = '?'; /* some terminals take 0x9b for the beginning of a command */
        t->text[t->size++] = c;
    }
    t->text[t->size] = '\0';
}

static void ssh_listen(struct ssh_tunnel *t)
{
    char data[1024];
    int i;

    for (i = 0; i < SSH_READS && t->error >= 0; i++) {
        ssize_t n = read(t->error, data, sizeof data);
        if (n > 0) {
            ssh_keep(t, data, (size_t)n);
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        } else if (n == 0 || errno != EINTR) {
            close(t->error);
            t->error = -1;
        }
    }
}

/* 1 if it is no more. Somebody else may have collected it, or the host ignores SIGCHLD: then its status is
 * lost, and nothing else. */
static int ssh_collect(struct ssh_tunnel *t)
{
    int status;
    pid_t got;

    if (t->pid == 0)
        return 1;
    do
        got = waitpid(t->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return 0;
    if (got == t->pid)
        t->status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    t->pid = 0;
    return 1;
}

/* Its whole process group, as long as the child is not collected: so the number is still its own. */
static void ssh_signal(const struct ssh_tunnel *t, int number)
{
    if (t->pid > 0 && kill(-t->pid, number) != 0)
        (void)kill(t->pid, number); /* it is about to become a group of its own */
}

static void ssh_end(struct ssh_tunnel *t)
{
    if (t->pid == 0 || t->kill_at != 0)
        return;
    t->kill_at = phx_now_us() + SSH_GRACE_US;
    t->reason = PHX_SSH_REPLACED;
    ssh_signal(t, SIGTERM);
}

/* ---- Starting a child ---------------------------------------------------------------------------- */

/* Two ends of a stream, both close-on-exec, and neither of them 0, 1 or 2, which the host may have closed
 * and which the child needs. */
static int ssh_pair(int out[2])
{
    int type = SOCK_STREAM, i;

#ifdef SOCK_CLOEXEC
    type |= SOCK_CLOEXEC; /* at once: another thread of the host may fork in between */
#endif
    if (socketpair(AF_UNIX, type, 0, out) != 0)
        return -1;
    for (i = 0; i < 2; i++) {
        int fd = out[i];
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0
            || (fd < 3 && (out[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0)) {
            close(fd);
            close(out[1 - i]);
            return -1;
        }
        if (fd < 3)
            close(fd);
    }
    return 0;
}

static void ssh_close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

/* A child must not inherit what the host ignores or blocks: with SIGPIPE ignored, say, its own helpers would
 * never end. */
static int ssh_attributes(posix_spawnattr_t *a)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigemptyset(&all);
    sigaddset(&all, SIGPIPE);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGQUIT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigaddset(&all, SIGCHLD);
    sigaddset(&all, SIGALRM);
    return posix_spawnattr_setsigmask(a, &none) || posix_spawnattr_setsigdefault(a, &all)
           || posix_spawnattr_setpgroup(a, 0)
           || posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
                                              | POSIX_SPAWN_SETPGROUP);
}

/* 0 or errno. */
static int ssh_spawn(pid_t *pid, char *const argv[], int stream, int error)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int err = posix_spawn_file_actions_init(&files);

    if (err != 0)
        return err;
    err = posix_spawnattr_init(&attributes);
    if (err == 0) {
        if (posix_spawn_file_actions_adddup2(&files, stream, 0)
            || posix_spawn_file_actions_adddup2(&files, stream, 1)
            || posix_spawn_file_actions_adddup2(&files, error, 2) || ssh_attributes(&attributes))
            err = ENOMEM;
        else
            err = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return err;
}

/* posix_spawn changes none of the strings, but its type does not say so. */
static void ssh_argument(char *argv[], size_t *n, const char *text)
{
    memcpy(&argv[(*n)++], &text, sizeof argv[0]);
}

/* The command line. Of an option given twice ssh takes the first: the user's. */
static void ssh_arguments(const phx_ssh *s, const struct ssh_place *place, char *argv[])
{
    static const char *const ours[] = {
        "-T", /* no terminal */
        "-oBatchMode=yes", /* ask nothing: nobody is there to answer */
        "-oExitOnForwardFailure=yes",
        "-oConnectTimeout=4", /* below cfg.dial_timeout_us, so that it can say what is wrong */
        /* None should outlive its network for long. The nodes' own heartbeats notice before. */
        "-oServerAliveInterval=15", "-oServerAliveCountMax=2",
        /* A shared connection would not end with its tunnel, nor say why it did. */
        "-oControlMaster=no", "-oControlPath=none",
        "-oEscapeChar=none", /* what passes is binary */
        "-oLogLevel=INFO",   /* QUIET, in somebody's configuration, would hide the cause */
    };
    size_t n = 0, i;

    ssh_argument(argv, &n, s->program);
    for (i = 0; s->arguments[i] != NULL; i++)
        ssh_argument(argv, &n, s->arguments[i]);
    for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
        ssh_argument(argv, &n, ours[i]);
    if (place->port[0] != '\0') {
        ssh_argument(argv, &n, "-p");
        ssh_argument(argv, &n, place->port);
    }
    if (place->user[0] != '\0') {
        ssh_argument(argv, &n, "-l");
        ssh_argument(argv, &n, place->user);
    }
    if (place->target[0] != '\0') {
        ssh_argument(argv, &n, "-W");
        ssh_argument(argv, &n, place->target);
    }
    ssh_argument(argv, &n, "--");
    ssh_argument(argv, &n, place->host);
    if (place->command[0] != '\0')
        ssh_argument(argv, &n, place->command);
    argv[n] = NULL;
}

/* The node's end of a new tunnel, or a negative enum phx_error, with what to report in *t. */
static int ssh_start(const phx_ssh *s, struct ssh_tunnel *t, const struct ssh_place *place)
{
    char *argv[SSH_ARGUMENTS + 32];
    int stream[2], error[2], err;

    if (ssh_pair(stream) != 0)
        return errno == EMFILE || errno == ENFILE ? PHX_EMFILE : PHX_ENOMEM;
    if (ssh_pair(error) != 0) {
        ssh_close_pair(stream);
        return errno == EMFILE || errno == ENFILE ? PHX_EMFILE : PHX_ENOMEM;
    }
    ssh_arguments(s, place, argv);
    if (fcntl(error[0], F_SETFL, O_NONBLOCK) != 0)
        err = errno;
    else
        err = ssh_spawn(&t->pid, argv, stream[1], error[1]);
    close(stream[1]);
    close(error[1]);
    if (err == 0) {
        t->error = error[0];
        return stream[0];
    }
    t->pid = 0;
    close(stream[0]);
    close(error[0]);
    if (strerror_r(err, t->text, sizeof t->text) == 0)
        t->size = strlen(t->text);
    if (err == ENOENT || err == EACCES || err == ENOEXEC || err == ENOTDIR || err == EISDIR)
        t->reason = PHX_SSH_MISSING;
    return err == EACCES  ? PHX_EACCES
           : err == ENOMEM || err == EAGAIN ? PHX_ENOMEM
           : t->reason == PHX_SSH_MISSING   ? PHX_ENOTSUP
                                            : PHX_EIO;
}

/* In the order in which they were dialled. */
static void ssh_append(phx_ssh *s, struct ssh_tunnel *t)
{
    struct ssh_tunnel **end = &s->tunnels;

    while (*end != NULL)
        end = &(*end)->next;
    *end = t;
    s->count++;
}

int phx_ssh_dial(phx_ssh *s, phx *p, const char *address)
{
    struct ssh_place place;
    struct ssh_tunnel *t;
    int result;

    if (s == NULL || address == NULL)
        return PHX_EINVAL;
    result = ssh_parse(address, &place);
    if (result == PHX_ESCHEME || strlen(address) >= sizeof t->address)
        return result != 0 ? result : PHX_EADDRESS;
    for (t = s->tunnels; t != NULL; t = t->next)
        if (t->node == p && strcmp(t->address, address) == 0)
            ssh_end(t);
    if (s->count >= s->cfg.tunnels_max)
        return PHX_ELIMIT;
    t = (struct ssh_tunnel *)calloc(1, sizeof *t);
    if (t == NULL)
        return PHX_ENOMEM;
    t->node = p;
    ssh_copy(t->address, address);
    t->error = t->reason = -1;
    if (result == 0)
        result = ssh_start(s, t, &place);
    else
        t->reason = PHX_SSH_ADDRESS;
    ssh_append(s, t); /* also if it failed: that is to be reported */
    return result;
}

/* ---- The loop ------------------------------------------------------------------------------------ */

static void ssh_report(phx_ssh *s, struct ssh_tunnel *t)
{
    struct phx_ssh_report r;

    while (t->size > 0 && t->text[t->size - 1] == '\n')
        t->text[--t->size] = '\0';
    memset(&r, 0, sizeof r);
    r.node = t->node;
    r.address = t->address;
    r.reason = ssh_reason(t);
    r.status = t->status;
    r.text = t->text;
    if (s->cfg.on_report != NULL)
        s->cfg.on_report(s, &r, s->cfg.user);
}

/* 1 if it has ended, and all that it said is here. */
static int ssh_look(struct ssh_tunnel *t)
{
    ssh_listen(t);
    if (!ssh_collect(t)) {
        if (t->kill_at != 0 && phx_now_us() >= t->kill_at) {
            ssh_signal(t, SIGKILL);
            t->kill_at = phx_now_us() + SSH_GRACE_US;
        }
        return 0;
    }
    ssh_listen(t);
    if (t->error >= 0) /* somebody else may hold the other end for ever */
        close(t->error);
    t->error = -1;
    return 1;
}

int phx_ssh_step(phx_ssh *s)
{
    struct ssh_tunnel **at, *ended = NULL, **last = &ended, *t;

    if (s == NULL)
        return PHX_EINVAL;
    for (at = &s->tunnels; (t = *at) != NULL;) {
        if (!ssh_look(t)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        t->next = NULL;
        *last = t;
        last = &t->next;
        s->count--;
    }
    /* The callbacks come when the list is whole: they may step nodes, which may dial. */
    while ((t = ended) != NULL) {
        ended = t->next;
        ssh_report(s, t);
        free(t);
    }
    return (int)s->count;
}

int phx_ssh_fds(const phx_ssh *s, struct pollfd *fds, int capacity)
{
    const struct ssh_tunnel *t;
    int n = 0;

    for (t = s == NULL ? NULL : s->tunnels; t != NULL; t = t->next) {
        if (t->error < 0)
            continue;
        if (n < capacity) {
            fds[n].fd = t->error;
            fds[n].events = POLLIN;
            fds[n].revents = 0;
        }
        n++;
    }
    return n;
}

int phx_ssh_timeout_ms(const phx_ssh *s)
{
    const struct ssh_tunnel *t;
    int least = -1;

    for (t = s == NULL ? NULL : s->tunnels; t != NULL; t = t->next) {
        if (t->pid == 0)
            return 0; /* it could not be started: the report waits */
        if (t->error < 0 || t->kill_at != 0)
            least = SSH_LOOK_MS;
    }
    return least;
}

/* ---- The other end of exec: ---------------------------------------------------------------------- */

/* All of it, or 0. Blocks, which harms nobody: this process does nothing else, and a node never stops
 * reading. */
static int ssh_write_all(int to, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t k = write(to, data, size);
        if (k < 0 && errno != EINTR)
            return 0;
        if (k > 0) {
            data += k;
            size -= (size_t)k;
        }
    }
    return 1;
}

/* Passes on what there is: 0 if this side has ended, or the other. */
static int ssh_pass(int from, int to)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof data);

    return n < 0 ? errno == EINTR || errno == EAGAIN : n > 0 && ssh_write_all(to, data, (size_t)n);
}

/* Copies both ways until the node closes. Runs in a fork of a process that may have threads: nothing but
 * system calls. */
static void ssh_pump(int stream)
{
    struct pollfd fds[2];

    signal(SIGPIPE, SIG_IGN);
    fds[0].fd = 0;
    fds[1].fd = stream;
    fds[0].events = fds[1].events = POLLIN;
    for (;;) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents != 0 && !ssh_pass(stream, 1))
            return;
        if (fds[0].fd >= 0 && fds[0].revents != 0 && !ssh_pass(0, stream)) {
            shutdown(stream, SHUT_WR); /* the node sees the end, and its own closes the other way */
            fds[0].fd = -1;
        }
        fds[0].revents = fds[1].revents = 0;
    }
}

/* One stream socket that is both? */
static int ssh_is_one(void)
{
    struct stat in, out;

    return fstat(0, &in) == 0 && fstat(1, &out) == 0 && S_ISSOCK(in.st_mode)
           && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

static int ssh_fork_pump(int stream)
{
    pid_t pid = fork(), got;

    if (pid == 0) {
        if (fork() == 0) {
            int fd, last = (int)sysconf(_SC_OPEN_MAX);
            for (fd = 2; fd < last && fd < 65536; fd++)
                if (fd != stream)
                    close(fd); /* nothing of the host's must be held open here */
            ssh_pump(stream);
        }
        _exit(0); /* the pump is nobody's child: the host need not collect it */
    }
    do
        got = pid < 0 ? -1 : waitpid(pid, NULL, 0);
    while (got < 0 && pid > 0 && errno == EINTR);
    return pid < 0 ? PHX_ENOMEM : 0;
}

static int ssh_nothing(void)
{
    int null = open("/dev/null", O_RDWR), err = 0;

    if (null < 0)
        return errno == EMFILE || errno == ENFILE ? PHX_EMFILE : PHX_EIO;
    if (dup2(null, 0) < 0 || dup2(null, 1) < 0)
        err = PHX_EIO;
    if (null > 1)
        close(null);
    return err;
}

int phx_ssh_stdio(void)
{
    int pair[2], err;

    if (ssh_is_one()) {
        pair[0] = fcntl(0, F_DUPFD_CLOEXEC, 3);
        if (pair[0] < 0)
            return PHX_EMFILE;
    } else {
        if (ssh_pair(pair) != 0)
            return errno == EMFILE || errno == ENFILE ? PHX_EMFILE : PHX_EIO;
        err = ssh_fork_pump(pair[1]);
        close(pair[1]);
        if (err != 0) {
            close(pair[0]);
            return err;
        }
    }
    err = ssh_nothing();
    if (err != 0)
        close(pair[0]);
    return err != 0 ? err : pair[0];
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void phx_ssh_config_init(struct phx_ssh_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    cfg->program = "ssh";
    cfg->tunnels_max = 64;
}

static char *ssh_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);

    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

int phx_ssh_new(phx_ssh **out, const struct phx_ssh_config *cfg)
{
    phx_ssh *s;
    size_t i, n = 0;

    if (out == NULL)
        return PHX_EINVAL;
    *out = NULL;
    if (cfg == NULL || cfg->program == NULL || cfg->program[0] == '\0' || cfg->tunnels_max == 0)
        return PHX_EINVAL;
    while (cfg->arguments != NULL && cfg->arguments[n] != NULL)
        if (++n > SSH_ARGUMENTS)
            return PHX_EINVAL;
    s = (phx_ssh *)calloc(1, sizeof *s);
    if (s == NULL)
        return PHX_ENOMEM;
    s->cfg = *cfg;
    s->program = ssh_string(cfg->program);
    for (i = 0; i < n && (i == 0 || s->arguments[i - 1] != NULL); i++)
        s->arguments[i] = ssh_string(cfg->arguments[i]);
    if (s->program == NULL || (n > 0 && s->arguments[n - 1] == NULL)) {
        phx_ssh_free(s);
        return PHX_ENOMEM;
    }
    *out = s;
    return 0;
}

void phx_ssh_free(phx_ssh *s)
{
    struct ssh_tunnel *t;
    int i, waited = 0;

    if (s == NULL)
        return;
    for (t = s->tunnels; t != NULL; t = t->next)
        ssh_signal(t, SIGKILL);
    while ((t = s->tunnels) != NULL) {
        while (!ssh_collect(t) && waited++ < SSH_WAIT_MS)
            (void)poll(NULL, 0, 1);
        if (t->error >= 0)
            close(t->error);
        s->tunnels = t->next;
        free(t);
    }
    for (i = 0; s->arguments[i] != NULL; i++)
        free(s->arguments[i]);
    free(s->program);
    free(s);
}
