/* nla.h - messages, collective operations and a bulletin board for the processes that phxrun started. */

/* ScELA's primitives (Sridhar, Koop, Perkins, Panda: ScELA, Scalable and Extensible Launching Architecture
 * for
 * clusters, HiPC 2008) for programs that want them without MPI. Two files, this one and nla.c; they need
 * the C
 * library only.
 *
 *      struct nla *n;
 *      double mine = 4.2, all[1000];
 *      int err;
 *      if ((err = nla_init(&n)) != 0)                  // started by phxrun?
 *          die(nla_strerror(err));
 *      err = nla_allgather(n, &mine, sizeof mine, all); // all[r] is what rank r brought
 *      ...
 *      nla_finalize(n);
 *
 * CAVEATS:
 *
 *  - Every rank calls the same collective operations in the same order, with the same root and the same
 * number
 *    of bytes. Ranks that disagree end the job; the launcher names two of them.
 *  - One collective operation at a time: until it is done the next one is NLA_EAGAIN. Sends, receives, puts
 *    and gets may be under way beside it, up to NLA_REQUESTS in all.
 *  - nla_recv may keep up to 64 MiB of messages that do not fit what is asked for; beyond that it is
 *    NLA_ELIMIT.
 *  - A message that is sent has arrived at the agent of its receiver, not in its program. Who never receives
 *    while 64 MiB of messages wait for it is ended with an error.
 *  - In a job that lives on without its dead (phxrun --on-failure continue) an operation that lacks what a
 *    dead rank had to bring is NLA_EFAILED; zeros stand in its place. Barriers go on without the dead.
 *  - One thread at a time per handle. A program speaks either PMI or NLA over its descriptor, not both.
 *  - SIGPIPE is never raised, nothing is printed, exit is never called.
 *
 * Errors: 0 or a count on success, a negative enum nla_error otherwise; nla_strerror has the text. After
 * NLA_ECLOSED or NLA_EPROTO nothing works any more but nla_free and nla_finalize.
 */
#ifndef NLA_H
#define NLA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nla_error {
    NLA_OK = 0,
    NLA_EINVAL = -1,    /* an argument; or ranks disagree about the operation */
    NLA_ENOMEM = -2,
    NLA_EAGAIN = -3,    /* not now: an operation is under way, or NLA_REQUESTS requests are */
    NLA_ESTATE = -4,    /* no such request */
    NLA_ETOOBIG = -6,   /* the message, the value, or the bytes of all ranks together (2 GiB - 512) */
    NLA_ENOTFOUND = -7, /* nobody has put that key */
    NLA_ELIMIT = -8,    /* the agents keep no more */
    NLA_EACCES = -14,   /* keys that begin with PMI_ are the launcher's */
    NLA_EPROTO = -22,   /* the agent speaks something else */
    NLA_EFAILED = -31,  /* a rank that takes part is dead */
    NLA_ECLOSED = -32,  /* the agent is gone */
    NLA_ENOAGENT = -44  /* this process was not started by phxrun */
};

#define NLA_REQUESTS 64                  /* started and not yet tested to the end */
#define NLA_MESSAGE_MAX (1024 * 1024)    /* bytes of one message */
#define NLA_KEY_MAX 255                  /* bytes of a key, without its NUL */
#define NLA_VALUE_MAX 65535              /* bytes of a value, without its NUL */
#define NLA_ANY_RANK UINT32_MAX          /* nla_recv: from anybody */
#define NLA_ANY_TAG UINT64_MAX           /* nla_recv: with any tag; not a tag to send with */

struct nla;

/* ---- Life ------------------------------------------------------------------------------------ */

/* Takes NLA_FD, NLA_RANK and NLA_SIZE from the environment and greets the agent. NLA_ENOAGENT; NLA_ENOMEM;
 * NLA_ECLOSED; NLA_EPROTO. On failure *out is NULL. */
int nla_init(struct nla **out);
/* Says that this rank takes part in nothing any more, once all sent bytes are out, and frees the handle. What
 * was started and not tested is dropped. NULL is fine. */
