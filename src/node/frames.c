/* frames.c - frames in go to their room, control frames of the rooms go out. */
#include "node/base.h"

#define FRAMES_CARD_INLINE 16384u /* larger cards travel in CARD frames just before their UPDATE */
/* An UPDATE takes no more entries beyond this size; then one more entry with its card still fits. */
#define FRAMES_UPDATE_FULL (PHX__FRAGMENT - FRAMES_CARD_INLINE - 128u)
#define FRAMES_SUMMARY_LINES (FRAMES_UPDATE_FULL / 29) /* of 29 bytes each */
#define FRAMES_HEAD 128u /* bytes of a frame around its card or its returns, or of one of fixed size */
/* A host that may be silent for longer has data unread for longer than a connection outlives by itself. */
#define FRAMES_LONG_MS 600000u
/* Frames of this size may be kept in the block they were read into, which they pin as a whole. */
#define FRAMES_LENT_LEAST 32768u
#define FRAMES_LONG_QUEUE 262144u /* bytes; frames that are repeated, or can be missed, are not added to it */

/* ---- Out: control frames to a neighbour ------------------------------------------------------ */

/* Closes the link when it writes in this step: a room that goes through its neighbours must lose none. */
static void frames_break(phx *p, struct phx__link *l)
{
    l->end.broken = PHX_ENOMEM;
    p->set.ops->wants(p, l);
}

/* Begins a control frame of at most `size` bytes: its link; NULL: there is none, or no memory. */
static struct phx__link *frames_begin(phx *p, uint32_t nbr, size_t size, struct phx__writer *w)
{
    struct phx__link *l = phx__node_link(p, nbr);

    return l == NULL || phx__link_out_control(&p->set, l, size, w) != 0 ? NULL : l;
}

/* A lost frame would leave the neighbour wrong: the link breaks, and its successor starts with everything. */
static void frames_end(phx *p, struct phx__link *l, const struct phx__writer *w)
{
    if (phx__link_out_control_end(&p->set, l, w) != 0)
        frames_break(p, l);
}

int phx__node_frames_send(phx *p, uint32_t nbr, int type, int flags, int hops, const void *body)
{
    struct phx__link *l = phx__node_link(p, nbr);
    struct phx__writer w;

    if (l == NULL || (type != PHX__SUSPECT && phx__link_out_queued(l) >= FRAMES_LONG_QUEUE)
        || phx__link_out_control(&p->set, l, FRAMES_HEAD, &w) != 0)
        return 0;
    phx__wire_link_put(&w, type, flags, hops, body);
    frames_end(p, l, &w);
    return 1;
}

PHX__COLD static int frames_send_card(phx *p, uint32_t nbr, const struct phx__entry *e)
{
    struct phx__card_part c = { e->id, e->incarnation, e->card_version, e->card_size, 0, NULL, 0 };
    struct phx__writer w;

    for (c.offset = 0; c.offset < c.total; c.offset += c.size) {
        struct phx__link *l;
        c.data = e->card + c.offset;
        c.size = c.total - c.offset < FRAMES_UPDATE_FULL ? c.total - c.offset : FRAMES_UPDATE_FULL;
        if ((l = frames_begin(p, nbr, c.size + FRAMES_HEAD, &w)) == NULL)
            return PHX_ENOMEM;
        phx__wire_route_put_card_part(&w, &c);
        frames_end(p, l, &w);
    }
    return 0;
}

/* How many entries from `first` on go into one frame, and how many bytes they need. */
static uint32_t frames_fit(const struct phx__entry *e, uint32_t first, uint32_t count, size_t *bytes)
{
    uint32_t i;

    *bytes = PHX__WIRE_HEADER + 2;
    for (i = first; i < count; i++) {
        size_t more = PHX__ENTRY_SIZE + 8;
        if (e[i].card_size <= FRAMES_CARD_INLINE)
            more += e[i].card_size;
        /* The receiver keeps one large card at a time: it goes with its entry alone. */
        if (i > first
            && (*bytes + more > FRAMES_UPDATE_FULL || e[i].card_size > FRAMES_CARD_INLINE
                || e[i - 1].card_size > FRAMES_CARD_INLINE))
            break;
        *bytes += more;
    }
    return i - first;
}

