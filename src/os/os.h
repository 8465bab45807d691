/* os.h - the built-in world: sockets, readiness and random bytes of a POSIX system. */
#ifndef PHX_OS_OS_H
#define PHX_OS_OS_H
#include "base/mem.h"

/* Fills *os with functions over a world of its own, allocated from mem; os->free ends it. PHX_ENOMEM,
 * PHX_EMFILE, PHX_EIO.
 *
 * What struct phx_os leaves open, here:
 *  - wait reports at most 128 handles at once. If more are ready, it begins with the others next
 *    time, and the descriptor of fd stays readable meanwhile.
 *  - accept with PHX_EMFILE or PHX_ENOMEM leaves the connection in the queue, so the listener stays
 *    readable: stop watching it for a while.
 *  - dial with PHX_EAGAIN: the listener's backlog is full (UNIX sockets on Linux). Try again later.
 *  - finish reports a failure once; asked again, it says PHX_EAGAIN.
 *  - recv wants size > 0, because 0 means closed by the peer. */
PHX_PRIVATE int phx__os_init(struct phx_os *os, struct phx__mem *mem);

/* What wake makes readable, for hosts that poll by themselves (drain it then); -1: not the built-in world. */
PHX_PRIVATE int phx__os_wake_handle(const struct phx_os *os);
PHX_PRIVATE void phx__os_wake_drain(const struct phx_os *os);

/* The peer of a connection may be silent for longer than a connection outlives unread data: with yes its
 * kernel is asked instead, which also keeps translators of addresses awake. Without, it is as it was made.
 * For another world, or what is no TCP, it does nothing. */
PHX_PRIVATE void phx__os_patience(const struct phx_os *os, int handle, int yes);

/* Makes a descriptor of the host's fit for send, recv, watch and close: non-blocking (which holds for
 * everybody who shares it), close-on-exec, and without Nagle's delay if it is TCP. 0 or why not, and then fd
 * is still the caller's. For another world it does nothing and says 0. */
PHX_PRIVATE int phx__os_adopt(const struct phx_os *os, int fd);

/* The short way between processes of one host, see samehost.c. listen: a second listener, with a handle of
 * its own, for dialers of the TCP address *at from this host. dial: a handle that is connected already with
 * the one for *to. 0, or why not, and then TCP is the way: PHX_ENOTSUP: this system or world has nothing of
 * the kind, or *to is not an address of this host; PHX_EREFUSED: nobody is there; PHX_EINUSE, PHX_EACCES:
 * another user has taken the name; PHX_EAGAIN: its backlog is full; PHX_EMFILE, PHX_ENOMEM. */
PHX_PRIVATE int phx__os_samehost_listen(const struct phx_os *os, const struct phx_address *at, int *handle);
PHX_PRIVATE int phx__os_samehost_dial(const struct phx_os *os, const struct phx_address *to, int *handle);
/* Is this, in doubt no, an address of this host? */
PHX_PRIVATE int phx__os_samehost_is_own(const struct phx_os *os, const struct phx_address *a);

/* The first `capacity` bytes of a file: how many, or PHX_EFILE, PHX_EACCES, PHX_EMFILE. May block. */
PHX_PRIVATE long phx__os_read_file(const char *path, void *out, size_t capacity);
#ifdef PHX_TLS
/* Seconds since 1970, for the dates of certificates. */
PHX_PRIVATE uint64_t phx__os_wall_seconds(void);
#endif

#endif
