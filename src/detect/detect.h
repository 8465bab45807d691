/* detect.h - BRAIN: failure detection: monitors, heartbeats, silence, suspicion, own stalls. */
#ifndef PHX_DETECT_DETECT_H
#define PHX_DETECT_DETECT_H
#include "base/id.h"
#include "base/rnd.h"
#include "base/timer.h"
#include "wire/link.h"

/* These may call functions of this header, e.g. phx__detect_link_down from silent. */
struct phx__detect_ops {
    phx *ctx;
    /* Send a heartbeat with the contents of phx__detect_announce. PHX__BEAT_REPLY: request one in return. */
    void (*heartbeat)(phx *ctx, uint32_t node, int flags);
    void (*silent)(phx *ctx, uint32_t node, uint64_t us); /* the link is dead: close it */
    void (*suspect)(phx *ctx, uint32_t node); /* our link with node is silent: spread the rumour */
    void (*probe)(phx *ctx, uint32_t node, int again); /* node is unreachable: ask others about it */
    void (*state)(phx *ctx, uint32_t node, enum phx_state state); /* the state changed */
};
/* A link, for as long as it is up. Times marked "waking" are on the waking clock; see detect.c. */
struct phx__detect_link {
    uint8_t monitor;  /* the peer is a monitor of ours */
    uint8_t watched;  /* we are a monitor of the peer */
    uint8_t beat_now; /* a heartbeat is due at once: it tells the peer that it has become a monitor */
    uint8_t busy;     /* the peer has announced a pause */
    uint8_t silent;   /* for so long that the rumour was spread */
    uint8_t doubted;  /* to be asked when what waits has been read */
    uint8_t used;     /* messages were sent after used_at, the last at used_last */
    uint8_t behind;   /* the host is slow: what the peer sent waits here */
    uint32_t timer, node;
    uint64_t received_at;  /* last traffic in; waking */
    uint64_t sent_at;      /* last traffic out */
    uint64_t announced_us; /* the peer will send something within this */
    uint64_t promised_us;  /* we have announced that to the peer */
    uint64_t beat_at;      /* when a heartbeat would be due if nothing else were sent */
    uint64_t answer_by; /* something must arrive before; UINT64_MAX: nothing was asked; waking */
    uint64_t used_at, used_last; /* waking */
};
struct phx__detect_node {
    uint64_t since;  /* of state */
    uint32_t trouble; /* index in phx__detect.troubles + 1; 0: none */
    uint16_t link;   /* index of its link + 1, of 65,535 at most; 0: none */
    uint8_t state;   /* enum phx_state; 0: not known */
};
/* The last rumour about it that was passed on: about which life and number, when. */
struct phx__detect_rumour {
    uint64_t incarnation, at;
    uint32_t seq;
};
/* What is kept of a node that was accused or lost, or a link with which was lost. */
struct phx__detect_trouble {
    uint64_t fail_at;    /* when an unreachable node fails, or a suspicion ends; waking; 0: see since */
    uint64_t heard_at, lost_at; /* of the last link that was lost: last traffic on it, when; 0: none was */
    int lost_error;      /* .. and why */
    struct phx__detect_rumour rumour;
    uint32_t node;
    uint32_t accuser;    /* who said so; PHX__SELF: our link was silent; PHX__NONE: its last route went */
    uint32_t accused_ms; /* when it was last accused, in milliseconds that come round; 0: never */
    uint16_t rests;      /* how often the path was to blame, since a link lasted */
    uint8_t put_off;     /* how often an answer has put off its failure since it became unreachable */
    uint8_t probed;      /* no other node is asked any more */
};
/* The first heartbeat of a link in a crowd comes within this, if both ends say so. */
#define PHX__DETECT_QUIET_US (90 * PHX__SECOND)
struct phx__detect {
    struct phx__mem *mem;
    struct phx__timers *timers;
    struct phx__rnd *rnd;
    struct phx__detect_ops ops;
    struct phx_detector limits;
    struct phx__detect_node *at; /* by node */
    uint32_t capacity;
    struct phx__detect_trouble *troubles; /* in no order */
    uint32_t trouble_count, trouble_capacity;
    struct phx__detect_link **links;
    uint32_t link_count, link_capacity;
    uint32_t timer;        /* for all unreachable and suspect nodes; PHX__NONE: none was known yet */
    int unlisted;          /* .. of whom one is not among the troubles, for lack of memory */
    uint32_t monitors;     /* how many we have */
    uint32_t suspects;     /* nodes in PHX_NODE_SUSPECT ... */
    uint32_t sought;       /* ... and those in PHX_NODE_UNREACHABLE beside */
    int blind;             /* input that arrived during a stall has not been read: the owner clears it */
    uint64_t last_step;    /* 0: there was none */
    uint64_t stalled;      /* sum of all own stalls */
    uint64_t blind_until;  /* blind ends then at the latest; waking */
    uint64_t grace;        /* the time to fail of an unreachable node starts then at the earliest; waking */
    uint64_t pause;        /* what phx__detect_busy announced; 0: nothing */
    uint64_t slow;         /* announced because of own stalls; 0: nothing */
    uint64_t stalls[2], stalls_at; /* the longest of this half minute, of the one before; when this began */
    uint64_t saved, saved_insurance; /* heartbeats that other traffic made unnecessary */
};
PHX_PRIVATE void phx__detect_init(struct phx__detect *d, struct phx__mem *mem, struct phx__timers *timers,
                                  struct phx__rnd *rnd, const struct phx_detector *limits,
                                  const struct phx__detect_ops *ops);