static int frames_send_update(phx *p, uint32_t nbr, const struct phx__entry *entries, uint32_t count,
                              size_t bytes)
{
    struct phx__writer w;
    struct phx__link *l;
    int cards = 0;
    size_t start;

    for (uint32_t i = 0; i < count; i++)
        if (entries[i].card != NULL && entries[i].card_size > FRAMES_CARD_INLINE
            && frames_send_card(p, nbr, &entries[i]) != 0)
            return PHX_ENOMEM;
    if ((l = frames_begin(p, nbr, bytes, &w)) == NULL)
        return PHX_ENOMEM;
    start = phx__wire_route_begin_update(&w);
    for (uint32_t i = 0; i < count; i++) {
        struct phx__entry e = entries[i];
        e.flags = e.card == NULL                     ? 0
                  : e.card_size > FRAMES_CARD_INLINE ? PHX__ENTRY_CARD_SENT
                                                     : PHX__ENTRY_CARD;
        e.flags |= e.rtt != 0 ? PHX__ENTRY_RTT : 0;
        cards |= e.card != NULL;
        phx__wire_route_put_entry(&w, &e);
    }
    phx__wire_end(&w, start);
    frames_end(p, l, &w);
    if (cards) /* the receiver may handle each frame in a step of its own */
        phx__link_out_named(l, p->names.index.cost);
    return 0;
}

static void frames_update(phx *p, uint32_t nbr, const struct phx__entry *entries, uint32_t count)
{
    struct phx__link *l = phx__node_link(p, nbr);
    uint32_t first, n;
    size_t bytes;

    for (first = 0; first < count; first += n) {
        n = frames_fit(entries, first, count, &bytes);
        if (frames_send_update(p, nbr, entries + first, n, bytes) != 0) {
            if (l != NULL)
                frames_break(p, l);
            return;
        }
    }
}

static size_t frames_room(phx *p, uint32_t nbr)
{
    const struct phx__link *l = phx__node_link(p, nbr);

    return l != NULL ? phx__link_out_room(&p->set, l) : SIZE_MAX;
}

static void frames_request(phx *p, uint32_t nbr, uint32_t node, uint32_t seq, int hops)
{
    struct phx__request q = { p->ids.at[node], phx__route_dest(&p->route, node)->incarnation, seq };

    (void)phx__node_frames_send(p, nbr, PHX__REQUEST, 0, hops, &q); /* it is repeated */
}

static void frames_say_beat(phx *p, uint32_t node, int flags, uint32_t echo_ms)
{
    struct phx__beat b = { .echo_ms = echo_ms };
    struct phx__writer w;
    struct phx__link *l = frames_begin(p, node, 64, &w);

    if (l == NULL)
        return;
    b.next_ms = (uint32_t)(phx__detect_announce(&p->detect, node, p->now) / PHX__MS);
    phx__route_beat_fill(&p->route, node, &b);
    flags |= phx__detect_is_monitor(&p->detect, node) ? (int)PHX__BEAT_MONITOR : 0;
    flags |= p->detect.pause || p->detect.slow ? (int)PHX__BEAT_BUSY : 0;
    phx__wire_link_put(&w, PHX__BEAT, flags, 0, &b);
    p->stats.heartbeats_out++;
    frames_end(p, l, &w);
}

/* A heartbeat that asks for an answer carries our clock, which the answer brings back. */
void phx__node_frames_beat(phx *p, uint32_t node, int flags)
{
    struct phx__route_nbr *n = p->route.rtt.on ? phx__route_nbr(&p->route, node) : NULL;
    uint32_t echo = 0;

    if (flags & (int)PHX__BEAT_REPLY)
        echo = n != NULL ? phx__route_rtt_ask(&n->rtt, p->now) : (uint32_t)(p->now / PHX__MS);
    frames_say_beat(p, node, flags, echo);
}

/* The table in lines, as many frames as it takes. */
PHX__COLD static void frames_summary(phx *p, uint32_t nbr, int reply)
{
    uint32_t node = 0;

    p->set.table = (size_t)p->ids.size * 32;
    p->mem.looks += p->ids.size;
    while (node < p->ids.size && (node > 0 || frames_room(p, nbr) > 0)) { /* all of it, or none */
        struct phx__writer w;
        struct phx__link *l = frames_begin(p, nbr, FRAMES_UPDATE_FULL + PHX__WIRE_HEADER, &w);
        uint32_t end = node, lines = 0;
        size_t start;
        int flags;
        if (l == NULL)
            return; /* the next digest asks again */
        for (; end < p->ids.size && lines < FRAMES_SUMMARY_LINES; end++)
            lines += phx__route_dest(&p->route, end) != NULL;
        flags = (reply ? (int)PHX__SUMMARY_REPLY : 0) | (end < p->ids.size ? (int)PHX__SUMMARY_MORE : 0);
        l->summary.asked |= !reply;
        for (start = phx__wire_begin(&w, PHX__SUMMARY, flags, 0); node < end; node++) {
            const struct phx__dest *d = phx__route_dest(&p->route, node);
            if (d != NULL)
                phx__wire_route_put_summary_line(&w, &(struct phx__entry){
                    .id = p->ids.at[node], .incarnation = d->incarnation, .seq = d->seq, .hops = d->hops });
        }
        phx__wire_end(&w, start);
        frames_end(p, l, &w);
    }
}

