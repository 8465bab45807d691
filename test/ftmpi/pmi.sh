#!/bin/sh
# pmi.sh - programs started by a launcher that knows nothing of ours but PMI-1, and without any launcher.
. "$(dirname "$0")/tap.inc"
PHXRUN=${PHXRUN:-$ROOT/build/phxrun}

all_well() { # ranks, what
    [ "$status" -eq 0 ] && grep -q "^ok 1 .* at $1 ranks" "$work/out"
    ok $? "$1 ranks, $2"
}

compile p_p2p
if [ -x "$PHXRUN" ]; then
    for n in 1 3; do
        timeout 60 "$PHXRUN" -n $n "$work/p_p2p" > "$work/out" 2> "$work/err" < /dev/null
        status=$?
        all_well $n 'by PMI-1 of phxrun'
    done
else
    ok 0 'PMI-1 of phxrun # SKIP no phxrun was built'
fi
if mpiexec.hydra -version > /dev/null 2>&1; then
    timeout 60 mpiexec.hydra -n 3 "$work/p_p2p" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    all_well 3 'by PMI-1 of MPICH'
else
    ok 0 'PMI-1 of MPICH # SKIP no MPICH here'
fi

# Two shells: the first of the ranks listens at the hub's address.
FTMPI_HUB=unix://$work/hub FTMPI_SIZE=2 FTMPI_RANK=1 timeout 60 "$work/p_p2p" > "$work/other" 2>&1 &
FTMPI_HUB=unix://$work/hub FTMPI_SIZE=2 FTMPI_RANK=0 timeout 60 "$work/p_p2p" > "$work/out" 2> "$work/err"
status=$?
wait $! || status=1
all_well 2 'by hand'

# Rank 0 dies, and nobody is there to say so.
compile p_ends
FTMPI_HUB=unix://$work/hub2 FTMPI_SIZE=2 FTMPI_RANK=0 timeout 60 "$work/p_ends" kill 0 > "$work/other" 2>&1 &
FTMPI_HUB=unix://$work/hub2 FTMPI_SIZE=2 FTMPI_RANK=1 FTMPI_CUT_WAIT=1 timeout 60 "$work/p_ends" kill 0 \
    > "$work/out" 2> "$work/err"
same $? 1 'without rank 0 the other ends'
said 'rank 1: no way to rank 0 for 1 s'
ok $? '.. and says why'
wait

# What cannot be is said, and is no hang.
refused() { # what is said, what
    timeout 60 "$work/p_p2p" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    [ $status -eq 1 ] && said "$1" && [ "$(wc -l < "$work/err")" -eq 1 ]
    ok $? "$2"
}
PMI_PORT=localhost:1
export PMI_PORT
refused 'PMI_PORT' 'PMI over TCP'
unset PMI_PORT
for bad in FTMPI_EAGER=64K FTMPI_EAGER=-1 FTMPI_EAGER=1073741825 FTMPI_BUDGET=x FTMPI_SPIN=-5 FTMPI_RING=2; do
    export "$bad"
    refused "$bad is no number that it can have" "$bad"
    unset "${bad%=*}"
done
FTMPI_SIZE=2
export FTMPI_SIZE
refused 'FTMPI_HUB' 'no hub'
FTMPI_RANK=2
export FTMPI_RANK
refused 'FTMPI_RANK=2' 'no such rank'
FTMPI_RANK=x
refused 'FTMPI_RANK=x' 'no number'
FTMPI_RANK=1 FTMPI_HUB=tcp://192.0.2.1:7000
export FTMPI_HUB
refused 'FTMPI_KEY_FD' 'another host, and no key'
FTMPI_HUB=tcp://127.0.0.1
refused 'malformed' 'no address'
FTMPI_HUB=unix:///nowhere/at/all FTMPI_START_WAIT=1
export FTMPI_START_WAIT
refused 'rank 0 does not answer' 'nobody at the hub'
done_testing
