! phoenix.f90 - Phoenix for Fortran 2003: nodes that message each other by name, on phoenix.h by iso_c_binding.
!
!     cc -std=c99 -O2 -c phoenix.c
!     gfortran -O2 -o prog phoenix.f90 prog.f90 phoenix.o
!
! What calls mean is in phoenix.h; here are their types, and some help where C and Fortran differ:
!
!  * Texts go to C through phx_text("tcp://127.0.0.1:7000"), which ends them with a NUL. For cfg%label, say,
!    keep such a text in a variable with the target attribute, and give c_loc of it.
!  * A callback is a procedure with bind(c), given as c_funloc(it). What it gets is C's: call c_f_pointer with
!    a type(c_ptr) to look at it. `user` is cfg%user again.
!  * Integers have no sign bit to spare in C: names of 2**63 and above are negative here, and so are times
!    that mean "never".
!  * phx_wait is the loop of a host that has none: it sleeps until something is due, and steps.
!
! One thread at a time per node. Call phx_busy, or phx_step with n = 0, before a long computation.
module phoenix
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: PHX_VERSION_NUMBER = 200 ! of the phoenix.h that these types were written for
  integer(c_int), parameter :: PHX_OK = 0, PHX_EAGAIN = -3, PHX_ENOTFOUND = -7, PHX_ELIMIT = -8, &
      PHX_ETIMEDOUT = -17, PHX_EVERSION = -23, PHX_ECANCELLED = -29, PHX_EEXPIRED = -30, PHX_EFAILED = -31, &
      PHX_ECLOSED = -32
  integer(c_int), parameter :: PHX_NODE_OK = 1, PHX_NODE_SUSPECT = 2, PHX_NODE_UNREACHABLE = 3, &
      PHX_NODE_FAILED = 4, PHX_NODE_LEFT = 5
  integer(c_int), parameter :: PHX_PRESET_DEFAULT = 0, PHX_PRESET_PAPER = 1, PHX_PRESET_FAST = 2
  integer(c_int), parameter :: PHX_LOG_ERROR = 1, PHX_LOG_WARN = 2, PHX_LOG_INFO = 3, PHX_LOG_DEBUG = 4
  integer, parameter :: PHX_ADDRESS_TEXT = 120, PHX_LABEL = 33

  type, bind(c) :: phx_id
    integer(c_int8_t) :: b(16)
  end type

  type, bind(c) :: phx_range
    integer(c_int64_t) :: first, last
  end type

  type, bind(c) :: phx_address
    integer(c_int8_t) :: family, ip(16)
    integer(c_int16_t) :: port
    character(kind=c_char) :: path(104)
    integer(c_int8_t) :: tls
  end type

  type, bind(c) :: phx_message
    integer(c_int64_t) :: to, from, tag
    type(phx_id) :: source
    type(c_ptr) :: data
    integer(c_size_t) :: size
  end type

  type, bind(c) :: phx_node
    type(phx_id) :: id
    integer(c_int64_t) :: incarnation
    integer(c_int) :: state, hops
    type(phx_id) :: next
    integer(c_int64_t) :: since_us
    integer(c_int32_t) :: ranges_count
    integer(c_int) :: reason
    integer(c_int64_t) :: seen_us
    character(kind=c_char) :: label(PHX_LABEL)
  end type

  type, bind(c) :: phx_lost
    type(phx_range) :: range
    type(phx_id) :: owner
    integer(c_int64_t) :: since_us
  end type

  type, bind(c) :: phx_detector
    integer(c_int32_t) :: monitors
    integer(c_int64_t) :: interval_us, insurance_us, timeout_us, broken_us
  end type

  type, bind(c) :: phx_iovec
    type(c_ptr) :: base
    integer(c_size_t) :: size
  end type

  type, bind(c) :: phx_outgoing
    integer(c_int64_t) :: to, from, tag, token, time_limit_us
    type(c_ptr) :: iov
    integer(c_int) :: iov_count
    type(c_funptr) :: release
    type(c_ptr) :: arg
  end type

  type, bind(c) :: phx_cast_order
    type(c_ptr) :: ranges
    integer(c_size_t) :: ranges_count
    integer(c_int64_t) :: from, tag, token, time_limit_us
    type(c_ptr) :: data
    integer(c_size_t) :: size
  end type

  type, bind(c) :: phx_config
    integer(c_size_t) :: size
    integer(c_int) :: version
    type(c_ptr) :: user, cluster, key
    integer(c_size_t) :: key_size
    integer(c_int) :: insecure, tls
    type(c_ptr) :: tls_ca, tls_cert, tls_key, id
    integer(c_int64_t) :: incarnation
    type(c_ptr) :: label
    integer(c_int) :: relay, same_host, rtt_metric
    integer(c_size_t) :: max_message, mem_limit, window, hold_bytes
    integer(c_int32_t) :: max_links, full_mesh, max_nodes, max_dials, max_accepts, hop_limit, step_bytes
    integer(c_int64_t) :: dial_timeout_us, retry_min_us, retry_max_us
    type(phx_detector) :: detector
    type(c_funptr) :: on_message, on_begin, on_abandon, on_done, on_member, on_writable, on_node, on_broken, &
        on_conflict, on_handed, on_trace, on_log, dial, on_need_hubs
    integer(c_int) :: log_level
    type(c_ptr) :: alloc, os
    type(c_funptr) :: record
  end type

  type, bind(c) :: phx_pollfd
    integer(c_int) :: fd
    integer(c_short) :: events, revents
  end type

  ! What cfg%on_... are to look like. The first argument is the node, the last one cfg%user.
  abstract interface
    subroutine phx_on_message(p, m, user) bind(c)
      import; type(c_ptr), value :: p, user; type(phx_message), intent(in) :: m
    end subroutine
    subroutine phx_on_done(p, token, to, tag, result, user) bind(c)
      import; type(c_ptr), value :: p, user; integer(c_int64_t), value :: token, to, tag
      integer(c_int), value :: result
    end subroutine
    subroutine phx_on_member(p, token, to, result, left, user) bind(c)
      import; type(c_ptr), value :: p, user; integer(c_int64_t), value :: token, to
      integer(c_int), value :: result; integer(c_size_t), value :: left
    end subroutine
    subroutine phx_on_writable(p, to, user) bind(c)
      import; type(c_ptr), value :: p, user; integer(c_int64_t), value :: to
    end subroutine
    subroutine phx_on_node(p, node, user) bind(c)
      import; type(c_ptr), value :: p, user; type(phx_node), intent(in) :: node
    end subroutine
    subroutine phx_on_broken(p, lost, broken, user) bind(c)
      import; type(c_ptr), value :: p, user; type(phx_lost), intent(in) :: lost
      integer(c_int), value :: broken
    end subroutine
    subroutine phx_on_need_hubs(p, user) bind(c)
      import; type(c_ptr), value :: p, user
    end subroutine
    subroutine phx_on_log(p, level, line, user) bind(c)
      import; type(c_ptr), value :: p, user, line; integer(c_int), value :: level
    end subroutine
  end interface

  interface
    subroutine phx_config_init_as(cfg, size, version) bind(c)
      import; type(phx_config), intent(out) :: cfg; integer(c_size_t), value :: size
      integer(c_int), value :: version
    end subroutine
    integer(c_int) function phx_new(p, cfg, now_us) bind(c)
      import; type(c_ptr), intent(out) :: p; type(phx_config), intent(in) :: cfg
      integer(c_int64_t), value :: now_us
    end function
    integer(c_int) function phx_close(p, drain_us) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: drain_us
    end function
    integer(c_int) function phx_closed(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    subroutine phx_free(p) bind(c)
      import; type(c_ptr), value :: p
    end subroutine
    integer(c_int) function phx_listen(p, address) bind(c)
      import; type(c_ptr), value :: p; character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function phx_listening(p, index, out) bind(c)
      import; type(c_ptr), value :: p; integer(c_int), value :: index; type(phx_address), intent(out) :: out
    end function
    integer(c_int) function phx_advertise(p, address) bind(c)
      import; type(c_ptr), value :: p; character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function phx_join(p, address) bind(c)
      import; type(c_ptr), value :: p; character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function phx_unjoin(p, address) bind(c)
      import; type(c_ptr), value :: p; character(kind=c_char), intent(in) :: address(*)
    end function
    integer(c_int) function phx_step(p, now_us, ready, n) bind(c) ! ready: c_null_ptr, or c_loc of phx_pollfd
      import; type(c_ptr), value :: p, ready; integer(c_int64_t), value :: now_us; integer(c_int), value :: n
    end function
    integer(c_int64_t) function phx_deadline(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    integer(c_int) function phx_timeout_ms(p, now_us) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: now_us
    end function
    integer(c_int) function phx_fd(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    integer(c_int) function phx_wake(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    integer(c_int) function phx_busy(p, us) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: us
    end function
    integer(c_int64_t) function phx_now_us() bind(c)
      import
    end function
    integer(c_int) function phx_detector_preset(d, preset) bind(c)
      import; type(phx_detector), intent(out) :: d; integer(c_int), value :: preset
    end function
    integer(c_int) function phx_assume(p, first, last) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: first, last
    end function
    integer(c_int) function phx_release(p, first, last) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: first, last
    end function
    integer(c_int) function phx_hand(p, first, last, heir) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: first, last; type(phx_id), intent(in) :: heir
    end function
    integer(c_int) function phx_owner(p, name, out) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: name; type(phx_id), intent(out) :: out
    end function
    integer(c_int) function phx_send(p, to, from, tag, data, size) bind(c)
      import; type(c_ptr), value :: p, data; integer(c_int64_t), value :: to, from, tag
      integer(c_size_t), value :: size
    end function
    integer(c_int) function phx_sendv(p, m) bind(c)
      import; type(c_ptr), value :: p; type(phx_outgoing), intent(in) :: m
    end function
    integer(c_int) function phx_cast(p, order) bind(c)
      import; type(c_ptr), value :: p; type(phx_cast_order), intent(in) :: order
    end function
    integer(c_int) function phx_cancel(p, token) bind(c)
      import; type(c_ptr), value :: p; integer(c_int64_t), value :: token
    end function
    integer(c_size_t) function phx_pending(p) bind(c)
      import; type(c_ptr), value :: p
    end function
    subroutine phx_self(p, out) bind(c)
      import; type(c_ptr), value :: p; type(phx_id), intent(out) :: out
    end subroutine
    integer(c_size_t) function phx_nodes_as(p, out, capacity, size, version) bind(c)
      import; type(c_ptr), value :: p, out; integer(c_size_t), value :: capacity, size
      integer(c_int), value :: version
    end function
    integer(c_int) function phx_explain(p, node, out, capacity) bind(c)
      import; type(c_ptr), value :: p; type(phx_id), intent(in) :: node
      character(kind=c_char), intent(out) :: out(*); integer(c_size_t), value :: capacity
    end function
    integer(c_int) function phx_read_key(path, out, capacity) bind(c)
      import; character(kind=c_char), intent(in) :: path(*); character(kind=c_char), intent(out) :: out(*)
      integer(c_size_t), value :: capacity
    end function
  end interface

  interface
    type(c_ptr) function phx_c_strerror(error) bind(c, name="phx_strerror")
      import; integer(c_int), value :: error
    end function
    type(c_ptr) function phx_c_address_text(address, out) bind(c, name="phx_address_text")
      import; type(phx_address), intent(in) :: address; character(kind=c_char), intent(out) :: out(*)
    end function
    integer(c_size_t) function phx_c_strlen(text) bind(c, name="strlen")
      import; type(c_ptr), value :: text
    end function
    integer(c_int) function phx_c_poll(fds, n, ms) bind(c, name="poll")
      import; type(phx_pollfd), intent(inout) :: fds(*); integer(c_long), value :: n; integer(c_int), value :: ms
    end function
  end interface

contains

  ! Before anything is set in cfg. A library of another layout is refused by phx_new (PHX_EVERSION).
  subroutine phx_config_init(cfg)
    type(phx_config), intent(out) :: cfg

    call phx_config_init_as(cfg, c_sizeof(cfg), PHX_VERSION_NUMBER)
  end subroutine

  ! A text of Fortran for C, without the blanks at its end.
  pure function phx_text(text) result(out)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: out

    out = trim(text) // c_null_char
  end function

  ! A text of C for Fortran; of c_null_ptr: an empty one. For lines of on_log, say.
  function phx_string(text) result(out)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: out
    character(kind=c_char), pointer :: at(:)
    integer :: i

    if (.not. c_associated(text)) then
      out = ""
      return
    end if
    call c_f_pointer(text, at, [phx_c_strlen(text)])
    allocate(character(size(at)) :: out)
    do i = 1, size(at)
      out(i:i) = at(i)
    end do
  end function

  function phx_strerror(error) result(out)
    integer(c_int), intent(in) :: error
    character(:), allocatable :: out

    out = phx_string(phx_c_strerror(error))
  end function

  ! "tcp://127.0.0.1:7000", for phx_join of another process.
  function phx_address_string(address) result(out)
    type(phx_address), intent(in) :: address
    character(:), allocatable :: out
    character(kind=c_char), target :: bytes(PHX_ADDRESS_TEXT)
    type(c_ptr) :: at

    at = phx_c_address_text(address, bytes)
    out = phx_string(at)
  end function

  ! Sleeps until something is due or has come, for at most most_ms, and steps: what a host without a loop of
  ! its own calls until it has what it waits for. 1: more is to be done at once; 0; or an error below 0.
  integer(c_int) function phx_wait(p, most_ms) result(more)
    type(c_ptr), intent(in) :: p
    integer, intent(in) :: most_ms
    type(phx_pollfd) :: fd(1)
    integer(c_int) :: ms, found

    ms = phx_timeout_ms(p, phx_now_us())
    if (ms < 0 .or. ms > most_ms) ms = int(most_ms, c_int)
    fd(1)%fd = phx_fd(p)
    fd(1)%events = 1_c_short ! POLLIN
    fd(1)%revents = 0_c_short
    if (fd(1)%fd < 0) ms = min(ms, 1_c_int) ! a system without such a descriptor
    found = phx_c_poll(fd, 1_c_long, ms)
    more = phx_step(p, phx_now_us(), c_null_ptr, 0_c_int)
  end function
end module phoenix
