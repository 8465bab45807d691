#!/bin/sh
# run.sh - all the tests of Phoenix. usage: test/run.sh [--only PATTERN | --check]
#
# Works through stages; a failure stops nothing and the last line tells: "N passed, M failed", with the
# number of skips behind it if there are any. What is counted are TAP lines ("ok", "not ok") of all jobs.
# Stages of real processes do one job at a time, since some measure time. What only computes runs beside
# them, niced, on the other core.
# --check is `make check`, about a minute: phoenix.c by one compiler, and the unit tests of src/, not
# sanitized. PATTERN is a shell pattern for parts of job names, e.g. --only 'unit t_wire' or --only
# 'build*gcc'. From the environment: CC (one compiler, instead of gcc and clang), JOBS (2), TEST_TIMEOUT
# (120 seconds for each program), V=1 (show the output of what passes, too).
set -u
export LC_ALL=C
cd "$(dirname "$0")/.." || exit 1

only= check=
case ${1-} in
'') ;;
--check) check=yes ;;
--only)
    only=${2:?"--only wants a pattern"} ;;
*)
    echo 'usage: test/run.sh [--only PATTERN | --check]' >&2
    exit 2 ;;
esac

seconds=${TEST_TIMEOUT:-120}
verbose=${V:-0}
started=$(date +%s)
work=build/run.$$
mkdir -p "$work" || exit 1
: > "$work/counts"
trap 'rm -rf "$work"' EXIT
trap 'touch "$work/stop"; exit 130' HUP INT TERM

have() { command -v "${1%% *}" > /dev/null 2>&1; }
label() { basename "$1" | tr -c 'A-Za-z0-9.+\n' _; } # a compiler command as part of a file name
skip() { echo "ok - $1 # SKIP $2"; }

# ---- Jobs ----------------------------------------------------------------------------------------------

add() { # name, command, perhaps another queue: for the next stage
    [ -z "$check" ] || case $1 in
    amalgamation | "build joined $cc" | 'unit '*' split') ;;
    *) return 0 ;;
    esac
    case $1 in
    *$only*) echo "$1|$2" >> "$work/${3:-queue}" ;;
    esac
}

# It only computes, and the clock is nothing to it: when there is a core to spare, and at last in any case.
beside() { # name, command
    add "$1" "seconds=900; $2" beside
}

# Takes the next job that nobody has until there is none; says the queue and the number of each that it did.
worker() { # queue, a file: as long as that is there
    job=0
    while IFS= read -r line; do
        job=$((job + 1))
        [ -e "$2" ] && [ ! -e "$work/stop" ] || return
        mkdir "$work/$1.jobs/$job" 2> /dev/null || continue
        (
            (eval "${line#*|}") > "$work/$1.jobs/$job/log" 2>&1 < /dev/null
            echo $? > "$work/$1.jobs/$job/status"
            times > "$work/$1.jobs/$job/times"
        )
        echo "$1 $job"
    done < "$work/$1"
}

