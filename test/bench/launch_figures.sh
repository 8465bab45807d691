#!/bin/sh
# launch_figures.sh - figures 3 to 6 of Sridhar and others (ScELA, HiPC 2008) again, a part of `make figures`.
#
# usage: test/bench/launch_figures.sh SIMULATOR. All hosts are played on this machine by a script that is
# called like ssh, so figures 3 to 5 are times of this machine, medians of three, and only their forms are
# comparable; beside them is Debian's mpiexec.hydra, if it is there. Figure 6 is of virtual time, up to
# LAUNCH hosts (640; 2048, of 32,768 processes, takes some 10 GB). Writes TSV into build/figures.
# HOSTS="1 2 4" does with those.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
sim=$1
dir=build/figures
mkdir -p "$dir"
work=$(mktemp -d "${TMPDIR:-/tmp}/figures.XXXXXX")
trap 'rm -rf "$work"' EXIT
make -s launch
cc=${CC:-cc}
for one in pmi1 pmgr; do
    $cc -std=c99 -O2 -I. -o "$work/$one" "test/launch/${one}_client.c"
done
$cc -std=c99 -O2 -o "$work/time" test/bench/launch_time.c
cat > "$work/ssh" <<'SSH'
#!/bin/sh
while :; do
    case $1 in
    -o | -l) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
shift
exec sh -c "$*"
SSH
chmod +x "$work/ssh"

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }

hosts() { seq -s, -f 'h%g' 1 "$1"; }

# The median wall time of three runs; nothing if one of them fails.
wall() { # launcher, hosts, processes per host, program and arguments
    who=$1 n=$2 c=$3
    shift 3
    for i in 1 2 3; do
        case $who in
        phxrun) "$work/time" build/phxrun --start ssh --ssh "$work/ssh" -n $((n * c)) -ppn "$c" \
            --hosts "$(hosts "$n")" "$@" ;;
        hydra) "$work/time" mpiexec.hydra -launcher ssh -launcher-exec "$work/ssh" -n $((n * c)) -ppn "$c" \
            -hosts "$(hosts "$n")" "$@" ;;
        esac < /dev/null 2> /dev/null | tail -n 1 | awk -F '\t' 'NF == 3 && $3 == 0 { print $1 }'
    done | median
}

launchers=phxrun
if command -v mpiexec.hydra > /dev/null 2>&1; then
    launchers='phxrun hydra'
else
    echo 'no mpiexec.hydra here: phxrun is drawn alone'
fi

# ---- Figure 3: until the tree stands ----------------------------------------------------------------------

printf '# hosts\tseconds\n' > "$dir/launch_tree.tsv"
for n in ${HOSTS:-1 2 4 8 16 32 64}; do
    for i in 1 2 3; do
        build/phxrun -v --start ssh --ssh "$work/ssh" --hosts "$(hosts "$n")" true 2>&1 < /dev/null \
            | sed -n 's/^phxrun: all ran after \([0-9.]*\) s.*/\1/p'
    done | median | awk -v n="$n" -v OFS='\t' '{ print n, $1 }' >> "$dir/launch_tree.tsv"
done
echo "$dir/launch_tree.tsv"

# ---- Figures 4 and 5: start and exchange, over PMI and PMGR -----------------------------------------------

bars() { # file, what the exchange is in words of each launcher's program
    out=$dir/$1.tsv
    shift
    printf '# launcher\thosts\tprocesses per host\tstart s\texchange s\n' > "$out"
    for n in ${HOSTS:-1 4 16 64}; do
        for c in 1 8; do
            for who in $launchers; do
                case "$who $1" in 'hydra --pmgr') continue ;; esac # it has none
                start=$(wall "$who" "$n" "$c" true)
                whole=$(wall "$who" "$n" "$c" "$@")
                [ -z "$start" ] || [ -z "$whole" ] || echo "$who $n $c $start $whole" | awk -v OFS='\t' '
                    { print $1, $2, $3, $4, ($5 > $4 ? $5 - $4 : 0) }' >> "$out"
            done
        done
    done
    echo "$out"
}
bars launch_pmi "$work/pmi1" one
bars launch_pmgr --pmgr "$work/pmgr" 4

# ---- Figure 6: simulated, tree and flat -------------------------------------------------------------------

# Flat is a connection for each process, eight starts of 100 ms at a time: the arithmetic of launch_start.
printf '# processes\ttree s\tflat s\n' > "$dir/launch_simulated.tsv"
for n in 32 64 256 640 2048; do
    [ "$n" -le "${LAUNCH:-640}" ] || continue
    "$sim" SCENARIO=launch_large NODES=$((n + 1)) > "$work/said" || { cat "$work/said" >&2; exit 1; }
    awk -v n="$n" -v OFS='\t' '/launch exchange of all hosts s/ { print n * 16, $NF, n * 16 / 8 * 0.1 }' \
        "$work/said" >> "$dir/launch_simulated.tsv"
done
echo "$dir/launch_simulated.tsv"
