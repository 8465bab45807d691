/* mem.h - memory from the engine's allocator, counted. */
#ifndef FTM_MEM_H
#define FTM_MEM_H

#include <stddef.h>

#include "phoenix.h"

/* alloc == NULL: malloc and free. Sizes are told again when memory is given back, as struct phx_alloc
 * wants. */
struct ftm_mem {
    const struct phx_alloc *alloc;
    size_t bytes, peak;
    unsigned refused; /* how often there was none */
};

/* As the function of struct phx_alloc: old == NULL allocates, new_size == 0 frees, else resizes. NULL: no
 * memory, and old stays valid. */
void *ftm_mem_resize(struct ftm_mem *m, void *old, size_t old_size, size_t new_size);

/* Zeroed memory, at least one byte of it; NULL: no memory. */
void *ftm_mem_new(struct ftm_mem *m, size_t size);

/* NULL is fine. */
void ftm_mem_free(struct ftm_mem *m, void *memory, size_t size);

/* An array of count members that must hold one more: doubles *capacity when it is full. 0: no memory. */
int ftm_mem_grow(struct ftm_mem *m, void **array, size_t *capacity, size_t count, size_t member);

#endif
