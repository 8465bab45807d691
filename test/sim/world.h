/* world.h - a simulated network: many nodes in one process, under virtual time, from one seed.
 *
 * A world has hosts. A host runs at most one process at a time, an `app` (a Phoenix node, or a
 * stand-in that a test writes), which sees the world only through a struct phx_os and a struct
 * phx_alloc. Nothing here knows Phoenix: only phoenix.h is used, for those two structs and for
 * addresses and errors.
 *
 * What a TCP does that programs notice is here: latency and order, bounded buffers and partial
 * sends, a window that opens one latency after the reader took something, backlogs, refusals,
 * SYN retries, FIN against RST (closing with unread bytes resets, as in Linux), half-open
 * connections, retransmission with back-off through a cut, and ETIMEDOUT when the cut lasts.
 * What is not: packets, congestion, simultaneous open, UNIX sockets, IPv6.
 *
 * Time is in microseconds. The world runs by events in a heap, ties broken by an insertion
 * counter. Every random choice comes from the seed, so a run is the same bytes each time;
 * `trace` hashes them. / */
#ifndef WORLD_H
#define WORLD_H

#include "../../phoenix.h"

#define WORLD_NONE UINT32_MAX
#define WORLD_NEVER UINT64_MAX
#define WORLD_SITES 64u /* sites and NATs at most; firewalls and latencies speak of sites */

/* ---- Chance ------------------------------------------------------------------------------ */

struct world_rng {
    uint64_t s;
};
uint64_t world_mix(uint64_t x);
uint64_t world_rng_next(struct world_rng *r);
uint64_t world_rng_below(struct world_rng *r, uint64_t bound); /* bound > 0 */

/* ---- Events ------------------------------------------------------------------------------ */

enum world_event_kind {
    WORLD_STEP = 1,    /* arg: host */
    WORLD_SYN,         /* arg: stream; a connection request arrives */
    WORLD_REFUSED,     /* its refusal arrives */
    WORLD_SYNACK,      /* its acceptance arrives */
    WORLD_ESTABLISHED, /* the third packet arrives: the connection is in the backlog */
    WORLD_DELIVER,     /* arg: end; the next segment is due there */
    WORLD_ROOM,        /* arg: end; it may send again */
    WORLD_UNACKED,     /* arg: end; it sends again, for want of an acknowledgement */
    WORLD_CORE,        /* arg: core; it is free for the next of the hosts that wait for it */
    WORLD_KINDS
};

struct world_event {
    uint64_t at, order;
    uint32_t arg;
    uint32_t kind;
};

/* ---- Streams ----------------------------------------------------------------------------- */

#define WORLD_FIN 1u
#define WORLD_RST 2u

/* What one send put under way. FIN and RST are empty segments at the end of the queue. */
struct world_segment {
    struct world_segment *next;
    uint64_t at;
    uint32_t size, taken;
    uint32_t flags, hash;
    unsigned char data[];
};

enum world_end_state {
    WORLD_END_NONE = 0, /* not there yet */
    WORLD_END_DIALING,
    WORLD_END_WAITING, /* in a backlog */
    WORLD_END_OPEN,
    WORLD_END_GONE /* closed, crashed or without power */
};

/* One end of a stream, with its queue of incoming bytes. Idle ends own no buffers. */
struct world_end {
    struct world_segment *head, *tail; /* unread, then under way */
    struct world_segment *due;         /* the first one under way */
    uint64_t last_at;                  /* when the last one arrives: nothing may overtake it */
    uint64_t sent_until;               /* incoming side of a slow line: busy until then */
    uint64_t stalled_since;            /* what comes in is cut off since; 0: not */
    uint64_t unacked_since;            /* what went out is not acknowledged since; 0: not */
    uint32_t host;
    uint32_t arrived; /* bytes that can be read */
    uint32_t queued;  /* arrived or under way: never above the world's buffer */
    int handle;       /* -1: none */
    int error;        /* what became of it, an enum phx_error; 0: nothing bad */
    uint16_t port;
    uint8_t state;    /* enum world_end_state */
    uint8_t fin;      /* the other end closed and all its bytes are here */
    uint8_t full;     /* its last send found no room, wait for WORLD_ROOM */
    uint8_t room;     /* a WORLD_ROOM is under way to it */
    uint8_t armed;    /* a WORLD_DELIVER is in the heap */
    uint8_t tries, unacked_tries;
};

