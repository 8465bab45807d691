/* buf.c - bounds-checked reading and writing, shared byte blocks, and queues of their slices. */

/* All that comes from a peer passes the reader, and all that goes to one passes the writer. After the first
 * step past the end nothing more is read or written, so a decoder needs one test at its end. A failed reader
 * has nothing left, so no loop over `left` goes on. Integers are put together from single bytes, whatever the
 * host's alignment and byte order; compilers make one load or store of it.
 *
 * Slices of blocks carry payload from the socket to the application or the next socket without a copy:
 *
 *      ring:   [ block A, 0..40 ][ block B, 0..65 536 ][ block A, 40..90 ]     in order of sending
 *                    |                  |                    |
 *      blocks:       A (refs 2) <-------|--------------------'
 *                                       B (refs 1): the host's bytes, released when the last slice is gone
 *
 * A release callback may run inside a drop. The code here is done with the structures at that moment, so the
 * callback may push to the very queue that is being emptied. */
#include "base/buf.h"

#define BUF_TAIL_FIRST 4096u

/* ---- Reader */

void phx__buf_reader_init(struct phx__reader *r, const void *data, size_t size)
{
    *r = (struct phx__reader){ data, size, 0 };
}

const uint8_t *phx__buf_get_bytes(struct phx__reader *r, size_t size)
{
    static const uint8_t nothing[1] = { 0 };
    const uint8_t *p = r->p;

    /* Sizes are compared and never added to a pointer first: a hostile size must not wrap around. */
    if (r->bad || size > r->left) {
        r->bad = 1;
        r->left = 0;
        return NULL;
    }
    if (size == 0)
        return nothing; /* the data may be NULL then, but NULL is what says that it failed */
    r->p += size;
    r->left -= size;
    return p;
}

/* Every other get goes through get_bytes, so there is one check to get right. */
uint8_t phx__buf_get_u8(struct phx__reader *r)
{
    const uint8_t *p = phx__buf_get_bytes(r, 1);

    return p == NULL ? 0 : p[0];
}

uint16_t phx__buf_get_u16(struct phx__reader *r)
{
    const uint8_t *p = phx__buf_get_bytes(r, 2);

    return (uint16_t)(p == NULL ? 0 : p[0] | p[1] << 8);
}

/* Each byte is widened before it is shifted: an int of 0x80 << 24 would overflow. */
uint32_t phx__buf_load_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t phx__buf_load_u64(const uint8_t *p)
{
    return phx__buf_load_u32(p) | (uint64_t)phx__buf_load_u32(p + 4) << 32;
}

uint32_t phx__buf_get_u32(struct phx__reader *r)
{
    const uint8_t *p = phx__buf_get_bytes(r, 4);

    return p == NULL ? 0 : phx__buf_load_u32(p);
}

uint64_t phx__buf_get_u64(struct phx__reader *r)
{
    const uint8_t *p = phx__buf_get_bytes(r, 8);

    return p == NULL ? 0 : phx__buf_load_u64(p);
}

void phx__buf_get_copy(struct phx__reader *r, void *out, size_t size)
{
    const uint8_t *p = phx__buf_get_bytes(r, size);

    if (size == 0)
        return; /* out may be NULL then */
    /* Zeroes and not what was there: a decoder's half-filled struct must not depend on old stack. */
    if (p == NULL)
        memset(out, 0, size);
    else
        memcpy(out, p, size);
}

/* ---- Writer */

/* Senders know the size of a frame, so `bad` is our mistake, or a record that must go into the next block. */
PHX__APART void phx__buf_writer_init(struct phx__writer *w, void *data, size_t capacity)
{
    *w = (struct phx__writer){ data, 0, capacity, 0 };
}

/* Room for size more bytes, or NULL. size <= capacity always, so the difference cannot wrap. */
static uint8_t *buf_claim(struct phx__writer *w, size_t size)
{
    uint8_t *p;

    if (w->bad || size > w->capacity - w->size) {
        w->bad = 1;
        return NULL;
    }
    p = w->data + w->size;
    w->size += size;
    return p;
}

void phx__buf_store_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

void phx__buf_put_u8(struct phx__writer *w, uint8_t v)
{
    uint8_t *p = buf_claim(w, 1);

    if (p != NULL)
        p[0] = v;
}

void phx__buf_put_u16(struct phx__writer *w, uint16_t v)
{
    uint8_t *p = buf_claim(w, 2);

    if (p != NULL) {
        p[0] = (uint8_t)v;
        p[1] = (uint8_t)(v >> 8);
    }
}

void phx__buf_put_u32(struct phx__writer *w, uint32_t v)
{
    uint8_t *p = buf_claim(w, 4);

    if (p != NULL)
        phx__buf_store_u32(p, v);
}

