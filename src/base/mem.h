/* mem.h - every allocation of a node: counted, capped, and able to fail on purpose. */
#ifndef PHX_BASE_MEM_H
#define PHX_BASE_MEM_H
#include "base/base.h"

struct phx__mem_spare { /* begins a block that is kept */
    struct phx__mem_spare *next;
    size_t size;
    uint64_t put; /* spare_uses then */
};

struct phx__mem {
    struct phx_alloc alloc;
    size_t used, peak, limit; /* limit 0: none */
    struct phx__mem_spare *spare; /* large ones kept for the next, the last one first; in `used`, too */
    size_t large; /* of used: what phx__mem_get_large gave, messages most of it, and spares */
    size_t spare_bytes, spare_most; /* spare_most 0, as at the beginning: nothing is kept */
    uint64_t spare_uses; /* so often was one of them used again, or kept */
    uint64_t told;  /* callbacks of the host so far: all that call it have this struct */
    uint64_t looks; /* entries of tables visited, for phx_stats: all rooms have this struct */
};

/* alloc NULL: malloc and free. */
PHX_PRIVATE void phx__mem_init(struct phx__mem *m, const struct phx_alloc *alloc, size_t limit);
/* NULL if it fails or would pass the limit. Not zeroed. size > 0. */
PHX_PRIVATE void *phx__mem_get(struct phx__mem *m, size_t size);
PHX_PRIVATE void *phx__mem_zero(struct phx__mem *m, size_t size);
/* Like realloc with sizes; NULL leaves old as it was. old may be NULL with old_size 0. */
PHX_PRIVATE void *phx__mem_resize(struct phx__mem *m, void *old, size_t old_size, size_t new_size);
/* p may be NULL. size is what was asked for. */
PHX_PRIVATE void phx__mem_put(struct phx__mem *m, void *p, size_t size);
/* The same of a secret, which is not to lie about in memory that somebody else gets next. */
PHX_PRIVATE void phx__mem_put_secret(struct phx__mem *m, void *p, size_t size);
/* The same for bytes that may be many and are needed again and again, messages that is: what is put may be
 * kept for the next of about that size. Not to be mixed with the others. */
PHX_PRIVATE void *phx__mem_get_large(struct phx__mem *m, size_t size);
PHX_PRIVATE void phx__mem_put_large(struct phx__mem *m, void *p, size_t size);
/* Gives back what is kept since before that value of spare_uses. */
PHX_PRIVATE void phx__mem_drop_spares(struct phx__mem *m, uint64_t before);
/* Makes *array (of *capacity items of item bytes) hold at least need items; new ones are zeroed. 0 or
 * PHX_ENOMEM, and then *array and *capacity are untouched. Overflow is checked. */
PHX_PRIVATE int phx__mem_grow(struct phx__mem *m, void *array, uint32_t *capacity, uint32_t need,
                              size_t item);
/* A ring that begins at *first has no room for `more` items behind its `count`: makes it larger; *capacity is
 * 0 or a power of two. 0 or PHX_ENOMEM, and then nothing changed. */
PHX_PRIVATE int phx__mem_grow_ring(struct phx__mem *m, void *ring, uint32_t *first, uint32_t count,
                                   uint32_t *capacity, uint32_t more, size_t item);
/* Gives memory back of an array that has far more room than it needs. */
PHX_PRIVATE void phx__mem_fit(struct phx__mem *m, void *array, uint32_t *capacity, uint32_t need,
                              size_t item);
/* Would size more bytes pass the limit? */
PHX_PRIVATE int phx__mem_has_room(const struct phx__mem *m, size_t size);
/* The same for messages, which leave an eighth of the limit to the links and tables that bring them away. */
PHX_PRIVATE int phx__mem_has_room_for_mail(const struct phx__mem *m, size_t size);
/* Could they have that room if `mail` bytes were free, which other messages have now? */
PHX_PRIVATE int phx__mem_could_hold_mail(const struct phx__mem *m, size_t size, size_t mail);
/* The same for the cards of others, which leave what is promised to messages: all but so many eighths. */
PHX_PRIVATE int phx__mem_has_room_for_cards(const struct phx__mem *m, size_t size, unsigned eighths);

#endif