# Counts TAP lines into counts and prints one line about them. What ends badly, runs fewer tests than it
# planned or, being a program of tests, has no plan, has failed.
judge() { # name, status, counts, log, what else to say
    awk -v name="$1" -v status="$2" -v counts="$3" -v far="${5-}" '
        BEGIN { plan = -1 }
        /^not ok/ { failed++; next }
        function because() { sub(/.*# *[Ss][Kk][Ii][Pp] */, ""); skipped++; why = why "; " $0 }
        /^ok/ && tolower($0) ~ /# *skip/ { because(); next }
        /^ok/ { passed++; next }
        /^1\.\.0/ { because(); plan = 0; next }
        /^1\.\.[0-9]+/ { plan = substr($0, 4) + 0 }
        END {
            if (status == 124 || status == 137)
                odd = "timed out"
            else if (plan > 0 && plan != passed + failed + skipped)
                odd = "planned " plan " and ran " passed + failed + skipped
            else if (plan < 0 && name ~ /^(unit|launch|ftmpi|sim|real|lab|mutants|fuzz)/ && passed > 0)
                odd = "printed no plan"
            else if (status != 0 && !failed)
                odd = "ended with status " status
            else if (passed + failed + skipped == 0)
                odd = "no test in it"
            if (odd != "")
                failed++
            printf "%s - %s: %d passed", failed ? "not ok" : "ok", name, passed
            if (failed)
                printf ", %d failed", failed
            if (skipped)
                printf ", %d SKIPPED: %s", skipped, substr(why, 3)
            print (odd != "" ? " (" odd ")" : "") far
            print passed + 0, failed + 0, skipped + 0 >> counts
            exit failed > 0
        }' "$4"
}

report() { # queue, job number, how far the stage is: one line; the output too if it failed
    name=$(sed -n "$2s/|.*//p" "$work/$1")
    log=$work/$1.jobs/$2/log
    judge "$name" "$(cat "$work/$1.jobs/$2/status")" "$work/counts" "$log" " [$3]"
    bad=$?
    # The second line of times is of the children: user and system, as 1m2.3s.
    awk -F'[ms ]+' -v name="$name" 'NR == 2 { printf "%.1f\t%s\n", $1 * 60 + $2 + $3 * 60 + $4, name }' \
        "$work/$1.jobs/$2/times" >> "$work/dear"
    if [ "$verbose" != 0 ]; then sed 's/^/    /' "$log"
    elif [ "$bad" -ne 0 ]; then
        # The beginning and the end of what is not well; V=1 shows all.
        grep -v '^ok' "$log" | awk '{ line[NR] = $0 }
            END { for (i = 1; i <= NR; i++)
                if (i <= 40 || i > NR - 40) print "    " line[i]; else if (i == 41) print "    ..." }'
    fi
}

beside_one() { # while one works alone
    renice -n 10 -p "$(exec sh -c 'echo $PPID')" > /dev/null 2>&1 # this subshell
    worker beside "$work/alone"
}

work_through() { # queue, jobs at a time
    : > "$work/alone"
    [ "$2" -gt 1 ] || [ "$jobs" -lt 2 ] || beside_one &
    {
        n=0
        while [ "$n" -lt "$2" ]; do
            worker "$1" "$work" &
            n=$((n + 1))
        done
        wait
        rm -f "$work/alone"
    } &
    wait
}

# Which of the stages it is, and behind each line which of its jobs: how far it is.
stages=$(grep -c "^ *stage '" "$0") stage=0
stage() { # title, jobs at a time, perhaps another queue: runs what was added
    stage=$((stage + 1)) queue=${3:-queue}
    [ -s "$work/$queue" ] || return 0
    mkdir -p "$work/$queue.jobs" "$work/beside.jobs"
    ended=$(ls "$work/$queue.jobs" | wc -l) total=$(wc -l < "$work/$queue")
    [ "$ended" -lt "$total" ] || return 0
    printf '\n# %s (stage %d of %d, after %d s)\n' "$1" "$stage" "$stages" $(($(date +%s) - started))
    touch "$work/beside"
    work_through "$queue" "$2" | while read -r from job; do
        far=beside
        [ "$from" != "$queue" ] || { ended=$((ended + 1)); far="$ended of $total"; }
        report "$from" "$job" "$far"
    done
    rm -rf "$work/$queue" "$work/$queue.jobs"
}

limit() { # runs a program that may hang
    if timeout -k 5 5 true > /dev/null 2>&1; then timeout -k 5 "$seconds" "$@"; else "$@"; fi
}

quiet() { # what, command: it must succeed without a word
    what=$1
    shift
    said=$("$@" 2>&1) && [ -z "$said" ] && echo "ok - $what" && return 0
    echo "not ok - $what"
    printf '%s\n' "$*" "$said" | sed 's/^/# /'
    return 1
}

# ---- Compilers -----------------------------------------------------------------------------------------

warn='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic -Werror'
warn_tests='-Wall -Wextra -Wshadow -Wstrict-prototypes -Wundef -Werror'

if [ -n "${CC-}" ]; then echo "$CC"; else printf '%s\n' gcc clang; fi > "$work/compilers"
cc=
for one in ${CC:+"$CC"} gcc clang cc; do
    if [ -z "$cc" ] && have "$one"; then cc=$one; fi
done
[ -n "$cc" ] || { echo 'run.sh: no C compiler' >&2; exit 1; }
export CC="${CC:-$cc}"
[ "$CC" = "$cc" ] || { echo "run.sh: no compiler $CC" >&2; exit 1; }

# ---- What the jobs do ----------------------------------------------------------------------------------

build_joined() { # compiler, directory, flags
    have "$1" || { skip "phoenix.c with $1" "no $1"; return 0; }
    mkdir -p "build/$2"
    quiet "phoenix.c with $1 $3" $1 $3 -c phoenix.c -o "build/$2/phoenix.o"
}

object_of() { echo "$1" | sed 's|^src/||; s|/|_|g; s|c$|o|'; } # src/dial/addr.c: dial_addr.o

shipped() { # that object, if it is fresh, or else its source
    object=build/joined/$(label "$cc")/phoenix.o
    if [ -n "$(find "$object" -newer phoenix.c -newer phoenix.h 2> /dev/null)" ]; then echo "$PWD/$object"
    else echo phoenix.c; fi
}

build_split() { # compiler
    have "$1" || { skip "src/ with $1" "no $1"; return 0; }
    dir=build/split/$(label "$1")
    mkdir -p "$dir"
    for f in src/*/*.c; do
        quiet "$f with $1" $1 -std=c99 -O2 $warn -I. -Isrc -c "$f" -o "$dir/$(object_of "$f")"
    done
}

build_extra() { # compiler, source under extras/
    have "$1" || { skip "$2 with $1" "no $1"; return 0; }
    dir=build/extras/$(label "$1")
    mkdir -p "$dir"
    quiet "$2 with $1" $1 -std=c99 -O2 $warn -I. -c "$2" -o "$dir/$(basename "$2" .c).o"
    [ "$1" = "$cc" ] && [ -e "${2%.c}.h" ] || return 0
    have g++ || { skip "${2%.c}.h as C++" 'no g++'; return 0; }
    printf '#include "%s"\n' "${2%.c}.h" > "$dir/$(basename "$2" .c).cpp"
    quiet "${2%.c}.h as C++" g++ -std=c++11 -Wall -Wextra -Wundef -pedantic -Werror -I. -fsyntax-only \
        "$dir/$(basename "$2" .c).cpp"
}

build_ftmpi() { # compiler: the library of the MPI and its launcher
    have "$1" || { skip "extras/ftmpi with $1" "no $1"; return 0; }
    dir=build/extras/$(label "$1")/ftmpi
    mkdir -p "$dir"
    for f in extras/ftmpi/*.c extras/ftmpi/lib/*.c extras/ftmpi/examples/*.c extras/ftmpi/demo/*.c; do
        quiet "$f with $1" $1 -std=c99 -O2 $warn -I. -Iextras/ftmpi -c "$f" -o "$dir/$(basename "$f" .c).o"
    done
}

header() { # promise 125; compiler, language, flags: phoenix.h alone, and twice
    have "$1" || { skip "phoenix.h as $2 with $1" "no $1"; return 0; }
    mkdir -p build/header
    f=build/header/$(label "$1").$2
    printf '#include "phoenix.h"\n#include "phoenix.h"\nint main(void) { return PHX_OK; }\n' > "$f"
    quiet "phoenix.h as $2 with $1" $1 $3 -Wall -Wextra -Wundef -pedantic -Werror -I. -c "$f" -o "$f.o"
}

# Promises 117 and 123: what phoenix.o may not ask of libc, with the names that compilers put in their place.
banned='printf fprintf vprintf vfprintf puts fputs putchar putc fputc fwrite perror stdout stderr exit _exit
    abort raise kill signal sigaction sleep usleep nanosleep sprintf vsprintf sscanf __isoc99_sscanf strcpy
    strcat strdup strtok gets atoi rand srand random srandom time gettimeofday fork system pthread_create'

# nm -P prints: name type value size. Darwin puts an underscore before every name.
symbols() {
    nm -P "$1" | awk -v darwin="$(uname)" 'darwin == "Darwin" { sub(/^_/, "") } { print $1, $2 }'
}
foreign_names() { symbols "$1" | awk '$2 ~ /^[A-TV-Z]$/ && ($1 !~ /^phx_/ || $1 ~ /^phx__/) { print $1 }'; }
mutable_data() { symbols "$1" | awk '$2 ~ /^[BDCGSbdgs]$/ { print $1 }'; }
banned_calls() {
    symbols "$1" | awk -v list="$(echo $banned)" '
        BEGIN { n = split(list, part, " "); for (i = 1; i <= n; i++) bad[part[i]] = 1 }
        $2 == "U" && $1 in bad { print $1 }'
}

none() { # what, command: it must print nothing
    what=$1
    shift
    said=$("$@")
    if [ -z "$said" ]; then echo "ok - $what"; else echo "not ok - $what"; echo "$said" | sed 's/^/# /'; fi
}

exactly() { # what, wanted, command
    what=$1
    wanted=$2
    shift 2
    said=$("$@" | sort | tr '\n' ' ')
    if [ "$said" = "$wanted " ]; then echo "ok - $what"; else echo "not ok - $what: $said"; fi
}

names_and_data() {
    have nm || { skip 'symbols of phoenix.o' 'no nm'; return 0; }
    mkdir -p build/nm
    cat > build/nm/bad.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
int helper(void);
int phx__leak(void);
void phx_say(int x);
int phx_counter = 1;
int helper(void) { static int calls; return ++calls; }
int phx__leak(void) { return 0; }
void phx_say(int x) { if (x) exit(printf("%d", x)); }
EOF
    # Without position-independent code, so that constant pointers are constant data. Unoptimized for
    # data, so that none is dropped.
    still=
    $cc -fno-pic -c build/nm/bad.c -o build/nm/bad.o 2> /dev/null && still=-fno-pic
    $cc -std=c99 -U_FORTIFY_SOURCE -O0 $still -c build/nm/bad.c -o build/nm/bad.o
    exactly 'self-check: foreign names are seen' 'helper phx__leak' foreign_names build/nm/bad.o
    exactly 'self-check: banned calls are seen' 'exit printf' banned_calls build/nm/bad.o
    if mutable_data build/nm/bad.o | grep -q calls; then echo 'ok - self-check: mutable data is seen'
    else echo 'not ok - self-check: mutable data is seen'; fi

    case $(shipped) in
    *.o) cp "$(shipped)" build/nm/phoenix.o ;;
    *) quiet 'phoenix.c as it ships' $cc -std=c99 -O2 -c phoenix.c -o build/nm/phoenix.o || return 0 ;;
    esac
    $cc -std=c99 -U_FORTIFY_SOURCE -O0 $still -c phoenix.c -o build/nm/plain.o
    none 'phoenix.o defines phx_ names only' foreign_names build/nm/phoenix.o
    none 'phoenix.o calls nothing banned' banned_calls build/nm/phoenix.o
    none 'unoptimized it calls nothing banned either' banned_calls build/nm/plain.o
    none 'phoenix.o has no mutable data' mutable_data build/nm/plain.o
}

# What the launcher has of the MPI.
launch_ftmpi=$(for f in arbiter start modes; do echo "extras/ftmpi/lib/$f.c"; done)
# Programs are compiled by -Og in a fourth of the time that -O1 takes, what they test as it was.
flags_program="-std=c99 -g -Og -DPHX_DEBUG $warn_tests -I. -Isrc -Itest -Itest/unit"
flags_tests="$flags_program -O1"
sanitize=

sanitizers() { # sets sanitize, if the compiler has them
    sane='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
    echo 'int main(void) { return 0; }' > "$work/sane.c"
    if $cc $sane "$work/sane.c" -o "$work/sane" > /dev/null 2>&1 && "$work/sane" > /dev/null 2>&1; then
        sanitize=$sane
        # Torture asks for more than there is and wants NULL, not the end.
        export ASAN_OPTIONS="${ASAN_OPTIONS-allocator_may_return_null=1}"
        export UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"
    else
        echo "sanitizers|skip 'unit tests under sanitizers' '$cc has none here'" >> "$work/queue"
    fi
}

library() { # source: one object of build/split/libphx.a
    object=build/split/test/$(object_of "$1")
    quiet "$1 for the unit tests" $cc $flags_tests $sanitize -c "$1" -o "$object"
}

program() { # test: its object, for split and joined
    how=
    if chooses "$1"; then how=-O1; fi
    case $1 in */t_post_model.c | */t_wire.c) how=-O1 ;; esac # these compute for half a minute and more
    object=build/unit/objects/$(basename "$1" .c).o
    quiet "$1 compiles" $cc $flags_program $sanitize $how -c "$1" -o "$object"
}

# phoenix.c as one object, its inner functions in sight. test.h goes first, as it does in a joined test. It is
# for the tests of the launcher and of the MPI, too, and kept while it is fresh.
joined() { # name, more flags
    at=build/split/$1 how="$cc $flags_tests $sanitize $2 -Wno-unused-function"
    [ "$(cat "$at.how" 2> /dev/null)" = "$how" ] \
        && [ -n "$(find "$at.o" -newer phoenix.c -newer phoenix.h -newer test/unit/test.h)" ] \
        && echo "ok - phoenix.c for the tests is fresh" && return
    rm -f "$at.how"
    echo '#include "test.h"' > "$at.c"
    sed 's/^#define PHX_PRIVATE static$/#define PHX_PRIVATE extern/' phoenix.c >> "$at.c"
    quiet "phoenix.c for the tests $2" $how -c "$at.c" -o "$at.o" && echo "$how" > "$at.how"
}

chooses() { # test: it says what phoenix.c is, by macros in front of it
    case $1 in */t_near.c | */t_node_poll.c | */t_route_paper.c) ;; *) return 1 ;; esac
}

