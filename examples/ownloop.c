/* ownloop.c - a host with a poll loop of its own: a chat by name, fed from stdin and a UDP port.
 *
 *     cc -std=c99 -O2 -I. -o ownloop examples/ownloop.c phoenix.c
 *     ./ownloop ann tcp://127.0.0.1:7000      (the first: it listens there)
 *     ./ownloop bob tcp://127.0.0.1:7000      (the others: the address is taken, so they join)
 *
 * Type "bob how are you" to send a line to bob; he need not be there yet. End of file (^D) or ^C
 * leaves. Other programs may feed lines through the UDP port that is shown: one datagram, one line.
 *
 * The loop watches three descriptors, and Phoenix is one of them: phx_fd is readable whenever
 * phx_step has something to do, however many links there are. That is what a host with an epoll,
 * libuv or glib loop would watch, too. A fourth source of events, the clock, needs no descriptor:
 * the time-out of poll is the nearest of Phoenix's deadline and our own.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND 1000000u
#define TICK_US (30u * SECOND)      /* how often we say who is there */
#define WAIT_US (60u * SECOND)      /* how long a line waits for somebody to take its name */
#define LIFE_US (3600ull * SECOND)  /* nobody chats longer than an hour with an example */

enum { STDIN, UDP, PHOENIX, WATCHED };

struct chat {
    phx *p;
    uint64_t me;
    uint64_t tick;     /* when to say who is there next */
    uint64_t end;      /* when to give up, whatever happens */
    int fd[WATCHED];
    char line[1024];   /* from stdin, not yet complete */
    size_t line_size;
    int failed, done;  /* lines that did not arrive; stdin is at its end */
    int closing;
};

/* The handler needs them: a handler has no argument of its own. */
static phx *interrupted_node;
static volatile sig_atomic_t interrupted;

/* phx_wake is the one call that is safe here; it makes poll return. */
static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    phx_wake(interrupted_node);
}

/* Names are 64 bits, so a word of up to eight letters is a name: no directory is needed. */
static uint64_t name_of(const char *word, size_t size)
{
    uint64_t name = 0;
    size_t i;

    for (i = 0; i < size && i < 8; i++)
        name = name << 8 | (unsigned char)word[i];
    return name;
}

static void word_of(uint64_t name, char out[9])
{
    int i, n = 0;

    for (i = 56; i >= 0; i -= 8)
        if ((name >> i & 255) != 0)
            out[n++] = (char)(name >> i & 255);
    out[n] = 0;
}

/* One line: the first word is to whom, the rest is what. With a token on_done can say who did not get it. */
static void send_line(struct chat *c, const char *line, size_t size)
{
    size_t word = 0, skip;
    struct phx_outgoing m;
    struct iovec text;
    int err;

    while (word < size && line[word] != ' ')
        word++;
    skip = word < size ? word + 1 : word;
    if (word == 0)
        return;
    memset(&m, 0, sizeof m);
    text.iov_base = (void *)(line + skip);
    text.iov_len = size - skip;
    m.to = name_of(line, word);
    m.token = 1;
    m.from = c->me;
    m.time_limit_us = WAIT_US;
    m.iov = &text;
    m.iov_count = 1;
    if ((err = phx_sendv(c->p, &m)) != 0) {
        printf("* not sent: %s\n", phx_strerror(err));
        c->failed++;
    }
}

static void read_stdin(struct chat *c)
{
    ssize_t got = read(0, c->line + c->line_size, sizeof c->line - c->line_size);
    char *end;

    if (got <= 0) {
        if (got == 0 || errno != EINTR)
            c->done = 1;
        return;
    }
    c->line_size += (size_t)got;
    while ((end = memchr(c->line, '\n', c->line_size)) != NULL) {
        size_t size = (size_t)(end - c->line);
        send_line(c, c->line, size);
        c->line_size -= size + 1;
        memmove(c->line, end + 1, c->line_size);
    }
    if (c->line_size == sizeof c->line) { /* no end in sight: send what there is */
        send_line(c, c->line, c->line_size);
        c->line_size = 0;
    }
}

static void read_udp(struct chat *c)
{
    char text[1024];
    ssize_t got = recv(c->fd[UDP], text, sizeof text, 0);

    if (got <= 0)
        return;
    if (text[got - 1] == '\n')
        got--;
    send_line(c, text, (size_t)got);
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    char from[9];

    (void)p, (void)user;
    word_of(m->from, from);
    printf("%s: %.*s\n", from, (int)m->size, (const char *)m->data);
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct chat *c = user;
    char whom[9];

    (void)p, (void)token, (void)tag;
    if (result == PHX_OK)
        return;
    word_of(to, whom);
    printf("* %s did not get it: %s\n", whom, phx_strerror(result));
    c->failed++;
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    static const char *const words[] = { "", "is here", "is silent", "cannot be reached",
                                         "is gone", "has left" };
    char id[PHX_ID_TEXT];

    (void)p;
    if (((struct chat *)user)->closing)
        return; /* it is us who leave: of course we reach nobody any more */
    printf("* node %.6s %s\n", phx_id_text(&node->id, id), words[node->state]);
}

