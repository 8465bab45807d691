/* wiring.c - the brains of the node: what each asks of the others, of links and of the host. */
#include "node/links.h"

/* Nodes that are dialled as soon as they are heard of; dial.c says how others start. */
#define WIRING_START 8u

/* ---- Dialling and failure detection ---------------------------------------------------------- */

static int wiring_busy(phx *p)
{
    const struct phx__post_counters *c = &p->post.counters;
    uint64_t passed = c->messages_in + c->messages_out + c->relayed_frames, before = p->step.passed;

    p->step.passed = passed;
    return passed != before || p->post.pending.count > 0 || p->post.transit.bytes > 0;
}

PHX__COLD static void wiring_silent(phx *p, uint32_t node, uint64_t us)
{
    struct phx__link *l = phx__node_link(p, node);

    if (l == NULL)
        return;
    phx__node_log(p, PHX_LOG_WARN, "link %n: no frame for %u ms", node, us / PHX__MS);
    phx__node_links_close(p, l, PHX_ETIMEDOUT, 0);
}

PHX__COLD static void wiring_state(phx *p, uint32_t node, enum phx_state state)
{
    struct phx_node n;
    int changed = phx__names_dead(&p->names, node, state == PHX_NODE_FAILED);

    p->news.card_stale |= changed > 0;
    p->news.late |= changed < 0;
    if (state == PHX_NODE_FAILED || state == PHX_NODE_LEFT) {
        phx__names_trim(&p->names, node);
        if (state == PHX_NODE_FAILED)
            p->route.table.at[node].card_new = 1; /* its card is shown again when it is back */
        phx__node_dead_note(p, node);
        phx__post_box_failed(&p->post, node);
        phx__node_handover_gone(&p->handover, node);
    }
    if (p->cfg.on_node == NULL || p->step.free_later || p->leave.departed)
        return; /* after its goodbye a node closes its own links: that is no news of others */
    phx__node_fill(p, node, &n);
    p->step.told++;
    p->cfg.on_node(p, &n, PHX__USER(p));
}

static uint64_t wiring_failed_at(phx *p, uint32_t node)
{
    uint64_t since;

    (void)phx__detect_state(&p->detect, node, &since);
    return since;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static int wiring_segment(phx *p, uint64_t name, uint32_t *owner, uint64_t *last)
{
    struct phx_range around;
    uint32_t node;
    int err;

    node = phx__names_owner(&p->names, name, &around, &err);
    if (err != 0) /* post asks again when there is memory, perhaps */
        p->news.late = p->news.owner_late = 1;
    if (node == PHX__SELF) {
        p->step.own_first = around.first;
        p->step.own_more = around.last - around.first;
        p->step.own_version = p->names.version + 1;
    }
    /* The claim of a node that failed stands, but nobody is there to take messages. */
    *owner = phx__node_is_gone(p, node) ? PHX__NONE : node;
    *last = around.last;
    return err;
}

static uint32_t wiring_owner(phx *p, uint64_t name)
{
    uint32_t node;
    uint64_t last;

    /* Messages that come one after another are often for one range of ours. */
    if (name - p->step.own_first <= p->step.own_more && p->step.own_version == p->names.version + 1)
        return PHX__SELF;
    (void)wiring_segment(p, name, &node, &last);
    return node;
}

static int wiring_has(phx *p, uint32_t node, const struct phx_range *range, struct phx_range *out)
{
    return phx__names_held(&p->names, node, range, UINT64_MAX, out);
}

static uint32_t wiring_next(phx *p, uint32_t node, uint32_t *generation)
{
    uint32_t next = phx__route_next(&p->route, node);
    const struct phx__link *l = phx__node_link(p, next);

    if (l == NULL)
        return PHX__NONE;
    if (next != node) /* traffic: worth a link of its own, if one can be made */
        phx__dial_want(&p->dial, node);
    *generation = l->generation;
    return next;
}

static int wiring_leads(phx *p, uint32_t node, uint32_t nbr, uint32_t generation)
{
    const struct phx__link *l = phx__node_link(p, nbr);
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    const struct phx__offer *offer = d == NULL ? NULL : phx__route_table_offer(d, nbr);

    return l != NULL && l->generation == generation && offer != NULL && offer->hops != PHX__UNREACHABLE;
}

PHX__COLD static uint32_t wiring_window(phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    int has = d != NULL && d->card != NULL && d->card->size >= PHX__CARD_WINDOW + 4;
    uint32_t window = has ? phx__buf_load_u32(d->card->at + PHX__CARD_WINDOW) : 0;

    return window >= PHX__CARD_WINDOW_MIN ? window : 0;
}

static void wiring_wants(phx *p, uint32_t nbr)
{
    struct phx__link *l = phx__node_link(p, nbr);

    if (l != NULL)
        p->set.ops->wants(p, l);
}

static void wiring_message(phx *p, const struct phx_message *m)
{
    if (p->cfg.on_message != NULL && !p->step.free_later)
        p->cfg.on_message(p, m, PHX__USER(p));
    else
        p->post.recv.unseen = 1;
}

static void *wiring_begin(phx *p, const struct phx_message *m)
{
    void *buffer = p->step.free_later ? NULL : p->cfg.on_begin(p, m, PHX__USER(p));

    phx__node_record_note(p, PHX__NOTE_BEGIN, (int64_t)(intptr_t)buffer, NULL, 0);
    return buffer;
}

/* Also if the node is being freed: it is the only word that the host gets of this buffer. */
static void wiring_abandon(phx *p, void *buffer, size_t size)
{
    p->cfg.on_abandon(p, buffer, size, PHX__USER(p));
}

static void wiring_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result)
{
    if (p->cfg.on_done != NULL && !p->step.free_later)
        p->cfg.on_done(p, token, to, tag, result, PHX__USER(p));
}

