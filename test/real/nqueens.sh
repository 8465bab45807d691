#!/bin/sh
# nqueens.sh - processes are killed at any time and the count of examples/nqueens is right all the same.
#
# Goal: what a program on extras/ph does about broken names as in the paper's section 5.2 loses no task
# and counts none twice, with random stealing and with a master. Method: a run without harm tells how long
# one takes; then runs in which some of the processes are killed dead within that time, each seed at other
# moments, among them runs where it happens while they are still joining; then runs in which they are
# only stopped for longer than the detector's patience, and speak again when their work has been done by
# others. Each run compares its count with the known one and says so. SEEDS=n (3) asks for more.
set -u
cd "$(dirname "$0")/../.." || exit 1
. extras/launch/procs.sh
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
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
left_behind() { # processes of ours; a dead one that nobody has waited for is none
    procs | awk '$3 == "nqueens" { print $1 }' | while read -r pid; do
        case $(arguments "$pid") in "$dir/nqueens "*) echo "$pid" ;; esac
    done | wc -l
}
gone() { # up to five seconds until none is left
    tries=0
    while [ "$(left_behind)" -gt 0 ]; do
        tries=$((tries + 1))
        [ $tries -lt 50 ] || return 1
        sleep 0.1
    done
}
run() { # arguments: one run, into $dir/out
    timeout 60 "$dir/nqueens" -q -n 14 -p 6 "$@" >"$dir/out" 2>&1
}
harmed() { # how many were killed or stopped
    cut -f 6 "$dir/out"
}

${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/nqueens" examples/nqueens.c extras/ph/ph.c \
    "${PHOENIX_O:-phoenix.c}" >"$dir/out" 2>&1
ok $? "nqueens: compiles"
for model in steal master; do
    run -m $model
    ok $? "nqueens: $model, all live: the count is right"
    ms=$(awk -F '\t' '{ print int($8 * 1000) + 50 }' "$dir/out")
    seed=0
    while [ $seed -lt "${SEEDS:-3}" ]; do
        seed=$((seed + 1))
        run -m $model -k 4 -s $seed -t "$ms"
        ok $? "nqueens: $model, $(harmed) of 6 killed within $ms ms, seed $seed: the count is right"
    done
    run -m $model -k 3 -s 9 -t 30
    ok $? "nqueens: $model, $(harmed) of 6 killed within 30 ms: the count is right"
    [ "$(harmed)" = 3 ]
    ok $? "nqueens: $model, they were all killed in time"
    run -m $model -k 4 -s 5 -t "$ms" -z -d fast
    ok $? "nqueens: $model, $(harmed) of 6 stopped for 3 s: the count is right"
    gone
    ok $? "nqueens: $model, no process is left behind"
done
run -m steal -x -p 1
ok $? "nqueens: one process alone, without fault handling"
run -p 5 -k 5
[ $? -eq 2 ]
ok $? "nqueens: more kills than there are processes is a usage error"

"$dir/nqueens" -n 17 -p 4 >"$dir/out" 2>&1 &
launcher=$!
tries=0
while [ "$(left_behind)" -lt 5 ] && [ $tries -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
[ "$(left_behind)" -eq 5 ]
ok $? "nqueens: five processes are at work"
kill -KILL $launcher
wait $launcher 2>/dev/null
gone
ok $? "nqueens: none survives the death of the launcher"
echo "1..$number"
exit $bad
