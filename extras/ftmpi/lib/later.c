/* later.c - what notices bring about, before there are recoveries: goes when those are here. */
#include "later.h"

#include "engine.h"

void ftm_recover_joined(struct ftm *e, int proc)
{
    (void)e;
    (void)proc;
}

void ftm_recover_nospawn(struct ftm *e, int seat, uint32_t life)
{
    (void)e;
    (void)seat;
    (void)life;
}

void ftm_recover_restarted(struct ftm *e, uint32_t generation)
{
    (void)generation;
    e->start.ready = 1;
}
