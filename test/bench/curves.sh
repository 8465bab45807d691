#!/bin/sh
# curves.sh - `make curves`: what a node pays, over links, known nodes, names, message sizes and hops.
#
#   make curves                some minutes; QUICK=1: does it still run? below 20 s
#   make curves ONLY=hops      one of mesh hub nodes names rest sizes hops
#   make curves KEEP=1         all, and then into test/bench/curves, its README too; on a quiet machine
#
# Memory, wake-ups and bytes are counted under virtual time (test/sim/curves.c): exact, the same everywhere.
# Resident memory, processor time and all that is a time are of real processes (rest.c, hops.c, delivery.c):
# they depend on the machine and on who else uses it. Output: tables for people, build/curves/*.tsv with one
# row for each point, a picture if there is a gnuplot, and build/curves/table.md, which is in that README.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/curves
mkdir -p "$out"
cc=${CC:-cc}
have() { command -v "$1" > /dev/null 2>&1; }
wants() { case ${ONLY:-$1} in "$1") ;; *) return 1 ;; esac; }

mesh='10 30 100 300' hub='10 30 100 300 1000' nodes='10 100 1000 4096'
names='1 10 100 1000 10000 100000 1000000'
rest='10 30 100 300 1000' seconds=20
hops='1 2 3 4 5' hop_sizes='8 65536 1048576' ms=500 rounds=3
sizes='8 64 512 4096 65536 1048576 16777216'
if [ -n "${QUICK-}" ]; then
    mesh='10 30' hub='10 30' nodes='10 100' names='1 10 1000' rest=10 seconds=1
    hops='1 2' hop_sizes='8 65536' ms=50 rounds=1 sizes='8 65536'
fi

# ---- Tables --------------------------------------------------------------------------------------------

