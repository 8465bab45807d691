/* delivery.c - what numbers, credit, acks and outcomes cost: Phoenix beside the same without them.
 *
 *     cc -std=c99 -O2 -I. -o delivery test/bench/delivery.c phoenix.c && ./delivery stream 64 200000 5
 *
 * usage: delivery stream|pingpong SIZE COUNT ROUNDS [phx|raw]. Two processes and one loopback TCP
 * connection. "raw" is what remains when end-to-end delivery is taken away: frames with a length in
 * front, written into one buffer and sent as one batch, read and cut up on the other side, both hosts
 * waiting in epoll. "phx" is two Phoenix nodes whose hosts wait for phx_fd. Both sides make a batch
 * of at most BATCH messages or BATCH_BYTES before they look at the network, and both receivers look at
 * the first byte of each message. Rounds alternate; printed is
 *
 *     what SIZE  raw us/message  phx us/message  phx / raw     (medians)
 *
 * With a fifth word only that side runs, once and silently: test/bench/delivery.sh counts its
 * instructions.
 */
#define _DEFAULT_SOURCE
#include "phoenix.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 64u
#define BATCH_BYTES 65536u
#define LIMIT_US 60000000u /* a run that takes longer has hung */
#define LARGEST (16u << 20)
#define ROUNDS 101

struct job {
    int pingpong;
    uint32_t size;
    uint64_t count;
};

static void die(const char *what)
{
    fprintf(stderr, "delivery: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- Raw ----------------------------------------------------------------------------------- */

struct raw {
    int fd, epoll;
    unsigned char *out, *in;
    size_t out_size, out_done, in_size;
    uint64_t heard, checksum;
};

static void raw_open(struct raw *r, int fd)
{
    struct epoll_event e;
    int one = 1;

    memset(r, 0, sizeof *r);
    r->fd = fd;
    r->epoll = epoll_create1(EPOLL_CLOEXEC);
    r->out = malloc(LARGEST + BATCH_BYTES + 4 * BATCH);
    r->in = malloc(2 * (size_t)LARGEST);
    memset(&e, 0, sizeof e);
    e.events = EPOLLIN;
    if (r->epoll < 0 || !r->out || !r->in || epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e) != 0
        || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        die("raw");
}

/* Takes whole frames off the front; what is left moves there. */
static void raw_cut(struct raw *r)
{
    size_t at = 0;
    uint32_t size;

    while (r->in_size - at >= 4) {
        memcpy(&size, r->in + at, 4);
        if (r->in_size - at < 4 + (size_t)size)
            break;
        r->checksum += size ? r->in[at + 4] : 0;
        r->heard++;
        at += 4 + (size_t)size;
    }
    memmove(r->in, r->in + at, r->in_size - at);
    r->in_size -= at;
}

static void raw_wait(struct raw *r)
{
    struct epoll_event e;
    ssize_t n;

    memset(&e, 0, sizeof e);
    e.events = r->out_done < r->out_size ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (e.events & EPOLLOUT && epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->fd, &e) != 0)
        die("epoll_ctl");
    if (epoll_wait(r->epoll, &e, 1, (int)(LIMIT_US / 1000)) != 1)
        die("nothing happens");
    if (e.events & EPOLLIN) {
        n = recv(r->fd, r->in + r->in_size, 2 * (size_t)LARGEST - r->in_size, MSG_DONTWAIT);
        if (n <= 0)
            die("recv");
        r->in_size += (size_t)n;
        raw_cut(r);
    }
    if (e.events & EPOLLOUT) {
        e.events = EPOLLIN;
        if (epoll_ctl(r->epoll, EPOLL_CTL_MOD, r->fd, &e) != 0)
            die("epoll_ctl");
    }
}

static void raw_flush(struct raw *r)
{
    ssize_t n = send(r->fd, r->out + r->out_done, r->out_size - r->out_done, MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        die("send");
    r->out_done += n > 0 ? (size_t)n : 0;
    if (r->out_done == r->out_size)
        r->out_done = r->out_size = 0;
}

static void raw_put(struct raw *r, const unsigned char *data, uint32_t size)
{
    memcpy(r->out + r->out_size, &size, 4);
    memcpy(r->out + r->out_size + 4, data, size);
    r->out_size += 4 + (size_t)size;
}

static uint64_t batch_of(const struct job *j, uint64_t sent)
{
    uint64_t n = j->size < BATCH_BYTES / BATCH ? BATCH : BATCH_BYTES / j->size;

    n = n == 0 ? 1 : n;
    return n < j->count - sent ? n : j->count - sent;
}

/* All messages out; one comes back when they are there. */
static void raw_stream(struct raw *r, const struct job *j, const unsigned char *data, int is_sender)
{
    uint64_t sent = 0, n;

    while (is_sender ? r->heard == 0 : r->heard < j->count) {
        if (is_sender && r->out_size == 0 && sent < j->count)
            for (n = batch_of(j, sent); n > 0; n--, sent++)
                raw_put(r, data, j->size);
        if (r->out_size > 0)
            raw_flush(r);
        if (r->out_size > 0 || !is_sender || sent == j->count)
            raw_wait(r);
    }
    if (is_sender)
        return;
    raw_put(r, data, 1);
    while (r->out_size > 0)
        raw_flush(r);
}

static void raw_pingpong(struct raw *r, const struct job *j, const unsigned char *data, int is_sender)
{
    uint64_t i;

    for (i = 0; i < j->count; i++) {
        if (!is_sender)
            while (r->heard <= i)
                raw_wait(r);
        raw_put(r, data, j->size);
        while (r->out_size > 0)
            raw_flush(r);
        if (is_sender)
            while (r->heard <= i)
                raw_wait(r);
    }
}

/* ---- Phoenix -------------------------------------------------------------------------------- */

struct node {
    phx *p;
    int closed; /* PHX_EAGAIN, until on_writable */
    uint64_t heard, checksum;
};

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct node *n = user;

    (void)p;
    n->checksum += m->size ? *(const unsigned char *)m->data : 0;
    n->heard++;
}

static void on_writable(phx *p, uint64_t to, void *user)
{
    struct node *n = user;

    (void)p, (void)to;
    n->closed = 0;
}

static void check(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "delivery: %s: %s\n", what, phx_strerror(err));
    exit(1);
}