/* Two ends: e[0] dialled e[1]. "End" numbers are stream * 2 + side. */
struct world_stream {
    struct world_end e[2];
    uint32_t refs; /* open ends and events that name it; 0: free */
    uint32_t next; /* in a backlog, or in the free list */
    uint16_t seen_port; /* of e[0], as e[1] sees it through a NAT */
};

/* ---- Hosts ------------------------------------------------------------------------------- */

struct world_app {
    void *state;
    int (*step)(void *state, uint64_t now); /* 1: work is left */
    uint64_t (*deadline)(void *state);
    uint64_t (*work)(void *state); /* ns since it began, beside what it asked of the os; NULL: none counted */
};

enum world_slot_kind { WORLD_SLOT_FREE = 0, WORLD_SLOT_END, WORLD_SLOT_LISTENER };

/* A handle. Slots with something to report are in their host's ready ring, so `wait` costs only
 * those. */
struct world_slot {
    uint32_t ref; /* end, listener, or the next free slot */
    int prev, next;
    uint8_t kind, watch, events, ready;
};

#define WORLD_LISTENERS 8u
struct world_listener {
    uint16_t port; /* 0: slot not in use */
    int handle;
    uint32_t first, last, waiting; /* streams */
};

struct world_faults {
    uint64_t nomem_until;  /* until then ... */
    uint32_t nomem_one_in; /* ... one allocation in so many fails */
    uint64_t nomem_call;   /* the allocation with this count fails; 0: none */
    uint32_t handles_max;  /* EMFILE beyond; 0: no limit */
    uint64_t emfile_until; /* until then every new handle fails */
};

struct world_host {
    struct world *w;
    uint32_t index, site;
    uint32_t realm, number; /* 0: public; else the NAT it is behind, and its number there */
    uint32_t group;         /* hosts of different groups do not hear each other */
    uint32_t life;          /* processes started so far */
    int powered, running;
    struct world_app app;
    struct phx_os os;
    struct phx_alloc alloc;
    struct world_rng rng;
    uint64_t step_at; /* the one step event that counts */
    uint64_t stalled_until;
    uint64_t out_until, in_until; /* nanoseconds: its line is busy until then */
    uint64_t spent_us, spent_most; /* by callbacks of the step at hand, and of any; see world_spend */
    uint64_t worked_ns, worked_before; /* in the step at hand; what app.work said when that was counted */
    uint64_t worked_us; /* in all steps */
    uint64_t had_us;    /* the same, and at least what others had when it came to wait */
    uint32_t core, core_next; /* which it steps on; who waits for it next */
    uint8_t stepping, cold, core_waits;
    struct world_slot *slots;
    uint32_t slot_count, slot_capacity, handles;
    int free_slot, ready_first, ready_last;
    uint32_t ready_count;
    struct world_listener listeners[WORLD_LISTENERS];
    uint16_t next_port;
    struct world_faults faults;
    uint64_t alloc_calls, steps;
    size_t mem_used, mem_peak, mem_blocks;
};

/* ---- The world --------------------------------------------------------------------------- */

/* What work takes of a core. Nothing counts while costs are NULL: then a step takes no time. */
struct world_costs {
    uint32_t step, call, send, dial, accept; /* ns each */
    uint32_t kilobyte;                 /* ns for 1,024 bytes sent or read */
    uint32_t frame, handshake, look;   /* ns each, counted by the app */
    uint32_t cold; /* all takes so many times longer if the core did not make the last step of this host */
};
extern const struct world_costs world_costs_measured;

/* One step at a time; hosts that are due meanwhile wait in turn. */
struct world_core {
    uint64_t busy_until;
    uint64_t had_us;      /* of the host whose step was the last, before it */
    uint32_t first, last; /* of the hosts that wait; WORLD_NONE: none */
    uint32_t steps_of;    /* whose step was the last */
    int armed;            /* a WORLD_CORE is in the heap */
};

