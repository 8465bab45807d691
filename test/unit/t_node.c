/* t_node.c - whole nodes over real sockets: links, names, messages, relays, goodbyes, deaths.
 *
 * Goal: what phoenix.h promises its host holds end to end, through every kind of address and every
 * kind of host loop. Method: several nodes in this process, driven by the strict host of nodes.h,
 * which waits for conditions with a bound and never sleeps and hopes. Only phoenix.h is used. Each
 * test names the promises it shows. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "nodes.h"

#include <pthread.h>
#include <sys/time.h>

static struct node n[8];

/* n[0] listens, and the others join it. */
static void begin_star(int count, const char *address, int listen)
{
    int i;

    begin(&n[0], address);
    for (i = 1; i < count; i++) {
        begin(&n[i], listen ? address : NULL);
        check(phx_join(n[i].p, n[0].at) == 0, "join");
    }
}

/* A link of two streams' ends, as of an ssh pipe. */
static void tie(struct node *a, struct node *b)
{
    int ends[2];

    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair"))
        exit(1);
    check(phx_adopt(a->p, ends[0], 1) == 0, "adopt as dialer");
    check(phx_adopt(b->p, ends[1], 0) == 0, "adopt as acceptor");
}

/* A chain of nodes that do not listen. */
static void begin_chain(int count)
{
    int i;

    for (i = 0; i < count; i++) {
        begin(&n[i], NULL);
        if (i > 0)
            tie(&n[i - 1], &n[i]);
    }
}

/* ---- Addresses and host loops ---------------------------------------------------------------- */

/* Messages by name, both ways. */
static void exchange(const char *how)
{
    int i;

    phx_assume(n[0].p, 10, 19);
    phx_assume(n[1].p, 20, 29);
    eventually(owns(&n[1], 15, &n[0]) && owns(&n[0], 25, &n[1]), "%s: each knows who holds what",
               how);
    for (i = 0; i < 5; i++) {
        check(post(&n[0], 20 + (uint64_t)i, (uint64_t)i, 100) == 0, "send");
        check(post(&n[1], 10 + (uint64_t)i, (uint64_t)i, 100) == 0, "send back");
    }
    eventually(has_mail(&n[0], 5) && has_mail(&n[1], 5),
               "%s: messages by name both ways, promise 60", how);
    ok(mail_at(&n[1], 3)->to == 23 && mail_at(&n[1], 3)->tag == 3
           && same_id(&mail_at(&n[1], 3)->source, &n[0].id),
       "%s: with name, tag and source", how);
}

static void test_address(const char *address, const char *what)
{
    static const char *const kinds[] = {"phx_fd", "phx_fds", "step(NULL)"};
    char how[200];
    int kind;

    for (kind = HOST_FD; kind <= HOST_SPIN; kind++) {
        kind_of_new = (enum host_kind)kind;
        snprintf(how, sizeof how, "%s, %s host", what, kinds[kind]);
        begin_star(2, address, 0);
        if (kind == HOST_FD && !fd_works) {
            ok(phx_fd(n[0].p) == PHX_ENOTSUP, "%s # SKIP phx_fd is PHX_ENOTSUP in this build", how);
        } else {
            eventually(linked(&n[0], &n[1]), "%s: one link, promises 1, 116, 118", how);
            exchange(how);
        }
        finish_all(n, 2);
    }
    kind_of_new = HOST_FD;
}

static void test_addresses(void)
{
    char path[100];
    phx *probe;
    struct phx_config c;
    struct node scratch;

    test_address(LOOPBACK, "127.0.0.1");
    settings(&scratch, &c);
    if (phx_new(&probe, &c, 0) == 0 && phx_listen(probe, "tcp://[::1]:0") == 0)
        test_address("tcp://[::1]:0", "::1, promise 2");
    else
        ok(1, "::1 # SKIP no IPv6 on loopback here");
    phx_free(probe);
    test_address("tcp://localhost:0", "localhost");
    snprintf(path, sizeof path, "unix://%s/hub", dir);
    test_address(path, "unix, promise 3");
}

