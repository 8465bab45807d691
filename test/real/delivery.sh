#!/bin/sh
# delivery.sh - real processes whose relays are killed and stopped lose, double and reorder nothing.
#
#     test/real/delivery.sh [SECONDS] [SEED]      TAP; 8 seconds
#     test/real/delivery.sh bars [SECONDS]        only the bars; 60 seconds
#
# Goal: kill -9, SIGSTOP and SIGCONT of relays cost time, but no message, on a real TCP.
# Method: see delivery.c, which does and judges it all. Here it is compiled, bounded in time, and its
# bars become tests. Nothing is left behind: it ends with its parent, and its children end with it.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
driver=
cleanup() {
    [ -z "$driver" ] || kill -TERM "$driver" 2>/dev/null
    [ -z "$driver" ] || wait "$driver" 2>/dev/null
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

bars=
if [ "${1-}" = bars ]; then
    bars=1
    shift
fi
seconds=${1:-${bars:+60}}
seconds=${seconds:-8}
seed=${2:-1}

${CC:-cc} -std=c99 -O2 ${CFLAGS-} -I. -o "$dir/delivery" test/real/delivery.c \
    "${PHOENIX_O:-phoenix.c}" >"$dir/out" 2>&1 || {
    echo "not ok 1 - delivery: compiles"
    sed 's/^/# /' "$dir/out"
    exit 1
}
# As a child that we can end: a trap runs only between commands, or in a wait.
timeout -k 5 $((seconds + 75)) "$dir/delivery" "$seconds" "$seed" >"$dir/out" 2>&1 &
driver=$!
wait "$driver"
status=$?
driver=
if [ -n "$bars" ]; then
    grep "^bar" "$dir/out" \
        || printf 'bar\tdelivery on real processes: status %s\t-\t-\tshort\n' "$status"
    grep "^#" "$dir/out"
    exit "$status"
fi
awk -F '\t' -v status="$status" -v what="$seconds s, seed $seed" '
    $1 == "bar" { print ($5 == "ok" ? "" : "not ") "ok " ++n " - " $2 ": " $3 " <= " $4; next }
    { sub(/^# /, ""); print "# " $0 }
    END {
        print (status == 0 ? "" : "not ") "ok " ++n " - delivery on real processes: " what ", status " status
        print "1.." n
        exit status != 0 || n != 7
    }' "$dir/out"