/* On the connection that both have already: nothing else differs. */
static void node_open(struct node *n, int fd, int is_sender)
{
    struct phx_config cfg;

    memset(n, 0, sizeof *n);
    phx_config_init(&cfg);
    cfg.user = n;
    cfg.on_message = on_message;
    cfg.on_writable = on_writable;
    check(phx_new(&n->p, &cfg, phx_now_us()), "phx_new");
    check(phx_assume(n->p, (uint64_t)is_sender, (uint64_t)is_sender), "phx_assume");
    check(phx_adopt(n->p, fd, is_sender), "phx_adopt");
}

static void node_step(struct node *n, int may_wait)
{
    struct pollfd fd;

    fd.fd = phx_fd(n->p);
    fd.events = POLLIN;
    check(fd.fd, "phx_fd");
    if (may_wait)
        (void)poll(&fd, 1, phx_timeout_ms(n->p, phx_now_us()));
    check(phx_step(n->p, phx_now_us(), NULL, 0), "phx_step");
}

static void node_put(struct node *n, uint64_t to, const unsigned char *data, uint32_t size)
{
    int err = phx_send(n->p, to, 1 - to, 0, data, size);

    n->closed = err == PHX_EAGAIN;
    if (!n->closed)
        check(err, "phx_send");
}

/* Until the last acks have come: the sender goes then, and the receiver when it sees that. */
static void node_drain(struct node *n, int is_sender)
{
    uint64_t until = phx_now_us() + LIMIT_US;
    struct phx_stats st;

    do {
        phx_stats(n->p, &st);
        if (is_sender ? phx_pending(n->p) == 0 : st.links == 0)
            return;
        node_step(n, 1);
    } while (phx_now_us() < until);
}

static void node_stream(struct node *n, const struct job *j, const unsigned char *data, int is_sender)
{
    uint64_t sent = 0, k;

    while (is_sender ? n->heard == 0 : n->heard < j->count) {
        if (is_sender && !n->closed && sent < j->count)
            for (k = batch_of(j, sent); k > 0 && !n->closed; k--) {
                node_put(n, 0, data, j->size);
                sent += !n->closed;
            }
        node_step(n, !is_sender || n->closed || sent == j->count);
    }
    if (!is_sender)
        node_put(n, 1, data, 1);
}

