/* talk.h - numbered messages of the lab's nodes, and the checker of what arrives. */
#ifndef LAB_TALK_H
#define LAB_TALK_H
#include "phoenix.h"

#define NAMES_MAX 64 /* more than any scenario has */
#define TALK_MOST (16 + 3000)

/* What this node hears from one process. */
struct heard {
    struct phx_id source;
    uint64_t name, wanted, count, missed, turned, spoilt, last, longest;
};
struct talk_heard {
    struct heard of[4 * NAMES_MAX]; /* a process that is started again counts as another */
    int count;
};

void say(const char *form, ...); /* a line with the time, for the log */

/* Messages differ in size, so that some travel in one piece of a packet and some do not. */
size_t talk_size(uint64_t number);
void talk_fill(unsigned char *data, size_t size, uint64_t number, uint64_t from);
/* Looks at a message that has arrived: says what is bad about it, and counts. */
void talk_on(struct talk_heard *t, const struct phx_message *m, uint64_t now);

#endif
