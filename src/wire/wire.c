/* wire.c - frames: encode and decode; mirrors WIRE.md and remembers nothing. */

/* Promises. A decoder that returns 0 (or 1, for those that iterate) has checked everything that
 * can be checked without knowing more than the frame: sizes, counts before they are used, order
 * and sense of ranges, limits, and that no byte is left over. So nobody above this room looks at
 * a length again. A decoder that returns PHX_EPROTO has found bytes that no correct peer sends;
 * the link that carried them is closed. Nothing here allocates, and what decoders hand out points
 * into the frame they were given.
 *
 * What it refuses to know: keys and MACs (link), whether an entry is news (route), whose turn it
 * is. A number that is odd but possible, such as a distance of 254, is not this room's business.
 *
 *      bytes -> phx__wire_parse -> struct phx__frame -> phx__wire_get_X -> struct phx__X
 *      struct phx__X -> phx__wire_put_X -> one whole frame at the writer's end
 *
 * Two rules keep the format able to grow. Unknown bits in flags mean nothing and are masked off
 * here, so that a later version may give them a meaning that older nodes can do without.
 * Everything else unknown is an error: a new frame type or a longer body is a new version, and
 * versions are agreed in the handshake before such a frame is sent.
 *
 * One form per meaning: for each accepted frame there is one encoding (up to masked flags), so
 * what is decoded and encoded again is the same bytes. t_wire.c holds us to that for every
 * single-byte change, and t_spec.c parses our frames with a second parser that was written from
 * WIRE.md.
 *
 * There is no pointer arithmetic here: struct phx__reader and phx__writer do it, with bounds. */
#include "wire/wire.h"

/* The most a message may hold: cfg.max_message is at most 1 GiB. */
#define WIRE_TOTAL_MAX ((uint64_t)1 << 30)
/* Less credit than one page is not a window but a way to make senders crawl. */
#define WIRE_WINDOW_MIN 4096u
#define WIRE_ID 16u
#define WIRE_CLAIM 24u
/* The longest address: family, length, and a UNIX path of 103 bytes. */
#define WIRE_ADDRESS_MAX 105u
/* A card with no address and no claim: flags, window, and the two counts. */
#define WIRE_CARD_MIN 10u
#define WIRE_CARD_FLAGS (PHX__CARD_RELAYS | PHX__CARD_LEFT)
#define WIRE_ENTRY_FLAGS (PHX__ENTRY_CARD | PHX__ENTRY_CARD_SENT)
/* What the size field may say: it counts type, flags, hops and the zero byte, but not itself. */
#define WIRE_FIELD 4u
#define WIRE_SIZE_MAX (PHX__FRAME_MAX - WIRE_FIELD)

/* ---- Frames */

/* May cross more than one link, and so carries a hop count. */
static int wire_type_travels(int type)
{
    return type == PHX__REQUEST || type == PHX__DATA || type == PHX__ACK || type == PHX__SUSPECT
           || type == PHX__PROBE || type == PHX__CAST || type == PHX__HAND
           || type == PHX__TRACE;
}

int phx__wire_parse(const uint8_t *data, size_t size, struct phx__frame *f, size_t *used)
{
    struct phx__reader r;
    uint32_t rest;
    uint8_t zero;

    *used = 0;
    phx__buf_reader_init(&r, data, size);
    rest = phx__buf_get_u32(&r);
    if (r.bad)
        return 0;
    /* Refused as soon as it can be: somebody else's protocol (an HTTP client, a port scanner) fails
     * here on its first four bytes, and no buffer is ever sized by a stranger's number. */
    if (rest < PHX__WIRE_HEADER - WIRE_FIELD || rest > WIRE_SIZE_MAX)
        return PHX_EPROTO;
    *used = rest + WIRE_FIELD;
    f->type = phx__buf_get_u8(&r);
    if (!r.bad && (f->type == 0 || f->type >= PHX__FRAME_TYPES))
        return PHX_EPROTO;
    f->flags = phx__buf_get_u8(&r);
    f->hops = phx__buf_get_u8(&r);
    if (!r.bad && f->hops != 0 && !wire_type_travels(f->type))
        return PHX_EPROTO;
    zero = phx__buf_get_u8(&r);
    if (!r.bad && zero != 0)
        return PHX_EPROTO;
    f->size = *used - PHX__WIRE_HEADER;
    f->body = phx__buf_get_bytes(&r, f->size);
    return r.bad ? 0 : 1;
}

size_t phx__wire_begin(struct phx__writer *w, int type, int flags, int hops)
{
    size_t start = w->size;

    PHX_ASSERT(type > 0 && type < (int)PHX__FRAME_TYPES);
    PHX_ASSERT(hops == 0 || wire_type_travels(type));
    phx__buf_put_u32(w, 0); /* the size, when it is known */
    /* Four bytes: type, flags, hops, zero. */
    phx__buf_put_u32(w, (uint32_t)type | (uint32_t)(flags & 255) << 8 | (uint32_t)(hops & 255) << 16);
    return start;
}

/* Fills in the size of the frame that began at start and of which `more` bytes are yet to follow.
 * A frame that no receiver would take must not leave: it spoils the writer, which its owner
 * checks anyway. */
