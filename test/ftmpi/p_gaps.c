/* p_gaps.c - a communicator with gaps: ranks stay, operations with a gap are errors, collectives leave it out
   (promise 78). */
#include <signal.h>

#include "check.h"

#define GAP 1
#define COUNT 3

static MPI_Comm comm;
static int rank, size, in[16 * COUNT], out[16 * COUNT];

static void reset(void)
{
    int i;

    for (i = 0; i < 16 * COUNT; i++) {
        in[i] = 100 * rank + i;
        out[i] = -1;
    }
}

/* Blocks of COUNT by rank: that of the gap is untouched. */
static int blocks_are_right(int offset)
{
    int i, k, good = 1;

    for (i = 0; i < size; i++)
        for (k = 0; k < COUNT; k++)
            good = good && out[i * COUNT + k] == (i == GAP ? -1 : 100 * i + offset + k);
    return good;
}

static void test_ranks(void)
{
    int now_rank = -1, now_size = -1, one = 0, at = 0;
    MPI_Group g, h, world;

    MPI_Comm_rank(comm, &now_rank);
    MPI_Comm_size(comm, &now_size);
    ok(now_rank == rank && now_size == size, "ranks and size stay");
    MPI_Errhandler_set(comm, MPI_ERRORS_RETURN);
    ok(MPI_Send(in, 1, MPI_INT, GAP, 0, comm) == MPI_ERR_RANK
       && MPI_Recv(in, 1, MPI_INT, GAP, 0, comm, MPI_STATUS_IGNORE) == MPI_ERR_RANK
       && MPI_Probe(GAP, 0, comm, MPI_STATUS_IGNORE) == MPI_ERR_RANK
       && MPI_Bcast(in, 1, MPI_INT, GAP, comm) == MPI_ERR_RANK, "to and from a gap: MPI_ERR_RANK");
    MPI_Comm_group(comm, &g);
    MPI_Comm_group(MPI_COMM_SELF, &world);
    one = GAP;
    MPI_Group_translate_ranks(g, 1, &one, world, &at);
    ok(at == MPI_UNDEFINED, "a gap is nobody");
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ok(MPI_Group_incl(g, 1, &one, &h) == MPI_ERR_RANK, "and cannot be included");
    MPI_Group_free(&g);
    MPI_Group_free(&world);
}

static void test_messages(void)
{
    int next = (rank + 1) % size == GAP ? GAP + 1 : (rank + 1) % size;
    int before = (rank + size - 1) % size == GAP ? GAP - 1 : (rank + size - 1) % size;
    MPI_Status st;

    reset();
    ok(MPI_Sendrecv(in, 1, MPI_INT, next, 0, out, 1, MPI_INT, before, 0, comm, &st) == MPI_SUCCESS
       && st.MPI_SOURCE == before && out[0] == 100 * before, "the living talk by their ranks");
}

static void test_blocks(int root)
{
    int counts[16], at[16], i;

    for (i = 0; i < size; i++) {
        counts[i] = COUNT;
        at[i] = i * COUNT;
    }
    reset();
    ok(MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, root, comm) == MPI_SUCCESS
       && (rank != root || blocks_are_right(0)), "gather to %d", root);
    reset();
    ok(MPI_Gatherv(in, COUNT, MPI_INT, out, counts, at, MPI_INT, root, comm) == MPI_SUCCESS
       && (rank != root || blocks_are_right(0)), "gatherv to %d", root);
    reset();
    ok(MPI_Scatter(in, COUNT, MPI_INT, out, COUNT, MPI_INT, root, comm) == MPI_SUCCESS
       && out[0] == 100 * root + rank * COUNT, "scatter from %d", root);
    reset();
    ok(MPI_Scatterv(in, counts, at, MPI_INT, out, COUNT, MPI_INT, root, comm) == MPI_SUCCESS
       && out[COUNT - 1] == 100 * root + rank * COUNT + COUNT - 1, "scatterv from %d", root);
    reset();
    ok(MPI_Allgather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, comm) == MPI_SUCCESS && blocks_are_right(0),
       "allgather");
    reset();
    ok(MPI_Alltoall(in, COUNT, MPI_INT, out, COUNT, MPI_INT, comm) == MPI_SUCCESS
       && blocks_are_right(rank * COUNT), "alltoall");
    reset();
    ok(MPI_Alltoallv(in, counts, at, MPI_INT, out, counts, at, MPI_INT, comm) == MPI_SUCCESS
       && blocks_are_right(rank * COUNT), "alltoallv");
}

