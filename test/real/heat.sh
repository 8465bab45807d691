#!/bin/sh
# heat.sh - the heat equation over 1 to 8 real processes gives the serial result, bit by bit.
#
# Goal: a time-step loop with phx_step between steps exchanges by name, in order, losing nothing.
# Method: examples/heat compares with its own serial run and says so by its exit status; here it
# runs with blocks of different sizes. It waits for its processes itself.
set -u
cd "$(dirname "$0")/../.." || exit 1
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

echo "1..11"
${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/heat" examples/heat.c "${PHOENIX_O:-phoenix.c}" \
    >"$dir/out" 2>&1
ok $? "heat: compiles"
for ranks in 1 2 3 4 5 6 7 8; do
    timeout 60 "$dir/heat" $ranks 1001 300 >"$dir/out" 2>&1
    ok $? "heat: $ranks ranks, 1001 cells, 300 steps: the serial result"
done
timeout 60 "$dir/heat" 8 8 300 >"$dir/out" 2>&1
ok $? "heat: 8 ranks of one cell each"
timeout 60 "$dir/heat" 0 >"$dir/out" 2>&1
[ $? -eq 2 ]
ok $? "heat: no ranks at all is a usage error"
exit $bad
