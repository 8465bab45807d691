/* t_memory.c - the engine without memory: each allocation of a conversation fails once. */

/* The sources are included, with an allocator that can fail instead of the library's. */
#include "test.h"

static long memory_calls, memory_fails; /* the call that fails, counted from 1; 0: none */

static int memory_fails_now(void)
{
    return ++memory_calls == memory_fails;
}

static void *memory_malloc(size_t size)
{
    return memory_fails_now() ? NULL : malloc(size);
}

static void *memory_calloc(size_t count, size_t size)
{
    return memory_fails_now() ? NULL : calloc(count, size);
}

static void *memory_realloc(void *old, size_t size)
{
    return memory_fails_now() ? NULL : realloc(old, size);
}

#include "engine_rig.h"

#define malloc(size) memory_malloc(size)
#define calloc(count, size) memory_calloc(count, size)
#define realloc(old, size) memory_realloc(old, size)
#define copy_of copy_of_in_engine
#include "extras/launch/engine.c"
#undef copy_of
#include "extras/launch/operation.c"
#undef KEEP_INPUT
#include "extras/launch/store.c"
#undef malloc
#undef calloc
#undef realloc

#define INIT "cmd=init pmi_version=1 pmi_subversion=1\n"
#define RANKS 4

/* Two hosts of two ranks put, fence and get: how many ranks got all the right answers. Those that did not
 * must
 * have been told: an answer that says no, or the end of their stream with a line. */
static int run(struct rig *g, int *untold)
{
    static const char good[] = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
                               "cmd=put_result rc=0 msg=success\ncmd=barrier_out\n"
                               "cmd=get_result rc=0 msg=success value=v\n";
    struct rig_end end[RANKS];
    struct rig_client *c;
    char line[256];
    uint32_t i;
    int right = 0;

    for (i = 0; i < RANKS; i++) {
        end[i] = rig_connect(g, i / 2, LA_PROTO_PMI, i);
        if (end[i].client == RIG_CLIENTS - 1) { /* the agent says that it has no memory for a client */
            la_engine_gone(end[i].host->engine, i);
            continue;
        }
        snprintf(line, sizeof line, "%scmd=put kvsname=kvs_1 key=k%u value=v\ncmd=barrier_in\n", INIT, i);
        rig_write(end[i], line);
        snprintf(line, sizeof line, "cmd=get kvsname=kvs_1 key=k%u\n", (i + 1) % RANKS);
        rig_write(end[i], line);
        c = &end[i].host->clients[end[i].client];
        if (c->hung_up) {
            rig_close(end[i]);
            la_engine_gone(end[i].host->engine, i);
        }
    }
    for (i = 0; i < RANKS; i++) {
        c = &end[i].host->clients[end[i].client];
        if (c->out != NULL && strcmp(c->out, good) == 0)
            right++;
        else if (!c->hung_up && (c->out == NULL || strstr(c->out, "rc=-1") == NULL)
                 && end[i].client != RIG_CLIENTS - 1)
            (*untold)++;
    }
    return right;
}

/* A job in which the allocation number `fails` does; -1: the engines themselves were refused. */
static int one(long fails, int *untold)
{
    struct rig *g = calloc(1, sizeof *g);
    int right = -1, err = 0;
    uint32_t i;

    g->hosts_count = 2;
    g->program.ranks = RANKS;
    memory_calls = 0;
    memory_fails = fails;
    for (i = 0; i < 2 && err == 0; i++)
        err = rig_host_quiet(g, i, 2, RANKS);
    if (err == 0)
        right = run(g, untold);
    else if (err != PHX_ENOMEM)
        (*untold)++;
    rig_free(g);
    return right;
}

int main(void)
{
    long fails, calls;
    int right, untold = 0, refused = 0, less = 0;

    ok(one(0, &untold) == RANKS && untold == 0, "with memory all is well");
    calls = memory_calls;
    for (fails = 1; fails <= calls; fails++) {
        right = one(fails, &untold);
        refused += right < 0;
        less += right >= 0 && right < RANKS;
    }
    ok(untold == 0, "each of %ld allocations fails once: whoever has not the right answer was told so",
       calls);
    ok(refused > 0 && less > 0, "%d engines were refused, %d conversations had less", refused, less);
    return test_end();
}
