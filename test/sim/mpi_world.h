/* mpi_world.h - MPI jobs in the simulated world: launcher, agents, and whole MPI programs as ranks.
 *
 * Each rank is a machine of the world of its own with an engine of extras/ftmpi on it. Its program is a
 * coroutine: a blocking MPI call hands the machine back to the world where the pump would sleep. The launcher
 * runs lib/arbiter.c as ftmpirun and phxrun do; agents of hosts are nodes that relay, see processes end and
 * tell the launcher. Messages that engines give to Phoenix pass a hook, which may swallow them. */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include "scenario.h"

#define MPI_SEATS 16
#define MPI_HOSTS 8
#define MPI_PROCESSES 128 /* in all lives of a job */

struct ftm;
struct ftm_modes;
struct mpi_job;

enum mpi_how { MPI_LIVES, MPI_EXITED, MPI_KILLED };

struct mpi_process {
    struct mpi_job *job;
    int seat, life, host;
    uint32_t machine; /* of the world */
    enum mpi_how how;
    int status;       /* of its exit */
    int condemned;    /* it ends with the step at hand, and what it sends is lost */
    int finalized;    /* it came through MPI_Finalize */
    uint64_t started_at, ended_at, messages; /* messages: that it gave to Phoenix */
    const char *doing; /* what its program is at, for people */
    struct mpi_coroutine *co;
};

struct mpi_plan {
    int ranks, hosts, sites; /* hosts 0 or 1: the launcher's only */
    int walls;               /* 1: from site to site through gateways; 2: each rank through its agent only */
    uint64_t seed;
    int trace;
    const char *mode;        /* --ft; NULL: not given */
    int refuse_starts;       /* the launcher starts nobody again */
    uint64_t cut_us;         /* FTMPI_CUT_WAIT; 0: 60 s */
    uint64_t start_us;       /* the launcher's --start-timeout; 0: 60 s */
    size_t eager_limit, eager_budget, piece; /* 0: the usual ones, as below */
    unsigned asks;
    const struct world_options *world; /* NULL: the usual distances */
    /* What each process does; its exit status. */
    int (*program)(struct mpi_process *p);
    void *user;
    /* A message is about to leave: 1 if it does. 0 and a condemned process: it does not. */
    int (*sends)(struct mpi_process *p, uint64_t to, uint64_t tag, size_t size);
    /* What the engine of a process gets in place of the world's os, and whether an allocation of it fails. */
    struct phx_os (*os)(struct mpi_process *p);
    int (*lacks_memory)(struct mpi_process *p);
    /* After each step of a machine: of a process, which may be gone now, or of a node of the launcher. */
    void (*after)(struct mpi_job *j, struct mpi_process *p);
};

struct mpi_launch;
struct mpi_job {
    struct mpi_plan plan;
    struct world *w;
    struct world_rng rng; /* of faults and programs' choices */
    struct mpi_process process[MPI_PROCESSES];
    int processes, living; /* living: of the processes */
    int seat[MPI_SEATS];   /* the process that holds it, or held it last */
    int over, code;        /* the arbiter has ended the job */
    char line[300];        /* what was said last */
    struct mpi_launch *launch;
};

/* Whether there are coroutines on this system. */
int mpi_can_run(void);

/* All ranks start. NULL: no memory. */
struct mpi_job *mpi_job_new(const struct mpi_plan *plan);
void mpi_job_free(struct mpi_job *j);
/* The same; and the story's world has seen what this one has. */
void mpi_job_end(struct sim *s, struct mpi_job *j);

/* Until no process lives. 0, or -1: the world failed; limit_us over is a failure, too. */
int mpi_job_run(struct mpi_job *j, uint64_t limit_us);
/* For so long, or until no process lives: then 1. */
int mpi_job_run_for(struct mpi_job *j, uint64_t us);

/* From outside, or from another process: gone at once. From within itself: with the end of the step. */
void mpi_kill(struct mpi_process *p);
void mpi_kill_host(struct mpi_job *j, int host);   /* silently, with its agent */
int mpi_host_is_up(const struct mpi_job *j, int host);
void mpi_cut_host(struct mpi_job *j, int host, int on); /* nobody hears it, and it hears nobody */
struct ftm *mpi_engine(const struct mpi_process *p); /* NULL: it has none now */
struct mpi_process *mpi_holder(struct mpi_job *j, int seat);
/* Sum of the arbiter's counts that has to be 0. */
int mpi_job_imbalance(const struct mpi_job *j);

/* ---- For programs ---------------------------------------------------------------------------- */

struct mpi_process *mpi_self(void);
uint64_t mpi_now(void);
void mpi_compute(uint64_t us);      /* no call of MPI meanwhile */
void *mpi_memory(size_t bytes);     /* zeroed; goes with the process */
uint32_t mpi_draw(uint32_t below);

/* ---- Between mpi_world.c, mpi_launch.c and mpi_pump.c ------------------------------------------ */

uint32_t mpi_machine(struct mpi_job *j, uint32_t site); /* a new one */
struct mpi_process *mpi_start(struct mpi_job *j, int seat, int life, int host);
void mpi_yield(uint64_t until, int more); /* of the process that runs; until: when it wants to go on */
void mpi_stepped(struct ftm *e, uint64_t now); /* its engine did: a condemned one ends here */

struct ftm_modes mpi_modes(const struct mpi_job *j); /* of modes.h: those of the plan */
struct mpi_launch *mpi_launch_new(struct mpi_job *j);
void mpi_launch_free(struct mpi_launch *l);
void mpi_launch_ended(struct mpi_process *p); /* to be told by its agent */
uint64_t mpi_launch_name(const struct mpi_job *j); /* of the arbiter */
void mpi_launch_hub(const struct mpi_job *j, int host, char out[PHX_ADDRESS_TEXT]);
extern const unsigned char mpi_key[32];
#define MPI_JOB_NUMBER 7u

#endif