/* A name that stands for both families: the node is found through either. */
static void test_localhost_join(void)
{
    char address[64];
    struct phx_address a;

    begin(&n[0], LOOPBACK);
    phx_listening(n[0].p, 0, &a);
    snprintf(address, sizeof address, "tcp://localhost:%u", (unsigned)a.port);
    begin(&n[1], NULL);
    ok(phx_join(n[1].p, address) == 0, "a hub by name");
    eventually(linked(&n[0], &n[1]), "the address that works is found, promise 7");
    finish_all(n, 2);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void test_sizes(void)
{
    static const size_t sizes[] = {0,     1,      100,    65535,    65536,
                                   65537, 131072, 131073, 1u << 20, 16u << 20};
    const int count = (int)(sizeof sizes / sizeof sizes[0]);
    int i, good = 1;

    begin_star(2, LOOPBACK, 0);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    for (i = 0; i < count; i++) {
        await(post(&n[0], 2, (uint64_t)i, sizes[i]) == 0, PATIENCE);
        await(post(&n[1], 1, (uint64_t)i, sizes[i]) == 0, PATIENCE);
    }
    eventually(has_mail(&n[0], count) && has_mail(&n[1], count),
               "0 bytes to 16 MiB both ways, promises 8, 9");
    for (i = 0; i < n[0].mail_count && i < n[1].mail_count; i++)
        good &= n[0].mail[i].size == sizes[i] && n[1].mail[i].size == sizes[i];
    ok(good, "in order and with their sizes");
    ok(post(&n[0], 2, 0, (16u << 20) + 1) == PHX_ETOOBIG,
       "one byte more is PHX_ETOOBIG, promise 8");
    go_on(50 * MS);
    ok(linked(&n[0], &n[1]) && stats(&n[0]).links_lost == 0, "and not a disconnect");
    finish_all(n, 2);
}

static int releases, releases_bad;

static void release(const void *data, size_t size, void *arg)
{
    releases++;
    releases_bad += data != text_of(7) || size != 300000 || arg != &releases;
}

static int post_owned(struct node *from, uint64_t to)
{
    return phx_send_owned(from->p, to, 0, 7, text_of(7), 300000, release, &releases);
}

static void test_gather(void)
{
    struct phx_outgoing m;
    struct iovec iov[4];
    unsigned char *base = (unsigned char *)(uintptr_t)text_of(5);

    begin_star(2, LOOPBACK, 0);
    phx_assume(n[1].p, 2, 2);
    memset(&m, 0, sizeof m);
    memset(iov, 0, sizeof iov); /* the second part is empty */
    iov[0].iov_base = base;
    iov[0].iov_len = 1;
    iov[2].iov_base = base + 1;
    iov[2].iov_len = 70000;
    iov[3].iov_base = base + 70001;
    iov[3].iov_len = 29999;
    m.to = 2;
    m.tag = 5;
    m.iov = iov;
    m.iov_count = 4;
    ok(phx_sendv(n[0].p, &m) == 0, "four parts are taken");
    eventually(has_mail(&n[1], 1) && mail_at(&n[1], 0)->size == 100000,
               "and arrive as one, promise 10");
    m.release = release;
    ok(phx_sendv(n[0].p, &m) == PHX_EINVAL, "an owned message is of one part");
    finish_all(n, 2);
}

static void test_owned(void)
{
    releases = releases_bad = 0;
    begin_star(2, LOOPBACK, 0);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    ok(post_owned(&n[0], 2) == 0 && post_owned(&n[0], 1) == 0 && releases == 0,
       "owned sends release later");
    eventually(has_mail(&n[1], 1) && has_mail(&n[0], 1), "they arrive here and there");
    eventually(releases == 2, "each is released, promise 10");
    ok(post_owned(&n[0], 99) == 0, "one to a name that nobody holds");
    go_on(20 * MS);
    ok(releases == 2, "stays");
    phx_close(n[1].p, 0);
    eventually(phx_closed(n[1].p), "the other node closes");
    ok(post_owned(&n[1], 2) == PHX_ECLOSED, "a call that fails");
    finish_all(n, 2);
    ok(releases == 3 && !releases_bad, "releases nothing; phx_free releases the rest, once: %d",
       releases);
}

static void test_order(void)
{
    const int count = 10000;
    int i, sent[2] = {0, 0}, good = 1;

    begin_star(2, LOOPBACK, 0);
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    eventually(linked(&n[0], &n[1]), "two nodes");
    while (sent[0] < count || sent[1] < count) {
        for (i = 0; i < 2; i++)
            while (sent[i] < count && post(&n[i], i == 0 ? 2 : 1, (uint64_t)sent[i], 20) == 0)
                sent[i]++;
        turn(20);
    }
    eventually(has_mail(&n[0], count) && has_mail(&n[1], count), "10,000 messages each way");
    for (i = 0; i < count && good; i++)
        good = n[0].mail[i].tag == (uint64_t)i && n[1].mail[i].tag == (uint64_t)i;
    ok(good, "in order, once, promise 62");
    ok(stats(&n[0]).messages_out == 10000 && stats(&n[1]).messages_in == 10000,
       "and counted, promise 112");
    eventually(phx_pending(n[0].p) == 0 && phx_pending(n[1].p) == 0, "nothing stays pending");
    finish_all(n, 2);
}

static void test_self_send(void)
{
    begin(&n[0], NULL);
    phx_assume(n[0].p, 1, 1);
    ok(post(&n[0], 1, 3, 1000) == 0 && n[0].mail_count == 0, "a send never calls back");
    eventually(has_mail(&n[0], 1) && mail_at(&n[0], 0)->tag == 3,
               "a message to itself arrives inside a later step");
    finish(&n[0]);
}

static void test_waiting(void)
{
    struct phx_config c;

    begin(&n[0], LOOPBACK);
    settings(&n[1], &c);
    c.hold_bytes = 100000;
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    ok(post(&n[1], 5, 1, 50) == 0, "a send before there is a link, promise 32");
    eventually(linked(&n[0], &n[1]), "the link comes");
    ok(post(&n[1], 5, 2, 50) == 0 && post_token(&n[1], 5, 3, 50, 0) == 0,
       "sends to a name that nobody holds");
    ok(post_token(&n[1], 6, 4, 50, 50 * MS) == 0, "one with a time limit");
    eventually(result_of(&n[1], 4) == PHX_ENOOWNER, "which expires, promise 66");
    while (post_token(&n[1], 7, 5, 30000, 0) == 0)
        ;
    ok(post(&n[1], 7, 5, 30000) == PHX_EAGAIN, "what is held is bounded, promise 66");
    ok(n[0].mail_count == 0 && result_of(&n[1], 3) == 1, "all wait");
    phx_assume(n[0].p, 5, 5);
    eventually(has_mail(&n[0], 3), "and arrive when the name is assumed, promises 32, 66");
    ok(mail_at(&n[0], 0)->tag == 1 && mail_at(&n[0], 1)->tag == 2 && mail_at(&n[0], 2)->tag == 3,
       "in order");
    eventually(result_of(&n[1], 3) == PHX_OK, "the outcome is told");
    finish_all(n, 2);
}

static void test_outcomes(void)
{
    begin_star(2, LOOPBACK, 0);
    phx_assume(n[0].p, 1, 1);
    eventually(linked(&n[0], &n[1]), "two nodes");
    ok(post_token(&n[1], 1, 11, 10, 0) == 0 && post_token(&n[1], 1, 12, 500000, 0) == 0,
       "sends with tokens");
    eventually(result_of(&n[1], 11) == PHX_OK && result_of(&n[1], 12) == PHX_OK,
               "are delivered, promise 67");
    ok(n[0].mail_count == 2, "and the message was there before the outcome");
    ok(post_token(&n[1], 9, 13, 10, 0) == 0 && phx_cancel(n[1].p, 13) == 0,
       "one that waits is cancelled");
    ok(result_of(&n[1], 13) == 1, "no callback inside of phx_cancel");
    eventually(result_of(&n[1], 13) == PHX_ECANCELLED, "its outcome says so, promise 67");
    ok(phx_cancel(n[1].p, 13) == PHX_ENOTFOUND && phx_cancel(n[1].p, 11) == PHX_ENOTFOUND, "once");
    phx_assume(n[0].p, 9, 9);
    go_on(50 * MS);
    ok(n[0].mail_count == 2, "what was cancelled does not arrive");
    finish_all(n, 2);
}

static void test_credit(void)
{
    struct phx_config c;
    int i, taken = 0;

    settings(&n[0], &c);
    c.window = 65536;
    begin_as(&n[0], &c, LOOPBACK);
    settings(&n[1], &c);
    c.window = 65536;
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[0].p, 1, 1);
    eventually(linked(&n[0], &n[1]) && owns(&n[1], 1, &n[0]), "two nodes with small windows");
    while (taken < 100 && post(&n[1], 1, (uint64_t)taken, 10000) == 0)
        taken++;
    ok(taken > 0 && taken < 100, "after %d messages of 10,000 bytes: PHX_EAGAIN, promise 63",
       taken);
    ok(n[1].writable == 0, "no callback yet");
    eventually(n[1].writable > 0, "on_writable follows, promise 63");
    ok(post(&n[1], 1, (uint64_t)taken++, 10000) == 0, "then there is room");
    eventually(has_mail(&n[0], taken), "all that was accepted arrives");
    for (i = 0; i < n[0].mail_count && n[0].mail[i].tag == (uint64_t)i; i++)
        ;
    ok(i == taken, "in order");
    finish_all(n, 2);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Both claim before they know of each other, as in a healed partition. */
static void test_conflict(void)
{
    int winner;

    begin(&n[0], LOOPBACK);
    phx_assume(n[0].p, 1, 100);
    begin(&n[1], NULL);
    phx_assume(n[1].p, 50, 200);
    begin(&n[2], NULL);
    phx_join(n[1].p, n[0].at);
    phx_join(n[2].p, n[0].at);
    eventually(settled(n, 3) && n[0].conflicts + n[1].conflicts == 1,
               "a name claimed twice, one loser is told");
    winner = n[0].conflicts == 0 ? 0 : 1;
    eventually(owns(&n[0], 70, &n[winner]) && owns(&n[1], 70, &n[winner])
                   && owns(&n[2], 70, &n[winner]),
               "it is decided the same everywhere, promise 75");
    ok(n[!winner].conflict.first == 50 && n[!winner].conflict.last == 100
           && same_id(&n[!winner].winner, &n[winner].id),
       "the loser learns what it lost to whom");
    ok(owns(&n[2], 49, &n[0]) && owns(&n[2], 150, &n[1]), "the rest stays where it was");
    post(&n[2], 70, 0, 10);
    post(&n[!winner], 70, 0, 10);
    eventually(has_mail(&n[winner], 2), "messages reach the winner, also from the loser");
    ok(n[!winner].mail_count == 0, "and not the loser");
    phx_assume(n[!winner].p, 70, 70);
    eventually(owns(&n[2], 70, &n[!winner]) && n[winner].conflicts == 1,
               "who assumes knowingly wins");
    finish_all(n, 3);
}

/* How many of the tags 0..count - 1 arrived once at one of the first two nodes. */
static int arrived_once(int count)
{
    char seen[20000];
    int at, i, once = 0;

    memset(seen, 0, sizeof seen);
    for (at = 0; at < 2; at++)
        for (i = 0; i < n[at].mail_count; i++)
            if (n[at].mail[i].tag < sizeof seen && seen[n[at].mail[i].tag] < 2)
                seen[n[at].mail[i].tag]++;
    for (i = 0; i < count; i++)
        once += seen[i] == 1;
    return once;
}

static void test_move(void)
{
    int i, sent = 0, moves = 0, at = 0;

    begin_star(3, LOOPBACK, 1);
    phx_assume(n[0].p, 7, 7);
    eventually(is_mesh(n, 3) && owns(&n[2], 7, &n[0]), "three nodes, the first holds name 7");
    while (sent < 20000 && moves < 20) {
        for (i = 0; i < 100 && post(&n[2], 7, (uint64_t)sent, 30) == 0; i++)
            sent++;
        turn(1);
        if (n[0].mail_count + n[1].mail_count > 100 * moves) {
            phx_release(n[at].p, 7, 7);
            turn(1);
            at = !at;
            phx_assume(n[at].p, 7, 7);
            moves++;
        }
    }
    eventually(n[0].mail_count + n[1].mail_count >= sent, "%d messages, %d moves under load", sent,
               moves);
    go_on(50 * MS);
    ok(has_mail(&n[0], sent - n[1].mail_count) && arrived_once(sent) == sent,
       "none is lost or doubled, promise 74");
    ok(n[0].mail_count > 0 && n[1].mail_count > 0 && phx_pending(n[2].p) == 0,
       "both have had some");
    finish_all(n, 3);
}

/* ---- Relays ---------------------------------------------------------------------------------- */

static void test_relay(void)
{
    begin_star(3, LOOPBACK, 0);
    phx_assume(n[1].p, 1, 1);
    phx_assume(n[2].p, 2, 2);
    eventually(hops(&n[1], &n[2]) == 2 && hops(&n[2], &n[1]) == 2,
               "neither listens: 2 hops, promises 11, 12");
    ok(links_with(&n[1], &n[2]) == 0, "and no link");
    post(&n[1], 2, 1, 200000);
    post(&n[2], 1, 2, 200000);
    eventually(has_mail(&n[1], 1) && has_mail(&n[2], 1), "messages through the hub, promise 12");
    ok(stats(&n[0]).relayed_frames > 0 && stats(&n[0]).messages_in == 0,
       "which relays, and reads none");
    finish_all(n, 3);
}

static void test_chain(void)
{
    int i;

    begin_chain(5);
    for (i = 0; i < 5; i++)
        phx_assume(n[i].p, (uint64_t)i, (uint64_t)i);
    eventually(settled(n, 5), "five nodes tied by socketpairs, promise 4");
    for (i = 0; i < 5; i++)
        ok(hops(&n[0], &n[i]) == i, "node %d is %d hops away, promise 22", i, i);
    for (i = 0; i < 10; i++)
        post(&n[i % 2 ? 4 : 0], i % 2 ? 0 : 4, (uint64_t)i, 100000);
    eventually(has_mail(&n[0], 5) && has_mail(&n[4], 5),
               "messages over 4 hops both ways, promise 12");
    ok(stats(&n[2]).relayed_frames > 0, "relayed");
    phx_close(n[2].p, SECOND);
    eventually(phx_closed(n[2].p), "the middle leaves");
    kill_node(&n[2]);
    eventually(look(&n[0], &n[4]).state == PHX_NODE_UNREACHABLE,
               "the other side is unreachable, not failed");
    tie(&n[1], &n[3]);
    eventually(hops(&n[0], &n[4]) == 3, "a new tie takes its place");
    post(&n[0], 4, 99, 10);
    eventually(has_mail(&n[4], 6), "and messages pass again");
    finish_all(n, 5);
}

static void test_no_relay(void)
{
    struct phx_config c;

    begin(&n[0], NULL);
    settings(&n[1], &c);
    c.relay = 0;
    begin_as(&n[1], &c, NULL);
    begin(&n[2], NULL);
    tie(&n[0], &n[1]);
    tie(&n[1], &n[2]);
    phx_assume(n[1].p, 1, 1);
    phx_assume(n[2].p, 2, 2);
    post(&n[0], 1, 1, 10);
    eventually(has_mail(&n[1], 1), "a node with cfg.relay 0 takes what is its own");
    post_token(&n[0], 2, 5, 10, 300 * MS);
    eventually(result_of(&n[0], 5) == PHX_ENOOWNER || result_of(&n[0], 5) == PHX_EFAILED,
               "the rest ends");
    ok(n[2].mail_count == 0 && stats(&n[1]).relayed_frames == 0, "it forwards nothing");
    finish_all(n, 3);
}

static void test_hop_limit(void)
{
    struct phx_config c;
    int i;

    for (i = 0; i < 5; i++) {
        settings(&n[i], &c);
        c.hop_limit = 2;
        begin_as(&n[i], &c, NULL);
        if (i > 0)
            tie(&n[i - 1], &n[i]);
        phx_assume(n[i].p, (uint64_t)i, (uint64_t)i);
    }
    await(hops(&n[0], &n[2]) == 2, PATIENCE);
    post(&n[0], 2, 1, 10);
    eventually(has_mail(&n[2], 1), "2 hops are within the limit");
    post_token(&n[0], 4, 9, 10, 300 * MS);
    eventually(result_of(&n[0], 9) < 0, "4 are not, and the sender is told: %d",
               result_of(&n[0], 9));
    ok(n[4].mail_count == 0, "nothing passes, promise 12");
    finish_all(n, 5);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void test_idle(void)
{
    struct phx_stats a, b;
    long allocations;
    unsigned long steps;
    int i;

    begin_star(4, LOOPBACK, 1);
    eventually(is_mesh(n, 4), "a mesh of four");
    go_on(100 * MS); /* cards and beats settle */
    a = stats(&n[0]);
    allocations = n[0].heap.calls;
    for (i = 0; i < 1000; i++)
        phx_step(n[0].p, phx_now_us(), NULL, 0);
    b = stats(&n[0]);
    ok(b.os_calls - a.os_calls <= 1000, "1,000 idle steps: %lu calls of the system, promise 119",
       (unsigned long)(b.os_calls - a.os_calls));
    ok(n[0].heap.calls == allocations, "and no allocation, promise 122");
    a = stats(&n[0]);
    for (i = 0; i < 1000; i++)
        phx_step(n[0].p, phx_now_us(), host_fds, 0);
    ok(stats(&n[0]).os_calls == a.os_calls, "a host that says nothing is ready: none at all");
    for (steps = 0, i = 0; i < 4; i++)
        steps += n[i].steps;
    go_on(300 * MS);
    for (i = 0; i < 4; i++)
        steps -= n[i].steps;
    ok(0ul - steps < 100, "idle nodes let their hosts sleep: %lu steps in 0.3 s, promise 116",
       0ul - steps);
    finish_all(n, 4);
}

static phx *to_wake;

static void *waker(void *arg)
{
    (void)arg;
    phx_wake(to_wake);
    return NULL;
}

static void on_alarm(int signal)
{
    (void)signal;
    phx_wake(to_wake);
}

/* Does a host that sleeps on these descriptors come back within its patience? */
static int comes_back(struct node *host, int by_fd)
{
    struct pollfd fds[8];
    int count = by_fd ? 1 : phx_fds(host->p, fds, 8), got;
    uint64_t until = phx_now_us() + PATIENCE;

    if (by_fd) {
        fds[0].fd = phx_fd(host->p);
        fds[0].events = POLLIN;
    }
    do
        got = poll(fds, (nfds_t)count, 1000);
    while (got <= 0 && phx_now_us() < until);
    phx_step(host->p, phx_now_us(), by_fd ? NULL : fds, by_fd ? 0 : count);
    return got > 0 && poll(fds, (nfds_t)count, 0) == 0; /* and the step used it up */
}

static void wake_by_thread(int by_fd, const char *how)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, waker, NULL) != 0)
        return;
    ok(comes_back(&n[0], by_fd), "phx_wake from another thread ends a sleep on %s", how);
    pthread_join(thread, NULL);
}

