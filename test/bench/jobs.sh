#!/bin/sh
# jobs.sh - what make bench runs: one line each of name, system and command, tab-separated.
#
# SYSTEMS says which programs there are; QUICK=1 leaves out sizes that only take longer; MS is how long each
# measures. A name and a system together are one column of the results. BEFORE=1: only what this tree and an
# earlier commit are compared by, see before.sh.
set -eu
out=build/bench
ms=${MS:-300}

has() { case " $SYSTEMS " in *" $1 "*) return 0 ;; esac; return 1; }
job() { # name, label, program, options
    has "$3" || return 0
    name=$1 label=$2 program=$3
    shift 3
    printf '%s\t%s\t%s\n' "$name" "$label" "$prefix$out/$program $*"
}
# mpiexec starts the processes. How they are to talk each MPI, and each build of one, has its own words for,
# and takes no notice of the others'. Debian's MPICH stands on UCX, others on libfabric. What was really
# used s_mpi.c sees. Open MPI takes UCX, and with it shared memory, if that is not forbidden, and does
# not like root.
mpi() { # name, options: over TCP and over shared memory
    name=$1
    shift
    for system in mpich openmpi; do
        has "$system" || continue
        eval "start=\$BENCH_MPIEXEC_$system"
        for how in shm tcp; do
            env=env
            if [ "$system" = openmpi ]; then
                btl=vader,self
                [ "$how" = shm ] || btl=tcp,self
                env="env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1"
                env="$env OMPI_MCA_btl=$btl OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_orte_tmpdir_base=/tmp"
            elif [ "$how" = tcp ]; then
                env='env UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1 FI_PROVIDER=tcp'
            fi
            printf '%s\t%s\t%s\n' "$name" "$system-$how" \
                "$prefix$env $start -n 2 $out/$system $* variant=$how 2> /dev/null"
        done
    done
}
ucx() { # name, pattern, size
    has ucx || return 0
    printf '%s\tucx-tcp\tsh test/bench/ucx.sh %s %s %s\n' "$1" "$2" "$3" "${QUICK:+quick}"
}
pairs() { # name, options: all that two processes can be linked by
    name=$1
    shift
    job "$name" raw-tcp raw "$@"
    job "$name" raw-unix raw "$@" variant=unix
    job "$name" phx-tcp phx "$@"
    job "$name" phx-unix phx "$@" variant=unix
    job "$name" zmq-tcp zmq "$@"
    job "$name" zmq-ipc zmq "$@" variant=ipc
    job "$name" nng-tcp nng "$@"
    job "$name" nng-ipc nng "$@" variant=ipc
    job "$name" enet enet "$@"
}
both() { # name, options: the program of the earlier commit and that of the tree
    name=$1
    shift
    job "$name" before before/phx "$@" pin=1 "ms=$ms"
    job "$name" after phx "$@" pin=1 "ms=$ms"
}
prefix=

# Large messages both as phx_send and on_message have it, and handed over at both ends.
if [ -n "${BEFORE-}" ]; then
    for size in 8 64 1024; do both "latency-spin-$size" latency wait=spin "size=$size"; done
    both latency-sleep-8 latency wait=sleep size=8
    for size in 8 64 1024; do both "stream-$size" stream "size=$size" most=100000000; done
    for size in 65536 1048576 16777216; do
        for how in copied handed; do both "stream-$how-$size" stream "variant=$how" "size=$size"; done
    done
    both relay-latency-64 latency relay=1 size=64
    for size in 65536 1048576; do both "relay-stream-$size" stream relay=1 "size=$size"; done
    exit
fi

sizes='8 64 1024 65536 1048576'
streams='8 64 1024 65536 1048576 16777216'
if [ -n "${QUICK-}" ]; then sizes='8 65536' streams='8 1024 1048576'; fi

for size in $sizes; do
    pairs "latency-sleep-$size" latency wait=sleep "size=$size" "ms=$ms"
    job "latency-sleep-$size" phx-key phx latency variant=key "size=$size" "ms=$ms"
    job "latency-sleep-$size" phx-own phx latency variant=own "size=$size" "ms=$ms"
    job "latency-sleep-$size" phx-tls phx_tls latency variant=tls "size=$size" "ms=$ms"
    job "latency-sleep-$size" raw-block raw latency variant=block "size=$size" "ms=$ms"
    for system in raw phx; do
        job "latency-spin-$size" "$system-tcp" "$system" latency wait=spin "size=$size" "ms=$ms"
        job "latency-linger-$size" "$system-tcp" "$system" latency wait=linger "size=$size" "ms=$ms"
    done
    job "latency-spin-$size" raw-unix raw latency variant=unix wait=spin "size=$size" "ms=$ms"
    job "latency-spin-$size" phx-unix phx latency variant=unix wait=spin "size=$size" "ms=$ms"
    mpi "latency-spin-$size" latency "size=$size" "ms=$ms"
    ucx "latency-spin-$size" latency "$size"
done