int nla_finalize(struct nla *n);
/* Frees the handle at once: the launcher may take the silence for a failure. After fork: in the child. */
void nla_free(struct nla *n);

uint32_t nla_rank(const struct nla *n); /* 0 .. nla_size - 1 */
uint32_t nla_size(const struct nla *n);
const char *nla_strerror(int error);

/* ---- Blocking calls -------------------------------------------------------------------------- */

/* Those with a root take any rank as the root. size is the number of bytes of each rank; in and out may not
 * overlap. `out` of nla_gather counts at the root only, `in` of nla_scatter at the root only. */
int nla_barrier(struct nla *n);
int nla_broadcast(struct nla *n, uint32_t root, void *data, size_t size);           /* the root's, to all */
int nla_gather(struct nla *n, uint32_t root, const void *in, size_t size, void *out);  /* out: N * size */
int nla_allgather(struct nla *n, const void *in, size_t size, void *out);              /* out: N * size */
int nla_scatter(struct nla *n, uint32_t root, const void *in, size_t size, void *out); /* in: N * size */
int nla_alltoall(struct nla *n, const void *in, size_t size, void *out);               /* both: N * size */

/* A message to any rank, this one too. Messages from one rank to another arrive in order. NLA_EINVAL: no such
 * rank, or NLA_ANY_TAG; NLA_EFAILED: the rank is gone or has finalized. */
int nla_send(struct nla *n, uint32_t to, uint64_t tag, const void *data, size_t size);

struct nla_message {
    uint32_t from;
    uint64_t tag;
    size_t size;
    unsigned char *data; /* followed by a NUL, so a text that was sent without one is a string */
};
/* The oldest message from this rank (or NLA_ANY_RANK) with this tag (or NLA_ANY_TAG), yours until
 * nla_message_free. */
int nla_recv(struct nla *n, uint32_t from, uint64_t tag, struct nla_message **out);
void nla_message_free(struct nla_message *m); /* NULL is fine */

/* The bulletin board of the job, strings. A key should be put once. A put goes up the tree at once; a get
 * climbs until an agent knows the key. After a barrier what was put before it is found by all. */
int nla_put(struct nla *n, const char *key, const char *value);
/* The length of the value, which stands in value with its NUL; NLA_ENOTFOUND; NLA_ETOOBIG: longer than
 * room - 1
 * bytes. */
int nla_get(struct nla *n, const char *key, char *value, size_t room);

/* ---- Start and test -------------------------------------------------------------------------- */

/* As above, but they return at once: the number of a request, above 0, or an error. What was given is copied;
 * out, value and message must stay until the request is done. */
int nla_start_barrier(struct nla *n);
int nla_start_broadcast(struct nla *n, uint32_t root, void *data, size_t size);
int nla_start_gather(struct nla *n, uint32_t root, const void *in, size_t size, void *out);
int nla_start_allgather(struct nla *n, const void *in, size_t size, void *out);
int nla_start_scatter(struct nla *n, uint32_t root, const void *in, size_t size, void *out);
int nla_start_alltoall(struct nla *n, const void *in, size_t size, void *out);
int nla_start_send(struct nla *n, uint32_t to, uint64_t tag, const void *data, size_t size);
int nla_start_recv(struct nla *n, uint32_t from, uint64_t tag, struct nla_message **message);
int nla_start_put(struct nla *n, const char *key, const char *value);
int nla_start_get(struct nla *n, const char *key, char *value, size_t room);

/* Takes what is there, without blocking. 1: the request is done and its number is free; *result (or NULL) is
 * what the blocking call returns. 0: not yet. NLA_ESTATE: no such request. When the agent is gone every
 * request is done, with NLA_ECLOSED. */
int nla_test(struct nla *n, int request, int *result);
/* Blocks until it is done, and returns what the blocking call returns; NLA_ESTATE. */
int nla_wait(struct nla *n, int request);

/* For poll: the descriptor, and what to wait for, POLLIN or POLLIN | POLLOUT. Then call nla_test. */
int nla_fd(const struct nla *n);
int nla_events(const struct nla *n);

#ifdef __cplusplus
}
#endif
#endif
