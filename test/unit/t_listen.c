/* t_listen.c - two that listen at one port at the same moment, and a system that refuses both at first.
 *
 * Goal: one of them gets the port, and a node has one listening socket, promise 20. Linux lets both bind,
 * and then refuses whoever listens while the other one is about to. Method: the program has a listen() of
 * its own in place of the C library's, which refuses so many times. Only phoenix.h is used. */
#define _GNU_SOURCE
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "phoenix.h"
#endif
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_listen
static int refuse, asked;

int listen(int fd, int backlog)
{
    asked++;
    if (refuse > 0) {
        refuse--;
        errno = EADDRINUSE;
        return -1;
    }
    return (int)syscall(SYS_listen, fd, backlog);
}

static int listen_refused(int times)
{
    struct phx_config cfg;
    phx *p = NULL;
    int err;

    phx_config_init(&cfg);
    cfg.same_host = 0; /* one socket */
    check(phx_new(&p, &cfg, 0) == 0, "a node");
    refuse = times;
    asked = 0;
    err = phx_listen(p, "tcp://127.0.0.1:0");
    refuse = 0;
    phx_free(p);
    return err;
}
#endif

int main(void)
{
#ifdef SYS_listen
    int err;

    ok(listen_refused(0) == 0 && asked == 1, "asked once");
    ok(listen_refused(1) == 0 && asked == 2, "asked again");
    ok(listen_refused(20) == 0 && asked == 21, "and again");
    err = listen_refused(1000000);
    ok(err == PHX_EINUSE && asked > 21 && asked < 1000, "but not for ever: %d times", asked);
#else
    ok(1, "two listeners # SKIP this system has no such call to stand in for");
#endif
    return test_end();
}
