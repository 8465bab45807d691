/* phoenix.h - messages by name across firewalls, NATs and many hops, inside your own event loop.
 *
 * Phoenix is two files, this one and phoenix.c. A process that contains them becomes a *node*. Nodes
 * find each other from the address of one of them (a *hub*), link wherever a link can be made, relay
 * for each other where none can, and send messages to 64-bit *names* that the application divides
 * among its nodes. The host program keeps its event loop and calls phx_step.
 *
 * CAVEATS, first, because they are what bites:
 *
 *  - One thread per node. All calls for one phx must come from one thread at a time; phx_wake is the
 *    only exception (any thread, any signal handler). Different nodes in one process share nothing.
 *  - Nothing happens outside phx_step: no thread, no signal, no hidden timer works for you. A host
 *    that computes for a minute is silent for a minute; others suspect it after cfg.detector.interval_us
 *    and half of their timeout_us, unless phx_busy has told them. Acks, own names and news wait some
 *    milliseconds for company, and leave when a host calls phx_busy, or phx_step with an array and n == 0
 *    (NULL and 0: look for yourself), which it does before it blocks or computes. One that does neither may
 *    leave others waiting for them.
 *  - Callbacks run only inside phx_step, on its stack (phx_free still gives buffers back: on_abandon, and
 *    the release of phx_send_owned; cfg.record runs inside any call). Inside one, any call is allowed but
 *    phx_step, which returns PHX_ESTATE; phx_free is allowed and takes effect when the step is over.
 *  - Bytes handed to a callback are borrowed until it returns. Bytes handed to phx_send are copied
 *    before it returns; bytes handed to phx_send_owned stay yours and untouched until release is called.
 *  - Time is yours: microseconds on a clock that never runs backwards, as given to phx_new and phx_step.
 *    Times inside the library are compared with that value only. It need not be the wall clock.
 *  - A send is a promise to try, not a delivery. PHX_EAGAIN means "later" and is normal. If you need to
 *    know the outcome, give the message a token and wait for on_done.
 *  - Without cfg.key a node speaks only on loopback and UNIX sockets, unless you set cfg.insecure. With
 *    a key, links are authenticated on both sides. They are encrypted only if they use TLS: compile with
 *    -DPHX_TLS -lbearssl (Debian: libbearssl-dev) and set cfg.tls, or use tls:// addresses.
 *  - NULL in place of a node or of where to put something: calls that return an int say PHX_EINVAL, counts
 *    are 0, phx_deadline and phx_timeout_ms say never, the others do nothing.
 *  - After fork a node is the parent's. The child leaves it alone, and best calls exec: a second process on
 *    the same connections would speak into the same streams, with the same random numbers.
 *  - SIGPIPE is never raised, descriptors are close-on-exec, nothing is printed, and neither exit nor
 *    abort is ever called.
 *
 * A complete host:
 *
 *      static void on_message(phx *p, const struct phx_message *m, void *user)
 *      {
 *          printf("%.*s\n", (int)m->size, (const char *)m->data);
 *      }
 *      ...
 *      struct phx_config cfg;
 *      phx *p;
 *      int err;
 *      phx_config_init(&cfg);
 *      cfg.on_message = on_message;
 *      if ((err = phx_new(&p, &cfg, phx_now_us())) != 0
 *          || (err = phx_join(p, "tcp://127.0.0.1:7000")) != 0)
 *          die(phx_strerror(err));
 *      phx_assume(p, 42, 42);                           // name 42 lives here now
 *      phx_send(p, 7, 42, 0, "hello", 5);               // to whoever holds name 7, now or soon
 *      for (;;) {
 *          struct pollfd fd = { phx_fd(p), POLLIN, 0 };
 *          poll(&fd, 1, phx_timeout_ms(p, phx_now_us()));
 *          phx_step(p, phx_now_us(), NULL, 0);
 *      }
 *
 * Errors: functions that can fail return 0 or a count on success and a negative enum phx_error
 * otherwise; phx_strerror gives the text. What fails later, on its own, is a state and an event.
 *
 * The routing carries on Kaneda, Taura, Yonezawa, "Routing and Resource Discovery in Phoenix
 * Grid-Enabled Message Passing Library" (CCGrid 2004); the model is Taura, Kaneda, Endo, Yonezawa,
 * "Phoenix: a Parallel Programming Model for Accommodating Dynamically Joining/Leaving Resources"
 * (PPoPP 2003). The wire format is src/WIRE.md.
 *
 * MIT licence; see the end of phoenix.c or the file LICENSE.
 */
#ifndef PHOENIX_H
#define PHOENIX_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHX_VERSION "0.2.0"
#define PHX_VERSION_NUMBER 200 /* major * 10000 + minor * 100 + patch */

/* ---- Errors ------------------------------------------------------------------------------------ */

#define PHX_ERRORS(X)                                                                              \
    X(OK, 0, "success")                                                                            \
    X(EINVAL, -1, "invalid argument")                                                              \
    X(ENOMEM, -2, "out of memory, or over cfg.mem_limit")                                          \
    X(EAGAIN, -3, "not now: a queue is full (wait for on_writable), or it is being tried")         \
    X(ESTATE, -4, "this call may not be made now")                                                 \
    X(ERANGE, -5, "bad range of names: first is above last")                                       \
    X(ETOOBIG, -6, "message is larger than cfg.max_message or cfg.mem_limit allows")               \
    X(ENOTFOUND, -7, "no such node, name, token or address")                                       \
    X(ELIMIT, -8, "a configured limit is reached")                                                 \
    X(EADDRESS, -9, "malformed address: want tcp://host:port, tls://[v6]:port or unix:///path")    \
    X(ESCHEME, -10, "unknown address scheme: tcp://, tls:// and unix:// are known")                 \
    X(ERESOLVE, -11, "host name does not resolve")                                                 \
    X(EINSECURE, -12, "not loopback and no key: set cfg.key, or cfg.insecure if you must")         \
    X(EINUSE, -13, "address already in use")                                                       \
    X(EACCES, -14, "permission denied")                                                            \
    X(ENOADDR, -15, "address is not available on this machine")                                    \
    X(EREFUSED, -16, "connection refused")                                                         \
    X(ETIMEDOUT, -17, "timed out")                                                                 \
    X(EUNREACH, -18, "network or host unreachable")                                                \
    X(ERESET, -19, "connection reset or closed by the peer")                                       \
    X(EMFILE, -20, "out of file descriptors")                                                      \
    X(EIO, -21, "operating system error, or no random bytes")                                      \
    X(EPROTO, -22, "peer broke the protocol")                                                      \
    X(EVERSION, -23, "another version: of the peer's protocol, or of phoenix.h")                   \
    X(ECLUSTER, -24, "peer belongs to another cluster")                                            \
    X(EKEY, -25, "peer does not have our key")                                                     \
    X(ESELF, -26, "that address is this node itself")                                              \
    X(EDUPLICATE, -27, "already linked with that node")                                            \
    X(EPEER, -28, "another node answers at that address")                                          \
    X(ECANCELLED, -29, "cancelled")                                                                \
    X(EEXPIRED, -30, "time limit passed on the way to a node that can be reached")                 \
    X(EFAILED, -31, "destination failed")                                                          \
    X(ECLOSED, -32, "node is closed")                                                              \
    X(ENOTSUP, -33, "not supported by this system, or built without: TLS wants -DPHX_TLS")          \
    X(EKEYSIZE, -34, "a key has 16 to 1024 bytes, not all of them zero")                           \
    X(EFILE, -35, "no such file, or it cannot be read")                                            \
    X(EPEM, -36, "malformed PEM file, or nothing of use in it")                                    \
    X(ECERT, -37, "own certificate: expired, not for signing, or not by cfg.tls_ca")               \
    X(EPAIR, -38, "private key does not belong to the certificate")                                \
    X(ENOKEY, -39, "TLS wants cfg.key, or cfg.tls_ca, tls_cert and tls_key")                       \
    X(ETLS, -40, "TLS handshake failed")                                                           \
    X(ENOOWNER, -41, "time limit passed, and nobody holds that name")                              \
    X(ENOROUTE, -42, "time limit passed, and no route leads to the holder of that name")

