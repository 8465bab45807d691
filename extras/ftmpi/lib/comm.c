/* comm.c - makes communicators, and what their members must agree upon for it. */
#include "comm.h"

#include <string.h>

#include "coll.h"
#include "engine.h"
#include "pump.h"
#include "request.h"

/* Contexts of the first communicators, the same at all processes. */
enum { COMM_WORLD_CONTEXT = 0, COMM_SELF_CONTEXT = 2, COMM_STEP = 2 };

/* What only collectives look at. */
static void comm_free_dense(struct ftm *e, struct ftm_comm *c)
{
    size_t bytes;

    if (c == NULL)
        return;
    bytes = (size_t)c->size * sizeof *c->dense_ranks;
    ftm_coll_forget(e, c);
    ftm_mem_free(&e->mem, c->dense_ranks, bytes);
    ftm_group_drop(e, c->group);
    ftm_mem_free(&e->mem, c, sizeof *c);
}

struct ftm_comm *ftm_comm_dense(struct ftm *e, struct ftm_comm *comm)
{
    const struct ftm_group *g = comm->group;
    struct ftm_comm *c = comm->dense;
    int i, n = 0;

    if (c != NULL || (c = ftm_mem_new(&e->mem, sizeof *c)) == NULL)
        return c;
    c->size = g->size - g->gaps;
    c->dense_ranks = ftm_mem_new(&e->mem, (size_t)c->size * sizeof *c->dense_ranks);
    for (i = 0; c->dense_ranks != NULL && i < g->size; i++)
        if (g->proc[i] != FTM_GAP)
            c->dense_ranks[n++] = i;
    if (c->dense_ranks != NULL)
        (void)ftm_group_incl(e, g, n, c->dense_ranks, &c->group);
    if (c->group == NULL) {
        comm_free_dense(e, c);
        return NULL;
    }
    c->rank = c->group->rank;
    comm->dense = c;
    return c;
}

static void comm_release(struct ftm *e, struct ftm_comm *c)
{
    if (c->handle != 0)
        ftm_table_remove(&e->handles, c->handle, FTM_COMM);
    ftm_recover_forget(e, c);
    ftm_attr_forget_all(e, c);
    ftm_fault_free(e, c);
    ftm_coll_forget(e, c);
    comm_free_dense(e, c->dense);
    ftm_topo_drop(e, c->topo);
    ftm_group_drop(e, c->group);
    ftm_group_drop(e, c->remote);
    ftm_error_drop(e, c->errhandler);
    ftm_mem_free(&e->mem, c, sizeof *c);
}

static struct ftm_comm *comm_begin(struct ftm *e, const struct ftm_comm_parts *p)
{
    struct ftm_comm *c = ftm_mem_new(&e->mem, sizeof *c);

    if (c == NULL)
        return NULL;
    c->refs = 1;
    c->context = p->context;
    c->group = p->group;
    c->group->refs++;
    c->rank = c->group->rank;
    c->size = c->group->size;
    c->remote = p->remote;
    if (c->remote != NULL)
        c->remote->refs++;
    c->topo = p->topo;
    if (c->topo != NULL)
        c->topo->refs++;
    c->errhandler = p->parent != NULL ? p->parent->errhandler
                                      : ftm_table_get(&e->handles, MPI_ERRORS_ARE_FATAL, FTM_ERRHANDLER);
    c->errhandler->refs++;
    c->handler_set = p->parent != NULL && p->parent->handler_set;
    if (ftm_fault_begin(e, c, p->parent) == 0)
        return c;
    comm_release(e, c);
    return NULL;
}

/* Enters it, at a handle chosen or at any (0), and opens its contexts. */
static int comm_open(struct ftm *e, struct ftm_comm *c, int handle, int hidden)
{
    int bad = 0;

    if (handle != 0)
        bad = ftm_table_add_at(&e->handles, FTM_COMM, c, handle & (FTM_HANDLE_PLACES - 1));
    else if (!hidden)
        bad = ftm_table_add(&e->handles, FTM_COMM, c, &handle);
    if (bad == 0)
        c->handle = handle;
    if (bad == 0 && c->context + 1 <= FTM_CONTEXT_MAX && ftm_match_attach(e, c) == 0) {
        ftm_recover_early(e);
        return 0;
    }
    comm_release(e, c);
    return MPI_ERR_INTERN;
}

int ftm_comm_new(struct ftm *e, const struct ftm_comm_parts *parts, struct ftm_comm **out)
{
    struct ftm_comm *c = comm_begin(e, parts);
    int rc;

    *out = NULL;
    if (c == NULL)
        return MPI_ERR_INTERN;
    rc = comm_open(e, c, 0, parts->hidden);
    if (rc == 0)
        *out = c;
    return rc;
}

