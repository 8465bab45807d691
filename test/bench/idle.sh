#!/bin/sh
# idle.sh - what a host costs that has one link and nothing to do: processor in 20 s, for each kind of host.
#
#     make bench ONLY=idle      SECONDS_IDLE=20
#
# Each host joins one node of its kind, says hello once, and is left alone with the default detector, so what
# it does is a heartbeat now and then. Measured from two seconds after they have met, by what the kernel says
# that the process was on a processor (/proc/PID/schedstat, in ns): the start is not in it. Linux only.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
[ -r /proc/self/schedstat ] || { echo '# skipped: idle hosts (no /proc/PID/schedstat here)'; exit 0; }
seconds=${SECONDS_IDLE:-20}
[ -z "${QUICK-}" ] || seconds=${SECONDS_IDLE:-2}
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
pids=
finish() {
    for pid in $pids; do kill "$pid" 2> /dev/null; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
port=$((20000 + $$ % 12000))
root=$(pwd)
cc=${CC:-cc}

"$cc" -std=c99 -O2 -fPIC -c -o "$dir/phoenix.o" phoenix.c || exit 1

# ---- The hosts: HOST ME YOU; they print a line when they have got something, and run until they are killed.

sed "s/:7000/:$port/" examples/loops/epoll.c > "$dir/epoll.c"
"$cc" -std=c99 -O2 -I. -o "$dir/c" "$dir/epoll.c" "$dir/phoenix.o" || exit 1

sed "s/:7000/:$port/; s/while (!greeted .*/while (true)/" examples/loops/cxx.cpp > "$dir/cxx.cpp"
c++ -std=c++17 -O2 -I. -o "$dir/cxx" "$dir/cxx.cpp" "$dir/phoenix.o" 2> /dev/null \
    || echo '# skipped: C++ (no c++)'

cat > "$dir/idle.f90" << END
module idle_host
  use phoenix
contains
  subroutine on_message(p, m, user) bind(c)
    type(c_ptr), value :: p, user
    type(phx_message), intent(in) :: m
    print '(a)', "got"
    flush (6)
  end subroutine
end module
program idle
  use idle_host
  type(phx_config) :: cfg
  type(c_ptr) :: p
  character(20) :: word
  integer(c_int64_t) :: me, you
  integer(c_int) :: e
  character(5, kind=c_char), target :: hello = "hello"
  call get_command_argument(1, word)
  read (word, *) me
  call get_command_argument(2, word)
  read (word, *) you
  call phx_config_init(cfg)
  cfg%on_message = c_funloc(on_message)
  e = phx_new(p, cfg, phx_now_us())
  if (phx_listen(p, phx_text("tcp://127.0.0.1:$port")) < 0) e = phx_join(p, phx_text("tcp://127.0.0.1:$port"))
  e = phx_assume(p, me, me)
  e = phx_send(p, you, me, 0_8, c_loc(hello), 5_8)
  do while (phx_wait(p, 3600000) >= 0)
  end do
end program
END
command -v gfortran > /dev/null 2>&1 && gfortran -J"$dir" -O2 -o "$dir/fortran" extras/fortran/phoenix.f90 \
    "$dir/idle.f90" "$dir/phoenix.o" || echo '# skipped: Fortran (no gfortran)'

"$cc" -shared -o "$dir/libphoenix.so" "$dir/phoenix.o" && cp extras/python/phoenix.py "$dir/" || exit 1
cat > "$dir/idle.py" << END
import sys
import phoenix

me, you = int(sys.argv[1]), int(sys.argv[2])
node = phoenix.Node(on_message=lambda m: print("got", flush=True))
try:
    node.listen("tcp://127.0.0.1:$port")
except phoenix.Error:
    node.join("tcp://127.0.0.1:$port")
node.assume(me)
node.send(you, b"hello", source=me)
node.run()
END
if command -v python3 > /dev/null 2>&1; then
    printf '#!/bin/sh\nexec python3 "%s/idle.py" "$@"\n' "$dir" > "$dir/python"
    chmod +x "$dir/python"
else
    echo '# skipped: Python (no python3)'
fi

# ---- The measuring

on_processor() { # pid: ns
    cut -d' ' -f1 "/proc/$1/schedstat" 2> /dev/null
}

met() { # files that are to have something in them
    left=200
    for file; do
        until [ -s "$file" ] || [ $left -eq 0 ]; do
            left=$((left - 1))
            sleep 0.05
        done
    done
    [ $left -gt 0 ]
}

host() { # program, name, limit in ms
    [ -x "$dir/$1" ] || return
    mkfifo "$dir/$1.in"
    exec 3<> "$dir/$1.in" # the C host reads lines: none ever come to its end
    "$dir/$1" 1 2 > "$dir/$1.1" 2>&1 < "$dir/$1.in" &
    first=$!
    "$dir/$1" 2 1 > "$dir/$1.2" 2>&1 < "$dir/$1.in" &
    second=$!
    pids="$pids $first $second"
    [ "$1" != c ] || { echo hello; sleep 0.2; echo hello; sleep 0.2; echo hello; } >&3
    if [ "$1" = c ]; then met_files="$dir/$1.1"; [ -s "$dir/$1.1" ] || met_files="$dir/$1.2"
    else met_files="$dir/$1.1 $dir/$1.2"; fi
    if met $met_files; then
        sleep 2
        before=$(on_processor $second)
        sleep "$seconds"
        after=$(on_processor $second)
        awk -v name="idle_$2" -v ns=$((after - before)) -v limit="$3" -v OFS='\t' 'BEGIN {
            ms = ns / 1e6
            print "bar", name "_ms", sprintf("%.2f", ms), limit, ms <= limit ? "ok" : "short" }'
    else
        printf 'bar\tidle_%s_ms\t-\t%s\tshort\n' "$2" "$3"
    fi
    kill $first $second
    wait $first $second 2> /dev/null
    exec 3>&-
}
echo "# one link, nothing said, $seconds s: ms on a processor"
host c c 2
host cxx cxx 2
host fortran fortran 2
host python python 20
