! mpi.f90 - the module mpi: what mpif.h has, and the names of all calls, for `use mpi, only: MPI_Send`.
module mpi
  include 'mpif.h'
  external MPI_Send, MPI_Recv, MPI_Get_count, MPI_Bsend, MPI_Ssend, MPI_Rsend, MPI_Buffer_attach
  external MPI_Buffer_detach, MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend, MPI_Irecv, MPI_Wait
  external MPI_Test, MPI_Request_free, MPI_Waitany, MPI_Testany, MPI_Waitall, MPI_Testall, MPI_Waitsome
  external MPI_Testsome, MPI_Iprobe, MPI_Probe, MPI_Cancel, MPI_Test_cancelled, MPI_Send_init
  external MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Recv_init, MPI_Start, MPI_Startall
  external MPI_Sendrecv, MPI_Sendrecv_replace, MPI_Type_contiguous, MPI_Type_vector, MPI_Type_hvector
  external MPI_Type_indexed, MPI_Type_hindexed, MPI_Type_struct, MPI_Address, MPI_Type_extent
  external MPI_Type_size, MPI_Type_lb, MPI_Type_ub, MPI_Type_commit, MPI_Type_free, MPI_Get_elements
  external MPI_Pack, MPI_Unpack, MPI_Pack_size, MPI_Get_address, MPI_Type_create_hvector
  external MPI_Type_create_hindexed, MPI_Type_create_indexed_block, MPI_Type_create_struct
  external MPI_Type_create_resized, MPI_Type_dup, MPI_Type_get_extent, MPI_Type_get_true_extent
  external MPI_Barrier, MPI_Bcast, MPI_Gather, MPI_Gatherv, MPI_Scatter, MPI_Scatterv, MPI_Allgather
  external MPI_Allgatherv, MPI_Alltoall, MPI_Alltoallv, MPI_Reduce, MPI_Op_create, MPI_Op_free
  external MPI_Allreduce, MPI_Reduce_scatter, MPI_Scan, MPI_Exscan, MPI_Group_size, MPI_Group_rank
  external MPI_Group_translate_ranks, MPI_Group_compare, MPI_Comm_group, MPI_Group_union
  external MPI_Group_intersection, MPI_Group_difference, MPI_Group_incl, MPI_Group_excl
  external MPI_Group_range_incl, MPI_Group_range_excl, MPI_Group_free, MPI_Comm_size, MPI_Comm_rank
  external MPI_Comm_compare, MPI_Comm_dup, MPI_Comm_create, MPI_Comm_split, MPI_Comm_free
  external MPI_Comm_test_inter, MPI_Comm_remote_size, MPI_Comm_remote_group, MPI_Intercomm_create
  external MPI_Intercomm_merge, MPI_Keyval_create, MPI_Keyval_free, MPI_Attr_put, MPI_Attr_get
  external MPI_Attr_delete, MPI_Comm_create_keyval, MPI_Comm_free_keyval, MPI_Comm_set_attr
  external MPI_Comm_get_attr, MPI_Comm_delete_attr, MPI_Comm_set_name, MPI_Comm_get_name
  external MPI_Cart_create, MPI_Dims_create, MPI_Graph_create, MPI_Topo_test, MPI_Graphdims_get
  external MPI_Graph_get, MPI_Cartdim_get, MPI_Cart_get, MPI_Cart_rank, MPI_Cart_coords
  external MPI_Graph_neighbors_count, MPI_Graph_neighbors, MPI_Cart_shift, MPI_Cart_sub, MPI_Cart_map
  external MPI_Graph_map, MPI_Get_processor_name, MPI_Get_version, MPI_Errhandler_create
  external MPI_Errhandler_set, MPI_Errhandler_get, MPI_Errhandler_free, MPI_Error_string
  external MPI_Error_class, MPI_Init, MPI_Finalize, MPI_Initialized, MPI_Abort, MPI_Pcontrol
  external MPI_Init_thread, MPI_Query_thread, MPI_Finalized, MPI_Get_library_version
  external MPI_Comm_create_errhandler, MPI_Comm_set_errhandler, MPI_Comm_get_errhandler
  external MPI_Comm_call_errhandler
  external PMPI_Send, PMPI_Recv, PMPI_Get_count, PMPI_Bsend, PMPI_Ssend, PMPI_Rsend, PMPI_Buffer_attach
  external PMPI_Buffer_detach, PMPI_Isend, PMPI_Ibsend, PMPI_Issend, PMPI_Irsend, PMPI_Irecv, PMPI_Wait
  external PMPI_Test, PMPI_Request_free, PMPI_Waitany, PMPI_Testany, PMPI_Waitall, PMPI_Testall
  external PMPI_Waitsome, PMPI_Testsome, PMPI_Iprobe, PMPI_Probe, PMPI_Cancel, PMPI_Test_cancelled
  external PMPI_Send_init, PMPI_Bsend_init, PMPI_Ssend_init, PMPI_Rsend_init, PMPI_Recv_init, PMPI_Start
  external PMPI_Startall, PMPI_Sendrecv, PMPI_Sendrecv_replace, PMPI_Type_contiguous, PMPI_Type_vector
  external PMPI_Type_hvector, PMPI_Type_indexed, PMPI_Type_hindexed, PMPI_Type_struct, PMPI_Address
  external PMPI_Type_extent, PMPI_Type_size, PMPI_Type_lb, PMPI_Type_ub, PMPI_Type_commit
  external PMPI_Type_free, PMPI_Get_elements, PMPI_Pack, PMPI_Unpack, PMPI_Pack_size, PMPI_Get_address
  external PMPI_Type_create_hvector, PMPI_Type_create_hindexed, PMPI_Type_create_indexed_block
  external PMPI_Type_create_struct, PMPI_Type_create_resized, PMPI_Type_dup, PMPI_Type_get_extent
  external PMPI_Type_get_true_extent, PMPI_Barrier, PMPI_Bcast, PMPI_Gather, PMPI_Gatherv, PMPI_Scatter
  external PMPI_Scatterv, PMPI_Allgather, PMPI_Allgatherv, PMPI_Alltoall, PMPI_Alltoallv, PMPI_Reduce
  external PMPI_Op_create, PMPI_Op_free, PMPI_Allreduce, PMPI_Reduce_scatter, PMPI_Scan, PMPI_Exscan
  external PMPI_Group_size, PMPI_Group_rank, PMPI_Group_translate_ranks, PMPI_Group_compare
  external PMPI_Comm_group, PMPI_Group_union, PMPI_Group_intersection, PMPI_Group_difference
  external PMPI_Group_incl, PMPI_Group_excl, PMPI_Group_range_incl, PMPI_Group_range_excl
  external PMPI_Group_free, PMPI_Comm_size, PMPI_Comm_rank, PMPI_Comm_compare, PMPI_Comm_dup
  external PMPI_Comm_create, PMPI_Comm_split, PMPI_Comm_free, PMPI_Comm_test_inter
  external PMPI_Comm_remote_size, PMPI_Comm_remote_group, PMPI_Intercomm_create, PMPI_Intercomm_merge
  external PMPI_Keyval_create, PMPI_Keyval_free, PMPI_Attr_put, PMPI_Attr_get, PMPI_Attr_delete
  external PMPI_Comm_create_keyval, PMPI_Comm_free_keyval, PMPI_Comm_set_attr, PMPI_Comm_get_attr
  external PMPI_Comm_delete_attr, PMPI_Comm_set_name, PMPI_Comm_get_name, PMPI_Cart_create
  external PMPI_Dims_create, PMPI_Graph_create, PMPI_Topo_test, PMPI_Graphdims_get, PMPI_Graph_get
  external PMPI_Cartdim_get, PMPI_Cart_get, PMPI_Cart_rank, PMPI_Cart_coords, PMPI_Graph_neighbors_count
  external PMPI_Graph_neighbors, PMPI_Cart_shift, PMPI_Cart_sub, PMPI_Cart_map, PMPI_Graph_map
  external PMPI_Get_processor_name, PMPI_Get_version, PMPI_Errhandler_create, PMPI_Errhandler_set
  external PMPI_Errhandler_get, PMPI_Errhandler_free, PMPI_Error_string, PMPI_Error_class, PMPI_Init
  external PMPI_Finalize, PMPI_Initialized, PMPI_Abort, PMPI_Pcontrol, PMPI_Init_thread
  external PMPI_Query_thread, PMPI_Finalized, PMPI_Get_library_version, PMPI_Comm_create_errhandler
  external PMPI_Comm_set_errhandler, PMPI_Comm_get_errhandler, PMPI_Comm_call_errhandler
  external MPIX_Comm_revoke, MPIX_Comm_is_revoked, MPIX_Comm_shrink, MPIX_Comm_ishrink
  external MPIX_Comm_agree, MPIX_Comm_iagree, MPIX_Comm_failure_ack, MPIX_Comm_failure_get_acked
  external MPIX_Comm_get_failed, MPIX_Comm_ack_failed
end module mpi
