/* names.h - BRAIN: which virtual nodes live where: claims, epochs, conflicts. */
#ifndef PHX_NAMES_NAMES_H
#define PHX_NAMES_NAMES_H
#include "names/index.h"

/* An own claim that lost. */
struct phx__names_conflict {
    struct phx_range range;
    struct phx_id winner; /* which may be forgotten by the time that this is told */
};
/* Names whose owner may be another one since the caller, and lost.h, have looked and count was set to 0. */
struct phx__names_changes {
    struct phx_range at[64];
    uint32_t count; /* one more than there is room for: any name */
};
#define PHX__NAMES_GROWN 8u
struct phx__names {
    struct phx__mem *mem;
    struct phx__ids *ids;
    struct phx__names_of *of; /* by node; PHX__SELF is this node's own */
    uint32_t capacity;
    struct phx__names_of *pages; /* the rest of this node's own, until phx__names_join_pages */
    uint32_t page_count, page_capacity, paged; /* paged: claims there */
    struct phx__names_index index; /* over all claims but those of the failed */
    uint64_t version; /* grows with each change of any claim: cheap "did anything change?" */
    uint64_t indexed; /* version of the index */
    struct phx__names_grown {
        uint32_t node;
        struct phx_range names;
    } grown[PHX__NAMES_GROWN]; /* who has new claims since then, and between which names */
    uint32_t grown_count;      /* one more than there is room for: the index is built anew */
    uint64_t dead_version; /* grows with each change of a claim of the failed */
    struct phx__names_changes changes;
    struct phx__names_conflict *conflicts; /* waiting for phx__names_take_conflict */
    uint32_t conflict_count, conflict_taken, conflict_capacity;
    uint64_t epoch_max; /* highest epoch ever seen that counts for ever; see names.c */
    int beyond;         /* one above those was seen */
    int keep;           /* own claims keep their epochs */
};

PHX_PRIVATE void phx__names_init(struct phx__names *n, struct phx__mem *mem, struct phx__ids *ids);
PHX_PRIVATE void phx__names_free(struct phx__names *n);
/* Own claims: 1 if anything changed (a new card is due), 0 if not, or an error, and nothing changed. */
PHX_PRIVATE int phx__names_assume(struct phx__names *n, uint64_t first, uint64_t last);
PHX_PRIVATE int phx__names_release(struct phx__names *n, uint64_t first, uint64_t last);
/* Puts all own claims into of[PHX__SELF]. */
PHX_PRIVATE void phx__names_join_pages(struct phx__names *n);
/* How many claims a node has; claim i of these, or NULL. For what the host asks: nothing changes. */
PHX_PRIVATE uint32_t phx__names_count(const struct phx__names *n, uint32_t node);
PHX_PRIVATE const struct phx__claim *phx__names_claim(const struct phx__names *n, uint32_t node, uint32_t i);
/* Replaces what `node` claims by its card's claims. Own claims that lose are cut out and queued as conflicts;
 * 1 if own claims changed by that (a new card is due), 0 if not, PHX_ENOMEM (nothing changed). */
PHX_PRIVATE int phx__names_set(struct phx__names *n, uint32_t node, const struct phx__card *card);
/* As phx__names_set. The claims of a failed node stand behind all others, until it is back. */
PHX_PRIVATE int phx__names_dead(struct phx__names *n, uint32_t node, int dead);
/* Of a failed node the first PHX__NAMES_DEAD claims are kept, and one more in place of all others. When it is
 * back these count for nothing: its card is needed. */
#define PHX__NAMES_DEAD 32u
PHX_PRIVATE void phx__names_trim(struct phx__names *n, uint32_t node);
PHX_PRIVATE void phx__names_forget(struct phx__names *n, uint32_t node);
/* The node whose claim to `name` wins by (epoch, id), or PHX__NONE. *around: the widest range around name for
 * which this answer holds (also for NONE). If the index can't be rebuilt for lack of memory *error is
 * PHX_ENOMEM, else 0, and the answer for names of others is PHX__NONE. around and error may be NULL. */
PHX_PRIVATE uint32_t phx__names_owner(struct phx__names *n, uint64_t name, struct phx_range *around,
                                      int *error);
/* What the epoch of a claim to first..last made now would be above, as far as this node's own go. */
PHX_PRIVATE uint64_t phx__names_epoch(struct phx__names *n, uint64_t first, uint64_t last);
/* The first part of *range that `node` holds by a claim of at most this epoch: 1 and *out, 0, PHX_ENOMEM. */
PHX_PRIVATE int phx__names_held(struct phx__names *n, uint32_t node, const struct phx_range *range,
                                uint64_t epoch, struct phx_range *out);
/* Own lost ranges, oldest first: 1 and *out, or 0. */
PHX_PRIVATE int phx__names_take_conflict(struct phx__names *n, struct phx__names_conflict *out);

#endif
