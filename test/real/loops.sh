#!/bin/sh
# loops.sh - the hosts of examples/loops compile by the line in their first comment, and two of a kind talk.
#
# Goal: Phoenix in libuv, GLib, bare epoll and C++ works as the examples have it, and such a host sleeps while
# nothing is due. Method: real processes at a port of this run; skipped where a library is missing.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
port=$((20000 + $$ % 12000))
count=0
failed=0

ok() { # status, name
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; return; fi
    echo "not ok $count - $2"
    failed=$((failed + 1))
    sed 's/^/# /' "$dir/said" | head -20
}

build() { # file, program: by its own line, in a copy of the tree with another port
    sed "s/:7000/:$port/" "examples/loops/$1" > "$dir/examples/loops/$1"
    line=$(awk '/^ \*     (cc|c\+\+) /, !/\\$/ { sub(/^ \*/, ""); sub(/\\$/, ""); printf "%s", $0 }' \
        "examples/loops/$1")
    (cd "$dir" && sh -c "$line") > "$dir/said" 2>&1
}

mkdir -p "$dir/examples/loops"
cp phoenix.c phoenix.h "$dir/"

pair() { # file, program, how many greetings each
    if ! build "$1" "$2"; then
        ok 1 "$1 compiles by the line that it says"
        return
    fi
    ok 0 "$1 compiles by the line that it says"
    (cd "$dir" && timeout 30 "./$2" 1 2 > one & cd "$dir" && timeout 30 "./$2" 2 1 > two; wait)
    cat "$dir/one" "$dir/two" > "$dir/said"
    [ "$(grep -c 'name 1 got: hello' "$dir/one")" -ge "$3" ] \
        && [ "$(grep -c 'name 2 got: hello' "$dir/two")" -ge "$3" ]
    ok $? "$1: two greet each other"
}

skip() { # file, what is missing
    count=$((count + 1))
    echo "ok $count - $1 # SKIP no $2"
}

has() { # header, flags: does it compile?
    echo "#include <$1>" > "$dir/has.c"
    ${CC:-cc} -c "$dir/has.c" $2 -o "$dir/has.o" > /dev/null 2>&1
}

if has sys/epoll.h ''; then
    build epoll.c talk
    ok $? 'epoll.c compiles by the line that it says'
    (cd "$dir" && (sleep 0.3; echo first; sleep 0.3; echo second) | timeout 30 ./talk 1 2 > one 2>&1 &
        cd "$dir" && (sleep 2; echo late) | timeout 30 ./talk 2 1 > two 2>&1; wait)
    cat "$dir/one" "$dir/two" > "$dir/said"
    [ "$(cat "$dir/two")" = '1: first
1: second' ]
    ok $? 'epoll.c: lines arrive by name'
else
    skip epoll.c 'sys/epoll.h'
fi
if command -v c++ > /dev/null 2>&1; then pair cxx.cpp cxx 1; else skip cxx.cpp 'c++'; fi
if has uv.h ''; then pair libuv.c uv 3; else skip libuv.c 'libuv (Debian: libuv1-dev)'; fi
glib=$(pkg-config --cflags glib-2.0 2> /dev/null)
if [ -n "$glib" ]; then pair glib.c gl 3; else skip glib.c 'GLib (Debian: libglib2.0-dev)'; fi

# An idle host: how often it wakes in three seconds. Counted, since on some machines a wake-up alone costs
# milliseconds; the time, in ticks of 10 ms, only tells sleep from a loop that never blocks (300).
woken() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$first/status"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$first/stat"; }
if [ -x "$dir/talk" ] && [ -r /proc/self/stat ]; then
    mkfifo "$dir/quiet"
    (exec 3<> "$dir/quiet"; cd "$dir" && exec ./talk 1 2 <&3 3>&- > one 2>&1) &
    first=$!
    (exec 3<> "$dir/quiet"; cd "$dir" && exec ./talk 2 1 <&3 3>&- > two 2>&1) &
    second=$!
    sleep 1
    woken=$(woken) ticks=$(ticks)
    sleep 3
    woken_now=$(woken) ticks_now=$(ticks)
    kill "$first" || woken_now= # it has ended by itself
    kill "$second"
    echo "wakes: $woken to $woken_now, ticks: $ticks to $ticks_now" > "$dir/said"
    [ -n "$woken_now" ] && [ $((woken_now - woken)) -le 10 ] && [ $((ticks_now - ticks)) -le 10 ]
    ok $? 'a host with a link to another sleeps'
fi
echo "1..$count"
[ "$failed" = 0 ]
