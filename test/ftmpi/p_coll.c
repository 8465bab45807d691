/* p_coll.c - all collective calls beside a model: every root, every size class, types and operations. */

/* usage: ftmpirun -n N p_coll [small]
 *
 * What a rank puts in is a function of its number, so each one can work out for itself what must come out. A
 * rank that finds a difference prints a line "not ok". Buffers stand between guards, and what a call must
 * leave alone is looked at, too. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64
#define MARK 0x5a5a5a5a

static int rank, size, bad, seed;

static void check(int good, const char *what, int count, int root)
{
    if (good || bad++ > 20)
        return;
    printf("not ok - rank %d of %d: %s, count %d, root %d\n", rank, size, what, count, root);
    fflush(stdout);
}

static int put_in(int who, int i)
{
    unsigned x = (unsigned)who * 2654435761u + (unsigned)i * 40503u + (unsigned)seed * 97u;

    x ^= x >> 15;
    return (int)(x % 1000003u);
}

/* ---- Buffers -------------------------------------------------------------------------------------- */

static int *buffer(int count)
{
    int *b = malloc((size_t)(count + 2 * GUARD) * sizeof *b), i;

    if (b == NULL)
        abort();
    for (i = 0; i < count + 2 * GUARD; i++)
        b[i] = MARK;
    return b + GUARD;
}

static void release(int *b, int count, const char *what, int root)
{
    int i, good = 1;

    for (i = 0; i < GUARD; i++)
        good = good && b[-1 - i] == MARK && b[count + i] == MARK;
    check(good, what, count, root);
    free(b - GUARD);
}

static int *filled(int who, int count)
{
    int *b = buffer(count), i;

    for (i = 0; i < count; i++)
        b[i] = put_in(who, i);
    return b;
}

/* n ints behind b are those that `who` put in, from element `from` on. */
static int is_of(const int *b, int who, int from, int n)
{
    int i;

    for (i = 0; i < n; i++)
        if (b[i] != put_in(who, from + i))
            return 0;
    return 1;
}

static int is_untouched(const int *b, int n)
{
    int i;

    for (i = 0; i < n; i++)
        if (b[i] != MARK)
            return 0;
    return 1;
}

/* ---- One to all, all to one ------------------------------------------------------------------------ */

static void bcast(int count, int root)
{
    int *b = rank == root ? filled(root, count) : buffer(count);

    check(MPI_Bcast(b, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS, "Bcast fails", count, root);
    check(is_of(b, root, 0, count), "Bcast", count, root);
    release(b, count, "Bcast beyond", root);
}

/* The root's data are contiguous, the others' have gaps: every other int. */
static void bcast_gaps(int count, int root)
{
    int *b = rank == root ? filled(root, count) : buffer(2 * count), i, good = 1;
    MPI_Datatype gaps;

    MPI_Type_vector(count, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (rank == root)
        MPI_Bcast(b, count, MPI_INT, root, MPI_COMM_WORLD);
    else
        MPI_Bcast(b, 1, gaps, root, MPI_COMM_WORLD);
    for (i = 0; i < count && rank != root; i++)
        good = good && b[2 * i] == put_in(root, i) && (2 * i + 1 == 2 * count - 1 || b[2 * i + 1] == MARK);
    check(good, "Bcast with gaps", count, root);
    MPI_Type_free(&gaps);
    release(b, rank == root ? count : 2 * count, "Bcast with gaps beyond", root);
}

static void gather(int count, int root, int here)
{
    int *in = filled(rank, count), *out = buffer(count * size), i, good = 1;

    if (here && rank == root) {
        memcpy(out + rank * count, in, (size_t)count * sizeof *in);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, root, MPI_COMM_WORLD);
    } else {
        MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, MPI_COMM_WORLD);
    }
    for (i = 0; i < size && rank == root; i++)
        good = good && is_of(out + i * count, i, 0, count);
    check(good && (rank == root || is_untouched(out, count * size)), "Gather", count, root);
    check(is_of(in, rank, 0, count), "Gather's input", count, root);
    release(in, count, "Gather's input beyond", root);
    release(out, count * size, "Gather beyond", root);
}

