/* hello.h - how a link comes up: three messages, each side proving that it has the key. */
#ifndef PHX_LINK_HELLO_H
#define PHX_LINK_HELLO_H
#include "link/state.h"

/* The keys have changed. The cluster's name, which must stay where it is. */
PHX_PRIVATE void phx__link_hello_rekey(struct phx__link_set *s);
PHX_PRIVATE void phx__link_hello_cluster(struct phx__link_set *s, const char *cluster);

/* The dial has succeeded: says HELLO. 0 or why not (then close it), as of the others here. */
PHX_PRIVATE int phx__link_hello_begin(struct phx__link_set *s, struct phx__link *l);
/* Gives a link over TLS its engine. */
PHX_PRIVATE int phx__link_hello_tls(struct phx__link_set *s, struct phx__link *l);
/* A frame on a link that is not up. */
PHX_PRIVATE int phx__link_hello_frame(struct phx__link_set *s, struct phx__link *l,
                                      const struct phx__frame *f);
/* A parked link may go on. */
PHX_PRIVATE int phx__link_hello_resume(struct phx__link_set *s, struct phx__link *l);

#endif
