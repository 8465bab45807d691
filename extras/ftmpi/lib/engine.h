/* engine.h - one process of an MPI job as a state machine: it never blocks, prints or exits. */
#ifndef FTM_ENGINE_H
#define FTM_ENGINE_H

#include "fault.h"
#include "list.h"
#include "mem.h"
#include "notice.h"
#include "phoenix.h"
#include "proc.h"
#include "table.h"
#include "vote.h"
#include "wire.h"

struct ftm_arbiter;
struct ftm_comm;
struct ftm_match;
struct ftm_schedule;

/* Everything that a process is told when it starts. Zero what you do not use; strings and key are only read
 * by ftm_new. */
struct ftm_config {
    const struct phx_os *os; /* NULL: the real one */
    const struct phx_alloc *alloc;
    uint32_t job; /* 26 bits */
    int rank, size, life;
    int host, site;
    struct ftm_modes modes; /* of MPI_COMM_WORLD at first; without an arbiter all 0 */
    uint64_t arbiter;   /* its name; 0: there is none, and rank 0 sends the TABLE */
    const char *hubs;   /* addresses to join, separated by blanks; NULL with size 1: a world of one */
    const char *listen; /* own address, or NULL */
    const void *key;
    size_t key_size;
    int tcp;             /* 1: no UNIX sockets and no rings within a host */
    int ring;            /* 1: rings */
    size_t eager_limit;  /* bytes; above it a message is a rendezvous; 0: the default, as all below */
    size_t eager_budget; /* bytes that a receiver may hold for one sender */
    size_t piece;        /* bytes of each message of a rendezvous */
    unsigned asks;       /* rendezvous to one receiver that are not answered */
    uint64_t patience_us; /* how long a call looks before it sleeps */
    int crowded;          /* this host has fewer cores than ranks: between looks the core is given away */
    uint64_t cut_us;      /* without a way to the arbiter for so long: the job is over; 0: never */
    const char *host_name; /* for people */
    int pmi_fd;            /* of job.c: the launcher's, or 0 */
    void *user;
    /* The job ends, with this exit code, and this line says why (NULL: it was said elsewhere). Called inside
     * ftm_step or a call, when the engine is whole; it may end the process. */
    void (*on_end)(void *user, int code, const char *line);
    /* For tests: a message of an agreement or a recovery is about to leave for that process (a place in
     * procs; -1: the arbiter). 1: it has been taken, and does not leave. With it, and hubs NULL, there is no
     * node. */
    int (*on_protocol)(void *user, int proc, uint64_t tag, const void *data, size_t size);
    /* FTMPI_TRACE: a change of state, a notice, a step of a recovery. NULL: nobody wants to know. */
    void (*on_trace)(void *user, const char *line);
};

#define FTM_EAGER_LIMIT 65536
#define FTM_EAGER_BUDGET (4u << 20)
#define FTM_EAGER_OVERHEAD 160 /* charged for each message above its bytes: what an item takes */
#define FTM_PIECE (1u << 20)
#define FTM_ASKS 4096

/* What came for contexts that are not here yet, and what is here. */
struct ftm_contexts {
    struct ftm_match **sorted; /* by context */
    size_t count, capacity;
    uint32_t next; /* the lowest (even) context that may still be made here; the counter of the wire */
    struct ftm_list early;
    struct { uint32_t from, to; } *led; /* communicators whose successor is another one */
    size_t led_count, led_capacity;
    struct ftm_match *last; /* found the last time */
    uint64_t stamp;
};

/* The attached buffer of MPI_Bsend. Segments in it are the requests that hold them, in order of offset. */
struct ftm_bsend {
    char *buffer;
    size_t size;
    struct ftm_list segments;
};

/* How the start stands. */
struct ftm_opening {
    struct ftm_arbiter *arbiter; /* of rank 0 where the launcher has none */
    int told;     /* HELLO has left */
    int ready;    /* TABLE is here */
    int finished; /* all have called MPI_Finalize */
    struct phx_id where;  /* the arbiter's node ... */
    int known;            /* ... which has been seen */
    uint64_t cut_at;      /* it is too late then to find a way to it; 0: there is a way */
};

/* Who has failed, and what the program was told of it: of fault.c. */
struct ftm_faults {
    int *failed; /* places in procs, in the order of the arbiter */
    size_t count, capacity;
    size_t given_up; /* requests that ended before their messages did: what is late of these is nobody's */
    size_t troubles; /* failures, and recoveries and revocations: 0: nothing has happened yet */
    int latest;      /* whose failure the program was told of last; -1: nobody's */
    int fresh;       /* it was noted before the error handler was called */
    char text[320];
};

/* Looks into rings before one of Phoenix. A rank that shares its core hardly looks: whom it waits for may
 * need that core. */
