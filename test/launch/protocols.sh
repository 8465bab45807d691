#!/bin/sh
# protocols.sh - programs of PMI-1, PMI-2, PMGR and nla.h under the real launcher, over every kind of stream.
. "$(dirname "$0")/tap.inc"

cc=${CC:-cc}
for client in pmi1 pmi2 pmgr; do
    $cc -std=c99 -O1 -I"$ROOT" -o "$work/$client" "$ROOT/test/launch/${client}_client.c" || exit 1
done
$cc -std=c99 -O1 -I"$ROOT" -o "$work/nla" "$ROOT/test/launch/nla_client.c" "$ROOT/extras/launch/nla.c" \
    || exit 1

# All ranks say that all was good, and nobody says anything else.
good() { # name, ranks, options and program
    name=$1 ranks=$2
    shift 2
    run --start fork -n "$ranks" "$@"
    [ "$status" -eq 0 ] && [ "$(grep -c ': good$' "$work/out")" -eq "$ranks" ] && [ ! -s "$work/err" ]
    ok $? "$name"
}

# Ten ranks end with this status, and the launcher says this.
ends() { # name, status, pattern, options and program
    name=$1 want=$2 pattern=$3
    shift 3
    run --start fork -n 10 "$@"
    [ "$status" -eq "$want" ] && said "$pattern"
    ok $? "$name"
}

five='--hosts a,b,c,d,e --degree 2'
good 'PMI-1: all get all, 3 times, 900 bytes' 10 $five "$work/pmi1" all 3 900
good 'PMI-1: names' 10 $five "$work/pmi1" names 3
good 'PMI-1 over a port' 10 $five --pmi port "$work/pmi1" one 2

# Too few descriptors for all connections at once: who waits is taken when the output of processes ends.
cat > "$work/late" <<END
: > "$work/started.\$PMI_ID"
until [ "\$(ls "$work"/started.* | wc -l)" -eq 24 ]; do sleep 0.05; done
"$work/pmi1" one > "$work/late.out" 2>&1 &
sleep 0.3
exec > /dev/null 2>&1
wait \$!
END
(ulimit -n 96 && run --start fork -n 24 --hosts a --pmi port sh "$work/late" && exit $status)
same "$? $(cat "$work/err")" '0 ' 'PMI-1 over a port, and descriptors run out'

good 'PMI-1 with the lazy cache' 10 $five --cache lazy "$work/pmi1" all 2 700
run -v --start fork -n 10 $five "$work/pmi1" all
hits() { # the sum of what was asked for equals that of what was there, or is more
    sed -n 's/^phxrun: keys found where they were asked for://p' "$work/err" | tr ',' '\n' \
        | awk '{ here += $3; asked += $5 } END { print here, asked }'
}
same "$status $(hits)" '0 110 110' '-v: all keys are found at the own agent'
run -v --start fork -n 10 $five --cache lazy "$work/pmi1" all
set -- $(hits)
# Each of five agents gets each of ten keys once at least; more if two ranks do not ask at the same time.
[ "$status" -eq 0 ] && [ "${1:-0}" -ge 50 ] && [ "${2:-0}" -gt "$1" ]
ok $? '-v: with the lazy cache some climb'
good 'PMI-1 above the push limit' 10 $five --push-limit 2000 "$work/pmi1" all 3 700
good 'PMI-1 on one host' 8 --hosts a "$work/pmi1" all 2

# Promise 96: a program that looks for PMIx finds none, but PMI-1; and the README says so.
run -n 1 env
[ "$status" -eq 0 ] && ! grep -q '^PMIX' "$work/out" && grep -q '^PMI_FD=' "$work/out" \
    && grep -q '^No PMIx, so no Open MPI: .* PMI-1' "$ROOT/extras/launch/README.md"
ok $? 'no PMIx, and PMI-1 in its place'
good 'PMI-2: all get all' 10 $five "$work/pmi2" all 3
good 'PMI-2 over a port' 10 $five --pmi port "$work/pmi2" one 2
good 'PMGR: every operation' 10 $five --pmgr "$work/pmgr" 1000
good 'nla.h: every operation, 10,000 bytes' 10 $five "$work/nla" all 1 10000
good 'nla.h: a bulletin board' 10 $five "$work/nla" exchange 5
good 'nla.h beside PMGR' 10 $five --pmgr "$work/nla" all 1 10
ends 'PMI-1: abort' 7 'aborted with code 7' $five "$work/pmi1" one 1 1 abort:7
ends 'PMGR: abort over another connection' 5 'code 5: told to' $five --pmgr "$work/pmgr" 8 abort:5
ends 'nla.h: ranks that disagree' 1 'do not call the same' $five "$work/nla" ring 1 10 differ
done_testing
