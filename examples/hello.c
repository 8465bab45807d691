/* hello.c - a complete host: two processes that find each other and say hello by name.
 *
 *     cc -std=c99 -O2 -I. -o hello examples/hello.c phoenix.c
 *     ./hello 1 2 & ./hello 2 1; wait         (or each in a terminal of its own, in any order)
 *
 * The first number is the name this process takes, the second is the name it greets. It ends when
 * it was greeted and its own greeting has arrived; with status 1 if that takes over 30 seconds.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <stdio.h>
#include <stdlib.h>

#define HUB "tcp://127.0.0.1:7000"

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    printf("name %d got: %.*s\n", (int)m->to, (int)m->size, (const char *)m->data);
    *(int *)user = 1;
}

int main(int argc, char **argv)
{
    uint64_t me = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t you = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    uint64_t end = phx_now_us() + 30000000;
    struct phx_config cfg;
    struct pollfd fd = {-1, POLLIN, 0};
    int ms, err, greeted = 0, closing = 0;
    phx *p;

    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.user = &greeted;
    if ((err = phx_new(&p, &cfg, phx_now_us())) == 0
        && (err = phx_listen(p, HUB)) == PHX_EINUSE) /* the other one is there already */
        err = phx_join(p, HUB);
    if (err != 0 || (err = phx_assume(p, me, me)) != 0
        || (err = phx_send(p, you, me, 0, "hello, world", 12)) != 0)
        fprintf(stderr, "hello: %s\n", phx_strerror(err));
    while (err == 0 && !phx_closed(p) && phx_now_us() < end) {
        fd.fd = phx_fd(p); /* one descriptor for all; phx_fds lists them for systems without epoll */
        ms = phx_timeout_ms(p, phx_now_us());
        poll(&fd, 1, ms < 0 || ms > 1000 ? 1000 : ms);
        phx_step(p, phx_now_us(), NULL, 0);
        if (greeted && phx_pending(p) == 0 && !closing)
            closing = phx_close(p, 1000000) == 0; /* up to a second to say goodbye */
    }
    phx_free(p);
    return err == 0 && closing ? 0 : 1;
}
