/* topo.c - grids and graphs over ranks. */
#include "topo.h"

#include "engine.h"
#include "mpi.h"

#define TOPO_FACTORS_MAX 32 /* no int is a product of more numbers above 1 */
#define TOPO_DIVISORS_MAX 1600 /* no int has more divisors than 1,536 */

static int topo_new(struct ftm *e, int kind, int n, size_t numbers, struct ftm_topo **out)
{
    struct ftm_topo *t = ftm_mem_new(&e->mem, sizeof *t);

    *out = NULL;
    if (t == NULL)
        return MPI_ERR_INTERN;
    t->dims = ftm_mem_new(&e->mem, numbers * sizeof *t->dims);
    if (t->dims == NULL) {
        ftm_mem_free(&e->mem, t, sizeof *t);
        return MPI_ERR_INTERN;
    }
    t->refs = 1;
    t->kind = kind;
    t->n = n;
    t->numbers = numbers;
    t->periods = t->dims + n;
    *out = t;
    return 0;
}

int ftm_topo_cart(struct ftm *e, int ndims, const int *dims, const int *periods, struct ftm_topo **out,
                  int *nodes)
{
    int i, rc;

    *out = NULL;
    *nodes = 1;
    for (i = 0; i < ndims; i++) {
        if (dims[i] <= 0)
            return MPI_ERR_DIMS;
        if (dims[i] > (int)FTM_RANK_MAX / *nodes)
            return MPI_ERR_TOPOLOGY;
        *nodes *= dims[i];
    }
    rc = topo_new(e, MPI_CART, ndims, 2 * (size_t)ndims, out);
    for (i = 0; rc == 0 && i < ndims; i++) {
        (*out)->dims[i] = dims[i];
        (*out)->periods[i] = periods[i] != 0;
    }
    return rc;
}

/* index[] must not fall, and edges must lead to nodes. */
static int topo_check_graph(int nnodes, const int *index, const int *edges)
{
    int i, before = 0;

    for (i = 0; i < nnodes; i++) {
        if (index[i] < before)
            return MPI_ERR_ARG;
        before = index[i];
    }
    for (i = 0; i < before; i++)
        if (edges[i] < 0 || edges[i] >= nnodes)
            return MPI_ERR_ARG;
    return 0;
}

int ftm_topo_graph(struct ftm *e, int nnodes, const int *index, const int *edges, struct ftm_topo **out)
{
    int i, count = nnodes > 0 ? index[nnodes - 1] : 0, rc = topo_check_graph(nnodes, index, edges);

    *out = NULL;
    if (rc == 0)
        rc = topo_new(e, MPI_GRAPH, nnodes, (size_t)nnodes + (size_t)count, out);
    if (rc != 0)
        return rc;
    (*out)->edges = count;
    for (i = 0; i < nnodes; i++)
        (*out)->dims[i] = index[i];
    for (i = 0; i < count; i++)
        (*out)->periods[i] = edges[i];
    return 0;
}

void ftm_topo_drop(struct ftm *e, struct ftm_topo *t)
{
    if (t == NULL || --t->refs != 0)
        return;
    ftm_mem_free(&e->mem, t->dims, t->numbers * sizeof *t->dims);
    ftm_mem_free(&e->mem, t, sizeof *t);
}

/* Ranks count through a grid with the last coordinate running fastest. */
void ftm_topo_coords(const struct ftm_topo *t, int rank, int *coords)
{
    int i;

    for (i = t->n - 1; i >= 0; i--) {
        coords[i] = rank % t->dims[i];
        rank /= t->dims[i];
    }
}

static int topo_wrap(const struct ftm_topo *t, int i, int coord)
{
    if (!t->periods[i])
        return coord >= 0 && coord < t->dims[i] ? coord : -1;
    coord %= t->dims[i];
    return coord < 0 ? coord + t->dims[i] : coord;
}

