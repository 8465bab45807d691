/* fault.h - failures of processes: states and modes of communicators, and what operations return. */
#ifndef FTM_FAULT_H
#define FTM_FAULT_H

#include "modes.h"

struct ftm;
struct ftm_comm;

/* A member of struct ftm_comm. */
struct ftm_fault {
    int state; /* FT_OK ... */
    struct ftm_modes modes;
};

#endif
