/* p_recover.c - recovery by calls of MPI: run by recover.sh in each mode; each process prints its lines. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, bad;

static void expect(int good, const char *what)
{
    if (!good) {
        printf("seat %s: not so: %s\n", getenv("FTMPI_RANK"), what);
        bad++;
    }
}

/* Calls until somebody's death is told. */
static void until_told(MPI_Comm comm)
{
    int i, rc = MPI_SUCCESS;

    for (i = 0; i < 100000 && rc == MPI_SUCCESS; i++)
        rc = MPI_Barrier(comm);
    expect(rc == MPI_ERR_OTHER, "a barrier with the dead is MPI_ERR_OTHER");
}

static int state_of(MPI_Comm comm)
{
    int *state, found = 0;

    MPI_Attr_get(comm, FTMPI_COMM_STATE, &state, &found);
    return found ? *state : -1;
}

static void check_world(const char *mode, int before, int victims)
{
    int sum = 0, one = 1, now, rc;

    MPI_Comm_size(MPI_COMM_WORLD, &now);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect(now == (strcmp(mode, "shrink") == 0 ? before - victims : before), "the size that the mode gives");
    rc = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(rc == MPI_SUCCESS, "the world works");
    expect(sum == (strncmp(mode, "rebuild", 7) == 0 ? before : before - victims), "all that live are in it");
    expect(state_of(MPI_COMM_WORLD) == FT_OK, "the world is FT_OK");
}

static int copied;

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

/* A communicator that is not the world: its successor has a handle of its own, the old one is of no use. */
static void check_duplicate(MPI_Comm dup, int key)
{
    MPI_Comm now = MPI_COMM_NULL, other = MPI_COMM_NULL;
    int sum = 0, one = 1, rc = MPI_Comm_dup(dup, &now);

    if (rc == MPI_ERR_OTHER) /* not told of it on any communicator yet: it is now */
        rc = MPI_Comm_dup(dup, &now);
    expect(rc == MPI_SUCCESS && now != dup, "a duplicate is recovered");
    expect(copied == 1, "its attributes are copied by their functions");
    expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, now) == MPI_SUCCESS, "its successor works");
    expect(state_of(dup) == FT_FAILED, "the old one is FT_FAILED");
    expect(MPI_Comm_dup(dup, &other) == MPI_ERR_COMM, "what has a successor cannot be recovered again");
    expect(MPI_Barrier(dup) == MPI_ERR_COMM, "nor used");
    expect(MPI_Comm_free(&dup) == MPI_SUCCESS, "but freed");
    MPI_Comm_free(&now);
    MPI_Keyval_free(&key);
}

/* In REBUILD a part of the world is not recovered, and a duplicate is the world. */
static void check_rebuild(MPI_Comm half, MPI_Comm dup, const char *mode)
{
    MPI_Comm now = MPI_COMM_NULL;
    int rc, result = -1;

    rc = half != MPI_COMM_NULL ? MPI_Comm_dup(half, &now) : MPI_ERR_COMM;
    if (rc == MPI_ERR_OTHER)
        rc = MPI_Comm_dup(half, &now);
    expect(rc == MPI_ERR_COMM, "a part of the world is MPI_ERR_COMM");
    rc = MPI_Comm_dup(dup, &now);
    if (rc == MPI_ERR_OTHER)
        rc = MPI_Comm_dup(dup, &now);
    if (strcmp(mode, "rebuild") == 0) {
        expect(rc == MPI_SUCCESS, "a duplicate follows the world");
        expect(MPI_Comm_compare(now, MPI_COMM_WORLD, &result) == MPI_SUCCESS && result == MPI_IDENT,
               "and is the world");
    }
}

/* By dup, split or create: what the other two do after the recovery is what they always do. */
static void recover(const char *how)
{
    MPI_Comm now = MPI_COMM_NULL, world = MPI_COMM_WORLD;
    MPI_Group group;
    int rc, n, r;

    if (strcmp(how, "split") == 0) {
        rc = MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &now);
        expect(rc == MPI_SUCCESS, "a split that recovers");
    } else if (strcmp(how, "create") == 0) {
        MPI_Comm_group(MPI_COMM_SELF, &group);
        rc = MPI_Comm_create(MPI_COMM_WORLD, group, &now);
        expect(rc == MPI_SUCCESS, "a create that recovers");
        MPI_Group_free(&group);
    } else {
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &now);
        expect(rc == MPI_SUCCESS, "a dup that recovers");
        expect(MPI_Comm_free(&world) == MPI_SUCCESS && world == MPI_COMM_NULL,
               "the world's variable is freed");
        MPI_Comm_size(now, &n);
        MPI_Comm_rank(now, &r);
        expect(r >= 0 && r < n, "the duplicate has ranks");
    }
    if (strcmp(how, "dup") != 0 && now != MPI_COMM_NULL && now != MPI_COMM_WORLD)
        MPI_Comm_free(&now);
}

int main(int argc, char **argv)
{
    int rc = MPI_Init(&argc, &argv), victims = argc > 3 ? atoi(argv[3]) : 1, before, key, restarted, found;
    MPI_Comm dup = MPI_COMM_NULL, half = MPI_COMM_NULL, world = MPI_COMM_WORLD;
    const char *mode = argv[1], *how = argv[2];

    restarted = rc == MPI_INIT_RESTARTED_NODE;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    before = size;
    if (!restarted) {
        expect(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS, "a dup before anybody dies");
        expect(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, 0, &half) == MPI_SUCCESS, "and a split");
        MPI_Keyval_create(on_copy, MPI_NULL_DELETE_FN, &key, NULL);
        MPI_Attr_put(dup, key, &rank);
        MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Errhandler_set(dup, MPI_ERRORS_RETURN);
        MPI_Errhandler_set(half, MPI_ERRORS_RETURN);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank >= 1 && rank < 1 + victims)
            raise(SIGKILL);
        until_told(MPI_COMM_WORLD);
        for (rc = 0; rc < victims;) { /* the recovery shall find all of them */
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Attr_get(MPI_COMM_WORLD, FT_MPI_LIST_NUM_FAILED, &rc, &found);
        }
        recover(how);
    } else if (strcmp(how, "split") == 0) { /* it makes the same call as the others */
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half);
    } else if (strcmp(how, "create") == 0) {
        MPI_Group self;

        MPI_Comm_group(MPI_COMM_SELF, &self);
        MPI_Comm_create(MPI_COMM_WORLD, self, &half);
        MPI_Group_free(&self);
    }
    check_world(mode, before, victims);
    if (!restarted && strncmp(mode, "rebuild", 7) == 0)
        check_rebuild(rank == 0 ? half : MPI_COMM_NULL, dup, mode);
    else if (!restarted)
        check_duplicate(dup, key);
    world = MPI_COMM_WORLD;
    expect(MPI_Comm_free(&world) == MPI_SUCCESS, "the recovered world can be let go");
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%s\n", bad == 0 ? "all is well" : "bad");
    MPI_Finalize();
    return bad != 0;
}
