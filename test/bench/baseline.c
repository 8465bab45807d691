/* baseline.c - the start of a mesh as one would program it if every address were given beforehand. */

/*     build/bench/baseline offline 200 [10]     connect all (or 10 links a node), 8-byte hello both ways
 *     build/bench/baseline master 200 [10]      and then neighbour lists to process 0, next hops back
 *
 * Processes listen before the clock starts and know all ports. At "go" each connects to those of its
 * neighbours that have lower numbers, without blocking, and both ends say eight bytes. A process is done
 * when it has heard eight bytes on every link; with a master, when it has its next hops, too. The time is
 * from "go" until the last one is done.
 *
 * The graph of few links is a ring, so that it is connected, and chords of doubling length. With a master
 * everybody also has a link with process 0. Everything is bounded by an alarm. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 1000
#define FDS 8192
#define LIMIT 60u

struct board {
    volatile uint16_t port[MOST];
    volatile uint64_t done[MOST];
    volatile uint64_t cpu[MOST]; /* of each process, from "go" until it was done */
    volatile int ready, go;
};

/* One connection: what came of it so far. First a hello, then a report or a table. */
struct wire {
    int node; /* -1: the other side has not said yet */
    size_t got;
    int32_t in[MOST + 4];
};

static struct board *board;
static int count, degree, has_master, me, queue, listener;
static struct wire *wires[FDS];
static int fd_of[MOST], hellos, wanted, reports, over;
static int32_t lists[MOST][MOST + 1]; /* as the master has heard: how many, and which */

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static uint64_t cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000u
           + (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void die(const char *what)
{
    fprintf(stderr, "baseline: process %d: %s: %s\n", me, what, strerror(errno));
    exit(1);
}

static int is_linked(int a, int b)
{
    int gap = a > b ? a - b : b - a, step, links;

    if (degree == 0 || (has_master && (a == 0 || b == 0)))
        return 1;
    for (step = 1, links = 0; links < degree && step < count; step *= 2, links += 2)
        if (gap == step || count - gap == step)
            return 1;
    return 0;
}

static void say(int fd, const int32_t *words, size_t n)
{
    if (send(fd, words, n * 4, MSG_NOSIGNAL) != (ssize_t)(n * 4))
        die("send"); /* a few kilobytes fit into any socket's buffer */
}

static void add(int fd, int node, uint32_t events)
{
    struct epoll_event e;
    int on = 1;

    if (fd >= FDS || (wires[fd] = calloc(1, sizeof **wires)) == NULL)
        die("descriptor or memory");
    wires[fd]->node = node;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    memset(&e, 0, sizeof e);
    e.events = events;
    e.data.fd = fd;
    if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &e) != 0)
        die("epoll_ctl");
}

static void say_hello(int fd)
{
    int32_t hello[2] = { me, 0 };

    say(fd, hello, 2);
}

static void dial(int to)
{
    struct sockaddr_in at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = board->port[to];
    if (fd < 0 || (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 && errno != EINPROGRESS))
        die("connect");
    add(fd, to, EPOLLOUT);
}

static void on_connected(int fd)
{
    struct epoll_event e;
    int err = 0;
    socklen_t n = sizeof err;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) != 0 || err != 0)
        die("connection");
    memset(&e, 0, sizeof e);
    e.events = EPOLLIN;
    e.data.fd = fd;
    epoll_ctl(queue, EPOLL_CTL_MOD, fd, &e);
    say_hello(fd);
}

static void on_listener(void)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        add(fd, -1, EPOLLIN);
        say_hello(fd);
    }
    if (errno != EAGAIN)
        die("accept");
}

/* The master: from everybody's neighbours the next hops of everybody, breadth first, and out with them. */
static void tell_tables(void)
{
    static int32_t next[MOST], queue_of[MOST];
    int from, i, k, head, tail;

    for (from = 0; from < count; from++) {
        for (i = 0; i < count; i++)
            next[i] = -1;
        next[from] = from;
        queue_of[0] = from;
        for (head = 0, tail = 1; head < tail; head++) {
            int at = queue_of[head];
            for (k = 1; k <= lists[at][0]; k++) {
                int to = lists[at][k];
                if (next[to] >= 0)
                    continue;
                next[to] = at == from ? to : next[at];
                queue_of[tail++] = to;
            }
        }
        if (from == 0)
            over = 1;
        else
            say(fd_of[from], next, (size_t)count);
    }
}

