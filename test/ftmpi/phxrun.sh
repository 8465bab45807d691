#!/bin/sh
# phxrun.sh - MPI programs under phxrun --ftmpi: several hosts, played here, some behind gateways.
. "$(dirname "$0")/tap.inc"

PHXRUN=${PHXRUN:-$ROOT/build/phxrun}
compile p_coll
compile p_ends
cat > "$work/hosts" <<'END'
a:2
b:2 via=g1
c:2 via=g1
d:2 via=g2
END

job() { # arguments: on these hosts
    timeout 60 "$PHXRUN" --ftmpi --start fork -f "$work/hosts" -n 8 "$@" < /dev/null \
        > "$work/out" 2> "$work/err"
    status=$?
}

job sh -c 'echo $FTMPI_HOST.$FTMPI_SITE.$FTMPI_LOCAL.$FTMPI_SIZE'
hosts=$(sort "$work/out" | uniq -c | awk '{ split($2, of, "."); print $1, of[1], of[3], of[4] }' | tr '\n' ,)
same "$hosts" '2 0 2 8,2 1 2 8,2 2 2 8,2 3 2 8,' 'hosts are numbered'
same "$(awk -F. '{ print $1, $2 }' "$work/out" | sort -u | awk '{ site[$1] = $2 }
    END { print site[0] == 0, site[1] == site[2], site[1] != site[3], site[1] != 0 }')" '1 1 1 1' \
    'a site is what is behind one gateway'
job "$work/p_coll" small
same "$status $(cat "$work/out")" '0 ok - collectives of 8 ranks' 'collectives over three sites'
FTMPI_TCP=1 job "$work/p_coll" small
same "$status $(cat "$work/out")" '0 ok - collectives of 8 ranks' '.. over TCP'

ends() { # way, rank, status, pattern
    job "$work/p_ends" "$1" "$2"
    same "$status" "$3" "$1 of rank $2: status"
    said "^phxrun: rank $2 on [abcd]: $4"
    ok $? '.. who, where and how'
    same "$(grep -c '^phxrun: rank' "$work/err" | tr -d ' ')" 1 '.. in one line'
    same "$(procs | awk '$3 == "p_ends"' | wc -l | tr -d ' ')" 0 '.. nothing is left'
}
ends kill 3 137 'killed by signal 9'
ends exit0 5 1 'ended with status 0 without MPI_Finalize'
ends abort 1 7 '.*MPI_Abort'
ends early 2 1 'ended before MPI_Init, which rank . on'
job "$work/p_ends" late 4
same "$status" 5 'a status after MPI_Finalize counts'
same "$(grep -c ' of 8' "$work/out")" 8 '.. and others go on'
done_testing