enum phx_error {
#define PHX_ERROR_ENUM(name, value, text) PHX_##name = value,
    PHX_ERRORS(PHX_ERROR_ENUM)
#undef PHX_ERROR_ENUM
    PHX_ERROR_LAST = -43 /* one below the lowest */
};

/* The text of an error code; never NULL, static storage. */
const char *phx_strerror(int error);

/* The version of phoenix.c, to compare with PHX_VERSION. */
const char *phx_version(void);

/* ---- Words ------------------------------------------------------------------------------------- */

typedef struct phx phx; /* one node */

/* A node's identity: 128 random bits, drawn when the node starts, unless cfg.id says otherwise. It
 * never derives from an address: addresses are shared, translated and reused, identities are not. */
struct phx_id {
    unsigned char b[16];
};

/* Names first..last, both included. The whole space is { 0, UINT64_MAX }. */
struct phx_range {
    uint64_t first, last;
};

/* PHX_ID_TEXT bytes hold an id as text with its final NUL: 32 hexadecimal digits. */
#define PHX_ID_TEXT 33
const char *phx_id_text(const struct phx_id *id, char out[PHX_ID_TEXT]);

enum phx_family {
    PHX_UNIX = 1,
    PHX_OTHER = 2, /* of a scheme that cfg.dial knows; never told to others */
    PHX_IPV4 = 4,
    PHX_IPV6 = 6
};

/* A transport address, resolved. ip holds 4 or 16 bytes in network order; path is a UNIX socket's, or
 * the whole text of a PHX_OTHER, NUL-terminated. Unused parts are zero. */
struct phx_address {
    unsigned char family; /* enum phx_family */
    unsigned char ip[16];
    uint16_t port; /* host order */
    char path[104];
    unsigned char tls; /* 1: spoken over TLS; TCP only */
};

/* PHX_ADDRESS_TEXT bytes hold any address as text, e.g. "tcp://[::1]:7000" or "tls://10.0.0.5:7000". */
#define PHX_ADDRESS_TEXT 120
const char *phx_address_text(const struct phx_address *address, char out[PHX_ADDRESS_TEXT]);

/* ---- What arrives ------------------------------------------------------------------------------ */

/* A message, borrowed until on_message returns. data is NULL only if size is 0. */
struct phx_message {
    uint64_t to;          /* the name it was sent to, held by this node */
    uint64_t from;        /* the name the sender gave as its own; not verified */
    uint64_t tag;         /* the sender's, not interpreted */
    struct phx_id source; /* the node that sent it */
    const void *data;
    size_t size;
};

enum phx_state {
    PHX_NODE_OK = 1,      /* a route exists */
    PHX_NODE_SUSPECT,     /* a route exists, but a neighbour, this node or one that says so, heard
                             nothing of it for as long as it announced and detector.timeout_us / 2 more;
                             being looked into. Its names stay its own, messages go on. A sign of life
                             from anywhere: OK again */
    PHX_NODE_UNREACHABLE, /* no route at the moment */
    PHX_NODE_FAILED,      /* unreachable for longer than detector.broken_us, and nobody asked could
                             reach it either. Its names are broken. If it comes back: OK again */
    PHX_NODE_LEFT         /* said goodbye */
};

/* Names that are broken: held by a node that failed, and by nobody else. Of one that held more than 33 ranges
 * all from the 33rd on are one, with what lay between them; when it is back all is as it was. */
struct phx_lost {
    struct phx_range range;
    struct phx_id owner; /* who held them */
    uint64_t since_us;   /* when it was found to have failed, host clock */
};

/* PHX_LABEL bytes hold a label with its final NUL. */
#define PHX_LABEL 33

/* A node this one knows of. */
struct phx_node {
    struct phx_id id;
    uint64_t incarnation;
    enum phx_state state;
    int hops;              /* 0: this node itself; 1: a direct link; -1: no route */
    struct phx_id next;    /* the neighbour that messages for it go through; valid if hops > 0 */
    uint64_t since_us;     /* when state last changed, host clock */
    uint32_t ranges_count; /* how many ranges of names it holds */
    int reason;            /* why it is not what it was: how the last link with it was lost (PHX_ERESET,
                              PHX_ETIMEDOUT, ...); PHX_ETIMEDOUT while it is SUSPECT; PHX_EUNREACH if
                              others lost the way to it; PHX_ECLOSED if it left. 0: none of these, and
                              there is a link with it, or there was none */
    uint64_t seen_us;      /* when something last came on a link with it, host clock; 0: there was none */
    char label[PHX_LABEL]; /* its cfg.label, or "" */
};

/* One hop of the way to a node: a relay, or the node itself. */
struct phx_hop {
    struct phx_id id; /* zero if there was no answer */
    uint64_t rtt_us;  /* from here to there and back, from step to step; UINT64_MAX: no answer */
    int hops;         /* how far it is from the target: 0 is the target, -1 has no route to it */
    int why;          /* why it is not linked with the target, as in struct phx_trace */
};

/* The way to a node, as the nodes on it told. Borrowed until on_trace returns. */
struct phx_trace {
    uint64_t token;
    struct phx_id target;
    int result; /* PHX_OK: the last hop is the target. PHX_EUNREACH: there is no route, here or at the
                   last hop, or it crosses more than cfg.hop_limit links. PHX_ETIMEDOUT: no more was
                   heard within 5 s. PHX_ECLOSED: this node has left meanwhile */
    int why;    /* why this node itself is not linked with the target, so that others relay. 0: it is
                   linked. PHX_ENOTFOUND: no address of the target is known. PHX_ELIMIT: there are
                   cfg.max_links links. PHX_EAGAIN: not tried yet, or being tried. Else how the last
                   attempt ended: PHX_EREFUSED, PHX_ETIMEDOUT, ... */
    const struct phx_hop *hops; /* the neighbour first; what is in between and did not answer is there */
    size_t hops_count;
};

