/* poll.h - what the files of the room os share. */
#ifndef PHX_OS_POLL_H
#define PHX_OS_POLL_H
#include "base/mem.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* PHX_USE_KQUEUE is for trying that path where kqueue is an emulation. */
#if defined(PHX_USE_POLL)
#define OS_WAIT_POLL 1
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) \
    || defined(__DragonFly__) || defined(PHX_USE_KQUEUE)
#define OS_WAIT_KQUEUE 1
#elif defined(__linux__)
#define OS_WAIT_EPOLL 1
#else
#define OS_WAIT_POLL 1
#endif

/* What glibc and musl show only to those who ask; see base.h. */
#if defined(__linux__) && defined(_GNU_SOURCE) && (!defined(__GLIBC__) || defined(__USE_GNU))
#define OS_GNU 1
#endif

/* Hundreds of nodes dial one hub at once when a job starts; with the customary 5 or 128 most SYNs would be
 * dropped and come again a second later. The system cuts it to its own limit (somaxconn). */
#define OS_BACKLOG 1024

/* The path of a UNIX listener, and which file it was when we made it. */
struct os_path {
    int handle;
    dev_t device;
    ino_t inode;
    char path[sizeof(((struct phx_address *)0)->path)];
};

struct os_world {
    struct phx__mem *mem;
    int wake_read, wake_write; /* the pipe */
    struct os_path *paths; /* of UNIX listeners, in no order */
    uint32_t paths_count, paths_capacity;
#ifdef OS_WAIT_POLL
    struct pollfd *polled; /* [0] is the wake pipe */
    uint32_t polled_count, polled_capacity;
    uint32_t *slots; /* by descriptor: 0, or its place in polled plus one */
    uint32_t slots_capacity;
    uint32_t start; /* where the next look begins, for fairness */
#endif
    int queue; /* of epoll or kqueue */
    int fresh; /* the handle that was made last, if it was never watched; or -1 */
};

union os_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
    struct sockaddr_storage space; /* for families we do not know; see os_unpack */
};

/* os.c: an address for the system, or PHX_EADDRESS or PHX_ENOTSUP; a stream socket that is non-blocking and
 * close-on-exec, or a negative error; options for a connection; closes fd for an error, and returns it, or
 * hands fd out, which is fresh. */
PHX_PRIVATE int phx__os_pack(const struct phx_address *at, union os_sockaddr *out, socklen_t *size);
PHX_PRIVATE int phx__os_socket(int family);
PHX_PRIVATE void phx__os_tune(int fd, int family);
PHX_PRIVATE int phx__os_give(void *world, int fd, int err, int *handle);

/* poll.c: errno as one of ours; the wake pipe is read empty; the queue of a world, whose close is fine if it
 * was not opened; watch and wait are those of struct phx_os. high: the same descriptor, or -1 and errno, or
 * in place of 0 to 2 a higher one: what a host that has closed these prints must not go into a link. */
PHX_PRIVATE int phx__os_poll_error(int theirs);
PHX_PRIVATE void phx__os_poll_drain(int fd);
PHX_PRIVATE int phx__os_poll_high(int fd);
PHX_PRIVATE int phx__os_poll_open(struct os_world *w);
PHX_PRIVATE void phx__os_poll_close(struct os_world *w);
PHX_PRIVATE int phx__os_poll_watch(void *world, int handle, int events);
PHX_PRIVATE int phx__os_poll_wait(void *world, struct phx_ready *out, int capacity);

#endif
