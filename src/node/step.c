/* step.c - the node: the order of work in one step, and what the rooms tell each other. */
/*
 *   now -> links: read -> wire -> route | names | live | disc -> post -> links: write
 *        ^-------------------- deadlines that are due ----------------------'
 *
 * One step (phx_step) does, in this order:
 *   1. connections that are ready: accept, finish dials, read and handle frames;
 *   2. deadlines that are due;
 *   3. what routing found (step_settle): new cards to names, disc and post; routes to post and live.
 *      disc dials whom it has just learnt of: the paper's priority 1, connections;
 *   4. messages: local ones, outcomes, on_writable (post);
 *   5. when no link has more to read, the routing tells the neighbours (priority 3, after 2, the table,
 *      which frames updated on the way);
 *   6. writes what waits on each link, and frees links that were closed.
 *
 * This is the only room that knows all others. It takes no decision that one of them could take.
 */
#include "node/state.h"

#include <stdarg.h>

/* What could not be taken in for lack of memory is looked at again after this. */
#define STEP_LATE (500 * PHX__MS)
/* So much memory of messages that are over is kept for the next ones: two of the largest with the default
 * limits. What was not needed for so long is given back. */
#define STEP_SPARE_BYTES ((size_t)34 << 20)
#define STEP_SPARE_TIME (2 * PHX__SECOND)
/* Deadlines handled in one step. */
#define STEP_TIMERS 10000
/* Peers and reasons of which it is known that they were logged, 24 bytes each. */
#define STEP_LINES 64u
/* So many nodes are dialled as soon as they are heard of; see dial.c for more. */
#define STEP_CROWD 8u
/* Readiness asked for at once. */
#define STEP_READY 128
/* So many looks one after another found one link alone, and the one that was foreseen: then so many steps do
 * without a look. Others that have something meanwhile wait for that many reads, and a host that sleeps is
 * not kept asleep by it: its descriptor stays readable. */
#define STEP_HOT_AFTER 4u
#define STEP_HOT_MOST 16u
/* ... and no longer than this, or a host that steps ten times a second would take their nodes for dead. */
#define STEP_HOT_TIME (5 * PHX__MS)

/* ---- A log line without printf: the few conversions used here -------------------------------- */

static char *step_log_text(char *to, const char *end, const char *from)
{
    while (*from != 0 && to < end)
        *to++ = *from++;
    return to;
}

static char *step_log_number(char *to, const char *end, uint64_t v)
{
    char digits[21];
    size_t n = sizeof digits;

    digits[--n] = 0;
    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return step_log_text(to, end, digits + n);
}

/* %s a string, %u a uint64_t. */
void phx__node_log(phx *p, int level, const char *format, ...)
{
    char line[320], *to = line, *end = line + sizeof line - 1;
    va_list ap;

    if (level > PHX_LOG_MAX || level > p->cfg.log_level || p->cfg.on_log == NULL || !p->stepping
        || p->free_later)
        return;
    va_start(ap, format);
    for (; *format != 0 && to < end; format++) {
        if (format[0] == '%' && format[1] == 's')
            to = step_log_text(to, end, va_arg(ap, const char *)), format++;
        else if (format[0] == '%' && format[1] == 'u')
            to = step_log_number(to, end, va_arg(ap, uint64_t)), format++;
        else
            *to++ = *format;
    }
    va_end(ap);
    *to = 0;
    p->cfg.on_log(p, level, line, p->cfg.user);
}

/* ---- Peers and own card ---------------------------------------------------------------------- */

int phx__node_step_peer(phx *p, uint32_t node)
{
    uint32_t was = p->peer_capacity;

    if (phx__mem_grow(&p->mem, &p->peers, &p->peer_capacity, node + 1, sizeof *p->peers) != 0)
        return PHX_ENOMEM;
    for (; was < p->peer_capacity; was++)
        p->peers[was].link = p->peers[was].via = PHX__NONE;
    return 0;
}

struct phx__history *phx__node_step_past(const phx *p, uint32_t node)
{
    uint32_t past = node < p->peer_capacity ? p->peers[node].past : 0;

    return past != 0 ? &p->pasts[past - 1] : NULL;
}

struct phx__history *phx__node_step_note(phx *p, uint32_t node)
{
    struct phx__history *past = phx__node_step_past(p, node);

    if (past != NULL)
        return past;
    if (phx__node_step_peer(p, node) != 0
        || phx__mem_grow(&p->mem, &p->pasts, &p->past_capacity, p->past_count + 1, sizeof *past) != 0)
        return NULL;
    past = &p->pasts[p->past_count++];
    memset(past, 0, sizeof *past);
    past->node = node;
    p->peers[node].past = p->past_count;
    return past;
}

