/* spawn.h - what a process asks for with MPI_Comm_spawn: as bytes, and as a job on agents that run. */

#ifndef LA_SPAWN_H
#define LA_SPAWN_H

#include "engine.h"
#include "place.h"

/* A spawn as bytes, for the way to the launcher. 0, PHX_ENOMEM. *out is the caller's (free). */
int la_spawn_encode(const struct la_spawn *s, unsigned char **out, size_t *size);

/* Back again: its strings are owned by it. 0, PHX_EPROTO, PHX_ENOMEM; on failure *out is zeroed. */
struct la_spawn_owned {
    struct la_spawn spawn; /* spawn.blocks is blocks */
    struct la_spawn_block *blocks;
};
int la_spawn_decode(struct la_spawn_owned *out, const unsigned char *data, size_t size);
void la_spawn_free(struct la_spawn_owned *s);

/* The job on its way to all agents: itself, the kvsname of the job that spawned it, and its parent's keys.
 * 0, PHX_ENOMEM. *out is the caller's (free). */
int la_spawn_put_job(const struct la_job *job, const char *spawner, char **preput, unsigned char **out,
                     size_t *size);
/* Back again, with the slice of agent `self`. 0, PHX_EPROTO, PHX_EVERSION, PHX_ENOMEM; on failure nothing is
 * left to be freed. *preput may be NULL: none. */
int la_spawn_take_job(struct la_job *out, char **spawner, char ***preput, uint32_t self,
                      const unsigned char *data, size_t size);

/* The job: its programs, its ranks on the agents of the running job (as the launcher has it, with all),
 * with their tree and numbers, and the running job's settings; id, key and kvsname are the launcher's to
 * choose. Of a block's info wdir, path, host, hosts and hostfile (which is read here) count. Ranks for which
 * no host is named are dealt out one by one over the hosts that have ranks already. Agents that are gone
 * (by their places; NULL: none is) get no ranks. 0; PHX_EINVAL (why); PHX_ENOMEM. On failure *out is freed
 * and zeroed. */
int la_spawn_job(struct la_job *out, const struct la_job *running, const unsigned char *gone,
                 const struct la_spawn *s, char why[LA_TEXT]);

#endif
