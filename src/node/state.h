/* state.h - the node itself; only phx*.c may know it. */
#ifndef PHX_NODE_STATE_H
#define PHX_NODE_STATE_H
#include "names/lost.h"
#include "dial/dial.h"
#include "link/link.h"
#include "detect/detect.h"
#include "names/names.h"
#include "os/os.h"
#include "post/post.h"
#include "route/route.h"

#define PHX__LISTENERS 8u
#define PHX__LISTENER_SLOT \
    0x80000000u /* handle map values: this bit and an index, PHX__LISTENERS more for the companion, or a
                   link slot */

struct phx__listener {
    int handle;
    uint8_t paused; /* not watched: no descriptors, or too many strangers */
    uint8_t wanted; /* of near: not there yet, and to be tried again */
    struct phx_address address;
};

struct phx__deferred_dial { /* an attempt that waits for cfg.dial to be asked, or to go on by TCP */
    uint32_t attempt; /* PHX__NONE: given up meanwhile */
    uint32_t expect;
    struct phx_address to;
};

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

/* What step.c keeps of each node beside the rooms' own arrays. */
struct phx__peer {
    uint64_t life;         /* incarnation + 1, as last seen; 0: none yet */
    uint32_t link;         /* slot of the link that is up, or PHX__NONE */
    uint32_t card_version; /* as last given to names, disc and post; 0: none of this life */
    uint32_t via;          /* the last next hop */
    uint32_t past;         /* place among the pasts + 1; 0: none */
};

/* ... and of those with which something was amiss. */
struct phx__history {
    uint64_t heard_at, lost_at;  /* the last link that was lost: last traffic on it, when */
    uint64_t word_life, word_at; /* the last word of its silence: about which life, when */
    uint32_t word_seq;           /* ... and number */
    int lost_error;              /* why the link was lost */
    uint32_t node;               /* whose */
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

    /* What each step looks at stands together here. */
    uint64_t now, steps;
    uint64_t names_version; /* as last shown to post */
    uint64_t broken_version; /* as last looked through for broken ones, all news of which were told */
    uint64_t mine, mine_version; /* the name that was found to be here last, in which version + 1 */
    int card_stale;         /* own names or addresses changed */
    int late;               /* some change was not taken in for lack of memory */
    uint32_t late_timer;    /* ... and is looked at again */
    int stepping, free_later, more;

    struct phx__link **links; /* by slot; NULL: free */
    uint32_t link_capacity, link_size, links_up;
    uint32_t hot, hot_count; /* slot of the link that was ready last, and how often that was foreseen */
    uint64_t looked_at;      /* at all of them, and not only at that one */
    uint32_t strangers; /* links that were accepted and have not proved anything yet */
    uint32_t
        *writers; /* slots with something to write; room for twice all slots, see node_new_link */
    uint32_t writer_count, writer_capacity;
    uint32_t *closed; /* slots to free at the end of the step */
    uint32_t closed_count, closed_capacity;
    struct phx__deferred_dial *hooks; /* emptied within the step */
    uint32_t hook_count, hook_capacity;
    struct phx__handover *hands; /* the oldest first */
    uint32_t hand_count, hand_capacity;
    uint32_t hand_timer;
    struct phx__tracing *traces;
    uint32_t trace_count, trace_capacity;
    uint32_t trace_timer;
    uint64_t trace_paid; /* when the answers given to others are paid for */
    struct phx__map handles; /* handle -> slot or listener */
    struct phx__peer *peers; /* by node */
    uint32_t peer_capacity;
    struct phx__history *pasts;
    uint32_t past_count, past_capacity;
    uint32_t generation;
    uint32_t teller; /* the neighbour who told of the last new node */

    struct phx__listener listeners[PHX__LISTENERS];
    struct phx__listener near[PHX__LISTENERS]; /* their companions, handle -1: none; see samehost.c */
    int listener_count;
    uint32_t resume_timer;                       /* paused listeners look again */
    struct phx_address own[PHX__CARD_ADDRESSES]; /* what others are told */
    uint8_t own_count;
    uint8_t own_learnt;            /* bits of own: may give way */
    uint64_t here[32];             /* hashes of our ends of links, the latest kinds */
    struct phx__observation sights[8];   /* not agreed upon, the latest */
    uint32_t here_count, sight_next;