/* The last one takes its place. */
static void step_drop_past(phx *p, struct phx__history *past)
{
    p->peers[past->node].past = 0;
    *past = p->pasts[--p->past_count];
    if (past != &p->pasts[p->past_count])
        p->peers[past->node].past = (uint32_t)(past - p->pasts) + 1;
}

int phx__node_step_own_address(phx *p, const struct phx_address *a)
{
    uint8_t i;

    for (i = 0; i < p->own_count; i++)
        if (phx__addr_equal(&p->own[i], a))
            return 0;
    if (p->own_count == PHX__CARD_ADDRESSES)
        return PHX_ELIMIT;
    p->own[p->own_count++] = *a;
    return 1;
}

static int step_write_card(phx *p)
{
    static const struct phx__names_of none = { NULL, 0, 0, 0 };
    const struct phx__names_of *mine = p->names.capacity > 0 ? &p->names.of[PHX__SELF] : &none;
    struct phx__card head;
    struct phx__writer w;
    size_t size = phx__wire_card_size(p->own_count, mine->count);
    uint8_t *data = phx__mem_get(&p->mem, size);
    int err;

    if (data == NULL)
        return PHX_ENOMEM;
    memset(&head, 0, sizeof head);
    head.flags = (uint8_t)((p->cfg.relay ? PHX__CARD_RELAYS : 0) | (p->left ? PHX__CARD_LEFT : 0));
    head.window = (uint32_t)p->cfg.window;
    head.address_count = p->own_count;
    memcpy(head.address, p->own, sizeof head.address);
    head.claim_count = mine->count;
    phx__buf_writer_init(&w, data, size);
    phx__wire_put_card(&w, &head, mine->at);
    err = w.bad ? PHX_EINVAL : phx__route_card(&p->route, data, (uint32_t)w.size, p->now);
    phx__mem_put(&p->mem, data, size);
    return err;
}

/* Changes of names and addresses since the last step become one new card. */
static void step_renew_card(phx *p)
{
    if (!p->card_stale)
        return;
    p->card_stale = 0;
    if (step_write_card(p) == 0)
        return;
    phx__node_log(p, PHX_LOG_ERROR, "no memory to announce own names; trying again");
    p->late = p->card_late = 1;
}

/* ---- What routing found ---------------------------------------------------------------------- */

static void step_report_lost(phx *p)
{
    struct phx__names_conflict lost;
    struct phx_range part;

    while (phx__names_take_conflict(&p->names, &lost)) {
        /* What is being handed to the winner was to go there. */
        while (phx__node_handover_next(p, &p->ids.at[lost.winner], &lost.range, &part)) {
            phx__node_log(p, PHX_LOG_WARN, "names %u to %u lost to a higher claim", part.first,
                          part.last);
            if (p->cfg.on_conflict != NULL && !p->free_later)
                p->cfg.on_conflict(p, part, &p->ids.at[lost.winner], p->cfg.user);
        }
    }
}

/* Shows a new card to the rooms. Without memory the card counts as unseen and comes again. */
static int step_read_card(phx *p, uint32_t node, const struct phx__dest *d)
{
    struct phx__card card;
    int changed, err;

    if (phx__wire_get_card(d->card->at, d->card->size, &card) != 0)
        return PHX_EPROTO; /* cannot be: checked when it came in */
    changed = phx__names_set(&p->names, node, &card);
    if (changed < 0)
        return changed;
    p->card_stale |= changed;
    phx__post_sched_window(&p->post, node, card.window);
    if (card.flags & PHX__CARD_LEFT)
        phx__dial_forget(&p->dial, node);
    else if ((err = phx__dial_contact(&p->dial, node, card.address, card.address_count, p->now))
             != 0)
        return err;
    return (card.flags & PHX__CARD_LEFT) ? 1 : 0;
}

static int step_card_says_left(const struct phx__dest *d)
{
    return d->card != NULL && d->card->size > 0 && (d->card->at[0] & PHX__CARD_LEFT);
}

static int step_show_card(phx *p, uint32_t node, const struct phx__dest *d)
{
    const struct phx__peer *peer = &p->peers[node];
    int seen;

    if (d->card_version == 0
        || (d->card_version == peer->card_version && d->incarnation + 1 == peer->life))
        return 0;
    if ((seen = step_read_card(p, node, d)) < 0) {
        phx__node_log(p, PHX_LOG_WARN, "card not taken: %s", phx_strerror(seen));
        return seen;
    }
    p->peers[node].card_version = d->card_version;
    return 0;
}

