/* state.h - one connection with a neighbour, and what all links of a node share. */
#ifndef PHX_LINK_STATE_H
#define PHX_LINK_STATE_H
#include "base/ring.h"
#include "base/sha.h"
#include "base/timer.h"
#include "tls/tls.h"
#include "wire/data.h"
#include "wire/link.h"

enum phx__link_state {
    PHX__LINK_FREE = 0,
    PHX__LINK_DIALING, /* connect is not decided yet */
    PHX__LINK_HELLO,   /* dialer: HELLO sent, ANSWER expected; acceptor: HELLO expected */
    PHX__LINK_PARKED,  /* acceptor: HELLO seen, our own dial to the same node goes first */
    PHX__LINK_PROOF,   /* acceptor: ANSWER sent, PROOF expected */
    PHX__LINK_UP,
    PHX__LINK_CLOSED /* handle is gone; the slot is freed at the end of the step */
};

/* What is needed during the hello only: bodies as sent, for the MACs. */
struct phx__link_hello {
    struct phx__link_body {
        uint8_t data[256];
        size_t size;
    } hello, answer;
    uint8_t padded; /* HELLO is, and so must be ANSWER */
};

struct phx__link_out {
    struct phx__slices stream;  /* being written, in this order */
    struct phx__slices control; /* goes out before any data not yet in stream */
    struct phx__slices news;    /* UPDATE, CARD and SUMMARY beyond a little: in turn with data */
    struct phx__block *tail;    /* where control frames are encoded */
    uint32_t ahead;             /* bytes of data that may be in stream */
    uint8_t full;               /* the last write was cut short: wait for PHX_WRITE */
    uint8_t dry;                /* the last write took all there was */
    uint64_t bytes;             /* written so far */
    uint64_t paid_at;           /* when the news that were queued are paid for */
};

struct phx__link_in {
    uint8_t *stash; /* the front of a frame whose rest has not come yet */
    uint32_t stash_size, stash_capacity;
    uint32_t stride; /* size of large frames that come one behind the other; 0: unknown */
    uint8_t more;    /* the last read filled its buffer: there may be more */
    uint8_t resting; /* its control frames cost too much: not read until the timer */
    uint8_t held;    /* the stash is whole frames, for which the last step had no time */
    uint8_t waits;   /* for time: it is held, or not read yet */
    uint8_t turn;    /* waits for its turn to begin with TLS; see node/door.c */
    uint64_t paid_at; /* when its control frames are paid for */
    uint64_t bytes;   /* read so far */
};

/* A frame that is read into place; see place.c. */
struct phx__link_place {
    struct phx__place open;
    uint8_t head[PHX__DATA_HEAD_MOST], head_size; /* of that frame */
    uint8_t large;       /* a message of several fragments began, and so may the next one */
    uint32_t from;       /* the node whose message for us may go on */
    uint32_t guess;      /* fragments that may be read beyond this one */
    size_t guess_at;     /* where a fragment began or ended, in its message ... */
    uint64_t guess_from; /* ... and in all that came */
};

/* A card that comes in parts. */
struct phx__link_card {
    uint8_t *data;
    uint32_t total, size, version, capacity;
    uint64_t incarnation;
    struct phx_id id;
};

struct phx__link_summary {
    uint64_t at;   /* no summary is answered before */
    uint8_t open;  /* more of a SUMMARY follows */
    uint8_t taken; /* it is read: the peer may ask, or this node has */
    uint8_t asked; /* the peer owes an answer to ours */
};

/* Why a link ends. */
struct phx__link_end {
    int broken;      /* not 0: close it for this reason instead of writing */
    uint8_t refused; /* the reason came from the peer */
    uint8_t patient; /* unread data do not end it, see phx__os_patience */
    const char *why; /* more of the reason, or NULL */
};