    uint32_t spare_timer;
    uint64_t spare_uses;    /* of mem, when that timer was set */
    int closing, left, is_closed;
    uint64_t goodbye_at, close_at;
    int card_late; /* the card could not be made for lack of memory */
    uint32_t close_timer;

    uint8_t
        pool[512]; /* random bytes for nonces: asking the world for each costs three system calls */
    size_t pool_left;

    uint64_t updates_in, entries_in, heartbeats_in, monitor_beats_in, heartbeats_out, dials,
        dials_failed, accepts, refused, links_lost, bad_frames;
};

/* links.c: connections, from listener and dial to frames. */
PHX_PRIVATE int phx__node_links_open_set(phx *p);
PHX_PRIVATE void phx__node_links_accept(phx *p, int listener);
PHX_PRIVATE void phx__node_links_resume_listeners(phx *p);
PHX_PRIVATE void phx__node_links_look_again(phx *p, uint64_t at); /* at the listeners */
PHX_PRIVATE int phx__node_links_dial(void *ctx, uint32_t attempt, uint32_t expect,
                               const struct phx_address *to);
PHX_PRIVATE void phx__node_links_hooks(phx *p); /* asks cfg.dial for what disc wants */
PHX_PRIVATE void phx__node_links_abandon(void *ctx, uint32_t attempt);
PHX_PRIVATE int phx__node_links_adopt(phx *p, int handle, int dialer, int secure);
PHX_PRIVATE struct phx__link *phx__node_link(const phx *p, uint32_t node); /* up, or NULL */
PHX_PRIVATE void phx__node_links_ready(phx *p, int handle, int events);
PHX_PRIVATE void phx__node_links_read(phx *p, struct phx__link *l);
PHX_PRIVATE void phx__node_links_close_link(phx *p, struct phx__link *l, int reason, int tell);
/* Closes the link when its turn to write comes, which is in this step, and not under the feet of a room that
 * goes through its neighbours. */
PHX_PRIVATE void phx__node_links_break(phx *p, struct phx__link *l);
PHX_PRIVATE void phx__node_links_write(phx *p);
PHX_PRIVATE void phx__node_links_sweep(phx *p); /* frees closed links */
PHX_PRIVATE void phx__node_links_free_links(phx *p);
/* Asks the world for what the link waits for, if that changed. */
PHX_PRIVATE void phx__node_links_watch(phx *p, struct phx__link *l);

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

/* explain.c: text for people, at most capacity bytes with the final NUL. */
struct phx__text {
    char *out;
    size_t capacity, size; /* size: of the whole text, also where it did not fit */
};
PHX_PRIVATE void phx__node_explain_text_begin(struct phx__text *t, char *out, size_t capacity);
PHX_PRIVATE void phx__node_explain_text_put(struct phx__text *t, const char *s);
PHX_PRIVATE void phx__node_explain_text_number(struct phx__text *t, uint64_t v);
PHX_PRIVATE int phx__node_explain_text_end(const struct phx__text *t); /* how long it is, like snprintf */
PHX_PRIVATE const char *phx__node_explain_state_text(enum phx_state state);

/* api.c */
PHX_PRIVATE int phx__node_api_config_check(const struct phx_config *c); /* 0 or why not */

/* step.c */
PHX_PRIVATE void phx__node_log(phx *p, int level, const char *format, ...);
PHX_PRIVATE void phx__node_step_fill(const phx *p, uint32_t node, struct phx_node *out);
/* What a node's card says, at most PHX__CARD_ADDRESSES of them: how many. */
PHX_PRIVATE uint32_t phx__node_step_addresses(void *ctx, uint32_t node, struct phx_address *out);
PHX_PRIVATE int phx__node_step_peer(phx *p, uint32_t node); /* makes room in peers; 0 or PHX_ENOMEM */
/* What was amiss with this node; NULL: nothing. The same, made if there was nothing; NULL: no memory. */
PHX_PRIVATE struct phx__history *phx__node_step_past(const phx *p, uint32_t node);
PHX_PRIVATE struct phx__history *phx__node_step_note(phx *p, uint32_t node);
PHX_PRIVATE int phx__node_step_own_address(phx *p, const struct phx_address *a); /* 1: a new one */

#endif