/* Shows the rooms what routing found about a node: 0, or an error and it must be shown again. */
static int step_changed(phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    struct phx__peer *peer;
    int err;

    if (d == NULL || node == PHX__SELF)
        return 0;
    if (phx__node_step_peer(p, node) != 0)
        return PHX_ENOMEM;
    /* The card first: when a node is found to have left, its names must be gone already, or what is rescued
     * from it would be sent to it again. */
    if ((err = step_show_card(p, node, d)) != 0)
        return err;
    if (p->dial.learnt_at == p->now)
        p->teller = d->next;
    peer = &p->peers[node];
    if (d->card_version == 0)
        peer->card_version = 0; /* the one shown was of a former life */
    if (peer->life != 0 && peer->life != d->incarnation + 1)
        phx__post_box_reborn(&p->post, node, d->incarnation, p->now);
    peer->life = d->incarnation + 1;
    phx__post_sched_route(&p->post, node, p->now);
    err = phx__detect_reachable(&p->detect, node, d->hops != PHX__UNREACHABLE, step_card_says_left(d),
                              p->now);
    peer = &p->peers[node];
    /* It waits for our end to close: that is how it knows that its goodbye was read. */
    if (step_card_says_left(d) && phx__node_link(p, node) != NULL)
        phx__node_links_close_link(p, phx__node_link(p, node), PHX_ECLOSED, 0);
    phx__dial_route(&p->dial, node, d->hops != PHX__UNREACHABLE, p->now);
    if (d->hops != PHX__UNREACHABLE)
        peer->via = d->next;
    return err;
}

/* Something was not taken in. It is rare enough to look at everything once more. */
static void step_late(phx *p)
{
    uint32_t node;

    p->late = 0;
    p->card_stale |= p->card_late;
    p->card_late = 0;
    for (node = 1; node < p->ids.size; node++) {
        int failed = phx__detect_state(&p->detect, node, NULL) == PHX_NODE_FAILED;
        int changed = phx__names_dead(&p->names, node, failed);
        p->card_stale |= changed > 0;
        p->late |= changed < 0 || step_changed(p, node) != 0;
    }
}

/* Most steps bring none, and find that out with a look at each of these. */
static int step_has_news(const phx *p)
{
    return p->route.changed.count > 0 || p->names.lost_count > 0 || p->late || p->card_stale
           || p->names.version != p->names_version || p->names.version != p->broken_version;
}

static int step_has_to_tell(const phx *p)
{
    return p->route.dirty.count > 0 || p->route.pace.look || p->route.pace.shrunk > 0;
}

static void step_settle(phx *p)
{
    uint64_t version;
    uint32_t node;

    while (phx__route_take_changed(&p->route, &node))
        p->late |= step_changed(p, node) != 0;
    step_report_lost(p);
    version = p->names.version;
    if (phx__node_suspect_report_broken(p) == 0)
        p->broken_version = version;
    if (p->late && phx__timer_at(&p->timers, p->late_timer) == UINT64_MAX)
        phx__timer_set(&p->timers, p->late_timer, p->now + STEP_LATE);
    if (p->names.version != p->names_version) {
        p->names_version = p->names.version;
        phx__node_handover_names(p);
        phx__post_box_names(&p->post, p->now);
    }
    step_renew_card(p);
}

/* ---- What the rooms ask for ------------------------------------------------------------------ */

static void step_heartbeat(void *ctx, uint32_t node, int ask)
{
    phx__node_frames_beat(ctx, node, ask ? (int)PHX__BEAT_REPLY : 0);
}

/* For disc: was that all? The digest of the answer tells; see node_on_beat. */
static void step_ask(void *ctx)
{
    phx *p = ctx;

    phx__node_frames_beat(p, p->teller, (int)PHX__BEAT_REPLY);
}

static void step_silent(void *ctx, uint32_t node, uint64_t us)
{
    phx *p = ctx;
    struct phx__link *l = phx__node_link(p, node);
    char id[PHX_ID_TEXT];

    if (l == NULL)
        return;
    phx__node_log(p, PHX_LOG_WARN, "link %s: no frame for %u ms", phx_id_text(&l->id, id),
                  us / PHX__MS);
    phx__node_links_close_link(p, l, PHX_ETIMEDOUT, 0);
}

void phx__node_step_fill(const phx *p, uint32_t node, struct phx_node *out)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);

    memset(out, 0, sizeof *out);
    out->id = p->ids.at[node];
    out->hops = -1;
    out->state = node == PHX__SELF ? PHX_NODE_OK : phx__detect_state(&p->detect, node, &out->since_us);
    if (d != NULL) {
        out->incarnation = d->incarnation;
        out->hops = d->hops == PHX__UNREACHABLE ? -1 : d->hops;
        if (d->next != PHX__NONE)
            out->next = p->ids.at[d->next];
    }
    if (node < p->names.capacity)
        out->ranges_count = p->names.of[node].count;
}

