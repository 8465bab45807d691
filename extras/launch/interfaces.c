/* interfaces.c - the addresses of this host. */

/* getifaddrs is no part of POSIX, but every system has it. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#else
#define _DEFAULT_SOURCE 1
#endif
#include "interfaces.h"
#include "../../phoenix.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* 1: this one is for others, or (loopback) for this host itself. */
static int interface_text(const struct ifaddrs *i, int loopback, char *out, socklen_t size, int *six)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (i->ifa_addr == NULL || (i->ifa_flags & (unsigned)IFF_UP) == 0
        || ((i->ifa_flags & (unsigned)IFF_LOOPBACK) != 0) != loopback)
        return 0;
    *six = i->ifa_addr->sa_family == AF_INET6;
    if (i->ifa_addr->sa_family == AF_INET) {
        memcpy(&v4, i->ifa_addr, sizeof v4);
        return inet_ntop(AF_INET, &v4.sin_addr, out, size) != NULL;
    }
    if (!*six)
        return 0;
    memcpy(&v6, i->ifa_addr, sizeof v6);
    return !IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) && inet_ntop(AF_INET6, &v6.sin6_addr, out, size) != NULL;
}

int la_interfaces(int (*fn)(void *ctx, const char *host, int six), void *ctx)
{
    struct ifaddrs *all, *i;
    char host[INET6_ADDRSTRLEN];
    int loopback, six, n = 0, err = 0;

    if (getifaddrs(&all) != 0)
        return PHX_EIO;
    for (loopback = 0; loopback < 2 && n == 0; loopback++)
        for (i = all; i != NULL && err == 0; i = i->ifa_next)
            if (interface_text(i, loopback, host, sizeof host, &six)) {
                err = fn(ctx, host, six);
                n++;
            }
    freeifaddrs(all);
    return err;
}
