/* p_env.c - start, end, time and names. usage: p_env [WAY]: calls that must end the program, or leave it. */
#include "check.h"

/* Before MPI_Init nothing else may be called: the program ends with a line. */
static int too_early(const char *way)
{
    if (strcmp(way, "pcontrol") == 0)
        MPI_Pcontrol(1);
    else if (strcmp(way, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Type_free(NULL);
    return 0;
}

static int after_the_end(void)
{
    int flag = 0;

    MPI_Init(NULL, NULL);
    MPI_Finalized(&flag);
    if (flag)
        return 9;
    MPI_Finalize();
    MPI_Finalized(&flag);
    if (!flag)
        return 9;
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}

static void test_time(void)
{
    double before = MPI_Wtime(), after, tick = MPI_Wtick();
    int i;

    for (i = 0; i < 1000000 && (after = MPI_Wtime()) == before; i++)
        ;
    ok(before > 0 && after > before && after < before + 60, "time goes on");
    ok(tick > 0 && tick < 0.1, "in steps of %g", tick);
}

static void test_names(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = -1, version = -1, minor = -1;

    MPI_Get_processor_name(name, &n);
    ok(n > 0 && n == (int)strlen(name), "host %s", name);
    n = -1;
    MPI_Get_library_version(library, &n);
    ok(n > 0 && n == (int)strlen(library), "library %s", library);
    MPI_Get_version(&version, &minor);
    ok(version == MPI_VERSION && minor == MPI_SUBVERSION, "version %d.%d", version, minor);
}

/* All members come here before anybody leaves. */
static void test_barrier(void)
{
    int in = -1, flag = 0;
    MPI_Request r;

    MPI_Irecv(&in, 1, MPI_INT, (check_rank + 1) % check_size, 2, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend(&check_rank, 1, MPI_INT, (check_rank + check_size - 1) % check_size, 2, MPI_COMM_WORLD);
    while (!flag)
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    ok(in == (check_rank + 1) % check_size, "after the barrier");
}

/* Buffered and ready sends that do not block, and the persistent ones. */
static void test_modes(void)
{
    int in[4] = { -1, -1, -1, -1 }, out[4] = { 10, 20, 30, 40 }, size = 0, i;
    char space[2 * (4 + MPI_BSEND_OVERHEAD)];
    MPI_Request r[4], s[4] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    void *back = NULL;

    for (i = 0; i < 4; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]);
    MPI_Buffer_attach(space, (int)sizeof space);
    MPI_Ibsend(&out[0], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &s[0]);
    MPI_Irsend(&out[1], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &s[1]);
    MPI_Bsend_init(&out[2], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &s[2]);
    MPI_Rsend_init(&out[3], 1, MPI_INT, 0, 3, MPI_COMM_SELF, &s[3]);
    for (i = 0; i < 4; i++)
        if (!ok(s[i] != MPI_REQUEST_NULL, "request %d", i))
            MPI_Abort(MPI_COMM_WORLD, 3); /* nobody would meet its receive */
    MPI_Startall(2, s + 2);
    MPI_Waitall(4, s, MPI_STATUSES_IGNORE);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&back, &size);
    for (i = 0; i < 4; i++)
        ok(in[i] == out[i], "message %d", i);
    ok(back == space && size == (int)sizeof space, "the buffer comes back");
    MPI_Request_free(&s[2]);
    MPI_Request_free(&s[3]);
}

/* Associative and not commutative: what comes first counts. */
static void first(void *in, void *inout, int *n, MPI_Datatype *type)
{
    if (*type == MPI_INT)
        memcpy(inout, in, (size_t)*n * sizeof(int));
}

static void test_operations(void)
{
    MPI_Op op = MPI_OP_NULL, stale;
    int x = check_rank + 5, y = -1;

    MPI_Op_create(first, 0, &op);
    stale = op;
    MPI_Allreduce(&x, &y, 1, MPI_INT, op, MPI_COMM_WORLD);
    ok(y == 5, "the program's operation: %d", y);
    MPI_Op_free(&op);
    ok(op == MPI_OP_NULL && MPI_Allreduce(&x, &y, 1, MPI_INT, stale, MPI_COMM_WORLD) == MPI_ERR_OP,
       "is gone");
    op = MPI_SUM;
    ok(MPI_Op_free(&op) == MPI_ERR_OP && op == MPI_SUM, "predefined ones stay");
    ok(MPI_Op_create(NULL, 1, &op) == MPI_ERR_ARG && op == MPI_OP_NULL, "no function");
    ok(MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD) == MPI_ERR_OP, "not for this type");
}

int main(int argc, char **argv)
{
    int flag = -1, done = -1, level = -1;

    if (argc > 1 && strcmp(argv[1], "late") == 0)
        return after_the_end();
    if (argc > 1)
        return too_early(argv[1]);
    MPI_Initialized(&flag);
    MPI_Finalized(&done);
    check_begin(&argc, &argv);
    ok(flag == 0 && done == 0, "not yet");
    MPI_Initialized(&flag);
    MPI_Finalized(&done);
    ok(flag == 1 && done == 0, "now");
    MPI_Query_thread(&level);
    ok(level == MPI_THREAD_FUNNELED || level == MPI_THREAD_SINGLE, "one thread calls");
    MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ok(MPI_Init(&argc, &argv) != MPI_SUCCESS, "once only");
    test_time();
    test_names();
    test_barrier();
    test_modes();
    test_operations();
    return check_end("environment");
}