static void who_is_there(struct chat *c)
{
    struct phx_node nodes[64];
    struct phx_range names[1];
    size_t i, n = phx_nodes(c->p, nodes, 64);
    char word[9];

    printf("* here:");
    for (i = 0; i < n && i < 64; i++)
        if (nodes[i].hops >= 0 && phx_names(c->p, &nodes[i].id, names, 1) > 0) {
            word_of(names[0].first, word);
            printf(" %s", word);
        }
    printf("\n");
}

/* Milliseconds until the nearest of what Phoenix and we have to do. */
static int time_out(const struct chat *c, uint64_t now)
{
    int ms = phx_timeout_ms(c->p, now);
    int ours = c->tick > now ? (int)((c->tick - now) / 1000) + 1 : 0;

    return ms >= 0 && ms < ours ? ms : ours;
}

/* One turn of the loop. Returns 0, or -1 if poll fails. */
static int turn(struct chat *c)
{
    struct pollfd fds[WATCHED];
    uint64_t now = phx_now_us();
    int i;

    for (i = 0; i < WATCHED; i++) {
        fds[i].fd = i == STDIN && c->done ? -1 : c->fd[i]; /* poll skips negative descriptors */
        fds[i].events = POLLIN;
        fds[i].revents = 0;
    }
    if (poll(fds, WATCHED, time_out(c, now)) < 0 && errno != EINTR) {
        perror("ownloop: poll");
        return -1;
    }
    if (fds[STDIN].revents != 0)
        read_stdin(c);
    if (fds[UDP].revents != 0)
        read_udp(c);
    now = phx_now_us();
    phx_step(c->p, now, NULL, 0); /* also without an event: deadlines count, and it is cheap */
    if (now >= c->tick) {
        c->tick = now + TICK_US;
        who_is_there(c);
    }
    fflush(stdout);
    return 0;
}

/* Chats until the end of stdin and until all lines have an outcome, then says goodbye. */
static int chat(struct chat *c)
{
    while (!interrupted && phx_now_us() < c->end && !(c->done && phx_pending(c->p) == 0))
        if (turn(c) != 0)
            return -1;
    if (phx_close(c->p, SECOND) != 0)
        return -1;
    c->done = c->closing = 1;
    c->end = phx_now_us() + 2 * SECOND;
    while (!phx_closed(c->p) && phx_now_us() < c->end)
        if (turn(c) != 0)
            return -1;
    return c->failed ? -1 : 0;
}

static int udp_socket(void)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0
        || getsockname(fd, (struct sockaddr *)&at, &size) != 0) {
        perror("ownloop: udp");
        return -1;
    }
    printf("* lines are also taken from udp port %d\n", ntohs(at.sin_port));
    return fd;
}

/* The node and what we watch. Returns 0 or why not. */
static int start(struct chat *c, const char *name, const char *address)
{
    struct phx_config cfg;
    int err;

    phx_config_init(&cfg);
    cfg.user = c;
    cfg.on_message = on_message;
    cfg.on_done = on_done;
    cfg.on_node = on_node;
    if ((err = phx_new(&c->p, &cfg, phx_now_us())) != 0)
        return err;
    if ((err = phx_listen(c->p, address)) == PHX_EINUSE)
        err = phx_join(c->p, address);
    c->me = name_of(name, strlen(name));
    if (err != 0 || (err = phx_assume(c->p, c->me, c->me)) != 0)
        return err;
    if ((err = phx_fd(c->p)) < 0)
        return err; /* PHX_ENOTSUP: a build for poll only; use phx_fds as hello.c does */
    c->fd[PHOENIX] = err;
    return 0;
}

int main(int argc, char **argv)
{
    static struct chat c; /* zero */
    struct sigaction action;
    int err;

    if (argc != 3 || strlen(argv[1]) > 8) {
        fprintf(stderr, "usage: ownloop NAME ADDRESS   (a name has up to 8 letters)\n");
        return 2;
    }
    if ((err = start(&c, argv[1], argv[2])) != 0) {
        fprintf(stderr, "ownloop: %s\n", phx_strerror(err));
        phx_free(c.p);
        return 1;
    }
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    interrupted_node = c.p;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    c.tick = phx_now_us() + TICK_US;
    c.end = phx_now_us() + LIFE_US;
    err = (c.fd[UDP] = udp_socket()) < 0 ? -1 : chat(&c);
    signal(SIGINT, SIG_DFL); /* the handler's node is about to go */
    signal(SIGTERM, SIG_DFL);
    phx_free(c.p);
    return err == 0 ? 0 : 1;
}
