#!/bin/sh
# fortran.sh - extras/fortran: types as large as those of phoenix.h, messages, outcomes, casts, states; the
# halo exchange over real processes gives the serial result bit by bit.
#
# Skipped where there is no gfortran. Each wait has a bound.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v gfortran > /dev/null 2>&1 || { echo '1..1'; echo 'ok 1 - phoenix.f90 # SKIP no gfortran'; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
number=0
bad=0
ok() { # status, name; on failure what was said is shown
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        bad=1
        echo "not ok $number - $2 (status $1)"
        sed 's/^/# /' "$dir/out"
    fi
}

cat > "$dir/sizes.c" << 'END'
#include "phoenix.h"
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu %zu %zu %zu %d\n", sizeof(struct phx_config), sizeof(struct phx_node),
           sizeof(struct phx_message), sizeof(struct phx_outgoing), sizeof(struct phx_cast),
           sizeof(struct phx_address), sizeof(struct phx_lost), PHX_VERSION_NUMBER);
    return 0;
}
END
cat > "$dir/sizes.f90" << 'END'
program sizes
  use phoenix
  type(phx_config) :: a; type(phx_node) :: b; type(phx_message) :: c; type(phx_outgoing) :: d
  type(phx_cast_order) :: e; type(phx_address) :: f; type(phx_lost) :: g
  print '(7(i0, 1x), i0)', c_sizeof(a), c_sizeof(b), c_sizeof(c), c_sizeof(d), c_sizeof(e), c_sizeof(f), &
      c_sizeof(g), PHX_VERSION_NUMBER
end program
END
cat > "$dir/two.f90" << 'END'
! Two nodes in one process, plainly: each `call expect` is a line of the test.
module events
  use phoenix
  implicit none
  character(:), allocatable :: got, label
  integer(c_int64_t) :: from, tag, token
  integer :: result = 1, members = 0, lines = 0
  integer(c_int) :: user_said = 0
contains
  subroutine on_message(p, m, user) bind(c)
    type(c_ptr), value :: p, user
    type(phx_message), intent(in) :: m
    character(kind=c_char), pointer :: bytes(:)
    integer(c_int), pointer :: mine
    integer :: i
    call c_f_pointer(m%data, bytes, [m%size])
    got = ""
    do i = 1, size(bytes)
      got = got // bytes(i)
    end do
    from = m%from
    tag = m%tag
    call c_f_pointer(user, mine)
    user_said = mine
  end subroutine
  subroutine on_done(p, which, to, of, how, user) bind(c)
    type(c_ptr), value :: p, user
    integer(c_int64_t), value :: which, to, of
    integer(c_int), value :: how
    token = which
    result = how
  end subroutine
  subroutine on_member(p, which, to, how, left, user) bind(c)
    type(c_ptr), value :: p, user
    integer(c_int64_t), value :: which, to
    integer(c_int), value :: how
    integer(c_size_t), value :: left
    if (how == PHX_OK .and. which == 9) members = members + 1
  end subroutine
  subroutine on_node(p, node, user) bind(c)
    type(c_ptr), value :: p, user
    type(phx_node), intent(in), target :: node
    if (node%state == PHX_NODE_OK .and. node%label(1) /= c_null_char) label = phx_string(c_loc(node%label))
  end subroutine
  subroutine on_log(p, level, line, user) bind(c)
    type(c_ptr), value :: p, user, line
    integer(c_int), value :: level
    if (len(phx_string(line)) > 0) lines = lines + 1
  end subroutine