static void wire_seal(struct phx__writer *w, size_t start, size_t more)
{
    size_t rest;

    if (w->bad)
        return;
    rest = w->size - start - WIRE_FIELD;
    if (rest > WIRE_SIZE_MAX || more > WIRE_SIZE_MAX - rest) {
        w->bad = 1;
        return;
    }
    phx__buf_put_u32_at(w, start, (uint32_t)(rest + more));
}

void phx__wire_end(struct phx__writer *w, size_t start)
{
    wire_seal(w, start, 0);
}

/* A decoder begins: is it given the frame it is for? The size needs no look here, the reader has
 * it. */
static int wire_open(const struct phx__frame *f, int type, struct phx__reader *r)
{
    phx__buf_reader_init(r, f->body, f->size);
    return f->type == type ? 0 : PHX_EPROTO;
}

/* A decoder ends: everything was there, and nothing more. */
static int wire_close(const struct phx__reader *r)
{
    return r->bad || r->left != 0 ? PHX_EPROTO : 0;
}

static void wire_put_id(struct phx__writer *w, const struct phx_id *id)
{
    phx__buf_put_bytes(w, id->b, WIRE_ID);
}

static void wire_get_id(struct phx__reader *r, struct phx_id *id)
{
    phx__buf_get_copy(r, id->b, WIRE_ID);
}

/* ---- Handshake
 *
 * These three and REFUSE are all that a stranger can make us decode, so they hold nothing of
 * variable length but one address. HELLO and REFUSE must stay as they are in every later version:
 * they are what two versions tell each other that they have none in common. */

void phx__wire_put_hello(struct phx__writer *w, const struct phx__hello *h)
{
    size_t start = phx__wire_begin(w, PHX__HELLO, 0, 0);

    phx__buf_put_u32(w, h->magic);
    phx__buf_put_u16(w, h->version_min);
    phx__buf_put_u16(w, h->version_max);
    phx__buf_put_bytes(w, h->cluster, sizeof h->cluster);
    phx__buf_put_u32(w, h->features);
    wire_put_id(w, &h->id);
    phx__buf_put_u64(w, h->incarnation);
    phx__buf_put_bytes(w, h->nonce, sizeof h->nonce);
    phx__wire_end(w, start);
}

/* What both sides say of themselves, and of the card that the other need not send. `have` may be
 * anything: 0 is "none", and whether there ever was such a version only its owner knows. */
static void wire_put_standing(struct phx__writer *w, uint32_t seq, uint32_t card_version,
                              uint32_t have)
{
    PHX_ASSERT(seq != 0 && card_version != 0);
    phx__buf_put_u32(w, seq);
    phx__buf_put_u32(w, card_version);
    phx__buf_put_u32(w, have);
}

static int wire_get_standing(struct phx__reader *r, uint32_t *seq, uint32_t *card_version,
                             uint32_t *have)
{
    *seq = phx__buf_get_u32(r);
    *card_version = phx__buf_get_u32(r);
    *have = phx__buf_get_u32(r);
    return r->bad || *seq == 0 || *seq > PHX__SEQ_MAX || *card_version == 0 ? PHX_EPROTO : 0;
}

