/* flow.c - one flow's numbers, frames and windows, from one node to another. */

/* A flow is what one node sends to one other, cut into numbered frames. This file knows numbers, windows and
 * bytes. It does not know who sends, where a frame goes next, or what an outcome means.
 *
 *      numbers:     base                sent             left             base + count
 *                    |  under way        |  to be emitted | never emitted   |
 *      ring:      [rec][rec][rec] ... [rec][rec] ...    [rec][rec] ...    [rec]
 *                    |                                     |
 *      heads:     tail block: head+payload|head+payload|head|head|...       (frames, ready to go)
 *      bodies:                                   large messages: one block each, cut by (at, size)
 *
 * sent == left unless frames are being retransmitted. An ack moves base, an emission moves sent, and a rewind
 * sets sent back to base: go-back-N. That is enough: links lose no single frames, only all behind a loss.
 *
 * Silence is no loss. All may wait at a slow relay, and what is sent again waits there, too, and makes it
 * slower. So after a time-out the flow asks: its *question* is an empty fragment with the number that is next
 * to be emitted. It travels as data do, behind all that is under way, and the target acknowledges at once
 * what it has. If a fragment is missing, that ack reports a gap.
 *
 * A frame is encoded once, when the message is put, into a block that consecutive frames share. So the link's
 * queue merges small messages into one slice, and each costs one copy and no allocation.
 *
 * A message joins the last frame if that is not emitted yet and has the same sender and knowledge of returns:
 * it adds its bytes, two bytes of size and perhaps its name and tag, and the frame is a *run* (see
 * wire/data.c). So it costs a fraction of a head, a record and an ack. A lone message leaves at once:
 *
 *      open:      [head to a|8|8|8|8|   ]    + 8 to a   -> joins
 *                 [head to a|b 8|a 8|   ]    + 8 to c   -> joins, with its name
 *      closed:    [head to a|8|8|8|8] emitted, full, or messages without names and one to b -> a new frame
 *
 * Names cost eight bytes for each message, so a frame has them if its second message is for another name than
 * the first, or if the frame before had to end for lack of them; and tags likewise.
 *
 * A message that may have to be taken out of the flow does not join: one with a token may be cancelled, one
 * with a time limit expires. So a frame ends in one way, but for a run whose target delivers the beginning
 * and returns the rest. Numbers are the frames'; a return says at which message of a run it begins. With one
 * for each message an ack could end inside a record, and ten thousands would need a return each when their
 * name has moved.
 *
 * When a message is withdrawn, the heads behind it get new numbers. That is done for many at a time: when one
 * of them is next, or when half of the queue is withdrawn.
 *
 * Memory: 64 bytes for a record, 56 to 92 bytes for a head; in a run 2 or 10 bytes. Windows count frames with
 * their heads, so that empty messages are bounded too; the protocol asks for the payload only. */
#include "post/flow.h"

/* Payloads up to here are copied behind their heads: one slice and one stream, not a block each; and those
 * that have no block yet up to the second. */
#define FLOW_SMALL 4096u
#define FLOW_COPIED 61440u
#define FLOW_TAIL_MOST 65536u
/* The first block. Most flows of a crowd carry a message or two, and to touch a fresh page costs more. */
#define FLOW_LITTLE 256u
/* Where a frame has its number, and its name: behind the header and two ids. */
#define FLOW_NUMBER_AT (PHX__DATA_TARGET + 32u)
#define FLOW_NAME_AT (FLOW_NUMBER_AT + 16u)
/* What a record keeps of its frame's flags. */
#define FLOW_PLACE (PHX__DATA_FIRST | PHX__DATA_LAST | PHX__DATA_SEEN)
/* The time-out. A lost frame is nearly always noticed sooner, by a changed route or a gap; not the last
 * frames, at a relay. 1 s is far above any delay of a scheduler; 30 s is near TCP's. It is at least so many
 * times the round trip of this flow, and of others that go such a way; once if a node was lost since. */