PHX_PRIVATE void phx__detect_free(struct phx__detect *d);
/* Other limits, from now on. */
PHX_PRIVATE void phx__detect_limits(struct phx__detect *d, const struct phx_detector *limits);
/* The host will be away for us microseconds: tells all neighbours. 0: it is back. */
PHX_PRIVATE void phx__detect_busy(struct phx__detect *d, uint64_t us);
/* A step begins: before any other of these functions, and before timers are taken. Notices own stalls. Here
 * and below now is the node's clock, which never runs back. */
PHX_PRIVATE void phx__detect_step(struct phx__detect *d, uint64_t now);
/* The longest own stall of late. */
PHX_PRIVATE uint64_t phx__detect_longest(const struct phx__detect *d);
/* A link is up or down. quiet: both have PHX__FEATURE_QUIET. PHX_ENOMEM: nothing changed. */
PHX_PRIVATE int phx__detect_link_up(struct phx__detect *d, uint32_t node, int quiet, uint64_t now);
PHX_PRIVATE void phx__detect_link_down(struct phx__detect *d, uint32_t node);
/* For a heartbeat, which counts as sent: within which time we send again. */
PHX_PRIVATE uint64_t phx__detect_announce(struct phx__detect *d, uint32_t node, uint64_t now);
/* Traffic on the link. Cheap: neither sets a timer. */
PHX_PRIVATE void phx__detect_received(struct phx__detect *d, uint32_t node, uint64_t now);
PHX_PRIVATE void phx__detect_sent(struct phx__detect *d, uint32_t node, uint64_t now);
/* A heartbeat came. next_us 0: as announced before. busy: the peer answers nobody before that. */
PHX_PRIVATE void phx__detect_heartbeat(struct phx__detect *d, uint32_t node, uint64_t next_us, int busy,
                                       int watched, uint64_t now);
/* What the peer sent waits here, or no more: it is not silent, and we must not seem to be. */
PHX_PRIVATE void phx__detect_behind(struct phx__detect *d, uint32_t node, int yes, uint64_t now);
/* Messages leave on this link: if they do not arrive, that should be noticed soon. */
PHX_PRIVATE void phx__detect_used(struct phx__detect *d, uint32_t node, uint64_t now);
/* There is reason to doubt the link: without a sign of life within this time it is given up. */
PHX_PRIVATE void phx__detect_ask(struct phx__detect *d, uint32_t node, uint64_t within, uint64_t now);
/* A rumour says that node is silent. 1: believe it so far as to pass it on. */
PHX_PRIVATE int phx__detect_rumour(struct phx__detect *d, uint32_t node, uint32_t accuser, uint64_t now);
/* A sign of life that did not come over an own link. */
PHX_PRIVATE void phx__detect_alive(struct phx__detect *d, uint32_t node, uint64_t now);
/* Whether there is a route to node. left: 1: its card says that it left; 2: the host says that it failed, and
 * nothing is reported of it after that. PHX_ENOMEM only if it was not known. */
PHX_PRIVATE int phx__detect_reachable(struct phx__detect *d, uint32_t node, int yes, int left, uint64_t now);
PHX_PRIVATE enum phx_state phx__detect_state(const struct phx__detect *d, uint32_t node, uint64_t *since);
PHX_PRIVATE int phx__detect_is_monitor(const struct phx__detect *d, uint32_t node);
/* NULL if nothing is known of it, or of a link with it. */
PHX_PRIVATE struct phx__detect_link *phx__detect_link_of(const struct phx__detect *d, uint32_t node);
PHX_PRIVATE struct phx__detect_trouble *phx__detect_trouble_of(const struct phx__detect *d, uint32_t node);
/* The same, made if there is none. NULL: no memory; or the node never had a state nor a link. */
PHX_PRIVATE struct phx__detect_trouble *phx__detect_trouble_make(struct phx__detect *d, uint32_t node);
PHX_PRIVATE void phx__detect_forget(struct phx__detect *d, uint32_t node);
/* A timer of kind PHX__TIMER_DETECT_LINK or PHX__TIMER_DETECT_NODE fired. */
PHX_PRIVATE void phx__detect_due(struct phx__detect *d, int kind, uint32_t node, uint64_t now);

#endif
