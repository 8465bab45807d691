/* step.c - the order of work in one step, and the life of a node. */
/* One step (phx_step) does, in this order:
 *   1. ready connections: accept, finish dials, read and handle frames;
 *   2. deadlines that are due;
 *   3. what routing found (step_settle): new cards go to names, dial and post, routes to post and detect. The
 *      nodes that are new are dialled: connections come first, before routes and messages;
 *   4. messages: local ones, outcomes, on_writable (post);
 *   5. routing tells the neighbours what changed, once no link has more to read;
 *   6. each link writes what waits on it, and links that were closed are freed.
 *
 * This file takes no decision that a room could take. */
#include "node/links.h"

#define STEP_LATE (500 * PHX__MS) /* what was not taken in for lack of memory is looked at again after this */
/* Memory of finished messages kept for the next: two of the largest by default. Unused so long, it goes. */
#define STEP_SPARE_BYTES ((size_t)34 << 20)
#define STEP_SPARE_TIME (2 * PHX__SECOND)
#define STEP_TIMERS 10000 /* deadlines handled in one step */
#define STEP_READY_MOST 128 /* readiness asked for at once */
#define STEP_ROOM_SLOW 16384u /* bytes of one read for a host that is slow */
#define STEP_UNTIMED 16 /* links that are read without asking the clock */
#define STEP_PREDICTED_AFTER 4u
#define STEP_PREDICTED_MOST 16u
/* Predictions end so long after wait(): other nodes of a host that steps rarely would seem dead. */
#define STEP_PREDICTED_TIME (5 * PHX__MS)

static void step_tell_log(phx *p) /* mostly there is nothing, and this is all it costs */
{
    if (p->step.log.used > 0 || p->step.log.omitted > 0)
        phx__node_log_tell(p);
}

/* ---- What is ready --------------------------------------------------------------------------- */

/* The link that should be ready now, or NULL. A host that sleeps until one link is ready learns twice which:
 * when it wakes, and from wait(). Often it is the same each time, or at a relay the two ends of a
 * conversation in turn. So each link keeps which one was ready after it. After STEP_PREDICTED_AFTER right
 * predictions up to STEP_PREDICTED_MOST steps read the predicted link without a wait(). Other links wait for
 * that many reads; a host that sleeps still wakes for them, as their descriptors stay readable. */
static struct phx__link *step_predict(const phx *p)
{
    const struct phx__links *s = &p->links;
    struct phx__link *l;

    if (s->predicted < STEP_PREDICTED_AFTER || s->predicted >= STEP_PREDICTED_AFTER + STEP_PREDICTED_MOST
        || p->detect.blind || p->step.woken || s->waiting > 0 || p->now > s->waited_at + STEP_PREDICTED_TIME
        || s->last_ready >= s->size || s->at[s->last_ready] == NULL || s->at[s->last_ready]->after >= s->size)
        return NULL;
    l = s->at[s->at[s->last_ready]->after];
    return l != NULL && l->state == PHX__LINK_UP && !l->out.full ? l : NULL;
}

/* 1: a link was read. If it had nothing, the prediction was wrong and cost this step its one system call: the
 * next step, which is to come at once, calls wait(). */
static int step_read_predicted(phx *p)
{
    struct phx__link *l = step_predict(p);
    uint64_t before;

    if (l == NULL)
        return 0;
    phx__node_record_flush(p);
    before = l->in.bytes;
    p->links.last_ready = l->slot;
    phx__node_links_read(p, l);
    p->links.predicted = l->in.bytes != before ? p->links.predicted + 1 : 0;
    p->step.more |= l->in.bytes == before;
    return 1;
}

/* What wait() has found, for the next prediction: the slot of the one link, or PHX__NONE. */
static void step_learn_order(phx *p, uint32_t slot)
{
    struct phx__links *s = &p->links;
    struct phx__link *last = s->last_ready < s->size ? s->at[s->last_ready] : NULL;

    if (slot >= s->size || last == NULL || last->after != slot)
        s->predicted = 0;
    else
        s->predicted = PHX__MIN(s->predicted + 1, STEP_PREDICTED_AFTER); /* begins again */
    if (slot >= s->size)
        return;
    if (last != NULL)
        last->after = slot;
    s->last_ready = slot;
}

