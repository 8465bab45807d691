/* agent_names.c - questions about published names on their way to the launcher, and its answers. */

/* The launcher's agent has the list. On either way 4 bytes stand before what names.h makes of it: the number
 * of the job whose engine asks. */
#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <string.h>

#define NAMES_HEAD 4

/* The launcher's agent answers: how many bytes, or an error. */
static int answer(struct la_local *l, const unsigned char *question, size_t size,
                  unsigned char out[NAMES_HEAD + LA_NAMES_BYTES])
{
    int n = size < NAMES_HEAD ? PHX_EPROTO : 0;

    if (n == 0 && l->names == NULL)
        n = la_names_new(&l->names);
    if (n != 0)
        return n;
    memcpy(out, question, NAMES_HEAD);
    n = la_names_answer(l->names, question + NAMES_HEAD, size - NAMES_HEAD, out + NAMES_HEAD);
    return n < 0 ? n : n + NAMES_HEAD;
}

void la_agent_name_asked(struct la_local *l, uint32_t from, const void *question, size_t size)
{
    unsigned char out[NAMES_HEAD + LA_NAMES_BYTES];
    int n = answer(l, (const unsigned char *)question, size, out);

    if (n < 0)
        la_agent_tell(l, LA_UP_SAY, LA_NONE, 0, "a question about a published name is lost");
    else
        la_agent_post(l, from, LA_DOWN_NAMED, out, (size_t)n);
}

void la_agent_named(struct la_local *l, const void *data, size_t size)
{
    const unsigned char *at = (const unsigned char *)data;
    struct local_job *j = size < NAMES_HEAD ? NULL : la_agent_job(l, la_agent_get32(at));
    const char *port;
    uint64_t token;
    int found;

    if (j != NULL && la_names_read_answer(at + NAMES_HEAD, size - NAMES_HEAD, &token, &found, &port) == 0)
        la_engine_named(la_ranks_engine(j->ranks), token, found, port);
}

/* 0, or why the answer is no. */
static int ask(struct la_local *l, const unsigned char *question, size_t size)
{
    unsigned char out[NAMES_HEAD + LA_NAMES_BYTES];
    int n;

    if (l->root.event == NULL) {
        la_agent_raise(l, LA_UP_NAME, question, size);
        return 0;
    }
    n = answer(l, question, size, out);
    if (n >= 0)
        la_agent_named(l, out, (size_t)n);
    return n < 0 ? n : 0;
}

void la_agent_ask_name(struct local_job *j, enum la_naming what, const char *service, const char *port,
                       uint64_t token)
{
    unsigned char question[NAMES_HEAD + LA_NAMES_BYTES];
    int size = la_names_question(question + NAMES_HEAD, what, service, port, token);

    la_agent_put32(question, j->number);
    if (size < 0 || ask(j->of, question, NAMES_HEAD + (size_t)size) != 0)
        la_engine_named(la_ranks_engine(j->ranks), token, 0, NULL);
}
