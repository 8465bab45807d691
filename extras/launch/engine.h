/* engine.h - what the processes of one host ask of their agent: PMI-1, PMI-2, PMGR and NLA over one
 * engine. */

/* A brain without I/O, one for each job and host. Each connection with a process is a *client*; its
 * protocol is a codec (pmi1.c, pmi2.c, pmgr.c, nlap.c) over the same engine. Bytes come in with
 * la_engine_input, answers leave through ops.reply, operations of the whole host through ops.enter, one
 * for all its ranks. */
#ifndef LA_ENGINE_H
#define LA_ENGINE_H

#include "coll.h"
#include "job.h"

#include <limits.h>

struct la_engine;

enum la_protocol {
    LA_PROTO_PMI,      /* over PMI_FD: version 1 or 2, the rank is known */
    LA_PROTO_PMI_PORT, /* over PMI_PORT: it says initack or a PMI-2 fullinit first */
    LA_PROTO_PMGR,     /* over MPIRUN_PORT */
    LA_PROTO_NLA       /* over NLA_FD, the rank is known; format in WIRE.md */
};

#define LA_NO_CODE INT_MIN /* an abort whose protocol has no exit code: the process's own status counts */

/* One block of a spawn (PMI-1 mcmd=spawn, PMI-2 cmd=spawn). Borrowed. */
struct la_spawn_block {
    uint32_t ranks;
    char **argv;               /* NULL-ended, argv[0] is execname */
    char **info;               /* key, value, key, value, NULL */
};
struct la_spawn {
    const struct la_spawn_block *blocks;
    uint32_t blocks_count;
    char **preput; /* key, value, ..., NULL */
};

enum la_naming { LA_PUBLISH, LA_UNPUBLISH, LA_FIND };

/* All must be set. Any call of the engine but la_engine_free may be made from inside them. */
struct la_engine_ops {
    void *ctx;
    /* Bytes for a client, copied; hangup closes it once they are out. */
    void (*reply)(void *ctx, uint32_t client, const void *data, size_t size);
    void (*hangup)(void *ctx, uint32_t client);
    /* All ranks of this host are in: to the tree. */
    void (*enter)(void *ctx, const struct la_coll *c, const struct la_record *records, size_t count);
    /* Every rank of this host has finalized or is gone: none will enter the operation `number` or a later
     * one. Said once, and never while an operation of this host is under way. */
    void (*left)(void *ctx, uint32_t number);
    /* A key to be told up at once (NLA, or lazy); one that this host does not have: la_engine_got answers.
     * */
    void (*put)(void *ctx, const char *key, const char *value);
    void (*get)(void *ctx, const char *key, uint64_t token);
    /* A message of NLA_Send to a rank of any host: copied; answered by la_engine_sent. And bytes for one
     * here come by la_engine_message. */
    void (*send)(void *ctx, uint32_t from, uint32_t to, uint64_t tag, const void *data, size_t size,
                 uint64_t token);
    /* A rank said init, or finalize, or its connection ended between the two. */
    void (*said_init)(void *ctx, uint32_t rank);
    void (*said_finalize)(void *ctx, uint32_t rank);
    void (*stream_ended)(void *ctx, uint32_t rank);
    void (*abort)(void *ctx, uint32_t rank, int code, const char *text); /* code may be LA_NO_CODE */
    void (*spawn)(void *ctx, uint32_t rank, const struct la_spawn *s, uint64_t token);
    void (*name)(void *ctx, enum la_naming what, const char *service, const char *port, uint64_t token);
    /* Ranks of this host went apart: a failure of the job. */
    void (*differ)(void *ctx, const struct la_coll *a, const struct la_coll *b);
    /* One line for people: garbage from a client and the like. The client is hung up: hangup is called,
     * too. rank: LA_NONE if the client has not said which it is. */
    void (*complain)(void *ctx, uint32_t rank, const char *text);
    /* One line for people about something odd; the client goes on. */
    void (*note)(void *ctx, uint32_t rank, const char *text);
};

/* job and its strings stay the caller's and unchanged while the engine lives; ranks of this host are those
 * of job->agents[0].runs. A push_limit of 0 is 16 MiB. spawner: the kvsname of the job that spawned this one,
 * or NULL; it is borrowed. 0, PHX_ENOMEM. */
int la_engine_new(struct la_engine **out, const struct la_job *job, const char *spawner,
                  const struct la_engine_ops *ops);
void la_engine_free(struct la_engine *e);

/* A new connection: a number for it, or a negative PHX_ error. rank: LA_NONE where it says so itself. */
int64_t la_engine_client(struct la_engine *e, enum la_protocol protocol, uint32_t rank);
/* Bytes of a client, any piece of any message: all of them are taken. 0; PHX_EPROTO: garbage (complained
 * of, the client is to be closed); PHX_ENOMEM (as well). The engine may call ops meanwhile. */
int la_engine_input(struct la_engine *e, uint32_t client, const void *data, size_t size);
/* End of file or an error: the number is free again. */
void la_engine_closed(struct la_engine *e, uint32_t client);

/* The process of a rank has ended, or a rank of another host that will enter nothing any more: this host's
 * operations go on without it (a job that ends for it anyway frees the engine instead). */
void la_engine_gone(struct la_engine *e, uint32_t rank);
void la_engine_dead(struct la_engine *e, uint32_t rank); /* anywhere: for PMI_dead_processes, in order */

/* From the tree. */
void la_engine_record(struct la_engine *e, const struct la_coll *c, const struct la_record *r);
void la_engine_done(struct la_engine *e, const struct la_coll *c);
/* Is a rank of this host inside an operation that is not done? 1 (*c is the operation), or 0. */
int la_engine_waiting(const struct la_engine *e, struct la_coll *c);
int la_engine_lookup(struct la_engine *e, const char *key, const char **value); /* this agent's cache */
void la_engine_learn(struct la_engine *e, const char *key, const char *value);
void la_engine_got(struct la_engine *e, const char *key, const char *value, uint64_t token);
/* `to` is a rank of this host. 0; PHX_ELIMIT: more waits for that rank than is kept (complained of);
 * PHX_EFAILED: the rank is gone; PHX_ENOMEM, PHX_EINVAL. */
int la_engine_message(struct la_engine *e, uint32_t from, uint32_t to, uint64_t tag, const void *data,
                      size_t size);
void la_engine_sent(struct la_engine *e, uint64_t token, int result);
/* rc 0: started, kvsname of the new job; else why not (both may be NULL otherwise). */
void la_engine_spawned(struct la_engine *e, uint64_t token, int rc, const char *kvsname, const char *why);
/* found: the service was there, or was published; port: of LA_FIND, else it may be NULL. */
void la_engine_named(struct la_engine *e, uint64_t token, int found, const char *port);

struct la_engine_stats {
    uint64_t puts, gets, gets_here; /* asked; answered from this agent's cache */
    uint64_t barriers;
    size_t store_bytes;             /* keys and values kept */
    uint32_t inited, finalized;     /* ranks of this host */
};
void la_engine_stats(const struct la_engine *e, struct la_engine_stats *out);

#endif
