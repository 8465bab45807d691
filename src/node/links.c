/* links.c - the node's connections: listeners, dials, one link per pair, writing and closing. */
/*
 * Two nodes that both know of each other may both dial. Exactly one link remains, by these rules, which
 * both sides can follow without asking each other (phx_link_judge):
 *
 *  - Of two connections between the same two nodes the one dialled by the node with the smaller id wins.
 *  - An acceptor that has a winning dial of its own connected parks the other's hello until that dial is
 *    decided, so that the loser is refused only when the winner stands.
 *  - If both are up for a moment, the loser is closed by the side that knows the winner to be up on both
 *    ends: the acceptor of the winner (it has seen the proof), or the dialer once a frame has come.
 *  - A hello from a node we think we are linked with, by a link it dialled itself, means that it has lost
 *    that link: the old one is closed. If we had dialled it, we keep it and refuse: should it be dead, the
 *    heartbeat will tell.
 *  - A higher incarnation replaces everything of a lower one.
 */
#include "node/state.h"

/* Links accepted and not proved at once. The next one takes the place of the oldest, if that has
 * had time for a handshake: a crowd that says nothing and comes slowly keeps nobody out, and one
 * that comes fast waits in the listen queue. Dials are another matter: cfg.max_dials bounds them. */
#define LINKS_STRANGERS 256u
#define LINKS_FAIR_TIME (250 * PHX__MS)
/* Connections taken per listener and step: a crowd at the door must not stop everything else. */
#define LINKS_ACCEPTS 64
/* A listener that ran out of descriptors looks again after this. */
#define LINKS_PAUSE (500 * PHX__MS)
/* Bytes written to one link in one step. */
#define LINKS_WRITE_LIMIT (1u << 20)

/* ---- Slots ----------------------------------------------------------------------------------- */

static struct phx__link *links_new_link(phx *p)
{
    uint32_t slot = 0;
    struct phx__link *l;

    while (slot < p->link_size && p->links[slot] != NULL)
        slot++;
    if (phx__mem_grow(&p->mem, &p->links, &p->link_capacity, slot + 1, sizeof(struct phx__link *))
        /* Twice each slot: a link that was just written to may want it again before the list is swept. */
        || phx__mem_grow(&p->mem, &p->writers, &p->writer_capacity, 2 * (slot + 1),
                         sizeof *p->writers)
        || phx__mem_grow(&p->mem, &p->closed, &p->closed_capacity, slot + 1, sizeof *p->closed))
        return NULL;
    l = phx__mem_zero(&p->mem, sizeof *l);
    if (l == NULL)
        return NULL;
    l->slot = slot;
    p->links[slot] = l;
    if (slot == p->link_size)
        p->link_size++;
    return l;
}

static void links_drop_slot(phx *p, struct phx__link *l)
{
    uint32_t i;

    for (i = 0; l->queued && i < p->writer_count; i++) {
        if (p->writers[i] != l->slot)
            continue;
        p->writers[i] = p->writers[--p->writer_count];
        break;
    }
    p->links[l->slot] = NULL;
    while (p->link_size > 0 && p->links[p->link_size - 1] == NULL)
        p->link_size--;
    phx__mem_put(&p->mem, l, sizeof *l);
}

/* What a link is from the beginning. */
enum links_link_kind { NODE_DIALER = 1, NODE_TLS = 2 };

/* A link around a fresh handle, which nobody watches yet; the handle is closed on failure. */
static int links_open_link(phx *p, int handle, int kind, enum phx__link_state state,
                          struct phx__link **out)
{
    struct phx__link *l = links_new_link(p);
    int err = l == NULL ? PHX_ENOMEM : phx__map_put(&p->handles, (uint64_t)handle, l->slot);

