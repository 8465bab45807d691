/* state.h - struct phx, a list of what its files and rooms keep, and the functions of those files. */
#ifndef PHX_NODE_STATE_H
#define PHX_NODE_STATE_H
#include "detect/detect.h"
#include "dial/dial.h"
#include "names/lost.h"
#include "names/names.h"
#include "node/base.h"
#include "node/links.h"
#include "os/os.h"
#include "post/post.h"
#include "route/route.h"

struct phx__handover { /* names on their way to another node; see handover.c */
    struct phx_range range;
    struct phx_id heir;
    uint64_t epoch;    /* the highest known when they were given away */
    uint64_t at, wait; /* when the heir is asked again, and how long after that */
};

struct phx__tracing { /* a way that is being followed; see trace.c */
    struct phx_id target;
    uint64_t token, key;
    uint64_t until;   /* no longer waited for after it */
    int why;          /* why there is no own link with the target; 0: there is one */
    uint32_t asked;   /* hops 1..asked are asked about */
    uint32_t end;     /* the hop where the way ends; 0: not known yet */
    uint32_t answers; /* of hops 1..asked */
    int result;       /* with end */
    struct phx_hop *hops; /* cfg.hop_limit of them */
    uint64_t *sent_at;    /* as many, behind them in the same block */
};

struct phx__observation { /* what a peer said of where it sees us */
    struct phx_id by;
    struct phx_address from, at; /* the peer's own host; what it said, as one of our addresses */
};

/* What the step has not shown to all rooms, or not told to others. */
struct phx__news {
    uint64_t names_version; /* as last shown to post */
    uint64_t lost_version;  /* as last looked through for lost names, all news of which were told */
    int card_stale;         /* own names or addresses changed */
    int card_late;          /* the card could not be made for lack of memory */
    int late;               /* some change was not taken in for lack of memory */
    uint32_t timer;         /* what is late is looked at again */
    uint32_t told_by;       /* the neighbour that told of the last new node */
};

/* phx_close: see step_leave. */
struct phx__leave {
    int closing, departed, closed; /* phx_close was called; the goodbye is said; all links are closed */
    uint64_t goodbye_at, close_at;
    uint32_t timer;
};

struct phx__step {
    int active;     /* phx_step is on the stack */
    int free_later; /* phx_free was called within it */
    int more;       /* the next step should come at once */
    uint32_t spare_timer;
    uint64_t spare_uses; /* of mem, when that timer was set */
    uint64_t own_name, own_name_version; /* the name that was found to be here last, in which version + 1 */
};

struct phx {
    struct phx_config cfg; /* pointers in it point into this node's own copies, below */
    struct phx__mem mem;
    struct phx_os os;
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
    struct phx__link_set set;
    struct phx__ratelimit lines; /* of the log, by peer and reason */
    struct phx_id self;
    char cluster[65];

    uint64_t now; /* of this step; what the rooms keep is a copy */
    struct phx__step step;
    struct phx__news news;
    struct phx__links links;
    struct phx__listeners listeners;
    struct phx__peers peers;
    struct phx__leave leave;
    struct phx_stats stats; /* what the node itself counts; phx_stats adds what the rooms do */

    struct phx__handover *hands; /* the oldest first */
    uint32_t hand_count, hand_capacity;
    uint32_t hand_timer;
    struct phx__tracing *traces;
    uint32_t trace_count, trace_capacity;
    uint32_t trace_timer;
    uint64_t trace_paid; /* when the answers given to others are paid for */
    struct phx__listener near[PHX__LISTENERS]; /* their companions, handle -1: none; see samehost.c */
    struct phx_address own[PHX__CARD_ADDRESSES]; /* what others are told */
    uint8_t own_count;
    uint8_t own_learnt;            /* bits of own: may give way */
    uint64_t here[32];             /* hashes of our ends of links, the latest kinds */
    struct phx__observation sights[8];   /* not agreed upon, the latest */
    uint32_t here_count, sight_next;
    uint8_t pool[512]; /* random bytes for nonces: asking the world for each costs three system calls */
    size_t pool_left;
};

/* samehost.c: links within this host. A companion for a new listener; another try for what is missing. */
PHX_PRIVATE void phx__node_samehost_listen(phx *p, int listener);
PHX_PRIVATE void phx__node_samehost_again(phx *p);
/* 0 and a connected handle, or an error and TCP is the way. */
PHX_PRIVATE int phx__node_samehost_dial(phx *p, const struct phx_address *to, int *handle);
/* A dialled link was closed for this reason: may it be that TCP leads to somebody else? */
PHX_PRIVATE int phx__node_samehost_is_doubtful(const struct phx__link *l, int reason);
/* Our end of such a link, as TCP would have it: 1, or 0. */
PHX_PRIVATE int phx__node_samehost_here(phx *p, const struct phx__link *l, struct phx_address *here);