PHX__COLD static void wiring_lost_messages(phx *p, uint32_t count, uint64_t to, int result)
{
    phx__node_log(p, PHX_LOG_WARN, "messages without a token lost: %u, the last one to name %u: %s",
                  (uint64_t)count, to, phx_strerror(result));
}

/* Said once for each name, as far as those that were said last are remembered. */
PHX__COLD static void wiring_unheld(phx *p, uint64_t name)
{
    uint64_t *said = &p->news.unheld[name % PHX__COUNT(p->news.unheld)];

    if (*said == (name | 1))
        return;
    *said = name | 1;
    phx__node_log(p, PHX_LOG_INFO, "name %u: nobody is known to hold it, messages to it wait", name);
}

static void wiring_member(phx *p, uint64_t token, uint64_t to, int result, size_t left)
{
    if (p->cfg.on_member != NULL && !p->step.free_later)
        p->cfg.on_member(p, token, to, result, left, PHX__USER(p));
}

static void wiring_writable(phx *p, uint64_t name)
{
    if (p->cfg.on_writable != NULL && !p->step.free_later)
        p->cfg.on_writable(p, name, PHX__USER(p));
}

/* ---- Hand-over ------------------------------------------------------------------------------- */

static int wiring_life(phx *p, uint32_t node, uint64_t *incarnation, uint32_t *seq)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    if (d == NULL || p->ids.used[node] != PHX__ID_USED)
        return 0;
    *incarnation = d->incarnation;
    if (seq != NULL)
        *seq = d->seq;
    return 1;
}

static int wiring_held(phx *p, uint32_t node, const struct phx_range *range, uint64_t epoch,
                       struct phx_range *out)
{
    p->set.walked += phx__names_count(&p->names, node);
    return phx__names_held(&p->names, node, range, epoch, out);
}

static void wiring_release(phx *p, const struct phx_range *range)
{
    p->news.card_stale |= phx__names_release(&p->names, range->first, range->last) > 0;
}

/* The host may change its mind, or close or free the node, in each call. */
PHX__COLD static int wiring_take(phx *p, const struct phx_range *range, const struct phx_id *giver)
{
    int changed;

    if (p->leave.closing || p->step.free_later)
        return 0;
    phx__node_frames_charge_names(p);
    p->names.keep = p->handover.count > 0;
    changed = phx__names_assume(&p->names, range->first, range->last);
    phx__node_log(p, changed > 0 ? PHX_LOG_INFO : PHX_LOG_WARN, "names %u to %u of %n: %s", range->first,
                  range->last, phx__id_find(&p->ids, giver),
                  changed > 0 ? "handed to this node" : phx_strerror(changed));
    if (changed <= 0)
        return 1; /* the giver holds them, and asks again */
    p->news.card_stale = 1;
    if (p->cfg.on_handed != NULL)
        p->cfg.on_handed(p, *range, giver, PHX__USER(p));
    return 1;
}

PHX__COLD static void wiring_handover_end(phx *p, uint32_t ranges)
{
    phx__node_log(p, PHX_LOG_WARN, "no heir: %u ranges of names are handed no more", (uint64_t)ranges);
    if (p->leave.closing) {
        phx__node_handover_release(&p->handover);
        p->step.more = 1; /* leaving may have waited for just this */
    }
}

