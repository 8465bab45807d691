/* bytes.c - numbers and strings as bytes, and back with all lengths checked. */

#include "bytes.h"
#include "../../phoenix.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_NONE UINT32_MAX   /* the length of no string, the count of no list */
#define BYTES_STRING_LEAST 4u   /* bytes of a string */

void la_bytes_put_number(struct la_text *t, uint64_t value, size_t bytes)
{
    char out[8];
    size_t i;

    for (i = 0; i < bytes; i++)
        out[i] = (char)(unsigned char)(value >> 8 * i & 0xff);
    la_text_add(t, out, bytes);
}

void la_bytes_put_u32(struct la_text *t, uint32_t value)
{
    la_bytes_put_number(t, value, 4);
}

void la_bytes_put_string(struct la_text *t, const char *s)
{
    size_t size = s != NULL ? strlen(s) : 0;

    if (size >= BYTES_NONE)
        t->failed = 1;
    la_bytes_put_u32(t, s != NULL ? (uint32_t)size : BYTES_NONE);
    la_text_add(t, s, size);
}

void la_bytes_put_strings(struct la_text *t, char **at)
{
    uint32_t count = 0;

    while (at != NULL && at[count] != NULL)
        count++;
    la_bytes_put_u32(t, at != NULL ? count : BYTES_NONE);
    for (; at != NULL && *at != NULL; at++)
        la_bytes_put_string(t, *at);
}

void la_bytes_fail(struct la_bytes *r, int result)
{
    if (r->result == 0)
        r->result = result;
    r->left = 0;
}

const unsigned char *la_bytes_take(struct la_bytes *r, size_t size)
{
    const unsigned char *at = r->at;

    if (r->result != 0 || size > r->left) {
        la_bytes_fail(r, PHX_EPROTO);
        return NULL;
    }
    r->at += size;
    r->left -= size;
    return at;
}

uint64_t la_bytes_number(struct la_bytes *r, size_t bytes)
{
    const unsigned char *at = la_bytes_take(r, bytes);
    uint64_t value = 0;
    size_t i;

    for (i = 0; at != NULL && i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

uint32_t la_bytes_u32(struct la_bytes *r)
{
    return (uint32_t)la_bytes_number(r, 4);
}

/* How many things follow of which each takes at least so many bytes. */
uint32_t la_bytes_count(struct la_bytes *r, size_t least)
{
    uint32_t count = la_bytes_u32(r);

    if (count > r->left / least)
        la_bytes_fail(r, PHX_EPROTO);
    return r->result == 0 ? count : 0;
}

/* An array of zeroes; NULL if count is 0. */
void *la_bytes_room(struct la_bytes *r, size_t count, size_t each)
{
    void *at = r->result == 0 && count > 0 ? calloc(count, each) : NULL;

    if (count > 0 && at == NULL)
        la_bytes_fail(r, PHX_ENOMEM);
    return at;
}

static char *take_bytes(struct la_bytes *r, uint32_t size)
{
    const unsigned char *at = la_bytes_take(r, size);
    char *copy;

    if (at == NULL)
        return NULL;
    if (memchr(at, '\0', size) != NULL) {
        la_bytes_fail(r, PHX_EPROTO);
        return NULL;
    }
    copy = la_text_copy((const char *)at, size);
    if (copy == NULL)
        la_bytes_fail(r, PHX_ENOMEM);
    return copy;
}

char *la_bytes_string(struct la_bytes *r) /* or NULL, if there is none */
{
    uint32_t size = la_bytes_u32(r);

    return r->result != 0 || size == BYTES_NONE ? NULL : take_bytes(r, size);
}

char *la_bytes_needed(struct la_bytes *r)
{
    char *s = la_bytes_string(r);

    if (s == NULL)
        la_bytes_fail(r, PHX_EPROTO);
    return s;
}

char **la_bytes_strings(struct la_bytes *r)
{
    uint32_t count = la_bytes_u32(r), i;
    char **at;

    if (r->result != 0 || count == BYTES_NONE)
        return NULL;
    if (count > r->left / BYTES_STRING_LEAST) {
        la_bytes_fail(r, PHX_EPROTO);
        return NULL;
    }
    at = la_bytes_room(r, (size_t)count + 1, sizeof *at);
    for (i = 0; i < count && r->result == 0; i++)
        at[i] = la_bytes_needed(r);
    return at;
}

