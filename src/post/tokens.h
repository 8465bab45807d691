/* tokens.h - where the messages with a token are, for who cancels. */
#ifndef PHX_POST_TOKENS_H
#define PHX_POST_TOKENS_H
#include "base/map.h"

struct phx__queued; /* see store.h */

struct phx__token_at {
    struct phx__queued *queued; /* in a mailbox; or NULL: */
    uint32_t node;              /* in the flow to this node, where it had this number */
    uint32_t next;              /* another one with its token */
    uint64_t number;
};

struct phx__tokens {
    struct phx__mem *mem;
    struct phx__map heads;
    struct phx__token_at *list;
    uint32_t count, capacity;
    uint32_t most;    /* entries, before it costs less to make the index anew; 0: there is none */
    uint64_t looks;   /* messages that were walked over to cancel others, since the start */
};

PHX_PRIVATE void phx__post_tokens_drop(struct phx__tokens *t);
/* All messages with a token are added now, for which `count` things are walked over. */
PHX_PRIVATE void phx__post_tokens_begin(struct phx__tokens *t, size_t count);
/* Which place of the list it gets, while there is an index. Without memory the index ends. */
PHX_PRIVATE uint32_t phx__post_tokens_add(struct phx__tokens *t, uint64_t token,
                                          const struct phx__token_at *at);
/* That message leaves its mailbox. */
PHX_PRIVATE void phx__post_tokens_gone(struct phx__tokens *t, uint32_t place);
/* Takes out the youngest with this token: 1, or 0. */
PHX_PRIVATE int phx__post_tokens_take(struct phx__tokens *t, uint64_t token, struct phx__token_at *at);

#endif