/* Whether version_min..version_max contains ours is link's question: it answers with a reason. */
int phx__wire_get_hello(const struct phx__frame *f, struct phx__hello *h)
{
    struct phx__reader r;

    if (wire_open(f, PHX__HELLO, &r) != 0)
        return PHX_EPROTO;
    h->magic = phx__buf_get_u32(&r);
    h->version_min = phx__buf_get_u16(&r);
    h->version_max = phx__buf_get_u16(&r);
    phx__buf_get_copy(&r, h->cluster, sizeof h->cluster);
    h->features = phx__buf_get_u32(&r);
    wire_get_id(&r, &h->id);
    h->incarnation = phx__buf_get_u64(&r);
    phx__buf_get_copy(&r, h->nonce, sizeof h->nonce);
    if (h->magic != PHX__WIRE_MAGIC)
        return PHX_EPROTO;
    if (h->version_min == 0 || h->version_min > h->version_max
        || h->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return wire_close(&r);
}

void phx__wire_put_answer(struct phx__writer *w, const struct phx__answer *a)
{
    size_t start = phx__wire_begin(w, PHX__ANSWER, 0, 0);

    phx__buf_put_u16(w, a->version);
    phx__buf_put_u32(w, a->features);
    wire_put_id(w, &a->id);
    phx__buf_put_u64(w, a->incarnation);
    phx__buf_put_bytes(w, a->nonce, sizeof a->nonce);
    wire_put_standing(w, a->seq, a->card_version, a->have);
    phx__addr_put(w, &a->observed);
    phx__buf_put_bytes(w, a->mac, sizeof a->mac);
    phx__buf_put_bytes(w, a->mac_other, sizeof a->mac_other);
    phx__wire_end(w, start);
}

/* The version is only looked at for being one. Whether it was offered, only link knows. */
int phx__wire_get_answer(const struct phx__frame *f, struct phx__answer *a)
{
    struct phx__reader r;

    if (wire_open(f, PHX__ANSWER, &r) != 0)
        return PHX_EPROTO;
    a->version = phx__buf_get_u16(&r);
    a->features = phx__buf_get_u32(&r);
    wire_get_id(&r, &a->id);
    a->incarnation = phx__buf_get_u64(&r);
    phx__buf_get_copy(&r, a->nonce, sizeof a->nonce);
    if (wire_get_standing(&r, &a->seq, &a->card_version, &a->have) != 0)
        return PHX_EPROTO;
    if (phx__addr_get(&r, &a->observed) != 0)
        return PHX_EPROTO;
    phx__buf_get_copy(&r, a->mac, sizeof a->mac);
    phx__buf_get_copy(&r, a->mac_other, sizeof a->mac_other);
    if (a->version == 0 || a->incarnation > PHX__INCARNATION_MAX)
        return PHX_EPROTO;
    return wire_close(&r);
}

/* The macs of ANSWER and PROOF stand last, so that what they cover is a prefix of the body as it
 * was sent. Nobody has to encode again what it wants to verify. */
void phx__wire_put_proof(struct phx__writer *w, const struct phx__proof *p)
{
    size_t start = phx__wire_begin(w, PHX__PROOF, 0, 0);

    wire_put_standing(w, p->seq, p->card_version, p->have);
    phx__addr_put(w, &p->observed);
    phx__buf_put_bytes(w, p->mac, sizeof p->mac);
    phx__wire_end(w, start);
}

int phx__wire_get_proof(const struct phx__frame *f, struct phx__proof *p)
{
    struct phx__reader r;

    if (wire_open(f, PHX__PROOF, &r) != 0)
        return PHX_EPROTO;
    if (wire_get_standing(&r, &p->seq, &p->card_version, &p->have) != 0)
        return PHX_EPROTO;
    if (phx__addr_get(&r, &p->observed) != 0)
        return PHX_EPROTO;
    phx__buf_get_copy(&r, p->mac, sizeof p->mac);
    return wire_close(&r);
}

void phx__wire_put_refuse(struct phx__writer *w, int reason)
{
    size_t start = phx__wire_begin(w, PHX__REFUSE, 0, 0);

    PHX_ASSERT(reason < 0 && reason >= -UINT16_MAX);
    phx__buf_put_u16(w, (uint16_t)-reason);
    phx__wire_end(w, start);
}

/* Reasons above those we know are let through: a newer peer may have newer ones, and phx_strerror
 * has words for any number. */
int phx__wire_get_refuse(const struct phx__frame *f, int *reason)
{
    struct phx__reader r;

    if (wire_open(f, PHX__REFUSE, &r) != 0)
        return PHX_EPROTO;
    *reason = -(int)phx__buf_get_u16(&r);
    if (*reason == 0)
        return PHX_EPROTO;
    return wire_close(&r);
}

/* ---- Cards
 *
 * A card is decoded once by each node that keeps it, and passed on as the bytes it came in. So
 * relays do not have to understand what a later version may say in its flags, and a card means
 * the same to all who have the same version of it. Claims stay encoded: 100,000 of them are 2.4
 * MB, which names copies into its own form when it wants them and nobody else needs.
 *
 *      flags | window | n | address 1 .. n | m | first last epoch, 1 .. m */

size_t phx__wire_card_size(uint8_t address_count, uint32_t claim_count)
{
    PHX_ASSERT(address_count <= PHX__CARD_ADDRESSES && claim_count <= PHX__CARD_CLAIMS);
    return WIRE_CARD_MIN + (size_t)address_count * WIRE_ADDRESS_MAX
           + (size_t)claim_count * WIRE_CLAIM;
}

/* phx__addr_put writes "none" for what the other side would refuse, and "none" may not stand
 * in a card. So such addresses are left out rather than lose us every link with a bad line in our
 * card. */
static int wire_address_is_good(const struct phx_address *a)
{
    uint8_t data[WIRE_ADDRESS_MAX];
    struct phx__writer w;

    phx__buf_writer_init(&w, data, sizeof data);
    phx__addr_put(&w, a);
    return !w.bad && data[0] != 0;
}

void phx__wire_put_card(struct phx__writer *w, const struct phx__card *head,
                        const struct phx__claim *claims)
{
    uint32_t i;
    uint8_t good = 0;

    PHX_ASSERT(head->address_count <= PHX__CARD_ADDRESSES && head->claim_count <= PHX__CARD_CLAIMS);
    PHX_ASSERT(head->window >= WIRE_WINDOW_MIN);
    phx__buf_put_u8(w, head->flags);
    phx__buf_put_u32(w, head->window);
    for (i = 0; i < head->address_count; i++)
        good = (uint8_t)(good + wire_address_is_good(&head->address[i]));
    phx__buf_put_u8(w, good);
    for (i = 0; i < head->address_count; i++) {
        if (wire_address_is_good(&head->address[i]))
            phx__addr_put(w, &head->address[i]);
    }
    phx__buf_put_u32(w, head->claim_count);
    for (i = 0; i < head->claim_count; i++) {
        phx__buf_put_u64(w, claims[i].first);
        phx__buf_put_u64(w, claims[i].last);
        phx__buf_put_u64(w, claims[i].epoch);
    }
}

static void wire_get_claim(struct phx__reader *r, struct phx__claim *c)
{
    c->first = phx__buf_get_u64(r);
    c->last = phx__buf_get_u64(r);
    c->epoch = phx__buf_get_u64(r);
}

/* Ascending and disjoint in one pass: each begins above where the one before ended. That is also
 * what lets names build its index without sorting what a stranger sent. */
static int wire_claims_are_sound(const struct phx__card *card)
{
    struct phx__reader r;
    struct phx__claim c, before = {0, 0, 0};
    uint32_t i;

    phx__buf_reader_init(&r, card->claims, card->claim_count * (size_t)WIRE_CLAIM);
    for (i = 0; i < card->claim_count; i++) {
        wire_get_claim(&r, &c);
        /* Epoch 0 is below every claim ever made, so no node can have made this one. */
        if (c.first > c.last || c.epoch == 0)
            return 0;
        if (i > 0 && c.first <= before.last)
            return 0;
        before = c;
    }
    return 1;
}

/* The counts are compared with their limits before anything is multiplied by them, and the bytes
 * of the claims are asked for at once. A claim_count that the card has no bytes for costs
 * nothing. */
int phx__wire_get_card(const uint8_t *data, size_t size, struct phx__card *card)
{
    struct phx__reader r;
    uint32_t i;

    memset(card, 0, sizeof *card);
    phx__buf_reader_init(&r, data, size);
    card->flags = (uint8_t)(phx__buf_get_u8(&r) & WIRE_CARD_FLAGS);
    card->window = phx__buf_get_u32(&r);
    card->address_count = phx__buf_get_u8(&r);
    if (r.bad || card->window < WIRE_WINDOW_MIN || card->address_count > PHX__CARD_ADDRESSES)
        return PHX_EPROTO;
    for (i = 0; i < card->address_count; i++) {
        /* "No address" has its place where one address is due, not in a list. */
        if (phx__addr_get(&r, &card->address[i]) != 0 || card->address[i].family == 0)
            return PHX_EPROTO;
    }
    card->claim_count = phx__buf_get_u32(&r);
    if (r.bad || card->claim_count > PHX__CARD_CLAIMS)
        return PHX_EPROTO;
    card->claims = phx__buf_get_bytes(&r, card->claim_count * (size_t)WIRE_CLAIM);
    if (wire_close(&r) != 0 || !wire_claims_are_sound(card))
        return PHX_EPROTO;
    return 0;
}

void phx__wire_claim(const struct phx__card *card, uint32_t i, struct phx__claim *out)
{
    struct phx__reader r;

    PHX_ASSERT(i < card->claim_count);
    phx__buf_reader_init(&r, card->claims, card->claim_count * (size_t)WIRE_CLAIM);
    (void)phx__buf_get_bytes(&r, i * (size_t)WIRE_CLAIM);
    wire_get_claim(&r, out);
}

/* The version is never 0, which says "no card" in an entry. A part is never empty, so that parts
 * always make progress and a peer cannot send them for ever. */
static int wire_card_part_is_sound(const struct phx__card_part *c)
{
    if (c->version == 0 || c->size == 0 || c->total < WIRE_CARD_MIN)
        return 0;
    if (c->total > phx__wire_card_size(PHX__CARD_ADDRESSES, PHX__CARD_CLAIMS))
        return 0;
    return c->size <= c->total && c->offset <= c->total - c->size;
}

void phx__wire_put_card_part(struct phx__writer *w, const struct phx__card_part *c)
{
    size_t start = phx__wire_begin(w, PHX__CARD, 0, 0);

    PHX_ASSERT(wire_card_part_is_sound(c));
    wire_put_id(w, &c->id);
    phx__buf_put_u64(w, c->incarnation);
    phx__buf_put_u32(w, c->version);
    phx__buf_put_u32(w, c->total);
    phx__buf_put_u32(w, c->offset);
    phx__buf_put_bytes(w, c->data, c->size);
    phx__wire_end(w, start);
}

int phx__wire_get_card_part(const struct phx__frame *f, struct phx__card_part *c)
{
    struct phx__reader r;

    if (wire_open(f, PHX__CARD, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &c->id);
    c->incarnation = phx__buf_get_u64(&r);
    c->version = phx__buf_get_u32(&r);
    c->total = phx__buf_get_u32(&r);
    c->offset = phx__buf_get_u32(&r);
    c->size = (uint32_t)r.left; /* the frame's limit fits */
    c->data = phx__buf_get_bytes(&r, r.left);
    if (wire_close(&r) != 0 || !wire_card_part_is_sound(c))
        return PHX_EPROTO;
    return 0;
}

/* ---- Routing
 *
 * An UPDATE is read entry by entry, straight from the frame, because the common one has two
 * entries and the largest two thousand; an array would be sized for the latter. The price is that
 * entries before a broken one have been acted on. That is harmless: each is true by itself,
 * whatever follows it.
 *
 * Distances are not judged here. Any byte is possible, and only route knows that 0 is for owners.
 */

int phx__wire_get_update(const struct phx__frame *f, struct phx__update *u)
{
    if (wire_open(f, PHX__UPDATE, &u->r) != 0)
        return PHX_EPROTO;
    u->id_count = phx__buf_get_u16(&u->r);
    u->ids = phx__buf_get_bytes(&u->r, u->id_count * (size_t)WIRE_ID);
    /* Ids that no entry can point to are bytes without a meaning. */
    if (u->r.bad || (u->id_count != 0 && (f->flags & PHX__UPDATE_TRANS) == 0))
        return PHX_EPROTO;
    return 0;
}

/* Not one that its owner could not rise above. */
static int wire_life_is_sound(uint64_t incarnation, uint32_t seq)
{
    return incarnation <= PHX__INCARNATION_MAX && seq <= PHX__SEQ_MAX;
}

static int wire_entry_is_sound(const struct phx__entry *e, uint32_t id_count)
{
    if (!wire_life_is_sound(e->incarnation, e->seq))
        return 0;
    /* The card is either here or went before, and a card has a version. */
    if (e->flags == WIRE_ENTRY_FLAGS || (e->flags != 0 && e->card_version == 0))
        return 0;
    if ((e->flags & PHX__ENTRY_CARD) != 0 && e->card_size < WIRE_CARD_MIN)
        return 0;
    return (uint32_t)e->trans_first + e->trans_count <= id_count;
}

/* The card itself is not looked into: most are copies of what the receiver has, and who wants one
 * runs phx__wire_get_card on it. */
int phx__wire_next_entry(struct phx__update *u, int flags, struct phx__entry *e)
{
    struct phx__reader *r = &u->r;

    if (!r->bad && r->left == 0)
        return 0;
    memset(e, 0, sizeof *e);
    wire_get_id(r, &e->id);
    e->incarnation = phx__buf_get_u64(r);
    e->seq = phx__buf_get_u32(r);
    e->hops = phx__buf_get_u8(r);
    e->flags = (uint8_t)(phx__buf_get_u8(r) & WIRE_ENTRY_FLAGS);
    e->card_version = phx__buf_get_u32(r);
    if ((flags & (int)PHX__UPDATE_TRANS) != 0) {
        e->trans_first = phx__buf_get_u16(r);
        e->trans_count = phx__buf_get_u16(r);
    }
    if ((e->flags & PHX__ENTRY_CARD) != 0) {
        e->card_size = phx__buf_get_u32(r);
        e->card = phx__buf_get_bytes(r, e->card_size);
    }
    if (r->bad || !wire_entry_is_sound(e, u->id_count)) {
        r->bad = 1; /* so that asking once more does not resume behind the error */
        return PHX_EPROTO;
    }
    return 1;
}

void phx__wire_put_entry(struct phx__writer *w, int flags, const struct phx__entry *e)
{
    /* The table of ids is the caller's; only it knows its size, so trans is checked by the
     * receiver. */
    PHX_ASSERT(wire_entry_is_sound(e, UINT32_MAX));
    wire_put_id(w, &e->id);
    phx__buf_put_u64(w, e->incarnation);
    phx__buf_put_u32(w, e->seq);
    phx__buf_put_u8(w, e->hops);
    phx__buf_put_u8(w, e->flags);
    phx__buf_put_u32(w, e->card_version);
    if ((flags & (int)PHX__UPDATE_TRANS) != 0) {
        phx__buf_put_u16(w, e->trans_first);
        phx__buf_put_u16(w, e->trans_count);
    }
    if ((e->flags & PHX__ENTRY_CARD) != 0) {
        phx__buf_put_u32(w, e->card_size);
        phx__buf_put_bytes(w, e->card, e->card_size);
    }
}

/* seq may be anything. How far an owner lets itself be pushed is route's policy. */
void phx__wire_put_request(struct phx__writer *w, const struct phx__request *q, int hops)
{
    size_t start = phx__wire_begin(w, PHX__REQUEST, 0, hops);

    wire_put_id(w, &q->id);
    phx__buf_put_u64(w, q->incarnation);
    phx__buf_put_u32(w, q->seq);
    phx__wire_end(w, start);
}

int phx__wire_get_request(const struct phx__frame *f, struct phx__request *q)
{
    struct phx__reader r;

    if (wire_open(f, PHX__REQUEST, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &q->id);
    q->incarnation = phx__buf_get_u64(&r);
    q->seq = phx__buf_get_u32(&r);
    return wire_close(&r);
}

/* The hashes are the sender's opinion; any value is possible, and a wrong one costs both sides one
 * exchange of summaries. */
void phx__wire_put_beat(struct phx__writer *w, const struct phx__beat *b, int flags)
{
    size_t start = phx__wire_begin(w, PHX__BEAT, flags, 0);

    phx__buf_put_u32(w, b->next_ms);
    phx__buf_put_u64(w, b->digest);
    phx__buf_put_u64(w, b->around);
    phx__buf_put_u32(w, b->around_count);
    phx__buf_put_u32(w, b->echo_ms);
    phx__wire_end(w, start);
}

int phx__wire_get_beat(const struct phx__frame *f, struct phx__beat *b)
{
    struct phx__reader r;

    if (wire_open(f, PHX__BEAT, &r) != 0)
        return PHX_EPROTO;
    b->next_ms = phx__buf_get_u32(&r);
    b->digest = phx__buf_get_u64(&r);
    b->around = phx__buf_get_u64(&r);
    b->around_count = phx__buf_get_u32(&r);
    b->echo_ms = phx__buf_get_u32(&r);
    return wire_close(&r);
}

/* Lines are all of one size and have no count: the frame's size is one already, and two would
 * have to be compared. */
void phx__wire_put_summary_line(struct phx__writer *w, const struct phx__summary_line *s)
{
    wire_put_id(w, &s->id);
    phx__buf_put_u64(w, s->incarnation);
    phx__buf_put_u32(w, s->seq);
    phx__buf_put_u8(w, s->hops);
}

int phx__wire_next_summary_line(struct phx__reader *r, struct phx__summary_line *s)
{
    if (!r->bad && r->left == 0)
        return 0;
    wire_get_id(r, &s->id);
    s->incarnation = phx__buf_get_u64(r);
    s->seq = phx__buf_get_u32(r);
    s->hops = phx__buf_get_u8(r);
    return r->bad ? PHX_EPROTO : 1;
}

/* ---- End to end
 *
 * The hot path. A relay passes DATA on without coming here: it looks at hops and target at their
 * fixed offsets (PHX__DATA_HOPS, PHX__DATA_TARGET). So what is refused here may have been sent by
 * a node far away, and the neighbour that brought it is not always to blame. */

/* Is `size` a possible payload? With FIRST the total is known: the last fragment completes it,
 * others leave something to come. Only an empty message has an empty fragment, so numbers are
 * never wasted. */
static int wire_payload_fits(int flags, size_t size, uint64_t total)
{
    int first = (flags & (int)PHX__DATA_FIRST) != 0, last = (flags & (int)PHX__DATA_LAST) != 0;

    if (size > PHX__FRAGMENT)
        return 0;
    if (!first)
        return size > 0;
    if (total > WIRE_TOTAL_MAX)
        return 0;
    return last ? size == total : size > 0 && size < total;
}

void phx__wire_put_data_head(struct phx__writer *w, const struct phx__data *d, int flags, int hops)
{
    const uint64_t place[2] = { d->number, d->epoch };
    const uint64_t name[4] = { d->to, d->from, d->tag, d->total };
    size_t start = phx__wire_begin(w, PHX__DATA, flags, hops);

    PHX_ASSERT((flags & (int)PHX__DATA_RUN) != 0 || wire_payload_fits(flags, d->size, d->total));
    wire_put_id(w, &d->target);
    wire_put_id(w, &d->source);
    phx__buf_put_u64s(w, place, 2);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_put_u64s(w, name, 4);
        if ((flags & (int)PHX__DATA_SEEN) != 0)
            phx__buf_put_u32(w, d->seen);
    }
    wire_seal(w, start, d->size); /* the payload follows from its own block, uncopied */
}

static int wire_data_fits(int flags, struct phx__data *d)
{
    if ((flags & (int)PHX__DATA_RUN) != 0)
        return phx__wire_count_run(d, flags);
    return (flags & (int)PHX__DATA_TAGS) == 0 && wire_payload_fits(flags, d->size, d->total);
}

static void wire_get_data_head(struct phx__reader *r, int flags, struct phx__data *d)
{
    uint64_t place[2], name[4];

    memset(d, 0, sizeof *d);
    wire_get_id(r, &d->target);
    wire_get_id(r, &d->source);
    phx__buf_get_u64s(r, place, 2);
    d->number = place[0];
    d->epoch = place[1];
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_get_u64s(r, name, 4);
        d->to = name[0];
        d->from = name[1];
        d->tag = name[2];
        d->total = name[3];
        if ((flags & (int)PHX__DATA_SEEN) != 0)
            d->seen = phx__buf_get_u32(r);
    }
}

int phx__wire_get_data(const struct phx__frame *f, struct phx__data *d)
{
    struct phx__reader r;

    if (wire_open(f, PHX__DATA, &r) != 0)
        return PHX_EPROTO;
    wire_get_data_head(&r, f->flags, d);
    d->size = r.left;
    d->payload = phx__buf_get_bytes(&r, r.left);
    if (wire_close(&r) != 0 || !wire_data_fits(f->flags, d)
        || ((f->flags & PHX__DATA_SEEN) != 0) != (d->seen != 0)) /* 0 is said by leaving it out */
        return PHX_EPROTO;
    return 0;
}

size_t phx__wire_data_front(const uint8_t *p, size_t size, struct phx__data *d, int *flags,
                            size_t *whole)
{
    struct phx__reader r;
    struct phx__frame f;

    if (size < PHX__DATA_HEAD || phx__wire_parse(p, size, &f, whole) < 0 || f.type != PHX__DATA)
        return 0;
    phx__buf_reader_init(&r, p, size);
    (void)phx__buf_get_bytes(&r, PHX__WIRE_HEADER);
    wire_get_data_head(&r, f.flags, d);
    *flags = f.flags;
    size -= r.left;
    d->size = *whole > size ? *whole - size : 0;
    if (r.bad || d->size == 0 || (f.flags & (int)(PHX__DATA_RUN | PHX__DATA_TAGS)) != 0
        || !wire_payload_fits(f.flags, d->size, d->total)
        || ((f.flags & PHX__DATA_SEEN) != 0) != (d->seen != 0))
        return 0;
    return size;
}

static size_t wire_cast_line_size(int flags)
{
    return (flags & (int)PHX__DATA_FIRST) != 0 ? PHX__CAST_LINE : PHX__CAST_LINE - 12;
}

size_t phx__wire_begin_cast(struct phx__writer *w, int flags, int hops, uint32_t count)
{
    size_t start = phx__wire_begin(w, PHX__CAST, flags, hops);

    PHX_ASSERT(count > 0 && count <= PHX__CAST_LINES);
    phx__buf_put_u16(w, (uint16_t)count);
    return start;
}

void phx__wire_put_cast_line(struct phx__writer *w, int flags, const struct phx__data *d)
{
    wire_put_id(w, &d->target);
    phx__buf_put_u64(w, d->number);
    phx__buf_put_u64(w, d->epoch);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_put_u64(w, d->to);
        phx__buf_put_u32(w, d->seen);
    }
}

