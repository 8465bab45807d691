!     p_fortran.f - the calls of MPI-1.2 from Fortran, in fixed form, by
!     the old names.
      program pfort
      implicit none
      include 'mpif.h'
      integer ierr, bad, all
      integer rank, size
      common /me/ rank, size, bad
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      bad = 0
      call env
      call p2p
      call many
      call types
      call colls
      call comms
      call topo
      call graph
      call modes
      call groups
      call attrs
      call faults
      call errs
      call MPI_ALLREDUCE(bad, all, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0 .and. all .eq. 0) print '(A)', 'ok 1 - Fortran'
      if (rank .eq. 0 .and. all .ne. 0) print '(A)', 'not ok 1'
      call MPI_FINALIZE(ierr)
      end

      subroutine ok(good, what)
      implicit none
      logical good
      character*(*) what
      integer rank, size, bad
      common /me/ rank, size, bad
      if (good) return
      bad = bad + 1
      print *, '# rank', rank, ': ', what
      end

      subroutine env
      implicit none
      include 'mpif.h'
      integer ierr, n, v, s
      logical flag
      character*(MPI_MAX_PROCESSOR_NAME) name
      character*(MPI_MAX_ERROR_STRING) text
      double precision t
      flag = .false.
      call MPI_INITIALIZED(flag, ierr)
      call ok(flag, 'initialized')
      name = '?'
      call MPI_GET_PROCESSOR_NAME(name, n, ierr)
      call ok(n .gt. 0 .and. name(n:n) .ne. ' ' .and.
     &     name(n+1:n+1) .eq. ' ', 'name')
      call MPI_GET_VERSION(v, s, ierr)
      call ok(v .eq. MPI_VERSION .and. s .eq. MPI_SUBVERSION, 'version')
      call MPI_ERROR_STRING(MPI_ERR_RANK, text, n, ierr)
      call ok(text(1:12) .eq. 'MPI_ERR_RANK' .and. n .gt. 12 .and.
     &     text(n+1:) .eq. ' ', 'text')
      call MPI_ERROR_CLASS(MPI_ERR_OP, n, ierr)
      call ok(n .eq. MPI_ERR_OP .and. ierr .eq. MPI_SUCCESS, 'class')
      t = MPI_WTIME()
      call ok(MPI_WTIME() .ge. t .and. MPI_WTICK() .gt. 0.0D0, 'time')
      call ok(PMPI_WTIME() .ge. t, 'the other name')
      call MPI_PCONTROL(1)
      end

      subroutine p2p
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, next, prev, x, y, n, r, st(MPI_STATUS_SIZE)
      integer buf(100)
      logical flag
      real a(3), b(3)
      next = mod(rank + 1, size)
      prev = mod(rank + size - 1, size)
      a(1) = 1.5
      a(3) = rank
      call MPI_ISEND(a, 3, MPI_REAL, next, 5, MPI_COMM_WORLD, r, ierr)
      call MPI_PROBE(prev, 5, MPI_COMM_WORLD, st, ierr)
      call MPI_GET_COUNT(st, MPI_REAL, n, ierr)
      call ok(n .eq. 3 .and. st(MPI_TAG) .eq. 5, 'probe')
      call MPI_IPROBE(prev, 5, MPI_COMM_WORLD, flag, st, ierr)
      call ok(flag, 'iprobe')
      call MPI_RECV(b, 3, MPI_REAL, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &     MPI_COMM_WORLD, st, ierr)
      call ok(b(1) .eq. 1.5 .and. b(3) .eq. prev .and.
     &     st(MPI_SOURCE) .eq. prev, 'recv')
      call MPI_WAIT(r, st, ierr)
      call ok(r .eq. MPI_REQUEST_NULL, 'wait')
      call MPI_BUFFER_ATTACH(buf, 400, ierr)
      x = 7
      call MPI_BSEND(x, 1, MPI_INTEGER, next, 6, MPI_COMM_WORLD, ierr)
      call MPI_RECV(y, 1, MPI_INTEGER, prev, 6, MPI_COMM_WORLD,
     &     MPI_STATUS_IGNORE, ierr)
      call ok(y .eq. 7, 'bsend')
      call MPI_BUFFER_DETACH(buf, n, ierr)
      call ok(n .eq. 400, 'detach')
      y = -1
      call MPI_IRECV(y, 1, MPI_INTEGER, prev, 8, MPI_COMM_WORLD, r,
     &     ierr)
      call MPI_CANCEL(r, ierr)
      call MPI_WAIT(r, st, ierr)
      flag = .false.
      call MPI_TEST_CANCELLED(st, flag, ierr)
      call ok(flag, 'cancelled')
      call MPI_IRECV(y, 1, MPI_INTEGER, prev, 9, MPI_COMM_WORLD, r,
     &     ierr)
      call MPI_SSEND(rank, 1, MPI_INTEGER, next, 9, MPI_COMM_WORLD,
     &     ierr)
      flag = .false.
 10   call MPI_TEST(r, flag, st, ierr)
      if (.not. flag) goto 10
      call ok(y .eq. prev, 'test')
      x = rank
      call MPI_SENDRECV_REPLACE(x, 1, MPI_INTEGER, next, 2, prev, 2,
     &     MPI_COMM_WORLD, st, ierr)
      call ok(x .eq. prev, 'sendrecv_replace')
      end

      subroutine many
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, next, prev, i, n, m, r(4), st(MPI_STATUS_SIZE,4)
      integer in(4), out(4), list(4), seen
      logical flag
      next = mod(rank + 1, size)
      prev = mod(rank + size - 1, size)
      do i = 1, 4
         in(i) = -1
         out(i) = 10 * rank + i
         call MPI_RECV_INIT(in(i), 1, MPI_INTEGER, prev, i,
     &        MPI_COMM_WORLD, r(i), ierr)
      end do
      call MPI_STARTALL(4, r, ierr)
      do i = 1, 4
         call MPI_SEND(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD,
     &        ierr)
      end do
      call MPI_WAITALL(4, r, st, ierr)
      call ok(in(4) .eq. 10 * prev + 4 .and. st(MPI_TAG,3) .eq. 3,
     &     'waitall')
      call MPI_STARTALL(4, r, ierr)
      do i = 4, 1, -1
         call MPI_SEND(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD,
     &        ierr)
      end do
      seen = 0
      call MPI_WAITANY(4, r, n, st, ierr)
      call ok(n .ge. 1 .and. n .le. 4 .and. st(MPI_TAG,1) .eq. n,
     &     'waitany')
      seen = seen + 1
 20   call MPI_WAITSOME(4, r, m, list, MPI_STATUSES_IGNORE, ierr)
      do i = 1, m
         call ok(list(i) .ge. 1 .and. list(i) .le. 4, 'waitsome')
      end do
      if (m .ne. MPI_UNDEFINED) seen = seen + m
      if (m .ne. MPI_UNDEFINED .and. seen .lt. 4) goto 20
      call ok(seen .eq. 4, 'each once')
      call MPI_WAITSOME(4, r, m, list, st, ierr)
      call ok(m .eq. MPI_UNDEFINED, 'nothing active')
      call MPI_TESTANY(4, r, n, flag, st, ierr)
      call ok(flag .and. n .eq. MPI_UNDEFINED, 'testany')
      call MPI_TESTALL(4, r, flag, MPI_STATUSES_IGNORE, ierr)
      call ok(flag, 'testall')
      call MPI_TESTSOME(4, r, m, list, st, ierr)
      call ok(m .eq. MPI_UNDEFINED, 'testsome')
      do i = 1, 4
         call MPI_REQUEST_FREE(r(i), ierr)
      end do
      call ok(r(2) .eq. MPI_REQUEST_NULL, 'freed')
      call MPI_SSEND_INIT(out, 1, MPI_INTEGER, MPI_PROC_NULL, 1,
     &     MPI_COMM_WORLD, r(1), ierr)
      call MPI_START(r(1), ierr)
      call MPI_WAIT(r(1), MPI_STATUS_IGNORE, ierr)
      call MPI_REQUEST_FREE(r(1), ierr)
      end

      subroutine types
      implicit none
      include 'mpif.h'
      integer ierr, t, u, n, i, at, st(MPI_STATUS_SIZE)
      integer lens(2), offs(2), kinds(2), a(8), b(8)
      double precision d
      integer k
      common /blk/ d, k
      character buf*200
      do i = 1, 8
         a(i) = i
         b(i) = 0
      end do
      call MPI_TYPE_VECTOR(4, 1, 2, MPI_INTEGER, t, ierr)
      call MPI_TYPE_COMMIT(t, ierr)
      call MPI_TYPE_EXTENT(t, n, ierr)
      call ok(n .eq. 28, 'extent')
      call MPI_TYPE_SIZE(t, n, ierr)
      call ok(n .eq. 16, 'size')
      call MPI_SENDRECV(a, 1, t, 0, 1, b, 8, MPI_INTEGER, 0, 1,
     &     MPI_COMM_SELF, st, ierr)
      call ok(b(1) .eq. 1 .and. b(4) .eq. 7 .and. b(5) .eq. 0, 'vector')
      call MPI_GET_ELEMENTS(st, MPI_INTEGER, n, ierr)
      call ok(n .eq. 4, 'elements')
      call MPI_TYPE_FREE(t, ierr)
      call MPI_TYPE_HVECTOR(2, 1, 8, MPI_INTEGER, t, ierr)
      call MPI_TYPE_UB(t, n, ierr)
      call MPI_TYPE_LB(t, i, ierr)
      call ok(n .eq. 12 .and. i .eq. 0, 'bounds')
      call MPI_TYPE_CONTIGUOUS(2, t, u, ierr)
      call MPI_TYPE_EXTENT(u, n, ierr)
      call ok(n .eq. 24, 'contiguous')
      call MPI_TYPE_FREE(t, ierr)
      call MPI_TYPE_FREE(u, ierr)
      lens(1) = 1
      lens(2) = 2
      offs(1) = 16
      offs(2) = 0
      call MPI_TYPE_HINDEXED(2, lens, offs, MPI_INTEGER, t, ierr)
      call MPI_TYPE_INDEXED(2, lens, offs, MPI_INTEGER, u, ierr)
      call MPI_TYPE_EXTENT(t, n, ierr)
      call MPI_TYPE_EXTENT(u, i, ierr)
      call ok(n .eq. 20 .and. i .eq. 68, 'indexed')
      call MPI_TYPE_FREE(t, ierr)
      call MPI_TYPE_FREE(u, ierr)
