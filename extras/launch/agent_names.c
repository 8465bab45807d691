/* agent_names.c - questions about published names on their way to the launcher, and its answers. */

/* The launcher's agent has the list. An answer that the tree does not take yet waits; there are no more of
 * them
 * than processes, since each asks for one name at a time. */
#define _POSIX_C_SOURCE 200809L
#include "local.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

struct la_agent_names {
    struct la_names *list;
    struct la_queue answers; /* agent, size, bytes */
};

static struct la_agent_names *names_of(struct la_local *l)
{
    struct la_agent_names *n = l->names;

    if (n != NULL)
        return n;
    n = (struct la_agent_names *)calloc(1, sizeof *n);
    if (n == NULL || la_names_new(&n->list) != 0) {
        free(n);
        return NULL;
    }
    l->names = n;
    return n;
}

void la_agent_free_names(struct la_local *l)
{
    if (l->names == NULL)
        return;
    la_names_free(l->names->list);
    la_queue_free(&l->names->answers);
    free(l->names);
    l->names = NULL;
}

void la_agent_flush_names(struct la_local *l)
{
    struct la_agent_names *n = l->names;
    const unsigned char *at;
    uint32_t size;

    while (n != NULL && n->answers.size > 0) {
        at = la_queue_first(&n->answers);
        size = la_agent_get32(at + 4);
        if (la_tree_down(l->tree, la_agent_get32(at), LA_DOWN_NAMED, at + 8, size) == PHX_EAGAIN)
            return;
        la_queue_take(&n->answers, 8 + size);
    }
}

/* The launcher's agent answers: how many bytes, or an error. */
static int answer(struct la_local *l, const void *question, size_t size, unsigned char out[LA_NAMES_BYTES])
{
    struct la_agent_names *n = names_of(l);

    return n == NULL ? PHX_ENOMEM : la_names_answer(n->list, question, size, out);
}

void la_agent_name_asked(struct la_local *l, uint32_t from, const void *question, size_t size)
{
    unsigned char data[8 + LA_NAMES_BYTES];
    int n = answer(l, question, size, data + 8);

    if (n < 0) {
        la_agent_tell(l, LA_UP_SAY, LA_NONE, 0, "a question about a published name is lost");
        return;
    }
    la_agent_put32(data, from);
    la_agent_put32(data + 4, (uint32_t)n);
    if (la_queue_add(&l->names->answers, data, 8 + (size_t)n) == 0)
        la_agent_flush_names(l);
}

void la_agent_named(struct la_local *l, const void *data, size_t size)
{
    const char *port;
    uint64_t token;
    int found;

    if (la_names_read_answer(data, size, &token, &found, &port) == 0)
        la_engine_named(la_ranks_engine(l->ranks), token, found, port);
}

/* 0, or why the answer is no. */
static int send_question(struct la_local *l, unsigned char *data, int size)
{
    unsigned char out[LA_NAMES_BYTES];

    if (size < 0)
        return size;
    if (l->root.event != NULL) {
        size = answer(l, data + 8, (size_t)size, out);
        if (size >= 0)
            la_agent_named(l, out, (size_t)size);
        return size < 0 ? size : 0;
    }
    la_agent_put32(data, LA_UP_NAME);
    la_agent_put32(data + 4, (uint32_t)size);
    if (la_queue_add(&l->events, data, 8 + (size_t)size) != 0)
        return PHX_ENOMEM;
    la_agent_flush_events(l);
    return 0;
}

void la_agent_ask_name(struct la_local *l, enum la_naming what, const char *service, const char *port,
                       uint64_t token)
{
    unsigned char data[8 + LA_NAMES_BYTES];
    int size = la_names_question(data + 8, what, service, port, token);

    if (send_question(l, data, size) != 0)
        la_engine_named(la_ranks_engine(l->ranks), token, 0, NULL);
}
