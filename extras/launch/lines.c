/* lines.c - lines, labels, bounded buffers, and a writer that does not block. */

#define _POSIX_C_SOURCE 200809L
#include "lines.h"
#include "../../phoenix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a descriptor had to stay as it is, POSIX promises that this much can be written to a pipe that is
 * ready. */
#define SINK_PIECE 512

/* ---- A queue of bytes ---------------------------------------------------------------------------- */

int la_queue_room(struct la_queue *b, size_t size)
{
    size_t capacity = b->capacity > 0 ? b->capacity : 256;
    unsigned char *data;

    if (b->capacity - b->start - b->size >= size && b->data != NULL)
        return 0;
    if (b->start > 0) {
        memmove(b->data, b->data + b->start, b->size);
        b->start = 0;
    }
    if (size > SIZE_MAX / 4 - b->size)
        return PHX_ENOMEM;
    while (capacity < b->size + size)
        capacity *= 2;
    if (capacity == b->capacity)
        return 0;
    data = (unsigned char *)realloc(b->data, capacity);
    if (data == NULL)
        return PHX_ENOMEM;
    b->data = data;
    b->capacity = capacity;
    return 0;
}

unsigned char *la_queue_end(struct la_queue *b)
{
    return b->data + b->start + b->size;
}

const unsigned char *la_queue_first(const struct la_queue *b)
{
    return b->size > 0 ? b->data + b->start : (const unsigned char *)"";
}

int la_queue_add(struct la_queue *b, const void *data, size_t size)
{
    if (size == 0)
        return 0;
    if (la_queue_room(b, size) != 0)
        return PHX_ENOMEM;
    memcpy(la_queue_end(b), data, size);
    b->size += size;
    return 0;
}

void la_queue_take(struct la_queue *b, size_t size)
{
    b->start += size;
    b->size -= size;
    if (b->size > 0)
        return;
    b->start = 0;
    if (b->capacity > LA_LINE) /* a burst's room is not kept */
        la_queue_free(b);
}

void la_queue_free(struct la_queue *b)
{
    free(b->data);
    memset(b, 0, sizeof *b);
}

/* ---- Lines --------------------------------------------------------------------------------------- */

static size_t lines_last(const unsigned char *data, size_t size)
{
    while (size > 0 && data[size - 1] != '\n')
        size--;
    return size;
}

static int lines_give(const unsigned char *data, size_t size, la_lines_fn fn, void *ctx)
{
    int err = 0;

    while (size > 0 && err == 0) {
        size_t n = size;
        if (n > LA_LINE) {
            n = lines_last(data, LA_LINE);
            n = n > 0 ? n : LA_LINE;
        }
        err = fn(ctx, data, n);
        data += n;
        size -= n;
    }
    return err;
}

/* Takes from data what completes the line that is waiting, or fills it up. */
static int lines_complete(struct la_lines *l, const unsigned char **data, size_t *size, la_lines_fn fn,
                          void *ctx)
{
    const unsigned char *end = (const unsigned char *)memchr(*data, '\n', *size);
    size_t n = end != NULL ? (size_t)(end + 1 - *data) : *size;
    int err;

    if (n > LA_LINE - l->part.size) {
        n = LA_LINE - l->part.size;
        end = NULL;
    }
    err = la_queue_add(&l->part, *data, n);
    if (err != 0)
        return err;
    *data += n;
    *size -= n;
    if (end == NULL && l->part.size < LA_LINE)
        return 0;
    err = fn(ctx, la_queue_first(&l->part), l->part.size);
    la_queue_free(&l->part);
    return err;
}

int la_lines_feed(struct la_lines *l, const void *bytes, size_t size, la_lines_fn fn, void *ctx)
{
    const unsigned char *data = (const unsigned char *)bytes;
    size_t whole;
    int err = 0;

    if (l->raw)
        return lines_give(data, size, fn, ctx);
    while (l->part.size > 0 && size > 0 && err == 0)
        err = lines_complete(l, &data, &size, fn, ctx);
    if (err != 0 || size == 0)
        return err;
    whole = lines_last(data, size);
    if (size - whole >= LA_LINE)
        whole = size - (size - whole) % LA_LINE;
    err = lines_give(data, whole, fn, ctx);
    return err != 0 ? err : la_queue_add(&l->part, data + whole, size - whole);
}

int la_lines_end(struct la_lines *l, la_lines_fn fn, void *ctx)
{
    int err = 0;

    if (l->part.size > 0)
        err = fn(ctx, la_queue_first(&l->part), l->part.size);
    la_queue_free(&l->part);
    return err;
}

/* ---- Chunks -------------------------------------------------------------------------------------- */

static void chunk_put(unsigned char *out, uint32_t v)
{
    out[0] = (unsigned char)v;
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)(v >> 16);
    out[3] = (unsigned char)(v >> 24);
}

