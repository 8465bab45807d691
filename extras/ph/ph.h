/* ph.h - the papers' calls for straight-line programs that want to block: send, recv, broken names. */

/* An event loop is not to everybody's taste: a search program, a solver or a master with its
 * workers reads better as a straight line that sends, waits for the answer and goes on. This part
 * gives such a program the calls of the Phoenix papers (Taura et al., PPoPP 2003; Horita, Taura,
 * Chikayama 2004, section 5.1) over phoenix.h. Only phoenix.h is used: it turns phx_step itself
 * whenever the program calls it.
 *
 *      ph_assume(h, me, me);
 *      ph_send(h, master, me, ASK, NULL, 0, PH_FOREVER);
 *      err = ph_recv(h, TASK, PH_FOREVER, &m);
 *      if (err == PH_MSG_ERROR) {              // a name that this program watches is broken
 *          ph_get_broken_vps(h, &all, &broken);
 *          fault_handler(&broken);
 *      }
 *
 * CAVEATS:
 *
 *  - Phoenix lives only inside the calls below. A program that computes for long calls ph_poll now
 *    and then, or announces its silence with phx_busy(ph_core(h), us), which sends what it owes, too.
 *  - One thread per handle; different handles share nothing.
 *  - The queue of messages that nobody has received yet is bounded (ph_config.queue_*). While it is
 *    full nothing more is read from the links, so that senders are held back and nothing is lost,
 *    while heartbeats and messages of ours still go out. Others are then not heard either, nor is
 *    anything relayed: a queue that stays full for longer than T_interval + T_timeout may cost the
 *    links, which come back when there is room again. The bound is looked at before each step, and
 *    one step may bring up to cfg.core.step_bytes per link more than it, and what had come out of
 *    order.
 *  - The paper's ph_recv knows one kind of failure. Here each name that breaks is told once, in its
 *    order among the messages: what arrived before the break is received before it.
 *  - A message counts as acknowledged when it is in the queue of its receiver, not when ph_recv has
 *    given it to the program; and the acknowledgement travels when the receiver calls ph again.
 *
 * Errors are those of phoenix.h: 0 or negative; phx_strerror has the text. A call from inside a
 * callback of the core that would turn phx_step gives PHX_ESTATE. */
#ifndef PH_H
#define PH_H

#include "phoenix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Sets of virtual nodes ------------------------------------------------------------------- */

/* A set of names. ranges[0..count-1] ascend and neither overlap nor touch, so equal sets are equal
 * arrays; read them to iterate, change them only through the calls. Zeroed, or PH_VPS_EMPTY, is the
 * empty set on malloc; set alloc first to take memory from elsewhere. The owner ends it with
 * ph_vps_free. */
struct ph_vps {
    struct phx_range *ranges;
    size_t count, capacity;
    struct phx_alloc alloc; /* alloc.alloc NULL: malloc and free */
};

#define PH_VPS_EMPTY { NULL, 0, 0, { NULL, NULL } }

/* Those that build a set change it wholly or, when they fail, not at all. PHX_ENOMEM; PHX_ERANGE:
 * first is above last. `out` may be one of the operands. */
int ph_vps_make(struct ph_vps *out, const struct phx_range *ranges,
                size_t count); /* in any order */
int ph_vps_copy(struct ph_vps *out, const struct ph_vps *a);
int ph_vps_add(struct ph_vps *s, uint64_t first, uint64_t last);
int ph_vps_remove(struct ph_vps *s, uint64_t first, uint64_t last);
int ph_vps_union(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b);
int ph_vps_intersection(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b);
int ph_vps_difference(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b);

void ph_vps_clear(struct ph_vps *s); /* empty; memory stays */
void ph_vps_free(struct ph_vps *s);  /* empty; memory goes. NULL is fine */

int ph_vps_contains(const struct ph_vps *s, uint64_t name);              /* 1 or 0 */
int ph_vps_equal(const struct ph_vps *a, const struct ph_vps *b);        /* 1 or 0 */
int ph_vps_covers(const struct ph_vps *a, const struct ph_vps *b);       /* all of b in a? 1 or 0 */
int ph_vps_meets(const struct ph_vps *s, uint64_t first, uint64_t last); /* any of these? 1 or 0 */

/* How many names. The whole space has one more than fits, and says UINT64_MAX. */
uint64_t ph_vps_size(const struct ph_vps *s);

/* Name number `index` (0, 1, ...) in ascending order: one by one, or one at random. PHX_ENOTFOUND
 * past the last. */
int ph_vps_at(const struct ph_vps *s, uint64_t index, uint64_t *name);

/* ---- Life ------------------------------------------------------------------------------------ */

struct ph; /* one node with its queue */

struct ph_config {
    /* As phx_config_init leaves it, with your changes. on_message, on_begin, on_abandon and on_writable
     * belong to ph and must be NULL. The other callbacks are called, with core.user, from inside whatever
     * call of ph turns the node. */
    struct phx_config core;
    size_t queue_messages; /* arrived and not yet received; default 16384, at least 1 */
    size_t queue_bytes;    /* the bytes in them; default 64 MiB, at least 1 */
};

void ph_config_init(struct ph_config *cfg);

