/* t_near.c - two processes of one host find out by themselves and use AF_UNIX, and when they do not.
 *
 * Goal: samehost.c finds a listener of this host by its TCP address and only that one; strangers, full
 * backlogs, other namespaces and other hosts mean TCP in the same call; and what nodes make of it is the same
 * link, the same addresses told to others, and no more than one descriptor a listener. Method: a world for
 * the first part, the nodes of nodes.h for the second; other users and namespaces are children that report by
 * how they end. What wants root or a second address is skipped visibly without. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1 /* the joined file asks for it itself, but here headers come before it */
#endif
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/addr.h"
#include "../../src/os/os.h"
#endif

#include "nodes.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/un.h>
#include <sys/wait.h>

#ifdef __linux__

static struct phx_os os;
static struct phx__mem mem;

static struct phx_address tcp(int family, int loopback, uint16_t port)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = (unsigned char)family;
    a.port = port;
    if (loopback && family == PHX_IPV4)
        a.ip[0] = 127;
    if (loopback)
        a.ip[family == PHX_IPV4 ? 3 : 15] = 1;
    return a;
}

/* How a child ends that does one thing: the value of what it does, 0..100, or 101: it crashed. */
static int in_child(int (*does)(const struct phx_address *at), const struct phx_address *at)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(does(at));
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

