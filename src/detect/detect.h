/* detect.h - BRAIN: who is alive: monitors, heartbeats, silence, suspicion, own stalls. */
#ifndef PHX_DETECT_DETECT_H
#define PHX_DETECT_DETECT_H
#include "base/id.h"
#include "base/rnd.h"
#include "base/timer.h"

/* These may call back into this room, e.g. phx__detect_down from silent. */
struct phx__detect_ops {
    void *ctx;
    /* Send a heartbeat on this link, in the words of phx__detect_promise. ask: and want one back. */
    void (*beat)(void *ctx, uint32_t node, int ask);
    void (*silent)(void *ctx, uint32_t node, uint64_t us); /* give the link up */
    void (*suspect)(void *ctx, uint32_t node); /* silent for too long: let others look, too */
    void (*seek)(void *ctx, uint32_t node);    /* lost: ask others whether they reach it */
    void (*state)(void *ctx, uint32_t node, enum phx_state state); /* it changed */
};
/* What the last accusation of a node rests upon. */
enum phx__detect_ground {
    PHX__LIVE_NEVER, /* there was none */
    PHX__LIVE_SILENT, /* our own link was silent */
    PHX__LIVE_WORD,   /* the accuser says so */
    PHX__LIVE_ROUTE   /* there was no route any more */
};
/* A link, for as long as it is up. */
struct phx__detect_link {
    uint8_t monitor; /* it watches us */
    uint8_t watched; /* we watch it */
    uint8_t tell;    /* say something now: it does not know yet that it is to watch us */
    uint8_t busy;    /* it has announced a pause */
    uint8_t silent;  /* for so long that others were told */
    uint8_t asked;   /* something must come before asked_until */
    uint8_t used;    /* messages went out after used_at, the last at used_last */
    uint32_t timer;
    uint64_t heard;    /* last traffic in; on the waking clock, see detect.c */
    uint64_t said;     /* last traffic out */
    uint64_t next_us;  /* the peer will speak again within this */
    uint64_t promised; /* we will, as far as it knows */
    uint64_t due_at;   /* when a heartbeat would be due if nothing else were said */
    uint64_t asked_until, used_at, used_last; /* on the waking clock */
};
struct phx__detect_node {
    uint64_t since; /* of state */
    uint64_t accused_at;
    uint64_t doom; /* when unreachable becomes failed, or suspicion comes to nothing; on the waking clock */
    uint32_t accuser; /* node, for PHX__LIVE_WORD */
    uint32_t link;    /* its place among the links + 1; 0: none */
    uint32_t fate;    /* timer for doom: its handle + 1; 0: none */
    uint8_t state;    /* enum phx_state; 0: not known */
    uint8_t ground;   /* enum phx__detect_ground */
    uint8_t sought;   /* others were asked again */
    uint8_t put_off;  /* how often its failure was, since it was lost */
};
struct phx__detect {
    struct phx__mem *mem;
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__detect_ops ops;
    struct phx_detector limits;
    struct phx__detect_node *at; /* by node */
    uint32_t capacity;
    uint32_t *links;               /* nodes */
    struct phx__detect_link **link_at; /* what is kept of each */
    uint32_t link_count, link_capacity, link_at_capacity;
    uint32_t rescue; /* a timer for the fates that found no memory for their own: its handle + 1 */
    uint32_t monitors; /* how many we have */
    uint32_t suspects; /* nodes in PHX_NODE_SUSPECT */
    int stepped;       /* last_step is valid */
    int blind;         /* after a stall: what waits has not been read yet */
    uint64_t last_step;
    uint64_t stalled; /* all own stalls together */
    uint64_t blind_until; /* at the latest; on the waking clock */
    uint64_t grace;   /* until then nobody's time runs out; on the waking clock */
    uint64_t pause;   /* not 0: announced, see phx__detect_busy */
    uint64_t saved, saved_insurance; /* heartbeats that other traffic made needless */
};
PHX_PRIVATE void phx__detect_init(struct phx__detect *l, struct phx__mem *mem,
                                struct phx__timers *timers, struct phx__rnd *rnd,
                                const struct phx_detector *limits,
                                const struct phx__detect_ops *ops);
