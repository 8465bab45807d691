/* watch.h - one wait for many descriptors: epoll where Linux has it, poll elsewhere. */

/* An agent with 512 processes has 1,500 descriptors of which a few are ready, so poll would spend most of
 * its time looking at the others. Level-triggered. Compile with -DLA_POLL to use poll on Linux, too. */
#ifndef LA_WATCH_H
#define LA_WATCH_H

#include <stdint.h>

#define LA_READ 1
#define LA_WRITE 2
#define LA_GONE 4 /* error or hang-up; comes along with LA_READ and LA_WRITE as asked for */

struct la_watch;

typedef void (*la_watch_fn)(void *ctx, int fd, int events);

int la_watch_new(struct la_watch **out); /* 0, PHX_ENOMEM, PHX_EMFILE */
void la_watch_free(struct la_watch *w);

/* fn is called from la_watch_wait. 0 events: the descriptor is kept but not looked at, not even for
 * hang-ups. A descriptor is dropped before it is closed. Inside fn any call is allowed. */
int la_watch_add(struct la_watch *w, int fd, int events, la_watch_fn fn, void *ctx); /* 0, PHX_ENOMEM */
void la_watch_set(struct la_watch *w, int fd, int events);
void la_watch_drop(struct la_watch *w, int fd);

/* Waits up to so long (-1: for ever) and calls what is ready. 0, or PHX_EIO. */
int la_watch_wait(struct la_watch *w, int timeout_ms);

#endif
