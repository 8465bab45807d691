/* link.c - frames between neighbours and about nodes: handshake, heartbeat, suspicion, probes, traces. */

/* HELLO, ANSWER, PROOF and REFUSE are all that an unauthenticated peer can make us decode, so they hold
 * nothing of variable length but one address. HELLO and REFUSE must stay as they are in every later version:
 * by them two versions tell each other that they have none in common. */
#include "wire/link.h"

void phx__wire_link_put_hello(struct phx__writer *w, const struct phx__hello *h)
{
    size_t start = phx__wire_begin(w, PHX__HELLO, 0, 0);

    phx__buf_put_u32(w, h->magic);
    phx__buf_put_u16(w, h->version_min);
    phx__buf_put_u16(w, h->version_max);
    phx__buf_put_bytes(w, h->cluster, sizeof h->cluster);
    phx__buf_put_u32(w, h->features);
    phx__id_put(w, &h->id);
    phx__buf_put_u64(w, h->incarnation);
    phx__buf_put_bytes(w, h->nonce, sizeof h->nonce);
    phx__wire_end(w, start);
}

/* What each side says of itself, and of the card that the other need not send. `have` may be anything: 0 is
 * "none", and only the card's owner knows whether there ever was such a version. */
static void wire_put_standing(struct phx__writer *w, uint32_t seq, uint32_t card_version, uint32_t have)
{
    PHX_ASSERT(seq != 0 && card_version != 0);
    phx__buf_put_u32(w, seq);
    phx__buf_put_u32(w, card_version);
    phx__buf_put_u32(w, have);
}

static int wire_get_standing(struct phx__reader *r, uint32_t *seq, uint32_t *card_version, uint32_t *have)
{
    *seq = phx__buf_get_u32(r);
    *card_version = phx__buf_get_u32(r);
    *have = phx__buf_get_u32(r);
    return r->bad || *seq == 0 || *seq > PHX__SEQ_MAX || *card_version == 0 ? PHX_EPROTO : 0;
}

/* Whether version_min..version_max contains ours is link's question: it answers with a reason. */
int phx__wire_link_get_hello(const struct phx__frame *f, struct phx__hello *h)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__HELLO, &r) != 0)
        return PHX_EPROTO;
    h->magic = phx__buf_get_u32(&r);
    h->version_min = phx__buf_get_u16(&r);
    h->version_max = phx__buf_get_u16(&r);
    phx__buf_get_copy(&r, h->cluster, sizeof h->cluster);
    h->features = phx__buf_get_u32(&r);
    phx__id_get(&r, &h->id);
    h->incarnation = phx__buf_get_u64(&r);
    phx__buf_get_copy(&r, h->nonce, sizeof h->nonce);
    if (h->magic != PHX__WIRE_MAGIC || h->version_min == 0 || h->version_min > h->version_max
        || h->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return phx__wire_close(&r);
}

void phx__wire_link_put_answer(struct phx__writer *w, const struct phx__answer *a)
{
    size_t start = phx__wire_begin(w, PHX__ANSWER, 0, 0);

    phx__buf_put_u16(w, a->version);
    phx__buf_put_u32(w, a->features);
    phx__id_put(w, &a->id);
    phx__buf_put_u64(w, a->incarnation);
    phx__buf_put_bytes(w, a->nonce, sizeof a->nonce);
    wire_put_standing(w, a->seq, a->card_version, a->have);
    phx__addr_put(w, &a->observed);
    phx__buf_put_bytes(w, a->mac, sizeof a->mac);
    phx__buf_put_bytes(w, a->mac_other, sizeof a->mac_other);
    phx__wire_end(w, start);
}

