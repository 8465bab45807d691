/* p_p2p.c - point to point as a program sees it: modes, order, wildcards, probes, cancelling, errors. */
#include "check.h"

#define MANY 200
#define LARGE 300001 /* ints: a rendezvous in several pieces */

static int *numbers(int count, int first)
{
    int *a = malloc((size_t)(count > 0 ? count : 1) * sizeof *a), i;

    for (i = 0; a != NULL && i < count; i++)
        a[i] = first + i;
    return a;
}

static int is_numbers(const int *a, int count, int first)
{
    int i;

    for (i = 0; i < count; i++)
        if (a[i] != first + i)
            return 0;
    return 1;
}

static int next_rank(void)
{
    return (check_rank + 1) % check_size;
}

static int previous_rank(void)
{
    return (check_rank + check_size - 1) % check_size;
}

/* Both neighbours have come as far as this rank. */
static void meet(void)
{
    MPI_Sendrecv(NULL, 0, MPI_INT, previous_rank(), 77, NULL, 0, MPI_INT, next_rank(), 77, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(NULL, 0, MPI_INT, next_rank(), 78, NULL, 0, MPI_INT, previous_rank(), 78, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Goal: each mode carries each size. Method: round the ring, receives posted before for the ready mode. */
static void test_modes(void)
{
    static const int sizes[] = { 0, 1, 100, 16000, 16384, 16385, 70000, LARGE };
    int mode, i, size, count;
    MPI_Request r;
    MPI_Status st;

    for (i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        size = sizes[i];
        for (mode = 0; mode < 3; mode++) {
            int *out = numbers(size, check_rank), *in = numbers(size, -9999999);

            MPI_Irecv(in, size, MPI_INT, previous_rank(), mode, MPI_COMM_WORLD, &r);
            meet(); /* the next one has posted its receive */
            if (mode == 0)
                MPI_Send(out, size, MPI_INT, next_rank(), mode, MPI_COMM_WORLD);
            else if (mode == 1)
                MPI_Ssend(out, size, MPI_INT, next_rank(), mode, MPI_COMM_WORLD);
            else
                MPI_Rsend(out, size, MPI_INT, next_rank(), mode, MPI_COMM_WORLD);
            MPI_Wait(&r, &st);
            MPI_Get_count(&st, MPI_INT, &count);
            ok(r == MPI_REQUEST_NULL, "the request is gone");
            ok(count == size && st.MPI_SOURCE == previous_rank() && st.MPI_TAG == mode, "status of %d", size);
            ok(is_numbers(in, size, previous_rank()), "mode %d, %d ints", mode, size);
            free(out);
            free(in);
        }
    }
}

/* Goal: messages do not overtake, eager ones and large ones mixed, and receives with tags pick theirs. */
static void test_order(void)
{
    MPI_Request r[MANY];
    int *out[MANY], i, size, *in = numbers(20000, 0);
    MPI_Status st;

    for (i = 0; i < MANY; i++) {
        out[i] = numbers(i % 7 == 3 ? 20000 : i, i);
        MPI_Isend(out[i], i % 7 == 3 ? 20000 : i, MPI_INT, next_rank(), i % 2, MPI_COMM_WORLD, &r[i]);
    }
    for (i = 1; i < MANY; i += 2) { /* the odd tags first */
        MPI_Recv(in, 20000, MPI_INT, previous_rank(), 1, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_INT, &size);
        ok(size == (i % 7 == 3 ? 20000 : i) && is_numbers(in, size, i), "message %d of tag 1", i);
    }
    for (i = 0; i < MANY; i += 2) {
        MPI_Recv(in, 20000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        MPI_Get_count(&st, MPI_INT, &size);
        ok(size == (i % 7 == 3 ? 20000 : i) && is_numbers(in, size, i) && st.MPI_TAG == 0, "message %d", i);
    }
    ok(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "all sends are done");
    for (i = 0; i < MANY; i++) {
        ok(r[i] == MPI_REQUEST_NULL, "request %d is null", i);
        free(out[i]);
    }
    free(in);
}

/* Goal: probes say what is there and leave it there. */
static void test_probe(void)
{
    int *out = numbers(30000, 5), *in = numbers(30000, 0), size, flag = 0, looks = 0;
    MPI_Request r;
    MPI_Status st;

    MPI_Isend(out, 30000, MPI_INT, next_rank(), 11, MPI_COMM_WORLD, &r);
    MPI_Probe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_INT, &size);
    ok(size == 30000 && st.MPI_SOURCE == previous_rank() && st.MPI_TAG == 11, "probed %d", size);
    MPI_Iprobe(previous_rank(), 12, MPI_COMM_WORLD, &flag, &st);
    ok(flag == 0, "another tag is not there");
    MPI_Recv(in, size, MPI_INT, st.MPI_SOURCE, 11, MPI_COMM_WORLD, &st);
    ok(is_numbers(in, size, 5), "and received");
    MPI_Wait(&r, &st);
    MPI_Send(out, 3, MPI_INT, next_rank(), 13, MPI_COMM_WORLD);
    while (!flag && looks++ < 100000000)
        MPI_Iprobe(previous_rank(), MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
    MPI_Get_count(&st, MPI_INT, &size);
    ok(flag && size == 3 && st.MPI_TAG == 13, "Iprobe alone makes progress");
    MPI_Get_count(&st, MPI_DOUBLE, &size);
    ok(size == MPI_UNDEFINED, "12 bytes are no whole number of doubles");
    MPI_Recv(in, 3, MPI_INT, previous_rank(), 13, MPI_COMM_WORLD, &st);
    MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st);
    ok(st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG, "a probe of nobody");
    free(out);
    free(in);
}

/* Goal: the buffered mode needs no receiver; a full buffer is an error; detaching waits. */
static void test_buffered(void)
{
    int size = 10 * (4000 + MPI_BSEND_OVERHEAD), i, n, rc, in[1000];
    char *buffer = malloc((size_t)size), *back = NULL;
    int *out = numbers(1000, 40);

    ok(MPI_Buffer_attach(buffer, size) == MPI_SUCCESS, "attached");
    ok(MPI_Buffer_attach(buffer, size) == MPI_ERR_BUFFER, "not twice");
    for (i = 0; i < 10; i++)
        ok(MPI_Bsend(out, 1000, MPI_INT, next_rank(), 21, MPI_COMM_WORLD) == MPI_SUCCESS, "Bsend %d", i);
    memset(out, 0, 4000);
    for (i = 0; i < 10; i++) {
        MPI_Recv(in, 1000, MPI_INT, previous_rank(), 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ok(is_numbers(in, 1000, 40), "the data are those of the call");
    }
    rc = MPI_Bsend(buffer, size, MPI_BYTE, next_rank(), 22, MPI_COMM_WORLD);
    ok(rc == MPI_ERR_BUFFER, "no room: %d", rc);
    ok(MPI_Buffer_detach(&back, &n) == MPI_SUCCESS && back == buffer && n == size, "detached");
    ok(MPI_Buffer_detach(&back, &n) == MPI_ERR_BUFFER, "not twice");
    free(buffer);
    free(out);
}

/* Goal: requests that are made once and started often. */
static void test_persistent(void)
{
    MPI_Request r[4];
    MPI_Status st[4];
    int out = 0, in = -1, i, flag, big = LARGE, *large = numbers(LARGE, 3), *got = numbers(LARGE, 0);

    MPI_Send_init(&out, 1, MPI_INT, next_rank(), 31, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 31, MPI_COMM_WORLD, &r[1]);
    MPI_Ssend_init(large, big, MPI_INT, next_rank(), 32, MPI_COMM_WORLD, &r[2]);
    MPI_Recv_init(got, big, MPI_INT, MPI_ANY_SOURCE, 32, MPI_COMM_WORLD, &r[3]);
    ok(MPI_Wait(&r[0], &st[0]) == MPI_SUCCESS && st[0].MPI_TAG == MPI_ANY_TAG, "inactive: done");
    for (i = 0; i < 20; i++) {
        out = 100 * check_rank + i;
        got[LARGE - 1] = 0;
        ok(MPI_Startall(4, r) == MPI_SUCCESS, "started");
        ok(MPI_Start(&r[1]) == MPI_ERR_REQUEST || i > 0, "an active one is not started");
        ok(MPI_Waitall(4, r, st) == MPI_SUCCESS, "all done");
        ok(in == 100 * previous_rank() + i && st[1].MPI_SOURCE == previous_rank(), "turn %d: %d", i, in);
        ok(is_numbers(got, big, 3), "turn %d of the large one", i);
    }
    MPI_Test(&r[3], &flag, &st[3]);
    ok(flag && r[3] != MPI_REQUEST_NULL, "inactive, and still there");
    for (i = 0; i < 4; i++)
        ok(MPI_Request_free(&r[i]) == MPI_SUCCESS && r[i] == MPI_REQUEST_NULL, "given back");
    free(large);
    free(got);
}

/* Goal: what can be taken back is, what cannot is not. */
static void test_cancel(void)
{
    MPI_Request r;
    MPI_Status st;
    int x = 0, flag, *large = numbers(LARGE, 0);

    MPI_Irecv(&x, 1, MPI_INT, previous_rank(), 41, MPI_COMM_WORLD, &r);
    ok(MPI_Cancel(&r) == MPI_SUCCESS, "cancelled");
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    ok(flag, "a receive that nobody met");
    MPI_Issend(large, LARGE, MPI_INT, next_rank(), 42, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    ok(flag, "a large send that nobody received");
    MPI_Isend(&x, 1, MPI_INT, next_rank(), 43, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &st);
    MPI_Test_cancelled(&st, &flag);
    ok(!flag, "a small one has left");
    MPI_Recv(&x, 1, MPI_INT, previous_rank(), 43, MPI_COMM_WORLD, &st);
    MPI_Test_cancelled(&st, &flag);
    ok(!flag, "and came");
    MPI_Sendrecv(&x, 1, MPI_INT, next_rank(), 44, &flag, 1, MPI_INT, previous_rank(), MPI_ANY_TAG,
                 MPI_COMM_WORLD, &st);
    ok(st.MPI_TAG == 44, "what was taken back did not come: %d", st.MPI_TAG);
    free(large);
}

/* Goal: the calls that complete some of many. */
static void test_many(void)
{
    enum { N = 8 };
    MPI_Request r[N], one = MPI_REQUEST_NULL;
    MPI_Status st[N];
    int in[N], out = 7, indices[N], i, rc, done, flag, turns = 0, seen = 0;

    for (i = 0; i < N; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, previous_rank(), 50 + i, MPI_COMM_WORLD, &r[i]);
    MPI_Testall(N, r, &flag, st);
    ok(!flag, "nothing came");
    meet();
    MPI_Send(&out, 1, MPI_INT, next_rank(), 53, MPI_COMM_WORLD);
    rc = MPI_Waitany(N, r, &i, &st[0]);
    ok(rc == MPI_SUCCESS && i == 3 && st[0].MPI_TAG == 53 && r[3] == MPI_REQUEST_NULL, "Waitany: %d", i);
    MPI_Testany(N, r, &i, &flag, &st[0]);
    ok(!flag && i == MPI_UNDEFINED, "Testany: nothing, %d", i);
    meet();
    for (i = 0; i < N; i++)
        if (i != 3)
            MPI_Send(&out, 1, MPI_INT, next_rank(), 50 + i, MPI_COMM_WORLD);
    while (seen < 3 && turns++ < 100000000) {
        MPI_Testsome(4, r, &done, indices, st);
        seen += done > 0 ? done : 0;
    }
    ok(seen == 3, "Testsome saw three of the first four");
    MPI_Testsome(4, r, &done, indices, st);
    ok(done == MPI_UNDEFINED, "none is left of them");
    MPI_Waitsome(4, r + 4, &done, indices, st);
    ok(done >= 1 && in[4 + indices[0]] == 7 && st[0].MPI_TAG == 54 + indices[0], "Waitsome: %d", done);
    MPI_Waitall(N, r, st);
    flag = 0;
    MPI_Testall(N, r, &flag, st);
    ok(flag, "all null: done");
    MPI_Test(&one, &flag, st);
    ok(flag && st[0].MPI_SOURCE == MPI_ANY_SOURCE && st[0].MPI_TAG == MPI_ANY_TAG, "null is done");
    MPI_Waitany(N, r, &i, st);
    ok(i == MPI_UNDEFINED, "Waitany of nothing");
}

/* Goal: too long a message is an error, and what fits is there. */
static void test_truncate(void)
{
    static const int sizes[] = { 100, 20000, LARGE };
    int i, rc;

    for (i = 0; i < 3; i++) {
        int *out = numbers(sizes[i], 1), *in = numbers(sizes[i], 0);
        MPI_Request r[2];
        MPI_Status st[2];

        MPI_Irecv(in, 50, MPI_INT, previous_rank(), 61, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(out, sizes[i], MPI_INT, next_rank(), 61, MPI_COMM_WORLD, &r[1]);
        rc = MPI_Waitall(2, r, st);
        ok(rc == MPI_ERR_IN_STATUS, "%d ints into 50: %d", sizes[i], rc);
        ok(st[0].MPI_ERROR == MPI_ERR_TRUNCATE && st[1].MPI_ERROR == MPI_SUCCESS, "which of them");
        ok(is_numbers(in, 50, 1) && in[50] == 50, "50 are there, and no more");
        free(out);
        free(in);
    }
}

/* Goal: each wrong argument has its class. */
static void test_errors(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Request r = MPI_REQUEST_NULL, stale;
    int x = 0, flag;
    MPI_Status st;

    ok(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL) == MPI_ERR_COMM, "null communicator");
    ok(MPI_Send(&x, 1, MPI_INT, 0, 0, 12345) == MPI_ERR_COMM, "no communicator");
    ok(MPI_Send(&x, -1, MPI_INT, 0, 0, w) == MPI_ERR_COUNT, "count");
    ok(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, w) == MPI_ERR_TYPE, "null type");
    ok(MPI_Send(&x, 1, MPI_INT, check_size, 0, w) == MPI_ERR_RANK, "rank above");
    ok(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, w) == MPI_ERR_RANK, "dest anybody");
    ok(MPI_Send(&x, 1, MPI_INT, 0, -1, w) == MPI_ERR_TAG, "tag");
    ok(MPI_Recv(&x, 1, MPI_INT, -7, 0, w, &st) == MPI_ERR_RANK, "source");
    ok(MPI_Recv(&x, 1, MPI_INT, 0, -7, w, &st) == MPI_ERR_TAG, "tag of a receive");
    ok(MPI_Isend(&x, 1, MPI_INT, 0, 0, w, NULL) == MPI_ERR_ARG, "no place for the request");
    ok(MPI_Start(&r) == MPI_ERR_REQUEST, "start of null");
    ok(MPI_Request_free(&r) == MPI_ERR_REQUEST, "free of null");
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, w, &r);
    stale = r;
    ok(MPI_Wait(&r, &st) == MPI_SUCCESS && st.MPI_SOURCE == MPI_PROC_NULL, "nobody");
    ok(MPI_Wait(&stale, &st) == MPI_ERR_REQUEST, "a stale request");
    ok(MPI_Test(&stale, &flag, &st) == MPI_ERR_REQUEST, "a stale request is tested");
    ok(MPI_Cancel(&stale) == MPI_ERR_REQUEST, "a stale request is cancelled");
}

/* Goal: this rank itself is a partner as others are. */
static void test_self(void)
{
    int *out = numbers(LARGE, 9), *in = numbers(LARGE, 0), x = 5, y = 0;
    MPI_Request r[2];
    MPI_Status st[2];

    MPI_Irecv(in, LARGE, MPI_INT, check_rank, 71, MPI_COMM_WORLD, &r[0]);
    MPI_Issend(out, LARGE, MPI_INT, check_rank, 71, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, st);
    ok(is_numbers(in, LARGE, 9) && st[0].MPI_SOURCE == check_rank, "large, to itself");
    MPI_Send(&x, 1, MPI_INT, 0, 72, MPI_COMM_SELF);
    MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 72, MPI_COMM_SELF, &st[0]);
    ok(y == 5 && st[0].MPI_SOURCE == 0, "small, in MPI_COMM_SELF");
    x = check_rank;
    MPI_Sendrecv_replace(&x, 1, MPI_INT, next_rank(), 73, previous_rank(), 73, MPI_COMM_WORLD, &st[0]);
    ok(x == previous_rank(), "Sendrecv_replace");
    free(out);
    free(in);
}

/* Goal: a request given back while it is active ends by itself. */
static void test_free_active(void)
{
    static int in[LARGE];
    int *out = numbers(LARGE, 2), got[2] = { 0, 0 };
    MPI_Request r;

    MPI_Irecv(in, LARGE, MPI_INT, previous_rank(), 81, MPI_COMM_WORLD, &r);
    MPI_Request_free(&r);
    MPI_Isend(out, LARGE, MPI_INT, next_rank(), 81, MPI_COMM_WORLD, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Sendrecv(got, 1, MPI_INT, next_rank(), 82, got + 1, 1, MPI_INT, previous_rank(), 82, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Ssend(got, 1, MPI_INT, check_rank == 0 ? MPI_PROC_NULL : MPI_PROC_NULL, 83, MPI_COMM_WORLD);
    ok(r == MPI_REQUEST_NULL, "gone");
    while (!is_numbers(in + LARGE - 1, 1, 2 + LARGE - 1))
        MPI_Iprobe(MPI_ANY_SOURCE, 83, MPI_COMM_WORLD, got, MPI_STATUS_IGNORE);
    ok(is_numbers(in, LARGE, 2), "it was received all the same");
    free(out);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    test_modes();
    test_order();
    test_probe();
    test_buffered();
    test_persistent();
    test_cancel();
    test_many();
    test_truncate();
    test_errors();
    test_self();
    test_free_active();
    return check_end("point to point");
}