enum phx_log_level { PHX_LOG_ERROR = 1, PHX_LOG_WARN, PHX_LOG_INFO, PHX_LOG_DEBUG };

/* ---- Memory and operating system, replaceable --------------------------------------------------- */

/* One function does it all. old == NULL: allocate new_size. new_size == 0: free old. Otherwise resize.
 * old_size is exactly what was asked for before. NULL on failure, and old then stays valid. */
struct phx_alloc {
    void *(*alloc)(void *world, void *old, size_t old_size, size_t new_size);
    void *world;
};

/* What a handle is ready for, and what is watched. */
enum phx_events { PHX_READ = 1, PHX_WRITE = 2 };

struct phx_ready {
    int handle;
    int events; /* PHX_READ | PHX_WRITE; errors and hang-ups count as both */
};

/* The door to the operating system. Handles are small non-negative integers of the world's choosing;
 * the built-in world uses descriptors. Every function returns 0 or a count, or a negative enum
 * phx_error, and none may block but resolve. The simulated network in test/sim is another world. */
#define PHX_OS_VERSION 2
struct phx_os {
    int version; /* PHX_OS_VERSION */
    void *world;
    /* Listen on *at; port 0 asks for any, and *at tells which on return. */
    int (*listen)(void *world, struct phx_address *at, int *handle);
    /* The next waiting connection: 0, PHX_EAGAIN if none. *from may stay zero if unknown. */
    int (*accept)(void *world, int listener, int *handle, struct phx_address *from);
    /* Begin to connect. The handle turns PHX_WRITE when it is decided; then call finish. */
    int (*dial)(void *world, const struct phx_address *to, int *handle);
    int (*finish)(void *world, int handle); /* 0 connected, PHX_EAGAIN not decided, or why not */
    int (*local)(void *world, int handle, struct phx_address *out); /* this end's address */
    long (*send)(void *world, int handle, const struct iovec *iov, int count);
    long (*recv)(void *world, int handle, void *data, size_t size); /* 0: closed by the peer */
    void (*close)(void *world, int handle);
    int (*watch)(void *world, int handle, int events);             /* 0 events: stop watching */
    int (*wait)(void *world, struct phx_ready *out, int capacity); /* what is ready now */
    int (*random)(void *world, void *out, size_t size);
    int (*resolve)(void *world, const char *host, struct phx_address *out, int capacity);
    int (*fd)(void *world);    /* one descriptor readable when wait has something; or PHX_ENOTSUP */
    int (*wake)(void *world);  /* make fd readable; async-signal-safe */
    void (*free)(void *world); /* the node is done with the world; may be NULL. Not called if phx_new fails */
    /* As recv, spread over several places in turn; may be NULL. With it large messages are received
     * straight into place, and without it they are copied once more. */
    long (*recvv)(void *world, int handle, const struct iovec *iov, int count);
    /* A clock in microseconds that goes on while callbacks run, to time them with; NULL: phx_now_us. */
    uint64_t (*now)(void *world);
};

/* ---- Keys --------------------------------------------------------------------------------------- */

/* A shared secret: bytes, none of which means anything. 32 random ones are best. Whoever sees a handshake
 * can test guesses of it as fast as he can hash, so a sentence that can be guessed will be. */
#define PHX_KEY_MIN 16
#define PHX_KEY_MAX 1024
struct phx_key {
    const void *data;
    size_t size;
};

/* Reads a key from a file, all bytes of it as they are: a line end at its end counts, so copy the file
 * and not its text. How many bytes, or PHX_EFILE, PHX_EACCES, PHX_EKEYSIZE (too short, too long, zeros
 * only, or over capacity), PHX_EMFILE. May block, as files do. */
int phx_read_key(const char *path, void *out, size_t capacity);

/* ---- Failure detection -------------------------------------------------------------------------- */

/* Who is alive is found out as in Horita, Taura, Chikayama, "A Fault Detection Library in Phoenix
 * Programming Model" (2003): each node picks a few of its neighbours at random as its *monitors* and is
 * heard by them at short intervals; all other links are insured by rare heartbeats. Everything that
 * travels on a link counts as a heartbeat, so busy links carry none. A node that is silent for the interval
 * that it announced and timeout_us / 2 more becomes SUSPECT. Its other neighbours are told and look for
 * themselves, and each that hears nothing for another timeout_us / 2 gives up its link. A node that no link
 * leads to is UNREACHABLE, and after broken_us FAILED.
 *
 * A node that falls silent (power loss, a stopped process) is FAILED everywhere within
 *
 *      interval_us + timeout_us + broken_us + the time of one flood through the network
 *
 * (where its death itself cuts off a part of the network in which none of its monitors is, that part
 * has insurance_us for interval_us). One whose connections close (a killed process) is FAILED within
 * broken_us and a flood, and one that dies in the same instant as all its monitors within insurance_us +
 * timeout_us + broken_us and a flood. A host that is silent for longer than that without phx_busy is
 * taken for dead: what a node that computes and one that is stopped look like from outside is the same.
 * It is OK again as soon as it is back. A host that gets its processor late again and again is not taken for
 * dead: once its steps came later than half of interval_us, its node announces twice the longest delay of the
 * last minute, insurance_us at most, in place of interval_us, and is found so much later if it dies. To those
 * that are not its monitors it announces 50 ms for each neighbour if that is more.
 *
 * monitors and the two intervals say how often *this* node is heard, and are announced in each heartbeat;
 * timeout_us and broken_us say how patient it is with others. So nodes may differ. All in microseconds. */
struct phx_detector {
    uint32_t monitors;     /* k: 1..255. With fewer neighbours than that, all of them watch */
    uint64_t interval_us;  /* T_interval: monitors hear something at least this often */
    uint64_t insurance_us; /* T_insurance: all other neighbours do; at least interval_us */
    uint64_t timeout_us;   /* T_timeout: patience beyond what a neighbour announced */
    uint64_t broken_us;    /* T_broken: unreachable for so long is failed */
};

enum phx_preset {
    PHX_PRESET_DEFAULT = 0, /* 2 monitors, 5 s, 90 s, 5 s, 5 s: an idle link says something before
                               translators of addresses and firewalls forget it */
    PHX_PRESET_PAPER,       /* 2, 5 s, 200 s, 5 s, 5 s: table 1 of the paper */
    PHX_PRESET_FAST         /* 2, 400 ms, 20 s, 800 ms, 500 ms: a silent death is seen within 2 s. For
                               hosts that step every 100 ms and a network that is not overloaded */
};

/* Fills *d. PHX_EINVAL: no such preset. */
int phx_detector_preset(struct phx_detector *d, int preset);