/* By value: what p points to is not what v points to, and the compiler makes one store of it. */
uint8_t *phx__buf_store_u64(uint8_t *p, uint64_t v)
{
    phx__buf_store_u32(p, (uint32_t)v);
    phx__buf_store_u32(p + 4, (uint32_t)(v >> 32));
    return p + 8;
}

void phx__buf_put_u64(struct phx__writer *w, uint64_t v)
{
    phx__buf_put_u64s(w, &v, 1);
}

void phx__buf_put_u64s(struct phx__writer *w, const uint64_t *v, size_t count)
{
    uint8_t *p = buf_claim(w, 8 * count);

    for (size_t i = 0; p != NULL && i < count; i++)
        (void)phx__buf_store_u64(p + 8 * i, v[i]);
}

void phx__buf_put_bytes(struct phx__writer *w, const void *data, size_t size)
{
    uint8_t *p;

    if (size == 0)
        return; /* data may be NULL, and so may a writer's without capacity */
    if ((p = buf_claim(w, size)) != NULL)
        memcpy(p, data, size);
}

/* ---- Blocks
 *
 *      own:      [ struct | data ... capacity ]      one allocation; release is NULL
 *      wrapped:  [ struct ]   data -> the host's     release says when the host may have it back
 *
 * refs is 32 bits: each reference is a slice in some queue, and 2^32 of them would fill 96 GiB. */

struct phx__block *phx__buf_block_new(struct phx__mem *mem, size_t capacity)
{
    struct phx__block *b = NULL;

    if (capacity <= SIZE_MAX - sizeof *b)
        b = phx__mem_get_large(mem, sizeof *b + capacity);
    if (b != NULL) /* the bytes follow in the same allocation */
        *b = (struct phx__block){ mem, 1, 0, (uint8_t *)(b + 1), capacity, 0, NULL, NULL };
    return b;
}

struct phx__block *phx__buf_block_wrap(struct phx__mem *mem, const void *data, size_t size,
                                       void (*release)(const void *, size_t, void *), void *arg)
{
    struct phx__block *b = phx__mem_get(mem, sizeof *b);

    PHX_ASSERT(release != NULL); /* it is what tells a wrapped block from one of our own */
    if (b != NULL) /* the const is kept: only an owned block is ever filled */
        *b = (struct phx__block){ mem, 1, 0, (uint8_t *)data, size, size, release, arg };
    return b;
}

struct phx__block *phx__buf_block_hold(struct phx__block *b)
{
    PHX_ASSERT(b->refs > 0 && b->refs < UINT32_MAX);
    b->refs++;
    return b;
}

static void buf_released(const void *data, size_t size, void *arg)
{
    (void)data, (void)size, (void)arg;
}

void phx__buf_block_retire(struct phx__block *b)
{
    void (*release)(const void *, size_t, void *) = b->release;

    b->used = b->capacity;
    if (release == NULL)
        return;
    b->release = buf_released; /* still tells a wrapped block from one of our own */
    b->mem->told++;
    release(b->data, b->capacity, b->arg);
}

/* Freed first and released last: the host may do as it likes in there, even use up all memory. */
PHX__APART static void buf_block_free(struct phx__block *b)
{
    struct phx__block last = *b;

    if (last.release == NULL) {
        phx__mem_put_large(last.mem, b, sizeof *b + last.capacity);
    } else {
        phx__mem_put(last.mem, b, sizeof *b);
        last.mem->told++;
        last.release(last.data, last.capacity, last.arg);
    }
}

void phx__buf_block_drop(struct phx__block *b)
{
    PHX_ASSERT(b == NULL || b->refs > 0);
    if (b != NULL && --b->refs == 0)
        buf_block_free(b);
}

static void buf_free_copy(const void *data, size_t size, void *mem)
{
    phx__mem_put_large(mem, (void *)data, size + 1);
}

static int buf_is_lent(const struct phx__block *b, const void *buffer, const void *arg)
{
    return b->release != NULL && b->release != buf_released && b->release != buf_free_copy
           && (buffer == NULL || (b->data == buffer && b->arg == arg));
}

PHX__COLD int phx__buf_block_reclaim(struct phx__block *b, const void *buffer, const void *arg)
{
    uint8_t *copy;

    if (b == NULL || !buf_is_lent(b, buffer, arg))
        return 0;
    if (!phx__mem_has_room_for_mail(b->mem, b->capacity)
        || (copy = phx__mem_get_large(b->mem, b->capacity + 1)) == NULL) /* it may be empty */
        return PHX_ENOMEM;
    memcpy(copy, b->data, b->capacity);
    b->data = copy;
    b->release = buf_free_copy;
    b->arg = b->mem;
    return 1;
}

int phx__buf_place_is_open(const struct phx__place *p)
{
    return p->block->used == p->at;
}

