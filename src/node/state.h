/* state.h - struct phx, a list of what its files and rooms keep, and the functions of those files. */
#ifndef PHX_NODE_STATE_H
#define PHX_NODE_STATE_H
#include "detect/detect.h"
#include "dial/dial.h"
#include "link/link.h"
#include "names/lost.h"
#include "names/names.h"
#include "node/addr.h"
#include "node/handover.h"
#include "node/keys.h"
#include "node/suspect.h"
#include "node/trace.h"
#include "os/os.h"
#include "post/post.h"
#include "route/route.h"

#define PHX__LISTENERS 8u
/* Values of phx__links.handles: a link's slot; or this bit and an index in phx__listeners.at. */
#define PHX__LISTENER_SLOT 0x80000000u

struct phx__listener {
    int handle;
    uint8_t paused; /* not watched: no descriptors, or too many links that are not authenticated */
    uint8_t wanted; /* a companion that is to be opened */
    struct phx_address address;
};

struct phx__listeners {
    struct phx__listener at[2 * PHX__LISTENERS]; /* behind: their companions, handle -1: none */
    int count;
    uint32_t timer; /* paused listeners look again */
};

/* A dial that cannot be made while `dial` asks for it: cfg.dial is to be called, or TCP to be tried. */
struct phx__deferred_dial {
    uint32_t attempt; /* PHX__NONE: given up meanwhile */
    uint32_t expect;
    struct phx_address to;
};

/* See door.c. */
struct phx__door {
    uint32_t room;     /* links of all kinds, by what descriptors there were; 0: not known */
    uint32_t waiting;  /* links that wait for their turn with TLS */
    uint32_t guests;   /* links that were accepted beyond the limit */
    uint64_t short_at; /* when descriptors ran out last, or more were tried, and when to try more */
    uint64_t more_after;
    uint64_t paid_at;  /* when the processor that strangers' TLS has cost is paid for */
};

struct phx__links {
    struct phx__link **at; /* by slot; NULL: free */
    uint32_t size, capacity, up;
    uint32_t unauthenticated; /* links that were accepted and have not proved anything yet */
    uint32_t generation;      /* of the link that came up last */
    struct phx__ring writers; /* links with something to write */
    struct phx__ring closed;  /* those to free at the end of the step */
    struct phx__deferred_dial *deferred; /* emptied within the step */
    uint32_t deferred_count, deferred_capacity;
    struct phx__door door;
    struct phx__map handles;        /* handle -> slot or listener */
    uint32_t last_ready, predicted; /* slot of the link that was ready last; right predictions in a row */
    uint64_t waited_at;             /* when the last wait() was called */
    int parked;                     /* 1: hellos may wait for an own dial */
    uint32_t waiting, turn; /* links for which there was no time, and the slot that had some last */
};

/* What the node keeps of each other node beside the rooms' own arrays. */
struct phx__peer {
    uint32_t link; /* slot of the link that is up + 1; 0: none is */
    uint32_t via;  /* the last next hop; PHX__SELF: there was none */
};

struct phx__peers {
    struct phx__peer *at; /* by node */
    uint32_t capacity;
    uint64_t dead_at; /* when to look at those that failed or left; 0: none did */
    uint64_t fit_at;  /* memory is not given back before */
    size_t dead_bytes; /* what the dead that were looked at take, or more */
    uint64_t vain_at; /* all were looked through for one to forget, in vain: not again in this step */
};

/* What has not been shown to all rooms, nor told to others. */
struct phx__news {
    uint64_t names_version; /* as last shown to post */
    uint64_t lost_version;  /* as last searched for lost names, all of which were reported */
    uint64_t charged_at;    /* the last step in which a new card was charged for the index of names */
    int card_stale;         /* own names or addresses changed */
    int card_late;          /* the card could not be made for lack of memory */
    int owner_late;         /* an owner could not be looked up for lack of memory */
    int late;               /* one of these, or another change was not taken in for lack of memory */
    uint32_t timer;         /* what is late is looked at again */
    uint64_t unheld[64];    /* name | 1, since bit 0 is that of its place: the log has called it unheld */
};

/* phx_close: see step_leave. */
struct phx__leave {
    int closing, departed, closed; /* phx_close was called; the goodbye is said; all links are closed */
    uint64_t goodbye_at, close_at;
    uint32_t timer;
};

#define PHX__LOG_SECOND 20u /* lines above PHX_LOG_DEBUG: others decide how much there is to say */

/* Lines that the host has not been given yet, each behind its level and with its NUL. */
struct phx__log {
    char lines[4096];
    size_t used;
    uint64_t over[PHX__LOG_SECOND], shut; /* a second after each of the last lines, a ring; none before */
    uint32_t next, omitted; /* place in the ring; lines left out since that was told last */
};

