#!/bin/sh
# coupled.sh - two MPI jobs that exchange messages by Phoenix, with collective calls between them, end.
#
# Goal: what a node owes leaves before its host blocks where Phoenix is not turned (promise 61).
# usage: coupled.sh [bars]: with that one line for `make bars` in place of TAP.
# Method: coupled.c under mpich, where it is installed. Without it t_silence shows the same with two nodes.
set -u
cd "$(dirname "$0")/../.." || exit 1
bars=
if [ "${1-}" = bars ]; then
    bars=1
    shift
fi
[ -n "$bars" ] || echo '1..1'
what='two coupled MPI jobs: 20 rounds, with a collective call in each'
if ! command -v mpicc.mpich > /dev/null 2>&1 || ! command -v mpiexec.mpich > /dev/null 2>&1; then
    [ -n "$bars" ] && echo "# $what: no mpich here" || echo "ok - $what # SKIP no mpich here"
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM HUP
port=$((20000 + $$ % 12000))
status=1
if mpicc.mpich -std=c99 -O2 -I. -o "$dir/coupled" test/real/coupled.c phoenix.c > "$dir/said" 2>&1; then
    timeout 60 mpiexec.mpich -n 2 "$dir/coupled" 0 $port 20 ${1-} > "$dir/first" 2>&1 < /dev/null &
    timeout 60 mpiexec.mpich -n 2 "$dir/coupled" 1 $port 20 ${1-} > "$dir/said" 2>&1 < /dev/null
    status=$?
    wait $! || status=1
fi
if [ -n "$bars" ]; then
    [ "$status" = 0 ] && end='0\t0\tok' || end='1\t0\tshort'
    printf "bar\t%s: hang or fail\t$end\n" "$what"
    exit 0
fi
[ "$status" = 0 ] && echo "ok - $what" || { echo "not ok - $what"; sed 's/^/# /' "$dir/said"; }
