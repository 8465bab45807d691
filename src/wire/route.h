/* route.h - frames of routing: cards, updates and summaries. */
#ifndef PHX_WIRE_ROUTE_H
#define PHX_WIRE_ROUTE_H
#include "wire/wire.h"

/* What a node says of itself, versioned by its owner; relays pass the bytes on as they are. */
struct phx__claim {
    uint64_t first, last, epoch;
};
#define PHX__CARD_RELAYS 1u
#define PHX__CARD_LEFT 2u   /* the flags are the first byte of an encoded card */
#define PHX__CARD_LABEL 5u /* where an encoded card has the size of its label, and then the label */
#define PHX__CARD_ADDRESSES 8u
#define PHX__CARD_CLAIMS 100000u
struct phx__card {
    uint8_t flags;   /* PHX__CARD_* */
    uint32_t window; /* credit it gives a sender at first */
    char label[PHX_LABEL];
    uint8_t address_count;
    struct phx_address address[PHX__CARD_ADDRESSES];
    uint32_t claim_count;
    const uint8_t *claims; /* encoded, 24 bytes each; see phx__wire_route_claim */
};
PHX_PRIVATE size_t phx__wire_route_card_size(uint8_t address_count, uint32_t claim_count); /* at most */
/* Where a card has its window. Less than one page is none but a way to make senders crawl. */
#define PHX__CARD_WINDOW 1u
#define PHX__CARD_WINDOW_MIN 4096u
PHX_PRIVATE void phx__wire_route_put_card(struct phx__writer *w, const struct phx__card *head,
                                          const struct phx__claim *claims);
/* 0 or PHX_EPROTO: malformed, too many, a range with first > last, or ranges not ascending and disjoint. */
PHX_PRIVATE int phx__wire_route_get_card(const uint8_t *data, size_t size, struct phx__card *card);
PHX_PRIVATE int phx__wire_route_label_is_sound(const char *label, size_t size); /* may it stand in a card? */
PHX_PRIVATE void phx__wire_route_claim(const struct phx__card *card, uint32_t i, struct phx__claim *out);

/* One line of a routing update. */
#define PHX__ENTRY_CARD 1u      /* the card follows in the entry */
#define PHX__ENTRY_CARD_SENT 2u /* the card came just before, in CARD frames */
#define PHX__ENTRY_RTT 4u       /* the round trip time follows: only to one that has PHX__FEATURE_RTT */
struct phx__entry {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq;
    uint8_t hops; /* the sender's distance; PHX__UNREACHABLE: none */
    uint8_t flags;
    uint16_t rtt;          /* of the sender's way, in units of 100 us; 0: not told */
    uint32_t card_version; /* the sender's copy; 0: it has none */
    const uint8_t *card;   /* NULL if not attached */
    uint32_t card_size;
};
#define PHX__ENTRY_SIZE 34u /* without card, which adds 4 and its bytes, and round trip time, which adds 2 */
/* An UPDATE: begin it, put entries, and end it with phx__wire_end. */
PHX_PRIVATE size_t phx__wire_route_begin_update(struct phx__writer *w);
PHX_PRIVATE void phx__wire_route_put_entry(struct phx__writer *w, const struct phx__entry *e);
/* 0 and a reader at the first entry, or PHX_EPROTO. Then the next entry: 1, 0 at the end, PHX_EPROTO. */
PHX_PRIVATE int phx__wire_route_get_update(const struct phx__frame *f, struct phx__reader *r);
PHX_PRIVATE int phx__wire_route_next_entry(struct phx__reader *r, struct phx__entry *e);

struct phx__card_part {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t version, total, offset;
    const uint8_t *data;
    uint32_t size;
};
PHX_PRIVATE void phx__wire_route_put_card_part(struct phx__writer *w, const struct phx__card_part *c);
PHX_PRIVATE int phx__wire_route_get_card_part(const struct phx__frame *f, struct phx__card_part *c);

#define PHX__SUMMARY_REPLY 1u /* frame flag: this answers a SUMMARY */
#define PHX__SUMMARY_MORE 2u  /* frame flag: another part follows */
/* A line, to the end of the body, is the beginning of an entry: id, incarnation, seq and hops. */
PHX_PRIVATE void phx__wire_route_put_summary_line(struct phx__writer *w, const struct phx__entry *e);
/* As next_entry. */
PHX_PRIVATE int phx__wire_route_next_summary_line(struct phx__reader *r, struct phx__entry *e);

#endif