int ftm_comm_succeed(struct ftm *e, struct ftm_comm *old, struct ftm_group *group, struct ftm_topo *topo,
                     uint32_t generation, struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { old, old->context, group, NULL, topo, 1 };

    *out = comm_begin(e, &parts);
    if (*out == NULL)
        return MPI_ERR_INTERN;
    (*out)->generation = generation;
    return 0;
}

static int comm_predefine(struct ftm *e, int handle, const char *name, uint32_t context,
                          struct ftm_group *group,
                          struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { NULL, context, group, NULL, NULL, 0 };
    struct ftm_comm *c = group != NULL ? comm_begin(e, &parts) : NULL;
    int rc;

    ftm_group_drop(e, group);
    if (c == NULL)
        return MPI_ERR_INTERN;
    memcpy(c->name, name, strlen(name) + 1);
    rc = comm_open(e, c, handle, 0);
    if (rc == 0)
        *out = c;
    return rc;
}

int ftm_comm_init(struct ftm *e)
{
    struct ftm_group *empty = ftm_group_new(e, NULL, 0);
    int rc;

    if (empty == NULL || ftm_table_add_at(&e->handles, FTM_GROUP, empty, 1) != 0) {
        ftm_group_drop(e, empty);
        return MPI_ERR_INTERN;
    }
    rc = comm_predefine(e, MPI_COMM_WORLD, "MPI_COMM_WORLD", COMM_WORLD_CONTEXT,
                        ftm_group_new_world(e, e->config.size), &e->world);
    return rc != 0 ? rc : comm_predefine(e, MPI_COMM_SELF, "MPI_COMM_SELF", COMM_SELF_CONTEXT,
                                         ftm_group_new(e, &e->self_proc, 1), &e->self);
}

static void comm_close(struct ftm *e, struct ftm_comm *c)
{
    ftm_match_detach(e, c);
    comm_release(e, c);
}

void ftm_comm_clear(struct ftm *e)
{
    struct ftm_group *g;
    struct ftm_comm *c;
    int place = 0;

    while ((c = ftm_table_next(&e->handles, FTM_COMM, &place)) != NULL)
        ftm_recover_forget(e, c); /* successors without a handle go with it */
    place = 0;
    while ((c = ftm_table_next(&e->handles, FTM_COMM, &place)) != NULL) {
        if (c->local != NULL)
            comm_close(e, c->local);
        comm_close(e, c);
    }
    place = 0;
    while ((g = ftm_table_next(&e->handles, FTM_GROUP, &place)) != NULL)
        ftm_group_drop(e, g);
    e->world = e->self = NULL;
}

void ftm_comm_drop(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_comm *local;

    if (comm == NULL || --comm->refs != 0)
        return;
    local = comm->local;
    comm_close(e, comm);
    if (local != NULL && --local->refs == 0)
        comm_close(e, local);
}

void ftm_comm_free(struct ftm *e, struct ftm_comm *comm)
{
    ftm_table_remove(&e->handles, comm->handle, FTM_COMM);
    comm->handle = 0;
    ftm_comm_drop(e, comm);
}

static int comm_greatest(struct ftm *e, struct ftm_comm *comm, uint32_t *context)
{
    size_t bytes = (size_t)comm->size * sizeof(uint32_t);
    uint32_t mine = e->contexts.next, *all = ftm_mem_new(&e->mem, bytes);
    int i, rc;

    *context = 0;
    if (all == NULL)
        return MPI_ERR_INTERN;
    rc = ftm_coll_allgather_bytes(e, comm, &mine, sizeof mine, all);
    for (i = 0; rc == 0 && i < comm->size; i++)
        if (all[i] > *context)
            *context = all[i];
    ftm_mem_free(&e->mem, all, bytes);
    return rc;
}

int ftm_comm_agree(struct ftm *e, struct ftm_comm *comm, uint32_t *context)
{
    return comm->remote != NULL || ftm_recover_votes(e, comm) ? ftm_recover_create(e, comm, 0, context, NULL)
                                                              : comm_greatest(e, comm, context);
}

int ftm_comm_sub(struct ftm *e, struct ftm_comm *comm, struct ftm_group *group, struct ftm_topo *topo,
                 struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { comm, 0, group, NULL, topo, 0 };
    int rc = ftm_comm_agree(e, comm, &parts.context);

    *out = NULL;
    return rc != 0 || group->rank == MPI_UNDEFINED ? rc : ftm_comm_new(e, &parts, out);
}

static int comm_is_over(void *arg)
{
    const struct ftm_request *r = arg;

    return r->done || (r->order.comm->fault.watch && ftm_fault_pending(r->engine, r) != 0);
}