    if (l != NULL) {
        l->dialer = (kind & NODE_DIALER) != 0;
        l->secure = (kind & NODE_TLS) != 0;
    }
    if (err == 0
        && (err = phx__link_open(&p->set, l, handle, state, p->cfg.dial_timeout_us)) != 0)
        phx__map_del(&p->handles, (uint64_t)handle);
    if (err != 0) {
        if (l != NULL)
            links_drop_slot(p, l);
        p->os.close(p->os.world, handle);
        return err;
    }
    *out = l;
    return 0;
}

struct phx__link *phx__node_link(const phx *p, uint32_t node)
{
    if (node >= p->peer_capacity || p->peers[node].link == PHX__NONE)
        return NULL;
    return p->links[p->peers[node].link];
}

void phx__node_links_watch(phx *p, struct phx__link *l)
{
    int events;

    if (l->state == PHX__LINK_CLOSED)
        return;
    events = phx__link_events(l);
    if (events == l->watching)
        return;
    p->set.os_calls++;
    if (p->os.watch(p->os.world, l->handle, events) == 0)
        l->watching = events;
    else
        phx__node_links_close_link(p, l, PHX_ENOMEM, 0);
}

/* ---- Closing --------------------------------------------------------------------------------- */

static void links_log_close(phx *p, const struct phx__link *l, enum phx__link_state was, int reason)
{
    char id[PHX_ID_TEXT], at[PHX_ADDRESS_TEXT];
    int level = reason == PHX_EDUPLICATE || reason == PHX_ECANCELLED        ? PHX_LOG_DEBUG
                : was == PHX__LINK_UP || l->refused || reason == PHX_EPROTO || reason == PHX_ETLS
                    ? PHX_LOG_WARN
                                                                            : PHX_LOG_INFO;

    int64_t before = 0;

    /* What never was a link is told once a minute of each peer and reason: strangers come as often as they
     * like, and a hub with another key is dialled for ever. */
    if (was != PHX__LINK_UP && (before = phx__node_keys_may_log(p, l, reason)) < 0)
        return;
    phx__node_log(p, level, "link %s %s: %s%s%s%s%s",
                  l->peer != PHX__NONE ? phx_id_text(&l->id, id) : "?",
                  l->address.family ? phx_address_text(&l->address, at) : "adopted",
                  was == PHX__LINK_UP        ? "down, "
                  : was == PHX__LINK_DIALING ? "no connection, "
                                             : "no link, ",
                  l->refused ? "refused by the peer: " : "", phx_strerror(reason),
                  l->why != NULL ? ": " : "", l->why != NULL ? l->why : "");
    if (before > 0)
        phx__node_log(p, level, "... and %u more like it in the last minutes", (uint64_t)before);
}

static void links_link_down(phx *p, const struct phx__link *l)
{
    if (phx__node_link(p, l->peer) != l)
        return; /* another link serves this node */
    p->peers[l->peer].link = PHX__NONE;
    p->links_up--;
    p->links_lost++;
    phx__route_down(&p->route, l->peer, p->now);
    phx__detect_link_down(&p->detect, l->peer);
    phx__dial_down(&p->dial, l->peer, p->now);
}

/* Hellos that waited for this dial to be decided. */
static void links_resume_parked(phx *p, const struct phx__link *decided)
{
    uint32_t i;

    for (i = 0; i < p->link_size; i++) {
        struct phx__link *l = p->links[i];
        int err;
        if (l == NULL || l->state != PHX__LINK_PARKED || l == decided)
            continue;
        err = phx__link_resume(&p->set, l);
        if (err != 0 && err != PHX_EAGAIN)
            phx__node_links_close_link(p, l, err, 1);
        else
            phx__node_links_watch(p, l);
    }
}

/* It has proved who it is, or is closed. */
static void links_no_stranger(phx *p, struct phx__link *l)
{
    p->strangers -= l->stranger;
    l->stranger = 0;
}

/* For phx_explain. */
static void links_note_end(phx *p, const struct phx__link *l, int reason)
{
    const struct phx__detect_link *n = phx__detect_link_of(&p->detect, l->peer);
    struct phx__history *past;

    if (l->state != PHX__LINK_UP || n == NULL || phx__node_link(p, l->peer) != l
        || (past = phx__node_step_note(p, l->peer)) == NULL)
        return;
    past->heard_at = n->received_at + p->detect.stalled;
    past->lost_at = p->now;
    past->lost_error = reason;
}