void phx__buf_place_drop(struct phx__place *p)
{
    phx__buf_block_drop(p->block);
    memset(p, 0, sizeof *p);
}

struct phx__block *phx__buf_block_tail(struct phx__mem *mem, struct phx__block **tail, size_t need,
                                       size_t most)
{
    struct phx__block *b = *tail;
    size_t size = PHX__MIN(PHX__MAX(b == NULL ? 0 : 2 * b->capacity, BUF_TAIL_FIRST), most);

    if (b != NULL && b->refs == 1)
        b->used = 0; /* nobody needs what is in it any more */
    if (b != NULL && b->capacity - b->used >= need)
        return b;
    if ((b = phx__buf_block_new(mem, PHX__MAX(size, need))) == NULL)
        return NULL;
    phx__buf_block_drop(*tail);
    return *tail = b;
}

/* ---- Queues of slices. count of them lie in the ring from `first` on; bytes is the sum of their sizes. */

static struct phx__slice *buf_slice(const struct phx__slices *q, uint32_t index)
{
    return &q->ring[(q->first + index) & (q->capacity - 1)];
}

void phx__buf_slices_init(struct phx__slices *q, struct phx__mem *mem)
{
    *q = (struct phx__slices){ .mem = mem };
}

void phx__buf_slices_free(struct phx__slices *q)
{
    phx__buf_slices_take(q, q->bytes);
    PHX_ASSERT(q->count == 0);
    phx__mem_put(q->mem, q->ring, q->capacity * sizeof *q->ring);
    phx__buf_slices_init(q, q->mem);
}

int phx__buf_slices_reserve(struct phx__slices *q, uint32_t more)
{
    return more <= q->capacity - q->count ? 0
           : phx__mem_grow_ring(q->mem, &q->ring, &q->first, q->count, &q->capacity, more, sizeof *q->ring);
}

int phx__buf_slices_push(struct phx__slices *q, struct phx__block *b, const uint8_t *data, size_t size)
{
    struct phx__slice *last;

    /* The caller keeps its own reference; the queue's begins here and ends in take or free. */
    if (size == 0)
        return 0; /* an empty slice would make an empty iovec and look like a closed stream */
    PHX_ASSERT(data >= b->data && size <= b->capacity && data <= b->data + (b->capacity - size));
    /* The common case of a busy link: the next frame stands right behind the last one in its block. */
    if (q->count > 0) {
        last = buf_slice(q, q->count - 1);
        if (last->block == b && last->data + last->size == data) {
            last->size += size;
            q->bytes += size;
            return 0;
        }
    }
    if (phx__buf_slices_reserve(q, 1) != 0)
        return PHX_ENOMEM;
    *buf_slice(q, q->count++) = (struct phx__slice){ phx__buf_block_hold(b), data, size };
    q->bytes += size;
    return 0;
}

int phx__buf_slices_iov(const struct phx__slices *q, struct iovec *iov, int capacity)
{
    int n;

    for (n = 0; n < capacity && (uint32_t)n < q->count; n++) {
        const struct phx__slice *s = buf_slice(q, (uint32_t)n);

        iov[n].iov_base = (void *)s->data; /* struct iovec serves readv too, hence no const there */
        iov[n].iov_len = s->size;
    }
    return n;
}

PHX__COLD int phx__buf_slices_reclaim(struct phx__slices *q, const void *buffer, const void *arg)
{
    int some = 0;

    for (uint32_t i = 0; i < q->count; i++) {
        struct phx__slice *s = buf_slice(q, i);
        struct phx__block *lent = s->block;

        if (!buf_is_lent(lent, buffer, arg))
            continue;
        if ((s->block = phx__buf_block_new(q->mem, s->size)) == NULL) {
            s->block = lent;
            return PHX_ENOMEM;
        }
        s->data = memcpy(s->block->data, s->data, s->size);
        if (buffer != NULL && lent->refs == 1)
            lent->release = buf_released;
        some = 1;
        phx__buf_block_drop(lent); /* may call the host; s is not ours any more after it */
    }
    return some;
}

/* bytes is brought down before the first callback: what the host pushes in there is counted on top. */
void phx__buf_slices_take(struct phx__slices *q, size_t size)
{
    PHX_ASSERT(size <= q->bytes);
    q->bytes -= size;
    while (size > 0) {
        struct phx__slice *s = buf_slice(q, 0);
        size_t n = size < s->size ? size : s->size;

        /* A write may end inside a slice; then it is cut and stays first. */
        s->data += n;
        s->size -= n;
        size -= n;
        if (s->size == 0) {
            struct phx__block *done = s->block;

            q->first = (q->first + 1) & (q->capacity - 1);
            q->count--;
            phx__buf_block_drop(done); /* may call the host; s is not ours any more after it */
        }
    }
}
