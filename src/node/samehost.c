/* samehost.c - links with processes of this very host: the second listener, and when it is not the way. */
/*
 * samehost.c knows how two processes of one host find each other beside TCP; here is what the node makes of
 * it. With cfg.same_host each TCP listener has a companion for those who come from this host, and each
 * dial of a TCP address looks for such a companion first. What comes of it is an ordinary link: the same
 * hello, the same key, TLS if the address asks for it. Three things differ:
 *
 *  - The companion is a convenience. If there is none (no descriptors, the name is taken by another user)
 *    the listener stands as it is, the log says so, and it is tried again for as long as the reason may pass.
 *  - What the link teaches of our addresses (addr.c) cannot be read off the socket, which has none. The
 *    dialer knows what it dialled: an address of this host. The acceptor is told of it in the hello, and
 *    looks whether it is its own before it tells others. Both then know as much as over TCP.
 *  - Whoever answers may not be who was wanted, since a name is not quite a port: a firewall that sends our
 *    own port somewhere else, say, is not asked. So where a link of this kind fails for such a reason,
 *    the same address is dialled by TCP in the same step, as part of the same attempt.
 */
#include "node/state.h"

/* A companion that found no descriptor or no memory looks again after this. */
#define SAMEHOST_AGAIN (500 * PHX__MS)

/* ---- Listening ------------------------------------------------------------------------------- */

static int samehost_open(phx *p, int i)
{
    struct phx__listener *at = &p->near[i];
    int handle = -1, err;

    p->set.os_calls++;
    err = phx__os_samehost_listen(&p->os, &at->address, &handle);
    if (err != 0)
        return err;
    p->set.os_calls++;
    err = phx__map_put(&p->links.handles, (uint64_t)handle,
                       PHX__LISTENER_SLOT | (PHX__LISTENERS + (uint32_t)i));
    if (err == 0 && (err = p->os.watch(p->os.world, handle, PHX_READ)) != 0)
        phx__map_del(&p->links.handles, (uint64_t)handle);
    if (err != 0) {
        p->os.close(p->os.world, handle);
        return err;
    }
    at->handle = handle;
    at->paused = 0;
    return 0;
}

/* Only a step can log, so what fails outside one is done once more in the next. */
static void samehost_try(phx *p, int i)
{
    struct phx__listener *at = &p->near[i];
    char text[PHX_ADDRESS_TEXT];
    int err = samehost_open(p, i);

    if (err == 0 || err == PHX_ENOTSUP) {
        at->wanted = 0;
        return;
    }
    if (!p->step.active) {
        phx__node_links_look_again(p, p->now);
        return;
    }
    if (at->wanted == 1)
        phx__node_log(p, PHX_LOG_WARN, "listener %s: processes of this host must use TCP: %s",
                      phx_address_text(&at->address, text), phx_strerror(err));
    at->wanted = err == PHX_EMFILE || err == PHX_ENOMEM ? 2 : 0; /* 2: it was told */
    if (at->wanted)
        phx__node_links_look_again(p, p->now + SAMEHOST_AGAIN);
}

void phx__node_samehost_listen(phx *p, int listener)
{
    struct phx__listener *at = &p->near[listener];

    at->handle = -1;
    at->address = p->listeners.at[listener].address;
    at->wanted = p->cfg.same_host != 0;
    if (at->wanted)
        samehost_try(p, listener);
}

void phx__node_samehost_again(phx *p)
{
    int i;

    for (i = 0; i < p->listeners.count; i++)
        if (p->near[i].wanted)
            samehost_try(p, i);
}

/* ---- Dialling -------------------------------------------------------------------------------- */

int phx__node_samehost_dial(phx *p, const struct phx_address *to, int *handle)
{
    if (to->family == PHX_UNIX)
        return PHX_ENOTSUP;
    p->set.os_calls++;
    return phx__os_samehost_dial(&p->os, to, handle);
}

/* Silence, a connection that ends, and what only a node says that has proved itself: TCP would have met
 * the same. Every host has somebody else at its loopback addresses, so that is no surprise there. */
int phx__node_samehost_is_doubtful(const struct phx__link *l, int reason)
{
    switch (reason) {
    case PHX_EPROTO: /* not even a node */
    case PHX_ETLS:
    case PHX_EVERSION:
    case PHX_ECLUSTER:
    case PHX_EKEY: return l->same_host;
    case PHX_EPEER:
    case PHX_ESELF: return l->same_host && !phx__addr_is_local(&l->address);
    default: return 0;
    }
}

/* ---- Our end --------------------------------------------------------------------------------- */

int phx__node_samehost_here(phx *p, const struct phx__link *l, struct phx_address *here)
{
    *here = l->dialer ? l->address : l->observed;
    if (l->dialer)
        return 1;
    p->set.os_calls++;
    return phx__os_samehost_is_own(&p->os, here);
}