static void test_wake(void)
{
    struct sigaction action, before;
    struct itimerval soon;

    begin(&n[0], LOOPBACK);
    to_wake = n[0].p;
    turn(0);
    wake_by_thread(0, "phx_fds");
    if (fd_works)
        wake_by_thread(1, "phx_fd");
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, &before);
    memset(&soon, 0, sizeof soon);
    soon.it_value.tv_usec = 20000;
    setitimer(ITIMER_REAL, &soon, NULL);
    ok(comes_back(&n[0], fd_works), "phx_wake from a signal handler does so too");
    sigaction(SIGALRM, &before, NULL);
    finish(&n[0]);
}

/* A host that watches phx_fd and nothing else: whatever it asks for outside a step makes that readable. */
static int asks(int what)
{
    struct phx_range all = { 0, 99 };
    struct phx_cast cast = { .ranges = &all, .ranges_count = 1 };

    return what < 2    ? what == 0 ? phx_send(n[0].p, 2, 1, 0, "hello", 5) : phx_cast(n[0].p, &cast) - 1
           : what == 2 ? phx_assume(n[0].p, 7, 7)
           : what == 3 ? phx_join(n[0].p, "tcp://127.0.0.1:1") : phx_close(n[0].p, SECOND);
}

static void test_fd_alone(void)
{
    struct pollfd fd = { -1, POLLIN, 0 };
    int what; /* is asked for */

    begin_star(2, LOOPBACK, 0);
    phx_assume(n[1].p, 2, 2);
    eventually(owns(&n[0], 2, &n[1]), "there is one to send to");
    for (fd.fd = phx_fd(n[0].p), what = 0; fd.fd >= 0 && what < 5; what++) {
        eventually(poll(&fd, 1, 0) == 0 && phx_deadline(n[0].p) > phx_now_us(), "nothing is left to do");
        ok(asks(what) == 0 && poll(&fd, 1, 0) == 1, "call %d makes phx_fd readable at once", what);
    }
    ok(fd.fd == PHX_ENOTSUP || what == 5, "all calls");
    finish_all(n, 2);
}

