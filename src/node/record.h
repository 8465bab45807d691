/* record.h - every input of a node as bytes, for test/sim/replay to run the same node again. */
#ifndef PHX_NODE_RECORD_H
#define PHX_NODE_RECORD_H
#include "node/state.h"

/* A record is a sequence of notes: a struct phx__note each and its bytes, as they are in memory. */
enum phx__note_kind {
    PHX__NOTE_NEW = 1,   /* now_us; struct phx_config. Behind it its texts and its id, those that there are */
    PHX__NOTE_TEXT,
    PHX__NOTE_WORLD,     /* what fd said; the handle of wake, and whether there is recvv: two int */
    PHX__NOTE_NO_MEMORY, /* the allocation that has so many behind the last note failed */
    /* What the world said: an error, or a count, or the handle that it made; and what it filled in. */
    PHX__NOTE_LISTEN, PHX__NOTE_ACCEPT, PHX__NOTE_DIAL, PHX__NOTE_FINISH, PHX__NOTE_LOCAL, PHX__NOTE_SEND,
    PHX__NOTE_RECV, PHX__NOTE_CLOSE, PHX__NOTE_WATCH, PHX__NOTE_WAIT, PHX__NOTE_RANDOM, PHX__NOTE_RESOLVE,
    PHX__NOTE_RECVV, PHX__NOTE_NOW, PHX__NOTE_FIT, PHX__NOTE_NEAR, PHX__NOTE_OWN,
    PHX__NOTE_BEGIN, PHX__NOTE_STREAM, /* what on_begin and cfg.dial returned */
    PHX__NOTE_IOV, /* of the note before: iov_base and the bytes there; or it was NULL, and -iov_len */
    /* The host's calls: a number of their arguments, and a struct or text. */
    PHX__NOTE_STEP, PHX__NOTE_STEP_GIVEN,
    PHX__NOTE_STEP_WAITED, /* STEP and WAIT: time, and what wait filled in */
    PHX__NOTE_SEND_PLAIN, PHX__NOTE_SENDV, PHX__NOTE_CAST,
    PHX__NOTE_CANCEL, PHX__NOTE_RECLAIM, PHX__NOTE_ASSUME, PHX__NOTE_RELEASE, PHX__NOTE_HAND,
    PHX__NOTE_OWNER, PHX__NOTE_BROKEN, PHX__NOTE_BIND, PHX__NOTE_ADVERTISE, PHX__NOTE_JOIN,
    PHX__NOTE_UNJOIN, PHX__NOTE_ADOPT, PHX__NOTE_KEYS, PHX__NOTE_DETECTOR, PHX__NOTE_BUSY, PHX__NOTE_FAIL,
    PHX__NOTE_TRACE, PHX__NOTE_FD, PHX__NOTE_LEAVE, PHX__NOTE_FREE,
    PHX__NOTE_INSIDE = 0x100 /* added: the call was made in a callback, behind so many callbacks */
};

struct phx__note {
    uint32_t kind, size; /* size: of the bytes behind it */
    int64_t value;
    uint64_t told;  /* callbacks before it */
    uint64_t used;  /* memory of the node; PHX__NOTE_SEND_PLAIN: from, and below tag */
    uint64_t state; /* changes with most of what a node does. In STEP, SEND and RECV these three are 0 */
};
#define PHX__NOTE_STATE(p) ((p)->mem.looks + (p)->timers.order + (p)->rnd.s[0])

/* A note, if there is a record; returns value. */
PHX_PRIVATE int64_t phx__node_record_note(phx *p, int kind, int64_t value, const void *data, size_t size);
/* What the world says that struct phx_os has no words for, noted: see os/os.h. */
PHX_PRIVATE int phx__node_record_near(phx *p, int listen, const struct phx_address *a, int *handle);
/* A step that began with own.unsaid is noted with what its wait() says, or before it does anything else. */
PHX_PRIVATE int phx__node_record_wait(phx *p, struct phx_ready *out, int capacity);
PHX_PRIVATE void phx__node_record_flush(phx *p);
PHX_PRIVATE void phx__node_record_send(phx *p, const struct phx_outgoing *m);
/* From here on what the node asks of its world and of memory is recorded. */
PHX_PRIVATE void phx__node_record_open(phx *p, const struct phx_config *cfg);

#endif