unit() { # split, joined, tls or over, test
    name=$(basename "$2" .c)
    exe=build/unit/$1/$name how= of=build/unit/objects/$name.o
    rm -f "$exe"
    case $1 in
    joined) with=build/split/joined.o ;;
    tls) how=-DPHX_TLS of=$2 with='build/split/tls.o -lbearssl' ;;
    over) how='-DPHX_TLS -DT_OVER_TLS' of=$2 with='build/split/tls.o -lbearssl' ;;
    *) with=build/split/libphx.a ;;
    esac
    if [ "$1" != split ] && chooses "$2"; then
        how="$how -DPHX_JOINED -Wno-unused-function -O1" of=$2 with=${with#*.o}
    fi
    part=extras/${name#t_}/${name#t_}.c # t_ph.c tests extras/ph/ph.c
    [ ! -e "$part" ] || with="$part $with"
    quiet "$2 links" $cc $flags_program $sanitize $how "$of" $with -pthread -lm -o "$exe" > "$exe.said" || {
        cat "$exe.said"
        return 1
    }
    limit "$exe"
}

example() { # source: compiled in a tree of its own by the line that its first comment shows
    name=$(basename "$1" .c)
    line=$(awk '
        { end = index($0, "*/"); sub(/\*\/.*/, "") }
        match($0, /(^|[^A-Za-z0-9_])cc /) {
            s = substr($0, RSTART)
            print substr(s, index(s, "cc ") + 3)
            exit
        }
        end { exit }' "$1")
    [ -n "$line" ] || { echo "not ok - $1 shows its compile line (cc ...) in its first comment"; return 1; }
    tree=build/examples/$name
    rm -rf "$tree"
    mkdir -p "$tree"
    cp -R phoenix.c phoenix.h examples extras "$tree"
    case $line in
    *examples/*) dir=$tree ;;
    *) dir=$tree/examples ;;
    esac
    quiet "$1: cc $line" sh -c "cd $dir && $cc $warn_tests $line"
}

# TLS is built where there is BearSSL, and the tests that make links run over it once more.
has_bearssl() {
    printf '#include <bearssl.h>\nint main(void) { return br_ec_get_default() == 0; }\n' > "$work/bear.c"
    $cc "$work/bear.c" -lbearssl -o "$work/bear" > /dev/null 2>&1
}

# The launcher's brains and hands but for its main program and the clients' library, each as one object.
launch_object() { # source
    object=build/launch/test/$(echo "${1#extras/}" | tr / _).o # extras/ftmpi/lib/start.c is another start.c
    quiet "$1 for its tests" $cc $flags_tests $sanitize -c "$1" -o "$object"
}

launch_program() { # phxrun as it ships, for the scripts
    sources="$(ls extras/launch/*.c | grep -v /nla.c) $launch_ftmpi"
    quiet 'phxrun' $cc -std=c99 -O2 -g $warn -I. $sources "$(shipped)" -o build/launch/phxrun
}

launch_test() { # test
    exe=build/launch/$(basename "$1" .c)
    rm -f "$exe"
    with=
    case $1 in
    */t_nla.c) with=extras/launch/nla.c ;;
    esac
    quiet "$1 compiles" $cc $flags_program $sanitize "$1" $with build/launch/test/liblaunch.a \
        build/split/joined.o -pthread -lm -o "$exe" > "$exe.said" || {
        cat "$exe.said"
        return 1
    }
    limit "$exe"
}

# The MPI. Its objects lie where ftmpicc looks for them, so that programs are linked with them, too.
ftmpi_object() { # source
    quiet "$1 for its tests" $cc $flags_tests $sanitize -Iextras/ftmpi -c "$1" \
        -o "build/ftmpi.test/objects/$(basename "$1" .c).o"
}

ftmpi_launcher() { quiet 'ftmpirun' make build/ftmpi/ftmpirun CC="$cc" -s; }

ftmpi_test() { # test
    exe=build/ftmpi.test/$(basename "$1" .c)
    rm -f "$exe"
    quiet "$1 compiles" $cc $flags_program $sanitize -Iextras/ftmpi -Iextras/ftmpi/lib "$1" \
        build/ftmpi.test/libftmpi.a -pthread -lm -o "$exe" > "$exe.said" || {
        cat "$exe.said"
        return 1
    }
    limit "$exe"
}

ftmpi_script() { # script: it finds the programs in FTMPIRUN and FTMPICC
    FTMPIRUN=$PWD/build/ftmpi/ftmpirun FTMPICC="$PWD/extras/ftmpi/ftmpicc $sanitize"
    FTMPI_CC=$cc FTMPI_BUILD=$PWD/build/ftmpi.test FTMPI_CFLAGS="-g -O1 $sanitize"
    PHXRUN=$PWD/build/launch/phxrun
    export PHXRUN FTMPIRUN FTMPICC FTMPI_CC FTMPI_BUILD FTMPI_CFLAGS
    real "$1"
}

launch_script() { # script: it finds the program in PHXRUN
    PHXRUN=$PWD/build/launch/phxrun
    export PHXRUN
    real "$1"
}

real() { # script: what it links with its programs is in PHOENIX_O
    PHOENIX_O=$(shipped)
    export PHOENIX_O
    if [ -x "$1" ]; then limit "$1"; else limit sh "$1"; fi
}

# Would a program be noticed that dies, hangs, fails in silence or stops half way? Here are some.
net_job() { # what, status, lines: report() must call it a failure
    printf "$3" > "$work/net.log"
    if judge 'unit net' "$2" /dev/null "$work/net.log" > /dev/null; then echo "not ok - self-check: $1"
    else echo "ok - self-check: $1"; fi
}
net_sim() { # what, what a simulator does
    printf '#!/bin/sh\n%s\n' "$2" > "$work/net.sim"
    chmod +x "$work/net.sim"
    if SIM=$work/net.sim sh test/sim/run.sh part detect > "$work/net.said" 2>&1 \
        || ! grep -q '^not ok' "$work/net.said"; then echo "not ok - self-check: a simulator that $1 is seen"
    else echo "ok - self-check: a simulator that $1 is seen"; fi
}
net() {
    net_job 'a test that fails is seen' 0 '1..2\nok 1 - a\nnot ok 2 - b\n'
    net_job 'a bad end is seen' 139 'ok 1 - a\n1..1\n'
    net_job 'too few tests are seen' 0 '1..3\nok 1 - a\n'
    net_job 'a plan that is missing is seen' 0 'ok 1 - a\n'
    net_job 'no test at all is seen' 0 ''
    net_job 'a time-out is seen' 124 '1..1\nok 1 - a\n'
    fine='echo "ok - sim x"; printf "bar\tx\t1\t2\tok\n"; echo 1..2'
    net_sim 'kills itself in one scenario' "case \$* in *computing*) kill -9 \$\$ ;; esac; $fine"
    net_sim 'ends with a status after its plan' "$fine; exit 99"
    net_sim 'has no plan' 'echo "ok - sim x"'
    net_sim 'stops half way' 'echo "ok - sim x"; echo 1..2'
    net_sim 'misses a bar' 'printf "bar\tx\t3\t2\tshort\n"; echo 1..1'
    printf '#!/bin/sh\n%s\n' "$fine" > "$work/net.sim"
    chmod +x "$work/net.sim"
    if SIM=$work/net.sim sh test/sim/run.sh part detect > "$work/net.said" 2>&1 \
        && ! grep -q '^not ok' "$work/net.said"; then echo 'ok - self-check: a good one is let pass'
    else echo 'not ok - self-check: a good one is let pass'; fi
}

# ---- The stages ----------------------------------------------------------------------------------------

jobs=${JOBS:-2}
add 'amalgamation' 'quiet "phoenix.c is fresh" ./amalgamate.sh --check'
add 'source' 'sh test/source.sh'
add 'sizes' 'sh test/sizes.sh'
add 'promises' 'sh test/promises.sh --check'
add 'net' net
stage 'sources' "$jobs"

while IFS= read -r one; do
    how=add
    [ "$one" = "$cc" ] || how=beside # another compiler has time
    $how "build joined $one" "build_joined '$one' 'joined/$(label "$one")' '-std=c99 -O2 $warn'"
    $how "build joined $one poll" \
        "build_joined '$one' 'poll/$(label "$one")' '-std=c99 -O2 -DPHX_USE_POLL $warn'"
    $how "build joined $one lines" "build_joined '$one' 'lines/$(label "$one")' '-std=c99 -DPHX_LINES $warn'"
    if has_bearssl; then
        $how "build joined $one TLS" \
            "build_joined '$one' 'tls/$(label "$one")' '-std=c99 -O2 -DPHX_TLS $warn'"
    else
        $how "build joined $one TLS" "skip 'phoenix.c with $one -DPHX_TLS' 'no libbearssl-dev'"
    fi
    $how "build split $one" "build_split '$one'"
    $how "header c $one" "header '$one' c -std=c99"
    for f in extras/*/*.c; do
        case $f in
        extras/ftmpi/*) ;;
        *) [ ! -e "$f" ] || $how "build extra $f $one" "build_extra '$one' $f" ;;
        esac
    done
    $how "build ftmpi $one" "build_ftmpi '$one'"
done < "$work/compilers"
have cc && add 'build plain cc' "build_joined cc plain '-std=c99 -O2'"
for one in g++ clang++; do
    add "header c++ $one" "header $one cpp -std=c++11"
done
add 'symbols' names_and_data
stage 'builds' "$jobs"

for f in test/unit/t_*.c; do
    [ -e "$f" ] || continue
    add "unit $(basename "$f" .c) split" "unit split $f" units
    # Of phoenix.c as it ships there are the tests of whole nodes, and those that choose what it is; the
    # simulator and real processes run it, too. A room alone is the same there as in its own files.
    if grep -q '"nodes.h"\|"raw.h"\|phx_new(' "$f" || chooses "$f"; then
        add "unit $(basename "$f" .c) joined" "unit joined $f" units
    fi
done
if has_bearssl; then
    add 'unit t_tls with TLS' 'unit tls test/unit/t_tls.c' units
    add 'unit t_tls_openssl with TLS' 'unit tls test/unit/t_tls_openssl.c' units
    add 'unit t_endings over TLS' 'unit over test/unit/t_endings.c' units
    add 'unit t_torture over TLS' 'unit over test/unit/t_torture.c' units
    add 'unit t_near over TLS' 'unit over test/unit/t_near.c' units
else
    add 'unit t_tls with TLS' "skip 'links over TLS' 'no libbearssl-dev'" units
fi
for f in test/launch/t_*.c; do
    [ -e "$f" ] && add "launch $(basename "$f" .c)" "launch_test $f" launch
done
for f in test/launch/*.sh; do
    [ -e "$f" ] && add "launch $(basename "$f" .sh)" "launch_script $f" launch
done
for f in test/ftmpi/t_*.c; do
    [ -e "$f" ] && add "ftmpi $(basename "$f" .c)" "ftmpi_test $f" ftmpi_units
done
for f in test/ftmpi/*.sh; do
    [ -e "$f" ] && add "ftmpi $(basename "$f" .sh)" "ftmpi_script $f" ftmpi
done
for part in world routing detect delivery mpi lies campaign sane; do
    add "sim $part" "seconds=900; limit sh test/sim/run.sh part $part" sims
done
touch "$work/launch" "$work/ftmpi" "$work/ftmpi_units"

# What all these tests are linked with is built at once.
[ -s "$work/units" ] || [ -n "$only" ] \
    || echo 'unit|echo "not ok - there is a test/unit/t_*.c"' >> "$work/units"
cat "$work/units" "$work/launch" "$work/ftmpi_units" "$work/ftmpi" > "$work/all" 2> /dev/null
[ -n "$check" ] || [ ! -s "$work/all" ] || {
    sanitizers
    mkdir -p build/split
    echo 'library phoenix.c|joined joined ""' >> "$work/queue"
}
! grep -q ' TLS|unit ' "$work/all" || echo 'library phoenix.c with TLS|joined tls -DPHX_TLS' >> "$work/queue"
[ ! -s "$work/sims" ] || echo 'sim build|seconds=400; limit sh test/sim/run.sh build' >> "$work/queue"
if [ -s "$work/units" ]; then
    for d in objects split joined tls over; do mkdir -p build/unit/$d; done
    mkdir -p build/split/test
    rm -f build/split/libphx.a build/split/test/*.o build/unit/objects/*.o
    for f in src/*/*.c; do
        echo "library $f|library $f" >> "$work/queue"
    done
    sed -n 's/.*|unit split \(.*\)/program \1|program \1/p; s/.*|unit joined \(.*\)/program \1|program \1/p' \
        "$work/units" | sort -u >> "$work/queue"
fi
if [ -s "$work/launch" ]; then
    mkdir -p build/launch/test
    rm -f build/launch/test/* build/launch/phxrun
    for f in extras/launch/*.c $launch_ftmpi; do
        case $f in
        */phxrun.c | */nla.c) ;;
        *) echo "library $f|launch_object $f" >> "$work/queue" ;;
        esac
    done
