#!/bin/sh
# calls.sh - datatypes, communicators, groups, attributes, error handlers and topologies as programs see them.
. "$(dirname "$0")/tap.inc"

for p in p_env p_types p_comm p_topo; do
    compile $p
    for n in 1 2 3 6; do
        run -n $n "$work/$p"
        same "$status $(grep -c '^ok 1' "$work/out")" '0 1' "$p at $n ranks"
    done
done
for way in pcontrol barrier free; do
    run -n 1 "$work/p_env" $way
    said 'before MPI_Init'
    ok $? "$way before MPI_Init ends the program"
done
run -n 1 "$work/p_env" late
said 'MPI_Barrier was called .*after MPI_Finalize'
ok $? 'and so does a barrier after MPI_Finalize'
done_testing
