/* tool.c - what the lab's driver needs and Debian's small set of packages does not have. */

/* Usage:
 *     tool enter NAMESPACE COMMAND...
 *                                runs it there; it dies with whoever started it
 *     tool lead COMMAND...       runs it with fresh signals; it gets TERM when its parent dies
 *     tool ask SECONDS QUESTION SOCKET...
 *                                asks all nodes at once: a line "SOCKET-NAME ANSWER" for each, in the order
 *                                of the sockets; 1 if one does not say "ok", 2 if one says nothing
 *     tool flush                 makes this namespace's conntrack forget everything, as a NAT does that is
 *                                switched off and on; the packages of the lab have no conntrack(8)
 *     tool sink PORT [FILE]      takes one TCP stream after the other and says the end of each back; FILE has
 *                                what came with the last one
 *     tool pour HOST PORT BYTES  sends a stream to a sink: prints the microseconds until it was told back;
 *                                BYTES 0: of what standard input has
 *     tool now                   microseconds on the clock of node.c's answers
 *     tool open HOST PORT        whether there is a TCP server: 0 or 1
 *
 * `enter` sets the parent-death signal, so that not even a driver that is killed outright leaves a
 * process behind; a process that was orphaned before the call took effect ends by itself.
 */
#define _GNU_SOURCE /* setns */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define ASKED_MAX 64
#define CHUNK 65536

static int die(const char *what)
{
    fprintf(stderr, "tool: %s: %s\n", what, strerror(errno));
    return 2;
}

static long long now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- Processes ---------------------------------------------------------------------------------------- */

static int run(char **argv, int with)
{
    pid_t parent = getppid();
    int s;

    for (s = 1; s < 32; s++) /* a shell starts what is in its background with some ignored */
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, with) != 0)
        return die("prctl");
    if (getppid() != parent)
        return 2;
    execvp(argv[0], argv);
    return die(argv[0]);
}

static int enter(const char *name, char **argv)
{
    char path[256];
    int fd;

    snprintf(path, sizeof path, "/run/netns/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        return die(path);
    return run(argv, SIGKILL);
}

/* ---- Asking ------------------------------------------------------------------------------------------- */

struct asked {
    const char *path;
    int fd;
    char answer[8192];
    size_t used;
};

/* A node that has just been started listens soon; one that has died never does. */
static int call(const char *path, long long limit)
{
    struct sockaddr_un at;
    struct timespec pause = { 0, 5000000 };
    int fd;

    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    while ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) >= 0) {
        if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
            return fd;
        close(fd);
        if (now_us() >= limit)
            break;
        nanosleep(&pause, NULL);
    }
    return -1;
}

static void hear(struct asked *a, int count, long long limit)
{
    struct pollfd fds[ASKED_MAX];
    int i, open = count;
    ssize_t n;

    while (open > 0 && now_us() < limit) {
        for (i = open = 0; i < count; i++) {
            fds[i].fd = a[i].fd;
            fds[i].events = POLLIN;
            fds[i].revents = 0;
            open += a[i].fd >= 0;
        }
        if (open == 0 || poll(fds, (nfds_t)count, (int)((limit - now_us()) / 1000) + 1) <= 0)
            continue;
        for (i = 0; i < count; i++)
            if (a[i].fd >= 0 && fds[i].revents != 0) {
                n = read(a[i].fd, a[i].answer + a[i].used, sizeof a[i].answer - 1 - a[i].used);
                if (n > 0) {
                    a[i].used += (size_t)n;
                } else {
                    close(a[i].fd);
                    a[i].fd = -1;
                }
            }
    }
}

static int ask(int seconds, const char *words, char **paths, int count)
{
    static struct asked a[ASKED_MAX];
    long long start = now_us();
    char *name, line[1024];
    int i, size, worst = 0;

    size = snprintf(line, sizeof line, "%s\n", words);
    if (count > ASKED_MAX || size >= (int)sizeof line)
        return die("ask: too much");
    for (i = 0; i < count; i++) {
        a[i].path = paths[i];
        a[i].fd = call(paths[i], start + 3000000);
        if (a[i].fd >= 0 && write(a[i].fd, line, (size_t)size) != size)
            perror(paths[i]);
    }
    hear(a, count, start + (seconds + 5) * 1000000LL);
    for (i = 0; i < count; i++) {
        name = strrchr(paths[i], '/');
        a[i].answer[strcspn(a[i].answer, "\n")] = '\0';
        printf("%s %s\n", name != NULL ? name + 1 : paths[i], a[i].used > 0 ? a[i].answer : "silent");
        if (strncmp(a[i].answer, "ok", 2) != 0)
            worst = a[i].used == 0 ? 2 : worst > 1 ? worst : 1;
    }
    return worst;
}

