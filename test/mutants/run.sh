#!/bin/sh
# run.sh - changes one line of a brain at a time and asks whether any test notices. usage: test/mutants/run.sh
#
#     make mutants SEED=1 COUNT=1000    # the first thousand of seed 1; goes on where it was ended
#     make mutants ONLY=route STAGES=room   # files of that name; of room, sane, node, sim that alone
#     make mutants AGAIN=1              # those that survived are asked once more, after new tests
#     test/mutants/run.sh table         # what was found so far
#     test/mutants/run.sh once          # a part of make test: those of once.tsv, each by one test
#
# mutate.c lists the mutants in the order of a hash of SEED and of the text. Each is built by tcc, or cc
# -O0, in a hundredth of a second. What does not build, or gives the same object, does not count. Then
# tests.tsv says who is asked: the room's unit tests, these under sanitizers, whole nodes, short runs of the
# simulator, until one fails, dies, or takes several times as long as without the mutant. Tests of whole
# nodes use the clock, so one that fails is asked twice. What survives is compiled by cc -O2, too: it does
# not count either if that is the same object. equal.tsv has those that no test can tell, with the reason.
#
# From the environment: SEED (1), COUNT (100), ONLY (route names post detect dial wire base and the brains
# of the node), JOBS (2), CC. All is kept in build/mutants; FRESH=1 forgets what was found. Results are
# those of the sources and tests as they were then.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