void phx__wire_end_cast(struct phx__writer *w, size_t start, int flags, const struct phx__data *d)
{
    wire_put_id(w, &d->source);
    if ((flags & (int)PHX__DATA_FIRST) != 0) {
        phx__buf_put_u64(w, d->from);
        phx__buf_put_u64(w, d->tag);
        phx__buf_put_u64(w, d->total);
    }
    wire_seal(w, start, d->size);
}

int phx__wire_get_cast(const struct phx__frame *f, struct phx__wire_cast *c)
{
    struct phx__reader r;

    memset(c, 0, sizeof *c);
    if (wire_open(f, PHX__CAST, &r) != 0)
        return PHX_EPROTO;
    c->count = phx__buf_get_u16(&r);
    if (c->count == 0 || c->count > PHX__CAST_LINES)
        return PHX_EPROTO;
    c->lines = phx__buf_get_bytes(&r, c->count * wire_cast_line_size(f->flags));
    wire_get_id(&r, &c->source);
    if ((f->flags & PHX__DATA_FIRST) != 0) {
        c->from = phx__buf_get_u64(&r);
        c->tag = phx__buf_get_u64(&r);
        c->total = phx__buf_get_u64(&r);
    }
    c->size = r.left;
    c->payload = phx__buf_get_bytes(&r, r.left);
    if (wire_close(&r) != 0 || c->size > PHX__CAST_FRAGMENT
        || !wire_payload_fits(f->flags, c->size, c->total))
        return PHX_EPROTO;
    return 0;
}

