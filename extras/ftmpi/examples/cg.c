/* cg.c - conjugate gradients that lose processes and end right, with the bits of a run that lost none. */

/*
 *      make ftmpi
 *      PATH=$PWD/build/ftmpi:$PATH
 *      cd extras/ftmpi/examples && ftmpicc -O2 -o cg cg.c parity.c copies.c -lm
 *      ftmpirun -n 8 --ft rebuild ./cg        and, from elsewhere, kill -9 any of the eight
 *
 *      usage: cg [-n CELLS] [-k EVERY] [-p] [-e]
 *
 * Solves A x = b, A being the 5-point Laplacian on a square of CELLS x CELLS cells (160). Ranks own rows of
 * cells. It is written against mpi.h alone; with mpicc of another MPI it is a solver without recovery.
 *
 * What a row needs is three vectors, x, r and p, which stand beside each other, so that a block of rows is
 * one piece of memory: a checkpoint is a copy of it, and handing rows over is sending them. A checkpoint is
 * taken every EVERY (20) iterations and lies in memory, not on a disk. The mode of MPI_COMM_WORLD (ftmpirun
 * --ft) says how:
 *
 *      rebuild         parity.h: the last rank computes nothing and holds the exclusive-or of all others
 *      blank, shrink   copies.h: the neighbour has a copy, and the others take over the rows
 *
 * Same bits: the sum over a row is made by its owner, and MPI_Allreduce adds up vectors with one element
 * per row of which all but one rank's are 0. So nothing is rounded there, and each rank adds the rows' sums
 * in the rows' order: no result depends on who owns which row, nor on the shape of the reduction's tree.
 *
 * Each function that communicates returns an MPI error code, and so does main()'s loop: load, solve, check;
 * when that ends with MPI_ERR_OTHER, MPI_Comm_dup repairs the communicator and it is done again. The last
 * call of the loop is an MPI_Comm_dup without need: it ends alike at all ranks, so nobody goes home while
 * another one goes back.
 *
 * -p: parity in any mode, for other MPIs. -e: each rank says what happens to it, one line each, for those
 * who watch: "@ SECONDS RANK LIFE PID WORD NUMBER"; the rank is the one it was started as. */
#define _POSIX_C_SOURCE 200809L
#include "copies.h"
#include "parity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEAD 2        /* numbers before the rows: iteration and rho */
#define MOST 100000   /* iterations */
#define ENOUGH 1e-10  /* of the first residual */

struct cg {
    MPI_Comm comm;
    int n, every, events;
    int seat, rank, size;  /* seat: the first rank, and that of whom we replace */
    int blocks, mine;      /* mine: -1 for the rank that has the parity and no rows */
    int *owner;            /* the rank of each block */
    int first, rows;       /* of ours */
    double *state;         /* HEAD numbers; then for each row x, r, p of n cells each */
    double *q, *up, *down; /* A p; the rows of p beside ours */
    double *part, *all;    /* one per row, see above */
    double norm;           /* of b */
    int use_parity;
    struct parity parity;
    struct copies copies;
};

static const char usage[] = "usage: cg [-n CELLS] [-k EVERY] [-p] [-e]\n";

/* ---- What is said ------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);

    return value != NULL ? value : "0";
}

static void say(const struct cg *s, const char *word, long number)
{
    if (!s->events)
        return;
    printf("@ %.6f %d %s %ld %s %ld\n", now(), s->seat, setting("FTMPI_LIFE"), (long)getpid(), word, number);
    fflush(stdout);
}

static long iteration(const struct cg *s)
{
    return s->state != NULL ? (long)s->state[0] : 0;
}

/* ---- Rows --------------------------------------------------------------------------------------------- */

/* How many of n rows the i-th of p blocks has, and which is its first one. */
static int share(int n, int p, int i, int *first)
{
    *first = n / p * i + (i < n % p ? i : n % p);
    return n / p + (i < n % p);
}

static double *row_x(const struct cg *s, int i)
{
    return s->state + HEAD + (size_t)i * 3 * (size_t)s->n;
}

static double *row_r(const struct cg *s, int i)
{
    return row_x(s, i) + s->n;
}

static double *row_p(const struct cg *s, int i)
{
    return row_x(s, i) + 2 * s->n;
}

