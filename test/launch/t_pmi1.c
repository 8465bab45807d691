/* t_pmi1.c - PMI-1 as clients speak it: every command, pieces, limits, odd lines, spawn, names. */
/* Promise 94. */
#include "engine_rig.h"

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define INITED "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"

static struct rig_end start(struct rig *g, uint32_t host, uint32_t rank)
{
    struct rig_end end = rig_connect(g, host, LA_PROTO_PMI, rank);

    ok(rig_ask_line(end, INIT, INITED), "rank %u says init", rank);
    return end;
}

static void test_facts(void)
{
    /* Goal: each command that is answered from what the agent knows has exactly its documented answer. */
    struct rig *g = rig_new(3, 2, 0, 0);
    struct rig_end a = start(g, 0, 1);

    ok(rig_heard(g, "init 1"), "the agent hears of the init");
    ok(rig_ask_line(a, "cmd=get_maxes\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"),
       "get_maxes");
    ok(rig_ask_line(a, "cmd=get_appnum\n", "cmd=appnum appnum=0\n"), "get_appnum");
    ok(rig_ask_line(a, "cmd=get_my_kvsname\n", "cmd=my_kvsname kvsname=kvs_1\n"), "get_my_kvsname");
    ok(rig_ask_line(a, "cmd=get_universe_size\n", "cmd=universe_size size=12\n"), "get_universe_size");
    ok(rig_ask_line(a, "  cmd=get   kvsname=kvs_1  key=PMI_process_mapping \n",
                    "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n"),
                    "the mapping, with blanks to spare");
    ok(rig_ask_line(a, "cmd=get kvsname=kvs_1 key=PMI_dead_processes\n",
                    "cmd=get_result rc=0 msg=success value=\n"),
       "nobody is dead");
    la_engine_dead(g->hosts[0].engine, 3);
    la_engine_dead(g->hosts[0].engine, 17);
    ok(rig_ask_line(a, "cmd=get kvsname=kvs_1 key=PMI_dead_processes\n",
                    "cmd=get_result rc=0 msg=success value=3,17\n"), "two are, in order");
    ok(rig_ask_line(a, "cmd=get kvsname=kvs_1 key=PMI_other\n",
                    "cmd=get_result rc=-1 msg=key_PMI_other_not_found value=unknown\n"),
                    "no other key of the server");
    g->hosts[0].job.mapping = NULL;
    ok(rig_ask_line(a, "cmd=get kvsname=kvs_1 key=PMI_process_mapping\n",
                    "cmd=get_result rc=-1 msg=key_PMI_process_mapping_not_found value=unknown\n"),
       "a mapping that is too long to be told");
    ok(rig_ask_line(a, "cmd=create_kvs\n", "cmd=newkvs rc=-1 msg=not_supported\n")
           && rig_ask_line(a, "cmd=destroy_kvs kvsname=x\n", "cmd=kvs_destroyed rc=-1 msg=not_supported\n")
           && rig_ask_line(a, "cmd=getbyidx kvsname=x idx=0\n",
                           "cmd=getbyidx_results rc=-1 msg=not_supported\n"),
       "commands of before 1.1");
    ok(rig_ask_line(a, "cmd=dance a=b\n", "cmd=dance_result rc=-1 msg=unknown_command\n") && rig_heard(g,
        "note 1"),
       "an unknown command is answered and noted");
    ok(rig_ask_line(a, "cmd=finalize\n", "cmd=finalize_ack\n") && rig_heard(g, "finalize 1"), "finalize");
    rig_close(a);
    ok(!rig_heard(g, "ended"), "the end of the stream after finalize is normal");
    rig_free(g);
}

static void test_versions(void)
{
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI, 0);

    ok(rig_ask_line(a, "cmd=init pmi_version=3 pmi_subversion=0\n",
                    "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"),
                    "version 3: ours, and no");
    ok(rig_ask_line(a, "cmd=init pmi_version=1 pmi_subversion=2\n", INITED), "version 1.2: ours is 1.1");
    rig_close(a);
    ok(rig_heard(g, "ended 0"), "the end of the stream before finalize is told");
    rig_free(g);
}

