/* liar.h - a member that speaks raw frames in the simulated world, and says what no honest node would. */

/* A liar has a host of its own and one link, which it dials: again and again, if it is closed. It has the
 * key (there is none), makes its frames by hand from src/WIRE.md, reads what comes and drops it, and relays
 * nothing. What it says is up to `say`, called while the link is up and all that was said has left. */
#ifndef LIAR_H
#define LIAR_H

#include "world.h"

/* Frames, as in WIRE.md. */
enum {
    LIAR_HELLO = 1, LIAR_ANSWER, LIAR_PROOF, LIAR_REFUSE, LIAR_UPDATE, LIAR_CARD, LIAR_REQUEST, LIAR_BEAT,
    LIAR_SUMMARY, LIAR_DATA, LIAR_ACK, LIAR_SUSPECT, LIAR_PROBE, LIAR_CAST, LIAR_HAND
};

enum liar_state { LIAR_AWAY = 0, LIAR_DIALS, LIAR_ASKS, LIAR_UP };

struct liar {
    struct world *w;
    uint32_t host, victim, number; /* number: which of the links of one member this is */
    struct phx_id id;
    int handle;
    enum liar_state state;
    uint64_t dial_at;
    uint16_t port;
    void (*say)(struct liar *l); /* puts frames, and sets say_at: when to be called again */
    uint64_t say_at, turns;      /* turns: how often it was called before */
    uint32_t seq, version;       /* of its own entry and card */
    uint64_t closed;             /* how often the victim ended the link */
    int over;                    /* 1: it does not dial again */
    int deaf;                    /* 1: it reads nothing while the link is up */
    unsigned char in[256], hello[60];
    size_t got;
    unsigned char *out;
    size_t out_size, out_sent, out_capacity, frame; /* frame: where the last one begins */
};

/* A process on that host, from here on, which dials that port of the victim. *l is zero but for `number` and
 * `deaf`. */
void liar_start(struct liar *l, struct world *w, uint32_t host, uint32_t victim, uint16_t port,
                void (*say)(struct liar *l));
/* It is gone, without a word. */
void liar_stop(struct liar *l);

/* Bytes of a frame. */
void liar_put(struct liar *l, uint64_t value, int bytes);
void liar_bytes(struct liar *l, const void *data, size_t size);
void liar_head(struct liar *l, int type, int flags, int hops);
void liar_tail(struct liar *l);
/* An UPDATE up to its first entry; and an entry without card. */
void liar_update(struct liar *l);
void liar_entry(struct liar *l, const struct phx_id *id, uint64_t incarnation, uint64_t seq, int hops,
                int flags, uint64_t version);
/* A card, and the entry that it belongs to: of a node just behind the liar, which has no other; NULL: its
 * own, of a new version. flags as in WIRE.md, and count claims of one name each, with this epoch, every
 * second name from first on; a single one ends at last. */
void liar_card(struct liar *l, const struct phx_id *of, int flags, uint32_t count, uint64_t first,
               uint64_t last, uint64_t epoch);

#endif