static void scatter(int count, int root, int here)
{
    int *in = filled(root, count * size), *out = buffer(count);

    if (here && rank == root)
        MPI_Scatter(in, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    else
        MPI_Scatter(rank == root ? in : NULL, count, MPI_INT, out, count, MPI_INT, root, MPI_COMM_WORLD);
    if (here && rank == root)
        check(is_untouched(out, count), "Scatter in place", count, root);
    else
        check(is_of(out, root, rank * count, count), "Scatter", count, root);
    release(in, count * size, "Scatter's input beyond", root);
    release(out, count, "Scatter beyond", root);
}

/* Member i has i * count / 2 elements, behind a gap of one; in the reverse order of ranks. */
static int vary(int *counts, int *at, int count)
{
    int i, next = 1;

    for (i = size - 1; i >= 0; i--) {
        counts[i] = i * count / 2;
        at[i] = next;
        next += counts[i] + 1;
    }
    return next;
}

static void gatherv(int count, int root)
{
    int *counts = buffer(size), *at = buffer(size), total = vary(counts, at, count), i, good = 1;
    int *in = filled(rank, counts[rank]), *out = buffer(total);

    MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, at, MPI_INT, root, MPI_COMM_WORLD);
    for (i = 0; i < size && rank == root; i++)
        good = good && is_of(out + at[i], i, 0, counts[i]) && out[at[i] - 1] == MARK;
    check(good && (rank == root || is_untouched(out, total)), "Gatherv", count, root);
    release(in, counts[rank], "Gatherv's input beyond", root);
    release(out, total, "Gatherv beyond", root);
    release(counts, size, "counts", root);
    release(at, size, "displacements", root);
}

static void scatterv(int count, int root)
{
    int *counts = buffer(size), *at = buffer(size), total = vary(counts, at, count);
    int *in = filled(root, total), *out = buffer(counts[rank]);

    MPI_Scatterv(in, counts, at, MPI_INT, out, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
    check(is_of(out, root, at[rank], counts[rank]), "Scatterv", count, root);
    release(in, total, "Scatterv's input beyond", root);
    release(out, counts[rank], "Scatterv beyond", root);
    release(counts, size, "counts", root);
    release(at, size, "displacements", root);
}

/* ---- All to all ------------------------------------------------------------------------------------ */

static void allgather(int count, int here)
{
    int *in = filled(rank, count), *out = buffer(count * size), i, good = 1;

    if (here) {
        memcpy(out + rank * count, in, (size_t)count * sizeof *in);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, count, MPI_INT, MPI_COMM_WORLD);
    } else {
        MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    }
    for (i = 0; i < size; i++)
        good = good && is_of(out + i * count, i, 0, count);
    check(good, "Allgather", count, here);
    release(in, count, "Allgather's input beyond", here);
    release(out, count * size, "Allgather beyond", here);
}

static void allgatherv(int count)
{
    int *counts = buffer(size), *at = buffer(size), total = vary(counts, at, count), i, good = 1;
    int *in = filled(rank, counts[rank]), *out = buffer(total);

    MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, at, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        good = good && is_of(out + at[i], i, 0, counts[i]) && out[at[i] - 1] == MARK;
    check(good, "Allgatherv", count, 0);
    release(in, counts[rank], "Allgatherv's input beyond", 0);
    release(out, total, "Allgatherv beyond", 0);
    release(counts, size, "counts", 0);
    release(at, size, "displacements", 0);
}