/* Makes a node and its handle; cfg NULL: all defaults. Errors of phx_new; PHX_EINVAL: a queue of
 * nothing, or a callback that belongs to ph. On failure *out is NULL. */
int ph_init(struct ph **out, const struct ph_config *cfg);

/* Says goodbye, waits up to drain_us until what was sent is acknowledged, and frees the handle in
 * any case; messages not yet received are dropped. 0; PHX_ETIMEDOUT: not all was acknowledged.
 * PHX_ESTATE from inside a callback: nothing happened. NULL is fine. */
int ph_finalize(struct ph *h, uint64_t drain_us);

/* Ends at once, without a goodbye. Not from inside a callback. NULL is fine. */
void ph_free(struct ph *h);

/* The node, for phx_listen, phx_join, phx_adopt, phx_owner, phx_busy, phx_stats and the like. Never
 * hand it to phx_step, phx_close or phx_free. */
phx *ph_core(struct ph *h);

/* ---- Names ----------------------------------------------------------------------------------- */

/* As phx_assume and phx_release. */
int ph_assume(struct ph *h, uint64_t first, uint64_t last);
int ph_release(struct ph *h, uint64_t first, uint64_t last);

/* The names of the set (NULL: all) that nodes which can be reached hold now, this node among them.
 * 0 or PHX_ENOMEM. */
int ph_get_held_vps(struct ph *h, const struct ph_vps *names, struct ph_vps *out);

/* ---- Messages -------------------------------------------------------------------------------- */

#define PH_FOREVER UINT64_MAX

/* What ph_recv says of a break. Not a message, hence negative. */
#define PH_MSG_ERROR PHX_EFAILED

/* A received message. It is yours until ph_msg_free; data is NULL only if size is 0. */
struct ph_msg {
    uint64_t to, from, tag; /* as in struct phx_message */
    struct phx_id source;
    void *data;
    size_t size;
};

/* Sends a copy of data to whoever holds the name `to`; a name nobody holds: it waits here, as with
 * phx_send. Blocks only while the core has no room (PHX_EAGAIN), and then for up to wait_us,
 * turning the node. PHX_ETIMEDOUT: still no room. PHX_EFAILED: no room, and `to` is broken.
 * PHX_ELIMIT: no room, and our own queue is full, so that waiting would be for ever: receive
 * something first. Else as phx_send. */
int ph_send(struct ph *h, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
            uint64_t wait_us);

/* The oldest message with this tag, or any tag: waits for up to wait_us (0: looks once, PH_FOREVER)
 * and always turns the node at least once if it finds none at once. 0: *out is a message, yours
 * now. Else *out is NULL, and PH_MSG_ERROR: names of the watch set broke since, and it is said
 * again until ph_get_broken_vps has told which; messages that arrived before the break come first.
 * PHX_ETIMEDOUT: none came. PHX_ELIMIT: none is there and none can come, because the queue is full
 * of messages with other tags. PHX_ENOMEM: a message arrived for which there was no memory, and is
 * lost; said once for each. PHX_EIO: poll failed. */
int ph_recv(struct ph *h, uint64_t tag, uint64_t wait_us, struct ph_msg **out);
int ph_recv_any(struct ph *h, uint64_t wait_us, struct ph_msg **out);

void ph_msg_free(struct ph *h, struct ph_msg *m); /* NULL is fine */

/* For loops that compute: turns the node once and does not block. 1: a message or an error waits
 * for ph_recv_any; 0: nothing does; or PHX_ESTATE. One system call when the node has nothing to do. */
int ph_poll(struct ph *h);

/* Messages that wait to be received. */
size_t ph_queued(const struct ph *h);

/* Waits until everything sent is acknowledged by its receivers: 0, PHX_ETIMEDOUT, PHX_ELIMIT as
 * ph_send. */
int ph_flush(struct ph *h, uint64_t wait_us);

/* ---- Failures -------------------------------------------------------------------------------- */

/* Which names ph_recv reports when they break; a copy is taken. Until the first call: all names.
 * Names that are broken already when they enter the set count as breaking now. Those that leave it
 * are no longer reported. PHX_ENOMEM: the old set stays. */
int ph_watch(struct ph *h, const struct ph_vps *names);

/* Is a name of the set broken now? 1 or 0. NULL: of any. */
int ph_exist_broken_vps(struct ph *h, const struct ph_vps *names);

/* The names of the set (NULL: all) that are broken now, or have broken since they were last asked
 * for, even if they are back. They are thereby told: ph_recv does not report them again unless they
 * break once more. 0 or PHX_ENOMEM, which changes nothing. */
int ph_get_broken_vps(struct ph *h, const struct ph_vps *names, struct ph_vps *out);

/* One parameter of this node's detector, at run time: a number of neighbours for PH_K, seconds for
 * the rest. PHX_EINVAL: unknown parameter, negative or not a number, or refused by
 * phx_set_detector, e.g. because T_insurance would be below T_interval; then set them all at once,
 * which is phx_set_detector. */
enum ph_parameter { PH_K = 1, PH_T_INTERVAL, PH_T_INSURANCE, PH_T_TIMEOUT, PH_T_BROKEN };
int ph_set_parameter(struct ph *h, int parameter, double value);
int ph_set_parameters(struct ph *h, const struct phx_detector *detector);

#ifdef __cplusplus
}
#endif
#endif
