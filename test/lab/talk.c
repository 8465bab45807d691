/* talk.c - numbered messages of the lab's nodes, and the checker of what arrives. */

/* The delivery checker. A talker numbers its messages per name, from 1. The listener holds the next
 * number it wants per (process, name): a higher one means that something is missing, a lower one that
 * something came twice or late, and the bytes must be those that belong to the number. A
 * process that is born after the first message of somebody else joins the sequence where it is; that is
 * why the driver compares counts only between processes that lived all the while. */
#include "test/lab/talk.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(const char *form, ...)
{
    va_list args;

    printf("%" PRIu64 " ", phx_now_us());
    va_start(args, form);
    vprintf(form, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

size_t talk_size(uint64_t number)
{
    return 16 + (size_t)(number * 2654435761u % 3000u);
}

void talk_fill(unsigned char *data, size_t size, uint64_t number, uint64_t from)
{
    size_t i;

    memcpy(data, &number, 8);
    memcpy(data + 8, &from, 8);
    for (i = 16; i < size; i++)
        data[i] = (unsigned char)(number * 31 + i * 7 + from);
}

static struct heard *heard_from(struct talk_heard *t, const struct phx_message *m)
{
    struct heard *h;
    int i;

    for (i = 0; i < t->count; i++) {
        h = &t->of[i];
        if (h->name == m->from && memcmp(&h->source, &m->source, sizeof m->source) == 0)
            return h;
    }
    if (t->count == (int)(sizeof t->of / sizeof *t->of))
        return NULL;
    h = &t->of[t->count++];
    memset(h, 0, sizeof *h);
    h->source = m->source;
    h->name = m->from;
    return h;
}

void talk_on(struct talk_heard *t, const struct phx_message *m, uint64_t now)
{
    struct heard *h = heard_from(t, m);
    unsigned char right[TALK_MOST];
    uint64_t number;

    if (h == NULL || m->size < 16) {
        say("BAD a message of %zu bytes from %" PRIu64, m->size, m->from);
        return;
    }
    memcpy(&number, m->data, 8);
    talk_fill(right, talk_size(number), number, m->from);
    if (m->size != talk_size(number) || memcmp(right, m->data, m->size) != 0) {
        h->spoilt++;
        say("BAD spoilt: %" PRIu64 " from %" PRIu64, number, m->from);
    }
    if (h->wanted != 0 && number < h->wanted) {
        h->turned++;
        say("BAD turned: %" PRIu64 " from %" PRIu64 " after %" PRIu64, number, m->from, h->wanted - 1);
        return;
    }
    /* Whether the first one this process hears should have been number 1 only the driver knows. */
    if (number > h->wanted && (h->wanted != 0 || number > 1)) {
        h->missed += number - (h->wanted != 0 ? h->wanted : 1);
        say("missed: %" PRIu64 " from %" PRIu64 " after %" PRIu64, number, m->from,
            h->wanted != 0 ? h->wanted - 1 : 0);
    }
    if (h->last != 0 && now - h->last > h->longest)
        h->longest = now - h->last;
    h->last = now;
    h->wanted = number + 1;
    h->count++;
}
