/* s_raw.c - the reference: plain stream sockets, as one would write it by hand with some care. */

/* Variants:
 *
 *   tcp, unix      epoll; small messages gather in a buffer, which goes out once a turn or when it is full
 *   each           TCP, epoll, one write for each message
 *   block          TCP, no epoll: blocking read and write (two processes only)
 *   copy           as tcp; as a relay it copies bytes from one socket to the other
 *   splice         the relay moves pages through a pipe (Linux)
 *   socat, ssh     the relay is that program
 *
 * A message is four bytes of size and the message. Large ones are written from where they stand, gathered
 * with what waits before them, and read straight into one buffer. */
#define _GNU_SOURCE 1
#include "bench.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER 262144u
#define GATHER 65536u /* a message of this size is not copied into the buffer */

struct raw_link {
    int fd;
    char *out; /* waits to be written: begin..end of it */
    size_t out_begin, out_end;
    const char *rest; /* of a large message behind it */
    size_t rest_size;
    char *in;
    size_t in_size;
    char *large; /* one being read, straight into place */
    size_t large_size, large_got;
    int dirty, full;
    uint32_t watched; /* events */
};

const char sys_name[] = "raw";
const int sys_needs_turns = 0;
const char *const sys_variants = "tcp unix each block (relays: copy splice socat ssh)";

static struct raw_link links[1024];
static int by_fd[8192], dirty[1024], dirty_count, queue, listener;
static int is_unix, is_each, is_block;
static char *scratch;

int sys_launched(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

/* ---- Opening */

static int raw_listen(uint64_t *where)
{
    struct sockaddr_in in;
    struct sockaddr_un un;
    socklen_t n = sizeof in;
    int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

    memset(&in, 0, sizeof in);
    memset(&un, 0, sizeof un);
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    un.sun_family = AF_UNIX;
    snprintf(un.sun_path, sizeof un.sun_path, "%s", bench_path(bench.me));
    err = is_unix ? bind(fd, (struct sockaddr *)&un, sizeof un)
                  : bind(fd, (struct sockaddr *)&in, sizeof in);
    if (err != 0 || listen(fd, 1024) != 0)
        bench_die("cannot listen");
    if (!is_unix)
        getsockname(fd, (struct sockaddr *)&in, &n);
    *where = is_unix ? 1 : ntohs(in.sin_port);
    return fd;
}

static int raw_dial_port(unsigned port)
{
    struct sockaddr_in in;
    int fd, tries;

    memset(&in, 0, sizeof in);
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons((uint16_t)port);
    for (tries = 0; tries < 500; tries++) { /* a relay program takes its time to start */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&in, sizeof in) == 0)
            return fd;
        close(fd);
        usleep(10000);
    }
    bench_die("cannot connect");
}

static int raw_dial(int to)
{
    struct sockaddr_un un;
    uint64_t port = bench_get(to);
    int fd;

    if (!is_unix)
        return raw_dial_port((unsigned)port);
    memset(&un, 0, sizeof un);
    un.sun_family = AF_UNIX;
    snprintf(un.sun_path, sizeof un.sun_path, "%s", bench_path(to));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (connect(fd, (struct sockaddr *)&un, sizeof un) != 0)
        if (errno != EAGAIN)
            bench_die("cannot connect");
    return fd;
}

/* The dialer says its number in four bytes. */
static void raw_link(int peer, int fd)
{
    struct epoll_event e;
    int on = 1;

    if (!is_unix)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!is_block)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    links[peer].fd = fd;
    links[peer].watched = EPOLLIN;
    links[peer].out = malloc(BUFFER);
    links[peer].in = malloc(GATHER * 2);
    if (links[peer].out == NULL || links[peer].in == NULL || fd >= 8192)
        bench_die("no memory");
    by_fd[fd] = peer;
    memset(&e, 0, sizeof e);
    e.events = EPOLLIN;
    e.data.fd = fd;
    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &e);
}

static void raw_accept(int count)
{
    int32_t who;
    int fd;

    while (count-- > 0) {
        if ((fd = accept(listener, NULL, NULL)) < 0 || recv(fd, &who, 4, MSG_WAITALL) != 4)
            bench_die("cannot accept");
        raw_link(who, fd);
    }
}

static void raw_join(int to)
{
    int32_t me = bench.me;
    int fd = raw_dial(to);

    if (write(fd, &me, 4) != 4)
        bench_die("cannot join");
    raw_link(to, fd);
}

static int raw_is(const char *variant)
{
    return strcmp(bench.variant, variant) == 0;
}

