/* ring.h - messages between two processes of one host through shared memory, beside Phoenix. */
#ifndef FTM_RING_H
#define FTM_RING_H

#include <stddef.h>
#include <stdint.h>

#include "list.h"

struct ftm;
struct ftm_arrival;
struct ftm_proc;
struct ftm_ring;

/* The largest piece of a rendezvous that goes through a ring; larger ones go through Phoenix. */
#define FTM_RING_PIECE 32768

/* Before a message goes to p: makes a ring if it is time for that, or turns to it once the other side has
 * it. */
void ftm_ring_consider(struct ftm *e, struct ftm_proc *p);

/* Whether messages to p go through a ring now; and then those of up to so many bytes. */
int ftm_ring_is_on(const struct ftm_proc *p);
size_t ftm_ring_most(const struct ftm_proc *p);

/* Whether messages from p come through one. */
int ftm_ring_comes(const struct ftm_proc *p);

/* 0, or PHX_EAGAIN: there is no room. Data are copied. */
int ftm_ring_send(struct ftm *e, struct ftm_proc *p, uint64_t from, uint64_t tag, const void *data,
                  size_t size);

/* A message of kind FTM_RING. -1: none of ours would say that. */
int ftm_ring_told(struct ftm *e, const struct ftm_arrival *a);

/* Takes what has come. 1: there was something. */
int ftm_ring_look(struct ftm *e);

/* Before this process sleeps: others will ring. 0: it must not sleep, since something has come, or there is
 * room that was waited for. */
int ftm_ring_sleep(struct ftm *e);
void ftm_ring_wake(struct ftm *e);

/* It has failed, and what it had published has been read. */
void ftm_ring_drop(struct ftm *e, struct ftm_proc *p);

void ftm_ring_clear(struct ftm *e);

#endif
