/* t_engine.c - several hosts of a job: what all see after a fence, the lazy cache, ranks that go, odd
 * calls. */
#include "engine_rig.h"

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"

static void start_all(struct rig *g, struct rig_end *end, uint32_t ranks)
{
    uint32_t i;
    int wrong = 0;

    for (i = 0; i < ranks; i++) {
        end[i] = rig_connect(g, rig_host_of(g, i)->index, LA_PROTO_PMI, i);
        wrong += rig_write(end[i], INIT) != 0;
        wrong += !rig_read(end[i], "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    }
    ok(wrong == 0, "%u ranks on %u hosts say init", ranks, g->hosts_count);
}

static int put(struct rig_end end, const char *key, const char *value)
{
    char line[1024];

    snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=%s value=%s\n", key, value);
    return rig_ask_line(end, line, "cmd=put_result rc=0 msg=success\n");
}

static int finds(struct rig_end end, const char *key, const char *value)
{
    char line[1024], answer[1024];

    snprintf(line, sizeof line, "cmd=get kvsname=kvs_1 key=%s\n", key);
    if (value == NULL)
        snprintf(answer, sizeof answer, "cmd=get_result rc=-1 msg=key_%s_not_found value=unknown\n", key);
    else
        snprintf(answer, sizeof answer, "cmd=get_result rc=0 msg=success value=%s\n", value);
    return rig_ask_line(end, line, answer);
}

static int barrier(struct rig_end *end, uint32_t ranks)
{
    uint32_t i;
    int good = 1;

    for (i = 0; i < ranks; i++)
        good &= rig_write(end[i], "cmd=barrier_in\n") == 0;
    for (i = 0; i < ranks; i++)
        good &= rig_read(end[i], "cmd=barrier_out\n");
    return good;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

#define MANY 12

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* What host h has of a key. */
static const char *at_host(struct rig *g, uint32_t h, const char *key)
{
    const char *value;

    return la_engine_lookup(g->hosts[h].engine, key, &value) ? value : "(none)";
}

static int same_everywhere(struct rig *g, const char *key)
{
    uint32_t h;

    for (h = 1; h < g->hosts_count; h++)
        if (strcmp(at_host(g, h, key), at_host(g, 0, key)) != 0)
            return 0;
    return 1;
}

static int random_round(struct rig *g, struct rig_end *end, uint32_t *seed, uint32_t round)
{
    char key[32], value[32], line[128];
    uint32_t rank, n;
    int wrong = 0;

    for (rank = 0; rank < MANY; rank++) {
        /* Puts between the barriers of others: hosts enter one after the other. */
        for (n = random_below(seed, 4); n > 0; n--) {
            snprintf(key, sizeof key, "k%u", random_below(seed, 8));
            snprintf(value, sizeof value, "%u-%u", random_below(seed, 1000), round);
            snprintf(line, sizeof line, "cmd=put kvsname=kvs_1 key=%s value=%s\n", key, value);
            wrong += !rig_ask_line(end[rank], line, "cmd=put_result rc=0 msg=success\n");
            wrong += strcmp(at_host(g, end[rank].host->index, key), "(none)") == 0;
        }
        wrong += rig_write(end[rank], "cmd=barrier_in\n") != 0;
    }
    for (rank = 0; rank < MANY; rank++)
        wrong += !rig_read(end[rank], "cmd=barrier_out\n");
    for (n = 0; n < 8; n++) {
        snprintf(key, sizeof key, "k%u", n);
        wrong += !same_everywhere(g, key);
    }
    return wrong;
}

static void test_random_puts(void)
{
    /* Goal: whoever puts what and how often, after a fence every host has the same value of every key.
     * Method:
     * 300 rounds of random puts of 8 keys by 12 ranks on 4 hosts; records come in another order to each. */
    struct rig *g = rig_new(MANY, 3, 0, 0);
    struct rig_end end[MANY];
    uint32_t seed = 7, round;
    int wrong = 0;

    start_all(g, end, MANY);
    for (round = 0; round < 300; round++)
        wrong += random_round(g, end, &seed, round);
    ok(wrong == 0 && g->operations == 300, "the same everywhere, 300 times");
    rig_free(g);
}

static void test_only_new(void)
{
    /* Goal: a fence carries what is new since the last one, once, whoever put it. */
    struct rig *g = rig_new(4, 2, 0, 0);
    struct rig_end end[4];

    start_all(g, end, 4);
    g->later = 1;
    ok(put(end[0], "a", "1") && put(end[1], "b", "2") && put(end[1], "b", "3"),
       "two keys, one of them twice");
    rig_write(end[0], "cmd=barrier_in\n");
    ok(g->records_count == 0 && g->hosts[0].enters == 0,
       "nothing leaves before all ranks of the host are in");
    rig_write(end[1], "cmd=barrier_in\n");
    rig_write(end[2], "cmd=barrier_in\n");
    rig_write(end[3], "cmd=barrier_in\n");
    ok(g->records_count == 2 && g->records_bytes == 6, "two records of three bytes");
    rig_turn(g);
    ok(rig_read(end[0], "cmd=barrier_out\n") && rig_read(end[3], "cmd=barrier_out\n"), "out");
    rig_write(end[0], "cmd=barrier_in\n");
    rig_write(end[1], "cmd=barrier_in\n");
    ok(g->records_count == 0 && g->hosts[0].enters == 2, "the next one carries nothing");
    rig_free(g);
}

/* ---- Lazy ------------------------------------------------------------------------------------ */

static void test_lazy(void)
{
    /* Goal: with the lazy cache a put goes up at once, a get climbs once and is answered from here then. */
    struct rig *g = rig_new(4, 2, 1, 0);
    struct rig_end end[4];
    struct la_engine_stats s;

    start_all(g, end, 4);
    ok(put(end[2], "a", "1") && g->puts == 1 && g->records_count == 0, "a put goes up");
    ok(barrier(end, 4) && g->records_bytes == 0, "a fence carries nothing");
    ok(finds(end[0], "a", "1") && g->gets == 0, "host 0 has it from the way up");
    ok(finds(end[3], "a", "1") && g->gets == 0, "host 1 has it, too");
    ok(put(end[0], "b", "2") && finds(end[2], "b", "2") && g->gets == 1, "another is asked for");
    ok(finds(end[3], "b", "2") && g->gets == 1, "once");
    ok(finds(end[3], "c", NULL) && g->gets == 2, "one that nobody has");
    la_engine_stats(g->hosts[1].engine, &s);
    ok(s.puts == 1 && s.gets == 4 && s.gets_here == 2 && s.barriers == 2 && s.inited == 2,
       "and all is counted");
    rig_free(g);
}

static void test_shared_question(void)
{
    /* Goal: ranks of a host that ask for one key share a question, also when the one that asked it is gone
     * before the answer; requests behind it wait. */
    struct rig *g = rig_new(3, 3, 1, 0);
    struct rig_end end[3];

    start_all(g, end, 3);
    g->board = 0;
    rig_write(end[0], "cmd=get kvsname=kvs_1 key=k\ncmd=get_appnum\n");
    rig_write(end[1], "cmd=get kvsname=kvs_1 key=k\n");
    rig_write(end[2], "cmd=get kvsname=kvs_1 key=k\n");
    ok(g->gets == 1 && rig_read(end[0], ""), "one question, and nobody is answered");
    ok(rig_write(end[0], "cmd=abort exitcode=3\n") == 0 && rig_heard(g, "abort 0 3 "),
       "an abort is heard meanwhile");
    rig_close(end[1]);
    la_engine_got(g->hosts[0].engine, "k", "v", g->asked[0]);
    ok(rig_read(end[0], "cmd=get_result rc=0 msg=success value=v\ncmd=appnum appnum=0\n")
           && rig_read(end[2], "cmd=get_result rc=0 msg=success value=v\n") && rig_read(end[1], ""),
       "those that are there are answered");
    la_engine_got(g->hosts[0].engine, "k", "v", g->asked[0]);
    la_engine_got(g->hosts[0].engine, "other", NULL, 12345);
    ok(rig_read(end[2], ""), "answers that nobody waits for are dropped");
    rig_free(g);
}

static void test_push_limit(void)
{
    /* Goal: what would go above the limit goes up key by key instead, and every host knows that it has to ask
     * from then on. */
    struct rig *g = rig_new(4, 2, 0, 1000);
    struct rig_end end[4];
    char value[301];

    memset(value, 'v', 300);
    value[300] = '\0';
    start_all(g, end, 4);
    ok(put(end[0], "a", "1") && barrier(end, 4) && g->puts == 0, "little is pushed");
    ok(finds(end[3], "a", "1") && finds(end[3], "b", NULL) && g->gets == 0,
       "and a key that is not there is nowhere");
    ok(put(end[0], "b", value) && put(end[1], "c", value) && g->puts == 0, "600 bytes for two hosts");
    ok(barrier(end, 4) && g->puts == 2 && g->records_bytes < 20, "go up on their own");
    ok(finds(end[3], "c", value) && g->gets == 1 && finds(end[2], "c", value) && g->gets == 1,
       "and are asked for");
    ok(put(end[3], "d", "4") && g->puts == 3 && barrier(end, 4) && finds(end[0], "d", "4"),
       "so are later ones");
    rig_free(g);
}

/* ---- Clients --------------------------------------------------------------------------------- */

static void test_two_protocols(void)
{
    /* Goal: a rank that speaks PMI and NLA is in one operation at a time: the second waits for the first. */
    static const char nla_barrier[] = "\x15\0\0\0\1\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    struct rig *g = rig_new(2, 2, 0, 0);
    struct rig_end pmi[2], nla[2];
    uint32_t i;

    start_all(g, pmi, 2);
    for (i = 0; i < 2; i++) {
        nla[i] = rig_connect(g, 0, LA_PROTO_NLA, i);
        rig_write(nla[i], "NLA1");
        rig_input(nla[i], nla_barrier, 25);
        rig_write(pmi[i], "cmd=barrier_in\n");
    }
    ok(g->operations == 2 && rig_read(pmi[0], "cmd=barrier_out\n") && rig_read(pmi[1], "cmd=barrier_out\n"),
       "an NLA barrier, then a PMI barrier");
    rig_write(pmi[0], "cmd=finalize\n");
    rig_input(nla[0], nla_barrier, 25);
    rig_input(nla[1], nla_barrier, 25);
    ok(g->operations == 3, "who has finalized PMI goes on with NLA");
    rig_input(nla[0], "\1\0\0\0\6", 5);
    rig_close(nla[0]);
    rig_write(pmi[1], "cmd=barrier_in\n");
    ok(g->operations == 4, "who has finalized both is out");
    rig_free(g);
}

static void test_numbers(void)
{
    /* Goal: a client's number is free once it is closed; calls for closed ones do nothing. */
    struct rig *g = rig_new(2, 2, 0, 0);
    struct la_engine *e = g->hosts[0].engine;
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE), b = rig_connect(g, 0,
        LA_PROTO_PMI_PORT, LA_NONE);

    ok(a.client != b.client && la_engine_client(e, LA_PROTO_PMI, 0) >= 0, "three clients");
    ok(la_engine_client(e, LA_PROTO_PMI, 0) == PHX_EDUPLICATE, "a rank twice");
    rig_close(a);
    rig_close(a);
    ok(rig_write(a, INIT) == PHX_EINVAL && la_engine_input(e, 4711, "x", 1) == PHX_EINVAL, "input of nobody");
    ok(la_engine_client(e, LA_PROTO_PMI_PORT, LA_NONE) == (int64_t)a.client, "the number is given again");
    la_engine_closed(e, 4711);
    la_engine_gone(e, 4711);
    ok(rig_write(b, "") == 0, "no bytes are no news");
    rig_free(g);
}

static void test_close_inside(void)
{
    /* Goal: an agent that fails to write may close the client inside the reply. */
    struct rig *g = rig_new(2, 2, 0, 0);
    struct rig_end end[2];

    start_all(g, end, 2);
    g->close_on_reply = 1;
    ok(rig_write(end[0], "cmd=get_appnum\ncmd=get_appnum\n") == 0, "closed in the first answer");
    ok(rig_read(end[0], "cmd=appnum appnum=0\n") && rig_heard(g, "ended 0"),
       "the second request is not read");
    la_engine_gone(g->hosts[0].engine, 0);
    rig_write(end[1], "cmd=barrier_in\ncmd=barrier_in\n");
    ok(rig_read(end[1], "cmd=barrier_out\n") && g->operations == 2,
       "closed in the answer to a barrier: the next one, which it has sent, still counts");
    la_engine_gone(g->hosts[0].engine, 1);
    ok(rig_heard(g, "left 0 2\n"), "and the host is out");
    rig_free(g);
}

static void test_dead(void)
{
    /* Goal: the list of the dead stays within an answer and ends with a whole number. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a;
    struct rig_client *c;
    uint32_t i;

    start_all(g, &a, 1);
    for (i = 0; i < 1000; i++)
        la_engine_dead(g->hosts[0].engine, 1000 + i);
    c = &a.host->clients[a.client];
    rig_write(a, "cmd=get kvsname=kvs_1 key=PMI_dead_processes\n");
    ok(c->size <= 1023 && strstr(c->out, "value=1000,1001,1002,") != NULL && strcmp(c->out + c->size - 6,
                                                                                    ",1195\n") == 0,
       "196 of 1,000 dead fit");
    rig_free(g);
}

static void test_all_go(void)
{
    /* Goal: whenever ranks end, in whatever order and wherever the barrier stands, those that live get out.
     * Method: 200 random orders of barriers, finalizes and deaths. */
    uint32_t seed = 3, round, i, k, n;
    int wrong = 0;

    for (round = 0; round < 200; round++) {
        struct rig *g = calloc(1, sizeof *g);
        struct rig_end end[MANY];
        int state[MANY] = { 0 }; /* 0: free; 1: in the barrier; 2: out for ever */
        uint64_t before;

        g->hosts_count = 4;
        g->program.ranks = MANY;
        for (i = 0; i < 4; i++)
            wrong += rig_host_quiet(g, i, 3, MANY) != 0;
        for (i = 0; i < MANY; i++) {
            end[i] = rig_connect(g, i / 3, LA_PROTO_PMI, i);
            rig_write(end[i], INIT);
        }
        for (n = 0; n < 100; n++) {
            i = random_below(&seed, MANY);
            before = g->operations;
            if (state[i] == 0 && random_below(&seed, 10) > 0) {
                state[i] = 1;
                rig_write(end[i], "cmd=barrier_in\n");
            } else if (state[i] == 0 && random_below(&seed, 2) == 0) {
                state[i] = 2;
                rig_write(end[i], "cmd=finalize\n");
            } else if (random_below(&seed, 10) == 0) {
                state[i] = 2;
                if (random_below(&seed, 2) == 0)
                    rig_close(end[i]);
                la_engine_gone(end[i].host->engine, i);
            }
            for (k = 0; k < MANY && state[k] != 0; k++)
                continue;
            for (i = 0; g->operations > before && i < MANY; i++)
                state[i] = state[i] == 1 ? 0 : state[i];
            /* If all that live were in, they are out now. */
            for (i = 0; k == MANY && i < MANY; i++)
                wrong += state[i] == 1;
        }
        rig_free(g);
    }
    ok(wrong == 0, "200 random ends");
}

int main(void)
{
    test_random_puts();
    test_only_new();
    test_lazy();
    test_shared_question();
    test_push_limit();
    test_two_protocols();
    test_numbers();
    test_close_inside();
    test_dead();
    test_all_go();
    return test_end();
}
