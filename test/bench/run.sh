#!/bin/sh
# run.sh - `make bench`: figures that are times, on real processes. They inform and never fail a build.
#
#   make bench                 all, less than half an hour; five rounds in random order
#   make bench QUICK=1         one short round of everything, a minute or two: does it still run?
#   make bench ONLY=stream     jobs whose name has that in it; ROUNDS=7 MS=500 SEED=3
#   make bench CONGESTION=cubic with that congestion control for all (Linux; needs iproute2, not root)
#   make bench ONLY=mesh KEEP=1 and draws figure 4 of the paper, with machine and day: papers.sh tells
#   make bench ONLY=launch     extras/launch beside mpiexec.hydra: launch.sh tells
#   make bench ONLY=mpi        extras/ftmpi beside MPICH and Open MPI: mpi.sh tells
#   make bench ONLY=ft         what deaths of its ranks cost, and that there are none: ft.sh tells
#   make bench ONLY=idle       what a host costs that has nothing to do: idle.sh tells
#   make bench BEFORE=commit   this tree beside that commit, and no peers: before.sh tells; ROUNDS=11 MS=250
#
# CONGESTION: all runs in a network namespace of its own, whose loopback routes name the algorithm. So it
# holds for all systems and both ends alike, needs no system setting, and ends with the run. Else all use the
# system's, which the report names.
#
# Each job is one program with one set of options (jobs.sh). All jobs of a round run once, in an order
# drawn from the seed; then the next round. So what wanders (other users, heat) hits all alike, and only
# ratios inside one round are compared. Output: a table for people, build/bench/results.tsv with every
# single figure, build/bench/table.tsv with medians, pictures if gnuplot is there, and the bars.
#
# Peers that are missing are named with their Debian package and left out. Every job is bounded by a
# time-out; children are ended by pid by the programs themselves.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
if [ -n "${CONGESTION-}" ] && [ -z "${BENCH_INSIDE-}" ]; then
    PATH=$PATH:/usr/sbin:/sbin
    export BENCH_INSIDE=1 CONGESTION
    flags=-n
    [ "$(id -u)" = 0 ] || flags=-Urn
    exec unshare "$flags" sh -c 'ip link set lo up
        for to in 127.0.0.0/8 127.0.0.1; do
            ip route replace local "$to" dev lo proto kernel scope host src 127.0.0.1 \
                congctl "$CONGESTION" table local || exit 1
        done
        exec sh test/bench/run.sh'
fi
if [ -n "${BEFORE-}" ]; then exec sh test/bench/before.sh; fi
if [ "${ONLY-}" = launch ]; then exec sh test/bench/launch.sh; fi
if [ "${ONLY-}" = mpi ]; then exec sh test/bench/mpi.sh; fi
if [ "${ONLY-}" = ft ]; then exec sh test/bench/ft.sh; fi
if [ "${ONLY-}" = idle ]; then exec sh test/bench/idle.sh; fi
out=build/bench
mkdir -p "$out"
cc=${CC:-cc}
flags='-std=c99 -O2 -I.'
rounds=${ROUNDS:-5}
ms=${MS:-300}
if [ -n "${QUICK-}" ]; then rounds=${ROUNDS:-1} ms=${MS:-20}; fi
have() { command -v "$1" > /dev/null 2>&1; }

# ---- Programs --------------------------------------------------------------------------------------------

