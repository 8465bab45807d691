#!/bin/sh
# figures.sh - the figures of Kaneda, Taura and Yonezawa (CCGrid 2004) and of Horita, Taura and Chikayama (its
# figure 2) again: `make figures`.
#
# usage: test/sim/figures.sh PROGRAM PAPER   (the simulator, and the one with the papers' rules: run.sh)
# NODES="8 16 32" does figures 3 and 4 with those sizes. ONLY="cost start" does these of: cost (3 and 4),
# start (5), half (6), mesh (7), said (the other paper's 2), launch, mpi. RULES="default" leaves out the
# papers' rules. Writes TSV into build/figures, each with the commit it was drawn at, and SVG and PNG if there
# is a gnuplot; KEEP=1 puts those that are committed in test/sim/figures. All numbers are of virtual time and
# exact, the same on every machine, but for those of the launcher and the MPI, which are times of this one.
set -eu
export LC_ALL=C
sim=$1
paper=$2
dir=build/figures
sizes=${NODES:-8 16 32 64 100 150 200 300 400}
rules=${RULES:-naive paper default}
at=$(git describe --always --dirty 2> /dev/null || echo unknown)
mkdir -p "$dir"

wanted() { case " ${ONLY:-cost start half mesh said launch mpi} " in *" $1 "*) ;; *) return 1 ;; esac; }

rows() { # kind, words of one run: its rows of that kind, without the kind
    kind=$1
    shift
    program=$sim
    case $* in *ROUTING=naive* | *ROUTING=paper*) program=$paper ;; esac
    if ! "$program" "$@" > "$dir/said.out" 2> "$dir/said.err"; then
        # Older rules may break what is promised of the default one only: their curve ends there.
        grep '^not ok' "$dir/said.out" >&2 || cat "$dir/said.err" >&2
        case $* in *ROUTING=naive* | *ROUTING=paper*) ;; *) exit 1 ;; esac
    fi
    awk -F '\t' -v kind="$kind" '$1 == kind { print substr($0, length(kind) + 2) }' "$dir/said.out"
}

begin() { # name, columns: its file
    out=$dir/$1.tsv
    printf '# drawn at %s\n# %s\n' "$at" "$2" > "$out"
    echo "$out"
}

# ---- Figures 3 and 4: the price of a cold start -----------------------------------------------

for shape in one three; do
    for rule in $rules; do
        wanted cost || continue
        begin "cost_${shape}_$rule" 'shape routing nodes messages entries bytes seconds'
        for n in $sizes; do
            rows cost SCENARIO=cost_$shape NODES="$n" ROUTING=$rule EVERY=1000000 >> "$out"
        done
    done
done

# ---- Figures 5 and 6: reachable pairs over time -----------------------------------------------

time_rows() { # name, nodes ...
    name=$1
    shift
    wanted "$name" || return 0
    for rule in $rules; do
        begin "${name}_$rule" 'routing nodes seconds living share_of_pairs mean_hops'
        # Every step is looked at: samples look at all hosts one after another, and next hops of different
        # moments may seem to be a loop.
        for n in "$@"; do rows time SCENARIO="${name}_time" NODES="$n" ROUTING=$rule EVERY=1 >> "$out"; done
    done
}

time_rows start 32 128
time_rows half 32 224

# ---- Figure 7: a full mesh, by names given offline or by discovery; the other paper's figure 2 --

if wanted mesh; then
    begin mesh 'how nodes messages entries bytes dials reached_s linked_s'
    for n in 8 16 32 64 100 128; do # a node joins 64 addresses at most, half of the others
        for how in offline discovery; do rows mesh SCENARIO=mesh_$how NODES="$n" EVERY=1000000 >> "$out"; done
    done
fi
if wanted said; then
    begin said 'nodes seconds routing_messages; per process: heartbeats spared messages'
    for n in 16 64; do rows said SCENARIO=said_time NODES="$n" EVERY=1000000 >> "$out"; done
fi
rm -f "$dir/said.out" "$dir/said.err"

# ---- The launcher's -----------------------------------------------------------------------------

! wanted launch || sh test/bench/launch_figures.sh "$sim"

# ---- The MPI's --------------------------------------------------------------------------------

! wanted mpi || sh test/bench/mpi_figures.sh

# ---- Pictures ---------------------------------------------------------------------------------

keep() { # those that stand there already
    [ -n "${KEEP-}" ] || return 0
    for file in test/sim/figures/*.tsv test/sim/figures/*.svg; do
        [ ! -e "$dir/${file##*/}" ] || cp "$dir/${file##*/}" "$file"
    done
}

if ! command -v gnuplot > /dev/null 2>&1; then
    keep
    echo "no gnuplot here: the data is in $dir, without pictures"
    exit 0
fi
for script in test/sim/figures/*.gp; do
    name=$(basename "$script" .gp)
    wanted "$name" || continue
    for form in svg pngcairo; do
        file=$dir/$name.$(echo $form | sed 's/cairo//')
        { printf 'set terminal %s size 900,560\nset output "%s"\ndata = "%s"\n' "$form" "$file" "$dir"
            cat "$script"; } | gnuplot || { echo "gnuplot could not draw $file"; continue; }
        echo "$file"
    done
done
keep
