#!/bin/sh
# launch.sh - `make bench ONLY=launch`: extras/launch beside Debian's mpiexec.hydra, in the same run.
#
# Both start hosts by a small script in place of ssh that runs the command here, so all hosts are played on
# this machine. A round runs all jobs, each with both launchers one after the other, and each time the other
# one first. The figure of a bar is the median over the rounds of phxrun's time / hydra's. ROUNDS=5; QUICK=1:
# one round, small jobs. The last column of the line below a bar is the median in seconds of both.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
. extras/launch/procs.sh
out=build/bench/launch
mkdir -p "$out"
rounds=${ROUNDS:-5}
[ -z "${QUICK-}" ] || rounds=1
cc=${CC:-cc}

make -s launch
$cc -std=c99 -O2 -o "$out/time" test/bench/launch_time.c
$cc -std=c99 -O2 -I. -o "$out/client" test/launch/pmi1_client.c
cat > "$out/ssh" <<'SSH'
#!/bin/sh
# Called like ssh: runs the command here. SLEEP: as long as a real one takes.
while :; do
    case $1 in
    -o | -l | -p | -F | -i) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
shift
[ -z "${SLEEP-}" ] || sleep "$SLEEP"
exec sh -c "$*"
SSH
chmod +x "$out/ssh"
if ! command -v mpiexec.hydra > /dev/null 2>&1; then
    echo '# skipped: beside mpiexec.hydra (Debian: hydra)'
    exit 0
fi

# Job, hosts, ranks per host, most of wall and processor time / hydra's, program.
cat > "$out/jobs" <<'JOBS'
true_1x64 1 64 1.0 0.9 true
true_1x256 1 256 1.0 0.9 true
true_1x512 1 512 1.0 0.9 true
true_64x1 64 1 0.9 0.8 true
true_64x8 64 8 0.9 0.8 true
true_slow_64x8 64 8 1.0 - true
one_64x8 64 8 0.9 0.9 client one
all_64x8 64 8 0.5 0.5 client all
JOBS
[ -z "${QUICK-}" ] || grep -E '^(true_1x64|true_64x1) ' "$out/jobs" > "$out/jobs.quick"
[ -z "${QUICK-}" ] || mv "$out/jobs.quick" "$out/jobs"

hosts() { # how many: a host list, one that no launcher takes for this very host
    i=1
    list=h1
    while [ "$i" -lt "$1" ]; do
        i=$((i + 1))
        list=$list,h$i
    done
    echo "$list"
}

run() { # launcher, job, hosts, ranks per host, program and arguments: a line of results
    who=$1 job=$2 n=$3 c=$4
    shift 4
    case $1 in client) shift; set -- "$out/client" "$@" ;; esac
    case $job in *slow*) export SLEEP=0.1 ;; *) unset SLEEP ;; esac
    total=$((n * c))
    if [ "$n" = 1 ]; then
        case $who in
        phx) set -- build/phxrun -n "$total" "$@" ;;
        *) set -- mpiexec.hydra -n "$total" "$@" ;;
        esac
    else
        case $who in
        phx) set -- build/phxrun --start ssh --ssh "$out/ssh" -n "$total" -ppn "$c" \
            --hosts "$(hosts "$n")" "$@" ;;
        *) set -- mpiexec.hydra -launcher ssh -launcher-exec "$PWD/$out/ssh" -n "$total" -ppn "$c" \
            -hosts "$(hosts "$n")" "$@" ;;
        esac
    fi
    timeout 120 "$out/time" "$@" 2> "$out/err" < /dev/null > "$out/said" || true
    tail -n 1 "$out/said" | awk -F'\t' -v OFS='\t' -v job="$job" -v who="$who" '
        NF == 3 && $3 == 0 { print job, who, $1, $2; good = 1 }
        END { if (!good) print job, who, "-", "-" }'
}

