/* walls.c - which addresses can be dialled from where: private ones of other networks cannot. */
#define _DEFAULT_SOURCE 1
#include "tool.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

/* Networks that are behind translators of addresses: RFC 1918, 3927, 4193, 4291, 6598. */
static const struct walls_net {
    unsigned char size, first[2], mask[2];
} walls_nets[] = {
    { 4, { 10, 0 }, { 255, 0 } },      { 4, { 172, 16 }, { 255, 240 } },
    { 4, { 192, 168 }, { 255, 255 } }, { 4, { 169, 254 }, { 255, 255 } },
    { 4, { 100, 64 }, { 255, 192 } },  { 16, { 0xfc, 0 }, { 0xfe, 0 } },
    { 16, { 0xfe, 0x80 }, { 0xff, 0xc0 } },
};

/* The bytes of an address: NULL if it is neither IPv4 nor IPv6. */
static const unsigned char *walls_bytes(const struct sockaddr *a, size_t *size)
{
    if (a == NULL || (a->sa_family != AF_INET && a->sa_family != AF_INET6))
        return NULL;
    *size = a->sa_family == AF_INET ? 4 : 16;
    return a->sa_family == AF_INET
               ? (const unsigned char *)&((const struct sockaddr_in *)(const void *)a)->sin_addr
               : (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
}

static int walls_is_private(const unsigned char *ip, size_t size)
{
    size_t i;

    for (i = 0; i < sizeof walls_nets / sizeof *walls_nets; i++)
        if (walls_nets[i].size == size && (ip[0] & walls_nets[i].mask[0]) == walls_nets[i].first[0]
            && (ip[1] & walls_nets[i].mask[1]) == walls_nets[i].first[1])
            return 1;
    return 0;
}

static int walls_is_same_net(const unsigned char *a, const unsigned char *b, const unsigned char *mask,
                             size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (((a[i] ^ b[i]) & mask[i]) != 0)
            return 0;
    return 1;
}

/* Is it on a network that an interface of this machine is in? to NULL: has this machine a public address? */
static int walls_look(const struct sockaddr *to)
{
    size_t size = 0, own_size = 0, mask_size = 0;
    const unsigned char *ip = walls_bytes(to, &size), *own, *mask;
    struct ifaddrs *list = NULL, *one;
    int found = 0;

    if (getifaddrs(&list) != 0)
        return 0;
    for (one = list; one != NULL && !found; one = one->ifa_next) {
        if ((one->ifa_flags & IFF_UP) == 0 || (own = walls_bytes(one->ifa_addr, &own_size)) == NULL)
            continue;
        if (to == NULL)
            found = (one->ifa_flags & IFF_LOOPBACK) == 0 && !walls_is_private(own, own_size);
        else if ((mask = walls_bytes(one->ifa_netmask, &mask_size)) != NULL && own_size == size
                 && mask_size == size)
            found = walls_is_same_net(own, ip, mask, size);
    }
    freeifaddrs(list);
    return found;
}

int tool_is_walled(const struct sockaddr *to)
{
    size_t size = 0;
    const unsigned char *ip = walls_bytes(to, &size);

    return ip != NULL && walls_is_private(ip, size) && !walls_look(to);
}

int tool_is_outside(const struct sockaddr *to)
{
    size_t size = 0;
    const unsigned char *ip = walls_bytes(to, &size);

    return ip != NULL && !walls_is_private(ip, size) && !walls_look(to);
}

int tool_is_public(void)
{
    return walls_look(NULL);
}
