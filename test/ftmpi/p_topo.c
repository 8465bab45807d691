/* p_topo.c - grids and graphs as a program sees them, and MPI_Dims_create beside a search of all. */
#include "check.h"

static void test_grid(void)
{
    int dims[2] = { 0, 0 }, periods[2] = { 0, 1 }, got[2] = { -1, -1 }, wrap[2] = { -1, -1 }, at[2] = { -1,
        -1 };
    int n = -1, rank = -1, kind = -1, i, j, good = 1, from, to, here[2];
    MPI_Comm c, d;

    MPI_Dims_create(check_size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &c);
    MPI_Topo_test(c, &kind);
    MPI_Cartdim_get(c, &n);
    ok(kind == MPI_CART && n == 2, "a grid");
    MPI_Cart_get(c, 2, got, wrap, at);
    ok(got[0] == dims[0] && got[1] == dims[1] && wrap[0] == 0 && wrap[1] == 1, "as it was wanted");
    MPI_Comm_rank(c, &rank);
    for (i = 0; i < dims[0]; i++)
        for (j = 0; j < dims[1]; j++) {
            here[0] = i;
            here[1] = j + dims[1] * 3;
            n = -1;
            MPI_Cart_rank(c, here, &n);
            MPI_Cart_coords(c, i * dims[1] + j, 2, got);
            good = good && n == i * dims[1] + j && got[0] == i && got[1] == j;
        }
    ok(good && rank == at[0] * dims[1] + at[1], "row by row");
    here[0] = dims[0];
    ok(MPI_Cart_rank(c, here, &n) == MPI_ERR_ARG, "outside");
    MPI_Cart_shift(c, 0, 1, &from, &to);
    ok(from == (at[0] == 0 ? MPI_PROC_NULL : rank - dims[1]), "from above: %d", from);
    ok(to == (at[0] == dims[0] - 1 ? MPI_PROC_NULL : rank + dims[1]), "to below: %d", to);
    MPI_Cart_shift(c, 1, -1, &from, &to);
    ok(from == at[0] * dims[1] + (at[1] + 1) % dims[1] &&
       to == at[0] * dims[1] + (at[1] + dims[1] - 1) % dims[1],
       "round the ring");
    MPI_Cart_shift(c, 1, 2 * dims[1] + 1, &from, &to);
    ok(to == at[0] * dims[1] + (at[1] + 1) % dims[1], "more than once round");
    ok(MPI_Cart_shift(c, 2, 1, &from, &to) == MPI_ERR_ARG, "no such direction");
    MPI_Comm_dup(c, &d);
    MPI_Topo_test(d, &kind);
    ok(kind == MPI_CART, "a duplicate has it, too");
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
}

static void test_parts(void)
{
    int dims[3] = { 1, 0, 1 }, periods[3] = { 1, 0, 1 }, keep[3] = { 1, 0, 1 }, n = -1, size = -1, got[3],
        wrap[3], at[3];
    int rows[3] = { 0, 1, 0 }, none[3] = { 0, 0, 0 };
    MPI_Comm c, part;

    MPI_Dims_create(check_size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &c);
    MPI_Cart_sub(c, keep, &part);
    MPI_Cartdim_get(part, &n);
    MPI_Comm_size(part, &size);
    MPI_Cart_get(part, 3, got, wrap, at);
    ok(n == 2 && size == 1 && wrap[0] == 1 && wrap[1] == 1, "two of three dimensions");
    MPI_Comm_free(&part);
    MPI_Cart_sub(c, rows, &part);
    MPI_Comm_size(part, &size);
    MPI_Comm_rank(part, &n);
    ok(size == check_size && n == check_rank, "the one in the middle");
    MPI_Comm_free(&part);
    MPI_Cart_sub(c, none, &part);
    MPI_Comm_size(part, &size);
    MPI_Cartdim_get(part, &n);
    ok(size == 1 && n == 0, "none of them");
    MPI_Comm_free(&part);
    MPI_Comm_free(&c);
}

static void test_smaller(void)
{
    int one = 1, zero = 0, kind = -1, n = -99, big = check_size + 1, bad = -1;
    MPI_Comm c;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &zero, 0, &c);
    ok((c != MPI_COMM_NULL) == (check_rank == 0), "a grid of one");
    if (c != MPI_COMM_NULL)
        MPI_Comm_free(&c);
    MPI_Cart_map(MPI_COMM_WORLD, 1, &one, &zero, &n);
    ok(n == (check_rank == 0 ? 0 : MPI_UNDEFINED), "its map");
    ok(MPI_Cart_create(MPI_COMM_WORLD, 1, &big, &zero, 0, &c) == MPI_ERR_TOPOLOGY && c == MPI_COMM_NULL,
       "too large");
    ok(MPI_Cart_create(MPI_COMM_WORLD, 1, &bad, &zero, 0, &c) == MPI_ERR_DIMS, "negative");
    ok(MPI_Cartdim_get(MPI_COMM_WORLD, &n) == MPI_ERR_TOPOLOGY, "no grid");
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    ok(kind == MPI_UNDEFINED, "nor anything");
}