dir=build/mutants
cc=${CC:-cc}
seed=${SEED:-1}
count=${COUNT:-100}
only=${ONLY:-'/route/ /names/ /post/ /detect/ /dial/ /wire/ /base/ node/keys node/addr
    node/suspect node/handover node/trace'}
stages=${STAGES:-room sane node sim}
sane="$cc -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
flags='-std=c99 -DPHX_DEBUG -I. -Isrc'
list=${ONCE:-test/mutants/once.tsv}
tab=$(printf '\t')
if command -v tcc > /dev/null 2>&1; then quick='tcc'; else quick="$cc -O0"; fi
mkdir -p $dir || exit 1
die() { echo "mutants: $*" >&2; exit 1; }

object() { echo "$1" | sed 's|^src/||; s|/|_|g; s|c$|o|'; } # src/dial/addr.c: dial_addr.o

# ---- What is built once --------------------------------------------------------------------------------

newer() { # file, files and folders: is it there, and younger than all of them?
    made=$1
    shift
    [ -e "$made" ] && [ -z "$(find "$@" -newer "$made" \( -name '*.[ch]' -o -name run.sh \) | head -1)" ]
}

build_library() { # directory, compiler and flags: what is stale
    mkdir -p "$1"
    headers=$(find src phoenix.h -name '*.h')
    for f in src/*/*.c; do
        newer "$1/$(object "$f")" "$f" $headers || $2 $flags -c "$f" -o "$1/$(object "$f")" || return 1
    done
    newer "$1/libphx.a" src phoenix.h && return 0
    rm -f "$1/libphx.a"
    for f in src/*/*.c; do echo "$1/$(object "$f")"; done | xargs ar rc "$1/libphx.a"
}

build_test() { # directory, compiler and flags, test
    newer "$1/$3.test.o" "test/unit/$3.c" test/unit/*.h src phoenix.h \
        || $2 $flags -Itest -Itest/unit -c "test/unit/$3.c" -o "$1/$3.test.o"
}

link_test() { # directory, test, program, mutant's object or none
    $quick ${4-} "$1/$2.test.o" "$1/libphx.a" -pthread -lm -o "$3" 2> /dev/null
}

link_sane() { # test, program, mutant's object
    $sane "$3" "$dir/sane/$1.test.o" $dir/sane/libphx.a -pthread -lm -o "$2" 2> /dev/null
}

# Lines "stage<TAB>test". Under sanitizers the room's tests are asked once more.
tests_of() { # file
    awk -F '\t' -v file="$1" -v stages=" $stages " '
        !/^#/ && index(file, $2) {
            if ($1 == "room" && room++) next
            list[$1] = list[$1] " " $3
            if ($1 == "room") list["sane"] = $3
        }
        END {
            for (i = 1; i <= split("room sane node sim", name, " "); i++)
                if (index(stages, " " name[i] " ")) {
                    n = split(list[name[i]], one, " ")
                    for (j = 1; j <= n; j++) if (!seen[name[i], one[j]]++) print name[i] "\t" one[j]
                }
        }' test/mutants/tests.tsv
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# Each test once without a mutant: it must pass, and how long it takes is the measure of what hangs.
measure() { # name, what it is made of, command
    name=$1 made=$2
    shift 2
    [ -e "$dir/$name.ms" ] && [ -z "$(find "$made" -newer "$dir/$name.ms")" ] && return 0
    start=$(milliseconds)
    "$@" > $dir/said 2>&1 || die "$name fails without any mutant: see $dir/said"
    echo $(($(milliseconds) - start)) > "$dir/$name.ms"
}

# The simulator's own objects; check.c, which contains phoenix.c, is built for each mutant.
build_simulator() {
    newer build/sim/sim src phoenix.h test/sim extras/launch \
        || sh test/sim/run.sh build > $dir/said 2>&1 || die "the simulator does not build: see $dir/said"
    simulator
    newer $dir/clean/sim src phoenix.h test/sim || sim_one '' $dir/clean \
        || die 'the simulator does not build with the quick compiler'
}

simulator() { sim_objects=$(find build/sim/sim.o -name '*.o' ! -name check.o ! -name world_test.o); }

scenario() { echo "SCENARIO=$1" | tr ',' ' '; }

# All that the picked files' stages ask for, built and measured; what is fresh stays.
prepare() {
    echo '# building; each test once without a mutant'
    build_library $dir "$cc -O1" || die 'src/ does not build'
    ! asks sane || build_library $dir/sane "$sane" || die 'src/ does not build with sanitizers'
    ! asks sim || build_simulator
    for f in $(sources); do tests_of "$f"; done | sort -u > $dir/needed
    while IFS=$tab read -r stage name; do
        case $stage in
        sim) measure "$name" $dir/clean/sim $dir/clean/sim $(scenario "$name") ;;
        sane) build_test $dir/sane "$sane" "$name" || die "$name does not build with sanitizers" ;;
        *) build_test $dir "$cc -O1" "$name" && link_test $dir "$name" "$dir/$name" \
                || die "$name does not build"
            measure "$name" "$dir/$name.test.o" "$dir/$name" ;;
        esac < /dev/null
    done < $dir/needed
}

asks() { case " $stages " in *" $1 "*) ;; *) return 1 ;; esac; }

# ---- One mutant ----------------------------------------------------------------------------------------

# Line $2 of file $1, whose text is $3, becomes $4; a file of src/ begins in phoenix.c four lines after its
# head.
mutate() {
    OLD=$3 NEW=$4 awk -v file="$1" -v line="$2" '
        BEGIN { at = FILENAME }
        FNR == 1 && FILENAME != "phoenix.c" { at = line }
        $0 == "/* ======== " file " ======== */" { at = FNR + line + 3 }
        FNR == at {
            indent = match($0, /[^ ]/) - 1
            text = substr($0, indent + 1)
            sub(/ +$/, "", text)
            if (text != ENVIRON["OLD"]) { print "#error the line is another one"; next }
            $0 = substr($0, 1, indent) ENVIRON["NEW"]
        }
        { print }' "$5"
}

quick_object() { # file, directory: the mutant in it
    $quick $flags -c "$2/mutant.c" -o "$2/mutant.o" 2> /dev/null
}

# Is it the same object as without the change?
same_object() { # file, directory, compiler
    cp "$1" "$2/plain.c"
    $3 $flags -c "$2/mutant.c" -o "$2/a.o" 2> /dev/null || return 1
    mv "$2/mutant.c" "$2/mutant.kept" && mv "$2/plain.c" "$2/mutant.c"
    $3 $flags -c "$2/mutant.c" -o "$2/b.o" 2> /dev/null
    mv "$2/mutant.kept" "$2/mutant.c"
    cmp -s "$2/a.o" "$2/b.o"
}

# So much processor time at most, and ten times as long on a busy machine; a mutant may ask for any memory and
# print without end.
bounded() { # seconds, kilobytes or unlimited, command
    (
        exec > /dev/null 2>&1
        most=$(($1 * 10))
        ulimit -t "$1"
        ulimit -v "$2"
        ulimit -f 100000
        shift 2
        T_STOP=1 exec timeout -s KILL "$most" "$@"
    )
}

sim_one() { # the text of phoenix.c with the mutant, or none; directory
    mkdir -p "$2/test/sim"
    cp test/sim/check.c "$2/test/sim/check.c"
    [ -n "$1" ] || cp phoenix.c "$2/phoenix.c"
    cp phoenix.h "$2/phoenix.h"
    $quick -std=c99 -DPHX_DEBUG -Itest/sim -c "$2/test/sim/check.c" -o "$2/check.o" 2> /dev/null \
        && $quick "$2/check.o" $sim_objects "$($cc -print-libgcc-file-name)" -o "$2/sim" -lm 2> /dev/null
}

# Four times as long as without a mutant and some seconds is too long.
dies() { # stage, test, directory: does the test notice?
    most=$((3 + $(cat "$dir/$2.ms" 2> /dev/null || echo 5000) * 4 / 1000))
    case $1 in
    room) bounded $most 4000000 "$3/$2" && return 1 ;;
    sane) bounded $((most * 4)) unlimited "$3/$2" && return 1 ;;
    node) bounded $most 4000000 "$3/$2" && return 1
        bounded $most 4000000 "$3/$2" && return 1 ;;
    sim) bounded $most 4000000 "$3/sim" $(scenario "$2") && return 1 ;;
    esac
    return 0
}

