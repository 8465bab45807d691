/* answers.h - what the hosts of phxrun -k answer: equal answers once, with the hosts that gave them. */

/* A brain without I/O. As text each line of an answer has its hosts before it, "a[1-4]: up 3 days". As JSON
 * there is an object in each line,
 *
 *      {"hosts":["a1","a2"],"status":0,"stdout":"...","stderr":"..."}
 *
 * An answer of more than LA_ANSWER_MAX bytes is not kept: what there is goes out at once with the one host
 * before its lines, and so does all that follows; in JSON as objects with "part":true, status null, before
 * the last one with the status. status is null too where nobody can tell, since the agent is gone. */
#ifndef LA_ANSWERS_H
#define LA_ANSWERS_H

#include "job.h"
#include "text.h"

#define LA_ANSWER_MAX 65536

struct la_answers;

/* job stays the caller's while this lives. 0, PHX_ENOMEM. */
int la_answers_new(struct la_answers **out, const struct la_job *job, int json);
void la_answers_free(struct la_answers *a);

/* What a process wrote to stream 1 or 2. What is to be printed at once is appended to now[0] (standard
 * output) and now[1] (standard error). 0, PHX_ENOMEM. */
int la_answers_output(struct la_answers *a, uint32_t rank, int stream, const void *data, size_t size,
                      struct la_text now[2]);
/* It has ended, with this status. */
void la_answers_exit(struct la_answers *a, uint32_t rank, int status);
/* All have: what was kept. 0, PHX_ENOMEM. */
int la_answers_finish(struct la_answers *a, struct la_text now[2]);

#endif