struct world_options {
    uint64_t seed;
    uint32_t hosts_max;
    /* One way from host to host: latency_us, plus up to spread_us that depends on the pair, plus
     * up to jitter_us that depends on the moment, plus the sites' distance. */
    uint32_t latency_us, spread_us, jitter_us;
    uint32_t buffer_bytes;   /* per direction: sent and not yet read */
    uint32_t bytes_per_ms;   /* bandwidth of a stream per direction; 0: no limit */
    uint32_t host_bytes_per_ms; /* of a host per direction, shared by its streams; 0: no limit */
    uint32_t backlog;        /* connections waiting for accept, per listener */
    uint32_t delay_min_us, delay_max_us; /* from the reason to step to the step */
    uint32_t hole_bytes;     /* see WORLD_PAIR_HOLE */
    uint64_t tcp_timeout_us; /* no acknowledgement for this long: ETIMEDOUT */
    uint64_t events_max;     /* the run stops there, as a failure */
    int reject;              /* firewalls answer with a refusal instead of silence */
    const struct world_costs *costs; /* NULL: work takes no time */
    uint32_t slow;           /* it takes so many times longer than they say */
    int fair;                /* who had least of its core is next, as with schedulers; 0: who came first */
};

#define WORLD_PAIR_CUT 1u     /* bytes from a to b vanish */
#define WORLD_PAIR_FORBID 2u  /* a may not dial b */
#define WORLD_PAIR_HOLE 4u    /* segments from a to b of more than o.hole_bytes vanish */

#ifndef WORLD_PAGE
#define WORLD_PAGE 4096u /* streams per page: pages never move */
#endif

struct world {
    struct world_options o;
    uint64_t now, start, events, order, trace;
    uint64_t deliveries, bytes;
    struct world_rng rng;
    struct world_event *heap;
    size_t heap_count, heap_capacity;
    struct world_host *hosts; /* hosts_max of them, never moves */
    struct world_core *cores; /* hosts_max of them: at first each host has its own */
    uint32_t host_count;
    uint32_t realm_count[WORLD_SITES];
    uint32_t **realm_hosts; /* by realm and number */
    uint8_t site_deny[WORLD_SITES][WORLD_SITES]; /* [s][t]: s may not dial t */
    uint32_t site_us[WORLD_SITES][WORLD_SITES];  /* distance, one way, beyond latency_us */
    uint8_t *pairs; /* hosts_max squared, WORLD_PAIR_*; NULL while nobody is cut off */
    struct world_stream **pages;
    uint32_t page_count, stream_free, stream_count, streams_open, streams_peak;
    /* Told after each step of a host. */
    void (*after_step)(void *ctx, uint32_t host);
    void *ctx;
    int tracing; /* 1: print connections and faults; 2: deliveries too */
    int failed;
    char why[512]; /* the first failure */
    int has_liar;  /* a host says by hand what others are to have said */
};

void world_options_init(struct world_options *o, uint64_t seed, uint32_t hosts_max);
struct world *world_new(const struct world_options *o); /* NULL: no memory */
void world_free(struct world *w);

/* Runs the events up to and including `until`. 0, or -1 if the world failed; the clock stands at
 * `until`, or at the failure. */