# The mutant as this stage asks for it: 0 if it could be built.
build_for() { # stage, test, file, line, old, new, directory
    case $1 in
    sane)
        [ -e "$7/sane.o" ] || $sane $flags -c "$7/mutant.c" -o "$7/sane.o" 2> /dev/null || return 1
        link_sane "$2" "$7/$2" "$7/sane.o" ;;
    sim)
        [ ! -e "$7/sim" ] || return 0
        mkdir -p "$7/test/sim"
        mutate "$3" "$4" "$5" "$6" phoenix.c > "$7/phoenix.c"
        sim_one mutant "$7" ;;
    *) link_test $dir "$2" "$7/$2" "$7/mutant.o" ;;
    esac
}

# Says who killed it, or nothing.
killer() { # file, line, old, new, directory
    tests_of "$1" > "$5/tests"
    rm -f "$5/sane.o" "$5/sim"
    while IFS=$tab read -r stage name; do
        build_for "$stage" "$name" "$@" < /dev/null || continue
        if dies "$stage" "$name" "$5" < /dev/null; then echo "$stage $name"; break; fi
    done < "$5/tests"
    rm -f "$5"/t_*
}

is_listed() { # file, function, old, new: in equal.tsv
    F=$1 W=$2 O=$3 N=$4 awk -F '\t' '
        $1 == ENVIRON["F"] && $2 == ENVIRON["W"] && $3 == ENVIRON["O"] && $4 == ENVIRON["N"] { found = 1 }
        END { exit !found }' test/mutants/equal.tsv
}

judge() { # file, line, function, kind, old, new, directory: killed, equal, same or survived, and by whom
    if is_listed "$1" "$3" "$5" "$6"; then echo "equal$tab-"; return; fi
    mutate "$1" "$2" "$5" "$6" "$1" > "$7/mutant.c"
    quick_object "$1" "$7" || { echo "unbuilt$tab-"; return; }
    by=$(killer "$1" "$2" "$5" "$6" "$7")
    if [ -n "$by" ]; then echo "killed$tab$by"
    elif same_object "$1" "$7" "$cc -O2"; then echo "same$tab-"
    else echo "survived$tab-"; fi
}

# ---- Many ----------------------------------------------------------------------------------------------