#define FLOW_RTO_MIN PHX__SECOND
#define FLOW_RTO_MAX (30 * PHX__SECOND)
#define FLOW_RTO_TIMES 4u
/* A wait that began when all was slow is looked at again after this. */
#define FLOW_RTO_LOOK (2 * PHX__SECOND)
/* A target reports a gap for each frame behind it. One rewind answers them all. */
#define FLOW_REWIND_MIN (10 * PHX__MS)
/* The least congestion window: two fragments keep a link busy. */
#define FLOW_ALLOWED_MIN (2 * PHX__FRAGMENT)

/* ---- The ring of records */

struct phx__flow_record *phx__post_flow_at(const struct phx__flow_out *o, uint32_t index)
{
    return &o->ring[(o->first + index) & (o->capacity - 1)];
}

static size_t flow_frame_size(const struct phx__flow_record *r)
{
    return (size_t)r->head_size + r->body_size;
}

/* The frame, or its head. */
static uint8_t *flow_frame(const struct phx__flow_record *r)
{
    return r->head->data + r->head_at;
}

static size_t flow_head_size(int flags)
{
    if ((flags & (int)PHX__DATA_FIRST) == 0)
        return PHX__DATA_HEAD;
    return PHX__DATA_FIRST_HEAD + ((flags & (int)PHX__DATA_SEEN) != 0 ? 4u : 0);
}

uint32_t phx__post_flow_rest(const struct phx__flow_record *r)
{
    return r->body == NULL ? r->body_at : 0;
}

int phx__post_flow_is_mixed(const struct phx__flow_record *r)
{
    return phx__post_flow_rest(r) > 0 && (flow_frame(r)[PHX__DATA_FLAGS] & PHX__DATA_NAMES) != 0;
}

size_t phx__post_flow_payload(const struct phx__flow_record *r)
{
    size_t bytes = flow_frame_size(r) - flow_head_size(r->flags);
    uint32_t rest = phx__post_flow_rest(r);

    return rest == 0 ? bytes : bytes - rest * phx__wire_data_more_head(flow_frame(r)[PHX__DATA_FLAGS]);
}

PHX__COLD void phx__post_flow_truncate(struct phx__flow_out *o, uint32_t index)
{
    o->open.box = NULL;
    while (o->count > index) {
        struct phx__flow_record r = *phx__post_flow_at(o, --o->count);

        o->bytes -= r.gone ? 0 : flow_frame_size(&r);
        o->gone -= r.gone;
        if (o->base + o->count < o->sent)
            o->flying -= flow_frame_size(&r);
        phx__buf_block_drop(r.head);
        phx__buf_block_drop(r.body);
    }
}

/* ---- Life */

void phx__post_flow_restart(struct phx__flow_out *o, uint64_t epoch, size_t window)
{
    PHX_ASSERT(o->count == 0 && o->bytes == 0 && o->flying == 0);
    o->epoch = epoch;
    o->base = o->sent = o->left = 0;
    o->window = window;
    o->allowed = o->own;
    memset(&o->rtt, 0, sizeof o->rtt);
    o->rto = FLOW_RTO_MIN;
    o->rto_at = o->limit_at = PHX__NEVER;
    memset(&o->path, 0, sizeof o->path);
    o->front_back = 0;
    o->seen = 0;
    o->open.box = NULL;
}

void phx__post_flow_trim(struct phx__flow_out *o)
{
    if (o->count > 0)
        return;
    phx__buf_block_drop(o->tail);
    o->tail = NULL;
    phx__mem_put(o->mem, o->ring, o->capacity * sizeof *o->ring);
    o->ring = NULL;
    o->first = o->capacity = 0;
}

/* ---- Putting messages in */

static int flow_first_flags(const struct phx__flow_out *o)
{
    return (int)PHX__DATA_FIRST | (o->seen != 0 ? (int)PHX__DATA_SEEN : 0);
}

