/* store.h - mailboxes, one per name: queued messages, in order, and those who wait for room. */
#ifndef PHX_POST_STORE_H
#define PHX_POST_STORE_H
#include "base/ring.h"
#include "post/flow.h"
#include "post/tokens.h"

struct phx__post_peer; /* see state.h */

/* A name to which a send said PHX_EAGAIN. */
struct phx__waiter {
    struct phx__ring link; /* in one list of waiters, oldest first */
    uint64_t name;
};

struct phx__queued {
    struct phx__queued *prev, *next;
    uint32_t place; /* in phx__post_store.tokens */
    struct phx__block *home;     /* in which it stands, perhaps with others */
    struct phx__message message; /* with a body that it holds; a run that came back is one queued message */
};

/* What a multicast's messages have in common. */
struct phx__multicast {
    size_t refs; /* messages of it, and outcomes that are not reported yet */
};

enum phx__box_state {
    PHX__BOX_HELD = 1, /* nobody has the name */
    PHX__BOX_LOCAL,    /* this node has it: phx__post_run delivers */
    PHX__BOX_BOUND,    /* the peer has it, and the flow there is full */
    PHX__BOX_FLOWING,  /* nothing is queued: new messages go into the peer's flow at once */
    PHX__BOX_GATED,    /* messages in the peer's flow must end before others go */
    PHX__BOX_REFUSED   /* the peer says it does not have the name, but we know of nobody else */
};
/* How many lives of nodes a mailbox remembers: as many as a record has bits for. */
#define PHX__BOX_LIVES 5u
#define PHX__BOX_ALL_LIVES ((1u << PHX__BOX_LIVES) - 1)

/* What this node sends to one name. */
struct phx__box {
    struct phx__ring link;
    struct phx__ring age; /* FLOWING with nothing under way: among those of all peers ... */
    uint64_t idle_since;  /* ... since then */
    uint64_t name;
    uint32_t index; /* in phx__post_store.boxes */
    enum phx__box_state state;
    struct phx__queued *head, *tail;
    struct phx__queued *last_returned; /* the last of those that came back, or NULL */
    size_t bytes; /* as phx__post_store_cost counts */
    size_t *pool; /* its peer's counter, which includes bytes; or NULL */
    struct phx__ring waiters;
    struct phx__post_peer *peer; /* the only one whose flow may have messages to the name; or NULL */
    uint32_t flying;             /* frames with messages to the name there */
    int returned;                /* one of them came back ... */
    int moved;                   /* ... and the last that did, because the name is not there */
    uint64_t version;            /* of the names, when the peer was last known to be the owner */
    uint64_t retry_us, retry_at; /* REFUSED: how long it waits, and until when */
    uint64_t lives[PHX__BOX_LIVES]; /* of the nodes that message.tried names by bits */
    uint32_t life_count;
};
struct phx__post_store {
    struct phx__mem *mem;
    struct phx__box **boxes;
    uint32_t count, capacity;
    struct phx__map index;   /* name -> mailbox */
    struct phx__map waiting; /* names in some list of waiters */
    struct phx__tokens tokens;
    struct phx__box *recent; /* the one found last */
    struct phx__block *tail; /* where LOCAL messages stand; NULL: none so far */
    size_t local_bytes;      /* of LOCAL mailboxes, which the next step delivers */
    size_t held_bytes;       /* of all others */
    uint32_t queued;         /* messages */
};

PHX_PRIVATE void phx__post_store_init(struct phx__post_store *s, struct phx__mem *mem);
/* After the mailboxes and all waiters; *s is not to be used again. */
PHX_PRIVATE void phx__post_store_free(struct phx__post_store *s);
PHX_PRIVATE struct phx__box *phx__post_store_find(struct phx__post_store *s, uint64_t name); /* or NULL */
/* A new empty mailbox in state HELD, in no list; NULL: no memory. */
PHX_PRIVATE struct phx__box *phx__post_store_open(struct phx__post_store *s, uint64_t name);
/* Frees an empty mailbox with nothing under way and no waiters. */
PHX_PRIVATE void phx__post_store_close(struct phx__post_store *s, struct phx__box *b);
/* list: NULL: in none. */
PHX_PRIVATE void phx__post_store_move(struct phx__post_store *s, struct phx__box *b,
                                      enum phx__box_state state, struct phx__ring *list);

/* What a message of this size costs a mailbox: never 0, so that empty messages are bounded, too. */
PHX_PRIVATE size_t phx__post_store_cost(size_t size);
/* Queues a message behind `before`, NULL: in front of all. Holds m->body, or copies. NULL: no memory. */
PHX_PRIVATE struct phx__queued *phx__post_store_put(struct phx__post_store *s, struct phx__box *b,
                                                    struct phx__queued *before, const struct phx__message *m);
PHX_PRIVATE void phx__post_store_drop(struct phx__post_store *s, struct phx__box *b, struct phx__queued *q);
/* Notes where it is, for who cancels. */
PHX_PRIVATE void phx__post_store_note(struct phx__post_store *s, struct phx__queued *q);
/* Takes out the first message, which may be the first of a run: its body is the caller's to drop. */
PHX_PRIVATE void phx__post_store_take_message(struct phx__post_store *s, struct phx__box *b,
                                              struct phx__message *m);

/* The bit of message.tried for a life; all of them if none is left. */
PHX_PRIVATE unsigned phx__post_store_note_life(struct phx__box *b, uint64_t life);
/* May a node of this life have delivered it already? */
PHX_PRIVATE int phx__post_store_was_tried(const struct phx__box *b, const struct phx__queued *q,
                                          uint64_t life);
PHX_PRIVATE void phx__post_store_multicast_drop(struct phx__post_store *s, struct phx__multicast *c);

/* Notes that a name waits, in one list only. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_store_wait(struct phx__post_store *s, struct phx__ring *list, uint64_t name);
/* The oldest name of a list, which waits no more: 1, or 0. */
PHX_PRIVATE int phx__post_store_wait_pop(struct phx__post_store *s, struct phx__ring *list, uint64_t *name);

#endif
