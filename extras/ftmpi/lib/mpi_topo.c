/* mpi_topo.c - the calls with grids and graphs. */
#include "comm.h"
#include "mpi_call.h"
#include "topo.h"

/* Communicators keep the order of ranks: reordering is allowed and never done. */

static int topo_check_old(const char *call, MPI_Comm comm, const void *out, struct ftm_comm **c)
{
    int rc = ftm_check_comm(call, comm, c);

    if (rc == 0)
        rc = ftm_check_pointer(call, *c, "the result", out);
    if (rc == 0 && (*c)->remote != NULL)
        rc = ftm_fail(*c, MPI_ERR_COMM, call, "comm (an intercommunicator)", comm);
    return rc;
}

static int topo_check_lists(const char *call, struct ftm_comm *c, int n, const void *a, const void *b)
{
    if (n < 0)
        return ftm_fail(c, MPI_ERR_ARG, call, "the number of dimensions or nodes", n);
    return n > 0 && (a == NULL || b == NULL) ? ftm_fail(c, MPI_ERR_ARG, call, "a list", 0) : 0;
}

/* The first members of c, as many as the topology has places. */
static int topo_make(struct ftm_comm *c, struct ftm_topo *t, int nodes, struct ftm_comm **out)
{
    struct ftm_group *group = ftm_group_new(ftm_this, c->group->proc, nodes);
    int rc = group != NULL ? ftm_comm_sub(ftm_this, c, group, t, out) : MPI_ERR_INTERN;

    ftm_group_drop(ftm_this, group);
    return rc;
}

/* Gives out the communicator with topology t, which is dropped. */
static int topo_give(const char *call, struct ftm_comm *c, int rc, struct ftm_topo *t, int nodes,
                     MPI_Comm *newcomm)
{
    struct ftm_comm *made = NULL;

    *newcomm = MPI_COMM_NULL;
    if (rc == 0 && nodes > c->size)
        rc = MPI_ERR_TOPOLOGY;
    if (rc == 0)
        rc = topo_make(c, t, nodes, &made);
    ftm_topo_drop(ftm_this, t);
    if (rc != 0)
        return ftm_fail(c, rc, call, nodes > c->size ? "the number of processes wanted" : NULL, nodes);
    *newcomm = made != NULL ? made->handle : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_create)
int FTM_CALL(Cart_create)(MPI_Comm comm_old, int ndims, const int *dims, const int *periods, int reorder,
                          MPI_Comm *comm_cart)
{
    static const char call[] = "MPI_Cart_create";
    struct ftm_topo *t = NULL;
    struct ftm_comm *c;
    int nodes = 0, rc = topo_check_old(call, comm_old, comm_cart, &c);

    (void)reorder;
    if (rc != 0 || (rc = topo_check_lists(call, c, ndims, dims, periods)) != 0)
        return rc;
    rc = ftm_topo_cart(ftm_this, ndims, dims, periods, &t, &nodes);
    return topo_give(call, c, rc, t, nodes, comm_cart);
}

FTM_ALIAS(Graph_create)
int FTM_CALL(Graph_create)(MPI_Comm comm_old, int nnodes, const int *index, const int *edges, int reorder,
                           MPI_Comm *comm_graph)
{
    static const char call[] = "MPI_Graph_create";
    struct ftm_topo *t = NULL;
    struct ftm_comm *c;
    int rc = topo_check_old(call, comm_old, comm_graph, &c);

    (void)reorder;
    if (rc != 0 || (rc = topo_check_lists(call, c, nnodes, index, index)) != 0)
        return rc;
    if (nnodes > 0 && index[nnodes - 1] > 0 && (rc = ftm_check_pointer(call, c, "edges", edges)) != 0)
        return rc;
    rc = ftm_topo_graph(ftm_this, nnodes, index, edges, &t);
    return topo_give(call, c, rc, t, nnodes, comm_graph);
}

FTM_ALIAS(Dims_create)
int FTM_CALL(Dims_create)(int nnodes, int ndims, int *dims)
{
    static const char call[] = "MPI_Dims_create";
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = topo_check_lists(call, NULL, ndims, dims, dims)) != 0)
        return rc;
    if (nnodes < 1)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "nnodes", nnodes);
    rc = ndims > 0 ? ftm_topo_dims(ftm_this, nnodes, ndims, dims) : 0;
    return rc == 0 ? MPI_SUCCESS : ftm_fail(NULL, rc, call, "nnodes", nnodes);
}

/* What the position would be: the rank itself, as nothing is reordered. */
static int topo_map(const char *call, struct ftm_comm *c, int rc, struct ftm_topo *t, int nodes, int *newrank)
{
    ftm_topo_drop(ftm_this, t);
    if (rc == 0 && nodes > c->size)
        rc = MPI_ERR_TOPOLOGY;
    if (rc != 0)
        return ftm_fail(c, rc, call, NULL, 0);
    *newrank = c->rank < nodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_map)