/* disc must not be called while it dials, and a host's callback may call anything: cfg.dial is asked
 * later in the step, when disc is done. So is TCP where the way within the host led to the wrong one. */
static int links_hook_later(phx *p, uint32_t attempt, uint32_t expect, const struct phx_address *to)
{
    if (phx__mem_grow(&p->mem, &p->hooks, &p->hook_capacity, p->hook_count + 1, sizeof *p->hooks))
        return PHX_ENOMEM;
    p->hooks[p->hook_count].attempt = attempt;
    p->hooks[p->hook_count].expect = expect;
    p->hooks[p->hook_count++].to = *to;
    return 0;
}

void phx__node_links_close_link(phx *p, struct phx__link *l, int reason, int tell)
{
    enum phx__link_state was = l->state;

    if (was == PHX__LINK_FREE || was == PHX__LINK_CLOSED)
        return;
    links_log_close(p, l, was, reason);
    p->bad_frames += reason == PHX_EPROTO;
    p->refused += was != PHX__LINK_UP && tell;
    links_note_end(p, l, reason);
    phx__link_close(&p->set, l, reason, tell);
    phx__map_del(&p->handles, (uint64_t)l->handle);
    p->closed[p->closed_count++] = l->slot;
    links_no_stranger(p, l);
    if (was == PHX__LINK_UP)
        links_link_down(p, l);
    if (l->attempt != PHX__NONE) {
        p->dials_failed++;
        if (phx__node_samehost_is_doubtful(l, reason)
            && links_hook_later(p, l->attempt, l->expect, &l->address) == 0)
            p->more = 1; /* the way within the host led to the wrong one: TCP, in this step or the next */
        else
            phx__dial_result(&p->dial, l->attempt, reason, p->now);
        l->attempt = PHX__NONE;
    }
    if (was != PHX__LINK_UP && l->dialer)
        links_resume_parked(p, l);
    phx__node_links_resume_listeners(p);
}

void phx__node_links_sweep(phx *p)
{
    while (p->closed_count > 0)
        links_drop_slot(p, p->links[p->closed[--p->closed_count]]);
}

void phx__node_links_free_links(phx *p)
{
    uint32_t i;

    for (i = 0; i < p->link_size; i++) {
        if (p->links[i] == NULL)
            continue;
        phx__link_close(&p->set, p->links[i], PHX_ECLOSED, 0);
        phx__mem_put(&p->mem, p->links[i], sizeof *p->links[i]);
        p->links[i] = NULL;
    }
    p->link_size = 0;
}

/* ---- Listening ------------------------------------------------------------------------------- */

static struct phx__link *links_oldest_stranger(const phx *p)
{
    struct phx__link *oldest = NULL;
    uint32_t i;

    for (i = 0; i < p->link_size; i++) {
        struct phx__link *l = p->links[i];
        if (l != NULL && l->stranger && (oldest == NULL || l->since < oldest->since))
            oldest = l;
    }
    return oldest;
}

/* When there is room for one more stranger. */
static uint64_t links_room_at(const phx *p)
{
    return p->strangers < LINKS_STRANGERS ? 0 : links_oldest_stranger(p)->since + LINKS_FAIR_TIME;
}

void phx__node_links_look_again(phx *p, uint64_t at)
{
    if (at < phx__timer_at(&p->timers, p->resume_timer))
        phx__timer_set(&p->timers, p->resume_timer, at);
}

static void links_pause(phx *p, struct phx__listener *at, uint64_t until)
{
    at->paused = 1;
    p->set.os_calls++;
    p->os.watch(p->os.world, at->handle, 0);
    phx__node_links_look_again(p, until);
}

