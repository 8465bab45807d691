/* wire.c - numbers, strings and records as bytes, for the messages of tree.h; and back, checked. */
#include "wire.h"

#include "phoenix.h"

#include <stdlib.h>
#include <string.h>

void la_wire_free(struct la_buf *b)
{
    free(b->at);
    memset(b, 0, sizeof *b);
}

void la_wire_clear(struct la_buf *b)
{
    b->first = b->size = 0;
    b->failed = 0;
}

size_t la_wire_left(const struct la_buf *b)
{
    return b->size - b->first;
}

const unsigned char *la_wire_front(const struct la_buf *b)
{
    return b->at == NULL ? (const unsigned char *)"" : b->at + b->first;
}

/* A large buffer that has run empty is given back: memory follows what waits. */
void la_wire_drop(struct la_buf *b, size_t size)
{
    b->first += size;
    if (b->first < b->size)
        return;
    b->first = b->size = 0;
    if (b->capacity > 4096) {
        free(b->at);
        b->at = NULL;
        b->capacity = 0;
    }
}

/* Room for `more` bytes. What was taken from the front is used again when it is a fifth of all: so a byte is
 * moved four times at most. */
static int wire_room(struct la_buf *b, size_t more)
{
    size_t left = la_wire_left(b), want = b->capacity < 64 ? 64 : b->capacity;
    unsigned char *grown;

    if (b->failed || more > SIZE_MAX / 4 - b->size)
        return b->failed = 1, PHX_ENOMEM;
    if (more <= b->capacity - b->size)
        return 0;
    if (b->first >= left / 4 && left + more <= b->capacity) {
        memmove(b->at, b->at + b->first, left);
        b->first = 0;
        b->size = left;
        return 0;
    }
    while (want < b->size + more)
        want += want / 4;
    grown = realloc(b->at, want);
    if (grown == NULL)
        return b->failed = 1, PHX_ENOMEM;
    b->at = grown;
    b->capacity = want;
    return 0;
}

int la_wire_bytes(struct la_buf *b, const void *data, size_t size)
{
    if (wire_room(b, size) != 0)
        return PHX_ENOMEM;
    if (size > 0)
        memcpy(b->at + b->size, data, size);
    b->size += size;
    return 0;
}

/* Writes 1 to 10 bytes; how many. */
static size_t wire_encode(unsigned char out[10], uint64_t value)
{
    size_t n = 0;

    do {
        out[n++] = (unsigned char)((value & 127) | (value > 127 ? 128u : 0));
        value >>= 7;
    } while (value > 0);
    return n;
}

int la_wire_var(struct la_buf *b, uint64_t value)
{
    unsigned char out[10];

    return la_wire_bytes(b, out, wire_encode(out, value));
}

int la_wire_text(struct la_buf *b, const char *text)
{
    size_t size = strlen(text) + 1, was = la_wire_left(b);

    if (la_wire_var(b, size) == 0 && la_wire_bytes(b, text, size) == 0)
        return 0;
    b->size = b->first + was;
    return PHX_ENOMEM;
}

void la_wire_read(struct la_reader *r, const void *data, size_t size)
{
    r->at = data;
    r->left = size;
    r->bad = 0;
}

/* How many bytes; 0: more are wanted; PHX_EPROTO: more than 64 bits. */
static int wire_decode(const unsigned char *at, size_t left, uint64_t *out)
{
    uint64_t value = 0;
    unsigned i;

    for (i = 0; i < 10 && i < left; i++) {
        if (i == 9 && at[i] > 1)
            return PHX_EPROTO;
        value |= (uint64_t)(at[i] & 127) << (7 * i);
        if (at[i] < 128) {
            *out = value;
            return (int)i + 1;
        }
    }
    return i == 10 ? PHX_EPROTO : 0;
}

uint64_t la_wire_take_var(struct la_reader *r)
{
    uint64_t value = 0;
    int n = r->bad ? 0 : wire_decode(r->at, r->left, &value);

    if (n <= 0) {
        r->bad = 1;
        return 0;
    }
    r->at += n;
    r->left -= (size_t)n;
    return value;
}

uint32_t la_wire_take_u32(struct la_reader *r)
{
    uint64_t value = la_wire_take_var(r);

    r->bad |= value > UINT32_MAX;
    return r->bad ? 0 : (uint32_t)value;
}

const unsigned char *la_wire_take(struct la_reader *r, size_t size)
{
    const unsigned char *at = r->at;

    if (r->bad || size > r->left) {
        r->bad = 1;
        return NULL;
    }
    r->at += size;
    r->left -= size;
    return at;
}

const char *la_wire_take_text(struct la_reader *r)
{
    uint64_t size = la_wire_take_var(r);
    const unsigned char *at = la_wire_take(r, size > r->left ? SIZE_MAX : (size_t)size);

    if (at == NULL || size == 0 || memchr(at, 0, (size_t)size) != at + size - 1) {
        r->bad = 1;
        return "";
    }
    return (const char *)at;
}

static uint64_t wire_place(uint32_t rank)
{
    return rank == LA_ALL ? 0 : rank == LA_KEY ? 1 : (uint64_t)rank + 2;
}

static int wire_place_back(uint64_t place, uint32_t *out)
{
    if (place > (uint64_t)LA_KEY + 1)
        return PHX_EPROTO;
    *out = place == 0 ? LA_ALL : place == 1 ? LA_KEY : (uint32_t)(place - 2);
    return 0;
}

int la_wire_record(struct la_buf *b, const struct la_record *r)
{
    size_t was = la_wire_left(b);

    if (la_wire_var(b, wire_place(r->to)) == 0 && la_wire_var(b, wire_place(r->from)) == 0
        && la_wire_var(b, r->size) == 0 && la_wire_bytes(b, r->data, r->size) == 0)
        return 0;
    b->size = b->first + was;
    return PHX_ENOMEM;
}

int la_wire_record_head(const unsigned char *at, size_t left, struct la_record *out)
{
    uint64_t part[3] = { 0, 0, 0 };
    size_t used = 0;
    int i, n;

    for (i = 0; i < 3; i++) {
        if ((n = wire_decode(at + used, left - used, &part[i])) <= 0)
            return n;
        used += (size_t)n;
    }
    if (part[2] > UINT32_MAX || used > LA_WIRE_RECORD_HEAD || wire_place_back(part[0], &out->to) != 0
        || wire_place_back(part[1], &out->from) != 0)
        return PHX_EPROTO;
    out->size = (uint32_t)part[2];
    out->data = NULL;
    return (int)used;
}

void la_wire_coll(struct la_buf *b, const struct la_coll *c)
{
    (void)la_wire_var(b, c->job);
    (void)la_wire_var(b, c->number);
    (void)la_wire_var(b, c->kind);
    (void)la_wire_var(b, c->root);
    (void)la_wire_var(b, c->size);
    (void)la_wire_var(b, c->rank);
}

void la_wire_take_coll(struct la_reader *r, struct la_coll *out)
{
    out->job = la_wire_take_u32(r);
    out->number = la_wire_take_u32(r);
    out->kind = la_wire_take_u32(r);
    out->root = la_wire_take_u32(r);
    out->size = la_wire_take_var(r);
    out->rank = la_wire_take_u32(r);
    r->bad |= out->kind < LA_BARRIER || out->kind > LA_FENCE;
}
