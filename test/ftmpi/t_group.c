/* t_group.c - groups and topologies beside naive models. */

#include "test.h"

#include "engine.h"
#include "group.h"
#include "mpi.h"
#include "topo.h"

#define WORLD 24
#define ROUNDS 3000

static unsigned long seed = 7;

static int draw(int below)
{
    seed = (seed * 6364136223846793005ul + 1442695040888963407ul) & 0xfffffffffffffffful;
    return (int)((seed >> 33) % (unsigned)below);
}

static void engine_begin(struct ftm *e, struct test_heap *heap, struct phx_alloc *alloc)
{
    memset(e, 0, sizeof *e);
    memset(heap, 0, sizeof *heap);
    alloc->alloc = test_alloc;
    alloc->world = heap;
    e->mem.alloc = alloc;
    e->config.size = WORLD;
    e->config.rank = e->self_proc = 5;
}

/* The model of a group is the list itself. */
struct list {
    int n, proc[WORLD];
};

static int find(const struct list *l, int proc)
{
    int i;

    for (i = 0; i < l->n; i++)
        if (l->proc[i] == proc && proc != FTM_GAP)
            return i;
    return MPI_UNDEFINED;
}

/* Processes in a random order; sometimes just some that follow one another. In half of them are gaps. */
static struct list draw_list(void)
{
    struct list l = { 0, { 0 } };
    int i, n = draw(WORLD + 1), first = draw(WORLD), run = draw(3) == 0, gaps = draw(2);

    for (i = 0; i < n; i++) {
        int proc = run ? first + i : draw(WORLD);

        if (proc < WORLD && find(&l, proc) == MPI_UNDEFINED)
            l.proc[l.n++] = gaps && draw(4) == 0 ? FTM_GAP : proc;
    }
    return l;
}

static int same(const struct ftm_group *g, const struct list *l)
{
    int i, good = g != NULL && g->size == l->n && g->rank == find(l, 5);

    for (i = 0; good && i < l->n; i++)
        good = g->proc[i] == l->proc[i];
    for (i = -4; good && i < WORLD + 2; i++)
        good = ftm_group_rank_of(g, i) == find(l, i);
    return good;
}

static int model_compare(const struct list *a, const struct list *b)
{
    int i, same_order = 1, gaps = 0;

    for (i = 0; i < a->n; i++)
        gaps += a->proc[i] == FTM_GAP;
    for (i = 0; i < b->n; i++)
        gaps -= b->proc[i] == FTM_GAP;
    if (a->n != b->n || gaps != 0)
        return MPI_UNEQUAL;
    for (i = 0; i < a->n; i++) {
        if (a->proc[i] != FTM_GAP && find(b, a->proc[i]) == MPI_UNDEFINED)
            return MPI_UNEQUAL;
        same_order = same_order && b->proc[i] == a->proc[i];
    }
    return same_order ? MPI_IDENT : MPI_SIMILAR;
}

/* Those of a who are in b (1), or who are not (0), or all (2); and then the rest of b, if `rest`. */
static struct list model_combine(const struct list *a, const struct list *b, int which, int rest)
{
    struct list l = { 0, { 0 } };
    int i;

    for (i = 0; i < a->n; i++)
        if (a->proc[i] != FTM_GAP && (which == 2 || (find(b, a->proc[i]) != MPI_UNDEFINED) == which))
            l.proc[l.n++] = a->proc[i];
    for (i = 0; rest && i < b->n; i++)
        if (b->proc[i] != FTM_GAP && find(a, b->proc[i]) == MPI_UNDEFINED)
            l.proc[l.n++] = b->proc[i];
    return l;
}

static int try_pair(struct ftm *e)
{
    struct list a = draw_list(), b = draw(4) ? draw_list() : a, want;
    struct ftm_group *g = ftm_group_new(e, a.proc, a.n), *h = ftm_group_new(e, b.proc, b.n), *r = NULL;
    int good = same(g, &a) && same(h, &b) && ftm_group_compare(g, h) == model_compare(&a, &b);

    want = model_combine(&a, &b, 2, 1);
    good = good && ftm_group_union(e, g, h, &r) == 0 && same(r, &want);
    ftm_group_drop(e, r);
    want = model_combine(&a, &b, 1, 0);
    good = good && ftm_group_intersection(e, g, h, &r) == 0 && same(r, &want);
    ftm_group_drop(e, r);
    want = model_combine(&a, &b, 0, 0);
    good = good && ftm_group_difference(e, g, h, &r) == 0 && same(r, &want);
    ftm_group_drop(e, r);
    ftm_group_drop(e, g);
    ftm_group_drop(e, h);
    return good;
}

/* The ranks that triples name, one after the other; -1: one of them does not exist or comes twice. */
static int model_ranges(const struct list *l, int n, int ranges[][3], int *ranks)
{
    int i, k, r, count = 0;

    for (i = 0; i < n; i++) {
        if (ranges[i][2] == 0 || (ranges[i][1] - ranges[i][0]) * ranges[i][2] < 0)
            return -1;
        for (r = ranges[i][0]; ranges[i][2] > 0 ? r <= ranges[i][1] : r >= ranges[i][1]; r += ranges[i][2]) {
            if (r < 0 || r >= l->n || count == WORLD)
                return -1;
            for (k = 0; k < count; k++)
                if (ranks[k] == r)
                    return -1;
            ranks[count++] = r;
        }
    }
    return count;
}

