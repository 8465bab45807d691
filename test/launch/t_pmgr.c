/* t_pmgr.c - PMGR: every operation with every root, in pieces, close before others, aborts, refusals. */
/* Promise 97. */
#include "engine_rig.h"

enum { CLOSE = 1, ABORT, BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL };

#define RANKS 5

struct bytes {
    unsigned char data[4096];
    size_t size;
};

static void add_int(struct bytes *b, int32_t n)
{
    memcpy(b->data + b->size, &n, 4);
    b->size += 4;
}

/* What rank `from` says to rank `to` in an operation. */
static unsigned char said(uint32_t from, uint32_t to, int32_t size, int32_t i)
{
    return (unsigned char)(from * 50 + to * 7 + (uint32_t)size * 3 + (uint32_t)i);
}

static void add_said(struct bytes *b, uint32_t from, uint32_t to, int32_t size)
{
    int32_t i;

    for (i = 0; i < size; i++)
        b->data[b->size++] = said(from, to, size, i);
}

/* The message of `rank`, and what it has to get back. LA_NONE stands for "to all". */
static void make(struct bytes *b, struct bytes *back, int32_t op, int32_t root, int32_t size, uint32_t rank)
{
    int rooted = op == BCAST || op == GATHER || op == SCATTER, is_root = (uint32_t)root == rank;
    uint32_t i;

    b->size = back->size = 0;
    add_int(b, op);
    if (rooted)
        add_int(b, root);
    if (op != BARRIER)
        add_int(b, size);
    else
        add_int(back, BARRIER);
    if ((op == BCAST && is_root) || op == GATHER || op == ALLGATHER)
        add_said(b, rank, LA_ALL, size);
    for (i = 0; i < RANKS && ((op == SCATTER && is_root) || op == ALLTOALL); i++)
        add_said(b, rank, i, size);
    if (op == BCAST)
        add_said(back, (uint32_t)root, LA_ALL, size);
    if (op == SCATTER)
        add_said(back, (uint32_t)root, rank, size);
    for (i = 0; i < RANKS; i++) {
        if ((op == GATHER && is_root) || op == ALLGATHER)
            add_said(back, i, LA_ALL, size);
        if (op == ALLTOALL)
            add_said(back, i, rank, size);
    }
}

static int got(struct rig_end end, const struct bytes *b)
{
    struct rig_client *c = &end.host->clients[end.client];
    int same = c->size == b->size && (b->size == 0 || memcmp(c->out, b->data, b->size) == 0);

    c->size = 0;
    return same;
}

static int write_bytes(struct rig_end end, const struct bytes *b, size_t piece)
{
    size_t at;
    int err = 0;

    for (at = 0; at < b->size && err == 0; at += piece)
        err = rig_input(end, b->data + at, b->size - at < piece ? b->size - at : piece);
    return err;
}

static int write_ints(struct rig_end end, int32_t a, int32_t b, int32_t c, int count)
{
    struct bytes all = { { 0 }, 0 };

    add_int(&all, a);
    if (count > 1)
        add_int(&all, b);
    if (count > 2)
        add_int(&all, c);
    return write_bytes(end, &all, 4096);
}

static void connect_all(struct rig *g, struct rig_end *end, uint32_t per_host)
{
    uint32_t i;
    int wrong = 0;

    for (i = 0; i < RANKS; i++) {
        end[i] = rig_connect(g, i / per_host, LA_PROTO_PMGR, LA_NONE);
        wrong += write_ints(end[i], 8, (int32_t)i, 0, 2) != 0 || !rig_read(end[i], "");
    }
    ok(wrong == 0, "%u ranks connect and are told nothing", RANKS);
}

static void test_operations(void)
{
    /* Goal: every operation with every root and several sizes gives every rank the right bytes. Method: 1, 2
     * and 5 ranks for each host, messages in pieces of 1 byte to all at once. */
    static const int32_t sizes[] = { 1, 4, 33 };
    static const uint32_t per_host[] = { 1, 2, 5 };
    struct rig_end end[RANKS];
    struct bytes b, back[RANKS];
    uint32_t p, s, i;
    int32_t op, root;
    int wrong = 0;

    for (p = 0; p < 3; p++) {
        struct rig *g = rig_new(RANKS, per_host[p], 0, 0);

        connect_all(g, end, per_host[p]);
        for (op = BARRIER; op <= ALLTOALL; op++)
            for (root = 0; root < RANKS; root++)
                for (s = 0; s < 3; s++) {
                    for (i = 0; i < RANKS; i++) {
                        make(&b, &back[i], op, root, sizes[s], i);
                        wrong += write_bytes(end[i], &b, s == 0 ? 1 : s == 1 ? 7 : 4096) != 0;
                    }
                    for (i = 0; i < RANKS; i++)
                        wrong += !got(end[i], &back[i]);
                }
        ok(g->operations == 6 * RANKS * 3, "%d operations, %u ranks for each host", (int)g->operations,
           per_host[p]);
        rig_free(g);
    }
    ok(wrong == 0, "all bytes are right");
}