/* Changes it at run time, all of it or nothing. Monitors are told at once, what was announced before holds
 * until then. PHX_EINVAL, and nothing is changed: monitors is not in 1..255; a time is below 10 ms or above
 * a day (0 included: with no patience at all every heartbeat would come too late); insurance_us is below
 * interval_us. cfg.detector is checked by phx_new in the same way. */
int phx_set_detector(phx *p, const struct phx_detector *d);

/* The detector in use. */
void phx_get_detector(const phx *p, struct phx_detector *out);

/* ---- Configuration ------------------------------------------------------------------------------ */

/* Always begin with phx_config_init, then change what you need. Strings, key and structs pointed to are
 * copied by phx_new and need not outlive it. */
struct phx_config {
    size_t size; /* set by phx_config_init, as is version: phx_new refuses the config of another phoenix.h */
    int version;
    void *user; /* handed to every callback */

    /* Identity and security */
    const char *cluster; /* nodes link only within one cluster; 1..64 bytes; default "phoenix" */
    const void *key;     /* shared secret, PHX_KEY_MIN..PHX_KEY_MAX bytes; NULL: none */
    size_t key_size;
    int insecure;             /* 1: allow addresses that leave this machine without a key */
    int tls; /* 1: all TCP links use TLS, whatever the scheme: plain ones are neither made nor taken */
    const char *tls_ca, *tls_cert, *tls_key; /* PEM files: whom to believe, what to show, and its private
                                                key, all three or none; none: both sides make theirs
                                                from the key of the cluster */
    const struct phx_id *id;  /* NULL: random, drawn at start (recommended) */
    uint64_t incarnation;     /* with id: must grow each time the id is used again, by less than 2^32;
                                 below 2^62; default 0 */
    const char *label; /* what people should call this node: up to 32 printable ASCII characters but " and \.
                          All nodes see it in struct phx_node, phx_explain and phx_dump. NULL: "" */
    int relay;                /* 1 (default): forward messages of others; 0: never */
    int same_host; /* 1 (default): processes of one host find out by themselves and use a UNIX socket in
                      place of TCP: at each TCP listener there is a second one, for those who dial its
                      address from the same host (network namespace) and have this set, too. Only with a
                      listener of the same user, or root's; all else is as over TCP: key, TLS, addresses,
                      and who finds nobody there dials TCP in the same moment, or after a quarter of
                      dial_timeout_us without an answer. Linux only: elsewhere, with cfg.os, or with 0 it is
                      TCP as addressed */

    int rtt_metric; /* 1: of relays by which a node is equally many hops away, use the one through which the
                       round trip is shorter, once it is 25 % shorter than through the one in use. Links are
                       measured each 10 s (one with many neighbours: 16 links a second), and times pass on
                       between nodes that have this set. Default 0 */

    /* Limits */
    size_t max_message; /* bytes per message; default 16 MiB, at most 1 GiB. The same at all nodes, please:
                           what is over the receiver's comes back as PHX_ETOOBIG, and so does what its
                           mem_limit could not hold if there was no other message */
    size_t mem_limit;   /* bytes this node may allocate; default 0: no limit. Messages leave an eighth of it
                           to links and tables: phx_send then says PHX_ENOMEM. What others say of
                           themselves takes half at most, and what is kept of nodes that failed or left
                           an eighth, 4 MiB at most (also without a limit): beyond, the oldest are
                           forgotten */
    size_t window;      /* credit: bytes under way per destination; default 4 MiB, at least 64 KiB */
    size_t hold_bytes;  /* held for names that nobody has, that move, or whose holder takes no more now;
                           default 16 MiB. What comes back from a former holder may go beyond it */
    uint32_t max_links; /* a node with so many dials only hubs; default 1024. A node
                           whose path lost messages is reached through others for 10 s to 10 min */
    uint32_t full_mesh; /* up to so many known nodes all are linked unasked; default: max_links, and no more
                           than that in any case. Beyond, a node links with hubs, those that it sends to and a
                           few that it picks at random. 0: hubs and those that it sends to, no picks: the host
                           sees to it that all hang together */
    uint32_t max_nodes; /* nodes known at once; default 65536. Those that failed or left give way */
    uint32_t max_dials; /* dials under way at once; default 64. Not what others dial */
    uint32_t max_accepts; /* links in all, above which those that others dial are refused with
                             PHX_ELIMIT; default 4096, less is fine where descriptors are few: there is a
                             limit by itself where they run out. One whom nobody else leads to is let in for
                             a moment, to learn of others, and links that both sides can do without are given
                             up, but for those of phx_join and phx_adopt. At most 65,535 neighbours */
    uint32_t hop_limit; /* links a message may cross; default 16, at most 255 */
    uint32_t step_bytes; /* read per link in one step; default 256 KiB, at least 80 KiB. Of a message that
                            is received in place up to 1 MiB */

    /* Times, microseconds */
    uint64_t dial_timeout_us; /* address to verified link; default 5 s */
    uint64_t retry_min_us;    /* first wait before dialling again; default 50 ms */
    uint64_t retry_max_us;    /* longest wait; default 30 s; doubles in between, with full jitter */
    struct phx_detector detector; /* who is alive; default PHX_PRESET_DEFAULT */

