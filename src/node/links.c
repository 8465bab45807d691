/* links.c - the node's connections: listeners, dials, one link per pair, reading and writing. */
/* Two nodes that both know of each other may both dial. Exactly one link remains, by these rules, which both
 * sides follow without asking each other (links_judge):
 *
 *  - Of two connections between the same two nodes the one dialled by the node with the smaller id wins.
 *  - An acceptor that has a connected dial of its own which would win parks the other's HELLO until that dial
 *    is decided, so that the loser is refused only when the winner stands.
 *  - If both are up for a moment, the loser is closed by the side that knows the winner to be up on both
 *    ends: the acceptor of the winner (it has seen the PROOF), or the dialer once a frame has come.
 *  - A HELLO from a node that had dialled the link we have with it means that it has lost that link: the old
 *    one is closed. If we had dialled it, we refuse: should it be dead, heartbeats find out.
 *  - A higher incarnation replaces everything of a lower one.
 *
 * os/samehost.c knows how two processes of one host find each other beside TCP. With cfg.same_host each TCP
 * listener has a companion for them, and each dial of a TCP address looks for one first. The result is an
 * ordinary link. Its socket has no address to learn from, but the hello says which one was dialled. The wrong
 * process may answer, as a firewall that redirects the port is not asked: then the attempt goes on by TCP. */
#include "node/links.h"

#define LINKS_ACCEPTS 64 /* connections accepted per listener and step */
#define LINKS_PAUSE (500 * PHX__MS) /* a listener that ran out of descriptors looks again after this */
#define LINKS_PATIENCE 8u /* times cfg.dial_timeout_us, where turns may be late */
#define LINKS_WRITE_LIMIT (1u << 20) /* bytes written to one link in one step */
/* ---- Slots ----------------------------------------------------------------------------------- */

PHX__COLD static struct phx__link *links_new(phx *p)
{
    struct phx__links *s = &p->links;
    struct phx__link *l;
    uint32_t slot = 0;

    while (slot < s->size && s->at[slot] != NULL)
        slot++;
    if (phx__mem_grow(&p->mem, &s->at, &s->capacity, slot + 1, sizeof(struct phx__link *))
        || (l = phx__mem_zero(&p->mem, sizeof *l)) == NULL)
        return NULL;
    phx__ring_init(&l->ring);
    l->slot = slot;
    s->at[slot] = l;
    s->size += slot == s->size;
    return l;
}

PHX__COLD static void links_drop_slot(phx *p, struct phx__link *l)
{
    struct phx__links *s = &p->links;

    phx__ring_del(&l->ring);
    s->at[l->slot] = NULL;
    while (s->size > 0 && s->at[s->size - 1] == NULL)
        s->size--;
    phx__mem_put(&p->mem, l, sizeof *l);
}

static void links_shut(phx *p, int handle)
{
    if (handle >= 0)
        phx__node_os(p)->close(p->os.world, handle);
}

/* A link around a fresh handle, which nobody watches yet; the handle is closed on failure. */
PHX__COLD static int links_open(phx *p, int handle, int dialer, int secure, enum phx__link_state state,
                      struct phx__link **out)
{
    struct phx__link *l = links_new(p);
    int err = l == NULL ? PHX_ENOMEM : phx__map_put(&p->links.handles, (uint64_t)handle, l->slot);

    *out = l;
    if (err == 0) {
        l->dialer = (uint8_t)dialer;
        l->secure = (uint8_t)secure;
        if (p->route.known > PHX__ROUTE_CROWD && p->detect.limits.insurance_us >= PHX__DETECT_QUIET_US)
            l->said.features = PHX__FEATURE_QUIET;
        l->said.features |= p->route.rtt.on ? PHX__FEATURE_RTT : 0;
        if ((err = phx__link_open(&p->set, l, handle, state, p->cfg.dial_timeout_us)) == 0)
            return 0;
        phx__map_del(&p->links.handles, (uint64_t)handle);
    }
    if (l != NULL)
        links_drop_slot(p, l);
    links_shut(p, handle);
    return err;
}

PHX__COLD static int links_watch_for(phx *p, struct phx__link *l, int events)
{
    int err = phx__node_os(p)->watch(p->os.world, l->handle, events);

    if (err == 0)
        l->watching = events;
    else
        phx__node_links_close(p, l, err, 0);
    return err;
}

static int links_watch(phx *p, struct phx__link *l)
{
    int events = phx__link_events(l);

    if (l->state == PHX__LINK_CLOSED)
        return PHX_ENOMEM;
    return events == l->watching ? 0 : links_watch_for(p, l, events);
}

static void links_look_again(phx *p, uint64_t at)
{
    if (at < phx__timer_at(&p->timers, p->listeners.timer))
        phx__timer_set(&p->timers, p->listeners.timer, at);
}

/* Those that were paused, if there is room for a stranger by now. */
PHX__COLD static void links_resume_listeners(phx *p)
{
    uint64_t room_at = phx__node_door_room_at(p);

    if (room_at > p->now) {
        links_look_again(p, room_at);
        return;
    }
    for (uint32_t i = 0; i < 2 * PHX__LISTENERS; i++) {
        struct phx__listener *at = &p->listeners.at[i];
        if (at->paused && phx__node_os(p)->watch(p->os.world, at->handle, PHX_READ) != 0)
            links_look_again(p, p->now + LINKS_PAUSE);
        else
            at->paused = 0;
    }
}

