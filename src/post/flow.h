/* flow.h - one flow's numbers, frames and windows, from one node to another. */
#ifndef PHX_POST_FLOW_H
#define PHX_POST_FLOW_H
#include "wire/data.h"

#define PHX__NEVER UINT64_MAX
/* The most bytes of a run: 246 messages of 64 bytes. Twice as much saves little and delays the first. */
#define PHX__FLOW_RUN_MOST 16384u

/* The bits of phx__flow_record.flags above those of the wire. */
#define PHX__FLOW_TRIED 3
struct phx__box;       /* see store.h */
struct phx__multicast; /* see store.h */

/* A message, or a run of messages, as the files of this room pass it on. */
struct phx__message {
    uint64_t to, from, tag;
    uint64_t token; /* 0: no outcome is reported */
    uint64_t limit; /* when it expires; PHX__NEVER; 0: it expired after its first frame was emitted */
    struct phx__box *box; /* of its name, for messages in a flow */
    struct phx__multicast *multicast; /* of which it is a member, or NULL */
    unsigned tried; /* bits of box->lives: it was emitted in whole to these, and they failed in silence */
    int run;        /* PHX__DATA_RUN, perhaps with _NAMES and _TAGS: it is the first of a run; else 0 */
    uint32_t rest;    /* of a run: how many messages follow ... */
    size_t rest_size; /* ... in how many bytes, as in a frame */
    size_t size;
    struct phx__block *body; /* holds data, all of it; NULL: gather iov instead */
    const uint8_t *data;
    const struct iovec *iov;
    int iov_count;
};

/* Its m->size bytes, and what follows them in a run. */
PHX_PRIVATE void phx__post_flow_copy(const struct phx__message *m, uint8_t *to);
/* Bytes of all its messages. */
PHX_PRIVATE size_t phx__post_flow_message_bytes(const struct phx__message *m);
/* Drops the first message of a run, so that the next one is the first: 1, or 0: there is none. With NAMES its
 * box is another one, too. */
PHX_PRIVATE int phx__post_flow_message_next(struct phx__message *m);

/* One frame of a flow: bytes of a head block, and then of a body block if body_size > 0. */
struct phx__flow_record {
    struct phx__block *head, *body;
    uint32_t head_at;
    uint32_t body_at; /* without a body: how many messages follow the first in the frame */
    uint32_t body_size;
    uint16_t head_size;
    uint8_t flags; /* PHX__DATA_*, and phx__message.tried from PHX__FLOW_TRIED on */
    uint8_t gone;  /* withdrawn, and not counted in bytes; the next sweep drops it */
    uint64_t token, limit;
    struct phx__box *box;
    struct phx__multicast *multicast;
};

/* The last frame of a flow while it is not emitted: messages with `from` in common may join it. */
struct phx__flow_open {
    const struct phx__box *box; /* of the last message in it; NULL: none may join */
    uint64_t from;
    uint64_t tag;  /* of the first message in it */
    uint32_t left; /* bytes that may be added */
    uint8_t run, head;     /* of a run: its flags, and the bytes before each message; else 0 */
    uint8_t turned;        /* not all its messages are for one name */
    uint8_t in_turn;       /* names took turns of late: the next run has these flags from the beginning */
    struct phx__flow_record *record;
};

struct phx__flow_rtt {
    int timing; /* the frame `number` was emitted once, at `at`; 2: the target has just been asked */
    uint64_t number, at, smoothed;
};

struct phx__flow_path {
    uint8_t asks;   /* the question is to be emitted next */
    uint8_t drains; /* nothing is emitted until all that is under way is acknowledged; 2: that was asked */
    uint64_t rewind_from; /* a reported gap is not answered before */
    uint64_t waited;      /* of rto, when rto_at was set */
    uint64_t since;       /* when this wait began */
};

/* The sending end. Numbers: base <= sent <= left <= base + count. */
struct phx__flow_out {
    struct phx__mem *mem;
    struct phx_id target, source;
    int hops;
    uint64_t epoch; /* random, so that nobody else can acknowledge; 0: give it one before the first put */
    uint64_t base;  /* the lowest not acknowledged; ring[first] is its record */
    uint64_t sent;  /* the next to emit */
    uint64_t left;  /* the lowest that was never emitted */
    struct phx__flow_record *ring;
    uint32_t first, count, capacity; /* capacity: 0 or a power of two */
    uint32_t gone, sweeps; /* records with `gone` set; how often they were dropped */
    struct phx__block *tail;         /* heads and small payloads are encoded here */
    size_t bytes;           /* of all records' frames */
    size_t flying;          /* of the frames base..sent - 1 */
    size_t window;          /* what the target allows */
    size_t own;             /* what we allow */
    size_t allowed;         /* the congestion window: shrinks on loss, grows with acks */
    struct phx__message front; /* the message whose first fragments are acknowledged and dropped */
    int front_back;         /* why it came back at its first fragment: an enum phx__return_reason, or 0 */
    uint32_t seen;          /* returns taken in; each first fragment put from now on says it */
    struct phx__flow_rtt rtt;
    uint64_t rto, rto_at; /* after how long the target is asked; PHX__NEVER: nothing is under way */
    struct phx__flow_path path;
    uint64_t limit_at;    /* no message expires before */
    struct phx__flow_open open;
};