/* Element k of what i sends to j is element j * count + k of what i put in. */
static void alltoall(int count, int here)
{
    int *in = filled(rank, count * size), *out = here ? filled(rank, count * size) : buffer(count * size);
    int i, good = 1;

    MPI_Alltoall(here ? MPI_IN_PLACE : in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        good = good && is_of(out + i * count, i, rank * count, count);
    check(good, here ? "Alltoall in place" : "Alltoall", count, 0);
    release(in, count * size, "Alltoall's input beyond", 0);
    release(out, count * size, "Alltoall beyond", 0);
}

/* i sends (i + j) % 3 * count elements to j, so that both sides can tell; in place it is the same back. */
static void alltoallv(int count, int here)
{
    int *counts = buffer(size), *at = buffer(size), total = 1, i, *in, *out, good = 1;

    for (i = 0; i < size; i++) {
        counts[i] = (rank + i) % 3 * count;
        at[i] = total;
        total += counts[i] + 1;
    }
    in = buffer(total);
    out = buffer(total);
    for (i = 0; i < total; i++)
        in[i] = MARK;
    for (i = 0; i < size; i++) {
        int *from = filled(rank * size + i, counts[i]);
        memcpy((here ? out : in) + at[i], from, (size_t)counts[i] * sizeof *from);
        release(from, counts[i], "filled", 0);
    }
    MPI_Alltoallv(here ? MPI_IN_PLACE : in, counts, at, MPI_INT, out, counts, at, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        good = good && is_of(out + at[i], i * size + rank, 0, counts[i]) && out[at[i] - 1] == MARK;
    check(good, here ? "Alltoallv in place" : "Alltoallv", count, 0);
    release(in, total, "Alltoallv's input beyond", 0);
    release(out, total, "Alltoallv beyond", 0);
    release(counts, size, "counts", 0);
    release(at, size, "displacements", 0);
}

/* ---- Reductions: an operation of our own ----------------------------------------------------------- */

/* Maps x -> a x + b modulo a prime, one after the other: associative, and the order counts. */
#define PRIME 10007

static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *f = in, *g = inout, i;

    (void)type;
    for (i = 0; i < *len; i++, f += 2, g += 2) {
        g[1] = (int)((long)f[1] * g[0] % PRIME + g[1]) % PRIME;
        g[0] = (int)((long)f[0] * g[0] % PRIME);
    }
}

static int *maps(int who, int count)
{
    int *b = filled(who, 2 * count), i;

    for (i = 0; i < 2 * count; i++)
        b[i] = b[i] % (PRIME - 1) + 1;
    return b;
}

/* first, first + 1 ... last - 1, composed by the rule above. */
static int *composed(int first, int last, int count)
{
    int *sum = maps(first, count), *next, who;

    for (who = first + 1; who < last; who++) {
        next = maps(who, count);
        compose(sum, next, &count, NULL);
        free(sum - GUARD);
        sum = next;
    }
    return sum;
}

static int is_composed(const int *b, int first, int last, int from, int n, int count)
{
    int *want = composed(first, last, count);
    int same = memcmp(b, want + 2 * from, (size_t)n * 2 * sizeof *b) == 0;

    free(want - GUARD);
    return same;
}

static void user_scans(MPI_Op op, MPI_Datatype pair, int count)
{
    int *in = maps(rank, count), *out = buffer(2 * count);

    MPI_Scan(in, out, count, pair, op, MPI_COMM_WORLD);
    check(is_composed(out, 0, rank + 1, 0, count, count), "Scan, user operation", count, 0);
    MPI_Exscan(in, out, count, pair, op, MPI_COMM_WORLD);
    check(is_composed(out, 0, rank == 0 ? 1 : rank, 0, count, count), "Exscan, user operation", count, 0);
    MPI_Exscan(MPI_IN_PLACE, in, count, pair, op, MPI_COMM_WORLD);
    check(is_composed(in, 0, rank == 0 ? 1 : rank, 0, count, count), "Exscan in place", count, 0);
    release(in, 2 * count, "Scan's input beyond", 0);
    release(out, 2 * count, "Scan beyond", 0);
}

static void user_reduce_scatter(MPI_Op op, MPI_Datatype pair, int count, int here)
{
    int *counts = buffer(size), total = 0, before = 0, i, *in, *out;

    for (i = 0; i < size; i++) {
        counts[i] = (i + 1) % 3 * count;
        before += i < rank ? counts[i] : 0;
        total += counts[i];
    }
    in = maps(rank, total);
    out = buffer(2 * counts[rank]);
    if (here)
        MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, pair, op, MPI_COMM_WORLD);
    else
        MPI_Reduce_scatter(in, out, counts, pair, op, MPI_COMM_WORLD);
    check(is_composed(here ? in : out, 0, size, before, counts[rank], total),
          "Reduce_scatter, user operation", count, here);
    release(in, 2 * total, "Reduce_scatter's input beyond", 0);
    release(out, 2 * counts[rank], "Reduce_scatter beyond", 0);
    release(counts, size, "counts", 0);
}

static void user_reduce(MPI_Op op, MPI_Datatype pair, int count)
{
    int *in = maps(rank, count), *out, root;

    for (root = 0; root < size; root++) {
        out = buffer(2 * count);
        MPI_Reduce(in, out, count, pair, op, root, MPI_COMM_WORLD);
        check(rank == root ? is_composed(out, 0, size, 0, count, count) : is_untouched(out, 2 * count),
              "Reduce, user operation", count, root);
        release(out, 2 * count, "Reduce beyond", root);
    }
    check(is_composed(in, rank, rank + 1, 0, count, count), "Reduce's input", count, 0);
    MPI_Allreduce(MPI_IN_PLACE, in, count, pair, op, MPI_COMM_WORLD);
    check(is_composed(in, 0, size, 0, count, count), "Allreduce, user operation", count, 0);
    release(in, 2 * count, "Allreduce beyond", 0);
}