/* ---- Closing --------------------------------------------------------------------------------- */

PHX__COLD static void links_log_close(phx *p, const struct phx__link *l, enum phx__link_state was, int reason)
{
    struct phx__node_keys_end end = { &l->address, l->end.why, l->dialer, l->unauthenticated };
    int level = reason == PHX_EDUPLICATE || reason == PHX_ECANCELLED        ? PHX_LOG_DEBUG
                : was == PHX__LINK_UP && (reason == PHX_ELIMIT || reason == PHX_ECLOSED || p->leave.closing)
                    ? PHX_LOG_INFO
                : was == PHX__LINK_UP || l->end.refused || reason == PHX_EPROTO || reason == PHX_ETLS
                    ? PHX_LOG_WARN
                                                                            : PHX_LOG_INFO;
    int64_t before = 0;

    /* Strangers come as often as they like, and a hub with another key is dialled for ever. */
    if (was != PHX__LINK_UP && (before = phx__node_keys_may_log(&p->keys, &end, reason, p->now)) < 0)
        return;
    phx__node_log(p, level, "link %n %a: %s%s%s%s%s", l->peer, &l->address,
                  was == PHX__LINK_UP        ? "down, "
                  : was == PHX__LINK_DIALING ? "no connection, "
                                             : "no link, ",
                  l->end.refused ? "refused by the peer: " : "", phx_strerror(reason),
                  l->end.why != NULL ? ": " : "", l->end.why != NULL ? l->end.why : "");
    if (before > 0)
        phx__node_log(p, level, "... and %u more like it in the last minutes", (uint64_t)before);
}

PHX__COLD static void links_down(phx *p, struct phx__link *l, int reason)
{
    if (!phx__node_serves(p, l))
        return; /* another link serves this node */
    p->peers.at[l->peer].link = 0;
    phx__node_door_passes(p, l, 0);
    p->links.up--;
    p->stats.links_lost += reason != PHX_EDUPLICATE; /* then it is replaced, or soon will be */
    phx__route_down(&p->route, l->peer, p->now);
    phx__detect_link_down(&p->detect, l->peer);
    /* One who is alone comes again soon. */
    phx__dial_down(&p->dial, l->peer, reason == PHX_ELIMIT && p->links.up > 0);
    if (reason == PHX_ETIMEDOUT) /* if it is there by another way, this one lost what was sent */
        phx__route_beat_silent(&p->route, l->peer);
    phx__node_dead_note(p, l->peer);
}

/* Hellos that waited for this dial to be decided. */
PHX__COLD static void links_resume_parked(phx *p, const struct phx__link *decided)
{
    struct phx__link *l = NULL;
    int any = p->links.parked;

    p->links.parked = 0;
    while (any && (l = phx__node_each_link(p, l)) != NULL) {
        int err;
        if (l->state != PHX__LINK_PARKED || l == decided)
            continue;
        if ((err = phx__link_hello_resume(&p->set, l)) != 0 && err != PHX_EAGAIN)
            phx__node_links_close(p, l, err, 1);
        else
            (void)links_watch(p, l);
    }
}

/* The peer has proved its id, or the link is closed. */
static void links_authenticated(phx *p, struct phx__link *l)
{
    p->links.door.waiting -= l->in.turn;
    l->in.turn = 0;
    p->links.unauthenticated -= l->unauthenticated;
    l->unauthenticated = 0;
}

/* Later in the step: a callback of the host may call anything, and dial must not be called while it dials. */
PHX__COLD static int links_defer_dial(phx *p, uint32_t attempt, uint32_t expect, const struct phx_address *to)
{
    struct phx__links *s = &p->links;

    if (phx__mem_grow(&p->mem, &s->deferred, &s->deferred_capacity, s->deferred_count + 1,
                      sizeof *s->deferred) != 0)
        return PHX_ENOMEM;
    s->deferred[s->deferred_count++] = (struct phx__deferred_dial){ attempt, expect, *to };
    return 0;
}

PHX__COLD void phx__node_links_close(phx *p, struct phx__link *l, int reason, int tell)
{
    enum phx__link_state was = l->state;

    if (was == PHX__LINK_FREE || was == PHX__LINK_CLOSED)
        return;
    links_log_close(p, l, was, reason);
    p->stats.bad_frames += reason == PHX_EPROTO;
    p->stats.refused += was != PHX__LINK_UP && tell;
    phx__node_note_end(p, l, reason);
    phx__link_close(&p->set, l, reason, tell);
    phx__map_del(&p->links.handles, (uint64_t)l->handle);
    phx__ring_add(&p->links.closed, &l->ring);
    links_authenticated(p, l);
    p->links.waiting -= l->in.waits;
    l->in.waits = 0;
    if (was == PHX__LINK_UP)
        links_down(p, l, reason);
    if (l->attempt != PHX__NONE) {
        p->stats.dials_failed++;
        if (l->same_host && phx__node_doubts_end(&l->address, reason)
            && links_defer_dial(p, l->attempt, l->expect, &l->address) == 0) {
            p->step.more = 1; /* within the host answered the wrong one: TCP, in this step or the next */
            phx__dial_answered(&p->dial, l->attempt, 0);
        } else
            phx__dial_result(&p->dial, l->attempt, reason);
        l->attempt = PHX__NONE;
    }
    if (was != PHX__LINK_UP && l->dialer)
        links_resume_parked(p, l);
    else if (was != PHX__LINK_UP)
        phx__dial_resume(&p->dial, phx__id_find(&p->ids, &l->id));
    links_resume_listeners(p);
}