/* The links for which the last step had no time, in turn. */
static void step_turns(phx *p)
{
    struct phx__links *s = &p->links;
    uint32_t n, slot = s->turn;
    struct phx__link *l;

    phx__node_record_flush(p);
    for (n = s->size; n > 0 && s->waiting > 0; n--) {
        slot = slot + 1 < s->size ? slot + 1 : 0;
        if ((l = s->at[slot]) == NULL || !l->in.waits)
            continue;
        if (!phx__post_outcome_may_call(&p->post, PHX__SHARE_READ, 1))
            break;
        phx__node_links_read(p, l);
        s->turn = slot;
    }
    p->step.more |= s->waiting > 0;
}

/* A node that seldom gets its processor takes long for many links, and it is heard of between its steps only.
 * So it reads for a tenth of the interval that it announces; the next step begins with what is left. */
PHX__COLD static int step_is_late(phx *p, int k, int n)
{
    uint64_t now = phx__node_clock(p);

    p->step.read_at = k == 0 ? now : p->step.read_at;
    if (now - p->step.read_at <= p->detect.limits.interval_us / 10)
        return 0;
    /* Of more than these wait() has turned its list by as many already. */
    p->step.first = n < STEP_READY_MOST ? (p->step.first + k) % n : (int)phx__rnd_below(&p->rnd, (uint64_t)n);
    p->step.more = 1;
    return 1;
}

/* The k-th of n that are ready, or -1: no more in this step. */
static int step_next_ready(phx *p, int k, int n)
{
    if (n > STEP_UNTIMED && k % STEP_UNTIMED == 0 && k < n && step_is_late(p, k, n))
        return -1;
    if (k < n)
        return (p->step.first + k) % n;
    p->step.first = 0;
    return -1;
}

static void step_wait(phx *p)
{
    struct phx_ready ready[STEP_READY_MOST];
    uint32_t slot = PHX__NONE;
    int i, k = 0, n;

    if (step_read_predicted(p))
        return;
    p->links.waited_at = p->now;
    p->step.woken = 0;
    p->set.os_calls++;
    n = phx__node_record_wait(p, ready, STEP_READY_MOST);
    while ((i = step_next_ready(p, k++, n)) >= 0) {
        slot = phx__node_links_ready(p, ready[i].handle, ready[i].events);
        step_tell_log(p);
    }
    step_learn_order(p, n == 1 && ready->events == PHX_READ ? slot : PHX__NONE);
    p->step.more |= n == STEP_READY_MOST;
}

static void step_given(phx *p, const struct pollfd *fds, int n)
{
    int i, k = 0, wake = phx__os_wake_handle(&p->own.world);

    while ((i = step_next_ready(p, k++, n)) >= 0) {
        int broken = fds[i].revents & (POLLERR | POLLHUP | POLLNVAL);
        int events = (fds[i].revents & POLLIN || broken ? PHX_READ : 0)
                     | (fds[i].revents & POLLOUT || broken ? PHX_WRITE : 0);
        if (events == 0 || fds[i].fd < 0)
            continue;
        if (fds[i].fd == wake)
            p->step.woken = 0, phx__os_wake_drain(&p->own.world);
        else
            phx__node_links_ready(p, fds[i].fd, events);
        step_tell_log(p);
    }
}

/* ---- Own card -------------------------------------------------------------------------------- */

PHX__COLD static int step_write_card(phx *p)
{
    const uint32_t claims = phx__names_count(&p->names, PHX__SELF);
    struct phx__card head = {
        .flags = (uint8_t)((p->cfg.relay ? PHX__CARD_RELAYS : 0) | (p->leave.departed ? PHX__CARD_LEFT : 0)),
        .window = (uint32_t)p->cfg.window, .address_count = p->addr.count, .claim_count = claims
    };
    struct phx__writer w;
    size_t size = phx__wire_route_card_size(p->addr.count, claims);
    uint8_t *data = phx__mem_get(&p->mem, size);
    int err;

    if (data == NULL)
        return PHX_ENOMEM;
    memcpy(head.label, p->cfg.label, strlen(p->cfg.label));
    memcpy(head.address, p->addr.at, sizeof head.address);
    phx__buf_writer_init(&w, data, size);
    phx__names_join_pages(&p->names);
    phx__wire_route_put_card(&w, &head, phx__names_claim(&p->names, PHX__SELF, 0));
    err = w.bad ? PHX_EINVAL : phx__route_card(&p->route, data, (uint32_t)w.size, p->now);
    phx__mem_put(&p->mem, data, size);
    return err;
}