int world_run(struct world *w, uint64_t until);
/* Ends the run: printf-like. The first reason stays. */
void world_fail(struct world *w, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* One line with the virtual time in front, if tracing is on. */
void world_say(struct world *w, int level, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
void world_hash(struct world *w, uint64_t a, uint64_t b);

/* A new host, powered, without a process. realm 0: public; 1..: behind that NAT. */
uint32_t world_host_add(struct world *w, uint32_t site, uint32_t realm);
/* The address that this host listens at, in its own realm. */
void world_address(const struct world *w, uint32_t host, uint16_t port, struct phx_address *out);
/* Starts a process: the host's os and alloc are fresh from here. Ask with them, then attach the
 * app. */
void world_begin(struct world *w, uint32_t host);
void world_attach(struct world *w, uint32_t host, const struct world_app *app);
/* Something was done to the app from outside: look at its deadline again. */
void world_touch(struct world *w, uint32_t host);

/* Ends a process. The caller frees the app afterwards; the os calls it makes then do nothing.
 * Its streams are reset. */
void world_crash(struct world *w, uint32_t host);
/* The app was freed in peace: its handles must be closed by now. */
void world_end(struct world *w, uint32_t host);
/* Power: off takes the process with it and says nothing to anybody. */
void world_power(struct world *w, uint32_t host, int on);
/* A callback takes this long: os.now goes on meanwhile, and the next step comes that much later. */
void world_spend(struct world *w, uint32_t host, uint64_t us);
/* Host steps on that core from now on, perhaps beside others. */
void world_core(struct world *w, uint32_t host, uint32_t core);
/* So much was done in the step at hand, and what the app did before that. */
void world_charge(struct world_host *h, uint64_t ns);
/* When what a host does now takes place: its clock in the midst of a step. */
uint64_t world_moment(const struct world_host *h);
/* No steps for a while. */
void world_stall(struct world *w, uint32_t host, uint64_t us);
/* WORLD_PAIR_* from a to b, on or off. */
void world_pair(struct world *w, uint32_t a, uint32_t b, uint32_t bits, int on);
/* Resets every stream between the two. */
void world_reset_pair(struct world *w, uint32_t a, uint32_t b);
/* A connected pair of handles, for phx_adopt. 0 or PHX_EMFILE. */
int world_join_pipe(struct world *w, uint32_t a, uint32_t b, int *handle_a, int *handle_b);

/* A segment of so many bytes from a to b vanishes on its way. */
int world_swallows(const struct world *w, uint32_t a, uint32_t b, uint32_t bytes);
/* Do bytes get from a to b now? And would b get a request for a connection from a? */
int world_blocked(const struct world *w, uint32_t a, uint32_t b);
int world_may_dial(const struct world *w, uint32_t a, uint32_t b);
uint32_t world_latency(const struct world *w, uint32_t a, uint32_t b);

/* ---- Between world.c, stream.c and verbs.c ----------------------------------------------- */

void world_push(struct world *w, uint64_t at, int kind, uint32_t arg);
void world_want_step(struct world *w, struct world_host *h, uint64_t at);
void world_soon(struct world *w, struct world_host *h);
void world_os_init(struct world_host *h);

struct world_stream *world_stream_at(const struct world *w, uint32_t stream);
struct world_end *world_end_at(const struct world *w, uint32_t ref);
uint32_t world_stream_new(struct world *w); /* WORLD_NONE: no memory; refs is 0 */
void world_unref(struct world *w, uint32_t stream);
void world_streams_free(struct world *w);
void world_stream_event(struct world *w, const struct world_event *e);
/* An event that names the stream keeps it. */
void world_push_stream(struct world *w, uint64_t at, int kind, uint32_t stream, uint32_t arg);
uint64_t world_one_way(const struct world *w, const struct world_stream *s);

struct world_slot *world_slot_at(struct world_host *h, int handle, int kind); /* NULL: no such */
int world_handle_new(struct world_host *h, int kind, uint32_t ref, int *handle);
void world_handle_free(struct world_host *h, int handle);
/* Looks again at what a handle is ready for. */
void world_refresh(struct world_host *h, int handle);
/* flag: what the peers are told, WORLD_FIN, WORLD_RST or 0 for nothing. */
void world_close_slot(struct world_host *h, int handle, uint32_t flag);
/* silent: nobody is told; else each peer gets a reset. */
void world_drop_handles(struct world_host *h, int silent);
struct world_listener *world_listener_on(struct world_host *h, uint16_t port);

uint32_t world_bytes_hash(uint32_t h, const unsigned char *p, size_t n);
struct world_segment *world_segment_new(struct world *w, uint32_t size, uint32_t flags);
/* Puts a segment under way to end ref. */
void world_segment_push(struct world *w, uint32_t ref, struct world_segment *g);

#endif
