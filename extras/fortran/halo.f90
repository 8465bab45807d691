! halo.f90 - the 1-D heat equation over processes that exchange halos by name, compared with one process.
!
!     cc -std=c99 -O2 -I. -c phoenix.c
!     gfortran -O2 -o halo extras/fortran/phoenix.f90 extras/fortran/halo.f90 phoenix.o
!     ./halo 0 3 tcp://127.0.0.1:7000 & ./halo 1 3 tcp://127.0.0.1:7000 & ./halo 2 3 tcp://127.0.0.1:7000
!
! Arguments: the own rank, how many there are, the address where rank 0 listens. Each rank has the name of its
! number. A message to a name that nobody has yet waits at its sender, so the ranks may start in any order.
! At the end rank 0 has all blocks, and prints by how much they differ from its own serial run: by nothing.
module halo_rank
  use phoenix
  implicit none

  integer, parameter :: cells = 300, steps = 200
  integer(c_int64_t), parameter :: tag_block = -1
  real(c_double), parameter :: r = 0.25_c_double ! dt / dx**2; stable up to 0.5

  integer :: me, ranks, blocks = 0
  type(c_ptr) :: node
  logical :: lost = .false.
  ! A neighbour may be one time step ahead, never two: step s lives in slot mod(s, 2).
  real(c_double) :: halo(0:1, 0:1)
  integer(c_int64_t) :: halo_step(0:1, 0:1) = 0
  real(c_double) :: whole(cells) ! rank 0: where the blocks are gathered

contains

  integer function first_cell(rank)
    integer, intent(in) :: rank
    first_cell = cells * rank / ranks + 1
  end function

  subroutine initial(u, first)
    real(c_double), intent(out) :: u(0:)
    integer, intent(in) :: first ! the cell of u(1)
    integer :: i, at

    do i = 0, size(u) - 1
      at = first + i - 1
      u(i) = 1.0_c_double / (at + 3)
      if (at < 1) u(i) = 1
      if (at > cells) u(i) = 0
    end do
  end subroutine

  subroutine advance(u)
    real(c_double), intent(inout) :: u(0:)
    integer :: n

    n = size(u) - 2
    u(1:n) = u(1:n) + r * (u(0:n - 1) - 2 * u(1:n) + u(2:n + 1))
  end subroutine

  subroutine on_message(p, m, user) bind(c)
    type(c_ptr), value :: p, user
    type(phx_message), intent(in) :: m
    real(c_double), pointer :: values(:)
    integer :: side, first

    call c_f_pointer(m%data, values, [m%size / c_sizeof(r)])
    if (m%tag == tag_block) then
      first = first_cell(int(m%from))
      if (size(values) /= first_cell(int(m%from) + 1) - first) return
      whole(first:first + size(values) - 1) = values
      blocks = blocks + 1
    else if (size(values) == 1) then
      side = merge(0, 1, m%from < me)
      halo(side, mod(m%tag, 2_c_int64_t)) = values(1)
      halo_step(side, mod(m%tag, 2_c_int64_t)) = m%tag
    end if
  end subroutine

  ! A rank that has failed does not come back.
  subroutine on_node(p, node, user) bind(c)
    type(c_ptr), value :: p, user
    type(phx_node), intent(in) :: node

    lost = lost .or. node%state == PHX_NODE_FAILED
  end subroutine

  subroutine check(error, what)
    integer(c_int), intent(in) :: error
    character(*), intent(in) :: what

    if (error >= 0) return
    print '(a, i0, 4a)', "rank ", me, ": ", what, ": ", phx_strerror(error)
    stop 1
  end subroutine

  subroutine begin(hub)
    character(*), intent(in) :: hub
    type(phx_config) :: cfg

    call phx_config_init(cfg)
    cfg%on_message = c_funloc(on_message)
    cfg%on_node = c_funloc(on_node)
    call check(phx_new(node, cfg, phx_now_us()), "phx_new")
    if (me == 0) then
      call check(phx_listen(node, phx_text(hub)), "phx_listen")
    else ! all listen, so that neighbours talk to each other and not through rank 0
      call check(phx_listen(node, phx_text("tcp://127.0.0.1:0")), "phx_listen")
      call check(phx_join(node, phx_text(hub)), "phx_join")
    end if
    call check(phx_assume(node, int(me, c_int64_t), int(me, c_int64_t)), "phx_assume")
  end subroutine

  ! The next turn of a wait that must end by then.
  subroutine turn(until)
    integer(c_int64_t), intent(in) :: until

    call check(phx_wait(node, 100), "phx_wait")
    if (lost) call check(PHX_EFAILED, "another rank")
    if (phx_now_us() > until) call check(PHX_ETIMEDOUT, "giving up")
  end subroutine

  subroutine deliver(to, tag, values, until)
    integer, intent(in) :: to
    integer(c_int64_t), intent(in) :: tag, until
    real(c_double), intent(in), target :: values(:)
    integer(c_int) :: error

    do
      error = phx_send(node, int(to, c_int64_t), int(me, c_int64_t), tag, c_loc(values), &
                       size(values, kind=c_size_t) * c_sizeof(r))
      if (error /= PHX_EAGAIN) exit ! full: Phoenix must work first
      call turn(until)
    end do
    call check(error, "phx_send")
  end subroutine

  subroutine exchange(u, n, s, until)
    real(c_double), intent(inout) :: u(0:)
    integer, intent(in) :: n
    integer(c_int64_t), intent(in) :: s, until

    if (me > 0) call deliver(me - 1, s, u(1:1), until)
    if (me < ranks - 1) call deliver(me + 1, s, u(n:n), until)
    call check(phx_step(node, phx_now_us(), c_null_ptr, 0_c_int), "phx_step")
    do while ((me > 0 .and. halo_step(0, mod(s, 2_c_int64_t)) /= s) .or. &
              (me < ranks - 1 .and. halo_step(1, mod(s, 2_c_int64_t)) /= s))
      call turn(until)
    end do
    if (me > 0) u(0) = halo(0, mod(s, 2_c_int64_t))
    if (me < ranks - 1) u(n + 1) = halo(1, mod(s, 2_c_int64_t))
  end subroutine
end module halo_rank

program main
  use halo_rank
  implicit none

  real(c_double), allocatable :: u(:)
  real(c_double) :: serial(0:cells + 1)
  character(120) :: word
  integer(c_int64_t) :: s, until
  integer :: n

  call get_command_argument(1, word)
  read (word, *) me
  call get_command_argument(2, word)
  read (word, *) ranks
  call get_command_argument(3, word)
  until = phx_now_us() + 60000000
  call begin(word)

  n = first_cell(me + 1) - first_cell(me)
  allocate(u(0:n + 1))
  call initial(u, first_cell(me))
  do s = 1, steps
    call exchange(u, n, s, until)
    call advance(u)
  end do

  call deliver(0, tag_block, u(1:n), until)
  do while (phx_pending(node) > 0 .or. (me == 0 .and. blocks < ranks))
    call turn(until)
  end do
  if (me == 0) then
    call initial(serial, 1)
    do s = 1, steps
      call advance(serial)
    end do
    print '(i0, a, i0, a, es9.2)', ranks, " ranks, ", steps, " steps, largest difference: ", &
        maxval(abs(whole - serial(1:cells)))
  end if

  call check(phx_close(node, 2000000_c_int64_t), "phx_close")
  do while (phx_closed(node) == 0)
    if (phx_wait(node, 100) < 0) exit
  end do
  call phx_free(node)
end program main