struct phx__link {
    struct phx__ring ring; /* the first member: in the node's list of links to write, or to free */
    enum phx__link_state state;
    int handle, watching; /* watching: events asked of the world */
    uint32_t slot;
    uint32_t generation; /* a new one for each link that comes up */
    uint8_t dialer;
    uint8_t unauthenticated; /* came in through a listener and has not proved that it has the key */
    uint8_t secure;          /* over TLS */
    uint8_t same_host;       /* by AF_UNIX where TCP would have done; see samehost.c */
    uint32_t peer;           /* node, once known */
    uint32_t expect;         /* node that should answer, or PHX__NONE */
    uint32_t attempt;        /* number of the dial, or PHX__NONE */
    uint32_t after;          /* slot of the link that had something next, when it was this one's turn last */
    uint32_t timer;          /* end of patience with the hello, or of a rest */
    struct phx_id id;        /* what the peer says it is; proved when up */
    uint64_t incarnation;
    struct phx__standing said, heard; /* what each side said of itself in the hello */
    struct phx_address address;         /* the other end */
    struct phx_address observed;        /* this end, as the other sees it */
    uint64_t since;
    struct phx__link_hello *hello;
    struct phx__tls *tls; /* with secure, from the first byte on */
    struct phx__link_out out;
    struct phx__link_in in;
    struct phx__link_place place;
    struct phx__link_card card;
    struct phx__link_summary summary;
    struct phx__link_end end;
};

/* What the links ask of the node. */
struct phx__link_ops {
    /* The peer has said who it is, unproved: 0, PHX_EAGAIN park it (acceptor only), or why refused. */
    int (*judge)(phx *ctx, struct phx__link *l);
    /* What to say of this node to l->id, or to whoever answers if that is not known yet. */
    void (*introduce)(phx *ctx, const struct phx__link *l, struct phx__standing *out);
    /* The hello is done. 0, or why it is closed after all. */
    int (*up)(phx *ctx, struct phx__link *l);
    /* A frame on a link that is up; raw: all of it. 0, why the link must close, or PHX_EAGAIN:
     * there is no time, so this frame and all that follow are to be kept for another step. */
    int (*frame)(phx *ctx, struct phx__link *l, const struct phx__frame *f, const uint8_t *raw,
                 size_t raw_size);
    /* These bytes of a DATA frame have come: 0, or its head's size and *out, held, for all its payload. */
    size_t (*place)(phx *ctx, struct phx__link *l, const uint8_t *front, size_t size,
                    struct phx__place *out);
    /* That payload is all there: the head again, and the payload, or NULL: the place was overtaken. */
    void (*placed)(phx *ctx, struct phx__link *l, const uint8_t *head, size_t size, const uint8_t *payload);
    /* Where this node's next large fragment would go: 1 and *out, with no size, held; or 0. */
    int (*ahead)(phx *ctx, struct phx__link *l, uint32_t from, struct phx__place *out);
    /* Appends about budget bytes of data frames to l->out.stream. Returns how many bytes. */
    size_t (*pull)(phx *ctx, struct phx__link *l, size_t budget);
    /* Something waits to be written. */
    void (*wants)(phx *ctx, struct phx__link *l);
    int (*random)(phx *ctx, void *out, size_t size); /* 0, or there are no random bytes: no hello */
};

/* Frames that were held, while a link goes on with them; at NULL: none. */
struct phx__link_resumed {
    uint8_t *at;
    uint32_t size;
};