static void step_state(void *ctx, uint32_t node, enum phx_state state)
{
    phx *p = ctx;
    struct phx_node n;
    int changed;

    changed = phx__names_dead(&p->names, node, state == PHX_NODE_FAILED);
    p->card_stale |= changed > 0;
    p->late |= changed < 0;
    if (state == PHX_NODE_FAILED || state == PHX_NODE_LEFT) {
        phx__post_box_failed(&p->post, node, p->now);
        phx__node_handover_gone(p, node);
    }
    if (p->cfg.on_node == NULL || p->free_later || p->left)
        return; /* who has said goodbye breaks its own links: no news of others */
    phx__node_step_fill(p, node, &n);
    p->cfg.on_node(p, &n, p->cfg.user);
}

uint32_t phx__node_step_addresses(void *ctx, uint32_t node, struct phx_address *out)
{
    const phx *p = ctx;
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    struct phx__card card;

    if (d == NULL || d->card == NULL
        || phx__wire_get_card(d->card->at, d->card->size, &card) != 0)
        return 0;
    memcpy(out, card.address, card.address_count * sizeof *out);
    return card.address_count;
}

static uint32_t step_owner(void *ctx, uint64_t name)
{
    phx *p = ctx;
    uint32_t node;
    enum phx_state state;

    /* Messages that come one after another are often for one name of ours. */
    if (name == p->mine && p->mine_version == p->names.version + 1)
        return PHX__SELF;
    node = phx__names_owner(&p->names, name, NULL, NULL);
    if (node == PHX__SELF) {
        p->mine = name;
        p->mine_version = p->names.version + 1;
    }
    if (node == PHX__NONE || node == PHX__SELF)
        return node;
    /* The claim of a node that failed stands, but nobody is there to take messages. */
    state = phx__detect_state(&p->detect, node, NULL);
    return state == PHX_NODE_FAILED || state == PHX_NODE_LEFT ? PHX__NONE : node;
}

static int step_segment(void *ctx, uint64_t name, uint32_t *owner, uint64_t *last)
{
    phx *p = ctx;
    struct phx_range around;
    int err;

    (void)phx__names_owner(&p->names, name, &around, &err);
    *last = around.last;
    *owner = step_owner(p, name);
    return err;
}

static uint32_t step_next(void *ctx, uint32_t node, uint32_t *generation)
{
    phx *p = ctx;
    uint32_t next = phx__route_next(&p->route, node);
    const struct phx__link *l = next == PHX__NONE ? NULL : phx__node_link(p, next);

    if (l == NULL)
        return PHX__NONE;
    if (next != node)
        phx__dial_want(&p->dial, node,
                       p->now); /* traffic: worth a link of its own, if one can be made */
    *generation = l->generation;
    return next;
}

static int step_emit(void *ctx, uint32_t nbr, struct phx__block *head, const uint8_t *head_data,
                     size_t head_size, struct phx__block *body, const uint8_t *body_data,
                     size_t body_size)
{
    phx *p = ctx;
    struct phx__link *l = phx__node_link(p, nbr);

    if (l == NULL)
        return PHX_ENOMEM;
    phx__detect_used(&p->detect, nbr, p->now);
    return phx__link_emit(&p->set, l, head, head_data, head_size, body, body_data, body_size);
}

static void step_message(void *ctx, const struct phx_message *m)
{
    phx *p = ctx;

    if (p->cfg.on_message != NULL && !p->free_later)
        p->cfg.on_message(p, m, p->cfg.user);
    else
        p->post.unseen = 1;
}

static void *step_begin(void *ctx, const struct phx_message *m)
{
    phx *p = ctx;

    return p->free_later ? NULL : p->cfg.on_begin(p, m, p->cfg.user);
}

/* Also if the node is being freed: it is the only word that the host gets of this buffer. */
static void step_forsake(void *ctx, void *buffer, size_t size)
{
    phx *p = ctx;

    if (p->cfg.on_abandon != NULL)
        p->cfg.on_abandon(p, buffer, size, p->cfg.user);
}

static void step_done(void *ctx, uint64_t token, int result)
{
    phx *p = ctx;

    if (p->cfg.on_done != NULL && !p->free_later)
        p->cfg.on_done(p, token, result, p->cfg.user);
}

static void step_member(void *ctx, uint64_t token, uint64_t to, int result, size_t left)
{
    phx *p = ctx;

    if (p->cfg.on_member != NULL && !p->free_later)
        p->cfg.on_member(p, token, to, result, left, p->cfg.user);
}

static void step_writable(void *ctx, uint64_t name)
{
    phx *p = ctx;

    if (p->cfg.on_writable != NULL && !p->free_later)
        p->cfg.on_writable(p, name, p->cfg.user);
}

