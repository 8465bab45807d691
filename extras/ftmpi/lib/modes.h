/* modes.h - how failures are met, in words: --ft of the launchers, and FTMPI_MODE. */
#ifndef FTM_MODES_H
#define FTM_MODES_H

#include "../mpi.h"

#include <stdint.h>

/* How failures are met: of an engine at its start, and then of each communicator, which takes over what its
 * parent has. Values are those of mpi.h; all 0 is ABORT, NOP, LOOSE. */
struct ftm_modes {
    int comm; /* FTMPI_COMM_MODE_... */
    int msg;  /* FTMPI_MSG_MODE_... */
    int coll; /* FTMPI_COLL_MODE_... */
};

/* abort|blank|shrink|rebuild|rebuild-end|ulfm, then nop|cont and loose|strict, in any order, separated by
 * commas. What is not named is 0: abort, nop, loose; but ulfm means cont, and cannot be nop. 0, or -1: the
 * text says something else, or a thing twice. */
int ftm_modes_read(struct ftm_modes *out, const char *text);

/* As one word, of which messages are made. get: 0, or -1: no process has such modes. */
uint32_t ftm_modes_put(const struct ftm_modes *m);
int ftm_modes_get(struct ftm_modes *m, uint32_t word);

#define FTM_MODES_WORDS "abort|blank|shrink|rebuild|rebuild-end|ulfm[,nop|cont][,loose|strict]"

#endif