/* The right side: something without symmetry. */
static double b_at(int i, int j)
{
    return 1.0 + (double)((i * 7 + j * 13 + i * j % 5) % 11) / 11.0;
}

static size_t state_size(const struct cg *s, int rows)
{
    return (HEAD + (size_t)rows * 3 * (size_t)s->n) * sizeof(double);
}

static double *numbers(double *old, size_t count)
{
    double *d;

    free(old);
    d = calloc(count, sizeof *d);
    if (d == NULL) {
        fprintf(stderr, "cg: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return d;
}

/* Who owns what now: all living ranks share the rows; with parity, all but the last one. */
static void deal(struct cg *s)
{
    int first, most;

    MPI_Comm_rank(s->comm, &s->rank);
    MPI_Comm_size(s->comm, &s->size);
    free(s->owner);
    s->owner = malloc((size_t)s->size * sizeof *s->owner);
    s->blocks = s->owner != NULL ? copies_living(s->comm, s->owner) - s->use_parity : 0;
    if (s->blocks < 1 || s->blocks > s->n) {
        fprintf(stderr, "cg: %d cells cannot be shared by %d ranks\n", s->n, s->size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (s->mine = 0; s->mine < s->blocks && s->owner[s->mine] != s->rank;)
        s->mine++;
    s->rows = s->first = 0;
    if (s->mine == s->blocks)
        s->mine = -1;
    else
        s->rows = share(s->n, s->blocks, s->mine, &s->first);
    most = share(s->n, s->blocks, 0, &first);
    s->state = numbers(s->state, state_size(s, most) / sizeof(double));
    s->q = numbers(s->q, (size_t)most * (size_t)s->n);
    s->part = numbers(s->part, (size_t)s->n);
    s->up = numbers(s->up, (size_t)s->n); /* 0 at the edge, where nobody sends any */
    s->down = numbers(s->down, (size_t)s->n);
}

/* ---- The method --------------------------------------------------------------------------------------- */

/* The sum over all rows of what their owners have put into part[]. */
static int sum(struct cg *s, double *out)
{
    int i, err = MPI_Allreduce(s->part, s->all, s->n, MPI_DOUBLE, MPI_SUM, s->comm);

    *out = 0.0;
    for (i = 0; i < s->n && err == MPI_SUCCESS; i++)
        *out += s->all[i];
    return err;
}

static double dot(const double *a, const double *b, int n)
{
    double d = 0.0;
    int j;

    for (j = 0; j < n; j++)
        d += a[j] * b[j];
    return d;
}

/* The rows above and below ours, of the vector whose row i is at(s, i); 0 outside of the square. In message
 * mode CONT a row that was sent before a recovery may come after it: the tag says which row it is and of
 * which iteration, and such a row always has the same bits. */
static int exchange(struct cg *s, double *(*at)(const struct cg *, int))
{
    int above = s->mine > 0 ? s->owner[s->mine - 1] : MPI_PROC_NULL;
    int below = s->mine >= 0 && s->mine + 1 < s->blocks ? s->owner[s->mine + 1] : MPI_PROC_NULL;
    int top = (int)iteration(s) * s->n + s->first, bottom = top + s->rows, err; /* tags of rows */

    if (s->mine < 0)
        return MPI_SUCCESS;
    err = MPI_Sendrecv(at(s, 0), s->n, MPI_DOUBLE, above, top, s->down, s->n, MPI_DOUBLE, below, bottom,
                       s->comm, MPI_STATUS_IGNORE);
    if (err != MPI_SUCCESS)
        return err;
    return MPI_Sendrecv(at(s, s->rows - 1), s->n, MPI_DOUBLE, below, bottom - 1, s->up, s->n, MPI_DOUBLE,
                        above, top - 1, s->comm, MPI_STATUS_IGNORE);
}

/* q = A v, for our rows, of which the neighbours are in up[] and down[]. */
static void multiply(struct cg *s, double *(*at)(const struct cg *, int))
{
    int i, j, n = s->n;

    for (i = 0; i < s->rows; i++) {
        const double *v = at(s, i);
        const double *a = i > 0 ? at(s, i - 1) : s->up, *b = i + 1 < s->rows ? at(s, i + 1) : s->down;
        double *q = s->q + (size_t)i * (size_t)n;
        for (j = 0; j < n; j++)
            q[j] = 4.0 * v[j] - (j > 0 ? v[j - 1] : 0.0) - (j + 1 < n ? v[j + 1] : 0.0) - a[j] - b[j];
    }
}

static int iterate(struct cg *s)
{
    double pq = 0.0, rho = 0.0, alpha, beta;
    int i, j, err = exchange(s, row_p);

    if (err != MPI_SUCCESS)
        return err;
    multiply(s, row_p);
    for (i = 0; i < s->rows; i++)
        s->part[s->first + i] = dot(row_p(s, i), s->q + (size_t)i * (size_t)s->n, s->n);
    err = sum(s, &pq);
    if (err != MPI_SUCCESS)
        return err;
    alpha = s->state[1] / pq;
    for (i = 0; i < s->rows; i++) {
        double *x = row_x(s, i), *r = row_r(s, i), *p = row_p(s, i), *q = s->q + (size_t)i * (size_t)s->n;
        for (j = 0; j < s->n; j++) {
            x[j] += alpha * p[j];
            r[j] -= alpha * q[j];
        }
        s->part[s->first + i] = dot(r, r, s->n);
    }
    err = sum(s, &rho);
    if (err != MPI_SUCCESS)
        return err;
    beta = rho / s->state[1];
    for (i = 0; i < s->rows; i++) {
        double *r = row_r(s, i), *p = row_p(s, i);
        for (j = 0; j < s->n; j++)
            p[j] = r[j] + beta * p[j];
    }
    s->state[0] += 1.0;
    s->state[1] = rho;
    return MPI_SUCCESS;
}

/* x = 0, so that r = p = b. */
static void begin(struct cg *s)
{
    int i, j;

    s->state[0] = 0.0;
    s->state[1] = s->norm * s->norm;
    for (i = 0; i < s->rows; i++)
        for (j = 0; j < s->n; j++) {
            row_x(s, i)[j] = 0.0;
            row_r(s, i)[j] = row_p(s, i)[j] = b_at(s->first + i, j);
        }
}

static double norm_of_b(const struct cg *s)
{
    double d = 0.0, row;
    int i, j;

    for (i = 0; i < s->n; i++) {
        for (j = 0, row = 0.0; j < s->n; j++)
            row += b_at(i, j) * b_at(i, j);
        d += row;
    }
    return sqrt(d);
}

/* ---- Checkpoints -------------------------------------------------------------------------------------- */

static int save(struct cg *s)
{
    if (s->use_parity)
        return parity_save(&s->parity, s->mine >= 0 ? s->state : NULL, s->comm);
    return copies_save(&s->copies, s->state, (int)state_size(s, s->rows), s->comm);
}

/* Rows that two blocks of different divisions have in common: how many, and the first of them. */
static int overlap(int n, int p, int i, int blocks, int b, int *from)
{
    int first, second, rows = share(n, p, i, &first), others = share(n, blocks, b, &second), end;

    end = first + rows < second + others ? first + rows : second + others;
    *from = first > second ? first : second;
    return end > *from ? end - *from : 0;
}

/* Whether the rank that holds block b gives another one before it: each gives one per turn. */
static int is_second(const struct copies *c, int b)
{
    return (b > 0 && c->holder[b] == c->holder[b - 1])
        || (b > 1 && b == c->blocks - 1 && c->holder[b] == c->holder[0]);
}

/* An MPI_Alltoallv of numbers: counts and places, of what goes out and of what comes in. */
struct moves {
    int *given, *given_at, *got, *got_at;
};

/* Adds what we give of block b to its new owners, and what we get of it from whoever holds it. */
static void plan(struct cg *s, int b, struct moves *m)
{
    int width = 3 * s->n, blocks = s->copies.blocks, holder = s->copies.holder[b], o, from, rows, first;

    share(s->n, blocks, b, &first);
    for (o = 0; o < s->blocks && holder == s->rank; o++) {
        rows = overlap(s->n, s->blocks, o, blocks, b, &from);
        m->given[s->owner[o]] = rows * width;
        m->given_at[s->owner[o]] = rows > 0 ? HEAD + (from - first) * width : 0;
    }
    rows = overlap(s->n, s->blocks, s->mine, blocks, b, &from);
    m->got[holder] = rows * width;
    m->got_at[holder] = rows > 0 ? HEAD + (from - s->first) * width : 0;
}

static int move(struct cg *s, struct moves *m)
{
    int b, turn, bytes, err = MPI_SUCCESS;
    const void *data;

    for (turn = 0; turn < 2 && err == MPI_SUCCESS; turn++) {
        memset(m->given, 0, 4 * (size_t)s->size * sizeof *m->given);
        data = NULL;
        for (b = 0; b < s->copies.blocks; b++)
            if (is_second(&s->copies, b) == turn) {
                plan(s, b, m);
                if (s->copies.holder[b] == s->rank)
                    data = copies_block(&s->copies, b, &bytes);
            }
        err = MPI_Alltoallv(data != NULL ? data : s->q, m->given, m->given_at, MPI_DOUBLE, s->state, m->got,
                            m->got_at, MPI_DOUBLE, s->comm);
    }
    return err;
}

/* The rows of the checkpoint that was found go to those who own them now; iteration and rho go to all. */
static int take_over(struct cg *s)
{
    int root = s->copies.holder[0], bytes, err;
    struct moves m;

    if (root == s->rank)
        memcpy(s->state, copies_block(&s->copies, 0, &bytes), HEAD * sizeof *s->state);
    err = MPI_Bcast(s->state, HEAD, MPI_DOUBLE, root, s->comm);
    if (err != MPI_SUCCESS)
        return err;
    m.given = calloc(4 * (size_t)s->size, sizeof *m.given);
    if (m.given == NULL)
        return MPI_ERR_INTERN;
    m.given_at = m.given + s->size;
    m.got = m.given_at + s->size;
    m.got_at = m.got + s->size;
    err = move(s, &m);
    free(m.given);
    return err;
}

/* Where we go on: at the newest checkpoint that all have, or at the beginning. */
static int load(struct cg *s)
{
    int found = 0, err;

    if (s->use_parity) {
        err = parity_load(&s->parity, s->state, s->comm, &found);
    } else {
        err = copies_find(&s->copies, s->comm, &found);
        if (err == MPI_SUCCESS && found)
            err = take_over(s);
    }
    if (err != MPI_SUCCESS)
        return err;
    if (!found)
        begin(s);
    /* The rank with the parity has no rows, but it must know where the others are. */
    err = MPI_Bcast(s->state, HEAD, MPI_DOUBLE, s->owner[0], s->comm);
    if (err == MPI_SUCCESS)
        say(s, found ? "restored" : "began", iteration(s));
    return err;
}

/* ---- All of it ---------------------------------------------------------------------------------------- */

static int solve(struct cg *s)
{
    int err;

    while (s->state[1] > ENOUGH * ENOUGH * s->norm * s->norm && s->state[0] < MOST) {
        if (iteration(s) % s->every == 0) {
            err = save(s);
            if (err != MPI_SUCCESS)
                return err;
        }
        if (s->mine == 0)
            say(s, "iteration", iteration(s));
        err = iterate(s);
        if (err != MPI_SUCCESS)
            return err;
    }
    return MPI_SUCCESS;
}

/* |b - A x| / |b|, for which x is all that is needed. */
static int residual(struct cg *s, double *out)
{
    double d, left = 0.0;
    int i, j, err = exchange(s, row_x);

    if (err != MPI_SUCCESS)
        return err;
    multiply(s, row_x);
    for (i = 0; i < s->rows; i++)
        for (j = 0, s->part[s->first + i] = 0.0; j < s->n; j++) {
            d = b_at(s->first + i, j) - s->q[(size_t)i * (size_t)s->n + (size_t)j];
            s->part[s->first + i] += d * d;
        }
    err = sum(s, &left);
    *out = sqrt(left) / s->norm;
    return err;
}

/* A number that differs, if a bit of x does. */
static int fingerprint(struct cg *s, unsigned long *out)
{
    unsigned long mine = 0, h;
    const unsigned char *x;
    size_t k;
    int i;

    for (i = 0; i < s->rows; i++) {
        x = (const unsigned char *)row_x(s, i);
        h = 2166136261u + (unsigned long)(s->first + i);
        for (k = 0; k < (size_t)s->n * sizeof(double); k++)
            h = (h ^ x[k]) * 16777619u & 0xffffffffu;
        mine ^= h;
    }
    return MPI_Allreduce(&mine, out, 1, MPI_UNSIGNED_LONG, MPI_BXOR, s->comm);
}

/* Once from the last checkpoint to the end. */
static int attempt(struct cg *s, double *left, unsigned long *bits)
{
    MPI_Comm all_are_done;
    int err;

    deal(s);
    err = load(s);
    if (err == MPI_SUCCESS)
        err = solve(s);
    if (err == MPI_SUCCESS)
        err = residual(s, left);
    if (err == MPI_SUCCESS)
        err = fingerprint(s, bits);
    if (err != MPI_SUCCESS)
        return err;
    err = MPI_Comm_dup(s->comm, &all_are_done);
    if (err == MPI_SUCCESS)
        MPI_Comm_free(&all_are_done);
    return err;
}

/* MPI_Comm_dup repairs the communicator; if another rank dies meanwhile, it is called again. */
static int recover(struct cg *s)
{
    MPI_Comm whole;
    int err;

    say(s, "noticed", iteration(s));
    do {
        say(s, "recovering", iteration(s));
        err = MPI_Comm_dup(s->comm, &whole);
    } while (err == MPI_ERR_OTHER);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Comm_free(&s->comm);
    s->comm = whole;
    say(s, "recovered", iteration(s));
    return MPI_SUCCESS;
}

static int read_words(struct cg *s, int argc, char **argv)
{
    int option;

    s->n = 160;
    s->every = 20;
    while ((option = getopt(argc, argv, "n:k:pe")) != -1) {
        if (option == 'e')
            s->events = 1;
        else if (option == 'p')
            s->use_parity = 1;
        else if (option == 'n' || option == 'k')
            *(option == 'n' ? &s->n : &s->every) = (int)strtol(optarg, NULL, 10);
        else
            return -1;
    }
    return optind == argc && s->n >= 2 && s->n <= 2000 && s->every >= 1 ? 0 : -1;
}

static int is_rebuilt(void)
{
#ifdef FTMPI
    int flag = 0, *mode;

    MPI_Attr_get(MPI_COMM_WORLD, FTMPI_COMM_MODE, &mode, &flag);
    return flag && *mode == FTMPI_COMM_MODE_REBUILD;
#else
    return 0;
#endif
}

static int open_all(struct cg *s)
{
    int first, most;

    s->comm = MPI_COMM_WORLD;
    s->norm = norm_of_b(s);
    MPI_Comm_size(s->comm, &s->size);
    s->use_parity = s->size > 1 && (s->use_parity || is_rebuilt());
    s->all = numbers(NULL, (size_t)s->n);
    copies_open(&s->copies);
    if (!s->use_parity)
        return 0;
    most = share(s->n, s->size - 1, 0, &first);
    return parity_open(&s->parity, state_size(s, most));
}

static void close_all(struct cg *s)
{
    copies_close(&s->copies);
    if (s->use_parity)
        parity_close(&s->parity);
    free(s->owner);
    free(s->state);
    free(s->q);
    free(s->up);
    free(s->down);
    free(s->part);
    free(s->all);
}

int main(int argc, char **argv)
{
    unsigned long bits = 0;
    double left = 0.0;
    struct cg s;
    int err;

    memset(&s, 0, sizeof s);
    if (read_words(&s, argc, argv) != 0) {
        fputs(usage, stderr);
        return 2;
    }
    s.seat = (int)strtol(setting("FTMPI_RANK"), NULL, 10);
    say(&s, "starting", 0);
    MPI_Init(&argc, &argv);
    if (getenv("FTMPI_RANK") == NULL)
        MPI_Comm_rank(MPI_COMM_WORLD, &s.seat);
    say(&s, "initialized", 0);
    if (open_all(&s) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while ((err = attempt(&s, &left, &bits)) == MPI_ERR_OTHER)
        if ((err = recover(&s)) != MPI_SUCCESS)
            break;
    if (err != MPI_SUCCESS) {
        fprintf(stderr, "cg: rank %d: MPI error %d\n", s.seat, err);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    say(&s, "done", iteration(&s));
    if (s.events || s.mine == 0)
        printf("%srank %d of %d: %ld iterations, residual %.2e, bits %08lx\n", s.events ? "= " : "", s.rank,
               s.size, iteration(&s), left, bits);
    fflush(stdout);
    close_all(&s);
    MPI_Finalize();
    return !(left <= 10 * ENOUGH);
}