/* Only link knows whether this version was offered. */
int phx__wire_link_get_answer(const struct phx__frame *f, struct phx__answer *a)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__ANSWER, &r) != 0)
        return PHX_EPROTO;
    a->version = phx__buf_get_u16(&r);
    a->features = phx__buf_get_u32(&r);
    phx__id_get(&r, &a->id);
    a->incarnation = phx__buf_get_u64(&r);
    phx__buf_get_copy(&r, a->nonce, sizeof a->nonce);
    if (wire_get_standing(&r, &a->seq, &a->card_version, &a->have) != 0
        || phx__addr_get(&r, &a->observed) != 0)
        return PHX_EPROTO;
    phx__buf_get_copy(&r, a->mac, sizeof a->mac);
    phx__buf_get_copy(&r, a->mac_other, sizeof a->mac_other);
    if (a->version == 0 || a->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return phx__wire_close(&r);
}

/* The macs of ANSWER and PROOF stand last, so that what they cover is a prefix of the body as it was sent,
 * and nobody has to encode again what it wants to verify. */
void phx__wire_link_put_proof(struct phx__writer *w, const struct phx__proof *p)
{
    size_t start = phx__wire_begin(w, PHX__PROOF, 0, 0);

    wire_put_standing(w, p->seq, p->card_version, p->have);
    phx__addr_put(w, &p->observed);
    phx__buf_put_bytes(w, p->mac, sizeof p->mac);
    phx__wire_end(w, start);
}

int phx__wire_link_get_proof(const struct phx__frame *f, struct phx__proof *p)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__PROOF, &r) != 0
        || wire_get_standing(&r, &p->seq, &p->card_version, &p->have) != 0
        || phx__addr_get(&r, &p->observed) != 0)
        return PHX_EPROTO;
    phx__buf_get_copy(&r, p->mac, sizeof p->mac);
    return phx__wire_close(&r);
}

void phx__wire_link_put_refuse(struct phx__writer *w, int reason)
{
    size_t start = phx__wire_begin(w, PHX__REFUSE, 0, 0);

    PHX_ASSERT(reason < 0 && reason >= -UINT16_MAX);
    phx__buf_put_u16(w, (uint16_t)-reason);
    phx__wire_end(w, start);
}

/* Reasons that we do not know pass: a newer peer may have newer ones, and phx_strerror has words for any
 * number. */
int phx__wire_link_get_refuse(const struct phx__frame *f, int *reason)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__REFUSE, &r) != 0)
        return PHX_EPROTO;
    *reason = -(int)phx__buf_get_u16(&r);
    return *reason == 0 ? PHX_EPROTO : phx__wire_close(&r);
}

/* The hashes are the sender's word: any value is possible, and a wrong one costs both sides one exchange of
 * summaries. */
void phx__wire_link_put_beat(struct phx__writer *w, const struct phx__beat *b, int flags)
{
    size_t start = phx__wire_begin(w, PHX__BEAT, flags, 0);

    phx__buf_put_u32(w, b->next_ms);
    phx__buf_put_u64(w, b->digest);
    phx__buf_put_u64(w, b->around);
    phx__buf_put_u32(w, b->around_count);
    phx__buf_put_u32(w, b->echo_ms);
    phx__wire_end(w, start);
}

int phx__wire_link_get_beat(const struct phx__frame *f, struct phx__beat *b)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__BEAT, &r) != 0)
        return PHX_EPROTO;
    b->next_ms = phx__buf_get_u32(&r);
    b->digest = phx__buf_get_u64(&r);
    b->around = phx__buf_get_u64(&r);
    b->around_count = phx__buf_get_u32(&r);
    b->echo_ms = phx__buf_get_u32(&r);
    return phx__wire_close(&r);
}

/* seq is what the accuser knows. How far the accused lets itself be pushed is a matter of route. */
void phx__wire_link_put_suspect(struct phx__writer *w, const struct phx__suspect *s, int hops)
{
    size_t start = phx__wire_begin(w, PHX__SUSPECT, 0, hops);

    phx__id_put(w, &s->id);
    phx__buf_put_u64(w, s->incarnation);
    phx__buf_put_u32(w, s->seq);
    phx__id_put(w, &s->accuser);
    phx__wire_end(w, start);
}

