/* route.c - frames of routing: cards, updates and summaries. */

/* A card is decoded once by each node that keeps it, and passed on as the bytes it came in. So relays do not
 * have to understand what a later version may say in its flags, and a card means the same to all who have the
 * same version of it. Claims stay encoded: 100,000 of them are 2.4 MB, which only names needs, in a form of
 * its own.
 *
 *      flags | window | size label | n | address 1 .. n | m | first last epoch, 1 .. m */
#include "wire/route.h"

#define WIRE_CLAIM 24u
/* The longest address: family, length, and a UNIX path of 103 bytes. */
#define WIRE_ADDRESS_MAX 105u
/* A card with no label, no address and no claim: flags, window, and the three counts. */
#define WIRE_CARD_MIN 11u
#define WIRE_CARD_FLAGS (PHX__CARD_RELAYS | PHX__CARD_LEFT)
#define WIRE_ENTRY_CARDS (PHX__ENTRY_CARD | PHX__ENTRY_CARD_SENT)
#define WIRE_ENTRY_FLAGS (WIRE_ENTRY_CARDS | PHX__ENTRY_RTT)

/* ---- Cards */

size_t phx__wire_route_card_size(uint8_t address_count, uint32_t claim_count)
{
    PHX_ASSERT(address_count <= PHX__CARD_ADDRESSES && claim_count <= PHX__CARD_CLAIMS);
    return WIRE_CARD_MIN + (PHX_LABEL - 1) + (size_t)address_count * WIRE_ADDRESS_MAX
           + (size_t)claim_count * WIRE_CLAIM;
}

PHX__COLD void phx__wire_route_put_card(struct phx__writer *w, const struct phx__card *head,
                                        const struct phx__claim *claims)
{
    size_t at;

    PHX_ASSERT(head->address_count <= PHX__CARD_ADDRESSES && head->claim_count <= PHX__CARD_CLAIMS);
    PHX_ASSERT(head->window >= PHX__CARD_WINDOW_MIN);
    phx__buf_put_u8(w, head->flags);
    phx__buf_put_u32(w, head->window);
    phx__buf_put_u8(w, (uint8_t)strlen(head->label));
    phx__buf_put_bytes(w, head->label, strlen(head->label));
    at = w->size;
    phx__buf_put_u8(w, 0); /* how many addresses, when it is known */
    for (uint32_t i = 0; i < head->address_count; i++) {
        size_t before = w->size;

        phx__addr_put(w, &head->address[i]);
        if (!w->bad && w->data[before] != 0)
            w->data[at]++;
        else
            w->size = before; /* "none" in our card would cost us every link */
    }
    phx__buf_put_u32(w, head->claim_count);
    for (uint32_t i = 0; i < head->claim_count; i++) {
        phx__buf_put_u64(w, claims[i].first);
        phx__buf_put_u64(w, claims[i].last);
        phx__buf_put_u64(w, claims[i].epoch);
    }
}

/* Ascending and disjoint: each begins above the end of the one before, and names need not sort them. */
static int wire_claims_are_sound(const struct phx__card *card)
{
    struct phx__claim c, before = { 0, 0, 0 };

    for (uint32_t i = 0; i < card->claim_count; i++) {
        phx__wire_route_claim(card, i, &c);
        /* Epoch 0 is below every claim ever made, so no node can have made this one. */
        if (c.first > c.last || c.epoch == 0 || (i > 0 && c.first <= before.last))
            return 0;
        before = c;
    }
    return 1;
}

int phx__wire_route_label_is_sound(const char *label, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (label[i] < ' ' || label[i] > '~' || label[i] == '"' || label[i] == '\\')
            return 0;
    return size < PHX_LABEL;
}

/* The counts are compared with their limits before anything is multiplied by them, and the bytes of the
 * claims are asked for at once, so a claim_count that the card has no bytes for costs nothing. */
PHX__COLD int phx__wire_route_get_card(const uint8_t *data, size_t size, struct phx__card *card)
{
    struct phx__reader r;
    const uint8_t *label;
    uint32_t i;

    memset(card, 0, sizeof *card);
    phx__buf_reader_init(&r, data, size);
    card->flags = (uint8_t)(phx__buf_get_u8(&r) & WIRE_CARD_FLAGS);
    card->window = phx__buf_get_u32(&r);
    i = phx__buf_get_u8(&r);
    label = phx__buf_get_bytes(&r, i);
    if (r.bad || !phx__wire_route_label_is_sound((const char *)label, i))
        return PHX_EPROTO;
    memcpy(card->label, label, i);
    card->address_count = phx__buf_get_u8(&r);
    if (r.bad || card->window < PHX__CARD_WINDOW_MIN || card->address_count > PHX__CARD_ADDRESSES)
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
    return phx__wire_close(&r) != 0 || !wire_claims_are_sound(card) ? PHX_EPROTO : 0;
}

void phx__wire_route_claim(const struct phx__card *card, uint32_t i, struct phx__claim *out)
{
    const uint8_t *at = card->claims + i * (size_t)WIRE_CLAIM; /* they are all there, 100,000 perhaps */

    PHX_ASSERT(i < card->claim_count);
    out->first = phx__buf_load_u64(at);
    out->last = phx__buf_load_u64(at + 8);
    out->epoch = phx__buf_load_u64(at + 16);
}

static const struct phx__field wire_card_part[] = {
    PHX__BYTES(phx__card_part, id), PHX__NUMBER(phx__card_part, incarnation),
    PHX__NUMBER(phx__card_part, version), PHX__NUMBER(phx__card_part, total),
    PHX__NUMBER(phx__card_part, offset),
};

