#!/bin/sh
# demo.sh - what `make demo_launch` does: 8 hosts played on this one, two of them behind a gateway.
#
# Shows the tree, an exchange, a killed rank and a killed agent, with a line for each, and judges itself.
set -u
cd "$(dirname "$0")/../.." || exit 1
. extras/launch/procs.sh
phxrun=$PWD/build/phxrun
dir=$(mktemp -d "${TMPDIR:-/tmp}/phxrun.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
mark=9000.$$
bad=0

judge() { # status, what
    if [ "$1" -eq 0 ]; then echo "  good: $2"; else echo "  BAD:  $2"; bad=1; fi
}

ms() {
    echo $(($(date +%s%N) / 1000000))
}

sleeps() {
    called "sleep $mark"
}

running() { # so many sleeps, within 5 s
    left=250
    until [ "$(sleeps | wc -l)" -eq "$1" ]; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.02
    done
}

agents_gone() { # of a launcher that is no more: what had its job's descriptors is gone, within 5 s
    left=250
    while procs | awk -v list="$1" '
        BEGIN { n = split(list, p, " "); for (i = 1; i <= n; i++) was[p[i]] = 1 }
        $2 in was { found = 1 } END { exit !found }'; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep 0.02
    done
}

cat > "$dir/hosts" <<'END'
n1:4
n2:4
n3:4
n4:4
n5:4
n6:4
inner1:4 via=gate
inner2:4 via=gate
END
job="--start fork -f $dir/hosts -n 32"
${CC:-cc} -std=c99 -O1 -I. -o "$dir/client" test/launch/pmi1_client.c || exit 1

echo '1. The plan: 8 hosts with 4 processes each, inner1 and inner2 behind the gateway gate.'
"$phxrun" --dry-run $job "$dir/client" | sed 's/^/  /'

echo '2. Start alone, and start with an exchange: put, barrier, get the keys of all.'
begun=$(ms)
"$phxrun" $job true 2> "$dir/err"
judge $? "32 times true in $(($(ms) - begun)) ms"
begun=$(ms)
"$phxrun" $job "$dir/client" all > "$dir/out" 2> "$dir/err"
status=$?
[ $status -eq 0 ] && [ "$(grep -c ': good$' "$dir/out")" -eq 32 ]
judge $? "all 32 got 32 values each in $(($(ms) - begun)) ms"

start() {
    "$phxrun" $job "$@" sleep "$mark" > "$dir/out" 2> "$dir/err" &
    launcher=$!
    running 32
    judge $? '32 processes run'
}

ended() { # wanted status
    begun=$(ms)
    wait "$launcher"
    status=$?
    running 0
    judge $? "nothing is left $(($(ms) - begun)) ms later"
    sed 's/^/  says: /' "$dir/err"
    [ $status -eq "$1" ]
    judge $? "its status is $1"
}

echo '3. kill -9 of a rank.'
start
kill -9 "$(sleeps | sed -n 7p)"
ended 137

echo '4. kill -9 of an agent.'
start
kill -9 "$(children $launcher phxrun | tail -1)"
ended 1

echo '5. kill -9 of the launcher.'
start
agents=$(children $launcher phxrun | tr '\n' ' ')
kill -9 $launcher
ended 137
agents_gone "$agents"
judge $? 'no agent, no guard'

# Open MPI asks a PMIx server, which phxrun is not: its ranks would be worlds of one.
mpicc=
for one in mpicc.mpich mpicc; do
    if [ -z "$mpicc" ] && $one -show 2> /dev/null | grep -q mpich; then mpicc=$one; fi
done
if [ -n "$mpicc" ]; then
    echo '6. An MPI program.'
    cat > "$dir/hello.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d: the sum of all is %d\n", rank, sum);
    return MPI_Finalize();
}
END
    $mpicc -o "$dir/hello" "$dir/hello.c" \
        && "$phxrun" --start fork --hosts 'm[1-2]' -ppn 2 -n 4 -l "$dir/hello" > "$dir/out" 2> "$dir/err"
    status=$?
    sed 's/^/  /' "$dir/out"
    [ $status -eq 0 ] && [ "$(grep -c 'is 6$' "$dir/out")" -eq 4 ]
    judge $? 'four ranks on two hosts agree'
else
    echo '6. An MPI program: skipped, there is no mpicc of MPICH (Debian: mpich libmpich-dev).'
fi
[ $bad -eq 0 ] && echo 'demo: good'
exit $bad
