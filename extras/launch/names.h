/* names.h - services that processes publish: the launcher's list of them, and questions as bytes. */

/* A brain. An engine asks by ops.name; its agent sends the question up, the launcher's list answers for all
 * jobs of this launcher, and the answer goes down to the agent that asked:
 *
 *      engine: ops.name -> la_names_question -> up -> la_names_answer -> down -> la_names_read_answer
 *              -> la_engine_named */
#ifndef LA_NAMES_H
#define LA_NAMES_H

#include "engine.h"

#define LA_NAMES_BYTES 2048 /* a question or an answer; those of clients that keep to their limits fit */
#define LA_NAMES_MOST 65536 /* services in a list */

struct la_names;

int la_names_new(struct la_names **out); /* 0, PHX_ENOMEM */
void la_names_free(struct la_names *n);  /* NULL is fine */

/* 1: done, or there (*found is the port, borrowed until the next change); 0: taken already, or not there.
 * PHX_ENOMEM; PHX_ELIMIT: the list is full. port is of LA_PUBLISH, found of LA_FIND; else they may be
 * NULL. */
int la_names_do(struct la_names *n, enum la_naming what, const char *service, const char *port,
                const char **found);

/* The question as bytes: how many; PHX_ETOOBIG: it does not fit, so the answer is no. */
int la_names_question(unsigned char out[LA_NAMES_BYTES], enum la_naming what, const char *service,
                      const char *port, uint64_t token);
/* Asks the list, and makes the answer as bytes: how many; PHX_EPROTO: that is no question. A list that is
 * full
 * or has no memory says no. */
int la_names_answer(struct la_names *n, const void *question, size_t size, unsigned char out[LA_NAMES_BYTES]);
/* 0; PHX_EPROTO. *port is in the bytes, or NULL. */
int la_names_read_answer(const void *answer, size_t size, uint64_t *token, int *found, const char **port);

#endif
