/* operation.c - the collective operations of one host: all its ranks enter, records come, all are told. */

/* One operation of the host is under way at a time. Its result is laid out before the first record is placed:
 * *blocks* of coll.size bytes, each written once and marked, so a record that comes twice does no harm, and a
 * block that never came is seen at the end. Contributions of this host's own ranks are placed directly as
 * well, so it does not matter whether the tree gives them back.
 *
 *      broadcast   1 block
 *      gather      N blocks at the root's host, in rank order
 *      allgather   N blocks
 *      scatter     one block for each rank of this host
 *      alltoall    N blocks for each rank of this host */
#include "codec.h"
#include "phoenix.h"

#include <stdlib.h>
#include <string.h>

#define PUSH_LIMIT ((uint64_t)16 << 20)

static uint64_t blocks_of(struct la_engine *e, const struct la_coll *c)
{
    switch (c->kind) {
    case LA_BROADCAST: return 1;
    case LA_GATHER: return la_engine_rank(e, c->root) == NULL ? 0 : e->job->size;
    case LA_ALLGATHER: return e->job->size;
    case LA_SCATTER: return e->ranks_count;
    case LA_ALLTOALL: return (uint64_t)e->ranks_count * e->job->size;
    default: return 0;
    }
}

static void open_operation(struct la_engine *e, const struct la_coll *c)
{
    e->op.open = 1;
    e->op.coll = *c;
    e->op.blocks = blocks_of(e, c);
}

/* Room for the result, when its first block comes: a client that only names a size costs nothing. Without
 * memory the operation goes on, and ends with an error here. */
static int make_result(struct la_operation *op)
{
    if (op->had != NULL || op->no_memory)
        return op->no_memory;
    op->no_memory = 1;
    if (op->coll.size > (SIZE_MAX - 1) / op->blocks)
        return 1;
    op->result_size = (size_t)(op->blocks * op->coll.size);
    op->result = calloc(1, op->result_size + 1);
    op->had = calloc(1, (size_t)(op->blocks / 8 + 1));
    op->no_memory = op->result == NULL || op->had == NULL;
    return op->no_memory;
}

void la_operation_free(struct la_operation *op)
{
    free(op->result);
    free(op->had);
    memset(op, 0, sizeof *op);
}