static void users(int count, int commutes)
{
    MPI_Datatype pair;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, commutes, &op);
    user_reduce(op, pair, count);
    user_scans(op, pair, count);
    user_reduce_scatter(op, pair, count, 0);
    user_reduce_scatter(op, pair, count, 1);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

/* ---- Reductions: those that are there -------------------------------------------------------------- */

static int apply(int op, int a, int b)
{
    switch (op) {
    case 0: return a > b ? a : b;
    case 1: return a < b ? a : b;
    case 2: return (int)((unsigned)a + (unsigned)b);
    case 3: return (int)((unsigned)a * (unsigned)b);
    case 4: return a && b;
    case 5: return a & b;
    case 6: return a || b;
    case 7: return a | b;
    case 8: return !a != !b;
    default: return a ^ b;
    }
}

static const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND,
                             MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR};

static int reduced(int op, int first, int last, int i)
{
    int who, sum = put_in(first, i) % 20;

    for (who = first + 1; who < last; who++)
        sum = apply(op, sum, put_in(who, i) % 20);
    return sum;
}

static int is_reduced(const int *b, int op, int last, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (b[i] != reduced(op, 0, last, i))
            return 0;
    return 1;
}

static void predefined(int op, int count, int root)
{
    int *in = filled(rank, count), *out = buffer(count), i;

    for (i = 0; i < count; i++)
        in[i] %= 20;
    MPI_Reduce(in, out, count, MPI_INT, ops[op], root, MPI_COMM_WORLD);
    check(rank == root ? is_reduced(out, op, size, count) : is_untouched(out, count), "Reduce", count, root);
    MPI_Allreduce(in, out, count, MPI_INT, ops[op], MPI_COMM_WORLD);
    check(is_reduced(out, op, size, count), "Allreduce", count, op);
    MPI_Scan(in, out, count, MPI_INT, ops[op], MPI_COMM_WORLD);
    check(is_reduced(out, op, rank + 1, count), "Scan", count, op);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : in, in, count, MPI_INT, ops[op], root, MPI_COMM_WORLD);
    check(rank != root || is_reduced(in, op, size, count), "Reduce in place", count, root);
    release(in, count, "Reduce's input beyond", root);
    release(out, count, "Reduce beyond", root);
}

/* Sums of numbers so different that their order matters: all ranks must have the same bits all the same, and
 * the same again the next time. */
