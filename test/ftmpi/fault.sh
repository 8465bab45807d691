#!/bin/sh
# fault.sh - one of several ranks is killed: every call ends, handlers jump out, MPI_Bcast reaches the living.
. "$(dirname "$0")/tap.inc"

compile p_fault
p=$work/p_fault

jumps() { # mode, call: the three survivors jump out of it
    run -n 4 --ft "$1" "$p" "$2"
    same "$status $(grep -c 'jumped with 1[57]: .*rank 3 on .*killed by signal 9' "$work/out")" "$3" "$1: $2"
}

for call in recv recv-living recv-any ssend send-large sends probe iprobe sendrecv waitall testall barrier \
    allreduce alltoall bcast; do
    jumps shrink,nop $call '0 3'
done
for call in recv recv-any ssend iprobe sendrecv waitall barrier bcast; do
    jumps blank,cont $call '0 3'
done
export FTMPI_RING=0
for call in recv-living send-large sendrecv waitall alltoall; do
    jumps shrink,nop $call '0 3'
done
unset FTMPI_RING
for bytes in 8 1000000; do
    run -n 5 --ft blank,cont "$p" bcast-goes-on 80 $bytes
    same "$status $(grep -c '^0 of 80 wrong' "$work/out")" '0 4' \
        "MPI_Bcast of $bytes bytes reaches the living in each round"
done
compile p_gaps
for mode in blank,cont blank,nop,strict; do
    for n in 3 6; do
        run -n $n --ft $mode "$work/p_gaps"
        same "$status $(cat "$work/out")" '0 good: 38 checks' "$mode: a gap among $n"
    done
done
compile p_ulfm
run -n 5 --ft ulfm "$work/p_ulfm"
same "$status $(sort -u "$work/out")" '0 2 of 5, 0 wrong, repaired' 'ulfm: three of five die'
run -n 4 --ft ulfm "$work/p_ulfm" anybody
same "$status $(sort -u "$work/out" | tr '\n' ';')" '0 pending, 1 failed;shrunk to 3;then 42;' \
    'ulfm: acknowledged'
run -n 4 "$p" recv-living
same "$(grep -c '^ftmpirun: rank 3 on .* killed by signal 9' "$work/err") $(cat "$work/out")" '1 ' \
    'without --ft the job ends, whatever the handler'
done_testing
