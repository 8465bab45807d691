/* coll.h - the words that the engine of a host (engine.h) and the tree of agents (tree.h) share. */

/* A collective operation is a set of *records* that go up the tree to agent 0 and down again to the hosts
 * that they are for; it is done at a host when every host has entered and all records for that host have
 * come.
 *
 *      barrier     no records
 *      broadcast   { LA_ALL, root, size bytes }, by the root's host
 *      gather      { root, rank, size bytes } for each rank, by its host
 *      allgather   { LA_ALL, rank, size bytes } for each rank
 *      scatter     { i, root, size bytes } for each i, by the root's host
 *      alltoall    { j, i, size bytes } for each i and j, by i's host
 *      fence       { LA_ALL, LA_KEY, key NUL value }: what was put since the last fence; PMI's barrier
 */
#ifndef LA_COLL_H
#define LA_COLL_H

#include <stddef.h>
#include <stdint.h>

enum la_kind { LA_BARRIER = 1, LA_BROADCAST, LA_GATHER, LA_ALLGATHER, LA_SCATTER, LA_ALLTOALL, LA_FENCE };

#define LA_ALL UINT32_MAX       /* in `to`: every host */
#define LA_KEY (UINT32_MAX - 1) /* in `from`: of a host, not of a rank */

/* One operation. Ranks of a job issue the same ones in the same order; those that differ in kind, root or
 * size under one number have gone apart, which is an error that names two of them. */
struct la_coll {
    uint32_t job;    /* la_job.id */
    uint32_t number; /* 0, 1, ... within the job */
    uint32_t kind;   /* enum la_kind */
    uint32_t root;   /* a rank, for broadcast, gather, scatter; else 0 */
    uint64_t size;   /* bytes per rank; 0 for barrier and fence */
    uint32_t rank;   /* one who issued it, for errors */
};

struct la_record {
    uint32_t to;   /* a rank, or LA_ALL */
    uint32_t from; /* a rank, or LA_KEY */
    uint32_t size;
    const unsigned char *data; /* borrowed */
};

#endif
