#!/bin/sh
# coll.sh - all collective calls beside a model, at 1 to 9 ranks, as one host and as several behind walls.
. "$(dirname "$0")/tap.inc"

compile p_coll
for n in 1 2 3 4 5 6 7 8 9; do
    run -n $n "$work/p_coll" small
    same "$status $(cat "$work/out")" "0 ok - collectives of $n ranks" "$n ranks"
done
run -n 4 "$work/p_coll"
same "$status" 0 'large ones'
FTMPI_TCP=1 run -n 3 "$work/p_coll" small
same "$status" 0 'over TCP'

# The rank's host and site are worked out by a shell that then becomes the program.
walls() { # ranks, host, site: sums of $FTMPI_RANK
    run -n "$1" sh -c "FTMPI_HOST=\$(($2)) FTMPI_SITE=\$(($3)) exec '$work/p_coll' small"
    same "$status $(cat "$work/out")" "0 ok - collectives of $1 ranks" "$1 ranks, host $2, site $3"
}
walls 7 'FTMPI_RANK / 2' 'FTMPI_RANK / 4'
walls 6 'FTMPI_RANK % 3' 0
walls 6 'FTMPI_RANK' 'FTMPI_RANK % 2'
walls 5 '(FTMPI_RANK + 1) / 2' '(FTMPI_RANK + 1) / 3'
done_testing