#define FTM_LOOKS(e) ((e)->config.crowded ? 10 : 100)

struct ftm_counters {
    uint64_t arrived; /* messages, and outcomes */
    uint64_t copied;  /* bytes of payload that libftmpi copied */
    uint64_t waiting; /* bytes that unexpected messages hold now */
    uint64_t waiting_peak;
    uint64_t sent;    /* messages given to Phoenix */
    uint64_t rings;   /* looks that found something in a ring */
};

struct ftm {
    struct ftm_config config;
    struct ftm_mem mem;
    struct ftm_table handles; /* what the program has handles of */
    struct ftm_table flights; /* struct ftm_request by the numbers that messages carry */
    struct ftm_proc **procs;  /* those of the start by seat, and then who was started again */
    size_t procs_count, procs_capacity;
    int self_proc;            /* this process's place in procs */
    struct ftm_contexts contexts;
    struct ftm_bsend bsend;
    struct ftm_opening start;
    struct ftm_notice notice;
    struct ftm_counters counters;
    struct ftm_faults fault;
    struct ftm_comm *world, *self;
    struct ftm_schedule *schedules; /* of schedule.c */
    struct ftm_votes votes;
    struct ftm_list recoveries;     /* struct ftm_comm that are recovered */
    struct ftm_list early;          /* of recover.c: what is for generations that are not here yet */
    size_t early_bytes;             /* in it */
    int early_again;                /* of recover.c: it is looked through; 2: once more */
    struct ftm_rebuild *rebuild;    /* of rebuild.c, or NULL */
    void *attr;                     /* of attr.c */
    phx *node;                      /* NULL: a world of one */
    struct ftm_mem node_mem;        /* its memory */
    struct phx_alloc node_alloc;
    uint64_t refused_us;            /* since then it got none; 0: it did the last time */
    struct ftm_list local;          /* messages to this process itself */
    struct ftm_list owing;          /* struct ftm_proc that something could not be sent to yet */
    struct ftm_list rings_in, rings_out; /* in use */
    struct ftm_list requests;       /* all of them */
    struct ftm_list agreeing;       /* those of ulfm.c that are not done */
    struct ftm_list pool;           /* requests to be used again */
    int pooled;
    char *scratch;                  /* config.eager_limit bytes, to pack small messages in */
    int ended; /* the job has: nothing goes on */
    int end_code;
    int end_told;
    int end_has_line;
    char end_line[256];
    int sends;    /* that are not done */
    uint64_t flying; /* bytes of the rendezvous that were matched and are not done */
    int awaited;  /* somebody waits for Phoenix's acknowledgement of what came: no company for it */
    unsigned turns; /* of pump.c: in which something came through rings */
    int looks;      /* of pump.c: into rings for one look of Phoenix, from FTM_LOOKS(e) on */
    int misses;     /* of pump.c: messages that may still be missed before more looks are tried */
    uint64_t made_us, now; /* when it was made, and stepped last */
    uint64_t row_us; /* of pump.c: when something was started last */
};

/* Makes a process: node, name, listener, hubs; predefined objects. Returns 0, or an MPI class or (negative)
 * enum phx_error, and *out is NULL. It may communicate when ftm_ready says 1. */
int ftm_new(struct ftm **out, const struct ftm_config *config, uint64_t now);
int ftm_ready(const struct ftm *e);

/* Does what is due, and then what completed requests woke: schedules run here, and so do operations that the
 * program defined, outside of phx_step. ready, n: as for phx_step. 1: step again soon; 0. */
int ftm_step(struct ftm *e, uint64_t now, const struct pollfd *ready, int n);

/* The short turn: what came through rings, and what that makes possible. 1: something came. */
int ftm_look(struct ftm *e);

/* When the next thing is due, as phx_deadline. */
uint64_t ftm_deadline(const struct ftm *e);

/* Says goodbye: ftm_close, steps until ftm_closed, ftm_free. */
void ftm_close(struct ftm *e, uint64_t drain_us);
int ftm_closed(const struct ftm *e);
void ftm_free(struct ftm *e);

/* The job cannot go on: config.on_end is called as soon as the engine is whole. Only the first counts. */
void ftm_end(struct ftm *e, int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* A line for who asked for FTMPI_TRACE, without an end of line. Costs nothing if nobody did. */
void ftm_trace(struct ftm *e, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* MPI_Abort, or a fatal error with a line for people: the arbiter is told, so that all end. */
void ftm_abort(struct ftm *e, int code, const char *line);

/* MPI_Finalize: the arbiter is told that this process ends well. ftm_finished says when all have. */
void ftm_finalize(struct ftm *e);
int ftm_finished(const struct ftm *e);

/* 1: everything that was sent has left the hands of the program: nothing waits for room or for an answer. */
int ftm_has_sent(const struct ftm *e);

#endif