!     A common block by its addresses, from MPI_BOTTOM.
      d = 2.5D0
      k = 9
      call MPI_ADDRESS(d, offs(1), ierr)
      call MPI_ADDRESS(k, offs(2), ierr)
      kinds(1) = MPI_DOUBLE_PRECISION
      kinds(2) = MPI_INTEGER
      lens(2) = 1
      call MPI_TYPE_STRUCT(2, lens, offs, kinds, t, ierr)
      call MPI_TYPE_COMMIT(t, ierr)
      at = 0
      call MPI_PACK_SIZE(1, t, MPI_COMM_SELF, n, ierr)
      call ok(n .ge. 12 .and. n .le. 200, 'pack_size')
      call MPI_PACK(MPI_BOTTOM, 1, t, buf, 200, at, MPI_COMM_SELF, ierr)
      d = 0
      k = 0
      n = 0
      call MPI_UNPACK(buf, at, n, MPI_BOTTOM, 1, t, MPI_COMM_SELF, ierr)
      call ok(d .eq. 2.5D0 .and. k .eq. 9 .and. n .eq. at, 'struct')
      call MPI_TYPE_FREE(t, ierr)
      end

      subroutine smallest(in, inout, n, type)
      implicit none
      integer n, in(n), inout(n), type, i
      do i = 1, n
         inout(i) = 2 * inout(i) + in(i)
      end do
      end

      subroutine colls
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      external smallest
      integer ierr, i, op, x, y, want, n(64), disp(64), a(64), b(64)
      logical l, m
      do i = 1, size
         n(i) = 1
         disp(i) = i - 1
         a(i) = 100 * rank + i
      end do
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      x = rank
      call MPI_BCAST(x, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierr)
      call ok(x .eq. size - 1, 'bcast')
      call MPI_ALLGATHER(rank, 1, MPI_INTEGER, b, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call ok(b(size) .eq. size - 1, 'allgather')
      b(size) = -1
      call MPI_ALLGATHERV(rank, 1, MPI_INTEGER, b, n, disp, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call ok(b(size) .eq. size - 1, 'allgatherv')
      call MPI_ALLTOALL(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER,
     &     MPI_COMM_WORLD, ierr)
      call ok(b(size) .eq. 100 * (size - 1) + rank + 1, 'alltoall')
      b(size) = -1
      call MPI_ALLTOALLV(a, n, disp, MPI_INTEGER, b, n, disp,
     &     MPI_INTEGER, MPI_COMM_WORLD, ierr)
      call ok(b(size) .eq. 100 * (size - 1) + rank + 1, 'alltoallv')
      call MPI_GATHER(rank, 1, MPI_INTEGER, b, 1, MPI_INTEGER, 0,
     &     MPI_COMM_WORLD, ierr)
      call ok(rank .ne. 0 .or. b(size) .eq. size - 1, 'gather')
      call MPI_GATHERV(rank, 1, MPI_INTEGER, b, n, disp, MPI_INTEGER, 0,
     &     MPI_COMM_WORLD, ierr)
      call MPI_SCATTER(b, 1, MPI_INTEGER, x, 1, MPI_INTEGER, 0,
     &     MPI_COMM_WORLD, ierr)
      call ok(x .eq. rank, 'scatter')
      x = -1
      call MPI_SCATTERV(b, n, disp, MPI_INTEGER, x, 1, MPI_INTEGER, 0,
     &     MPI_COMM_WORLD, ierr)
      call ok(x .eq. rank, 'scatterv')
      call MPI_REDUCE(rank, x, 1, MPI_INTEGER, MPI_MAX, 0,
     &     MPI_COMM_WORLD, ierr)
      call ok(rank .ne. 0 .or. x .eq. size - 1, 'reduce')
      call MPI_REDUCE_SCATTER(a, x, n, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      call ok(x .eq. 100 * size * (size - 1) / 2 + size * (rank + 1),
     &     'reduce_scatter')
      call MPI_SCAN(rank, x, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD,
     &     ierr)
      call ok(x .eq. rank * (rank + 1) / 2, 'scan')
      l = rank .ne. 0
      call MPI_ALLREDUCE(l, m, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD,
     &     ierr)
      call ok(.not. m, 'logical')
      call MPI_OP_CREATE(smallest, .false., op, ierr)
      y = rank + 1
      call MPI_ALLREDUCE(y, x, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
      want = size
      do i = size - 1, 1, -1
         want = 2 * want + i
      end do
      call ok(x .gt. 0 .and. (size .ne. 2 .or. x .eq. 5), 'own op')
      call MPI_OP_FREE(op, ierr)
      call ok(op .eq. MPI_OP_NULL, 'op freed')
      end

      subroutine comms
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, c, d, g, h, n, r, i, one(1), range(3,1), inter
      logical flag
      call MPI_COMM_DUP(MPI_COMM_WORLD, c, ierr)
      call MPI_COMM_COMPARE(c, MPI_COMM_WORLD, n, ierr)
      call ok(n .eq. MPI_CONGRUENT, 'dup')
      call MPI_COMM_SPLIT(c, mod(rank, 2), -rank, d, ierr)
      call MPI_COMM_RANK(d, r, ierr)
      call MPI_COMM_SIZE(d, n, ierr)
      call ok(r .eq. n - 1 - rank / 2, 'split')
      if (size .gt. 1) then
         call MPI_INTERCOMM_CREATE(d, n - 1, c, 1 - mod(rank, 2), 3,
     &        inter, ierr)
         call MPI_COMM_TEST_INTER(inter, flag, ierr)
         call MPI_COMM_REMOTE_SIZE(inter, i, ierr)
         call ok(flag .and. i .eq. size - n, 'inter')
         call MPI_INTERCOMM_MERGE(inter, mod(rank, 2) .eq. 1, h, ierr)
         call MPI_COMM_SIZE(h, i, ierr)
         call ok(i .eq. size, 'merge')
         call MPI_COMM_FREE(h, ierr)
         call MPI_COMM_FREE(inter, ierr)
      end if
      call MPI_COMM_FREE(d, ierr)
      call MPI_COMM_GROUP(c, g, ierr)
      one(1) = 0
      call MPI_GROUP_INCL(g, 1, one, h, ierr)
      call MPI_COMM_CREATE(c, h, d, ierr)
      call ok((d .eq. MPI_COMM_NULL) .eqv. (rank .ne. 0), 'create')
      if (d .ne. MPI_COMM_NULL) call MPI_COMM_FREE(d, ierr)
      call MPI_GROUP_FREE(h, ierr)
      range(1,1) = size - 1
      range(2,1) = 0
      range(3,1) = -1
      call MPI_GROUP_RANGE_INCL(g, 1, range, h, ierr)
      call MPI_GROUP_RANK(h, r, ierr)
      call ok(r .eq. size - 1 - rank, 'range')
      call MPI_GROUP_TRANSLATE_RANKS(g, 1, one, h, n, ierr)
      call ok(n .eq. size - 1, 'translate')
      call MPI_GROUP_FREE(h, ierr)
      call MPI_GROUP_EXCL(g, 1, one, h, ierr)
      call MPI_GROUP_SIZE(h, n, ierr)
      call ok(n .eq. size - 1, 'excl')
      call MPI_GROUP_DIFFERENCE(g, h, i, ierr)
      call MPI_GROUP_SIZE(i, n, ierr)
      call ok(n .eq. 1, 'difference')
      call MPI_COMM_FREE(c, ierr)
      call ok(c .eq. MPI_COMM_NULL, 'freed')
      end

      subroutine topo
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, c, d, n, dims(2), got(2), at(2), from, to
      logical wrap(2), round(2), keep(2)
      dims(1) = 0
      dims(2) = 0
      wrap(1) = .false.
      wrap(2) = .true.
      call MPI_DIMS_CREATE(size, 2, dims, ierr)
      call ok(dims(1) * dims(2) .eq. size, 'dims')
      call MPI_CART_CREATE(MPI_COMM_WORLD, 2, dims, wrap, .false., c,
     &     ierr)
      call MPI_CART_GET(c, 2, got, round, at, ierr)
      call ok(got(2) .eq. dims(2) .and. round(2) .and. .not. round(1),
     &     'cart')
      call MPI_CART_RANK(c, at, n, ierr)
      call ok(n .eq. rank, 'cart_rank')
      call MPI_CART_SHIFT(c, 0, 1, from, to, ierr)
      call ok(at(1) .ne. 0 .or. from .eq. MPI_PROC_NULL, 'shift')
      keep(1) = .false.
      keep(2) = .true.
      call MPI_CART_SUB(c, keep, d, ierr)
      call MPI_COMM_SIZE(d, n, ierr)
      call ok(n .eq. dims(2), 'sub')
      call MPI_TOPO_TEST(d, n, ierr)
      call ok(n .eq. MPI_CART, 'test')
      call MPI_COMM_FREE(d, ierr)
      call MPI_COMM_FREE(c, ierr)
      end

      subroutine graph
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, i, c, n, m, idx(64), edges(128), j2(64), e2(128)
      integer near(2), at(1), dims(1)
      logical wrap(1)
      do i = 1, size
         idx(i) = 2 * i
         edges(2 * i - 1) = mod(i + size - 2, size)
         edges(2 * i) = mod(i, size)
      end do
      call MPI_GRAPH_CREATE(MPI_COMM_WORLD, size, idx, edges, .false.,
     &     c, ierr)
      call MPI_GRAPHDIMS_GET(c, n, m, ierr)
      call ok(n .eq. size .and. m .eq. 2 * size, 'graphdims')
      call MPI_GRAPH_GET(c, n, m, j2, e2, ierr)
      call ok(j2(size) .eq. m .and. e2(m) .eq. 0, 'graph_get')
      call MPI_GRAPH_NEIGHBORS_COUNT(c, rank, n, ierr)
      call MPI_GRAPH_NEIGHBORS(c, rank, 2, near, ierr)
      call ok(n .eq. 2 .and. near(2) .eq. mod(rank + 1, size), 'near')
      call MPI_COMM_FREE(c, ierr)
      call MPI_GRAPH_MAP(MPI_COMM_WORLD, size, idx, edges, n, ierr)
      call ok(n .eq. rank, 'graph_map')
      dims(1) = size
      wrap(1) = .true.
      call MPI_CART_MAP(MPI_COMM_WORLD, 1, dims, wrap, n, ierr)
      call ok(n .eq. rank, 'cart_map')
      call MPI_CART_CREATE(MPI_COMM_WORLD, 1, dims, wrap, .true., c,
     &     ierr)
      call MPI_CARTDIM_GET(c, n, ierr)
      call MPI_CART_COORDS(c, size - 1, 1, at, ierr)
      call ok(n .eq. 1 .and. at(1) .eq. size - 1, 'coords')
      call MPI_COMM_FREE(c, ierr)
      end

      subroutine modes
      implicit none
      include 'mpif.h'
      integer ierr, i, r(7), s(7), x(7), y(7), n
      integer buf(200)
      do i = 1, 7
         x(i) = 10 * i
         y(i) = 0
         call MPI_IRECV(y(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, r(i),
     &        ierr)
      end do
      call MPI_BUFFER_ATTACH(buf, 800, ierr)
      call MPI_IBSEND(x(1), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, s(1),
     &     ierr)
      call MPI_ISSEND(x(2), 1, MPI_INTEGER, 0, 2, MPI_COMM_SELF, s(2),
     &     ierr)
      call MPI_IRSEND(x(3), 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, s(3),
     &     ierr)
      call MPI_SEND_INIT(x(4), 1, MPI_INTEGER, 0, 4, MPI_COMM_SELF,
     &     s(4), ierr)
      call MPI_BSEND_INIT(x(5), 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF,
     &     s(5), ierr)
      call MPI_RSEND_INIT(x(6), 1, MPI_INTEGER, 0, 6, MPI_COMM_SELF,
     &     s(6), ierr)
      call MPI_STARTALL(3, s(4), ierr)
      s(7) = MPI_REQUEST_NULL
      call MPI_RSEND(x(7), 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, ierr)
      call MPI_WAITALL(7, s, MPI_STATUSES_IGNORE, ierr)
      call MPI_WAITALL(7, r, MPI_STATUSES_IGNORE, ierr)
      call MPI_BUFFER_DETACH(buf, n, ierr)
      do i = 1, 7
         call ok(y(i) .eq. 10 * i, 'modes')
      end do
      do i = 4, 6
         call MPI_REQUEST_FREE(s(i), ierr)
      end do
      end

      subroutine groups
      implicit none
      include 'mpif.h'
      integer rank, size, bad
      common /me/ rank, size, bad
      integer ierr, g, low, rest, u, n, zero(1), range(3,1)
      integer half, inter, far
      call MPI_COMM_GROUP(MPI_COMM_WORLD, g, ierr)
      zero(1) = 0
      call MPI_GROUP_INCL(g, 1, zero, low, ierr)
      range(1,1) = 0
      range(2,1) = 0
      range(3,1) = 1
      call MPI_GROUP_RANGE_EXCL(g, 1, range, rest, ierr)
      call MPI_GROUP_UNION(low, rest, u, ierr)
      call MPI_GROUP_COMPARE(u, g, n, ierr)
      call ok(n .eq. MPI_IDENT, 'union')
      call MPI_GROUP_FREE(u, ierr)
      call MPI_GROUP_INTERSECTION(g, rest, u, ierr)
      call MPI_GROUP_SIZE(u, n, ierr)
      call ok(n .eq. size - 1, 'intersection')
      if (size .lt. 2) return
      call MPI_COMM_SPLIT(MPI_COMM_WORLD, min(rank, 1), rank, half,
     &     ierr)
      call MPI_INTERCOMM_CREATE(half, 0, MPI_COMM_WORLD,
     &     1 - min(rank, 1), 4, inter, ierr)
      call MPI_COMM_REMOTE_GROUP(inter, far, ierr)
      call MPI_GROUP_SIZE(far, n, ierr)
      call ok(n .eq. merge(size - 1, 1, rank .eq. 0), 'remote')
      call MPI_GROUP_FREE(far, ierr)
      call MPI_COMM_FREE(inter, ierr)
      call MPI_COMM_FREE(half, ierr)
      end

      subroutine copyfn(comm, key, extra, in, out, flag, ierr)
      implicit none
      integer comm, key, extra, in, out, ierr
      logical flag
      out = in + extra
      flag = .true.
      ierr = 0
      end

      subroutine delfn(comm, key, val, extra, ierr)
      implicit none
      integer comm, key, val, extra, ierr, last
      common /del/ last
      last = val + extra
      ierr = 0
      end

      subroutine attrs
      implicit none
      include 'mpif.h'
      external copyfn, delfn
      integer ierr, key, key2, c, d, v, last
      logical flag
      common /del/ last
      last = 0
      call MPI_KEYVAL_CREATE(copyfn, delfn, key, 1000, ierr)
      call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key2, 0,
     &     ierr)
      call MPI_COMM_DUP(MPI_COMM_SELF, c, ierr)
      call MPI_ATTR_PUT(c, key, -5, ierr)
      call MPI_ATTR_PUT(c, key2, 77, ierr)
      call MPI_COMM_DUP(c, d, ierr)
      call MPI_ATTR_GET(d, key, v, flag, ierr)
      call ok(flag .and. v .eq. 995, 'copied')
      call MPI_ATTR_GET(d, key2, v, flag, ierr)
      call ok(flag .and. v .eq. 77, 'the same')
      call MPI_ATTR_DELETE(d, key, ierr)
      call ok(last .eq. 1995, 'deleted')
      call MPI_ATTR_GET(d, key, v, flag, ierr)
      call ok(.not. flag, 'gone')
      call MPI_COMM_FREE(c, ierr)
      call ok(last .eq. 995, 'deleted with the communicator')
      call MPI_COMM_FREE(d, ierr)
      call MPI_KEYVAL_FREE(key, ierr)
      call ok(key .eq. MPI_KEYVAL_INVALID, 'key')
      call MPI_KEYVAL_FREE(key2, ierr)
      call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, v, flag, ierr)
      call ok(flag .and. v .ge. 32767, 'tags')
      end

      subroutine faults
      implicit none
      include 'mpif.h'
      integer ierr, c, d, v, g
      logical flag
      call MPI_COMM_DUP(MPI_COMM_SELF, c, ierr)
      call MPI_ATTR_PUT(c, FTMPI_MSG_MODE, FTMPI_MSG_MODE_CONT, ierr)
      call ok(ierr .eq. MPI_SUCCESS, 'a mode is set')
      call MPI_ATTR_GET(c, FTMPI_MSG_MODE, v, flag, ierr)
      call ok(flag .and. v .eq. FTMPI_MSG_MODE_CONT, 'and was')
      call MPI_ATTR_GET(c, FTMPI_COMM_STATE, v, flag, ierr)
      call ok(flag .and. v .eq. FT_OK, 'state')
      call MPI_ATTR_GET(c, FT_MPI_LIST_NUM_FAILED, v, flag, ierr)
      call ok(flag .and. v .eq. 0, 'nobody has failed')
      call MPIX_COMM_GET_FAILED(c, g, ierr)
      call MPI_GROUP_SIZE(g, v, ierr)
      call ok(v .eq. 0, 'nor by this name')
      v = 6
      call MPIX_COMM_AGREE(c, v, ierr)
      call ok(ierr .eq. MPI_SUCCESS .and. v .eq. 6, 'agreed')
      call MPIX_COMM_REVOKE(c, ierr)
      call MPIX_COMM_IS_REVOKED(c, flag, ierr)
      call ok(flag, 'revoked')
      call MPIX_COMM_SHRINK(c, d, ierr)
      call MPI_COMM_SIZE(d, v, ierr)
      call ok(ierr .eq. MPI_SUCCESS .and. v .eq. 1, 'shrunk')
      call MPI_COMM_FREE(c, ierr)
      call MPI_COMM_FREE(d, ierr)
      end

      subroutine handler(comm, code)
      implicit none
      integer comm, code, seen
      common /err/ seen
      seen = code
      end

      subroutine errs
      implicit none
      include 'mpif.h'
      external handler
      integer ierr, h, g, c, x, seen
      common /err/ seen
      seen = 0
      call MPI_COMM_DUP(MPI_COMM_SELF, c, ierr)
      call MPI_ERRHANDLER_CREATE(handler, h, ierr)
      call MPI_ERRHANDLER_SET(c, h, ierr)
      call MPI_ERRHANDLER_GET(c, g, ierr)
      call ok(g .eq. h, 'handler')
      call MPI_ERRHANDLER_FREE(g, ierr)
      call MPI_ERRHANDLER_FREE(h, ierr)
      x = 1
      call MPI_SEND(x, 1, MPI_INTEGER, 55, 0, c, ierr)
      call ok(seen .eq. MPI_ERR_RANK .and. ierr .eq. MPI_ERR_RANK,
     &     'called')
      call MPI_ERRHANDLER_SET(c, MPI_ERRORS_RETURN, ierr)
      call MPI_SEND(x, -1, MPI_INTEGER, 0, 0, c, ierr)
      call ok(ierr .eq. MPI_ERR_COUNT, 'returned')
      call MPI_COMM_FREE(c, ierr)
      end
