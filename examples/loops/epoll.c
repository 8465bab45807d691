/* epoll.c - Phoenix in a bare epoll loop, beside other descriptors: what is typed goes out by name.
 *
 *     cc -std=c99 -O2 -I. -o talk examples/loops/epoll.c phoenix.c
 *     ./talk 1 2 & ./talk 2 1         (Linux)
 *
 * The first number is the name this process takes, the second the name that lines of standard input go to.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define HUB "tcp://127.0.0.1:7000"

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    (void)user;
    printf("%d: %.*s", (int)m->from, (int)m->size, (const char *)m->data);
    fflush(stdout);
}

static int watch(int queue, int fd)
{
    struct epoll_event e;

    memset(&e, 0, sizeof e);
    e.events = EPOLLIN;
    e.data.fd = fd;
    return epoll_ctl(queue, EPOLL_CTL_ADD, fd, &e);
}

int main(int argc, char **argv)
{
    uint64_t me = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t you = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    int i, n, err, open = 1, queue = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ready[4];
    struct phx_config cfg;
    char line[1024];
    ssize_t got;
    phx *p;

    phx_config_init(&cfg);
    cfg.on_message = on_message;
    if ((err = phx_new(&p, &cfg, phx_now_us())) == 0 && (err = phx_listen(p, HUB)) == PHX_EINUSE)
        err = phx_join(p, HUB);
    if (err == 0)
        err = phx_assume(p, me, me);
    if (err != 0 || queue < 0 || watch(queue, phx_fd(p)) != 0 || watch(queue, 0) != 0) {
        fprintf(stderr, "talk: %s\n", err != 0 ? phx_strerror(err) : "epoll takes no files, only pipes");
        phx_free(p);
        return 1;
    }
    while (open || phx_pending(p) > 0) {
        /* Asked after all phx_ calls of this turn, since each may have changed it. */
        n = epoll_wait(queue, ready, 4, phx_timeout_ms(p, phx_now_us()));
        for (i = 0; i < n; i++) {
            if (ready[i].data.fd != 0)
                continue; /* the node: stepped below in any case, since a deadline may be due */
            got = read(0, line, sizeof line);
            if (got <= 0)
                open = epoll_ctl(queue, EPOLL_CTL_DEL, 0, NULL) != 0;
            else if ((err = phx_send(p, you, me, 0, line, (size_t)got)) != 0)
                fprintf(stderr, "talk: %s\n", phx_strerror(err));
        }
        phx_step(p, phx_now_us(), NULL, 0);
    }
    phx_free(p);
    return 0;
}
