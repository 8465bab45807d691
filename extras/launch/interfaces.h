/* interfaces.h - the addresses of this host. */

#ifndef LA_INTERFACES_H
#define LA_INTERFACES_H

#include <stddef.h>

/* Calls fn for each address at which others may reach this host, as text without a port; of a host that has
 * no other, for that of loopback. Link-local ones are left out. 0, or PHX_EIO. */
int la_interfaces(int (*fn)(void *ctx, const char *host, int six), void *ctx);

#endif
