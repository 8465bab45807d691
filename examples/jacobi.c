/* jacobi.c - an MPI program: heat in a plate, 2-D Jacobi on a grid of processes, beside the serial run.
 *
 *     cc -std=c99 -O2 -I. -Iextras/ftmpi -o jacobi examples/jacobi.c extras/ftmpi/lib/[a-z]*.c phoenix.c -lm
 *     make ftmpi && build/ftmpi/ftmpirun -n 6 ./jacobi
 *
 * It knows nothing of Phoenix, and mpicc of any MPI compiles it as well. The plate is dealt out in blocks
 * (MPI_Dims_create, MPI_Cart_create); each process keeps a frame one cell wide around its block and exchanges
 * it with its neighbours before each step (MPI_Cart_shift, MPI_Sendrecv), columns as a derived type. All stop
 * when no cell changes much any more (MPI_Allreduce). The last line compares all cells, bit by bit, with what
 * rank 0 computes alone. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 2000
#define ENOUGH 1e-6

/* A block of rows x cols cells with its frame: cell (i, j), counted from 1, is at [i * (cols + 2) + j]. */
struct block {
    int rows, cols, row0, col0; /* row0, col0: where it begins in the plate */
    double *now, *next;
};

/* How many of n cells the i-th of p processes has, and which is its first one. */
static int share(int n, int p, int i, int *first)
{
    *first = n / p * i + (i < n % p ? i : n % p);
    return n / p + (i < n % p);
}

static double *cells(int rows, int cols)
{
    double *c = calloc((size_t)(rows + 2) * (size_t)(cols + 2), sizeof *c);

    if (c == NULL) {
        fprintf(stderr, "jacobi: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return c;
}

/* The upper edge of the plate is hot, its left edge warm; frames inside are filled by neighbours. */
static void heat(struct block *b)
{
    int w = b->cols + 2, i;

    for (i = 0; i < w && b->row0 == 0; i++)
        b->now[i] = b->next[i] = 100.0;
    for (i = 1; i <= b->rows && b->col0 == 0; i++)
        b->now[i * w] = b->next[i * w] = 50.0;
}

static void block_make(struct block *b, int n, const int *dims, const int *coords)
{
    b->rows = share(n, dims[0], coords[0], &b->row0);
    b->cols = share(n, dims[1], coords[1], &b->col0);
    b->now = cells(b->rows, b->cols);
    b->next = cells(b->rows, b->cols);
    heat(b);
}

/* One step; returns the greatest change of a cell. */
static double relax(struct block *b)
{
    int w = b->cols + 2, i, j;
    double most = 0.0, *swap;

    for (i = 1; i <= b->rows; i++)
        for (j = 1; j <= b->cols; j++) {
            const double *c = b->now + i * w + j;
            double v = 0.25 * (c[-w] + c[w] + c[-1] + c[1]);
            if (fabs(v - *c) > most)
                most = fabs(v - *c);
            b->next[i * w + j] = v;
        }
    swap = b->now;
    b->now = b->next;
    b->next = swap;
    return most;
}

/* Rows go up and down, columns left and right; at an edge the neighbour is MPI_PROC_NULL, and nothing is
 * sent or received. */
static void exchange(struct block *b, MPI_Comm grid, MPI_Datatype row, MPI_Datatype column)
{
    int w = b->cols + 2, up, down, left, right;
    double *c = b->now;

    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Sendrecv(c + w + 1, 1, row, up, 0, c + (b->rows + 1) * w + 1, 1, row, down, 0, grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(c + b->rows * w + 1, 1, row, down, 1, c + 1, 1, row, up, 1, grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(c + w + 1, 1, column, left, 2, c + w + b->cols + 1, 1, column, right, 2, grid,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(c + w + b->cols, 1, column, right, 3, c + w, 1, column, left, 3, grid, MPI_STATUS_IGNORE);
}

static int solve(struct block *b, MPI_Comm grid)
{
    MPI_Datatype row, column;
    double most = 1.0, mine;
    int step;

    MPI_Type_contiguous(b->cols, MPI_DOUBLE, &row);
    MPI_Type_vector(b->rows, 1, b->cols + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&row);
    MPI_Type_commit(&column);
    for (step = 0; step < STEPS && most > ENOUGH; step++) {
        exchange(b, grid, row, column);
        mine = relax(b);
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&column);
    return step;
}

/* Every block to its place in rank 0's plate of n x n cells, without its frame. */
static void collect(struct block *b, int n, const int *dims, MPI_Comm grid, double *plate)
{
    MPI_Datatype inside, place;
    MPI_Request sent;
    int rank, size, i, coords[2];
    struct block of;

    MPI_Comm_rank(grid, &rank);
    MPI_Comm_size(grid, &size);
    MPI_Type_vector(b->rows, b->cols, b->cols + 2, MPI_DOUBLE, &inside);
    MPI_Type_commit(&inside);
    MPI_Isend(b->now + b->cols + 3, 1, inside, 0, 4, grid, &sent);
    for (i = 0; i < size && rank == 0; i++) {
        MPI_Cart_coords(grid, i, 2, coords);
        of.rows = share(n, dims[0], coords[0], &of.row0);
        of.cols = share(n, dims[1], coords[1], &of.col0);
        MPI_Type_vector(of.rows, of.cols, n, MPI_DOUBLE, &place);
        MPI_Type_commit(&place);
        MPI_Recv(plate + of.row0 * n + of.col0, 1, place, i, 4, grid, MPI_STATUS_IGNORE);
        MPI_Type_free(&place);
    }
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Type_free(&inside);
}

/* The same by one process. Returns 1 if all cells have the same bits. */
static int is_same(const double *plate, int n, int steps)
{
    static const int one[2] = {1, 1}, origin[2] = {0, 0};
    struct block b;
    double most = 1.0;
    int step, i, same;

    block_make(&b, n, one, origin);
    for (step = 0; step < STEPS && most > ENOUGH; step++)
        most = relax(&b);
    same = step == steps;
    for (i = 0; i < n; i++)
        same = same && memcmp(plate + i * n, b.now + (i + 1) * (n + 2) + 1, (size_t)n * sizeof *plate) == 0;
    free(b.now);
    free(b.next);
    return same;
}

int main(int argc, char **argv)
{
    int n = 120, rank, size, steps, same = 1, dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2];
    double *plate = NULL, began;
    struct block b;
    MPI_Comm grid;

    MPI_Init(&argc, &argv);
    if (argc > 1)
        n = atoi(argv[1]);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    if (n < dims[0] || n > 10000) {
        fprintf(stderr, "usage: jacobi [N]: a plate of N x N cells, at least one for each process\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coords);
    block_make(&b, n, dims, coords);
    began = MPI_Wtime();
    steps = solve(&b, grid);
    if (rank == 0)
        plate = cells(n, n);
    collect(&b, n, dims, grid, plate);
    if (rank == 0) {
        printf("%d x %d cells, %d x %d processes, %d steps, %.3f s\n", n, n, dims[0], dims[1], steps,
               MPI_Wtime() - began);
        same = is_same(plate, n, steps);
        printf("%s\n", same ? "every cell has the bits of the serial run" : "DIFFERS from the serial run");
    }
    free(plate);
    free(b.now);
    free(b.next);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return !same;
}
