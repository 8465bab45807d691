/* bytes.h - numbers and strings as bytes, and back with all lengths checked. */

/* Numbers are little-endian, a string is its length (4 bytes) and its bytes without a NUL, a list its count
 * and its strings; no string and no list at all are the length 2^32 - 1. */
#ifndef LA_BYTES_H
#define LA_BYTES_H

#include "text.h"

#include <stdint.h>

void la_bytes_put_number(struct la_text *t, uint64_t value, size_t bytes);
void la_bytes_put_u32(struct la_text *t, uint32_t value);
void la_bytes_put_string(struct la_text *t, const char *s);
void la_bytes_put_strings(struct la_text *t, char **at);

/* What is read. After the first error everything reads as zero and takes no memory. */
struct la_bytes {
    const unsigned char *at;
    size_t left;
    int result; /* 0, PHX_EPROTO, PHX_ENOMEM */
};

void la_bytes_fail(struct la_bytes *r, int result);
const unsigned char *la_bytes_take(struct la_bytes *r, size_t size);
uint64_t la_bytes_number(struct la_bytes *r, size_t bytes);
uint32_t la_bytes_u32(struct la_bytes *r);
/* How many things follow of which each takes at least so many bytes. */
uint32_t la_bytes_count(struct la_bytes *r, size_t least);
/* An array of zeroes for what is read; NULL if count is 0. */
void *la_bytes_room(struct la_bytes *r, size_t count, size_t each);
char *la_bytes_string(struct la_bytes *r);  /* or NULL, if there is none */
char *la_bytes_needed(struct la_bytes *r);  /* one that must be there */
char **la_bytes_strings(struct la_bytes *r); /* NULL-ended; or NULL, if there is none */

#endif