sources() {
    for part in $only; do
        for f in src/*/*.c; do case $f in *"$part"*) echo "$f" ;; esac; done
    done | sort -u
}

# The first COUNT mutants that build and give another object.
pick() {
    [ -n "$(sources)" ] || die "no file of src/ is called $only"
    $cc -std=c99 -O1 test/mutants/mutate.c -o $dir/mutate || die 'mutate.c does not build'
    $dir/mutate "$seed" $(sources) > $dir/all || die 'no list'
    mkdir -p $dir/pick
    : > $dir/picked
    n=0
    while [ $n -lt "$count" ] && IFS=$tab read -r file line where kind old new; do
        mutate "$file" "$line" "$old" "$new" "$file" > $dir/pick/mutant.c
        quick_object "$file" $dir/pick || continue
        ! same_object "$file" $dir/pick "$quick" || continue
        n=$((n + 1))
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$where" "$kind" "$old" "$new" >> $dir/picked
    done < $dir/all
}

known() { # of picked: what was found before, or "?"
    [ -e $dir/found ] || : > $dir/found
    awk -F '\t' -v again="${AGAIN-}" '
        FILENAME ~ /found$/ { if (again == "" || $7 != "survived") was[$1, $3, $5, $6] = $7 "\t" $8; next }
        { print $0 "\t" (($1, $3, $5, $6) in was ? was[$1, $3, $5, $6] : "?\t-") }' $dir/found $dir/picked
}

worker() { # its directory: takes what nobody has
    mkdir -p "$1"
    n=0
    while IFS=$tab read -r file line where kind old new; do
        n=$((n + 1))
        mkdir "$dir/locks/$n" 2> /dev/null || continue
        found=$(judge "$file" "$line" "$where" "$kind" "$old" "$new" "$1")
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$file" "$line" "$where" "$kind" "$old" "$new" "$found" \
            >> $dir/found
        echo "$found"
    done < $dir/asked
}

progress() {
    awk -F '\t' -v all="$(wc -l < $dir/asked)" '
        { n[$1]++ }
        NR % 20 == 0 || $1 == "survived" {
            printf "# %d of %d: %d killed, %d survive, %d equal\n", NR, all, n["killed"], n["survived"],
                n["equal"] + n["same"]
            fflush()
        }'
}

# By room: how many count, how many were killed, by whose tests, and what survives.
table() {
    known | awk -F '\t' '
        $7 == "unbuilt" || $7 == "same" || $7 == "?" { next }
        {
            split($1, part, "/")
            room = part[2]
            if (!(room in all)) order[++rooms] = room
            all[room]++; all["all"]++
            n[room, $7]++; n["all", $7]++
            split($8, by, " ")
            n[room, by[1]]++; n["all", by[1]]++
            if ($7 == "survived") left[++lefts] = $1 ":" $2 " " $3 ": " $4 ": " $5 " -> " $6
        }
        END {
            for (i = 1; i <= lefts; i++) print "survived " left[i]
            order[++rooms] = "all"
            printf "\n%-8s %7s %7s (%5s %5s %5s %5s) %6s %9s %8s\n", "room", "mutants", "killed", "room",
                "sane", "node", "sim", "equal", "survived", "% killed"
            for (i = 1; i <= rooms; i++) {
                r = order[i]
                printf "%-8s %7d %7d (%5d %5d %5d %5d) %6d %9d %8.1f\n", r, all[r], n[r, "killed"],
                    n[r, "room"], n[r, "sane"], n[r, "node"], n[r, "sim"], n[r, "equal"], n[r, "survived"],
                    100 * (n[r, "killed"] + n[r, "equal"]) / all[r]
            }
        }'
}

many() {
    [ -z "${FRESH-}" ] || rm -f $dir/found
    command -v timeout > /dev/null 2>&1 || die 'no timeout here, and a mutant may hang'
    pick
    prepare
    ! asks sim || simulator
    known | awk -F '\t' -v OFS='\t' '$7 == "?" { NF = 6; print }' > $dir/asked
    rm -rf $dir/locks
    mkdir $dir/locks
    {
        n=0
        while [ $n -lt "${JOBS:-2}" ]; do
            n=$((n + 1))
            worker $dir/$n 2> /dev/null & # where the shell says of programs that they died
        done
        wait
    } | progress
    table
}

# ---- Those that once survived --------------------------------------------------------------------------

line_of() { # file, function, old: its line, as mutate.c counts
    $dir/mutate 1 "$1" | F=$2 O=$3 awk -F '\t' '$3 == ENVIRON["F"] && $5 == ENVIRON["O"] { print $2; exit }'
}

once_one() { # file, function, old, new, test, directory
    line=$(line_of "$1" "$2" "$3")
    [ -n "$line" ] || { echo "not ok - $1 has no such line in $2 today: $3"; return; }
    mutate "$1" "$line" "$3" "$4" "$1" > "$6/mutant.c"
    if ! quick_object "$1" "$6"; then echo "not ok - $1 $2: does not build: $4"
    elif ! link_test $dir/once "$5" "$6/one" "$6/mutant.o"; then echo "not ok - $5 does not link"
    elif T_PATIENCE=3 bounded 10 4000000 "$6/one"; then echo "not ok - $5 does not notice $1 $2: $4"
    else echo "ok - $5 notices $1 $2: $4"; fi
}

once_worker() { # number, of how many: each so manieth of the list
    mkdir -p "$dir/once/$1"
    grep -v '^#' "$list" | awk -v n="$1" -v of="$2" 'NR % of == n' > "$dir/once/$1/list"
    while IFS=$tab read -r file where old new test promise; do
        once_one "$file" "$where" "$old" "$new" "$test" "$dir/once/$1" < /dev/null
    done < "$dir/once/$1/list"
}

# A test of whole nodes that waits for what a mutant does not do costs time and no work: so many at once.
once() {
    mkdir -p $dir/once
    $cc -std=c99 -O1 test/mutants/mutate.c -o $dir/mutate || die 'mutate.c does not build'
    build_library $dir/once "$quick" || die 'src/ does not build'
    for t in $(awk -F '\t' '!/^#/ { print $5 }' "$list" | sort -u); do
        build_test $dir/once "$quick" "$t" && link_test $dir/once "$t" $dir/once/one \
            && bounded 10 4000000 $dir/once/one || echo "not ok - $t passes without a mutant"
    done
    for n in 0 1 2 3 4 5 6 7; do once_worker $n 8 & done
    wait
}

case ${1-} in
'') many ;;
table) table ;;
once)
    # The plan is the list's, not what was said: a run that dies half way has failed.
    once 2> $dir/once.said | awk -v wanted="$(grep -c -v '^#' "$list")" '
        { print }
        /^ok/ { n++ }
        END { print "1.." wanted; exit n + 0 != wanted }'
    status=$?
    [ $status = 0 ] || sed 's/^/# /' $dir/once.said | tail -5
    exit $status ;;
*) echo 'usage: test/mutants/run.sh [once | table]' >&2; exit 2 ;;
esac
