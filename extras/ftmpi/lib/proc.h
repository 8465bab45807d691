/* proc.h - the other processes of the job: who they are, and what is owed to each. */
#ifndef FTM_PROC_H
#define FTM_PROC_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

struct ftm;
struct ftm_ring;
struct ftm_seats_head;

/* A process is a life of a seat, which is the rank in the world that its launcher gave it. One that is
 * started again has a new entry behind all others, and the old one stays as it was: groups hold places in
 * e->procs, so those of older communicators go on naming who has failed. Where several processes were started
 * again the places of their entries may differ between ranks: on the wire a process is its seat and its
 * life. */
enum ftm_proc_state {
    FTM_PROC_OK = 0,
    FTM_PROC_JOINING, /* started again, and not a member of anything yet */
    FTM_PROC_FAILED,  /* declared so: for ever */
    FTM_PROC_FINISHED
};

struct ftm_proc {
    uint64_t name;
    uint32_t life;
    int index; /* in e->procs */
    int seat, host, site;
    int state; /* enum ftm_proc_state */
    int told;  /* of one that failed: the program was told of it */
    uint64_t failed_us;
    size_t credit;   /* of the eager budget: bytes that may still be sent to it */
    size_t taken;    /* bytes of its eager messages that were taken and of which it was not told */
    uint64_t sent;   /* messages that were given to Phoenix for it */
    unsigned asks;   /* that it has not answered */
    struct ftm_list owing;   /* in e->owing: something below waits to be sent */
    struct ftm_list control; /* struct ftm_control: small messages that did not leave */
    struct ftm_list queue;   /* struct ftm_request: sends that did not leave, in order */
    struct ftm_list parts;   /* struct ftm_request: matched, and not all pieces have left */
    struct ftm_ring *ring_in, *ring_out; /* NULL: none */
    int blocked;             /* Phoenix had no room for it and will say when it has */
};

/* A small message that waits for room in Phoenix. Its bytes follow. */
struct ftm_control {
    struct ftm_list link;
    uint64_t from, tag;
    size_t size;
};

/* 0, or -1: no memory. */
int ftm_proc_init(struct ftm *e);
void ftm_proc_clear(struct ftm *e);

/* Forgets what this process sent to itself and has not got. */
void ftm_proc_drop_local(struct ftm *e);

/* Reads a TABLE. 0, or -1: malformed, or no memory. */
int ftm_proc_table(struct ftm *e, struct ftm_seats_head *head, const void *data, size_t size);

/* That life of that seat, or NULL: it was never here. */
struct ftm_proc *ftm_proc_find(struct ftm *e, uint32_t seat, uint32_t life);

/* A life that was not here, at the end of e->procs, FTM_PROC_OK. NULL: no memory. */
struct ftm_proc *ftm_proc_add(struct ftm *e, int seat, uint32_t life, int host, int site);

/* Sends a small message (at most 64 bytes) that no receive is waiting for by itself; if Phoenix has no
 * room, it waits and leaves later. No memory for that ends the job. */
void ftm_proc_tell(struct ftm *e, int proc, uint64_t tag, const void *data, size_t size);

/* Gives a message to Phoenix, to a ring, or to ourselves. 0, PHX_EAGAIN or another enum phx_error. release
 * as for phx_send_owned, or NULL: copied. FTM_COPIED: it was copied all the same, and release will not be
 * called. from and tag: see wire.h. */
#define FTM_COPIED 1
int ftm_proc_send(struct ftm *e, int proc, uint64_t from, uint64_t tag, const void *data, size_t size,
                  void (*release)(const void *data, size_t size, void *arg), void *arg);

/* The same, and never through a ring: for pieces that are too large for one. */
int ftm_proc_send_large(struct ftm *e, int proc, uint64_t from, uint64_t tag, const void *data, size_t size,
                        void (*release)(const void *data, size_t size, void *arg), void *arg);

/* Whether there is no use in trying to send to it now. */
int ftm_proc_is_blocked(const struct ftm_proc *p);

/* Our own `from` in a generation. */
uint64_t ftm_proc_from(const struct ftm *e, uint32_t generation);

/* Something in one of its lists waits to be sent. */
void ftm_proc_owe(struct ftm *e, struct ftm_proc *p);

/* Sends what waits, as far as there is room. */
void ftm_proc_flush(struct ftm *e);

/* Phoenix has room for this name again. */
void ftm_proc_writable(struct ftm *e, uint64_t name);

/* It has failed: what waits to be sent to it, and is not part of a request, is forgotten. */
void ftm_proc_silence(struct ftm *e, struct ftm_proc *p);

/* Data of a message to this process itself that are lent with this arg are not looked at again. */
void ftm_proc_take_back(struct ftm *e, const void *arg);

/* Memory that Phoenix was lent with this arg (NULL: by on_begin) is ours again, whatever is left to do. */
void ftm_proc_reclaim(struct ftm *e, const void *buffer, const void *arg);

/* Delivers what this process sent to itself before now. */
void ftm_proc_deliver(struct ftm *e);

#endif
