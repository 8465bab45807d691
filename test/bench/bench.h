/* bench.h - what a pattern may ask of a system, and a system of the bench. */

/* A pattern (p_*.c) is a piece of work: ping-pong, a stream, ... A system (s_*.c) moves messages between
 * the processes of one run. One program is bench.c, all patterns and one system, so all systems do the
 * same work, by the same loop and the same clock.
 *
 * Processes have numbers, 0 to count - 1. In a star everybody is linked with process 0 only, in a mesh
 * everybody with everybody, and through a relay 0 talks with 2 by way of 1. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

enum bench_shape { BENCH_STAR, BENCH_MESH, BENCH_RELAY };
/* How to wait for a message: never sleep; always; or look for a while and then sleep. */
enum bench_wait { BENCH_SPIN, BENCH_SLEEP, BENCH_LINGER };

struct bench {
    const char *variant; /* of the system: tcp, unix, ... */
    int me, count;
    enum bench_shape shape;
    enum bench_wait wait;
    size_t size;    /* of a message */
    uint64_t us;    /* measure for about so long */
    uint64_t most;  /* messages, at most */
};
extern struct bench bench;

/* ---- What bench.c gives */

uint64_t bench_us(void);
uint64_t bench_ns(void);
void bench_die(const char *what) __attribute__((noreturn));
/* Numbers (ports, mostly) that one process leaves for the others; get waits for it. */
void bench_put(int slot, uint64_t value);
uint64_t bench_get(int slot);
int bench_has(int slot);
/* At the end of sys_open: waits until all processes are here; the system takes turns meanwhile. */
void bench_meet(void);
/* A path of this run for UNIX sockets of process `of`. */
const char *bench_path(int of);
/* One turn of the system's loop, waiting as bench.wait says. */
void bench_turn(void);
/* Sends, taking turns until the system takes it. */
void bench_send(int to, const void *data, size_t size);
/* A message arrived: systems call this, the pattern gets it. Not to be answered from within. */
void bench_got(int from, const void *data, size_t size);
/* The outcome, printed by process 0: a line of tab-separated name=value. */
void bench_say(const char *name, double value);
/* If set: process 0 calls it at the end of its line, for what the system has to say beside. */
extern void (*bench_also)(void);

/* ---- What a system gives */

extern const char sys_name[];
extern const char *const sys_variants; /* for the usage */
extern const int sys_needs_turns; /* links stand only as long as somebody comes by */
void sys_open(void);                   /* comes back when all links of this process stand */
int sys_send(int to, const void *data, size_t size); /* 1: not now, take a turn first */
void sys_turn(int sleep); /* sends what waits, takes what came; sleep: waits for something */
void sys_relay(void);     /* process 1 of a relay: for ever */
void sys_close(void);     /* what was sent still goes out */
int sys_launched(int *argc, char ***argv); /* 1: the processes exist already (MPI) */

/* ---- What a pattern gives */

struct bench_pattern {
    const char *name;
    enum bench_shape shape;
    int count;         /* processes, unless the command line says */
    void (*run)(void); /* in each process */
    void (*got)(int from, const void *data, size_t size);
};
extern const struct bench_pattern p_latency, p_stream, p_many, p_idle, p_alltoall;

#endif