/* The block in which so many bytes are written next; of a large one little stays empty. NULL: no memory. */
PHX__APART static struct phx__block *flow_tail(struct phx__flow_out *o, size_t need)
{
    if (o->tail == NULL && need <= FLOW_LITTLE / 2)
        return o->tail = phx__buf_block_new(o->mem, FLOW_LITTLE);
    return phx__buf_block_tail(o->mem, &o->tail, need, PHX__MAX(4 * need, FLOW_TAIL_MOST));
}

/* Encodes the head of the next frame, with room for the payload behind it or, if the payload stands in a body
 * block, a reference to that. The ring has room. NULL: no memory. */
static struct phx__flow_record *flow_add(struct phx__flow_out *o, const struct phx__message *m, int flags,
                                         size_t size, struct phx__block *body, size_t at)
{
    /* Does the application wait for the outcome: a token, or memory to be released? */
    int soon = m->token != 0 || m->multicast != NULL || (m->body != NULL && m->body->release != NULL);
    size_t head_size = flow_head_size(flags), inlined = body == NULL ? size : 0;
    struct phx__block *tail = flow_tail(o, head_size + inlined);
    const struct phx__data d = { o->target, o->source, o->base + o->count, o->epoch, m->to, m->from, m->tag,
                                 m->size, o->seen, 0, NULL, size };
    struct phx__flow_record *r;
    struct phx__writer w;

    if (tail == NULL)
        return NULL;
    phx__buf_writer_init(&w, tail->data + tail->used, head_size);
    phx__wire_data_put(&w, &d, flags | (soon ? (int)PHX__DATA_SOON : 0), o->hops);
    PHX_ASSERT(!w.bad && w.size == head_size);
    r = phx__post_flow_at(o, o->count++);
    *r = (struct phx__flow_record){
        .head = phx__buf_block_hold(tail), .head_at = (uint32_t)tail->used,
        .head_size = (uint16_t)(head_size + inlined), .body_size = (uint32_t)(size - inlined),
        .body = body == NULL ? NULL : phx__buf_block_hold(body), .body_at = (uint32_t)at,
        .flags = (uint8_t)(((unsigned)flags & FLOW_PLACE) | m->tried << PHX__FLOW_TRIED),
        .token = m->token, .limit = m->limit, .box = m->box, .multicast = m->multicast
    };
    tail->used += r->head_size;
    o->bytes += flow_frame_size(r);
    return r;
}

size_t phx__post_flow_message_bytes(const struct phx__message *m)
{
    return m->run == 0 ? m->size : m->size + m->rest_size - m->rest * phx__wire_data_more_head(m->run);
}

int phx__post_flow_message_next(struct phx__message *m)
{
    const uint8_t *end = m->data + m->size + m->rest_size;

    if (m->rest == 0)
        return 0;
    m->data = phx__wire_data_more(m->data + m->size, m->run, &m->to, &m->tag, &m->size);
    m->rest_size = (size_t)(end - m->data) - m->size;
    if (--m->rest == 0)
        m->run = 0;
    return 1;
}

struct phx__message phx__post_flow_message_alone(const struct phx__message *m, struct phx__box *b)
{
    struct phx__message one = *m;

    one.box = b;
    one.run = 0;
    one.rest_size = one.rest = 0;
    return one;
}

void phx__post_flow_copy(const struct phx__message *m, uint8_t *to)
{
    if (m->body != NULL) {
        if (m->size + m->rest_size > 0)
            memcpy(to, m->data, m->size + m->rest_size);
        return;
    }
    for (int i = 0; i < m->iov_count; to += m->iov[i++].iov_len)
        if (m->iov[i].iov_len > 0)
            memcpy(to, m->iov[i].iov_base, m->iov[i].iov_len);
}