void sys_open(void)
{
    uint64_t where;
    int i;

    is_unix = raw_is("unix");
    is_each = raw_is("each");
    is_block = raw_is("block");
    queue = epoll_create1(EPOLL_CLOEXEC);
    scratch = malloc(BUFFER);
    signal(SIGPIPE, SIG_IGN);
    if (bench.shape == BENCH_MESH || bench.me == (bench.shape == BENCH_RELAY ? 2 : 0)) {
        listener = raw_listen(&where);
        bench_put(bench.me, where);
    }
    if (bench.shape == BENCH_RELAY && bench.me == 1)
        return; /* sys_relay */
    if (bench.shape == BENCH_RELAY) {
        if (bench.me == 2) {
            raw_accept(1);
        } else {
            bench_get(1);
            links[2].fd = -1;
            raw_join(1);
            links[2] = links[1];
            by_fd[links[2].fd] = 2;
        }
    } else if (bench.shape == BENCH_STAR) {
        if (bench.me == 0)
            raw_accept(bench.count - 1);
        else
            raw_join(0);
    } else {
        for (i = 0; i < bench.me; i++)
            raw_join(i);
        raw_accept(bench.count - 1 - bench.me);
    }
    bench_meet();
}

void sys_close(void)
{
}

/* ---- Sending */

static void raw_flush(struct raw_link *l)
{
    while (l->out_end > l->out_begin || l->rest_size > 0) {
        struct iovec v[2] = { { l->out + l->out_begin, l->out_end - l->out_begin },
                              { (void *)l->rest, l->rest_size } };
        struct msghdr m;
        ssize_t n;
        if (l->rest_size == 0) {
            n = send(l->fd, v[0].iov_base, v[0].iov_len, MSG_NOSIGNAL);
        } else {
            memset(&m, 0, sizeof m);
            m.msg_iov = v;
            m.msg_iovlen = 2;
            n = sendmsg(l->fd, &m, MSG_NOSIGNAL);
        }
        if (n < 0) {
            if (errno != EAGAIN)
                bench_die("lost a link");
            l->full = 1;
            return;
        }
        if ((size_t)n < v[0].iov_len) {
            l->out_begin += (size_t)n;
            continue;
        }
        n -= (ssize_t)v[0].iov_len;
        l->out_begin = l->out_end = 0;
        l->rest += n;
        l->rest_size -= (size_t)n;
    }
    l->full = 0;
}

/* For room too, as long as the last write was cut short. */
static void raw_watch(int peer)
{
    uint32_t events = links[peer].full ? EPOLLIN | EPOLLOUT : EPOLLIN;
    struct epoll_event e;

    if (is_block || links[peer].watched == events)
        return;
    links[peer].watched = events;
    memset(&e, 0, sizeof e);
    e.events = events;
    e.data.fd = links[peer].fd;
    epoll_ctl(queue, EPOLL_CTL_MOD, links[peer].fd, &e);
}

int sys_send(int to, const void *data, size_t size)
{
    struct raw_link *l = &links[to];
    uint32_t head = (uint32_t)size;
    size_t copied = size < GATHER ? size : 0;

    if (l->rest_size > 0 || l->out_end + 4 + copied > BUFFER) {
        raw_flush(l);
        raw_watch(to);
        if (l->full)
            return 1;
    }
    memcpy(l->out + l->out_end, &head, 4);
    memcpy(l->out + l->out_end + 4, data, copied);
    l->out_end += 4 + copied;
    if (copied < size) {
        l->rest = data;
        l->rest_size = size;
    }
    if (is_each || is_block) {
        raw_flush(l);
        raw_watch(to);
    } else if (!l->dirty) {
        l->dirty = 1;
        dirty[dirty_count++] = to;
    }
    return 0;
}

/* ---- Receiving */

/* Whole messages at p; returns what is left over. */
static size_t raw_parse(struct raw_link *l, int from, const char *p, size_t size)
{
    uint32_t head;

    while (size >= 4) {
        memcpy(&head, p, 4);
        if (size < 4 + (size_t)head) {
            if (head < GATHER)
                break;
            if (l->large == NULL && (l->large = malloc(64u << 20)) == NULL)
                bench_die("no memory"); /* one buffer for ever, as a user with large messages has */
            l->large_size = head;
            l->large_got = size - 4;
            memcpy(l->large, p + 4, size - 4);
            return 0;
        }
        bench_got(from, p + 4, head);
        p += 4 + head;
        size -= 4 + head;
    }
    memcpy(l->in, p, size);
    return size;
}

static void raw_read(int peer)
{
    struct raw_link *l = &links[peer];
    ssize_t n;

    if (l->large_size > 0) {
        n = recv(l->fd, l->large + l->large_got, l->large_size - l->large_got, 0);
        if (n > 0 && (l->large_got += (size_t)n) == l->large_size) {
            l->large_size = 0;
            bench_got(peer, l->large, l->large_got);
        }
    } else {
        memcpy(scratch, l->in, l->in_size);
        n = recv(l->fd, scratch + l->in_size, BUFFER - l->in_size, 0);
        if (n > 0)
            l->in_size = raw_parse(l, peer, scratch, l->in_size + (size_t)n);
    }
    if (n == 0)
        exit(0); /* the other one is done */
    if (n < 0 && errno != EAGAIN)
        bench_die("lost a link");
}

