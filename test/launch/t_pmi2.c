/* t_pmi2.c - PMI-2: every command, threads, node attributes that are waited for, odd frames. */
/* Promise 95. */
#include "engine_rig.h"

#define HELLO "cmd=init pmi_version=2 pmi_subversion=0\n"
#define HELLOED "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"

/* A frame around text, padded on the right or on the left. */
static char *frame(const char *text, int left)
{
    static char out[2][70000];
    static int turn;
    char *to = out[turn++ % 2];

    snprintf(to, 70000, left ? "%6u%s" : "%-6u%s", (unsigned)strlen(text), text);
    return to;
}

static int says(struct rig_end end, const char *request)
{
    return rig_write(end, frame(request, 0)) == 0;
}

static int hears(struct rig_end end, const char *answer)
{
    return rig_read(end, *answer == '\0' ? "" : frame(answer, 0));
}

static int asks(struct rig_end end, const char *request, const char *answer)
{
    return says(end, request) && hears(end, answer);
}

static struct rig_end start(struct rig *g, uint32_t host, uint32_t rank)
{
    struct rig_end end = rig_connect(g, host, LA_PROTO_PMI, rank);
    char request[128], answer[256];

    snprintf(request, sizeof request, "cmd=fullinit;pmijobid=kvs_1;pmirank=%u;threaded=FALSE;", rank);
    snprintf(answer, sizeof answer,
             "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=%u;size=%u;appnum=0;"
             "debugged=FALSE;pmiverbose=FALSE;",
             rank, g->program.ranks);
    ok(rig_ask_line(end, HELLO, HELLOED) && asks(end, request, answer), "rank %u says init and fullinit",
       rank);
    return end;
}