static void links_resume(phx *p, struct phx__listener *at)
{
    if (!at->paused)
        return;
    p->set.os_calls++;
    if (p->os.watch(p->os.world, at->handle, PHX_READ) == 0)
        at->paused = 0;
    else
        phx__node_links_look_again(p, p->now + LINKS_PAUSE);
}

void phx__node_links_resume_listeners(phx *p)
{
    uint64_t room_at = links_room_at(p);
    int i;

    if (room_at > p->now) {
        phx__node_links_look_again(p, room_at);
        return;
    }
    for (i = 0; i < p->listener_count; i++) {
        links_resume(p, &p->listeners[i]);
        links_resume(p, &p->near[i]);
    }
}

void phx__node_links_accept(phx *p, int listener)
{
    int near = listener >= (int)PHX__LISTENERS;
    struct phx__listener *at = near ? &p->near[listener - (int)PHX__LISTENERS] : &p->listeners[listener];
    int i, err = 0;

    for (i = 0; i < LINKS_ACCEPTS && err == 0 && links_room_at(p) <= p->now; i++) {
        struct phx_address from;
        struct phx__link *l;
        int handle;
        memset(&from, 0, sizeof from);
        p->set.os_calls++;
        err = p->os.accept(p->os.world, at->handle, &handle, &from);
        if (err == 0
            && (err = links_open_link(p, handle, at->address.tls ? NODE_TLS : 0, PHX__LINK_HELLO, &l))
                   == 0) {
            l->address = from;
            l->address.tls = at->address.tls;
            l->same_host = (uint8_t)near;
            l->stranger = 1;
            p->strangers++;
            p->accepts++;
            /* Who dials says HELLO with the connection: most often it is here already. */
            phx__node_links_ready(p, handle, PHX_READ);
            if (p->strangers > LINKS_STRANGERS)
                phx__node_links_close_link(p, links_oldest_stranger(p), PHX_ELIMIT, 1);
        }
    }
    if (err == 0 && i == LINKS_ACCEPTS)
        p->more = 1;
    if (err == PHX_EMFILE || err == PHX_ENOMEM)
        phx__node_log(p, PHX_LOG_WARN, "listener paused: %s", phx_strerror(err));
    if (err == PHX_EMFILE || err == PHX_ENOMEM)
        links_pause(p, at, p->now + LINKS_PAUSE);
    else if (links_room_at(p) > p->now)
        links_pause(p, at, links_room_at(p));
}

/* ---- Dialling -------------------------------------------------------------------------------- */

/* Most connections within a host are there at once, and then there is no need to wait for them. */
static int links_begin_dial(phx *p, struct phx__link *l)
{
    int err = 0;

    if (!l->same_host) { /* those are connected from the beginning */
        p->set.os_calls++;
        err = p->os.finish(p->os.world, l->handle);
    }
    if (err == 0)
        err = phx__link_connected(&p->set, l);
    if (err != 0 && err != PHX_EAGAIN) {
        phx__node_links_close_link(p, l, err, 0);
        return err;
    }
    phx__node_links_watch(p, l);
    return l->state == PHX__LINK_CLOSED ? PHX_ENOMEM : 0;
}

/* near: first look whether it is within this host. */
static int links_dial(phx *p, uint32_t attempt, uint32_t expect, const struct phx_address *to, int near)
{
    struct phx__link *l;
    int secure = phx__node_keys_wants_tls(p, to), handle, err;

    if (secure && (err = phx__node_keys_tls(p)) != 0)
        return err;
    p->dials++;
    err = near ? phx__node_samehost_dial(p, to, &handle) : PHX_ENOTSUP;
    near = err == 0;
    if (!near) {
        p->set.os_calls++;
        err = p->os.dial(p->os.world, to, &handle);
    }
    if (err == 0)
        err = links_open_link(p, handle, NODE_DIALER | (secure ? NODE_TLS : 0), PHX__LINK_DIALING, &l);
    if (err == 0) {
        l->expect = expect;
        l->address = *to;
        l->address.tls = (unsigned char)secure;
        l->same_host = (uint8_t)near;
        err = links_begin_dial(p, l);
    }
    if (err != 0) {
        p->dials_failed++;
        return err;
    }
    l->attempt = attempt; /* not before: disc hears of a failure at once by what this returns */
    if (l->state != PHX__LINK_DIALING)
        phx__dial_answered(&p->dial, attempt);
    return 0;
}