PHX_PRIVATE void phx__detect_free(struct phx__detect *l);
/* Other limits, from now on. */
PHX_PRIVATE void phx__detect_limits(struct phx__detect *l, const struct phx_detector *d);
/* The host will be away for so long: tells all neighbours. 0: it is back. */
PHX_PRIVATE void phx__detect_busy(struct phx__detect *l, uint64_t us);
/* A step begins; call it before any other of these and before timers are taken. If the step comes much
 * later than the earliest timer asked for, that was this node's own fault: deadlines move by the gap. */
PHX_PRIVATE void phx__detect_step(struct phx__detect *l, uint64_t now);
/* Everything that waited on any link when this step began has been read. */
PHX_PRIVATE void phx__detect_round(struct phx__detect *l);
/* A link is up or down. PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__detect_up(struct phx__detect *l, uint32_t node, uint64_t now);
PHX_PRIVATE void phx__detect_down(struct phx__detect *l, uint32_t node);
/* What a heartbeat to this neighbour is to say: within which time it hears of us again, and whether it
 * is a monitor. It counts as said. */
PHX_PRIVATE uint64_t phx__detect_promise(struct phx__detect *l, uint32_t node, uint64_t now,
                                       int *monitor);
/* Traffic on the link. Cheap: no timer is touched, unless the peer now promises to speak sooner than it did
 * before. */
PHX_PRIVATE void phx__detect_heard(struct phx__detect *l, uint32_t node, uint64_t now);
PHX_PRIVATE void phx__detect_said(struct phx__detect *l, uint32_t node, uint64_t now);
/* A heartbeat came. next_us 0: as announced before. busy: it will answer nobody before that. */
PHX_PRIVATE void phx__detect_beat(struct phx__detect *l, uint32_t node, uint64_t next_us, int busy,
                                int watched, uint64_t now);
/* Messages leave on this link: it should be found out soon if they do not arrive. */
PHX_PRIVATE void phx__detect_used(struct phx__detect *l, uint32_t node, uint64_t now);
/* There is reason to doubt the link: asks for a sign of life, and gives up without one. */
PHX_PRIVATE void phx__detect_ask(struct phx__detect *l, uint32_t node, uint64_t now);
/* Somebody says that node is silent: 1 if that is to be taken seriously, and so to be passed on. */
PHX_PRIVATE int phx__detect_word(struct phx__detect *l, uint32_t node, uint32_t accuser, uint64_t now);
/* A sign of life that did not come over an own link. */
PHX_PRIVATE void phx__detect_alive(struct phx__detect *l, uint32_t node, uint64_t now);
/* The routing's word on a node. left: its card says so. PHX_ENOMEM, only when the node was not known:
 * nothing changed. */
PHX_PRIVATE int phx__detect_reachable(struct phx__detect *l, uint32_t node, int yes, int left,
                                    uint64_t now);
PHX_PRIVATE enum phx_state phx__detect_state(const struct phx__detect *l, uint32_t node,
                                           uint64_t *since);
PHX_PRIVATE int phx__detect_is_monitor(const struct phx__detect *l, uint32_t node);
/* NULL if nothing is known of it, or of a link with it. */
PHX_PRIVATE const struct phx__detect_node *phx__detect_look(const struct phx__detect *l, uint32_t node);
PHX_PRIVATE const struct phx__detect_link *phx__detect_link_of(const struct phx__detect *l, uint32_t node);
PHX_PRIVATE void phx__detect_forget(struct phx__detect *l, uint32_t node);
/* PHX__TIMER_LIVE (a link) and PHX__TIMER_LIVE_NODE (a fate) fired. */
PHX_PRIVATE void phx__detect_due(struct phx__detect *l, int kind, uint32_t node, uint64_t now);

#endif