/* Those whose ranks are not named, gaps too. */
static struct list model_excl(const struct list *a, int count, const int *ranks)
{
    struct list l = { 0, { 0 } };
    int i, k;

    for (i = 0; i < a->n; i++) {
        for (k = 0; k < count && ranks[k] != i; k++)
            ;
        if (k == count)
            l.proc[l.n++] = a->proc[i];
    }
    return l;
}

static int try_ranges(struct ftm *e)
{
    struct list a = draw_list(), want = { 0, { 0 } };
    struct ftm_group *g = ftm_group_new(e, a.proc, a.n), *r = NULL;
    int ranges[3][3], n = draw(4), i, ranks[WORLD], *got = NULL, count = 0, expected, rc, good, gaps = 0;

    for (i = 0; i < n; i++) {
        ranges[i][0] = draw(WORLD + 1);
        ranges[i][1] = draw(WORLD + 1);
        ranges[i][2] = draw(9) - 4;
    }
    expected = model_ranges(&a, n, ranges, ranks);
    rc = ftm_group_ranges(e, g, n, ranges, &got, &count);
    if (rc == 0)
        rc = ftm_group_incl(e, g, count, got, &r);
    for (i = 0; i < expected; i++) {
        want.proc[want.n++] = a.proc[ranks[i]];
        gaps += a.proc[ranks[i]] == FTM_GAP;
    }
    good = (rc == 0) == (expected >= 0 && gaps == 0) && (gaps == 0 || rc == MPI_ERR_RANK);
    if (good && rc == 0)
        good = same(r, &want);
    ftm_group_drop(e, r);
    r = NULL;
    if (good && expected >= 0) {
        good = ftm_group_excl(e, g, count, got, &r) == 0;
        want = model_excl(&a, expected, ranks);
        good = good && same(r, &want);
    }
    ftm_group_drop(e, r);
    ftm_group_ranks_free(e, got, count);
    ftm_group_drop(e, g);
    return good;
}

static void test_groups(void)
{
    /* Goal: groups are what their definitions say. Method: random ones, as lists. */
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    int i, pairs = 0, ranges = 0;

    engine_begin(&e, &heap, &alloc);
    for (i = 0; i < ROUNDS; i++) {
        pairs += !try_pair(&e);
        ranges += !try_ranges(&e);
    }
    ok(pairs == 0, "%d pairs of groups, %d wrong", ROUNDS, pairs);
    ok(ranges == 0, "%d lists of ranges, %d wrong", ROUNDS, ranges);
    ok(test_heap_is_clean(&heap), "no memory is left");
}

/* A grid written out: the coordinates of each rank. */
static int try_grid(struct ftm *e)
{
    int n = draw(5), dims[4], periods[4], at[4], other[4], nodes, rank, i, d, disp, from, to, good = 1;
    struct ftm_topo *t;

    for (i = 0; i < n; i++) {
        dims[i] = 1 + draw(4);
        periods[i] = draw(2);
    }
    if (ftm_topo_cart(e, n, dims, periods, &t, &nodes) != 0)
        return 0;
    memset(at, 0, sizeof at);
    for (rank = 0; rank < nodes; rank++) {
        ftm_topo_coords(t, rank, other);
        good = good && (n == 0 || memcmp(at, other, (size_t)n * sizeof *at) == 0) &&
            ftm_topo_rank(t, at) == rank;
        for (d = 0; good && d < n; d++) {
            disp = draw(21) - 10;
            ftm_topo_shift(t, rank, d, disp, &from, &to);
            memcpy(other, at, sizeof at);
            other[d] = at[d] + disp;
            i = ftm_topo_rank(t, other);
            good = (i < 0 ? MPI_PROC_NULL : i) == to;
            other[d] = at[d] - disp;
            i = ftm_topo_rank(t, other);
            good = good && (i < 0 ? MPI_PROC_NULL : i) == from;
        }
        for (i = n - 1; i >= 0 && ++at[i] == dims[i]; i--)
            at[i] = 0;
    }
    ftm_topo_drop(e, t);
    return good;
}

static void test_grids(void)
{
    struct ftm e;
    struct test_heap heap;
    struct phx_alloc alloc;
    int i, wrong = 0, nodes, far[3] = { 46341, 46341, 1 }, round[3] = { 0, 0, 0 }, dims[3] = { 0, 0, 0 };
    struct ftm_topo *t = NULL;

    engine_begin(&e, &heap, &alloc);
    for (i = 0; i < ROUNDS; i++)
        wrong += !try_grid(&e);
    ok(wrong == 0, "%d grids, %d wrong", ROUNDS, wrong);
    ok(ftm_topo_cart(&e, 3, far, round, &t, &nodes) == MPI_ERR_TOPOLOGY && t == NULL,
       "more nodes than an int holds");
    ok(ftm_topo_dims(&e, 2147483647, 3, dims) == 0 && dims[0] == 2147483647 && dims[2] == 1, "a large prime");
    memset(dims, 0, sizeof dims);
    check(ftm_topo_dims(&e, 1102701600, 3, dims) == 0, "the int with most divisors");
    nodes = dims[0] * dims[1] * dims[2];
    ok(nodes == 1102701600 && dims[0] == 1071 && dims[1] == 1040, "1,440 divisors: %d %d %d", dims[0],
       dims[1],
       dims[2]);
    ok(test_heap_is_clean(&heap), "no memory is left");
}

int main(void)
{
    test_groups();
    test_grids();
    return test_end();
}