/* The host's stream as a link that is being dialled. */
static int links_hook_link(phx *p, int handle, const struct phx__deferred_dial *h)
{
    struct phx__link *l;
    int err = p->cfg.tls ? phx__node_keys_tls(p) : 0;

    if (err == 0)
        err = phx__os_sock_adopt(&p->os, handle);
    if (err != 0) {
        p->os.close(p->os.world, handle);
        return err;
    }
    err = links_open_link(p, handle, NODE_DIALER | (p->cfg.tls ? NODE_TLS : 0), PHX__LINK_DIALING, &l);
    if (err != 0)
        return err;
    l->attempt = h->attempt;
    l->address = h->to;
    phx__node_links_watch(p, l);
    return 0;
}

static void links_hook(phx *p, const struct phx__deferred_dial *h)
{
    int handle, err;

    p->dials++;
    handle = p->cfg.dial(p, h->to.path, p->cfg.user);
    if (h->attempt == PHX__NONE || p->free_later) { /* the callback has closed the node, or freed it */
        if (handle >= 0)
            p->os.close(p->os.world, handle);
        return;
    }
    err = handle < 0 ? handle : links_hook_link(p, handle, h);
    if (err == 0)
        return;
    p->dials_failed++;
    if (phx__node_keys_may_log_dial(p, &h->to, err) >= 0)
        phx__node_log(p, PHX_LOG_INFO, "link ? %s: not dialled, %s", h->to.path, phx_strerror(err));
    phx__dial_result(&p->dial, h->attempt, err, p->now);
}

/* The same address once more, by TCP: the attempt goes on. */
static void links_dial_again(phx *p, const struct phx__deferred_dial *h)
{
    int err = links_dial(p, h->attempt, h->expect, &h->to, 0);

    if (err != 0)
        phx__dial_result(&p->dial, h->attempt, err, p->now);
}

void phx__node_links_hooks(phx *p)
{
    uint32_t i;

    for (i = 0; i < p->hook_count && !p->free_later; i++) {
        struct phx__deferred_dial h = p->hooks[i]; /* more may come, and move them */
        if (h.attempt == PHX__NONE)
            continue;
        if (h.to.family == PHX_OTHER)
            links_hook(p, &p->hooks[i]);
        else
            links_dial_again(p, &h);
    }
    p->hook_count = 0;
}

int phx__node_links_dial(void *ctx, uint32_t attempt, uint32_t expect, const struct phx_address *to)
{
    phx *p = ctx;

    if (to->family == PHX_OTHER)
        return links_hook_later(p, attempt, expect, to);
    if (!phx__node_keys_is_secure(p, to))
        return PHX_EINSECURE;
    return links_dial(p, attempt, expect, to, p->cfg.same_host);
}

void phx__node_links_abandon(void *ctx, uint32_t attempt)
{
    phx *p = ctx;
    uint32_t i;

    for (i = 0; i < p->hook_count; i++)
        if (p->hooks[i].attempt == attempt)
            p->hooks[i].attempt = PHX__NONE;
    for (i = 0; i < p->link_size; i++) {
        struct phx__link *l = p->links[i];
        if (l == NULL || l->attempt != attempt || l->state == PHX__LINK_UP)
            continue;
        l->attempt = PHX__NONE; /* nobody waits for the outcome */
        phx__node_links_close_link(p, l, PHX_ECANCELLED, 0);
    }
}

