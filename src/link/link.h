/* link.h - one connection with a neighbour: hello, frames in, queue out, back-pressure, close. */
#ifndef PHX_LINK_LINK_H
#define PHX_LINK_LINK_H
#include "wire/place.h"
#include "base/sha.h"
#include "base/timer.h"
#include "tls/tls.h"
#include "wire/wire.h"

enum phx__link_state {
    PHX__LINK_FREE = 0,
    PHX__LINK_DIALING, /* connect is not decided yet */
    PHX__LINK_HELLO,   /* dialer: HELLO sent, ANSWER expected; acceptor: HELLO expected */
    PHX__LINK_PARKED,  /* acceptor: HELLO seen, our own dial to the same node goes first */
    PHX__LINK_PROOF,   /* acceptor: ANSWER sent, PROOF expected */
    PHX__LINK_UP,
    PHX__LINK_CLOSED /* handle is gone; the slot is freed at the end of the step */
};

/* What a side says of itself in its ANSWER or PROOF. */
struct phx__link_words {
    uint32_t seq, card_version;
    uint32_t have; /* version of the other's card that it has */
};

/* What is needed during the hello only. */
struct phx__link_hello {
    uint8_t hello[128], answer[256]; /* bodies as sent, for the MACs */
    size_t hello_size, answer_size;
};

struct phx__link {
    enum phx__link_state state;
    int handle, watching; /* watching: events asked of the world */
    uint32_t slot;
    uint32_t generation;       /* a new one for each link that comes up */
    uint8_t dialer;
    uint8_t queued;            /* in phx's list of links to write */
    uint8_t more;     /* the last read filled its buffer: there may be more */
    uint8_t unauthenticated; /* came in through a listener and has not proved anything yet */
    uint8_t refused;  /* the reason came from the peer */
    uint8_t full;     /* the last write was cut short: wait for PHX_WRITE */
    uint8_t secure;   /* over TLS */
    uint8_t same_host; /* by AF_UNIX where TCP would have done; see samehost.c */
    uint8_t resting;  /* it talks too much: not read until the timer */
    uint8_t dry;      /* the last write took all there was */
    uint32_t peer;    /* node, once known */
    uint32_t expect;  /* node that should answer, or PHX__NONE */
    uint32_t attempt; /* disc's number, or PHX__NONE */
    uint32_t after;   /* slot of the link that had something next, when it was this one's turn last */
    int broken;       /* not 0: close it for this reason instead of writing */
    int reason;       /* why it was closed */
    const char *why;  /* more of that, or NULL */
    struct phx_id id; /* what the peer says it is; proved when up */
    uint64_t incarnation;
    uint16_t version;
    struct phx__link_words said, heard; /* what each side said of itself in the hello */
    struct phx_address address;         /* the other end */
    struct phx_address observed;        /* this end, as the other sees it */
    uint64_t since, bytes_in, bytes_out;
    uint64_t paid_at; /* when what it said in control frames is paid for */
    struct phx__link_hello *hello;
    struct phx__tls *tls; /* with secure, from the first byte on */
    struct phx__slices out;     /* being written, in this order */
    struct phx__slices control; /* goes out before any data not yet in out */
    struct phx__block *tail;    /* where control frames are encoded */
    uint8_t *stash;             /* the front of a frame whose rest has not come yet */
    size_t stash_size, stash_capacity;
    struct phx__place place;    /* of a frame that is being read into place; see place.c */
    uint8_t head[PHX__DATA_HEAD_MOST], head_size; /* of that frame */
    uint32_t stride;            /* of large frames that come one behind the other; 0: unknown */
    uint32_t ahead;             /* bytes of data that may be in out */
    uint32_t guess;             /* fragments that may be read beyond it */
    uint32_t from;              /* the node whose messages for us came last */
    size_t guess_at;            /* where a fragment began or ended, in its message ... */
    uint64_t guess_from;        /* ... and in all that came */
    uint8_t *card; /* a card arriving in parts */
    uint32_t card_total, card_size, card_version, card_capacity;
    uint64_t card_incarnation;
    struct phx_id card_id;
    uint64_t summary_at; /* no summary is answered before */
    uint8_t summary_open; /* more of a SUMMARY follows */
    uint32_t timer;       /* end of patience with the hello */
};

#define PHX__LINK_KEYS 2u /* accepted at once, while one takes the place of the other */
struct phx__link_key {
    uint8_t *data;
    size_t size;
};

