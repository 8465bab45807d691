/* link.c - frames between neighbours and about nodes: handshake, heartbeat, suspicion, probes, traces. */

/* HELLO, ANSWER, PROOF and REFUSE are all that an unauthenticated peer can make us decode, so they hold
 * nothing of variable length but one address. HELLO and REFUSE must stay as they are in every later version:
 * by them two versions tell each other that they have none in common.
 *
 * The fields of a frame stand in its table in the order of WIRE.md. Most are the sender's word: a wrong hash
 * in a BEAT costs both sides one exchange of summaries, and how far the accused of a SUSPECT and the owner of
 * a REQUEST let themselves be pushed is a matter of route. */
#include "wire/link.h"

static const struct phx__field wire_hello[] = {
    PHX__NUMBER(phx__hello, magic), PHX__NUMBER(phx__hello, version_min),
    PHX__NUMBER(phx__hello, version_max), PHX__BYTES(phx__hello, cluster), PHX__NUMBER(phx__hello, features),
    PHX__BYTES(phx__hello, id), PHX__NUMBER(phx__hello, incarnation), PHX__BYTES(phx__hello, nonce),
    { 0, PHX__ZEROS, 0 },
};

/* The macs of ANSWER and PROOF stand last but for the padding, so what they cover is a prefix of the body as
 * it was sent. */
static const struct phx__field wire_answer[] = {
    PHX__NUMBER(phx__answer, version), PHX__NUMBER(phx__answer, features), PHX__BYTES(phx__answer, id),
    PHX__NUMBER(phx__answer, incarnation), PHX__BYTES(phx__answer, nonce), PHX__NUMBER(phx__answer, own.seq),
    PHX__NUMBER(phx__answer, own.card_version), PHX__NUMBER(phx__answer, own.have),
    PHX__ADDRESS(phx__answer, observed), PHX__BYTES(phx__answer, mac), PHX__BYTES(phx__answer, mac_other),
    { 0, PHX__ZEROS, 0 },
};

static const struct phx__field wire_proof[] = {
    PHX__NUMBER(phx__proof, own.seq), PHX__NUMBER(phx__proof, own.card_version),
    PHX__NUMBER(phx__proof, own.have), PHX__ADDRESS(phx__proof, observed), PHX__BYTES(phx__proof, mac),
};

static const struct phx__field wire_refuse[] = { { 0, PHX__ERROR, 0 } };

static const struct phx__field wire_beat[] = {
    PHX__NUMBER(phx__beat, next_ms), PHX__NUMBER(phx__beat, digest), PHX__NUMBER(phx__beat, around),
    PHX__NUMBER(phx__beat, around_count), PHX__NUMBER(phx__beat, echo_ms), PHX__NUMBER(phx__beat, lost),
};

static const struct phx__field wire_suspect[] = {
    PHX__BYTES(phx__suspect, id), PHX__NUMBER(phx__suspect, incarnation), PHX__NUMBER(phx__suspect, seq),
    PHX__BYTES(phx__suspect, accuser),
};

static const struct phx__field wire_probe[] = {
    PHX__BYTES(phx__probe, target), PHX__BYTES(phx__probe, subject), PHX__BYTES(phx__probe, asker),
};

static const struct phx__field wire_request[] = {
    PHX__BYTES(phx__request, id), PHX__NUMBER(phx__request, incarnation), PHX__NUMBER(phx__request, seq),
};

static const struct phx__field wire_hand[] = {
    PHX__BYTES(phx__hand, target), PHX__BYTES(phx__hand, giver), PHX__NUMBER(phx__hand, incarnation),
    PHX__NUMBER(phx__hand, first), PHX__NUMBER(phx__hand, last), PHX__NUMBER(phx__hand, epoch),
};

static const struct phx__field wire_trace[] = {
    PHX__BYTES(phx__trace, target), PHX__BYTES(phx__trace, source), PHX__NUMBER(phx__trace, key),
    PHX__NUMBER(phx__trace, number), PHX__NUMBER(phx__trace, distance),
    { offsetof(struct phx__trace, why), PHX__ERROR, 0 },
};

