#!/bin/sh
# run.sh - fuzz targets: replays their corpora with any compiler, or looks for more with libFuzzer.
#
#     test/fuzz/run.sh replay                  what `make test` runs: TAP lines
#     make fuzz MINUTES=30 ONLY=stream         libFuzzer (clang), so many minutes for each, or RUNS=100000;
#                                              KEEP=1: the corpus of the tree becomes what was found,
#                                              minimised; SANE=0: four times as fast, without sanitizers
#     make torture                             see torture.c: each allocation and call of the world fails
#     test/fuzz/run.sh speed                   frames without sanitizers: runs a second
#     test/fuzz/run.sh afl frames              a program for afl-fuzz, in build/fuzz/afl
#
# What is found is in build/fuzz: crash-TARGET-..., to be replayed by build/fuzz/replay/TARGET FILE. An
# input that found a fault joins the corpus (test/fuzz/corpus/TARGET) with its correction.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
targets='frames parsers stream pair launch agree'
warn='-std=c99 -g -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic'
warn="$warn -Wno-unused-function"
include='-I. -Isrc -Itest/unit -DPHX_DEBUG -DWORLD_PAGE=32u' # a small world is made for each run
launch='tree collect board replay wire engine operation store pmi1 pmi2 pmgr nlap job place hosts text bytes'

tls_of() { # compiler: what parsers needs to read PEM files
    mkdir -p build/fuzz
    printf '#include <bearssl.h>\nint main(void) { return br_ec_get_default() == 0; }\n' > build/fuzz/bear.c
    if $1 build/fuzz/bear.c -lbearssl -o build/fuzz/bear 2> /dev/null; then echo "-DPHX_TLS"; fi
}

sources_of() { # target
    case $1 in
    stream | pair) echo "test/fuzz/net.c test/sim/world.c test/sim/stream.c test/sim/verbs.c" ;;
    torture) echo "$(sources_of pair) test/sim/refuse.c" ;;
    launch) for f in $launch; do echo "extras/launch/$f.c"; done ;;
    agree) echo "extras/ftmpi/lib/agree.c extras/ftmpi/lib/mem.c" ;;
    esac
}

# phoenix.c as one object, its inner functions in sight; that of the unit tests if they have just made it.
phoenix() { # compiler, flags, object
    if [ "$3" = build/fuzz/replay/phoenix.o ] && [ build/split/joined.o -nt phoenix.c ]; then
        cp build/split/joined.o "$3"
        return 0
    fi
    echo '#include "../../test/unit/test.h"' > "${3%.o}.c"
    sed 's/^#define PHX_PRIVATE static$/#define PHX_PRIVATE extern/' phoenix.c >> "${3%.o}.c"
    $1 $warn $2 $include -c "${3%.o}.c" -o "$3"
}

build() { # compiler, flags, folder, target
    with= main=test/fuzz/main.c
    case $4 in
    parsers) with="$tls" ;;
    agree) ;;
    torture) with=$3/phoenix.o main= ;;
    *) with=$3/phoenix.o ;;
    esac
    $1 $warn $2 $include "test/fuzz/$4.c" $main $(sources_of "$4") $with \
        $([ "$4$tls" != parsers-DPHX_TLS ] || echo -lbearssl) -o "$3/$4"
}

