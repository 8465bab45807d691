/* copies.c - a checkpoint in memory for jobs whose size may change. See copies.h. */
#include "copies.h"

#include <stdlib.h>
#include <string.h>

void copies_open(struct copies *c)
{
    memset(c, 0, sizeof *c);
    c->slot[0].group = c->slot[1].group = MPI_GROUP_NULL;
}

static void slot_clear(struct copies_slot *s)
{
    if (s->group != MPI_GROUP_NULL)
        MPI_Group_free(&s->group);
    free(s->rank);
    free(s->data[0]);
    free(s->data[1]);
    memset(s, 0, sizeof *s);
    s->group = MPI_GROUP_NULL;
}

void copies_close(struct copies *c)
{
    slot_clear(&c->slot[0]);
    slot_clear(&c->slot[1]);
    free(c->holder);
    memset(c, 0, sizeof *c);
}

/* Where the ranks of `of` are in comm: MPI_UNDEFINED, if they are gone. NULL: out of memory. */
static int *places(MPI_Group of, const int *ranks, int count, MPI_Comm comm)
{
    int *there = malloc((size_t)count * sizeof *there);
    MPI_Group group;

    if (there == NULL)
        return NULL;
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(of, count, ranks, group, there);
    MPI_Group_free(&group);
    return there;
}

