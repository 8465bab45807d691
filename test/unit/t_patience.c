/* t_patience.c - a host that announces long silence: when it is told, and what its connections outlive.
 *
 * Goal: a host that announces a day and computes from the moment its link is up is believed at once, and a
 * peer that it does not read from keeps the connection although its data stay unread for long.
 * Method: two nodes over TCP; one of them announces, and does not step any more once it sees the link. The
 * options of the sockets are read back, since the kernel's limit is ten minutes.
 */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "phoenix.h"
#endif

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "nodes.h"

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    return getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

/* The socket of the one link that is up; -1: there is none. */
static int socket_of(const struct node *n)
{
    struct phx_link l[4];
    size_t count = phx_links(n->p, l, 4);

    return count == 1 && l[0].up ? l[0].handle : -1;
}

/* Goal: TCP gives up a link whose data nobody acknowledges for ten minutes, promise 1. */
static int gives_up_after_minutes(int fd)
{
#ifdef TCP_USER_TIMEOUT
    return option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 600000 && option(fd, IPPROTO_TCP, TCP_NODELAY) == 1;
#else
    return option(fd, IPPROTO_TCP, TCP_NODELAY) == 1;
#endif
}

static int is_patient(int fd)
{
    int kept = option(fd, SOL_SOCKET, SO_KEEPALIVE) == 1;

#ifdef TCP_USER_TIMEOUT
    return kept && option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) == 0;
#else
    return kept;
#endif
}

/* Whether n has heard that m is to be heard within so many milliseconds. */
static int has_heard(const struct node *n, const struct node *m, const char *promised)
{
    char text[4096];

    return phx_explain(n->p, &m->id, text, sizeof text) > 0 && strstr(text, promised) != NULL;
}

static void begin_long(struct node *n, uint64_t us)
{
    struct phx_config c;

    settings(n, &c);
    c.same_host = 0;
    c.detector.interval_us = c.detector.insurance_us = us;
    begin_as(n, &c, LOOPBACK);
}

/* b falls silent in the step in which its link comes up: what it has announced leaves with that step. */
static void test_first(void)
{
    static struct node a, b;
    int turns;

    begin_long(&a, 5 * SECOND);
    begin_long(&b, 86400 * SECOND);
    ok(phx_join(b.p, a.at) == 0, "joined");
    for (turns = 0; turns < 1000 && socket_of(&b) < 0; turns++) {
        phx_step(a.p, phx_now_us(), NULL, 0);
        phx_step(b.p, phx_now_us(), NULL, 0);
    }
    ok(socket_of(&b) >= 0, "b has the link, and steps no more");
    for (turns = 0; turns < 1000 && !has_heard(&a, &b, "every 86400000 ms"); turns++)
        phx_step(a.p, phx_now_us(), NULL, 0);
    ok(has_heard(&a, &b, "every 86400000 ms"), "a has heard of the day");
    ok(is_patient(socket_of(&a)), "and its socket outlives it");
    ok(!is_patient(socket_of(&b)), "that of b is as it was made");
    finish(&a);
    finish(&b);
}

/* The pause of phx_busy counts, too, and its end. */
static void test_busy(void)
{
    static struct node a, b;
    int turns;

    begin_long(&a, 5 * SECOND);
    begin_long(&b, 5 * SECOND);
    ok(phx_join(b.p, a.at) == 0, "joined");
    for (turns = 0; turns < 10000 && (!linked(&a, &b) || !linked(&b, &a)); turns++)
        turn(1);
    ok(!is_patient(socket_of(&a)), "as it was made");
    ok(gives_up_after_minutes(socket_of(&a)) && gives_up_after_minutes(socket_of(&b)),
       "whoever dialled: ten minutes without an acknowledgement are too many");
    ok(phx_busy(b.p, 1200 * SECOND) == 0, "b computes for 20 minutes");
    for (turns = 0; turns < 1000 && !is_patient(socket_of(&a)); turns++)
        phx_step(a.p, phx_now_us(), NULL, 0);
    ok(is_patient(socket_of(&a)), "a is patient");
    for (turns = 0; turns < 10000 && is_patient(socket_of(&a)); turns++)
        turn(1);
    ok(!is_patient(socket_of(&a)), "until b is back");
    finish(&a);
    finish(&b);
}

int main(void)
{
    if (test_begin() != 0)
        return 1;
    test_first();
    test_busy();
    return test_finish();
}
