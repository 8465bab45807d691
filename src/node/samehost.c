/* samehost.c - links with processes of this host: the second listener, and when TCP is the way after all. */
/* os/samehost.c knows how two processes of one host find each other beside TCP. With cfg.same_host each TCP
 * listener has a companion for them, and each dial of a TCP address looks for one first. The result is an
 * ordinary link: the same hello, the same key, TLS if the address asks for it. Three things differ:
 *
 *  - A listener works without its companion, which is opened again for as long as the reason may pass.
 *  - Its socket has no address to learn from. But the hello tells the acceptor which address of this host was
 *    dialled, and the acceptor checks that it is its own.
 *  - The wrong process may answer: a firewall that redirects the port is not asked. If a link fails for such
 *    a reason, its attempt goes on by TCP in the same step. */
#include "node/samehost.h"

#define SAMEHOST_AGAIN (500 * PHX__MS) /* then a companion without descriptor or memory is tried again */

/* Only a step can log: what fails outside one is tried again in the next. */
PHX__COLD int phx__node_samehost_tried(struct phx__node_samehost *s, uint32_t listener, int err, int can_log,
                             uint64_t now, uint64_t *again)
{
    uint32_t bit = 1u << listener;
    int failed = err != 0 && err != PHX_ENOTSUP, log = failed && can_log && (s->told & bit) == 0;

    *again = UINT64_MAX;
    s->told |= log ? bit : 0;
    if (failed && !can_log)
        *again = now;
    else if (err == PHX_EMFILE || err == PHX_ENOMEM)
        *again = now + SAMEHOST_AGAIN;
    else
        s->wanted &= ~bit;
    return log;
}

/* Errors that only an authenticated node reports would be the same by TCP. Silence and a lost connection are
 * not: who has the name may not have the port. Every host has somebody else at its loopback addresses, so
 * another node is no surprise there. */
PHX__COLD int phx__node_samehost_is_doubtful(const struct phx_address *to, int reason)
{
    switch (reason) {
    case PHX_EPROTO: /* not even a node */
    case PHX_ERESET:
    case PHX_ETIMEDOUT:
    case PHX_ETLS:
    case PHX_EVERSION:
    case PHX_ECLUSTER:
    case PHX_EKEY: return 1;
    case PHX_EPEER:
    case PHX_ESELF: return !phx__addr_is_local(to);
    default: return 0;
    }
}
