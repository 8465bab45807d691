#!/bin/sh
# mended.sh - faults of recovery that were found by reading it: each case hung, crashed or lied once.
. "$(dirname "$0")/tap.inc"

compile p_mended
p=$work/p_mended

mended() { # ranks, modes, lines that say that all is well, name, arguments
    ranks=$1 modes=$2 lines=$3 name=$4
    shift 4
    run -n "$ranks" --ft "$modes" "$p" "$@"
    same "$status $(sort "$work/out" | uniq -c | sed 's/^ *//')" "0 $lines all is well" "$modes: $name"
}

for victim in 0 1 2; do
    mended 4 rebuild 4 "an intercommunicator after rank $victim was started again" inter $victim
done
mended 4 shrink,cont 3 'a leader waits for one that recovers' leader
mended 4 shrink 3 'a persistent request to a rank that is no more' persistent
mended 4 blank 3 'a persistent request that a failure has ended' ended
mended 4 blank 2 'REBUILD of a duplicate with a gap' gaps
mended 4 shrink 3 'a handler that was set during the recovery' handler
mended 6 ulfm 2 'who has heard of a revocation dies' revoke
mended 4 ulfm 4 'an intercommunicator is revoked' revoke_inter
mended 4 shrink 4 'one member is in ABORT' modes 0
mended 4 abort 4 'all members but one are in ABORT' modes 2
mended 4 shrink,cont 3 'one side of an intercommunicator knows that it is broken' inter_broken
mended 4 shrink,cont 3 'one side of an intercommunicator that is made has failed' sides
mended 4 rebuild,cont 4 'what was under way on a duplicate is so on the rebuilt world' moved
mended 4 shrink 3 'a call on a communicator that another has left' left
mended 3 shrink,cont 2 'what a leader said before a recovery' stale
for mode in cont nop; do
    mended 3 shrink,$mode 2 'the ring of a rank that dies is full of messages' ring $mode
done
cp "$p" "$work/p_gone"
p=$work/p_gone
mended 3 rebuild 2 'nobody can be started, three times' spawn
done_testing
