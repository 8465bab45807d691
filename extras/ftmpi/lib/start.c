/* start.c - the bytes of HELLO, TABLE, NOTICE, SPAWN and ABORT, between processes and the arbiter. */

#include "start.h"

#include <string.h>
#include <wchar.h>

/* A text is the rest of its message. It is cut so that it fits, and shown to people, so of what others
 * send nothing but printable characters is kept. */
static size_t start_put_text(unsigned char *out, const char *text, size_t capacity)
{
    size_t size = strlen(text);

    if (size > capacity - 1)
        size = capacity - 1;
    memcpy(out, text, size);
    return size;
}

static int start_get_text(char *out, size_t capacity, const unsigned char *in, size_t size)
{
    size_t i;

    if (size > capacity - 1)
        return -1;
    for (i = 0; i < size; i++)
        out[i] = in[i] >= 0x20 && in[i] != 0x7f ? (char)in[i] : '?';
    out[size] = '\0';
    return 0;
}

struct start_aligned {
    char before;
    double value;
};

void ftm_start_layout(struct ftm_layout *out)
{
    uint16_t one = 1;
    unsigned char low;

    memcpy(&low, &one, 1);
    out->order = low == 1 ? 1 : 2;
    out->size[0] = (unsigned char)sizeof(long);
    out->size[1] = (unsigned char)sizeof(void *);
    out->size[2] = (unsigned char)sizeof(long double);
    out->size[3] = (unsigned char)sizeof(wchar_t);
    out->size[4] = (unsigned char)offsetof(struct start_aligned, value);
}

size_t ftm_hello_put(unsigned char out[FTM_HELLO_MOST], const struct ftm_hello *h)
{
    out[0] = FTM_START_VERSION;
    out[1] = h->layout.order;
    memcpy(out + 2, h->layout.size, sizeof h->layout.size);
    out[7] = 0;
    ftm_put32(out + 8, h->job_size);
    ftm_put32(out + 12, h->host);
    ftm_put32(out + 16, h->site);
    return 20 + start_put_text(out + 20, h->name, sizeof h->name);
}

int ftm_hello_get(struct ftm_hello *h, const void *data, size_t size)
{
    const unsigned char *in = data;

    if (size < 20 || in[0] != FTM_START_VERSION || in[7] != 0)
        return -1;
    h->layout.order = in[1];
    memcpy(h->layout.size, in + 2, sizeof h->layout.size);
    h->job_size = ftm_get32(in + 8);
    h->host = ftm_get32(in + 12);
    h->site = ftm_get32(in + 16);
    return start_get_text(h->name, sizeof h->name, in + 20, size - 20);
}

size_t ftm_seats_head_put(unsigned char out[FTM_SEATS_HEAD], const struct ftm_seats_head *head)
{
    ftm_put32(out, head->number);
    ftm_put32(out + 4, head->generation);
    return FTM_SEATS_HEAD;
}

size_t ftm_seat_put(unsigned char out[FTM_SEAT_SIZE], const struct ftm_seat *seat)
{
    ftm_put32(out, seat->life);
    ftm_put32(out + 4, seat->host);
    ftm_put32(out + 8, seat->site);
    ftm_put32(out + 12, seat->failed);
    return FTM_SEAT_SIZE;
}

int ftm_seats_get(struct ftm_seats_head *head, struct ftm_seat *seats, uint32_t count, const void *data,
                  size_t size)
{
    const unsigned char *in = data;
    uint32_t i;

    if (size != FTM_SEATS_HEAD + (size_t)count * FTM_SEAT_SIZE)
        return -1;
    head->number = ftm_get32(in);
    head->generation = ftm_get32(in + 4);
    if (head->generation > FTM_GENERATION_MAX)
        return -1;
    in += FTM_SEATS_HEAD;
    for (i = 0; i < count; i++, in += FTM_SEAT_SIZE) {
        seats[i].life = ftm_get32(in);
        seats[i].host = ftm_get32(in + 4);
        seats[i].site = ftm_get32(in + 8);
        seats[i].failed = ftm_get32(in + 12);
        if (seats[i].life > FTM_LIFE_MAX || seats[i].failed > 1)
            return -1;
    }
    return 0;
}

size_t ftm_spawn_put(unsigned char out[FTM_SPAWN_SIZE], const struct ftm_spawn *s)
{
    ftm_put32(out, s->rank);
    ftm_put32(out + 4, s->life);
    ftm_put32(out + 8, s->generation);
    return FTM_SPAWN_SIZE;
}

int ftm_spawn_get(struct ftm_spawn *s, const void *data, size_t size)
{
    const unsigned char *in = data;

    if (size != FTM_SPAWN_SIZE)
        return -1;
    s->rank = ftm_get32(in);
    s->life = ftm_get32(in + 4);
    s->generation = ftm_get32(in + 8);
    return s->rank > FTM_RANK_MAX || s->life == 0 || s->generation > FTM_GENERATION_MAX ? -1 : 0;
}

size_t ftm_ask_put(unsigned char out[4], uint32_t number)
{
    ftm_put32(out, number);
    return 4;
}

int ftm_ask_get(uint32_t *number, const void *data, size_t size)
{
    if (size != 4)
        return -1;
    *number = ftm_get32(data);
    return *number == 0 ? -1 : 0;
}

size_t ftm_abort_put(unsigned char out[FTM_ABORT_MOST], int32_t code, const char *text)
{
    ftm_put32(out, (uint32_t)code);
    return 4 + start_put_text(out + 4, text, FTM_ABORT_TEXT);
}

int ftm_abort_get(int32_t *code, char text[FTM_ABORT_TEXT], const void *data, size_t size)
{
    const unsigned char *in = data;

    if (size < 4)
        return -1;
    *code = (int32_t)ftm_get32(in);
    return start_get_text(text, FTM_ABORT_TEXT, in + 4, size - 4);
}

size_t ftm_event_put(unsigned char out[FTM_EVENT_MOST], const struct ftm_event *e)
{
    size_t text = start_put_text(out + 32, e->text, sizeof e->text);

    ftm_put32(out, e->number);
    ftm_put32(out + 4, (uint32_t)e->kind);
    ftm_put32(out + 8, e->rank);
    ftm_put32(out + 12, e->life);
    ftm_put32(out + 16, e->host);
    ftm_put32(out + 20, e->site);
    ftm_put32(out + 24, (uint32_t)e->code);
    ftm_put32(out + 28, (uint32_t)text);
    return 32 + text;
}

int ftm_event_take(struct ftm_event *e, const unsigned char **data, size_t *size)
{
    const unsigned char *in = *data;
    uint32_t kind, text;

    if (*size < 32)
        return -1;
    e->number = ftm_get32(in);
    kind = ftm_get32(in + 4);
    e->rank = ftm_get32(in + 8);
    e->life = ftm_get32(in + 12);
    e->host = ftm_get32(in + 16);
    e->site = ftm_get32(in + 20);
    e->code = (int32_t)ftm_get32(in + 24);
    text = ftm_get32(in + 28);
    if (kind < 1 || kind > FTM_EVENT_LAST || e->number == 0 || text > *size - 32)
        return -1;
    if (e->rank > FTM_RANK_MAX || e->life > FTM_LIFE_MAX + 1) /* one more may have been wanted */
        return -1;
    e->kind = (int)kind;
    *data += 32 + text;
    *size -= 32 + text;
    return start_get_text(e->text, sizeof e->text, in + 32, text);
}