static void step_post_wants(void *ctx, uint32_t nbr)
{
    phx *p = ctx;
    struct phx__link *l = phx__node_link(p, nbr);

    if (l != NULL)
        p->set.wants(p, l);
}

/* ---- The step -------------------------------------------------------------------------------- */

static void step_forget(phx *p, uint32_t node)
{
    phx__names_lost_forget(&p->lost, &p->ids.at[node]);
    phx__names_forget(&p->names, node);
    phx__dial_forget(&p->dial, node);
    phx__detect_forget(&p->detect, node);
    phx__post_box_forget(&p->post, node);
    if (node < p->peer_capacity) {
        p->peers[node].card_version = 0;
        p->peers[node].life = 0;
        if (phx__node_step_past(p, node) != NULL)
            step_drop_past(p, phx__node_step_past(p, node));
    }
    phx__id_drop(&p->ids, node);
}

static void step_link_due(phx *p, uint32_t slot)
{
    struct phx__link *l = slot < p->link_size ? p->links[slot] : NULL;

    if (l == NULL)
        return;
    if (phx__link_rested(l) && phx__node_link(p, l->peer) == l) {
        phx__node_links_watch(p, l);
        return;
    }
    /* Up: it was replaced by another link and the peer has not closed it. */
    phx__node_links_close_link(p, l, l->state == PHX__LINK_UP ? PHX_EDUPLICATE : PHX_ETIMEDOUT, 0);
}

static void step_watch_spares(phx *p)
{
    if (p->mem.spare_bytes == 0 || phx__timer_at(&p->timers, p->spare_timer) != UINT64_MAX)
        return;
    p->spare_uses = p->mem.spare_uses;
    phx__timer_set(&p->timers, p->spare_timer, p->now + STEP_SPARE_TIME);
}

static void step_spares_due(phx *p)
{
    if (p->spare_uses == p->mem.spare_uses)
        phx__mem_drop_spares(&p->mem);
}

static void step_timer(phx *p, int kind, uint32_t arg)
{
    uint32_t forgotten;

    switch (kind) {
    case PHX__TIMER_LINK: step_link_due(p, arg); break;
    case PHX__TIMER_ROUTE_TELL:
    case PHX__TIMER_ROUTE_CHORE:
        phx__route_advert_due(&p->route, kind, p->now, &forgotten);
        if (forgotten != PHX__NONE)
            step_forget(p, forgotten);
        break;
    case PHX__TIMER_DISC: phx__dial_due(&p->dial, arg, p->now); break;
    case PHX__TIMER_DETECT_LINK:
    case PHX__TIMER_DETECT_NODE: phx__detect_due(&p->detect, kind, arg, p->now); break;
    case PHX__TIMER_POST:
    case PHX__TIMER_POST_HOLD: phx__post_due(&p->post, kind, arg, p->now); break;
    case PHX__TIMER_ACCEPT:
        phx__node_samehost_again(p);
        phx__node_links_resume_listeners(p);
        break;
    case PHX__TIMER_LATE: step_late(p); break;
    case PHX__TIMER_SPARE: step_spares_due(p); break;
    case PHX__TIMER_HAND: phx__node_handover_due(p); break;
    case PHX__TIMER_TRACE: phx__node_trace_due(p); break;
    default: break; /* PHX__TIMER_CLOSE: only wakes the step */
    }
}

static void step_timers(phx *p)
{
    int kind, i;
    uint32_t arg;

    for (i = 0; i < STEP_TIMERS && phx__timer_pop(&p->timers, p->now, &kind, &arg); i++)
        step_timer(p, kind, arg);
    if (i == STEP_TIMERS)
        p->more = 1;
}

/* Who sleeps until one link has something, again and again, is told twice which one it is. Often that can be
 * foreseen: it is the same link each time, or at a relay the two ends of a conversation in turn. So each link
 * keeps which one was next when it was ready last, and after STEP_HOT_AFTER right guesses the link is
 * read without a look.
 *
 * The one that should have something now, or NULL: look. */
static struct phx__link *step_foresee(const phx *p)
{
    struct phx__link *l;

    if (p->hot_count < STEP_HOT_AFTER || p->hot_count >= STEP_HOT_AFTER + STEP_HOT_MOST
        || p->detect.blind || p->now > p->looked_at + STEP_HOT_TIME
        || p->hot >= p->link_size || p->links[p->hot] == NULL
        || p->links[p->hot]->after >= p->link_size)
        return NULL;
    l = p->links[p->links[p->hot]->after];
    return l != NULL && l->state == PHX__LINK_UP && !l->full ? l : NULL;
}

/* 1: a link was read, and what others may have is seen at one of the next steps. If it had nothing, the guess
 * was wrong and cost this step its one system call: the next one, which is to come at once, looks. */