struct phx__link_set {
    struct phx__mem *mem;
    struct phx_os *os;
    struct phx__timers *timers;
    const struct phx__link_ops *ops;
    phx *ctx; /* of the ops */
    const char *cluster;
    const struct phx_key *keys;                /* the first is used, all are accepted */
    uint32_t key_count;                        /* 0: the empty key */
    struct phx__hmac begun[PHX__KEYS];    /* of each key, or of the empty one: nothing hashed yet */
    uint8_t cluster_hash[8]; /* what each HELLO says of it */
    struct phx__tls_set *tls;                  /* NULL: no link has TLS */
    const struct phx_id *self;
    uint64_t incarnation;
    uint64_t now;
    struct phx__link_resumed resumed;
    uint8_t *scratch; /* one read buffer for all links */
    size_t scratch_size;
    size_t room; /* most bytes of one read: less than that where callbacks are slow */
    struct phx__block *block; /* whose bytes the scratch is; others hold it if it is lent */
    struct phx__block *spare; /* takes its place then */
    uint64_t paid_at; /* when the control frames of all links are paid for */
    size_t waiting;  /* bytes of control frames in all links' queues, but for streams */
    size_t table; /* about how many bytes a summary of the routing table has: so much more may wait */
    uint64_t walked; /* nodes and claims looked through for the frame that is being handled: it is charged */
    uint64_t named;  /* the same for names, which count against its link, but not against the rate of all */
    uint64_t os_calls, frames_in, frames_out, bytes_in, bytes_out;
};

/* ---- out.c: what leaves a link: control frames first, then data that is pulled from the post */

#define PHX__LINK_AHEAD (2 * PHX__FRAGMENT) /* l->out.ahead begins with it */
/* A writer with room for a control frame of at most size bytes; control_end queues it. 0, or why not. */
PHX_PRIVATE int phx__link_out_control(struct phx__link_set *s, struct phx__link *l, size_t size,
                                      struct phx__writer *w);
PHX_PRIVATE int phx__link_out_control_end(struct phx__link_set *s, struct phx__link *l,
                                          const struct phx__writer *w);
PHX_PRIVATE size_t phx__link_out_queued(const struct phx__link *l); /* but for news, which give way */
/* The news that were queued last have their reader pass so many claims: that is charged, too. */
PHX_PRIVATE void phx__link_out_named(struct phx__link *l, uint64_t claims);
/* How many bytes of news may be queued now; 0: ask again soon. More than that only for one large card. */
PHX_PRIVATE size_t phx__link_out_room(const struct phx__link_set *s, const struct phx__link *l);
/* Writes what waits, at most about `limit` bytes: 0, or why the link must close. l->out.full: the world takes
 * no more now. l->out.dry: nothing is left. Neither: the limit was reached, there may be more. */
PHX_PRIVATE int phx__link_out_write(struct phx__link_set *s, struct phx__link *l, size_t limit);
/* Tries once to write control frames, without waiting for anything: for the last words of a link. */
PHX_PRIVATE void phx__link_out_try(struct phx__link_set *s, struct phx__link *l);

/* ---- hello.c: how a link comes up: three messages, each side proving that it has the key */

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

/* ---- place.c: large fragments that are read straight into the message they belong to */

#define PHX__LINK_PLACE_MOST 15u /* fragments guessed by one read, which then brings a megabyte */
/* Read behind the end of a large message, and first after one: some small frames, little of a large one. */
#define PHX__LINK_PLACE_TAIL 4096u

PHX_PRIVATE int phx__link_place_serves(const struct phx__link_set *s, const struct phx__link *l);
/* size bytes of a frame of `whole` stand at p. 1: the rest is read into place, or the link closed; 0: not. */
PHX_PRIVATE int phx__link_place_begin(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                                      size_t size, size_t whole);
/* Reads once, into place: 0 or why the link must close; or *done is 0: there is nothing to be read into
 * place. *left bytes that came behind are to be looked at, in *out, which the caller drops, or, if that is
 * NULL, in the scratch. */
PHX_PRIVATE int phx__link_place_read(struct phx__link_set *s, struct phx__link *l, int *done, size_t *left,
                                     struct phx__block **out);
/* One read of at most size bytes: how many, 0 if there are none now, or why the link must close. */
PHX_PRIVATE long phx__link_place_recv(struct phx__link_set *s, struct phx__link *l, uint8_t *to, size_t size);

#endif
