/* fortran_comm.c - groups, communicators and topologies for Fortran. */
#include "fortran.h"

FORTRAN(group_size)(MPI_Fint *group, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_size)(*group, size);
}

FORTRAN(group_rank)(MPI_Fint *group, MPI_Fint *rank, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_rank)(*group, rank);
}

FORTRAN(group_translate_ranks)(MPI_Fint *group1, MPI_Fint *n, MPI_Fint *ranks1, MPI_Fint *group2,
                               MPI_Fint *ranks2, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_translate_ranks)(*group1, *n, ranks1, *group2, ranks2);
}

FORTRAN(group_compare)(MPI_Fint *group1, MPI_Fint *group2, MPI_Fint *result, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_compare)(*group1, *group2, result);
}

FORTRAN(comm_group)(MPI_Fint *comm, MPI_Fint *group, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_group)(*comm, group);
}

FORTRAN(group_union)(MPI_Fint *group1, MPI_Fint *group2, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_union)(*group1, *group2, newgroup);
}

FORTRAN(group_intersection)(MPI_Fint *group1, MPI_Fint *group2, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_intersection)(*group1, *group2, newgroup);
}

FORTRAN(group_difference)(MPI_Fint *group1, MPI_Fint *group2, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_difference)(*group1, *group2, newgroup);
}

FORTRAN(group_incl)(MPI_Fint *group, MPI_Fint *n, MPI_Fint *ranks, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_incl)(*group, *n, ranks, newgroup);
}

FORTRAN(group_excl)(MPI_Fint *group, MPI_Fint *n, MPI_Fint *ranks, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_excl)(*group, *n, ranks, newgroup);
}

FORTRAN(group_range_incl)(MPI_Fint *group, MPI_Fint *n, MPI_Fint *ranges, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_range_incl)(*group, *n, (int (*)[3])(void *)ranges, newgroup);
}

FORTRAN(group_range_excl)(MPI_Fint *group, MPI_Fint *n, MPI_Fint *ranges, MPI_Fint *newgroup, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_range_excl)(*group, *n, (int (*)[3])(void *)ranges, newgroup);
}

FORTRAN(group_free)(MPI_Fint *group, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Group_free)(group);
}

FORTRAN(comm_size)(MPI_Fint *comm, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_size)(*comm, size);
}

FORTRAN(comm_rank)(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_rank)(*comm, rank);
}

FORTRAN(comm_compare)(MPI_Fint *comm1, MPI_Fint *comm2, MPI_Fint *result, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_compare)(*comm1, *comm2, result);
}

FORTRAN(comm_dup)(MPI_Fint *comm, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_dup)(*comm, newcomm);
}

FORTRAN(comm_create)(MPI_Fint *comm, MPI_Fint *group, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_create)(*comm, *group, newcomm);
}

FORTRAN(comm_split)(MPI_Fint *comm, MPI_Fint *color, MPI_Fint *key, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_split)(*comm, *color, *key, newcomm);
}

FORTRAN(comm_free)(MPI_Fint *comm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_free)(comm);
}

FORTRAN(comm_test_inter)(MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_test_inter)(*comm, flag);
}

FORTRAN(comm_remote_size)(MPI_Fint *comm, MPI_Fint *size, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_remote_size)(*comm, size);
}

FORTRAN(comm_remote_group)(MPI_Fint *comm, MPI_Fint *group, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Comm_remote_group)(*comm, group);
}

FORTRAN(intercomm_create)(MPI_Fint *local_comm, MPI_Fint *local_leader, MPI_Fint *peer_comm,
                          MPI_Fint *remote_leader, MPI_Fint *tag, MPI_Fint *newintercomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Intercomm_create)(*local_comm, *local_leader, *peer_comm, *remote_leader, *tag,
                                       newintercomm);
}

FORTRAN(intercomm_merge)(MPI_Fint *intercomm, MPI_Fint *high, MPI_Fint *newintracomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Intercomm_merge)(*intercomm, *high, newintracomm);
}

FORTRAN(cart_create)(MPI_Fint *comm_old, MPI_Fint *ndims, MPI_Fint *dims, MPI_Fint *periods,
                     MPI_Fint *reorder, MPI_Fint *comm_cart, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_create)(*comm_old, *ndims, dims, periods, *reorder, comm_cart);
}

FORTRAN(dims_create)(MPI_Fint *nnodes, MPI_Fint *ndims, MPI_Fint *dims, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Dims_create)(*nnodes, *ndims, dims);
}

FORTRAN(graph_create)(MPI_Fint *comm_old, MPI_Fint *nnodes, MPI_Fint *index, MPI_Fint *edges,
                      MPI_Fint *reorder, MPI_Fint *comm_graph, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graph_create)(*comm_old, *nnodes, index, edges, *reorder, comm_graph);
}

FORTRAN(topo_test)(MPI_Fint *comm, MPI_Fint *status, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Topo_test)(*comm, status);
}

FORTRAN(graphdims_get)(MPI_Fint *comm, MPI_Fint *nnodes, MPI_Fint *nedges, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graphdims_get)(*comm, nnodes, nedges);
}

FORTRAN(graph_get)(MPI_Fint *comm, MPI_Fint *maxindex, MPI_Fint *maxedges, MPI_Fint *indx, MPI_Fint *edges,
                   MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graph_get)(*comm, *maxindex, *maxedges, indx, edges);
}

FORTRAN(cartdim_get)(MPI_Fint *comm, MPI_Fint *ndims, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cartdim_get)(*comm, ndims);
}

FORTRAN(cart_get)(MPI_Fint *comm, MPI_Fint *maxdims, MPI_Fint *dims, MPI_Fint *periods, MPI_Fint *coords,
                  MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_get)(*comm, *maxdims, dims, periods, coords);
}

FORTRAN(cart_rank)(MPI_Fint *comm, MPI_Fint *coords, MPI_Fint *rank, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_rank)(*comm, coords, rank);
}

FORTRAN(cart_coords)(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *maxdims, MPI_Fint *coords, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_coords)(*comm, *rank, *maxdims, coords);
}

FORTRAN(graph_neighbors_count)(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *nneighbors, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graph_neighbors_count)(*comm, *rank, nneighbors);
}

FORTRAN(graph_neighbors)(MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *maxneighbors, MPI_Fint *neighbors,
                         MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graph_neighbors)(*comm, *rank, *maxneighbors, neighbors);
}

FORTRAN(cart_shift)(MPI_Fint *comm, MPI_Fint *direction, MPI_Fint *disp, MPI_Fint *rank_source,
                    MPI_Fint *rank_dest, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_shift)(*comm, *direction, *disp, rank_source, rank_dest);
}

FORTRAN(cart_sub)(MPI_Fint *comm, MPI_Fint *remain_dims, MPI_Fint *newcomm, MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_sub)(*comm, remain_dims, newcomm);
}

FORTRAN(cart_map)(MPI_Fint *comm, MPI_Fint *ndims, MPI_Fint *dims, MPI_Fint *periods, MPI_Fint *newrank,
                  MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Cart_map)(*comm, *ndims, dims, periods, newrank);
}

FORTRAN(graph_map)(MPI_Fint *comm, MPI_Fint *nnodes, MPI_Fint *index, MPI_Fint *edges, MPI_Fint *newrank,
                   MPI_Fint *ierr)
{
    *ierr = FTM_CALL(Graph_map)(*comm, *nnodes, index, edges, newrank);
}