static int frames_starting(phx *p)
{
    return p->dial.waiting > 0;
}

void phx__node_frames_route_ops(phx *p, struct phx__route_ops *ops)
{
    *ops = (struct phx__route_ops){ p, frames_update, frames_room, frames_request, phx__node_frames_beat,
                                    frames_starting, frames_summary };
}

int phx__node_frames_ack(phx *p, uint32_t node, const struct phx__ack *a, int gap)
{
    struct phx__writer w;
    struct phx__link *l = frames_begin(p, phx__route_next(&p->route, node),
                                       FRAMES_HEAD + a->return_count * (size_t)PHX__RETURN_SIZE, &w);

    if (l == NULL)
        return PHX_EUNREACH;
    phx__wire_data_put_ack(&w, a, gap ? (int)PHX__ACK_GAP : 0, (int)p->cfg.hop_limit);
    return phx__link_out_control_end(&p->set, l, &w);
}

/* ---- In -------------------------------------------------------------------------------------- */

static void frames_drop_card(phx *p, struct phx__link *l)
{
    phx__mem_put(&p->mem, l->card.data, l->card.capacity);
    memset(&l->card, 0, sizeof l->card);
}

PHX__COLD static int frames_on_card(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__card_part c;

    if (phx__wire_route_get_card_part(f, &c) != 0)
        return PHX_EPROTO;
    if (c.offset == 0) {
        frames_drop_card(p, l);
        l->card = (struct phx__link_card){ .total = c.total, .id = c.id, .version = c.version,
                                           .incarnation = c.incarnation };
    }
    if (l->card.total == 0 || c.offset != l->card.size || c.total != l->card.total
        || c.version != l->card.version || c.incarnation != l->card.incarnation
        || !phx__id_equal(&c.id, &l->card.id) || c.size > c.total - c.offset)
        return PHX_EPROTO;
    /* Room is made for what has come, not for what is announced. */
    if (!phx__mem_has_room_for_cards(&p->mem, c.size, 5)
        || phx__mem_grow(&p->mem, &l->card.data, &l->card.capacity, c.offset + c.size, 1) != 0)
        return PHX_ENOMEM; /* the link starts over when there is room */
    memcpy(l->card.data + c.offset, c.data, c.size);
    l->card.size += c.size;
    return 0;
}

/* A card that came in parts belongs to the next entry that says so. */
PHX__COLD static int frames_attach_card(struct phx__link *l, struct phx__entry *e)
{
    if (!(e->flags & PHX__ENTRY_CARD_SENT))
        return 0;
    if (l->card.data == NULL || l->card.size != l->card.total || l->card.version != e->card_version
        || l->card.incarnation != e->incarnation || !phx__id_equal(&l->card.id, &e->id))
        return PHX_EPROTO;
    e->card = l->card.data;
    e->card_size = l->card.size;
    return 0;
}

/* Is there room for what the entry's card takes in all rooms? If not, a known node keeps its present card,
 * and of others the entry is dropped: a digest tells of it later. PHX_ENOMEM: it is the neighbour's own. */
PHX__COLD static int frames_fit_card(const phx *p, const struct phx__link *l, struct phx__entry *e)
{
    const struct phx__dest *d = phx__route_dest(&p->route, phx__id_find(&p->ids, &e->id));

    if (e->card == NULL || (d != NULL && e->card_version <= d->card_version)
        || phx__mem_has_room_for_cards(&p->mem, 4 * (size_t)e->card_size, 4))
        return 0;
    if (phx__id_equal(&e->id, &l->id))
        return PHX_ENOMEM;
    if (d == NULL)
        return PHX_ELIMIT;
    e->card = NULL;
    e->card_version = d->card_version;
    return 0;
}

/* A peer that is at no distance from another node, or at a distance from itself, has a bug or lies. */
static int frames_is_plausible(struct phx__link *l, const struct phx_id *id, uint8_t hops)
{
    int own = phx__id_equal(id, &l->id);

    if (own == (hops == 0))
        return 1;
    l->end.why = own ? "a distance from itself" : "no distance from another node";
    return 0;
}

/* At most once in a step names are indexed anew. */
void phx__node_frames_charge_names(phx *p)
{
    if (p->news.charged_at != p->stats.steps)
        p->set.named += p->names.index.cost;
    p->news.charged_at = p->stats.steps;
}

