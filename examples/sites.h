/* sites.h - what the driver of the sites and its children share: the cast, and lines over pipes. */

/* Words of the pipes, a line each:
 *
 *     down: "join PORT" "leave HEIR" "all" "report" "stop"
 *     up:   "id ID" "port PORT" "tasks N" "done N INDEX" "seat NAME" "took NAME TASK BRANCHES"
 *           "left ID" "failed ID" "broke FIRST LAST TASKS" "solved COUNT" "link ID DIALER"
 *           "route ID HOPS NEXT" "stats ..." "end"
 */
#ifndef SITES_H
#define SITES_H

#include "phoenix.h"
#include "queens.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND 1000000u
#define LIMIT_US (18u * SECOND)   /* for the whole job; the driver then says what is missing */
#define LATE_US (SECOND * 3u / 2) /* W5 comes after this, or earlier if the work goes fast */
#define RETRY_US SECOND           /* a seat without an answer asks again */
#define CLOSE_US SECOND           /* to say goodbye */
#define FDS_MAX 64                /* eleven processes have far fewer links */

enum role { GATEWAY, COORDINATOR, WORKER };
enum { G1, G2, G3, C, W1, W2, W3, W4, W5, W6, W7, ACTORS };
enum { LEAVER = W3, HEIR = W4, LATE = W5, FIRST_VICTIM = W6, SECOND_VICTIM = W7 };

static const struct {
    const char *label;
    enum role role;
    int site;
    int gateway; /* which it joins; G1 joins nobody */
} cast[ACTORS] = {
    { "G1", GATEWAY, 1, -1 },    { "G2", GATEWAY, 2, G1 }, { "G3", GATEWAY, 3, G1 },
    { "C", COORDINATOR, 1, G1 }, { "W1", WORKER, 1, G1 },  { "W2", WORKER, 2, G2 },
    { "W3", WORKER, 2, G2 },     { "W4", WORKER, 3, G3 },  { "W5", WORKER, 3, G3 },
    { "W6", WORKER, 1, G1 },     { "W7", WORKER, 2, G2 },
};

/* ---- Lines over pipes ---------------------------------------------------------------------- */

struct lines {
    char text[4096];
    size_t size, start;
};

/* Reads what is there. 0: the end of the file, or an error, which is the end as well. */
static inline int lines_read(struct lines *l, int fd)
{
    ssize_t got;

    memmove(l->text, l->text + l->start, l->size - l->start);
    l->size -= l->start;
    l->start = 0;
    if (l->size == sizeof l->text) /* no line of ours is that long */
        l->size = 0;
    got = read(fd, l->text + l->size, sizeof l->text - l->size);
    if (got < 0 && errno == EINTR)
        return 1;
    l->size += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static inline char *lines_next(struct lines *l)
{
    char *line = l->text + l->start, *end = memchr(line, '\n', l->size - l->start);

    if (end == NULL)
        return NULL;
    *end = 0;
    l->start = (size_t)(end + 1 - l->text);
    return line;
}

/* A line in one write: shorter than PIPE_BUF, so it arrives whole. */
static inline void put_line(int fd, const char *format, va_list args)
{
    char line[400];
    int size = vsnprintf(line, sizeof line - 1, format, args);

    if (size < 0)
        return;
    if (size > (int)sizeof line - 2)
        size = (int)sizeof line - 2;
    line[size++] = '\n';
    while (write(fd, line, (size_t)size) < 0 && errno == EINTR)
        ;
}

/* The life of child number `index`, whatever its role; its exit status. */
int child_main(int index, int n, int in, int out, int verbose);

#endif