/* The caller's to drop: its body, or a new one with its bytes; NULL: no memory. */
static struct phx__block *flow_body(struct phx__mem *mem, const struct phx__message *m)
{
    struct phx__block *body;

    if (m->body != NULL)
        return phx__buf_block_hold(m->body);
    if ((body = phx__buf_block_new(mem, m->size)) != NULL) {
        phx__post_flow_copy(m, body->data);
        body->used = m->size;
    }
    return body;
}

/* May it share a record? Not if its outcome is reported, it expires, or it tried a life. */
static int flow_is_plain(const struct phx__message *m)
{
    return m->token == 0 && m->limit == PHX__NEVER && m->multicast == NULL && m->tried == 0;
}

/* A small message or a run. Others may join, but a frame as large as the credit waits for all before it. */
static int flow_put_small(struct phx__flow_out *o, const struct phx__message *m)
{
    size_t size = m->size + m->rest_size;
    size_t most = PHX__MIN(PHX__MIN(o->window, o->own) / 4, PHX__FLOW_RUN_MOST);
    struct phx__flow_record *r = flow_add(o, m, flow_first_flags(o) | (int)PHX__DATA_LAST | m->run, size,
                                          NULL, m->rest);

    if (r == NULL)
        return PHX_ENOMEM;
    phx__post_flow_copy(m, flow_frame(r) + (r->head_size - size));
    if (!flow_is_plain(m) || r->head_size >= most || m->size > FLOW_SMALL)
        return 0;
    o->open = (struct phx__flow_open){
        .box = m->box, .from = m->from, .tag = m->tag, .left = (uint32_t)(most - r->head_size), .record = r,
        .run = (uint8_t)m->run, .head = (uint8_t)phx__wire_data_more_head(m->run), .in_turn = o->open.in_turn
    };
    return 0;
}

/* The open frame gets a message with another name or tag than the first one, or its second message at all: 1,
 * or 0: it cannot join, as those before it do not say theirs. */
static int flow_join_changes(struct phx__flow_open *open, const struct phx__box *b, uint64_t tag)
{
    int turns = b != open->box, tagged = tag != open->tag;

    if (open->run == 0)
        open->run = (uint8_t)(PHX__DATA_RUN | (tagged ? PHX__DATA_TAGS : 0) | (turns ? PHX__DATA_NAMES : 0)
                              | open->in_turn);
    if (turns && (open->run & PHX__DATA_NAMES) == 0) {
        open->in_turn = PHX__DATA_NAMES;
        return 0;
    }
    open->turned |= (uint8_t)turns;
    open->head = (uint8_t)phx__wire_data_more_head(open->run);
    if (!tagged || (open->run & PHX__DATA_TAGS) != 0)
        return 1;
    open->in_turn |= (uint8_t)((open->run & PHX__DATA_NAMES) != 0 ? PHX__DATA_TAGS : 0);
    return 0;
}

/* Is there room for so many bytes behind the open frame? It leaves a little block; a larger one ends it. */
static int flow_has_room(struct phx__flow_out *o, size_t need)
{
    struct phx__flow_record *r = o->open.record;
    struct phx__block *old = r->head, *tail;

    if (old->capacity - old->used >= need)
        return 1;
    if (old->capacity != FLOW_LITTLE || (tail = flow_tail(o, r->head_size + need)) == NULL)
        return 0;
    memcpy(tail->data, flow_frame(r), r->head_size);
    tail->used = r->head_size;
    r->head = phx__buf_block_hold(tail);
    phx__buf_block_drop(old);
    r->head_at = 0;
    return 1;
}