void sys_turn(int sleep)
{
    struct epoll_event ready[128];
    int i, n;

    for (i = 0; i < dirty_count; i++) {
        int was = links[dirty[i]].full;
        links[dirty[i]].dirty = 0;
        raw_flush(&links[dirty[i]]);
        raw_watch(dirty[i]);
        if (was && !links[dirty[i]].full)
            sleep = 0; /* there is the room that somebody waits for */
    }
    dirty_count = 0;
    if (is_block) {
        raw_read(bench.me == 0 ? 1 : 0);
        return;
    }
    n = epoll_wait(queue, ready, 128, sleep ? -1 : 0);
    for (i = 0; i < n; i++) {
        int peer = by_fd[ready[i].data.fd];
        if (ready[i].events & EPOLLOUT) {
            raw_flush(&links[peer]);
            raw_watch(peer);
        }
        if (ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            raw_read(peer);
    }
}

/* ---- Relays */

/* All that comes out of `from` goes into `to`, a buffer or a pipe full at a time. */
static void relay_copy(int from, int to, struct pollfd *wait_to, char *buffer, size_t *have)
{
    ssize_t n;

    if (*have == 0) {
        n = recv(from, buffer, BUFFER, 0);
        if (n == 0)
            exit(0);
        *have = n > 0 ? (size_t)n : 0;
    }
    n = *have > 0 ? send(to, buffer, *have, MSG_NOSIGNAL) : 0;
    if (n > 0 && (*have -= (size_t)n) > 0)
        memmove(buffer, buffer + n, *have);
    wait_to->events = *have > 0 ? POLLIN | POLLOUT : POLLIN;
}

static void relay_splice(int from, int to, const int pipe_of[2], size_t *have)
{
    ssize_t n = splice(from, NULL, pipe_of[1], NULL, BUFFER, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

    if (n == 0 && *have == 0)
        exit(0);
    *have += n > 0 ? (size_t)n : 0;
    while (*have > 0
           && (n = splice(pipe_of[0], NULL, to, NULL, *have, SPLICE_F_MOVE)) > 0)
        *have -= (size_t)n;
}

static void relay_loop(int a, int b)
{
    struct pollfd fds[2] = { { a, POLLIN, 0 }, { b, POLLIN, 0 } };
    char *buffers[2] = { malloc(BUFFER), malloc(BUFFER) };
    size_t have[2] = { 0, 0 };
    int pipes[2][2], i, by_pipe = raw_is("splice");

    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0)
        bench_die("no pipe");
    fcntl(pipes[0][1], F_SETPIPE_SZ, (int)BUFFER);
    fcntl(pipes[1][1], F_SETPIPE_SZ, (int)BUFFER);
    for (;;) {
        poll(fds, 2, -1);
        for (i = 0; i < 2; i++) {
            int from = fds[i].fd, to = fds[1 - i].fd;
            if (by_pipe && (fds[i].revents & (POLLIN | POLLHUP))) {
                fcntl(to, F_SETFL, fcntl(to, F_GETFL) & ~O_NONBLOCK);
                relay_splice(from, to, pipes[i], &have[i]);
            } else if (!by_pipe
                       && ((fds[i].revents & (POLLIN | POLLHUP)) || fds[1 - i].revents & POLLOUT)) {
                relay_copy(from, to, &fds[1 - i], buffers[i], &have[i]);
            }
        }
    }
}

/* A port that was free a moment ago, for programs that cannot tell which one they got. */
static unsigned free_port(void)
{
    uint64_t port;

    close(raw_listen(&port));
    return (unsigned)port;
}

static void relay_program(void)
{
    unsigned in = free_port(), out = (unsigned)bench_get(2);
    char listen_at[64], to[64], forward[64];
    const char *port = getenv("BENCH_SSH_PORT"), *dir = getenv("BENCH_SSH_DIR");
    char config[256];

    bench_put(1, in);
    snprintf(listen_at, sizeof listen_at, "TCP-LISTEN:%u,bind=127.0.0.1,reuseaddr,nodelay", in);
    snprintf(to, sizeof to, "TCP:127.0.0.1:%u,nodelay", out);
    snprintf(forward, sizeof forward, "127.0.0.1:%u:127.0.0.1:%u", in, out);
    snprintf(config, sizeof config, "%s/client", dir != NULL ? dir : ".");
    if (raw_is("socat"))
        execlp("socat", "socat", "-b", "65536", listen_at, to, (char *)NULL);
    else if (port != NULL)
        execlp("ssh", "ssh", "-F", config, "-N", "-L", forward, "-p", port, "127.0.0.1",
               (char *)NULL);
    bench_die("no such relay here");
}

void sys_relay(void)
{
    uint64_t where;
    int a, b, on = 1;

    if (raw_is("socat") || raw_is("ssh"))
        relay_program();
    listener = raw_listen(&where);
    bench_put(1, where);
    if ((a = accept(listener, NULL, NULL)) < 0)
        bench_die("nobody came");
    b = raw_dial(2);
    if (!is_unix) {
        setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    fcntl(a, F_SETFL, O_NONBLOCK);
    fcntl(b, F_SETFL, O_NONBLOCK);
    relay_loop(a, b);
}