/* Changes of names and addresses since the last step become one new card. */
PHX__COLD static void step_renew_card(phx *p)
{
    if (!p->news.card_stale)
        return;
    p->news.card_stale = 0;
    if (step_write_card(p) == 0)
        return;
    phx__node_log(p, PHX_LOG_ERROR, "no memory to announce own names; trying again");
    p->news.late = p->news.card_late = 1;
}

/* ---- What routing found ---------------------------------------------------------------------- */

/* Takes one callback of those that there is time for. done: in this phase; the first is always right. */
static int step_may_tell(phx *p, uint32_t done)
{
    int may = phx__post_outcome_may_call(&p->post, PHX__SHARE_LOCAL, done);

    p->post.calls -= p->post.calls > 0;
    return may;
}

PHX__COLD static void step_report_lost(phx *p)
{
    struct phx__names_conflict lost;
    struct phx_range part;
    uint32_t done = 0;

    while (step_may_tell(p, done++) && phx__names_take_conflict(&p->names, &lost)) {
        /* What is being handed to the winner was to go there. */
        while (phx__node_handover_next(&p->handover, &lost.winner, &lost.range, &part)) {
            phx__node_log(p, PHX_LOG_WARN, "names %u to %u lost to a higher claim", part.first, part.last);
            if (p->cfg.on_conflict != NULL && !p->step.free_later)
                p->cfg.on_conflict(p, part, &lost.winner, PHX__USER(p));
        }
    }
}

/* Names that were broken since the last call, or are no more. 0, or an error: call again. */
PHX__COLD static int step_report_broken(phx *p)
{
    struct phx_lost lost;
    int broken, rest = p->lost.gone.count + p->lost.come.count > 0; /* of an older version */
    int err = phx__names_lost_compare(&p->lost);
    uint32_t done = 0;

    p->news.late |= err != 0;
    for (;; done++) {
        if (!step_may_tell(p, done))
            return PHX_EAGAIN;
        if (!phx__names_lost_take(&p->lost, &lost, &broken))
            return rest ? PHX_EAGAIN : err;
        phx__node_log(p, broken ? PHX_LOG_WARN : PHX_LOG_INFO, "names %u to %u are %s",
                      lost.range.first, lost.range.last, broken ? "broken" : "back");
        if (p->cfg.on_broken != NULL && !p->step.free_later && !p->leave.departed)
            p->cfg.on_broken(p, &lost, broken, PHX__USER(p));
    }
}

/* Shows a new card to the rooms. Without memory the card counts as unseen and comes again: names are the last
 * that may fail, so that those of a node are always of the card that counts as seen. */
PHX__COLD static int step_read_card(phx *p, uint32_t node)
{
    struct phx__card card;
    int changed, err;

    if (!phx__node_card(p, node, &card))
        return PHX_EPROTO; /* cannot be: checked when it came in */
    if (card.flags & PHX__CARD_LEFT)
        phx__dial_forget(&p->dial, node);
    else if ((err = phx__dial_set_addrs(&p->dial, node, card.address, card.address_count)) != 0)
        return err;
    if ((changed = phx__names_set(&p->names, node, &card)) < 0)
        return changed;
    p->news.card_stale |= changed;
    phx__post_sched_window(&p->post, node);
    return 0;
}

PHX__COLD static int step_show_card(phx *p, uint32_t node, const struct phx__dest *d)
{
    int err;

    if (d->card == NULL || d->card_version == 0 || !d->card_new)
        return 0;
    if ((err = step_read_card(p, node)) != 0) {
        phx__node_log(p, PHX_LOG_WARN, "card not taken: %s", phx_strerror(err));
        return err;
    }
    p->route.table.at[node].card_new = 0;
    return 0;
}

/* The host has said that it failed. Routing goes on as for any node, and no other room hears of it again.
 * What waits for its names ends first, as long as these are known. 0, or PHX_ENOMEM: once more. */