static void node_pingpong(struct node *n, const struct job *j, const unsigned char *data, int is_sender)
{
    uint64_t i;

    for (i = 0; i < j->count; i++) {
        if (!is_sender)
            while (n->heard <= i)
                node_step(n, 1);
        node_put(n, (uint64_t)!is_sender, data, j->size);
        node_step(n, 0);
        if (is_sender)
            while (n->heard <= i)
                node_step(n, 1);
    }
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void tcp_pair(int ends[2])
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || ends[0] < 0 || bind(listener, (struct sockaddr *)&at, size) != 0
        || listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&at, &size) != 0
        || connect(ends[0], (struct sockaddr *)&at, size) != 0
        || (ends[1] = accept(listener, NULL, NULL)) < 0)
        die("loopback TCP");
    close(listener);
}

/* One side of a run; the sender returns microseconds per message. The clock runs from the first
 * message to the answer, when links are made and names known. */
static double side(const struct job *j, int is_phx, int is_sender, int fd)
{
    static unsigned char data[LARGEST];
    struct node n;
    struct raw r;
    uint64_t began;

    if (is_phx) {
        node_open(&n, fd, is_sender);
        while (phx_owner(n.p, (uint64_t)!is_sender, NULL) != 0)
            node_step(&n, 1);
    } else {
        raw_open(&r, fd);
    }
    began = phx_now_us();
    if (!is_phx)
        (j->pingpong ? raw_pingpong : raw_stream)(&r, j, data, is_sender);
    else
        (j->pingpong ? node_pingpong : node_stream)(&n, j, data, is_sender);
    began = phx_now_us() - began;
    if (is_phx) {
        node_drain(&n, is_sender);
        phx_free(n.p);
    } else {
        close(fd);
    }
    return (double)began / (double)j->count / (j->pingpong ? 2 : 1);
}

static double run(const struct job *j, int is_phx)
{
    int ends[2], status;
    double us;
    pid_t pid;

    tcp_pair(ends);
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(ends[0]);
        alarm(2 * (LIMIT_US / 1000000)); /* no process of ours stays */
        (void)side(j, is_phx, 0, ends[1]);
        exit(0);
    }
    close(ends[1]);
    us = side(j, is_phx, 1, ends[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("the receiver failed");
    return us;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static uint64_t number(const char *text, uint64_t most)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || v < 1 || v > most) {
        fprintf(stderr, "delivery: %s is not in 1..%llu\n", text, (unsigned long long)most);
        exit(2);
    }
    return v;
}

int main(int argc, char **argv)
{
    double raw[ROUNDS], ours[ROUNDS], ratio[ROUNDS];
    struct job j;
    uint64_t rounds, i;

    if (argc < 5 || argc > 6 || (strcmp(argv[1], "stream") != 0 && strcmp(argv[1], "pingpong") != 0)) {
        fprintf(stderr, "usage: delivery stream|pingpong SIZE COUNT ROUNDS [phx|raw]\n");
        return 2;
    }
    alarm(300);
    j.pingpong = argv[1][0] == 'p';
    j.size = (uint32_t)number(argv[2], LARGEST);
    j.count = number(argv[3], 100000000);
    rounds = number(argv[4], ROUNDS);
    if (argc == 6) {
        (void)run(&j, strcmp(argv[5], "phx") == 0);
        return 0;
    }
    for (i = 0; i < rounds; i++) {
        raw[i] = run(&j, 0);
        ours[i] = run(&j, 1);
        ratio[i] = ours[i] / raw[i];
    }
    qsort(raw, rounds, sizeof *raw, compare);
    qsort(ours, rounds, sizeof *ours, compare);
    qsort(ratio, rounds, sizeof *ratio, compare);
    printf("%s\t%u\t%.3f\t%.3f\t%.2f\n", argv[1], (unsigned)j.size, raw[rounds / 2], ours[rounds / 2],
           ratio[rounds / 2]);
    return 0;
}
