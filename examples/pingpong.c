/* pingpong.c - how long an answer takes: a host that sleeps beside one that looks for a while first.
 *
 *     cc -std=c99 -O2 -I. -o pingpong examples/pingpong.c phoenix.c
 *     ./pingpong
 *
 * Two processes send a message to and fro, first sleeping whenever there is nothing to do, then by
 * linger_turn of linger.h. Then both are idle for half a second, and the first one says how often it was
 * awake in that time: nearly never, or it ends with status 1.
 */
#define _POSIX_C_SOURCE 200809L
#include "linger.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 2000
#define PATIENCE_US 20000000u
#define IDLE_US 500000u
/* Each way of waiting, each stretch of silence: a few heartbeats, and the last acknowledgements. */
#define IDLE_TURNS 50u

/* What the second process is told by tags. */
enum { PLAIN, LINGER, END };

struct player {
    phx *p;
    uint64_t me, you, end;
    struct linger wait;
    unsigned long got;
    int ended;
};

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct player *x = user;

    x->got++;
    x->wait.us = m->tag == LINGER ? LINGER_US : 0;
    linger_awake(&x->wait);
    if (m->tag == END)
        x->ended = 1;
    else if (x->me == 2)
        phx_send(p, x->you, x->me, m->tag, m->data, m->size); /* leaves at the end of this very step */
}

static int start(struct player *x, const char *at)
{
    struct phx_config cfg;
    int err;

    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.user = x;
    x->you = 3 - x->me;
    x->end = phx_now_us() + PATIENCE_US;
    if ((err = phx_new(&x->p, &cfg, phx_now_us())) != 0
        || (err = x->me == 1 ? phx_listen(x->p, at) : phx_join(x->p, at)) != 0)
        return err;
    return phx_assume(x->p, x->me, x->me);
}

static void leave(struct player *x)
{
    phx_close(x->p, 1000000);
    while (!phx_closed(x->p) && phx_now_us() < x->end)
        linger_turn(&x->wait, x->p, 100);
    phx_free(x->p);
}

/* Microseconds for a message and its answer, or a negative number: it took too long. */
static double play(struct player *x, int how, unsigned long rounds)
{
    uint64_t start = phx_now_us();
    unsigned long i;

    for (i = 0; i < rounds; i++) {
        unsigned long before = x->got;
        if (phx_send(x->p, x->you, x->me, (uint64_t)how, "ping", 4) != 0)
            return -1;
        linger_awake(&x->wait);
        while (x->got == before && phx_now_us() < x->end)
            linger_turn(&x->wait, x->p, 100);
        if (x->got == before)
            return -1;
    }
    return (double)(phx_now_us() - start) / (double)rounds;
}

/* How often it was awake while nothing happened. */
static unsigned long idle(struct player *x)
{
    uint64_t end = phx_now_us() + IDLE_US;
    unsigned long before = x->wait.looks + x->wait.sleeps;

    while (phx_now_us() < end)
        linger_turn(&x->wait, x->p, 100);
    return x->wait.looks + x->wait.sleeps - before;
}

static int first(struct player *x)
{
    double plain, lingering;
    unsigned long turns;

    if (play(x, PLAIN, 100) < 0 || (plain = play(x, PLAIN, ROUNDS)) < 0
        || play(x, LINGER, 100) < 0 || (lingering = play(x, LINGER, ROUNDS)) < 0) {
        fprintf(stderr, "pingpong: no answer\n");
        return 1;
    }
    printf("asleep in between: %.1f us for a message and its answer\n", plain);
    printf("looking for %d us first: %.1f us\n", LINGER_US, lingering);
    idle(x); /* the last looks */
    turns = idle(x);
    printf("idle for %u ms: %lu turns of the loop\n", IDLE_US / 1000, turns);
    return phx_send(x->p, x->you, x->me, END, NULL, 0) != 0 || turns > IDLE_TURNS;
}

int main(void)
{
    static struct player x; /* zero */
    char at[96];
    int err, failed, status;
    pid_t child;

    snprintf(at, sizeof at, "unix:///tmp/phoenix.pingpong.%ld", (long)getpid());
    if ((child = fork()) < 0)
        return 1;
    x.me = child == 0 ? 2 : 1;
    if ((err = start(&x, at)) != 0) {
        fprintf(stderr, "pingpong: %s\n", phx_strerror(err));
        phx_free(x.p);
        return 1;
    }
    failed = child != 0 ? first(&x) : 0;
    while (child == 0 && !x.ended && phx_now_us() < x.end)
        linger_turn(&x.wait, x.p, 100);
    leave(&x);
    if (child == 0)
        return 0;
    return waitpid(child, &status, 0) == child && status == 0 && !failed ? 0 : 1;
}