void phx__wire_cast_line(const struct phx__wire_cast *c, const struct phx__frame *f, uint32_t i,
                         struct phx__data *d, int *flags)
{
    size_t size = wire_cast_line_size(f->flags);
    struct phx__reader r;

    memset(d, 0, sizeof *d);
    phx__buf_reader_init(&r, c->lines, c->count * size);
    (void)phx__buf_get_bytes(&r, i * size);
    wire_get_id(&r, &d->target);
    d->number = phx__buf_get_u64(&r);
    d->epoch = phx__buf_get_u64(&r);
    if ((f->flags & PHX__DATA_FIRST) != 0) {
        d->to = phx__buf_get_u64(&r);
        d->seen = phx__buf_get_u32(&r);
    }
    d->source = c->source;
    d->from = c->from;
    d->tag = c->tag;
    d->total = c->total;
    d->payload = c->payload;
    d->size = c->size;
    *flags = f->flags & (int)(PHX__DATA_FIRST | PHX__DATA_LAST);
    if (d->seen != 0)
        *flags |= (int)PHX__DATA_SEEN;
}

/* A window of 0 is possible: the target is full and says so. next is not compared with anything,
 * since only the source knows what it has sent. */
void phx__wire_put_ack(struct phx__writer *w, const struct phx__ack *a, int hops)
{
    int flags = (a->return_count > 0 ? (int)PHX__ACK_RETURNS : 0)
                | (a->seen != 0 ? (int)PHX__ACK_SEEN : 0);
    size_t start = phx__wire_begin(w, PHX__ACK, flags, hops);

    wire_put_id(w, &a->target);
    wire_put_id(w, &a->source);
    phx__buf_put_u64(w, a->epoch);
    phx__buf_put_u64(w, a->next);
    phx__buf_put_u32(w, a->window);
    if (a->return_count > 0) {
        phx__buf_put_u32(w, a->return_base);
        phx__buf_put_u16(w, a->return_count);
        phx__buf_put_bytes(w, a->returns, a->return_count * (size_t)PHX__RETURN_SIZE);
    }
    if (a->seen != 0) {
        phx__buf_put_u64(w, a->seen_epoch);
        phx__buf_put_u32(w, a->seen);
    }
    phx__wire_end(w, start);
}