static int step_guess(phx *p)
{
    struct phx__link *l = step_foresee(p);
    uint64_t before;

    if (l == NULL)
        return 0;
    before = l->bytes_in;
    p->hot = l->slot;
    phx__node_links_read(p, l);
    if (l->bytes_in != before) {
        p->hot_count++;
    } else {
        p->hot_count = 0;
        p->more = 1;
    }
    return 1;
}

/* What a look has found, for the next guess. */
static void step_learn_order(phx *p, const struct phx_ready *ready, int n)
{
    uint32_t slot = n == 1 && ready->events == PHX_READ
                        ? phx__map_get(&p->handles, (uint64_t)ready->handle)
                        : PHX__NONE;
    struct phx__link *last = p->hot < p->link_size ? p->links[p->hot] : NULL;

    if (slot >= p->link_size || last == NULL || last->after != slot)
        p->hot_count = 0;
    else if (p->hot_count < STEP_HOT_AFTER)
        p->hot_count++;
    else
        p->hot_count = STEP_HOT_AFTER; /* begins again */
    if (slot >= p->link_size)
        return;
    if (last != NULL)
        last->after = slot;
    p->hot = slot;
}

static void step_look(phx *p)
{
    struct phx_ready ready[STEP_READY];
    int i, n;

    if (step_guess(p))
        return;
    p->set.os_calls++;
    p->looked_at = p->now;
    n = p->os.wait(p->os.world, ready, STEP_READY);
    step_learn_order(p, ready, n);
    for (i = 0; i < n; i++)
        phx__node_links_ready(p, ready[i].handle, ready[i].events);
    if (n == STEP_READY)
        p->more = 1;
}

static void step_given(phx *p, const struct pollfd *fds, int n)
{
    int wake = phx__os_wake_handle(&p->os);
    int i;

    for (i = 0; i < n; i++) {
        int broken = fds[i].revents & (POLLERR | POLLHUP | POLLNVAL);
        int events = (fds[i].revents & POLLIN || broken ? PHX_READ : 0)
                     | (fds[i].revents & POLLOUT || broken ? PHX_WRITE : 0);
        if (events == 0 || fds[i].fd < 0)
            continue;
        if (fds[i].fd == wake)
            phx__os_wake_drain(&p->os);
        else
            phx__node_links_ready(p, fds[i].fd, events);
    }
}

/* Leaving has two parts. While messages are pending or names being handed, and until shortly before the
 * end, all goes on but that nothing new is taken. Then acks that are owed and a card that says goodbye go
 * out. Neighbours close their ends when they have read it, so nothing that was written is lost with the
 * connection; at the end of the drain the links close all the same. */
static void step_leave(phx *p)
{
    uint32_t i;

    if (!p->closing || p->is_closed)
        return;
    if (!p->left) {
        if ((p->post.pending_count > 0 || p->hand_count > 0) && p->now < p->goodbye_at)
            return;
        p->left = p->card_stale = 1;
        phx__node_handover_end(p);
        p->route.pace.gap = 0; /* the goodbye does not wait for its turn: the next step may close */
        phx__post_settle(&p->post, p->now);
        phx__timer_set(&p->timers, p->close_timer, p->close_at);
        return;
    }
    if (p->links_up > 0 && p->now < p->close_at)
        return;
    for (i = 0; i < p->link_size; i++)
        if (p->links[i] != NULL)
            phx__node_links_close_link(p, p->links[i], PHX_ECLOSED, 0);
    phx__post_box_close(&p->post, p->now);
    phx__node_trace_end(p);
    p->is_closed = 1;
}

static int step_work_left(const phx *p)
{
    uint32_t i;

    for (i = 0; i < p->writer_count; i++)
        if (p->links[p->writers[i]] != NULL
            && (!p->links[p->writers[i]]->full || p->links[p->writers[i]]->broken))
            return 1;
    return p->more || p->card_stale;
}

