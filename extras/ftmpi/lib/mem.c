/* mem.c - memory from the engine's allocator, counted. */
#include "mem.h"

#include <stdlib.h>
#include <string.h>

void *ftm_mem_resize(struct ftm_mem *m, void *old, size_t old_size, size_t new_size)
{
    void *memory = NULL;

    if (m->alloc != NULL)
        memory = m->alloc->alloc(m->alloc->world, old, old_size, new_size);
    else if (new_size == 0)
        free(old);
    else
        memory = realloc(old, new_size);
    if (memory == NULL && new_size > 0) {
        m->refused++;
        return NULL;
    }
    m->bytes += new_size;
    m->bytes -= old_size;
    if (m->bytes > m->peak)
        m->peak = m->bytes;
    return memory;
}

void *ftm_mem_new(struct ftm_mem *m, size_t size)
{
    void *memory = ftm_mem_resize(m, NULL, 0, size > 0 ? size : 1);

    if (memory != NULL)
        memset(memory, 0, size > 0 ? size : 1);
    return memory;
}

void ftm_mem_free(struct ftm_mem *m, void *memory, size_t size)
{
    if (memory != NULL)
        ftm_mem_resize(m, memory, size > 0 ? size : 1, 0);
}

int ftm_mem_grow(struct ftm_mem *m, void **array, size_t *capacity, size_t count, size_t member)
{
    size_t wanted = *capacity > 0 ? 2 * *capacity : 8;
    void *bigger;

    if (count < *capacity)
        return 1;
    if (wanted > (size_t)-1 / member)
        return 0;
    bigger = ftm_mem_resize(m, *array, *capacity * member, wanted * member);
    if (bigger == NULL)
        return 0;
    *array = bigger;
    *capacity = wanted;
    return 1;
}
