/* base.h - what all files of the node use: text, log, peers, frames to a neighbour, cards. */
#ifndef PHX_NODE_BASE_H
#define PHX_NODE_BASE_H
#include "node/record.h"

/* ---- Text ------------------------------------------------------------------------------------ */

/* Text for people, at most capacity bytes with the final NUL. It begins with size 0. */
struct phx__text {
    char *out;
    size_t capacity, size; /* size: of the whole text, also where it did not fit */
    const phx *p;
};
/* In a format %s is a string, %u a uint64_t, %i a struct phx_id *, %a a struct phx_address * ("adopted" if it
 * is none), %t how many milliseconds ago a time was, and %n the index of a node: its label or its id. */
PHX_PRIVATE void phx__node_text_put(struct phx__text *t, const char *format, ...);
PHX_PRIVATE int phx__node_text_end(const struct phx__text *t); /* how long it is, like snprintf */
PHX_PRIVATE const char *phx__node_state_text(enum phx_state state);
/* One line for the host, which gets it where other callbacks are: a room must not be called while it logs. */
PHX_PRIVATE void phx__node_log(phx *p, int level, const char *format, ...);
PHX_PRIVATE void phx__node_log_tell(phx *p); /* gives it what there is */

/* ---- Peers ----------------------------------------------------------------------------------- */

PHX_PRIVATE int phx__node_peer(phx *p, uint32_t node); /* makes room in peers; 0 or PHX_ENOMEM */
/* The last link with this node that was lost, as lost_at, heard_at and the like say; NULL: none was lost. */
PHX_PRIVATE struct phx__detect_trouble *phx__node_history(const phx *p, uint32_t node);
PHX_PRIVATE uint64_t phx__node_rest_until(const phx *p, uint32_t node);
PHX_PRIVATE void phx__node_note_end(phx *p, const struct phx__link *l, int reason); /* why it ended */
PHX_PRIVATE int phx__node_doubts_end(const struct phx_address *to, int reason); /* TCP may lead to another */
PHX_PRIVATE int phx__node_is_gone(const phx *p, uint32_t node); /* it has failed or left */
PHX_PRIVATE void phx__node_fill(const phx *p, uint32_t node, struct phx_node *out);

PHX_PRIVATE const struct phx_os *phx__node_os(phx *p); /* for one call, which is counted */
#define PHX__USER(p) ((p)->mem.told++, (p)->cfg.user) /* for one callback, which is counted */
PHX_PRIVATE uint64_t phx__node_clock(phx *p); /* now, not as of this step */
PHX_PRIVATE uint32_t phx__node_calls(phx *p, int share); /* see `calls` in post/state.h */

/* ---- Links and frames ------------------------------------------------------------------------ */

PHX_PRIVATE struct phx__link *phx__node_link(const phx *p, uint32_t node); /* up, or NULL */
PHX_PRIVATE int phx__node_serves(const phx *p, const struct phx__link *l); /* is it that link of its peer? */
/* The link behind this one, or the first one (NULL), closed or not; NULL: none is left. */
PHX_PRIVATE struct phx__link *phx__node_each_link(const phx *p, const struct phx__link *before);
PHX_PRIVATE uint32_t phx__node_next(phx *p, const struct phx_id *id); /* the next hop, or PHX__NONE */

/* ---- dead.c ---------------------------------------------------------------------------------- */

/* If max_nodes are known and this is another one: forgets some that are dead, if there are any. */
PHX_PRIVATE void phx__node_dead_make_room(phx *p, const struct phx_id *id);
/* Forgets a node that routing has forgotten. */
PHX_PRIVATE void phx__node_dead_forget(phx *p, uint32_t node);
/* The node has failed or left, or its link is down; PHX__TIMER_ROUTE_CHORE. */
PHX_PRIVATE void phx__node_dead_note(phx *p, uint32_t node);
PHX_PRIVATE void phx__node_dead_due(phx *p);

/* ---- Cards ----------------------------------------------------------------------------------- */

PHX_PRIVATE int phx__node_card(const phx *p, uint32_t node, struct phx__card *out); /* 1, or 0: none */
/* The addresses in it, at most PHX__CARD_ADDRESSES of them: how many. */
PHX_PRIVATE uint32_t phx__node_addresses(phx *p, uint32_t node, struct phx_address *out);
/* By which the owner of a card knows whether the one that we have is its own. 0: none. */
PHX_PRIVATE uint32_t phx__node_card_mark(const struct phx__dest *d);

#endif
