/* door.h - who is let in and who must go, when links, descriptors or the processor are short. */
#ifndef PHX_NODE_DOOR_H
#define PHX_NODE_DOOR_H
#include "node/base.h"

/* When there is room for one more link that is not authenticated; 0: now. */
PHX_PRIVATE uint64_t phx__node_door_room_at(const phx *p);
/* The unauthenticated link that goes if there are too many of them; NULL: none, or not yet. */
PHX_PRIVATE struct phx__link *phx__node_door_stranger(const phx *p);
/* Descriptors have run out. */
PHX_PRIVATE void phx__node_door_is_short(phx *p);
/* How many links may be up, at most `most`. */
PHX_PRIVATE uint32_t phx__node_door_links(const phx *p, uint32_t most);
/* May this node, PHX__NONE if it is not known, be linked although there are too many links? */
PHX_PRIVATE int phx__node_door_takes_guest(const phx *p, uint32_t node);
/* The link that is given up if there are too many; NULL: none, or not now. */
PHX_PRIVATE struct phx__link *phx__node_door_spare(phx *p);
/* When to look again whether a link can be spared or more are possible; UINT64_MAX: never. */
PHX_PRIVATE uint64_t phx__node_door_look(phx *p);

#endif