fi
if [ -s "$work/ftmpi" ] || [ -s "$work/ftmpi_units" ]; then
    mkdir -p build/ftmpi.test/objects build/launch
    find build/ftmpi.test -name '*.[ao]' -exec rm -f {} +
    for f in extras/ftmpi/lib/*.c; do
        echo "library $f|ftmpi_object $f" >> "$work/queue"
    done
    ! grep -q ftmpi_script "$work/ftmpi" || echo 'library ftmpirun|ftmpi_launcher' >> "$work/queue"
fi
if grep -q 'launch_script\|phxrun.sh' "$work/launch" "$work/ftmpi"; then
    echo 'library phxrun|launch_program' >> "$work/queue"
fi
stage 'what the tests are linked with' "$jobs"

if [ -s "$work/units" ]; then
    ar rc build/split/libphx.a build/split/test/*.o
    at_once=$jobs
    [ -z "$check" ] || at_once=4
    stage 'unit tests' "$at_once" units # many of them wait most of the time
fi
[ ! -s "$work/launch" ] || ar rc build/launch/test/liblaunch.a build/launch/test/*.o
stage 'the launcher' "$jobs" launch
if [ -s "$work/ftmpi" ] || [ -s "$work/ftmpi_units" ]; then
    cp build/split/joined.o build/ftmpi.test/objects/phoenix.o
    ar rc build/ftmpi.test/libftmpi.a build/ftmpi.test/objects/*.o
fi
stage 'the MPI, its units' "$jobs" ftmpi_units

for f in examples/*.c; do
    [ -e "$f" ] && beside "example $(basename "$f" .c)" "example $f"
done
ls examples/*.c > /dev/null 2>&1 || [ -n "$only" ] || add 'examples' 'skip examples/ "none there"' beside
beside 'fuzz' 'limit sh test/fuzz/run.sh replay'
beside 'cliffs' 'limit sh test/bench/cliffs/run.sh small'
beside 'mutants' 'limit sh test/mutants/run.sh once'
beside 'real packages' 'real test/real/packages.sh' # compilers, and two greetings
[ ! -s "$work/sims" ] || cat "$work/sims" >> "$work/beside"


# One at a time: these measure time and use ports.
stage 'the MPI' 1 ftmpi
for f in test/real/*.sh; do
    case $f in */packages.sh) continue ;; esac
    [ -e "$f" ] && add "real $(basename "$f" .sh)" "real $f"
done
[ -s "$work/queue" ] || [ -n "$only" ] || add 'real' 'skip test/real/ "none there"'
stage 'real processes on loopback' 1

lab() {
    have bash || { skip 'lab' 'no bash'; return 0; }
    limit bash test/lab/run.sh --quick
}
add 'lab' lab
stage 'the lab: real processes behind real walls' 1

stage 'what had no core to spare' "$jobs" beside

[ -s "$work/counts" ] || { echo "run.sh: no job is called *$only*" >&2; echo '0 passed, 1 failed'; exit 1; }
printf '\n# %s seconds; the dearest jobs, in seconds of processor:\n' $(($(date +%s) - started))
sort -rn "$work/dear" | sed -n 's/^/#   /; 1,12p'
awk '{ p += $1; f += $2; s += $3 }
    END {
        print p + 0 " passed, " f + 0 " failed" (s ? ", " s " skipped" : "")
        exit f > 0
    }' "$work/counts"