/* When no record is left: numbers start over with this epoch. */
PHX_PRIVATE void phx__post_flow_restart(struct phx__flow_out *o, uint64_t epoch, size_t window);
/* Frees what an empty flow keeps for the next message. */
PHX_PRIVATE void phx__post_flow_trim(struct phx__flow_out *o);
/* Queues a message. Holds m->body, or copies. 0 or PHX_ENOMEM, and then nothing changed. */
PHX_PRIVATE int phx__post_flow_put(struct phx__flow_out *o, const struct phx__message *m);
/* Appends it to the last frame, if that has room: 1, or 0. If open.run has NAMES then, it counts by itself
 * as under way in its box, else the frame does. */
PHX_PRIVATE int phx__post_flow_join(struct phx__flow_out *o, const struct phx__message *m);
/* The same for a message to b without token and limit, if open.box is not NULL: where the caller writes its
 * bytes, or NULL. */
PHX_PRIVATE uint8_t *phx__post_flow_room(struct phx__flow_out *o, const struct phx__box *b, uint64_t name,
                                         uint64_t from, uint64_t tag, size_t size);

PHX_PRIVATE struct phx__flow_record *phx__post_flow_at(const struct phx__flow_out *o, uint32_t index);
/* Bytes of messages in it. */
PHX_PRIVATE size_t phx__post_flow_payload(const struct phx__flow_record *r);
/* How many messages follow the first in it. */
PHX_PRIVATE uint32_t phx__post_flow_rest(const struct phx__flow_record *r);
/* Is it a run with NAMES? Its box is that of the first message only. */
PHX_PRIVATE int phx__post_flow_is_mixed(const struct phx__flow_record *r);
/* The next frame to emit; NULL: there is none, or no credit. */
PHX_PRIVATE struct phx__flow_record *phx__post_flow_peek(struct phx__flow_out *o);
/* That frame was emitted. 1 if not for the first time. */
PHX_PRIVATE int phx__post_flow_mark(struct phx__flow_out *o, uint64_t now);
/* Takes the lowest record off, whose blocks are the caller's to drop. */
PHX_PRIVATE void phx__post_flow_pop(struct phx__flow_out *o);
/* An ack popped `bytes` bytes of frames. The round trip that it measured, or 0. */
PHX_PRIVATE uint64_t phx__post_flow_progress(struct phx__flow_out *o, size_t bytes, uint64_t now);
/* All under way is emitted again: its path changed; or the target misses some. The round trip that this
 * measured, if it is the answer to a question, or 0. */
PHX_PRIVATE void phx__post_flow_rewind(struct phx__flow_out *o);
PHX_PRIVATE uint64_t phx__post_flow_lost(struct phx__flow_out *o, uint64_t now);
/* An ack must come within o->rto, of which so much is over. */
PHX_PRIVATE void phx__post_flow_wait(struct phx__flow_out *o, uint64_t waited, uint64_t now);
/* No ack came until o->rto_at: the target is asked, unless the round trips of others that go such a way take
 * `usual` now, or if that is 0, another one has just asked (!may). lost_at: when a node was last lost. What a
 * relay had for it, or it for others, is gone, and one round trip is enough. */
PHX_PRIVATE void phx__post_flow_silent(struct phx__flow_out *o, uint64_t usual, int may, uint64_t lost_at,
                                       uint64_t now);
/* A block with the question; NULL: no memory. */
PHX_PRIVATE struct phx__block *phx__post_flow_question(struct phx__flow_out *o);

/* *m as it was put, with all that joined it; data and body are borrowed from the records. */
PHX_PRIVATE void phx__post_flow_message(const struct phx__flow_out *o, uint32_t index,
                                        struct phx__message *m);
/* Of a run with NAMES: the first message alone, as it is queued again. */
PHX_PRIVATE struct phx__message phx__post_flow_message_alone(const struct phx__message *m,
                                                             struct phx__box *b);
/* How many records the message at index has. Index 0 may be in the middle of one. */
PHX_PRIVATE uint32_t phx__post_flow_span(const struct phx__flow_out *o, uint32_t index);
/* Where the last message begins; count > 0. */
PHX_PRIVATE uint32_t phx__post_flow_last(const struct phx__flow_out *o);
/* Drops records index and above, from the end. If one of them was emitted the flow must begin anew. */
PHX_PRIVATE void phx__post_flow_truncate(struct phx__flow_out *o, uint32_t index);
/* Of a message of several frames only the shape stays: as many frames, which its target takes and drops. 0 or
 * PHX_ENOMEM. */
PHX_PRIVATE int phx__post_flow_hollow(struct phx__flow_out *o, uint32_t index, uint32_t span);
/* Withdraws a record that was never emitted; sweep drops all of those, and closes the gaps. */
PHX_PRIVATE void phx__post_flow_withdraw(struct phx__flow_out *o, uint32_t index);
PHX_PRIVATE void phx__post_flow_sweep(struct phx__flow_out *o);

/* The receiving end. */
struct phx__flow_in {
    uint64_t epoch, next; /* all fragments below next were taken */
    uint32_t done;        /* ... and this many messages of the run that has the number next */
    struct phx__block *part; /* the message being assembled; part->used bytes of it are here */
    size_t booked; /* how much of the part is memory of ours ... */
    uint32_t by;   /* ... and the neighbour with which it counts; PHX__SELF: none */
    uint64_t at; /* when something of it came last */
    struct phx__message message;
    int opened; /* part is for a first fragment that is not here yet: nothing of it counts as taken */
    enum {
        PHX__FLOW_ALL,      /* nothing is missing */
        PHX__FLOW_RETURNED, /* the message was returned at its first fragment */
        PHX__FLOW_HALF,     /* its beginning was given up: it must come again */
        PHX__FLOW_TOLD      /* the same if there is one, and nobody knows to which name */
    } state;
};

#endif
