#!/bin/sh
# lacks.sh - no memory for rings, a hub that never answers, others who are of another job: no hang.
. "$(dirname "$0")/tap.inc"

compile p_lacks
p=$work/p_lacks
lines() { sort "$work/out" | tr '\n' ,; }

# Files may have a few KiB here, and a ring wants more.
if [ -w /dev/shm ]; then
    run -n 2 "$p"
    same "$status $(lines)" '0 sum 39800, 2 rings,sum 39800, 2 rings,' 'with rings'
    for how in "trap '' XFSZ;" ''; do
        run -n 2 sh -c "$how"' ulimit -f 64; exec "$1"' sh "$p"
        same "$status $(lines)" '0 sum 39800, 0 rings,sum 39800, 0 rings,' \
            "without memory for them messages go through Phoenix${how:+, the signal ignored}"
    done
else
    ok 0 'rings # SKIP no /dev/shm to write to'
fi

# What a rank says that is started by hand.
alone() { # job, hub, rank
    FTMPI_START_WAIT=1 FTMPI_JOB=$1 FTMPI_HUB=$2 FTMPI_SIZE=2 FTMPI_RANK=$3 timeout 20 "$p" 2>&1
    echo "status $?"
}
silence='ftmpi: MPI_Init: rank 0 does not answer, or not all processes came,status 1,'

"$p" "$work/dumb" > "$work/dumb.out" 2>&1 &
hub=$!
tries=500
until grep -q listens "$work/dumb.out" || [ $tries -eq 0 ]; do
    tries=$((tries - 1))
    sleep 0.02
done
same "$(cat "$work/dumb.out")" listens 'a hub that takes connections and says nothing'
for rank in 0 1; do
    same "$(alone 1 "unix://$work/dumb" $rank | tr '\n' ,)" "$silence" ".. rank $rank ends with a line"
done
kill $hub
wait $hub 2> /dev/null

alone 1 "unix://$work/hub" 0 > "$work/zero" &
alone 2 "unix://$work/hub" 1 > "$work/one"
wait
same "$(cat "$work/zero" "$work/one" | tr '\n' ,)" "$silence$silence" 'two of different jobs do not meet'
done_testing