static void test_facts(void)
{
    /* Goal: each command that one agent answers alone has exactly its answer, rc= always among it. */
    struct rig *g = rig_new(3, 2, 0, 0);
    struct rig_end a = start(g, 0, 1);

    ok(rig_heard(g, "init 1\n"), "the agent hears of it");
    ok(asks(a, "cmd=job-getid;", "cmd=job-getid-response;rc=0;jobid=kvs_1;"), "job-getid");
    ok(asks(a, "cmd=info-getjobattr;key=PMI_process_mapping;",
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));"), "the mapping");
    ok(asks(a, "cmd=info-getjobattr;key=universeSize;",
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=12;"),
       "the universe");
    la_engine_dead(g->hosts[0].engine, 2);
    ok(asks(a, "cmd=info-getjobattr;key=PMI_dead_processes;",
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=2;"), "the dead");
    ok(asks(a, "cmd=info-getjobattr;key=other;", "cmd=info-getjobattr-response;rc=0;found=FALSE;")
           && asks(a, "cmd=info-getjobattr;", "cmd=info-getjobattr-response;rc=0;found=FALSE;"), "no other");
    g->hosts[0].job.universe = -1;
    ok(asks(a, "cmd=info-getjobattr;key=universeSize;", "cmd=info-getjobattr-response;rc=0;found=FALSE;"),
       "an unknown universe");
    ok(asks(a, "cmd=name-publish;name=s;port=p;infokeycount=0;",
            "cmd=name-publish-response;rc=1;errmsg=not supported;")
           && asks(a, "cmd=name-unpublish;name=s;", "cmd=name-unpublish-response;rc=1;errmsg=not supported;")
           && asks(a, "cmd=name-lookup;name=s;",
                   "cmd=name-lookup-response;rc=1;found=FALSE;errmsg=not supported;"), "names: rc=1");
    ok(asks(a, "cmd=spawn;ncmds=1;preputcount=0;subcmd=p;maxprocs=1;argc=0;infokeycount=0;",
            "cmd=spawn-response;rc=1;errmsg=not supported;"), "spawn: rc=1");
    ok(asks(a, "cmd=job-connect;jobid=J;", "cmd=job-connect-response;rc=1;errmsg=not supported;"),
       "connect: rc=1");
    ok(asks(a, "cmd=dance;thrid=7;", "cmd=dance-response;thrid=7;rc=1;errmsg=unknown command;")
           && rig_heard(g, "note 1 PMI-2: unknown command dance\n"),
           "an unknown command is answered and noted");
    ok(asks(a, "cmd=finalize;", "cmd=finalize-response;rc=0;") && rig_heard(g, "finalize 1\n"), "finalize");
    rig_close(a);
    ok(!rig_heard(g, "ended"), "and the end of its stream");
    rig_free(g);
}

static void test_spawned(void)
{
    /* Goal: in a spawned job fullinit names the spawner, which is how the client knows. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct la_engine_ops ops;
    struct la_engine *first = g->hosts[0].engine;
    struct rig_end a;

    memset(&ops, 0, sizeof ops);
    ops.ctx = &g->hosts[0];
    ops.reply = rig_reply;
    ops.said_init = rig_init;
    ops.stream_ended = rig_ended;
    la_engine_free(first);
    ok(la_engine_new(&g->hosts[0].engine, &g->hosts[0].job, "kvs;0", &ops) == 0,
       "an engine of a spawned job");
    a = rig_connect(g, 0, LA_PROTO_PMI, 0);
    ok(rig_ask_line(a, HELLO, HELLOED)
           && asks(a, "cmd=fullinit;",
                   "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=1;"
                                       "appnum=0;debugged=FALSE;pmiverbose=FALSE;spawner-jobid=kvs;;0;"),
       "the spawner's name, with its ; doubled");
    rig_free(g);
}

static void test_exchange(void)
{
    /* Goal: kvs-fence is a barrier; puts are seen after it; ; and = in values come back; frames padded on
     * either side and in pieces of any size. */
    struct rig *g = rig_new(4, 2, 0, 0);
    struct rig_end r[4];
    const char *text;
    size_t piece, at, size;
    uint32_t i;
    int wrong = 0;

    for (i = 0; i < 4; i++)
        r[i] = start(g, i / 2, i);
    ok(asks(r[0], "cmd=kvs-put;key=k0;value=a;;b=;;;;;", "cmd=kvs-put-response;rc=0;"), "put of a;b=;;");
    ok(asks(r[3], "cmd=kvs-get;jobid=kvs_1;srcid=-1;key=k0;", "cmd=kvs-get-response;rc=0;found=FALSE;"),
       "not yet");
    for (i = 0; i < 3; i++)
        ok(asks(r[i], "cmd=kvs-fence;", ""), "rank %u is in the fence", i);
    text = frame("cmd=kvs-fence;", 1);
    for (at = 0; at < strlen(text); at++)
        rig_input(r[3], text + at, 1);
    for (i = 0; i < 4; i++)
        wrong += !hears(r[i], "cmd=kvs-fence-response;rc=0;");
    ok(wrong == 0, "all are out");
    for (piece = 1; piece < 60; piece++) {
        text = frame("cmd=kvs-get;jobid=kvs_1;srcid=-1;key=k0;", (int)piece % 2);
        size = strlen(text);
        for (at = 0; at < size; at += piece)
            rig_input(r[3], text + at, size - at < piece ? size - at : piece);
        wrong += !hears(r[3], "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=;;;;;");
    }
    ok(wrong == 0, "the value, asked for in pieces of 1 to 59 bytes");
    ok(asks(r[1], "cmd=kvs-get;jobid=other;srcid=-1;key=k0;", "cmd=kvs-get-response;rc=0;found=FALSE;")
           && asks(r[1], "cmd=kvs-get;key=k0;", "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b=;;;;;"),
       "another job's, and without a job");
    rig_free(g);
}

static void test_threads(void)
{
    /* Goal: requests with thrid get it back, in any order; a thread may put what another one waits for, also
     * while a third one is in a fence. */
    struct rig *g = rig_new(2, 2, 0, 0);
    struct rig_end a = start(g, 0, 0), b = start(g, 0, 1);

    ok(asks(a, "cmd=kvs-fence;thrid=1;", "") && asks(a, "cmd=info-getnodeattr;thrid=2;key=n;wait=TRUE;", ""),
       "one thread in a fence, one waits for a node attribute");
    ok(asks(a, "cmd=info-getnodeattr;thrid=3;key=n;wait=FALSE;",
            "cmd=info-getnodeattr-response;thrid=3;rc=0;found=FALSE;")
           && asks(b, "cmd=info-getnodeattr;key=n;", "cmd=info-getnodeattr-response;rc=0;found=FALSE;"),
       "without wait=TRUE the answer comes at once");
    ok(asks(a, "cmd=kvs-fence;thrid=4;",
            "cmd=kvs-fence-response;thrid=4;rc=1;errmsg=the rank is in an operation already;"),
            "a second fence");
    ok(asks(b, "cmd=info-putnodeattr;key=n;value=v;", "cmd=info-putnodeattr-response;rc=0;")
           && hears(a, "cmd=info-getnodeattr-response;thrid=2;rc=0;found=TRUE;value=v;"),
           "the attribute is put");
    ok(asks(b, "cmd=info-getnodeattr;key=n;wait=TRUE;",
            "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=v;"),
       "and is there");
    ok(asks(b, "cmd=kvs-get;key=n;", "cmd=kvs-get-response;rc=0;found=FALSE;"), "but is no key of the job");
    ok(asks(b, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;")
           && hears(a, "cmd=kvs-fence-response;thrid=1;rc=0;"), "the fence, with its thread");
    rig_free(g);
}

static void test_limits(void)
{
    /* Goal: keys to 64 bytes and values to 1,024, also if each byte is a ; and doubled. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);
    static char text[70000], value[3000];
    char key[66];

    memset(key, 'k', 65);
    key[65] = '\0';
    memset(value, ';', 2048);
    snprintf(text, sizeof text, "cmd=kvs-put;key=%s;value=v;", key);
    ok(asks(a, text, "cmd=kvs-put-response;rc=1;errmsg=key too long;"), "a key of 65");
    snprintf(text, sizeof text, "cmd=kvs-put;key=%s;value=%s;", key + 1, value);
    ok(asks(a, text, "cmd=kvs-put-response;rc=0;"), "one of 64, 1,024 times ;");
    snprintf(text, sizeof text, "cmd=kvs-get;key=%s;", key + 1);
    says(a, text);
    snprintf(text, sizeof text, "cmd=kvs-get-response;rc=0;found=TRUE;value=%s;", value);
    ok(hears(a, text), "come back");
    memset(value, 'v', 1025);
    value[1025] = '\0';
    snprintf(text, sizeof text, "cmd=kvs-put;key=k;value=%s;", value);
    ok(asks(a, text, "cmd=kvs-put-response;rc=1;errmsg=value too long;"), "1,025 are refused at the put");
    snprintf(text, sizeof text, "cmd=info-putnodeattr;key=k;value=%s;", value);
    ok(asks(a, text, "cmd=info-putnodeattr-response;rc=1;errmsg=value too long;"), "of the node, too");
    ok(asks(a, "cmd=kvs-put;key=PMI_x;value=1;",
            "cmd=kvs-put-response;rc=1;errmsg=keys that begin with PMI_ are the server's;"),
            "a key of the server");
    ok(asks(a, "cmd=kvs-put;value=1;", "cmd=kvs-put-response;rc=1;errmsg=no key;"), "no key");
    rig_free(g);
}

static void test_abort(void)
{
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = start(g, 0, 0);

    ok(asks(a, "cmd=abort;isworld=FALSE;msg=only me;", "") && !rig_heard(g, "abort"), "only this process");
    ok(asks(a, "cmd=abort;isworld=TRUE;msg=a;;b c;", "") && rig_heard(g, "a;b c\n"),
       "the world, with its text");
    rig_free(g);
}

static void test_port(void)
{
    /* Goal: over a port the rank is that of fullinit, taken once and only of this host. */
    struct rig *g = rig_new(3, 2, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE), b;

    ok(rig_ask_line(a, HELLO, HELLOED) && says(a, "cmd=fullinit;pmirank=1;threaded=FALSE;")
           && rig_heard(g, "init 1\n"), "rank 1");
    b = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    rig_write(b, HELLO);
    ok(!says(b, "cmd=fullinit;pmirank=1;") && rig_heard(g, "complain -1 "), "twice");
    b = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    rig_write(b, HELLO);
    ok(says(b, "cmd=fullinit;pmijobid=kvs_1;srcid=0;threaded=FALSE;") && rig_heard(g, "init 0\n"),
       "rank 0, as Slurm's library says it");
    b = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    rig_write(b, HELLO);
    ok(!says(b, "cmd=fullinit;pmirank=2;") && rig_heard(g, "complain -1 "), "of another host");
    b = rig_connect(g, 0, LA_PROTO_PMI_PORT, LA_NONE);
    rig_write(b, HELLO);
    ok(!says(b, "cmd=fullinit;") && rig_heard(g, "complain -1 "), "none");
    b = rig_connect(g, 0, LA_PROTO_PMI, 0);
    rig_write(b, HELLO);
    ok(!says(b, "cmd=fullinit;pmirank=1;") && rig_heard(g, "complain 0 "), "another than its descriptor's");
    rig_free(g);
}

static void test_garbage(void)
{
    static const char *const frames[] = { "abcdef", "      ", "-5    ", "1 2   ", "0     ", "999999",
                                          "4     cmd=", "5     cmd=x", "6     cmd=x", "8     key=v;x;",
                                          "11    cmd=a;b;c=d;", "6     xmd=x;", "7     cmd=x;;",
                                          "9     cmd=x;y=z" };
    size_t i;
    int wrong = 0;

    for (i = 0; i < sizeof frames / sizeof *frames; i++) {
        struct rig *g = rig_new(1, 1, 0, 0);
        struct rig_end a = rig_connect(g, 0, LA_PROTO_PMI, 0);

        rig_write(a, HELLO);
        rig_write(a, frame("cmd=fullinit;pmirank=0;", 0));
        if (i == 8) { /* one byte is missing: it is waited for */
            wrong += rig_write(a, frames[i]) != 0;
        } else if (rig_write(a, frames[i]) != PHX_EPROTO || !a.host->clients[a.client].hung_up) {
            printf("# taken: %s\n", frames[i]);
            wrong++;
        }
        rig_close(a);
        rig_free(g);
    }
    ok(wrong == 0, "%d frames that are none", (int)(sizeof frames / sizeof *frames));
}

static void test_random(void)
{
    /* Goal: no bytes make it crash. Method: frames of true length around random mixtures. */
    static const char *const pieces[] = { "cmd=", "kvs-put", ";", ";;", "=", "key=", "value=", "kvs-get",
                                          "thrid=",
                                          "kvs-fence", "info-getnodeattr", "wait=TRUE;", "x", "\x01", "abort",
                                          "finalize", "spawn", "fullinit" };
    uint32_t seed = 99, round, n;
    int strange = 0;

    for (round = 0; round < 3000; round++) {
        struct rig *g = calloc(1, sizeof *g);
        struct rig_end a;
        char text[1024] = "cmd=";

        g->hosts_count = 1;
        rig_host_quiet(g, 0, 1, 1);
        a = rig_connect(g, 0, LA_PROTO_PMI, 0);
        rig_write(a, HELLO);
        rig_write(a, frame("cmd=fullinit;pmirank=0;", 0));
        for (n = 0; n < 12; n++) {
            seed = seed * 1664525u + 1013904223u;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                     pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)]);
            if (n % 4 == 3) {
                int err = rig_write(a, frame(text, 0));

                strange += err != 0 && err != PHX_EPROTO;
                snprintf(text, sizeof text, "cmd=");
            }
        }
        rig_close(a);
        rig_free(g);
    }
    ok(strange == 0, "3,000 random conversations");
}

int main(void)
{
    test_facts();
    test_spawned();
    test_exchange();
    test_threads();
    test_limits();
    test_abort();
    test_port();
    test_garbage();
    test_random();
    return test_end();
}
