/* cargo.c - files that go to other hosts: this program itself (--copy), and one of the user's (--stage). */

#define _POSIX_C_SOURCE 200809L
#include "cargo.h"
#include "../../phoenix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CARGO_PIECE ((size_t)64 * 1024)

void la_cargo_init(struct la_cargo *c)
{
    memset(c, 0, sizeof *c);
    c->self_fd = c->stage_fd = -1;
}

void la_cargo_free(struct la_cargo *c)
{
    if (c->self_fd >= 0)
        close(c->self_fd);
    if (c->stage_fd >= 0)
        close(c->stage_fd);
    free(c->stage_path);
    la_cargo_init(c);
}

/* 0 or errno. */
static int cargo_file(const char *path, int *fd, uint64_t *size)
{
    struct stat s;

    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return errno;
    if (fstat(*fd, &s) != 0)
        return errno;
    if (!S_ISREG(s.st_mode))
        return EACCES;
    if ((uint64_t)s.st_size > LA_CARGO_MOST)
        return EFBIG;
    *size = (uint64_t)s.st_size;
    return 0;
}

/* Its own processes of that program run the file itself, whatever their directory is. */
static int cargo_absolute(const struct la_job *job, char **out)
{
    size_t size = strlen(job->dir) + strlen(job->stage) + 2;

    *out = (char *)malloc(size);
    if (*out == NULL)
        return ENOMEM;
    snprintf(*out, size, "%s%s%s", job->stage[0] == '/' ? "" : job->dir,
             job->stage[0] == '/' || job->dir[0] == '\0' ? "" : "/", job->stage);
    return 0;
}

int la_cargo_open(struct la_cargo *c, const struct la_job *job, const char *self, char why[LA_TEXT])
{
    int err = job->copy ? cargo_file(self, &c->self_fd, &c->self_size) : 0;

    if (err != 0) {
        snprintf(why, LA_TEXT, "--copy: %.100s: %s", self, strerror(err));
        return PHX_EINVAL;
    }
    if (job->stage == NULL)
        return 0;
    err = cargo_file(job->stage, &c->stage_fd, &c->stage_size);
    if (err == 0)
        err = cargo_absolute(job, &c->stage_path);
    if (err != 0)
        snprintf(why, LA_TEXT, "--stage: %.100s: %s", job->stage, strerror(err));
    return err != 0 ? PHX_EINVAL : 0;
}

int la_cargo_arrived(struct la_cargo *c, const char *self, const char *folder)
{
    int err = cargo_file(self, &c->self_fd, &c->self_size);

    (void)unlink(self);
    (void)rmdir(folder);
    return err != 0 ? PHX_EIO : 0;
}

/* ---- A staged file comes -------------------------------------------------------------------------- */

int la_cargo_read(unsigned char *out, size_t size)
{
    while (size > 0) {
        ssize_t n = read(0, out, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return PHX_ERESET;
        out += n;
        size -= (size_t)n;
    }
    return 0;
}

static int cargo_write(int fd, const unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return PHX_EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* What cannot be written is read all the same, so that the stream stays in step. */
static int cargo_store(int fd, uint64_t size)
{
    unsigned char *piece = (unsigned char *)malloc(CARGO_PIECE);
    int err = piece == NULL ? PHX_ENOMEM : 0;

    while (err == 0 && size > 0) {
        size_t n = size < CARGO_PIECE ? (size_t)size : CARGO_PIECE;
        err = la_cargo_read(piece, n);
        if (err == 0)
            err = cargo_write(fd, piece, n);
        size -= n;
    }
    free(piece);
    return err;
}

/* A new folder that is nobody else's, and the name of the file in it. */
static int cargo_folder(char *path, size_t size, const char *name)
{
    const char *tmp = getenv("TMPDIR"), *base = strrchr(name, '/');
    size_t n;

    if (tmp == NULL || tmp[0] != '/')
        tmp = "/tmp";
    if (snprintf(path, size, "%s/phxrun.XXXXXX", tmp) >= (int)size || mkdtemp(path) == NULL)
        return PHX_EIO;
    n = strlen(path);
    if (snprintf(path + n, size - n, "/%s", base != NULL ? base + 1 : name) < (int)(size - n))
        return 0;
    path[n] = '\0';
    (void)rmdir(path);
    return PHX_EIO;
}

int la_cargo_take(struct la_cargo *c, struct la_procs *p, const struct la_job *job)
{
    unsigned char head[8];
    char path[LA_LITTER];
    int fd, i, err = la_cargo_read(head, sizeof head);

    for (i = 7; i >= 0; i--)
        c->stage_size = c->stage_size << 8 | head[i];
    if (err == 0 && c->stage_size > LA_CARGO_MOST)
        err = PHX_EPROTO;
    if (err == 0)
        err = cargo_folder(path, sizeof path, job->stage);
    if (err != 0)
        return err;
    la_procs_litter(p, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    err = fd < 0 ? PHX_EIO : cargo_store(fd, c->stage_size);
    if (fd >= 0 && close(fd) != 0 && err == 0)
        err = PHX_EIO;
    c->stage_path = err == 0 ? la_text_dup(path) : NULL;
    if (err == 0 && c->stage_path == NULL)
        err = PHX_ENOMEM;
    if (err == 0 && cargo_file(path, &c->stage_fd, &c->stage_size) != 0)
        err = PHX_EIO;
    return err;
}

/* ---- Files go ------------------------------------------------------------------------------------ */

/* The next piece of the file: 1, or 0: there is none. */
static int feed_load(struct la_feed *f)
{
    uint64_t left = f->file >= 0 ? f->size - f->at : 0;
    size_t want = left < CARGO_PIECE ? (size_t)left : CARGO_PIECE;
    ssize_t n;

    if (want == 0)
        return 0;
    if (la_queue_room(&f->waiting, want) != 0)
        return PHX_EIO;
    n = pread(f->file, la_queue_end(&f->waiting), want, (off_t)f->at);
    if (n <= 0)
        return PHX_EIO;
    f->waiting.size += (size_t)n;
    f->at += (uint64_t)n;
    return 1;
}

int la_feed_write(struct la_feed *f, int fd)
{
    ssize_t n;
    int more = 1;

    while (f->waiting.size > 0 || (more = feed_load(f)) == 1) {
        n = write(fd, la_queue_first(&f->waiting), f->waiting.size);
        if (n > 0)
            la_queue_take(&f->waiting, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            return 1;
        else if (n == 0 || errno != EINTR)
            return PHX_ERESET;
    }
    la_queue_free(&f->waiting);
    f->file = -1;
    return more;
}

int la_cargo_feed(const struct la_cargo *c, struct la_feed *f)
{
    unsigned char size[8];
    int i;

    if (c->stage_fd < 0)
        return 0;
    f->file = c->stage_fd;
    f->at = 0;
    f->size = c->stage_size;
    for (i = 0; i < 8; i++)
        size[i] = (unsigned char)(f->size >> 8 * i);
    return la_queue_add(&f->waiting, size, sizeof size);
}

int la_cargo_apply(const struct la_cargo *c, struct la_job *job)
{
    uint32_t i;

    for (i = 0; c != NULL && c->stage_path != NULL && i < job->programs_count; i++) {
        struct la_program *g = &job->programs[i];
        if (strcmp(g->argv[0], job->stage) != 0)
            continue;
        g->path = la_text_dup(c->stage_path);
        if (g->path == NULL)
            return PHX_ENOMEM;
    }
    return 0;
}
