/* base.h - what all files of the node use: text, log, peers, frames to a neighbour, cards. */
#ifndef PHX_NODE_BASE_H
#define PHX_NODE_BASE_H
#include "node/state.h"

/* ---- Text ------------------------------------------------------------------------------------ */

/* Text for people, at most capacity bytes with the final NUL. */
struct phx__text {
    char *out;
    size_t capacity, size; /* size: of the whole text, also where it did not fit */
};
PHX_PRIVATE void phx__node_text_begin(struct phx__text *t, char *out, size_t capacity);
/* In a format %s is a string and %u a uint64_t; nothing else. */
PHX_PRIVATE void phx__node_text_put(struct phx__text *t, const char *format, ...);
PHX_PRIVATE int phx__node_text_end(const struct phx__text *t); /* how long it is, like snprintf */
PHX_PRIVATE const char *phx__node_state_text(enum phx_state state);
/* One line to the host, but only within a step. */
PHX_PRIVATE void phx__node_log(phx *p, int level, const char *format, ...);

/* ---- Peers ----------------------------------------------------------------------------------- */

PHX_PRIVATE int phx__node_peer(phx *p, uint32_t node); /* makes room in peers; 0 or PHX_ENOMEM */
PHX_PRIVATE void phx__node_forget_peer(phx *p, uint32_t node);
PHX_PRIVATE void phx__node_peers_free(phx *p);
/* What was amiss with this node; NULL: nothing. The same, made if there was nothing; NULL: no memory. */
PHX_PRIVATE struct phx__history *phx__node_history(const phx *p, uint32_t node);
PHX_PRIVATE struct phx__history *phx__node_note_history(phx *p, uint32_t node);
PHX_PRIVATE int phx__node_is_gone(const phx *p, uint32_t node); /* it has failed or left */
PHX_PRIVATE const struct phx__names_of *phx__node_names(const phx *p, uint32_t node); /* perhaps none */
PHX_PRIVATE void phx__node_fill(const phx *p, uint32_t node, struct phx_node *out);

PHX_PRIVATE const struct phx_os *phx__node_os(phx *p); /* for one call, which is counted */

/* ---- Links and frames ------------------------------------------------------------------------ */

/* Frames that are repeated, or can be missed, are not added to a queue of this many bytes. */
#define PHX__NODE_LONG_QUEUE 262144u

PHX_PRIVATE struct phx__link *phx__node_link(const phx *p, uint32_t node); /* up, or NULL */
PHX_PRIVATE int phx__node_serves(const phx *p, const struct phx__link *l); /* is it that link of its peer? */
/* The first link from *slot on, closed or not, and *slot is the one after it; NULL: none is left. */
PHX_PRIVATE struct phx__link *phx__node_each_link(const phx *p, uint32_t *slot);
/* Closes the link when its turn to write comes, which is in this step: a room that goes through its
 * neighbours must not lose one of them meanwhile. */
PHX_PRIVATE void phx__node_break(phx *p, struct phx__link *l);
/* A writer for one control frame of at most `size` bytes to this neighbour (PHX__NONE: to nobody), and the
 * link that it goes to; NULL: there is none, or no memory. Then the end of that frame. A frame that is lost
 * there for lack of memory would leave the neighbour with a wrong picture: the link breaks, and its successor
 * starts with everything. */
PHX_PRIVATE struct phx__link *phx__node_send_begin(phx *p, uint32_t nbr, size_t size, struct phx__writer *w);
PHX_PRIVATE void phx__node_send_end(phx *p, struct phx__link *l, const struct phx__writer *w);
/* For brains. The next hop towards this id, or PHX__NONE. Queues a frame for this neighbour (PHX__NONE:
 * nobody); its writer has room for the largest of its type. Unless it is urgent, it is not added to a long
 * queue. 1 if there was a link to queue it on. */
PHX_PRIVATE uint32_t phx__node_next(void *ctx, const struct phx_id *id);
PHX_PRIVATE int phx__node_send(void *ctx, uint32_t nbr, const struct phx__writer *frame, int urgent);

/* ---- Cards ----------------------------------------------------------------------------------- */

PHX_PRIVATE int phx__node_card(const phx *p, uint32_t node, struct phx__card *out); /* 1, or 0: none */
/* The addresses in it, at most PHX__CARD_ADDRESSES of them: how many. */
PHX_PRIVATE uint32_t phx__node_addresses(void *ctx, uint32_t node, struct phx_address *out);

#endif