static int same(const struct la_coll *a, const struct la_coll *b)
{
    return a->kind == b->kind && a->root == b->root && a->size == b->size;
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

/* Which block a record is for; UINT64_MAX: none of this host. */
static uint64_t block_of(struct la_engine *e, uint32_t to, uint32_t from)
{
    const struct la_rank *r = to == LA_ALL ? NULL : la_engine_rank(e, to);

    switch (e->op.coll.kind) {
    case LA_BROADCAST: return 0;
    case LA_GATHER: return to == e->op.coll.root ? from : UINT64_MAX;
    case LA_ALLGATHER: return from;
    case LA_SCATTER: return r == NULL ? UINT64_MAX : (uint64_t)(r - e->ranks);
    case LA_ALLTOALL:
        return r == NULL
        || from >= e->job->size ? UINT64_MAX : (uint64_t)(r - e->ranks) * e->job->size + from;
    default: return UINT64_MAX;
    }
}

static void place(struct la_engine *e, const struct la_record *r)
{
    struct la_operation *op = &e->op;
    uint64_t block = block_of(e, r->to, r->from);

    if (block >= op->blocks || r->size != op->coll.size || make_result(op) != 0)
        return;
    if (op->had[block / 8] >> (block % 8) & 1)
        return;
    op->had[block / 8] = (unsigned char)(op->had[block / 8] | 1u << (block % 8));
    op->had_count++;
    if (r->size > 0)
        memcpy(op->result + block * op->coll.size, r->data, r->size);
}

/* A record of a fence: key NUL value, without a NUL behind it. An empty key says that some keys of this fence
 * went up on their own, so from now on keys that are not here are asked for. */
static void merge(struct la_engine *e, const struct la_record *r, uint32_t number)
{
    const unsigned char *nul = r->size == 0 ? NULL : memchr(r->data, 0, r->size);
    char small[1024], *text = small;

    if (nul == NULL)
        return;
    if (nul == r->data) {
        e->lazy = 1;
        return;
    }
    if (r->size >= sizeof small)
        text = malloc((size_t)r->size + 1);
    if (text == NULL) {
        e->op.no_memory = 1;
        return;
    }
    memcpy(text, r->data, r->size);
    text[r->size] = '\0';
    if (la_store_merge(e->store, text, text + (nul - r->data) + 1, number) == PHX_ENOMEM)
        e->op.no_memory = 1;
    if (text != small)
        free(text);
}

void la_engine_record(struct la_engine *e, const struct la_coll *c, const struct la_record *r)
{
    if (c->number != e->number || (e->op.open && !same(&e->op.coll, c)))
        return;
    if (!e->op.open)
        open_operation(e, c);
    if (c->kind == LA_FENCE)
        merge(e, r, c->number);
    else
        place(e, r);
}

/* ---- The host enters --------------------------------------------------------------------------- */

/* The records of this host, and what they point to if that is not a contribution. */
struct bundle {
    struct la_record *list;
    size_t count, capacity;
    char *text;
};

static int bundle_room(struct bundle *b, uint64_t count)
{
    if (count > SIZE_MAX / sizeof *b->list - 1)
        return PHX_ENOMEM;
    b->list = malloc((size_t)(count + 1) * sizeof *b->list);
    b->capacity = b->list == NULL ? 0 : (size_t)count + 1;
    return b->list == NULL ? PHX_ENOMEM : 0;
}

static void bundle_add(struct bundle *b, uint32_t to, uint32_t from, const void *data, size_t size)
{
    struct la_record *r = &b->list[b->count++];

    r->to = to;
    r->from = from;
    r->size = (uint32_t)size;
    r->data = data;
}

/* What one rank brings in. */
static void bundle_rank(struct la_engine *e, struct bundle *b, const struct la_rank *r)
{
    const struct la_coll *c = &e->op.coll;
    size_t size = (size_t)c->size;
    uint32_t i;

    switch (c->kind) {
    case LA_BROADCAST:
        if (r->rank == c->root)
            bundle_add(b, LA_ALL, r->rank, r->data, size);
        break;
    case LA_GATHER: bundle_add(b, c->root, r->rank, r->data, size); break;
    case LA_ALLGATHER: bundle_add(b, LA_ALL, r->rank, r->data, size); break;
    case LA_SCATTER:
    case LA_ALLTOALL:
        for (i = 0; (c->kind == LA_ALLTOALL || r->rank == c->root) && i < e->job->size; i++)
            bundle_add(b, i, r->rank, size == 0 ? NULL : r->data + i * size, size);
        break;
    default: break;
    }
}

static uint64_t bundle_count(const struct la_engine *e)
{
    uint64_t each = e->op.coll.kind == LA_SCATTER || e->op.coll.kind == LA_ALLTOALL ? e->job->size : 1;

    return (e->op.coll.kind == LA_SCATTER ? 1 : e->ranks_count) * each;
}

static int bundle_ranks(struct la_engine *e, struct bundle *b)
{
    uint32_t i;

    if (e->op.coll.kind == LA_BARRIER)
        return 0;
    if (bundle_room(b, bundle_count(e)) != 0)
        return PHX_ENOMEM;
    for (i = 0; i < e->ranks_count; i++)
        if (e->ranks[i].in)
            bundle_rank(e, b, &e->ranks[i]);
    for (i = 0; i < b->count; i++)
        place(e, &b->list[i]);
    return 0;
}

/* Does what is new fit under the limit, if other hosts bring about as much as this one? */
static int may_push(const struct la_engine *e)
{
    uint64_t limit = e->job->push_limit == 0 ? PUSH_LIMIT : e->job->push_limit;
    uint64_t hosts = e->job->nodes == 0 ? 1 : e->job->nodes;

    return la_store_bytes(e->store) + la_store_fresh_bytes(e->store) * hosts <= limit;
}

/* The fresh keys go up one by one; one empty record tells all hosts that there are such keys. */
static int tell_up(struct la_engine *e, struct bundle *b)
{
    uint32_t i, count = la_store_fresh(e->store);
    const char *key;
    size_t size;

    if (bundle_room(b, 1) != 0)
        return PHX_ENOMEM;
    for (i = 0; i < count; i++) {
        key = la_store_fresh_at(e->store, i, &size);
        e->ops.put(e->ops.ctx, key, key + strlen(key) + 1);
    }
    e->lazy = 1;
    bundle_add(b, LA_ALL, LA_KEY, "", 1);
    return 0;
}

/* The records are copies, since a record that comes while they are being entered may move a value. */
static int bundle_fresh(struct la_engine *e, struct bundle *b)
{
    uint32_t i, count = la_store_fresh(e->store);
    const char *key;
    char *to;
    size_t size;

    if (count == 0)
        return 0;
    b->text = malloc(la_store_fresh_bytes(e->store));
    if (b->text == NULL || bundle_room(b, count) != 0)
        return PHX_ENOMEM;
    to = b->text;
    for (i = 0; i < count; i++) {
        key = la_store_fresh_at(e->store, i, &size);
        memcpy(to, key, size);
        bundle_add(b, LA_ALL, LA_KEY, to, size);
        to += size;
    }
    return 0;
}

static int bundle_keys(struct la_engine *e, struct bundle *b)
{
    int err = 0;

    if (la_store_fresh(e->store) > 0)
        err = !e->lazy && may_push(e) ? bundle_fresh(e, b) : tell_up(e, b);
    if (err == 0)
        la_store_told(e->store);
    return err;
}

static void drop_contributions(struct la_engine *e)
{
    uint32_t i;

    for (i = 0; i < e->ranks_count; i++) {
        free(e->ranks[i].data);
        e->ranks[i].data = NULL;
    }
}

/* Without memory for its records the host enters empty-handed: the others see what is missing, and keys stay
 * fresh and go with the next fence. */
static void host_enters(struct la_engine *e)
{
    struct bundle b = { NULL, 0, 0, NULL };
    struct la_coll coll = e->op.coll;
    int err;

    e->op.entered = 1;
    err = coll.kind == LA_FENCE ? bundle_keys(e, &b) : bundle_ranks(e, &b);
    if (err != 0) {
        e->op.no_memory = 1;
        b.count = 0;
    }
    e->ops.enter(e->ops.ctx, &coll, b.list, b.count);
    drop_contributions(e);
    free(b.list);
    free(b.text);
}

/* A process that is gone may have left requests that wait for earlier operations. */
static int is_out(const struct la_engine *e, const struct la_rank *r)
{
    uint32_t i;

    if (r->finalized || !r->gone)
        return r->finalized;
    for (i = 0; i < e->clients_capacity; i++)
        if (e->clients[i] != NULL && e->clients[i]->rank == r && la_engine_draining(e->clients[i]))
            return 0;
    return 1;
}

static int any_in(const struct la_engine *e)
{
    uint32_t i;

    for (i = 0; i < e->ranks_count; i++)
        if (e->ranks[i].in)
            return 1;
    return 0;
}

static void host_leaves(struct la_engine *e)
{
    if (e->left)
        return;
    e->left = 1;
    la_operation_free(&e->op);
    e->ops.left(e->ops.ctx, e->number);
}

void la_operation_check(struct la_engine *e)
{
    if (e->op.entered)
        return;
    while (e->absent < e->ranks_count && (e->ranks[e->absent].in || is_out(e, &e->ranks[e->absent])))
        e->absent++;
    if (e->absent < e->ranks_count)
        return;
    if (any_in(e))
        host_enters(e);
    else
        host_leaves(e);
}

int la_engine_enter(struct la_engine *e, struct la_client *c, uint32_t kind, uint32_t root, uint64_t size,
                    const void *data, size_t data_size)
{
    struct la_coll coll = { e->job->id, e->number, kind, root, size, c->rank->rank };
    struct la_rank *r = c->rank;

    if (r->in)
        return PHX_EAGAIN;
    if (is_out(e, r) || e->left)
        return PHX_ESTATE;
    if (e->op.open && !same(&e->op.coll, &coll)) {
        e->ops.differ(e->ops.ctx, &e->op.coll, &coll);
        return PHX_EFAILED;
    }
    if (data_size > 0) {
        r->data = malloc(data_size);
        if (r->data == NULL)
            return PHX_ENOMEM;
        memcpy(r->data, data, data_size);
    }
    r->in = 1;
    r->in_client = c->number;
    if (!e->op.open)
        open_operation(e, &coll);
    if (kind == LA_FENCE || kind == LA_BARRIER)
        e->stats.barriers++;
    la_operation_check(e);
    return 0;
}

int la_engine_waiting(const struct la_engine *e, struct la_coll *c)
{
    if (!e->op.open || !any_in(e))
        return 0;
    *c = e->op.coll;
    return 1;
}

/* ---- The operation is done --------------------------------------------------------------------- */

/* The part of the result that is for this rank. */
static void cut(const struct la_engine *e, const struct la_operation *op, const struct la_rank *r,
                struct la_result *out)
{
    size_t size = (size_t)op->coll.size, place_here = (size_t)(r - e->ranks), each = size;

    out->data = NULL;
    out->size = 0;
    if (op->result == NULL || (op->coll.kind == LA_GATHER && r->rank != op->coll.root))
        return;
    out->data = op->result;
    out->size = op->result_size;
    if (op->coll.kind != LA_SCATTER && op->coll.kind != LA_ALLTOALL)
        return;
    if (op->coll.kind == LA_ALLTOALL)
        each = size * e->job->size;
    out->data = op->result + place_here * each;
    out->size = each;
}

static void tell_rank(struct la_engine *e, const struct la_operation *op, struct la_rank *r, int error)
{
    struct la_client *c = r->in_client < e->clients_capacity ? e->clients[r->in_client] : NULL;
    struct la_result result;

    r->in_client = LA_NONE;
    if (c == NULL || c->closed || c->rank != r)
        return;
    result.coll = op->coll;
    result.error = error;
    cut(e, op, r, &result);
    c->codec->done(e, c, &result);
}

/* Clients that wait for this operation, or wait to enter the next one while another connection of their rank
 * is in this one, go on. */
static void resume_waiting(struct la_engine *e)
{
    uint32_t i;

    for (i = 0; i < e->clients_capacity; i++)
        if (e->clients[i] != NULL && !e->clients[i]->closed && e->clients[i]->wait == LA_WAIT_OPERATION)
            la_engine_resume(e, e->clients[i]);
}

/* The operation is retired before anybody is told, since whoever is told may enter the next one. */
void la_engine_done(struct la_engine *e, const struct la_coll *c)
{
    struct la_operation op = e->op;
    uint32_t i;
    int error;

    if (!op.entered || c->number != e->number)
        return;
    la_engine_begin(e);
    error = op.no_memory ? PHX_ENOMEM : op.had_count < op.blocks ? PHX_EFAILED : 0;
    memset(&e->op, 0, sizeof e->op);
    e->number++;
    e->absent = 0;
    for (i = 0; i < e->ranks_count; i++)
        e->ranks[i].in = 0;
    for (i = 0; i < e->ranks_count; i++)
        if (e->ranks[i].in_client != LA_NONE)
            tell_rank(e, &op, &e->ranks[i], error);
    la_operation_free(&op);
    resume_waiting(e);
    la_operation_check(e);
    la_engine_end(e);
}
