/* type.h - datatypes: what a program calls a type, and where its bytes lie. */
#ifndef FTM_TYPE_H
#define FTM_TYPE_H

#include <stddef.h>
#include <stdint.h>

struct ftm;
struct ftm_type;

#define FTM_TYPE_DEPTH 64 /* loops within loops; beyond it MPI_ERR_INTERN */

/* A type is a flat list of pieces. A piece lies `count` times in memory, `stride` bytes apart: a block of
 * bytes, or all pieces of another type. Neighbours are merged when the type is made, so a contiguous type
 * is one block, and a vector of a million blocks is one piece. */
struct ftm_piece {
    int64_t offset; /* of the first, from the buffer's address */
    int64_t count, stride;
    int64_t bytes;           /* of each, if child is NULL */
    struct ftm_type *child;  /* held */
};

/* One run of the signature (the basic types in their order), kept only where basic types differ in size. */
struct ftm_run {
    int64_t count;
    struct ftm_type *child; /* held */
};

struct ftm_type {
    int refs; /* handles, requests, types made of it */
    int handle;
    int committed;
    int basic; /* predefined: the handle's place; else 0 */
    int align; /* of its strictest basic type */
    int depth; /* of nested pieces: 0 none, 1 blocks only */
    int has_lb, has_ub; /* a marker set it; the marker wins over what surrounds it, too */
    int64_t size;       /* bytes of data in one element */
    int64_t lb, ub, true_lb, true_ub;
    int64_t elements; /* basic types in it */
    int64_t unit;     /* size of each of them; 0: they differ; -1: there are none */
    struct ftm_piece *piece;
    size_t pieces, piece_room;
    struct ftm_run *run;
    size_t runs, run_room;
    struct ftm_type *next; /* while several are given back at once */
};

/* Makes the predefined types, at their handles. 0, or MPI_ERR_INTERN. */
int ftm_type_init(struct ftm *e);
/* Gives back all types that have handles. */
void ftm_type_clear(struct ftm *e);
void ftm_type_drop(struct ftm *e, struct ftm_type *t);

/* Each returns an MPI class and, if that is 0, a new type with one reference and no handle. Counts and
 * lengths are not negative: the caller has checked that. Strides and displacements are in bytes. */
int ftm_type_vector(struct ftm *e, int64_t count, int64_t length, int64_t stride, struct ftm_type *old,
                    struct ftm_type **out);
int ftm_type_contiguous(struct ftm *e, int64_t count, struct ftm_type *old, struct ftm_type **out);
/* n blocks: of lengths[i], or of length if lengths is NULL; of types[i], or of one type if types is NULL. */
struct ftm_blocks {
    int n;
    const int *lengths;
    int length;
    const int64_t *displacements;
    struct ftm_type *const *types;
    struct ftm_type *type;
    int is_struct; /* 1: the extent is rounded up to the alignment, as a compiler would */
};
int ftm_type_blocks(struct ftm *e, const struct ftm_blocks *b, struct ftm_type **out);
int ftm_type_resized(struct ftm *e, struct ftm_type *old, int64_t lb, int64_t extent, struct ftm_type **out);
int ftm_type_dup(struct ftm *e, struct ftm_type *old, struct ftm_type **out);

static inline int64_t ftm_type_extent(const struct ftm_type *t)
{
    return t->ub - t->lb;
}

/* One piece that means `count` times type t, `stride` bytes apart, the first one at `at`; count is not 0,
 * and t has pieces. It holds nothing. */
void ftm_type_fold(struct ftm_type *t, int64_t at, int64_t count, int64_t stride, struct ftm_piece *q);

/* 1: count elements are one block of count * size bytes, which begins at buffer + true_lb. */
int ftm_type_is_block(const struct ftm_type *t, uint64_t count);

/* 1: *out = a * b, and it is no further than a type can reach. */
int ftm_type_times(int64_t a, int64_t b, int64_t *out);

/* How many basic types the first bytes of a message are, -1: the last one is not whole. */
int64_t ftm_type_elements(const struct ftm_type *t, uint64_t bytes);

#endif