static int frames_on_update(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__reader r;
    struct phx__entry e;
    uint64_t walked = p->route.counters.walked;
    int got, dropped = 0;
    uint32_t changed;

    if (phx__wire_route_get_update(f, &r) != 0)
        return PHX_EPROTO;
    p->stats.updates_in++;
    while ((got = phx__wire_route_next_entry(&r, &e)) > 0) {
        struct phx__card card;
        if (!frames_is_plausible(l, &e.id, e.hops) || frames_attach_card(l, &e) != 0
            || (e.card != NULL && phx__wire_route_get_card(e.card, e.card_size, &card) != 0))
            return PHX_EPROTO;
        p->stats.entries_in++;
        if (p->detect.suspects > 0) /* rarely */
            phx__node_suspect_on_entry(&p->suspect, &e);
        phx__node_dead_make_room(p, &e.id);
        changed = p->route.changed.count;
        if ((got = frames_fit_card(p, l, &e)) == 0)
            got = phx__route_entry(&p->route, l->peer, &e, p->now);
        if (e.card != NULL && p->route.changed.count > changed)
            phx__node_frames_charge_names(p);
        if (got == PHX_ENOMEM)
            return got; /* what is lost here nobody sends again: the next link starts with everything */
        dropped += got != 0;
        if (e.flags & PHX__ENTRY_CARD_SENT)
            frames_drop_card(p, l);
    }
    p->set.walked += p->route.counters.walked - walked;
    if (dropped > 0) /* one line per frame, not per entry: a liar must not fill the log */
        phx__node_log(p, PHX_LOG_WARN, "%u route entries dropped: %s", (uint64_t)dropped,
                      phx_strerror(PHX_ELIMIT));
    return got;
}

PHX__COLD static int frames_on_request(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    struct phx__request q;

    if (phx__wire_link_get(f, PHX__REQUEST, &q) != 0)
        return PHX_EPROTO;
    phx__route_request(&p->route, l->peer, &q, f->hops, p->now);
    return 0;
}

static int frames_on_beat(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    uint64_t walked = p->route.counters.walked;
    struct phx__route_nbr *n;
    struct phx__beat b;

    if (phx__wire_link_get(f, PHX__BEAT, &b) != 0)
        return PHX_EPROTO;
    p->stats.heartbeats_in++;
    p->stats.monitor_beats_in += (f->flags & PHX__BEAT_MONITOR) != 0;
    if (b.next_ms != 0 && (b.next_ms > FRAMES_LONG_MS) != l->end.patient)
        phx__os_patience(&p->own.world, l->handle, l->end.patient = b.next_ms > FRAMES_LONG_MS);
    phx__detect_heartbeat(&p->detect, l->peer, b.next_ms * PHX__MS, f->flags & (int)PHX__BEAT_BUSY,
                   f->flags & (int)PHX__BEAT_MONITOR, p->now);
    phx__route_beat_in(&p->route, l->peer, &b, (f->flags & PHX__BEAT_SHRUNK) != 0, p->now);
    p->set.walked = p->route.counters.walked - walked;
    if (!(f->flags & PHX__BEAT_REPLY) && (n = phx__route_nbr(&p->route, l->peer)) != NULL)
        phx__route_rtt_answer(&n->rtt, b.echo_ms, p->now);
    if ((f->flags & PHX__BEAT_REPLY) && phx__link_out_queued(l) < FRAMES_LONG_QUEUE)
        frames_say_beat(p, l->peer, 0, b.echo_ms);
    return 0;
}

/* Few bytes ask for a whole table: not more often than it could be of use. An answer is taken only after a
 * question of ours: it is work for us, and has us send what the peer says it lacks. */
PHX__COLD static int frames_on_summary(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    int got, reply = (f->flags & PHX__SUMMARY_REPLY) != 0;
    uint64_t walked = p->route.counters.walked;
    struct phx__entry s;
    struct phx__reader r;

    phx__buf_reader_init(&r, f->body, f->size);
    if (!l->summary.open)
        l->summary.taken = reply ? l->summary.asked : p->now >= l->summary.at && frames_room(p, l->peer) > 0;
    if (!l->summary.open && l->summary.taken) {
        l->summary.asked &= !reply;
        l->summary.at = reply ? l->summary.at : p->now + PHX__SECOND;
        phx__route_summary_begin(&p->route);
    }
    while ((got = phx__wire_route_next_summary_line(&r, &s)) > 0 && frames_is_plausible(l, &s.id, s.hops))
        if (l->summary.taken)
            phx__route_summary_line(&p->route, l->peer, &s);
    if (got != 0)
        return PHX_EPROTO;
    l->summary.open = (f->flags & PHX__SUMMARY_MORE) != 0;
    if (!l->summary.open && l->summary.taken)
        phx__route_summary_end(&p->route, l->peer, reply);
    p->set.walked = p->route.counters.walked - walked;
    return 0;
}