: > "$out/results"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    while read -r job n c wall processor program; do
        order='phx hydra'
        [ $((round % 2)) = 0 ] || order='hydra phx'
        for who in $order; do
            # shellcheck disable=SC2086
            run "$who" "$job" "$n" "$c" $program >> "$out/results"
        done
    done < "$out/jobs"
done

awk -F'\t' -v OFS='\t' -v rounds="$rounds" '
    function median(list, count,   i, k, t) {
        for (i = 2; i <= count; i++)
            for (k = i; k > 1 && list[k - 1] > list[k]; k--) {
                t = list[k]; list[k] = list[k - 1]; list[k - 1] = t
            }
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    function bar(job, what, column, limit,   i, count, ratios, a, b) {
        if (limit == "-")
            return
        for (i = 1; i <= rounds; i++) {
            if (got[job, "phx", column, i] == "" || got[job, "hydra", column, i] == "")
                continue
            ratios[++count] = got[job, "phx", column, i] / got[job, "hydra", column, i]
            a[count] = got[job, "phx", column, i]
            b[count] = got[job, "hydra", column, i]
        }
        if (count < rounds) {
            print "bar", "launch_" job "_" what, "not all rounds ended well", limit, "short"
            return
        }
        r = median(ratios, count)
        printf "bar\tlaunch_%s_%s\t%.3f\t%s\t%s\n", job, what, r, limit, r <= limit ? "ok" : "short"
        printf "#\tlaunch_%s_%s\t%.3f s, hydra %.3f s\n", job, what, median(a, count), median(b, count)
    }
    FILENAME ~ /jobs$/ {
        split($0, f, " ")
        name[++jobs] = f[1]
        wall[jobs] = f[4]
        processor[jobs] = f[5]
        next
    }
    $3 != "-" { n = ++seen[$1, $2]; got[$1, $2, "wall", n] = $3; got[$1, $2, "processor", n] = $4 }
    END {
        for (j = 1; j <= jobs; j++) {
            bar(name[j], "wall", "wall", wall[j])
            bar(name[j], "processor", "processor", processor[j])
        }
    }' "$out/jobs" "$out/results"

# Memory of launcher and agents while 64 x 8 sleep: PSS, KiB.
pss() { # pid of the launcher: the sum over it and what stems from it, but for the ranks and the script
    procs | awk -v top="$1" '
        { parent[$1] = $2; name[$1] = $3 }
        END {
            for (p in parent) {
                for (q = p; q != top && q in parent && q > 1; q = parent[q])
                    continue
                if (q == top && name[p] ~ /phxrun|mpiexec|hydra/)
                    print p
            }
        }' | while read -r pid; do
        awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup" 2> /dev/null || true
    done | awk '{ s += $1 } END { print s + 0 }'
}
asleep() { # launcher: its memory once all ranks run
    case $1 in
    phx) build/phxrun --start ssh --ssh "$out/ssh" -n 512 -ppn 8 --hosts "$(hosts 64)" sleep 20 \
        > "$out/said" 2> "$out/err" < /dev/null & ;;
    *) mpiexec.hydra -launcher ssh -launcher-exec "$PWD/$out/ssh" -n 512 -ppn 8 \
        -hosts "$(hosts 64)" sleep 20 > "$out/said" 2> "$out/err" < /dev/null & ;;
    esac
    job=$!
    tries=0
    while [ "$(procs | grep -c ' sleep$')" -lt 512 ] && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    pss "$job"
    kill -TERM "$job"
    wait "$job" 2> /dev/null || true
}
if [ -z "${QUICK-}" ] && [ -r /proc/self/smaps_rollup ]; then
    ours=$(asleep phx)
    theirs=$(asleep hydra)
    echo "$ours $theirs" | awk '{
        printf "bar\tlaunch_pss_64x8\t%.3f\t1.0\t%s\n", $1 / $2, $1 <= $2 ? "ok" : "short"
        printf "#\tlaunch_pss_64x8\t%d KiB, hydra %d KiB\n", $1, $2 }'
fi