int phx_step(phx *p, uint64_t now_us, const struct pollfd *ready, int n)
{
    int was_blind;

    if (p == NULL)
        return PHX_EINVAL;
    if (p->stepping)
        return PHX_ESTATE;
    p->stepping = 1;
    p->steps++;
    p->more = 0;
    if (now_us > p->now) /* a clock that steps back stands still here */
        p->now = now_us;
    p->set.now = p->now;
    was_blind = p->detect.blind;
    phx__detect_step(&p->detect, p->now);
    if (ready == NULL)
        step_look(p);
    else
        step_given(p, ready, n);
    /* After a stall: what the host found ready it may have found before the stall. */
    if (!p->more && (ready == NULL || was_blind))
        phx__detect_all_read(&p->detect);
    if (phx__timer_next(&p->timers) <= p->now)
        step_timers(p);
    if (p->hook_count > 0)
        phx__node_links_hooks(p);
    if (step_has_news(p))
        step_settle(p);
    p->more |= phx__post_run(&p->post, p->now);
    if (p->closing)
        step_leave(p);
    if (step_has_news(p))
        step_settle(p);
    if (step_has_to_tell(p) && (!p->more || p->left || p->now > p->route.pace.told_at + 20 * PHX__MS))
        phx__route_advert_flush(&p->route, p->now);
    if (p->set.incarnation != phx__route_dest(&p->route, PHX__SELF)->incarnation) {
        p->set.incarnation = phx__route_dest(&p->route, PHX__SELF)->incarnation;
        phx__post_box_rise(&p->post, p->set.incarnation, p->now); /* it had to rise */
    }
    if (p->writer_count > 0)
        phx__node_links_write(p);
    if (p->closed_count > 0)
        phx__node_links_sweep(p);
    step_watch_spares(p);
    /* A link that broke while it was written to is news that cannot wait for the next deadline. */
    p->more |= p->route.pace.urgent || p->route.changed.count > 0;
    p->stepping = 0;
    if (p->free_later) {
        phx_free(p);
        return 0;
    }
    return step_work_left(p);
}

uint64_t phx_deadline(const phx *p)
{
    if (step_work_left(p) || p->names.version != p->names_version || phx__post_ready(&p->post))
        return 0;
    return phx__timer_next(&p->timers);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int step_copy_config(phx *p, const struct phx_config *cfg)
{
    size_t n = strlen(cfg->cluster);
    struct phx_key key;
    int err;

    key.data = cfg->key;
    key.size = cfg->key_size;
    p->cfg = *cfg;
    memcpy(p->cluster, cfg->cluster, n + 1);
    p->cfg.cluster = p->cluster;
    p->cfg.key = NULL;
    p->cfg.key_size = 0;
    err = phx__node_keys_set(p, &key, cfg->key != NULL);
    return err != 0 ? err : phx__node_keys_open_tls(p);
}

static int step_open_identity(phx *p, const struct phx_config *cfg)
{
    uint64_t seed[2];
    struct phx_id id;
    uint32_t self;

    if (p->os.random(p->os.world, seed, sizeof seed) != 0
        || p->os.random(p->os.world, &id, sizeof id) != 0)
        return PHX_EIO;
    phx__rnd_seed(&p->rnd, seed[0], seed[1]);
    if (cfg->id != NULL)
        id = *cfg->id;
    phx__id_init(&p->ids, &p->mem, cfg->max_nodes);
    if (phx__id_add(&p->ids, &id, &self) != 0 || phx__node_step_peer(p, self) != 0)
        return PHX_ENOMEM;
    p->self = id;
    p->cfg.id = &p->self;
    return 0;
}

static uint64_t step_failed_at(void *ctx, uint32_t node)
{
    const phx *p = ctx;
    uint64_t since;

    (void)phx__detect_state(&p->detect, node, &since);
    return since;
}

static int step_open_brains(phx *p)
{
    struct phx__route_ops route;
    struct phx__dial_limits dl = { p->cfg.max_links, p->cfg.max_dials, p->cfg.retry_min_us,
                                   p->cfg.retry_max_us, STEP_CROWD };
    struct phx__dial_ops disc = { p, phx__node_links_dial, phx__node_links_abandon, step_ask, phx__node_step_addresses };
    struct phx__detect_ops detect = { p, step_heartbeat, step_silent, phx__node_suspect_raise,
                                  phx__node_suspect_seek, step_state };
    struct phx__post_limits pl = { p->cfg.max_message,    p->cfg.window, p->cfg.hold_bytes,
                                   (int)p->cfg.hop_limit, p->cfg.relay,  p->cfg.incarnation << 32 };
    struct phx__post_ops post = { p,         step_owner,    &p->names.version, step_next,
                                  step_emit, phx__node_frames_ack, step_message,
                                  step_done, step_writable, step_post_wants,
                                  step_segment, step_member,
                                  p->cfg.on_begin != NULL ? step_begin : NULL, step_forsake };
    int err;

    phx__node_frames_route_ops(p, &route);
    phx__names_init(&p->names, &p->mem, &p->ids);
    phx__names_lost_init(&p->lost, &p->mem, &p->names, step_failed_at, p);
    phx__detect_init(&p->detect, &p->mem, &p->timers, &p->rnd, &p->cfg.detector, &detect);
    if ((err = phx__route_init(&p->route, &p->mem, &p->ids, &p->timers, &p->rnd,
                               (int)p->cfg.hop_limit, p->cfg.incarnation, &route))
            != 0
        || (err = phx__dial_init(&p->dial, &p->mem, &p->ids, &p->timers, &p->rnd, &dl, &disc)) != 0
        || (err = phx__post_init(&p->post, &p->mem, &p->ids, &p->timers, &pl, &post)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_ACCEPT, 0, &p->resume_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_LATE, 0, &p->late_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_HAND, 0, &p->hand_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_SPARE, 0, &p->spare_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_TRACE, 0, &p->trace_timer)) != 0
        || (err = phx__timer_new(&p->timers, PHX__TIMER_CLOSE, 0, &p->close_timer)) != 0)
        return err;
    if ((err = phx__ratelimit_init(&p->lines, &p->mem, STEP_LINES, phx__rnd_next(&p->rnd))) != 0)
        return err;
    p->route.relay = p->cfg.relay;
    if ((err = step_write_card(p)) != 0)
        return err;
    return phx__node_links_open_set(p);
}