static void frames_forward_ack(phx *p, const struct phx__ack *a, const struct phx__frame *f)
{
    size_t size = PHX__WIRE_HEADER + f->size, start;
    struct phx__writer w;
    struct phx__link *l;

    if (f->hops <= 1 || !p->cfg.relay
        || (l = frames_begin(p, phx__node_next(p, &a->target), size, &w)) == NULL
        || phx__link_out_queued(l) >= FRAMES_LONG_QUEUE) {
        p->post.counters.dropped++; /* acks are cumulative: the next one says it again */
        return;
    }
    start = phx__wire_begin(&w, PHX__ACK, f->flags, f->hops - 1);
    phx__buf_put_bytes(&w, f->body, f->size);
    phx__wire_end(&w, start);
    frames_end(p, l, &w);
    p->post.counters.relayed_frames++;
}

static int frames_on_ack(phx *p, const struct phx__frame *f)
{
    struct phx__ack a;

    if (phx__wire_data_get_ack(f, &a) != 0)
        return PHX_EPROTO;
    if (phx__id_equal(&a.target, p->set.self))
        phx__post_recv_ack(&p->post, &a, (f->flags & PHX__ACK_GAP) != 0);
    else
        frames_forward_ack(p, &a, f);
    return 0;
}

static int frames_on_data(phx *p, struct phx__link *l, const struct phx__frame *f,
                        const uint8_t *raw, size_t raw_size)
{
    /* What is for us stays here, and a second scratch for it would be memory for nothing. */
    int large = raw_size >= FRAMES_LENT_LEAST, ends = (f->flags & PHX__DATA_LAST) != 0, err;
    int ours = raw_size >= PHX__DATA_HEAD
               && memcmp(raw + PHX__DATA_TARGET, p->set.self, sizeof *p->set.self) == 0;

    p->post.transit.lender = large && !ours ? phx__link_lend(&p->set, raw) : NULL;
    err = phx__post_recv_data(&p->post, raw, raw_size, f);
    l->place.from = !ours ? l->place.from : ends ? PHX__NONE : p->post.recv.last_source;
    l->place.large |= (uint8_t)(large && ours && !ends);
    return err;
}

/* Shown to the host in its time, as messages are: many may come at once when many nodes die. */
static int frames_on_suspect(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    const uint32_t told = p->step.told;
    int err;

    if (!phx__post_outcome_may_call(&p->post, PHX__SHARE_READ, 1))
        return PHX_EAGAIN;
    err = phx__node_suspect_on_suspect(&p->suspect, l->peer, f, p->now);
    p->post.calls -= p->step.told != told && p->post.calls > 0;
    return err;
}

PHX__COLD static int frames_on_others(phx *p, struct phx__link *l, const struct phx__frame *f)
{
    switch (f->type) {
    case PHX__UPDATE: return frames_on_update(p, l, f);
    case PHX__CARD: return frames_on_card(p, l, f);
    case PHX__REQUEST: return frames_on_request(p, l, f);
    case PHX__BEAT: return frames_on_beat(p, l, f);
    case PHX__SUMMARY: return frames_on_summary(p, l, f);
    case PHX__SUSPECT: return frames_on_suspect(p, l, f);
    case PHX__PROBE: return phx__node_suspect_on_probe(&p->suspect, l->peer, f);
    case PHX__HAND: return phx__node_handover_on_hand(&p->handover, f);
    case PHX__TRACE: return phx__node_trace_on_trace(&p->trace, l->peer, f, p->now);
    case PHX__CAST: return phx__post_recv_multicast(&p->post, f);
#ifdef PHX_PAPER
    case PHX__PAPER: return p->paper(p, l->peer, f);
#endif
    default: return PHX_EPROTO;
    }
}

int phx__node_frames_in(phx *p, struct phx__link *l, const struct phx__frame *f, const uint8_t *raw,
                        size_t raw_size)
{
    /* What comes on a link that was replaced is older than what came on its successor. */
    if (!phx__node_serves(p, l))
        return 0;
    p->post.recv.from = l->peer;
    return f->type == PHX__DATA  ? frames_on_data(p, l, f, raw, raw_size)
           : f->type == PHX__ACK ? frames_on_ack(p, f) : frames_on_others(p, l, f);
}