/* Shared by all links of a node. */
struct phx__link_set {
    struct phx__mem *mem;
    struct phx_os *os;
    struct phx__timers *timers;
    void *ctx;
    const char *cluster;
    struct phx__link_key keys[PHX__LINK_KEYS]; /* the first is used, all are accepted */
    uint32_t key_count;                        /* 0: the empty key */
    struct phx__hmac begun[PHX__LINK_KEYS];    /* of each key, or of the empty one: nothing hashed yet */
    uint8_t cluster_tag[8];                    /* what a HELLO says of the cluster */
    struct phx__tls_set *tls;                  /* NULL: no link has TLS */
    const struct phx_id *self;
    uint64_t incarnation;
    uint64_t now;
    uint8_t *scratch; /* one read buffer for all links */
    size_t scratch_size;
    struct phx__block *block; /* whose bytes the scratch is; others hold it if it is lent */
    struct phx__block *spare; /* takes its place then */
    uint64_t os_calls, frames_in, frames_out, bytes_in, bytes_out;
    /* The peer has said who it is (not proved yet): 0 go on, PHX_EAGAIN park it (acceptor only), or
     * why it is refused. */
    int (*judge)(void *ctx, struct phx__link *l);
    /* What to say of this node to l->id, or to whoever answers if that is not known yet. */
    void (*introduce)(void *ctx, const struct phx__link *l, struct phx__link_words *out);
    /* The hello is done. 0, or why it is closed after all. */
    int (*up)(void *ctx, struct phx__link *l);
    /* A frame on a link that is up; raw: all of it. 0, or why the link must close. */
    int (*frame)(void *ctx, struct phx__link *l, const struct phx__frame *f, const uint8_t *raw,
                 size_t raw_size);
    /* Of a DATA frame only these size bytes have come. 0, or the size of its head, and *out is where its
     * payload goes, nothing of it there yet and the block held. Then, when that is all there: placed. It
     * gets the head again, and the payload, or NULL: the place was overtaken. */
    size_t (*place)(void *ctx, struct phx__link *l, const uint8_t *front, size_t size,
                    struct phx__place *out);
    void (*placed)(void *ctx, struct phx__link *l, const uint8_t *head, size_t size,
                   const uint8_t *payload);
    /* Where the next fragment of a large message from this node would go: 1 and *out, with no size, held; or
     * 0. */
    int (*ahead)(void *ctx, struct phx__link *l, uint32_t from, struct phx__place *out);
    /* Appends about budget bytes of data frames to l->out. Returns how many bytes. */
    size_t (*pull)(void *ctx, struct phx__link *l, size_t budget);
    /* Something waits to be written. */
    void (*wants)(void *ctx, struct phx__link *l);
    int (*random)(void *ctx, void *out,
                  size_t size); /* 0, or there are no random bytes: no hello */
};

/* The keys have changed. The cluster's name, which must stay where it is. */
PHX_PRIVATE void phx__link_rekey(struct phx__link_set *s);
PHX_PRIVATE void phx__link_cluster(struct phx__link_set *s, const char *cluster);

/* Makes *l (zeroed by the caller, slot, dialer and secure set) from a handle. state: DIALING or HELLO.
 * PHX_ENOMEM. */
PHX_PRIVATE int phx__link_open(struct phx__link_set *s, struct phx__link *l, int handle,
                               enum phx__link_state state, uint64_t patience_us);
/* Closes the handle and frees what it holds; the reason goes to the peer if it can be told. */
PHX_PRIVATE void phx__link_close(struct phx__link_set *s, struct phx__link *l, int reason,
                                 int tell);

/* The dial was decided well: says HELLO. */
PHX_PRIVATE int phx__link_connected(struct phx__link_set *s, struct phx__link *l);
/* A parked link may go on: 0 or why not (then close it). */
PHX_PRIVATE int phx__link_resume(struct phx__link_set *s, struct phx__link *l);
/* Reads once and handles all whole frames: 0, or why the link must close. */
PHX_PRIVATE int phx__link_read(struct phx__link_set *s, struct phx__link *l);
/* The block in which these bytes of a frame stand, to be held beyond the frame; NULL: they have to be
 * copied. */
PHX_PRIVATE struct phx__block *phx__link_lend(struct phx__link_set *s, const uint8_t *raw);
/* Its timer has set off a link that is up: 1 if it was only resting and is read again. */
PHX_PRIVATE int phx__link_rested(struct phx__link *l);
/* Writes what waits, at most about `limit` bytes: 0, or why the link must close. l->full: the world takes
 * no more now. l->dry: nothing is left. Neither: the limit was reached, there may be more. */
PHX_PRIVATE int phx__link_write(struct phx__link_set *s, struct phx__link *l, size_t limit);

/* A writer with room for one control frame of at most size bytes; phx__link_control_end queues what was
 * written. NULL data: no memory. */
PHX_PRIVATE int phx__link_control(struct phx__link_set *s, struct phx__link *l, size_t size,
                                  struct phx__writer *w);
PHX_PRIVATE int phx__link_control_end(struct phx__link_set *s, struct phx__link *l,
                                      const struct phx__writer *w);
PHX_PRIVATE size_t phx__link_queued(const struct phx__link *l);
/* What the world should watch it for. */
PHX_PRIVATE int phx__link_events(const struct phx__link *l);

/* Between link.c and place.c. */
PHX_PRIVATE void phx__link_count_in(struct phx__link_set *s, struct phx__link *l, size_t n);
/* Keeps these bytes for the next read. */
PHX_PRIVATE int phx__link_stash(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                                size_t size);
/* Handles all whole frames in the size bytes at p and keeps the rest. */
PHX_PRIVATE int phx__link_frames(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                                 size_t size);
/* Of a frame of `whole` bytes the first size stand at p. 1: the rest will be read into place, or the link is
 * closed; 0: it will not. */
PHX_PRIVATE int phx__link_place(struct phx__link_set *s, struct phx__link *l, const uint8_t *p,
                                size_t size, size_t whole);
/* Reads once, into place, as phx__link_read; or *done is 0: there is no such place. */
PHX_PRIVATE int phx__link_place_read_on(struct phx__link_set *s, struct phx__link *l, int *done);

#endif