PHX__COLD static int step_fail(phx *p, uint32_t node)
{
    const struct phx__claim *c;
    struct phx__link *l = NULL;

    if (p->ids.used[node] == PHX__ID_FAILED)
        return 0;
    for (uint32_t i = 0; (c = phx__names_claim(&p->names, node, i)) != NULL; i++)
        phx__post_box_fail(&p->post, node, c->first, c->last);
    while ((l = phx__node_each_link(p, l)) != NULL)
        if (l->peer == node)
            phx__node_links_close(p, l, PHX_EFAILED, 1);
        else
            (void)phx__buf_slices_reclaim(&l->out.stream, NULL, NULL); /* else when it was written */
    phx__dial_forget(&p->dial, node);
    if (phx__detect_reachable(&p->detect, node, 0, 2, p->now) != 0)
        return PHX_ENOMEM;
    phx__post_box_forget(&p->post, node);
    p->ids.used[node] = PHX__ID_FAILED;
    return 0;
}

/* Shows the rooms what routing found about a node: 0, or an error and it must be shown again. */
static int step_changed(phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    struct phx__peer *peer;
    int err, says, left;

    if (d == NULL || node == PHX__SELF)
        return 0;
    if (phx__node_peer(p, node) != 0)
        return PHX_ENOMEM;
    if (p->ids.used[node] != PHX__ID_USED)
        return step_fail(p, node);
    says = phx__route_table_has_left(d);
    /* A goodbye counts if its owner said it over our link, or there is no link and no way to the owner. */
    left = says && (d->card_own || (d->hops == PHX__UNREACHABLE && phx__node_link(p, node) == NULL));
    /* The card first: names of a node that left must be gone before what is rescued from it is sent again. */
    if (left == says && (err = step_show_card(p, node, d)) != 0)
        return err;
    if (d->reborn)
        phx__post_sched_reborn(&p->post, node);
    p->route.table.at[node].reborn = 0;
    if (d->hops == PHX__UNREACHABLE && phx__detect_state(&p->detect, node, NULL) - 1u < PHX_NODE_SUSPECT)
        p->post.lost_at = p->now; /* a way was there, and with it what it had as a relay is gone */
    phx__post_sched_route(&p->post, node);
    err = phx__detect_reachable(&p->detect, node, d->hops != PHX__UNREACHABLE, left, p->now);
    d = phx__route_dest(&p->route, node); /* the host may have named a node that was not known */
    peer = &p->peers.at[node];
    /* It waits for our end to close: that is how it knows that its goodbye was read. */
    if (left && phx__node_link(p, node) != NULL)
        phx__node_links_close(p, phx__node_link(p, node), PHX_ECLOSED, 0);
    phx__dial_route(&p->dial, node, d->hops != PHX__UNREACHABLE);
    if (d->hops != PHX__UNREACHABLE)
        peer->via = d->next;
    return err;
}

/* Something was not taken in for lack of memory. That is rare: everything is shown once more. */
PHX__COLD static void step_late(phx *p)
{
    p->news.late = 0;
    p->news.card_stale |= p->news.card_late;
    p->post.boxes.look_again |= p->news.owner_late;
    p->news.card_late = p->news.owner_late = 0;
    for (uint32_t node = 1; node < p->ids.size; node++) {
        int failed = phx__detect_state(&p->detect, node, NULL) == PHX_NODE_FAILED;
        int changed = phx__names_dead(&p->names, node, failed);
        p->news.card_stale |= changed > 0;
        p->news.late |= changed < 0 || step_changed(p, node) != 0;
    }
}

/* Most steps bring none of these. */
static int step_has_news(const phx *p)
{
    return (p->route.changed.count | p->names.conflict_count | (unsigned)p->news.late
            | (unsigned)p->news.card_stale | (p->names.version ^ p->news.names_version)
            | (p->names.version ^ p->news.lost_version)) != 0;
}

static void step_names_changed(phx *p, const struct phx__names_changes *c)
{
    const struct phx_range all = { 0, UINT64_MAX };
    int any = c->count > PHX__COUNT(c->at);

    for (uint32_t i = 0; i < (any ? 1 : c->count); i++)
        phx__node_handover_names(&p->handover, any ? &all : &c->at[i], p->now);
    if (any)
        phx__post_box_names(&p->post);
    else
        phx__post_box_ranges(&p->post, c->at, c->count);
}