int FTM_CALL(Cart_map)(MPI_Comm comm, int ndims, const int *dims, const int *periods, int *newrank)
{
    static const char call[] = "MPI_Cart_map";
    struct ftm_topo *t = NULL;
    struct ftm_comm *c;
    int nodes = 0, rc = topo_check_old(call, comm, newrank, &c);

    if (rc != 0 || (rc = topo_check_lists(call, c, ndims, dims, periods)) != 0)
        return rc;
    rc = ftm_topo_cart(ftm_this, ndims, dims, periods, &t, &nodes);
    return topo_map(call, c, rc, t, nodes, newrank);
}

FTM_ALIAS(Graph_map)
int FTM_CALL(Graph_map)(MPI_Comm comm, int nnodes, const int *index, const int *edges, int *newrank)
{
    static const char call[] = "MPI_Graph_map";
    struct ftm_topo *t = NULL;
    struct ftm_comm *c;
    int rc = topo_check_old(call, comm, newrank, &c);

    if (rc != 0 || (rc = topo_check_lists(call, c, nnodes, index, index)) != 0)
        return rc;
    if (nnodes > 0 && index[nnodes - 1] > 0 && (rc = ftm_check_pointer(call, c, "edges", edges)) != 0)
        return rc;
    rc = ftm_topo_graph(ftm_this, nnodes, index, edges, &t);
    return topo_map(call, c, rc, t, nnodes, newrank);
}

/* ---- Questions ------------------------------------------------------------------------------------- */

FTM_ALIAS(Topo_test)
int FTM_CALL(Topo_test)(MPI_Comm comm, int *status)
{
    struct ftm_comm *c;
    int rc = ftm_check_comm("MPI_Topo_test", comm, &c);

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Topo_test", c, "status", status)) != 0)
        return rc;
    *status = c->topo != NULL ? c->topo->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* The communicator, if it has a topology of this kind. */
static int topo_ask(const char *call, MPI_Comm comm, int kind, struct ftm_comm **c)
{
    int rc = ftm_check_comm(call, comm, c);

    if (rc == 0 && ((*c)->topo == NULL || (*c)->topo->kind != kind))
        rc = ftm_fail(*c, MPI_ERR_TOPOLOGY, call, "comm", comm);
    return rc;
}

static int topo_check_rank(const char *call, struct ftm_comm *c, int rank)
{
    return rank >= 0 && rank < c->size ? 0 : ftm_fail(c, MPI_ERR_RANK, call, "rank", rank);
}

/* Room for n numbers, as the program says. */
static int topo_check_room(const char *call, struct ftm_comm *c, int n, int room, const void *list)
{
    if (room < n)
        return ftm_fail(c, MPI_ERR_ARG, call, "the room for results", room);
    return n > 0 ? ftm_check_pointer(call, c, "a list", list) : 0;
}

static void topo_copy(int *to, const int *from, int n)
{
    int i;

    for (i = 0; i < n; i++)
        to[i] = from[i];
}

FTM_ALIAS(Cartdim_get)
int FTM_CALL(Cartdim_get)(MPI_Comm comm, int *ndims)
{
    static const char call[] = "MPI_Cartdim_get";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "ndims", ndims)) != 0)
        return rc;
    *ndims = c->topo->n;
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_get)
int FTM_CALL(Cart_get)(MPI_Comm comm, int maxdims, int *dims, int *periods, int *coords)
{
    static const char call[] = "MPI_Cart_get";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = topo_check_room(call, c, c->topo->n, maxdims, dims)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->n, maxdims, periods)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->n, maxdims, coords)) != 0)
        return rc;
    topo_copy(dims, c->topo->dims, c->topo->n);
    topo_copy(periods, c->topo->periods, c->topo->n);
    ftm_topo_coords(c->topo, c->rank, coords);
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_rank)
int FTM_CALL(Cart_rank)(MPI_Comm comm, const int *coords, int *rank)
{
    static const char call[] = "MPI_Cart_rank";
    struct ftm_comm *c;
    int found, rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "rank", rank)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->n, c->topo->n, coords)) != 0)
        return rc;
    found = ftm_topo_rank(c->topo, coords);
    if (found < 0)
        return ftm_fail(c, MPI_ERR_ARG, call, "coords (outside of the grid)", coords[0]);
    *rank = found;
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_coords)
int FTM_CALL(Cart_coords)(MPI_Comm comm, int rank, int maxdims, int *coords)
{
    static const char call[] = "MPI_Cart_coords";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = topo_check_rank(call, c, rank)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->n, maxdims, coords)) != 0)
        return rc;
    ftm_topo_coords(c->topo, rank, coords);
    return MPI_SUCCESS;
}

FTM_ALIAS(Cart_shift)
int FTM_CALL(Cart_shift)(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    static const char call[] = "MPI_Cart_shift";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "rank_source", rank_source)) != 0 ||
        (rc = ftm_check_pointer(call, c, "rank_dest", rank_dest)) != 0)
        return rc;
    if (direction < 0 || direction >= c->topo->n)
        return ftm_fail(c, MPI_ERR_ARG, call, "direction", direction);
    ftm_topo_shift(c->topo, c->rank, direction, disp, rank_source, rank_dest);
    return MPI_SUCCESS;
}

