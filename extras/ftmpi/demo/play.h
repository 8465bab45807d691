/* play.h - runs a job under ftmpirun, reads what its ranks announce, and kills them at what they announce. */

/* For the demo, and for tests and measurements of failures. The program says what happens to it, in lines
 * "@ SECONDS RANK LIFE PID WORD NUMBER" (cg.c, -e); seconds are those of CLOCK_MONOTONIC, which all
 * processes of a host share. All other lines are kept. Nothing here sleeps and hopes: what is waited for is
 * a line, an end, or a time limit. */
#ifndef PLAY_H
#define PLAY_H

#include <stddef.h>
#include <sys/types.h>

#define PLAY_RANKS 128
#define PLAY_LIVES 16   /* of a rank */
#define PLAY_SAID 65536 /* of all other lines */

struct play_event {
    double at;
    int rank, life;
    long pid, number;
    char word[24];
};

struct play {
    pid_t runner;
    int fd, status;                    /* status: as a shell's, once it has ended; -1: had to be killed */
    double began, ended;               /* ended: of the launcher */
    char line[PLAY_SAID], said[PLAY_SAID];
    size_t line_size, said_size;
    long pid[PLAY_RANKS][PLAY_LIVES];  /* 0: not heard of */
    int life[PLAY_RANKS];              /* the latest heard of */
    char killed[PLAY_RANKS][PLAY_LIVES];
};

double play_now(void);

/* argv: the launcher and its words. 0, or -1. */
int play_start(struct play *p, char *const *argv);

/* 1: an event. 0: nothing more will come. -1: none came until the time `until`. */
int play_next(struct play *p, struct play_event *e, double until);

/* Sends a signal to a rank's latest life; returns when, or 0 if it is not known, not there, or was killed. */
double play_signal(struct play *p, int rank, int signal);

/* Reads on until the launcher has ended, and kills it at the time `until`; the status is in p->status. */
void play_end(struct play *p, double until);

/* How many processes of the job are there. */
int play_left(const struct play *p);

/* The first line said that begins with this, behind it; NULL: none does. */
const char *play_said(const struct play *p, const char *start);

#endif
