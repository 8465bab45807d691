#!/bin/sh
# demo.sh - the main job ends well by itself and in time, and leaves nothing behind when stopped.
#
# Goal: processes that come, go and cannot reach each other directly share work by name.
# Method: runs examples/run_demo.sh as `make demo` does and reads its summary; then stops two more
# runs early, one by a signal and one by killing the driver dead, and looks for what is left.
set -u
cd "$(dirname "$0")/../.." || exit 1
. extras/launch/procs.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
driver=
cleanup() {
    [ -z "$driver" ] || kill -TERM "$driver" 2>/dev/null
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
number=0
bad=0
ok() { # status, name; on failure what the program said is shown
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        bad=1
        echo "not ok $number - $2 (status $1)"
        sed 's/^/# /' "$dir/out"
    fi
}
said() {
    grep -q "$1" "$dir/out"
    ok $? "demo: says '$1'"
}
gone() { # up to five seconds until none of these processes runs
    tries=0
    while [ $tries -lt 50 ]; do
        procs | awk -v of=" $* " 'index(of, " " $1 " ") { left = 1 } END { exit left }' && return 0
        sleep 0.1
        tries=$((tries + 1))
    done
    return 1
}
start() { # begins a run and waits until its processes are at work
    : >"$dir/out" # the output of the run before must not be taken for this one's
    "$dir/sites" 16 >>"$dir/out" 2>&1 &
    driver=$!
    tries=0
    while [ $tries -lt 100 ] && ! grep -q 'tasks$' "$dir/out"; do
        sleep 0.1
        tries=$((tries + 1))
    done
    pids=$(children $driver)
    [ -n "$pids" ]
}

echo "1..16"
begun=$(date +%s)
TMPDIR=$dir timeout 60 ./examples/run_demo.sh >"$dir/out" 2>&1
ok $? "demo: all is right"
[ $(($(date +%s) - begun)) -le 25 ] # 20 s, and the compiler
ok $? "demo: ends in time"
said 'ok .* solutions for N = '
said 'ok .* came late'
said 'ok .* names live on'
said 'ok .* were killed with kill -9'
said 'ok .* others saw both fail'
said 'ok .* frames were relayed'
said 'Only the gateways G1, G2 and G3'
said 'W5 .*---+--- G3 ===+'
# The three commands that it ends with, at another port.
sed -n 's,^  \(.*build/phx .*\),\1,p' "$dir/out" \
    | sed "s,build/phx,$dir/phx,; s,:7000,:$((20000 + $$ % 12000))," > "$dir/three"
${CC:-cc} -std=c99 -O0 -I. -o "$dir/phx" extras/phx/[a-z]*.c extras/ssh/ssh.c phoenix.c
nth() { exec timeout 30 sh -c "exec $(sed -n "$1p" "$dir/three")" 2>> "$dir/three.log"; }
nth 1 > /dev/null &
hub=$!
nth 2 > "$dir/got" &
receiver=$!
timeout 30 sh -c "$(sed -n 3p "$dir/three")" 2>> "$dir/three.log"
wait $receiver
kill $hub
[ "$(wc -l < "$dir/three")" -eq 3 ] && [ "$(cat "$dir/got")" = hello ]
ok $? "demo: the three commands that it ends with work"
[ -z "$(find "$dir" -name 'phoenix.*' ! -path "$dir")" ]
ok $? "demo: its temporary files are gone"

${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/sites" examples/sites.c \
    examples/sites_child.c phoenix.c >"$dir/out" 2>&1
start
ok $? "demo: a second run is at work"
kill -INT $driver
wait $driver
[ $? -eq 130 ] && gone $pids
ok $? "demo: ^C leaves no process behind"
start
ok $? "demo: a third run is at work"
kill -KILL $driver
wait $driver 2>/dev/null
gone $pids
ok $? "demo: no process survives the death of the driver"
driver=
exit $bad
