/* later.h - what notices bring about; goes when fault.h and recover.h have these. */
#ifndef FTM_LATER_H
#define FTM_LATER_H

#include <stdint.h>

struct ftm;

void ftm_recover_joined(struct ftm *e, int proc);
void ftm_recover_nospawn(struct ftm *e, int seat, uint32_t life);
void ftm_recover_restarted(struct ftm *e, uint32_t generation);

#endif
