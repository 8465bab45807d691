/* outcome.h - what became of messages: promised when they are accepted, told in a step. */
#ifndef PHX_POST_OUTCOME_H
#define PHX_POST_OUTCOME_H
#include "post/state.h"

/* How many outcomes a message may need: one to report, one to release its owner's memory inside a step. */
PHX_PRIVATE uint32_t phx__post_outcome_promises(uint64_t token, const struct phx__block *body);
/* Reserves n more, so that none is lost for lack of memory. 0 or PHX_ENOMEM. */
PHX_PRIVATE int phx__post_outcome_promise(struct phx__post *p, uint32_t n);
/* The next phx__post_run reports the outcome of m, whose body is NULL if it is not to be dropped yet. */
PHX_PRIVATE void phx__post_outcome_add(struct phx__post *p, const struct phx__message *m, int result);
/* Messages of which nobody waits for the outcome were lost: that is told once for all. */
PHX_PRIVATE void phx__post_outcome_lost(struct phx__post *p, uint32_t count, uint64_t to, int result);
/* Gives back what a peak has left, of mailboxes and tokens, too. */
PHX_PRIVATE void phx__post_outcome_fit(struct phx__post *p);
PHX_PRIVATE void phx__post_outcome_tell(struct phx__post *p);
/* May the application be called? done: how often it was in this phase of the step; once is always right. */
PHX_PRIVATE int phx__post_outcome_may_call(struct phx__post *p, int share, uint32_t done);

#endif