uint8_t *phx__post_flow_room(struct phx__flow_out *o, const struct phx__box *b, uint64_t name, uint64_t from,
                             uint64_t tag, size_t size)
{
    struct phx__flow_open *open = &o->open;
    struct phx__flow_record *r = open->record;
    uint8_t *frame, *at;
    size_t need;

    if (from != open->from || size > FLOW_SMALL)
        return NULL;
    if ((b != open->box || open->run == 0 || (tag != open->tag && (open->run & PHX__DATA_TAGS) == 0))
        && !flow_join_changes(open, b, tag))
        return NULL;
    if ((need = open->head + size) > open->left || !flow_has_room(o, need))
        return NULL;
    frame = flow_frame(r);
    at = phx__wire_data_put_more(frame + r->head_size, open->run, name, tag, size);
    open->box = b;
    open->left -= (uint32_t)need;
    o->bytes += need;
    o->tail->used += need;
    r->head_size = (uint16_t)(r->head_size + need);
    if (r->body_at++ == 0)
        frame[PHX__DATA_FLAGS] |= (uint8_t)open->run;
    phx__wire_data_stretch(frame, r->head_size);
    return at;
}

int phx__post_flow_join(struct phx__flow_out *o, const struct phx__message *m)
{
    uint8_t *to;

    if (o->open.box == NULL || !flow_is_plain(m) || m->run != 0
        || (m->body != NULL && m->body->release != NULL))
        return 0;
    if ((to = phx__post_flow_room(o, m->box, m->to, m->from, m->tag, m->size)) == NULL)
        return 0;
    phx__post_flow_copy(m, to);
    return 1;
}

/* Bytes of a message in each of its frames but the last. */
static size_t flow_fragment(const struct phx__message *m)
{
    return m->multicast != NULL ? PHX__CAST_FRAGMENT : PHX__FRAGMENT;
}

/* Cuts `body` into frames. Each holds it, so that a link may keep one while others are gone. */
static int flow_put_large(struct phx__flow_out *o, const struct phx__message *m, struct phx__block *body)
{
    size_t at = m->body == NULL || m->size == 0 ? 0 : (size_t)(m->data - body->data), done = 0, size;
    uint32_t before = o->count;

    do {
        int place = done == 0 ? flow_first_flags(o) : 0;

        size = m->size - done < flow_fragment(m) ? m->size - done : flow_fragment(m);
        if (done + size == m->size)
            place |= (int)PHX__DATA_LAST;
        if (flow_add(o, m, place, size, body, at + done) == NULL) {
            phx__post_flow_truncate(o, before);
            return PHX_ENOMEM;
        }
        done += size;
    } while (done < m->size);
    return 0;
}

int phx__post_flow_put(struct phx__flow_out *o, const struct phx__message *m)
{
    int err;
    struct phx__block *body = m->body;
    uint32_t frames = m->size == 0 ? 1 : (uint32_t)((m->size - 1) / flow_fragment(m) + 1);

    PHX_ASSERT(o->epoch != 0);
    if (frames > o->capacity - o->count
        && phx__mem_grow_ring(o->mem, &o->ring, &o->first, o->count, &o->capacity, frames,
                              sizeof *o->ring) != 0)
        return PHX_ENOMEM;
    o->open.box = NULL;
    /* The host's own memory is not copied, nor the bytes of a multicast, which many flows share. */
    if (m->run != 0
        || (m->size <= (body == NULL ? FLOW_COPIED : FLOW_SMALL) && m->multicast == NULL
            && (body == NULL || body->release == NULL))) {
        err = flow_put_small(o, m);
    } else {
        body = flow_body(o->mem, m);
        err = body == NULL ? PHX_ENOMEM : flow_put_large(o, m, body);
        phx__buf_block_drop(body); /* the records hold it now */
    }
    if (err == 0 && m->limit < o->limit_at)
        o->limit_at = m->limit;
    return err;
}

/* ---- Emitting and acknowledging */

struct phx__flow_record *phx__post_flow_peek(struct phx__flow_out *o)
{
    struct phx__flow_record *r;
    size_t credit;

