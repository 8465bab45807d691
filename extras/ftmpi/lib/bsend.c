/* bsend.c - the attached buffer of MPI_Bsend. */
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "pack.h"
#include "request.h"

/* A buffered send copies its data into a free part of the buffer, and a request of our own, which nobody
 * looks at, sends them from there. The requests that hold a part are in a list by offset; their bytes
 * include MPI_BSEND_OVERHEAD, which is what the program has to reckon with. Nothing of ours is written
 * there. */

int ftm_bsend_attach(struct ftm *e, void *buffer, size_t size)
{
    if (e->bsend.buffer != NULL || buffer == NULL)
        return MPI_ERR_BUFFER;
    e->bsend.buffer = buffer;
    e->bsend.size = size;
    return 0;
}

int ftm_bsend_is_empty(const struct ftm *e)
{
    return ftm_list_is_empty(&e->bsend.segments);
}

int ftm_bsend_detach(struct ftm *e, void **buffer, size_t *size)
{
    if (e->bsend.buffer == NULL || !ftm_bsend_is_empty(e))
        return MPI_ERR_BUFFER;
    *buffer = e->bsend.buffer;
    *size = e->bsend.size;
    e->bsend.buffer = NULL;
    e->bsend.size = 0;
    return 0;
}

/* The first gap of that size: its offset, and the segment that begins behind it. (size_t)-1: there is none.
 */
static size_t bsend_gap(struct ftm *e, size_t size, struct ftm_list **before)
{
    struct ftm_list *head = &e->bsend.segments, *link;
    size_t offset = 0;

    for (link = head->next; link != head; link = link->next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, segment);
        size_t begin = (size_t)((char *)r->order.buf - e->bsend.buffer);

        if (begin - offset >= size)
            break;
        offset = begin + r->buffered;
    }
    *before = link;
    return e->bsend.size - offset >= size ? offset : (size_t)-1;
}

int ftm_bsend_start(struct ftm *e, struct ftm_request *r)
{
    size_t size = (size_t)r->bytes + MPI_BSEND_OVERHEAD, offset;
    struct ftm_request *own;
    struct ftm_list *before;
    struct ftm_order order = r->order;
    struct ftm_pack pack;
    int error;

    offset = e->bsend.buffer == NULL ? (size_t)-1 : bsend_gap(e, size, &before);
    if (offset == (size_t)-1)
        return MPI_ERR_BUFFER;
    order.mode = FTM_STANDARD;
    order.buf = e->bsend.buffer + offset;
    order.count = (size_t)r->bytes;
    order.type = ftm_table_get(&e->handles, MPI_BYTE, FTM_TYPE);
    ftm_pack_start(&pack, r->order.type, r->order.buf, r->order.count);
    ftm_pack_out(&pack, order.buf, order.count);
    e->counters.copied += order.count;
    if ((error = ftm_request_make(e, &own, &order)) != 0)
        return error;
    own->buffered = size;
    ftm_list_add(before, &own->segment);
    if ((error = ftm_request_start(e, own)) != 0)
        ftm_bsend_done(e, own);
    ftm_request_free(e, own);
    if (error == 0)
        ftm_request_done(e, r, 0);
    return error;
}

void ftm_bsend_done(struct ftm *e, struct ftm_request *r)
{
    (void)e;
    ftm_list_remove(&r->segment);
    r->buffered = 0;
}
