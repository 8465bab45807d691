#!/bin/sh
# delivery.sh - what end-to-end delivery costs beside the same without it: see delivery.c.
#
# usage: test/bench/delivery.sh. Times are ratios to raw framed TCP in the same run, medians of
# interleaved rounds. Instructions are those of both processes in user space, from two runs of different
# length, so that the start cancels out: counted by perf where the machine has counters, else by
# valgrind, else said to be missing. ROUNDS=n for another number of rounds; QUICK=1: does it still run?
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench
${CC:-cc} -std=c99 -O2 -g -I. -o build/bench/delivery test/bench/delivery.c phoenix.c
exe=build/bench/delivery
rounds=${ROUNDS:-7} part=1
if [ -n "${QUICK-}" ]; then rounds=${ROUNDS:-1} part=20; fi

echo '# delivery over loopback TCP beside raw frames: what, bytes, raw us/message, phx us/message, phx / raw'
"$exe" pingpong 8 $((5000 / part)) "$rounds"
"$exe" pingpong 1024 $((5000 / part)) "$rounds"
"$exe" stream 64 $((1000000 / part)) "$rounds"
"$exe" stream 1024 $((300000 / part)) "$rounds"
"$exe" stream 65536 $((10000 / part)) "$rounds"
"$exe" stream 1048576 $((800 / part)) "$rounds"

# Instructions of one run, both processes.
by_perf() {
    perf stat -x, -e instructions:u "$@" 2>&1 \
        | awk -F, '/instructions/ && $1 ~ /^[0-9]+$/ { print $1 }'
}
by_valgrind() {
    rm -f build/bench/callgrind.*
    valgrind -q --tool=callgrind --callgrind-out-file=build/bench/callgrind.%p "$@" > /dev/null 2>&1
    cat build/bench/callgrind.* | awk '/^totals:/ { n += $2 } END { print n }'
    rm -f build/bench/callgrind.*
}
counter=
if command -v perf > /dev/null 2>&1 && [ -n "$(by_perf true)" ]; then counter=by_perf
elif command -v valgrind > /dev/null 2>&1; then counter=by_valgrind
else echo '# instructions: neither perf with counters nor valgrind here'; fi

# Per message, from the difference of a short and a long run.
per_message() { # what, size, count, side
    a=$($counter "$exe" "$1" "$2" "$3" 1 "$4")
    b=$($counter "$exe" "$1" "$2" $((3 * $3)) 1 "$4")
    echo "$a $b" | awk -v n=$((2 * $3)) '{ printf "%.0f", ($2 - $1) / n }'
}
if [ -n "$counter" ]; then
    echo "# instructions per message, sender and receiver ($counter): what, bytes, raw, phx, phx - raw"
    for size in 64 1024 65536; do
        count=$(((size < 65536 ? 20000 : 1000) / part))
        raw=$(per_message stream $size $count raw)
        ours=$(per_message stream $size $count phx)
        printf 'instructions\t%s\t%s\t%s\t%s\n' "$size" "$raw" "$ours" $((ours - raw))
    done
    echo '# the same for a lone message and its answer, both hosts asleep in between'
    for size in 8 1024; do
        raw=$(per_message pingpong $size 2000 raw)
        ours=$(per_message pingpong $size 2000 phx)
        printf 'instructions_pingpong\t%s\t%s\t%s\t%s\n' "$size" "$raw" "$ours" $((ours - raw))
    done
fi
