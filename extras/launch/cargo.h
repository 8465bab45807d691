/* cargo.h - files that go to other hosts: this program itself (--copy), and one of the user's (--stage). */

/* Hands. Each agent hands on to its children what it was given, from descriptors of its own. What --copy
 * brought is removed as soon as the agent runs; what --stage brought by the agent's end, or by its guard. */
#ifndef LA_CARGO_H
#define LA_CARGO_H

#include "lines.h"
#include "place.h"
#include "proc.h"

struct la_cargo {
    int self_fd, stage_fd; /* -1: none */
    uint64_t self_size, stage_size;
    char *stage_path; /* where the staged program is on this host; NULL: none */
};

#define LA_CARGO_MOST ((uint64_t)1 << 30)

void la_cargo_init(struct la_cargo *c);
void la_cargo_free(struct la_cargo *c);

/* The launcher: opens what the job says. 0; PHX_EINVAL and why. */
int la_cargo_open(struct la_cargo *c, const struct la_job *job, const char *self, char why[LA_TEXT]);
/* An agent that --copy brought into this folder: keeps its own file open, removes both. 0, PHX_EIO. */
int la_cargo_arrived(struct la_cargo *c, const char *self, const char *folder);
/* So many bytes from descriptor 0, blocking: 0, or PHX_ERESET. */
int la_cargo_read(unsigned char *out, size_t size);
/* An agent's staged file, from descriptor 0, blocking: 8 bytes size and the bytes. 0, PHX_ERESET,
 * PHX_EPROTO, PHX_EIO, PHX_ENOMEM. */
int la_cargo_take(struct la_cargo *c, struct la_procs *p, const struct la_job *job);

/* What is to be written to a starter: what waits, then a file from `at` to `size` (file -1: none). */
struct la_feed {
    struct la_queue waiting;
    int file;
    uint64_t at, size;
};
/* 0: all is out; 1: the descriptor takes no more for now; PHX_EIO: the file cannot be read; PHX_ERESET. */
int la_feed_write(struct la_feed *f, int fd);
/* The staged file with its size, if there is one, behind what waits. 0, PHX_ENOMEM. */
int la_cargo_feed(const struct la_cargo *c, struct la_feed *f);

/* The job's programs that are the staged file are found here. 0, PHX_ENOMEM. */
int la_cargo_apply(const struct la_cargo *c, struct la_job *job);

#endif