/* A ring, as a graph. */
static void test_graph(void)
{
    int *index = malloc((size_t)check_size * sizeof *index), *edges =
        malloc(2 * (size_t)check_size * sizeof *edges);
    int *index2 = malloc((size_t)check_size * sizeof *index), *edges2 =
        malloc(2 * (size_t)check_size * sizeof *edges);
    int i, kind = -1, n = -1, m = -1, near[2] = { -1, -1 }, rank = -1;
    MPI_Comm c;

    for (i = 0; i < check_size; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + check_size - 1) % check_size;
        edges[2 * i + 1] = (i + 1) % check_size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &c);
    MPI_Topo_test(c, &kind);
    MPI_Graphdims_get(c, &n, &m);
    ok(kind == MPI_GRAPH && n == check_size && m == 2 * check_size, "a graph");
    memset(index2, 0, (size_t)check_size * sizeof *index);
    memset(edges2, 0, 2 * (size_t)check_size * sizeof *edges);
    MPI_Graph_get(c, n, m, index2, edges2);
    ok(memcmp(index, index2, (size_t)check_size * sizeof *index) == 0 &&
           memcmp(edges, edges2, 2 * (size_t)check_size * sizeof *edges) == 0, "as it was made");
    MPI_Comm_rank(c, &rank);
    n = -1;
    MPI_Graph_neighbors_count(c, rank, &n);
    MPI_Graph_neighbors(c, rank, 2, near);
    ok(n == 2 && near[0] == edges[2 * rank] && near[1] == edges[2 * rank + 1], "neighbours");
    ok(MPI_Graph_neighbors(c, rank, 1, near) == MPI_ERR_ARG &&
       MPI_Graph_get(c, 0, m, index2, edges2) == MPI_ERR_ARG,
       "no room");
    ok(MPI_Cart_coords(c, 0, 2, near) == MPI_ERR_TOPOLOGY, "not a grid");
    ok(MPI_Graph_neighbors_count(c, check_size, &n) == MPI_ERR_RANK, "no such rank");
    MPI_Comm_free(&c);
    MPI_Graph_map(MPI_COMM_WORLD, check_size, index, edges, &m);
    ok(m == check_rank, "its map");
    edges[0] = check_size;
    ok(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &c) == MPI_ERR_ARG, "an edge to nobody");
    free(index);
    free(edges);
    free(index2);
    free(edges2);
}

/* The best of all ways to write n as a product of falling factors: the smallest first, then the second. */
static int best(int n, int dims, int most, int *out)
{
    int d;

    if (dims == 1) {
        out[0] = n;
        return n <= most;
    }
    for (d = 1; d <= n && d <= most; d++)
        if (n % d == 0 && best(n / d, dims - 1, d, out + 1)) {
            out[0] = d;
            return 1;
        }
    return 0;
}

static void test_dims(void)
{
    int n, k, i, wrong = 0, dims[5], want[5], fixed[3] = { 0, 3, 0 }, bad[2] = { 0, 5 }, full[2] = { 2, 3 };

    for (n = 1; n <= 400; n++)
        for (k = 1; k <= 5; k++) {
            memset(dims, 0, sizeof dims);
            MPI_Dims_create(n, k, dims);
            best(n, k, n, want);
            for (i = 0; i < k; i++)
                wrong += dims[i] != want[i];
        }
    ok(wrong == 0, "%d dimensions differ from the best", wrong);
    MPI_Dims_create(36, 3, fixed);
    ok(fixed[0] == 4 && fixed[1] == 3 && fixed[2] == 3, "one was given");
    ok(MPI_Dims_create(6, 2, bad) == MPI_ERR_DIMS, "no divisor");
    ok(MPI_Dims_create(6, 2, full) == MPI_SUCCESS && MPI_Dims_create(12, 2, full) == MPI_ERR_DIMS,
       "all given");
    bad[0] = -1;
    ok(MPI_Dims_create(6, 2, bad) == MPI_ERR_DIMS && MPI_Dims_create(0, 2, full) == MPI_ERR_ARG, "negative");
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_grid();
    test_parts();
    test_smaller();
    test_graph();
    test_dims();
    return check_end("topologies");
}