/* ---- Inside callbacks ------------------------------------------------------------------------ */

static int step_said, send_said;

static void step_inside(struct node *self, const struct phx_message *m)
{
    step_said = phx_step(self->p, phx_now_us(), NULL, 0);
    if (m->tag < 50)
        send_said = phx_send(self->p, m->tag % 2 ? 1 : 2, 0, m->tag + 1, text_of(m->tag + 1),
                             m->size);
}

static void free_inside(struct node *self, const struct phx_message *m)
{
    (void)m;
    phx_free(self->p);
    self->p = NULL; /* gone when the step is over */
}

static void forget(struct node *gone)
{
    int i;

    for (i = 0; i < host_count && hosts[i] != gone; i++)
        ;
    hosts[i] = hosts[--host_count];
}

static void test_inside(void)
{
    uint64_t i;
    int early;

    begin_star(2, LOOPBACK, 0);
    n[0].hook = n[1].hook = step_inside;
    phx_assume(n[0].p, 1, 1);
    phx_assume(n[1].p, 2, 2);
    post(&n[0], 2, 0, 100);
    eventually(n[0].mail_count + n[1].mail_count == 51,
               "sends inside on_message go back and forth, promise 120");
    ok(step_said == PHX_ESTATE && send_said == 0, "phx_step inside a callback is PHX_ESTATE");
    n[1].hook = free_inside;
    post(&n[0], 2, 100, 100);
    for (i = 0; i < 200; i++)
        check(post_token(&n[0], 2, 1000 + i, 100, 0) == 0, "sent");
    await(n[1].p == NULL, PATIENCE);
    if (ok(n[1].p == NULL && test_heap_is_clean(&n[1].heap),
           "phx_free inside a callback ends the node after it"))
        forget(&n[1]);
    eventually(look(&n[0], &n[1]).hops < 0, "the other one sees it go");
    for (i = 0, early = 0; i < 200; i++)
        early += result_of(&n[0], 1000 + i) == PHX_OK;
    ok(early == 0, "and what was not shown any more does not count as delivered");
    finish_all(n, 2);
}

