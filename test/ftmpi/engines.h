/* engines.h - several processes of a job as engines in one process, over loopback, stepped by the test. */
#ifndef ENGINES_H
#define ENGINES_H

#include "test.h"

#include <unistd.h>

#include "coll.h"
#include "comm.h"
#include "engine.h"
#include "match.h"
#include "request.h"
#include "type.h"

#define ENGINES_MOST 12

struct engines {
    int count;
    struct ftm *at[ENGINES_MOST];
    struct test_heap heap[ENGINES_MOST];
    struct phx_alloc alloc[ENGINES_MOST];
    char path[64];
    int ended; /* how often one said that the job ends */
    char line[300];
};

static void engines_ended(void *user, int code, const char *line)
{
    struct engines *s = user;

    (void)code;
    s->ended++;
    snprintf(s->line, sizeof s->line, "%s", line != NULL ? line : "");
}

static void engines_turn(struct engines *s)
{
    int i;

    for (i = 0; i < s->count; i++)
        if (s->at[i] != NULL)
            ftm_step(s->at[i], phx_now_us(), NULL, 0);
}

/* Turns until met says 1 or 20 s are over. */
static int engines_until(struct engines *s, int (*met)(struct engines *s, void *arg), void *arg)
{
    uint64_t end = phx_now_us() + 20000000;

    while (!met(s, arg)) {
        if (phx_now_us() > end)
            return 0;
        engines_turn(s);
    }
    return 1;
}

static int engines_are_ready(struct engines *s, void *arg)
{
    int i, ready = 0;

    (void)arg;
    for (i = 0; i < s->count; i++)
        ready += ftm_ready(s->at[i]);
    return ready == s->count;
}

/* how is taken over but for who they are. */
static int engines_begin(struct engines *s, int count, const struct ftm_config *how)
{
    const char *base = getenv("TMPDIR");
    struct ftm_config c = *how;
    char hub[80];
    int i, err;

    memset(s, 0, sizeof *s);
    s->count = count;
    snprintf(s->path, sizeof s->path, "%.30s/ftm_XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(s->path) == NULL)
        return 0;
    snprintf(hub, sizeof hub, "unix://%s/hub", s->path);
    for (i = 0; i < count; i++) {
        s->alloc[i].alloc = test_alloc;
        s->alloc[i].world = &s->heap[i];
        c.alloc = &s->alloc[i];
        c.rank = i;
        c.size = count;
        c.hubs = hub;
        c.listen = "tcp://127.0.0.1:0";
        c.user = s;
        c.on_end = engines_ended;
        err = ftm_new(&s->at[i], &c, phx_now_us());
        if (!check(err == 0, "rank %d begins: %d", i, err))
            return 0;
    }
    return check(engines_until(s, engines_are_ready, NULL), "all have the table");
}

static void engines_finish(struct engines *s)
{
    char hub[80];
    int i, dirty = 0;

    for (i = 0; i < s->count; i++) {
        ftm_free(s->at[i]);
        s->at[i] = NULL;
        dirty += !test_heap_is_clean(&s->heap[i]);
    }
    check(dirty == 0, "no memory is left behind");
    snprintf(hub, sizeof hub, "%s/hub", s->path);
    remove(hub);
    check(rmdir(s->path) == 0, "no path is left behind");
}

static inline struct ftm_type *engines_type(struct engines *s, int rank, int handle)
{
    return ftm_table_get(&s->at[rank]->handles, handle, FTM_TYPE);
}

/* `count` integers of each rank. */
static inline struct ftm_blocks_of engines_blocks(struct engines *s, int rank, int *base, size_t count)
{
    struct ftm_blocks_of b;

    memset(&b, 0, sizeof b);
    b.base = (char *)base;
    b.count = count;
    b.type = engines_type(s, rank, MPI_INT);
    return b;
}

#endif