static void test_reductions(int root)
{
    int i, n = size - 1, sum = 0, below = 0, counts[16];

    for (i = 0; i < size; i++) {
        counts[i] = i + 1;
        sum += i == GAP ? 0 : 100 * i;
        below += i == GAP || i > rank ? 0 : 100 * i;
    }
    reset();
    ok(MPI_Reduce(in, out, COUNT, MPI_INT, MPI_SUM, root, comm) == MPI_SUCCESS
       && (rank != root || out[2] == sum + 2 * n), "reduce to %d", root);
    reset();
    ok(MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && out[1] == sum + n,
       "allreduce");
    reset();
    ok(MPI_Scan(in, out, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && out[0] == below, "scan");
    reset();
    ok(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS
       && out[rank] == sum + n * (rank * (rank + 1) / 2 + rank) && out[rank + 1] == -1, "reduce_scatter");
    out[0] = rank == root ? 77 : 0;
    ok(MPI_Bcast(out, 1, MPI_INT, root, comm) == MPI_SUCCESS && out[0] == 77, "bcast from %d", root);
    ok(MPI_Barrier(comm) == MPI_SUCCESS, "barrier");
}

static void test_making(void)
{
    int half = -1, n = -1;
    MPI_Comm made;

    ok(MPI_Comm_split(comm, rank % 2, -rank, &made) == MPI_SUCCESS, "split");
    MPI_Comm_rank(made, &half);
    MPI_Comm_size(made, &n);
    ok(n == (rank % 2 == 0 ? (size + 1) / 2 : size / 2 - 1) && half == (size - 1 - rank) / 2,
       "without the gap: %d of %d", half, n);
    MPI_Comm_free(&made);
    ok(MPI_Comm_dup(comm, &made) == MPI_SUCCESS && MPI_Barrier(made) == MPI_SUCCESS, "dup");
    ok(MPI_Send(in, 1, MPI_INT, GAP, 0, made) == MPI_ERR_RANK, "keeps the gap");
    MPI_Comm_free(&made);
}

int main(int argc, char **argv)
{
    int rc, tries;

    check_begin(&argc, &argv);
    rank = check_rank;
    size = check_size;
    comm = MPI_COMM_WORLD;
    if (rank == GAP)
        raise(SIGKILL);
    do
        rc = MPI_Barrier(MPI_COMM_WORLD);
    while (rc == MPI_SUCCESS);
    ok(rc == MPI_ERR_OTHER, "the failure is told");
    for (rc = MPI_ERR_OTHER, tries = 0; rc != MPI_SUCCESS && tries < 5; tries++)
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ok(rc == MPI_SUCCESS, "recovered");
    test_ranks();
    test_messages();
    test_blocks(0);
    test_blocks(size - 1);
    test_reductions(0);
    test_reductions(size - 1);
    test_making();
    comm = MPI_COMM_WORLD;
    ok(MPI_Barrier(comm) == MPI_SUCCESS, "the world is in order, too");
    if (rank > 0)
        MPI_Send(&check_failures, 1, MPI_INT, 0, 9, comm);
    for (tries = 1; rank == 0 && tries < size; tries++)
        if (tries != GAP && (MPI_Recv(&rc, 1, MPI_INT, tries, 9, comm, MPI_STATUS_IGNORE) != 0 || rc != 0))
            check_failures++;
    if (rank == 0)
        printf("%s: %d checks\n", check_failures == 0 ? "good" : "bad", check_count);
    MPI_Finalize();
    return check_failures > 0;
}
