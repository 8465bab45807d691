! p_module.f90 - the module mpi, in free form, with the later names.
module functions
  use mpi
  implicit none
  integer(kind=MPI_ADDRESS_KIND) :: last = 0
contains
  subroutine copy_attr(comm, key, extra, in, out, flag, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    out = in + extra
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine copy_attr
  subroutine delete_attr(comm, key, val, extra, ierr)
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: val, extra
    last = val
    ierr = MPI_SUCCESS
  end subroutine delete_attr
  subroutine handle(comm, code)
    integer :: comm, code
    last = code
  end subroutine handle
end module functions

program p_module
  use functions
  implicit none
  integer :: ierr, rank, size, n, t, u, key, c, d, h, provided, bad = 0, all
  integer(kind=MPI_ADDRESS_KIND) :: lb, extent, places(2), big, val
  integer :: lengths(2) = (/ 1, 2 /), kinds(2)
  double precision :: sum, a(4), b(4)
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  type pair
    sequence
    double precision :: d
    integer :: i(2)
  end type pair
  type(pair) :: p, q

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call ok(provided == MPI_THREAD_FUNNELED, 'level')
  call MPI_Query_thread(n, ierr)
  call ok(n == provided, 'asked')

  call MPI_Get_address(p%d, places(1), ierr)
  call MPI_Get_address(p%i, places(2), ierr)
  places = places - places(1)
  kinds = (/ MPI_DOUBLE_PRECISION, MPI_INTEGER /)
  call MPI_Type_create_struct(2, lengths, places, kinds, t, ierr)
  call MPI_Type_create_resized(t, 0_MPI_ADDRESS_KIND, 32_MPI_ADDRESS_KIND, u, ierr)
  call MPI_Type_commit(u, ierr)
  call MPI_Type_get_extent(u, lb, extent, ierr)
  call ok(places(2) == 8 .and. lb == 0 .and. extent == 32, 'resized')
  call MPI_Type_get_true_extent(u, lb, extent, ierr)
  call ok(lb == 0 .and. extent == 16, 'true extent')
  p%d = 3.5d0
  p%i = (/ 4, 5 /)
  call MPI_Sendrecv(p, 1, u, 0, 1, q, 1, u, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call ok(q%d == 3.5d0 .and. q%i(2) == 5, 'struct')
  call MPI_Type_free(t, ierr)
  call MPI_Type_free(u, ierr)
  big = 16
  call MPI_Type_create_hvector(2, 1, big, MPI_DOUBLE_PRECISION, t, ierr)
  call MPI_Type_commit(t, ierr)
  a = (/ 1, 2, 3, 4 /)
  b = 0
  call MPI_Sendrecv(a, 1, t, 0, 1, b, 2, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
  call ok(b(1) == 1 .and. b(2) == 3 .and. b(3) == 0, 'hvector')
  call MPI_Type_free(t, ierr)

  sum = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call ok(sum == size * (size + 1) / 2, 'in place')
  n = rank + 1
  c = 0
  call MPI_Exscan(n, c, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call ok(rank == 0 .or. c == rank * (rank + 1) / 2, 'exscan')

  call MPI_Comm_dup(MPI_COMM_SELF, c, ierr)
  call MPI_Comm_set_name(c, 'a name   ', ierr)
  call MPI_Comm_get_name(c, name, n, ierr)
  call ok(n == 6 .and. name == 'a name', 'name')
  val = 5
  call MPI_Comm_create_keyval(copy_attr, delete_attr, key, 2_MPI_ADDRESS_KIND**40, ierr)
  call MPI_Comm_set_attr(c, key, val, ierr)
  call MPI_Comm_dup(c, d, ierr)
  call MPI_Comm_get_attr(d, key, val, flag, ierr)
  call ok(flag .and. val == 5 + 2_MPI_ADDRESS_KIND**40, 'attribute')
  call MPI_Comm_delete_attr(d, key, ierr)
  call ok(last == val, 'deleted')
  call MPI_Comm_free(d, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, n, 0_MPI_ADDRESS_KIND, ierr)
  call MPI_Comm_set_attr(c, n, 2_MPI_ADDRESS_KIND**35, ierr)
  call MPI_Comm_dup(c, d, ierr)
  call MPI_Comm_get_attr(d, n, val, flag, ierr)
  call ok(flag .and. val == 2_MPI_ADDRESS_KIND**35, 'as it is')
  call MPI_Comm_free(d, ierr)
  call MPI_Comm_free_keyval(key, ierr)
  call MPI_Comm_create_errhandler(handle, h, ierr)
  call MPI_Comm_set_errhandler(c, h, ierr)
  call MPI_Comm_get_errhandler(c, n, ierr)
  call ok(n == h, 'handler')
  call MPI_Comm_call_errhandler(c, MPI_ERR_TAG, ierr)
  call ok(last == MPI_ERR_TAG, 'called')
  call MPI_Comm_free(c, ierr)
  call MPI_Get_library_version(version, n, ierr)
  call ok(n > 5 .and. version(n+1:) == ' ', 'version')
  call MPI_Allreduce(bad, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. all == 0) print '(A)', 'ok 1 - module mpi'
  if (rank == 0 .and. all /= 0) print '(A)', 'not ok 1'
  call MPI_Finalize(ierr)
  call MPI_Finalized(flag, ierr)
  if (.not. flag) stop 1
contains
  subroutine ok(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    bad = bad + 1
    print *, '# rank', rank, ': ', what
  end subroutine ok
end program p_module