/* ---- Suspicion ------------------------------------------------------------------------------- */

static uint32_t wiring_neighbour(phx *p, uint32_t i)
{
    return i < p->detect.link_count ? p->detect.links[i]->node : PHX__NONE;
}

static int wiring_is_vain(phx *p, uint32_t nbr, uint32_t node)
{
    return phx__detect_link_of(&p->detect, nbr)->busy || !phx__route_may_know(&p->route, nbr, node);
}

static int wiring_is_adjacent(phx *p, uint32_t nbr, uint32_t other)
{
    return phx__route_advert_is_next_to(&p->route, nbr, other);
}

PHX__COLD static struct phx__detect_rumour *wiring_rumour(phx *p, uint32_t node, int make)
{
    struct phx__detect_trouble *t = make ? phx__detect_trouble_make(&p->detect, node)
                                         : phx__detect_trouble_of(&p->detect, node);

    return t != NULL ? &t->rumour : NULL;
}

PHX__COLD static int wiring_accuse(phx *p, uint32_t node, uint32_t accuser)
{
    return phx__detect_rumour(&p->detect, node, accuser, p->now);
}

static void wiring_alive(phx *p, uint32_t node)
{
    phx__detect_alive(&p->detect, node, p->now);
}

static void wiring_refute(phx *p, uint32_t nbr, const struct phx__request *q)
{
    phx__node_log(p, PHX_LOG_INFO, "somebody misses us");
    phx__route_request(&p->route, nbr, q, 1, p->now);
}

PHX__COLD static void wiring_suspect(phx *p, uint32_t node)
{
    if (phx__route_dest(&p->route, node) != NULL)
        phx__node_log(p, PHX_LOG_INFO, "node %n: silent, asking around", node);
    phx__node_suspect_raise(&p->suspect, node, p->now);
}

PHX__COLD static void wiring_lost(phx *p, uint32_t node, int again)
{
    if (again || !phx__route_misses_many(&p->route)) /* else routes come first */
        phx__node_suspect_probe(&p->suspect, node);
}

/* ---- Traces ---------------------------------------------------------------------------------- */

static int wiring_random(phx *p, void *out, size_t size)
{
    return phx__node_os(p)->random(p->os.world, out, size);
}

static int wiring_distance(phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    return d == NULL ? -1 : (int)d->hops;
}

/* What came of the addresses that are known: the last thing that went wrong, or PHX_EAGAIN. */
PHX__COLD static int wiring_why(phx *p, uint32_t node)
{
    const struct phx__dial_target *t = phx__dial_target_any(&p->dial.targets, node);
    int why = p->dial.links >= p->cfg.max_links ? PHX_ELIMIT : PHX_EAGAIN;
    uint64_t last = 0, tried;

    if (node == PHX__SELF || phx__node_link(p, node) != NULL)
        return 0;
    for (uint32_t i = 0; t != NULL && i < t->count; i++) {
        if (t->at[i].dialled)
            return PHX_EAGAIN;
        tried = phx__dial_addr_tried(&t->at[i], p->now);
        if (t->at[i].error == 0 || tried < last)
            continue;
        last = tried;
        why = t->at[i].error;
    }
    return t == NULL ? PHX_ENOTFOUND : why;
}

static void wiring_traced(phx *p, const struct phx_trace *t)
{
    if (!p->step.free_later)
        p->cfg.on_trace(p, t, PHX__USER(p));
}

/* ---- Keys and addresses ---------------------------------------------------------------------- */

/* Links and TLS use the keys where they are. */
PHX__COLD static void wiring_show_keys(phx *p, const struct phx_key *keys, uint32_t count)
{
    memset(p->set.begun, 0, sizeof p->set.begun);
    p->set.keys = keys;
    p->set.key_count = count;
    phx__dial_moved(&p->dial);
    phx__link_hello_rekey(&p->set);
    if (p->set.tls != NULL)
        phx__tls_keys(p->set.tls, p->cfg.cluster, keys, count);
}

PHX__COLD static int wiring_open_tls(phx *p, int files)
{
    const struct phx__tls_files from = { files ? p->cfg.tls_ca : NULL, p->cfg.tls_cert, p->cfg.tls_key };
    int err = phx__tls_set_open(&p->set.tls, &p->mem, &from);

    if (err == 0)
        wiring_show_keys(p, p->keys.at, p->keys.count);
    return err;
}

