#!/bin/sh
# run.sh - builds the simulator and runs all scenarios at a small size, or what is asked for.
#
#     test/sim/run.sh                                     what `make test` runs; TAP lines
#     test/sim/run.sh part routing                        a part of it: see groups, below; after
#     test/sim/run.sh build                               ... which builds it all
#     make sim SEED=7 NODES=24 SCENARIO=campaign TRACE=1  one run; SCENARIO=list tells which
#     make sim SEEDS=1000                                 the campaign on a thousand seeds
#     test/sim/run.sh bars                                `make bars`: the bars, at full size; some minutes
#     test/sim/run.sh figures                             `make figures`: see figures.sh
#     test/sim/run.sh curves mesh 100                     what a node pays: see curves.c
#     SIM=program test/sim/run.sh part detect             with that in place of the simulator: a self-check
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."

cc=${CC:-cc}
dir=${SIM_DIR:-build/sim}
sim=${SIM:-$dir/sim}
sane=${SIM:-$dir/sim_sane}
work=${SIM:-$dir/sim_work}
paper=${SIM:-$dir/sim_paper}
warn='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic'
parts='world stream verbs scenario ledger chat story delivery detect campaign forget dead deaths holes traces'
parts="$parts starved overload slow late large tree launch launch_chaos figures liar lies lies_said door sim"
parts="$parts mpi_stories mpi_world mpi_launch mpi_pump mpi_traffic mpi_walls mpi_kills mpi_agree"
parts="$parts mpi_chaos mpi_torture refuse ways"
# What ships of the launcher, and is under test in launch.c.
launch='tree collect board replay wire engine operation store pmi1 pmi2 pmgr nlap job place hosts text bytes'
# extras/ftmpi, but for what is the world's there: how a call waits, the environment, time, ends, what leaves.
ftmpi=$(ls extras/ftmpi/lib/*.c | sed -e 's/.*\///' -e 's/\.c$//' -e '/^fortran/d' -e '/^pump$/d' \
    -e '/^environ$/d')
instead='-I. -Iextras/ftmpi -Dphx_now_us=mpi_sim_now -Dphx_send=mpi_sim_send
    -Dphx_send_owned=mpi_sim_send_owned -D_exit=mpi_sim_exit -Dexit=mpi_sim_exit -Dfprintf=mpi_sim_printf
    -Dwrite=mpi_sim_write'
mkdir -p "$dir"

# Coroutines, in which blocking calls of MPI wait.
echo '#define _XOPEN_SOURCE 600
#include <ucontext.h>
int main(void) { ucontext_t c; return getcontext(&c); }' > "$dir/co.c"
$cc -std=c99 "$dir/co.c" -o "$dir/co" > /dev/null 2>&1 && "$dir/co" || warn="$warn -DMPI_NO_COROUTINES"

objects() { # name of the program: its objects but check.o
    for f in $parts; do echo "$dir/$1.o/$f.o"; done
    for f in $launch; do echo "$dir/$1.o/la_$f.o"; done
    for f in $ftmpi; do echo "$dir/$1.o/ftm_$f.o"; done
}

compile() { # object, source, flags
    o=$1 source=$2
    shift 2
    $cc -std=c99 -g $warn "$@" -c "$source" -o "$o" || touch "$dir/bad"
}

# check.c contains phoenix.c, most of which it does not call. PHX_DEBUG turns assertions on.
build() { # name of the program, flags
    exe=$1 at=$dir/$1.o
    shift
    mkdir -p "$at"
    rm -f "$dir/bad"
    {
        compile "$at/check.o" test/sim/check.c "$@" -Wno-unused-function -DPHX_DEBUG
        for f in $launch; do compile "$at/la_$f.o" "extras/launch/$f.c" -I. "$@"; done
    } &
    for f in $parts world_test; do
        compile "$at/$f.o" "test/sim/$f.c" -I. -Iextras/ftmpi -Iextras/ftmpi/lib "$@"
    done
    for f in $ftmpi; do compile "$at/ftm_$f.o" "extras/ftmpi/lib/$f.c" $instead "$@"; done
    wait $!
    [ ! -e "$dir/bad" ] || return 1
    $cc "$@" -o "$dir/$exe" "$at/check.o" $(objects "$exe")
    [ "$exe" != sim ] || $cc -o "$dir/world_test" "$dir"/sim.o/world_test.o "$dir"/sim.o/world.o \
        "$dir"/sim.o/stream.o "$dir"/sim.o/verbs.o
}

# The papers' update rules in place of the product's; all else is that simulator's.
build_paper() {
    $cc -std=c99 -g $warn -O2 -DPHX_PAPER -Wno-unused-function -DPHX_DEBUG -c test/sim/check.c \
        -o "$dir/check_paper.o" || return 1
    $cc -o "$dir/sim_paper" "$dir/check_paper.o" $(objects sim)
}

# Counts basic blocks, which are the time that passes in lies.c. Where the compiler has no such thing the
# simulator itself does.
build_work() {
    rm -f "$dir/sim_work"
    $cc -std=c99 -g $warn -O2 -fsanitize-coverage=trace-pc -Wno-unused-function -DPHX_DEBUG \
        -c test/sim/check.c -o "$dir/check_work.o" 2> /dev/null || { cp "$dir/sim" "$dir/sim_work"; return; }
    $cc -o "$dir/sim_work" "$dir/check_work.o" $(objects sim)
}

# The curves are of what ships, seen from outside: no assertions, no check.c.
build_curves() {
    mkdir -p "$dir/curves.o"
    $cc -std=c99 -O2 $warn -c phoenix.c -o "$dir/curves.o/phoenix.o" || return 1
    for f in world stream verbs curves; do
        $cc -std=c99 -O2 $warn -c "test/sim/$f.c" -o "$dir/curves.o/$f.o" || return 1
    done
    $cc -o "$dir/curves" "$dir"/curves.o/*.o
}

sane_flags='-O1 -fsanitize=address,undefined -fno-sanitize-recover=all'
build_sane() { # or says why not
    rm -f "$dir/sim_sane"
    echo 'int main(void) { return 0; }' > "$dir/sane.c"
    if $cc $sane_flags "$dir/sane.c" -o "$dir/sane" > /dev/null 2>&1 && "$dir/sane" > /dev/null 2>&1; then
        build sim_sane $sane_flags
    fi
}

case ${1-} in
alone) build sim -O2 -static; exit ;; # for ports.sh: $CC is another machine's
curves) # words of curves.c; none: only builds it
    build_curves
    shift
    [ $# -gt 0 ] || exit 0
    exec "$dir/curves" "$@" ;;
part) [ -x "$sim" ] || { echo 'run.sh: build it first' >&2; exit 2; } ;;
build)
    rm -f "$dir/sim" "$dir/sim_sane" "$dir/sim_paper"
    echo '1..3'
    build sim -O2
    echo 'ok - the simulator builds'
    build_paper
    echo "ok - the simulator builds with the papers' rules"
    build_work
    build_sane
    if [ -x "$dir/sim_sane" ]; then echo 'ok - the simulator builds with sanitizers'
    else echo "ok - sim under sanitizers # SKIP $cc has none here"; fi
    exit ;;
*) build sim -O2 ;;
esac

# Lies of lies_said.c that harm nobody: all of them.
lies='nothing left reborn suspect dumb acks parts halves ids flood cards hoard deaf log claim'

# ---- One run, or the bars -------------------------------------------------------------------

words=
for name in SCENARIO SEED SEEDS NODES TRACE ROUTING EVERY FULL; do
    eval "value=\${$name-}"
    [ -z "$value" ] || words="$words $name=$value"
done

# A run that ends badly or says nothing at all counts as short.
full() { # scenario, nodes, perhaps one more word and another simulator: its bars with the size in their names
    status=0
    "${4-$sim}" SCENARIO="$1" NODES="$2" ${3-} > "$dir/said" 2> /dev/null || status=$?
    awk -F '\t' -v OFS='\t' -v size="N=$2" -v name="$1" -v status="$status" '
        $1 == "bar" { sub(/ /, " " size " ", $2); print; said = 1; short += $5 != "ok"; next }
        /^not ok/ { print "bar", $0, "-", "-", "short"; said = 1; short++; next }
        /^ok/ || /^1\.\./ { next }
        { print "# " $0 }
        END {
            if (!said)
                print "bar", name " " size " printed no bar", "-", "-", "short"
            else if (status != 0 && !short)
                print "bar", name " " size " ended with status " status, "-", "-", "short"
        }' "$dir/said"
}

bars() {
    sh test/sizes.sh bars || printf 'bar\tsizes printed not all bars\t-\t-\tshort\n'
    full cold_start 64
    full cold_start 256
    full cold_start 400
    full cut48 48
    full gateway_death 48
    full deaths 100
    full deaths 200 EVERY=1000000
    full deaths 400 EVERY=1000000 # 5 minutes of processor time
    full campaign 24 SEEDS="${CAMPAIGN:-2000}" # 33 s of processor time for a thousand
    full partition 100
    full crash_loop 5 FULL=1
    full came_and_left 5 FULL=1
    full come_and_go 35 FULL=1
    full mass_restart 400
    full name_change 64
    full quiet 48
    full chat 18
    full relay_deaths 20
    full links_cut 20
    full to_direct 6
    full dup_dials 8
    full moves 24
    full moves_kills 24
    full readers 8
    full mutual 6
    full tiny_credit 8
    full mixed_sizes 10
    full sender_restart 16
    full casts 16
    full casts_tiny 8
    full leavers 16
    full hole 6
    full flaky_path 6
    full late_ends 8
    full overload 12 SEEDS=500 # 0.25 s of processor time each
    for n in 100 150 200; do full cost_three $n; done
    full words_1 400 EVERY=1000000
    full words_10 400 EVERY=1000000
    full words_200 400 EVERY=1000000
    full words_200 1000 EVERY=1000000 # a minute
    full site_words_10 200 EVERY=1000000
    full site_words_200 400 EVERY=1000000
    full hub_words_10 200 EVERY=1000000
    full hub_words_200 200 EVERY=1000000
    full words_killed 64
    full words_killed 400 EVERY=1000000
    full words_killed_200 400 EVERY=1000000
    full strangers 15
    full full_hub 60
    full full_accepts 60
    sh test/real/delivery.sh bars 60
    sh test/real/hello.sh bars
    sh test/real/coupled.sh bars
    { make -s ftmpi && sh test/ftmpi/bars.sh bars; } || printf 'bar\tmpi printed not all bars\t-\t-\tshort\n'
    full mpi_traffic 8 SEEDS=500
    full mpi_walls 12
    full agree_messages 12
    full agree_kills 5 FULL=1 # 2 minutes of processor time
    full strict_kills 8 FULL=1
    full recover_kills 4 FULL=1
    full opposite_orders 7
    full enter_time 16
    full ft_chaos 12 SEEDS=1000
    full bounded 4096 EVERY=1000000
    full tree 64
    full orphans 40
    full launch_exchange 641
    full launch_start 65
    full launch_large "${LAUNCH:-641}" # 2049 is the record's; it takes some 10 GB
    full launch_chaos 40 SEEDS=500
    full death 24 SEEDS=1000
    full watchers_die 24 SEEDS=200
    full computing 16 SEEDS=200
    full too_large 3
    full key_late 2
    full joiner_computes 8
    full starved 50 SEEDS=20
    full slow 13
    full slow_fast 5
    full slow_node 40
    for n in 8 64 256 1000; do full heartbeats $n EVERY=1000000; done
    build_work
    for lie in $lies; do
        full "lie_$lie" 6 FULL=1 "$work" # one link of the member that lies
        full "lie_$lie" 25 FULL=1 "$work"
    done
    # 3.5 s of processor time a seed; ALARMS=1000 for the record.
    full false_alarms 100 "SEEDS=${ALARMS:-20} EVERY=1000000"
    sh test/bench/cliffs/run.sh || [ $? -eq 3 ] || printf 'bar\tcliffs printed not all bars\t-\t-\tshort\n'
    build_curves && "$dir/curves" bars || printf 'bar\tcurves printed not all bars\t-\t-\tshort\n'
}

case ${1-} in
'') build_sane; build_paper; build_work ;;
part) ;;
bars)
    bars | tee "$dir/bars"
    ! grep -q 'short$' "$dir/bars" && exit 0
    exit 1 ;;
figures)
    build_paper
    exec sh test/sim/figures.sh "$sim" "$paper" ;;
*)
    echo 'usage: test/sim/run.sh [bars|figures|build|part NAME]' >&2
    exit 2 ;;
esac
if [ -n "$words" ]; then
    case ${SCENARIO-} in lie_*) build_work && exec "$work" $words ;; esac
    case ${ROUTING-} in naive | paper) build_paper && exec "$paper" $words ;; esac
    exec "$sim" $words
fi

# ---- What make test runs --------------------------------------------------------------------

groups='world routing detect delivery mpi lies campaign sane'
part=${2-all}
tap=$dir/tap.$part
: > "$tap"

# A program's tests, and one more that fails if it ends badly or prints fewer than it planned: see tap.awk.
judged() { # name, command
    name=$1
    shift
    status=0
    "$@" > "$tap.said" 2> "$tap.err" || status=$?
    awk -v name="$name" -v status="$status" -f test/tap.awk "$tap.said" | tee -a "$tap"
    [ "$status" = 0 ] || tail -40 "$tap.err" | sed 's/^/# /'
}
sim() { judged "sim $*" "$sim" "$@"; }
refuses() { # words: a usage line and status 2
    status=0
    "$sim" "$@" > "$tap.said" 2>&1 || status=$?
    if [ "$status" = 2 ] && grep -q '^usage: sim' "$tap.said"; then echo "ok - sim refuses $*"
    else echo "not ok - sim refuses $*: status $status"; fi | tee -a "$tap"
}

# Checks of the simulator are checked: phoenix.c with two lines more, each of which BITE turns on.
bitten() {
    at=$dir/bitten
    mkdir -p "$at"
    {
        echo 'static int bite(int kind) { return getenv("BITE") != NULL && *getenv("BITE") == kind; }'
        sed -e '/^    if ((changed = phx__names_set(&p->names, node, &card)) < 0)$/i\
    card.claim_count -= bite(99) && card.claim_count > 0 ? p->ids.at[0].b[0] & 1u : 0;' \
            -e '/^        phx__route_advert_times(&p->route, p->now);$/i\
        if (bite(114)) (void)phx__node_os(p)->resolve(p->os.world, "host0", NULL, 0);' phoenix.c
    } > "$at/phoenix.c"
    sed 's/^#include "..\/..\/phoenix.c"$/#include "phoenix.c"/' test/sim/check.c > "$at/check.c"
    flags="-std=c99 -O1 -w -D_GNU_SOURCE -include stdlib.h -DPHX_DEBUG -I$at -I. -Itest/sim"
    if [ "$(grep -c 'bite(' "$at/phoenix.c")" != 3 ] || ! $cc $flags -c "$at/check.c" -o "$at/check.o" \
        || ! $cc -o "$at/sim" "$at/check.o" $(objects sim); then
        echo 'not ok - sim bitten builds'
    fi
}
bites() { # BITE, what the run must say, words
    bite=$1 say=$2
    shift 2
    if BITE=$bite "$dir/bitten/sim" "$@" 2>&1 | grep -q "^not ok.*$say"; then echo "ok - sim notices: $say"
    else echo "not ok - sim notices: $say"; fi | tee -a "$tap"
}

# The small rows of a committed figure are what they are now: kind, file, words of the run.
figure() {
    kind=$1 file=$2
    shift 2
    status=0
    "$sim" "$@" > "$tap.said" || status=$?
    awk -F '\t' -v kind="$kind" '$1 == kind { print substr($0, length(kind) + 2) }' "$tap.said" > "$tap.rows"
    if [ "$status" = 0 ] && [ -s "$tap.rows" ] \
        && awk 'NR == FNR { has[$0] = 1; next } !($0 in has) { bad = 1 } END { exit bad }' \
               "test/sim/figures/$file.tsv" "$tap.rows"; then echo "ok - figure $file: $*"
    else echo "not ok - figure $file lacks a row of $*; make figures draws it again"; fi | tee -a "$tap"
}

world() {
    judged world_test "$dir/world_test"
    for nonsense in SCENARIO=nosuch SEED=x SEED=-1 NODES=0 NODES=99999 SEEDS=0 TRACE=9 ROUTING=best \
        frog; do
        refuses "$nonsense"
    done
    [ -z "${SIM-}" ] || return 0
    bitten | tee -a "$tap"
    bites c 'read other claims in a card' SCENARIO=moves NODES=6
    bites r 'a step resolves host0' SCENARIO=moves NODES=6
}

routing() {
    sim SCENARIO=cold_start NODES=64
    sim SCENARIO=cold_start NODES=320
    sim SCENARIO=cut48 NODES=48
    sim SCENARIO=gateway_death NODES=48
    sim SCENARIO=deaths NODES=24 EVERY=1000000
    sim SCENARIO=deaths NODES=50 EVERY=1000000
    sim SCENARIO=partition NODES=32
    sim SCENARIO=mass_restart NODES=64
    sim SCENARIO=name_change NODES=32
    sim SCENARIO=quiet NODES=24
    sim SCENARIO=bounded NODES=128
    sim SCENARIO=both_dial SEEDS=100 # 10,000 interleavings, promise 42
    sim SCENARIO=nats NODES=16
    sim SCENARIO=oneway NODES=12
    sim SCENARIO=stalled NODES=12
    sim SCENARIO=scarce NODES=12 SEEDS=10
    sim SCENARIO=scarce NODES=12 SEED=371 # memory ran out between a card's names and its addresses
    sim SCENARIO=hub_goes NODES=30 SEEDS=5
    sim SCENARIO=news NODES=6 SEEDS=5
    sim SCENARIO=cost_three NODES=100
    for n in 8 16 32; do
        for way in one three; do
            figure cost cost_${way}_default SCENARIO=cost_$way NODES=$n EVERY=1000000
        done
        for way in offline discovery; do figure mesh mesh SCENARIO=mesh_$way NODES=$n EVERY=1000000; done
    done
    figure time start_default SCENARIO=start_time NODES=32 EVERY=1
    figure time half_default SCENARIO=half_time NODES=32 EVERY=1
    figure said said SCENARIO=said_time NODES=16 EVERY=1000000
    sim SCENARIO=overload NODES=8 SEEDS=20 # each kind once
    sim SCENARIO=overload NODES=12 SEED=238 # a flow that waited half a minute to ask
    sim SCENARIO=words_1 NODES=32
    sim SCENARIO=words_10 NODES=32
    sim SCENARIO=words_200 NODES=64
    sim SCENARIO=site_words_10 NODES=32
    sim SCENARIO=hub_words_10 NODES=48
    sim SCENARIO=words_killed NODES=48
    sim SCENARIO=words_killed_200 NODES=400 SEED=2 EVERY=1000000 # which had never settled
    sim SCENARIO=strangers NODES=15
    sim SCENARIO=full_hub NODES=60
    sim SCENARIO=full_accepts NODES=60
    sim SCENARIO=traces NODES=12 SEEDS=3
    sim SCENARIO=two_ways SEEDS=20 # promise 29
    sim SCENARIO=two_ways_off
    sim SCENARIO=jitter NODES=50
    sim SCENARIO=forgotten NODES=4
    sim SCENARIO=tree NODES=64
    sim SCENARIO=orphans NODES=40
    sim SCENARIO=launch_exchange NODES=41
    sim SCENARIO=launch_start NODES=65
    sim SCENARIO=launch_large NODES=129
    sim SCENARIO=launch_chaos NODES=40 SEEDS=40
    sim SCENARIO=flaky_path NODES=4 SEED=3
    sim SCENARIO=crash_loop NODES=5
    sim SCENARIO=came_and_left NODES=5
    sim SCENARIO=come_and_go NODES=13
}

detect() {
    sim SCENARIO=death NODES=12 SEEDS=1000
    sim SCENARIO=watchers_die NODES=12 SEEDS=20
    sim SCENARIO=computing NODES=8 SEEDS=50
    sim SCENARIO=heartbeats NODES=32
    sim SCENARIO=false_alarms NODES=30 SEEDS=5
    sim SCENARIO=too_large
    sim SCENARIO=key_late
    sim SCENARIO=joiner_computes
    sim SCENARIO=starved NODES=20 SEEDS=2
    sim SCENARIO=starved NODES=50 SEED=20 # what the dead had said long before was taken for an answer
    sim SCENARIO=slow
    sim SCENARIO=slow_fast
    sim SCENARIO=slow_node
}

delivery() {
    sim SCENARIO=chat NODES=9
    sim SCENARIO=relay_deaths NODES=10
    sim SCENARIO=links_cut NODES=8
    sim SCENARIO=to_direct NODES=4
    sim SCENARIO=dup_dials NODES=6
    sim SCENARIO=moves NODES=24
    sim SCENARIO=moves_kills NODES=10
    sim SCENARIO=readers NODES=5
    sim SCENARIO=mutual NODES=4
    sim SCENARIO=tiny_credit NODES=5
    sim SCENARIO=mixed_sizes NODES=5
    sim SCENARIO=sender_restart NODES=8
    sim SCENARIO=casts NODES=8
    sim SCENARIO=casts_tiny NODES=5
    sim SCENARIO=leavers NODES=8
    sim SCENARIO=hole NODES=4 SEEDS=3
    sim SCENARIO=flaky_path NODES=4
    sim SCENARIO=late_ends NODES=6 SEEDS=3
}

mpi() {
    sim SCENARIO=mpi_traffic SEEDS=200
    sim SCENARIO=mpi_walls
    sim SCENARIO=agree_messages
    sim SCENARIO=agree_kills
    sim SCENARIO=strict_kills
    sim SCENARIO=recover_kills
    # What was told of a seat's second life made an ordinary dup a recovery when its third one died.
    judged 'sim recover_kills, a newcomer dies twice' env "KILLS=recover rebuild,nop 3 1 7 1 1.1.4 1.2.5" \
        "$sim" SCENARIO=recover_kills
    sim SCENARIO=mpi_torture
    sim SCENARIO=opposite_orders
    sim SCENARIO=enter_time
    sim SCENARIO=mpi_computing
    sim SCENARIO=ft_chaos SEEDS=150 # 129: a message to itself left memory behind
    sim SCENARIO=ft_chaos SEED=2556 # a relay lost a frame while there was no route
    sim SCENARIO=ft_chaos SEED=1515 # a host dies of which the launcher had not heard yet
}

lies() {
    for lie in $lies; do
        judged "sim lie_$lie NODES=6" "$work" SCENARIO="lie_$lie" NODES=6
        judged "sim lie_$lie NODES=25" "$work" SCENARIO="lie_$lie" NODES=25
    done
}

campaign() {
    sim SCENARIO=determinism NODES=16 SEEDS=3
    sim SCENARIO=campaign NODES=16 SEEDS=200
    sim SCENARIO=campaign NODES=24 SEED=62 # messages that took all the memory that a link wants
    sim SCENARIO=campaign NODES=24 SEED=637 # a gateway, once short of descriptors, with more links than room
    # Those known and dead are more than the links that a node once short of descriptors dares to make.
    sim SCENARIO=campaign NODES=24 SEED=1316
    sim SCENARIO=campaign NODES=24 SEED=1842
    # A loss while a flow drained from its former link: it stayed there when that link went.
    sim SCENARIO=campaign NODES=24 SEED=1271
    for rules in naive paper; do
        judged "sim campaign ROUTING=$rules" "$paper" SCENARIO=campaign NODES=12 SEEDS=30 ROUTING=$rules
    done
}

# The same with sanitizers: memory is short in many of these, and no path may tread on another's.
sane() {
    if [ ! -x "$sane" ]; then
        echo "ok - sim under sanitizers # SKIP $cc has none here" | tee -a "$tap"
        return
    fi
    for run in 'campaign NODES=12 SEEDS=30 SEED=5000' 'scarce NODES=8 SEEDS=3' 'moves_kills NODES=6' \
        'casts NODES=6' 'mixed_sizes NODES=4' 'mpi_traffic SEEDS=10' \
        'ft_chaos SEEDS=10'; do
        judged "sim under sanitizers: $run" "$sane" SCENARIO=$run
    done
}

case " $groups all " in
*" $part "*) ;;
*)
    echo "run.sh: the parts are: $groups" >&2
    exit 2 ;;
esac
[ "$part" != all ] || for part in $groups; do "$part"; done
[ "$tap" = "$dir/tap.all" ] || "$part"
echo "1..$(grep -c -E '^(not )?ok' "$tap")"
! grep -q '^not ok' "$tap"