    /* Callbacks, each may be NULL */
    void (*on_message)(phx *p, const struct phx_message *m, void *user);
    /* A message of more than one fragment (64 KiB, of phx_cast 32 KiB) begins to arrive from another node;
     * its data is NULL. Returns a buffer of the host's for m->size bytes, into which it is received, or
     * NULL: the node takes memory of its own. The buffer is the node's, and what is in it means nothing,
     * until it comes back in exactly one of two ways: on_message with this buffer as data, which the
     * host then keeps; or on_abandon. A message that was abandoned may begin again. With on_begin
     * on_abandon must be set, too (PHX_EINVAL). */
    void *(*on_begin)(phx *p, const struct phx_message *m, void *user);
    /* The message for which on_begin gave this buffer does not come, or not now: its sender failed or sends
     * it elsewhere, nothing of it came for 2 min, its name is not here any more, or this node is freed. The
     * buffer is the host's again.
     * Called inside phx_step or phx_free. */
    void (*on_abandon)(phx *p, void *buffer, size_t size, void *user);
    /* The outcome of a send that had a token; to and tag are the message's. PHX_OK: delivered (the receiver's
     * on_message has returned), else why not: PHX_EFAILED (its receiver failed or left, and may have got it);
     * its time limit passed: PHX_ENOOWNER (nobody holds the name), PHX_ENOROUTE (its holder cannot be
     * reached), PHX_EEXPIRED (neither; after these two it may still arrive if part of it has left);
     * PHX_ECANCELLED, PHX_ETOOBIG (for the receiver), PHX_ECLOSED (this node has left),
     * PHX_ENOMEM (no memory to keep it when its receiver failed). Exactly one call per token, but none after
     * phx_free. Of messages without a token that were lost a line of the log tells, one for each step. */
    void (*on_done)(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user);
    /* The outcome for one member of a phx_cast that had a token: to, the name the message was
     * addressed to; result as for on_done; left, how many outcomes of this cast are still to come. */
    void (*on_member)(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user);
    /* A send to this name returned PHX_EAGAIN before; there is room now. */
    void (*on_writable)(phx *p, uint64_t to, void *user);
    /* A node became known or changed state. */
    void (*on_node)(phx *p, const struct phx_node *node, void *user);
    /* broken 1: these names were lost with a node that failed, and nobody else holds them. 0: they are
     * back, because it is, or because somebody holds them now. A day later the node is forgotten, and with
     * it that its names were lost: nothing is said of that. Comes after the on_node that is the reason. Names
     * that were released, or whose holder has left, are free and never broken. */
    void (*on_broken)(phx *p, const struct phx_lost *lost, int broken, void *user);
    /* This node held `range` and another claims it with a higher (epoch, id): it is no longer ours. */
    void (*on_conflict)(phx *p, struct phx_range range, const struct phx_id *winner, void *user);
    /* Another node has given `range` to this one (phx_hand): it is assumed already. Comes before the first
     * message to one of these names. */
    void (*on_handed)(phx *p, struct phx_range range, const struct phx_id *giver, void *user);
    /* The outcome of phx_trace. */
    void (*on_trace)(phx *p, const struct phx_trace *trace, void *user);
    /* A line for people. Of levels up to PHX_LOG_INFO there are at most 20 in a second, whatever others do:
     * then one says how many were left out. Lines come shortly after what they tell of. */
    void (*on_log)(phx *p, int level, const char *line, void *user);
    /* How phx_join reaches schemes that this library does not know, "ssh://..." of extras/ssh say.
     * Called inside phx_step each time such a hub is due to be dialled: at once, and with the usual
     * back-off whenever there is no link with it. Returns a stream descriptor, connected or on its way
     * to be, which the node owns from there on (with cfg.os: a handle of that world), or a negative
     * enum phx_error; both that and what becomes of the stream are logged, and a stream without a
     * verified link after cfg.dial_timeout_us is closed. It must not block. With cfg.tls
     * TLS is spoken on it, since it should lead to a listener. No key is asked for: whether the way is safe
     * the host knows. NULL: such addresses are PHX_ESCHEME. */
    int (*dial)(phx *p, const char *address, void *user);
    /* This node has no link, and each hub that it has, if it has any, was dialled in vain: does the host know
     * of others, from DNS, a file or its scheduler? Here or later it calls phx_join for them, and phx_unjoin
     * for those that are no more. Called inside phx_step: in the first one if there is no hub, else when the
     * last of them has failed, and then once in cfg.retry_max_us until there is a link. Also in here phx_join
     * resolves host names, which may block as nothing else in a step does: best it gets numeric addresses. */
    void (*on_need_hubs)(phx *p, void *user);
    int log_level; /* lines above it are not made; default PHX_LOG_INFO */

    const struct phx_alloc *alloc; /* NULL: malloc and free */
    const struct phx_os *os;       /* NULL: the real one */

    /* Gets every input of this node as it comes, in pieces, to be kept in that order (fwrite to a file, say):
     * calls with their arguments, what the world, time and callbacks say, whether there was memory. From
     * this test/sim/replay runs the node again, step by step, with the same phoenix.c and kind of machine: a
     * crash in the field becomes a test. PAYLOADS ARE IN IT, and random numbers, which give away what TLS
     * hid; keys are not, and who replays a node that has some must have them. It must call nothing of the
     * node. phx_dump, phx_explain and what does not change a node are left out. user is cfg.user. NULL:
     * nothing is noted, and it costs nothing. */
    void (*record)(const void *bytes, size_t size, void *user);
};

/* Fills cfg with the defaults. This, phx_nodes and phx_stats are macros that tell phoenix.c with which
 * phoenix.h they were compiled. Bindings to other languages call the functions behind them, with the size of
 * their own struct and the PHX_VERSION_NUMBER that they were written for. A phoenix.c of another version
 * fills nothing, and phx_new says PHX_EVERSION. */
#define phx_config_init(cfg) phx_config_init_as((cfg), sizeof(struct phx_config), PHX_VERSION_NUMBER)
void phx_config_init_as(struct phx_config *cfg, size_t size, int version);

/* ---- Life --------------------------------------------------------------------------------------- */

/* Makes a node. now_us starts its clock. On failure *out is NULL. PHX_EVERSION: cfg was not made by
 * phx_config_init of this version. PHX_EINVAL: a limit, time or label of cfg is out of its range;
 * PHX_EKEYSIZE; PHX_EIO: no random bytes; PHX_ENOMEM; PHX_EMFILE. With PEM files, which are read here and may
 * block: PHX_EFILE, PHX_EACCES, PHX_EPEM, PHX_ECERT, PHX_EPAIR. With cfg.tls or PEM
 * files in a build without TLS: PHX_ENOTSUP; cfg.tls with neither files nor key: PHX_ENOKEY. */
int phx_new(phx **out, const struct phx_config *cfg, uint64_t now_us);

/* Leaves: names are released, nothing new is sent or accepted, and what was sent gets up to drain_us to be
 * acknowledged; names that are being handed (phx_hand) are kept for as long, or until the heir has them.
 * Then neighbours are told, and what is still pending ends with PHX_ECLOSED. Go on stepping until
 * phx_closed says 1, at most drain_us later, then phx_free. With 0 the goodbye gets one step. Others see
 * PHX_NODE_LEFT. */
int phx_close(phx *p, uint64_t drain_us);
int phx_closed(const phx *p);

/* Ends it at once: links close without a goodbye (acks of what on_message has got leave before), sends with
 * tokens get no outcome, owned buffers are released. NULL is fine. */
void phx_free(phx *p);

/* Other keys than cfg.key, at any time: the node uses the first and accepts all, one or two. Links that
 * are up stay up; those that are made from now on need one of these. To change a cluster's key while it
 * runs give every node { old, new }, then every node { new, old }, then every node { new }. It takes
 * effect with the next step; a copy is made. PHX_EINVAL, PHX_EKEYSIZE, PHX_ENOMEM: nothing changed. */
int phx_set_keys(phx *p, const struct phx_key *keys, int count);

/* ---- Addresses ---------------------------------------------------------------------------------- */

/* Accepts links at "tcp://host:port", "tls://host:port" or "unix:///path". Port 0 picks one. Host may be
 * 0.0.0.0 or, for IPv6 alone, [::] for all interfaces. IPv6 addresses that map an IPv4 one are PHX_ENOADDR,
 * and link-local ones, which want an interface, cannot be used. The address is passed on to all; that of
 * "all interfaces" is
 * learnt from this node's TCP links, so a node whose links are all adopted ones (ssh, pipes) tells nobody
 * where it is: listen at the machine's own address, or call phx_advertise. Up to 8 listeners. Resolves
 * host names and so may block; never call it inside a latency-sensitive loop. Errors: PHX_EADDRESS,
 * PHX_ESCHEME, PHX_ERESOLVE, PHX_EINUSE, PHX_EACCES, PHX_ENOADDR, PHX_EINSECURE, PHX_EMFILE, PHX_ELIMIT;
 * for TLS PHX_ENOTSUP (built without) and PHX_ENOKEY. A listener speaks either TLS or not: who comes with
 * the other is refused. */