/* The configuration's strings about keys are the host's own, and are not needed after this. */
PHX__COLD static int wiring_open_keys(phx *p)
{
    struct phx__node_keys_ops ops = { p, wiring_show_keys, wiring_open_tls, wiring_random };
    struct phx_key key = { p->cfg.key, p->cfg.key_size };
    int err = phx__node_keys_init(&p->keys, &p->mem, p->cfg.insecure, p->cfg.tls,
                                   phx__rnd_next(&p->rnd), &ops);

    if (err == 0 && (err = phx__node_keys_set(&p->keys, &key, key.data != NULL)) == 0)
        err = phx__node_keys_open_tls(&p->keys, p->cfg.tls_ca != NULL);
    p->cfg.key = p->cfg.tls_ca = p->cfg.tls_cert = p->cfg.tls_key = NULL;
    p->cfg.key_size = 0;
    return err;
}

static const struct phx_address *wiring_listener(phx *p, uint32_t i)
{
    return (int)i < p->listeners.count ? &p->listeners.at[i].address : NULL;
}

/* ---- Together -------------------------------------------------------------------------------- */

PHX__COLD static int wiring_open_rooms(phx *p)
{
    const struct phx_config *c = &p->cfg;
    struct phx__route_ops route;
    struct phx__dial_limits dl = { c->max_links, c->full_mesh, c->max_dials, c->retry_min_us,
                                   c->retry_max_us, WIRING_START };
    struct phx__dial_ops dial = { p, phx__node_links_dial, phx__node_links_abandon, wiring_busy,
                                  phx__node_addresses };
    struct phx__detect_ops detect = { p, phx__node_frames_beat, wiring_silent, wiring_suspect, wiring_lost,
                                      wiring_state };
    struct phx__post_limits pl = { c->max_message, c->window, c->hold_bytes, (int)c->hop_limit, c->relay };
    struct phx__post_ops post = { p, &p->now, wiring_owner, &p->names.version, wiring_next,
                                  phx__node_frames_ack, phx__node_links_random, wiring_message, wiring_done,
                                  wiring_writable, wiring_wants, wiring_segment, wiring_member,
                                  c->on_begin != NULL ? wiring_begin : NULL,
                                  wiring_abandon, wiring_lost_messages, phx__node_calls, wiring_leads,
                                  wiring_has, wiring_unheld, wiring_window };
    int err;

    phx__node_frames_route_ops(p, &route);
    phx__names_init(&p->names, &p->mem, &p->ids);
    phx__names_lost_init(&p->lost, &p->mem, &p->names, wiring_failed_at, p);
    phx__detect_init(&p->detect, &p->mem, &p->timers, &p->rnd, &c->detector, &detect);
    err = phx__route_init(&p->route, &p->mem, &p->ids, &p->timers, &p->rnd, (int)c->hop_limit,
                          c->incarnation, &route);
    p->route.relay = c->relay;
    if (err == 0 && c->rtt_metric) {
        p->route.rtt.on = 1;
        phx__route_plan(&p->route, p->now);
    }
    if (err == 0)
        err = phx__dial_init(&p->dial, &p->mem, &p->ids, &p->timers, &p->rnd, &p->now, &dl, &dial);
    if (err == 0 && c->on_need_hubs != NULL)
        err = phx__dial_ask_for_hubs(&p->dial);
    return err != 0 ? err : phx__post_init(&p->post, &p->mem, &p->ids, &p->timers, &pl, &post);
}

PHX__COLD int phx__node_wiring_open(phx *p)
{
    struct phx__node_env env = { &p->mem, &p->ids, &p->timers, (int)p->cfg.hop_limit, p->cfg.relay,
                                 p, phx__node_next, phx__node_frames_send, wiring_life };
    struct phx__node_handover_ops handover = { wiring_held, wiring_release, wiring_take,
                                               wiring_handover_end };
    struct phx__node_suspect_ops suspect = { wiring_neighbour, wiring_is_vain, wiring_is_adjacent,
                                             wiring_accuse, wiring_alive, wiring_refute,
                                             wiring_rumour };
    struct phx__node_trace_ops trace = { wiring_random, wiring_distance, wiring_why, wiring_traced };
    int err = wiring_open_rooms(p);

    p->addr.ctx = p;
    p->addr.listener = wiring_listener;
    phx__node_suspect_init(&p->suspect, &env, &p->rnd, &p->cfg.detector, &suspect);
    if (err != 0 || (err = phx__node_handover_init(&p->handover, &env, &handover)) != 0
        || (err = phx__node_trace_init(&p->trace, &env, &trace)) != 0)
        return err;
    return wiring_open_keys(p);
}
