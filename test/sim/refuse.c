/* refuse.c - a host of the simulated world whose n-th call fails. */
#include "refuse.h"

#define HOSTS 256

const char *const refuse_name[REFUSE_CALLS] = { "listen", "accept", "dial", "finish", "local", "send", "recv",
                                                "watch", "wait", "random", "an allocation" };
const int refuse_errors[REFUSE_CALLS][6] = {
    { PHX_EINUSE, PHX_EACCES, PHX_ENOADDR, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EREFUSED, PHX_EUNREACH, PHX_EMFILE, PHX_ENOADDR, PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_EREFUSED, PHX_ETIMEDOUT, PHX_EUNREACH, PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_ERESET, PHX_ETIMEDOUT, PHX_EIO, 0 },
    { PHX_EAGAIN, 1, PHX_ERESET, PHX_ETIMEDOUT, PHX_EIO, 0 },
    { PHX_ENOMEM, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_ENOMEM, 0 },
};


struct refuse refuse;
static struct phx_os well[HOSTS];

void refuse_begin(uint32_t host)
{
    refuse.host = host;
    refuse.ill = 1;
    refuse.count = 0;
    refuse.is_due = 0;
    refuse.kind = -1;
}

int refuse_this(uint32_t host, enum refuse_call c)
{
    if (host != refuse.host || !refuse.ill)
        return 0;
    if (refuse.count < REFUSE_MOST)
        refuse.kinds[refuse.count] = (uint8_t)c;
    refuse.count++;
    if (refuse.at == 0)
        return 0;
    if (refuse.spared) {
        refuse.is_due |= refuse.count == refuse.at;
        return 0;
    }
    if (refuse.count == refuse.at) {
        refuse.kind = (int)c;
        return refuse.with;
    }
    return refuse.lasting && refuse.count > refuse.at && (int)c == refuse.kind ? refuse.with : 0;
}

#define HOST(world) (((struct world_host *)(world))->index)
#define OR_FAIL(kind)                                                                                       \
    int err = refuse_this(HOST(world), kind);                                                               \
    if (err != 0)                                                                                           \
        return err

static int refuse_listen(void *world, struct phx_address *at, int *handle)
{
    OR_FAIL(REFUSE_LISTEN);
    return well[HOST(world)].listen(world, at, handle);
}

static int refuse_accept(void *world, int listener, int *handle, struct phx_address *from)
{
    OR_FAIL(REFUSE_ACCEPT);
    return well[HOST(world)].accept(world, listener, handle, from);
}

static int refuse_dial(void *world, const struct phx_address *to, int *handle)
{
    OR_FAIL(REFUSE_DIAL);
    return well[HOST(world)].dial(world, to, handle);
}

static int refuse_finish(void *world, int handle)
{
    OR_FAIL(REFUSE_FINISH);
    return well[HOST(world)].finish(world, handle);
}

static int refuse_local(void *world, int handle, struct phx_address *out)
{
    OR_FAIL(REFUSE_LOCAL);
    return well[HOST(world)].local(world, handle, out);
}

static long refuse_send(void *world, int handle, const struct iovec *iov, int n)
{
    OR_FAIL(REFUSE_SEND);
    return well[HOST(world)].send(world, handle, iov, n);
}

static long refuse_recv(void *world, int handle, void *data, size_t size)
{
    int err = refuse_this(HOST(world), REFUSE_RECV);

    if (err != 0)
        return err == 1 ? 0 : err;
    return well[HOST(world)].recv(world, handle, data, size);
}

static long refuse_recvv(void *world, int handle, const struct iovec *iov, int n)
{
    int err = refuse_this(HOST(world), REFUSE_RECV);

    if (err != 0)
        return err == 1 ? 0 : err;
    return well[HOST(world)].recvv(world, handle, iov, n);
}

static int refuse_watch(void *world, int handle, int events)
{
    OR_FAIL(REFUSE_WATCH);
    return well[HOST(world)].watch(world, handle, events);
}

static int refuse_wait(void *world, struct phx_ready *out, int capacity)
{
    OR_FAIL(REFUSE_WAIT);
    return well[HOST(world)].wait(world, out, capacity);
}

static int refuse_random(void *world, void *out, size_t size)
{
    OR_FAIL(REFUSE_RANDOM);
    return well[HOST(world)].random(world, out, size);
}

struct phx_os refuse_os(struct world_host *h)
{
    struct phx_os os = well[h->index] = h->os;

    os.listen = refuse_listen;
    os.accept = refuse_accept;
    os.dial = refuse_dial;
    os.finish = refuse_finish;
    os.local = refuse_local;
    os.send = refuse_send;
    os.recv = refuse_recv;
    os.recvv = refuse_recvv;
    os.watch = refuse_watch;
    os.wait = refuse_wait;
    os.random = refuse_random;
    return os;
}