systems=
build() { # system, Debian package, header that must be there, what else to compile and link
    system=$1 package=$2 header=$3
    shift 3
    if [ -n "$header" ] && ! echo "#include <$header>" | $cc -E - > /dev/null 2>&1; then
        echo "# skipped: $system (Debian: $package)"
        return
    fi
    $cc $flags -o "$out/$system" test/bench/bench.c test/bench/p_*.c "test/bench/s_$system.c" "$@"
    systems="$systems $system"
}
$cc $flags -c -o "$out/phoenix.o" phoenix.c
build raw '' ''
build phx '' '' "$out/phoenix.o"
build zmq libzmq3-dev zmq.h -lzmq
build nng libnng-dev nng/nng.h -lnng
build enet libenet-dev enet/enet.h -lenet
# Debian has both MPIs side by side under these names; elsewhere there is one, and mpichversion tells which.
mpi() { # system, suffix in Debian, packages
    mpicc=mpicc.$2 mpiexec=mpiexec.$2
    if ! have "$mpicc"; then
        other=openmpi
        if have mpichversion; then other=mpich; fi
        [ "$1" = "$other" ] || mpicc=none
        [ "$mpicc" = none ] || mpicc=mpicc mpiexec=mpiexec
    fi
    if have "$mpicc" && have "$mpiexec"; then
        "$mpicc" $flags -D_DEFAULT_SOURCE -o "$out/$1" test/bench/bench.c test/bench/p_*.c test/bench/s_mpi.c
        systems="$systems $1"
        eval "export BENCH_MPIEXEC_$1=$mpiexec"
    else
        echo "# skipped: $1 (Debian: $3)"
    fi
}
mpi mpich mpich 'mpich libmpich-dev'
mpi openmpi openmpi 'openmpi-bin libopenmpi-dev'
# Below MPICH and Open MPI, and with figures of its own: its test programs bring their patterns with them.
if have ucx_perftest; then systems="$systems ucx"; else echo '# skipped: ucx (Debian: ucx-utils)'; fi
# TLS is a property of the build.
if $cc $flags -DPHX_TLS -c -o "$out/phoenix_tls.o" phoenix.c 2> /dev/null; then
    $cc $flags -o "$out/phx_tls" test/bench/bench.c test/bench/p_*.c test/bench/s_phx.c "$out/phoenix_tls.o" \
        -lbearssl
    systems="$systems phx_tls"
else
    echo '# skipped: tls (Debian: libbearssl-dev)'
fi
$cc $flags -o "$out/mesh" test/bench/mesh.c
$cc $flags -o "$out/words" test/bench/words.c
$cc $flags -Wno-unused-function -o "$out/costs" test/bench/costs.c
$cc $flags -o "$out/starved" test/bench/starved.c phoenix.c
$cc $flags -Wno-unused-function -o "$out/deaths" test/bench/deaths.c
$cc $flags -o "$out/baseline" test/bench/baseline.c
have socat && systems="$systems socat" || echo '# skipped: socat as a relay (Debian: socat)'
have taskset || echo '# skipped: one core (Debian: util-linux)'

# An sshd of our own, on a free port, with a key that is good for nothing else.
sshd_pid=
trap '[ -z "$sshd_pid" ] || kill "$sshd_pid" 2> /dev/null || :' EXIT
trap 'exit 130' HUP INT TERM
start_sshd() {
    dir=$PWD/$out/ssh
    port=$((20000 + $$ % 12000))
    rm -rf "$dir"
    mkdir -p "$dir"
    chmod 700 "$dir"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/user" || return 1
    cp "$dir/user.pub" "$dir/allowed"
    printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $dir/host" "PidFile $dir/pid" \
        "AuthorizedKeysFile $dir/allowed" 'StrictModes no' 'UsePAM no' 'PasswordAuthentication no' \
        > "$dir/server"
    printf '%s\n' "IdentityFile $dir/user" 'StrictHostKeyChecking no' "UserKnownHostsFile $dir/known" \
        'LogLevel ERROR' 'ExitOnForwardFailure yes' > "$dir/client"
    [ "$(id -u)" != 0 ] || mkdir -p /run/sshd
    timeout 3600 "$(command -v sshd || echo /usr/sbin/sshd)" -D -f "$dir/server" > "$dir/log" 2>&1 &
    sshd_pid=$!
    BENCH_SSH_PORT=$port BENCH_SSH_DIR=$dir
    export BENCH_SSH_PORT BENCH_SSH_DIR
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        ssh -F "$dir/client" -p "$port" 127.0.0.1 true 2> /dev/null && return 0
        sleep 0.2
    done
    return 1
}
if have ssh && { have sshd || [ -x /usr/sbin/sshd ]; } && start_sshd; then systems="$systems ssh"
else echo '# skipped: ssh -L as a relay (Debian: openssh-client openssh-server)'; fi

# ---- Rounds ----------------------------------------------------------------------------------------------

# Lines of: name, system, command. The name says what is compared; the system, who does it.
SYSTEMS="$systems" QUICK="${QUICK-}" MS="$ms" NODES="${NODES-}" sh test/bench/jobs.sh > "$out/jobs.all"
awk -F'\t' -v only="${ONLY-}" 'index($1, only)' "$out/jobs.all" > "$out/jobs"
echo "# $(wc -l < "$out/jobs" | tr -d ' ') jobs, $rounds rounds of $ms ms, seed ${SEED:-1}; $(nproc) cores;" \
    "$(uptime | sed 's/.*load/load/')"
if [ -n "${CONGESTION-}" ]; then
    echo "# congestion control: $CONGESTION (of a namespace of this run, the same for all)"