static uint32_t chunk_get(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

int la_chunk_add(struct la_queue *b, const struct la_chunk *c)
{
    unsigned char *out;

    if (la_queue_room(b, LA_CHUNK_HEAD + c->size) != 0)
        return PHX_ENOMEM;
    out = la_queue_end(b);
    chunk_put(out, c->job);
    chunk_put(out + 4, c->rank);
    chunk_put(out + 8, (uint32_t)c->stream);
    chunk_put(out + 12, (uint32_t)c->size);
    if (c->size > 0)
        memcpy(out + LA_CHUNK_HEAD, c->data, c->size);
    b->size += LA_CHUNK_HEAD + c->size;
    return 0;
}

long la_chunk_next(const unsigned char *data, size_t size, struct la_chunk *out)
{
    uint32_t stream, n;

    if (size == 0)
        return 0;
    if (size < LA_CHUNK_HEAD)
        return PHX_EPROTO;
    out->job = chunk_get(data);
    out->rank = chunk_get(data + 4);
    stream = chunk_get(data + 8);
    n = chunk_get(data + 12);
    if (stream > 2 || n > size - LA_CHUNK_HEAD)
        return PHX_EPROTO;
    out->stream = (int)stream;
    out->data = data + LA_CHUNK_HEAD;
    out->size = n;
    return (long)(LA_CHUNK_HEAD + n);
}

int la_label(struct la_queue *out, const struct la_chunk *c)
{
    const unsigned char *data = c->data, *end;
    size_t size = c->size, n;
    char label[40], job[16] = "";
    int width, err = 0;

    if (c->job > 0)
        snprintf(job, sizeof job, "%lu.", (unsigned long)c->job);
    width = snprintf(label, sizeof label, "[%s%lu] ", job, (unsigned long)c->rank);

    while (size > 0 && err == 0) {
        end = (const unsigned char *)memchr(data, '\n', size);
        n = end != NULL ? (size_t)(end + 1 - data) : size;
        err = la_queue_add(out, label, (size_t)width);
        if (err == 0)
            err = la_queue_add(out, data, n);
        if (err == 0 && end == NULL)
            err = la_queue_add(out, "\n", 1);
        data += n;
        size -= n;
    }
    return err;
}

int la_pattern(const char *pattern, uint32_t rank, const char *host, char *out, size_t size)
{
    size_t at = 0;
    int n;

    for (; *pattern != '\0'; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'r')
            n = snprintf(out + at, size - at, "%lu", (unsigned long)rank);
        else if (pattern[0] == '%' && pattern[1] == 'h')
            n = snprintf(out + at, size - at, "%s", host);
        else
            n = snprintf(out + at, size - at, "%c", *pattern);
        if (n < 0 || (size_t)n >= size - at)
            return PHX_EINVAL;
        at += (size_t)n;
        if (pattern[0] == '%' && (pattern[1] == 'r' || pattern[1] == 'h' || pattern[1] == '%'))
            pattern++;
    }
    if (at >= size)
        return PHX_EINVAL;
    out[at] = '\0';
    return 0;
}

/* ---- A writer ------------------------------------------------------------------------------------ */

void la_sink_open(struct la_sink *s, int fd)
{
    char path[32];
    struct stat about;
    int again = -1;

    memset(s, 0, sizeof *s);
    s->fd = s->given = fd;
    if (fstat(fd, &about) != 0) {
        s->error = errno;
        return;
    }
    s->plain = !S_ISFIFO(about.st_mode) && !S_ISSOCK(about.st_mode) && !isatty(fd);
    if (s->plain || S_ISSOCK(about.st_mode))
        return;
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    again = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (again >= 0)
        s->fd = again;
}

void la_sink_close(struct la_sink *s)
{
    if (s->fd != s->given && s->fd >= 0)
        close(s->fd);
    la_queue_free(&s->waiting);
    s->fd = -1;
}

/* How much may be written now without blocking. */
static size_t sink_may(const struct la_sink *s)
{
    struct pollfd fd;

    if (s->plain || s->fd != s->given)
        return s->waiting.size;
    fd.fd = s->fd;
    fd.events = POLLOUT;
    fd.revents = 0;
    if (poll(&fd, 1, 0) <= 0)
        return 0;
    return s->waiting.size < SINK_PIECE ? s->waiting.size : SINK_PIECE;
}

int la_sink_flush(struct la_sink *s)
{
    while (s->waiting.size > 0 && s->error == 0) {
        size_t most = sink_may(s);
        ssize_t n;
        if (most == 0)
            return 1;
        n = write(s->fd, la_queue_first(&s->waiting), most);
        if (n > 0)
            la_queue_take(&s->waiting, (size_t)n);
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 1;
        else if (n == 0 || errno != EINTR)
            s->error = n == 0 ? EIO : errno;
    }
    if (s->error != 0)
        la_queue_free(&s->waiting);
    return 0;
}