# Promise 115: the nodes of some inputs of stream, whose hosts call anything from everywhere, run again from
# their records. (Not those whose host has changed keys: a record has none.)
records() {
    rm -rf build/fuzz/records
    mkdir -p build/fuzz/records
    RECORD=build/fuzz/records build/fuzz/replay/stream $(ls test/fuzz/corpus/stream/* | awk 'NR % 9 == 1') \
        > build/fuzz/records.said 2>&1 && test/sim/replay.sh || :
    same=0 other=0
    for f in build/fuzz/records/*; do
        case $(build/replay/replay "$f" 2>&1 | tail -1) in
        same:*) same=$((same + 1)) ;;
        *KEYS*) ;;
        *) other=$((other + 1)); echo "# $f" ;;
        esac
    done
    if [ $same -gt 30 ] && [ $other = 0 ]; then echo "ok $count - $same recorded nodes ran again, the same"
    else echo "not ok $count - of recorded nodes $same ran the same again, and $other did not"; fi
}

replay() {
    cc=${CC:-cc}
    flags='-O0 -DFUZZ_MAIN'
    sane='-fsanitize=address,undefined -fno-sanitize-recover=all'
    mkdir -p build/fuzz/replay
    echo 'int main(void) { return 0; }' > build/fuzz/empty.c
    if $cc $sane build/fuzz/empty.c -o build/fuzz/empty 2> /dev/null && build/fuzz/empty 2> /dev/null; then
        flags="$flags $sane"
    fi
    tls=$(tls_of "$cc") count=0
    phoenix "$cc" "$flags" build/fuzz/replay/phoenix.o
    for t in $targets; do
        count=$((count + 1))
        if ! build "$cc" "$flags" build/fuzz/replay "$t" > "build/fuzz/replay/$t.said" 2>&1; then
            cat "build/fuzz/replay/$t.said"
            echo "not ok $count - fuzz $t compiles"
        elif build/fuzz/replay/"$t" "test/fuzz/corpus/$t" > "build/fuzz/replay/$t.said" 2>&1; then
            grep '^# ' "build/fuzz/replay/$t.said"
            echo "ok $count - fuzz $t: $(ls "test/fuzz/corpus/$t" | wc -l) inputs"
        else
            sed 's/^/# /' "build/fuzz/replay/$t.said"
            echo "not ok $count - fuzz $t: its corpus"
        fi
    done
    count=$((count + 1))
    records
    count=$((count + 1))
    if build "$cc" "$flags" build/fuzz/replay torture > build/fuzz/replay/torture.said 2>&1 \
        && build/fuzz/replay/torture 9 > build/fuzz/replay/torture.said 2> build/fuzz/replay/torture.why; then
        sed -n 's/^# /# torture: /p' build/fuzz/replay/torture.said
        echo "ok $count - torture of three nodes, each ninth call"
    else
        cat build/fuzz/replay/torture.said
        tr '\r' '\n' < build/fuzz/replay/torture.why | tail -30
        echo "not ok $count - torture of three nodes"
    fi
    echo "1..$count"
}

torture() { # each call
    cc=${CC:-cc}
    mkdir -p build/fuzz/torture.d
    phoenix "$cc" '-O1' build/fuzz/torture.d/phoenix.o
    build "$cc" '-O1' build/fuzz/torture.d torture
    build/fuzz/torture.d/torture 1 2> build/fuzz/torture.d/why || {
        tr '\r' '\n' < build/fuzz/torture.d/why | tail -5
        exit 1
    }
}

speed() {
    cc=${CC:-cc}
    mkdir -p build/fuzz/speed
    tls=
    phoenix "$cc" '-O2' build/fuzz/speed/phoenix.o
    build "$cc" '-O2 -DFUZZ_MAIN' build/fuzz/speed frames
    said=$(build/fuzz/speed/frames -rounds 200 test/fuzz/corpus/frames)
    figure=$(echo "$said" | sed 's/.*: \([0-9]*\) a second/\1/')
    verdict=ok
    [ "$figure" -ge 50000 ] || verdict=short
    printf 'bar\tfuzz: frames per second without sanitizers, at least\t%s\t50000\t%s\n' "$figure" "$verdict"
}

one() { # target: libFuzzer for $MINUTES or $RUNS; a line of figures
    found=build/fuzz/found/$1
    mkdir -p "$found" "test/fuzz/corpus/$1"
    case $1 in
    stream | pair) how='-max_len=700 -entropic=0' ;; # its bookkeeping takes as long as the nodes
    *) how='-max_len=4096' ;;
    esac
    how="$how ${RUNS:+-runs=$RUNS}"
    [ -n "${RUNS:-}" ] || how="$how -max_total_time=$((minutes * 60))"
    status=0
    ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=8 \
        nice "$clang/$1" $how -timeout=60 -rss_limit_mb=4000 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/crash-$1-" "$found" "test/fuzz/corpus/$1" \
        > "build/fuzz/$1.log" 2>&1 || status=$?
    awk -v name="$1" -v status=$status '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") edges = $(i + 1) }
        /stat::number_of_executed_units/ { runs = $2 }
        /stat::average_exec_per_sec/ { rate = $2 }
        END { printf "%-8s %10s runs, %6s a second, %6s edges%s\n", name, runs, rate, edges,
                  status ? ": FOUND A FAULT, see build/fuzz/" name ".log" : "" }' "build/fuzz/$1.log"
    [ -z "${KEEP:-}" ] || [ $status -ne 0 ] || keep "$1"
    return $status
}

keep() { # target: the fewest inputs that reach each edge
    rm -rf build/fuzz/least
    mkdir -p build/fuzz/least
    "$clang/$1" -set_cover_merge=1 -use_counters=0 build/fuzz/least \
        "test/fuzz/corpus/$1" "build/fuzz/found/$1" \
        > build/fuzz/merge.log 2>&1
    rm -f "test/fuzz/corpus/$1"/*
    cp build/fuzz/least/* "test/fuzz/corpus/$1"
}

# Whole nodes take long: of their programs only Phoenix is watched, and not what it compares.
nodes() { # target
    watched='-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp'
    [ $clang/nodes/phoenix.o -nt phoenix.c ] || phoenix clang "$flags $watched" $clang/nodes/phoenix.o
    objects=
    for f in test/fuzz/"$1".c test/fuzz/main.c $(sources_of "$1"); do
        object=$clang/nodes/$(echo "${f%.c}" | tr / _).o
        clang $warn $flags $include -c "$f" -o "$object"
        objects="$objects $object"
    done
    clang $flags -fsanitize=fuzzer $objects $clang/nodes/phoenix.o -o "$clang/$1"
}

fuzz() {
    minutes=${MINUTES:-30} bad=0 clang=build/fuzz/clang
    flags='-O2 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined'
    [ "${SANE:-1}" = 1 ] || flags=-O2 clang=build/fuzz/plain
    mkdir -p $clang/nodes
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d == 0 && n > 0; }' \
        > build/fuzz/empty.c
    clang -fsanitize=fuzzer build/fuzz/empty.c -o build/fuzz/empty > /dev/null 2>&1 || {
        echo 'make fuzz needs clang and its libFuzzer: apt-get install clang libclang-rt-dev'
        exit 1
    }
    tls=$(tls_of clang)
    for t in $targets; do
        case $t in *"${ONLY:-}"*) ;; *) continue ;; esac
        case $t in
        stream | pair) nodes "$t" ;;
        *)
            [ $clang/phoenix.o -nt phoenix.c ] \
                || phoenix clang "$flags -fsanitize=fuzzer-no-link" $clang/phoenix.o
            build clang "$flags -fsanitize=fuzzer" $clang "$t" ;;
        esac
        one "$t" || bad=1
    done
    exit $bad
}

afl() { # target
    command -v afl-clang-fast > /dev/null 2>&1 || { echo 'this needs AFL++: apt-get install afl++'; exit 1; }
    mkdir -p build/fuzz/afl
    tls=$(tls_of afl-clang-fast)
    phoenix afl-clang-fast '-O2' build/fuzz/afl/phoenix.o
    build afl-clang-fast '-O2 -fsanitize=fuzzer' build/fuzz/afl "$1"
    echo "afl-fuzz -i test/fuzz/corpus/$1 -o build/fuzz/afl/out -- build/fuzz/afl/$1"
}

case ${1:-fuzz} in
replay) replay ;;
speed) speed ;;
torture) torture ;;
afl) afl "$2" ;;
*) fuzz ;;
esac