    if (o->gone > 0 && phx__post_flow_at(o, (uint32_t)(o->sent - o->base))->gone)
        phx__post_flow_sweep(o);
    if (o->sent == o->base + o->count || o->path.drains)
        return NULL;
    r = phx__post_flow_at(o, (uint32_t)(o->sent - o->base));
    credit = PHX__MIN(PHX__MIN(o->window, o->own), o->allowed);
    /* One frame may always be under way: a window below its size must not stop the flow for good. */
    return o->flying > 0 && (o->flying >= credit || flow_frame_size(r) > credit - o->flying) ? NULL : r;
}

int phx__post_flow_mark(struct phx__flow_out *o, uint64_t now)
{
    int again = o->sent < o->left;

    o->flying += flow_frame_size(phx__post_flow_at(o, (uint32_t)(o->sent - o->base)));
    if (!again) {
        o->left++;
        if (o->left == o->base + o->count) { /* an emitted frame does not change */
            o->open.in_turn =
                (uint8_t)(o->open.turned ? o->open.run & (PHX__DATA_NAMES | PHX__DATA_TAGS) : 0);
            o->open.box = NULL;
        }
        /* Only a frame emitted once is timed (Karn): an ack does not say which copy it answers. */
        if (!o->rtt.timing)
            o->rtt = (struct phx__flow_rtt){ 1, o->sent, now, o->rtt.smoothed };
    }
    o->sent++;
    if (o->rto_at == PHX__NEVER)
        phx__post_flow_wait(o, 0, now);
    return again;
}

PHX__APART void phx__post_flow_wait(struct phx__flow_out *o, uint64_t waited, uint64_t now)
{
    o->path.waited = waited;
    o->path.since = waited == 0 ? now : o->path.since;
    o->rto_at = now + PHX__MIN(o->rto - waited, FLOW_RTO_LOOK);
    if (o->path.asks && !o->rtt.timing) /* all was emitted twice: then the question itself is timed */
        o->rtt = (struct phx__flow_rtt){ 2, o->sent - 1, now, o->rtt.smoothed };
    o->rtt.timing = o->path.asks ? 2 : o->rtt.timing != 0;
}

void phx__post_flow_pop(struct phx__flow_out *o)
{
    const struct phx__flow_record *r = phx__post_flow_at(o, 0);

    if ((r->flags & PHX__DATA_FIRST) != 0 && (r->flags & PHX__DATA_LAST) == 0) {
        phx__post_flow_message(o, 0, &o->front); /* only this frame says it, and the message may go again */
        o->front_back = 0;
    }
    o->first = (o->first + 1) & (o->capacity - 1);
    o->count--;
    o->bytes -= flow_frame_size(r);
    if (o->base < o->sent)
        o->flying -= flow_frame_size(r);
    else
        o->sent = o->base + 1; /* acknowledged after a rewind, before it was sent again */
    o->base++;
}

static uint64_t flow_patience(uint64_t rtt)
{
    uint64_t most = FLOW_RTO_TIMES * PHX__MIN(rtt, FLOW_RTO_MAX); /* a host may sleep through one */

    return most < FLOW_RTO_MIN ? FLOW_RTO_MIN : PHX__MIN(most, FLOW_RTO_MAX);
}

/* The target was asked so long ago, and 1 us, and nothing has happened since; 0: it was not. */
static uint64_t flow_asked(const struct phx__flow_out *o, uint64_t now)
{
    int asked = o->rtt.timing == 2 && o->rto_at != PHX__NEVER;

    return asked ? now + 1 - (o->rto_at - PHX__MIN(o->rto, FLOW_RTO_LOOK)) : 0;
}

