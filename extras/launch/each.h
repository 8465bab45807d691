/* each.h - the answers of -k: one of each host, equal ones together. */
#ifndef LA_EACH_H
#define LA_EACH_H

#include "job.h"
#include "lines.h"
#include "text.h"

#define LA_EACH_MOST ((size_t)64 << 20) /* bytes of answers that are kept */

struct la_each;

int la_each_new(struct la_each **out, const struct la_job *job); /* job stays the caller's; 0, PHX_ENOMEM */
void la_each_free(struct la_each *e);

int la_each_output(struct la_each *e, const struct la_chunk *c); /* 0, PHX_ELIMIT, PHX_ENOMEM */
void la_each_status(struct la_each *e, uint32_t rank, int status);

/* All of it: groups of hosts with the same answer and status, the largest group first. As text "hosts
 * (number)", with the status if it is not 0, and the answer; or as JSON, an array of
 * { "hosts": [...], "status": n, "output": "..." }. 0, PHX_ENOMEM. */
int la_each_report(const struct la_each *e, int json, struct la_text *out);

#endif