void phx__node_links_sweep(phx *p)
{
    while (!phx__ring_is_empty(&p->links.closed))
        links_drop_slot(p, (void *)p->links.closed.prev);
}

PHX__COLD void phx__node_links_free(phx *p)
{
    struct phx__links *s = &p->links;
    struct phx__link *l, *next = phx__node_each_link(p, NULL);

    while ((l = next) != NULL) {
        next = phx__node_each_link(p, l);
        if (phx__node_serves(p, l))
            p->peers.at[l->peer].link = 0;
        phx__link_close(&p->set, l, PHX_ECLOSED, 0);
        phx__ring_del(&l->ring);
        s->at[l->slot] = NULL; /* release functions of the links to come may ask */
        phx__mem_put(&p->mem, l, sizeof *l);
    }
    s->size = s->deferred_count = 0;
    for (uint32_t i = 0; i < (uint32_t)p->listeners.count; i++) {
        links_shut(p, p->listeners.at[i].handle);
        links_shut(p, p->listeners.at[PHX__LISTENERS + i].handle); /* its companion */
    }
    phx__map_free(&s->handles);
    phx__mem_put(&p->mem, s->at, s->capacity * sizeof(struct phx__link *));
    phx__mem_put(&p->mem, s->deferred, s->deferred_capacity * sizeof *s->deferred);
    phx__buf_block_drop(p->set.block);
    phx__buf_block_drop(p->set.spare);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Does what it brought wait for time? Then its turn comes in one of the next steps. */
static void links_wait(phx *p, struct phx__link *l, int waits)
{
    if (l->in.waits == waits)
        return;
    p->step.more = 1;
    l->in.waits = (uint8_t)waits;
    p->links.waiting += waits ? 1u : UINT32_MAX;
    if (phx__node_serves(p, l))
        phx__detect_behind(&p->detect, l->peer, waits, p->now);
}

void phx__node_links_read(phx *p, struct phx__link *l)
{
    uint64_t before = l->in.bytes;
    int err;

    if (p->post.calls == 0 && l->state == PHX__LINK_UP
        && !phx__post_outcome_may_call(&p->post, PHX__SHARE_READ, 1)) {
        links_wait(p, l, 1);
        return;
    }
    err = phx__link_read(&p->set, l);

    if (err != 0)
        phx__node_links_close(p, l, err, err != PHX_ERESET && !l->end.refused);
    if (l->state == PHX__LINK_CLOSED)
        return;
    if (l->state == PHX__LINK_UP && l->in.bytes != before)
        phx__detect_received(&p->detect, l->peer, p->now);
    links_wait(p, l, l->in.held && !l->in.resting);
    p->step.more |= l->in.more;
    (void)links_watch(p, l);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static void links_pause(phx *p, struct phx__listener *at, uint64_t until)
{
    at->paused = 1;
    phx__node_os(p)->watch(p->os.world, at->handle, 0);
    links_look_again(p, until);
}

/* Closes some links if there are too many, of strangers or in all: 1 if any. */
PHX__COLD static int links_keep_room(phx *p, int strangers)
{
    struct phx__link *l;
    int some = 0;

    for (; (l = phx__node_door_goes(p, strangers)) != NULL; some = 1)
        phx__node_links_close(p, l, PHX_ELIMIT, 1);
    return some;
}

/* Descriptors have run out: 1 if one is free now. */
PHX__COLD static int links_make_room(phx *p)
{
    phx__node_door_is_short(p);
    links_look_again(p, p->now + LINKS_PAUSE);
    return links_keep_room(p, 1);
}

PHX__COLD static void links_accept(phx *p, int listener)
{
    struct phx__listener *at = &p->listeners.at[listener];
    int i, err = 0;

    for (i = 0; i < LINKS_ACCEPTS && err == 0 && phx__node_door_room_at(p) <= p->now; i++) {
        struct phx_address from;
        struct phx__link *l;
        int handle;
        memset(&from, 0, sizeof from);
        err = phx__node_os(p)->accept(p->os.world, at->handle, &handle, &from);
        if (err == 0 && (err = links_open(p, handle, 0, at->address.tls, PHX__LINK_HELLO, &l)) == 0) {
            l->address = from;
            l->address.tls = at->address.tls;
            l->same_host = listener >= (int)PHX__LISTENERS;
            l->unauthenticated = 1;
            p->links.unauthenticated++;
            p->stats.accepts++;
            /* The dialer sends HELLO with the connection: most often it is here already. */
            if (l->secure) {
                phx__timer_set(&p->timers, l->timer, p->now + LINKS_PATIENCE * p->cfg.dial_timeout_us);
                (void)links_watch(p, l);
            } else
                phx__node_links_read(p, l);
            (void)links_keep_room(p, 1);
        } else if (err == PHX_EMFILE && links_make_room(p))
            err = 0;
    }
    p->step.more |= err == 0 && i == LINKS_ACCEPTS;
    if (err == PHX_EMFILE || err == PHX_ENOMEM) {
        phx__node_log(p, PHX_LOG_WARN, "listener paused: %s", phx_strerror(err));
        links_pause(p, at, p->now + LINKS_PAUSE);
    } else if (phx__node_door_room_at(p) > p->now)
        links_pause(p, at, phx__node_door_room_at(p));
}

/* Watches a new listener, or closes it. */
PHX__COLD static int links_open_listener(phx *p, uint32_t slot, int handle)
{
    int err = phx__map_put(&p->links.handles, (uint64_t)handle, PHX__LISTENER_SLOT | slot);

    if (err == 0 && (err = phx__node_os(p)->watch(p->os.world, handle, PHX_READ)) != 0)
        phx__map_del(&p->links.handles, (uint64_t)handle);
    if (err != 0) {
        links_shut(p, handle);
        return err;
    }
    p->listeners.at[slot].handle = handle;
    p->listeners.at[slot].paused = 0;
    return 0;
}

/* May the log tell of a dial or a companion that failed so? */
PHX__COLD static int links_may_log(phx *p, const struct phx_address *at, int err)
{
    const struct phx__node_keys_end end = { .peer = at, .dialer = 1 };

    return phx__node_keys_may_log(&p->keys, &end, err, p->now) >= 0;
}

/* Opens the companion of a listener for processes of this host, if it is wanted; later if it may be then. */
PHX__COLD static void links_open_companion(phx *p, int listener)
{
    uint32_t slot = PHX__LISTENERS + (uint32_t)listener;
    struct phx__listener *at = &p->listeners.at[slot];
    int handle, err;

    if (!at->wanted)
        return;
    if ((err = phx__node_record_near(p, 1, &at->address, &handle)) == 0)
        err = links_open_listener(p, slot, handle);
    at->wanted = err == PHX_EMFILE || err == PHX_ENOMEM;
    if (at->wanted)
        links_look_again(p, p->now + LINKS_PAUSE);
    if (err != 0 && err != PHX_ENOTSUP && links_may_log(p, &at->address, err))
        phx__node_log(p, PHX_LOG_WARN, "listener %a: processes of this host must use TCP: %s", &at->address,
                      phx_strerror(err));
}

PHX__COLD void phx__node_links_retry_listeners(phx *p)
{
    for (int i = 0; i < p->listeners.count; i++)
        links_open_companion(p, i);
    links_resume_listeners(p);
    (void)links_keep_room(p, 0);
    links_look_again(p, phx__node_door_due(p));
}

PHX__COLD int phx__node_links_listen(phx *p, struct phx_address *a)
{
    struct phx__listener *at = &p->listeners.at[p->listeners.count], *companion = at + PHX__LISTENERS;
    int err, handle, tls = a->tls;

    if (p->listeners.count == (int)PHX__LISTENERS)
        return PHX_ELIMIT;
    if (!phx__node_keys_is_secure(&p->keys, a))
        return PHX_EINSECURE;
    err = phx__node_os(p)->listen(p->os.world, a, &handle);
    if (err != 0 || (err = links_open_listener(p, (uint32_t)p->listeners.count, handle)) != 0)
        return err;
    a->tls = (unsigned char)tls; /* listen() does not keep it */
    at->address = companion->address = *a;
    companion->handle = -1;
    companion->wanted = p->cfg.same_host != 0;
    links_open_companion(p, p->listeners.count++);
    p->dial.listening = 1;
    if (!phx__addr_is_any(a))
        (void)phx__node_addr_add(&p->addr, a); /* a ninth address is not worth a failure */
    p->news.card_stale = 1;
    return 0;
}

/* ---- Dialling -------------------------------------------------------------------------------- */

/* Watches a link if it could begin so far, or closes it. */
PHX__COLD static int links_begin(phx *p, struct phx__link *l, int err)
{
    if (err == 0)
        return links_watch(p, l);
    phx__node_links_close(p, l, err, 0);
    return err;
}

/* Is it connected? Most connections within a host are at once, so this is first asked without a wait. */
PHX__COLD static int links_finish_dial(phx *p, struct phx__link *l)
{
    /* Those within the host are connected from the beginning. */
    int err = l->same_host ? 0 : phx__node_os(p)->finish(p->os.world, l->handle);

    if (err == 0 && l->attempt != PHX__NONE)
        phx__dial_answered(&p->dial, l->attempt, 1);
    /* For the first link of a node any path is better than none. */
    l->hello->padded = p->links.up > 0 && !l->same_host && l->address.family != PHX_UNIX;
    if (err == 0)
        err = phx__link_hello_begin(&p->set, l);
    return links_begin(p, l, err == PHX_EAGAIN ? 0 : err);
}

/* near: first tries the companion of a listener within this host. */
PHX__COLD static int links_dial(phx *p, uint32_t attempt, uint32_t expect, const struct phx_address *to,
                                int near)
{
    struct phx__link *l;
    int secure = phx__node_keys_wants_tls(&p->keys, to), handle, err = 0;

    if (secure && (err = phx__node_keys_tls(&p->keys)) != 0)
        return err;
    p->stats.dials++;
    near = near && p->cfg.same_host && to->family != PHX_UNIX
           && phx__node_record_near(p, 0, to, &handle) == 0;
    if (!near) {
        err = phx__node_os(p)->dial(p->os.world, to, &handle);
        if (err == PHX_EMFILE && links_make_room(p))
            err = phx__node_os(p)->dial(p->os.world, to, &handle);
    }
    if (err == 0 && (err = links_open(p, handle, 1, secure, PHX__LINK_DIALING, &l)) == 0) {
        l->expect = expect;
        l->address = *to;
        l->address.tls = (unsigned char)secure;
        l->same_host = (uint8_t)near;
        if (near) /* a process of this host that says nothing for so long is starved, or the wrong one */
            phx__timer_set(&p->timers, l->timer, p->now + p->cfg.dial_timeout_us / 4);
        err = links_finish_dial(p, l);
    }
    if (err != 0) {
        p->stats.dials_failed++;
        return err;
    }
    l->attempt = attempt; /* not before: what this returns tells dial of a failure */
    if (l->state != PHX__LINK_DIALING)
        phx__dial_answered(&p->dial, attempt, 1);
    return 0;
}

/* The host's stream as a link that is being dialled. */
PHX__COLD static int links_open_stream(phx *p, int handle, const struct phx__deferred_dial *h)
{
    struct phx__link *l;
    int err = p->cfg.tls ? phx__node_keys_tls(&p->keys) : 0;

    if (err == 0)
        err = (int)phx__node_record_note(p, PHX__NOTE_FIT, phx__os_adopt(&p->own.world, handle), NULL, 0);
    if (err != 0) {
        links_shut(p, handle);
    } else if ((err = links_open(p, handle, 1, p->cfg.tls, PHX__LINK_DIALING, &l)) == 0) {
        l->attempt = h->attempt;
        l->address = h->to;
        (void)links_watch(p, l);
    }
    return err;
}

/* A dial that has failed before there was a connection, or the way to one. */
PHX__COLD static void links_not_dialled(phx *p, const struct phx_address *to, int err)
{
    if (links_may_log(p, to, err))
        phx__node_log(p, PHX_LOG_INFO, "link ? %a: not dialled, %s", to, phx_strerror(err));
}

PHX__COLD static void links_dial_other(phx *p, const struct phx__deferred_dial *h, uint32_t i)
{
    int handle, err;

    p->stats.dials++;
    handle = p->cfg.dial(p, h->to.path, PHX__USER(p));
    phx__node_record_note(p, PHX__NOTE_STREAM, handle, NULL, 0);
    /* The callback may have closed the node, or freed it. */
    if (p->links.deferred[i].attempt == PHX__NONE || p->step.free_later) {
        links_shut(p, handle);
        return;
    }
    if ((err = handle < 0 ? handle : links_open_stream(p, handle, h)) == 0)
        return;
    p->stats.dials_failed++;
    links_not_dialled(p, &h->to, err);
    phx__dial_result(&p->dial, h->attempt, err);
}

PHX__COLD void phx__node_links_dial_deferred(phx *p)
{
    struct phx__links *s = &p->links;
    int err;

    for (uint32_t i = 0; i < s->deferred_count && !p->step.free_later; i++) {
        struct phx__deferred_dial d = s->deferred[i]; /* more may come, and move them */
        if (d.attempt == PHX__NONE)
            continue;
        if (d.to.family == PHX_OTHER)
            links_dial_other(p, &d, i);
        else if ((err = links_dial(p, d.attempt, d.expect, &d.to, 0)) != 0) /* the same attempt, now by TCP */
            phx__dial_result(&p->dial, d.attempt, err);
    }
    s->deferred_count = 0;
}

PHX__COLD int phx__node_links_dial(phx *p, uint32_t attempt, uint32_t expect, const struct phx_address *to)
{
    int first = expect == PHX__NONE && phx__dial_is_first(&p->dial, attempt);
    int err;

    phx__node_log(p, first ? PHX_LOG_INFO : PHX_LOG_DEBUG, "link ? %a: dialling", to);
    if (to->family == PHX_OTHER)
        return links_defer_dial(p, attempt, expect, to);
    err = phx__node_keys_is_secure(&p->keys, to) ? links_dial(p, attempt, expect, to, 1) : PHX_EINSECURE;
    if (err != 0)
        links_not_dialled(p, to, err);
    return err;
}

PHX__COLD void phx__node_links_abandon(phx *p, uint32_t attempt)
{
    struct phx__link *l = NULL;

    for (uint32_t i = 0; i < p->links.deferred_count; i++)
        if (p->links.deferred[i].attempt == attempt)
            p->links.deferred[i].attempt = PHX__NONE;
    while ((l = phx__node_each_link(p, l)) != NULL) {
        if (l->attempt != attempt || l->state == PHX__LINK_UP)
            continue;
        l->attempt = PHX__NONE; /* nobody waits for the outcome */
        phx__node_links_close(p, l, PHX_ECANCELLED, 0);
    }
}

PHX__COLD int phx__node_links_adopt(phx *p, int handle, int dialer, int secure)
{
    struct phx__link *l;
    int err = links_open(p, handle, dialer, secure, PHX__LINK_HELLO, &l);

    return err != 0 ? err : links_begin(p, l, dialer ? phx__link_hello_begin(&p->set, l) : 0);
}

/* ---- One link per pair ----------------------------------------------------------------------- */

/* Of two connections between us and this node: does this one win? */
static int links_wins(const phx *p, const struct phx__link *l)
{
    return l->dialer == (phx__id_compare(p->set.self, &l->id) < 0);
}

PHX__COLD static int links_judge_rival(phx *p, struct phx__link *l, struct phx__link *old)
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
    phx__detect_ask(&p->detect, old->peer, p->detect.limits.timeout_us, p->now);
    return PHX_EDUPLICATE;
}

PHX__COLD static int links_judge(phx *p, struct phx__link *l)
{
    struct phx__link *old;
    uint32_t node;
    int err;

    if (phx__id_equal(&l->id, p->set.self))
        return PHX_ESELF;
    if (p->leave.closing)
        return PHX_ECLOSED;
    node = phx__id_find(&p->ids, &l->id);
    if (l->attempt != PHX__NONE)
        phx__dial_meet(&p->dial, l->attempt, node);
    if (l->expect != PHX__NONE && !phx__id_equal(&l->id, &p->ids.at[l->expect]))
        return PHX_EPEER;
    if (node != PHX__NONE && p->ids.used[node] != PHX__ID_USED)
        return PHX_EFAILED;
    if ((old = phx__node_link(p, node)) == NULL && !l->dialer && phx__node_door_is_full(p, node))
        return PHX_ELIMIT;
    if (old != NULL && (err = links_judge_rival(p, l, old)) != 0)
        return err;
    if (old == NULL && phx__node_rest_until(p, node) > p->now) {
        l->end.why = "the path lost data lately";
        return PHX_ETIMEDOUT;
    }
    /* A dial of ours is to win. One without an answer might hold up a good link too long. */
    if (old == NULL && l->state == PHX__LINK_PARKED && !links_wins(p, l)
        && phx__dial_is_answered(&p->dial, node)) {
        p->links.parked = 1;
        return PHX_EAGAIN;
    }
    /* A dial of ours, begun after this answer, might win, and the peer would lose a link that it has used. */
    if (old == NULL && l->state == PHX__LINK_PARKED)
        phx__dial_give_way(&p->dial, node, p->cfg.dial_timeout_us);
    return 0;
}

PHX__COLD static void links_introduce(phx *p, const struct phx__link *l, struct phx__standing *out)
{
    const struct phx__dest *self = phx__route_dest(&p->route, PHX__SELF);
    uint32_t node = phx__id_find(&p->ids, &l->id);
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    out->seq = self->seq;
    out->card_version = self->card_version;
    out->have = d != NULL && d->incarnation == l->incarnation ? phx__node_card_mark(d) : 0;
}

/* The link that loses. If we accepted the winner, we saw its proof: it is up on both ends. If we dialled it,
 * the peer may lack our proof and have no link for a moment: it closes the old one, or our patience does. */
PHX__COLD static void links_replace(phx *p, struct phx__link *old, int winner_is_dialer)
{
    links_down(p, old, PHX_EDUPLICATE);
    if (winner_is_dialer)
        phx__timer_set(&p->timers, old->timer, p->now + p->cfg.dial_timeout_us);
    else
        phx__node_links_close(p, old, PHX_EDUPLICATE, 0);
}

PHX__COLD static int links_route_up(phx *p, const struct phx__link *l)
{
    const struct phx__dest *self = phx__route_dest(&p->route, PHX__SELF);
    uint32_t has = l->heard.have != 0 && l->heard.have == phx__node_card_mark(self) ? self->card_version : 0;
    struct phx__route_hello h = { l->incarnation, l->heard.seq, l->heard.card_version, l->said.seq, has,
                                  (l->heard.features & l->said.features & PHX__FEATURE_RTT) != 0 };

    return phx__route_up(&p->route, l->peer, &h, p->now);
}

/* Our end of a link: 1 and *here, or 0. Within this host it is what TCP would have had. */
PHX__COLD static int links_here(phx *p, const struct phx__link *l, struct phx_address *here)
{
    *here = l->dialer ? l->address : l->observed;
    if (l->same_host)
        return l->dialer || phx__node_record_note(p, PHX__NOTE_OWN,
                                                  phx__os_samehost_is_own(&p->own.world, here), NULL, 0);
    memset(here, 0, sizeof *here);
    return phx__node_os(p)->local(p->os.world, l->handle, here) == 0;
}

/* What a link that has come up teaches of own addresses. */
PHX__COLD static void links_learn_address(phx *p, const struct phx__link *l)
{
    struct phx_address here;
    int taught;

    if (phx__node_addr_is_idle(&p->addr, l) || !links_here(p, l, &here))
        return;
    taught = phx__node_addr_learn(&p->addr, l, &here);
    p->news.card_stale |= taught & PHX__ADDR_NEW;
    if (taught & PHX__ADDR_MOVED)
        phx__dial_moved(&p->dial);
    if (taught & PHX__ADDR_AGREED)
        phx__node_log(p, PHX_LOG_INFO, "others see this node at %a", &p->addr.at[p->addr.count - 1]);
}

PHX__COLD static int links_up(phx *p, struct phx__link *l)
{
    struct phx__detect_trouble *past;
    struct phx__link *old;
    uint32_t attempt = l->attempt;
    int quiet = (l->heard.features & l->said.features & PHX__FEATURE_QUIET) != 0, err;

    links_authenticated(p, l);
    phx__node_dead_make_room(p, &l->id);
    if ((err = phx__id_add(&p->ids, &l->id, &l->peer)) != 0 || (err = phx__node_peer(p, l->peer)) != 0) {
        l->peer = PHX__NONE;
        return err;
    }
    if (p->ids.used[l->peer] != PHX__ID_USED)
        return PHX_EFAILED; /* it was said during the handshake */
    if ((old = phx__node_link(p, l->peer)) != NULL)
        links_replace(p, old, l->dialer);
    if ((past = phx__node_history(p, l->peer)) != NULL && phx__node_rest_until(p, l->peer) != 0)
        past->rests++;
    if ((err = links_route_up(p, l)) == 0
        && (err = phx__detect_link_up(&p->detect, l->peer, quiet, p->now)) == 0) {
        /* First: dial abandons other dials to this node, and HELLOs parked behind them are judged by it. */
        l->generation = ++p->links.generation;
        p->peers.at[l->peer].link = l->slot + 1;
        err = phx__dial_up(&p->dial, l->peer, attempt);
    }
    if (err != 0) {
        p->peers.at[l->peer].link = 0;
        phx__route_down(&p->route, l->peer, p->now);
        phx__detect_link_down(&p->detect, l->peer);
        return err;
    }
    phx__node_door_passes(p, l, 1);
    p->links.up++;
    l->attempt = PHX__NONE;
    phx__node_log(p, PHX_LOG_INFO, "link %n %a: up%s", l->peer, &l->address,
                  l->same_host ? ", within this host" : "");
    links_learn_address(p, l);
    links_resume_parked(p, l);
    links_resume_listeners(p);
    if (phx__node_door_is_full(p, PHX__SELF))
        links_look_again(p, p->now + 1); /* perhaps one too many */
    p->set.ops->wants(p, l); /* what waited for a link it may have replaced */
    return 0;
}

/* ---- What is ready --------------------------------------------------------------------------- */

static void links_wants(phx *p, struct phx__link *l)
{
    if (phx__ring_is_empty(&l->ring)) /* not to be freed, either */
        phx__ring_add(&p->links.writers, &l->ring);
}

/* From now on a stranger has no more patience than without TLS. */
static void links_has_turn(phx *p, struct phx__link *l)
{
    if (l->unauthenticated && phx__timer_at(&p->timers, l->timer) > p->now + p->cfg.dial_timeout_us)
        phx__timer_set(&p->timers, l->timer, p->now + p->cfg.dial_timeout_us);
}

static void links_ready(phx *p, struct phx__link *l, int events)
{
    if (l->state == PHX__LINK_DIALING) {
        (void)links_finish_dial(p, l);
        return;
    }
    if ((events & PHX_WRITE) && l->out.full) {
        l->out.full = 0;
        links_wants(p, l);
    }
    if (!(events & PHX_READ))
        return;
    if (phx__node_door_waits(p, l)) {
        (void)links_watch(p, l);
        return;
    }
    links_has_turn(p, l);
    phx__node_links_read(p, l);
}

uint32_t phx__node_links_ready(phx *p, int handle, int events)
{
    uint32_t slot = phx__map_get(&p->links.handles, (uint64_t)handle);

    if (slot != PHX__NONE && (slot & PHX__LISTENER_SLOT) != 0)
        links_accept(p, (int)(slot & ~PHX__LISTENER_SLOT));
    else if (slot != PHX__NONE)
        links_ready(p, p->links.at[slot], events);
    return slot;
}

PHX__COLD void phx__node_links_admit(phx *p)
{
    uint64_t next, began;
    struct phx__link *l = phx__node_door_turn(p, &next);

    links_look_again(p, next);
    if (l == NULL)
        return;
    began = phx__node_clock(p);
    p->links.door.waiting--;
    l->in.turn = 0;
    links_has_turn(p, l);
    phx__node_links_read(p, l);
    phx__node_door_charge(p, phx__node_clock(p) - began);
    p->step.more |= p->links.door.waiting > 0;
}

/* How long a hello may take where turns are late: who is starved, as others then are, allows eight of its
 * own. In a crowd a proof may be late in any case, and its sender uses the link already: it would lose it. */
PHX__COLD static uint64_t links_patience(const phx *p, const struct phx__link *l)
{
    int crowd = l->state == PHX__LINK_PROOF && p->route.known > PHX__ROUTE_CROWD;

    return LINKS_PATIENCE * (crowd ? p->cfg.dial_timeout_us
                                   : PHX__MIN(phx__detect_longest(&p->detect), p->cfg.dial_timeout_us));
}

PHX__COLD void phx__node_links_due(phx *p, uint32_t slot)
{
    struct phx__link *l = slot < p->links.size ? p->links.at[slot] : NULL;
    enum phx__link_state was = l != NULL ? l->state : PHX__LINK_CLOSED;
    int rested = was != PHX__LINK_CLOSED && l->in.resting;
    uint64_t until;

    if (was == PHX__LINK_CLOSED)
        return;
    l->in.resting = 0;
    if (rested && phx__node_serves(p, l)) {
        links_wait(p, l, l->in.held);
        (void)links_watch(p, l);
        return;
    }
    until = l->since + links_patience(p, l);
    if (was != PHX__LINK_UP && was != PHX__LINK_PARKED)
        links_ready(p, l, PHX_READ); /* what came while we had no turn */
    if (l->state != was)
        until = p->now + p->cfg.dial_timeout_us;
    if (l->state < PHX__LINK_UP && p->now < until)
        phx__timer_set(&p->timers, l->timer, until);
    else if (l->state == was) /* up: it was replaced by another link and the peer has not closed it */
        phx__node_links_close(p, l, was == PHX__LINK_UP ? PHX_EDUPLICATE : PHX_ETIMEDOUT, 0);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void links_write_one(phx *p, struct phx__link *l)
{
    uint64_t before = l->out.bytes;
    int err = l->end.broken ? l->end.broken : phx__link_out_write(&p->set, l, LINKS_WRITE_LIMIT);

    if (l->state == PHX__LINK_UP && l->out.bytes != before)
        phx__detect_sent(&p->detect, l->peer, p->now);
    if (err != 0 && !l->end.broken && l->state == PHX__LINK_UP)
        l->end.broken = err; /* the next step first reads what came before the end: a goodbye, perhaps */
    else if (err != 0)
        phx__node_links_close(p, l, err, 0);
    else
        (void)links_watch(p, l);
}

/* Each link that wants it, once. It counts as listed while it is written to: acks that its data brings about
 * leave in the same write, without a step of their own. Others listed meanwhile are for the next step. */
void phx__node_links_write(phx *p)
{
    struct phx__ring all;

    phx__ring_init(&all);
    phx__ring_move(&all, &p->links.writers);
    while (!phx__ring_is_empty(&all)) {
        struct phx__link *l = (void *)all.next;
        int writes = l->state != PHX__LINK_DIALING && (l->end.broken ? p->step.active == 1 : !l->out.full);
        if (writes)
            links_write_one(p, l);
        if (l->state == PHX__LINK_CLOSED)
            continue;
        phx__ring_del(&l->ring);
        if ((writes && !l->out.dry && !l->out.full) || l->end.broken)
            links_wants(p, l);
    }
}

int phx__node_links_can_write(const phx *p)
{
    const struct phx__ring *at = p->links.writers.next;

    for (; at != &p->links.writers; at = at->next) {
        const struct phx__link *l = (const void *)at;
        if (!l->out.full || l->end.broken)
            return 1;
    }
    return 0;
}

/* ---- What the link room asks for -------------------------------------------------------------- */

/* For frames whose payload is read straight to where it belongs. */
static size_t links_place(phx *p, struct phx__link *l, const uint8_t *front, size_t size,
                          struct phx__place *out)
{
    p->post.recv.from = l->peer;
    return phx__node_serves(p, l) ? phx__post_recv_place(&p->post, front, size, out) : 0;
}

static void links_placed(phx *p, struct phx__link *l, const uint8_t *head, size_t size,
                         const uint8_t *payload)
{
    if (!phx__node_serves(p, l))
        return;
    p->post.recv.from = l->peer;
    phx__post_recv_placed(&p->post, head, size, payload);
    l->place.from = p->post.recv.last_source;
    l->place.large = 1;
}

static int links_ahead(phx *p, struct phx__link *l, uint32_t from, struct phx__place *out)
{
    return phx__node_serves(p, l) && phx__post_recv_ahead(&p->post, from, out);
}

static size_t links_pull(phx *p, struct phx__link *l, size_t budget)
{
    size_t n;

    if (!phx__node_serves(p, l))
        return 0;
    if ((n = phx__post_sched_pull(&p->post, l->peer, &l->out.stream, budget)) > 0)
        phx__detect_used(&p->detect, l->peer, p->now);
    return n;
}

int phx__node_links_random(phx *p, void *out, size_t size)
{
    return phx__node_keys_random(&p->keys, out, size);
}

static const struct phx__link_ops links_ops = {
    links_judge,  links_introduce, links_up,   phx__node_frames_in, links_place,
    links_placed, links_ahead,     links_pull, links_wants,         phx__node_links_random
};

PHX__COLD int phx__node_links_open(phx *p)
{
    struct phx__link_set *s = &p->set;

    s->mem = &p->mem;
    s->os = &p->os;
    s->timers = &p->timers;
    s->ops = &links_ops;
    s->ctx = p;
    phx__link_hello_cluster(s, p->cfg.cluster);
    s->self = &p->cfg.id[0];
    s->incarnation = p->cfg.incarnation;
    s->now = p->now;
    s->scratch_size = s->room = p->cfg.step_bytes;
    s->block = phx__buf_block_new(&p->mem, s->scratch_size);
    s->scratch = s->block != NULL ? s->block->data : NULL;
    return s->scratch == NULL ? PHX_ENOMEM : 0;
}