static void report(void)
{
    int32_t list[MOST + 1];
    int i, n = 0;

    for (i = 0; i < count; i++)
        if (i != me && is_linked(me, i))
            list[++n] = i;
    list[0] = n;
    if (me == 0)
        memcpy(lists[0], list, sizeof list);
    else
        say(fd_of[0], list, (size_t)n + 1);
    reports += me == 0;
}

static void on_words(int fd, struct wire *w)
{
    if (w->got >= 8 && fd_of[w->in[0]] == 0) {
        w->node = w->in[0];
        fd_of[w->node] = fd;
        if (++hellos == wanted) {
            over = !has_master;
            if (has_master)
                report();
        }
    }
    if (has_master && me == 0 && w->got >= 12 && w->got == 12 + 4 * (size_t)w->in[2]
        && lists[w->node][0] == 0) {
        memcpy(lists[w->node], w->in + 2, w->got - 8);
        reports++;
    } else if (has_master && w->node == 0 && w->got == 8 + 4 * (size_t)count) {
        over = 1;
    }
    if (has_master && me == 0 && reports == count && !over)
        tell_tables();
}

static void on_ready(int fd, uint32_t events)
{
    struct wire *w = wires[fd];
    ssize_t n;

    if (events & EPOLLOUT) {
        on_connected(fd);
        return;
    }
    n = recv(fd, (char *)w->in + w->got, sizeof w->in - w->got, 0);
    if (n == 0)
        exit(0); /* the others are done */
    if (n < 0)
        die("recv");
    w->got += (size_t)n;
    on_words(fd, w);
}

static void run(void)
{
    struct epoll_event ready[128];
    uint64_t before;
    int i, n;

    while (!board->go)
        usleep(200);
    before = cpu_us();
    for (i = 0; i < count; i++)
        wanted += i != me && is_linked(me, i);
    for (i = 0; i < me; i++)
        if (is_linked(me, i))
            dial(i);
    for (;;) {
        n = epoll_wait(queue, ready, 128, -1);
        for (i = 0; i < n; i++) {
            if (ready[i].data.fd == listener)
                on_listener();
            else
                on_ready(ready[i].data.fd, ready[i].events);
        }
        if (over && board->done[me] == 0) {
            board->cpu[me] = cpu_us() - before;
            board->done[me] = now_us();
        }
    }
}

static void child(int number)
{
    struct sockaddr_in at;
    struct epoll_event e;
    socklen_t size = sizeof at;

    alarm(LIMIT);
    me = number;
    fd_of[me] = -1;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    queue = epoll_create1(EPOLL_CLOEXEC);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1024) != 0
        || getsockname(listener, (struct sockaddr *)&at, &size) != 0)
        die("listen");
    memset(&e, 0, sizeof e);
    e.events = EPOLLIN;
    e.data.fd = listener;
    epoll_ctl(queue, EPOLL_CTL_ADD, listener, &e);
    board->port[me] = at.sin_port;
    __sync_fetch_and_add(&board->ready, 1);
    run();
}

static uint64_t wait_for_all(uint64_t start)
{
    uint64_t last = 0;
    int i;

    for (i = 0; i < count; i++) {
        while (board->done[i] == 0 && now_us() - start < LIMIT * 1000000u)
            usleep(500);
        if (board->done[i] == 0)
            return 0;
        last = board->done[i] > last ? board->done[i] : last;
    }
    return last;
}

int main(int argc, char **argv)
{
    pid_t pids[MOST];
    uint64_t start, last = 0, cpu = 0;
    int i, started = 0;

    has_master = argc > 1 && strcmp(argv[1], "master") == 0;
    count = argc > 2 ? atoi(argv[2]) : 0;
    degree = argc > 3 ? atoi(argv[3]) : 0;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count < 2 || count > MOST || board == MAP_FAILED) {
        fprintf(stderr, "usage: baseline offline|master N [links per node]\n");
        return 2;
    }
    for (; started < count && (pids[started] = fork()) >= 0; started++)
        if (pids[started] == 0)
            child(started);
    for (i = 0; i < (int)LIMIT * 1000 && board->ready < started; i++)
        usleep(1000);
    start = now_us();
    board->go = 1;
    if (started == count)
        last = wait_for_all(start);
    for (i = 0; i < started; i++)
        kill(pids[i], SIGKILL);
    for (i = 0; i < started; i++)
        waitpid(pids[i], NULL, 0);
    if (last == 0) {
        fprintf(stderr, "baseline: not all of %d processes were done\n", count);
        return 1;
    }
    for (i = 0; i < count; i++)
        cpu += board->cpu[i];
    printf("ms=%.1f\tcpu_ms=%.0f\t\n", (double)(last - start) / 1e3, (double)cpu / 1e3);
    return 0;
}
