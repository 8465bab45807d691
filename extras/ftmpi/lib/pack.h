/* pack.h - from a typed buffer to a stream of bytes and back, stopping and going on at any byte. */
#ifndef FTM_PACK_H
#define FTM_PACK_H

#include "type.h"

/* Where it stands in one list of pieces. */
struct ftm_pack_frame {
    const struct ftm_piece *piece; /* this one */
    size_t left;                   /* pieces from it to the end of the list */
    int64_t turn;                  /* of piece->count */
    uintptr_t base;
};

/* Where it stands in all. It holds addresses into itself: do not copy it. The buffer and the type must
 * stay. */
struct ftm_pack {
    struct ftm_piece whole; /* all elements: the outermost loop */
    int64_t done;           /* bytes of the block that is under way */
    uint64_t left;          /* bytes of the stream that are to come */
    int depth;
    struct ftm_pack_frame frame[FTM_TYPE_DEPTH + 2];
};

void ftm_pack_start(struct ftm_pack *k, struct ftm_type *t, const void *buffer, uint64_t count);

/* The next n bytes of the stream, out of the buffer or into it. Returns how many there were, less than n
 * only at the end. */
size_t ftm_pack_out(struct ftm_pack *k, void *to, size_t n);
size_t ftm_pack_in(struct ftm_pack *k, const void *from, size_t n);

#endif
