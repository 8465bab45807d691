/* t_watch.c - what it costs to watch a handle, where epoll tells which handles are ready.
 *
 * Goal: one call of the system watches a handle that we made, the first time and at each change, and a
 * number that has another owner by now is no obstacle. Method: a call that failed on the way leaves its error
 * in errno. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/os/os.h"
#endif

#if defined(__linux__) && !defined(PHX_USE_KQUEUE) && !defined(PHX_USE_POLL)
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static struct phx__mem mem;
static struct phx_os os;

static int at_once(int handle, int events)
{
    errno = 0;
    return os.watch(os.world, handle, events) == 0 && errno == 0;
}

static int is_ready(int handle, short events)
{
    struct pollfd fd = { handle, events, 0 };

    return poll(&fd, 1, 5000) == 1;
}

static void test_connection(void)
{
    struct phx_address at = { .family = PHX_IPV4, .ip = { 127, 0, 0, 1 } }, from;
    int listener = -1, near = -1, dialled = -1, accepted = -1;

    ok(os.listen(os.world, &at, &listener) == 0 && at_once(listener, PHX_READ), "a listener");
    ok(phx__os_samehost_listen(&os, &at, &near) != 0 || at_once(near, PHX_READ), "its companion");
    ok(os.dial(os.world, &at, &dialled) == 0 && at_once(dialled, PHX_WRITE), "who dials");
    check(is_ready(listener, POLLIN) && is_ready(dialled, POLLOUT), "connected");
    ok(os.accept(os.world, listener, &accepted, &from) == 0 && at_once(accepted, PHX_READ), "who accepts");
    ok(at_once(dialled, PHX_READ) && at_once(accepted, PHX_READ | PHX_WRITE) && at_once(accepted, PHX_READ),
       "changes");
    os.close(os.world, dialled);
    os.close(os.world, accepted);
    check(os.dial(os.world, &at, &dialled) == 0, "another one");
    errno = 0;
    os.close(os.world, dialled);
    ok(errno == 0, "what never was watched is closed at once");
    if (near >= 0)
        os.close(os.world, near);
    os.close(os.world, listener);
}

static void test_adopted(void)
{
    struct phx_ready ready[4];
    int p[2], q[2];

    check(socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, q) == 0,
          "pairs");
    ok(phx__os_adopt(&os, p[0]) == 0 && os.watch(os.world, p[0], PHX_READ) == 0, "what the host gave");
    ok(phx__os_adopt(&os, p[0]) == 0 && os.watch(os.world, p[0], PHX_WRITE) == 0
           && os.wait(os.world, ready, 4) == 1 && ready[0].handle == p[0] && ready[0].events == PHX_WRITE,
       "what is watched already");
    check(dup2(q[0], p[0]) == p[0], "the host closes it, and its number is another one's");
    ok(os.watch(os.world, p[0], PHX_WRITE) == 0 && os.wait(os.world, ready, 4) == 1
           && ready[0].handle == p[0] && ready[0].events == PHX_WRITE, "a number with another owner");
    os.close(os.world, p[0]);
    close(p[1]);
    close(q[0]);
    close(q[1]);
}

int main(void)
{
    phx__mem_init(&mem, NULL, 0);
    check(phx__os_init(&os, &mem) == 0, "a world");
    test_connection();
    test_adopted();
    os.free(os.world);
    ok(mem.used == 0, "nothing is left");
    return test_end();
}

#else

int main(void)
{
    ok(1, "calls of epoll # SKIP it is not used here");
    return test_end();
}

#endif