for size in $streams; do
    pairs "stream-$size" stream "size=$size" "ms=$ms" most=100000000
    job "stream-$size" raw-each raw stream variant=each "size=$size" "ms=$ms"
    job "stream-$size" phx-key phx stream variant=key "size=$size" "ms=$ms"
    job "stream-$size" phx-tls phx_tls stream variant=tls "size=$size" "ms=$ms"
    [ "$size" -lt 1048576 ] || job "stream-$size" phx-handed phx stream variant=handed "size=$size" "ms=$ms"
    job "stream-$size" raw-block raw stream variant=block "size=$size" "ms=$ms"
    mpi "stream-$size" stream "size=$size" "ms=$ms"
    ucx "stream-$size" stream "$size"
done

for system in raw phx zmq nng enet; do
    for idle in 10 100 400; do
        case $idle-$system in *-raw | *-phx | 10-*) ;; *) [ "$idle-${QUICK-}" = 100- ] || continue ;; esac
        [ "$idle" != 400 ] || [ -z "${QUICK-}" ] || continue
        job "many-$idle" "$system" "$system" many "count=$((idle + 2))" "ms=$ms"
        [ "$system" = enet ] || job "idle-$idle" "$system" "$system" idle "count=$((idle + 1))" "ms=$ms"
    done
done
# Not MPI: sixteen processes that spin on two cores measure the scheduler. Not ENet: on a busy machine its
# mesh loses a link before it stands, now and then.
for system in raw phx zmq nng; do
    job alltoall-16 "$system" "$system" alltoall size=1024 "ms=$ms"
done

for what in latency-64 latency-65536 latency-1048576 stream-64 stream-65536 stream-1048576; do
    [ -z "${QUICK-}" ] || case $what in *-64) ;; *) continue ;; esac
    pattern=${what%%-*} size=${what#*-}
    job "relay-$what" raw raw "$pattern" relay=1 "size=$size" "ms=$ms"
    job "relay-$what" raw-splice raw "$pattern" relay=1 variant=splice "size=$size" "ms=$ms"
    job "relay-$what" phx phx "$pattern" relay=1 "size=$size" "ms=$ms"
    job "relay-$what" zmq zmq "$pattern" relay=1 "size=$size" "ms=$ms"
    job "relay-$what" nng nng "$pattern" relay=1 "size=$size" "ms=$ms"
    ! has socat || job "relay-$what" socat raw "$pattern" relay=1 variant=socat "size=$size" "ms=$ms"
    ! has ssh || job "relay-$what" ssh raw "$pattern" relay=1 variant=ssh "size=$size" "ms=$ms"
done

# With a third process that computes all day; and both on one core.
pairs latency-busy-8 latency busy=1 "ms=$ms"
for wait in linger; do
    job latency-busy-8 raw-linger raw latency "wait=$wait" busy=1 "ms=$ms"
    job latency-busy-8 phx-linger phx latency "wait=$wait" busy=1 "ms=$ms"
done
if command -v taskset > /dev/null 2>&1; then
    prefix='taskset -c 0 '
    pairs latency-core-8 latency "ms=$ms"
    prefix=
fi

if [ -n "${QUICK-}" ]; then cycles='10 25'; else cycles='50 60'; fi
printf 'starved\tphx\t%s\n' "$out/starved $cycles"
printf 'costs\tphx\t%s\n' "$out/costs" # what the simulator charges for
for dead in 1 2 8; do
    [ -n "${QUICK-}" ] || printf 'deaths-%s-60\tphx\t%s\n' "$dead" "$out/deaths 60 $dead"
done
nodes=${NODES:-16 50 100 200 400}
[ -z "${QUICK-}" ] || nodes=${NODES:-16}
for n in $nodes; do
    printf 'mesh-%s\tphx\t%s\n' "$n" "$out/mesh $n"
    printf 'mesh-%s\tphx-tcp\t%s\n' "$n" "$out/mesh $n tcp"
    printf 'mesh-sites-%s\tphx\t%s\n' "$n" "$out/mesh $n sites"
    for how in offline master; do
        printf 'mesh-%s\t%s\t%s\n' "$n" "$how" "$out/baseline $how $n"
        printf 'mesh-%s\t%s-10\t%s\n' "$n" "$how" "$out/baseline $how $n 10"
    done
    printf 'words-%s\tphx\t%s\n' "$n" "$out/words $n"
    printf 'words-%s\tphx-tcp\t%s\n' "$n" "$out/words $n tcp"
    printf 'words-%s\toffline\t%s\n' "$n" "$out/baseline offline $n"
    printf 'words-sites-%s\tphx\t%s\n' "$n" "$out/words $n sites"
    printf 'words-hubs-%s\tphx\t%s\n' "$n" "$out/words $n hubs"
    printf 'words-killed-%s\tphx\t%s\n' "$n" "$out/words $n kill"
    printf 'words-killed-%s\toffline\t%s\n' "$n" "$out/baseline offline $n"
    for pattern in near one barrier; do
        printf 'words-%s-%s\tphx\t%s\n' "$pattern" "$n" "$out/words $n $pattern"
    done
    printf 'deaths-1-%s\tphx\t%s\n' "$n" "$out/deaths $n 1"
    [ "$n" -gt 50 ] || printf 'words-65536-%s\tphx\t%s\n' "$n" "$out/words $n size=65536"
done
