/* libuv.c - Phoenix in a libuv loop: one poll handle for the node, one timer for its deadline.
 *
 *     cc -std=c99 -O2 -I. -o uv examples/loops/libuv.c phoenix.c -luv
 *     ./uv 1 2 & ./uv 2 1; wait
 *
 * Each greets the other once a second, outside of any step, and ends when it was greeted three times.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define HUB "tcp://127.0.0.1:7000"

struct host {
    phx *p;
    uv_poll_t io;
    uv_timer_t due, tick;
    uint64_t me, you;
    int greeted, sent;
};

static void turn(struct host *h);

static void on_due(uv_timer_t *t)
{
    turn(t->data);
}

/* After each step: the deadline may be another one now. What a call outside of a step leaves to be done makes
 * phx_fd readable. */
static void arm(struct host *h)
{
    int ms = phx_timeout_ms(h->p, phx_now_us());

    if (ms < 0)
        uv_timer_stop(&h->due);
    else
        uv_timer_start(&h->due, on_due, (uint64_t)ms, 0);
}

static void turn(struct host *h)
{
    phx_step(h->p, phx_now_us(), NULL, 0);
    if (h->greeted >= 3 && h->sent >= 3 && phx_pending(h->p) == 0)
        uv_stop(h->io.loop);
    arm(h);
}

static void on_ready(uv_poll_t *io, int status, int events)
{
    (void)status;
    (void)events;
    turn(io->data);
}

static void on_tick(uv_timer_t *t)
{
    struct host *h = t->data;

    h->sent += phx_send(h->p, h->you, h->me, 0, "hello", 5) == 0;
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    printf("name %d got: %.*s\n", (int)m->to, (int)m->size, (const char *)m->data);
    ((struct host *)user)->greeted++;
}

int main(int argc, char **argv)
{
    static struct host h;
    uv_loop_t *loop = uv_default_loop();
    struct phx_config cfg;
    int err;

    h.me = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    h.you = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.user = &h;
    if ((err = phx_new(&h.p, &cfg, phx_now_us())) == 0 && (err = phx_listen(h.p, HUB)) == PHX_EINUSE)
        err = phx_join(h.p, HUB);
    if (err != 0 || (err = phx_assume(h.p, h.me, h.me)) != 0) {
        fprintf(stderr, "uv: %s\n", phx_strerror(err));
        return 1;
    }
    h.io.data = h.due.data = h.tick.data = &h;
    uv_timer_init(loop, &h.due);
    uv_timer_init(loop, &h.tick);
    uv_poll_init(loop, &h.io, phx_fd(h.p)); /* lives as long as the node */
    uv_poll_start(&h.io, UV_READABLE, on_ready);
    uv_timer_start(&h.tick, on_tick, 0, 1000);
    arm(&h);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_poll_stop(&h.io); /* before the descriptor is closed */
    phx_free(h.p);
    return 0;
}
