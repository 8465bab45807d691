/* codec.h - what the engine of a host and the codecs of its four protocols share. */

/* A codec takes messages off the front of what a client has sent and answers through the engine. A client
 * that waits for an operation or for an answer is not read (PMI-1, PMGR: one request at a time). */
#ifndef LA_CODEC_H
#define LA_CODEC_H

#include "engine.h"
#include "store.h"

struct la_client;

/* An answer that somebody else has to give. Its place and its serial number make a token. */
enum la_asked { LA_ASKED_NOTHING, LA_ASKED_KEY, LA_ASKED_NODE_KEY, LA_ASKED_NAME, LA_ASKED_SPAWN,
                LA_ASKED_SEND };
#define LA_MARK 32 /* a PMI-2 thrid or an NLA request number, with its NUL */
struct la_pending {
    enum la_asked what;
    uint32_t client;
    uint32_t serial;
    char mark[LA_MARK];
    char *key; /* LA_ASKED_KEY, LA_ASKED_NODE_KEY: owned */
};

/* How an operation ended for one client. */
struct la_result {
    struct la_coll coll;
    int error; /* 0; PHX_EFAILED: a contribution is missing (zeros stand there); PHX_ENOMEM */
    const unsigned char *data;
    size_t size;
};

struct la_codec {
    /* Takes one message: how many bytes, 0: it is not whole yet or must wait, PHX_EPROTO (said by
     * la_engine_garbage), PHX_ENOMEM. data may be changed as far as it is taken. */
    int64_t (*take)(struct la_engine *e, struct la_client *c, unsigned char *data, size_t size);
    /* The client waits, and more has come: look for an abort or a finalize in it. Or NULL. */
    void (*peek)(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size);
    void (*done)(struct la_engine *e, struct la_client *c, const struct la_result *r);
    /* The answer to something pending: result 0 and text (a value, a port, a kvsname), or an error. */
    void (*answer)(struct la_engine *e, struct la_client *c, const struct la_pending *p, int result,
                   const char *text);
    /* The stream has ended behind these bytes, which are no whole message. Or NULL. */
    void (*ended)(struct la_engine *e, struct la_client *c, const unsigned char *data, size_t size);
    void (*closed)(struct la_engine *e, struct la_client *c); /* or NULL: frees c->state */
};
extern const struct la_codec la_pmi1_codec, la_pmi2_codec, la_pmgr_codec, la_nlap_codec;

struct la_message { /* of nla_send, waits for its receiver */
    struct la_message *next;
    uint32_t from;
    uint64_t tag;
    size_t size;
    unsigned char data[];
};

struct la_rank { /* a rank of this host */
    uint32_t rank;
    uint8_t gone, finalized, inited;
    uint8_t finalize_told; /* to the agent, which may be before it takes effect */
    uint8_t speaking;     /* connections that said init and not finalize */
    uint8_t taken[4];     /* by enum la_protocol: there is or was a client */
    uint8_t in;           /* in the operation under way */
    uint32_t in_client;   /* which client of the rank is told, or LA_NONE */
    unsigned char *data;  /* the contribution, owned */
    size_t size;
    uint32_t nla_client;  /* or LA_NONE */
    struct la_message *first, *last;
    size_t waiting_bytes; /* in messages */
};

enum la_wait { LA_WAIT_NOTHING, LA_WAIT_OPERATION, LA_WAIT_ANSWER };

struct la_client {
    uint32_t number;
    enum la_protocol protocol;
    const struct la_codec *codec;
    struct la_rank *rank; /* NULL: not known yet */
    enum la_wait wait;
    uint8_t inited, finalized;
    uint8_t broken;  /* garbage was complained of: nothing is read any more */
    uint8_t ended;   /* its stream has ended */
    uint8_t closed;  /* freed when nobody is inside it */
    uint8_t aborted; /* it has said abort: said once */
    uint8_t queued;  /* in the list of clients with input */
    struct la_client *next_ready;
    unsigned char *in; /* what has come and is not taken: in_size bytes from in_from on */
    size_t in_from, in_size, in_capacity;
    char mark[LA_MARK]; /* of the operation */
    uint32_t pending;   /* answers outstanding */
    void *state;        /* of the codec */
    size_t pushed;      /* NLA: bytes of messages that it has been given and has not taken yet */
};

#define LA_PENDING_MOST 64 /* of one client */

