#!/bin/sh
# p2p.sh - point to point as a program sees it, at 1 to 5 ranks, by each way between processes.
. "$(dirname "$0")/tap.inc"

# count, what
all_well() {
    run -n "$1" "$work/p_p2p"
    [ "$status" -eq 0 ] && grep -q "^ok 1 .* at $1 ranks" "$work/out"
    ok $? "$1 ranks, $2"
}

compile p_p2p
for n in 1 2 3 5; do
    all_well $n 'as they come'
done
FTMPI_RING=0
export FTMPI_RING
all_well 3 'without rings'
FTMPI_TCP=1
export FTMPI_TCP
all_well 3 'over TCP'
FTMPI_BUDGET=20000
export FTMPI_BUDGET
all_well 3 'with a small budget'
FTMPI_SPIN=1000
export FTMPI_SPIN
all_well 2 'looking, and not sleeping'
done_testing