static void test_ahead(void)
{
    /* Goal: a rank that is not the root of gathers runs ahead, and closes, while the root comes late. */
    struct rig *g = rig_new(RANKS, 2, 0, 0);
    struct rig_end end[RANKS];
    struct bytes b, back[3];
    uint32_t i, k;
    int wrong = 0;

    connect_all(g, end, 2);
    for (i = 1; i < RANKS; i++) {
        for (k = 0; k < 3; k++) {
            make(&b, &back[k], GATHER, 0, (int32_t)k + 1, i);
            wrong += write_bytes(end[i], &b, 4096) != 0 || back[k].size != 0;
        }
        wrong += write_ints(end[i], CLOSE, 0, 0, 1) != 0;
    }
    ok(wrong == 0 && strstr(g->said, "finalize 4\n") != NULL && g->hosts[0].enters == 0,
       "four ranks gather three times and close, which the agent hears at once");
    rig_close(end[1]);
    la_engine_gone(g->hosts[1].engine, 2);
    rig_close(end[2]);
    la_engine_gone(g->hosts[2].engine, 4);
    ok(g->operations == 0, "two of them end, one before and one after its stream");
    for (k = 0; k < 3; k++) {
        make(&b, &back[k], GATHER, 0, (int32_t)k + 1, 0);
        wrong += write_bytes(end[0], &b, 4096) != 0 || !got(end[0], &back[k]);
    }
    ok(wrong == 0, "the root gets all three");
    for (i = 3; i < RANKS; i++)
        rig_close(end[i]);
    ok(strstr(g->said, "ended") == NULL && strstr(g->said, "complain") == NULL, "which is no failure");
    make(&b, back, BARRIER, 0, 0, 0);
    ok(write_bytes(end[0], &b, 4096) == 0 && got(end[0], back), "the last one goes on alone");
    ok(!end[0].host->clients[end[0].client].hung_up, "nobody was hung up");
    rig_free(g);
}

static void test_abort(void)
{
    /* Goal: an abort over a second connection, whole, cut, with code 8; and over the first one. */
    struct rig *g = rig_new(RANKS, RANKS, 0, 0);
    struct rig_end end[RANKS], a;
    struct bytes b = { { 0 }, 0 };

    connect_all(g, end, RANKS);
    add_int(&b, -3);
    add_int(&b, 2);
    add_int(&b, 4);
    memcpy(b.data + 12, "why", 4);
    b.size = 16;
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    ok(write_bytes(a, &b, 1) == 0 && rig_heard(g, "abort 2 -3 why\n"), "an abort byte by byte");
    ok(rig_write(a, "more") == 0, "what comes behind it is not read");
    rig_close(a);
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    b.size = 14;
    ok(write_bytes(a, &b, 99) == 0 && !rig_heard(g, "abort"), "a cut abort");
    rig_close(a);
    ok(rig_heard(g, "abort 2 -3 wh\n"), "counts when its stream ends");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    write_ints(a, 5, 1, 0, 2);
    rig_close(a);
    ok(rig_heard(g, "abort 1 5 \n"), "also without a length");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    ok(write_ints(a, 8, 3, 0, 2) == 0 && rig_heard(g, "abort 3 8 \n"),
       "a rank a second time is an abort with 8");
    ok(write_ints(end[0], ABORT, 9, 0, 2) == 0 && rig_heard(g, "abort 0 9 \n"), "operation 2");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    rig_write(a, "GET");
    rig_close(a);
    ok(!rig_heard(g, "abort") && !a.host->clients[a.client].hung_up, "three bytes are nothing");
    rig_free(g);
}

static int refused(int32_t a, int32_t b, int32_t c, int count, const char *why)
{
    struct rig *g = rig_new(RANKS, RANKS, 0, 0);
    struct rig_end end = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    int err;

    write_ints(end, 8, 0, 0, 2);
    err = write_ints(end, a, b, c, count);
    err = err == PHX_EPROTO && end.host->clients[end.client].hung_up && strstr(g->said, why) != NULL;
    if (!err)
        printf("# said: %s", g->said);
    rig_free(g);
    return err;
}

