#!/bin/sh
# death.sh - twenty real processes with the fast preset: a SIGSTOP and a SIGKILL are known to all in time.
#
# Goal: promise 49 on a real system: a silent death within 2 s, a closed connection within broken_us
# (500 ms) and a flood. Method: death.c, DEATHS times (1; 20 for the record). A run in which some process
# was woken late by more than 100 ms measured the machine and not Phoenix: it is repeated, 5 times at most.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
runs=${DEATHS:-1}
processes=${PROCESSES:-20}
${CC:-cc} -std=c99 -O2 -I. -o "$dir/death" test/real/death.c phoenix.c || exit 1

# One run: its line in $dir/said. 0: in time. 1: not. 2: not, and the machine was late.
once() {
    timeout 60 "$dir/death" "$processes" > "$dir/said" 2>&1 || return 1
    awk '{ print "# " $0; exit $2 <= 2000 && $4 <= 1000 ? 0 : $6 > 100 ? 2 : 1 }' "$dir/said"
}

echo "1..$runs"
n=0 bad=0
while [ "$n" -lt "$runs" ]; do
    n=$((n + 1)) tries=0 status=2
    while [ "$status" = 2 ] && [ "$tries" -lt 5 ]; do
        tries=$((tries + 1))
        status=0
        once || status=$?
    done
    if [ "$status" = 0 ]; then
        echo "ok $n - death: all knew in time: $(cat "$dir/said") ms"
    else
        bad=1
        echo "not ok $n - death: $(cat "$dir/said")"
    fi
done
exit $bad