/* addr.c: what a link that has come up teaches of our own addresses. */
PHX_PRIVATE void phx__node_addr_learn(phx *p, const struct phx__link *l);
/* keys.c: keys, what is secure, limits. */
PHX_PRIVATE int phx__node_keys_set(phx *p, const struct phx_key *keys, uint32_t count); /* or ENOMEM */
PHX_PRIVATE void phx__node_keys_drop_keys(phx *p);
/* May this node speak there? */
PHX_PRIVATE int phx__node_keys_is_secure(const phx *p, const struct phx_address *a);
PHX_PRIVATE int phx__node_keys_may_adopt(phx *p, int handle, int secure); /* 0 or PHX_EINSECURE */
/* May the end of this link be logged? How many were not before it, or -1: no. */
PHX_PRIVATE int64_t phx__node_keys_may_log(phx *p, const struct phx__link *l, int reason);
PHX_PRIVATE int64_t phx__node_keys_may_log_dial(phx *p, const struct phx_address *to, int reason);
PHX_PRIVATE int phx__node_keys_wants_tls(const phx *p, const struct phx_address *a);
/* Makes ready for TLS: 0, PHX_ENOTSUP, PHX_ENOKEY, PHX_ENOMEM or what is wrong with the files. */
PHX_PRIVATE int phx__node_keys_tls(phx *p);
/* cfg.tls and the files, once the keys are there; the files are read. */
PHX_PRIVATE int phx__node_keys_open_tls(phx *p);

/* frames.c: frames in, control frames out. */
PHX_PRIVATE int phx__node_frames_in(void *ctx, struct phx__link *l, const struct phx__frame *f,
                                    const uint8_t *raw, size_t raw_size);
PHX_PRIVATE size_t phx__node_frames_place(void *ctx, struct phx__link *l, const uint8_t *front,
                                   size_t size, struct phx__place *out);
PHX_PRIVATE void phx__node_frames_placed(void *ctx, struct phx__link *l, const uint8_t *head, size_t size,
                                  const uint8_t *payload);
PHX_PRIVATE int phx__node_frames_ahead(void *ctx, struct phx__link *l, uint32_t from,
                                struct phx__place *out);
PHX_PRIVATE void phx__node_frames_route_ops(phx *p, struct phx__route_ops *ops);
PHX_PRIVATE void phx__node_frames_beat(phx *p, uint32_t node, int flags);
PHX_PRIVATE int phx__node_frames_ack(void *ctx, uint32_t node, const struct phx__ack *a, int gap);

/* suspect.c: failure detection. */
PHX_PRIVATE int phx__node_suspect_detector_check(const struct phx_detector *d); /* 0 or PHX_EINVAL */
/* A link with this node is silent: the word goes to all. It is lost: others are asked. For live. */
PHX_PRIVATE void phx__node_suspect_raise(void *ctx, uint32_t node);
PHX_PRIVATE void phx__node_suspect_seek(void *ctx, uint32_t node);
PHX_PRIVATE int phx__node_suspect_on_suspect(phx *p, struct phx__link *l, const struct phx__frame *f);
PHX_PRIVATE int phx__node_suspect_on_probe(phx *p, struct phx__link *l, const struct phx__frame *f);
/* An entry is about to be taken in: does it refute a suspicion? */
PHX_PRIVATE void phx__node_suspect_refuted(phx *p, const struct phx__entry *e);
/* Names that were broken since the last call, or are no more: tells the host. 0, or PHX_ENOMEM: ask again. */
PHX_PRIVATE int phx__node_suspect_report_broken(phx *p);

/* handover.c: names given to other nodes. */
PHX_PRIVATE int phx__node_handover_on_hand(phx *p, const struct phx__frame *f);
PHX_PRIVATE void phx__node_handover_due(phx *p);
PHX_PRIVATE void phx__node_handover_names(phx *p); /* names have changed */
/* Cuts off *rest, up to and with it, the next stretch that is not being handed to this heir (NULL: to
 * nobody): 1 and *out, or 0. */
PHX_PRIVATE int phx__node_handover_next(const phx *p, const struct phx_id *heir, struct phx_range *rest,
                               struct phx_range *out);
PHX_PRIVATE void phx__node_handover_release(phx *p);             /* own names, but for those */
PHX_PRIVATE void phx__node_handover_gone(phx *p, uint32_t node); /* it has failed or left */
PHX_PRIVATE void phx__node_handover_end(phx *p);                 /* no more of it: releases all */
PHX_PRIVATE void phx__node_handover_free(phx *p);

/* trace.c: which way messages take. */
PHX_PRIVATE int phx__node_trace_on_trace(phx *p, struct phx__link *l, const struct phx__frame *f);
PHX_PRIVATE void phx__node_trace_due(phx *p);
PHX_PRIVATE void phx__node_trace_end(phx *p); /* this node has left */
PHX_PRIVATE void phx__node_trace_free(phx *p);

/* step.c */
/* Makes the node *p, zeroed but for its mem. What it has done is undone by _free also if it fails. */
PHX_PRIVATE int phx__node_step_open(phx *p, const struct phx_config *cfg, uint64_t now);
PHX_PRIVATE void phx__node_step_free(phx *p);

#endif
