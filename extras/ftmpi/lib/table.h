/* table.h - handles: small integers that stand for objects, and are refused once their object is gone. */
#ifndef FTM_TABLE_H
#define FTM_TABLE_H

#include <stdint.h>

#include "mem.h"

/* A handle is an int that is never negative: 4 bits of kind, 8 bits that count how often its place was
 * used, 19 bits of place. The handle of nothing has place 0. */
enum ftm_handle_kind {
    FTM_COMM = 1,
    FTM_GROUP,
    FTM_TYPE,
    FTM_OP,
    FTM_REQUEST,
    FTM_ERRHANDLER,
    FTM_KEYVAL,
    FTM_INFO,
    FTM_FLIGHT, /* not of the program: requests that messages name by number */
    FTM_KINDS
};

#define FTM_HANDLE(kind, place) (((kind) << 27) | (place))
#define FTM_HANDLE_KIND(handle) ((int)((unsigned)(handle) >> 27))
#define FTM_HANDLE_PLACES (1 << 19)

struct ftm_slot {
    void *object; /* NULL: free */
    int reuse;    /* 0..255 */
    int next;     /* of the free ones; 0: none */
};

struct ftm_slots {
    struct ftm_slot *slot;
    size_t count, capacity;
    int first_free, last_free; /* the longest free first, so that a stale handle is noticed for long */
};

struct ftm_table {
    struct ftm_mem *mem;
    struct ftm_slots kinds[FTM_KINDS];
};

void ftm_table_init(struct ftm_table *t, struct ftm_mem *mem);

/* Gives back the table. Objects are their owners' affair: walk over them first. */
void ftm_table_clear(struct ftm_table *t);

/* The object, or NULL: another kind, stale, nothing, or no handle at all. */
void *ftm_table_get(const struct ftm_table *t, int handle, int kind);

/* 0 and the new handle, or -1: no memory, or 2^19 objects of the kind exist. */
int ftm_table_add(struct ftm_table *t, int kind, void *object, int *handle);

/* The same at a place chosen, for predefined handles (reuse 0), in any order, each place once; later ones
 * come behind the highest of them. */
int ftm_table_add_at(struct ftm_table *t, int kind, void *object, int place);

/* The handle stands for another object from now on. */
void ftm_table_replace(struct ftm_table *t, int handle, int kind, void *object);

/* Forgets the handle and returns what it stood for, or NULL. */
void *ftm_table_remove(struct ftm_table *t, int handle, int kind);

/* Walks over the objects of a kind: *place begins as 0. NULL: no more. The object just got may be removed. */
void *ftm_table_next(const struct ftm_table *t, int kind, int *place);

#endif
