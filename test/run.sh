#!/bin/sh
# run.sh - all the tests of Phoenix. usage: test/run.sh [--only PATTERN | --check]
#
# Works through stages; a failure stops nothing and the last line tells: "N passed, M failed", with the
# number of skips behind it if there are any. What is counted are TAP lines ("ok", "not ok") of all jobs.
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

add() { # name, command: for the next stage
    [ -z "$check" ] || case $1 in
    amalgamation | "build joined $cc" | 'unit '*' split') ;;
    *) return 0 ;;
    esac
    case $1 in
    *$only*) echo "$1|$2" >> "$work/queue" ;;
    esac
}

worker() { # takes the next job that nobody has until there is none; says the number of each that it did
    job=0
    while IFS= read -r line; do
        job=$((job + 1))
        [ -d "$work" ] && [ ! -e "$work/stop" ] || return
        mkdir "$work/locks/$job" 2> /dev/null || continue
        (
            (eval "${line#*|}") > "$work/locks/$job/log" 2>&1 < /dev/null
            echo $? > "$work/locks/$job/status"
            times > "$work/locks/$job/times"
        )
        echo "$job"
    done < "$work/queue"
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

report() { # job number: one line; the output too if it failed
    name=$(sed -n "$1s/|.*//p" "$work/queue")
    log=$work/locks/$1/log
    judge "$name" "$(cat "$work/locks/$1/status")" "$work/counts" "$log" " [$ended of $total]"
    bad=$?
    # The second line of times is of the children: user and system, as 1m2.3s.
    awk -F'[ms ]+' -v name="$name" 'NR == 2 { printf "%.1f\t%s\n", $1 * 60 + $2 + $3 * 60 + $4, name }' \
        "$work/locks/$1/times" >> "$work/dear"
    if [ "$verbose" != 0 ]; then sed 's/^/    /' "$log"
    elif [ "$bad" -ne 0 ]; then
        # The beginning and the end of what is not well; V=1 shows all.
        grep -v '^ok' "$log" | awk '{ line[NR] = $0 }
            END { for (i = 1; i <= NR; i++)
                if (i <= 40 || i > NR - 40) print "    " line[i]; else if (i == 41) print "    ..." }'
    fi
}

# Which of the stages it is, and behind each line which of its jobs: how far it is.
stages=$(grep -c "^ *stage '" "$0") stage=0
stage() { # title, jobs at a time: runs what was added
    stage=$((stage + 1))
    [ -s "$work/queue" ] || return 0
    total=$(wc -l < "$work/queue") ended=0
    printf '\n# %s (stage %d of %d, after %d s)\n' "$1" "$stage" "$stages" $(($(date +%s) - started))
    rm -rf "$work/locks"
    mkdir "$work/locks"
    {
        n=0
        while [ "$n" -lt "$2" ]; do
            worker &
            n=$((n + 1))
        done
        wait
    } | while read -r job; do
        ended=$((ended + 1))
        report "$job"
    done
    rm -f "$work/queue"
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
    [ -e "${2%.c}.h" ] || return 0
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

    quiet 'phoenix.c as it ships' $cc -std=c99 -O2 -c phoenix.c -o build/nm/phoenix.o || return 0
    $cc -std=c99 -U_FORTIFY_SOURCE -O0 $still -c phoenix.c -o build/nm/plain.o
    none 'phoenix.o defines phx_ names only' foreign_names build/nm/phoenix.o
    none 'phoenix.o calls nothing banned' banned_calls build/nm/phoenix.o
    none 'unoptimized it calls nothing banned either' banned_calls build/nm/plain.o
    none 'phoenix.o has no mutable data' mutable_data build/nm/plain.o
}

# What the launcher has of the MPI.
launch_ftmpi=$(for f in arbiter start modes; do echo "extras/ftmpi/lib/$f.c"; done)
flags_tests="-std=c99 -g -O1 -DPHX_DEBUG $warn_tests -I. -Isrc -Itest -Itest/unit"
sanitize=
joined_is_fresh=

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

# phoenix.c as one object, its inner functions in sight. test.h goes first, as it does in a joined test.
joined() {
    echo '#include "test.h"' > build/split/joined.c
    sed 's/^#define PHX_PRIVATE static$/#define PHX_PRIVATE extern/' phoenix.c >> build/split/joined.c
    quiet 'phoenix.c for the unit tests' \
        $cc $flags_tests $sanitize -Wno-unused-function -c build/split/joined.c -o build/split/joined.o
}

chooses() { # test: it says what phoenix.c is, by macros in front of it
    case $1 in */t_near.c | */t_node_poll.c | */t_route_paper.c) ;; *) return 1 ;; esac
}

