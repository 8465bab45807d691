/* link.c - frames between neighbours and about nodes: handshake, heartbeat, suspicion, probes, traces. */

/* HELLO, ANSWER, PROOF and REFUSE are all that an unauthenticated peer can make us decode, so they hold
 * nothing of variable length but one address. HELLO and REFUSE must stay as they are in every later version:
 * by them two versions tell each other that they have none in common.
 *
 * The fields of a frame stand in its table in the order of WIRE.md. */
#include "wire/link.h"

/* ---- Handshake */

static const struct phx__field wire_hello[] = {
    PHX__NUMBER(phx__hello, magic), PHX__NUMBER(phx__hello, version_min),
    PHX__NUMBER(phx__hello, version_max), PHX__BYTES(phx__hello, cluster), PHX__NUMBER(phx__hello, features),
    PHX__BYTES(phx__hello, id), PHX__NUMBER(phx__hello, incarnation), PHX__BYTES(phx__hello, nonce),
};

void phx__wire_link_put_hello(struct phx__writer *w, const struct phx__hello *h)
{
    phx__wire_put(w, PHX__HELLO, 0, 0, PHX__TABLE(wire_hello), h);
}

/* Whether version_min..version_max contains ours is link's question: it answers with a reason. */
int phx__wire_link_get_hello(const struct phx__frame *f, struct phx__hello *h)
{
    if (phx__wire_get(f, PHX__HELLO, PHX__TABLE(wire_hello), h) != 0 || h->magic != PHX__WIRE_MAGIC
        || h->version_min == 0 || h->version_min > h->version_max || h->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return 0;
}

/* `have` may be anything: only the card's owner knows whether there ever was such a version. */
static int wire_standing_is_sound(const struct phx__standing *s)
{
    return s->seq != 0 && s->seq <= PHX__SEQ_MAX && s->card_version != 0;
}

/* The macs of ANSWER and PROOF stand last, so that what they cover is a prefix of the body as it was sent,
 * and nobody has to encode again what it wants to verify. */
static const struct phx__field wire_answer[] = {
    PHX__NUMBER(phx__answer, version), PHX__NUMBER(phx__answer, features), PHX__BYTES(phx__answer, id),
    PHX__NUMBER(phx__answer, incarnation), PHX__BYTES(phx__answer, nonce), PHX__NUMBER(phx__answer, own.seq),
    PHX__NUMBER(phx__answer, own.card_version), PHX__NUMBER(phx__answer, own.have),
    PHX__ADDRESS(phx__answer, observed), PHX__BYTES(phx__answer, mac), PHX__BYTES(phx__answer, mac_other),
};

void phx__wire_link_put_answer(struct phx__writer *w, const struct phx__answer *a)
{
    PHX_ASSERT(wire_standing_is_sound(&a->own));
    phx__wire_put(w, PHX__ANSWER, 0, 0, PHX__TABLE(wire_answer), a);
}

/* Only link knows whether this version was offered. */
int phx__wire_link_get_answer(const struct phx__frame *f, struct phx__answer *a)
{
    if (phx__wire_get(f, PHX__ANSWER, PHX__TABLE(wire_answer), a) != 0 || !wire_standing_is_sound(&a->own)
        || a->version == 0 || a->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return 0;
}

static const struct phx__field wire_proof[] = {
    PHX__NUMBER(phx__proof, own.seq), PHX__NUMBER(phx__proof, own.card_version),
    PHX__NUMBER(phx__proof, own.have), PHX__ADDRESS(phx__proof, observed), PHX__BYTES(phx__proof, mac),
};

void phx__wire_link_put_proof(struct phx__writer *w, const struct phx__proof *p)
{
    PHX_ASSERT(wire_standing_is_sound(&p->own));
    phx__wire_put(w, PHX__PROOF, 0, 0, PHX__TABLE(wire_proof), p);
}

int phx__wire_link_get_proof(const struct phx__frame *f, struct phx__proof *p)
{
    if (phx__wire_get(f, PHX__PROOF, PHX__TABLE(wire_proof), p) != 0 || !wire_standing_is_sound(&p->own))
        return PHX_EPROTO;
    return 0;
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

/* ---- Heartbeats and suspicion */

static const struct phx__field wire_beat[] = {
    PHX__NUMBER(phx__beat, next_ms), PHX__NUMBER(phx__beat, digest), PHX__NUMBER(phx__beat, around),
    PHX__NUMBER(phx__beat, around_count), PHX__NUMBER(phx__beat, echo_ms),
};

void phx__wire_link_put_beat(struct phx__writer *w, const struct phx__beat *b, int flags)
{
    phx__wire_put(w, PHX__BEAT, flags, 0, PHX__TABLE(wire_beat), b);
}

/* The hashes are the sender's word: any value is possible, and a wrong one costs both sides one exchange of
 * summaries. */
int phx__wire_link_get_beat(const struct phx__frame *f, struct phx__beat *b)
{
    return phx__wire_get(f, PHX__BEAT, PHX__TABLE(wire_beat), b);
}

/* seq is what the accuser knows. How far the accused lets itself be pushed is a matter of route. */
static const struct phx__field wire_suspect[] = {
    PHX__BYTES(phx__suspect, id), PHX__NUMBER(phx__suspect, incarnation), PHX__NUMBER(phx__suspect, seq),
    PHX__BYTES(phx__suspect, accuser),
};

void phx__wire_link_put_suspect(struct phx__writer *w, const struct phx__suspect *s, int hops)
{
    phx__wire_put(w, PHX__SUSPECT, 0, hops, PHX__TABLE(wire_suspect), s);
}

int phx__wire_link_get_suspect(const struct phx__frame *f, struct phx__suspect *s)
{
    return phx__wire_get(f, PHX__SUSPECT, PHX__TABLE(wire_suspect), s);
}

static const struct phx__field wire_probe[] = {
    PHX__BYTES(phx__probe, target), PHX__BYTES(phx__probe, subject), PHX__BYTES(phx__probe, asker),
};

void phx__wire_link_put_probe(struct phx__writer *w, const struct phx__probe *p, int flags, int hops)
{
    phx__wire_put(w, PHX__PROBE, flags, hops, PHX__TABLE(wire_probe), p);
}

int phx__wire_link_get_probe(const struct phx__frame *f, struct phx__probe *p)
{
    return phx__wire_get(f, PHX__PROBE, PHX__TABLE(wire_probe), p);
}

/* ---- Hand-over and traces */

static const struct phx__field wire_hand[] = {
    PHX__BYTES(phx__hand, target), PHX__BYTES(phx__hand, giver), PHX__NUMBER(phx__hand, incarnation),
    PHX__NUMBER(phx__hand, first), PHX__NUMBER(phx__hand, last), PHX__NUMBER(phx__hand, epoch),
};

void phx__wire_link_put_hand(struct phx__writer *w, const struct phx__hand *h, int hops)
{
    phx__wire_put(w, PHX__HAND, 0, hops, PHX__TABLE(wire_hand), h);
}

int phx__wire_link_get_hand(const struct phx__frame *f, struct phx__hand *h)
{
    return phx__wire_get(f, PHX__HAND, PHX__TABLE(wire_hand), h) != 0 || h->first > h->last ? PHX_EPROTO : 0;
}

static const struct phx__field wire_trace[] = {
    PHX__BYTES(phx__trace, target), PHX__BYTES(phx__trace, source), PHX__NUMBER(phx__trace, key),
    PHX__NUMBER(phx__trace, number),
};

void phx__wire_link_put_trace(struct phx__writer *w, const struct phx__trace *t, int flags, int hops)
{
    size_t start = phx__wire_begin(w, PHX__TRACE, flags, hops);

    phx__wire_put_fields(w, PHX__TABLE(wire_trace), t);
    if ((flags & (int)PHX__TRACE_ANSWER) != 0) {
        PHX_ASSERT(t->why <= 0 && t->why >= -UINT16_MAX);
        phx__buf_put_u8(w, t->distance);
        phx__buf_put_u16(w, (uint16_t)-t->why);
    }
    phx__wire_end(w, start);
}

/* What both forms say is the sender's word and nothing that a decoder could check, so it looks only at the
 * size, and that hops are counted from 1. */
int phx__wire_link_get_trace(const struct phx__frame *f, struct phx__trace *t)
{
    struct phx__reader r;

    memset(t, 0, sizeof *t);
    if (phx__wire_open(f, PHX__TRACE, &r) != 0)
        return PHX_EPROTO;
    phx__wire_get_fields(&r, PHX__TABLE(wire_trace), t);
    if ((f->flags & PHX__TRACE_ANSWER) != 0) {
        t->distance = phx__buf_get_u8(&r);
        t->why = -(int)phx__buf_get_u16(&r);
    }
    return t->number == 0 ? PHX_EPROTO : phx__wire_close(&r);
}