int ftm_topo_rank(const struct ftm_topo *t, const int *coords)
{
    int i, coord, rank = 0;

    for (i = 0; i < t->n; i++) {
        coord = topo_wrap(t, i, coords[i]);
        if (coord < 0)
            return -1;
        rank = rank * t->dims[i] + coord;
    }
    return rank;
}

/* The rank whose coordinate in a dimension is `steps` away. */
static int topo_step(const struct ftm_topo *t, int rank, int dimension, long long steps)
{
    long long weight = 1, coord;
    int i, size = t->dims[dimension];

    for (i = t->n - 1; i > dimension; i--)
        weight *= t->dims[i];
    coord = rank / weight % size;
    rank -= (int)(coord * weight);
    coord += steps;
    if (t->periods[dimension])
        coord = (coord % size + size) % size;
    else if (coord < 0 || coord >= size)
        return MPI_PROC_NULL;
    return rank + (int)(coord * weight);
}

void ftm_topo_shift(const struct ftm_topo *t, int rank, int dimension, int disp, int *source, int *dest)
{
    *source = topo_step(t, rank, dimension, -(long long)disp);
    *dest = topo_step(t, rank, dimension, disp);
}

int ftm_topo_neighbours(const struct ftm_topo *t, int rank, const int **first)
{
    int before = rank > 0 ? t->dims[rank - 1] : 0;

    *first = t->periods + before;
    return t->dims[rank] - before;
}

/* 1: d to the power of k is at least n. */
static int topo_reaches(int d, int k, int n)
{
    long long product = 1;

    while (k-- > 0 && product < n && d > 1)
        product *= d;
    return product >= n;
}

/* The divisors of n from 1 to n, rising. */
static int topo_divisors(int n, int *list)
{
    int d, count = 0, low;

    for (d = 1; d <= n / d; d++)
        if (n % d == 0)
            list[count++] = d;
    for (low = count - 1; low >= 0; low--)
        if (list[low] != n / list[low])
            list[count++] = n / list[low];
    return count;
}

/* Writes n as a product of `free` factors that fall, the first as small as it can be, then the second, and
 * so on: a search that goes back when the rest cannot be split. Factors above 1 are at most
 * TOPO_FACTORS_MAX. */
static void topo_split(int n, int want, int *factor)
{
    int list[TOPO_DIVISORS_MAX], at[TOPO_FACTORS_MAX + 1], rest[TOPO_FACTORS_MAX + 1];
    int count = topo_divisors(n, list), level = 0, i;

    rest[0] = n;
    at[0] = 0;
    while (rest[level] > 1) {
        int most = level > 0 ? factor[level - 1] : n, left = want - level;

        for (i = at[level]; i < count && list[i] <= most; i++)
            if (rest[level] % list[i] == 0 && list[i] > 1 && topo_reaches(list[i], left, rest[level]))
                break;
        if (i == count || list[i] > most) {
            level--;
            continue;
        }
        factor[level] = list[i];
        at[level] = i + 1;
        rest[level + 1] = rest[level] / list[i];
        at[++level] = 0;
    }
    while (level < want)
        factor[level++] = 1;
}

int ftm_topo_dims(struct ftm *e, int nnodes, int ndims, int *dims)
{
    int i, k = 0, free = 0, rest = nnodes, *factor;

    for (i = 0; i < ndims; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && rest % dims[i] != 0))
            return MPI_ERR_DIMS;
        free += dims[i] == 0;
        rest /= dims[i] > 0 ? dims[i] : 1;
    }
    if (free == 0)
        return rest == 1 ? 0 : MPI_ERR_DIMS;
    factor = ftm_mem_new(&e->mem, (size_t)free * sizeof *factor);
    if (factor == NULL)
        return MPI_ERR_INTERN;
    topo_split(rest, free, factor);
    for (i = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = factor[k++];
    ftm_mem_free(&e->mem, factor, (size_t)free * sizeof *factor);
    return 0;
}
