/* linger.h - a turn of a host's loop that looks for a while before it sleeps.
 *
 * Between two processes of one machine a message takes 4 us if the receiver is looking for it, and 35 us
 * if it has to be woken. A host that only ever looks burns a core, and if there are fewer cores than
 * processes it takes that core from the very process it waits for: with one busy process too many, MPI's
 * spinning over TCP was seen at 4,000 us. So look for about as long as an answer takes that is on its way
 * already, and then sleep: what has not come by then will take longer. That keeps the 4 us in a brisk
 * exchange and costs nothing while nothing happens. Without a core of its own for each side there is
 * nothing to gain: sleep at once.
 *
 *     struct linger g = { LINGER_US, 0, 0, 0 };
 *     ...
 *     in on_message, and after a phx_send that is to be answered:   linger_awake(&g);
 *     in the loop, instead of poll and phx_step:                    linger_turn(&g, p, -1);
 *
 * Copy it and change it. examples/pingpong.c shows what it gains.
 */
#ifndef LINGER_H
#define LINGER_H
#include "phoenix.h"

/* A round trip on loopback is 10 us between two that are awake and 60 us between two that sleep. */
#define LINGER_US 50

struct linger {
    uint64_t us;                 /* how long to look after something has happened; 0: never */
    uint64_t until;              /* ... which is now */
    unsigned long looks, sleeps; /* turns of either kind so far */
};

/* Something has happened, so that something else may soon. */
static void linger_awake(struct linger *g)
{
    g->until = g->us > 0 ? phx_now_us() + g->us : 0;
}

/* One turn. Sleeps for most_ms at most, unless that is negative. */
static void linger_turn(struct linger *g, phx *p, int most_ms)
{
    struct pollfd none = { -1, 0, 0 }, fd = { -1, POLLIN, 0 };
    uint64_t now = phx_now_us();
    int ms;

    if (phx_deadline(p) == 0)
        phx_step(p, now, &none, 1); /* what was just sent leaves; no need to look for more first */
    if (now < g->until) {
        g->looks++;
    } else {
        g->sleeps++;
        ms = phx_timeout_ms(p, now);
        if (most_ms >= 0 && (ms < 0 || ms > most_ms))
            ms = most_ms;
        fd.fd = phx_fd(p);
        if (fd.fd < 0 && (ms < 0 || ms > 1))
            ms = 1; /* a system without such a descriptor; better to use phx_fds there */
        poll(&fd, 1, ms);
        now = phx_now_us();
    }
    phx_step(p, now, NULL, 0);
}

#endif