/* ---- Leaving and dying ----------------------------------------------------------------------- */

static void test_leave(void)
{
    int i;

    begin_star(4, LOOPBACK, 1);
    phx_assume(n[0].p, 0, 0);
    phx_assume(n[3].p, 3, 3);
    eventually(is_mesh(n, 4) && owns(&n[3], 0, &n[0]), "a mesh of four");
    for (i = 0; i < 20; i++)
        post(&n[3], 0, (uint64_t)i, 100000);
    ok(phx_close(n[3].p, 5 * SECOND) == 0 && phx_close(n[3].p, 0) == PHX_ECLOSED,
       "one closes with a full queue");
    ok(post(&n[3], 0, 0, 1) == PHX_ECLOSED && phx_assume(n[3].p, 9, 9) == PHX_ECLOSED,
       "it takes no more");
    eventually(phx_closed(n[3].p), "it is closed in time");
    ok(has_mail(&n[0], 20), "what was queued has arrived, promise 40: %d", n[0].mail_count);
    kill_node(&n[3]);
    for (i = 0; i < 3; i++)
        eventually(look(&n[i], &n[3]).state == PHX_NODE_LEFT, "node %d sees it as LEFT, promise 54",
                   i);
    go_on(100 * MS);
    for (i = 0; i < 3; i++)
        check(told(&n[i], &n[3], PHX_NODE_FAILED) == 0 && told(&n[i], &n[3], PHX_NODE_LEFT) == 1
                  && told(&n[i], &n[3], PHX_NODE_UNREACHABLE) == 0,
              "node %d was told LEFT once and nothing else", i);
    ok(phx_owner(n[0].p, 3, NULL) == PHX_ENOTFOUND, "its names are free");
    finish_all(n, 4);
}

