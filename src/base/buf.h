/* buf.h - bounds-checked reading and writing, shared byte blocks, and queues of their slices. */
#ifndef PHX_BASE_BUF_H
#define PHX_BASE_BUF_H
#include "base/mem.h"

/* A reader over borrowed bytes. After the end it is bad and gives zeroes. Integers are little-endian. */
struct phx__reader {
    const uint8_t *p;
    size_t left;
    int bad;
};
PHX_PRIVATE void phx__buf_reader_init(struct phx__reader *r, const void *data, size_t size);
PHX_PRIVATE uint8_t phx__buf_get_u8(struct phx__reader *r);
PHX_PRIVATE uint16_t phx__buf_get_u16(struct phx__reader *r);
PHX_PRIVATE uint32_t phx__buf_get_u32(struct phx__reader *r);
PHX_PRIVATE uint64_t phx__buf_get_u64(struct phx__reader *r);
PHX_PRIVATE uint32_t phx__buf_load_u32(const uint8_t *p); /* of bytes that are known to be there */
PHX_PRIVATE uint64_t phx__buf_load_u64(const uint8_t *p);
PHX_PRIVATE void phx__buf_get_copy(struct phx__reader *r, void *out, size_t size); /* zeroes if bad */
PHX_PRIVATE const uint8_t *phx__buf_get_bytes(struct phx__reader *r, size_t size); /* NULL if bad */

/* A writer into a fixed block. Running past the end sets bad and writes nothing more. */
struct phx__writer {
    uint8_t *data;
    size_t size, capacity;
    int bad;
};
PHX_PRIVATE void phx__buf_writer_init(struct phx__writer *w, void *data, size_t capacity);
/* Where there is room for them; u64: what is behind it. */
PHX_PRIVATE void phx__buf_store_u32(uint8_t *p, uint32_t v);
PHX_PRIVATE uint8_t *phx__buf_store_u64(uint8_t *p, uint64_t v);
PHX_PRIVATE void phx__buf_put_u8(struct phx__writer *w, uint8_t v);
PHX_PRIVATE void phx__buf_put_u16(struct phx__writer *w, uint16_t v);
PHX_PRIVATE void phx__buf_put_u32(struct phx__writer *w, uint32_t v);
PHX_PRIVATE void phx__buf_put_u64(struct phx__writer *w, uint64_t v);
/* Several in a row, with one look at the bounds: on the way of every message. */
PHX_PRIVATE void phx__buf_put_u64s(struct phx__writer *w, const uint64_t *v, size_t count);
PHX_PRIVATE void phx__buf_put_bytes(struct phx__writer *w, const void *data, size_t size);

/* A counted block of bytes: its own, filled up to `used`, or the host's until release is called. */
struct phx__block {
    struct phx__mem *mem;
    uint32_t refs, moved; /* moved: bytes came to a place in it; who looks at that sets it to 0 */
    uint8_t *data;
    size_t capacity, used;
    void (*release)(const void *data, size_t size, void *arg); /* NULL: data is our own memory */
    void *arg;
};
/* refs is 1. NULL: no memory. */
PHX_PRIVATE struct phx__block *phx__buf_block_new(struct phx__mem *mem, size_t capacity);
PHX_PRIVATE struct phx__block *phx__buf_block_wrap(struct phx__mem *mem, const void *data, size_t size,
                                                   void (*release)(const void *, size_t, void *), void *arg);
PHX_PRIVATE struct phx__block *phx__buf_block_hold(struct phx__block *b);
/* *tail, or a new block in its place, with `need` bytes free at its end. NULL: no memory. The first is small,
 * and the next ones are larger, up to `most`: who uses little keeps little. */
PHX_PRIVATE struct phx__block *phx__buf_block_tail(struct phx__mem *mem, struct phx__block **tail,
                                                   size_t need, size_t most);
/* What it is there for is over, whoever holds it still: used becomes capacity, and the host's bytes are
 * released now. */
PHX_PRIVATE void phx__buf_block_retire(struct phx__block *b);
/* The last drop frees, or calls release. b may be NULL. */
PHX_PRIVATE void phx__buf_block_drop(struct phx__block *b);
/* If the host lent this buffer with this arg: the block holds a copy from now on, and release is not called.
 * 1, 0 (it is another block; b may be NULL), or PHX_ENOMEM. */
PHX_PRIVATE int phx__buf_block_reclaim(struct phx__block *b, const void *buffer, const void *arg);

/* Where bytes go that have not all come yet: `size` bytes from `at` on in a block that is held. block NULL:
 * there is no such place. The block's `used` says how much of it has been received. */
struct phx__place {
    struct phx__block *block;
    size_t at;
    size_t size, got; /* got: of size, what is here already */
};
/* May it be written to? Not if the block was filled beyond its beginning in another way, or was retired. */
PHX_PRIVATE int phx__buf_place_is_open(const struct phx__place *p);
PHX_PRIVATE void phx__buf_place_drop(struct phx__place *p);

/* A queue of slices of blocks, in a ring. A slice that continues the last one in the same block extends it,
 * so a stream of small frames in one block is one slice. */
struct phx__slice {
    struct phx__block *block;
    const uint8_t *data;
    size_t size;
};
struct phx__slices {
    struct phx__mem *mem;
    struct phx__slice *ring;
    uint32_t first, count, capacity; /* capacity: 0 or a power of two */
    size_t bytes;
};
PHX_PRIVATE void phx__buf_slices_init(struct phx__slices *q, struct phx__mem *mem);
PHX_PRIVATE void phx__buf_slices_free(struct phx__slices *q); /* drops all */
/* Takes a reference of its own. 0 or PHX_ENOMEM. size 0 is nothing. */
PHX_PRIVATE int phx__buf_slices_push(struct phx__slices *q, struct phx__block *b, const uint8_t *data,
                                     size_t size);
/* Makes room for `more` slices, so that as many pushes cannot fail. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__buf_slices_reserve(struct phx__slices *q, uint32_t more);
/* The first slices as an iovec: how many were filled. */
PHX_PRIVATE int phx__buf_slices_iov(const struct phx__slices *q, struct iovec *iov, int capacity);
/* Of that buffer (NULL: of all that the host lent) the queue keeps copies, of what is in it. If nobody else
 * holds the buffer it is over without release; of NULL it is released. 1: some, 0: none, or PHX_ENOMEM. */
PHX_PRIVATE int phx__buf_slices_reclaim(struct phx__slices *q, const void *buffer, const void *arg);
/* Takes size bytes off the front; size <= bytes. */
PHX_PRIVATE void phx__buf_slices_take(struct phx__slices *q, size_t size);

#endif
