/* ssh_node.c - a node for ssh.sh: says what happens, line by line, and does what it is told. */

/* usage: ssh_node NAME LISTEN JOIN [PROGRAM [ARGUMENT...]]
 *
 * Holds the name NAME. LISTEN and JOIN are addresses or "-"; "hidden:" in front of LISTEN keeps the
 * address from the others, so that nobody finds another way to it. LISTEN "stdio" adopts its standard input
 * and output, and then speaks on standard error and takes no commands. PROGRAM and its arguments are
 * what extras/ssh shall run. Commands on standard input:
 *
 *     send TO COUNT      messages, numbered on from the last
 *     quit               says goodbye
 *
 * It prints "log LINE", "report REASON: TEXT", "got FROM NUMBER" (and "bad ..." if that is not the next
 * number from there), "done NUMBER RESULT", and "children N" at its end: how many it has not collected.
 * It ends by itself after two minutes. */
#define _POSIX_C_SOURCE 200809L
#include "../../extras/ssh/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000)
#define PEERS 16u

struct host {
    phx *p;
    phx_ssh *ssh;
    FILE *out;
    uint64_t name, sent, last[PEERS];
    char line[256];
    size_t line_size;
    int stdio, quit;
};

static void on_log(phx *p, int level, const char *line, void *user)
{
    (void)p;
    (void)level;
    fprintf(((struct host *)user)->out, "log %s\n", line);
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct host *h = user;
    uint64_t number;

    (void)p;
    if (m->size != sizeof number || m->from >= PEERS)
        return;
    memcpy(&number, m->data, sizeof number);
    fprintf(h->out, "%s %u %u\n", number == h->last[m->from] + 1 ? "got" : "bad", (unsigned)m->from,
            (unsigned)number);
    h->last[m->from] = number;
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)to, (void)tag;
    fprintf(((struct host *)user)->out, "done %u %s\n", (unsigned)token, phx_strerror(result));
}

static int on_dial(phx *p, const char *address, void *user)
{
    return phx_ssh_dial(((struct host *)user)->ssh, p, address);
}

static void on_report(phx_ssh *s, const struct phx_ssh_report *r, void *user)
{
    char text[1024], *c;

    (void)s;
    snprintf(text, sizeof text, "%s", r->text);
    for (c = text; *c != '\0'; c++)
        *c = *c == '\n' ? '|' : *c;
    fprintf(((struct host *)user)->out, "report %s: %s\n", phx_ssh_reason_text(r->reason), text);
}

static void obey(struct host *h, const char *line)
{
    unsigned to, count;

    if (sscanf(line, "send %u %u", &to, &count) == 2) {
        for (; count > 0; count--) {
            struct phx_outgoing m;
            struct iovec iov;
            int err;
            memset(&m, 0, sizeof m);
            h->sent++;
            iov.iov_base = &h->sent;
            iov.iov_len = sizeof h->sent;
            m.to = to;
            m.from = h->name;
            m.token = h->sent;
            m.iov = &iov;
            m.iov_count = 1;
            if ((err = phx_sendv(h->p, &m)) != 0)
                fprintf(h->out, "done %u %s\n", (unsigned)h->sent, phx_strerror(err));
        }
    } else if (strcmp(line, "quit") == 0) {
        h->quit = 1;
    }
}

static void read_commands(struct host *h)
{
    char *end;
    ssize_t n = read(0, h->line + h->line_size, sizeof h->line - 1 - h->line_size);

    if (n <= 0) {
        h->quit |= n == 0;
        return;
    }
    h->line_size += (size_t)n;
    h->line[h->line_size] = '\0';
    while ((end = strchr(h->line, '\n')) != NULL) {
        *end = '\0';
        obey(h, h->line);
        h->line_size -= (size_t)(end + 1 - h->line);
        memmove(h->line, end + 1, h->line_size + 1);
    }
}