uint64_t phx__post_flow_progress(struct phx__flow_out *o, size_t bytes, uint64_t now)
{
    uint64_t rtt = 0, asked = flow_asked(o, now);

    if (o->rtt.timing && o->base > o->rtt.number) {
        /* Soon after a question it is that which was answered, and the wait before was no round trip. */
        rtt = asked > 0 && asked <= flow_patience(o->rtt.smoothed) ? asked : now - o->rtt.at;
        o->rtt.timing = 0;
        o->rtt.smoothed = o->rtt.smoothed == 0 ? rtt : (7 * o->rtt.smoothed + rtt) / 8;
    }
    if (bytes == 0)
        return rtt;
    if (o->rtt.smoothed == 0)
        o->rtt.smoothed = 1; /* an ack came, if only of frames that were emitted twice */
    /* As TCP's slow start: each byte acknowledged allows one more. */
    o->allowed = bytes < o->own - o->allowed ? o->allowed + bytes : o->own;
    o->path.asks = 0;
    o->path.drains = o->path.drains != 0; /* the way is alive: asked anew before it is left */
    o->rto = flow_patience(o->rtt.smoothed);
    phx__post_flow_wait(o, 0, now); /* not for an answer */
    o->rto_at = o->flying > 0 ? o->rto_at : PHX__NEVER;
    return rtt;
}

PHX__APART void phx__post_flow_rewind(struct phx__flow_out *o)
{
    o->sent = o->base;
    o->flying = 0;
    o->path.asks = 0;
    o->rtt.timing = 0;
    o->rto_at = PHX__NEVER;
}

PHX__COLD uint64_t phx__post_flow_lost(struct phx__flow_out *o, uint64_t now)
{
    uint64_t asked = flow_asked(o, now);

    /* Frames are lost while links live where a relay's queue is full; so send less. */
    o->allowed = PHX__MIN(PHX__MAX(o->allowed / 2, FLOW_ALLOWED_MIN), o->own);
    o->path.rewind_from = now + PHX__MAX(PHX__MIN(o->rtt.smoothed, FLOW_RTO_MIN), FLOW_REWIND_MIN);
    phx__post_flow_rewind(o);
    return asked;
}

void phx__post_flow_silent(struct phx__flow_out *o, uint64_t usual, int may, uint64_t lost_at, uint64_t now)
{
    uint64_t waited = o->path.waited + PHX__MIN(o->rto - o->path.waited, FLOW_RTO_LOOK);
    int soon = o->path.since < lost_at && o->path.drains < 2; /* a way that is only slow is not left */
    uint64_t patience = flow_patience(soon ? usual / FLOW_RTO_TIMES : usual);
    int over = usual > 0 ? patience <= waited : waited == o->rto;

    o->path.asks = over && (may || usual > 0);
    o->rto = over ? PHX__MIN(2 * o->rto, FLOW_RTO_MAX) : PHX__MAX(o->rto, patience);
    phx__post_flow_wait(o, o->path.asks ? 0 : PHX__MIN(waited, o->rto - FLOW_RTO_MIN), now);
}

PHX__COLD struct phx__block *phx__post_flow_question(struct phx__flow_out *o)
{
    const struct phx__data d = { .target = o->target, .source = o->source, .number = o->sent,
                                 .epoch = o->epoch };
    struct phx__block *b = phx__buf_block_new(o->mem, PHX__DATA_HEAD);
    struct phx__writer w;

    if (b == NULL)
        return NULL;
    phx__buf_writer_init(&w, b->data, PHX__DATA_HEAD);
    phx__wire_data_put(&w, &d, 0, o->hops);
    b->used = w.size;
    o->path.asks = 0;
    return b;
}

/* ---- Messages in the flow */

