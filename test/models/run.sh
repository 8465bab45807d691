#!/bin/sh
# run.sh - make models: the three arguments on which all rests, searched by spin, and each broken on purpose.
#
# Each line "model" names the run, the states searched and the violations; each line "broken" a rule that was
# taken out and what the search found then. FULL=1: larger searches too, some ten minutes more and 8 GB.
# ONLY=routing picks by a part of the model's name and options. The last lines are bars: "bar NAME FIGURE
# LIMIT ok|short".
set -u
cd "$(dirname "$0")/../.."
here=$PWD/test/models
work=$PWD/build/models
only=${ONLY:-}
full=${FULL:-}
most=${SECONDS_EACH:-600}

command -v spin > /dev/null 2>&1 || { echo 'make models needs spin: apt-get install spin'; exit 1; }
cc=${CC:-cc}
command -v "$cc" > /dev/null 2>&1 || { echo "make models needs a C compiler: no $cc"; exit 1; }

searched=0 violations=0 wanted=0 found=0 unfinished=0

# What came of a search: in $states, $errors, $said; a search that memory or time ended is not finished.
search() { # model, options
    rm -rf "$work" && mkdir -p "$work" || exit 1
    (cd "$work" && spin -a $2 "$here/$1.pml" \
        && $cc -O2 -w -DSAFETY -DNOREDUCE -DHC4 -DMEMLIM=7000 -o pan pan.c) > "$work/built" 2>&1 || {
        cat "$work/built"
        echo "$1 $2: does not build"
        exit 1
    }
    (cd "$work" && timeout -s INT "$most" nice ./pan -m2000000 -w26 -n) > "$work/said" 2>&1
    states=$(awk '/states, stored/ { printf "%.0f", $1 }' "$work/said")
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/said")
    said=$(sed -n 's/^pan:1: //p' "$work/said" | head -1)
    complete=yes
    grep -q 'Search not completed' "$work/said" && complete=
    [ -n "$states" ] && [ -n "$errors" ] || { cat "$work/said"; echo "$1 $2: no result"; exit 1; }
}

picked() { case "$1 $2" in *"$only"*) return 0 ;; esac; return 1; }

model() { # model, options: nothing may be found
    picked "$1" "$2" || return 0
    search "$1" "$2"
    searched=$((searched + states)) violations=$((violations + errors))
    [ -n "$complete" ] || [ "$errors" -gt 0 ] || unfinished=$((unfinished + 1))
    printf 'model   %-10s %-44s %10s states, %s violations%s\n' "$1" "$2" "$states" "$errors"                \
        "$([ -n "$complete" ] || echo ', not finished')"
    [ "$errors" -eq 0 ] || printf '        %.200s\n' "$said"
}

broken() { # model, options, what must be found: a piece of the assertion
    picked "$1" "$2" || return 0
    search "$1" "$2"
    wanted=$((wanted + 1))
    how='NOT FOUND'
    case "$said" in *"$3"*) found=$((found + 1)) how=$4 ;; esac
    printf 'broken  %-10s %-44s %10s states, %s\n' "$1" "$2" "$states" "$how"
}

model routing '-DTOPO=0 -DMOST=1'
model routing '-DTOPO=1 -DCUTS=2'
model routing '-DTOPO=2 -DCUTS=1'
model routing '-DTOPO=1 -DCUTS=1 -DLOSSES=1'
model routing '-DTOPO=1 -DMOST=1 -DCUTS=1 -DJOINS=1'
[ -z "$full" ] || {
    model routing '-DTOPO=2 -DCUTS=1 -DLOSSES=1'
    model routing '-DTOPO=3 -DCUTS=1'
}
broken routing '-DTOPO=3 -DRAISE' 'hops[1]==1' 'lost route: linked with the owner, and no way'
broken routing '-DTOPO=2 -DANYOFFER' 'next[1]!=' 'loop'

model delivery '-DDEATHS=1 -DMOVES=1'
model delivery '-DDEATHS=0 -DMOVES=2'
model delivery '-DDEATHS=0 -DMOVES=0 -DWRONG=1'
[ -z "$full" ] || model delivery '-DDEATHS=0 -DMOVES=1 -DWRONG=1'
broken delivery '-DDEATHS=0 -DMOVES=0 -DWRONG=1 -DNOEPOCH' 'done[t]>>m' 'a message delivered twice'
broken delivery '-DDEATHS=0 -DMOVES=0 -DWRONG=1 -DNOTRIED' 'done[t]>>m' 'a message delivered twice'
broken delivery '-DDEATHS=0 -DMOVES=2 -DNOSEEN' 'done[t]>>m' 'a message delivered behind a later one'

model agreement '-DN=3 -DROUNDS=1'
model agreement '-DN=3 -DROUNDS=2'
model agreement '-DN=4 -DROUNDS=1 -DDEATHS=2'
model agreement '-DN=4 -DROUNDS=2 -DDEATHS=1'
[ -z "$full" ] || {
    model agreement '-DN=4 -DROUNDS=1'
    model agreement '-DN=4 -DROUNDS=2 -DDEATHS=2'
}
broken agreement '-DN=3 -DROUNDS=1 -DUNIFORM' 'result[0]==result[1]' 'two decisions'

rm -rf "$work"
bar() { # name, figure: at most 0
    verdict=ok
    [ "$2" -eq 0 ] || verdict=short short=1
    printf 'bar\t%s\t%s\t0\t%s\n' "$1" "$2" "$verdict"
}
short=0
printf 'states searched: %s\n' "$searched"
bar 'models: violations' "$violations"
bar 'models: searches that were not finished' "$unfinished"
bar 'models: rules taken out, not noticed' $((wanted - found))
echo "counterexamples found with the rule taken out: $found of $wanted"
exit $short