static void step_settle(phx *p)
{
    uint64_t version;
    uint32_t node, done = 0;
    int err;

    while (step_may_tell(p, done++) && phx__route_advert_changed(&p->route, &node))
        p->news.late |= step_changed(p, node) != 0;
    step_report_lost(p);
    version = p->names.version;
    if ((err = step_report_broken(p)) == 0)
        p->news.lost_version = version;
    p->step.more |= err == PHX_EAGAIN || p->names.conflict_count > 0;
    if (p->news.late && phx__timer_at(&p->timers, p->news.timer) == UINT64_MAX)
        phx__timer_set(&p->timers, p->news.timer, p->now + STEP_LATE);
    if (p->names.version != p->news.names_version) {
        p->news.names_version = p->names.version;
        step_names_changed(p, &p->names.changes);
        if (p->lost.version == p->names.version)
            p->names.changes.count = 0;
    }
    step_renew_card(p);
}

/* ---- The step -------------------------------------------------------------------------------- */

static void step_timer(phx *p, int kind, uint32_t arg)
{
    uint32_t forgotten;

    switch (kind) {
    case PHX__TIMER_LINK: phx__node_links_due(p, arg); break;
    case PHX__TIMER_ROUTE_TELL: phx__route_advert_flush(&p->route, p->now); break;
    case PHX__TIMER_ROUTE_CHORE:
        if ((forgotten = phx__route_chores(&p->route, p->now)) != PHX__NONE)
            phx__node_dead_forget(p, forgotten);
        phx__route_beat_due(&p->route, p->now);
        phx__route_advert_times(&p->route, p->now);
        phx__node_dead_due(p);
        break;
    case PHX__TIMER_DIAL: phx__dial_due(&p->dial); break;
    case PHX__TIMER_HUBS:
        if (phx__dial_lacks_hubs(&p->dial) && !p->step.free_later)
            p->cfg.on_need_hubs(p, PHX__USER(p));
        break;
    case PHX__TIMER_DETECT_LINK:
    case PHX__TIMER_DETECT_NODE: phx__detect_due(&p->detect, kind, arg, p->now); break;
    case PHX__TIMER_POST:
    case PHX__TIMER_POST_HOLD: phx__post_box_due(&p->post, kind, arg); break;
    case PHX__TIMER_ACCEPT: phx__node_links_retry_listeners(p); break;
    case PHX__TIMER_LATE: step_late(p); break;
    case PHX__TIMER_SPARE: phx__mem_drop_spares(&p->mem, p->step.spare_uses); break;
    case PHX__TIMER_HAND: phx__node_handover_due(&p->handover, p->now); break;
    case PHX__TIMER_TRACE: phx__node_trace_due(&p->trace, p->now); break;
    default: break; /* PHX__TIMER_CLOSE: only wakes the step */
    }
}

PHX__APART static void step_timers(phx *p)
{
    int kind, i, in_time = 1;
    uint32_t arg, told = p->step.told;

    for (i = 0; i < STEP_TIMERS && in_time && phx__timer_pop(&p->timers, p->now, &kind, &arg); i++) {
        step_timer(p, kind, arg);
        step_tell_log(p);
        if (p->step.told != told)
            in_time = step_may_tell(p, 1);
        told = p->step.told;
    }
    p->step.more |= i == STEP_TIMERS || !in_time;
}

/* While messages are pending or names being handed, and until shortly before the end, all goes on but nothing
 * new is taken. Then owed acks and a card that says goodbye go out. Neighbours close their ends when they
 * have read it, so nothing written is lost; at the end of the drain the links close all the same. */
PHX__COLD static void step_leave(phx *p)
{
    struct phx__link *l = NULL;

    if (!p->leave.closing || p->leave.closed)
        return;
    if (!p->leave.departed) {
        if ((p->post.pending.count > 0 || p->handover.count > 0 || p->links.waiting > 0)
            && p->now < p->leave.goodbye_at)
            return;
        p->leave.departed = p->news.card_stale = 1;
        p->handover.count = 0;
        phx__node_handover_release(&p->handover);
        p->step.let_go = 1; /* the next step may close */
        phx__timer_set(&p->timers, p->leave.timer, p->leave.close_at);
        return;
    }
    if (p->links.up > 0 && p->now < p->leave.close_at)
        return;
    while ((l = phx__node_each_link(p, l)) != NULL)
        phx__node_links_close(p, l, PHX_ECLOSED, 0);
    phx__post_box_close_all(&p->post);
    phx__node_trace_end(&p->trace);
    p->leave.closed = p->post.outcomes.count == 0; /* else there was no time to tell them all */
}

