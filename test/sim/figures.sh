#!/bin/sh
# figures.sh - the figures of Kaneda, Taura and Yonezawa (CCGrid 2004) again: `make figures`.
#
# usage: test/sim/figures.sh PROGRAM PAPER   (the simulator, and the one with the papers' rules: run.sh)
# NODES="8 16 32" does with those sizes. Writes TSV into build/figures, and SVG and PNG if there is a
# gnuplot. All numbers are of virtual time and exact, the same on every machine, but for those of the launcher
# and the MPI, which are times of this one.
set -eu
export LC_ALL=C
sim=$1
paper=$2
dir=build/figures
sizes=${NODES:-8 16 32 64 100 150 200 300 400}
mkdir -p "$dir"

rows() { # kind, words of one run: its rows of that kind, without the kind
    kind=$1
    shift
    program=$sim
    case $* in *ROUTING=naive* | *ROUTING=paper*) program=$paper ;; esac
    if ! "$program" "$@" > "$dir/said" 2> "$dir/said.err"; then
        # Older rules may break what is promised of the default one only: their curve ends there.
        grep '^not ok' "$dir/said" >&2 || cat "$dir/said.err" >&2
        case $* in *ROUTING=default*) exit 1 ;; esac
    fi
    awk -F '\t' -v kind="$kind" '$1 == kind { print substr($0, length(kind) + 2) }' "$dir/said"
}

# ---- Figures 3 and 4: the price of a cold start -----------------------------------------------

for shape in one three; do
    for rule in naive paper default; do
        out=$dir/cost_${shape}_$rule.tsv
        printf '# shape\trouting\tnodes\tmessages\tentries\tbytes\tseconds\n' > "$out"
        for n in $sizes; do
            rows cost SCENARIO=cost_$shape NODES="$n" ROUTING=$rule EVERY=1000000 >> "$out"
        done
        echo "$out"
    done
done

# ---- Figures 5 to 7: reachable pairs over time ------------------------------------------------

time_rows() { # scenario, nodes, name
    for rule in naive paper default; do
        out=$dir/$3_$rule.tsv
        printf '# routing\tseconds\tnodes\treachable share\tmean hops\n' > "$out"
        # Every step is looked at: samples look at all hosts one after another, and next hops of different
        # moments may seem to be a loop.
        rows time SCENARIO="$1" NODES="$2" ROUTING=$rule EVERY=1 >> "$out"
        echo "$out"
    done
}

time_rows start_time 224 start
time_rows half_time 224 half
time_rows alone_time 224 alone
rm -f "$dir/said" "$dir/said.err"

# ---- The launcher's -----------------------------------------------------------------------------

sh test/bench/launch_figures.sh "$sim"

# ---- The MPI's --------------------------------------------------------------------------------

sh test/bench/mpi_figures.sh

# ---- Pictures ---------------------------------------------------------------------------------

if ! command -v gnuplot > /dev/null 2>&1; then
    echo "no gnuplot here: the data is in $dir, without pictures"
    exit 0
fi
for script in test/sim/figures/*.gp; do
    name=$(basename "$script" .gp)
    for form in svg pngcairo; do
        file=$dir/$name.$(echo $form | sed 's/cairo//')
        { printf 'set terminal %s size 900,560\nset output "%s"\ndata = "%s"\n' "$form" "$file" "$dir"
            cat "$script"; } | gnuplot || { echo "gnuplot could not draw $file"; continue; }
        echo "$file"
    done
done