#define WIRE_FORMAT(fields, type, optional, flag) { fields, sizeof(type), PHX__COUNT(fields), optional, flag }
static const struct wire_format {
    const struct phx__field *fields;
    uint16_t size;
    uint8_t count, optional, flag; /* the last `optional` fields are only in a frame with this flag */
} wire_formats[PHX__FRAME_TYPES] = {
    [PHX__HELLO] = WIRE_FORMAT(wire_hello, struct phx__hello, 1, PHX__PADDED),
    [PHX__ANSWER] = WIRE_FORMAT(wire_answer, struct phx__answer, 1, PHX__PADDED),
    [PHX__PROOF] = WIRE_FORMAT(wire_proof, struct phx__proof, 0, 0),
    [PHX__REFUSE] = WIRE_FORMAT(wire_refuse, int, 0, 0),
    [PHX__REQUEST] = WIRE_FORMAT(wire_request, struct phx__request, 0, 0),
    [PHX__BEAT] = WIRE_FORMAT(wire_beat, struct phx__beat, 1, PHX__BEAT_SHRUNK),
    [PHX__SUSPECT] = WIRE_FORMAT(wire_suspect, struct phx__suspect, 0, 0),
    [PHX__PROBE] = WIRE_FORMAT(wire_probe, struct phx__probe, 0, 0),
    [PHX__HAND] = WIRE_FORMAT(wire_hand, struct phx__hand, 0, 0),
    [PHX__TRACE] = WIRE_FORMAT(wire_trace, struct phx__trace, 2, PHX__TRACE_ANSWER),
};

static size_t wire_field_count(int type, int flags)
{
    const struct wire_format *format = &wire_formats[type];

    return format->count - ((flags & format->flag) == 0 ? (size_t)format->optional : 0);
}

void phx__wire_link_put(struct phx__writer *w, int type, int flags, int hops, const void *body)
{
    size_t start = phx__wire_begin(w, type, flags, hops);

    phx__wire_put_fields(w, wire_formats[type].fields, wire_field_count(type, flags), body);
    phx__wire_end(w, start);
}

/* `have` may be anything: only the card's owner knows whether there ever was such a version. */
static int wire_standing_is_sound(const struct phx__standing *s)
{
    return s->seq != 0 && s->seq <= PHX__SEQ_MAX && s->card_version != 0;
}

/* Whether a HELLO's versions contain ours, and whether an ANSWER's was offered, is link's question: it
 * answers with a reason. Reasons of a REFUSE that we do not know pass: a newer peer may have newer ones, and
 * phx_strerror has words for any number. The hops of a TRACE are counted from 1. */
static int wire_is_sound(int type, const void *body)
{
    const struct phx__hello *h = body;
    const struct phx__answer *a = body;
    const struct phx__request *q = body;
    const struct phx__suspect *u = body;
    const struct phx__hand *give = body;

    switch (type) {
    case PHX__HELLO:
        return h->magic == PHX__WIRE_MAGIC && h->version_min != 0 && h->version_min <= h->version_max
               && h->incarnation <= PHX__INCARNATION_MAX;
    case PHX__ANSWER:
        return wire_standing_is_sound(&a->own) && a->version != 0 && a->incarnation <= PHX__INCARNATION_MAX;
    case PHX__PROOF: return wire_standing_is_sound(&((const struct phx__proof *)body)->own);
    case PHX__REFUSE: return *(const int *)body != 0;
    case PHX__REQUEST: return phx__wire_is_honest(q->incarnation, q->seq);
    case PHX__SUSPECT: return phx__wire_is_honest(u->incarnation, u->seq);
    case PHX__HAND: return give->first <= give->last && give->incarnation <= PHX__INCARNATION_MAX;
    case PHX__TRACE: return ((const struct phx__trace *)body)->number != 0;
    default: return 1;
    }
}

int phx__wire_link_get(const struct phx__frame *f, int type, void *body)
{
    struct phx__reader r;

    if (phx__wire_open(f, type, &r) != 0)
        return PHX_EPROTO;
    memset(body, 0, wire_formats[type].size);
    phx__wire_get_fields(&r, wire_formats[type].fields, wire_field_count(type, f->flags), body);
    return phx__wire_close(&r) != 0 || !wire_is_sound(type, body) ? PHX_EPROTO : 0;
}