unit() { # split or joined, test
    exe=build/unit/$1/$(basename "$2" .c)
    rm -f "$exe"
    case $1 in
    joined)
        how= with=build/split/joined.o
        if chooses "$2"; then how='-DPHX_JOINED -Wno-unused-function' with=; fi ;;
    tls) how='-DPHX_JOINED -DPHX_TLS -Wno-unused-function' with=-lbearssl ;;
    over) how='-DPHX_JOINED -DPHX_TLS -DT_OVER_TLS -Wno-unused-function' with=-lbearssl ;;
    *) how= with=build/split/libphx.a ;;
    esac
    part=$(basename "$2" .c)
    part=extras/${part#t_}/${part#t_}.c # t_ph.c tests extras/ph/ph.c
    [ ! -e "$part" ] || with="$part $with"
    quiet "$2 compiles" $cc $flags_tests $sanitize $how "$2" $with -pthread -lm -o "$exe" > "$exe.said" || {
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

launch_phoenix() { # phoenix.c for these, kept while it is fresh
    object=build/launch/phoenix.$(label "$cc").o
    [ -n "$(find "$object" -newer phoenix.c -newer phoenix.h -newer test/run.sh 2> /dev/null)" ] && {
        echo 'ok - phoenix.c for the launcher is fresh'
        return
    }
    quiet 'phoenix.c for the launcher' $cc $flags_tests $sanitize -c phoenix.c -o "$object"
}

launch_program() { # phxrun as it ships, for the scripts
    sources="$(ls extras/launch/*.c | grep -v /nla.c) $launch_ftmpi"
    quiet 'phxrun' $cc -std=c99 -O2 -g $warn -I. $sources phoenix.c -o build/launch/phxrun
}

launch_test() { # test
    exe=build/launch/$(basename "$1" .c)
    rm -f "$exe"
    with=
    case $1 in
    */t_nla.c) with=extras/launch/nla.c ;;
    esac
    phoenix=build/launch/phoenix.$(label "$cc").o
    [ -z "$joined_is_fresh" ] || phoenix=build/split/joined.o
    quiet "$1 compiles" $cc $flags_tests $sanitize "$1" $with build/launch/test/liblaunch.a "$phoenix" \
        -pthread -lm -o "$exe" > "$exe.said" || {
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

ftmpi_phoenix() {
    object=build/ftmpi.test/objects/phoenix.o
    if [ -n "$joined_is_fresh" ]; then cp build/split/joined.o $object && echo 'ok - phoenix.c for the MPI'
    elif [ -n "$(find $object -newer phoenix.c -newer phoenix.h -newer test/run.sh 2> /dev/null)" ]; then
        echo 'ok - phoenix.c for the MPI is fresh'
    else quiet 'phoenix.c for the MPI' $cc $flags_tests $sanitize -c phoenix.c -o $object
    fi
}

ftmpi_phxrun() { # that of the stage before, if it is newer than all that it is made of
    newer=$(find extras/launch extras/ftmpi/lib phoenix.c -newer build/launch/phxrun 2> /dev/null)
    [ -e build/launch/phxrun ] && [ -z "$newer" ] && { echo 'ok - phxrun is fresh'; return 0; }
    mkdir -p build/launch
    launch_program
}

ftmpi_launcher() { quiet 'ftmpirun' make build/ftmpi/ftmpirun CC="$cc" -s; }

ftmpi_test() { # test
    exe=build/ftmpi.test/$(basename "$1" .c)
    rm -f "$exe"
    quiet "$1 compiles" $cc $flags_tests $sanitize -Iextras/ftmpi -Iextras/ftmpi/lib "$1" \
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

real() { # script
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
    add "build joined $one" "build_joined '$one' 'joined/$(label "$one")' '-std=c99 -O2 $warn'"
    add "build joined $one poll" \
        "build_joined '$one' 'poll/$(label "$one")' '-std=c99 -O2 -DPHX_USE_POLL $warn'"
    add "build joined $one lines" "build_joined '$one' 'lines/$(label "$one")' '-std=c99 -DPHX_LINES $warn'"
    if has_bearssl; then
        add "build joined $one TLS" "build_joined '$one' 'tls/$(label "$one")' '-std=c99 -O2 -DPHX_TLS $warn'"
    else
        add "build joined $one TLS" "skip 'phoenix.c with $one -DPHX_TLS' 'no libbearssl-dev'"
    fi
    add "build split $one" "build_split '$one'"
    add "header c $one" "header '$one' c -std=c99"
    for f in extras/*/*.c; do
        case $f in
        extras/ftmpi/*) ;;
        *) [ ! -e "$f" ] || add "build extra $f $one" "build_extra '$one' $f" ;;
        esac
    done
    add "build ftmpi $one" "build_ftmpi '$one'"
done < "$work/compilers"
have cc && add 'build plain cc' "build_joined cc plain '-std=c99 -O2'"
for one in g++ clang++; do
    add "header c++ $one" "header $one cpp -std=c++11"
done
stage 'builds' "$jobs"

add 'symbols' names_and_data
stage 'symbols' "$jobs"

for f in test/unit/t_*.c; do
    [ -e "$f" ] || continue
    add "unit $(basename "$f" .c) split" "unit split $f"
    # Of phoenix.c as it ships there are the tests of whole nodes, and those that choose what it is; the
    # simulator and real processes run it, too. A room alone is the same there as in its own files.
    if grep -q '"nodes.h"\|"raw.h"\|phx_new(' "$f" || chooses "$f"; then
        add "unit $(basename "$f" .c) joined" "unit joined $f"
    fi
done
if has_bearssl; then
    add 'unit t_tls with TLS' 'unit tls test/unit/t_tls.c'
    add 'unit t_tls_openssl with TLS' 'unit tls test/unit/t_tls_openssl.c'
    add 'unit t_endings over TLS' 'unit over test/unit/t_endings.c'
    add 'unit t_torture over TLS' 'unit over test/unit/t_torture.c'
    add 'unit t_near over TLS' 'unit over test/unit/t_near.c'
else
    add 'unit t_tls with TLS' "skip 'links over TLS' 'no libbearssl-dev'"
fi
if [ -s "$work/queue" ]; then
    mkdir -p build/split/test build/unit/split build/unit/joined build/unit/tls build/unit/over
    mv "$work/queue" "$work/units"
    [ -n "$check" ] || sanitizers
    [ -n "$check" ] || echo 'library phoenix.c|joined' >> "$work/queue"
    for f in src/*/*.c; do
        echo "library $f|library $f" >> "$work/queue"
    done
    rm -f build/split/joined.o build/split/libphx.a build/split/test/*.o
    stage 'library for the unit tests' "$jobs"
    ar rc build/split/libphx.a build/split/test/*.o
    joined_is_fresh=yes
    at_once=$jobs
    [ -z "$check" ] || at_once=4
    mv "$work/units" "$work/queue"
    stage 'unit tests' "$at_once" # many of them wait most of the time
elif [ -z "$only" ]; then
    echo 'unit|echo "not ok - there is a test/unit/t_*.c"' >> "$work/queue"
    stage 'unit tests' 1
fi

add 'mutants' 'limit sh test/mutants/run.sh once'
stage 'mutants that once survived' 1

for f in test/launch/t_*.c; do
    [ -e "$f" ] && add "launch $(basename "$f" .c)" "launch_test $f"
done
for f in test/launch/*.sh; do
    [ -e "$f" ] && add "launch $(basename "$f" .sh)" "launch_script $f"
done
if [ -s "$work/queue" ]; then
    mkdir -p build/launch/test
    mv "$work/queue" "$work/launch"
    sanitizers
    rm -f build/launch/test/* build/launch/phxrun
    [ -n "$joined_is_fresh" ] || ! grep -q launch_test "$work/launch" \
        || echo 'library phoenix.c|launch_phoenix' >> "$work/queue"
    for f in extras/launch/*.c $launch_ftmpi; do
        case $f in
        */phxrun.c | */nla.c) ;;
        *) echo "library $f|launch_object $f" >> "$work/queue" ;;
        esac
    done
    ! grep -q launch_script "$work/launch" || echo 'library phxrun|launch_program' >> "$work/queue"
    stage 'the launcher for its tests' "$jobs"
    ar rc build/launch/test/liblaunch.a build/launch/test/*.o
    mv "$work/launch" "$work/queue"
    stage 'the launcher' "$jobs"
fi

for f in test/ftmpi/t_*.c; do
    [ -e "$f" ] && add "ftmpi $(basename "$f" .c)" "ftmpi_test $f"
done
for f in test/ftmpi/*.sh; do
    [ -e "$f" ] && add "ftmpi $(basename "$f" .sh)" "ftmpi_script $f"
done
if [ -s "$work/queue" ]; then
    mkdir -p build/ftmpi.test/objects
    mv "$work/queue" "$work/ftmpi"
    sanitizers
    find build/ftmpi.test -name '*.[ao]' ! -name phoenix.o -exec rm -f {} +
    echo 'library phoenix.c|ftmpi_phoenix' >> "$work/queue"
    for f in extras/ftmpi/lib/*.c; do
        echo "library $f|ftmpi_object $f" >> "$work/queue"
    done
    ! grep -q ftmpi_script "$work/ftmpi" || echo 'library ftmpirun|ftmpi_launcher' >> "$work/queue"
    ! grep -q phxrun.sh "$work/ftmpi" || echo 'library phxrun|ftmpi_phxrun' >> "$work/queue"
    stage 'the MPI for its tests' "$jobs"
    ar rc build/ftmpi.test/libftmpi.a build/ftmpi.test/objects/*.o
    mv "$work/ftmpi" "$work/queue"
    stage 'the MPI' 1
fi

for f in examples/*.c; do
    [ -e "$f" ] && add "example $(basename "$f" .c)" "example $f"
done
[ -s "$work/queue" ] || [ -n "$only" ] || add 'examples' 'skip examples/ "none there"'
stage 'examples' "$jobs"

for part in world routing detect delivery mpi lies campaign sane; do
    add "sim $part" "limit sh test/sim/run.sh part $part"
done
if [ -s "$work/queue" ]; then
    mv "$work/queue" "$work/sims"
    echo 'sim build|seconds=400; limit sh test/sim/run.sh build' >> "$work/queue"
    stage 'the simulator' 1
    mv "$work/sims" "$work/queue"
    stage 'the simulated world' "$jobs"
fi

add 'fuzz' 'limit sh test/fuzz/run.sh replay'
stage 'what fuzzers found' 1

add 'cliffs' 'limit sh test/bench/cliffs/run.sh small'
stage 'what one change costs' 1

# One at a time: these measure time and use ports.
for f in test/real/*.sh; do
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

[ -s "$work/counts" ] || { echo "run.sh: no job is called *$only*" >&2; echo '0 passed, 1 failed'; exit 1; }
printf '\n# %s seconds; the dearest jobs, in seconds of processor:\n' $(($(date +%s) - started))
sort -rn "$work/dear" | sed -n 's/^/#   /; 1,12p'
awk '{ p += $1; f += $2; s += $3 }
    END {
        print p + 0 " passed, " f + 0 " failed" (s ? ", " s " skipped" : "")
        exit f > 0
    }' "$work/counts"