PHX__COLD void phx__node_step_let_go(phx *p)
{
    p->step.let_go = 0;
    step_renew_card(p);
    phx__post_settle(&p->post);
    p->route.pace.gap = 0;
    p->route.pace.news = p->route.pace.busy = 1;
    phx__route_advert_flush(&p->route, p->now);
}

static int step_work_left(const phx *p)
{
    return p->step.more || p->news.card_stale || phx__node_links_can_write(p);
}

/* Acks and routing leave for the links' queues: all that is owed, or what may not wait for company. */
static void step_tell_others(phx *p, int all)
{
    if (p->set.incarnation != phx__route_dest(&p->route, PHX__SELF)->incarnation) {
        p->set.incarnation = phx__route_dest(&p->route, PHX__SELF)->incarnation;
        phx__post_settle(&p->post); /* it had to rise: others send again what they have no ack of then */
    }
    p->route.pace.busy = p->post.pending.count > 0 || p->post.transit.bytes > 0;
    if (all || p->step.let_go || p->step.free_later)
        phx__node_step_let_go(p);
    else if ((p->route.dirty.count > 0 || p->route.pace.look || p->route.pace.urgent)
             && (!p->step.more || p->leave.departed || p->now > p->route.pace.told_at + 20 * PHX__MS))
        phx__route_advert_flush(&p->route, p->now);
}

int phx_step(phx *p, uint64_t now_us, const struct pollfd *ready, int n)
{
    int was_blind;

    if (p == NULL)
        return PHX_EINVAL;
    if (p->step.active)
        return PHX_ESTATE;
    if (p->cfg.record != NULL && ready != NULL)
        phx__node_record_note(p, PHX__NOTE_STEP_GIVEN, (int64_t)now_us, ready,
                              n < 0 ? 0 : (size_t)n * sizeof *ready);
    p->own.unsaid = p->cfg.record != NULL && ready == NULL;
    p->step.active = 1;
    p->stats.steps++;
    p->step.more = 0;
    if (now_us > p->now) /* a clock that steps back stands still here */
        p->now = now_us;
    p->set.now = p->now;
    was_blind = p->detect.blind;
    phx__detect_step(&p->detect, p->now);
    p->step.timed = 0;
    p->step.granted = p->post.calls = !p->step.slow;
    if (p->links.waiting > 0)
        step_turns(p);
    if (ready == NULL)
        step_wait(p);
    else
        step_given(p, ready, n);
    /* What is read and cannot be shown in the same step must be kept. */
    p->set.room = p->links.waiting > 0 ? STEP_ROOM_SLOW : p->set.scratch_size;
    /* After a stall: what the host found ready it may have found before the stall. */
    if (!p->step.more && (ready == NULL || was_blind))
        p->detect.blind = 0;
    if (phx__timer_next(&p->timers) <= p->now)
        step_timers(p);
    phx__node_links_dial_deferred(p);
    if (p->links.door.waiting > 0)
        phx__node_links_admit(p);
    if (step_has_news(p))
        step_settle(p);
    p->step.more |= phx__post_run(&p->post);
    step_leave(p);
    if (step_has_news(p))
        step_settle(p);
    step_tell_others(p, ready != NULL && n == 0);
    if (!phx__ring_is_empty(&p->links.writers))
        phx__node_links_write(p);
    phx__node_links_sweep(p);
    if (p->mem.spare_bytes > 0 && phx__timer_at(&p->timers, p->step.spare_timer) == UINT64_MAX) {
        p->step.spare_uses = p->mem.spare_uses;
        phx__timer_set(&p->timers, p->step.spare_timer, p->now + STEP_SPARE_TIME);
    }
    step_tell_log(p);
    /* A link that broke while it was written to is news that cannot wait for the next deadline. */
    p->step.more |= (p->route.changed.count | (unsigned)p->route.pace.urgent) != 0;
    p->step.active = 0;
    if (p->step.free_later) {
        phx__node_step_free(p);
        return 0;
    }
    if (p->step.watched)
        p->step.deadline = phx_deadline(p);
    return step_work_left(p);
}