static int dial_error(const struct phx_address *at)
{
    int h = -1, err = phx__os_samehost_dial(&os, at, &h);

    if (err == 0)
        close(h);
    return -err;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static int has_v6(void)
{
    struct sockaddr_in6 a;
    int fd = socket(AF_INET6, SOCK_STREAM, 0), yes;

    memset(&a, 0, sizeof a);
    a.sin6_family = AF_INET6;
    a.sin6_addr = in6addr_loopback;
    yes = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return yes;
}

static void find_one(int family)
{
    struct phx_address at = tcp(family, 1, 0), from, other;
    struct sockaddr_un name;
    socklen_t size = sizeof name;
    int l = -1, near = -1, h = -1, e = -1, again;
    char c;

    check(os.listen(os.world, &at, &l) == 0, "a TCP listener");
    ok(dial_error(&at) == -PHX_EREFUSED, "it alone is not found");
    ok(phx__os_samehost_listen(&os, &at, &near) == 0, "a companion");
    ok(phx__os_samehost_listen(&os, &at, &again) == PHX_EINUSE, "one only");
    ok(phx__os_samehost_dial(&os, &at, &h) == 0, "is found by the address");
    ok(getpeername(h, (struct sockaddr *)&name, &size) == 0 && name.sun_family == AF_UNIX,
       "over a UNIX socket");
    ok(os.accept(os.world, near, &e, &from) == 0 && from.family == PHX_UNIX && from.path[0] == 0,
       "accepted, from nowhere in particular");
    ok((fcntl(h, F_GETFL) & fcntl(e, F_GETFL) & fcntl(near, F_GETFL) & O_NONBLOCK) != 0
           && (fcntl(h, F_GETFD) & fcntl(e, F_GETFD) & fcntl(near, F_GETFD) & FD_CLOEXEC) != 0,
       "all are non-blocking and close-on-exec");
    ok(send(h, "x", 1, 0) == 1 && recv(e, &c, 1, 0) == 1, "a byte passes");
    other = at;
    other.tls = 1;
    ok(dial_error(&other) == 0, "tls:// is the same port");
    other = at;
    other.port = (uint16_t)(at.port ^ 1);
    ok(dial_error(&other) == -PHX_EREFUSED, "another port is not");
    other.port = 0;
    ok(dial_error(&other) == -PHX_ENOTSUP, "nor none");
    if (family == PHX_IPV4) {
        other = at;
        other.ip[3] = 2;
        ok(dial_error(&other) == -PHX_EREFUSED, "nor the same port at 127.0.0.2");
    }
    close(h);
    close(e);
    close(near);
    ok(dial_error(&at) == -PHX_EREFUSED, "closed, it is not found");
    ok(phx__os_samehost_listen(&os, &at, &near) == 0, "and can be made again at once");
    close(near);
    close(l);
}

static void test_find(void)
{
    find_one(PHX_IPV4);
    if (has_v6())
        find_one(PHX_IPV6);
    else
        ok(1, "companions at ::1 # SKIP no ::1 here");
}

/* An address of this host beside loopback: 1 and *out. */
static int own_address(int family, struct phx_address *out)
{
    struct ifaddrs *list, *i;
    int found = 0;

    *out = tcp(family == AF_INET ? PHX_IPV4 : PHX_IPV6, 0, 0);
    if (getifaddrs(&list) != 0)
        return 0;
    for (i = list; i != NULL && !found; i = i->ifa_next) {
        if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family)
            continue;
        if (family == AF_INET)
            memcpy(out->ip, &((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr, 4);
        else
            memcpy(out->ip, &((struct sockaddr_in6 *)(void *)i->ifa_addr)->sin6_addr, 16);
        out->port = 1;
        found = !phx__addr_is_local(out) && !(family == AF_INET6 && out->ip[0] == 0xfe);
    }
    freeifaddrs(list);
    return found;
}

/* A listener at all addresses is found at each of this host's and at no other. */
static void wildcard(int family)
{
    struct phx_address any = tcp(family, 0, 0), at, far;
    int l = -1, near = -1;

    check(os.listen(os.world, &any, &l) == 0 && phx__os_samehost_listen(&os, &any, &near) == 0,
          "a listener at all addresses");
    at = tcp(family, 1, any.port);
    ok(dial_error(&at) == 0, "is found at loopback");
    if (own_address(family == PHX_IPV4 ? AF_INET : AF_INET6, &at)) {
        at.port = any.port;
        ok(phx__os_samehost_is_own(&os, &at) && dial_error(&at) == 0, "and at another address of ours");
    } else {
        ok(1, "another address of ours # SKIP there is none");
    }
    far = tcp(family, 0, any.port);
    far.ip[0] = family == PHX_IPV4 ? 203 : 0x20; /* 203.0.113.1 and 2001:db8::1: for documentation */
    far.ip[1] = family == PHX_IPV4 ? 0 : 1;
    far.ip[2] = family == PHX_IPV4 ? 113 : 0x0d;
    far.ip[3] = family == PHX_IPV4 ? 1 : 0xb8;
    ok(!phx__os_samehost_is_own(&os, &far) && dial_error(&far) == -PHX_ENOTSUP, "not at a far one");
    ok(dial_error(&any) == -PHX_ENOTSUP, "nor by the wildcard itself");
    at = tcp(family == PHX_IPV4 ? PHX_IPV6 : PHX_IPV4, 1, any.port);
    ok(dial_error(&at) == -PHX_EREFUSED, "nor in the other family");
    close(near);
    close(l);
}

static void test_wildcard(void)
{
    wildcard(PHX_IPV4);
    if (has_v6())
        wildcard(PHX_IPV6);
    else
        ok(1, "all addresses of version 6 # SKIP no ::1 here");
}

/* ---- Other processes, users, namespaces ------------------------------------------------------ */

/* Listens beside `at`, says so, and waits until it is killed. */
static pid_t start_listener(const struct phx_address *at, unsigned uid)
{
    int ends[2], near;
    char c = 0;
    pid_t child;

    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    child = fork();
    if (child == 0) {
        if ((uid == 0 || (setgid(uid) == 0 && setuid(uid) == 0))
            && phx__os_samehost_listen(&os, at, &near) == 0)
            c = 1;
        if (write(ends[1], &c, 1) == 1)
            pause();
        _exit(0);
    }
    close(ends[1]);
    check(read(ends[0], &c, 1) == 1 && c == 1, "a child listens");
    close(ends[0]);
    return child;
}

static void end_listener(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_death(void)
{
    struct phx_address at = tcp(PHX_IPV4, 1, 0);
    int l = -1, near = -1;
    pid_t child;

    os.listen(os.world, &at, &l);
    child = start_listener(&at, 0);
    ok(dial_error(&at) == 0, "another process is found");
    end_listener(child);
    ok(dial_error(&at) == -PHX_EREFUSED, "killed, it is not");
    ok(phx__os_samehost_listen(&os, &at, &near) == 0, "and the port's next owner has the name");
    close(near);
    close(l);
}

static int dial_as_1000(const struct phx_address *at)
{
    return setgid(1000) == 0 && setuid(1000) == 0 ? dial_error(at) : 100;
}

static void test_users(void)
{
    struct phx_address at = tcp(PHX_IPV4, 1, 0);
    int l = -1;
    pid_t child;

    if (geteuid() != 0) {
        ok(1, "other users # SKIP that wants root");
        return;
    }
    os.listen(os.world, &at, &l);
    child = start_listener(&at, 0);
    ok(in_child(dial_as_1000, &at) == 0, "root's listener is good for everybody");
    end_listener(child);
    child = start_listener(&at, 1000);
    ok(in_child(dial_as_1000, &at) == 0, "one's own is");
    ok(dial_error(&at) == -PHX_EACCES, "a user's is not for root");
    end_listener(child);
    child = start_listener(&at, 1001);
    ok(in_child(dial_as_1000, &at) == -PHX_EACCES, "nor for another user");
    end_listener(child);
    close(l);
}

static int dial_in_new_namespace(const struct phx_address *at)
{
    return unshare(CLONE_NEWNET) == 0 ? dial_error(at) : 100;
}

static void test_namespaces(void)
{
    struct phx_address at = tcp(PHX_IPV4, 1, 0), any = tcp(PHX_IPV4, 0, 0);
    int l = -1, near = -1, all = -1, said;

    os.listen(os.world, &at, &l);
    phx__os_samehost_listen(&os, &at, &near);
    any.port = at.port;
    phx__os_samehost_listen(&os, &any, &all); /* and at all addresses */
    said = in_child(dial_in_new_namespace, &at);
    if (said == 100)
        ok(1, "two namespaces # SKIP unshare is not allowed here");
    else
        ok(said == -PHX_EREFUSED, "a process of another network namespace does not find it");
    ok(dial_error(&at) == 0, "one of the same does");
    close(all);
    close(near);
    close(l);
}

/* ---- Shortage -------------------------------------------------------------------------------- */

static int raw_name(const struct phx_address *at, int backlog)
{
    struct sockaddr_un name;
    struct phx_address plain = *at;
    char text[PHX_ADDRESS_TEXT];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n;

    plain.tls = 0;

    memset(&name, 0, sizeof name);
    name.sun_family = AF_UNIX;
    n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "phoenix/%s", phx_address_text(&plain, text));
    check(bind(fd, (struct sockaddr *)&name,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0
              && listen(fd, backlog) == 0,
          "somebody has the name %s", name.sun_path + 1);
    return fd;
}

/* A socket at the name of which nobody takes connections any more: h are those that it has taken. */
static int fill(const struct phx_address *at, int h[16], int *n)
{
    int fd = raw_name(at, 0), err = 0;

    for (*n = 0; *n < 16 && (err = phx__os_samehost_dial(&os, at, &h[*n])) == 0; ++*n)
        ;
    ok(err == PHX_EAGAIN && *n > 0, "a full backlog says so at once");
    return fd;
}

static void empty(int fd, const int h[16], int n)
{
    while (n > 0)
        close(h[--n]);
    close(fd);
}

static struct rlimit leave_descriptors(int count)
{
    struct rlimit before, few;
    int next = dup(0);

    getrlimit(RLIMIT_NOFILE, &before);
    close(next);
    few = before;
    few.rlim_cur = (rlim_t)(next + count);
    setrlimit(RLIMIT_NOFILE, &few);
    return before;
}

static void test_no_descriptors(void)
{
    struct phx_address at = tcp(PHX_IPV4, 1, 0), mine;
    struct rlimit before;
    int l = -1, near = -1;

    os.listen(os.world, &at, &l);
    before = leave_descriptors(0);
    ok(phx__os_samehost_listen(&os, &at, &near) == PHX_EMFILE, "no descriptor to listen with");
    ok(dial_error(&at) == -PHX_EMFILE, "nor to dial with");
    if (own_address(AF_INET, &mine))
        ok(!phx__os_samehost_is_own(&os, &mine), "in doubt an address is not ours");
    setrlimit(RLIMIT_NOFILE, &before);
    close(l);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static struct node n[3];

/* Of a's link with b: 2 if it is within the host, 1 if it is not, 0 if there is none. */
static int way(const struct node *a, const struct node *b)
{
    struct phx_link links[16];
    size_t i, count = phx_links(a->p, links, 16);

    for (i = 0; i < count && i < 16; i++)
        if (links[i].up && same_id(&links[i].peer, &b->id))
            return links[i].same_host ? 2 : 1;
    return 0;
}

static int both_ways(const struct node *a, const struct node *b)
{
    return linked(a, b) && way(a, b) == way(b, a) ? way(a, b) : 0;
}

static int explains(const struct node *a, const struct node *b, const char *what)
{
    char text[4096];

    return phx_explain(a->p, &b->id, text, sizeof text) > 0 && strstr(text, what) != NULL;
}

static void begin_two(int first, int second, const char *at)
{
    struct phx_config c;
    int i;

    for (i = 0; i < 2; i++) {
        settings(&n[i], &c);
        c.same_host = i == 0 ? first : second;
        begin_as(&n[i], &c, at);
    }
}

static void test_nodes(void)
{
    enum host_kind kinds[3] = {HOST_FD, HOST_FDS, HOST_SPIN};
    struct phx_address a;
    struct pollfd fds[8];
    int k;

    for (k = 0; k < 3; k++) {
        kind_of_new = kinds[k];
        begin_two(1, 1, LOOPBACK);
        ok(phx_listening(n[0].p, 0, &a) == 0 && a.family == PHX_IPV4
               && phx_listening(n[0].p, 1, &a) == PHX_ENOTFOUND,
           "a node shows the listener it was told to make");
        ok(phx_fds(n[0].p, fds, 8) == 3, "and watches two");
        phx_join(n[1].p, n[0].at);
        phx_assume(n[0].p, 7, 7);
        post(&n[1], 7, 3, 1 << 20);
        eventually(both_ways(&n[0], &n[1]) == 2, "two nodes of one host are linked by AF_UNIX, promise 3");
        eventually(has_mail(&n[0], 1), "a message passes");
        ok(explains(&n[1], &n[0], n[0].at) && explains(&n[1], &n[0], ", within this host\n")
               && explains(&n[0], &n[1], "link: accepted, unix://, within this host\n"),
           "phx_explain tells");
        ok(logged(&n[1], n[0].at, "up, within this host") == 1, "so does the log");
        finish_all(n, 2);
    }
    kind_of_new = HOST_FD;
}

static void test_off(void)
{
    struct pollfd fds[8];

    begin_two(0, 1, LOOPBACK);
    ok(phx_fds(n[0].p, fds, 8) == 2, "switched off a node has one listener");
    phx_join(n[1].p, n[0].at);
    eventually(both_ways(&n[0], &n[1]) == 1, "off at the listener: TCP");
    finish_all(n, 2);
    begin_two(1, 0, LOOPBACK);
    phx_join(n[1].p, n[0].at);
    eventually(both_ways(&n[0], &n[1]) == 1, "off at the dialer: TCP");
    finish_all(n, 2);
}

/* What TCP would have taught of the addresses of listeners at all interfaces. */
static void test_addresses(void)
{
    struct phx_address a;
    char at[PHX_ADDRESS_TEXT], text[PHX_ADDRESS_TEXT + 16];
    unsigned char ip[4];
    int i, own;

    for (i = 0; i < 2; i++) {
        a = tcp(PHX_IPV4, 1, 0);
        own = i == 0 || own_address(AF_INET, &a);
        if (!own) {
            ok(1, "addresses learnt beside loopback # SKIP there is none");
            continue;
        }
        begin_two(1, 1, NULL);
        check(phx_set_keys(n[0].p, (struct phx_key[]){{"0123456789abcdef", 16}}, 1) == 0
                  && phx_set_keys(n[1].p, (struct phx_key[]){{"0123456789abcdef", 16}}, 1) == 0,
              "a key");
        check(phx_listen(n[0].p, "tcp://0.0.0.0:0") == 0 && phx_listen(n[1].p, "tcp://0.0.0.0:0") == 0,
              "both listen everywhere");
        memcpy(ip, a.ip, 4);
        phx_listening(n[0].p, 0, &a);
        memcpy(a.ip, ip, 4);
        phx_join(n[1].p, phx_address_text(&a, at));
        eventually(both_ways(&n[0], &n[1]) == 2, "linked by %s, within this host", at);
        snprintf(text, sizeof text, "address: %s", at);
        memcpy(ip, a.ip, 4);
        phx_listening(n[1].p, 0, &a);
        memcpy(a.ip, ip, 4);
        /* A third one, which has dialled the second only, knows of the first what its card says. */
        begin(&n[2], NULL);
        phx_set_keys(n[2].p, (struct phx_key[]){{"0123456789abcdef", 16}}, 1);
        phx_join(n[2].p, phx_address_text(&a, at));
        eventually(explains(&n[2], &n[0], text), "who was dialled tells others where");
        snprintf(text, sizeof text, "address: %s", at);
        eventually(explains(&n[0], &n[1], text), "who dialled is at that host, too");
        finish_all(n, 3);
    }
}

/* Somebody of the same user has the name and is no node: it must not cost the link. */
/* Goal: a node of another cluster, or with another key, that has a companion's name keeps nobody out. */
static void test_other_node(int other_key)
{
    static const struct phx_key key = { "sixteen bytes or more", 21 };
    struct phx_address at;
    struct phx_config c;
    int squatter, fd = -1;

    settings(&n[0], &c);
    c.same_host = 0;
    begin_as(&n[0], &c, LOOPBACK);
    phx_listening(n[0].p, 0, &at);
    squatter = raw_name(&at, 8);
    fcntl(squatter, F_SETFL, O_NONBLOCK);
    settings(&n[2], &c);
    c.cluster = other_key ? c.cluster : "another";
    begin_as(&n[2], &c, NULL);
    check(!other_key || phx_set_keys(n[2].p, &key, 1) == 0, "a key");
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    await((fd = accept(squatter, NULL, NULL)) >= 0, PATIENCE);
    check(phx_adopt(n[2].p, fd, 0) == 0, "the other one takes it");
    eventually(both_ways(&n[0], &n[1]) == 1, "another %s: TCP is dialled", other_key ? "key" : "cluster");
    ok(stats(&n[1]).dials == 2, "as part of the first attempt");
    close(squatter);
    finish_all(n, 3);
}

static void test_other_nodes(void)
{
    test_other_node(0);
    test_other_node(1);
}

static void test_wrong_one(void)
{
    struct phx_address at;
    struct phx_config c;
    int squatter, fd = -1;

    settings(&n[0], &c);
    c.same_host = 0;
    begin_as(&n[0], &c, LOOPBACK);
    phx_listening(n[0].p, 0, &at);
    squatter = raw_name(&at, 8);
    fcntl(squatter, F_SETFL, O_NONBLOCK);
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    await((fd = accept(squatter, NULL, NULL)) >= 0, PATIENCE);
    ok(fd >= 0 && write(fd, "220 mail.example ESMTP\r\n", 24) == 24, "the wrong one answers");
    eventually(both_ways(&n[0], &n[1]) == 1, "TCP is dialled at once");
    ok(stats(&n[1]).dials == 2, "as part of the first attempt");
    close(fd);
    close(squatter);
    finish_all(n, 2);
}

/* Goal: who sits on a companion's name and hangs up, or says nothing, keeps nobody out. */
static void test_useless_one(int hangs_up)
{
    struct phx_address at;
    struct phx_config c;
    int squatter, fd = -1;
    uint64_t start;

    settings(&n[0], &c);
    c.same_host = 0;
    begin_as(&n[0], &c, LOOPBACK);
    phx_listening(n[0].p, 0, &at);
    squatter = raw_name(&at, 8);
    fcntl(squatter, F_SETFL, O_NONBLOCK);
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    start = phx_now_us();
    await((fd = accept(squatter, NULL, NULL)) >= 0, PATIENCE);
    if (hangs_up)
        close(fd);
    eventually(both_ways(&n[0], &n[1]) == 1, "one that %s: TCP is dialled",
               hangs_up ? "hangs up" : "says nothing");
    ok(phx_now_us() - start < 2 * SECOND, "soon (%d ms)", (int)((phx_now_us() - start) / MS));
    if (!hangs_up)
        close(fd);
    close(squatter);
    finish_all(n, 2);
}

static void test_useless(void)
{
    test_useless_one(0);
    test_useless_one(1);
}

/* A TCP listener at which nobody takes connections any more: what dials it waits. held: what it has taken. */
static int dead_end(struct sockaddr_in *a, int held[4])
{
    socklen_t size = sizeof *a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(a, 0, sizeof *a);
    a->sin_family = AF_INET;
    a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(bind(fd, (struct sockaddr *)a, size) == 0 && listen(fd, 0) == 0
              && getsockname(fd, (struct sockaddr *)a, &size) == 0, "a dead end");
    for (int i = 0; i < 4; i++) {
        held[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(held[i], (struct sockaddr *)a, size);
    }
    return fd;
}

static void begin_with(struct node *it, const char *id, uint64_t dial_timeout_us, const char *address)
{
    struct phx_config c;
    struct phx_id of;

    memset(&of, 0, sizeof of);
    memcpy(of.b, id, sizeof of.b);
    settings(it, &c);
    c.id = &of;
    c.dial_timeout_us = dial_timeout_us;
    begin_as(it, &c, address);
}

/* Goal: whose dial was answered within the host by one that says nothing, and goes on by TCP to where nobody
 * answers, does not let the other side's dial wait for that: it counts as one without an answer. Method: the
 * node with the lower id, whose dial would win, is told an address of the other where both is so. */
static void test_silent_then_dead(void)
{
    struct sockaddr_in at;
    struct phx_address name = tcp(PHX_IPV4, 1, 0);
    char path[64], text[PHX_ADDRESS_TEXT];
    int held[4], squatter, fd = -1, dead = dead_end(&at, held);

    name.port = ntohs(at.sin_port);
    squatter = raw_name(&name, 8);
    fcntl(squatter, F_SETFL, O_NONBLOCK);
    snprintf(path, sizeof path, "unix:///tmp/phoenix.t_near.%d", (int)getpid());
    begin(&n[0], LOOPBACK);
    begin_with(&n[1], "the lower one: 4", 8 * SECOND, LOOPBACK);
    begin_with(&n[2], "upper, the other", 8 * SECOND, path); /* it listens, so the other one dials first */
    unlink(path + strlen("unix://"));
    check(phx_advertise(n[2].p, phx_address_text(&name, text)) == 0, "an address of it that leads nowhere");
    phx_join(n[1].p, n[0].at);
    phx_join(n[2].p, n[0].at);
    await((fd = accept(squatter, NULL, NULL)) >= 0, PATIENCE);
    ok(fd >= 0, "the lower one dials, and is answered by somebody who says nothing");
    eventually(both_ways(&n[1], &n[2]) == 2, "the other's dial makes the link");
    ok(stats(&n[2]).dials_failed == 0, "its first one");
    for (int i = 0; i < 4; i++)
        close(held[i]);
    close(fd);
    close(squatter);
    close(dead);
    finish_all(n, 3);
}

static void test_name_taken(void)
{
    struct phx_address at;
    int squatter;

    begin(&n[0], LOOPBACK);
    phx_listening(n[0].p, 0, &at);
    finish(&n[0]);
    squatter = raw_name(&at, 0);
    begin(&n[0], "tcp://127.0.0.1:0");
    check(phx_listen(n[0].p, phx_address_text(&at, n[0].at)) == 0, "the port is free");
    eventually(logged(&n[0], n[0].at, "must use TCP: address already in use") == 1,
               "a companion's name that is taken is told, and no more");
    go_on(20 * MS);
    ok(logged(&n[0], n[0].at, "must use TCP") == 1, "once");
    finish(&n[0]);
    close(squatter);
}

static void test_full(void)
{
    struct phx_address at;
    int h[16], count, fd;

    begin_two(0, 1, LOOPBACK);
    phx_listening(n[0].p, 0, &at);
    fd = fill(&at, h, &count);
    phx_join(n[1].p, n[0].at);
    eventually(both_ways(&n[0], &n[1]) == 1, "then it is TCP, in the same dial");
    ok(stats(&n[1]).dials == 1 && stats(&n[1]).dials_failed == 0, "the first");
    empty(fd, h, count);
    finish_all(n, 2);
}

/* No descriptor for the companion: the listener stands, and the companion comes when there is one. */
static void test_late_companion(void)
{
    struct rlimit before;
    struct pollfd fds[8];
    struct phx_address at;

    begin(&n[0], NULL);
    begin(&n[1], NULL);
    before = leave_descriptors(1);
    ok(phx_listen(n[0].p, LOOPBACK) == 0, "one descriptor is enough to listen");
    eventually(logged(&n[0], "listener", "must use TCP: out of file descriptors") == 1, "the log tells");
    go_on(700 * MS); /* another try */
    ok(logged(&n[0], "listener", "must use TCP") == 1, "once");
    setrlimit(RLIMIT_NOFILE, &before);
    eventually(phx_fds(n[0].p, fds, 8) == 3, "with descriptors the companion comes after all");
    phx_listening(n[0].p, 0, &at);
    phx_join(n[1].p, phx_address_text(&at, n[0].at));
    eventually(both_ways(&n[0], &n[1]) == 2, "and is used");
    finish_all(n, 2);
}

/* The hub goes, TCP link or not; another process takes the port over; the link comes again by itself. */
static void test_restart(void)
{
    struct phx_config c;
    char at[PHX_ADDRESS_TEXT];

    begin_two(1, 1, LOOPBACK);
    strcpy(at, n[0].at);
    phx_join(n[1].p, at);
    eventually(both_ways(&n[0], &n[1]) == 2, "linked");
    finish(&n[0]);
    eventually(stats(&n[1]).links == 0, "the hub is gone");
    settings(&n[0], &c);
    begin_as(&n[0], &c, at);
    eventually(both_ways(&n[0], &n[1]) == 2, "the next one at its port is found in the same way");
    finish_all(n, 2);
}

/* Calls of the world for one link of this kind, and for one over TCP. */
static unsigned long calls_of_dialer(int same_host)
{
    unsigned long calls;

    begin_two(same_host, same_host, LOOPBACK);
    calls = (unsigned long)stats(&n[1]).os_calls;
    phx_join(n[1].p, n[0].at);
    eventually(both_ways(&n[0], &n[1]) == 1 + same_host, "linked");
    calls = (unsigned long)stats(&n[1]).os_calls - calls;
    finish_all(n, 2);
    return calls;
}

static void test_calls(void)
{
    int before = open_fds();
    unsigned long near, far;

    near = calls_of_dialer(1);
    far = calls_of_dialer(0);
    printf("# calls of the world by the dialer until linked: %lu within the host, %lu by TCP\n", near, far);
    ok(near <= far + 1, "finding out costs no more than one call");
    ok(open_fds() == before, "no descriptor is left");
}

/* The time steps that 16 MB take between hosts that step once in each, until there is nothing left to do. One
 * in which nothing came is none: the system may still have it. */
static int time_steps(int same_host)
{
    uint64_t end = phx_now_us() + PATIENCE, was = 0;
    struct phx_config c;
    int i, steps = 0;

    for (i = 0; i < 2; i++) {
        settings(&n[i], &c);
        c.same_host = same_host;
        begin_as(&n[i], &c, LOOPBACK);
    }
    phx_assume(n[0].p, 1, 1);
    phx_join(n[1].p, n[0].at);
    eventually(owns(&n[1], 1, &n[0]) && linked(&n[0], &n[1]), "two hosts");
    check(post(&n[1], 1, 7, 16000000) == 0, "a large message");
    for (; !has_mail(&n[0], 1) && phx_now_us() < end; was = stats(&n[0]).bytes_in) {
        for (i = 2; i-- > 0;)
            while (phx_step(n[i].p, phx_now_us(), NULL, 0) == 1)
                ;
        steps += stats(&n[0]).bytes_in != was;
    }
    finish_all(n, 2);
    return steps;
}

/* What a UNIX socket can hold at most: Linux doubles what is asked for, after it has cut it. */
static int most_held(void)
{
    FILE *f = fopen("/proc/sys/net/core/wmem_max", "r");
    int most = 0;

    if (f == NULL || fscanf(f, "%d", &most) != 1 || most > 2 << 20)
        most = 2 << 20;
    if (f != NULL)
        fclose(f);
    return 2 * most;
}

static void test_time_steps(void)
{
    int near = time_steps(1), far = time_steps(0);

    printf("# time steps for 16 MB: %d within the host, %d by TCP; a socket holds %d\n", near, far,
           most_held());
    ok(near <= 20000000 / most_held() + 4, "a UNIX socket takes what it can hold in each time step");
    ok(far > 0 && far < 200, "it goes through TCP too");
}

static const struct test tests[] = {
    {"find", test_find},
    {"wildcard", test_wildcard},
    {"death", test_death},
    {"users", test_users},
    {"namespaces", test_namespaces},
    {"no_descriptors", test_no_descriptors},
    {"nodes", test_nodes},
    {"off", test_off},
    {"addresses", test_addresses},
    {"other_nodes", test_other_nodes},
    {"wrong_one", test_wrong_one}, {"useless", test_useless},
    {"silent_then_dead", test_silent_then_dead},
    {"name_taken", test_name_taken},
    {"full", test_full},
    {"late_companion", test_late_companion},
    {"restart", test_restart},
    {"calls", test_calls},
    {"time_steps", test_time_steps},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    phx__mem_init(&mem, NULL, 0);
    check(phx__os_init(&os, &mem) == 0, "a world");
    run_tests(tests, argc, argv);
    os.free(os.world);
    ok(mem.used == 0, "the world has left nothing");
    return test_finish();
}

#else

int main(void)
{
    ok(1, "links within a host # SKIP abstract names are Linux's");
    return test_end();
}

#endif
