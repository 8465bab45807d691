/* store.h - part of post: one box per name: what waits for it, in order, and what is under way. */
#ifndef PHX_POST_STORE_H
#define PHX_POST_STORE_H
#include "post/flow.h"

/* A circle of things that are in at most one such list. The head is a link like the others. */
struct phx__ring {
    struct phx__ring *prev, *next;
};
PHX_PRIVATE void phx__ring_init(struct phx__ring *r); /* in no list; or an empty head */
PHX_PRIVATE int phx__ring_is_empty(const struct phx__ring *r);
/* at the end; leaves another list */
PHX_PRIVATE void phx__ring_add(struct phx__ring *head, struct phx__ring *r);
PHX_PRIVATE void phx__ring_del(struct phx__ring *r); /* fine if in none */

/* Names to which a send said PHX_EAGAIN, oldest first: a circle, and this is its last. NULL:
 * none. */
struct phx__waiter {
    struct phx__waiter *next;
    uint64_t name;
};

struct phx__queued {
    struct phx__queued *next;
    struct phx__message mail; /* with a body of its own; a run that came back is one letter */
};

enum phx__box_state {
    PHX__BOX_HELD = 1, /* nobody has the name */
    PHX__BOX_LOCAL,    /* this node has it: to be delivered in phx__post_run */
    PHX__BOX_BOUND,    /* the peer has it, and the flow there is full */
    PHX__BOX_FLOWING,  /* no letters: new messages go into the peer's flow at once */
    PHX__BOX_GATED,    /* messages in the peer's flow must end before any other leaves */
    PHX__BOX_REFUSED   /* the peer does not have the name, but we know of nobody else */
};
struct phx__post_peer; /* see sched.h */
/* Lives of nodes that a box remembers: as many as a record has bits for. */
#define PHX__BOX_LIVES 5u
#define PHX__BOX_ALL ((1u << PHX__BOX_LIVES) - 1)

/* What this node sends to one name. */
struct phx__box {
    struct phx__ring link;
    struct phx__ring age; /* FLOWING with nothing under way: among those of all peers */
    uint64_t name;
    uint32_t index; /* in phx__post_store.boxes */
    enum phx__box_state state;
    struct phx__queued *head, *tail; /* in no flow */
    struct phx__queued *back;        /* the last of those that came back; NULL: none did */
    size_t bytes; /* as phx__post_store_letter_charge counts */
    size_t *pool; /* who else counts them, or NULL; see phx__post_store_charge */
    struct phx__waiter *waiters;
    struct phx__post_peer *peer; /* the only one in whose flow messages to it may be; or NULL */
    uint32_t flying;             /* how many are there; those in one frame count as one */
    int returned;                /* one of them came back ... */
    int moved;                   /* ... and the last that did, because the name is not there */
    uint64_t version;            /* of the names, when the peer was known to be the owner */
    uint64_t retry_us, retry_at; /* REFUSED: patience, and when it ends */
    uint64_t lives[PHX__BOX_LIVES]; /* of the nodes that mail.met tells of */
    uint32_t life_count;
};
struct phx__post_store {
    struct phx__mem *mem;
    struct phx__box **boxes;
    uint32_t count, capacity;
    struct phx__map index;   /* name -> box */
    struct phx__map waiting; /* names in some list of waiters */
    struct phx__box *recent; /* that was found last */
    size_t held_bytes;       /* of all boxes but LOCAL ones */
    uint32_t letters;        /* messages in them */
};

#define PHX__BOX_OF(ring, member) \
    ((struct phx__box *)(void *)((char *)(ring) - offsetof(struct phx__box, member)))

PHX_PRIVATE void phx__post_store_init(struct phx__post_store *h, struct phx__mem *mem);
PHX_PRIVATE void phx__post_store_drop_boxes(struct phx__post_store *h); /* with all letters */
PHX_PRIVATE void phx__post_store_free(struct phx__post_store *h);       /* after the boxes and all waiters */
PHX_PRIVATE struct phx__box *phx__post_store_find(struct phx__post_store *h, uint64_t name); /* or NULL */
/* A new empty box in state HELD, in no list; NULL: no memory. */
PHX_PRIVATE struct phx__box *phx__post_store_open(struct phx__post_store *h, uint64_t name);
/* An empty box goes, of which nothing is under way. Its waiters must have been taken. */
PHX_PRIVATE void phx__post_store_close(struct phx__post_store *h, struct phx__box *b);
/* list: NULL: in none. */
PHX_PRIVATE void phx__post_store_move(struct phx__post_store *h, struct phx__box *b, enum phx__box_state state,
                    struct phx__ring *list);

/* Its bytes, those of now and of later, count in *pool from now on; NULL: nowhere. */
PHX_PRIVATE void phx__post_store_charge(struct phx__box *b, size_t *pool);

/* What a letter of this size costs a queue: never 0, so that empty messages are bounded, too. */
PHX_PRIVATE size_t phx__post_store_letter_charge(size_t size);
/* The same of one that is there: in a run it is all its bytes. */
PHX_PRIVATE size_t phx__post_store_letter_cost(const struct phx__queued *l);
/* Holds m->body, or copies; NULL: no memory. */
PHX_PRIVATE struct phx__queued *phx__post_store_letter_new(struct phx__post_store *h, const struct phx__message *m);
/* one that is in no box */
PHX_PRIVATE void phx__post_store_letter_drop(struct phx__post_store *h, struct phx__queued *l);
PHX_PRIVATE void phx__post_store_push(struct phx__post_store *h, struct phx__box *b, struct phx__queued *l);
/* Behind all that came back. */
PHX_PRIVATE void phx__post_store_insert(struct phx__post_store *h, struct phx__box *b, struct phx__queued *l);
/* Takes out the letter behind `before`, or the first if that is NULL. */
PHX_PRIVATE struct phx__queued *phx__post_store_take(struct phx__post_store *h, struct phx__box *b,
                                               struct phx__queued *before);

/* Takes the first message out of the first letter, which is a run: *m holds the body. */
PHX_PRIVATE void phx__post_store_peel(struct phx__post_store *h, struct phx__box *b, struct phx__message *m);

/* Notes that a name waits, once wherever that is. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_store_wait(struct phx__post_store *h, struct phx__waiter **last, uint64_t name);
PHX_PRIVATE void phx__post_store_wait_splice(struct phx__waiter **to, struct phx__waiter **from);
/* The oldest name: 1, or 0. It does not wait any more. */
PHX_PRIVATE int phx__post_store_wait_pop(struct phx__post_store *h, struct phx__waiter **last, uint64_t *name);

#endif