uint64_t phx_deadline(const phx *p)
{
    if (p == NULL)
        return UINT64_MAX;
    if (step_work_left(p) || p->names.version != p->news.names_version || phx__post_ready(&p->post))
        return 0;
    return phx__timer_next(&p->timers);
}

/* ---- Life ------------------------------------------------------------------------------------ */

PHX__COLD static int step_open_identity(phx *p, const struct phx_config *cfg)
{
    uint8_t seed[16];
    struct phx_id id;
    uint32_t self;
    int err;

    if ((err = phx__node_os(p)->random(p->os.world, seed, sizeof seed)) != 0
        || (err = phx__node_os(p)->random(p->os.world, &id, sizeof id)) != 0)
        return err;
    phx__rnd_seed(&p->rnd, phx__buf_load_u64(seed), phx__buf_load_u64(seed + 8));
    if (cfg->id != NULL)
        id = *cfg->id;
    phx__id_init(&p->ids, &p->mem, cfg->max_nodes);
    if (phx__id_add(&p->ids, &id, &self) != 0 || phx__node_peer(p, self) != 0)
        return PHX_ENOMEM;
    p->self = id;
    p->cfg.id = &p->self;
    return 0;
}

PHX__COLD void phx__node_step_free(phx *p)
{
    struct phx__mem mem;

    /* Release callbacks may still call: they find a closed node, in the midst of a step. */
    p->step.active = p->leave.closing = p->step.free_later = 1;
    phx__node_links_free(p);
    phx__post_free(&p->post);
    phx__dial_free(&p->dial);
    phx__detect_free(&p->detect);
    phx__names_lost_free(&p->lost);
    phx__names_free(&p->names);
    phx__route_free(&p->route);
    phx__id_free(&p->ids);
    phx__timer_free(&p->timers);
    phx__mem_put(&p->mem, p->handover.at, p->handover.capacity * sizeof *p->handover.at);
    phx__node_trace_free(&p->trace);
    phx__mem_put(&p->mem, p->peers.at, p->peers.capacity * sizeof *p->peers.at);
    memset(p->set.begun, 0, sizeof p->set.begun); /* made of the keys */
    phx__node_keys_free(&p->keys);
    phx__tls_set_free(p->set.tls);
    if (p->own.world.free != NULL)
        p->own.world.free(p->own.world.world);
    phx__mem_drop_spares(&p->mem, UINT64_MAX);
    mem = p->mem; /* p itself goes last, and the count of it with it */
    phx__mem_put(&mem, p, sizeof *p);
}

/* So that each room can be freed though a later one was not reached. */
static void step_init(phx *p)
{
    p->mem.spare_most = STEP_SPARE_BYTES;
    phx__timer_init(&p->timers, &p->mem);
    phx__map_init(&p->links.handles, &p->mem);
    phx__ring_init(&p->links.writers);
    phx__ring_init(&p->links.closed);
    p->route.mem = p->route.table.mem = p->detect.mem = p->names.mem = p->post.mem = p->lost.mem =
        p->ids.mem = &p->mem;
    p->detect.timers = p->post.timers = &p->timers;
}

PHX__COLD PHX__APART int phx__node_step_open(phx *p, const struct phx_config *cfg, uint64_t now)
{
    int err;

    step_init(p);
    p->now = now;
    if (cfg->os != NULL)
        p->os = *cfg->os;
    else if ((err = phx__os_init(&p->os, &p->mem)) != 0)
        return err;
    p->cfg = *cfg;
    p->own.world = p->os;
    if (cfg->record != NULL)
        phx__node_record_open(p, cfg);
    p->cfg.cluster = memcpy(p->own.texts, cfg->cluster, strlen(cfg->cluster) + 1);
    p->cfg.label = cfg->label == NULL ? "" : memcpy(p->own.texts + 65, cfg->label, strlen(cfg->label) + 1);
    if ((err = step_open_identity(p, cfg)) != 0 || (err = phx__node_wiring_open(p)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_ACCEPT, 0, &p->listeners.timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_LATE, 0, &p->news.timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_SPARE, 0, &p->step.spare_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_CLOSE, 0, &p->leave.timer)) != 0
        || (err = step_write_card(p)) != 0)
        return err;
    return phx__node_links_open(p);
}