/* Version 0 says "no card" in an entry. A part is never empty: a peer cannot send parts for ever. */
static int wire_card_part_is_sound(const struct phx__card_part *c)
{
    if (c->version == 0 || c->size == 0 || c->total < WIRE_CARD_MIN
        || c->total > phx__wire_route_card_size(PHX__CARD_ADDRESSES, PHX__CARD_CLAIMS))
        return 0;
    return c->size <= c->total && c->offset <= c->total - c->size;
}

PHX__COLD void phx__wire_route_put_card_part(struct phx__writer *w, const struct phx__card_part *c)
{
    size_t start = phx__wire_begin(w, PHX__CARD, 0, 0);

    PHX_ASSERT(wire_card_part_is_sound(c));
    phx__wire_put_fields(w, PHX__TABLE(wire_card_part), c);
    phx__buf_put_bytes(w, c->data, c->size);
    phx__wire_end(w, start);
}

PHX__COLD int phx__wire_route_get_card_part(const struct phx__frame *f, struct phx__card_part *c)
{
    struct phx__reader r;

    if (phx__wire_open(f, PHX__CARD, &r) != 0)
        return PHX_EPROTO;
    phx__wire_get_fields(&r, PHX__TABLE(wire_card_part), c);
    c->size = (uint32_t)r.left; /* the frame's limit fits */
    c->data = phx__buf_get_bytes(&r, r.left);
    return phx__wire_close(&r) != 0 || !wire_card_part_is_sound(c) ? PHX_EPROTO : 0;
}

/* ---- Updates
 *
 * An UPDATE is read entry by entry, straight from the frame, because the common one has two entries and the
 * largest two thousand; an array would be sized for the latter. Entries before a broken one have been acted
 * on then. That is harmless: each is true by itself, whatever follows it. Distances are not judged here: any
 * byte is possible, and only route knows that 0 is for owners. */

size_t phx__wire_route_begin_update(struct phx__writer *w)
{
    size_t start = phx__wire_begin(w, PHX__UPDATE, 0, 0);

    phx__buf_put_u16(w, 0); /* reserved */
    return start;
}

int phx__wire_route_get_update(const struct phx__frame *f, struct phx__reader *r)
{
    return phx__wire_open(f, PHX__UPDATE, r) != 0 || phx__buf_get_u16(r) != 0 || r->bad ? PHX_EPROTO : 0;
}

static const struct phx__field wire_entry[] = {
    PHX__BYTES(phx__entry, id), PHX__NUMBER(phx__entry, incarnation), PHX__NUMBER(phx__entry, seq),
    PHX__NUMBER(phx__entry, hops), PHX__NUMBER(phx__entry, flags), PHX__NUMBER(phx__entry, card_version),
};

static int wire_entry_is_sound(const struct phx__entry *e)
{
    if (!phx__wire_is_honest(e->incarnation, e->seq)) /* its owner must be able to rise above these */
        return 0;
    /* The card is either here or went before, and a card has a version. */
    if ((e->flags & WIRE_ENTRY_CARDS) == WIRE_ENTRY_CARDS
        || ((e->flags & WIRE_ENTRY_CARDS) != 0 && e->card_version == 0))
        return 0;
    if ((e->flags & PHX__ENTRY_RTT) != 0 && e->rtt == 0)
        return 0;
    return (e->flags & PHX__ENTRY_CARD) == 0 || e->card_size >= WIRE_CARD_MIN;
}

/* The card itself is not decoded: most are copies of what the receiver has. */
int phx__wire_route_next_entry(struct phx__reader *r, struct phx__entry *e)
{
    if (!r->bad && r->left == 0)
        return 0;
    memset(e, 0, sizeof *e);
    phx__wire_get_fields(r, PHX__TABLE(wire_entry), e);
    e->flags &= WIRE_ENTRY_FLAGS;
    if ((e->flags & PHX__ENTRY_RTT) != 0)
        e->rtt = phx__buf_get_u16(r);
    if ((e->flags & PHX__ENTRY_CARD) != 0) {
        e->card_size = phx__buf_get_u32(r);
        e->card = phx__buf_get_bytes(r, e->card_size);
    }
    if (r->bad || !wire_entry_is_sound(e)) {
        r->bad = 1; /* so that asking once more does not resume behind the error */
        return PHX_EPROTO;
    }
    return 1;
}

void phx__wire_route_put_entry(struct phx__writer *w, const struct phx__entry *e)
{
    PHX_ASSERT(wire_entry_is_sound(e));
    phx__wire_put_fields(w, PHX__TABLE(wire_entry), e);
    if ((e->flags & PHX__ENTRY_RTT) != 0)
        phx__buf_put_u16(w, e->rtt);
    if ((e->flags & PHX__ENTRY_CARD) != 0) {
        phx__buf_put_u32(w, e->card_size);
        phx__buf_put_bytes(w, e->card, e->card_size);
    }
}

/* ---- Summaries: the fields up to hops of an entry for each node. They have no count: it follows from the
 * frame's size. */

#define WIRE_SUMMARY_FIELDS 4

void phx__wire_route_put_summary_line(struct phx__writer *w, const struct phx__entry *e)
{
    phx__wire_put_fields(w, wire_entry, WIRE_SUMMARY_FIELDS, e);
}

int phx__wire_route_next_summary_line(struct phx__reader *r, struct phx__entry *e)
{
    if (!r->bad && r->left == 0)
        return 0;
    phx__wire_get_fields(r, wire_entry, WIRE_SUMMARY_FIELDS, e);
    return r->bad || !phx__wire_is_honest(e->incarnation, e->seq) ? PHX_EPROTO : 1;
}
