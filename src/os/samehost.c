/* samehost.c - the short way: two processes of one host find out by themselves and use AF_UNIX. */

/* Between two processes of one host a UNIX socket is connected in one call instead of three packets, and
 * moves bytes for less. Nobody should have to configure that. So a listener at tcp://10.0.0.5:7000 also
 * listens at a UNIX socket whose name says just that, and a dialer of tcp://10.0.0.5:7000 first looks for a
 * socket of that name. No message is needed for it; where there is no such socket the kernel says so at once,
 * and TCP is dialled.
 *
 * The names are abstract ones of Linux, "\0phoenix/tcp://10.0.0.5:7000". They need no directory, they end
 * with the last descriptor, so nothing is stale after a crash, and each network namespace has its own: a
 * process that cannot reach 127.0.0.1 of another container cannot find its sockets either. Other systems have
 * no such names; there this file returns PHX_ENOTSUP and all is TCP. (A directory in their place would have
 * to be private, agreed upon and swept: an explicit unix:///path serves better.)
 *
 * A listener at all addresses has the name with 0.0.0.0 or [::]. It stands for all addresses of this host and
 * for none of another, so before the names are looked at the address must be known as our own: loopback is,
 * and others are when a packet to them would have that very address as its source. To find out, a datagram
 * socket is connected and closed: three calls and no packet. (Binding the address would prove less: where
 * ip_nonlocal_bind is set everything can be bound.)
 *
 * Any user of the host can take a free name and wait for us, even where the port itself is closed to him:
 * below 1024, or in use. Therefore a listener counts only if it runs as the same user as we do, or as root.
 * The dialer may be anybody, as over TCP: the hello proves the peer here as there, and this check only keeps
 * other users from standing in the way. */
#ifndef PHX_PRIVATE /* not in the joined file; see base.h */
#define _GNU_SOURCE 1
#endif
#include "os/os.h"
#include "os/poll.h"

#include "base/addr.h"

#if defined(OS_GNU) && defined(SO_PEERCRED) && defined(SOCK_CLOEXEC)
#define OS_NEAR 1
#endif

#ifdef OS_NEAR

#include <errno.h>
#include <unistd.h>

/* The name of the listener at this address; at no address: of one at all of them. */
PHX__COLD static void os_samehost_name(const struct phx_address *at, int at_all, struct sockaddr_un *out,
                             socklen_t *size)
{
    static const char prefix[] = "phoenix/";
    struct phx_address name = *at;
    char text[PHX_ADDRESS_TEXT];
    size_t length;

    name.tls = 0; /* it is the port that counts, and what is spoken there is the listener's affair */
    if (at_all)
        memset(name.ip, 0, sizeof name.ip);
    length = strlen(phx_address_text(&name, text)); /* at most 54 of the 107 that there are */
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path + 1, prefix, sizeof prefix - 1);
    memcpy(out->sun_path + sizeof prefix, text, length);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof prefix + length);
}

static int os_samehost_has_name(const struct phx_address *a)
{
    return (a->family == PHX_IPV4 || a->family == PHX_IPV6) && a->port != 0;
}

PHX__COLD int phx__os_samehost_listen(const struct phx_os *os, const struct phx_address *at, int *handle)
{
    struct sockaddr_un name;
    socklen_t size;
    int fd, err;

    if (phx__os_wake_handle(os) < 0 || !os_samehost_has_name(at))
        return PHX_ENOTSUP;
    os_samehost_name(at, 0, &name, &size);
    if ((fd = phx__os_socket(AF_UNIX)) < 0)
        return fd;
    err = bind(fd, (const struct sockaddr *)&name, size) != 0 || listen(fd, OS_BACKLOG) != 0;
    return phx__os_give(os->world, fd, err ? phx__os_poll_error(errno) : 0, handle);
}

/* Would a packet to this address come from it? */
PHX__COLD static int os_samehost_is_source(int fd, const struct phx_address *a)
{
    union os_sockaddr to, from;
    socklen_t size;

    if (phx__os_pack(a, &to, &size) != 0 || connect(fd, &to.any, size) != 0)
        return 0;
    size = sizeof from;
    if (getsockname(fd, &from.any, &size) != 0 || from.any.sa_family != to.any.sa_family)
        return 0;
    return a->family == PHX_IPV4 ? memcmp(&from.v4.sin_addr, a->ip, 4) == 0
                                 : memcmp(&from.v6.sin6_addr, a->ip, 16) == 0;
}

PHX__COLD int phx__os_samehost_is_own(const struct phx_os *os, const struct phx_address *a)
{
    int fd, own;

    if (phx__os_wake_handle(os) < 0 || !os_samehost_has_name(a) || phx__addr_is_any(a))
        return 0;
    if (phx__addr_is_local(a))
        return 1;
    fd = socket(a->family == PHX_IPV4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0; /* in doubt it is TCP */
    own = os_samehost_is_source(fd, a);
    close(fd);
    return own;
}

/* A full backlog is EAGAIN, and TCP, which waits by itself, is the way then. */
PHX__COLD static int os_samehost_connect(int fd, const struct phx_address *to, int at_all)
{
    struct sockaddr_un name;
    struct ucred peer; /* who the listener was when it began to listen */
    socklen_t size;

    os_samehost_name(to, at_all, &name, &size);
    if (connect(fd, (const struct sockaddr *)&name, size) != 0)
        return phx__os_poll_error(errno);
    size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
                   && (peer.uid == geteuid() || peer.uid == 0)
               ? 0
               : PHX_EACCES;
}

PHX__COLD int phx__os_samehost_dial(const struct phx_os *os, const struct phx_address *to, int *handle)
{
    int fd, err;

    if (!phx__os_samehost_is_own(os, to))
        return PHX_ENOTSUP;
    if ((fd = phx__os_socket(AF_UNIX)) < 0)
        return fd;
    err = os_samehost_connect(fd, to, 0);
    if (err == PHX_EREFUSED)
        err = os_samehost_connect(fd, to, 1);
    if (err == 0)
        phx__os_tune(fd, AF_UNIX);
    return phx__os_give(os->world, fd, err, handle);
}

#else

PHX__COLD int phx__os_samehost_listen(const struct phx_os *os, const struct phx_address *at, int *handle)
{
    (void)os, (void)at, (void)handle;
    return PHX_ENOTSUP;
}

int phx__os_samehost_dial(const struct phx_os *os, const struct phx_address *to, int *handle)
{
    (void)os, (void)to, (void)handle;
    return PHX_ENOTSUP;
}

PHX__COLD int phx__os_samehost_is_own(const struct phx_os *os, const struct phx_address *a)
{
    (void)os, (void)a;
    return 0;
}

#endif
