/* schedule.h - a collective call as a short program of steps, which the engine runs without blocking. */
#ifndef FTM_SCHEDULE_H
#define FTM_SCHEDULE_H

#include <stddef.h>

#include "comm.h"
#include "op.h"
#include "type.h"

struct ftm;
struct ftm_proc;
struct ftm_schedule;

/* Steps are added in the order in which they are to happen. Sends and receives are only started; they are
 * over at the next ftm_schedule_wait (there is one at the end), and a receive stands before the sends that
 * are to go on beside it. What is copied or combined must have come before a wait. No step fails by itself:
 * what goes wrong is kept, and ftm_schedule_begin or ftm_schedule_error tells.
 *
 * All messages of one schedule have one tag, the communicator's count of collective calls, so members must
 * make the same calls in the same order, and messages of two calls never mix. */

/* NULL: no memory. It holds the communicator. */
struct ftm_schedule *ftm_schedule_new(struct ftm *e, struct ftm_comm *comm);
void ftm_schedule_free(struct ftm_schedule *s);

struct ftm *ftm_schedule_engine(const struct ftm_schedule *s);

/* Its members: of a communicator with gaps the living ones alone, numbered without the gaps; and the ranks
 * that these have in the communicator, or NULL where all have the same. */
struct ftm_comm *ftm_schedule_comm(const struct ftm_schedule *s);
const int *ftm_schedule_ranks(const struct ftm_schedule *s);

void ftm_schedule_send(struct ftm_schedule *s, int to, const void *buf, size_t count, struct ftm_type *t);
void ftm_schedule_recv(struct ftm_schedule *s, int from, void *buf, size_t count, struct ftm_type *t);
void ftm_schedule_wait(struct ftm_schedule *s);

/* inout = in op inout, element by element: `in` comes from lower ranks. */
void ftm_schedule_combine(struct ftm_schedule *s, const struct ftm_op *op, const void *in, void *inout,
                          size_t count, struct ftm_type *t);

/* From one typed buffer into another with as many bytes of data; nothing if they are the same. */
void ftm_schedule_copy(struct ftm_schedule *s, const void *from, size_t from_count,
                       struct ftm_type *from_type, void *to, size_t to_count, struct ftm_type *to_type);

/* Memory until the schedule is freed. The second one is where count elements of the type would begin, with
 * room for them around it. NULL: none, and the schedule will not begin. */
void *ftm_schedule_bytes(struct ftm_schedule *s, size_t size);
void *ftm_schedule_room(struct ftm_schedule *s, size_t count, const struct ftm_type *t);

/* Runs it as far as it can; from then on ftm_schedule_run does. 0, or MPI_ERR_INTERN: nothing was sent. */
int ftm_schedule_begin(struct ftm_schedule *s);
int ftm_schedule_done(void *s); /* a struct ftm_schedule: the form that ftm_pump_until takes */
int ftm_schedule_error(const struct ftm_schedule *s);

/* This one goes on when a member fails, as long as the data come (MPI_Bcast, where messages between the
 * living go on); all others end. */
void ftm_schedule_goes_on(struct ftm_schedule *s);

/* For the engine. Ends the schedules of which p is a member, if they have not ended; or all of one
 * communicator. What they have started is taken back. */
void ftm_schedule_failed(struct ftm *e, const struct ftm_proc *p);
void ftm_schedule_end_all(struct ftm *e, struct ftm_comm *comm, int error);

/* For the engine. A request of it is done: nothing is run yet. Those that can go on do, at the end of a step,
 * outside of phx_step, since operations of the program run here. */
void ftm_schedule_wake(struct ftm *e, struct ftm_schedule *s);
void ftm_schedule_run(struct ftm *e);

#endif