elif [ -r /proc/sys/net/ipv4/tcp_congestion_control ]; then
    echo "# congestion control: $(cat /proc/sys/net/ipv4/tcp_congestion_control) (the same for all)"
fi
nothing=
ROUNDS=$rounds sh test/bench/rounds.sh "$out/jobs" "$out/results.tsv" || nothing=1
echo "# afterwards: $(uptime | sed 's/.*load/load/')"
all=1
[ -z "${QUICK-}${ONLY-}" ] || all=
awk -F'\t' -v all="$all" -f test/bench/report.awk test/bench/bars.tsv "$out/results.tsv"
if [ "${ONLY-}${KEEP:+ kept}" = 'mesh kept' ]; then sh test/bench/papers.sh mesh; fi
if have gnuplot && [ -s "$out/table.tsv" ]; then
    gnuplot -e "dir='$out'" test/bench/plot.gp > "$out/said" 2>&1 || echo "# gnuplot: $(head -1 "$out/said")"
else
    echo '# skipped: pictures (Debian: gnuplot-nox)'
fi

# ---- Other hands' -----------------------------------------------------------------------------------------

# The price of TLS, where there is BearSSL: two processes, one link.
mb=1024
[ -z "${QUICK-}" ] || mb=64
case ${ONLY:-tls}$systems in
*tls*phx_tls*)
    $cc $flags -DPHX_TLS -o "$out/tls" test/bench/tls.c "$out/phoenix_tls.o" -lbearssl
    echo '# one link over loopback, messages of 1 MB, without and with TLS: best of 3'
    for how in plain tls; do
        for again in 1 2 3; do "$out/tls" "$how" "$mb"; done \
            | sort -t "$(printf '\t')" -k2rn | sed -n 1p
    done ;;
esac

# Strangers that hold hundreds of ClientHellos open at a node with a costly certificate. A run without bars is
# short, too.
case ${ONLY:-tls}$systems in
*tls*phx_tls*)
    $cc $flags -DPHX_JOINED -DPHX_TLS -DPHX_DEBUG -Isrc -Itest -Itest/unit -Wno-unused-function \
        -o "$out/hellos" test/unit/t_tls_openssl.c -pthread -lm -lbearssl
    for_s=30
    [ -z "${QUICK-}" ] || for_s=3
    (cd "$out" && HELLOS_FOR=$for_s ./hellos) | grep '^bar' \
        || printf 'bar\ttls hellos printed no bar\t-\t-\tshort\n' ;;
esac

# What a member may take of a node's processor by control frames.
case control in *"${ONLY-}"*)
    $cc $flags -Isrc -Itest/unit -Wno-unused-function -o "$out/control" test/bench/control.c
    "$out/control" ;;
esac

# The simulator's speed is a time too: a clique of 1,000 within 120 s on one core.
if [ -z "${QUICK-}" ] && [ -z "${ONLY-}" ]; then
    start=$(date +%s)
    SCENARIO=cold_start NODES=1000 EVERY=1000000 ./test/sim/run.sh > "$out/sim.log"
    took=$(($(date +%s) - start))
    verdict=ok
    [ "$took" -le 120 ] || verdict=short
    printf 'bar\tsim_1000_clique_s\t%d\t120\t%s\n' "$took" "$verdict"
fi

# Exact counts have bars too: memory, idle steps. The rest of these is `make bars`, and test/unit/t_cost.c.
if [ -z "${QUICK-}" ] && [ -z "${ONLY-}" ]; then
    sh test/sim/run.sh curves bars || printf 'bar\tcurves printed not all bars\t-\t-\tshort\n'
fi

# What delivery costs beside raw frames on the same kind of connection.
case delivery in *"${ONLY-}"*) QUICK="${QUICK-}" sh test/bench/delivery.sh ;; esac

# Instructions of a lone message, and of the recorder.
case record in *"${ONLY-}"*) [ -n "${QUICK-}" ] || sh test/bench/record.sh ;; esac

# extras/launch beside another launcher.
[ -n "${ONLY-}" ] || QUICK="${QUICK-}" sh test/bench/launch.sh
[ -n "${ONLY-}${QUICK-}" ] || sh test/bench/idle.sh

# What failures cost the MPI.
[ -n "${ONLY-}" ] || QUICK="${QUICK-}" sh test/bench/ft.sh

# Figures never fail a build; a job without one does.
if [ -n "$nothing" ]; then
    echo '# runs gave nothing: see above'
    exit 1
fi