static void test_leave_at_once(void)
{
    /* Goal: a goodbye is not held back by the pace of the routing, not even with no time to drain.
     * Method: a node that has just told much, so that the next news would have to wait. */
    int i;

    begin_star(3, LOOPBACK, 1);
    eventually(is_mesh(n, 3), "a mesh of three");
    for (i = 0; i < 8; i++) {
        phx_assume(n[2].p, (uint64_t)i, (uint64_t)i);
        phx_step(n[2].p, phx_now_us(), NULL, 0);
    }
    ok(phx_close(n[2].p, 0) == 0, "one closes at once");
    eventually(phx_closed(n[2].p), "and is closed");
    kill_node(&n[2]);
    for (i = 0; i < 2; i++) {
        eventually(look(&n[i], &n[2]).state > PHX_NODE_OK, "node %d sees that it is gone", i);
        ok(look(&n[i], &n[2]).state == PHX_NODE_LEFT, "node %d: it has left", i);
    }
    finish_all(n, 3);
}

static void test_goodbye_unread(void)
{
    /* Goal: who writes to a node that has gone reads its goodbye all the same. Method: one closes
     * while the other does not step, but writes, which fails. */
    int i;

    begin_star(2, LOOPBACK, 1);
    eventually(is_mesh(n, 2), "a pair");
    phx_close(n[1].p, 0);
    for (i = 0; i < 100 && !phx_closed(n[1].p); i++)
        phx_step(n[1].p, phx_now_us(), NULL, 0);
    ok(phx_closed(n[1].p), "one closes");
    kill_node(&n[1]);
    for (i = 1; i <= 20; i++)
        phx_busy(n[0].p, (uint64_t)i * SECOND);
    eventually(look(&n[0], &n[1]).state > PHX_NODE_OK, "the other sees it");
    ok(look(&n[0], &n[1]).state == PHX_NODE_LEFT, "as it was");
    finish_all(n, 2);
}