static void bits(int count)
{
    double *in = malloc((size_t)(count + 1) * sizeof *in), *out = malloc((size_t)(count + 1) * sizeof *out);
    double *again = malloc((size_t)(count + 1) * sizeof *again);
    int i;

    if (in == NULL || out == NULL || again == NULL)
        abort();
    for (i = 0; i < count; i++)
        in[i] = (put_in(rank, i) - 500000) * (i % 3 == 0 ? 1e-9 : i % 3 == 1 ? 1.0 : 1e9) / 7.0;
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, again, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(memcmp(out, again, (size_t)count * sizeof *out) == 0, "the same bits again", count, 0);
    MPI_Bcast(again, count, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    check(memcmp(out, again, (size_t)count * sizeof *out) == 0, "the same bits everywhere", count, 0);
    free(in);
    free(out);
    free(again);
}

/* Every type of C that has an arithmetic, with numbers so small that all of them can hold the results. */
#define OF_TYPE(T, handle)                                                                        \
    do {                                                                                          \
        T in[5], out[5];                                                                          \
        int i_, op_, good_ = 1;                                                                   \
        for (op_ = 0; op_ < 4; op_++) {                                                           \
            for (i_ = 0; i_ < 5; i_++)                                                            \
                in[i_] = (T)(1 + put_in(rank, i_) % 2 * (rank < 4));                              \
            MPI_Allreduce(in, out, 5, handle, ops[op_], MPI_COMM_WORLD);                          \
            for (i_ = 0; i_ < 5; i_++)                                                            \
                good_ = good_ && out[i_] == (T)small(op_, i_);                                    \
        }                                                                                         \
        check(good_, "reductions of " #handle, 5, 0);                                             \
    } while (0)

static int small(int op, int i)
{
    int who, sum = 0;

    for (who = 0; who < size; who++) {
        int one = 1 + put_in(who, i) % 2 * (who < 4);
        sum = who == 0 ? one : apply(op, sum, one);
    }
    return sum;
}

static void types(void)
{
    OF_TYPE(short, MPI_SHORT);
    OF_TYPE(int, MPI_INT);
    OF_TYPE(long, MPI_LONG);
    OF_TYPE(unsigned short, MPI_UNSIGNED_SHORT);
    OF_TYPE(unsigned, MPI_UNSIGNED);
    OF_TYPE(unsigned long, MPI_UNSIGNED_LONG);
    OF_TYPE(long long, MPI_LONG_LONG_INT);
    OF_TYPE(float, MPI_FLOAT);
    OF_TYPE(double, MPI_DOUBLE);
    OF_TYPE(long double, MPI_LONG_DOUBLE);
}

/* The greatest and the least value, and the lowest rank that has it. */
#define OF_PAIR(T, handle)                                                                        \
    do {                                                                                          \
        struct { T value; int where; } in, most, least;                                           \
        int who_, high_ = 0, low_ = 0;                                                            \
        for (who_ = 0; who_ < size; who_++) {                                                     \
            high_ = put_in(who_, 1) % 5 > put_in(high_, 1) % 5 ? who_ : high_;                    \
            low_ = put_in(who_, 1) % 5 < put_in(low_, 1) % 5 ? who_ : low_;                       \
        }                                                                                         \
        in.value = (T)(put_in(rank, 1) % 5);                                                      \
        in.where = rank;                                                                          \
        MPI_Allreduce(&in, &most, 1, handle, MPI_MAXLOC, MPI_COMM_WORLD);                         \
        MPI_Allreduce(&in, &least, 1, handle, MPI_MINLOC, MPI_COMM_WORLD);                        \
        check(most.where == high_ && most.value == (T)(put_in(high_, 1) % 5), "MAXLOC of " #handle, 1, 0); \
        check(least.where == low_ && least.value == (T)(put_in(low_, 1) % 5), "MINLOC of " #handle, 1, 0); \
    } while (0)

static void locations(void)
{
    OF_PAIR(short, MPI_SHORT_INT);
    OF_PAIR(int, MPI_2INT);
    OF_PAIR(long, MPI_LONG_INT);
    OF_PAIR(float, MPI_FLOAT_INT);
    OF_PAIR(double, MPI_DOUBLE_INT);
    OF_PAIR(long double, MPI_LONG_DOUBLE_INT);
}

/* ---- Wrong arguments ------------------------------------------------------------------------------- */

#define FAILS(class, call) check((call) == class, #call, 0, 0)

static void mistakes(void)
{
    MPI_Datatype type;
    int in[16] = {0}, out[16] = {0}, minus[16];

    memset(minus, 0xff, sizeof minus);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_ROOT, MPI_Bcast(in, 1, MPI_INT, -1, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(in, 1, MPI_INT, size, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ROOT, MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, size, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ROOT, MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, -5, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ROOT, MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Bcast(in, -1, MPI_INT, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Allgatherv(in, 1, MPI_INT, out, minus, in, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter(in, out, minus, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Alltoall(in, 1, type, out, 1, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    FAILS(MPI_ERR_OP, MPI_Allreduce(in, out, 1, MPI_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    FAILS(MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD));
    FAILS(MPI_SUCCESS, MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&type);
}

/* ---- All of it ------------------------------------------------------------------------------------- */

static void rooted(int count)
{
    int root;

    for (root = 0; root < size; root++, seed++) {
        bcast(count, root);
        bcast_gaps(count, root);
        gather(count, root, 0);
        gather(count, root, 1);
        scatter(count, root, 0);
        scatter(count, root, 1);
        gatherv(count, root);
        scatterv(count, root);
        predefined(root % 10, count, root);
    }
}

static void unrooted(int count)
{
    int i;

    for (i = 0; i < 2; i++, seed++) {
        MPI_Barrier(MPI_COMM_WORLD);
        allgather(count, i);
        alltoall(count, i);
        alltoallv(count, i);
        allgatherv(count);
        users(count, 0);
        bits(count);
    }
    locations();
    types();
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 3, 50, 700, 5000, 30000, 100000};
    int i, n = argc > 1 && strcmp(argv[1], "small") == 0 ? 6 : 8;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < 10; i++, seed++)
        predefined(i, 17, i % size);
    for (i = 0; i < n; i++) {
        rooted(counts[i]);
        unrooted(counts[i]);
    }
    if (n == 8) { /* long enough to be dealt out, and passed round */
        bcast(300000, size - 1);
        bcast_gaps(300000, 0);
    }
    mistakes();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && bad == 0)
        printf("ok - collectives of %d ranks\n", size);
    MPI_Finalize();
    return bad != 0;
}
