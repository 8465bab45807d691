/* flow.h - part of post: one flow's numbers, stores and windows, from one node to another. */
#ifndef PHX_POST_FLOW_H
#define PHX_POST_FLOW_H
#include "wire/place.h"

#define PHX__NEVER UINT64_MAX

/* The bits above those of the wire. */
#define PHX__FLOW_MET 3
struct phx__box; /* see store.h */
struct phx__multicast; /* see multicast.h */

/* A message as post hands it around. */
struct phx__message {
    uint64_t to, from, tag;
    uint64_t token; /* 0: nobody asks what became of it */
    uint64_t limit; /* it expires then; PHX__NEVER; 0: it did, after it began to leave */
    struct phx__box *box; /* of its name, for messages in a flow; flow only keeps it */
    struct phx__multicast *cast; /* that it is a member of; NULL: none */
    unsigned met; /* of box->lives: all of it went out to these, and they failed in silence */
    int run;      /* PHX__DATA_RUN, perhaps with _TAGS: it is the first of many; else 0 */
    uint32_t rest;    /* how many follow it then ... */
    size_t rest_size; /* ... in so many bytes behind its own, as in a frame */
    size_t size;
    struct phx__block *body; /* holds data, all of it; NULL: gather iov instead */
    const uint8_t *data;
    const struct iovec *iov;
    int iov_count;
};

/* its m->size bytes, and what follows them in a run */
PHX_PRIVATE void phx__post_flow_mail_copy(const struct phx__message *m, uint8_t *to);
/* Bytes of all its messages. */
PHX_PRIVATE size_t phx__post_flow_mail_bytes(const struct phx__message *m);
/* The next message of a run comes first now, and the first is left out: 1, or 0: there is none. */
PHX_PRIVATE int phx__post_flow_mail_next(struct phx__message *m);

/* One frame of a flow: bytes of a head block, and then of a body block if body_size > 0. */
struct phx__flow_record {
    struct phx__block *head, *body;
    uint32_t head_at;
    uint32_t body_at; /* without a body: how many messages follow the first in the frame */
    uint32_t body_size;
    uint16_t head_size;
    uint8_t flags; /* PHX__DATA_*, and phx__message.met from PHX__FLOW_MET on */
    uint8_t gone;  /* withdrawn; the next sweep takes it */
    uint64_t token, limit;
    struct phx__box *box;
    struct phx__multicast *cast;
};

/* Numbers: base <= sent <= left <= base + count. Frames below left were emitted at least once. */
struct phx__flow_out {
    struct phx__mem *mem;
    struct phx_id target, source;
    int hops;
    uint64_t epoch; /* 0: give it one before the first put */
    uint64_t base;  /* the lowest not acknowledged; ring[first] is its record */
    uint64_t sent;  /* the next to emit */
    uint64_t left;  /* the lowest that was never emitted */
    struct phx__flow_record *ring;
    uint32_t first, count, capacity; /* capacity: 0 or a power of two */
    struct phx__block *tail;         /* heads and small payloads are encoded here */
    uint32_t tail_size;
    size_t bytes;           /* of all records' frames */
    size_t flying;          /* of the frames base..sent - 1 */
    size_t window;          /* what the target allows */
    size_t own;             /* what we allow */
    size_t allowed;         /* what losses have taught us: shrinks on loss, grows with acks */
    struct phx__message front; /* of the message whose first fragments are acknowledged and gone */
    int front_back;         /* it came back at its first fragment: why, an enum phx__return_reason */
    uint32_t seen;          /* returns taken in; told by every first fragment put from now on */
    int timing;             /* rtt_number was emitted once, at rtt_at */
    uint64_t rtt_number, rtt_at, srtt;
    uint64_t rto, rto_at; /* the backstop; PHX__NEVER: nothing is under way */
    uint64_t rewind_from; /* on the target's word not before */
    uint64_t limit_at;    /* no message expires before */
    /* Messages that have these in common may join the last frame, which ends where the tail does, until
     * it leaves, or until `seen` is another. */
    const struct phx__box *open_box; /* NULL: none may */
    uint64_t open_from;
    uint64_t open_tag;  /* of the first message in it */
    uint32_t open_left; /* bytes that may be added */
    struct phx__flow_record *open_record;
    uint8_t *open_frame;
};

PHX_PRIVATE void phx__post_flow_init(struct phx__flow_out *o, struct phx__mem *mem,
                                const struct phx_id *target,
                    const struct phx_id *source, int hops, size_t own, size_t window);
PHX_PRIVATE void phx__post_flow_free(struct phx__flow_out *o); /* drops all records */
/* After the last record went: numbers start over with this epoch. */
PHX_PRIVATE void phx__post_flow_restart(struct phx__flow_out *o, uint64_t epoch, size_t window);
/* Gives back what an empty flow keeps for the next message. */
PHX_PRIVATE void phx__post_flow_trim(struct phx__flow_out *o);
/* Queues a message. Holds m->body, or copies. 0 or PHX_ENOMEM, and then nothing changed. */
PHX_PRIVATE int phx__post_flow_put(struct phx__flow_out *o, const struct phx__message *m);
/* Puts it behind the others in the last frame, if that has not left and takes it: 1, or 0. */
PHX_PRIVATE int phx__post_flow_join(struct phx__flow_out *o, const struct phx__message *m);
/* The same of a message without token and limit: where its bytes are to be put now, or NULL. */
PHX_PRIVATE uint8_t *phx__post_flow_room(struct phx__flow_out *o, const struct phx__box *b, uint64_t from,
                                    uint64_t tag, size_t size);