void phx__post_flow_message(const struct phx__flow_out *o, uint32_t index, struct phx__message *m)
{
    const struct phx__flow_record *r = phx__post_flow_at(o, index);
    const uint8_t *head = flow_frame(r);
    size_t head_size = flow_head_size(r->flags);

    if ((r->flags & PHX__DATA_FIRST) != 0) {
        m->to = phx__buf_load_u64(head + FLOW_NAME_AT);
        m->from = phx__buf_load_u64(head + FLOW_NAME_AT + 8);
        m->tag = phx__buf_load_u64(head + FLOW_NAME_AT + 16);
        m->size = (size_t)phx__buf_load_u64(head + FLOW_NAME_AT + 24);
        m->data = r->body != NULL ? r->body->data + r->body_at : head + head_size;
        m->rest = phx__post_flow_rest(r);
        m->run = head[PHX__DATA_FLAGS] & (int)PHX__DATA_RUNS;
        m->rest_size = m->run == 0 ? 0 : r->head_size - head_size - m->size;
    } else {
        PHX_ASSERT(index == 0);
        *m = o->front;
        if (r->body != NULL && r->body->release != NULL)
            m->data = r->body->data; /* the host may have had it back */
    }
    m->body = r->body != NULL ? r->body : r->head;
    m->token = r->token;
    m->limit = r->limit;
    m->box = r->box;
    m->multicast = r->multicast;
    m->tried = (unsigned)r->flags >> PHX__FLOW_TRIED;
}

uint32_t phx__post_flow_span(const struct phx__flow_out *o, uint32_t index)
{
    uint32_t n = 1;

    while ((phx__post_flow_at(o, index + n - 1)->flags & PHX__DATA_LAST) == 0)
        n++;
    PHX_ASSERT(index + n <= o->count);
    return n;
}

uint32_t phx__post_flow_last(const struct phx__flow_out *o)
{
    uint32_t i = o->count - 1;

    while (i > 0 && (phx__post_flow_at(o, i)->flags & PHX__DATA_FIRST) == 0)
        i--;
    return i;
}

/* One byte of each frame stays, two of a last one that had one: no set of old and new ones has the message's
 * size. */
int phx__post_flow_hollow(struct phx__flow_out *o, uint32_t index, uint32_t span)
{
    struct phx__block *tail = flow_tail(o, span * (size_t)(PHX__DATA_HEAD_MOST + 2));

    o->open.box = NULL; /* what joins stands at the end of the tail */
    for (; tail != NULL && span > 0; index++, span--) {
        struct phx__flow_record *r = phx__post_flow_at(o, index);
        size_t head = flow_head_size(r->flags), size = head + (r->body_size == 1 ? 2 : 1);
        size_t less = flow_frame_size(r) - size;
        uint8_t *at = tail->data + tail->used;

        memcpy(at, flow_frame(r), head);
        memset(at + head, 0, size - head);
        phx__wire_data_stretch(at, size);
        phx__buf_block_drop(r->head);
        phx__buf_block_drop(r->body);
        r->head = phx__buf_block_hold(tail);
        r->body = NULL;
        r->head_at = (uint32_t)tail->used;
        r->head_size = (uint16_t)size;
        r->body_at = r->body_size = 0;
        tail->used += size;
        o->bytes -= less;
        o->flying -= o->base + index < o->sent ? less : 0;
    }
    return tail != NULL ? 0 : PHX_ENOMEM;
}

void phx__post_flow_withdraw(struct phx__flow_out *o, uint32_t index)
{
    struct phx__flow_record *r = phx__post_flow_at(o, index);

    o->bytes -= flow_frame_size(r);
    o->gone++;
    r->gone = 1;
    phx__buf_block_drop(r->body);
    r->body = NULL;
}

void phx__post_flow_sweep(struct phx__flow_out *o)
{
    uint32_t i = (uint32_t)(o->left - o->base), keep = i;

    if (o->gone == 0)
        return;
    o->gone = 0;
    o->sweeps++;
    o->open.box = NULL;
    for (; i < o->count; i++) {
        struct phx__flow_record *r = phx__post_flow_at(o, i);

        if (r->gone) {
            phx__buf_block_drop(r->head); /* the body is dropped already */
            continue;
        }
        if (keep != i) {
            *phx__post_flow_at(o, keep) = *r;
            (void)phx__buf_store_u64(flow_frame(r) + FLOW_NUMBER_AT, o->base + keep);
        }
        keep++;
    }
    o->count = keep;
}