int phx_listen(phx *p, const char *address);

/* The address of listener `index` (0, 1, ...) with its real port. PHX_ENOTFOUND past the last. */
int phx_listening(const phx *p, int index, struct phx_address *out);

/* Tells others one more address of this node, e.g. of a forwarded port. Numeric host only. PHX_EINSECURE:
 * it leaves this machine and there is no key. */
int phx_advertise(phx *p, const char *address);

/* Names a hub: a node to find the others through. Dialled now and whenever there is no link with
 * it, until phx_unjoin. May be called before anybody listens there. Resolves like phx_listen. Up to 64
 * hubs. With cfg.dial also "scheme://anything" in up to 103 printable ASCII characters, not resolved. If none
 * of them answers, on_need_hubs asks for others. */
int phx_join(phx *p, const char *address);

/* Forgets a hub: it is not dialled any more. A link with it stays, and comes back only as one with any node
 * does (cfg.full_mesh). PHX_ENOTFOUND: no hub was joined by this address, or its host name leads elsewhere
 * now; else as phx_join. */
int phx_unjoin(phx *p, const char *address);

/* Makes a link from a connected stream: a socketpair, an ssh pipe that is one descriptor, a descriptor
 * of the host's world. The handshake of the other side must come within cfg.dial_timeout_us. The node
 * owns fd from here, also on failure. dialer: 1 on one side and 0 on the other; PHX_ADOPT_TLS is added on
 * both sides for TLS, which adopted streams and UNIX sockets otherwise never speak. PHX_EINSECURE: it is a
 * connection with another machine, and there is no key. PHX_EINVAL: not connected, nothing that can be waited
 * for (a file, a directory), or the node's own, which then stays as it is. */
enum phx_adopt { PHX_ADOPT_TLS = 2 };
int phx_adopt(phx *p, int fd, int dialer);

/* ---- The loop ----------------------------------------------------------------------------------- */

/* Does what is due, a bounded amount of it, and never blocks. Messages, outcomes, rooms and broken names are
 * told for a tenth of detector.interval_us in one step, and one more of each kind; what is left is for the
 * next step. (Not counted: on_node of nodes that fail at one moment, on_handed, on_trace, on_need_hubs,
 * cfg.dial.)
 *     ready: pollfds filled by phx_fds and then by poll (others among them are skipped); NULL (n is 0): look
 * for what is ready with one system call, or begin with the link that alone was ready at the last looks.
 * n == 0 with ready != NULL: nothing is looked for, and all that this node owes leaves, acks too: the cheap
 * last step before the host blocks or computes. Returns 1 if work is left (step again soon), 0 if not,
 * PHX_ESTATE from inside a callback. */
int phx_step(phx *p, uint64_t now_us, const struct pollfd *ready, int n);

/* When the next thing is due, on the host's clock; 0: now; UINT64_MAX: never. Changes whenever a phx_ call
 * is made. */
uint64_t phx_deadline(const phx *p);

/* The same as a time-out for poll and epoll_wait: milliseconds from now_us, rounded up, -1 for never. */
int phx_timeout_ms(const phx *p, uint64_t now_us);

/* Fills fds with what to watch, level-triggered, and returns how many there are. That may be above
 * capacity: then only the first capacity entries are filled, and you should come back with a larger
 * array. Each link is one, each listener is one or two (cfg.same_host), and phx_wake is one. */
int phx_fds(const phx *p, struct pollfd *fds, int capacity);

/* One descriptor that is readable whenever a step has something to read or write, for hosts with an epoll,
 * kqueue, libuv or glib loop of their own: watch it for reading and call phx_step(p, now, NULL, 0). It is the
 * same from phx_new to phx_free, which closes it: take it out of your loop before. PHX_ENOTSUP where the
 * system has none (poll-only builds). A call outside a step that leaves work to be done at once (a send, a
 * name, a hub), or an earlier deadline (a time limit), makes it readable, too. That costs a write and a read
 * of a pipe once per step, from the first call of phx_fd on; who watches phx_fds and never calls this pays
 * nothing. Deadlines still count: after each step, ask phx_timeout_ms. */
int phx_fd(phx *p);

/* Makes the descriptors of phx_fds and phx_fd readable, so that a sleeping host comes back to phx_step.
 * The one call that is safe from other threads and from signal handlers. */
int phx_wake(phx *p);

/* The host knows better: this node is dead, and stays so until phx_free, whatever may be heard of it. Its
 * links close, it is dialled no more (an address of phx_join is: another one may answer there), and nothing
 * that it sends is shown from when the call returns. What was sent to it or waits for its names ends with
 * PHX_EFAILED; only what is under way to a name that another node holds by now goes there. In the next
 * phx_step (in this one, inside a callback) on_node says PHX_NODE_FAILED, unless it was that already, and
 * outcomes, release and on_abandon follow, as far as that step has time. Others are told nothing; the node
 * itself, if it lives, is refused. It need not be known here, and counts in cfg.max_nodes for ever. 0, also
 * if it was said before; PHX_EINVAL (it is this node), PHX_ELIMIT, PHX_ENOMEM. */
int phx_fail(phx *p, const struct phx_id *node);

/* A clock for hosts that have none: microseconds of CLOCK_MONOTONIC, since the machine's start or so. It
 * never steps back and is the same in all processes of a machine; on Linux it stands still while the machine
 * is suspended. Neither wall clock nor process time. */
uint64_t phx_now_us(void);

/* ---- Before you block -------------------------------------------------------------------------- */

/* Nothing works for you between steps. Before an MPI collective, a read of a large file, a long kernel or a
 * sleep do one of these:
 *
 *      phx_step(p, phx_now_us(), fds, 0);  // pauses below detector.interval_us (5 s by default): what this
 *                                          // node owes leaves: acks, own names, messages as far as links
 *                                          // take them. fds may be any pollfd, since none is looked at
 *      phx_busy(p, 60 * 1000000);          // longer ones: that, and nobody wonders for about a minute
 *
 * Without the first, acks and own names wait for company; a program on the other side that waits for them
 * waits for you, and two MPI programs coupled by Phoenix can wait for each other for ever. Without the second
 * the neighbours suspect this node, and in the end it is FAILED.
 *
 * How much goes in one step: it reads up to cfg.step_bytes from a link (of a message received in place 1
 * MiB), writes what the socket takes, and returns 1 while there is more. A host that comes by once per time
 * step calls it until it returns 0. Then at most what a socket holds passes in a time step: 4 MiB (and
 * cfg.window), so that 16 MB take 4 to 8; over a UNIX socket twice net.core.wmem_max if that is less: some 40
 * with the 208 KiB that it is by default. */

