/* mpi_kills.h - jobs whose processes die at chosen messages, and what the survivors then agree upon. */
#ifndef MPI_KILLS_H
#define MPI_KILLS_H

#include "mpi_world.h"

#define KILLS_VICTIMS 3
#define KILLS_VIEWS 12 /* communicators that a process gets by recoveries, at most */

/* Who dies, and with which of its messages: the first `after` leave, later ones are swallowed, and it is gone
 * when the step is over. */
struct kills_victim {
    int seat, life, after, sent;
};

/* A communicator as a process sees it: seat and life by rank; -1: a gap. */
struct kills_view {
    uint32_t generation, context;
    int size, member[MPI_SEATS];
};

struct kills_record { /* of a process */
    int rc, returned, wrong; /* of the call that is looked at; wrong: data */
    uint32_t context;        /* of what it made */
    struct kills_view view[KILLS_VIEWS];
    int views;
};

struct kills {
    struct kills_victim victim[KILLS_VICTIMS];
    int victims;
    int all_kinds;  /* every message of a victim counts, not only those of agreements and recoveries */
    int armed, here; /* here: how often somebody came to a place where all wait for all */
    int first;      /* a seat that dies before all this; -1: none */
    int exact;      /* results of the dead that returned must be the same, too */
    int messages;   /* of agreements, by all, since it was armed */
    int rounds;     /* of the program's loop, at most */
    struct kills_record record[MPI_PROCESSES];
};

/* plan.sends of such a job, whose plan.user is struct kills. */
int kills_sends(struct mpi_process *p, uint64_t to, uint64_t tag, size_t size);
int kills_was_reached(const struct kills *k, int victim); /* it has had as many messages */

/* All of MPI_COMM_WORLD agree in two rounds, once: the low half of value is the AND of all flags, the other
 * who has failed. An MPI class. */
int kills_agree(uint32_t flags, uint32_t *value);

/* What c looks like from within, at the end of the record of this process. comm: MPI_Comm. */
void kills_look(int comm);
/* How many differ: views of one generation and context at different processes. */
int kills_differ(const struct mpi_job *j, const struct kills *k, char *why, size_t size);

#endif