int phx__node_links_adopt(phx *p, int handle, int dialer, int secure)
{
    struct phx__link *l;
    int err;

    p->set.now = p->now;
    err = links_open_link(p, handle, (dialer ? NODE_DIALER : 0) | (secure ? NODE_TLS : 0),
                         PHX__LINK_HELLO, &l);
    if (err == 0 && dialer && (err = phx__link_connected(&p->set, l)) != 0)
        phx__node_links_close_link(p, l, err, 0);
    if (err != 0)
        return err;
    phx__node_links_watch(p, l);
    return l->state == PHX__LINK_CLOSED ? PHX_ENOMEM : 0;
}

/* ---- One link per pair ----------------------------------------------------------------------- */

/* Of two connections between us and this node: does this one win? */
static int links_wins(const phx *p, const struct phx__link *l)
{
    int we_are_smaller = phx__id_compare(p->set.self, &l->id) < 0;

    return l->dialer == we_are_smaller;
}

/* Our own dial that may end at this node, and would win. Only one that is connected counts: an
 * address where nobody answers would hold up a good link for longer than the peer's patience. */
static int links_own_dial(const phx *p, const struct phx_id *id)
{
    uint32_t i;

    for (i = 0; i < p->link_size; i++) {
        const struct phx__link *l = p->links[i];
        if (l != NULL && l->dialer && l->state == PHX__LINK_HELLO && l->expect != PHX__NONE
            && phx__id_equal(&p->ids.at[l->expect], id))
            return 1;
    }
    return 0;
}

static int links_judge_rival(phx *p, struct phx__link *l, struct phx__link *old)
{
    if (l->incarnation > old->incarnation)
        return 0;
    if (l->incarnation < old->incarnation)
        return PHX_EDUPLICATE;
    if (!l->dialer && !old->dialer)
        return 0; /* it dialled twice: it has lost the first */
    if (links_wins(p, l))
        return 0;
    /* If it dials although it has a link, perhaps it has not: a write finds out sooner than silence. */
    phx__detect_ask(&p->detect, old->peer, p->now);
    return PHX_EDUPLICATE;
}

static int links_judge(void *ctx, struct phx__link *l)
{
    phx *p = ctx;
    struct phx__link *old;
    uint32_t node;
    int err;

    if (phx__id_equal(&l->id, p->set.self))
        return PHX_ESELF;
    if (p->closing)
        return PHX_ECLOSED;
    node = phx__id_find(&p->ids, &l->id);
    if (l->attempt != PHX__NONE)
        phx__dial_meet(&p->dial, l->attempt, node);
    if (l->expect != PHX__NONE && !phx__id_equal(&l->id, &p->ids.at[l->expect]))
        return PHX_EPEER;
    old = node == PHX__NONE ? NULL : phx__node_link(p, node);
    if (old == NULL && !l->dialer && p->links_up >= p->cfg.max_accepts)
        return PHX_ELIMIT;
    if (old != NULL && (err = links_judge_rival(p, l, old)) != 0)
        return err;
    if (old == NULL && l->state == PHX__LINK_PARKED && !links_wins(p, l) && links_own_dial(p, &l->id))
        return PHX_EAGAIN;
    return 0;
}

static void links_introduce(void *ctx, const struct phx__link *l, struct phx__link_words *out)
{
    phx *p = ctx;
    const struct phx__dest *self = phx__route_dest(&p->route, PHX__SELF);
    uint32_t node = phx__id_find(&p->ids, &l->id);
    const struct phx__dest *d = node == PHX__NONE ? NULL : phx__route_dest(&p->route, node);

    out->seq = self->seq;
    out->card_version = self->card_version;
    out->have = d != NULL && d->incarnation == l->incarnation ? d->card_version : 0;
}

/* The link that loses. If we accepted the winner we have seen its proof, so it is up on both ends. If we
 * dialled it, the other side may not have seen our proof yet, and would be without any link for a moment
 * if it saw the old one end first: it will close the old one itself, or our patience does. */
static void links_replace(phx *p, struct phx__link *old, int winner_is_dialer)
{
    links_link_down(p, old);
    p->links_lost--; /* not lost: replaced */
    if (winner_is_dialer)
        phx__timer_set(&p->timers, old->timer, p->now + p->cfg.dial_timeout_us);
    else
        phx__node_links_close_link(p, old, PHX_EDUPLICATE, 0);
}