/* The host will not step for about us microseconds: it is going to compute. All neighbours are told now,
 * without waiting for a step, and do not wonder before that time is over; what this node owes leaves with
 * it (inside a callback when the step ends). The next phx_step ends it, and tells them so. Costs two small
 * frames per link. 0 takes it back. PHX_EINVAL: more than a day; PHX_ECLOSED. */
int phx_busy(phx *p, uint64_t us);

/* ---- Names -------------------------------------------------------------------------------------- */

/* Takes names first..last for this node and tells everybody. No permission is asked: if another node
 * holds some of them, the claim with the higher (epoch, id) wins, the same way everywhere, and the
 * loser gets on_conflict. A new claim gets an epoch above every claim known here, so whoever assumes
 * last and knows of the other wins. What a process held that died goes to the next one once it counts as
 * failed, detector.broken_us after its last route. A process that is started again with an id of its own may
 * not know of that wait; all who know of both lives do: see phx_explain, `waits`. With the same cfg.id and a
 * higher cfg.incarnation there is none. PHX_ERANGE, PHX_ELIMIT (100,000 ranges), PHX_ENOMEM. */
int phx_assume(phx *p, uint64_t first, uint64_t last);

/* Gives names up. Parts not held are ignored. Messages to them then wait at their senders until
 * somebody assumes them. PHX_ERANGE, PHX_ENOMEM, PHX_ELIMIT (the hole would make too many ranges). */
int phx_release(phx *p, uint64_t first, uint64_t last);

/* Gives names first..last, all held by this node, to another node, the heir. They stay here until the heir
 * has assumed them: at no moment has one of them no owner, messages go on, in order and once, and
 * neither side gets on_conflict. The heir is asked, again and again, and its host gets on_handed; that
 * all is done is seen by phx_owner. If the heir fails or leaves first, this node goes on holding them, and
 * phx_release ends it too. phx_close waits for it as it does for messages. The heir believes it only
 * of names that, as far as it knows, the giver holds; beyond that all who have the key are trusted alike.
 *     Returns at once: 0, also if just that is under way already; PHX_ERANGE; PHX_ENOTFOUND (the heir is
 * not known here, has failed or left; or some of the names are not held here); PHX_EINVAL (the heir is
 * this node); PHX_ESTATE (some are being handed to another node); PHX_ELIMIT (1,024 under way);
 * PHX_ECLOSED, PHX_ENOMEM. */
int phx_hand(phx *p, uint64_t first, uint64_t last, const struct phx_id *heir);

/* Who holds a name, as far as is known here: 0, or PHX_ENOTFOUND. */
int phx_owner(phx *p, uint64_t name, struct phx_id *out);

/* Which of the names first..last are broken, ascending. Fills out[0..capacity-1] and returns how many
 * there are; 0 also if first is above last, or there is no memory to find out. */
size_t phx_broken(phx *p, uint64_t first, uint64_t last, struct phx_lost *out, size_t capacity);

/* ---- Messages ----------------------------------------------------------------------------------- */

/* Sends size bytes to whoever holds the name `to`. Between live nodes messages from one sender to one name
 * arrive once and in order, also when relays die on the way and when the name moves meanwhile: what its
 * former holder has not delivered comes back here and goes to the next one. What a holder that dies has
 * not acknowledged ends with PHX_EFAILED, or goes to its heir, who may get again what the dead one
 * got. A name nobody holds: the message waits here. Never calls back; also a message to a name of this
 * very node arrives inside a later phx_step. PHX_ETOOBIG, PHX_EAGAIN (then on_writable), PHX_ENOMEM,
 * PHX_ECLOSED. */
int phx_send(phx *p, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size);

/* Without a copy: data stays the host's memory and must not change until release(data, size, arg) is
 * called, inside a step or phx_free. If the call fails, release is not called. */
int phx_send_owned(phx *p, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
                   void (*release)(const void *data, size_t size, void *arg), void *arg);

/* Takes lent memory back at once: a buffer of phx_send_owned or phx_sendv (arg: as for its release, since
 * one buffer may be lent several times), or one of on_begin (arg: NULL). It is the host's when this returns,
 * and neither release nor on_abandon will be called for it. The message goes on, from a copy of what is still
 * needed: on_done tells its outcome, or on_message shows it in memory of the node. PHX_ENOTFOUND: it is not
 * lent, or no more; PHX_ENOMEM: it still is; PHX_EINVAL. Looks at all that is queued. */
int phx_reclaim(phx *p, const void *buffer, const void *arg);

/* All of it at once. Zero what you do not use. */
struct phx_outgoing {
    uint64_t to, from, tag;
    uint64_t token;          /* not 0: on_done tells the outcome */
    uint64_t time_limit_us;  /* not 0: give up if nobody got it this long after the call, and free it */
    const struct iovec *iov; /* gathered and copied ... */
    int iov_count;
    void (*release)(const void *data, size_t size, void *arg); /* ... unless set: then exactly one
                                                                   iov, sent without a copy */
    void *arg;
};
int phx_sendv(phx *p, const struct phx_outgoing *m);

/* One message to many names. Each of the ranges stands for the nodes that hold some of it now: each
 * gets the message once for that range, addressed to the first of the range's names that it holds. A
 * range of one name that nobody holds waits for a holder, as in phx_send; of wider ones what nobody
 * holds is left out. From there on each is a message of its own from this node to that name, in
 * order with those that phx_send sends there, with the same promises, also when the name moves. But
 * the bytes are kept once, and on their way they cross each link once, as far as the members' queues
 * go along with each other.
 *     Returns how many members there are, 1 or more. PHX_ENOTFOUND: none. PHX_EAGAIN: there is no room
 * for one of them, so none is sent; on_writable tells its name. PHX_ETOOBIG, PHX_EINVAL, PHX_ERANGE (a
 * range ends before it begins), PHX_ENOMEM, PHX_ECLOSED. phx_cancel with its token takes back all members of
 * which nothing has left. */
struct phx_cast {
    const struct phx_range *ranges;
    size_t ranges_count;
    uint64_t from, tag;
    uint64_t token;         /* not 0: on_member tells the outcome for each member */
    uint64_t time_limit_us; /* as in phx_outgoing */
    const void *data;       /* copied */
    size_t size;
};
int phx_cast(phx *p, const struct phx_cast *c);

/* Takes a message back that is not delivered yet. on_done follows with PHX_ECANCELLED; if part of it
 * has left already, PHX_ENOTFOUND: too late. */
int phx_cancel(phx *p, uint64_t token);

/* Bytes accepted by phx_send and not yet acknowledged by a receiver, all destinations together. */
size_t phx_pending(const phx *p);

/* ---- Looking inside ----------------------------------------------------------------------------- */

