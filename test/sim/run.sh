#!/bin/sh
# run.sh - builds the simulator and runs all scenarios at a small size, or the one asked for.
#
#     test/sim/run.sh                                    what `make test` runs; TAP lines
#     make sim SEED=7 NODES=24 SCENARIO=campaign TRACE=1 one run; SCENARIO=list tells which
#     make sim SEEDS=1000                                the campaign on a thousand seeds
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."

cc=${CC:-cc}
dir=build/sim
warn='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -pedantic'
mkdir -p "$dir"

# check.c contains phoenix.c, most of which it does not call. PHX_DEBUG turns assertions on.
build() {
    $cc -std=c99 -O2 -g $warn -Wno-unused-function -DPHX_DEBUG -c test/sim/check.c -o "$dir/check.o"
    for f in world stream verbs scenario story campaign sim world_test; do
        $cc -std=c99 -O2 -g $warn -c "test/sim/$f.c" -o "$dir/$f.o"
    done
    common="$dir/world.o $dir/stream.o $dir/verbs.o"
    told="$dir/sim.o $dir/story.o $dir/campaign.o $dir/scenario.o $dir/check.o"
    $cc -o "$dir/sim" $told $common
    $cc -o "$dir/world_test" "$dir/world_test.o" $common
}

build

words=
for name in SCENARIO SEED SEEDS NODES TRACE ROUTING EVERY; do
    eval "value=\${$name-}"
    [ -z "$value" ] || words="$words $name=$value"
done
if [ -n "$words" ]; then
    exec "$dir/sim" $words
fi

# A bar that is met, or not, becomes a test of its own.
tap() {
    awk -F '\t' '
        $1 == "bar" { print ($5 == "ok" ? "" : "not ") "ok - sim " $2 ": " $3 " <= " $4; next }
        $1 == "figure" { print "# " $0; next }
        { print }' | tee -a "$dir/tap"
}

: > "$dir/tap"
sim() { "$dir/sim" "$@" 2> /dev/null | tap; }
refuses() { # words: a usage line and status 2
    status=0
    "$dir/sim" "$@" > "$dir/said" 2>&1 || status=$?
    if [ "$status" = 2 ] && grep -q '^usage: sim' "$dir/said"; then echo "ok - sim refuses $*"
    else echo "not ok - sim refuses $*: status $status"; fi | tap
}

"$dir/world_test" | grep -v '^1\.\.' | tap
for nonsense in SCENARIO=nosuch SEED=x SEED=-1 NODES=0 NODES=99999 SEEDS=0 TRACE=9 ROUTING=best \
    frog; do
    refuses "$nonsense"
done
sim SCENARIO=cold_start NODES=64
sim SCENARIO=cut48 NODES=48
sim SCENARIO=gateway_death NODES=48
sim SCENARIO=partition NODES=32
sim SCENARIO=mass_restart NODES=64
sim SCENARIO=name_change NODES=32
sim SCENARIO=quiet NODES=24
sim SCENARIO=bounded NODES=64
sim SCENARIO=both_dial
sim SCENARIO=nats NODES=16
sim SCENARIO=oneway NODES=12
sim SCENARIO=stalled NODES=12
sim SCENARIO=scarce NODES=12
sim SCENARIO=determinism NODES=16 SEEDS=3
sim SCENARIO=campaign NODES=16 SEEDS=200
! grep -q '^not ok' "$dir/tap"