int phx__wire_link_get_suspect(const struct phx__frame *f, struct phx__suspect *s)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__SUSPECT, &r) != 0)
        return PHX_EPROTO;
    phx__id_get(&r, &s->id);
    s->incarnation = phx__buf_get_u64(&r);
    s->seq = phx__buf_get_u32(&r);
    phx__id_get(&r, &s->accuser);
    return phx__wire_close(&r);
}

void phx__wire_link_put_probe(struct phx__writer *w, const struct phx__probe *p, int flags, int hops)
{
    size_t start = phx__wire_begin(w, PHX__PROBE, flags, hops);

    phx__id_put(w, &p->target);
    phx__id_put(w, &p->subject);
    phx__id_put(w, &p->asker);
    phx__wire_end(w, start);
}

int phx__wire_link_get_probe(const struct phx__frame *f, struct phx__probe *p)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__PROBE, &r) != 0)
        return PHX_EPROTO;
    phx__id_get(&r, &p->target);
    phx__id_get(&r, &p->subject);
    phx__id_get(&r, &p->asker);
    return phx__wire_close(&r);
}

void phx__wire_link_put_hand(struct phx__writer *w, const struct phx__hand *h, int hops)
{
    size_t start = phx__wire_begin(w, PHX__HAND, 0, hops);

    phx__id_put(w, &h->target);
    phx__id_put(w, &h->giver);
    phx__buf_put_u64(w, h->incarnation);
    phx__buf_put_u64(w, h->first);
    phx__buf_put_u64(w, h->last);
    phx__buf_put_u64(w, h->epoch);
    phx__wire_end(w, start);
}

int phx__wire_link_get_hand(const struct phx__frame *f, struct phx__hand *h)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__HAND, &r) != 0)
        return PHX_EPROTO;
    phx__id_get(&r, &h->target);
    phx__id_get(&r, &h->giver);
    h->incarnation = phx__buf_get_u64(&r);
    h->first = phx__buf_get_u64(&r);
    h->last = phx__buf_get_u64(&r);
    h->epoch = phx__buf_get_u64(&r);
    return h->first > h->last ? PHX_EPROTO : phx__wire_close(&r);
}

/* What both forms say is the sender's word and nothing that a decoder could check, so it looks only at the
 * size, and that hops are counted from 1. */
void phx__wire_link_put_trace(struct phx__writer *w, const struct phx__trace *t, int flags, int hops)
{
    size_t start = phx__wire_begin(w, PHX__TRACE, flags, hops);

    phx__id_put(w, &t->target);
    phx__id_put(w, &t->source);
    phx__buf_put_u64(w, t->key);
    phx__buf_put_u8(w, t->number);
    if ((flags & (int)PHX__TRACE_ANSWER) != 0) {
        PHX_ASSERT(t->why <= 0 && t->why >= -UINT16_MAX);
        phx__buf_put_u8(w, t->distance);
        phx__buf_put_u16(w, (uint16_t)-t->why);
    }
    phx__wire_end(w, start);
}

int phx__wire_link_get_trace(const struct phx__frame *f, struct phx__trace *t)
{
    struct phx__reader r;

    memset(t, 0, sizeof *t);
    if (phx__wire_open(f, PHX__TRACE, &r) != 0)
        return PHX_EPROTO;
    phx__id_get(&r, &t->target);
    phx__id_get(&r, &t->source);
    t->key = phx__buf_get_u64(&r);
    t->number = phx__buf_get_u8(&r);
    if ((f->flags & PHX__TRACE_ANSWER) != 0) {
        t->distance = phx__buf_get_u8(&r);
        t->why = -(int)phx__buf_get_u16(&r);
    }
    return t->number == 0 ? PHX_EPROTO : phx__wire_close(&r);
}
