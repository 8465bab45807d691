/* wire.c - the three words of a message, and the bytes of those that are not data. */
#include "wire.h"

uint64_t ftm_wire_name(uint32_t job, uint32_t role, uint32_t life, uint32_t rank)
{
    return (uint64_t)(job & 0x3ffffff) << 38 | (uint64_t)(role & 3) << 36
        | (uint64_t)(life & FTM_LIFE_MAX) << 24 | (rank & FTM_RANK_MAX);
}

uint32_t ftm_wire_name_rank(uint64_t name)
{
    return (uint32_t)name & FTM_RANK_MAX;
}

uint32_t ftm_wire_name_life(uint64_t name)
{
    return (uint32_t)(name >> 24) & FTM_LIFE_MAX;
}

uint32_t ftm_wire_name_role(uint64_t name)
{
    return (uint32_t)(name >> 36) & 3;
}

uint32_t ftm_wire_name_job(uint64_t name)
{
    return (uint32_t)(name >> 38);
}

uint64_t ftm_wire_from(const struct ftm_words *w)
{
    return (uint64_t)(w->generation & 0xfffffff) << 36 | (uint64_t)(w->life & FTM_LIFE_MAX) << 24
        | (w->rank & FTM_RANK_MAX);
}

uint64_t ftm_wire_tag(const struct ftm_words *w)
{
    return (uint64_t)(w->kind & 15) << 60 | (uint64_t)(w->flags & 15) << 56
        | (uint64_t)(w->context & FTM_CONTEXT_MAX) << 31 | (w->tag & FTM_TAG_MAX);
}

void ftm_wire_read(struct ftm_words *w, uint64_t from, uint64_t tag)
{
    w->generation = (uint32_t)(from >> 36);
    w->life = (uint32_t)(from >> 24) & FTM_LIFE_MAX;
    w->rank = (uint32_t)from & FTM_RANK_MAX;
    w->kind = (uint32_t)(tag >> 60);
    w->flags = (uint32_t)(tag >> 56) & 15;
    w->context = (uint32_t)(tag >> 31) & FTM_CONTEXT_MAX;
    w->tag = (uint32_t)tag & FTM_TAG_MAX;
}

void ftm_wire_put32(unsigned char *to, uint32_t value)
{
    int i;

    for (i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

void ftm_wire_put64(unsigned char *to, uint64_t value)
{
    ftm_wire_put32(to, (uint32_t)value);
    ftm_wire_put32(to + 4, (uint32_t)(value >> 32));
}

uint32_t ftm_wire_get32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

uint64_t ftm_wire_get64(const unsigned char *from)
{
    return ftm_wire_get32(from) | (uint64_t)ftm_wire_get32(from + 4) << 32;
}

void ftm_wire_put_ask(unsigned char *to, const struct ftm_ask *a)
{
    ftm_wire_put64(to, a->bytes);
    ftm_wire_put32(to + 8, a->number);
}

int ftm_wire_get_ask(struct ftm_ask *a, const void *data, size_t size)
{
    const unsigned char *from = data;

    if (size < FTM_ASK_SIZE)
        return -1;
    a->bytes = ftm_wire_get64(from);
    a->number = ftm_wire_get32(from + 8);
    return 0;
}

void ftm_wire_put_go(unsigned char *to, const struct ftm_go *g)
{
    ftm_wire_put32(to, g->send);
    ftm_wire_put32(to + 4, g->receive);
    ftm_wire_put64(to + 8, g->wanted);
    ftm_wire_put32(to + 16, g->piece);
}

int ftm_wire_get_go(struct ftm_go *g, const void *data, size_t size)
{
    const unsigned char *from = data;

    if (size != FTM_GO_SIZE)
        return -1;
    g->send = ftm_wire_get32(from);
    g->receive = ftm_wire_get32(from + 4);
    g->wanted = ftm_wire_get64(from + 8);
    g->piece = ftm_wire_get32(from + 16);
    return g->wanted > 0 && g->piece == 0 ? -1 : 0;
}

/* Byte order in bit 0, then the sizes of the C types that may differ, three bits each as powers of two. */
uint32_t ftm_wire_layout(void)
{
    const size_t size[] = { sizeof(short), sizeof(int), sizeof(long), sizeof(void *), sizeof(double),
                            sizeof(long double) };
    const uint16_t one = 1;
    uint32_t layout = *(const unsigned char *)&one;
    unsigned i, power;

    for (i = 0; i < sizeof size / sizeof *size; i++) {
        for (power = 0; (size_t)1 << power < size[i]; power++)
            ;
        layout |= (uint32_t)power << (1 + 3 * i);
    }
    return layout;
}

void ftm_wire_put_hello(unsigned char *to, const struct ftm_hello *h)
{
    ftm_wire_put32(to, h->rank);
    ftm_wire_put32(to + 4, h->life);
    ftm_wire_put32(to + 8, h->size);
    ftm_wire_put32(to + 12, h->host);
    ftm_wire_put32(to + 16, h->site);
    ftm_wire_put32(to + 20, h->layout);
}

int ftm_wire_get_hello(struct ftm_hello *h, const void *data, size_t size)
{
    const unsigned char *from = data;

    if (size != FTM_HELLO_SIZE)
        return -1;
    h->rank = ftm_wire_get32(from);
    h->life = ftm_wire_get32(from + 4);
    h->size = ftm_wire_get32(from + 8);
    h->host = ftm_wire_get32(from + 12);
    h->site = ftm_wire_get32(from + 16);
    h->layout = ftm_wire_get32(from + 20);
    return 0;
}

void ftm_wire_put_event(unsigned char *to, const struct ftm_event *v)
{
    ftm_wire_put32(to, v->kind);
    ftm_wire_put32(to + 4, v->rank);
    ftm_wire_put32(to + 8, v->life);
    ftm_wire_put32(to + 12, v->value);
    ftm_wire_put32(to + 16, v->site);
}

void ftm_wire_get_event(struct ftm_event *v, const unsigned char *from)
{
    v->kind = ftm_wire_get32(from);
    v->rank = ftm_wire_get32(from + 4);
    v->life = ftm_wire_get32(from + 8);
    v->value = ftm_wire_get32(from + 12);
    v->site = ftm_wire_get32(from + 16);
}