static void test_refusals(void)
{
    struct rig *g = rig_new(2, 1, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);

    ok(write_ints(a, 8, 1, 0, 2) == PHX_EPROTO && rig_heard(g,
                                                            "complain -1 PMGR: rank 1 is not of this host"),
       "a rank of another host");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    ok(write_ints(a, 7, -1, 0, 2) == PHX_EPROTO, "an abort of a rank below 0");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    ok(write_ints(a, 7, 0, -1, 3) == PHX_EPROTO, "an abort with a length below 0");
    a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);
    ok(write_ints(a, 7, 0, 1 << 20, 3) == PHX_EPROTO, "or above 64 KiB");
    rig_free(g);
    ok(refused(9, 0, 0, 1, "no operation 9") && refused(-1, 0, 0, 1, "no operation -1"),
       "operations that are none");
    ok(refused(0, 3, 0, 2, "opens as rank 3"), "an open of another rank");
    ok(refused(ALLGATHER, 0, 0, 2, "0 bytes") && refused(GATHER, 0, -1, 3, "-1 bytes"), "sizes below 1");
    ok(refused(ALLTOALL, 429496730, 0, 2, "above 2^31 - 1") && refused(BCAST, 0, INT32_MAX, 3,
                                                                       "above 2^31 - 1"),
       "N * size above 2^31 - 1");
    ok(refused(BCAST, 5, 1, 3, "no rank 5") && refused(SCATTER, -1, 1, 3, "no rank -1"),
       "roots that are none");
}

static void test_largest(void)
{
    /* Goal: N * size of 2^31 - 1 or just below is taken, and costs memory only as it comes. */
    struct rig *g = rig_new(RANKS, RANKS, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMGR, LA_NONE);

    write_ints(a, 8, 0, 0, 2);
    ok(write_ints(a, ALLTOALL, 429496729, 0, 2) == 0 && !rig_heard(g, "complain"),
       "2,147,483,645 bytes are awaited");
    rig_free(g);
}

static void test_differ(void)
{
    struct rig *g = rig_new(RANKS, RANKS, 0, 0);
    struct rig_end end[RANKS];

    connect_all(g, end, RANKS);
    write_ints(end[3], BCAST, 1, 4, 3);
    write_ints(end[4], BCAST, 2, 4, 3);
    ok(rig_heard(g, "differ 3:2,1,4 4:2,2,4\n"), "roots that differ name two ranks");
    rig_free(g);
}

static void test_missing(void)
{
    /* Goal: in a job that goes on, an operation that needs a dead rank's bytes fails; a barrier does not. */
    struct rig *g = rig_new(RANKS, 1, 0, 0);
    struct rig_end end[RANKS];
    uint32_t i;
    int wrong = 0;

    connect_all(g, end, 1);
    la_engine_gone(g->hosts[4].engine, 4);
    for (i = 0; i < 4; i++)
        write_ints(end[i], BARRIER, 0, 0, 1);
    for (i = 0; i < 4; i++)
        wrong += end[i].host->clients[end[i].client].size != 4;
    ok(wrong == 0, "a barrier without the dead rank");
    for (i = 0; i < 4; i++)
        write_ints(end[i], BCAST, 4, 4, 3);
    for (i = 0; i < 4; i++)
        wrong += !end[i].host->clients[end[i].client].hung_up;
    ok(wrong == 0 && rig_heard(g, "is missing"), "a broadcast of the dead rank is a failure");
    rig_free(g);
}

static void test_spoilt(void)
{
    /* Goal: no bytes crash it. Method: a conversation with every operation, spoilt in 2,000 ways. */
    struct bytes all = { { 0 }, 0 }, b, back;
    uint32_t seed;
    int32_t op;
    int odd = 0;

    add_int(&all, 8);
    add_int(&all, 0);
    for (op = BARRIER; op <= ALLTOALL; op++) {
        make(&b, &back, op, 0, 3, 0);
        memcpy(all.data + all.size, b.data, b.size);
        all.size += b.size;
    }
    add_int(&all, CLOSE);
    for (seed = 1; seed <= 2000; seed++)
        odd += rig_spoil(LA_PROTO_PMGR, all.data, all.size, seed);
    ok(odd == 0, "2,000 spoilt conversations");
}

int main(void)
{
    test_operations();
    test_ahead();
    test_abort();
    test_refusals();
    test_largest();
    test_differ();
    test_missing();
    test_spoilt();
    return test_end();
}
