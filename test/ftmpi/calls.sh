#!/bin/sh
# calls.sh - datatypes, communicators, groups, attributes, error handlers and topologies as programs see them.
. "$(dirname "$0")/tap.inc"

for p in p_types p_comm p_topo; do
    compile $p
    for n in 1 2 3 6; do
        run -n $n "$work/$p"
        same "$status $(grep -c '^ok 1' "$work/out")" '0 1' "$p at $n ranks"
    done
done
done_testing