tsv() { # name: lines of name=value become columns under their names
    awk -F '\t' '
        { row = head = ""
          for (i = 1; i <= NF; i++)
              if (split($i, part, "=") == 2) {
                  head = head (head == "" ? "# " : "\t") part[1]
                  row = row (row == "" ? "" : "\t") part[2]
              }
          if (NR == 1) print head
          print row; fflush() }' > "$out/$1.tsv"
    # A point that is missing is an error, not a shorter curve.
    [ "$(grep -vc '^#' "$out/$1.tsv")" = "$2" ] || { echo "curves: $1 has not all its points" >&2; exit 1; }
}
show() { # name, what it is
    printf '\n%s\n' "$2"
    sed 's/^# //' "$out/$1.tsv" | awk -F '\t' '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) }
          columns = NF }
        END { for (r = 1; r <= NR; r++) { line = ""
                for (i = 1; i <= columns; i++) line = line sprintf("  %" width[i] "s", cell[r, i])
                print line } }'
}
count() { echo $#; }

# ---- Exact ---------------------------------------------------------------------------------------------

# One phoenix.o for all, of the one compilation that takes some seconds.
sh test/sim/run.sh curves
compile() { $cc -std=c99 -O2 -g -I. -o "$out/$1" "test/bench/$1.c" build/sim/curves.o/phoenix.o; }

for curve in mesh hub nodes names; do
    wants "$curve" || continue
    eval "points=\$$curve"
    build/sim/curves "$curve" $points | tsv "$curve" "$(count $points)"
done
if wants mesh; then show mesh 'A node of a full mesh, by links; idle, default detector (exact)'; fi
if wants hub; then show hub 'The hub of nodes that cannot be dialled, by links; idle (exact)'; fi
if wants nodes; then show nodes 'Known nodes, with address and range, and without (bare); exact'; fi
if wants names; then show names 'Ranges of names: at their holder, at who knows them, on the wire; exact'; fi

# ---- Real processes ------------------------------------------------------------------------------------

if wants rest; then
    compile rest
    for n in $rest; do timeout -k 5 150 "$out/rest" "$n" "$seconds"; done | tsv rest "$(count $rest)"
    show rest "The same hub on real sockets: resident memory, and $seconds s of idling"
fi

# The fastest of some rounds: what others do to the machine can only slow it down.
if wants hops; then
    compile hops
    for size in $hop_sizes; do
        for n in $hops; do
            round=0
            while [ $((round += 1)) -le "$rounds" ]; do timeout -k 5 70 "$out/hops" "$n" "$size" "$ms"; done
        done
    done | awk -F '\t' '
        function value(i) { return substr($i, index($i, "=") + 1) + 0 }
        $1 "\t" $2 != now { if (now != "") print now "\t" line; now = $1 "\t" $2; best[3] = 0 }
        { line = ""
          for (i = 3; i <= NF; i++) {
              larger = $i ~ /^(kmsgs|GB)/
              if (best[3] == 0 || (larger ? value(i) > best[i] : value(i) < best[i])) keep[i] = value(i)
              name[i] = substr($i, 1, index($i, "=") - 1)
          }
          for (i = 3; i <= NF; i++) {
              best[i] = keep[i]
              line = line (i > 3 ? "\t" : "") name[i] "=" best[i]
          } }
        END { print now "\t" line }' | tsv hops $(($(count $hops) * $(count $hop_sizes)))
    show hops "A chain of processes over loopback TCP, by hops; times: best of $rounds"
fi

# Instructions of both processes in user space, per message, from two runs of different length.
counter=
if have perf && perf stat -x, -e instructions:u true 2>&1 | grep -q '^[0-9]'; then counter=perf
elif have valgrind; then counter=valgrind
fi
instructions() { # words of delivery
    if [ "$counter" = perf ]; then
        perf stat -x, -e instructions:u "$out/delivery" "$@" 2>&1 | awk -F, '/^[0-9]+,/ { print $1 }'
        return
    fi
    rm -f "$out"/callgrind.*
    valgrind -q --tool=callgrind --callgrind-out-file="$out/callgrind.%p" "$out/delivery" "$@" \
        > /dev/null 2>&1
    cat "$out"/callgrind.* | awk '/^totals:/ { n += $2 } END { print n }'
    rm -f "$out"/callgrind.*
}
per_message() { # size, count, side
    short=$(instructions stream "$1" "$2" 1 "$3")
    long=$(instructions stream "$1" $((3 * $2)) 1 "$3")
    awk -v a="$short" -v b="$long" -v n=$((2 * $2)) 'BEGIN { printf "%.0f", (b - a) / n }'
}
size_point() { # size
    if [ "$1" -lt 4096 ]; then few=20000 many=200000; elif [ "$1" -lt 1048576 ]; then few=500 many=10000
    elif [ "$1" -lt 16777216 ]; then few=50 many=400; else few=6 many=30; fi
    [ -z "${QUICK-}" ] || few=$((few / 10)) many=$((many / 10))
    stream=$("$out/delivery" stream "$1" "$many" "$rounds")
    pingpong=$("$out/delivery" pingpong "$1" $((few * 2)) "$rounds")
    raw=- ours=-
    if [ -n "$counter" ]; then
        raw=$(per_message "$1" "$few" raw)
        ours=$(per_message "$1" "$few" phx)
    fi
    printf '%s\t%s\t%s\t%s\t%s\n' "$stream" "$pingpong" "$raw" "$ours" "$1" | awk -F '\t' '
        { printf "size=%s\tlatency_us=%s\traw_latency_us=%s\tus/message=%s\traw_us/message=%s\tns/byte=%.3f",
              $2, $9, $8, $4, $3, $4 * 1000 / $2
          printf "\tinstructions/message=%s\traw_instructions/message=%s\tinstructions/byte=%s\n", $12, $11,
              $12 == "-" ? "-" : sprintf("%.3f", $12 / $2) }'
}
if wants sizes; then
    compile delivery
    [ -n "$counter" ] || echo '# instructions: neither perf with counters nor valgrind here'
    for size in $sizes; do size_point "$size"; done | tsv sizes "$(count $sizes)"
    show sizes "Messages between two processes, by size; medians of $rounds; instructions ($counter): both's"
fi

# ---- For the page, and pictures ------------------------------------------------------------------------

if [ -z "${ONLY-}" ]; then
    awk -F '\t' -f test/bench/curves/table.awk "$out/mesh.tsv" "$out/hub.tsv" "$out/rest.tsv" \
        "$out/nodes.tsv" "$out/names.tsv" "$out/sizes.tsv" \
        "$out/hops.tsv" > "$out/table.md"
    echo "# $out/table.md"
fi
if ! have gnuplot; then
    echo '# skipped: pictures (Debian: gnuplot-nox)'
elif [ -z "${ONLY-}" ]; then
    for form in svg pngcairo; do
        file=$out/curves.$(echo $form | sed 's/cairo//')
        { printf 'set terminal %s size 1100,1000\nset output "%s"\ndata = "%s"\n' "$form" "$file" "$out"
            cat test/bench/curves/curves.gp; } | gnuplot 2> "$out/said" \
            && echo "# $file" || echo "# gnuplot could not draw $file: $(head -1 "$out/said")"
    done
fi

# ---- What is kept in the repository --------------------------------------------------------------------

if [ -n "${KEEP-}" ] && [ -z "${QUICK-}${ONLY-}" ]; then
    cp "$out"/mesh.tsv "$out"/hub.tsv "$out"/nodes.tsv "$out"/names.tsv "$out"/rest.tsv "$out"/sizes.tsv \
        "$out"/hops.tsv "$out"/curves.svg test/bench/curves/
    # The tables of the page stand between two marks, which stay.
    page=test/bench/curves/README.md
    awk -v table="$out/table.md" '
        /^<!-- curves: / { print $0 "\n"; while ((getline line < table) > 0) print line; skip = 1 }
        /^<!-- end of curves -->/ { skip = 0; print "" }
        !skip { print }' "$page" > "$out/README.md"
    cp "$out/README.md" "$page"
    echo "# kept: test/bench/curves, $page"
fi