static int links_route_up(phx *p, const struct phx__link *l)
{
    struct phx__route_hello h;

    h.incarnation = l->incarnation;
    h.seq = l->heard.seq;
    h.card = l->heard.card_version;
    h.told_seq = l->said.seq;
    h.told_card = l->heard.have;
    return phx__route_up(&p->route, l->peer, &h, p->now);
}

static int links_link_up(void *ctx, struct phx__link *l)
{
    phx *p = ctx;
    struct phx__link *old;
    uint32_t attempt = l->attempt;
    int err = phx__id_add(&p->ids, &l->id, &l->peer);
    char id[PHX_ID_TEXT], at[PHX_ADDRESS_TEXT];

    links_no_stranger(p, l);
    if (err != 0 || (err = phx__node_step_peer(p, l->peer)) != 0) {
        l->peer = PHX__NONE;
        return err;
    }
    if ((old = phx__node_link(p, l->peer)) != NULL)
        links_replace(p, old, l->dialer);
    if ((err = links_route_up(p, l)) != 0 || (err = phx__detect_link_up(&p->detect, l->peer, p->now)) != 0) {
        phx__route_down(&p->route, l->peer, p->now);
        return err;
    }
    /* Before disc hears of it: that abandons other dials to this node, and the hellos that were
     * parked behind them are to be judged by the link there is. */
    l->generation = ++p->generation;
    p->peers[l->peer].link = l->slot;
    if ((err = phx__dial_up(&p->dial, l->peer, attempt, p->now)) != 0) {
        p->peers[l->peer].link = PHX__NONE;
        phx__route_down(&p->route, l->peer, p->now);
        phx__detect_link_down(&p->detect, l->peer);
        return err;
    }
    p->links_up++;
    l->attempt = PHX__NONE;
    phx__node_log(p, PHX_LOG_INFO, "link %s %s: up%s", phx_id_text(&l->id, id),
                  l->address.family ? phx_address_text(&l->address, at) : "adopted",
                  l->same_host ? ", within this host" : "");
    phx__node_addr_learn(p, l);
    links_resume_parked(p, l);
    phx__node_links_resume_listeners(p);
    p->set.wants(p, l); /* what waited for a link it may have replaced */
    return 0;
}

/* ---- Reading and writing --------------------------------------------------------------------- */

static void links_finish_dial(phx *p, struct phx__link *l)
{
    int err = 0;

    if (!l->same_host) { /* those are connected from the beginning */
        p->set.os_calls++;
        err = p->os.finish(p->os.world, l->handle);
    }
    if (err == PHX_EAGAIN)
        return;
    if (err == 0) {
        phx__dial_answered(&p->dial, l->attempt);
        err = phx__link_connected(&p->set, l);
    }
    if (err != 0)
        phx__node_links_close_link(p, l, err, 0);
    else
        phx__node_links_watch(p, l);
}

void phx__node_links_read(phx *p, struct phx__link *l)
{
    uint64_t before = l->bytes_in;
    int err = phx__link_read(&p->set, l);

    if (err != 0)
        phx__node_links_close_link(p, l, err, err != PHX_ERESET && !l->refused);
    if (l->state == PHX__LINK_CLOSED)
        return;
    if (l->state == PHX__LINK_UP && l->bytes_in != before)
        phx__detect_received(&p->detect, l->peer, p->now);
    p->more |= l->more;
    if (phx__link_events(l) != l->watching)
        phx__node_links_watch(p, l);
}

static void links_wants(void *ctx, struct phx__link *l)
{
    phx *p = ctx;

    if (l->queued || l->state == PHX__LINK_CLOSED)
        return;
    l->queued = 1;
    p->writers[p->writer_count++] = l->slot;
}

void phx__node_links_break(phx *p, struct phx__link *l)
{
    l->broken = PHX_ENOMEM;
    links_wants(p, l);
}

