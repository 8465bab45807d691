#!/bin/sh
# recover.sh - MPI_Comm_dup, _create and _split recover what kill -9 has broken, in each mode.
. "$(dirname "$0")/tap.inc"

compile p_recover
p=$work/p_recover

recovers() { # mode, call, victims, lines that say that all is well
    run -n 5 --ft "$1" "$p" "${1%%,*}" "$2" "$3"
    same "$status $(sort "$work/out" | uniq -c | sed 's/^ *//')" "0 $4 all is well" "$1, $2: $3 of 5 killed"
}

for call in dup split create; do
    recovers shrink $call 1 4
    recovers blank $call 1 4
    recovers rebuild $call 1 5
    recovers rebuild-end $call 1 5
done
recovers shrink,cont,strict dup 2 3
recovers blank,cont dup 2 3
recovers rebuild,cont dup 2 5
recovers rebuild-end,nop,strict dup 2 5
done_testing