struct phx_link {
    int handle;
    int up;              /* 0: still being made */
    int dialer;          /* 1: this side dialled */
    int monitor;         /* 1: this neighbour watches us, see struct phx_detector */
    int same_host;       /* 1: over a UNIX socket in place of TCP, see cfg.same_host */
    struct phx_id peer;  /* zero until known */
    struct phx_address address; /* the other end, as far as known; of a link within this host the address
                                   that was dialled, or where it was accepted unix:// without a path */
    uint64_t since_us;
    uint64_t bytes_in, bytes_out;
    size_t queued_bytes; /* waiting to be written */
};

/* An address given to phx_join; a host name has one for each address that it resolved to. */
struct phx_hub {
    struct phx_address address;
    struct phx_id peer; /* the node that was found there; zero until known */
    int linked;         /* 1: there is a link with that node, made here or by the other side */
    int error;          /* why the last dial failed: PHX_EREFUSED, PHX_EKEY, ...; PHX_EAGAIN: a dial is under
                           way; 0: none was made yet (tried_us is 0), or it went well */
    uint64_t tried_us;  /* when the last dial ended, host clock, to a millisecond; its age comes round after
                           49 days. 0: none has */
};

struct phx_route {
    struct phx_id id, next; /* destination, and the neighbour towards it */
    int hops;               /* -1: unreachable */
    uint32_t seq;           /* the owner's sequence number of the route in use */
    uint32_t feasible_seq;  /* the feasible distance: what this node has advertised at best */
    int feasible_hops;      /* -1: nothing advertised */
};

/* Each fills out[0..capacity-1] and returns how many there are. The node itself is the first node. */
#define phx_nodes(p, out, capacity) \
    phx_nodes_as((p), (out), (capacity), sizeof(struct phx_node), PHX_VERSION_NUMBER)
size_t phx_nodes_as(const phx *p, struct phx_node *out, size_t capacity, size_t size, int version);
size_t phx_links(const phx *p, struct phx_link *out, size_t capacity);
size_t phx_hubs(const phx *p, struct phx_hub *out, size_t capacity);
size_t phx_routes(const phx *p, struct phx_route *out, size_t capacity);
size_t phx_names(const phx *p, const struct phx_id *owner, struct phx_range *out, size_t capacity);

void phx_self(const phx *p, struct phx_id *out);

/* All that is known of a node and why it is what it is, as text: one "key: value" per line, keys may
 * repeat. Like snprintf: at most capacity bytes with the final NUL, and returns how long the whole is.
 * PHX_ENOTFOUND: never heard of it; PHX_EINVAL. Times are ages as of the last step. The keys:
 *
 *      id, state, since, incarnation, hops (a number or none), next (the neighbour towards it)
 *      rtt           with cfg.rtt_metric: how long from here to there and back, as far as is known
 *      label         if it has one: cfg.label there
 *      names         a range that it holds; names-more: how many are not shown
 *      waits         of these, one that a node holds which cannot be reached, by a claim that counts until
 *                    that has failed: for how long yet, unless it is heard of, and which node
 *      link          the link with it, or none; ", within this host": see cfg.same_host
 *      heard         when something last came on it
 *      promised      how often it says it is to be heard on the link; with ", busy" during phx_busy,
 *                    and while its steps come late
 *      watched-here  yes if this node is one of its monitors; watches-us: the other way round
 *      link-lost     when the last link ended, and why
 *      accused       when and by whom it was last said to be gone: this node's own silent link, another
 *                    node, or the routing
 *      address       where it can be dialled, when that was tried last, and what came of it
 *      seen-by       a neighbour that says it has a route to it, and of how many hops
 *      hub           of this node itself: an address of phx_join, as in struct phx_hub */
int phx_explain(phx *p, const struct phx_id *node, char *out, size_t capacity);

/* Finds out which nodes messages to `node` pass, how long it takes to reach each, and why each of them
 * leaves it to the next: one round trip later on_trace tells, exactly once for each call that returned 0
 * (none after phx_free). token is the host's. Costs each node on the way one small frame, which a busy or
 * suspicious one may leave unanswered; and what it answers is its own word. PHX_EINVAL: `node` is this node,
 * or there is no cfg.on_trace; PHX_ENOTFOUND: never heard of it; PHX_ELIMIT: 16 are under way; PHX_EIO: no
 * random bytes; PHX_ENOMEM, PHX_ECLOSED. */
int phx_trace(phx *p, const struct phx_id *node, uint64_t token);

/* The network as this node knows it, as ASCII text: like snprintf, at most capacity bytes with the final NUL,
 * and returns how long the whole is. PHX_EINVAL.
 *
 *      PHX_DUMP_JSON  { "self": id, "now_us": time of the last step,
 *                       "nodes": [{ "id", "label", "incarnation", "state": as in phx_explain, "hops": or -1,
 *                                   "next": if hops > 0, "rtt_us": if known, "since_us",
 *                                   "names": [[first, last], ...] }],
 *                       "links": [{ "peer", "address", "up", "dialer", "monitor", "since_us",
 *                                   "bytes_in", "bytes_out", "queued_bytes" }],
 *                       "hubs":  [{ "address", "peer", "linked", "error": its text or "", "tried_us" }],
 *                       "seen":  [{ "by": a neighbour, "node", "hops" }] }: what neighbours say.
 *                     Names and incarnations are strings of digits: not all readers keep 64 bits
 *      PHX_DUMP_DOT   a graph for graphviz (dot, neato): own links, and in gray what neighbours tell */
enum phx_dump_format { PHX_DUMP_JSON = 1, PHX_DUMP_DOT };
int phx_dump(phx *p, int format, char *out, size_t capacity);

/* Counters since the start, and sizes now. */
struct phx_stats {
    uint64_t steps, os_calls; /* os_calls: of struct phx_os, but fd, wake and free */
    uint64_t bytes_in, bytes_out, frames_in, frames_out;
    uint64_t messages_in, messages_out; /* the application's, delivered here and sent here */
    uint64_t relayed_frames, relayed_bytes;
    uint64_t retransmitted_frames, duplicate_frames, dropped_frames;
    uint64_t updates_in, updates_out, entries_in, entries_out; /* routing */
    uint64_t requests_out, heartbeats_in, heartbeats_out;
    uint64_t monitor_beats_in; /* of heartbeats_in: from nodes that this one watches */
    uint64_t beats_saved, insurance_saved; /* heartbeats to monitors, and to others, that were due and
                                              that other traffic had made needless */
    uint64_t dials, dials_failed, accepts, refused, links_lost, bad_frames;
    size_t mem_bytes, mem_peak;
    uint32_t nodes, reachable, links;
    uint64_t digest; /* of the routing table; equal at all nodes of a settled network */
    uint64_t looks;  /* entries of tables that were visited: the work that grows with the network */
};
/* 0, or PHX_EINVAL or PHX_EVERSION (see phx_config_init) and out is all zero. */
#define phx_stats(p, out) phx_stats_as((p), (out), sizeof(struct phx_stats), PHX_VERSION_NUMBER)
int phx_stats_as(const phx *p, struct phx_stats *out, size_t size, int version);

#ifdef __cplusplus
}
#endif
#endif