int copies_living(MPI_Comm comm, int *ranks)
{
    int i, size, living = 0, *there;
    MPI_Group group;

    MPI_Comm_size(comm, &size);
    for (i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Comm_group(comm, &group);
    there = places(group, ranks, size, comm); /* a gap is nowhere, not even here */
    MPI_Group_free(&group);
    for (i = 0; i < size && there != NULL; i++)
        if (there[i] != MPI_UNDEFINED)
            ranks[living++] = i;
    free(there);
    return living;
}

static int slot_begin(struct copies_slot *s, const void *state, int bytes, MPI_Comm comm)
{
    int size, rank;

    slot_clear(s);
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    s->rank = malloc((size_t)size * sizeof *s->rank);
    s->data[0] = malloc((size_t)bytes + 1);
    if (s->rank == NULL || s->data[0] == NULL)
        return MPI_ERR_INTERN;
    MPI_Comm_group(comm, &s->group);
    s->blocks = copies_living(comm, s->rank);
    while (s->mine < s->blocks && s->rank[s->mine] != rank)
        s->mine++;
    memcpy(s->data[0], state, (size_t)bytes);
    s->bytes[0] = bytes;
    return s->mine < s->blocks ? MPI_SUCCESS : MPI_ERR_INTERN;
}

int copies_save(struct copies *c, const void *state, int bytes, MPI_Comm comm)
{
    struct copies_slot *s = &c->slot[1 - c->good];
    int before, after, tag, err;

    /* Whoever comes out of it knows that all have come out of the save before, and hold what it wrote. */
    err = MPI_Barrier(comm);
    if (err == MPI_SUCCESS)
        err = slot_begin(s, state, bytes, comm);
    if (err != MPI_SUCCESS)
        return err;
    before = s->rank[(s->mine + s->blocks - 1) % s->blocks];
    after = s->rank[(s->mine + 1) % s->blocks];
    tag = (int)(++c->last % 32768); /* in mode CONT the rest of an earlier save may come after a recovery */
    err = MPI_Sendrecv(&bytes, 1, MPI_INT, after, tag, &s->bytes[1], 1, MPI_INT, before, tag, comm,
                       MPI_STATUS_IGNORE);
    if (err != MPI_SUCCESS)
        return err;
    s->data[1] = malloc((size_t)s->bytes[1] + 1);
    if (s->data[1] == NULL)
        return MPI_ERR_INTERN;
    err = MPI_Sendrecv(s->data[0], bytes, MPI_BYTE, after, tag, s->data[1], s->bytes[1], MPI_BYTE,
                       before, tag, comm, MPI_STATUS_IGNORE);
    if (err != MPI_SUCCESS)
        return err;
    s->number = c->last;
    c->good = 1 - c->good;
    return MPI_SUCCESS;
}

/* ---- Finding ---------------------------------------------------------------------------------------- */

static int holds(const long numbers[3], long number)
{
    return numbers[0] == number || numbers[1] == number;
}

static int is_empty(const long numbers[3])
{
    return numbers[0] == 0 && numbers[1] == 0;
}

/* The newest checkpoint that all hold who hold any; *first is the first one who does. numbers: of each rank
 * the two that it holds, and the greatest that it knows. */
static long newest(const long (*numbers)[3], int size, int *first, long *last)
{
    long best = 0;
    int i, k, m;

    *first = size;
    for (i = size - 1; i >= 0; i--) {
        if (!is_empty(numbers[i]))
            *first = i;
        *last = numbers[i][2] > *last ? numbers[i][2] : *last;
    }
    for (k = 0; k < 2 && *first < size; k++) {
        for (m = 0; m < size; m++)
            if (!holds(numbers[m], numbers[*first][k]) && !is_empty(numbers[m]))
                break;
        if (m == size && numbers[*first][k] > best)
            best = numbers[*first][k];
    }
    return best;
}

/* Who is to give each block: its own rank, if it lives and holds it, or the next one's. 0, if one is lost. */
static int find_holders(struct copies *c, const long (*numbers)[3], MPI_Comm comm)
{
    const struct copies_slot *s = &c->slot[c->good];
    int *there = places(s->group, s->rank, s->blocks, comm);
    int b, turn, all = there != NULL;

    for (b = 0; b < s->blocks && all; b++) {
        c->holder[b] = -1;
        for (turn = 1; turn >= 0; turn--) {
            int rank = there[(b + turn) % s->blocks];
            if (rank != MPI_UNDEFINED && holds(numbers[rank], s->number))
                c->holder[b] = rank;
        }
        all = c->holder[b] >= 0;
    }
    free(there);
    return all ? s->blocks : 0;
}

/* A restarted process knows nothing of it: the first one that does tells. */
static int tell(struct copies *c, int first, MPI_Comm comm)
{
    int err = MPI_Bcast(&c->blocks, 1, MPI_INT, first, comm), *grown;

    if (err != MPI_SUCCESS || c->blocks == 0)
        return err;
    grown = realloc(c->holder, (size_t)c->blocks * sizeof *c->holder);
    if (grown == NULL)
        return MPI_ERR_INTERN;
    c->holder = grown;
    return MPI_Bcast(c->holder, c->blocks, MPI_INT, first, comm);
}

static int find(struct copies *c, const long (*numbers)[3], int size, MPI_Comm comm)
{
    int rank, first;
    long number = newest(numbers, size, &first, &c->last);

    MPI_Comm_rank(comm, &rank);
    c->blocks = 0;
    if (number == 0)
        return MPI_SUCCESS;
    if (holds(numbers[rank], number))
        c->good = c->slot[1].number == number;
    if (rank == first) {
        free(c->holder);
        c->holder = malloc((size_t)c->slot[c->good].blocks * sizeof *c->holder);
        c->blocks = c->holder != NULL ? find_holders(c, numbers, comm) : 0;
    }
    return tell(c, first, comm);
}

int copies_find(struct copies *c, MPI_Comm comm, int *found)
{
    long mine[3], (*all)[3];
    int size, err;

    *found = 0;
    MPI_Comm_size(comm, &size);
    all = calloc((size_t)size, sizeof *all); /* a gap leaves 0: it holds nothing */
    if (all == NULL)
        return MPI_ERR_INTERN;
    mine[0] = c->slot[0].number;
    mine[1] = c->slot[1].number;
    mine[2] = c->last;
    err = MPI_Allgather(mine, 3, MPI_LONG, all, 3, MPI_LONG, comm);
    if (err == MPI_SUCCESS)
        err = find(c, (const long(*)[3])all, size, comm);
    free(all);
    *found = err == MPI_SUCCESS && c->blocks > 0;
    return err;
}

const void *copies_block(const struct copies *c, int block, int *bytes)
{
    const struct copies_slot *s = &c->slot[c->good];
    int which;

    if (s->number == 0 || s->blocks != c->blocks)
        return NULL;
    which = block != s->mine;
    if (which == 1 && (block + 1) % s->blocks != s->mine)
        return NULL;
    *bytes = s->bytes[which];
    return s->data[which];
}
