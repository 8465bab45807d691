/* lines.h - lines, labels, bounded buffers, and a writer that does not block. */

/* What processes write travels as *chunks*: whole lines of one stream of one rank. The bytes stay as they
 * are; only a label adds some. */
#ifndef LA_LINES_H
#define LA_LINES_H

#include <stddef.h>
#include <stdint.h>

#define LA_LINE (64 * 1024) /* a longer line is cut into chunks */

/* ---- A queue of bytes ---------------------------------------------------------------------------- */

struct la_queue {
    unsigned char *data;
    size_t start, size, capacity; /* size: from start on */
};

int la_queue_add(struct la_queue *b, const void *data, size_t size); /* 0, PHX_ENOMEM */
/* Room for that many more, to be filled from la_queue_end on and counted in size. 0, PHX_ENOMEM. */
int la_queue_room(struct la_queue *b, size_t size);
unsigned char *la_queue_end(struct la_queue *b);
const unsigned char *la_queue_first(const struct la_queue *b);
void la_queue_take(struct la_queue *b, size_t size); /* from the front */
void la_queue_free(struct la_queue *b);

/* ---- Lines --------------------------------------------------------------------------------------- */

/* One stream of one process. Zeroed is empty. */
struct la_lines {
    struct la_queue part; /* of a line that is not finished, at most LA_LINE bytes */
    int raw;              /* 1: nothing waits for the end of its line */
};

/* fn gets whole lines, as many as there are at once, or a piece of a line that is too long; at most
 * LA_LINE bytes each time. Returns 0, PHX_ENOMEM, or what fn returned if that is not 0. */
typedef int (*la_lines_fn)(void *ctx, const void *data, size_t size);
int la_lines_feed(struct la_lines *l, const void *data, size_t size, la_lines_fn fn, void *ctx);
int la_lines_end(struct la_lines *l, la_lines_fn fn, void *ctx); /* no more comes: the rest */

/* ---- Chunks -------------------------------------------------------------------------------------- */

struct la_chunk {
    uint32_t job; /* 0: the first, else that of a spawn, by its number */
    uint32_t rank;
    int stream; /* 1 or 2; of input 0 */
    const unsigned char *data;
    size_t size;
};

#define LA_CHUNK_HEAD 16

int la_chunk_add(struct la_queue *b, const struct la_chunk *c); /* 0, PHX_ENOMEM */
/* The first one of data: how many bytes it takes, 0: there is none, PHX_EPROTO. */
long la_chunk_next(const unsigned char *data, size_t size, struct la_chunk *out);

/* Each line of a chunk with "[rank] " before it, or "[job.rank] " if a spawn made the job, and a newline
 * behind where the chunk's last has none. */
int la_label(struct la_queue *out, const struct la_chunk *c); /* 0, PHX_ENOMEM */

/* The name of an output file: %r the rank, %h the host, %% a per cent sign, anything else as it is. 0, or
 * PHX_EINVAL: too long. */
int la_pattern(const char *pattern, uint32_t rank, const char *host, char *out, size_t size);

/* ---- A writer ------------------------------------------------------------------------------------ */

/* To a descriptor of whoever started us: nothing of it is changed for others, so it is not made
 * non-blocking; a terminal or pipe is opened once more instead. */
struct la_sink {
    int fd;    /* to be watched */
    int given; /* as it was given */
    int plain; /* a file: never waits */
    int error; /* errno of a write that failed; nothing is written any more */
    struct la_queue waiting;
};

void la_sink_open(struct la_sink *s, int fd);
void la_sink_close(struct la_sink *s);
/* Writes what it can. 1: something waits; 0: all is written, or it has failed. */
int la_sink_flush(struct la_sink *s);

#endif