FTM_ALIAS(Graphdims_get)
int FTM_CALL(Graphdims_get)(MPI_Comm comm, int *nnodes, int *nedges)
{
    static const char call[] = "MPI_Graphdims_get";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_GRAPH, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "nnodes", nnodes)) != 0 ||
        (rc = ftm_check_pointer(call, c, "nedges", nedges)) != 0)
        return rc;
    *nnodes = c->topo->n;
    *nedges = c->topo->edges;
    return MPI_SUCCESS;
}

FTM_ALIAS(Graph_get)
int FTM_CALL(Graph_get)(MPI_Comm comm, int maxindex, int maxedges, int *indx, int *edges)
{
    static const char call[] = "MPI_Graph_get";
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_GRAPH, &c);

    if (rc != 0 || (rc = topo_check_room(call, c, c->topo->n, maxindex, indx)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->edges, maxedges, edges)) != 0)
        return rc;
    topo_copy(indx, c->topo->dims, c->topo->n);
    topo_copy(edges, c->topo->periods, c->topo->edges);
    return MPI_SUCCESS;
}

FTM_ALIAS(Graph_neighbors_count)
int FTM_CALL(Graph_neighbors_count)(MPI_Comm comm, int rank, int *nneighbors)
{
    static const char call[] = "MPI_Graph_neighbors_count";
    const int *first;
    struct ftm_comm *c;
    int rc = topo_ask(call, comm, MPI_GRAPH, &c);

    if (rc != 0 || (rc = topo_check_rank(call, c, rank)) != 0 ||
        (rc = ftm_check_pointer(call, c, "nneighbors", nneighbors)) != 0)
        return rc;
    *nneighbors = ftm_topo_neighbours(c->topo, rank, &first);
    return MPI_SUCCESS;
}

FTM_ALIAS(Graph_neighbors)
int FTM_CALL(Graph_neighbors)(MPI_Comm comm, int rank, int maxneighbors, int *neighbors)
{
    static const char call[] = "MPI_Graph_neighbors";
    const int *first;
    struct ftm_comm *c;
    int n, rc = topo_ask(call, comm, MPI_GRAPH, &c);

    if (rc != 0 || (rc = topo_check_rank(call, c, rank)) != 0)
        return rc;
    n = ftm_topo_neighbours(c->topo, rank, &first);
    if ((rc = topo_check_room(call, c, n, maxneighbors, neighbors)) != 0)
        return rc;
    topo_copy(neighbors, first, n);
    return MPI_SUCCESS;
}

/* ---- Parts of a grid ------------------------------------------------------------------------------- */

/* Which part this process is in, and the grid that each part is. dims and periods have room for all. */
static int topo_part(const struct ftm_comm *c, const int *remain, int *coords, int *dims, int *periods,
                     int *kept)
{
    int i, color = 0;

    ftm_topo_coords(c->topo, c->rank, coords);
    *kept = 0;
    for (i = 0; i < c->topo->n; i++) {
        if (remain[i]) {
            dims[*kept] = c->topo->dims[i];
            periods[(*kept)++] = c->topo->periods[i];
        } else {
            color = color * c->topo->dims[i] + coords[i];
        }
    }
    return color;
}

static int topo_sub(struct ftm_comm *c, const int *remain, int *numbers, struct ftm_comm **out)
{
    int n = c->topo->n, kept, nodes, rc;
    int *dims = numbers + n, *periods = dims + n;
    int color = topo_part(c, remain, numbers, dims, periods, &kept);
    struct ftm_topo *t = NULL;

    rc = ftm_topo_cart(ftm_this, kept, dims, periods, &t, &nodes);
    /* As in MPI_Cart_create, a grid without dimensions has one process, the first. */
    if (rc == 0 && kept == 0)
        rc = topo_make(c, t, 1, out);
    else if (rc == 0)
        rc = ftm_comm_split(c, color, c->rank, out);
    if (rc == 0 && kept != 0)
        (*out)->topo = t;
    else
        ftm_topo_drop(ftm_this, t);
    return rc;
}

FTM_ALIAS(Cart_sub)
int FTM_CALL(Cart_sub)(MPI_Comm comm, const int *remain_dims, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Cart_sub";
    struct ftm_comm *c, *made = NULL;
    size_t bytes;
    int *numbers, rc = topo_ask(call, comm, MPI_CART, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "newcomm", newcomm)) != 0 ||
        (rc = topo_check_room(call, c, c->topo->n, c->topo->n, remain_dims)) != 0)
        return rc;
    bytes = 3 * (size_t)c->topo->n * sizeof *numbers;
    numbers = ftm_mem_new(&ftm_this->mem, bytes);
    rc = numbers != NULL ? topo_sub(c, remain_dims, numbers, &made) : MPI_ERR_INTERN;
    ftm_mem_free(&ftm_this->mem, numbers, bytes);
    *newcomm = rc == 0 && made != NULL ? made->handle : MPI_COMM_NULL;
    return rc == 0 ? MPI_SUCCESS : ftm_fail(c, rc, call, NULL, 0);
}