struct phx__step {
    int active;     /* 1: phx_step is on the stack, 2: phx_busy or phx_free */
    int free_later; /* phx_free was called within it */
    int more;       /* the next step should come at once */
    int let_go;     /* the host will be silent after it: see phx__node_step_let_go */
    uint64_t deadline; /* watched: as of the end of the last step; a call may make it earlier */
    int watched;    /* the host has asked for phx_fd */
    int woken;      /* a call outside a step has made it readable, and no step has looked since */
    uint64_t read_at; /* when it began to read, by the clock of os.now */
    int first;        /* where it goes on in the list of those that are ready */
    uint32_t spare_timer;
    uint64_t spare_uses; /* of mem, when that timer was set */
    uint64_t own_first, own_more, own_version; /* names found to be here last, in which version + 1 */
    /* Callbacks, by the clock of os.now: when they began, when it was last asked, what one took then. */
    uint64_t began, asked, each;
    uint32_t granted; /* callbacks since it was asked */
    uint32_t told;    /* on_node so far, ever */
    uint64_t passed;  /* messages, when dial last asked */
    int timed, slow;  /* began is of this step; the next step times the first one, too */
    struct phx__log log;
};

/* Copies of what cfg points to. */
struct phx__own {
    struct phx_os world;
    struct phx_alloc alloc;     /* below that of the recorder */
    int64_t allocations;        /* since its last note */
    int unsaid;                 /* a step has begun that is not noted yet */
    char texts[65 + PHX_LABEL]; /* of cfg.cluster, and at 65 of cfg.label */
};

struct phx {
    uint64_t now; /* of this step; what the rooms keep is a copy */
    struct phx__links links;
    struct phx__leave leave;
    struct phx_config cfg; /* pointers in it point into this node's own copies, below */
    struct phx__mem mem;
    struct phx_os os; /* the recorder's, if there is one; else own.world */
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__rnd rnd;
    struct phx__route route;
#ifdef PHX_PAPER
    int (*paper)(phx *p, uint32_t nbr, const struct phx__frame *f); /* see test/sim/paper.h */
#endif
    struct phx__names names;
    struct phx__dial dial;
    struct phx__detect detect;
    struct phx__names_lost lost;
    struct phx__post post;
    struct phx__node_keys keys;
    struct phx__node_addr addr;
    struct phx__node_handover handover;
    struct phx__node_suspect suspect;
    struct phx__node_trace trace;
    struct phx__link_set set;
    struct phx_id self;
    struct phx__own own;

    struct phx__step step;
    struct phx__news news;
    struct phx__listeners listeners;
    struct phx__peers peers;
    struct phx_stats stats; /* what the node itself counts; phx_stats adds what the rooms do */
};

/* frames.c: frames in, control frames out. */
PHX_PRIVATE int phx__node_frames_in(phx *p, struct phx__link *l, const struct phx__frame *f,
                                    const uint8_t *raw, size_t raw_size);
PHX_PRIVATE void phx__node_frames_route_ops(phx *p, struct phx__route_ops *ops);
PHX_PRIVATE void phx__node_frames_beat(phx *p, uint32_t node, int flags);
PHX_PRIVATE void phx__node_frames_charge_names(phx *p); /* the frame that is handled changes owners */
/* See `send` in node/env.h. */
PHX_PRIVATE int phx__node_frames_send(phx *p, uint32_t nbr, int type, int flags, int hops, const void *body);
PHX_PRIVATE int phx__node_frames_ack(phx *p, uint32_t node, const struct phx__ack *a, int gap);

/* door.c: when there is room for a stranger's link (0: now); descriptors have run out; is there no room for a
 * link that this node, or PHX__NONE, dialled; the link that goes, as there are too many of strangers or in
 * all, or NULL; when to look again. */
PHX_PRIVATE uint64_t phx__node_door_room_at(const phx *p);
PHX_PRIVATE void phx__node_door_is_short(phx *p);
PHX_PRIVATE int phx__node_door_is_full(const phx *p, uint32_t node);
/* This link comes up, or was up and goes; before links.up says so. */
PHX_PRIVATE void phx__node_door_passes(phx *p, const struct phx__link *l, int in);
PHX_PRIVATE struct phx__link *phx__node_door_goes(phx *p, int stranger);
PHX_PRIVATE uint64_t phx__node_door_due(phx *p);
/* Must it wait for its turn to begin with TLS? Whose turn is it; NULL: not before *next. It took so long. */
PHX_PRIVATE int phx__node_door_waits(phx *p, struct phx__link *l);
PHX_PRIVATE struct phx__link *phx__node_door_turn(phx *p, uint64_t *next);
PHX_PRIVATE void phx__node_door_charge(phx *p, uint64_t us);

/* wiring.c: opens all brains. 0, or why not. */
PHX_PRIVATE int phx__node_wiring_open(phx *p);

/* step.c */
/* Makes the node *p, zeroed but for its mem. What it has done is undone by _free also if it fails. */
PHX_PRIVATE int phx__node_step_open(phx *p, const struct phx_config *cfg, uint64_t now);
PHX_PRIVATE void phx__node_step_free(phx *p);
/* Acks, own card and news do not wait for company: they leave when links are written next. */
PHX_PRIVATE void phx__node_step_let_go(phx *p);

#endif