end module
program two
  use events
  implicit none
  type(phx_config) :: cfg
  type(phx_address) :: at
  type(phx_outgoing) :: order
  type(phx_cast_order) :: cast
  type(phx_range), target :: everybody = phx_range(0, -1)
  type(phx_iovec), target :: part
  type(phx_id) :: owner, self
  type(c_ptr) :: a, b
  character(5, kind=c_char), target :: hello = "hello", all = "all"
  character(3, kind=c_char), target :: name_of_b = "b" // c_null_char
  integer(c_int), target :: mine = 42
  integer :: i
  call phx_config_init(cfg)
  cfg%on_message = c_funloc(on_message)
  cfg%on_done = c_funloc(on_done)
  cfg%on_member = c_funloc(on_member)
  cfg%on_node = c_funloc(on_node)
  cfg%on_log = c_funloc(on_log)
  cfg%log_level = PHX_LOG_INFO
  cfg%user = c_loc(mine)
  call expect(phx_new(a, cfg, phx_now_us()) == PHX_OK, "a node")
  cfg%label = c_loc(name_of_b)
  call expect(phx_new(b, cfg, phx_now_us()) == PHX_OK, "another one")
  call expect(phx_listen(a, phx_text("tcp://127.0.0.1:0   ")) == PHX_OK, "it listens")
  call expect(phx_listening(a, 0_c_int, at) == PHX_OK, "somewhere")
  call expect(index(phx_address_string(at), "tcp://127.0.0.1:") == 1, "its address as text")
  call expect(phx_join(b, phx_text(phx_address_string(at))) == PHX_OK, "the other one joins")
  call expect(index(phx_strerror(phx_join(b, phx_text("frog"))), "malformed address") == 1, "a bad address")
  call expect(phx_assume(a, 1_8, 1_8) == PHX_OK .and. phx_assume(b, 2_8, 9_8) == PHX_OK, "names")
  part = phx_iovec(c_loc(hello), 5)
  order = phx_outgoing(1, 2, 5, 77, 0, c_loc(part), 1, c_null_funptr, c_null_ptr)
  call expect(phx_sendv(b, order) == PHX_OK, "a message with a token")
  do i = 1, 2000
    call turns()
    if (result == PHX_OK .and. allocated(got)) exit
  end do
  call expect(allocated(got) .and. result == PHX_OK .and. token == 77, "arrives, and its outcome is told")
  call expect(got == "hello" .and. from == 2 .and. tag == 5, "with all that belongs to it")
  call expect(user_said == 42, "user is what was given")
  call expect(label == "b", "nodes and labels")
  call expect(lines > 0, "lines of the log")
  do i = 1, 2000
    if (phx_owner(a, 5_8, owner) == PHX_OK) exit
    call turns()
  end do
  call phx_self(b, self)
  call expect(all_equal(owner%b, self%b), "names have owners")
  cast = phx_cast_order(c_loc(everybody), 1, 1, 0, 9, 0, c_loc(all), 3)
  call expect(phx_cast(a, cast) == 2, "a cast to all")
  do i = 1, 2000
    if (members == 2) exit
    call turns()
  end do
  call expect(members == 2, "reaches each member")
  call expect(phx_close(b, 1000000_8) == PHX_OK, "goodbye")
  do i = 1, 2000
    if (phx_closed(b) == 1) exit
    call turns()
  end do
  call expect(phx_closed(b) == 1, "is said")
  call phx_free(b)
  call phx_free(a)
  call phx_config_init_as(cfg, c_sizeof(cfg) - 8, PHX_VERSION_NUMBER)
  call expect(phx_new(a, cfg, phx_now_us()) == PHX_EVERSION, "types of another layout are refused")
contains
  logical function all_equal(x, y)
    integer(c_int8_t), intent(in) :: x(:), y(:)
    all_equal = all_same(x == y)
  end function
  logical function all_same(x)
    logical, intent(in) :: x(:)
    all_same = count(x) == size(x)
  end function
  subroutine turns()
    integer(c_int) :: more
    more = phx_wait(a, 2)
    more = phx_wait(b, 2)
  end subroutine
  subroutine expect(good, name)
    logical, intent(in) :: good
    character(*), intent(in) :: name
    integer, save :: number = 0
    number = number + 1
    print '(a, i0, 2a)', merge("yes ", "no  ", good), number, " ", name
    if (.not. good) error stop
  end subroutine
end program
END

phoenix=extras/fortran/phoenix.f90
{ ${CC:-cc} -std=c99 -O2 -I. -c -o "$dir/phoenix.o" phoenix.c &&
    ${CC:-cc} -I. -o "$dir/sizes_c" "$dir/sizes.c" &&
    for f in sizes two; do
        gfortran -Wall -J"$dir" -o "$dir/$f" $phoenix "$dir/$f.f90" "$dir/phoenix.o" || exit 1
    done &&
    gfortran -std=f2008 -Wall -Werror -Wno-unused-dummy-argument -J"$dir" -O2 -o "$dir/halo" $phoenix \
        extras/fortran/halo.f90 "$dir/phoenix.o"; } > "$dir/out" 2>&1
ok $? "phoenix.f90, halo.f90: compile"
[ "$("$dir/sizes")" = "$("$dir/sizes_c")" ]
ok $? "types are as large as those of phoenix.h, and of its version"
timeout 60 "$dir/two" > "$dir/out" 2>&1 && [ "$(grep -c '^yes' "$dir/out")" -eq 20 ]
ok $? "messages, outcomes, casts, labels, logs, errors"

port=$((20000 + $$ % 12000))
for ranks in 1 3 5; do
    hub=tcp://127.0.0.1:$((port + ranks))
    pids=
    rank=1
    while [ $rank -lt $ranks ]; do
        timeout 60 "$dir/halo" $rank $ranks $hub > "$dir/rank$rank" 2>&1 &
        pids="$pids $!"
        rank=$((rank + 1))
    done
    timeout 60 "$dir/halo" 0 $ranks $hub > "$dir/out" 2>&1
    status=$?
    for pid in $pids; do wait "$pid" || status=1; done
    [ $status -eq 0 ] && grep -q 'difference:  0.00E+00' "$dir/out"
    ok $? "halo exchange: $ranks ranks, the serial result"
done
echo "1..$number"
exit $bad