void phx__node_links_ready(phx *p, int handle, int events)
{
    uint32_t slot = phx__map_get(&p->handles, (uint64_t)handle);
    struct phx__link *l;

    if (slot == UINT32_MAX)
        return;
    if (slot & PHX__LISTENER_SLOT) {
        phx__node_links_accept(p, (int)(slot & ~PHX__LISTENER_SLOT));
        return;
    }
    l = p->links[slot];
    if (l->state == PHX__LINK_DIALING) {
        links_finish_dial(p, l);
        return;
    }
    if ((events & PHX_WRITE) && l->full) {
        l->full = 0;
        links_wants(p, l);
    }
    if (events & PHX_READ)
        phx__node_links_read(p, l);
}

static void links_write_link(phx *p, struct phx__link *l)
{
    uint64_t before = l->bytes_out;
    int err = l->broken ? l->broken : phx__link_write(&p->set, l, LINKS_WRITE_LIMIT);

    if (l->state == PHX__LINK_UP && l->bytes_out != before)
        phx__detect_sent(&p->detect, l->peer, p->now);
    if (err != 0 && !l->broken && l->state == PHX__LINK_UP)
        l->broken = err; /* the next step first reads what came before the end: a goodbye, perhaps */
    else if (err != 0)
        phx__node_links_close_link(p, l, err, 0);
    else if (phx__link_events(l) != l->watching)
        phx__node_links_watch(p, l);
}

/* Each link that wants it, once. A link counts as listed while it is written to: acks that its own data
 * brings about leave in the same write, and do not make a step of their own. Others that are listed
 * meanwhile are for the next step. */
void phx__node_links_write(phx *p)
{
    uint32_t i, count = p->writer_count;

    for (i = 0; i < count; i++) {
        struct phx__link *l = p->links[p->writers[i]];
        int writes = l->state != PHX__LINK_CLOSED && l->state != PHX__LINK_DIALING
                     && (l->broken ? p->stepping : !l->full);
        if (writes)
            links_write_link(p, l);
        l->queued = 0;
        if ((writes && !l->dry && !l->full) || l->broken)
            links_wants(p, l);
    }
    for (i = count; i < p->writer_count; i++)
        p->writers[i - count] = p->writers[i];
    p->writer_count -= count;
}

static size_t links_pull(void *ctx, struct phx__link *l, size_t budget)
{
    phx *p = ctx;

    return phx__node_link(p, l->peer) == l ? phx__post_sched_pull(&p->post, l->peer, budget, p->now) : 0;
}

static int links_random(void *ctx, void *out, size_t size)
{
    phx *p = ctx;
    int err;

    if (size > p->pool_left) {
        p->set.os_calls++;
        err = p->os.random(p->os.world, p->pool, sizeof p->pool);
        if (err != 0)
            return err;
        p->pool_left = sizeof p->pool;
    }
    p->pool_left -= size;
    memcpy(out, p->pool + p->pool_left, size);
    memset(p->pool + p->pool_left, 0, size); /* used once */
    return 0;
}

int phx__node_links_open_set(phx *p)
{
    struct phx__link_set *s = &p->set;

    s->mem = &p->mem;
    s->os = &p->os;
    s->timers = &p->timers;
    s->ctx = p;
    phx__link_cluster(s, p->cluster);
    s->self = &p->cfg.id[0];
    s->incarnation = p->cfg.incarnation;
    s->now = p->now;
    s->scratch_size = p->cfg.step_bytes;
    s->block = phx__buf_block_new(&p->mem, s->scratch_size);
    s->scratch = s->block != NULL ? s->block->data : NULL;
    s->judge = links_judge;
    s->introduce = links_introduce;
    s->up = links_link_up;
    s->frame = phx__node_frames_in;
    s->place = phx__node_frames_place;
    s->placed = phx__node_frames_placed;
    s->ahead = phx__node_frames_ahead;
    s->pull = links_pull;
    s->wants = links_wants;
    s->random = links_random;
    return s->scratch == NULL ? PHX_ENOMEM : 0;
}
