/* agent_spawn.c - a spawn on its way to the launcher, and the job that comes of it on its way down. */

/* Both may be larger than an event of the tree, so they travel in pieces, which come in order. A spawn that a
 * process asks for: the number of its job, the token of its engine, the bytes of la_spawn_encode. The
 * launcher makes a job of it and sends it down, whole, to all: each agent keeps its own slice. When all
 * agents of the job have said that its processes run the launcher answers to the agent that asked. */
#define _POSIX_C_SOURCE 200809L
#include "local.h"
#include "spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPAWN_PIECE ((size_t)8 * 1024)
#define SPAWN_MOST ((size_t)1 << 20)     /* bytes of a spawn; its codec takes a quarter of that */
#define SPAWN_JOB_MOST ((size_t)LA_BOOT_MOST)

/* At the launcher: the pieces of one agent so far. */
struct local_spawn {
    struct local_spawn *next;
    uint32_t from;
    struct la_queue data;
};

/* ---- Up ------------------------------------------------------------------------------------------ */

static void spawn_refuse(struct local_job *j, uint64_t token, const char *why)
{
    la_engine_spawned(la_ranks_engine(j->ranks), token, -1, NULL, why);
}

static void spawn_raise(struct la_local *l, const unsigned char *data, size_t size)
{
    for (; size > SPAWN_PIECE; data += SPAWN_PIECE, size -= SPAWN_PIECE)
        la_agent_raise(l, LA_UP_SPAWN, data, SPAWN_PIECE);
    la_agent_raise(l, LA_UP_SPAWN_END, data, size);
}

/* Processes of one host spawn one after the other: each has one request under way, and its pieces are queued
 * at once. */
void la_agent_ask_spawn(struct local_job *j, const struct la_spawn *s, uint64_t token)
{
    unsigned char *bytes;
    struct la_queue whole;
    unsigned char head[12];
    size_t size;
    int err = la_spawn_encode(s, &bytes, &size);

    memset(&whole, 0, sizeof whole);
    la_agent_put32(head, j->number);
    la_agent_put32(head + 4, (uint32_t)token);
    la_agent_put32(head + 8, (uint32_t)(token >> 32));
    if (err == 0)
        err = la_queue_add(&whole, head, sizeof head);
    if (err == 0)
        err = la_queue_add(&whole, bytes, size);
    free(bytes);
    if (err != 0)
        spawn_refuse(j, token, "out of memory");
    else if (j->of->root.spawn != NULL)
        j->of->root.spawn(j->of->root.ctx, 0, la_queue_first(&whole), whole.size);
    else
        spawn_raise(j->of, la_queue_first(&whole), whole.size);
    la_queue_free(&whole);
}

static struct local_spawn *spawn_of(struct la_local *l, uint32_t from)
{
    struct local_spawn *s = l->spawns;

    while (s != NULL && s->from != from)
        s = s->next;
    if (s != NULL)
        return s;
    s = (struct local_spawn *)calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->from = from;
    s->next = l->spawns;
    l->spawns = s;
    return s;
}

static void spawn_drop(struct la_local *l, struct local_spawn *s)
{
    struct local_spawn **at = &l->spawns;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    la_queue_free(&s->data);
    free(s);
}

/* A piece has come to the launcher. */
void la_agent_spawn_came(struct la_local *l, uint32_t from, int last, const void *data, size_t size)
{
    struct local_spawn *s = spawn_of(l, from);

    if (s == NULL || s->data.size + size > SPAWN_MOST || la_queue_add(&s->data, data, size) != 0) {
        la_agent_tell(l, LA_UP_ABORT, LA_NONE, 1, "no memory for a spawn");
        last = s != NULL;
    } else if (last) {
        l->root.spawn(l->root.ctx, from, la_queue_first(&s->data), s->data.size);
    }
    if (last)
        spawn_drop(l, s);
}

void la_agent_free_spawns(struct la_local *l)
{
    while (l->spawns != NULL)
        spawn_drop(l, l->spawns);
    la_queue_free(&l->coming);
}

/* ---- Down ---------------------------------------------------------------------------------------- */

void la_local_down_job(struct la_local *l, const void *data, size_t size)
{
    const unsigned char *at = (const unsigned char *)data;

    for (; size > SPAWN_PIECE; at += SPAWN_PIECE, size -= SPAWN_PIECE)
        la_agent_post(l, LA_ALL, LA_DOWN_JOB, at, SPAWN_PIECE);
    la_agent_post(l, LA_ALL, LA_DOWN_JOB_END, at, size);
}

/* The job is under way here; its parent's keys are there before its first process runs. */
static int spawn_start(struct la_local *l, struct local_job *j, char **preput)
{
    int err = la_cargo_apply(l->cargo, &j->own);

    if (err == 0)
        err = la_agent_make_job(l, j);
    for (; err == 0 && preput != NULL && preput[0] != NULL; preput += 2)
        la_engine_learn(la_ranks_engine(j->ranks), preput[0], preput[1]);
    return err;
}

/* One that comes when all is about to end is only counted. */
void la_agent_job_came(struct la_local *l, int last, const void *data, size_t size)
{
    struct local_job *j;
    char **preput = NULL;
    int err = l->coming.size + size > SPAWN_JOB_MOST ? PHX_ETOOBIG : la_queue_add(&l->coming, data, size);

    if (err == 0 && !last)
        return;
    l->jobs_seen += last != 0;
    j = (struct local_job *)calloc(1, sizeof *j);
    if (err == 0 && j == NULL)
        err = PHX_ENOMEM;
    if (err == 0)
        err = la_spawn_take_job(&j->own, &j->spawner, &preput, la_agent_self(l), la_queue_first(&l->coming),
                                l->coming.size);
    la_queue_free(&l->coming);
    if (err == 0 && !l->ending && !l->over && !l->orphan) {
        j->job = &j->own;
        j->number = l->jobs_seen - 1;
        err = spawn_start(l, j, preput);
        j = err == 0 ? NULL : j;
    }
    if (j != NULL)
        la_agent_free_job(j);
    la_text_list_drop(preput);
    if (err != 0)
        la_agent_tell(l, LA_UP_ABORT, LA_NONE, 1, "no memory for a spawned job");
}
