/* topo.h - grids and graphs over the ranks of a communicator: calculations only. */
#ifndef FTM_TOPO_H
#define FTM_TOPO_H

#include <stddef.h>

struct ftm;

/* Kind MPI_CART: n dimensions; MPI_GRAPH: n nodes. Never changed after it was made; duplicates share one. */
struct ftm_topo {
    int refs;
    int kind;
    int n;
    int edges;     /* of a graph */
    int *dims;     /* of a grid; of a graph the index: the sum of neighbours up to each node */
    int *periods;  /* of a grid; of a graph the edges */
    size_t numbers; /* in the two arrays, which are one piece of memory */
};

/* Each returns an MPI class. *nodes: how many processes it needs; a new topology has one reference. */
int ftm_topo_cart(struct ftm *e, int ndims, const int *dims, const int *periods, struct ftm_topo **out,
                  int *nodes);
int ftm_topo_graph(struct ftm *e, int nnodes, const int *index, const int *edges, struct ftm_topo **out);
void ftm_topo_drop(struct ftm *e, struct ftm_topo *t);

/* Coordinates of a rank and back (-1: outside of a dimension that is not periodic). */
void ftm_topo_coords(const struct ftm_topo *t, int rank, int *coords);
int ftm_topo_rank(const struct ftm_topo *t, const int *coords);

/* The ranks from and to which a shift by disp along a dimension goes; MPI_PROC_NULL beyond an edge. */
void ftm_topo_shift(const struct ftm_topo *t, int rank, int dimension, int disp, int *source, int *dest);

/* The neighbours of a node: how many, and the first of them. */
int ftm_topo_neighbours(const struct ftm_topo *t, int rank, const int **first);

/* Fills the zeros of dims so that the product is nnodes and they are as equal as they can be, in falling
 * order. */
int ftm_topo_dims(struct ftm *e, int nnodes, int ndims, int *dims);

#endif