static void test_death(void)
{
    struct phx_config c;
    int i;

    for (i = 0; i < 4; i++) {
        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    phx_assume(n[3].p, 3, 3);
    eventually(is_mesh(n, 4) && owns(&n[1], 3, &n[3]), "a mesh of four");
    post_token(&n[1], 3, 1, 100, 0);
    kill_node(&n[3]);
    for (i = 0; i < 3; i++)
        eventually(told(&n[i], &n[3], PHX_NODE_UNREACHABLE) == 1,
                   "node %d is told UNREACHABLE, promise 55", i);
    for (i = 0; i < 3; i++)
        eventually(told(&n[i], &n[3], PHX_NODE_FAILED) == 1, "and then FAILED, promises 49, 68");
    await(result_of(&n[1], 1) <= 0, PATIENCE);
    ok(result_of(&n[1], 1) == PHX_EFAILED, "what was under way has failed, promise 67: %d",
       result_of(&n[1], 1));
    ok(look(&n[0], &n[3]).state == PHX_NODE_FAILED && look(&n[0], &n[3]).hops == -1,
       "phx_nodes says so, too");
    ok(told(&n[0], &n[3], PHX_NODE_LEFT) == 0 && told(&n[0], &n[1], PHX_NODE_FAILED) == 0,
       "nobody else is accused");
    finish_all(n, 4);
}

/* The host of one node does something else for a while: no frame, and no end of stream either. */
static void test_silence(void)
{
    struct phx_config c;
    int i;

    for (i = 0; i < 3; i++) {
        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    phx_assume(n[2].p, 2, 2);
    eventually(is_mesh(n, 3) && owns(&n[0], 2, &n[2]), "a mesh of three");
    go_on(1200 * MS);
    ok(stats(&n[0]).links_lost == 0 && is_mesh(n, 3),
       "heartbeats keep idle links up, promises 21, 45");
    host_count--; /* n[2] is the last */
    eventually(told(&n[0], &n[2], PHX_NODE_FAILED) == 1 && told(&n[1], &n[2], PHX_NODE_FAILED) == 1,
               "a node whose host is silent fails, promises 48, 49");
    ok(logged(&n[0], "no frame for", "") == 1, "and the log says why");
    ok(told(&n[0], &n[1], PHX_NODE_UNREACHABLE) == 0, "nobody else is accused");
    hosts[host_count++] = &n[2];
    eventually(is_mesh(n, 3) && look(&n[0], &n[2]).state == PHX_NODE_OK,
               "when it is back, so is the mesh");
    ok(logged(&n[2], "no frame for", "") == 0,
       "it does not blame others for its own stall, promise 51");
    post(&n[0], 2, 1, 10);
    eventually(has_mail(&n[2], 1), "and messages pass, promise 57");
    finish_all(n, 3);
}

/* A process is started again at the port of the one that died: another node, at once. */
static void test_restart(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_config c;
    int i;

    for (i = 0; i < 3; i++) {
        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    phx_assume(n[0].p, 1, 1);
    eventually(is_mesh(n, 3), "a mesh of three");
    memcpy(at, n[0].at, sizeof at);
    kill_node(&n[0]);
    settings(&n[3], &c);
    hurry(&c);
    begin_as(&n[3], &c, at);
    phx_assume(n[3].p, 1, 1);
    post(&n[1], 1, 1, 10);
    eventually(linked(&n[1], &n[3]) && linked(&n[2], &n[3]),
               "the hub's successor is found at its address");
    eventually(owns(&n[1], 1, &n[3]) && owns(&n[2], 1, &n[3]), "its claim counts, promise 59");
    post(&n[2], 1, 2, 10);
    eventually(has_mail(&n[3], 2),
               "messages reach it, also the one that was under way, promise 61");
    finish_all(n, 4);
}

/* The host keeps the id and raises the incarnation. */
static void test_incarnation(void)
{
    struct phx_id id = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    struct phx_config c;
    uint64_t life;

    begin(&n[0], LOOPBACK);
    for (life = 1; life <= 3; life++) {
        settings(&n[1], &c);
        c.id = &id;
        c.incarnation = life;
        begin_as(&n[1], &c, NULL);
        phx_join(n[1].p, n[0].at);
        phx_assume(n[1].p, 1, 1);
        eventually(linked(&n[0], &n[1]) && look(&n[0], &n[1]).incarnation >= life,
                   "life %d links, promise 31", (int)life);
        post(&n[0], 1, life, 10);
        eventually(has_mail(&n[1], 1) && mail_at(&n[1], 0)->tag == life && phx_pending(n[0].p) == 0,
                   "and is reached, promise 31");
        finish(&n[1]);
    }
    finish(&n[0]);
}

/* ---- Looking inside -------------------------------------------------------------------------- */

static void compare_views(struct node *of, int count)
{
    struct phx_node nodes[16];
    struct phx_link links[16];
    struct phx_route routes[16];
    struct phx_range ranges[16];
    struct phx_stats s = stats(of);
    size_t i, up = 0, linked_nodes = 0, far = 0;

    ok(phx_nodes(of->p, nodes, 16) == (size_t)count && phx_nodes(of->p, NULL, 0) == s.nodes,
       "nodes agree");
    ok(same_id(&nodes[0].id, &of->id) && nodes[0].hops == 0, "the node itself comes first");
    for (i = 0; i < phx_links(of->p, links, 16); i++)
        up += links[i].up != 0;
    ok(up == s.links, "links agree: %u", (unsigned)up);
    ok(phx_routes(of->p, routes, 16) == (size_t)count - 1 && s.reachable == (uint32_t)count,
       "routes agree");
    for (i = 1; i < (size_t)count; i++) {
        linked_nodes += nodes[i].hops == 1;
        far += nodes[i].hops != routes[i - 1].hops || !same_id(&nodes[i].next, &routes[i - 1].next)
               || nodes[i].ranges_count != phx_names(of->p, &nodes[i].id, ranges, 16)
               || !same_id(&nodes[i].id, &routes[i - 1].id);
    }
    ok(linked_nodes == up && far == 0, "hops, next and ranges agree, promise 113");
}

static void test_views(void)
{
    struct phx_range r[4];
    int i;

    begin_star(5, LOOPBACK, 0);
    for (i = 0; i < 5; i++) {
        phx_assume(n[i].p, (uint64_t)i * 100, (uint64_t)i * 100 + 9);
        phx_assume(n[i].p, (uint64_t)i * 100 + 50, (uint64_t)i * 100 + 59);
    }
    phx_assume(n[4].p, UINT64_MAX - 1, UINT64_MAX);
    eventually(settled(n, 5) && owns(&n[1], UINT64_MAX, &n[4]) && owns(&n[0], 459, &n[4]),
               "a star of five");
    compare_views(&n[0], 5);
    compare_views(&n[3], 5);
    ok(phx_names(n[1].p, &n[4].id, r, 4) == 3 && r[0].first == 400 && r[0].last == 409
           && r[1].first == 450 && r[2].last == UINT64_MAX,
       "phx_names lists the ranges of another, promise 72");
    ok(phx_release(n[4].p, 405, 455) == 0, "a release may cut ranges");
    eventually(phx_owner(n[1].p, 405, NULL) == PHX_ENOTFOUND && owns(&n[1], 404, &n[4])
                   && owns(&n[1], 456, &n[4]),
               "and leaves what is outside");
    finish_all(n, 5);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void test_mem_limit(void)
{
    struct phx_config c;
    size_t peak = 0;
    int i, refused = 0, taken = 0;

    begin(&n[0], LOOPBACK);
    settings(&n[1], &c);
    c.mem_limit = 2u << 20;
    begin_as(&n[1], &c, NULL);
    phx_join(n[1].p, n[0].at);
    phx_assume(n[0].p, 1, 1);
    eventually(linked(&n[0], &n[1]) && owns(&n[1], 1, &n[0]), "a node with a limit of 2 MiB");
    for (i = 0; i < 40; i++) {
        int said = post(&n[1], i % 2 ? 1 : 77, (uint64_t)i, 300000);
        taken += said == 0 && i % 2;
        refused += said == PHX_ENOMEM || said == PHX_EAGAIN;
        turn(5);
        peak = n[1].heap.bytes > peak ? n[1].heap.bytes : peak;
    }
    ok(refused > 0 && peak <= c.mem_limit && stats(&n[1]).mem_peak <= c.mem_limit,
       "refuses what it has no room for (%d of 40) and keeps to it, promise 122: %lu", refused,
       (unsigned long)stats(&n[1]).mem_peak);
    eventually(has_mail(&n[0], taken), "and delivers the %d it took", taken);
    finish_all(n, 2);
}

static const struct test tests[] = {
    {"addresses", test_addresses},
    {"localhost_join", test_localhost_join},
    {"sizes", test_sizes},
    {"gather", test_gather},
    {"owned", test_owned},
    {"order", test_order},
    {"self_send", test_self_send},
    {"waiting", test_waiting},
    {"outcomes", test_outcomes},
    {"credit", test_credit},
    {"conflict", test_conflict},
    {"move", test_move},
    {"relay", test_relay},
    {"chain", test_chain},
    {"no_relay", test_no_relay},
    {"hop_limit", test_hop_limit},
    {"idle", test_idle},
    {"wake", test_wake},
    {"fd_alone", test_fd_alone},
    {"inside", test_inside},
    {"leave", test_leave},
    {"leave_at_once", test_leave_at_once},
    {"goodbye_unread", test_goodbye_unread},
    {"death", test_death},
    {"silence", test_silence},
    {"restart", test_restart},
    {"incarnation", test_incarnation},
    {"views", test_views},
    {"mem_limit", test_mem_limit},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