static void step_free(phx *p)
{
    struct phx__mem mem;
    int i;

    /* Release callbacks may still call: they find a closed node, in the midst of a step. */
    p->stepping = p->closing = p->free_later = 1;
    phx__node_links_free_links(p);
    for (i = 0; i < p->listener_count; i++) {
        p->os.close(p->os.world, p->listeners[i].handle);
        if (p->near[i].handle >= 0)
            p->os.close(p->os.world, p->near[i].handle);
    }
    phx__post_free(&p->post);
    phx__dial_free(&p->dial);
    phx__detect_free(&p->detect);
    phx__names_lost_free(&p->lost);
    phx__names_free(&p->names);
    phx__route_free(&p->route);
    phx__id_free(&p->ids);
    phx__timer_free(&p->timers);
    phx__map_free(&p->handles);
    phx__mem_put(&p->mem, p->links, p->link_capacity * sizeof(struct phx__link *));
    phx__mem_put(&p->mem, p->writers, p->writer_capacity * sizeof *p->writers);
    phx__mem_put(&p->mem, p->hooks, p->hook_capacity * sizeof *p->hooks);
    phx__mem_put(&p->mem, p->closed, p->closed_capacity * sizeof *p->closed);
    phx__node_handover_free(p);
    phx__node_trace_free(p);
    phx__mem_put(&p->mem, p->peers, p->peer_capacity * sizeof *p->peers);
    phx__mem_put(&p->mem, p->pasts, p->past_capacity * sizeof *p->pasts);
    phx__buf_block_drop(p->set.block);
    phx__buf_block_drop(p->set.spare);
    phx__node_keys_drop_keys(p);
    phx__tls_set_free(p->set.tls);
    phx__ratelimit_free(&p->lines);
    if (p->os.free != NULL)
        p->os.free(p->os.world);
    phx__mem_drop_spares(&p->mem);
    mem = p->mem; /* p itself goes last, and the count of it with it */
    phx__mem_put(&mem, p, sizeof *p);
}

void phx_free(phx *p)
{
    if (p == NULL)
        return;
    if (p->stepping)
        p->free_later = 1;
    else
        step_free(p);
}

static int step_open(phx *p, const struct phx_config *cfg)
{
    int err = step_copy_config(p, cfg);

    if (err == 0 && (err = step_open_identity(p, cfg)) == 0)
        err = step_open_brains(p);
    return err;
}

int phx_new(phx **out, const struct phx_config *cfg, uint64_t now_us)
{
    struct phx__mem mem;
    phx *p;
    int err;

    if (out == NULL)
        return PHX_EINVAL;
    *out = NULL;
    if (cfg == NULL)
        return PHX_EINVAL;
    if ((err = phx__node_api_config_check(cfg)) != 0)
        return err;
    phx__mem_init(&mem, cfg->alloc, cfg->mem_limit);
    p = phx__mem_zero(&mem, sizeof *p);
    if (p == NULL)
        return PHX_ENOMEM;
    p->mem = mem;
    p->mem.spare_most = STEP_SPARE_BYTES;
    p->now = now_us;
    phx__timer_init(&p->timers, &p->mem);
    phx__map_init(&p->handles, &p->mem);
    /* So that each room can be freed though a later one was not reached. */
    p->route.mem = p->route.table.mem = p->dial.mem = p->detect.mem = p->names.mem = p->post.mem =
        p->lost.mem = p->ids.mem = &p->mem;
    p->dial.timers = p->detect.timers = p->post.timers = &p->timers;
    if (cfg->os != NULL)
        p->os = *cfg->os;
    else if ((err = phx__os_init(&p->os, &p->mem)) != 0) {
        phx__mem_put(&mem, p, sizeof *p);
        return err;
    }
    err = step_open(p, cfg);
    if (err != 0) {
        step_free(p);
        return err;
    }
    *out = p;
    return 0;
}
