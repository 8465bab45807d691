/* sock.h - what the files of the room os share. */
#ifndef PHX_OS_SOCK_H
#define PHX_OS_SOCK_H
#include "os/os.h"

#include <sys/types.h>

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
#else
    int queue; /* of epoll or kqueue */
#endif
#ifdef OS_WAIT_EPOLL
    uint8_t *known; /* by descriptor: it was watched when we last looked */
    uint32_t known_capacity;
#endif
};

/* sock.c: as in struct phx_os. */
PHX_PRIVATE int phx__os_sock_listen(void *world, struct phx_address *at, int *handle);
PHX_PRIVATE int phx__os_sock_accept(void *world, int listener, int *handle, struct phx_address *from);
PHX_PRIVATE int phx__os_sock_dial(void *world, const struct phx_address *to, int *handle);
PHX_PRIVATE int phx__os_sock_finish(void *world, int handle);
PHX_PRIVATE int phx__os_sock_local(void *world, int handle, struct phx_address *out);
PHX_PRIVATE long phx__os_sock_send(void *world, int handle, const struct iovec *iov, int count);
PHX_PRIVATE long phx__os_sock_recv(void *world, int handle, void *data, size_t size);
PHX_PRIVATE long phx__os_sock_recvv(void *world, int handle, const struct iovec *iov, int count);
PHX_PRIVATE void phx__os_sock_close(void *world, int handle);
PHX_PRIVATE int phx__os_sock_resolve(void *world, const char *host, struct phx_address *out, int capacity);
/* sock.c: errno as one of ours; a fresh descriptor made non-blocking and close-on-exec; a stream socket that
 * is both, or a negative error; options for a connection. */
PHX_PRIVATE int phx__os_sock_error(int theirs);
PHX_PRIVATE int phx__os_sock_prepare(int fd);
PHX_PRIVATE int phx__os_sock_socket(int family);
PHX_PRIVATE void phx__os_sock_tune(int fd, int family);

/* os.c: as in struct phx_os. */
PHX_PRIVATE int phx__os_watch(void *world, int handle, int events);

#endif