/* ---- Conntrack ---------------------------------------------------------------------------------------- */

static int flush(void)
{
    struct {
        struct nlmsghdr head;
        struct nfgenmsg nf;
    } m;
    char back[512];
    struct nlmsgerr *result = (struct nlmsgerr *)(void *)(back + sizeof(struct nlmsghdr));
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);

    memset(&m, 0, sizeof m);
    m.head.nlmsg_len = sizeof m;
    m.head.nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE;
    m.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    m.nf.nfgen_family = AF_UNSPEC;
    m.nf.version = NFNETLINK_V0;
    if (fd < 0 || send(fd, &m, sizeof m, 0) != (ssize_t)sizeof m)
        return die("netlink");
    if (recv(fd, back, sizeof back, 0) < (ssize_t)(sizeof(struct nlmsghdr) + sizeof *result))
        return die("netlink: no answer");
    errno = -result->error;
    return errno == 0 ? 0 : die("flush");
}

/* ---- Streams ------------------------------------------------------------------------------------------ */

static int sink(int port, const char *path)
{
    static char data[CHUNK];
    struct sockaddr_in at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, file = -1, one = 1;
    ssize_t n;

    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons((unsigned short)port);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0)
        return die("sink");
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        if (path != NULL && (file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) < 0)
            return die(path);
        while ((n = read(fd, data, sizeof data)) > 0)
            if (file >= 0 && write(file, data, (size_t)n) != n)
                return die(path);
        close(file);
        if (n == 0 && write(fd, "e", 1) != 1)
            perror("tool: sink");
        close(fd);
    }
    return die("accept");
}

static int dial(const char *host, int port)
{
    struct sockaddr_in to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_port = htons((unsigned short)port);
    if (fd < 0 || inet_pton(AF_INET, host, &to.sin_addr) != 1
        || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return -1;
    return fd;
}

static int pour(const char *host, int port, long long bytes)
{
    static char data[CHUNK];
    long long start = now_us(), left;
    int fd = dial(host, port);
    ssize_t n;

    if (fd < 0)
        return die("pour");
    for (left = bytes; left > 0; left -= n) {
        n = write(fd, data, left < CHUNK ? (size_t)left : CHUNK);
        if (n <= 0)
            return die("pour: write");
    }
    while (bytes == 0 && (n = read(0, data, sizeof data)) > 0)
        if (write(fd, data, (size_t)n) != n)
            return die("pour: write");
    if (shutdown(fd, SHUT_WR) != 0 || read(fd, data, 1) != 1)
        return die("pour: the sink did not say that it has all");
    printf("%lld\n", now_us() - start);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "enter") == 0 && argc > 3)
        return enter(argv[2], argv + 3);
    if (strcmp(what, "lead") == 0 && argc > 2)
        return run(argv + 2, SIGTERM);
    if (strcmp(what, "ask") == 0 && argc > 4)
        return ask(atoi(argv[2]), argv[3], argv + 4, argc - 4);
    if (strcmp(what, "flush") == 0)
        return flush();
    if (strcmp(what, "now") == 0)
        return printf("%lld\n", now_us()) < 0;
    if (strcmp(what, "sink") == 0 && argc > 2)
        return sink(atoi(argv[2]), argv[3]);
    if (strcmp(what, "pour") == 0 && argc > 4)
        return pour(argv[2], atoi(argv[3]), atoll(argv[4]));
    if (strcmp(what, "open") == 0 && argc > 3)
        return dial(argv[2], atoi(argv[3])) < 0;
    fprintf(stderr, "usage: tool enter|lead|ask|flush|sink|pour|open ...; see test/lab/tool.c\n");
    return 2;
}