void phx__wire_put_return(struct phx__writer *w, const struct phx__return *t)
{
    phx__buf_put_u64(w, t->number);
    phx__buf_put_u16(w, t->place);
    phx__buf_put_u8(w, (uint8_t)t->reason);
}

void phx__wire_return(const struct phx__ack *a, uint32_t i, struct phx__return *t)
{
    struct phx__reader r;

    phx__buf_reader_init(&r, a->returns, a->return_count * (size_t)PHX__RETURN_SIZE);
    (void)phx__buf_get_bytes(&r, i * (size_t)PHX__RETURN_SIZE);
    t->number = phx__buf_get_u64(&r);
    t->place = phx__buf_get_u16(&r);
    t->reason = phx__buf_get_u8(&r);
}

/* Oldest first, so their numbers rise, and within a run their places; and what comes back was taken,
 * so the numbers are below next. */
static int wire_returns_fit(const struct phx__ack *a)
{
    struct phx__return t, before;
    uint32_t i;

    if (a->return_count == 0 || a->return_count > PHX__RETURNS
        || a->return_base > UINT32_MAX - a->return_count)
        return 0;
    for (i = 0; i < a->return_count; i++) {
        phx__wire_return(a, i, &t);
        if (t.number >= a->next || t.reason < (int)PHX__RETURN_MOVED
            || t.reason > (int)PHX__RETURN_AGAIN)
            return 0;
        if (i > 0 && (t.number < before.number
                      || (t.number == before.number && t.place <= before.place)))
            return 0;
        before = t;
    }
    return 1;
}

