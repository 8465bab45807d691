/* wire.h - numbers, strings and records as bytes, for the messages of tree.h; and back, checked. */
#ifndef LA_WIRE_H
#define LA_WIRE_H

#include "coll.h"

/* Bytes that grow at the end and are taken from the front. `failed` is set for want of memory and stays, so a
 * message is written as a whole and looked at once. */
struct la_buf {
    unsigned char *at;
    size_t first, size, capacity; /* at[first .. size - 1] */
    int failed;
};

void la_wire_free(struct la_buf *b);
void la_wire_clear(struct la_buf *b); /* keeps the memory */
size_t la_wire_left(const struct la_buf *b);
const unsigned char *la_wire_front(const struct la_buf *b);
void la_wire_drop(struct la_buf *b, size_t size); /* from the front */
/* Each 0 or PHX_ENOMEM; then nothing was added. var: 7 bits a byte, the lowest first. */
int la_wire_bytes(struct la_buf *b, const void *data, size_t size);
int la_wire_var(struct la_buf *b, uint64_t value);
int la_wire_text(struct la_buf *b, const char *text); /* with its NUL, behind its length */

/* `bad` is set by the first thing that is not there, and stays; then all is 0, NULL or "". */
struct la_reader {
    const unsigned char *at;
    size_t left;
    int bad;
};

void la_wire_read(struct la_reader *r, const void *data, size_t size);
uint64_t la_wire_take_var(struct la_reader *r);
uint32_t la_wire_take_u32(struct la_reader *r); /* a var above 32 bits is bad */
const unsigned char *la_wire_take(struct la_reader *r, size_t size);
const char *la_wire_take_text(struct la_reader *r);

/* A record: to and from (LA_ALL and LA_KEY as 0 and 1, ranks from 2), size, data. */
int la_wire_record(struct la_buf *b, const struct la_record *r);
/* Its head: how many bytes; 0: more are wanted; PHX_EPROTO. data is not set. */
int la_wire_record_head(const unsigned char *at, size_t left, struct la_record *out);
#define LA_WIRE_RECORD_HEAD 15 /* bytes at most */

void la_wire_coll(struct la_buf *b, const struct la_coll *c);
void la_wire_take_coll(struct la_reader *r, struct la_coll *out);

#endif