/* Its error: 0, or an MPI class. A failure may end the call before: then the request is taken back. */
static int comm_wait(struct ftm *e, struct ftm_request *r)
{
    int rc = ftm_pump_until(e, comm_is_over, r), fault = 0;

    if (rc == 0 && !r->done) {
        fault = ftm_fault_pending(e, r);
        ftm_request_cancel(e, r);
        rc = ftm_pump_request(e, r);
    }
    return rc != 0 ? rc : r->status.cancelled ? fault : r->error;
}

/* What the other leader says in this generation: where messages outlive a recovery, one of a call that it
 * ended may come first. */
static int comm_hear(struct ftm *e, const struct ftm_comm_bridge *b, struct ftm_type *byte, uint64_t *theirs,
                     size_t room, size_t *size)
{
    struct ftm_request *r;
    int rc;

    do {
        rc = ftm_recv_start(e, &r, b->between, 0, theirs, room, byte, b->remote, b->tag);
        if (rc == 0)
            rc = comm_wait(e, r);
        *size = rc == 0 ? (size_t)r->status.bytes : 0;
        if (r != NULL)
            ftm_request_free(e, r);
        if (rc == 0 && *size < sizeof *theirs)
            rc = MPI_ERR_ARG;
    } while (rc == 0 && theirs[0] >> 32 != b->between->generation);
    return rc;
}

/* A message to the other leader and one from it, of *size bytes. */
static int comm_swap(struct ftm *e, const struct ftm_comm_bridge *b, uint64_t *mine, size_t mine_bytes,
                     uint64_t *theirs, size_t *size)
{
    struct ftm_type *byte = ftm_table_get(&e->handles, MPI_BYTE, FTM_TYPE);
    struct ftm_request *out;
    int rc, sent;

    mine[0] = (uint32_t)mine[0] | (uint64_t)b->between->generation << 32;
    rc = ftm_send_start(e, &out, FTM_STANDARD, b->between, 0, mine, mine_bytes, byte, b->remote, b->tag);
    if (rc == 0) {
        rc = comm_hear(e, b, byte, theirs, *size, size);
        sent = comm_wait(e, out);
        rc = rc != 0 ? rc : sent;
    }
    if (out != NULL)
        ftm_request_free(e, out);
    return rc == 0 && *size == sizeof *theirs ? ftm_fault_code(b->local) : rc;
}

static int comm_bridge_error(const struct ftm_comm_bridge *b)
{
    if (b->between == NULL)
        return MPI_ERR_COMM;
    return b->remote < 0 || b->remote >= ftm_comm_peers(b->between)->size ? MPI_ERR_RANK : 0;
}

int ftm_comm_exchange(struct ftm *e, const struct ftm_comm_bridge *b, uint64_t *mine, size_t mine_bytes,
                      uint64_t *theirs, size_t *size)
{
    struct { int32_t error; uint32_t size; } told = { 0, 0 };
    int rc;

    if (b->local->rank == b->leader) {
        told.error = comm_bridge_error(b);
        if (told.error == 0)
            told.error = comm_swap(e, b, mine, mine_bytes, theirs, size);
        told.size = (uint32_t)*size;
    }
    rc = ftm_coll_bcast_bytes(e, b->local, &told, sizeof told, b->leader);
    *size = told.size;
    if (rc != 0 || told.error != 0)
        return rc != 0 ? rc : told.error;
    return ftm_coll_bcast_bytes(e, b->local, theirs, *size, b->leader);
}

void ftm_comm_decline(struct ftm *e, const struct ftm_comm_bridge *b, uint64_t *theirs, size_t size)
{
    uint64_t mine = 0;

    if (b->local->rank == b->leader && comm_bridge_error(b) == 0)
        (void)comm_swap(e, b, &mine, sizeof mine, theirs, &size);
}

int ftm_comm_new_inter(struct ftm *e, struct ftm_comm *parent, uint32_t context, struct ftm_group *group,
                       struct ftm_group *remote, struct ftm_comm **out)
{
    struct ftm_comm_parts own = { parent, context + COMM_STEP, group, NULL, NULL, 1 };
    struct ftm_comm_parts both = { parent, context, group, remote, NULL, 0 };
    struct ftm_comm *made, *local;
    int rc = ftm_comm_new(e, &both, &made); /* the lower context first: what is below the highest is over */

    *out = NULL;
    if (rc != 0)
        return rc;
    rc = ftm_comm_new(e, &own, &local);
    if (rc != 0) {
        ftm_comm_free(e, made);
        return rc;
    }
    made->local = local;
    *out = made;
    return 0;
}