int phx__wire_get_ack(const struct phx__frame *f, struct phx__ack *a)
{
    struct phx__reader r;

    memset(a, 0, sizeof *a);
    if (wire_open(f, PHX__ACK, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &a->target);
    wire_get_id(&r, &a->source);
    a->epoch = phx__buf_get_u64(&r);
    a->next = phx__buf_get_u64(&r);
    a->window = phx__buf_get_u32(&r);
    if ((f->flags & PHX__ACK_RETURNS) != 0) {
        a->return_base = phx__buf_get_u32(&r);
        a->return_count = phx__buf_get_u16(&r);
        a->returns = phx__buf_get_bytes(&r, a->return_count * (size_t)PHX__RETURN_SIZE);
    }
    if ((f->flags & PHX__ACK_SEEN) != 0) {
        a->seen_epoch = phx__buf_get_u64(&r);
        a->seen = phx__buf_get_u32(&r);
    }
    if (wire_close(&r) != 0 || ((f->flags & PHX__ACK_RETURNS) != 0 && !wire_returns_fit(a))
        || ((f->flags & PHX__ACK_SEEN) != 0) != (a->seen != 0))
        return PHX_EPROTO;
    return 0;
}

/* seq is what the accuser knows. How far the accused lets itself be pushed is route's policy. */
void phx__wire_put_suspect(struct phx__writer *w, const struct phx__suspect *s, int hops)
{
    size_t start = phx__wire_begin(w, PHX__SUSPECT, 0, hops);

    wire_put_id(w, &s->id);
    phx__buf_put_u64(w, s->incarnation);
    phx__buf_put_u32(w, s->seq);
    wire_put_id(w, &s->accuser);
    phx__wire_end(w, start);
}

int phx__wire_get_suspect(const struct phx__frame *f, struct phx__suspect *s)
{
    struct phx__reader r;

    if (wire_open(f, PHX__SUSPECT, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &s->id);
    s->incarnation = phx__buf_get_u64(&r);
    s->seq = phx__buf_get_u32(&r);
    wire_get_id(&r, &s->accuser);
    return wire_close(&r);
}

void phx__wire_put_probe(struct phx__writer *w, const struct phx__probe *p, int flags, int hops)
{
    size_t start = phx__wire_begin(w, PHX__PROBE, flags, hops);

    wire_put_id(w, &p->target);
    wire_put_id(w, &p->subject);
    wire_put_id(w, &p->asker);
    phx__wire_end(w, start);
}

int phx__wire_get_probe(const struct phx__frame *f, struct phx__probe *p)
{
    struct phx__reader r;

    if (wire_open(f, PHX__PROBE, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &p->target);
    wire_get_id(&r, &p->subject);
    wire_get_id(&r, &p->asker);
    return wire_close(&r);
}

void phx__wire_put_hand(struct phx__writer *w, const struct phx__hand *h, int hops)
{
    size_t start = phx__wire_begin(w, PHX__HAND, 0, hops);

    wire_put_id(w, &h->target);
    wire_put_id(w, &h->giver);
    phx__buf_put_u64(w, h->incarnation);
    phx__buf_put_u64(w, h->first);
    phx__buf_put_u64(w, h->last);
    phx__buf_put_u64(w, h->epoch);
    phx__wire_end(w, start);
}

int phx__wire_get_hand(const struct phx__frame *f, struct phx__hand *h)
{
    struct phx__reader r;

    if (wire_open(f, PHX__HAND, &r) != 0)
        return PHX_EPROTO;
    wire_get_id(&r, &h->target);
    wire_get_id(&r, &h->giver);
    h->incarnation = phx__buf_get_u64(&r);
    h->first = phx__buf_get_u64(&r);
    h->last = phx__buf_get_u64(&r);
    h->epoch = phx__buf_get_u64(&r);
    if (wire_close(&r) != 0 || h->first > h->last)
        return PHX_EPROTO;
    return 0;
}

#undef WIRE_TOTAL_MAX
#undef WIRE_WINDOW_MIN
#undef WIRE_ID
#undef WIRE_CLAIM
#undef WIRE_ADDRESS_MAX
#undef WIRE_CARD_MIN
#undef WIRE_CARD_FLAGS
#undef WIRE_ENTRY_FLAGS
#undef WIRE_FIELD
#undef WIRE_SIZE_MAX
