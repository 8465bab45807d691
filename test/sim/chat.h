/* chat.h - processes that send each other messages by name, names that move between them, and a ledger
 * of it all.
 *
 * Each host's process owns the names 10 * host .. 10 * host + 9 (struct sim, names), and others
 * send to the first of them. Besides there may be *roaming* names, which chat_move moves, and which
 * another host takes when their holder has died. What must hold is in ledger.h, and here:
 *
 *   - each message of a living process to a living, reachable one has its outcome in the end, and so
 *     has each message of a process that left in peace;
 *   - PHX_EAGAIN is followed by on_writable, once there is peace;
 *   - what is cast to the names of a host that dies for good is told as failed (chat_bars asks for
 *     it if plan.dead_are_told);
 *   - after every step, a node's memory and queues are within their bounds (check_bounds), and what it
 *     says is pending is what the ledger has no outcome of (check_pending).
 */
#ifndef CHAT_H
#define CHAT_H

#include "ledger.h"
#include "scenario.h"

struct chat_plan {
    uint32_t per_second;   /* messages a second of each process that talks, while time passes ... */
    uint32_t bytes_max;    /* ... of up to so many bytes */
    uint32_t huge_one_in;  /* one of so many has cfg.max_message bytes; 0: none */
    uint32_t first, count; /* to the names of these hosts, and to the roaming ones; count may be 0 */
    uint32_t talk_first, talkers; /* hosts that talk; talkers 0: all */
    uint32_t roaming;      /* how many names may be moved */
    int limits;            /* 1: one message in two has a time limit */
    int cancels;           /* 1: one message in 32 is cancelled a moment later */
    uint32_t cast_one_in;  /* one of so many is a cast to one up to CHAT_RANGES ranges; 0: none */
    uint32_t burst_one_in; /* one of so many is a burst of small mute ones to one name; 0: none */
    uint32_t flee_one_in;  /* one of so many makes its roaming name go inside on_message; 0: none */
    int dead_are_told;     /* 1: what was sent to a host that died later and stays dead must be told */
    int is_strict;         /* 1: the first fault ends the world; 0: faults are counted, for chat_bars */
};

/* A node has one member of a cast per range at most, so this many pass its window together. */
#define CHAT_RANGES 4u

void chat_begin(struct sim *s, const struct chat_plan *plan);
/* No more are sent; those under way go on. */
void chat_hush(struct sim *s);
/* As much as credit allows leaves host a for the name of host b, as messages of `bytes`, from here
 * until chat_hush. */
void chat_pour(struct sim *s, uint32_t a, uint32_t b, uint32_t bytes);
/* Host a casts `bytes` to all hosts' names, as one range. */
void chat_cast_all(struct sim *s, uint32_t a, uint32_t bytes);
/* Moves roaming name k (0 ..): releases it where it is, and lets host `to` assume it gap_us later,
 * or sooner by -gap_us: then both hold it for a while. */
void chat_move(struct sim *s, uint32_t k, uint32_t to, int64_t gap_us);
uint32_t chat_roaming(const struct sim *s); /* how many roaming names there are */
/* Predicate: every message has its outcome, as above. */
int chat_told(struct sim *s);
/* Bytes that host b has heard. */
uint64_t chat_bytes(const struct sim *s, uint32_t b);
uint64_t chat_sent(const struct sim *s);
uint64_t chat_casts(const struct sim *s);   /* of them: casts, each once */
uint64_t chat_refused(const struct sim *s); /* casts that were told PHX_EAGAIN */
uint64_t chat_mute(const struct sim *s);   /* of them: without a token, in bursts */
uint64_t chat_failed(const struct sim *s); /* those that ended otherwise than PHX_OK */
uint64_t chat_failed_to(const struct sim *s, uint32_t b); /* ... of those to host b's own name */
/* How long the messages from host a to b's own name took that were sent since then, at most so many; one
 * that was not heard counts until now. How many. */
size_t chat_delays(const struct sim *s, uint32_t a, uint32_t b, uint64_t since, uint64_t *out, size_t most);
/* Bars "STORY lost", "doubled", "reordered", "without outcome" and "corrupt", limit 0; fails the
 * world if one is short. Waits for the outcomes first, limit_us at most. */
void chat_bars(struct sim *s, const char *story, uint64_t limit_us);
void chat_free(struct sim *s);

/* Called by the host code of scenario.c. */
void chat_heard(struct sim *s, uint32_t host, const struct phx_message *m);
void chat_outcome(struct sim *s, uint32_t host, uint64_t token, uint64_t to, uint64_t tag, int result);
void chat_member(struct sim *s, uint32_t host, uint64_t token, uint64_t to, int result, uint64_t left);
void chat_writable(struct sim *s, uint32_t host, uint64_t to);
void chat_conflict(struct sim *s, uint32_t host, struct phx_range range);
void chat_judged(struct sim *s, uint32_t host, const struct phx_node *node);
void chat_stepped(struct sim *s, uint32_t host);
void chat_leaves(struct sim *s, uint32_t host); /* phx_close was called */
void chat_born(struct sim *s, uint32_t host);
void chat_died(struct sim *s, uint32_t host, int in_peace);

#endif