static void test_exchange(void)
{
    /* Goal: put, barrier, get between two hosts; a put is seen on its own host at once, elsewhere after the
     * barrier; nothing waits but the barrier. Only some ranks put. */
    struct rig *g = rig_new(4, 2, 0, 0);
    struct rig_end r[4];
    uint32_t i;
    int good = 1;

    for (i = 0; i < 4; i++)
        r[i] = start(g, i / 2, i);
    ok(rig_ask_line(r[0], "cmd=put kvsname=kvs_1 key=k0 value=a=b=c\n",
                    "cmd=put_result rc=0 msg=success\n"), "put");
    ok(rig_ask_line(r[3], "cmd=put kvsname=kvs_1 key=k3 value=\n", "cmd=put_result rc=0 msg=success\n"),
       "empty put");
    ok(rig_ask_line(r[2], "cmd=put kvsname=kvs_1 key=k2\n", "cmd=put_result rc=0 msg=success\n"),
       "without a value");
    ok(rig_ask_line(r[1], "cmd=get kvsname=kvs_1 key=k0\n", "cmd=get_result rc=0 msg=success value=a=b=c\n"),
       "seen on its host at once");
    ok(rig_ask_line(r[1], "cmd=get kvsname=kvs_1 key=k3\n",
                    "cmd=get_result rc=-1 msg=key_k3_not_found value=unknown\n"), "not yet elsewhere");
    for (i = 0; i < 3; i++)
        ok(rig_ask_line(r[i], "cmd=barrier_in\n", ""), "rank %u waits in the barrier", i);
    rig_write(r[3], "cmd=barrier_in\n");
    for (i = 0; i < 4; i++)
        good &= rig_read(r[i], "cmd=barrier_out\n");
    ok(good && g->operations == 1, "all are out, after one operation");
    for (i = 0; i < 4; i++)
        good &= rig_ask_line(r[i], "cmd=get kvsname=kvs_1 key=k3\ncmd=get key=k0 kvsname=kvs_1\n",
        "cmd=get_result rc=0 msg=success value=\ncmd=get_result rc=0 msg=success value=a=b=c\n");
    ok(good, "all keys everywhere, two requests in one read");
    ok(rig_ask_line(r[0], "cmd=get kvsname=other key=k0\n",
                    "cmd=get_result rc=-1 msg=kvs_not_found value=unknown\n")
           && rig_ask_line(r[0], "cmd=put kvsname=other key=k value=v\n",
                           "cmd=put_result rc=-1 msg=kvs_not_found\n"),
       "another kvs");
    rig_free(g);
}

static void test_pieces(void)
{
    /* Goal: requests in pieces of any size have the same answers. Method: one conversation of one rank in
     * pieces of 1 to 80 bytes, barriers and all in one stream. */
    static const char talk[] = INIT "cmd=get_maxes\ncmd=put kvsname=kvs_1 key=a value=1\ncmd=barrier_in\n"
                                    "cmd=get kvsname=kvs_1 key=a\ncmd=barrier_in\ncmd=barrier_in\n"
                                    "cmd=get kvsname=kvs_1 key=b\ncmd=finalize\n";
    static const char answers[] = INITED
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
        "cmd=put_result rc=0 msg=success\ncmd=barrier_out\n"
        "cmd=get_result rc=0 msg=success value=1\ncmd=barrier_out\ncmd=barrier_out\n"
        "cmd=get_result rc=-1 msg=key_b_not_found value=unknown\ncmd=finalize_ack\n";
    size_t piece, at, size = sizeof talk - 1;
    int wrong = 0, later;

    for (later = 0; later < 2; later++)
        for (piece = 1; piece <= 80; piece++) {
            struct rig *g = calloc(1, sizeof *g);
            struct rig_end a;

            g->later = later;
            g->hosts_count = 1;
            g->program.ranks = 1;
            rig_host_quiet(g, 0, 1, 1);
            a = rig_connect(g, 0, LA_PROTO_PMI, 0);
            for (at = 0; at < size; at += piece) {
                wrong += rig_input(a, talk + at, size - at < piece ? size - at : piece) != 0;
                rig_turn(g);
            }
            rig_turn(g);
            rig_turn(g);
            wrong += !rig_read(a, answers);
            rig_free(g);
        }
    ok(wrong == 0, "the same answers for pieces of 1 to 80 bytes");
}

