#!/bin/sh
# rebuild.sh - ranks that are started again by ftmpirun --ft rebuild, and some that cannot be (promise 79).
. "$(dirname "$0")/tap.inc"

compile p_rebuild
p=$work/p_rebuild

lines() { # pattern: how many in out
    grep -c "$1" "$work/out" | tr -d ' '
}

rebuilt() { # ranks, modes, lives that join, way, victims...
    ranks=$1 modes=$2 lives=$3
    shift 3
    run -l -n "$ranks" --ft "$modes" "$p" "$@"
    same "$status" 0 "$* of $ranks in $modes: a good end"
    same "$(lines "rank [0-9]* of $ranks ends")" "$ranks" '.. of all'
    same "$(lines '^\[[0-9]*\] rank [0-9]* is life [1-9]')" "$lives" ".. lives that joined: $lives"
}
rebuilt 4 rebuild 1 once 1
same "$(lines '^\[1\] rank 1 is life 1')" 1 '.. in its place, with its label'
rebuilt 4 rebuild-end 1 once 1
same "$(lines '^\[1\] rank 3 is life 1')" 1 '.. at the end'
rebuilt 5 rebuild,cont 3 once 0 2 4
rebuilt 3 rebuild,strict 2 once 1 2
rebuilt 4 rebuild 2 again 3
rebuilt 6 rebuild 5 once 0 1 2 3 4
FTMPI_RING=0 rebuilt 4 rebuild 4 again 0 1

run -n 4 --ft rebuild "$p" early 2
same "$status $(lines 'rank [0-9]* of 3 ends')" '0 3' 'who dies before MPI_Init, each time, is given up'
same "$(lines 'nobody comes')" 3 '.. and all are told'
same "$(grep -c 'ended with status 9 before MPI_Init' "$work/err" | tr -d ' ')" 3 '.. after three tries'
cp "$p" "$work/p_gone"
run -n 4 --ft rebuild "$work/p_gone" missing 1
same "$status $(lines 'rank [0-9]* of 3 ends')" '0 3' 'a program that is not there any more'
same "$(lines 'nobody comes')" 3 '.. all are told'
said '^ftmpirun: rank 1 on [^ ]*: cannot be started again: No such file'
ok $? '.. and so are people'
done_testing
