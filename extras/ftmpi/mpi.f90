! mpi.f90 - the module mpi: what mpif.h has.
module mpi
  include 'mpif.h'
end module mpi