static void test_many_barriers(void)
{
    /* Goal: ten thousand barriers in one stream need no depth of the stack and are all answered. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);
    char *all = malloc(3000 * 15 + 1);
    size_t i;

    for (i = 0; i < 3000; i++)
        memcpy(all + i * 15, "cmd=barrier_in\n", 16);
    ok(rig_write(a, all) == 0 && g->operations == 3000, "3,000 barriers");
    ok(a.host->clients[a.client].size == 3000 * 16, "3,000 answers");
    free(all);
    rig_free(g);
}

static void make_put(char *to, size_t room, const char *key, size_t length)
{
    int used = snprintf(to, room, "cmd=put kvsname=kvs_1 key=%s value=", key);

    memset(to + used, 'v', length);
    memcpy(to + used + length, "\n", 2);
}

static void test_limits(void)
{
    /* Goal: the longest value comes back in a line of 1,023 bytes; one byte more is refused at the put, also
     * when the line is longer than a line may be; a key of 64 bytes is refused. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);
    char *line = malloc(70000), key[65];

    make_put(line, 70000, "k", 984);
    ok(strlen(line) <= 1023 && rig_ask_line(a, line, "cmd=put_result rc=0 msg=success\n"),
       "984 bytes are taken");
    ok(rig_write(a, "cmd=get kvsname=kvs_1 key=k\n") == 0 && a.host->clients[a.client].size == 1023,
       "and make a line of 1,023");
    a.host->clients[a.client].size = 0;
    make_put(line, 70000, "k", 985);
    ok(rig_ask_line(a, line, "cmd=put_result rc=-1 msg=value_too_long\n"), "985 are refused");
    make_put(line, 70000, "k", 1100);
    ok(rig_ask_line(a, line, "cmd=put_result rc=-1 msg=value_too_long\n"), "and 1,100");
    make_put(line, 70000, "k", 60000);
    ok(rig_ask_line(a, line, "cmd=put_result rc=-1 msg=value_too_long\n"), "and 60,000");
    memset(key, 'k', 64);
    key[64] = '\0';
    make_put(line, 70000, key, 1);
    ok(rig_ask_line(a, line, "cmd=put_result rc=-1 msg=key_too_long\n"), "a key of 64 bytes");
    make_put(line, 70000, key + 1, 1);
    ok(rig_ask_line(a, line, "cmd=put_result rc=0 msg=success\n"), "one of 63");
    ok(rig_ask_line(a, "cmd=put kvsname=kvs_1 key=PMI_x value=1\n",
                    "cmd=put_result rc=-1 msg=keys_that_begin_with_PMI__are_the_server's\n"),
                    "a key of the server");
    ok(rig_ask_line(a, "cmd=put kvsname=kvs_1 value=1\n", "cmd=put_result rc=-1 msg=no_key\n"),
       "no key at all");
    make_put(line, 70000, "k", 66000);
    ok(rig_write(a, line) == PHX_EPROTO && a.host->clients[a.client].hung_up,
       "a put of 66,000 bytes is garbage");
    free(line);
    rig_free(g);
}

static void test_garbage(void)
{
    /* Goal: what is no PMI is complained of once, with the rank, and the client is hung up; no answer, no
     * crash. Method: each line alone on a client of its own. */
    static const char *const lines[] = {
        "\n", "hello\n", "cmd\n", "key=1 cmd=init\n", "cmd=init\n", "cmd=init pmi_version=x\n",
        "cmd=put key\n",
        "cmd=get kvsname=kvs_1 key=a\tb\n", "cmd=initack pmiid=0\n", "mcmd=spawn\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=2\nargcnt=0\nendcmd\n",
        "mcmd=spawn\nnprocs=0\nexecname=x\ntotspawns=1\nspawnssofar=1\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\nargcnt=2\narg1=a\nendcmd\n",
        "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\nargcnt=999999999\nendcmd\n",
        ("mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\npreput_num=1\n"
         "preput_key_0=k\nendcmd\n"),
        "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\nspawnssofar=1\nendcmd\ncmd=get_maxes\n",
        "mcmd=spawn\nno pair\nendcmd\n", "cmd=finalize\ncmd=barrier_in\n"
    };
    size_t i, k;
    int wrong = 0;
    char words[1024] = "cmd=x";

    for (i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct rig *g = rig_new(1, 1, 0, 0);
        struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI, 0);
        int err = rig_write(a, lines[i]);

        if (err != PHX_EPROTO || !a.host->clients[a.client].hung_up || strstr(g->said, "complain 0 ") == NULL
            || rig_write(a, INIT) != PHX_EPROTO) {
            printf("# taken: %s\n", lines[i]);
            wrong++;
        }
        rig_close(a);
        rig_free(g);
    }
    ok(wrong == 0, "%d kinds of garbage", (int)(sizeof lines / sizeof *lines));
    for (k = 0; k < 70; k++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " a=b");
    snprintf(words + strlen(words), sizeof words - strlen(words), "\n");
    {
        struct rig *g = rig_new(1, 1, 0, 0);
        struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI, 0);
        char *longer = malloc(2000);

        ok(rig_write(a, words) == PHX_EPROTO, "70 words");
        memset(longer, 'x', 1999);
        longer[1999] = '\0';
        memcpy(longer, "cmd=get ", 8);
        rig_close(a);
        rig_free(g);
        g = rig_new(2, 2, 0, 0);
        a = rig_connect(g, 0, LA_PROTO_PMI, 1);
        ok(rig_input(a, longer, 1022) == 0 && rig_input(a, longer, 1) == PHX_EPROTO
               && rig_heard(g, "complain 1 PMI: a line of more than 1023 bytes"), "a line without an end");
        a = rig_connect(g, 0, LA_PROTO_PMI, 0);
        ok(rig_write(a, "cmd=barrier_in\n") == 0, "rank 0 waits");
        for (k = 0; k < 40; k++)
            rig_input(a, longer, 1999);
        ok(rig_heard(g, "complain 0 sends on and on"), "one that sends on while it waits");
        free(longer);
        rig_free(g);
    }
}