static int least(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* As ssh.h says: its descriptors and its deadline beside those of the node and our own. */
static void turn(struct host *h)
{
    struct pollfd fds[2 + 64];
    int n, commands = h->stdio || h->quit;

    fds[0].fd = phx_fd(h->p);
    fds[1].fd = commands ? -1 : 0;
    fds[0].events = fds[1].events = POLLIN;
    n = phx_ssh_fds(h->ssh, fds + 2, 64);
    (void)poll(fds, (nfds_t)(2 + n),
               least(phx_timeout_ms(h->p, phx_now_us()), phx_ssh_timeout_ms(h->ssh)));
    if (fds[1].fd >= 0 && fds[1].revents != 0)
        read_commands(h);
    phx_step(h->p, phx_now_us(), NULL, 0);
    phx_ssh_step(h->ssh);
    fflush(h->out);
}

/* A card has room for eight addresses, and these, where nobody listens, leave none for the real one. */
static int hide(phx *p)
{
    char text[64];
    int i, err = 0;

    for (i = 1; i <= 8 && err == 0; i++) {
        snprintf(text, sizeof text, "tcp://127.0.0.1:%d", i);
        err = phx_advertise(p, text);
    }
    return err;
}

static int open_node(struct host *h, char **argv)
{
    struct phx_config cfg;
    struct phx_address a;
    char text[PHX_ADDRESS_TEXT];
    int err, fd;

    phx_config_init(&cfg);
    cfg.user = h;
    cfg.dial = on_dial;
    cfg.on_log = on_log;
    cfg.on_message = on_message;
    cfg.on_done = on_done;
    cfg.retry_max_us = SECOND; /* a test should not wait for half a minute */
    if ((err = phx_new(&h->p, &cfg, phx_now_us())) != 0)
        return err;
    if ((err = phx_assume(h->p, h->name, h->name)) != 0)
        return err;
    h->stdio = strcmp(argv[2], "stdio") == 0;
    if (h->stdio) {
        if ((fd = phx_ssh_stdio()) < 0 || (err = phx_adopt(h->p, fd, 0)) != 0)
            return fd < 0 ? fd : err;
    } else if (strcmp(argv[2], "-") != 0) {
        int hidden = strncmp(argv[2], "hidden:", 7) == 0;
        if (hidden && (err = hide(h->p)) != 0)
            return err;
        if ((err = phx_listen(h->p, argv[2] + (hidden ? 7 : 0))) != 0)
            return err;
        phx_listening(h->p, 0, &a);
        fprintf(h->out, "listening %s\n", phx_address_text(&a, text));
    }
    return strcmp(argv[3], "-") == 0 ? 0 : phx_join(h->p, argv[3]);
}

int main(int argc, char **argv)
{
    struct phx_ssh_config cfg;
    struct host h;
    uint64_t end = phx_now_us() + 120 * SECOND;
    int err;

    memset(&h, 0, sizeof h);
    if (argc < 4)
        return 2;
    h.name = strtoull(argv[1], NULL, 10);
    h.out = strcmp(argv[2], "stdio") == 0 ? stderr : stdout;
    phx_ssh_config_init(&cfg);
    cfg.user = &h;
    cfg.on_report = on_report;
    if (argc > 4) {
        cfg.program = argv[4];
        cfg.arguments = (const char *const *)(argv + 5);
    }
    err = phx_ssh_new(&h.ssh, &cfg);
    if (err == 0)
        err = open_node(&h, argv);
    if (err != 0) {
        fprintf(h.out, "error %s\n", phx_strerror(err));
        return 1;
    }
    fflush(h.out);
    while (!h.quit && phx_now_us() < end)
        turn(&h);
    phx_close(h.p, SECOND);
    while (!phx_closed(h.p))
        turn(&h);
    phx_free(h.p);
    phx_ssh_free(h.ssh);
    fprintf(h.out, "children %d\n", waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 1);
    return 0;
}
