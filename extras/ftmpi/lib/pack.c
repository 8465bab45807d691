/* pack.c - walks over the pieces of a type without recursion, and stops at any byte. */
#include "pack.h"

#include <string.h>

/* A frame stands before turn `turn` of its piece. A piece of bytes is moved here; a piece that refers to a
 * type puts a frame on top. What `at` and `stride` sum up to may wrap, as MPI_BOTTOM and negative distances
 * are legal, and so addresses are numbers here. */

static void pack_enter(struct ftm_pack *k, const struct ftm_piece *list, size_t n, uintptr_t base)
{
    struct ftm_pack_frame *f = &k->frame[k->depth++];

    f->piece = list;
    f->left = n;
    f->turn = 0;
    f->base = base;
}

void ftm_pack_start(struct ftm_pack *k, struct ftm_type *t, const void *buffer, uint64_t count)
{
    k->depth = 0;
    k->done = 0;
    k->left = count * (uint64_t)t->size;
    if (k->left == 0)
        return;
    ftm_type_fold(t, 0, (int64_t)count, ftm_type_extent(t), &k->whole);
    pack_enter(k, &k->whole, 1, (uintptr_t)buffer);
}

/* Blocks of small sizes that occur often: the compiler makes loads and stores of these. */
#define PACK_LOOP(size)                                                     \
    case size:                                                              \
        for (i = 0; i < n; i++, user += stride, stream += size)             \
            if (out)                                                        \
                memcpy(stream, (const void *)user, size);                   \
            else                                                            \
                memcpy((void *)user, stream, size);                         \
        return;

static void pack_blocks(uintptr_t user, uintptr_t stride, size_t bytes, size_t n, char *stream, int out)
{
    size_t i;

    switch (bytes) {
        PACK_LOOP(1)
        PACK_LOOP(2)
        PACK_LOOP(4)
        PACK_LOOP(8)
        PACK_LOOP(16)
    default:
        break;
    }
    for (i = 0; i < n; i++, user += stride, stream += bytes)
        if (out)
            memcpy(stream, (const void *)user, bytes);
        else
            memcpy((void *)user, stream, bytes);
}

/* Moves at most n bytes of a piece of bytes; returns how many. */
static size_t pack_move(struct ftm_pack *k, struct ftm_pack_frame *f, char *stream, size_t n, int out)
{
    const struct ftm_piece *p = f->piece;
    uintptr_t user = f->base + (uintptr_t)p->offset + (uintptr_t)f->turn * (uintptr_t)p->stride;
    uint64_t whole = n / (uint64_t)p->bytes, rest = (uint64_t)(p->bytes - k->done);

    if (k->done == 0 && whole != 0) {
        if (whole > (uint64_t)(p->count - f->turn))
            whole = (uint64_t)(p->count - f->turn);
        pack_blocks(user, (uintptr_t)p->stride, (size_t)p->bytes, (size_t)whole, stream, out);
        f->turn += (int64_t)whole;
        return (size_t)whole * (size_t)p->bytes;
    }
    if (n > rest)
        n = (size_t)rest;
    pack_blocks(user + (uintptr_t)k->done, 0, n, 1, stream, out);
    k->done += (int64_t)n;
    if (k->done == p->bytes) {
        k->done = 0;
        f->turn++;
    }
    return n;
}

static size_t pack_run(struct ftm_pack *k, char *stream, size_t n, int out)
{
    struct ftm_pack_frame *f;
    size_t moved = 0;
    uintptr_t user;

    while (moved < n && k->left != 0) {
        f = &k->frame[k->depth - 1];
        if (f->left == 0) {
            k->depth--;
            continue;
        }
        if (f->turn == f->piece->count) {
            f->piece++;
            f->left--;
            f->turn = 0;
        } else if (f->piece->child != NULL) {
            user = f->base + (uintptr_t)f->piece->offset + (uintptr_t)f->turn * (uintptr_t)f->piece->stride;
            f->turn++;
            pack_enter(k, f->piece->child->piece, f->piece->child->pieces, user);
        } else {
            size_t m = pack_move(k, f, stream + moved, n - moved, out);

            moved += m;
            k->left -= m;
        }
    }
    return moved;
}

size_t ftm_pack_out(struct ftm_pack *k, void *to, size_t n)
{
    return pack_run(k, to, n, 1);
}

size_t ftm_pack_in(struct ftm_pack *k, const void *from, size_t n)
{
    /* pack_run only reads the stream when it unpacks. */
    return pack_run(k, (char *)(uintptr_t)from, n, 0);
}
