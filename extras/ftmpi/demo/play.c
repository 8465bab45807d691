/* play.c - runs a job under ftmpirun, reads what its ranks announce, and kills them at what they announce. */
#define _POSIX_C_SOURCE 200809L
#include "play.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double play_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int play_start(struct play *p, char *const *argv)
{
    int ends[2], nothing;

    memset(p, 0, sizeof *p);
    if (pipe(ends) != 0)
        return -1;
    p->fd = ends[0];
    fcntl(p->fd, F_SETFD, FD_CLOEXEC);
    p->began = play_now();
    p->runner = fork();
    if (p->runner == 0) {
        nothing = open("/dev/null", O_RDONLY);
        dup2(nothing, 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[1]);
        execvp(argv[0], argv);
        fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    if (p->runner > 0)
        return 0;
    close(p->fd);
    return -1;
}

/* ---- Lines -------------------------------------------------------------------------------------------- */

static void keep(struct play *p, const char *line, size_t size)
{
    if (p->said_size + size + 2 > sizeof p->said)
        return;
    memcpy(p->said + p->said_size, line, size);
    p->said_size += size;
    p->said[p->said_size++] = '\n';
    p->said[p->said_size] = '\0';
}

/* The next blank-separated word of the line, as a number. */
static double number(char **at, int *good)
{
    char *end;
    double d = strtod(*at, &end);

    if (end == *at)
        *good = 0;
    *at = end;
    return d;
}

/* 1, if the line is an announcement. */
static int parse(struct play *p, char *line, struct play_event *e)
{
    size_t n = 0;
    int good = 1;

    if (line[0] != '@')
        return 0;
    line++;
    memset(e, 0, sizeof *e);
    e->at = number(&line, &good);
    e->rank = (int)number(&line, &good);
    e->life = (int)number(&line, &good);
    e->pid = (long)number(&line, &good);
    while (good && *line == ' ')
        line++;
    for (; good && *line != ' ' && *line != '\0'; line++)
        if (n + 1 < sizeof e->word)
            e->word[n++] = *line;
    e->number = (long)number(&line, &good);
    if (!good || e->rank < 0 || e->rank >= PLAY_RANKS || e->life < 0 || e->life >= PLAY_LIVES)
        return 0;
    if (e->pid > 0) {
        p->pid[e->rank][e->life] = e->pid;
        if (e->life > p->life[e->rank])
            p->life[e->rank] = e->life;
    }
    return 1;
}

/* Takes the first line out of the buffer. 1: an event; 0: another line; -1: there is no whole line. */
static int take_line(struct play *p, struct play_event *e)
{
    char *end = memchr(p->line, '\n', p->line_size);
    size_t size;
    int is;

    if (end == NULL && p->line_size + 1 < sizeof p->line)
        return -1;
    if (end == NULL)
        end = p->line + p->line_size;
    *end = '\0';
    size = (size_t)(end - p->line);
    is = parse(p, p->line, e);
    if (!is)
        keep(p, p->line, size);
    p->line_size -= size < p->line_size ? size + 1 : size;
    memmove(p->line, end + 1, p->line_size);
    return is;
}

int play_next(struct play *p, struct play_event *e, double until)
{
    struct pollfd f;
    ssize_t n;
    double left;
    int is;

    for (;;) {
        while ((is = take_line(p, e)) >= 0)
            if (is)
                return 1;
        left = (until - play_now()) * 1000;
        f.fd = p->fd;
        f.events = POLLIN;
        if (left < 0 || (poll(&f, 1, (int)left + 1) == 0 && left < 1))
            return -1;
        if (f.revents == 0)
            continue;
        n = read(p->fd, p->line + p->line_size, sizeof p->line - p->line_size - 1);
        if (n == 0 || (n < 0 && errno != EINTR))
            return 0;
        if (n > 0)
            p->line_size += (size_t)n;
    }
}

const char *play_said(const struct play *p, const char *start)
{
    const char *at = p->said;
    size_t n = strlen(start);

    while (at != NULL && *at != '\0') {
        if (strncmp(at, start, n) == 0)
            return at + n;
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return NULL;
}

/* ---- Ends --------------------------------------------------------------------------------------------- */

double play_signal(struct play *p, int rank, int signal)
{
    double at = play_now();
    long pid;
    int life;

    if (rank < 0 || rank >= PLAY_RANKS)
        return 0;
    life = p->life[rank];
    pid = p->pid[rank][life];
    if (pid <= 0 || p->killed[rank][life]) /* its number may be somebody else's by now */
        return 0;
    p->killed[rank][life] = signal == SIGKILL;
    return kill((pid_t)pid, signal) == 0 ? at : 0;
}

void play_end(struct play *p, double until)
{
    struct play_event e;
    int status = 0, killed = 0;

    while (play_next(p, &e, until) == 1)
        continue;
    while (waitpid(p->runner, &status, WNOHANG) == 0) {
        if (play_now() > until && !killed) {
            kill(p->runner, SIGKILL);
            killed = 1;
        }
        poll(NULL, 0, 1);
    }
    p->ended = play_now();
    p->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (killed)
        p->status = -1;
    close(p->fd);
}

/* A zombie that nobody has collected is none. */
static int lives(long pid)
{
    char name[64], text[512], *state;
    size_t n;
    FILE *f;

    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", pid);
    f = fopen(name, "r");
    if (f == NULL)
        return access("/proc/self/stat", R_OK) != 0;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    state = strrchr(text, ')');
    return state == NULL || state[1] == '\0' || (state[2] != 'Z' && state[2] != 'X');
}

int play_left(const struct play *p)
{
    int i, k, left = 0;

    for (i = 0; i < PLAY_RANKS; i++)
        for (k = 0; k < PLAY_LIVES; k++)
            left += p->pid[i][k] > 0 && lives(p->pid[i][k]);
    return left;
}