static void test_random(void)
{
    /* Goal: no bytes make it crash or hang. Method: random pieces of true lines, cut and mixed. */
    static const char *const pieces[] = { "cmd=", "put ", "get ", "key=", "value=", "\n", "mcmd=spawn\n",
                                          "endcmd\n",
                                          "kvsname=kvs_1 ", "barrier_in", "finalize", "argcnt=", "nprocs=1\n",
                                          "execname=a\n", "totspawns=2\n", "spawnssofar=1\n", "=", " ",
                                          "\x01", "17",
                                          "abort exitcode=", "initack pmiid=", "init pmi_version=2\n" };
    uint32_t seed = 12345, round, n;
    int strange = 0;

    for (round = 0; round < 3000; round++) {
        struct rig *g = calloc(1, sizeof *g);
        struct rig_end a;

        g->hosts_count = 1;
        rig_host_quiet(g, 0, 1, 1);
        a = rig_connect(g, 0, round % 2 ? LA_PROTO_PMI : LA_PROTO_PMI_PORT, round % 2 ? 0 : LA_NONE);
        for (n = 0; n < 40; n++) {
            int err;

            seed = seed * 1664525u + 1013904223u;
            err = rig_write(a, pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
            strange += err != 0 && err != PHX_EPROTO;
        }
        rig_close(a);
        rig_free(g);
    }
    ok(strange == 0, "3,000 random conversations");
}

static void test_port(void)
{
    /* Goal: over a port four lines answer initack; a rank is taken once, and only ranks of the host. */
    struct rig *g = rig_new(3, 2, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE), b, c, d;

    ok(rig_ask_line(a, "cmd=initack pmiid=1\n",
                    "cmd=initack\ncmd=set size=3\ncmd=set rank=1\ncmd=set debug=0\n"),
       "initack");
    ok(rig_ask_line(a, INIT, INITED) && rig_heard(g, "init 1"), "then init");
    b = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    ok(rig_write(b, "cmd=initack pmiid=1\n") == PHX_EPROTO && rig_heard(g,
        "complain -1 it says that it is rank 1"),
       "a rank twice");
    c = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    ok(rig_write(c, "cmd=initack pmiid=2\n") == PHX_EPROTO && rig_heard(g, "not of this host"),
       "a rank of elsewhere");
    d = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    ok(rig_write(d, INIT) == PHX_EPROTO, "init without initack");
    rig_close(a);
    ok(rig_heard(g, "ended 1"), "its end");
    ok(la_engine_client(g->hosts[0].engine, LA_PROTO_PMI, 2) == PHX_EINVAL
           && la_engine_client(g->hosts[0].engine, LA_PROTO_PMI, LA_NONE) == PHX_EINVAL, "no such rank");
    rig_free(g);
}

static void test_leaving(void)
{
    /* Goal: barriers count ranks that live and have not finalized, open barriers too; a host without any is
     * told once and is in nobody's way. */
    struct rig *g = rig_new(4, 2, 0, 0);
    struct rig_end r[4];
    uint32_t i;
    struct la_coll c;

    for (i = 0; i < 4; i++)
        r[i] = start(g, i / 2, i);
    ok(la_engine_waiting(g->hosts[0].engine, &c) == 0, "nobody waits");
    rig_write(r[0], "cmd=barrier_in\n");
    rig_write(r[2], "cmd=barrier_in\n");
    ok(la_engine_waiting(g->hosts[0].engine, &c) == 1 && c.number == 0 && c.rank == 0,
       "rank 0 waits in number 0");
    ok(rig_ask_line(r[3], "cmd=finalize\n", "cmd=finalize_ack\n") && rig_read(r[0], ""), "rank 3 finalizes");
    la_engine_gone(g->hosts[0].engine, 1);
    ok(rig_read(r[0], "cmd=barrier_out\n") && rig_read(r[2], "cmd=barrier_out\n"),
       "rank 1 is gone: the rest is in");
    rig_write(r[0], "cmd=barrier_in\n");
    g->said[0] = '\0';
    la_engine_gone(g->hosts[1].engine, 2);
    ok(strstr(g->said, "left 1 1\n") != NULL && rig_read(r[0], "cmd=barrier_out\n"),
       "a host is out of all later ones");
    rig_close(r[2]);
    ok(rig_heard(g, "ended 2"), "a stream that ends early is told");
    ok(rig_ask_line(r[0], "cmd=barrier_in\n", "cmd=barrier_out\n"), "the last rank is in alone");
    rig_write(r[0], "cmd=finalize\n");
    ok(rig_heard(g, "left 0 3\n"), "and then its host, too");
    rig_free(g);
}

static void test_abort(void)
{
    /* Goal: an abort is heard with its code, also from a client that is in a barrier. */
    struct rig *g = rig_new(2, 2, 0, 0);
    struct rig_end a = start(g, 0, 0), b = start(g, 0, 1);

    ok(rig_ask_line(a, "cmd=abort exitcode=-7\n", "") && rig_heard(g, "abort 0 -7"),
       "abort, without an answer");
    rig_write(b, "cmd=barrier_in\n");
    ok(rig_write(b, "cmd=abort exit") == 0 && !rig_heard(g, "abort"), "half an abort in a barrier");
    ok(rig_write(b, "code=300\n") == 0 && rig_heard(g, "abort 1 300"), "the other half");
    rig_free(g);
}

static void test_names(void)
{
    /* Goal: publish, unpublish, lookup carry both info= and rc=, good and bad. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);
    struct la_engine *e = g->hosts[0].engine;

    ok(rig_ask_line(a, "cmd=publish_name service=s port=p=1#x\ncmd=lookup_name service=s\n", "")
           && rig_heard(g, "name 0 s p=1#x\n"), "publish: asked, and the next one waits");
    la_engine_named(e, g->asked[0], 1, NULL);
    ok(rig_read(a, "cmd=publish_result info=ok rc=0 msg=success\n") && rig_heard(g, "name 2 s -\n"),
       "published");
    la_engine_named(e, g->asked[1], 1, "p=1#x");
    ok(rig_read(a, "cmd=lookup_result port=p=1#x info=ok rc=0 msg=success\n"), "found");
    rig_write(a, "cmd=unpublish_name service=s\n");
    la_engine_named(e, g->asked[2], 1, NULL);
    ok(rig_heard(g, "name 1 s -\n") && rig_read(a, "cmd=unpublish_result info=ok rc=0 msg=success\n"),
       "unpublished");
    rig_write(a, "cmd=publish_name service=s port=p\n");
    la_engine_named(e, g->asked[3], 0, NULL);
    ok(rig_read(a, "cmd=publish_result info=fail rc=1 msg=service_already_published\n"), "taken already");
    rig_write(a, "cmd=lookup_name service=t\n");
    la_engine_named(e, g->asked[4], 0, NULL);
    ok(rig_read(a, "cmd=lookup_result info=fail rc=1 msg=service_not_found\n"), "not there");
    la_engine_named(e, g->asked[4], 1, "again");
    ok(rig_read(a, ""), "an answer twice is dropped");
    ok(rig_ask_line(a, "cmd=lookup_name\n", "cmd=lookup_result info=fail rc=1 msg=service_or_port_missing\n"),
       "no service named");
    rig_write(a, "cmd=lookup_name service=t\n");
    rig_close(a);
    la_engine_named(e, g->asked[5], 1, "late");
    ok(!a.host->clients[a.client].hung_up, "an answer for a client that is gone is dropped");
    rig_free(g);
}

static void test_spawn(void)
{
    /* Goal: blocks of a spawn, in pieces, arrive as programs with arguments, info and preput pairs. */
    static const char two[] = "mcmd=spawn\nnprocs=4\nexecname=./worker\ntotspawns=2\nspawnssofar=1\n"
        "arg1=first argument, with blanks and = as they are\narg2=\nargcnt=2\npreput_num=1\n"
                              "preput_key_0=PARENT\npreput_val_0=a b=c\ninfo_num=1\ninfo_key_0=wdir\n"
                              "info_val_0=/tmp\nendcmd\n"
                              "mcmd=spawn\nnprocs=1\nexecname=other\ntotspawns=2\nspawnssofar=2\nargcnt=0\n"
                              "preput_num=1\npreput_key_0=PARENT\npreput_val_0=a b=c\nendcmd\n";
    static const char heard[] = "spawn 0 2 {PARENT} {a b=c} | 4 <./worker> "
        "<first argument, with blanks and = as they are> <> [wdir] [/tmp] | 1 <other>\n";
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);
    size_t piece, at;
    int wrong = 0;

    for (piece = 1; piece < 60; piece++) {
        for (at = 0; at < sizeof two - 1; at += piece)
            wrong += rig_input(a, two + at, sizeof two - 1 - at < piece ? sizeof two - 1 - at : piece) != 0;
        wrong += strstr(g->said, heard) == NULL || !rig_read(a, "");
        g->said[0] = '\0';
        la_engine_spawned(g->hosts[0].engine, g->asked[0], piece % 2 ? 0 : PHX_EFILE, "kvs_2",
                          "no such file");
        wrong += !rig_read(a,
                           piece % 2
           ? "cmd=spawn_result rc=0\n" : "cmd=spawn_result rc=-1 msg=no_such_file\n");
        g->asked_count = 0;
    }
    ok(wrong == 0, "two blocks in pieces of 1 to 59 bytes");
    rig_write(a, "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\nspawnssofar=1\nendcmd\nmcmd=spa");
    rig_close(a);
    ok(rig_heard(g, "ended 0"), "a client that goes in the middle of a spawn");
    rig_free(g);
}

int main(void)
{
    test_facts();
    test_versions();
    test_exchange();
    test_pieces();
    test_many_barriers();
    test_limits();
    test_garbage();
    test_random();
    test_port();
    test_leaving();
    test_abort();
    test_names();
    test_spawn();
    return test_end();
}