/* One more return was taken in. */
PHX_PRIVATE void phx__post_flow_saw(struct phx__flow_out *o);

PHX_PRIVATE struct phx__flow_record *phx__post_flow_at(const struct phx__flow_out *o, uint32_t index);
PHX_PRIVATE size_t phx__post_flow_frame_size(const struct phx__flow_record *r);
/* bytes of messages in it */
PHX_PRIVATE size_t phx__post_flow_payload(const struct phx__flow_record *r);
/* How many messages follow the first in it. */
PHX_PRIVATE uint32_t phx__post_flow_rest(const struct phx__flow_record *r);
/* The next frame to emit, or NULL: nothing left, or no credit. */
PHX_PRIVATE struct phx__flow_record *phx__post_flow_peek(const struct phx__flow_out *o);
/* It was emitted. 1 if not for the first time. */
PHX_PRIVATE int phx__post_flow_mark(struct phx__flow_out *o, uint64_t now);
/* Takes the lowest record off if it is below next: 1 and *r, whose blocks are now the caller's. */
PHX_PRIVATE int phx__post_flow_pop(struct phx__flow_out *o, uint64_t next, struct phx__flow_record *r);
/* An ack popped so many frame bytes, up to but not including next. */
PHX_PRIVATE void phx__post_flow_progress(struct phx__flow_out *o, uint64_t next, size_t bytes,
                                    uint64_t now);
/* Everything under way will be emitted again: its path is another one (rewind), or frames were
 * lost. */
PHX_PRIVATE void phx__post_flow_rewind(struct phx__flow_out *o);
PHX_PRIVATE void phx__post_flow_lost(struct phx__flow_out *o, uint64_t now);
/* rto_at passed: lost, and back off */
PHX_PRIVATE void phx__post_flow_timeout(struct phx__flow_out *o, uint64_t now);

/* Messages: records index..index + span - 1. Index 0 may stand in the midst of one. */
PHX_PRIVATE uint32_t phx__post_flow_span(const struct phx__flow_out *o, uint32_t index);
/* where the last one begins; count > 0 */
PHX_PRIVATE uint32_t phx__post_flow_last(const struct phx__flow_out *o);
/* *m as it was put, with all that joined it; data and body are borrowed from the records. */
PHX_PRIVATE void phx__post_flow_mail(const struct phx__flow_out *o, uint32_t index, struct phx__message *m);
/* Drops records index and above, from the end. */
PHX_PRIVATE void phx__post_flow_truncate(struct phx__flow_out *o, uint32_t index);
/* Drops the records with `gone` set, none of which was ever emitted; what stands behind them moves
 * up. */
PHX_PRIVATE void phx__post_flow_sweep(struct phx__flow_out *o);

/* The receiving end. */
struct phx__flow_in {
    uint64_t epoch, next; /* all fragments below next were taken */
    uint32_t done;        /* ... and of the run that has the number next, so many messages */
    struct phx__block *part; /* the message being put together, part->used bytes of it are here */
    struct phx__message mail;
    int opened; /* part is for a first fragment that is to come: nothing of it counts as taken */
    enum {
        PHX__FLOW_ALL,      /* nothing is missing */
        PHX__FLOW_RETURNED, /* the message was turned back at its first fragment */
        PHX__FLOW_HALF      /* its beginning was given up: it must come again */
    } state;
};
enum phx__flow_taken {
    PHX__FLOW_MORE = 1, /* taken; more is to come */
    PHX__FLOW_WHOLE,    /* *m is a message, borrowed; then phx__post_flow_took or _turn_back */
    PHX__FLOW_CUT,      /* the end of *m, whose beginning was given up; then phx__post_flow_turn_back */
    PHX__FLOW_SKIPPED,  /* taken, and dropped: broken by its sender */
    PHX__FLOW_LATER     /* not taken: no memory */
};
/* over, dropping what was there */
PHX_PRIVATE void phx__post_flow_start(struct phx__flow_in *in, uint64_t epoch);
PHX_PRIVATE int phx__post_flow_take(struct phx__flow_in *in, struct phx__mem *mem,
                               const struct phx__data *d, int flags, struct phx__message *m);
/* Of a frame that is FIRST and LAST: as it is, in *m the fields that an application is told, and the
 * run's. Then phx__post_flow_took. */
PHX_PRIVATE void phx__post_flow_take_whole(struct phx__flow_in *in, const struct phx__data *d, int flags,
                                      struct phx__message *m);
/* The same before a frame has come whole. Is there a part for this first fragment already? Else it needs one,
 * which becomes the flow's; NULL: no memory for it, and what was there is dropped. */
PHX_PRIVATE int phx__post_flow_has_part(const struct phx__flow_in *in, const struct phx__data *d);
PHX_PRIVATE void phx__post_flow_open(struct phx__flow_in *in, const struct phx__data *d,
                                struct phx__block *part);
PHX_PRIVATE struct phx__block *phx__post_flow_part(struct phx__mem *mem, size_t size); /* or NULL */
/* Where the payload of the fragment that comes next belongs: 1, or 0: nowhere. */
PHX_PRIVATE int phx__post_flow_place(const struct phx__flow_in *in, const struct phx__data *d, int flags,
                                struct phx__place *out);
PHX_PRIVATE void phx__post_flow_took(struct phx__flow_in *in);
/* The fragment that comes next is taken, and its message is not: it goes back. */
PHX_PRIVATE void phx__post_flow_turn_back(struct phx__flow_in *in, int flags);
/* Nobody may ever send the rest of what is here. */
PHX_PRIVATE void phx__post_flow_give_up(struct phx__flow_in *in);

#endif
