/* p_checkpoint.c - the checkpoints of extras/ftmpi/examples: ranks that forget, and smaller groups. */

/* Any MPI. A rank that comes back empty is one that throws away what it has; a job that shrank is a
 * communicator of some of the ranks; a rank that dies in the middle of a save is one that did not save, or
 * that alone did. */
#include "check.h"

#include "../../extras/ftmpi/examples/copies.h"
#include "../../extras/ftmpi/examples/parity.h"

#include <string.h>

#define BYTES 1003 /* no number of words */

static int rank, size;

static void fill(unsigned char *state, int who, int when, int bytes)
{
    int i;

    for (i = 0; i < bytes; i++)
        state[i] = (unsigned char)(who * 31 + when * 7 + i * (i % 5 + who));
}

static int is(const unsigned char *state, int who, int when, int bytes)
{
    unsigned char wanted[2 * BYTES];

    fill(wanted, who, when, bytes);
    return memcmp(state, wanted, (size_t)bytes) == 0;
}

/* ---- Parity ------------------------------------------------------------------------------------------- */

static void loads(struct parity *c, int when, const char *what)
{
    unsigned char state[BYTES];
    int found = -1;

    memset(state, 0, sizeof state);
    ok(parity_load(c, state, MPI_COMM_WORLD, &found) == MPI_SUCCESS, "%s", what);
    ok(found == (when > 0), "%s", what);
    ok(!found || rank == size - 1 || is(state, rank, when, BYTES), "%s", what);
}

static void saves(struct parity *c, int when)
{
    unsigned char state[BYTES];

    fill(state, rank, when, BYTES);
    ok(parity_save(c, rank == size - 1 ? NULL : state, MPI_COMM_WORLD) == MPI_SUCCESS, "save %d", when);
}

static void forgets(struct parity *c)
{
    parity_close(c);
    ok(parity_open(c, BYTES) == 0, "a rank comes back");
}

static void parity(void)
{
    struct parity c;
    int who, when = 0;

    ok(parity_open(&c, BYTES) == 0, "parity is opened");
    loads(&c, 0, "nothing was saved");
    for (who = 0; who < size; who++) {
        saves(&c, ++when);
        saves(&c, ++when);
        if (rank == who)
            forgets(&c);
        loads(&c, when, "one rank has lost it");
        loads(&c, when, "all have it again");
        if (rank == (who + 1) % size)
            forgets(&c);
        loads(&c, size > 1 ? when : 0, "then another one");
    }
    /* One rank is a save ahead: all go back to what it has kept. */
    saves(&c, ++when);
    saves(&c, ++when);
    if (rank == size - 1 && size > 1)
        c.slot[c.good].number = 0;
    if (rank == 0 && size > 2)
        forgets(&c);
    loads(&c, size > 1 ? when - 1 : when, "the last save was not finished");
    saves(&c, ++when);
    loads(&c, when, "and is made again");
    if (rank < 2)
        forgets(&c);
    loads(&c, 0, "two ranks have lost it");
    saves(&c, ++when);
    if (rank == 1)
        forgets(&c);
    loads(&c, when, "a fresh start has other numbers");
    parity_close(&c);
    ok(parity_open(&c, 0) == -1, "nothing cannot be saved");
}

/* ---- Neighbours' copies ------------------------------------------------------------------------------- */

static int bytes_of(int block)
{
    return BYTES + block * 10;
}

static void keeps(struct copies *c, MPI_Comm comm, int block, int when)
{
    unsigned char state[2 * BYTES];

    fill(state, block, when, bytes_of(block));
    ok(copies_save(c, state, bytes_of(block), comm) == MPI_SUCCESS, "save %d", when);
}

/* Each block is there, by whoever is said to hold it; when 0: one is lost. */
static void finds(struct copies *c, MPI_Comm comm, int blocks, int when, const char *what)
{
    int found = -1, b, me, bytes;

    MPI_Comm_rank(comm, &me);
    ok(copies_find(c, comm, &found) == MPI_SUCCESS, "%s", what);
    ok(found == (when > 0), "%s", what);
    if (!found)
        return;
    ok(c->blocks == blocks, "%s", what);
    for (b = 0; b < c->blocks; b++)
        if (c->holder[b] == me) {
            const void *data = copies_block(c, b, &bytes);
            ok(data != NULL && bytes == bytes_of(b) && is(data, b, when, bytes), "%s", what);
        }
}

/* All but the ranks from first to last; MPI_COMM_NULL for these. */
static MPI_Comm without(int first, int last)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, rank >= first && rank <= last ? MPI_UNDEFINED : 0, rank, &comm);
    return comm;
}

/* The first `of` ranks in another order and with a newcomer, as after REBUILD_END. */
static void newcomer(struct copies *c, int when)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, rank == 0 ? size : rank, &comm);
    if (rank == 0) {
        copies_close(c);
        copies_open(c);
    }
    finds(c, comm, size, size > 1 ? when : 0, "a newcomer is told");
    MPI_Comm_free(&comm);
}

static void copies(void)
{
    struct copies c;
    MPI_Comm some;
    int who;

    copies_open(&c);
    finds(&c, MPI_COMM_WORLD, 0, 0, "nothing was saved");
    for (who = 0; who < size && size > 1; who++) {
        keeps(&c, MPI_COMM_WORLD, rank, 2 * who + 1);
        keeps(&c, MPI_COMM_WORLD, rank, 2 * who + 2);
        finds(&c, MPI_COMM_WORLD, size, 2 * who + 2, "all are there");
        if (rank == who) /* died before its save was over */
            c.slot[c.good].number = 0;
        finds(&c, MPI_COMM_WORLD, size, 2 * who + 1, "the one before is found");
        some = without(who, who);
        if (some != MPI_COMM_NULL) {
            finds(&c, some, size, 2 * who + 2, "a neighbour has it");
            MPI_Comm_free(&some);
        }
        if (size > 3) {
            some = without(who > 0 ? who - 1 : 0, who > 0 ? who : 1);
            if (some != MPI_COMM_NULL) {
                finds(&c, some, size, 0, "two neighbours are lost");
                MPI_Comm_free(&some);
            }
        }
        copies_close(&c);
        copies_open(&c);
    }
    keeps(&c, MPI_COMM_WORLD, rank, 99);
    newcomer(&c, 99);
    copies_close(&c);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    rank = check_rank;
    size = check_size;
    if (size > 1)
        parity();
    copies();
    return check_end("checkpoints in memory");
}