struct la_operation {
    struct la_coll coll;
    uint8_t open;      /* a rank of this host is in, or a record has come */
    uint8_t entered;   /* this host is in */
    uint8_t no_memory;
    unsigned char *result;
    size_t result_size;
    unsigned char *had; /* a bit for each block of the result */
    uint64_t blocks, had_count;
};

struct la_engine {
    const struct la_job *job;
    const char *spawner;
    struct la_engine_ops ops;
    struct la_store *store, *node_store; /* keys of the job; PMI-2's node attributes */
    struct la_rank *ranks; /* of this host, ascending */
    uint32_t ranks_count;
    uint32_t number; /* of the next operation, or of the one under way */
    struct la_operation op;
    struct la_client **clients;
    uint32_t clients_capacity;
    struct la_client *ready, *ready_last;
    uint32_t depth;  /* calls from outside that are under way */
    uint32_t closed; /* clients to be freed */
    uint32_t absent; /* all ranks before this one are in, have finalized or are gone */
    uint8_t left;
    uint8_t lazy; /* keys go up at once, and a key that is not here is asked for */
    uint32_t notes;
    struct la_pending *pending;
    uint32_t pending_capacity, serial;
    char dead[980]; /* PMI_dead_processes: it must fit into an answer of PMI-1 */
    size_t dead_size;
    uint8_t dead_full;
    struct la_engine_stats stats;
};

/* ---- engine.c, for operation.c ---- */

void la_engine_begin(struct la_engine *e); /* around every call from outside */
void la_engine_end(struct la_engine *e);

int la_engine_draining(const struct la_client *c); /* has it sent what waits for an operation? */

/* ---- operation.c, for engine.c ---- */

void la_operation_check(struct la_engine *e); /* a rank is in, gone or has finalized: is the host in? */
void la_operation_free(struct la_operation *op);

/* ---- engine.c, for the codecs ---- */

void la_engine_reply(struct la_engine *e, struct la_client *c, const void *data, size_t size);
/* Complains in the name of the client ("rank 3: ..." is the agent's to add) and gives PHX_EPROTO. */
int la_engine_garbage(struct la_engine *e, struct la_client *c, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* A line about something odd, a bounded number of times. */
void la_engine_note(struct la_engine *e, struct la_client *c, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

struct la_rank *la_engine_rank(struct la_engine *e, uint32_t rank); /* of this host, or NULL */
/* The client is this rank: 0; PHX_EPROTO (complained): no rank of this host, or taken. */
int la_engine_identify(struct la_engine *e, struct la_client *c, int64_t rank);
void la_engine_init_said(struct la_engine *e, struct la_client *c);
void la_engine_finalize_said(struct la_engine *e, struct la_client *c);
/* A finalize stands behind requests that still wait: the agent hears of it now, so that the end of the
 * process
 * is no surprise. */
void la_engine_finalize_seen(struct la_engine *e, struct la_client *c);
void la_engine_abort_said(struct la_engine *e, struct la_client *c, int code, const char *text);

/* The client's rank enters an operation with a contribution (copied; c->rank is set). The number is filled
 * in here. 0; PHX_EAGAIN: the rank is in one already; PHX_ESTATE: the rank has finalized; PHX_ENOMEM. */
int la_engine_enter(struct la_engine *e, struct la_client *c, uint32_t kind, uint32_t root, uint64_t size,
                    const void *data, size_t data_size);

/* Puts a key for all: 0; PHX_EACCES: it is the server's; else as la_store_put. now: told up at once. */
int la_engine_put(struct la_engine *e, const char *key, const char *value, int now);
/* A key that is known here, or is the server's: its value, borrowed; NULL: not here (*ask: another agent may
 * know it: la_engine_ask). */
const char *la_engine_key(struct la_engine *e, const char *key, int climb, int *ask);
/* A new thing to wait for: 0 and its token; PHX_ELIMIT: too many; PHX_ENOMEM. */
int la_engine_pend(struct la_engine *e, struct la_client *c, enum la_asked what, const char *mark,
                   const char *key, uint64_t *token);
/* Asks for a key above: 0 (answer follows, perhaps at once), PHX_ELIMIT, PHX_ENOMEM. */
int la_engine_ask(struct la_engine *e, struct la_client *c, const char *mark, const char *key);
/* A node attribute has been put: those that wait for it are answered. */
void la_engine_node_put(struct la_engine *e, const char *key, const char *value);
/* The client need not wait any more; what it has sent meanwhile is read. */
void la_engine_resume(struct la_engine *e, struct la_client *c);
#endif
